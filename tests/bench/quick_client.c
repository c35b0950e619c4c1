/* A client that takes next to no time of its own: ZeroMQ's protocol (ZMTP 3.0,
 * rfc.zeromq.org/spec/23) over blocking sockets, without a thread. What is left
 * of a time that it takes is the other side's and the system's.
 *
 *     quick_client gateway MANAGEMENT_SOCKET KEY_FILE
 *     quick_client kernel CONNECTION_FILE COMMAND...
 *
 * For each line of standard input it makes a session, or starts the command,
 * runs the cell that imports, then `1+1` CELLS times, ends what it has begun,
 * and writes a line: until the session was there, until the subscription was,
 * until the cell's reply and `idle` were, and the median and the 99th
 * percentile of a `1+1`; ms. */
#include "base/clock.h"
#include "base/fault.h"
#include "base/fd.h"
#include "protocol/connection_file.h"
#include "protocol/jspan.h"
#include "protocol/message.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

#define CELLS     200
#define WARM      20
#define FRAMES    16
#define KEY_MAX   4096
#define RETRY_NS  500000
#define DELIMITER "<IDS|MSG>"
#define IMPORTS   "import pandas\\nimport matplotlib.pyplot"

extern char **environ;

/* A connection to one socket of the other side. */
typedef struct {
    int fd;
    buffer_t in; /* bytes that came and were not taken */
} bench_peer_t;

/* One message: where its frames are in the peer's bytes. */
typedef struct {
    bytes_t frames[FRAMES];
    size_t count, size;
} frames_t;

typedef struct {
    const char *command; /* "gateway", "kernel" */
    bench_peer_t management;
    secret_t *key; /* the management socket's */
    const char *connection_file;
    char **argv;
    unsigned counter;
} bench_side_t;

/* What runs, and how to end it. */
typedef struct {
    char id[64]; /* of the session */
    pid_t pid;   /* of the command */
    connection_file_t connection;
    bench_peer_t shell, iopub;
} bench_kernel_t;

static void give_up(const char *what, const char *why)
{
    fprintf(stderr, "quick_client: %s: %s\n", what, why);
    exit(1);
}

static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e3 * (double) now.tv_sec + (double) now.tv_nsec / 1e6;
}

static void send_all(const bench_peer_t *self, const buffer_t *out)
{
    for (size_t at = 0; at < out->size;) {
        ssize_t sent =
            send(self->fd, out->data + at, out->size - at, MSG_NOSIGNAL);
        if (sent < 0)
            give_up("send", strerror(errno));
        at += (size_t) sent;
    }
}

static void add_frame(buffer_t *out, uint8_t flags, const void *bytes,
                      size_t size)
{
    uint8_t head[9] = {flags};

    if (size < 256) {
        head[1] = (uint8_t) size;
        buffer_append(out, head, 2);
    } else {
        head[0] |= 2;
        for (int i = 0; i < 8; i++)
            head[1 + i] = (uint8_t) (size >> (56 - 8 * i));
        buffer_append(out, head, sizeof head);
    }
    buffer_append(out, bytes, size);
}

/* Greeting and READY at once: the other side's need not be waited for. What
 * follows must wait: libzmq closes on a message that comes before it has sent
 * its own READY. */
static void greet(const bench_peer_t *self, const char *type)
{
    static const uint8_t signature[12] = {0xff, 0, 0, 0,    0, 0,
                                          0,    0, 1, 0x7f, 3, 0};
    cleanup_buffer buffer_t out = BUFFER_EMPTY, ready = BUFFER_EMPTY;
    uint8_t rest[52] = "NULL", size[4] = {0, 0, 0, (uint8_t) strlen(type)};

    buffer_append(&out, signature, sizeof signature);
    buffer_append(&out, rest, sizeof rest);
    buffer_text(&ready, "\5READY\13Socket-Type");
    buffer_append(&ready, size, sizeof size);
    buffer_text(&ready, type);
    add_frame(&out, 4, ready.data, ready.size);
    send_all(self, &out);
}

static bool has(const bench_peer_t *self, size_t size)
{
    return self->in.size >= size;
}

static void receive_some(bench_peer_t *self)
{
    uint8_t *at = buffer_reserve(&self->in, 1 << 16);
    ssize_t got = recv(self->fd, at, 1 << 16, 0);

    if (got <= 0)
        give_up("receive", got ? strerror(errno) : "closed");
    self->in.size += (size_t) got;
}

/* False when the frame at `at` is not all there. */
static bool read_frame(const bench_peer_t *self, size_t *at, uint8_t *ret_flags,
                       bytes_t *ret_frame)
{
    const uint8_t *head = self->in.data + *at;
    size_t head_size = 2, size = 0;

    if (!has(self, *at + 2))
        return false;
    if (head[0] & 2) {
        head_size = 9;
        if (!has(self, *at + head_size))
            return false;
        for (int i = 0; i < 8; i++)
            size = size << 8 | head[1 + i];
    } else {
        size = head[1];
    }
    if (!has(self, *at + head_size + size))
        return false;
    *ret_flags = head[0];
    *ret_frame = (bytes_t){head + head_size, size};
    *at += head_size + size;
    return true;
}

static void take_greeting(bench_peer_t *self)
{
    size_t at = 0;
    uint8_t flags;
    bytes_t ready;

    while (!has(self, 64))
        receive_some(self);
    buffer_consume(&self->in, 64);
    while (!read_frame(self, &at, &flags, &ready))
        receive_some(self);
    buffer_consume(&self->in, at);
}

/* Lent until it is taken off by buffer_consume. */
static frames_t receive(bench_peer_t *self)
{
    frames_t found = {.count = 0};

    for (;;) {
        uint8_t flags = 1;
        size_t at = 0;

        found.count = 0;
        while ((flags & 1) && found.count < FRAMES
               && read_frame(self, &at, &flags, &found.frames[found.count]))
            found.count++;
        if (!(flags & 1)) {
            found.size = at;
            return found;
        }
        if (found.count == FRAMES)
            give_up("receive", "too many frames");
        receive_some(self);
    }
}

static bool holds(bytes_t bytes, const char *text)
{
    return memmem(bytes.bytes, bytes.size, text, strlen(text)) != NULL;
}

/* Returns the part at that distance after the delimiter: 2 the header, 3 the
 * parent, 5 the content. */
static bytes_t part(const frames_t *message, size_t behind)
{
    for (size_t i = 0; i + behind < message->count; i++)
        if (message->frames[i].size == strlen(DELIMITER)
            && holds(message->frames[i], DELIMITER))
            return message->frames[i + behind];
    give_up("receive", "a message without a delimiter");
    return (bytes_t){0};
}

/* `ret_id` is what its answers name. */
static void send_request(bench_side_t *side, const bench_peer_t *peer,
                         const secret_t *secret, const char *type,
                         char *content, char ret_id[32])
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY, header = BUFFER_EMPTY;
    char signature[SECRET_SIGNATURE_SIZE];
    char nothing[] = "{}";
    struct iovec parts[4] = {{NULL, 0}, {nothing, 2}, {nothing, 2}};

    snprintf(ret_id, 32, "quick_%u", ++side->counter);
    message_write_header(&header, ret_id, "quick", type, clock_wall_us());
    parts[0] = (struct iovec){header.data, header.size};
    parts[3] = (struct iovec){content, strlen(content)};
    secret_sign(secret, parts, 4, signature);
    add_frame(&out, 1, DELIMITER, strlen(DELIMITER));
    add_frame(&out, 1, signature, sizeof signature);
    for (int i = 0; i < 4; i++)
        add_frame(&out, i < 3, parts[i].iov_base, parts[i].iov_len);
    send_all(peer, &out);
}

static void connect_to(bench_peer_t *self, const struct sockaddr *address,
                       socklen_t size)
{
    static const struct timespec pause = {.tv_nsec = RETRY_NS};

    for (;;) {
        int on = 1;

        self->fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (self->fd >= 0 && connect(self->fd, address, size) == 0) {
            (void) setsockopt(self->fd, IPPROTO_TCP, TCP_NODELAY, &on,
                              sizeof on);
            return;
        }
        if (errno != ECONNREFUSED && errno != ENOENT)
            give_up("connect", strerror(errno));
        close(self->fd);
        nanosleep(&pause, NULL); /* it has only just been started */
    }
}

static void connect_by_tcp(const connection_file_t *connection,
                           channel_t channel, bench_peer_t *peer)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t) connection->ports[channel]),
    };

    if (inet_pton(AF_INET, connection->ip, &address.sin_addr) != 1)
        give_up(connection->ip, "no IPv4 address");
    connect_to(peer, (struct sockaddr *) &address, sizeof address);
}

static void connect_by_path(const connection_file_t *connection,
                            channel_t channel, bench_peer_t *peer)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t max = sizeof address.sun_path;
    int size = snprintf(address.sun_path, max, "%s-%d", connection->ip,
                        connection->ports[channel]);

    if (size < 0 || (size_t) size >= max)
        give_up(connection->ip, "too long for a socket's path");
    connect_to(peer, (struct sockaddr *) &address, sizeof address);
}

static void connect_channel(const connection_file_t *connection,
                            channel_t channel, bench_peer_t *peer)
{
    if (strcmp(connection->transport, "ipc") == 0)
        connect_by_path(connection, channel, peer);
    else
        connect_by_tcp(connection, channel, peer);
    greet(peer, channel == CHANNEL_SHELL ? "DEALER" : "SUB");
}

static void await_welcome(bench_kernel_t *kernel)
{
    cleanup_buffer buffer_t subscription = BUFFER_EMPTY;
    bool is_there = false;

    add_frame(&subscription, 0, "\1", 1); /* to everything */
    connect_channel(&kernel->connection, CHANNEL_IOPUB, &kernel->iopub);
    connect_channel(&kernel->connection, CHANNEL_SHELL, &kernel->shell);
    take_greeting(&kernel->iopub);
    send_all(&kernel->iopub, &subscription);
    while (!is_there) {
        frames_t message = receive(&kernel->iopub);

        is_there = holds(part(&message, 2), "\"iopub_welcome\"");
        buffer_consume(&kernel->iopub.in, message.size);
    }
    take_greeting(&kernel->shell);
}

/* Until both reply and `idle` are here. */
static void run_cell(bench_side_t *side, bench_kernel_t *kernel,
                     const char *code)
{
    char id[32], named[40];
    cleanup_free char *content =
        mem_format("{\"code\":\"%s\",\"silent\":false,\"store_history\":true,"
                   "\"user_expressions\":{},\"allow_stdin\":false,"
                   "\"stop_on_error\":true}",
                   code);
    bool is_idle = false, is_replied = false;

    send_request(side, &kernel->shell, kernel->connection.secret,
                 "execute_request", content, id);
    snprintf(named, sizeof named, "\"%s\"", id);
    while (!is_idle) {
        frames_t message = receive(&kernel->iopub);

        is_idle = holds(part(&message, 2), "\"status\"")
                  && holds(part(&message, 3), named)
                  && holds(part(&message, 5), "\"idle\"");
        buffer_consume(&kernel->iopub.in, message.size);
    }
    while (!is_replied) {
        frames_t message = receive(&kernel->shell);

        is_replied = holds(part(&message, 3), named);
        if (is_replied && !holds(part(&message, 5), "\"ok\""))
            give_up(code, "it failed");
        buffer_consume(&kernel->shell.in, message.size);
    }
}

/* The content of the answer, checked. */
static char *ask(bench_side_t *side, const char *type, char *content)
{
    char id[32];
    frames_t message;
    bytes_t answer;
    char *text;

    send_request(side, &side->management, side->key, type, content, id);
    message = receive(&side->management);
    answer = part(&message, 5);
    text = mem_copy(answer.bytes, answer.size);
    buffer_consume(&side->management.in, message.size);
    if (!strstr(text, "\"ok\""))
        give_up(type, text);
    return text;
}

static void start_session(bench_side_t *side, bench_kernel_t *kernel)
{
    char wishes[] = "{}";
    cleanup_free char *answer = ask(side, "session_create_request", wishes);
    cleanup_free char *file = NULL, *id = NULL;
    jspan_t value, session;
    fault_t fault;

    if (jspan_check(answer, strlen(answer), &value, &fault) < 0)
        give_up("session_create", fault.text);
    session = jspan_member(value, "session");
    file = jspan_text_new(jspan_member(session, "connection_file"));
    id = jspan_text_new(jspan_member(session, "id"));
    if (!file || !id)
        give_up("session_create", answer);
    snprintf(kernel->id, sizeof kernel->id, "%s", id);
    if (connection_file_read(file, &kernel->connection, &fault) < 0)
        give_up(file, fault.text);
}

static void start_command(bench_side_t *side, bench_kernel_t *kernel)
{
    posix_spawn_file_actions_t actions;
    fault_t fault;
    int code;

    if (connection_file_read(side->connection_file, &kernel->connection, &fault)
        < 0)
        give_up(side->connection_file, fault.text);
    posix_spawn_file_actions_init(&actions);
    for (int fd = 0; fd < 3; fd++) /* standard output is ours */
        posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
    code = posix_spawn(&kernel->pid, side->argv[0], &actions, NULL, side->argv,
                       environ);
    posix_spawn_file_actions_destroy(&actions);
    if (code)
        give_up(side->argv[0], strerror(code));
}

static void end(bench_side_t *side, bench_kernel_t *kernel)
{
    close(kernel->shell.fd);
    close(kernel->iopub.fd);
    buffer_reset(&kernel->shell.in);
    buffer_reset(&kernel->iopub.in);
    connection_file_clear(&kernel->connection);
    if (kernel->pid) {
        kill(kernel->pid, SIGKILL);
        waitpid(kernel->pid, NULL, 0);
    } else {
        cleanup_free char *content = mem_format("{\"id\":\"%s\"}", kernel->id);
        free(ask(side, "session_delete_request", content));
    }
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *) a, right = *(const double *) b;

    return (left > right) - (left < right);
}

/* Sorted. */
static void time_trips(bench_side_t *side, bench_kernel_t *kernel,
                       double times[CELLS])
{
    for (int i = 0; i < WARM; i++)
        run_cell(side, kernel, "1+1");
    for (int i = 0; i < CELLS; i++) {
        double begun = now_ms();

        run_cell(side, kernel, "1+1");
        times[i] = now_ms() - begun;
    }
    qsort(times, CELLS, sizeof *times, compare);
}

static void measure(bench_side_t *side)
{
    bench_kernel_t kernel = {.pid = 0};
    double begun = now_ms(), there, welcome, done, trips[CELLS];

    if (side->argv)
        start_command(side, &kernel);
    else
        start_session(side, &kernel);
    there = now_ms();
    await_welcome(&kernel);
    welcome = now_ms();
    run_cell(side, &kernel, IMPORTS);
    done = now_ms();
    time_trips(side, &kernel, trips);
    end(side, &kernel);
    printf("[%.4f, %.4f, %.4f, %.4f, %.4f]\n", there - begun, welcome - begun,
           done - begun, trips[CELLS / 2], trips[CELLS * 99 / 100 - 1]);
    fflush(stdout);
}

static void open_management(bench_side_t *side, const char *path,
                            const char *key_file)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    cleanup_buffer buffer_t key = BUFFER_EMPTY;
    fault_t fault;

    if (file_read(key_file, KEY_MAX, &key, &fault) < 0
        || secret_new((const char *) key.data, key.size, &side->key, &fault)
               < 0)
        give_up(key_file, fault.text);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    connect_to(&side->management, (struct sockaddr *) &address, sizeof address);
    greet(&side->management, "DEALER");
    take_greeting(&side->management);
}

int main(int argc, char **argv)
{
    bench_side_t side = {.command = argc > 1 ? argv[1] : ""};
    char line[16];

    if (argc == 4 && strcmp(side.command, "gateway") == 0) {
        open_management(&side, argv[2], argv[3]);
    } else if (argc > 3 && strcmp(side.command, "kernel") == 0) {
        side.connection_file = argv[2];
        side.argv = argv + 3;
    } else {
        give_up("usage", "gateway SOCKET KEY_FILE, or kernel FILE COMMAND...");
    }
    while (fgets(line, sizeof line, stdin))
        measure(&side);
    if (side.key) {
        close(side.management.fd);
        buffer_reset(&side.management.in);
        secret_destroy(&side.key);
    }
    return 0;
}
