/* One door: three files in the runtime folder. NAME.json is its connection
 * file, and its being there is what permits: who takes it away has closed the
 * door. NAME.door says whose it is, NAME.at how far its viewer has come. */
#include "gateway/endpoints/internal.h"

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

static char *path_of(const keeper_t *keeper, const char *name,
                     const char *ending)
{
    return mem_format("%s/%s.%s", keeper->folder, name, ending);
}

/* What a connection file of ipc has instead of an address. */
static char *socket_prefix(const keeper_t *keeper, const char *name)
{
    return mem_format("%s/%s", keeper->folder, name);
}

char *door_file(const door_t *self)
{
    return path_of(self->keeper, self->name, "json");
}

bool door_has_file(const door_t *self)
{
    cleanup_free char *path = door_file(self);

    return access(path, F_OK) == 0 || errno != ENOENT;
}

void door_note(door_t *self)
{
    position_t position = {
        .cursor = self->cursor,
        .subscribers = ports_subscribers(self->ports),
    };
    ssize_t written = 0;

    if (self->is_open) /* before, what was noted is not reached yet */
        written = pwrite(self->position_fd, &position, sizeof position, 0);
    (void) written;
}

void door_destroy(door_t **self_p)
{
    door_t *self = *self_p;

    if (!self)
        return;
    if (self->ports)
        ports_silence(self->ports);
    ports_destroy(&self->ports);
    connection_clear(&self->connection);
    journal_reader_destroy(&self->reader);
    if (self->position_fd >= 0)
        close(self->position_fd);
    free(self);
    *self_p = NULL;
}
#define cleanup_door CLEANUP(door_destroy)

static void unlink_files(const keeper_t *keeper, const char *name)
{
    static const char *const endings[] = {"json", "door", "at"};
    cleanup_free char *prefix = socket_prefix(keeper, name);

    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        cleanup_free char *path = path_of(keeper, name, endings[i]);
        (void) unlink(path);
    }
    /* Of ipc; those that a killed gateway has left are nobody's else. */
    for (int i = 1; i <= CHANNEL_COUNT; i++) {
        cleanup_free char *socket = mem_format("%s-%d", prefix, i);
        (void) unlink(socket);
    }
}

void door_remove(door_t **self_p)
{
    door_t *self = *self_p;

    if (!self)
        return;
    unlink_files(self->keeper, self->name);
    door_destroy(self_p);
}

static door_t *make(keeper_t *keeper, const char *name)
{
    door_t *self = mem_new(sizeof *self);

    self->keeper = keeper;
    self->position_fd = -1;
    snprintf(self->name, sizeof self->name, "%s", name);
    return self;
}

static int open_position(door_t *self, fault_t *fault)
{
    cleanup_free char *path = path_of(self->keeper, self->name, "at");

    self->position_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (self->position_fd < 0)
        return fault_set(fault, errno, "%s: %s", path, strerror(errno));
    return 0;
}

static int write_description(const door_t *self, const char *session,
                             fault_t *fault)
{
    json_auto_t *description =
        json_pack("{s:s,s:b,s:s}", "session", session, "observe",
                  self->is_observing, "created", self->created);
    cleanup_free char *text = json_dumps(description, JSON_COMPACT);
    cleanup_free char *path = path_of(self->keeper, self->name, "door");

    return file_write_atomic(path, 0600, text, strlen(text), fault);
}

static int choose_address(door_t *self, fault_t *fault)
{
    const options_t *options = self->keeper->options;
    connection_t *connection = &self->connection;
    cleanup_free char *prefix = socket_prefix(self->keeper, self->name);

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
                         self->keeper->folder);
    for (int i = 0; i < CHANNEL_COUNT; i++)
        connection->ports[i] = i + 1;
    return 0;
}

/* The description first: what has none is no door. */
static int establish(door_t *self, const char *session, fault_t *fault)
{
    cleanup_free char *path = door_file(self);
    int r;

    if ((r = choose_address(self, fault)) < 0
        || (r = ports_new(&self->connection, &self->ports, fault)) < 0
        || (r = open_position(self, fault)) < 0
        || (r = write_description(self, session, fault)) < 0)
        return r;
    return connection_write(&self->connection, path, fault);
}

int door_new(keeper_t *keeper, aim_t *aim, const char *profile,
             bool is_observing, door_t **ret_door, fault_t *fault)
{
    cleanup_door door_t *self = NULL;
    uint8_t random[(DOOR_NAME_SIZE - 1) / 2];
    char name[DOOR_NAME_SIZE];
    int r;

    randombytes_buf(random, sizeof random);
    sodium_bin2hex(name, sizeof name, random, sizeof random);
    self = make(keeper, name);
    self->aim = aim;
    self->is_observing = is_observing;
    clock_iso(clock_wall_us(), self->created);
    self->connection.secret = secret_new_random();
    snprintf(self->connection.kernel_name, sizeof self->connection.kernel_name,
             "%.60s", profile);
    r = establish(self, aim->id, fault);
    if (r < 0) {
        unlink_files(keeper, name);
        return r;
    }
    *ret_door = take_ptr(self);
    return 0;
}

static int read_description(door_t *self, char ret_session[FRONT_ID_MAX],
                            fault_t *fault)
{
    cleanup_free char *path = path_of(self->keeper, self->name, "door");
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
        || strlen(session) >= FRONT_ID_MAX)
        return fault_set(fault, EINVAL, "%s does not say whose it is", path);
    self->is_observing = observe != 0;
    snprintf(self->created, sizeof self->created, "%.27s", created);
    snprintf(ret_session, FRONT_ID_MAX, "%s", session);
    return 0;
}

static int read_position(door_t *self, fault_t *fault)
{
    position_t position = {0};
    int r = open_position(self, fault);

    if (r < 0)
        return r;
    if (pread(self->position_fd, &position, sizeof position, 0)
        != (ssize_t) sizeof position)
        return 0; /* nobody has come through it yet */
    self->cursor = position.cursor;
    self->is_behind = true;
    self->awaited = (unsigned) position.subscribers;
    return 0;
}

/* An empty key would let everybody in. */
static int read_connection(door_t *self, fault_t *fault)
{
    cleanup_free char *path = door_file(self);
    int r = connection_read(path, &self->connection, fault);

    if (r < 0)
        return r;
    return secret_is_empty(self->connection.secret)
               ? fault_set(fault, EINVAL, "%s has no key", path)
               : 0;
}

/* The machine is short of something: the next gateway may open it. */
static bool is_passing(int r)
{
    return r == -EMFILE || r == -ENFILE || r == -ENOMEM || r == -ENOBUFS
           || r == -EINTR || r == -EAGAIN;
}

int door_restore(keeper_t *keeper, const char *name, door_t **ret_door,
                 char ret_session[FRONT_ID_MAX], fault_t *fault)
{
    cleanup_door door_t *self = make(keeper, name);
    int r;

    if ((r = read_description(self, ret_session, fault)) < 0
        || (r = read_connection(self, fault)) < 0
        || (r = read_position(self, fault)) < 0
        || (r = ports_new(&self->connection, &self->ports, fault)) < 0) {
        if (!is_passing(r))
            unlink_files(keeper, name);
        return r;
    }
    self->restored = clock_monotonic_ms();
    *ret_door = take_ptr(self);
    return 0;
}
