/* See export_worker.h. An actor that owns each job while it works on it, and
 * returns it through a pipe. Meanwhile this side changes only the flag that
 * says whether a client still waits. */
#include "gateway/http/rpc/export_worker.h"
#include "gateway/frontends/handover.h"
#include "gateway/http/core/model.h"

#include "notebooks/recording/export.h"
#include "protocol/jspan_write.h"

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
    struct job *next; /* of the unfinished jobs; used by this side */
    exchange_t
        *exchange; /* borrowed; used by this side; NULL: the client has gone */
    atomic_bool is_wanted; /* a client waits */
    export_worker_form_t form;
    export_worker_fn *fn; /* gets the document; NULL: the client does */
    bool has_hash;
    char id[FRONTEND_ID_MAX]; /* the session's */
    char *journal;            /* owned; its folder */
    json_t *model;            /* owned */
    int fd;                   /* owned; the document, at its beginning, or -1 */
    uint64_t size;            /* of the document */
    int r;                    /* negative: the error */
    fault_t fault;
} job_t;

struct export_worker {
    zactor_t *actor;          /* owned */
    const options_t *options; /* borrowed */
    const uint8_t *key;       /* borrowed; of journals */
    int done[2];              /* owned; a pipe with finished jobs */
    job_t *jobs;              /* unfinished jobs */
    unsigned waiting;         /* their number */
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

static int write_page(job_t *job, const recording_options_t *how, FILE *stream,
                      fault_t *fault)
{
    return export_write(job->journal, how, EXPORT_PAGE, stream, fault);
}

typedef struct {
    const job_t *job; /* borrowed */
    FILE *stream;     /* borrowed */
    bool has_cells;
} cell_stream_t;

static int write_cell(notebook_cell_t *cell, void *arg, fault_t *fault)
{
    cell_stream_t *cells = arg;
    json_auto_t *json = notebook_cell_json(cell);

    if (!atomic_load(&cells->job->is_wanted))
        return fault_set(fault, ECANCELED, "no client waits for it any more");
    if (cells->has_cells)
        fputc(',', cells->stream);
    cells->has_cells = true;
    if (json_dumpf(json, cells->stream, JSON_COMPACT) < 0)
        return fault_set(fault, EIO, "the notebook could not be written");
    return 0;
}

/* Writes the model with its content. Texts are in one piece, like Jupyter
 * Server's. */
static int write_model(job_t *job, const recording_options_t *how, FILE *stream,
                       fault_t *fault)
{
    cleanup_recording_end recording_end_t end = {0};
    cleanup_buffer buffer_t head = BUFFER_EMPTY, tail = BUFFER_EMPTY;
    cell_stream_t cells = {.job = job, .stream = stream};
    int r;

    json_object_set_new(job->model, "format", json_string("json"));
    model_begin_content(job->model, &head);
    jspan_write_object(&head, NULL);
    jspan_write_array(&head, "cells");
    fwrite(head.data, 1, head.size, stream);
    r = recording_read(job->journal, how, write_cell, &cells, &end, fault);
    if (r < 0 && r != -EBADMSG)
        return r;
    cleanup_free char *metadata = json_dumps(end.metadata, JSON_COMPACT);
    if (!metadata)
        return fault_set(fault, EIO, "the notebook could not be written");
    jspan_write_end_array(&tail);
    jspan_write_raw(&tail, "metadata", text_bytes(metadata));
    jspan_write_integer(&tail, "nbformat", 4);
    jspan_write_integer(&tail, "nbformat_minor", 5);
    jspan_write_end(&tail);
    jspan_write_end(&tail);
    fwrite(tail.data, 1, tail.size, stream);
    return r;
}

/* Makes an unnamed file, positioned at its beginning. */
static int write_document(const export_worker_t *self, job_t *job, write_fn *fn,
                          int *ret_fd, uint64_t *ret_size, fault_t *fault)
{
    cleanup_redact redact_t *mask = NULL;
    cleanup_fd int fd =
        open(self->options->state_dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    int copy = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
    cleanup_stream FILE *stream = copy < 0 ? NULL : fdopen(copy, "w");
    int r = redact_new(self->options->mask, &mask, fault);

    if (r < 0)
        return r;
    if (!stream)
        return fault_set(fault, errno, "%s: %s", self->options->state_dir,
                         strerror(errno));
    const recording_options_t how = {
        .key = self->key, .mask = mask, .session = job->id};
    r = fn(job, &how, stream, fault);
    /* A damaged recording is shown up to the damage, and reports it. */
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

/* Describes the notebook; the size is that of a download. */
static int describe(const export_worker_t *self, job_t *job, fault_t *fault)
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

static int make(const export_worker_t *self, job_t *job)
{
    static write_fn *const writers[] = {
        [EXPORT_WORKER_FILE] = write_file,
        [EXPORT_WORKER_PAGE] = write_page,
        [EXPORT_WORKER_MODEL] = write_model,
    };
    bool has_model =
        job->form == EXPORT_WORKER_FACTS || job->form == EXPORT_WORKER_MODEL;
    int r = 0;

    if (!atomic_load(&job->is_wanted))
        return -ECANCELED;
    if (has_model)
        r = describe(self, job, &job->fault);
    if (r < 0 || job->form == EXPORT_WORKER_FACTS)
        return r;
    return write_document(self, job, writers[job->form], &job->fd, &job->size,
                          &job->fault);
}

static void actor(zsock_t *pipe, void *args)
{
    export_worker_t *self = args;

    zsock_signal(pipe, 0);
    for (job_t *job; (job = handover_receive(pipe));) {
        job->r = make(self, job);
        /* A write of so few bytes to a pipe is atomic. */
        while (write(self->done[1], &job, sizeof job) < 0 && errno == EINTR)
            continue;
    }
}

/* --- The other side --- */

int export_worker_new(const options_t *options,
                      const uint8_t journal_key[LOG_KEY_SIZE],
                      export_worker_t **ret_worker, fault_t *fault)
{
    export_worker_t *self = mem_new(sizeof *self);

    self->options = options;
    self->key = journal_key;
    if (pipe2(self->done, O_CLOEXEC) < 0
        || fcntl(self->done[0], F_SETFL, O_NONBLOCK) < 0) {
        int code = errno;
        free(self);
        return fault_set(fault, code, "pipe: %s", strerror(code));
    }
    self->actor = zactor_new(actor, self);
    *ret_worker = self;
    return 0;
}

static job_t *take_done(export_worker_t *self)
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

void export_worker_destroy(export_worker_t **self_p)
{
    export_worker_t *self = *self_p;

    if (!self)
        return;
    for (job_t *at = self->jobs; at; at = at->next)
        atomic_store(&at->is_wanted, false);
    /* Jobs that are in the pipe before the end are returned first, without
     * work. */
    zactor_destroy(&self->actor);
    for (job_t *job; (job = take_done(self));)
        job_destroy(&job);
    close(self->done[0]);
    close(self->done[1]);
    free(self);
    *self_p = NULL;
}

int export_worker_fd(const export_worker_t *self)
{
    return self->done[0];
}

static void forget(const exchange_t *exchange)
{
    export_worker_t *self = exchange->http->export_worker;

    for (job_t *at = self ? self->jobs : NULL; at; at = at->next)
        if (at->exchange == exchange) {
            at->exchange = NULL;
            atomic_store(&at->is_wanted, false);
        }
}

/* Adds a job, whose session and exchange are filled in. Returns false if too
 * many wait. */
static bool add(exchange_t *exchange, const json_t *session, job_t **job_p)
{
    export_worker_t *self = exchange->http->export_worker;
    cleanup_job job_t *job = take_ptr(*job_p);

    job->fd = -1;
    if (self->waiting >= WAITING_MAX)
        return false;
    job->exchange = exchange;
    exchange_on_destroy(exchange, forget);
    atomic_init(&job->is_wanted, true);
    snprintf(job->id, sizeof job->id, "%s", model_text(session, "id"));
    job->journal = mem_text(model_text(session, "journal"));
    job->next = self->jobs;
    self->jobs = job;
    self->waiting++;
    handover_send(self->actor, take_ptr(job));
    return true;
}

#define TOO_MANY "Too many recordings are being read; try again later"

void export_worker_ask(exchange_t *exchange, export_worker_form_t form,
                       const json_t *session, json_t *model, bool has_hash)
{
    job_t *job = mem_new(sizeof *job);

    job->model = model;
    job->form = form;
    job->has_hash = has_hash;
    if (!add(exchange, session, &job))
        exchange_fail(exchange, 503, TOO_MANY);
}

void export_worker_read(exchange_t *exchange, const json_t *session,
                        export_worker_fn *fn)
{
    export_worker_result_t none = {.fd = -1};
    job_t *job = mem_new(sizeof *job);

    job->form = EXPORT_WORKER_FILE;
    job->fn = fn;
    if (add(exchange, session, &job))
        return;
    none.r = fault_set(&none.fault, EBUSY, TOO_MANY);
    fn(exchange, &none);
}

static void answer(job_t *job)
{
    exchange_t *exchange = job->exchange;

    if (job->fn) {
        job->fn(exchange, &(export_worker_result_t){.r = job->r,
                                                    .fd = job->fd,
                                                    .size = job->size,
                                                    .fault = job->fault});
        return;
    }
    if (job->r < 0) {
        exchange_fail(exchange, 500, "%s", job->fault.text);
        return;
    }
    if (job->form == EXPORT_WORKER_FACTS) {
        exchange_json(exchange, 200, take_ptr(job->model));
        return;
    }
    bool is_page = job->form == EXPORT_WORKER_PAGE;
    if (is_page || job->form == EXPORT_WORKER_FILE)
        exchange_header(exchange, "Content-Disposition",
                        "attachment; filename=\"%s%s\"", job->id,
                        is_page ? ".html" : ".ipynb");
    exchange_file(exchange, 200,
                  is_page ? "text/html; charset=utf-8" : "application/json",
                  &job->fd, job->size);
}

void export_worker_deliver(http_t *http)
{
    job_t *next;

    while ((next = take_done(http->export_worker))) {
        cleanup_job job_t *job = next;
        if (job->exchange)
            answer(job);
    }
}
