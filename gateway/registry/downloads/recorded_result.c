/* See recorded_result.h. */
#include "gateway/registry/downloads/recorded_result.h"

#include "gateway/registry/downloads/clone_answer.h"
#include "gateway/registry/downloads/download_job.h"
#include "gateway/registry/downloads/fetch_answer.h"
#include "gateway/registry/downloads/packages_answer.h"

#include <string.h>

/* Bytes of pins in a job, whose datagram has other members, too. */
#define PINS_BYTES (DOWNLOAD_DATAGRAM_MAX / 2)
#define PIN_BYTES  (DOWNLOAD_HASH_SIZE + 24) /* besides its name */

/* Returns the recorded result of a request, lent; NULL if it was not done. */
static const json_t *result_of(const json_t *request)
{
    const json_t *result = json_object_get(request, "recorded");

    return strcmp(download_job_text(result, "status"), "ok") == 0 ? result
                                                                  : NULL;
}

static void mark(const json_t *request, json_t *job)
{
    if (json_is_true(json_object_get(request, "revival")))
        json_object_set_new(job, "revival", json_true());
}

/* Returns the version and the wheel's hash, or ""; NULL without a version. */
static json_t *pin_of(const json_t *package)
{
    const char *version = download_job_text(package, "version");
    const json_t *hash = json_object_get(package, "sha256");

    if (!packages_answer_is_name(download_job_text(package, "name"))
        || !packages_answer_is_version(version))
        return NULL;
    return json_pack("[s,s]", version,
                     download_answer_is_hash(hash) ? json_string_value(hash)
                                                   : "");
}

void recorded_result_pin_packages(const json_t *request, json_t *job)
{
    json_auto_t *pins = json_object();
    const json_t *package;
    size_t bytes = 0, i;

    json_array_foreach(json_object_get(result_of(request), "packages"), i,
                       package)
    {
        const char *name = download_job_text(package, "name");
        json_t *pin = pin_of(package);

        bytes += strlen(name) + PIN_BYTES;
        if (pin && bytes <= PINS_BYTES)
            json_object_set_new(pins, name, pin);
        else
            json_decref(pin);
    }
    if (json_object_size(pins))
        json_object_set(job, "pins", pins);
    if (result_of(request))
        json_object_set_new(job, "repeated", json_true());
    mark(request, job);
}

static void pin_commit(const json_t *result, json_t *job)
{
    const char *commit = download_job_text(result, "commit");
    json_t *branch = json_object_get(result, "branch");

    if (!clone_answer_is_commit(commit))
        return;
    json_object_set_new(job, "ref", json_string(commit));
    if (clone_answer_is_branch(json_string_value(branch)))
        json_object_set(job, "branch", branch);
}

void recorded_result_pin_fetch(const json_t *request,
                               const download_kind_t *kind, json_t *job)
{
    const json_t *result = result_of(request);
    json_t *hash = json_object_get(result, "sha256");

    mark(request, job);
    if (kind == &clone_kind)
        pin_commit(result, job);
    else if (download_answer_is_hash(hash)
             && !*download_job_text(job, "sha256"))
        json_object_set(job, "sha256", hash);
}
