/* See download_process.h. The loop polls the socket for what the worker says,
 * and its pidfd for its end. The first answer counts: the socket is closed when
 * it has come. How a process has ended without one is known a moment after its
 * socket. */
#include "gateway/registry/downloads/download_process.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/memory_file.h"
#include "base/pidfd.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define END_MS      3000  /* to end by itself once its socket is closed */
#define DESTROY_MS  1000  /* the same, when the gateway ends */
#define JOB_IN_FILE "{}"  /* the datagram with which a job's file comes */
#define SAY_MAX     10000 /* datagrams of progress: one a second for hours */

struct download_process {
    download_process_start_t start; /* its loop, ops and arg are used */
    int socket;                     /* owned; -1: closed, which asks the process
                                       to end */
    int pidfd;                      /* owned */
    pid_t pid;                      /* to be reaped */
    int timer;                      /* the loop's; 0: none */
    unsigned said;                  /* datagrams */
    int file;                       /* owned; what came with the answer; -1 */
    bool owes_answer;               /* its socket has ended without one */
    bool was_killed;                /* by this gateway */
    download_progress_t progress;
};

/* Made from nothing, as a zygote's. */
static char *const worker_environment[] = {
    (char[]){"PATH=/usr/local/bin:/usr/bin:/bin"},
    (char[]){"LANG=C.UTF-8"},
    (char[]){"PYTHONDONTWRITEBYTECODE=1"},
    (char[]){"HOME=/tmp"},
    NULL,
};

static void end_timer(download_process_t *self)
{
    if (self->timer)
        zloop_timer_end(self->start.loop, self->timer);
    self->timer = 0;
}

static void unpoll(download_process_t *self, int fd)
{
    zmq_pollitem_t item = {.fd = fd};

    zloop_poller_end(self->start.loop, &item);
}

static void poll_fd(download_process_t *self, int fd, zloop_fn *handler)
{
    zmq_pollitem_t item = {.fd = fd, .events = ZMQ_POLLIN};

    zloop_poller(self->start.loop, &item, handler, self);
    zloop_poller_set_tolerant(self->start.loop, &item);
}

static void close_socket(download_process_t *self)
{
    if (self->socket < 0)
        return;
    unpoll(self, self->socket);
    close(self->socket);
    self->socket = -1;
}

/* Ends all that the process has started in its session, and takes its end. It
 * has ended, and no other process has its number until then. */
static void reap(download_process_t *self)
{
    if (self->pid <= 0)
        return;
    kill(-self->pid, SIGKILL);
    while (waitpid(self->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    self->pid = 0;
}

void download_process_destroy(download_process_t **self_p)
{
    download_process_t *self = *self_p;

    if (!self)
        return;
    end_timer(self);
    close_socket(self);
    if (self->pidfd >= 0) {
        unpoll(self, self->pidfd);
        if (!pidfd_ends(self->pidfd, DESTROY_MS))
            kill(self->pid, SIGKILL);
        close(self->pidfd);
    }
    reap(self);
    cleanup_fd_p(&self->file);
    free(self);
    *self_p = NULL;
}

static int on_patience_over(zloop_t *loop, int timer, void *arg)
{
    download_process_t *self = arg;

    (void) loop;
    (void) timer;
    self->timer = 0;
    log_warning("profile=%s %s does not end, and is killed",
                self->start.profile->name, self->start.kind->worker);
    self->was_killed = true;
    kill(self->pid, SIGKILL);
    return 0;
}

/* Asks the process to end. */
static void leave(download_process_t *self)
{
    if (self->socket < 0)
        return;
    close_socket(self);
    end_timer(self);
    self->timer =
        zloop_timer(self->start.loop, END_MS, 1, on_patience_over, self);
}

void download_process_stop(download_process_t *self)
{
    self->owes_answer = false;
    leave(self);
}

/* Passes the answer on, and asks the process to end. */
static void answer(download_process_t *self, json_t *reply)
{
    download_process_stop(self);
    self->start.ops->answered(self->start.arg, reply);
}

static int on_time_limit(zloop_t *loop, int timer, void *arg)
{
    download_process_t *self = arg;
    const download_kind_t *kind = self->start.kind;
    const char *progress = self->progress.text;

    (void) loop;
    (void) timer;
    self->timer = 0;
    answer(self,
           download_answer_error(kind, "Failed",
                                 "the job took longer than %g minutes and was "
                                 "ended%s%s; %s",
                                 (double) self->start.limit_ms / 60000,
                                 *progress ? "; the last that it said: " : "",
                                 progress, kind->after_limit));
    return 0;
}

/* Returns the signal by which the process has ended; 0 if it was none, or this
 * gateway's. */
static int ending_signal(const download_process_t *self)
{
    siginfo_t how = {0};

    if (self->was_killed
        || waitid(P_PID, (id_t) self->pid, &how, WEXITED | WNOHANG | WNOWAIT)
               < 0
        || (how.si_code != CLD_KILLED && how.si_code != CLD_DUMPED))
        return 0;
    return how.si_status;
}

/* Returns what is answered for a process that has ended without an answer. */
static json_t *no_answer(const download_process_t *self)
{
    const download_kind_t *kind = self->start.kind;
    int number = ending_signal(self);

    if (number)
        return download_answer_error(
            kind, "Failed",
            "%s was killed by signal %d (%s) before it answered%s",
            kind->worker, number, strsignal(number),
            number == SIGKILL
                ? "; by the machine's out-of-memory killer, or a kill -9"
                : "");
    return download_answer_error(kind, "Failed",
                                 "%s ended without an answer; its messages are "
                                 "on the gateway's standard error",
                                 kind->worker);
}

/* Keeps the file that has to come with an answer, and with nothing else.
 * Returns the reply, or an error in its place. */
static json_t *take_file(download_process_t *self, json_t *reply,
                         const fd_list_t *files)
{
    const download_kind_t *kind = self->start.kind;
    const char *status = json_string_value(json_object_get(reply, "status"));
    bool has_file = kind->has_file && status && strcmp(status, "ok") == 0;

    if (has_file && files->count == 1) {
        self->file = files->fds[0];
        return reply;
    }
    for (size_t i = 0; i < files->count; i++)
        close(files->fds[i]);
    if (!has_file)
        return reply;
    json_decref(reply);
    return download_answer_error(kind, "Failed", "%s answered without the file",
                                 kind->worker);
}

/* Takes one datagram; returns false if none has come. */
static bool take(download_process_t *self)
{
    const download_kind_t *kind = self->start.kind;
    cleanup_free char *text = mem_new(DOWNLOAD_DATAGRAM_MAX);
    fd_list_t files = {.count = 0};
    fault_t fault = {0};
    ssize_t size = fd_receive(self->socket, text, DOWNLOAD_DATAGRAM_MAX, 1,
                              &files, &fault);
    json_t *reply;

    /* It ended with an unread job: Linux first reports the reset connection,
     * and then returns its last datagrams. */
    if (size == -ECONNRESET)
        size = fd_receive(self->socket, text, DOWNLOAD_DATAGRAM_MAX, 1, &files,
                          &fault);
    if (size == -EAGAIN || size == -EINTR)
        return false;
    if (size == 0) {
        self->owes_answer = true;
        leave(self);
        return false;
    }
    if (size < 0)
        reply = download_answer_error(kind, "Failed", "%s: %s", kind->worker,
                                      fault.text);
    else if (++self->said > SAY_MAX)
        reply = download_answer_error(kind, "Failed",
                                      "%s said more than %d words of progress",
                                      kind->worker, SAY_MAX);
    else
        reply = download_answer_read(kind, (bytes_t){text, (size_t) size},
                                     &self->progress);
    reply = take_file(self, reply, &files);
    if (reply)
        answer(self, reply);
    else
        self->start.ops->progressed(self->start.arg);
    return !reply;
}

static int on_socket(zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    download_process_t *self = arg;

    (void) loop;
    (void) item;
    while (take(self))
        continue;
    return 0;
}

/* Reads its last datagrams, which are still in the socket. A process that it
 * has started may keep that open; it counts for nothing. */
static int on_end(zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    download_process_t *self = arg;

    (void) item;
    if (self->socket >= 0)
        on_socket(loop, NULL, self);
    if (self->owes_answer || self->socket >= 0)
        answer(self, no_answer(self));
    self->start.ops->ended(self->start.arg);
    return 0;
}

/* Sends a job that is too long for a datagram: a file comes with it. */
static int send_file(const download_process_t *self, bytes_t job,
                     fault_t *fault)
{
    cleanup_fd int file =
        memory_file_new("download-job", job.bytes, job.size, fault);

    return file < 0 ? file
                    : fd_send(self->socket, JOB_IN_FILE, strlen(JOB_IN_FILE),
                              &file, 1, fault);
}

/* Sends the job, before the process begins to read. -E2BIG if it is too long.
 */
static int send_job(const download_process_t *self, const json_t *job,
                    fault_t *fault)
{
    cleanup_free char *text = json_dumps(job, JSON_COMPACT);
    size_t size = text ? strlen(text) : 0;

    if (!size || size > DOWNLOAD_JOB_MAX)
        return fault_set(fault, E2BIG,
                         "the job is %zu bytes long, more than %u; ask for "
                         "less at once, or shorten the profile's lists",
                         size, DOWNLOAD_JOB_MAX);
    if (size > DOWNLOAD_DATAGRAM_MAX)
        return send_file(self, (bytes_t){text, size}, fault);
    return fd_send(self->socket, text, size, NULL, 0, fault);
}

static int spawn(download_process_t *self, int theirs, fault_t *fault)
{
    const python_process_start_t start = {.profile = self->start.profile,
                                          .package_folder =
                                              self->start.package_folder,
                                          .module = self->start.kind->module,
                                          .user = self->start.user,
                                          .environment = worker_environment};
    int r = python_process_spawn(&start, theirs, &self->pid, fault);

    if (r < 0)
        return r;
    self->pidfd = (int) syscall(SYS_pidfd_open, self->pid, 0);
    if (self->pidfd >= 0)
        return 0;
    r = fault_set(fault, errno, "pidfd_open: %s", strerror(errno));
    kill(self->pid, SIGKILL);
    return r;
}

int download_process_new(const download_process_start_t *start,
                         const json_t *job, download_process_t **ret_process,
                         fault_t *fault)
{
    cleanup_download_process download_process_t *self = mem_new(sizeof *self);
    cleanup_fd int theirs = -1;
    int r;

    self->start = *start;
    self->socket = self->pidfd = self->file = -1;
    if ((r = python_process_pair(&self->socket, &theirs, fault)) < 0
        || (r = send_job(self, job, fault)) < 0
        || (r = spawn(self, theirs, fault)) < 0)
        return r;
    self->start.user = NULL; /* may be the caller's local */
    poll_fd(self, self->socket, on_socket);
    poll_fd(self, self->pidfd, on_end);
    self->timer = zloop_timer(start->loop, (size_t) start->limit_ms, 1,
                              on_time_limit, self);
    *ret_process = take_ptr(self);
    return 0;
}

const download_progress_t *
download_process_progress(const download_process_t *self)
{
    return &self->progress;
}

int download_process_take_file(download_process_t *self)
{
    int file = self->file;

    self->file = -1;
    return file;
}
