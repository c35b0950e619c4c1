/* See fetch_placements.h. */
#include "gateway/registry/downloads/fetch_placements.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "gateway/config/state_files.h"
#include "gateway/files/actor.h"
#include "gateway/frontends/management_error.h"
#include "gateway/registry/core/session_table.h"
#include "gateway/registry/downloads/fetch_answer.h"
#include "gateway/registry/downloads/fetch_records.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct fetch_placements {
    const registry_parts_t *parts; /* borrowed */
    fetch_placement_t *first;      /* owned */
};

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

static bool is_ok(const json_t *reply)
{
    return strcmp(text_of(reply, "status"), "ok") == 0;
}

static void placement_destroy(fetch_placement_t **self_p)
{
    fetch_placement_t *self = *self_p;

    if (!self)
        return;
    download_asker_destroy(&self->asker);
    json_decref(self->reply);
    json_decref(self->ended);
    free(self->tag);
    free(self->path);
    free(self->url);
    free(self);
    *self_p = NULL;
}

#define cleanup_placement CLEANUP(placement_destroy)

fetch_placements_t *fetch_placements_new(const registry_parts_t *parts)
{
    fetch_placements_t *self = mem_new(sizeof *self);

    self->parts = parts;
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
static json_t *check_file(int file, const json_t *reply)
{
    json_int_t said = json_integer_value(json_object_get(reply, "size"));
    struct stat about;
    int flags = fcntl(file, F_GETFL);

    if (fstat(file, &about) < 0 || !S_ISREG(about.st_mode) || flags < 0
        || (flags & O_ACCMODE) != O_RDONLY || (flags & O_PATH))
        return download_answer_error(&fetch_kind, "Failed",
                                     "the fetch worker gave no plain file");
    if (about.st_size != said)
        return download_answer_error(&fetch_kind, "Failed",
                                     "the fetch worker gave a file of %" PRId64
                                     " bytes, and said "
                                     "that it has %" PRId64,
                                     (int64_t) about.st_size, (int64_t) said);
    return NULL;
}

/* Returns the members that the files thread copies and records by. */
static json_t *describe_placement(const fetch_placement_t *placement)
{
    cleanup_free char *plain = fetch_records_plain(placement->url);

    return json_pack("{s:s,s:{s:s,s:O},s:{s:s}}", "path", placement->path,
                     "details", "url", plain, "sha256",
                     json_object_get(placement->reply, "sha256"), "journaled",
                     "url", placement->url);
}

/* Lets the files thread copy the file; returns why it cannot, NULL if it can.
 */
static json_t *place(fetch_placements_t *self,
                     const fetch_placement_t *placement, int *file_p)
{
    const session_entry_t *entry =
        session_table_find(self->parts->table, placement->session);
    json_t *error = check_file(*file_p, placement->reply);

    if (error)
        return error;
    if (!entry)
        return gone(placement->session);
    const files_place_t how = {
        .session = entry->id,
        .workspace = entry->workspace,
        .who = download_asker_who(placement->asker),
        .limits = {entry->limits.workspace_bytes,
                   entry->limits.workspace_files},
        .content = describe_placement(placement),
        .number = placement->number,
    };
    if (files_place(self->parts->files, &how, file_p))
        return NULL;
    json_decref(how.content);
    return management_error("FilesBusy", GATEWAY_EXIT_FAILED,
                            "too many requests about files wait; ask again");
}

/* Answers the asker; `reply` is taken. */
static void finish(fetch_placements_t *self, fetch_placement_t *placement,
                   json_t *reply)
{
    const fetch_about_t about = {
        .session = placement->session,
        .who = download_asker_who(placement->asker),
        .url = placement->url,
        .path = placement->path,
    };

    fetch_records_note(self->parts, &about, reply);
    download_asker_answer(placement->asker, reply);
}

void fetch_placements_add(fetch_placements_t *self, download_job_t *job,
                          json_t *reply)
{
    cleanup_placement fetch_placement_t *placement = mem_new(sizeof *placement);
    cleanup_fd int file = -1;
    json_t *error = NULL;

    placement->number = job->number;
    snprintf(placement->session, sizeof placement->session, "%s", job->session);
    placement->url = mem_text(text_of(job->content, "url"));
    placement->path = mem_text(text_of(job->content, "path"));
    placement->tag = mem_text(text_of(job->content, "tag"));
    placement->asker = take_ptr(job->asker);
    placement->reply = reply;
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
            json_object_set_new(placement->reply, "path",
                                json_string(placement->path));
            json_object_set_new(placement->reply, "url",
                                json_string(placement->url));
            finish(self, placement, json_incref(placement->reply));
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
