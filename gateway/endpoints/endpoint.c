/* See endpoint.h. */
#include "gateway/endpoints/endpoint.h"

#include "base/buffer.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <sodium.h>
#include <string.h>
#include <unistd.h>

#define DESCRIPTION_MAX 4096

/* NAME.at, as it lies on disk. */
typedef struct {
    uint64_t cursor;
    uint64_t subscribers;
} position_t;

static char *path_of(const endpoint_home_t *home, const char *name,
                     const char *ending)
{
    return mem_format("%s/%s.%s", home->folder, name, ending);
}

/* Returns the path prefix that replaces the address in a connection file for
 * ipc. */
static char *socket_prefix(const endpoint_home_t *home, const char *name)
{
    return mem_format("%s/%s", home->folder, name);
}

char *endpoint_file(const endpoint_t *self)
{
    return path_of(self->home, self->name, "json");
}

bool endpoint_has_file(const endpoint_t *self)
{
    cleanup_free char *path = endpoint_file(self);

    return access(path, F_OK) == 0 || errno != ENOENT;
}

void endpoint_note(endpoint_t *self)
{
    position_t position = {
        .cursor = journal_follower_position(self->follower),
        .subscribers = channels_subscribers(self->channels),
    };
    ssize_t written = 0;

    if (self->is_open) /* until then the noted position is not reached */
        written = pwrite(self->position_fd, &position, sizeof position, 0);
    (void) written;
}

void endpoint_destroy(endpoint_t **self_p)
{
    endpoint_t *self = *self_p;

    if (!self)
        return;
    if (self->channels)
        channels_silence(self->channels);
    channels_destroy(&self->channels);
    connection_file_clear(&self->connection);
    journal_follower_destroy(&self->follower);
    if (self->position_fd >= 0)
        close(self->position_fd);
    free(self);
    *self_p = NULL;
}
#define cleanup_endpoint CLEANUP(endpoint_destroy)

static void unlink_files(const endpoint_home_t *home, const char *name)
{
    static const char *const endings[] = {"json", "door", "at"};
    cleanup_free char *prefix = socket_prefix(home, name);

    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        cleanup_free char *path = path_of(home, name, endings[i]);
        (void) unlink(path);
    }
    /* A killed gateway may have left them. */
    for (int i = 1; i <= CHANNEL_COUNT; i++) {
        cleanup_free char *socket = mem_format("%s-%d", prefix, i);
        (void) unlink(socket);
    }
}

void endpoint_remove(endpoint_t **self_p)
{
    endpoint_t *self = *self_p;

    if (!self)
        return;
    unlink_files(self->home, self->name);
    endpoint_destroy(self_p);
}

static endpoint_t *make(const endpoint_home_t *home, const char *name)
{
    endpoint_t *self = mem_new(sizeof *self);

    self->home = home;
    self->position_fd = -1;
    self->follower = journal_follower_new();
    snprintf(self->name, sizeof self->name, "%s", name);
    return self;
}

static int open_position(endpoint_t *self, fault_t *fault)
{
    cleanup_free char *path = path_of(self->home, self->name, "at");

    self->position_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (self->position_fd < 0)
        return fault_set(fault, errno, "%s: %s", path, strerror(errno));
    return 0;
}

static int write_description(const endpoint_t *self, const char *session,
                             fault_t *fault)
{
    json_auto_t *description =
        json_pack("{s:s,s:b,s:s}", "session", session, "observe",
                  self->is_observing, "created", self->created);
    cleanup_free char *text = json_dumps(description, JSON_COMPACT);
    cleanup_free char *path = path_of(self->home, self->name, "door");

    return file_write_atomic(path, 0600, text, strlen(text), fault);
}

static int choose_address(endpoint_t *self, fault_t *fault)
{
    const options_t *options = self->home->options;
    connection_file_t *connection = &self->connection;
    cleanup_free char *prefix = socket_prefix(self->home, self->name);

    if (options->transport == OPTIONS_TCP) {
        snprintf(connection->transport, sizeof connection->transport, "tcp");
        snprintf(connection->ip, sizeof connection->ip, "%.100s", options->ip);
        return 0;
    }
    snprintf(connection->transport, sizeof connection->transport, "ipc");
    if (snprintf(connection->ip, sizeof connection->ip, "%s", prefix)
        >= (int) sizeof connection->ip - 2)
        return fault_set(fault, ENAMETOOLONG,
                         "%s is too long for ipc sockets; set "
                         "gateway/runtime_dir to a shorter one",
                         self->home->folder);
    for (int i = 0; i < CHANNEL_COUNT; i++)
        connection->ports[i] = i + 1;
    return 0;
}

static int bind_sockets(endpoint_t *self, bool is_restored, fault_t *fault)
{
    cleanup_free char *prefix = socket_prefix(self->home, self->name);
    channel_place_t place = {
        .name = self->name, .prefix = prefix, .is_restored = is_restored};

    return channels_new(&self->connection, &place, &self->channels, fault);
}

/* Makes sockets and files. The description is written before the connection
 * file: without it the files are no endpoint. */
static int establish(endpoint_t *self, const char *session, fault_t *fault)
{
    cleanup_free char *path = endpoint_file(self);
    int r;

    if ((r = choose_address(self, fault)) < 0
        || (r = bind_sockets(self, false, fault)) < 0
        || (r = open_position(self, fault)) < 0
        || (r = write_description(self, session, fault)) < 0)
        return r;
    return connection_file_write(&self->connection, path, fault);
}

int endpoint_new(const endpoint_home_t *home, endpoint_target_t *target,
                 const char *profile, bool is_observing,
                 endpoint_t **ret_endpoint, fault_t *fault)
{
    cleanup_endpoint endpoint_t *self = NULL;
    uint8_t random[(ENDPOINT_NAME_SIZE - 1) / 2];
    char name[ENDPOINT_NAME_SIZE];
    int r;

    randombytes_buf(random, sizeof random);
    sodium_bin2hex(name, sizeof name, random, sizeof random);
    self = make(home, name);
    self->target = target;
    self->is_observing = is_observing;
    clock_iso(clock_wall_us(), self->created);
    self->connection.secret = secret_new_random();
    snprintf(self->connection.kernel_name, sizeof self->connection.kernel_name,
             "%.60s", profile);
    r = establish(self, target->id, fault);
    if (r < 0) {
        unlink_files(home, name);
        return r;
    }
    *ret_endpoint = take_ptr(self);
    return 0;
}

static int read_description(endpoint_t *self, char ret_session[FRONTEND_ID_MAX],
                            fault_t *fault)
{
    cleanup_free char *path = path_of(self->home, self->name, "door");
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    json_auto_t *description = NULL;
    const char *session = NULL, *created = NULL;
    int observe = 0, r = file_read(path, DESCRIPTION_MAX, &text, fault);

    if (r < 0)
        return r;
    description = json_loadb((const char *) text.data, text.size, 0, NULL);
    if (json_unpack(description, "{s:s,s:b,s:s}", "session", &session,
                    "observe", &observe, "created", &created)
            < 0
        || strlen(session) >= FRONTEND_ID_MAX)
        return fault_set(fault, EINVAL, "%s does not name its session", path);
    self->is_observing = observe != 0;
    snprintf(self->created, sizeof self->created, "%.27s", created);
    snprintf(ret_session, FRONTEND_ID_MAX, "%s", session);
    return 0;
}

static int read_position(endpoint_t *self, fault_t *fault)
{
    position_t position = {0};
    int r = open_position(self, fault);

    if (r < 0)
        return r;
    if (pread(self->position_fd, &position, sizeof position, 0)
        != (ssize_t) sizeof position)
        return 0; /* no viewer has connected yet */
    /* Its last reply may have gone with the gateway that sent it. */
    journal_follower_resume(self->follower, position.cursor, true);
    self->awaited = (unsigned) position.subscribers;
    return 0;
}

/* Reads the connection file. Refuses an empty key, which would let every
 * process in. */
static int read_connection(endpoint_t *self, fault_t *fault)
{
    cleanup_free char *path = endpoint_file(self);
    int r = connection_file_read(path, &self->connection, fault);

    if (r < 0)
        return r;
    return secret_is_empty(self->connection.secret)
               ? fault_set(fault, EINVAL, "%s has no key", path)
               : 0;
}

/* Returns true for an error that passes: the machine is short of something, and
 * the next gateway may open the endpoint. */
static bool is_passing(int r)
{
    return r == -EMFILE || r == -ENFILE || r == -ENOMEM || r == -ENOBUFS
           || r == -EINTR || r == -EAGAIN;
}

int endpoint_restore(const endpoint_home_t *home, const char *name,
                     endpoint_t **ret_endpoint,
                     char ret_session[FRONTEND_ID_MAX], fault_t *fault)
{
    cleanup_endpoint endpoint_t *self = make(home, name);
    int r;

    if ((r = read_description(self, ret_session, fault)) < 0
        || (r = read_connection(self, fault)) < 0
        || (r = read_position(self, fault)) < 0
        || (r = bind_sockets(self, true, fault)) < 0) {
        if (!is_passing(r))
            unlink_files(home, name);
        return r;
    }
    self->restored = clock_monotonic_ms();
    *ret_endpoint = take_ptr(self);
    return 0;
}
