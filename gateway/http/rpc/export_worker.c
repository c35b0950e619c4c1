/* See export_worker.h. An actor, to which jobs are handed over whole and which
 * hands them back through a pipe; of a job in between this side touches nothing
 * but the flag that says whether anybody still waits. */
#include "gateway/http/rpc/export_worker.h"

#include "gateway/http/api/jupyter_models.h"
#include "gateway/http/contents/contents.h"
#include "notebooks/export.h"

#include <sodium.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WAITING_MAX 64
#define HASH_PIECE  65536
#define HASH_SIZE   (2 * crypto_hash_sha256_BYTES + 1)

typedef struct job {
    struct job *next;      /* of those that are not done; this side's */
    exchange_t *exchange;  /* borrowed; this side's; NULL: it has gone */
    atomic_bool is_wanted; /* somebody waits */
    clerk_form_t form;
    bool has_hash;
    char id[FRONT_ID_MAX]; /* the session's */
    char *journal;         /* owned; its folder */
    json_t *model;         /* owned */
    int fd;                /* owned; the document, at its start, or -1 */
    uint64_t size;         /* of it */
    int r;                 /* negative: why there is none */
    fault_t fault;
} job_t;

struct clerk {
    zactor_t *actor;          /* owned */
    const options_t *options; /* borrowed */
    const uint8_t *key;       /* borrowed; of journals */
    int done[2];              /* owned; a pipe with finished jobs */
    job_t *jobs;              /* that are not done */
    unsigned waiting;         /* how many */
};

static void job_destroy(job_t **self_p)
{
    job_t *self = *self_p;

    if (!self)
        return;
    free(self->journal);
    json_decref(self->model);
    if (self->fd >= 0)
        close(self->fd);
    free(self);
    *self_p = NULL;
}

#define cleanup_job CLEANUP(job_destroy)

/* --- Documents: the actor's thread --- */

static void close_stream(FILE **stream_p)
{
    if (*stream_p)
        fclose(*stream_p);
}
#define cleanup_stream CLEANUP(close_stream)

typedef int write_fn(job_t *job, const recording_options_t *how, FILE *stream,
                     fault_t *fault);

static int write_file(job_t *job, const recording_options_t *how, FILE *stream,
                      fault_t *fault)
{
    return export_write(job->journal, how, EXPORT_IPYNB, stream, fault);
}

typedef struct {
    const job_t *job; /* borrowed */
    FILE *stream;     /* borrowed */
    bool has_cells;
} cells_t;

static int write_cell(notebook_cell_t *cell, void *arg, fault_t *fault)
{
    cells_t *cells = arg;
    json_auto_t *json = notebook_cell_json(cell);

    if (!atomic_load(&cells->job->is_wanted))
        return fault_set(fault, ECANCELED, "nobody waits for it any more");
    if (cells->has_cells)
        fputc(',', cells->stream);
    cells->has_cells = true;
    if (json_dumpf(json, cells->stream, JSON_COMPACT) < 0)
        return fault_set(fault, EIO, "the notebook could not be written");
    return 0;
}

/* The model with its content; texts in one piece, as Jupyter Server tells
 * them. */
static int write_model(job_t *job, const recording_options_t *how, FILE *stream,
                       fault_t *fault)
{
    cleanup_recording_end recording_end_t end = {0};
    cleanup_buffer buffer_t head = BUFFER_EMPTY;
    cells_t cells = {.job = job, .stream = stream};
    int r;

    json_object_set_new(job->model, "format", json_string("json"));
    contents_begin(job->model, &head);
    fwrite(head.data, 1, head.size, stream);
    fputs("{\"cells\":[", stream);
    r = recording_read(job->journal, how, write_cell, &cells, &end, fault);
    if (r < 0 && r != -EBADMSG)
        return r;
    fputs("],\"metadata\":", stream);
    if (json_dumpf(end.metadata, stream, JSON_COMPACT) < 0)
        return fault_set(fault, EIO, "the notebook could not be written");
    fputs(",\"nbformat\":4,\"nbformat_minor\":5}}", stream);
    return r;
}

/* A file without a name, at its start. */
static int write_document(const clerk_t *self, job_t *job, write_fn *fn,
                          int *ret_fd, uint64_t *ret_size, fault_t *fault)
{
    cleanup_mask mask_t *mask = NULL;
    cleanup_fd int fd =
        open(self->options->state_dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    int copy = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
    cleanup_stream FILE *stream = copy < 0 ? NULL : fdopen(copy, "w");
    int r = mask_new(self->options->mask, &mask, fault);

    if (r < 0)
        return r;
    if (!stream)
        return fault_set(fault, errno, "%s: %s", self->options->state_dir,
                         strerror(errno));
    const recording_options_t how = {
        .key = self->key, .mask = mask, .session = job->id};
    r = fn(job, &how, stream, fault);
    /* A damaged recording is shown as far as it goes, and says so. */
    if (r < 0 && r != -EBADMSG)
        return r;
    if (fflush(stream) != 0 || ferror(stream))
        return fault_set(fault, EIO, "the notebook could not be written");
    *ret_size = (uint64_t) lseek(fd, 0, SEEK_END);
    lseek(fd, 0, SEEK_SET);
    *ret_fd = take_fd(&fd);
    return 0;
}

static void hash_file(int fd, char ret_hash[HASH_SIZE])
{
    uint8_t piece[HASH_PIECE], sum[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_state state;
    ssize_t size;
    off_t at = 0;

    crypto_hash_sha256_init(&state);
    while ((size = pread(fd, piece, sizeof piece, at)) > 0) {
        crypto_hash_sha256_update(&state, piece, (size_t) size);
        at += size;
    }
    crypto_hash_sha256_final(&state, sum);
    sodium_bin2hex(ret_hash, HASH_SIZE, sum, sizeof sum);
}

/* The size is that of the notebook, as a download has it. */
static int describe(const clerk_t *self, job_t *job, fault_t *fault)
{
    cleanup_fd int fd = -1;
    char hash[HASH_SIZE];
    uint64_t size;
    int r = write_document(self, job, write_file, &fd, &size, fault);

    if (r < 0)
        return r;
    json_object_set_new(job->model, "size", json_integer((json_int_t) size));
    if (!job->has_hash)
        return 0;
    hash_file(fd, hash);
    json_object_set_new(job->model, "hash", json_string(hash));
    json_object_set_new(job->model, "hash_algorithm", json_string("sha256"));
    return 0;
}

static int make(const clerk_t *self, job_t *job)
{
    int r = 0;

    if (!atomic_load(&job->is_wanted))
        return -ECANCELED;
    if (job->form != CLERK_FILE)
        r = describe(self, job, &job->fault);
    if (r < 0 || job->form == CLERK_FACTS)
        return r;
    return write_document(self, job,
                          job->form == CLERK_FILE ? write_file : write_model,
                          &job->fd, &job->size, &job->fault);
}

static void actor(zsock_t *pipe, void *args)
{
    clerk_t *self = args;

    zsock_signal(pipe, 0);
    for (;;) {
        cleanup_free char *word = NULL;
        job_t *job = NULL;
        if (zsock_recv(pipe, "sp", &word, &job) < 0 || !job)
            return; /* $TERM */
        job->r = make(self, job);
        /* So few bytes go through a pipe whole or not at all. */
        while (write(self->done[1], &job, sizeof job) < 0 && errno == EINTR)
            continue;
    }
}

/* --- The other side --- */

int clerk_new(const options_t *options,
              const uint8_t journal_key[CHAIN_KEY_SIZE], clerk_t **ret_clerk,
              fault_t *fault)
{
    clerk_t *self = mem_new(sizeof *self);

    self->options = options;
    self->key = journal_key;
    if (pipe2(self->done, O_CLOEXEC) < 0
        || fcntl(self->done[0], F_SETFL, O_NONBLOCK) < 0) {
        int code = errno;
        free(self);
        return fault_set(fault, code, "pipe: %s", strerror(code));
    }
    self->actor = zactor_new(actor, self);
    *ret_clerk = self;
    return 0;
}

static job_t *take_done(clerk_t *self)
{
    job_t *job = NULL;

    if (read(self->done[0], &job, sizeof job) != (ssize_t) sizeof job)
        return NULL;
    for (job_t **at = &self->jobs; *at; at = &(*at)->next)
        if (*at == job) {
            *at = job->next;
            break;
        }
    self->waiting--;
    return job;
}

void clerk_destroy(clerk_t **self_p)
{
    clerk_t *self = *self_p;

    if (!self)
        return;
    for (job_t *at = self->jobs; at; at = at->next)
        atomic_store(&at->is_wanted, false);
    /* What stands before the end in its pipe is done first, without work. */
    zactor_destroy(&self->actor);
    for (job_t *job; (job = take_done(self));)
        job_destroy(&job);
    close(self->done[0]);
    close(self->done[1]);
    free(self);
    *self_p = NULL;
}

int clerk_fd(const clerk_t *self)
{
    return self->done[0];
}

void clerk_order(exchange_t *exchange, clerk_form_t form, const json_t *session,
                 json_t *model, bool has_hash)
{
    clerk_t *self = exchange->http->clerk;
    cleanup_job job_t *job = mem_new(sizeof *job);

    job->fd = -1;
    job->model = model;
    if (self->waiting >= WAITING_MAX) {
        exchange_fail(exchange, 503,
                      "Too many recordings are being read; try again later");
        return;
    }
    job->exchange = exchange;
    atomic_init(&job->is_wanted, true);
    job->form = form;
    job->has_hash = has_hash;
    snprintf(job->id, sizeof job->id, "%s", model_text(session, "id"));
    job->journal = mem_text(model_text(session, "journal"));
    job->next = self->jobs;
    self->jobs = job;
    self->waiting++;
    zsock_send(self->actor, "sp", "JOB", take_ptr(job));
}

void clerk_forget(const exchange_t *exchange)
{
    clerk_t *self = exchange->http->clerk;

    for (job_t *at = self ? self->jobs : NULL; at; at = at->next)
        if (at->exchange == exchange) {
            at->exchange = NULL;
            atomic_store(&at->is_wanted, false);
        }
}

static void answer(job_t *job)
{
    exchange_t *exchange = job->exchange;

    if (job->r < 0) {
        exchange_fail(exchange, 500, "%s", job->fault.text);
        return;
    }
    if (job->form == CLERK_FACTS) {
        exchange_json(exchange, 200, take_ptr(job->model));
        return;
    }
    if (job->form == CLERK_FILE)
        exchange_header(exchange, "Content-Disposition",
                        "attachment; filename=\"%s" PLACE_SUFFIX "\"", job->id);
    exchange_file(exchange, 200, "application/json", &job->fd, job->size);
}

void clerk_deliver(http_t *http)
{
    job_t *next;

    while ((next = take_done(http->clerk))) {
        cleanup_job job_t *job = next;
        if (job->exchange)
            answer(job);
    }
}
