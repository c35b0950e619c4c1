/* See packages_jobs.h. */
#include "gateway/registry/downloads/packages_jobs.h"

#include "base/buffer.h"
#include "gateway/audit/audit.h"
#include "gateway/config/json_text.h"
#include "gateway/config/packages_credentials.h"
#include "gateway/config/packages_place.h"
#include "gateway/config/state_files.h"
#include "gateway/frontends/management_error.h"
#include "gateway/registry/core/session_table.h"
#include "gateway/registry/downloads/download_asker.h"
#include "gateway/registry/downloads/download_job.h"
#include "gateway/registry/downloads/download_lane.h"
#include "gateway/registry/downloads/download_off.h"
#include "gateway/registry/downloads/packages_answer.h"
#include "gateway/registry/downloads/packages_records.h"
#include "gateway/registry/downloads/recorded_result.h"
#include "gateway/registry/sessions/session_api.h"
#include "gateway/registry/storage/packages_folder.h"

#include <string.h>

#define WRITES_MAX   1 /* that run at once */
#define LISTS_MAX    4
#define WAITING      16               /* jobs that wait for either */
#define OF_SESSION   2                /* of them, jobs of one session */
#define LIMIT_MS     (10 * 60 * 1000) /* of a job */
#define CACHE_FACTOR 4     /* times what a profile permits a session */
#define NAMES_MAX    100   /* of packages in a request */
#define NAME_BYTES   20000 /* bytes of each, a requirement with its hashes */

struct packages_jobs {
    const registry_parts_t *parts; /* borrowed */
    download_lane_t *writes;       /* owned */
    download_lane_t *lists;        /* owned */
};

/* Answers a client. What was added or changed may be imported in another
 * version, which the session's kernel knows. */
static void answer_client(const packages_jobs_t *self, download_job_t *job,
                          json_t *reply)
{
    const session_entry_t *entry =
        session_table_find(self->parts->table, job->session);
    bool is_new = json_array_size(json_object_get(reply, "added"))
                  || json_array_size(json_object_get(reply, "changed"));

    if (is_new && entry && entry->state < SESSION_ENTRY_DRAINED) {
        download_asker_pass(job->asker, entry, SESSION_LOOK, reply);
        return;
    }
    json_object_set_new(reply, "restart", is_new ? json_null() : json_array());
    download_asker_answer(job->asker, reply);
}

/* Has a session that jobs have kept report again that it can be removed, which
 * it does after all that was said to it. */
static void let_go(const packages_jobs_t *self, const char *session)
{
    const session_entry_t *entry =
        session_table_find(self->parts->table, session);

    if (entry && entry->is_expired)
        mailbox_line_send(entry->line, session_command_new(SESSION_FORGET, 0));
}

/* Answers a job. Only a client hears what the kernel has imported already: code
 * in a cell sees that itself. */
static void answer(const packages_jobs_t *self, download_job_t *job,
                   json_t *reply)
{
    let_go(self, job->session);
    json_object_del(reply, "rule"); /* it is for the record */
    if (download_asker_is_code(job->asker)
        || strcmp(download_job_text(reply, "status"), "ok") != 0)
        download_asker_answer(job->asker, reply);
    else
        answer_client(self, job, reply);
}

/* Takes the answer of a job of a list. */
static void on_listed(void *arg, download_job_t *job, json_t *reply)
{
    answer(arg, job, reply);
}

/* Takes the answer of a job that changes packages. */
static void on_written(void *arg, download_job_t *job, json_t *reply)
{
    const packages_jobs_t *self = arg;
    const packages_job_about_t about = {
        .session = job->session,
        .who = download_asker_who(job->asker),
        .operation = download_job_text(job->content, "order"),
        .names = json_object_get(job->content, "names"),
        .job = job->content,
        .is_repeated = json_is_true(json_object_get(job->content, "repeated")),
        .is_revival = json_is_true(json_object_get(job->content, "revival")),
    };

    packages_records_note(self->parts, &about, reply);
    answer(self, job, reply);
}

packages_jobs_t *packages_jobs_new(const registry_parts_t *parts,
                                   const char *package_folder)
{
    packages_jobs_t *self = mem_new(sizeof *self);
    download_lane_start_t start = {
        .package_folder = package_folder,
        .running_max = WRITES_MAX,
        .waiting_max = WAITING,
        .session_waiting_max = OF_SESSION,
        .limit_ms = LIMIT_MS,
        .jobs = "jobs with packages",
        .stopping =
            "the gateway stops while the job is done; the session's packages "
            "are the old ones or the new ones: `hearth packages list` says "
            "which",
        .answered = on_written,
        .arg = self,
    };

    self->parts = parts;
    self->writes = download_lane_new(parts, &start);
    start.running_max = LISTS_MAX;
    start.answered = on_listed;
    self->lists = download_lane_new(parts, &start);
    return self;
}

void packages_jobs_destroy(packages_jobs_t **self_p)
{
    packages_jobs_t *self = *self_p;

    if (!self)
        return;
    download_lane_destroy(&self->writes);
    download_lane_destroy(&self->lists);
    free(self);
    *self_p = NULL;
}

static bool has_job(const download_lane_t *lane, const char *session)
{
    const download_job_t *job = download_lane_first(lane);

    /* Skips those that were answered: they have changed what they will. */
    while (job && (!job->asker || strcmp(job->session, session) != 0))
        job = job->next;
    return job;
}

bool packages_jobs_changes(const packages_jobs_t *self, const char *session)
{
    return has_job(self->writes, session);
}

bool packages_jobs_has(const packages_jobs_t *self, const char *session)
{
    return has_job(self->writes, session) || has_job(self->lists, session);
}

void packages_jobs_on_gone(packages_jobs_t *self, const char *session)
{
    download_lane_on_gone(self->writes, session);
    download_lane_on_gone(self->lists, session);
}

void packages_jobs_stop(packages_jobs_t *self)
{
    download_lane_stop(self->writes);
    download_lane_stop(self->lists);
}

/* Returns the bounds of the cache. Those of the profile: a session with lower
 * ones of its own leaves others theirs. */
static json_t *describe_cache(const profile_packages_t *of_profile)
{
    return json_pack("{s:I,s:I}", "cache_bytes",
                     (json_int_t) (CACHE_FACTOR * of_profile->max_bytes),
                     "cache_files",
                     (json_int_t) (CACHE_FACTOR * of_profile->max_files));
}

/* Returns the members of a job by which versions and files are judged. */
static json_t *describe_judging(const profile_packages_t *packages)
{
    const char *advisories = packages->advisories;

    return json_pack(
        "{s:s,s:b,s:b,s:b,s:b}", "advisories", advisories ? advisories : "",
        "offline", packages->is_offline, "require_hashes",
        packages->requires_hashes, "pth", packages->has_start_files, "shadow",
        packages->has_shadows);
}

json_t *packages_jobs_describe(const registry_parts_t *parts,
                               const profile_t *profile,
                               const profile_packages_t *packages,
                               const json_t *content)
{
    const options_t *options = parts->options;
    const packages_folder_t *place = parts->downloads.packages_folder;
    const json_t *names = json_object_get(content, "names");
    /* If the program does not exist, the worker reports it. */
    cleanup_free char *uv = options->packages.uv
                                ? mem_text(options->packages.uv)
                                : packages_place_uv(options, profile);
    json_t *job =
        download_job_new(parts, profile, download_job_text(content, "order"),
                         packages_folder_work(place));

    json_object_update_new(
        job,
        json_pack("{s:o,s:s,s:o,s:o,s:o,s:I,s:I,s:I,s:s}", "names",
                  names ? json_deep_copy(names) : json_array(), "index",
                  packages->index, "hosts", json_text_list(packages->hosts),
                  "allow", json_text_list(packages->allow), "deny",
                  json_text_list(packages->deny), "cooldown",
                  (json_int_t) (packages->cooldown_ms / 1000), "max_bytes",
                  (json_int_t) packages->max_bytes, "max_files",
                  (json_int_t) packages->max_files, "uv", uv ? uv : ""));
    json_object_update_new(job, describe_cache(&profile->packages));
    json_object_update_new(job, describe_judging(packages));
    recorded_result_pin_packages(content, job);
    return job;
}

/* Returns what the worker of a session gets
 * (docs/design/PROTOCOL.downloads.md). */
static json_t *describe(const packages_jobs_t *self,
                        const session_entry_t *entry, const json_t *content)
{
    cleanup_free char *folder = packages_folder_session(
        self->parts->downloads.packages_folder, entry->packages);
    json_t *job = packages_jobs_describe(self->parts, entry->profile,
                                         &entry->rules.packages, content);

    json_object_set_new(job, "session", json_string(folder));
    download_job_add_own(job, LOWERING_PACKAGES, entry->rules.own_packages);
    if (entry->launch.preinstalled)
        json_object_set_new(job, "preinstalled",
                            json_string(entry->launch.preinstalled));
    return job;
}

static bool is_name(const json_t *name)
{
    const char *text = json_string_value(name);
    size_t size = json_string_length(name);

    for (size_t i = 0; i < size; i++)
        if ((unsigned char) text[i] < ' ' || text[i] == 0x7F)
            return false;
    return size && size <= NAME_BYTES;
}

/* Returns true if they are 1 to NAMES_MAX. */
static bool are_names(const json_t *names)
{
    const json_t *name;
    size_t i;

    if (!json_array_size(names) || json_array_size(names) > NAMES_MAX)
        return false;
    json_array_foreach(names, i, name) if (!is_name(name)) return false;
    return true;
}

static bool is_list(const json_t *content)
{
    return strcmp(download_job_text(content, "order"), "list") == 0;
}

/* Returns what is wrong with the request; NULL if nothing is. */
static const char *find_flaw(const json_t *content)
{
    const char *operation = download_job_text(content, "order");
    const json_t *names = json_object_get(content, "names");

    if (is_list(content))
        return !names || (json_is_array(names) && !json_array_size(names))
                   ? NULL
                   : "`names` must be empty for a list";
    if (strcmp(operation, "add") != 0 && strcmp(operation, "remove") != 0)
        return "`order` must be add, remove or list";
    return are_names(names) ? NULL
                            : "packages must be an array of 1 to 100 texts, "
                              "each of 1 to 20000 bytes without control "
                              "characters, as [\"humanize>=4\"]";
}

static download_lane_t *lane_of(const packages_jobs_t *self,
                                const json_t *content)
{
    return is_list(content) ? self->lists : self->writes;
}

/* Makes the folders that were removed. Kernels that run would not see what is
 * put into another folder of the sessions, so they have to be restarted.
 * Returns the error if that fails, else NULL. */
static json_t *make_folders(const packages_jobs_t *self)
{
    fault_t fault;
    int r =
        packages_folder_make(self->parts->downloads.packages_folder, &fault);

    if (r < 0)
        return management_error("PackagesFailed", GATEWAY_EXIT_FAILED, "%s",
                                fault.text);
    for (session_entry_t *at = session_table_first(self->parts->table); r && at;
         at = session_table_next(at))
        at->sees_packages = false;
    return NULL;
}

/* Returns why there can be no such job now; NULL if there can. */
static json_t *refusal(const packages_jobs_t *self,
                       const session_entry_t *entry, const json_t *content,
                       bool is_code)
{
    const char *flaw = find_flaw(content);
    const download_lane_t *lane = lane_of(self, content);
    json_t *fault = NULL;

    if (flaw)
        return management_error("BadRequest", GATEWAY_EXIT_USAGE, "%s", flaw);
    if (entry->rules.has_packages && (fault = make_folders(self)))
        return fault;
    if (!entry->rules.has_packages
        || (!entry->sees_packages && !session_entry_is_gone(entry)))
        return download_off_packages(entry);
    if (is_code && !entry->rules.packages.serves_cells)
        return download_off_packages_cells(
            entry,
            is_list(content) ? "add" : download_job_text(content, "order"));
    if (session_table_is_closing(self->parts->table))
        return download_lane_stopping(lane, false);
    return download_lane_refuse(lane, &packages_kind, entry->id, is_code);
}

/* Records that code was refused what it asked for. */
static void note_refusal(const packages_jobs_t *self,
                         const session_entry_t *entry, const json_t *content,
                         json_t *error)
{
    const packages_job_about_t about = {
        .session = entry->id,
        .who = AUDIT_KERNEL,
        .operation = strcmp(download_job_text(content, "order"), "remove") == 0
                         ? "remove"
                         : "add",
        .names = json_object_get(content, "names"),
    };

    packages_records_note(self->parts, &about, error);
}

static bool is_remove(const json_t *content)
{
    return strcmp(download_job_text(content, "order"), "remove") == 0;
}

json_t *packages_jobs_add_credentials(const profile_t *profile, json_t *job)
{
    json_t *list = NULL;
    fault_t fault;

    if (!profile->packages.credentials
        || json_is_true(json_object_get(job, "offline")) || is_list(job))
        return NULL;
    if (packages_credentials_read(profile, &list, &fault) < 0)
        return is_remove(job) ? NULL
                              : download_answer_error(
                                  &packages_kind, "Failed",
                                  "profile/%s/packages/credentials: %s",
                                  profile->name, fault.text);
    json_object_set_new(job, "credentials", list);
    return NULL;
}

static void take(packages_jobs_t *self, const session_entry_t *entry,
                 const json_t *content, download_asker_t *asker)
{
    cleanup_download_asker download_asker_t *taken = asker;
    const json_t *names = json_object_get(content, "names");
    json_auto_t *job = NULL;
    json_t *error =
        refusal(self, entry, content, download_asker_is_code(asker));

    if (!error) {
        job = describe(self, entry, content);
        error = packages_jobs_add_credentials(entry->profile, job);
    }
    if (error && download_asker_is_code(taken) && are_names(names))
        note_refusal(self, entry, content, error);
    if (error)
        download_asker_answer(taken, error);
    else
        download_lane_add(lane_of(self, content), &packages_kind, entry,
                          json_incref(job), &taken);
}

void packages_jobs_serve(packages_jobs_t *self, const json_t *content,
                         message_t **request_p)
{
    bool is_for_gone = is_remove(content) || is_list(content);
    /* A package may be the reason why no kernel of the session stays alive. */
    const session_entry_t *entry =
        is_for_gone ? session_api_find_any(self->parts, content, request_p)
                    : session_api_find(self->parts, content, request_p);

    if (entry)
        take(self, entry, content,
             download_asker_new_client(self->parts, request_p));
}

void packages_jobs_call(packages_jobs_t *self, const session_entry_t *entry,
                        const session_call_t *call)
{
    json_auto_t *text =
        json_loads(call->text, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);

    take(self, entry, download_job_of_call(text),
         download_asker_new_code(self->parts, entry, call->id));
}
