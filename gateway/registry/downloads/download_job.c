/* See download_job.h. */
#include "gateway/registry/downloads/download_job.h"

#include "gateway/config/json_text.h"
#include "gateway/registry/launch/launch_users.h"
#include "kernels/python_process.h"

void download_job_add_own(json_t *job, const char *section, json_t *own_or_null)
{
    json_object_update_new(
        job, json_pack("{s:o,s:o,s:o}", "own_allow",
                       download_rules_list(own_or_null, "allow"), "own_deny",
                       download_rules_list(own_or_null, "deny"), "own_texts",
                       download_rules_texts(section, own_or_null)));
}

const char *download_job_text(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return json_text_is_whole(value) ? json_string_value(value) : "";
}

json_t *download_job_of_call(const json_t *call)
{
    json_t *arguments = json_object_get(call, "arguments");
    json_t *recorded = json_object_get(call, "recorded");

    if (recorded)
        json_object_set(arguments, "recorded", recorded);
    else
        json_object_del(arguments, "recorded");
    return arguments;
}

json_t *download_job_new(const registry_parts_t *parts,
                         const profile_t *profile, const char *operation,
                         const char *work)
{
    const download_users_t users = launch_users_of_downloads(parts->users);
    json_t *job = json_pack(
        "{s:s,s:s,s:s,s:o,s:o,s:I,s:I}", "order", operation, "work", work,
        "profile", profile->name, "accept", json_text_list(profile->accept),
        "without", json_text_list(profile->without), "uid",
        (json_int_t) users.sandbox_uid, "gid", (json_int_t) users.sandbox_gid);

    if (users.has_own)
        json_object_set_new(job, "mapper",
                            json_integer(PYTHON_PROCESS_MAPPER_FD));
    return job;
}
