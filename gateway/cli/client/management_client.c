/* A client of the management protocol, for one command's life, in the main
 * thread. */
#include "gateway/cli/client/management_client.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "gateway/cli/client/gateway_start.h"
#include "gateway/cli/core/terminal.h"
#include "gateway/config/options.h"
#include "notebooks/json/member.h"
#include "protocol/client.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REPLY_MS   300000 /* a first session waits for its imports */
#define LOOK_MS    500    /* between two looks whether it still lives */
#define NOTICE_MAX 1000   /* columns of a notice */
#define SLOW_MS    1000 /* until an answer takes long enough to be explained */
#define LAST_S     10   /* for all answers after look has said no */

struct management_client {
    client_t *client; /* owned */
    char *socket;     /* owned; path of the management socket */
    char *key;        /* owned; path of its key */
    struct stat made; /* that file, when it was read */
    char *ename;      /* owned; of the last failure, if it has a name */
    char *evalue;     /* owned; the last failure, NULL when none */
    char *hint;       /* owned; what to do about it, or NULL */
    char *notice;     /* owned; of the next answer that is slow, or NULL */
    bool (*look)(void *arg); /* NULL: none */
    void *look_arg;
    bool is_patient;     /* answers may take longer than REPLY_MS */
    bool is_interrupted; /* an answer was not awaited to its end */
    int64_t last; /* monotonic ms, until when answers may take; 0: none */
};

json_t *json_seconds(double seconds)
{
    json_int_t whole = (json_int_t) seconds;
    return (double) whole == seconds ? json_integer(whole) : json_real(seconds);
}

void json_print(const json_t *value)
{
    json_dumpf(value, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII);
    putchar('\n');
}

void json_print_texts(const json_t *texts, const char *before)
{
    size_t index;
    json_t *text;

    json_array_foreach(texts, index, text)
        printf("%s%s\n", before, terminal_cell(json_string_value(text), 500));
}

void management_client_destroy(management_client_t **self_p)
{
    management_client_t *self = *self_p;

    if (!self)
        return;
    client_destroy(&self->client);
    free(self->socket);
    free(self->key);
    free(self->ename);
    free(self->evalue);
    free(self->hint);
    free(self->notice);
    free(self);
    *self_p = NULL;
}

static void set_failure(management_client_t *self, const char *ename,
                        const char *evalue, const char *hint)
{
    free(self->ename);
    free(self->evalue);
    free(self->hint);
    self->ename = mem_text(ename);
    self->evalue = mem_text(evalue);
    self->hint = hint && *hint ? mem_text(hint) : NULL;
}

void management_client_complain(const management_client_t *self)
{
    cleanup_terminal terminal_t *errors = terminal_new(stderr);
    cleanup_free char *text =
        mem_format("hearth: %s\n%s%s", self->evalue ? self->evalue : "failed",
                   self->hint ? self->hint : "", self->hint ? "\n" : "");

    terminal_colored(errors, text, strlen(text));
}

json_t *management_client_failure(const management_client_t *self)
{
    return json_pack("{s:s,s:s}", "ename", self->ename ? self->ename : "",
                     "evalue", self->evalue ? self->evalue : "failed");
}

bool management_client_is_served(const management_client_t *self)
{
    return gateway_start_is_served(self->socket);
}

/* Returns true if another gateway runs than the one that was found. Each makes
 * a key of its own, and drops messages that were signed with another. */
static bool is_replaced(const management_client_t *self)
{
    struct stat now;

    return stat(self->key, &now) < 0 || now.st_ino != self->made.st_ino
           || now.st_mtim.tv_sec != self->made.st_mtim.tv_sec
           || now.st_mtim.tv_nsec != self->made.st_mtim.tv_nsec;
}

static int connect_client(management_client_t *self, fault_t *fault)
{
    cleanup_free char *endpoint = mem_format("ipc://%s", self->socket);

    client_destroy(&self->client);
    (void) stat(self->key, &self->made); /* errors are printed below */
    return client_new_management(endpoint, self->key, &self->client, fault);
}

static gateway_exit_t complain_of(const fault_t *fault, gateway_exit_t status)
{
    fprintf(stderr, "hearth: %s\n", fault->text);
    return status;
}

/* Finds the running gateway, even if the configuration file has errors. */
static int find_gateway(management_client_t *self, options_t *options,
                        fault_t *fault)
{
    int r = options_load(options, NULL, fault);

    self->socket = mem_format("%s/" GATEWAY_SOCKET_FILE, options->runtime_dir);
    self->key = mem_format("%s/" GATEWAY_KEY_FILE, options->runtime_dir);
    return r < 0 && !management_client_is_served(self) ? r : 0;
}

bool management_client_find(management_client_t **ret_management)
{
    cleanup_management_client management_client_t *self = mem_new(sizeof *self);
    cleanup_options options_t *options = options_new();
    fault_t fault;

    if (find_gateway(self, options, &fault) < 0
        || !management_client_is_served(self)
        || connect_client(self, &fault) < 0)
        return false;
    *ret_management = take_ptr(self);
    return true;
}

static gateway_exit_t say_none(const management_client_t *self)
{
    fprintf(stderr,
            "hearth: no gateway listens on %s\n"
            "'hearth gateway start' starts one, and so do 'hearth session "
            "create' and 'hearth exec'.\n",
            self->socket);
    return GATEWAY_EXIT_UNREACHABLE;
}

static gateway_exit_t open_client(bool may_start, const gateway_start_t *how,
                                  management_client_t **ret_management)
{
    cleanup_management_client management_client_t *self = mem_new(sizeof *self);
    cleanup_options options_t *options = options_new();
    fault_t fault = {0};

    if (find_gateway(self, options, &fault) < 0)
        return complain_of(&fault, GATEWAY_EXIT_ENVIRONMENT);
    if (!management_client_is_served(self) && !may_start)
        return say_none(self);
    if ((!management_client_is_served(self)
         && gateway_start_run(how, self->socket, options, &fault) < 0)
        || connect_client(self, &fault) < 0)
        return complain_of(&fault, GATEWAY_EXIT_UNREACHABLE);
    *ret_management = take_ptr(self);
    return GATEWAY_EXIT_OK;
}

gateway_exit_t management_client_open(bool may_start,
                                      management_client_t **ret_management)
{
    const char *permitted = getenv("HEARTH_AUTOSTART");

    if (permitted && strcmp(permitted, "no") == 0)
        may_start = false;
    return open_client(may_start, &(gateway_start_t){0}, ret_management);
}

gateway_exit_t management_client_start(const char *const *words_or_null,
                                       const char *folder_or_null,
                                       management_client_t **ret_management)
{
    gateway_start_t how = {.words = words_or_null, .folder = folder_or_null};

    return open_client(true, &how, ret_management);
}

/* Returns true if the message answers the request with that id. */
static bool is_answer(const message_t *message, const char *id)
{
    bytes_t parent = message_parent(message);
    json_auto_t *header = json_loadb(parent.bytes, parent.size, 0, NULL);

    return strcmp(member_text(header, "msg_id"), id) == 0;
}

static gateway_exit_t read_reply(management_client_t *self,
                                 const message_t *message, json_t **ret_reply)
{
    bytes_t content = message_content(message);
    json_auto_t *reply = json_loadb(content.bytes, content.size, 0, NULL);
    int code;

    if (strcmp(member_text(reply, "status"), "ok") == 0) {
        *ret_reply = take_ptr(reply);
        return GATEWAY_EXIT_OK;
    }
    set_failure(self, member_text(reply, "ename"), member_text(reply, "evalue"),
                member_text(reply, "hint"));
    if (!*self->evalue)
        set_failure(self, "", "the gateway's answer is not valid", NULL);
    code = (int) member_number(reply, "exit_code", GATEWAY_EXIT_FAILED);
    return code > 0 && code < 256 ? (gateway_exit_t) code : GATEWAY_EXIT_FAILED;
}

static gateway_exit_t fail(management_client_t *self, gateway_exit_t status,
                           const char *why)
{
    set_failure(self, "", why, NULL);
    return status;
}

static gateway_exit_t unreachable(management_client_t *self, const char *why)
{
    return fail(self, GATEWAY_EXIT_UNREACHABLE, why);
}

gateway_exit_t management_client_ask(management_client_t *self,
                                     const char *verb, json_t *content,
                                     json_t **ret_reply)
{
    return management_client_exchange(self, verb, content, (bytes_t){0},
                                      ret_reply, NULL);
}

void management_client_explain(management_client_t *self, const char *notice)
{
    free(self->notice);
    self->notice = isatty(STDERR_FILENO) ? mem_text(notice) : NULL;
}

void management_client_look(management_client_t *self, bool (*look)(void *arg),
                            void *arg)
{
    self->look = look;
    self->look_arg = arg;
}

bool management_client_is_interrupted(const management_client_t *self)
{
    return self->is_interrupted;
}

void management_client_be_patient(management_client_t *self)
{
    self->is_patient = true;
}

/* Prints the notice of a slow answer, once. */
static void print_notice(management_client_t *self, int64_t sent)
{
    if (!self->notice || clock_monotonic_ms() - sent < SLOW_MS)
        return;
    fprintf(stderr, "hearth: %s\n", terminal_cell(self->notice, NOTICE_MAX));
    free(take_ptr(self->notice));
}

/* Returns true once, when `look` says no. What is asked from then on ends what
 * was begun, which a gateway that does nothing must not hold up. */
static bool is_to_end(management_client_t *self)
{
    if (self->last || !self->look || self->look(self->look_arg))
        return false;
    self->last = clock_monotonic_ms() + LAST_S * 1000;
    self->is_interrupted = true;
    free(self->notice);
    self->notice = mem_format("interrupted; the gateway gets %d s to end what "
                              "it was asked for",
                              LAST_S);
    return true;
}

static int64_t deadline(const management_client_t *self, int64_t sent)
{
    if (self->last)
        return self->last;
    return self->is_patient ? INT64_MAX : sent + REPLY_MS;
}

static void take_data(const message_t *message, buffer_t *ret_data)
{
    bytes_t data;

    if (!ret_data || !message_buffer_count(message))
        return;
    data = message_buffer(message, 0);
    buffer_append(ret_data, data.bytes, data.size);
}

gateway_exit_t management_client_exchange(management_client_t *self,
                                          const char *verb, json_t *content,
                                          bytes_t data, json_t **ret_reply,
                                          buffer_t *ret_data)
{
    json_auto_t *owned = content;
    cleanup_free char *type = mem_format("%s_request", verb);
    cleanup_free char *text = json_dumps(owned, JSON_COMPACT);
    unsigned long dropped = client_dropped(self->client);
    int64_t sent = clock_monotonic_ms();
    cleanup_free char *id = NULL;
    const char *sent_id;
    fault_t fault = {0};
    int r;

    if (!text)
        return fail(self, GATEWAY_EXIT_USAGE, "a value is not UTF-8 text");
    (void) is_to_end(self);
    r = client_send(self->client,
                    &(client_request_t){.channel = CHANNEL_CONTROL,
                                        .type = type,
                                        .content = text_bytes(text),
                                        .data = data},
                    &sent_id, &fault);
    if (r == -EMSGSIZE)
        return fail(self, GATEWAY_EXIT_USAGE, fault.text);
    if (r < 0)
        return unreachable(self, fault.text);
    id = mem_text(sent_id);
    while (clock_monotonic_ms() < deadline(self, sent)) {
        cleanup_message message_t *message = NULL;
        channel_t channel;

        r = client_receive(self->client, LOOK_MS, &channel, &message, &fault);
        if (r == 0 && is_answer(message, id)) {
            free(take_ptr(self->notice));
            take_data(message, ret_data);
            return read_reply(self, message, ret_reply);
        }
        if (client_dropped(self->client) != dropped)
            return unreachable(self, "the gateway's answer breaks a limit of "
                                     "the protocol");
        print_notice(self, sent);
        if (is_to_end(self))
            return unreachable(self, "interrupted");
        if (r == -ETIMEDOUT
            && (!management_client_is_served(self) || is_replaced(self)))
            return unreachable(self, "the gateway ended before it answered");
        if (r == -EINTR) {
            self->last = self->last ? clock_monotonic_ms() : 0;
            self->is_interrupted = true;
            return unreachable(self, "interrupted");
        }
        if (r < 0 && r != -ETIMEDOUT)
            return unreachable(self, fault.text);
    }
    return unreachable(self, "the gateway does not answer");
}

gateway_exit_t management_client_call(management_client_t *self,
                                      const char *verb, json_t *content,
                                      json_t **ret_reply)
{
    gateway_exit_t status =
        management_client_ask(self, verb, content, ret_reply);

    if (status != GATEWAY_EXIT_OK)
        management_client_complain(self);
    return status;
}

gateway_exit_t management_client_request(bool may_start, const char *verb,
                                         json_t *content, json_t **ret_reply)
{
    cleanup_management_client management_client_t *management = NULL;
    json_auto_t *owned = content;
    gateway_exit_t status = management_client_open(may_start, &management);

    if (status != GATEWAY_EXIT_OK)
        return status;
    return management_client_call(management, verb, take_ptr(owned), ret_reply);
}

void management_client_add_http(json_t *info)
{
    cleanup_free char *path = mem_format(
        "%s/%s", member_text(info, "runtime_dir"), GATEWAY_HTTP_FILE);
    json_t *http = json_load_file(path, 0, NULL);

    if (json_is_object(http)
        && member_number(http, "pid", 0) == member_number(info, "pid", -1))
        json_object_set(info, "http", http);
    json_decref(http);
}
