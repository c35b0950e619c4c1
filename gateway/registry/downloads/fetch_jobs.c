/* See fetch_jobs.h. */
#include "gateway/registry/downloads/fetch_jobs.h"

#include "base/buffer.h"
#include "base/url_plain.h"
#include "gateway/config/json_text.h"
#include "gateway/config/state_files.h"
#include "gateway/frontends/management_error.h"
#include "gateway/registry/core/management_socket.h"
#include "gateway/registry/core/session_table.h"
#include "gateway/registry/downloads/download_asker.h"
#include "gateway/registry/downloads/download_job.h"
#include "gateway/registry/downloads/download_lane.h"
#include "gateway/registry/downloads/download_off.h"
#include "gateway/registry/downloads/fetch_answer.h"
#include "gateway/registry/downloads/fetch_keys.h"
#include "gateway/registry/downloads/fetch_placements.h"
#include "gateway/registry/downloads/fetch_records.h"
#include "gateway/registry/downloads/fetch_request.h"
#include "gateway/registry/downloads/recorded_result.h"
#include "gateway/registry/sessions/session_api.h"
#include "gateway/registry/storage/fetch_folder.h"

#include <string.h>

#define RUNNING            4  /* at once */
#define OF_SESSION         2  /* of them, of one session */
#define WAITING            32 /* that wait */
#define WAITING_OF_SESSION 8
#define LIMIT_MS           (2 * 3600 * 1000) /* for what the worker does */
#define CACHE_FACTOR       4 /* times the largest file that a profile permits */

struct fetch_jobs {
    const registry_parts_t *parts;  /* borrowed */
    download_lane_t *lane;          /* owned */
    fetch_keys_t *keys;             /* owned */
    fetch_placements_t *placements; /* owned */
};

static void on_answered(void *arg, download_job_t *job, json_t *reply)
{
    const fetch_jobs_t *self = arg;

    fetch_placements_add(self->placements, job, reply);
}

static json_t *probe(void *arg, const download_job_t *job)
{
    const fetch_jobs_t *self = arg;

    return fetch_placements_probe(self->placements, job);
}

void fetch_jobs_on_probed(fetch_jobs_t *self, uint64_t number, json_t *answer)
{
    bool may_come = strcmp(download_job_text(answer, "status"), "ok") == 0;
    json_t *room = json_object_get(answer, "room");

    for (const download_job_t *job = download_lane_first(self->lane);
         room && job; job = job->next)
        if (job->number == number)
            json_object_set(job->content, "room", room);
    download_lane_permit(self->lane, number,
                         may_come ? NULL : json_incref(answer));
    json_decref(answer);
}

void fetch_jobs_on_placed(fetch_jobs_t *self, uint64_t number, json_t *answer)
{
    fetch_placements_on_placed(self->placements, number, answer);
}

/* A fetch as others see it; all members are borrowed. */
typedef struct {
    const download_kind_t *kind;
    unsigned number;
    const char *url, *path, *tag, *state;
    const download_progress_t *progress; /* NULL: it does not run */
} shown_t;

static json_t *show(const shown_t *fetch)
{
    static const download_progress_t none;
    const download_progress_t *progress =
        fetch->progress ? fetch->progress : &none;
    cleanup_free char *plain = url_plain(fetch->url);
    json_t *shown = json_pack(
        "{s:i,s:s,s:s,s:s,s:s,s:s,s:I,s:n,s:s}", "number", (int) fetch->number,
        "kind", fetch->kind->thing, "url", plain, "path", fetch->path, "tag",
        fetch->tag, "state", fetch->state, "bytes",
        (json_int_t) progress->bytes, "total", "doing", progress->text);

    if (progress->total > 0)
        json_object_set_new(shown, "total", json_integer(progress->total));
    return shown;
}

static json_t *show_placement(const fetch_placement_t *placement)
{
    return show(&(shown_t){.kind = placement->kind,
                           .number = placement->number,
                           .url = placement->url,
                           .path = placement->path,
                           .tag = placement->tag,
                           .state = "copying"});
}

static json_t *show_job(const download_job_t *job)
{
    return show(&(shown_t){
        .kind = job->kind,
        .number = job->number,
        .url = download_job_text(job->content, "url"),
        .path = download_job_text(job->content, "path"),
        .tag = download_job_text(job->content, "tag"),
        .state = job->process ? "running" : "waiting",
        .progress =
            job->process ? download_process_progress(job->process) : NULL});
}

static void on_progressed(const download_job_t *job)
{
    json_auto_t *shown = show_job(job);

    download_asker_say_progress(job->asker, shown);
}

/* Returns true if both jobs have one URL. Their workers would wait for each
 * other, and one of them would have its place for nothing. */
static bool waits_for(const json_t *job, const json_t *running)
{
    return strcmp(download_job_text(job, "url"),
                  download_job_text(running, "url"))
           == 0;
}

fetch_jobs_t *fetch_jobs_new(const registry_parts_t *parts,
                             const char *package_folder)
{
    fetch_jobs_t *self = mem_new(sizeof *self);
    const download_lane_start_t start = {
        .package_folder = package_folder,
        .running_max = RUNNING,
        .session_max = OF_SESSION,
        .waiting_max = WAITING,
        .session_waiting_max = WAITING_OF_SESSION,
        .limit_ms = LIMIT_MS,
        .waits_for = waits_for,
        .probe = probe,
        .jobs = "fetches",
        .stopping = "the gateway stops before it is there; ask the next one "
                    "again",
        .progressed = on_progressed,
        .answered = on_answered,
        .arg = self,
    };

    self->parts = parts;
    self->lane = download_lane_new(parts, &start);
    self->keys = fetch_keys_new();
    self->placements = fetch_placements_new(parts, self->keys);
    return self;
}

void fetch_jobs_stop(fetch_jobs_t *self)
{
    download_lane_stop(self->lane);
    fetch_placements_stop(self->placements,
                          download_lane_stopping(self->lane, true));
}

void fetch_jobs_destroy(fetch_jobs_t **self_p)
{
    fetch_jobs_t *self = *self_p;

    if (!self)
        return;
    download_lane_destroy(&self->lane);
    fetch_placements_destroy(&self->placements);
    fetch_keys_destroy(&self->keys);
    free(self);
    *self_p = NULL;
}

void fetch_jobs_on_gone(fetch_jobs_t *self, const char *session)
{
    download_lane_on_gone(self->lane, session);
    fetch_placements_on_gone(self->placements, session);
    fetch_keys_on_gone(self->keys, session);
}

/* ---- requests ---- */

/* Returns how much the cache, which all profiles share, may have: a profile
 * with small files leaves the others theirs. */
static uint64_t cache_bytes(const options_t *options)
{
    uint64_t largest = 0;

    for (size_t i = 0; i < options->profile_count; i++)
        if (options->profiles[i]->fetch.max_bytes > largest)
            largest = options->profiles[i]->fetch.max_bytes;
    return CACHE_FACTOR * largest;
}

/* Returns what the worker gets (docs/design/PROTOCOL.downloads.md). `kind`,
 * `path`, `tag` and `key` are for the gateway alone. */
static json_t *describe(const fetch_jobs_t *self, const session_entry_t *entry,
                        const json_t *content, const download_kind_t *kind,
                        const char *path)
{
    const options_t *options = self->parts->options;
    const profile_fetch_t *fetch = &entry->rules.fetch;
    bool is_file = kind == &fetch_kind;
    const char *ca_file = options->fetch.ca_file;
    json_t *job = download_job_new(
        self->parts, entry->profile, is_file ? "fetch" : "clone",
        fetch_folder_work(self->parts->downloads.fetch_folder));

    json_object_update_new(
        job, json_pack("{s:s,s:s,s:s,s:s,s:o,s:o,s:o,s:I,s:I,s:s}", "kind",
                       kind->thing, "path", path, "tag",
                       download_job_text(content, "tag"), "url",
                       download_job_text(content, "url"), "allow",
                       json_text_list(fetch->allow), "deny",
                       json_text_list(fetch->deny), "private",
                       json_text_list(fetch->networks), "max_bytes",
                       (json_int_t) fetch->max_bytes, "cache_bytes",
                       (json_int_t) cache_bytes(options), "ca_file",
                       ca_file ? ca_file : ""));
    download_job_add_own(job, LOWERING_FETCH, entry->rules.own_fetch);
    json_object_update_new(
        job,
        is_file
            ? json_pack("{s:s}", "sha256", download_job_text(content, "sha256"))
            : json_pack("{s:s,s:I,s:I,s:b,s:b}", "ref",
                        download_job_text(content, "ref"), "depth",
                        json_integer_value(json_object_get(content, "depth")),
                        "max_files", (json_int_t) fetch->max_files, "lfs",
                        fetch_request_has(content, "lfs"), "submodules",
                        fetch_request_has(content, "submodules")));
    recorded_result_pin_fetch(content, kind, job);
    return job;
}

/* Returns why there can be no fetch now; NULL if there can. */
static json_t *refusal(const fetch_jobs_t *self, const session_entry_t *entry,
                       const json_t *content, const download_kind_t *kind,
                       bool is_code)
{
    if (!entry->rules.has_fetch)
        return download_off_fetch(entry);
    if (is_code && !entry->rules.fetch.serves_cells)
        return download_off_fetch_cells(entry, kind == &fetch_kind ? "fetch"
                                                                   : "clone");
    if (fetch_request_has(content, "submodules")
        && !entry->rules.fetch.has_submodules)
        return download_off_submodules(entry);
    if (session_table_is_closing(self->parts->table))
        return download_lane_stopping(self->lane, false);
    return download_lane_refuse(self->lane, kind, entry->id, is_code);
}

/* Returns the client's key, lent; "" without a key. Code in a cell has no
 * use for one: its answers are not lost. */
static const char *key_of(const json_t *content, const download_asker_t *asker)
{
    return download_asker_is_code(asker) ? ""
                                         : download_job_text(content, "key");
}

/* Returns what has to be the same in a request that is sent again, for the
 * caller. */
static json_t *describe_request(const json_t *content,
                                const download_kind_t *kind, const char *path)
{
    return json_pack("{s:s,s:s,s:s,s:s,s:s,s:I,s:b,s:b}", "kind", kind->thing,
                     "path", path, "url", download_job_text(content, "url"),
                     "sha256", download_job_text(content, "sha256"), "ref",
                     download_job_text(content, "ref"), "depth",
                     json_integer_value(json_object_get(content, "depth")),
                     "lfs", fetch_request_has(content, "lfs"), "submodules",
                     fetch_request_has(content, "submodules"));
}

/* Takes the asker. */
static void fetch(fetch_jobs_t *self, const session_entry_t *entry,
                  const json_t *content, download_asker_t *taken)
{
    cleanup_free char *path = NULL;
    cleanup_download_asker download_asker_t *asker = taken;
    json_auto_t *request = NULL;
    const download_kind_t *kind = &fetch_kind;
    const char *key = key_of(content, asker);
    json_t *error = fetch_request_read(content, &kind, &path);

    if (error) {
        download_asker_answer(asker, error);
        return;
    }
    request = describe_request(content, kind, path);
    if (*key && fetch_keys_join(self->keys, entry->id, key, request, &asker))
        return;
    error = refusal(self, entry, content, kind, download_asker_is_code(asker));
    if (error) {
        const fetch_about_t about = {
            .kind = kind,
            .session = entry->id,
            .who = download_asker_who(asker),
            .url = download_job_text(content, "url"),
            .path = path,
        };

        fetch_records_note(self->parts, &about, error);
        download_asker_answer(asker, error);
    } else {
        json_t *job = describe(self, entry, content, kind, path);

        if (*key) {
            fetch_keys_begin(self->keys, entry->id, key, json_incref(request));
            json_object_set_new(job, "key", json_string(key));
        }
        download_lane_add(self->lane, kind, entry, job, &asker);
    }
}

/* Returns the reply with the fetches of a session that are not done, the
 * oldest first. */
static json_t *list(const fetch_jobs_t *self, const char *session)
{
    json_t *shown = json_array();

    for (const fetch_placement_t *at = fetch_placements_first(self->placements);
         at; at = at->next)
        if (strcmp(at->session, session) == 0)
            json_array_insert_new(shown, 0, show_placement(at));
    for (const download_job_t *job = download_lane_first(self->lane); job;
         job = job->next)
        if (job->asker && strcmp(job->session, session) == 0)
            json_array_append_new(shown, show_job(job));
    return json_pack("{s:s,s:o}", "status", "ok", "fetches", shown);
}

static json_t *cancel(fetch_jobs_t *self, const char *session,
                      const json_t *number)
{
    json_int_t wanted = json_integer_value(number);
    json_auto_t *cancelled = download_answer_error(&fetch_kind, "Cancelled",
                                                   "the fetch was cancelled");

    if (fetch_placements_give_up(self->placements, session, wanted,
                                 json_incref(cancelled))
        || download_lane_give_up(self->lane, session, wanted,
                                 json_incref(cancelled)))
        return json_pack("{s:s}", "status", "ok");
    return download_answer_error(&fetch_kind, "Unknown",
                                 "session %s fetches nothing with that number "
                                 "now; list its fetches",
                                 session);
}

void fetch_jobs_serve(fetch_jobs_t *self, const json_t *content,
                      message_t **request_p)
{
    const session_entry_t *entry =
        session_api_find(self->parts, content, request_p);
    const char *operation = download_job_text(content, "order");

    if (!entry)
        return;
    if (strcmp(operation, "fetch") == 0)
        fetch(self, entry, content,
              download_asker_new_client(self->parts, request_p));
    else
        management_answer(
            self->parts->management, request_p,
            strcmp(operation, "list") == 0 ? list(self, entry->id)
            : strcmp(operation, "cancel") == 0
                ? cancel(self, entry->id, json_object_get(content, "number"))
                : fetch_request_bad("order must be fetch, list or cancel"));
}

void fetch_jobs_call(fetch_jobs_t *self, const session_entry_t *entry,
                     const session_call_t *call)
{
    json_auto_t *text =
        json_loads(call->text, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    const json_t *content = download_job_of_call(text);
    download_asker_t *asker =
        download_asker_new_code(self->parts, entry, call->id);

    if (strcmp(download_job_text(content, "order"), "fetch") == 0) {
        fetch(self, entry, content, asker);
        return;
    }
    download_asker_answer(asker, fetch_request_bad("order must be fetch"));
    download_asker_destroy(&asker);
}
