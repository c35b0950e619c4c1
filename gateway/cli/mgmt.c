/* A client of the management protocol, for one command's life, in the main
 * thread. Whether a gateway runs is asked by connecting to its socket: taking
 * the gateway's lock to see whether it is free could hit one that is just
 * being started. */
#include "gateway/cli/mgmt.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "gateway/cli/terminal.h"
#include "gateway/config/options.h"
#include "protocol/client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define START_MS     10000  /* until a new gateway listens */
#define REPLY_MS     300000 /* a first session waits for its imports */
#define LOOK_MS      500    /* between two looks whether it still lives */
#define LOG_TAIL_MAX (64 << 10)

extern char **environ;

struct mgmt {
    client_t *client; /* owned */
    char *socket;     /* owned; path of the management socket */
    char *key;        /* owned; path of its key */
    char *evalue;     /* owned; the last failure, NULL when none */
    char *hint;       /* owned; what to do about it, or NULL */
};

const char *member_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

double member_number(const json_t *object, const char *key, double otherwise)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : otherwise;
}

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

void mgmt_destroy(mgmt_t **self_p)
{
    mgmt_t *self = *self_p;

    if (!self)
        return;
    client_destroy(&self->client);
    free(self->socket);
    free(self->key);
    free(self->evalue);
    free(self->hint);
    free(self);
    *self_p = NULL;
}

static void set_failure(mgmt_t *self, const char *evalue, const char *hint)
{
    free(self->evalue);
    free(self->hint);
    self->evalue = mem_text(evalue);
    self->hint = hint && *hint ? mem_text(hint) : NULL;
}

void mgmt_complain(const mgmt_t *self)
{
    cleanup_terminal terminal_t *errors = terminal_new(stderr);
    cleanup_free char *text =
        mem_format("hearth: %s\n%s%s", self->evalue ? self->evalue : "failed",
                   self->hint ? self->hint : "", self->hint ? "\n" : "");

    terminal_colored(errors, text, strlen(text));
}

bool mgmt_is_served(const mgmt_t *self)
{
    cleanup_fd int fd = -1;
    fault_t fault;

    int r = fd_connect_unix(self->socket, &fd, &fault);

    return r >= 0 || r == -EAGAIN; /* its queue is full, so there is one */
}

/* What the log has gained since it had `from` bytes: its last line. */
static char *last_log_line(const char *path, off_t from)
{
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    cleanup_free char *text = mem_new(LOG_TAIL_MAX + 1);
    ssize_t size;
    char *line;

    if (fd < 0 || (size = pread(fd, text, LOG_TAIL_MAX, from)) <= 0)
        return NULL;
    while (size > 0 && text[size - 1] == '\n')
        size--;
    text[size] = '\0';
    line = strrchr(text, '\n');
    return mem_text(line ? line + 1 : text);
}

/* Starts `hearth serve` in a session of its own, so that the terminal's
 * signals do not reach it, with its output in the log. */
static int spawn_gateway(int log, pid_t *ret_pid, fault_t *fault)
{
    static const char *const argv[] = {"hearth", "serve", NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    int code;

    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, log, 1);
    posix_spawn_file_actions_adddup2(&actions, log, 2);
    posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID
                                              | POSIX_SPAWN_SETSIGMASK
                                              | POSIX_SPAWN_SETSIGDEF);
    code = posix_spawn(ret_pid, "/proc/self/exe", &actions, &attributes,
                       (char *const *) (uintptr_t) argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (code)
        return fault_set(fault, code, "start a gateway: %s", strerror(code));
    return 0;
}

/* Until the new gateway listens, has ended, or its time is over. */
static int wait_for_gateway(const mgmt_t *self, pid_t pid, const char *log,
                            off_t log_size, fault_t *fault)
{
    int64_t deadline = clock_monotonic_ms() + START_MS;
    int status;

    while (!mgmt_is_served(self)) {
        if (waitpid(pid, &status, WNOHANG) == pid) {
            cleanup_free char *line = last_log_line(log, log_size);

            /* Somebody else's may have been a moment faster. */
            if (mgmt_is_served(self))
                return 0;
            return fault_set(fault, ECHILD, "%s",
                             line ? line : "it ended without a word");
        }
        if (clock_monotonic_ms() > deadline)
            return fault_set(fault, ETIMEDOUT,
                             "it did not listen on %s within %d seconds",
                             self->socket, START_MS / 1000);
        poll(NULL, 0, 5);
    }
    return 0;
}

/* One command at a time starts a gateway; the others wait for it here. */
static int start_gateway(const mgmt_t *self, const options_t *options,
                         fault_t *fault)
{
    cleanup_free char *turn = mem_format("%s/start.lock", options->runtime_dir);
    cleanup_free char *log = mem_format("%s/gateway.log", options->state_dir);
    cleanup_fd int turn_fd = -1;
    cleanup_fd int log_fd = -1;
    struct stat status;
    pid_t pid;
    int r;

    if ((r = path_make_folders(options->runtime_dir, 0700, fault)) < 0
        || (r = path_make_folders(options->state_dir, 0700, fault)) < 0)
        return r;
    turn_fd = open(turn, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (turn_fd < 0 || flock(turn_fd, LOCK_EX) < 0)
        return fault_set(fault, errno, "%s: %s", turn, strerror(errno));
    if (mgmt_is_served(self))
        return 0;
    log_fd =
        open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (log_fd < 0 || fstat(log_fd, &status) < 0)
        return fault_set(fault, errno, "%s: %s", log, strerror(errno));
    if ((r = spawn_gateway(log_fd, &pid, fault)) < 0)
        return r;
    r = wait_for_gateway(self, pid, log, status.st_size, fault);
    return r < 0 ? fault_wrap(fault,
                              "the gateway did not start (its log is "
                              "%s)",
                              log)
                 : 0;
}

static int connect_client(mgmt_t *self, fault_t *fault)
{
    cleanup_free char *endpoint = mem_format("ipc://%s", self->socket);

    client_destroy(&self->client);
    return client_new_management(endpoint, self->key, &self->client, fault);
}

gateway_exit_t mgmt_open(bool may_start, mgmt_t **ret_mgmt)
{
    cleanup_mgmt mgmt_t *self = mem_new(sizeof *self);
    cleanup_options options_t *options = options_new();
    fault_t fault = {0};

    if (options_load(options, NULL, &fault) < 0) {
        fprintf(stderr, "hearth: %s\n", fault.text);
        return GATEWAY_EXIT_ENVIRONMENT;
    }
    self->socket = mem_format("%s/" GATEWAY_SOCKET_FILE, options->runtime_dir);
    self->key = mem_format("%s/" GATEWAY_KEY_FILE, options->runtime_dir);
    if (!mgmt_is_served(self)) {
        if (!may_start) {
            fprintf(stderr,
                    "hearth: no gateway listens on %s\n"
                    "'hearth serve' starts one, and so do 'hearth session "
                    "create' and 'hearth exec'.\n",
                    self->socket);
            return GATEWAY_EXIT_UNREACHABLE;
        }
        if (start_gateway(self, options, &fault) < 0) {
            fprintf(stderr, "hearth: %s\n", fault.text);
            return GATEWAY_EXIT_UNREACHABLE;
        }
    }
    if (connect_client(self, &fault) < 0) {
        fprintf(stderr, "hearth: %s\n", fault.text);
        return GATEWAY_EXIT_UNREACHABLE;
    }
    *ret_mgmt = take_ptr(self);
    return GATEWAY_EXIT_OK;
}

/* Whether the message answers the request with that id. */
static bool is_answer(const message_t *message, const char *id)
{
    bytes_t parent = message_parent(message);
    json_auto_t *header = json_loadb(parent.bytes, parent.size, 0, NULL);

    return strcmp(member_text(header, "msg_id"), id) == 0;
}

static gateway_exit_t read_reply(mgmt_t *self, const message_t *message,
                                 json_t **ret_reply)
{
    bytes_t content = message_content(message);
    json_auto_t *reply = json_loadb(content.bytes, content.size, 0, NULL);
    int code;

    if (strcmp(member_text(reply, "status"), "ok") == 0) {
        *ret_reply = take_ptr(reply);
        return GATEWAY_EXIT_OK;
    }
    set_failure(self, member_text(reply, "evalue"), member_text(reply, "hint"));
    if (!*self->evalue)
        set_failure(self, "the gateway's answer makes no sense", NULL);
    code = (int) member_number(reply, "exit_code", GATEWAY_EXIT_FAILED);
    return code > 0 && code < 256 ? (gateway_exit_t) code : GATEWAY_EXIT_FAILED;
}

static gateway_exit_t unreachable(mgmt_t *self, const char *why)
{
    set_failure(self, why, NULL);
    return GATEWAY_EXIT_UNREACHABLE;
}

gateway_exit_t mgmt_ask(mgmt_t *self, const char *verb, json_t *content,
                        json_t **ret_reply)
{
    return mgmt_exchange(self, verb, content, (bytes_t){0}, ret_reply, NULL);
}

static void take_data(const message_t *message, buffer_t *ret_data)
{
    bytes_t data;

    if (!ret_data || !message_buffer_count(message))
        return;
    data = message_buffer(message, 0);
    buffer_append(ret_data, data.bytes, data.size);
}

gateway_exit_t mgmt_exchange(mgmt_t *self, const char *verb, json_t *content,
                             bytes_t data, json_t **ret_reply,
                             buffer_t *ret_data)
{
    json_auto_t *owned = content;
    cleanup_free char *type = mem_format("%s_request", verb);
    cleanup_free char *text = json_dumps(owned, JSON_COMPACT);
    int64_t deadline = clock_monotonic_ms() + REPLY_MS;
    cleanup_free char *id = NULL;
    const char *lent_id;
    fault_t fault = {0};

    if (!text)
        return set_failure(self, "a value is no UTF-8 text", NULL),
               GATEWAY_EXIT_USAGE;
    if (client_send_data(self->client, CHANNEL_CONTROL, type,
                         (bytes_t){text, strlen(text)}, (bytes_t){"", 0}, data,
                         &lent_id, &fault)
        < 0)
        return unreachable(self, fault.text);
    id = mem_text(lent_id);
    while (clock_monotonic_ms() < deadline) {
        cleanup_message message_t *message = NULL;
        channel_t channel;
        int r =
            client_receive(self->client, LOOK_MS, &channel, &message, &fault);

        if (r == 0 && is_answer(message, id)) {
            take_data(message, ret_data);
            return read_reply(self, message, ret_reply);
        }
        if (r == -ETIMEDOUT && !mgmt_is_served(self))
            return unreachable(self, "the gateway ended before it answered");
        if (r == -EINTR)
            return unreachable(self, "interrupted");
        if (r < 0 && r != -ETIMEDOUT)
            return unreachable(self, fault.text);
    }
    return unreachable(self, "the gateway does not answer");
}

gateway_exit_t mgmt_call(mgmt_t *self, const char *verb, json_t *content,
                         json_t **ret_reply)
{
    gateway_exit_t status = mgmt_ask(self, verb, content, ret_reply);

    if (status != GATEWAY_EXIT_OK)
        mgmt_complain(self);
    return status;
}

gateway_exit_t mgmt_request(bool may_start, const char *verb, json_t *content,
                            json_t **ret_reply)
{
    cleanup_mgmt mgmt_t *mgmt = NULL;
    json_auto_t *owned = content;
    gateway_exit_t status = mgmt_open(may_start, &mgmt);

    if (status != GATEWAY_EXIT_OK)
        return status;
    return mgmt_call(mgmt, verb, take_ptr(owned), ret_reply);
}

void mgmt_add_http(json_t *info)
{
    cleanup_free char *path = mem_format(
        "%s/%s", member_text(info, "runtime_dir"), GATEWAY_HTTP_FILE);
    json_t *http = json_load_file(path, 0, NULL);

    if (json_is_object(http)
        && member_number(http, "pid", 0) == member_number(info, "pid", -1))
        json_object_set(info, "http", http);
    json_decref(http);
}
