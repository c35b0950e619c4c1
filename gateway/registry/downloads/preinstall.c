/* See preinstall.h. Each request is a job of a lane of its own. The name of the
 * profile is in the place of a session's id there. Folders are removed only
 * while no job runs and all profiles have their packages: else it is not known
 * what one of them will need. */
#include "gateway/registry/downloads/preinstall.h"

#include "base/buffer.h"
#include "gateway/config/json_text.h"
#include "gateway/registry/core/session_table.h"
#include "gateway/registry/downloads/download_job.h"
#include "gateway/registry/downloads/download_lane.h"
#include "gateway/registry/downloads/packages_answer.h"
#include "gateway/registry/downloads/packages_jobs.h"
#include "gateway/registry/launch/launcher.h"
#include "gateway/registry/storage/packages_folder.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define LIMIT_MS (10 * 60 * 1000) /* of a job */

struct preinstall {
    const registry_parts_t *parts; /* borrowed */
    download_lane_t *lane;         /* owned */
    bool is_due;                   /* something may be used no more */
    bool is_kept;                  /* something is, by sessions alone */
};

/* Returns true if no other try could succeed before the operator, or the index,
 * has changed something. */
static bool is_refusal(const char *ename)
{
    return strcmp(ename, "PackagesRefused") == 0
           || strcmp(ename, "PackagesInvalid") == 0
           || strcmp(ename, "PackagesConflict") == 0;
}

/* Returns the text of a session's record of the packages, to be freed. */
static char *write_contents(const json_t *reply)
{
    json_auto_t *contents = json_pack("{s:[]}", "packages");
    const json_t *package;
    size_t i;

    json_array_foreach(json_object_get(reply, "packages"), i, package)
        json_array_append_new(
            json_object_get(contents, "packages"),
            json_pack("{s:O,s:O,s:O*}", "name",
                      json_object_get(package, "name"), "version",
                      json_object_get(package, "version"), "sha256",
                      json_object_get(package, "sha256")));
    return json_dumps(contents, JSON_COMPACT);
}

static void on_answered(void *arg, download_job_t *job, json_t *reply)
{
    preinstall_t *self = arg;
    json_auto_t *owned = reply;
    launcher_t *launcher = self->parts->launcher;
    const char *environment = download_job_text(owned, "environment");
    cleanup_free char *path = mem_format(
        "%s/%s", download_job_text(job->content, "session"), environment);
    cleanup_free char *contents = write_contents(owned);

    if (*environment)
        launcher_prepared(launcher, job->profile, path, contents);
    else
        launcher_unprepared(launcher, job->profile,
                            download_job_text(owned, "evalue"),
                            is_refusal(download_job_text(owned, "ename")));
}

preinstall_t *preinstall_new(const registry_parts_t *parts,
                             const char *package_folder)
{
    preinstall_t *self = mem_new(sizeof *self);
    const download_lane_start_t start = {
        .package_folder = package_folder,
        /* Profiles do not wait for each other. */
        .running_max = SIZE_MAX,
        .limit_ms = LIMIT_MS,
        .jobs = "jobs with packages of profiles",
        .stopping = "the packages of a profile are made",
        .answered = on_answered,
        .arg = self,
    };

    self->parts = parts;
    self->is_due = true; /* an earlier gateway may have had others */
    self->lane = download_lane_new(parts, &start);
    return self;
}

void preinstall_destroy(preinstall_t **self_p)
{
    preinstall_t *self = *self_p;

    if (!self)
        return;
    download_lane_destroy(&self->lane);
    free(self);
    *self_p = NULL;
}

void preinstall_stop(preinstall_t *self)
{
    download_lane_stop(self->lane);
}

/* Returns the job's content, the caller's; NULL and sets the fault. */
static json_t *describe(const preinstall_t *self, const profile_t *profile,
                        fault_t *fault)
{
    json_auto_t *content =
        json_pack("{s:s,s:o}", "order", "profile", "names",
                  json_text_list(profile->packages.preinstall));
    json_auto_t *error = NULL;
    cleanup_free char *folder = NULL;
    json_t *job;

    if (packages_folder_profiles(self->parts->downloads.packages_folder,
                                 &folder, fault)
        < 0)
        return NULL;
    job = packages_jobs_describe(self->parts, profile, &profile->packages,
                                 content);
    json_object_set_new(job, "session", json_string(folder));
    error = packages_jobs_add_credentials(profile, job);
    if (!error)
        return job;
    fault_set(fault, EACCES, "%s", download_job_text(error, "evalue"));
    json_decref(job);
    return NULL;
}

int preinstall_ask(preinstall_t *self, const profile_t *profile, fault_t *fault)
{
    session_entry_t entry = {.profile = profile};
    download_asker_t *no_asker = NULL;
    json_t *job;

    snprintf(entry.id, sizeof entry.id, "%s", profile->name);
    download_lane_on_gone(self->lane, entry.id);
    if (!profile->packages.index)
        return fault_set(fault, EINVAL,
                         "the running gateway has no index for it: restart the "
                         "gateway after profile/%s/packages/index was set",
                         profile->name);
    job = describe(self, profile, fault);
    if (!job)
        return -fault->code;
    download_lane_add(self->lane, &preinstall_kind, &entry, job, &no_asker);
    return 0;
}

/* ---- what is removed ---- */

/* Returns true if the folder, which may be NULL, lies in that one. */
static bool is_below(const char *folder_or_null, const char *path)
{
    size_t size = strlen(path);

    return folder_or_null && strncmp(folder_or_null, path, size) == 0
           && folder_or_null[size] == '/';
}

static bool is_used(void *arg, const char *path)
{
    preinstall_t *self = arg;
    const registry_parts_t *parts = self->parts;
    const options_t *options = parts->options;
    const session_entry_t *at;

    for (size_t i = 0; i < options->profile_count; i++)
        if (is_below(
                launcher_preinstalled(parts->launcher, options->profiles[i]),
                path))
            return true;
    for (at = session_table_first(parts->table); at;
         at = session_table_next(at))
        if (!session_entry_is_gone(at)
            && is_below(at->launch.preinstalled, path)) {
            self->is_kept = true;
            return true;
        }
    return false;
}

static bool all_are_known(const preinstall_t *self)
{
    const options_t *options = self->parts->options;

    for (size_t i = 0; i < options->profile_count; i++) {
        const profile_t *profile = options->profiles[i];

        if (*profile->packages.preinstall
            && !launcher_preinstalled(self->parts->launcher, profile))
            return false;
    }
    return true;
}

void preinstall_look_soon(preinstall_t *self)
{
    self->is_due = true;
}

void preinstall_look(preinstall_t *self)
{
    if ((!self->is_due && !self->is_kept) || download_lane_first(self->lane)
        || !all_are_known(self))
        return;
    self->is_due = self->is_kept = false;
    packages_folder_sweep(self->parts->downloads.packages_folder, is_used,
                          self);
}
