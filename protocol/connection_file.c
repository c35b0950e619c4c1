/* The connection file of a Jupyter kernel, as jupyter_client writes and reads
 * it. It holds the key: mode 0600, replaced atomically. */
#include "protocol/connection_file.h"

#include "base/fd.h"
#include "protocol/jspan.h"
#include "protocol/jspan_write.h"
#include "protocol/limits.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PORT_MAX 65535

static const char *const port_keys[CHANNEL_COUNT] = {
#define X(name, text, kernel, client, key) key,
    CHANNELS(X)
#undef X
};

void connection_file_clear(connection_file_t *self)
{
    secret_destroy(&self->secret);
    *self = (connection_file_t){0};
}

/* Copies a string field into `size` bytes; if it is absent, `text` is
 * unchanged. */
static int read_text(jspan_t file, const char *key, char *text, size_t size,
                     fault_t *fault)
{
    jspan_t value = jspan_member(file, key);
    if (jspan_is(value, JSPAN_ABSENT))
        return 0;
    if (!jspan_is(value, JSPAN_STRING))
        return fault_set(fault, EINVAL, "%s is not a string", key);
    cleanup_free char *found = jspan_plain_new(value);
    if (found == NULL)
        return fault_set(fault, EINVAL, "%s holds a NUL", key);
    size_t length = strlen(found);
    if (length >= size)
        return fault_set(fault, EINVAL,
                         "%s has %zu bytes; at most %zu are permitted", key,
                         length, size - 1);
    memcpy(text, found, length + 1);
    return 0;
}

static int read_transport(jspan_t file, connection_file_t *connection,
                          fault_t *fault)
{
    int r = read_text(file, "transport", connection->transport,
                      sizeof connection->transport, fault);
    if (r < 0)
        return r;
    if (strcmp(connection->transport, "tcp") != 0
        && strcmp(connection->transport, "ipc") != 0)
        return fault_set(fault, EINVAL, "transport is neither tcp nor ipc");
    r = read_text(file, "ip", connection->ip, sizeof connection->ip, fault);
    if (r < 0)
        return r;
    if (connection->ip[0] == '\0')
        return fault_set(fault, EINVAL, "ip is empty");
    for (const char *at = connection->ip; *at != '\0'; at++)
        if ((unsigned char) *at < ' ' || *at == 127)
            return fault_set(fault, EINVAL, "ip holds a control character");
    return 0;
}

static int read_ports(jspan_t file, connection_file_t *connection,
                      fault_t *fault)
{
    for (size_t i = 0; i < CHANNEL_COUNT; i++) {
        jspan_t value = jspan_member(file, port_keys[i]);
        int64_t port = 0;
        if (!jspan_to_integer(value, &port) || port < 0 || port > PORT_MAX)
            return fault_set(fault, EINVAL, "%s is not a number from 0 to %d",
                             port_keys[i], PORT_MAX);
        connection->ports[i] = (int) port;
    }
    return 0;
}

static int read_key(jspan_t file, connection_file_t *connection, fault_t *fault)
{
    char scheme[32] = "hmac-sha256";
    int r = read_text(file, "signature_scheme", scheme, sizeof scheme, fault);
    if (r < 0)
        return r;
    if (strcmp(scheme, "hmac-sha256") != 0)
        return fault_set(fault, EINVAL,
                         "signature_scheme is not hmac-sha256, the one that "
                         "hearth knows");
    /* An absent key is not taken for an empty one, which would switch
     * authentication off. */
    jspan_t key = jspan_member(file, "key");
    if (!jspan_is(key, JSPAN_STRING))
        return fault_set(fault, EINVAL, "key is not a string");
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    jspan_text(key, &text);
    r = memchr(text.data, '\0', text.size) != NULL
            ? fault_set(fault, EINVAL, "key holds a NUL")
            : secret_new((const char *) text.data, text.size,
                         &connection->secret, fault);
    explicit_bzero(text.data, text.capacity);
    return r;
}

int connection_file_parse(const void *text, size_t size,
                          connection_file_t *ret_connection, fault_t *fault)
{
    jspan_t file;
    if (size > CONNECTION_FILE_MAX)
        return fault_set(fault, EINVAL, "%zu bytes; at most %u are permitted",
                         size, CONNECTION_FILE_MAX);
    if (jspan_check(text, size, &file, fault) < 0) {
        fault->code = EINVAL;
        return fault_wrap(fault, "no JSON");
    }
    if (!jspan_is(file, JSPAN_OBJECT))
        return fault_set(fault, EINVAL, "no JSON object");

    cleanup_connection_file connection_file_t connection = {.transport = "tcp",
                                                            .ip = "127.0.0.1"};
    int r = read_transport(file, &connection, fault);
    if (r < 0 || (r = read_ports(file, &connection, fault)) < 0
        || (r = read_text(file, "kernel_name", connection.kernel_name,
                          sizeof connection.kernel_name, fault))
               < 0
        || (r = read_key(file, &connection, fault)) < 0)
        return r;
    *ret_connection = connection;
    connection.secret = NULL;
    return 0;
}

int connection_file_read(const char *path, connection_file_t *ret_connection,
                         fault_t *fault)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    int r = file_read(path, CONNECTION_FILE_MAX, &text, fault);
    if (r < 0)
        return r;
    r = connection_file_parse(text.data, text.size, ret_connection, fault);
    explicit_bzero(text.data, text.capacity);
    return r < 0 ? fault_wrap(fault, "connection file %s", path) : 0;
}

/* Begins a line with the next member; people read the file. */
static void print_key(buffer_t *text, const char *key)
{
    buffer_text(text, text->data[text->size - 1] == '{' ? "\n  " : ",\n  ");
    jspan_quote_text(text, key);
    buffer_text(text, ": ");
}

static void print_text(buffer_t *text, const char *key, const char *value)
{
    print_key(text, key);
    jspan_quote_text(text, value);
}

void connection_file_print(const connection_file_t *self, buffer_t *text)
{
    /* Reserved at once, so that no copy of the key is left in freed memory. */
    buffer_reserve(text, CONNECTION_FILE_MAX);
    jspan_write_begin(text);
    for (size_t i = 0; i < CHANNEL_COUNT; i++) {
        print_key(text, port_keys[i]);
        buffer_format(text, "%d", self->ports[i]);
    }
    print_text(text, "ip", self->ip);
    print_text(text, "key", secret_text(self->secret));
    print_text(text, "transport", self->transport);
    print_text(text, "signature_scheme", "hmac-sha256");
    print_text(text, "kernel_name", self->kernel_name);
}

int connection_file_write(const connection_file_t *self, const char *path,
                          fault_t *fault)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;

    connection_file_print(self, &text);
    buffer_text(&text, "\n}\n");
    int r = file_replace(path, 0600, text.data, text.size, fault);
    explicit_bzero(text.data, text.capacity);
    return r;
}

void connection_file_endpoint(const connection_file_t *self, channel_t channel,
                              char ret_endpoint[CONNECTION_ENDPOINT_SIZE])
{
    char separator = strcmp(self->transport, "ipc") == 0 ? '-' : ':';
    (void) snprintf(ret_endpoint, CONNECTION_ENDPOINT_SIZE, "%s://%s%c%d",
                    self->transport, self->ip, separator, self->ports[channel]);
}

static bool is_anywhere(const char *ip)
{
    return strcmp(ip, "0.0.0.0") == 0 || strcmp(ip, "*") == 0;
}

/* Compares the addresses; with ipc, they are the beginning of a path. */
static bool has_same_address(const connection_file_t *self,
                             const connection_file_t *other)
{
    if (strcmp(self->transport, other->transport) != 0)
        return false;
    return strcmp(self->ip, other->ip) == 0
           || (strcmp(self->transport, "tcp") == 0
               && (is_anywhere(self->ip) || is_anywhere(other->ip)));
}

bool connection_file_collides(const connection_file_t *self,
                              const connection_file_t *other)
{
    if (!has_same_address(self, other))
        return false;
    for (int i = 0; i < CHANNEL_COUNT; i++)
        for (int k = 0; k < CHANNEL_COUNT; k++)
            if (self->ports[i] && self->ports[i] == other->ports[k])
                return true;
    return false;
}
