/* See download_fakes.h. */
#include "tests/lib/download_fakes.h"

#include "base/buffer.h"
#include "gateway/audit/audit.h"
#include "gateway/files/actor.h"
#include "gateway/registry/downloads/fetch_jobs.h"
#include "gateway/registry/launch/launch_users.h"
#include "gateway/registry/storage/fetch_folder.h"
#include "gateway/registry/storage/packages_folder.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

download_fakes_t download_fakes;

static char index_url[] = "https://index/simple/";
static zygote_user_t user = {.uid = 7, .gid = 8};

int __wrap_download_process_new(const download_process_start_t *start,
                                const json_t *job,
                                download_process_t **ret_process,
                                fault_t *fault);
void __wrap_download_process_stop(download_process_t *self);
const download_progress_t *
__wrap_download_process_progress(const download_process_t *self);
int __wrap_download_process_take_file(download_process_t *self);
const char *__wrap_fetch_folder_work(const fetch_folder_t *self);
bool __wrap_files_place(files_t *self, const files_place_t *place, int *file_p);
bool __wrap_files_probe(files_t *self, const files_place_t *place);
void __wrap_files_give_up(files_t *self, uint64_t number);
void __wrap_download_process_destroy(download_process_t **self_p);
download_users_t __wrap_launch_users_of_downloads(const launch_users_t *self);
void __wrap_audit_writer_note_by(audit_writer_t *self, const char *who,
                                 const char *event, const char *session,
                                 const char *outcome, json_t *details);

int __wrap_packages_folder_make(packages_folder_t *self, fault_t *fault);
char *__wrap_packages_folder_session(const packages_folder_t *self,
                                     const char *token);
const char *__wrap_packages_folder_work(const packages_folder_t *self);
char *__wrap_packages_place_uv(const options_t *options,
                               const profile_t *profile);

int __wrap_packages_folder_make(packages_folder_t *self, fault_t *fault)
{
    int made = download_fakes.folders;

    (void) self;
    download_fakes.folders = 0;
    return made < 0 ? fault_set(fault, -made, "no room for folders") : made;
}

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

static const char *name_of(const download_worker_t *worker)
{
    const json_t *names = json_object_get(worker->job, "names");
    const char *name = json_string_value(json_array_get(names, 0));
    const char *url = json_string_value(json_object_get(worker->job, "url"));

    if (url)
        return url;

    return name ? name : "list";
}

int __wrap_download_process_new(const download_process_start_t *start,
                                const json_t *job,
                                download_process_t **ret_process,
                                fault_t *fault)
{
    download_worker_t *worker = &download_fakes.workers[download_fakes.started];

    if (download_fakes.cannot_start)
        return fault_set(fault, ENOENT, "no such Python");
    *worker =
        (download_worker_t){.start = *start,
                            .job = json_deep_copy(job),
                            .is_there = true,
                            .has_user = start->user && start->user->uid == 7};
    download_fakes.started++;
    deeds_note("start %s", name_of(worker));
    *ret_process = (download_process_t *) (void *) worker;
    return 0;
}

void __wrap_download_process_stop(download_process_t *self)
{
    deeds_note("stop %s", name_of((download_worker_t *) (void *) self));
}

void __wrap_download_process_destroy(download_process_t **self_p)
{
    download_worker_t *worker = (download_worker_t *) (void *) *self_p;

    if (!worker)
        return;
    deeds_note("destroy %s", name_of(worker));
    worker->is_there = false;
    *self_p = NULL;
}

download_users_t __wrap_launch_users_of_downloads(const launch_users_t *self)
{
    (void) self;
    return (download_users_t){.has_own = download_fakes.has_user,
                              .worker = user,
                              .sandbox_uid = user.uid,
                              .sandbox_gid = user.gid};
}

const download_progress_t *
__wrap_download_process_progress(const download_process_t *self)
{
    static const download_progress_t progress = {
        .text = "asking", .bytes = 7, .total = 10};

    (void) self;
    return &progress;
}

int __wrap_download_process_take_file(download_process_t *self)
{
    int file = download_fakes.file;

    (void) self;
    download_fakes.file = -1;
    return file;
}

const char *__wrap_fetch_folder_work(const fetch_folder_t *self)
{
    (void) self;
    return "/f/work";
}

bool __wrap_files_place(files_t *self, const files_place_t *place, int *file_p)
{
    cleanup_free char *text = json_dumps(place->content, JSON_SORT_KEYS);

    (void) self;
    if (rig_outside.is_files_busy)
        return false;
    assert_true(*file_p >= 0);
    close(*file_p);
    *file_p = -1;
    deeds_note("place %sfor %s in %s of %s, %u bytes: %s",
               place->is_tree ? "a tree " : "", place->who, place->workspace,
               place->session, (unsigned) place->limits.bytes, text);
    json_decref(place->content);
    download_fakes.placed = place->number;
    return true;
}

bool __wrap_files_probe(files_t *self, const files_place_t *place)
{
    cleanup_free char *text = json_dumps(place->content, JSON_SORT_KEYS);

    (void) self;
    if (rig_outside.is_files_busy)
        return false;
    if (download_fakes.holds_probes)
        deeds_note("probe %sfor %s in %s of %s, %u bytes: %s",
                   place->is_tree ? "a tree " : "", place->who,
                   place->workspace, place->session,
                   (unsigned) place->limits.bytes, text);
    json_decref(place->content);
    assert_in_range(download_fakes.probe_count, 0, DOWNLOAD_WORKERS_MAX - 1);
    download_fakes.probes[download_fakes.probe_count++] = place->number;
    return true;
}

void __wrap_files_give_up(files_t *self, uint64_t number)
{
    (void) self;
    deeds_note("give up %u", (unsigned) number);
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

void download_fakes_add_session(const char *id)
{
    session_entry_t *entry =
        fake_add(download_fakes.parts->table, id, FAKE_TAKEN, 0);

    snprintf(entry->packages, sizeof entry->packages, "t-%s", id);
    entry->sees_packages = true;
}

void download_fakes_set_rules(const char *packages_or_null,
                              const char *fetch_or_null)
{
    cleanup_download_wishes download_wishes_t wishes = {
        .packages = mem_text(packages_or_null),
        .fetch = mem_text(fetch_or_null)};

    for (session_entry_t *entry =
             session_table_first(download_fakes.parts->table);
         entry; entry = session_table_next(entry))
        session_table_set_rules(entry, &wishes);
}

int download_fakes_begin(void **state)
{
    if (rig_begin(state) < 0)
        return -1;
    download_fakes.parts = *state;
    download_fakes.jobs = download_fakes.parts->downloads.packages;
    fake_profile.packages.index = index_url;
    fake_profile.packages.serves_cells = 1;
    download_fakes.started = 0;
    download_fakes.cannot_start = download_fakes.has_user = false;

    download_fakes.file = -1;
    download_fakes.placed = 0;
    download_fakes.holds_probes = false;
    download_fakes.probe_count = 0;
    download_fakes_add_session("aa1");
    download_fakes_add_session("bb2");
    deeds_forget();
    (void) fake_said();
    return 0;
}

int download_fakes_end(void **state)
{
    int r = rig_end(state);

    for (size_t i = 0; i < download_fakes.started; i++) {
        json_decref(download_fakes.workers[i].job);
        assert_false(download_fakes.workers[i].is_there);
    }
    return r;
}

void download_fakes_ask_text(const char *content)
{
    cleanup_message message_t *request =
        rig_request("packages_request", content);
    json_auto_t *object = json_loads(content, 0, NULL);

    packages_jobs_serve(download_fakes.jobs, object, &request);
    assert_null(request);
}

/* An answer may lead to more questions. */
void download_fakes_answer_probes(const char *answer)
{
    for (size_t i = 0; i < download_fakes.probe_count; i++)
        fetch_jobs_on_probed(download_fakes.parts->downloads.fetches,
                             download_fakes.probes[i],
                             json_loads(answer, 0, NULL));
    download_fakes.probe_count = 0;
}

static void settle(void)
{
    if (!download_fakes.holds_probes)
        download_fakes_answer_probes("{\"status\":\"ok\"}");
}

void download_fakes_fetch(const char *content)
{
    cleanup_message message_t *request = rig_request("fetch_request", content);
    json_auto_t *object = json_loads(content, 0, NULL);

    fetch_jobs_serve(download_fakes.parts->downloads.fetches, object, &request);
    assert_null(request);
    settle();
}

void download_fakes_ask(const char *session, const char *operation,
                        const char *name)
{
    cleanup_free char *text = mem_format(
        "{\"id\":\"%s\",\"order\":\"%s\",\"names\":[%s%s%s]}", session,
        operation, *name ? "\"" : "", name, *name ? "\"" : "");

    download_fakes_ask_text(text);
}

void download_fakes_call(const char *session, uint64_t id,
                         const char *arguments)
{
    cleanup_free char *text =
        mem_format("{\"call\":%d,\"name\":\"hearth:packages\",\"arguments\":"
                   "%s,\"request\":7,\"seconds_left\":9}",
                   (int) id, arguments);
    const session_call_t made = {.text = text, .id = id};

    packages_jobs_call(download_fakes.jobs,
                       session_table_find(download_fakes.parts->table, session),
                       &made);
}

void download_fakes_answer(size_t at, const char *reply)
{
    download_fakes.workers[at].start.ops->answered(
        download_fakes.workers[at].start.arg, json_loads(reply, 0, NULL));
}

void download_fakes_leave(size_t at)
{
    download_fakes.workers[at].start.ops->ended(
        download_fakes.workers[at].start.arg);
    settle();
}

void download_fakes_finish(size_t at)
{
    download_fakes_answer(at, "{\"status\":\"ok\"}");
    download_fakes_leave(at);
}
