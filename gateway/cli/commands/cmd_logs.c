/* hearth logs: prints the log of a gateway in the background, all of it or one
 * session's lines, and follows it. */
#include "gateway/cli/core/command.h"

#include "base/buffer.h"
#include "gateway/cli/client/management_client.h"
#include "gateway/cli/core/terminal.h"
#include "notebooks/json/member.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_STEP 65536
#define LOOK_MS   1000 /* where inotify reports nothing: at rotation, on NFS */

typedef struct {
    const char *path;  /* borrowed */
    const char *words; /* borrowed; "session=ID", or NULL: every line */
    int fd;            /* owned */
    buffer_t rest;     /* owned; a line that has no end yet */
} log_follower_t;

static void follower_clear(log_follower_t *self)
{
    if (self->fd >= 0)
        close(self->fd);
    buffer_reset(&self->rest);
}

/* Prints whole lines only. */
static void print_lines(log_follower_t *self)
{
    char *text = (char *) self->rest.data;
    size_t at = 0;

    for (char *end; (end = memchr(text + at, '\n', self->rest.size - at));
         at = (size_t) (end + 1 - text)) {
        *end = '\0';
        if (!self->words || strstr(text + at, self->words))
            puts(terminal_cell(text + at, SIZE_MAX));
    }
    buffer_consume(&self->rest, at);
    (void) fflush(stdout);
}

static int read_on(log_follower_t *self)
{
    ssize_t size;

    do {
        size =
            read(self->fd, buffer_reserve(&self->rest, READ_STEP), READ_STEP);
        if (size > 0)
            self->rest.size += (size_t) size;
        if (self->rest.size)
            print_lines(self);
    } while (size > 0);
    return size < 0 ? -errno : 0;
}

/* Returns true if another file has the log's name now. */
static bool was_rotated(const log_follower_t *self)
{
    struct stat named, open_one;

    return stat(self->path, &named) == 0 && fstat(self->fd, &open_one) == 0
           && (named.st_ino != open_one.st_ino
               || named.st_dev != open_one.st_dev);
}

static int follow(log_follower_t *self)
{
    cleanup_fd int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    struct pollfd look = {.fd = watch, .events = POLLIN};
    char events[4096];
    int r = 0;

    if (watch < 0 || inotify_add_watch(watch, self->path, IN_MODIFY) < 0)
        return -errno;
    while (r == 0 && !ferror(stdout)) {
        if (poll(&look, 1, LOOK_MS) > 0)
            while (read(watch, events, sizeof events) > 0)
                continue;
        r = read_on(self);
        if (r == 0 && was_rotated(self)) {
            int fd = open(self->path, O_RDONLY | O_CLOEXEC);

            if (fd < 0)
                continue;
            close(self->fd);
            self->fd = fd;
            (void) inotify_add_watch(watch, self->path, IN_MODIFY);
        }
    }
    return r;
}

/* Returns "session=ID": with the id that the gateway answers if one runs, else
 * as it was given. */
static char *name_session(const char *id)
{
    cleanup_management_client management_client_t *management = NULL;
    json_auto_t *reply = NULL;

    if (management_client_find(&management)
        && management_client_ask(management, "session_show",
                                 json_pack("{s:s}", "id", id), &reply)
               == GATEWAY_EXIT_OK)
        id = member_text(json_object_get(reply, "session"), "id");
    return mem_format("session=%s", id);
}

static int logs(const arguments_t *arguments)
{
    cleanup_options options_t *options = arguments_options(arguments);
    const char *id = arguments_operand(arguments, 0);
    cleanup_free char *words = id ? name_session(id) : NULL;
    int r;

    if (!options)
        return GATEWAY_EXIT_ENVIRONMENT;
    cleanup_free char *path =
        mem_format("%s/" GATEWAY_LOG_FILE, options->state_dir);
    CLEANUP(follower_clear)
    log_follower_t follower = {
        .path = path,
        .words = words,
        .fd = open(path, O_RDONLY | O_CLOEXEC),
        .rest = BUFFER_EMPTY,
    };
    if (follower.fd < 0)
        return complain(GATEWAY_EXIT_FAILED,
                        "%s: %s\nOnly a gateway in the background writes it; "
                        "for a service: journalctl -u hearth",
                        path, strerror(errno));
    r = read_on(&follower);
    if (r == 0 && arguments_has(arguments, "follow"))
        r = follow(&follower);
    return r < 0 ? (int) complain(GATEWAY_EXIT_FAILED, "%s: %s", path,
                                  strerror(-r))
                 : GATEWAY_EXIT_OK;
}

static const flag_t flags[] = {
    {"follow", 'f', NULL, "continue to print new lines"},
    {0},
};

const command_t logs_commands[] = {
    {
        .name = "logs",
        .operands = "[ID]",
        .help = "print the log of a gateway in the background",
        .more = "ID: only lines about that session.",
        .flags = flags,
        .run = logs,
    },
    {0},
};
