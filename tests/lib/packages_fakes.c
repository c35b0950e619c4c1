/* See packages_fakes.h. */
#include "tests/lib/packages_fakes.h"

#include "base/buffer.h"
#include "gateway/audit/audit.h"
#include "gateway/registry/launch/launch_users.h"
#include "gateway/registry/storage/packages_folder.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

packages_fakes_t packages_fakes;

static char index_url[] = "https://index/simple/";
static zygote_user_t user = {.uid = 7, .gid = 8};

int __wrap_download_process_new(const download_process_start_t *start,
                                const json_t *job,
                                download_process_t **ret_process,
                                fault_t *fault);
void __wrap_download_process_stop(download_process_t *self);
void __wrap_download_process_destroy(download_process_t **self_p);
packages_users_t __wrap_launch_users_of_packages(const launch_users_t *self);
void __wrap_audit_writer_note_by(audit_writer_t *self, const char *who,
                                 const char *event, const char *session,
                                 const char *outcome, json_t *details);

char *__wrap_packages_folder_session(const packages_folder_t *self,
                                     const char *token);
const char *__wrap_packages_folder_work(const packages_folder_t *self);
char *__wrap_packages_place_uv(const options_t *options,
                               const profile_t *profile);

char *__wrap_packages_folder_session(const packages_folder_t *self,
                                     const char *token)
{
    (void) self;
    return mem_format("/p/sessions/%s", token);
}

const char *__wrap_packages_folder_work(const packages_folder_t *self)
{
    (void) self;
    return "/p/work";
}

char *__wrap_packages_place_uv(const options_t *options,
                               const profile_t *profile)
{
    (void) options;
    (void) profile;
    return mem_text("/found/uv");
}

static const char *name_of(const packages_worker_t *worker)
{
    const json_t *names = json_object_get(worker->job, "names");
    const char *name = json_string_value(json_array_get(names, 0));

    return name ? name : "list";
}

int __wrap_download_process_new(const download_process_start_t *start,
                                const json_t *job,
                                download_process_t **ret_process,
                                fault_t *fault)
{
    packages_worker_t *worker = &packages_fakes.workers[packages_fakes.started];

    if (packages_fakes.cannot_start)
        return fault_set(fault, ENOENT, "no such Python");
    *worker =
        (packages_worker_t){.start = *start,
                            .job = json_deep_copy(job),
                            .is_there = true,
                            .has_user = start->user && start->user->uid == 7};
    assert_int_equal(start->limit_ms, 600000);
    packages_fakes.started++;
    deeds_note("start %s", name_of(worker));
    *ret_process = (download_process_t *) (void *) worker;
    return 0;
}

void __wrap_download_process_stop(download_process_t *self)
{
    deeds_note("stop %s", name_of((packages_worker_t *) (void *) self));
}

void __wrap_download_process_destroy(download_process_t **self_p)
{
    packages_worker_t *worker = (packages_worker_t *) (void *) *self_p;

    if (!worker)
        return;
    deeds_note("destroy %s", name_of(worker));
    worker->is_there = false;
    *self_p = NULL;
}

packages_users_t __wrap_launch_users_of_packages(const launch_users_t *self)
{
    (void) self;
    return (packages_users_t){.has_own = packages_fakes.has_user,
                              .worker = user,
                              .uv_uid = user.uid,
                              .uv_gid = user.gid};
}

void __wrap_audit_writer_note_by(audit_writer_t *self, const char *who,
                                 const char *event, const char *session,
                                 const char *outcome, json_t *details)
{
    cleanup_free char *text = json_dumps(details, JSON_SORT_KEYS);

    (void) self;
    deeds_note("audit %s %s by %s of %s: %s", event, outcome, who, session,
               text);
    json_decref(details);
}

void packages_fakes_add_session(const char *id)
{
    session_entry_t *entry =
        fake_add(packages_fakes.parts->table, id, FAKE_TAKEN, 0);

    snprintf(entry->packages, sizeof entry->packages, "t-%s", id);
    entry->sees_packages = true;
}

int packages_fakes_begin(void **state)
{
    if (rig_begin(state) < 0)
        return -1;
    packages_fakes.parts = *state;
    packages_fakes.jobs = packages_fakes.parts->packages;
    fake_profile.packages.index = index_url;
    fake_profile.packages.serves_cells = 1;
    packages_fakes.started = 0;
    packages_fakes.cannot_start = packages_fakes.has_user = false;
    packages_fakes_add_session("aa1");
    packages_fakes_add_session("bb2");
    deeds_forget();
    (void) fake_said();
    return 0;
}

int packages_fakes_end(void **state)
{
    int r = rig_end(state);

    for (size_t i = 0; i < packages_fakes.started; i++) {
        json_decref(packages_fakes.workers[i].job);
        assert_false(packages_fakes.workers[i].is_there);
    }
    return r;
}

void packages_fakes_ask_text(const char *content)
{
    cleanup_message message_t *request =
        rig_request("packages_request", content);
    json_auto_t *object = json_loads(content, 0, NULL);

    packages_jobs_serve(packages_fakes.jobs, object, &request);
    assert_null(request);
}

void packages_fakes_ask(const char *session, const char *order,
                        const char *name)
{
    cleanup_free char *text =
        mem_format("{\"id\":\"%s\",\"order\":\"%s\",\"names\":[%s%s%s]}",
                   session, order, *name ? "\"" : "", name, *name ? "\"" : "");

    packages_fakes_ask_text(text);
}

void packages_fakes_call(const char *session, uint64_t id,
                         const char *arguments)
{
    cleanup_free char *text =
        mem_format("{\"call\":%d,\"name\":\"hearth:packages\",\"arguments\":"
                   "%s,\"request\":7,\"seconds_left\":9}",
                   (int) id, arguments);
    const session_call_t made = {.text = text, .id = id};

    packages_jobs_call(packages_fakes.jobs,
                       session_table_find(packages_fakes.parts->table, session),
                       &made);
}

void packages_fakes_answer(size_t at, const char *reply)
{
    packages_fakes.workers[at].start.ops->answered(
        packages_fakes.workers[at].start.arg, json_loads(reply, 0, NULL));
}

void packages_fakes_leave(size_t at)
{
    packages_fakes.workers[at].start.ops->ended(
        packages_fakes.workers[at].start.arg);
}

void packages_fakes_finish(size_t at)
{
    packages_fakes_answer(at, "{\"status\":\"ok\"}");
    packages_fakes_leave(at);
}
