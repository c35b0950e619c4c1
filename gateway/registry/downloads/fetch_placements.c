/* See fetch_placements.h. */
#include "gateway/registry/downloads/fetch_placements.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "base/url_plain.h"
#include "gateway/config/state_files.h"
#include "gateway/files/actor.h"
#include "gateway/frontends/management_error.h"
#include "gateway/registry/core/session_table.h"
#include "gateway/registry/downloads/clone_answer.h"
#include "gateway/registry/downloads/download_job.h"
#include "gateway/registry/downloads/fetch_answer.h"
#include "gateway/registry/downloads/fetch_records.h"
#include "gateway/registry/downloads/fetch_request.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct fetch_placements {
    const registry_parts_t *parts; /* borrowed */
    fetch_keys_t *keys;            /* borrowed */
    fetch_placement_t *first;      /* owned */
};

static bool is_ok(const json_t *reply)
{
    return strcmp(download_job_text(reply, "status"), "ok") == 0;
}

static void placement_destroy(fetch_placement_t **self_p)
{
    fetch_placement_t *self = *self_p;

    if (!self)
        return;
    download_asker_destroy(&self->asker);
    json_decref(self->ref);
    json_decref(self->depth);
    json_decref(self->reply);
    json_decref(self->ended);
    free(self->tag);
    free(self->key);
    free(self->path);
    free(self->url);
    free(self);
    *self_p = NULL;
}

#define cleanup_placement CLEANUP(placement_destroy)

fetch_placements_t *fetch_placements_new(const registry_parts_t *parts,
                                         fetch_keys_t *keys)
{
    fetch_placements_t *self = mem_new(sizeof *self);

    self->parts = parts;
    self->keys = keys;
    return self;
}

void fetch_placements_destroy(fetch_placements_t **self_p)
{
    fetch_placements_t *self = *self_p;

    if (!self)
        return;
    while (self->first) {
        cleanup_placement fetch_placement_t *placement = self->first;

        self->first = placement->next;
    }
    free(self);
    *self_p = NULL;
}

static json_t *gone(const char *session)
{
    return management_error("SessionGone", GATEWAY_EXIT_GONE,
                            "session %s ended before the file was there",
                            session);
}

/* Returns why the worker's file cannot be copied; NULL if it can. Records and
 * the reply have the size that the worker says. */
static json_t *check_file(const download_kind_t *kind, int file,
                          const json_t *reply)
{
    json_int_t said = json_integer_value(json_object_get(reply, "size"));
    struct stat about;
    int flags = fcntl(file, F_GETFL);

    /* -1, which flags are without a file, have another access mode. */
    if (fstat(file, &about) < 0 || !S_ISREG(about.st_mode)
        || (flags & O_ACCMODE) != O_RDONLY || (flags & O_PATH))
        return download_answer_error(kind, "Failed", "%s gave no plain file",
                                     kind->worker);
    if (about.st_size != said)
        return download_answer_error(kind, "Failed",
                                     "%s gave a file of %" PRId64
                                     " bytes, and said that it has %" PRId64,
                                     kind->worker, (int64_t) about.st_size,
                                     (int64_t) said);
    return NULL;
}

/* Returns the members that the files thread copies and records by. */
static json_t *describe_placement(const fetch_placement_t *placement)
{
    cleanup_free char *plain = url_plain(placement->url);
    const json_t *reply = placement->reply;
    json_t *lfs = placement->has_lfs ? json_true() : NULL;
    json_t *submodules = placement->has_submodules ? json_true() : NULL;

    if (placement->kind == &fetch_kind)
        return json_pack("{s:s,s:{s:s,s:O},s:{s:s}}", "path", placement->path,
                         "details", "url", plain, "sha256",
                         json_object_get(reply, "sha256"), "journaled", "url",
                         placement->url);
    return json_pack(
        "{s:s,s:{s:O,s:O},s:{s:s,s:O,s:O,s:O*,s:O*},s:{s:s,s:O,s:O,s:O*,s:O*}}",
        "path", placement->path, "usage", "bytes",
        json_object_get(reply, "bytes"), "files",
        json_object_get(reply, "files"), "details", "url", plain, "commit",
        json_object_get(reply, "commit"), "branch",
        json_object_get(reply, "branch"), "lfs", lfs, "submodules", submodules,
        "journaled", "url", placement->url, "ref", placement->ref, "depth",
        placement->depth, "lfs", lfs, "submodules", submodules);
}

static json_t *busy(void)
{
    return management_error("FilesBusy", GATEWAY_EXIT_FAILED,
                            "too many requests about files wait; ask again");
}

/* Returns what both messages to the files thread have. */
static files_place_t describe(const session_entry_t *entry,
                              const download_kind_t *kind, unsigned number,
                              const download_asker_t *asker)
{
    return (files_place_t){
        .session = entry->id,
        .workspace = entry->workspace,
        .who = download_asker_who(asker),
        .limits = {entry->limits.workspace_bytes,
                   entry->limits.workspace_files},
        .number = number,
        .is_tree = kind == &clone_kind,
    };
}

json_t *fetch_placements_probe(const fetch_placements_t *self,
                               const download_job_t *job)
{
    const session_entry_t *entry =
        session_table_find(self->parts->table, job->session);
    files_place_t how;

    if (!entry)
        return gone(job->session);
    how = describe(entry, job->kind, job->number, job->asker);
    how.content =
        json_pack("{s:s}", "path", download_job_text(job->content, "path"));
    if (files_probe(self->parts->files, &how))
        return NULL;
    json_decref(how.content);
    return busy();
}

/* Lets the files thread copy the file; returns why it cannot, NULL if it can.
 */
static json_t *place(fetch_placements_t *self,
                     const fetch_placement_t *placement, int *file_p)
{
    const session_entry_t *entry =
        session_table_find(self->parts->table, placement->session);
    json_t *error = check_file(placement->kind, *file_p, placement->reply);
    files_place_t how;

    if (error)
        return error;
    if (!entry)
        return gone(placement->session);
    how = describe(entry, placement->kind, placement->number, placement->asker);
    how.content = describe_placement(placement);
    if (files_place(self->parts->files, &how, file_p))
        return NULL;
    json_decref(how.content);
    return busy();
}

/* Answers the asker; `reply` is taken. */
static void finish(fetch_placements_t *self, fetch_placement_t *placement,
                   json_t *reply)
{
    const fetch_about_t about = {
        .kind = placement->kind,
        .session = placement->session,
        .who = download_asker_who(placement->asker),
        .url = placement->url,
        .path = placement->path,
        .ref = placement->ref,
        .depth = placement->depth,
        .has_lfs = placement->has_lfs,
        .has_submodules = placement->has_submodules,
        .is_revival = placement->is_revival,
    };

    fetch_records_note(self->parts, &about, reply);
    fetch_keys_end(self->keys, placement->session, placement->key, reply);
    download_asker_answer(placement->asker, reply);
}

/* Returns the reply for what is in the workspace now. */
static json_t *done(const fetch_placement_t *placement)
{
    json_t *reply = json_copy(placement->reply);

    json_object_set_new(reply, "path", json_string(placement->path));
    json_object_set_new(reply, "url", json_string(placement->url));
    /* The size of a tree is that of the file that it comes in. */
    if (placement->kind == &clone_kind)
        json_object_del(reply, "size");
    return reply;
}

void fetch_placements_add(fetch_placements_t *self, download_job_t *job,
                          json_t *reply)
{
    cleanup_placement fetch_placement_t *placement = mem_new(sizeof *placement);
    cleanup_fd int file = -1;
    json_t *error = NULL;

    placement->kind = job->kind;
    placement->number = job->number;
    snprintf(placement->session, sizeof placement->session, "%s", job->session);
    placement->url = mem_text(download_job_text(job->content, "url"));
    placement->path = mem_text(download_job_text(job->content, "path"));
    placement->tag = mem_text(download_job_text(job->content, "tag"));
    placement->key = mem_text(download_job_text(job->content, "key"));
    placement->asker = take_ptr(job->asker);
    placement->reply = reply;
    placement->ref = json_incref(json_object_get(job->content, "ref"));
    placement->depth = json_incref(json_object_get(job->content, "depth"));
    placement->has_lfs = fetch_request_has(job->content, "lfs");
    placement->has_submodules = fetch_request_has(job->content, "submodules");
    placement->is_revival =
        json_is_true(json_object_get(job->content, "revival"));
    if (is_ok(reply)) {
        file = download_process_take_file(job->process);
        error = place(self, placement, &file);
    }
    if (error || !is_ok(reply)) {
        finish(self, placement, error ? error : json_incref(reply));
        return;
    }
    placement->next = self->first;
    self->first = take_ptr(placement);
}

void fetch_placements_on_placed(fetch_placements_t *self, uint64_t number,
                                json_t *answer)
{
    fetch_placement_t **at = &self->first;

    while (*at && (*at)->number != number)
        at = &(*at)->next;
    if (*at) {
        cleanup_placement fetch_placement_t *placement = *at;

        *at = placement->next;
        if (is_ok(answer)) {
            finish(self, placement, done(placement));
        } else {
            finish(self, placement,
                   json_incref(placement->ended ? placement->ended : answer));
        }
    }
    json_decref(answer);
}

static void give_up(fetch_placements_t *self, fetch_placement_t *placement,
                    json_t *reply)
{
    json_decref(placement->ended);
    placement->ended = reply;
    files_give_up(self->parts->files, placement->number);
}

bool fetch_placements_give_up(fetch_placements_t *self, const char *session,
                              json_int_t number, json_t *reply)
{
    for (fetch_placement_t *at = self->first; at; at = at->next)
        if (at->number == number && strcmp(at->session, session) == 0) {
            give_up(self, at, reply);
            return true;
        }
    json_decref(reply);
    return false;
}

void fetch_placements_on_gone(fetch_placements_t *self, const char *session)
{
    for (fetch_placement_t *at = self->first; at; at = at->next)
        if (strcmp(at->session, session) == 0)
            give_up(self, at, gone(session));
}

void fetch_placements_stop(fetch_placements_t *self, json_t *reply)
{
    while (self->first) {
        cleanup_placement fetch_placement_t *placement = self->first;

        self->first = placement->next;
        finish(self, placement, json_incref(reply));
    }
    json_decref(reply);
}

const fetch_placement_t *fetch_placements_first(const fetch_placements_t *self)
{
    return self->first;
}
