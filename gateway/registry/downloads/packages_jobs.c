/* See packages_jobs.h. A job is one process (download_process.h). Its client
 * may go meanwhile: the job goes on, and its answer is dropped. */
#include "gateway/registry/downloads/packages_jobs.h"

#include "base/buffer.h"
#include "gateway/audit/audit.h"
#include "gateway/config/packages_place.h"
#include "gateway/config/state_files.h"
#include "gateway/frontends/management_error.h"
#include "gateway/registry/core/session_table.h"
#include "gateway/registry/launch/launch_users.h"
#include "gateway/registry/downloads/packages_asker.h"
#include "gateway/registry/downloads/download_process.h"
#include "gateway/registry/downloads/packages_records.h"
#include "gateway/registry/sessions/session_api.h"
#include "gateway/registry/storage/packages_folder.h"

#include <string.h>

#define WAITING_MAX 16  /* jobs of a lane */
#define SESSION_MAX 2   /* of them, jobs of one session */
#define CODE_MAX    8   /* of them, jobs that cells asked for */
#define LISTS_MAX   4   /* that run at once */
#define RETRY_S     10  /* after which a refused client may ask again */
#define NAMES_MAX   100 /* of packages in a request */
#define NAME_BYTES  500 /* bytes of each, a requirement with its conditions */

typedef enum {
    LANE_WRITE,
    LANE_LIST,
    LANES,
} lane_kind_t;

typedef struct job {
    packages_jobs_t *jobs; /* borrowed */
    lane_kind_t lane;
    char session[SESSION_ID_MAX];
    const profile_t *profile;    /* borrowed */
    packages_asker_t *asker;     /* owned */
    json_t *content;             /* owned; what the worker gets */
    download_process_t *process; /* owned; NULL: it waits */
    struct job *next;            /* owned */
} job_t;

struct packages_jobs {
    const registry_parts_t *parts; /* borrowed */
    const char *package_folder;    /* borrowed */
    job_t *lanes[LANES];           /* owned; in the order in which they came */
};

static const size_t running_max[LANES] = {
    [LANE_WRITE] = 1, [LANE_LIST] = LISTS_MAX};

packages_jobs_t *packages_jobs_new(const registry_parts_t *parts,
                                   const char *package_folder)
{
    packages_jobs_t *self = mem_new(sizeof *self);

    self->parts = parts;
    self->package_folder = package_folder;
    return self;
}

static void job_destroy(job_t **job_p)
{
    job_t *job = *job_p;

    download_process_destroy(&job->process);
    packages_asker_destroy(&job->asker);
    json_decref(job->content);
    free(job);
    *job_p = NULL;
}

/* Takes the job out of its lane and frees it. */
static void end(packages_jobs_t *self, job_t *job)
{
    job_t **at = &self->lanes[job->lane];

    while (*at != job)
        at = &(*at)->next;
    *at = job->next;
    job_destroy(&job);
}

void packages_jobs_destroy(packages_jobs_t **self_p)
{
    packages_jobs_t *self = *self_p;

    if (!self)
        return;
    packages_jobs_stop(self);
    for (size_t i = 0; i < LANES; i++)
        while (self->lanes[i])
            end(self, self->lanes[i]);
    free(self);
    *self_p = NULL;
}

/* ---- what follows from an answer ---- */

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

/* Answers the asker of the job; `reply` is taken. */
static void answer(job_t *job, json_t *reply)
{
    const packages_job_about_t about = {
        .session = job->session,
        .who = packages_asker_who(job->asker),
        .order = text_of(job->content, "order"),
        .names = json_object_get(job->content, "names"),
    };

    if (job->lane == LANE_WRITE)
        packages_records_note(job->jobs->parts, &about, reply);
    packages_asker_answer(job->asker, reply);
}

static void on_answered(void *arg, json_t *reply)
{
    answer(arg, reply);
}

static void start_next(packages_jobs_t *self, lane_kind_t lane);

static void on_ended(void *arg)
{
    job_t *job = arg;
    packages_jobs_t *self = job->jobs;
    lane_kind_t lane = job->lane;

    end(self, job);
    start_next(self, lane);
}

/* ---- the lanes ---- */

static int start(packages_jobs_t *self, job_t *job, fault_t *fault)
{
    static const download_process_ops_t ops = {.answered = on_answered,
                                               .ended = on_ended};
    const packages_users_t users = launch_users_of_packages(self->parts->users);
    const download_process_start_t how = {
        .loop = self->parts->loop,
        .profile = job->profile,
        .package_folder = self->package_folder,
        .user = users.has_own ? &users.worker : NULL,
        .limit_ms = DOWNLOAD_TIME_LIMIT_MS,
        .ops = &ops,
        .arg = job,
    };

    return download_process_new(&how, job->content, &job->process, fault);
}

static size_t count_running(const job_t *lane)
{
    size_t count = 0;

    for (; lane; lane = lane->next)
        count += lane->process != NULL;
    return count;
}

static job_t *first_waiting(job_t *lane)
{
    while (lane && lane->process)
        lane = lane->next;
    return lane;
}

/* Starts those that wait, as far as there is room. */
static void start_next(packages_jobs_t *self, lane_kind_t lane)
{
    job_t *job;
    fault_t fault;

    while (count_running(self->lanes[lane]) < running_max[lane]
           && (job = first_waiting(self->lanes[lane])))
        if (start(self, job, &fault) < 0) {
            answer(job, management_error("PackagesFailed", GATEWAY_EXIT_FAILED,
                                         "%s", fault.text));
            end(self, job);
        }
}

/* Gives a job up; `reply` is taken. One that was answered is about to end. */
static void give_up(packages_jobs_t *self, job_t *job, json_t *reply)
{
    if (!packages_asker_is_answered(job->asker))
        answer(job, reply);
    else
        json_decref(reply);
    if (job->process)
        download_process_stop(job->process);
    else
        end(self, job);
}

void packages_jobs_on_gone(packages_jobs_t *self, const char *session)
{
    job_t *next;

    for (size_t i = 0; i < LANES; i++)
        for (job_t *at = self->lanes[i]; at; at = next) {
            next = at->next;
            if (strcmp(at->session, session) == 0)
                give_up(self, at,
                        management_error("SessionGone", GATEWAY_EXIT_GONE,
                                         "session %s ended before the job with "
                                         "its packages was done",
                                         session));
        }
}

static json_t *stopping(bool is_running)
{
    return management_error(
        "GatewayStopping", GATEWAY_EXIT_UNREACHABLE, "%s",
        is_running ? "the gateway stops while the job is done; the session's "
                     "packages are the old ones or the new ones: `hearth "
                     "packages list` says which"
                   : "the gateway stops before the job has begun");
}

void packages_jobs_stop(packages_jobs_t *self)
{
    job_t *next;

    for (size_t i = 0; i < LANES; i++)
        for (job_t *at = self->lanes[i]; at; at = next) {
            next = at->next;
            give_up(self, at, stopping(at->process));
        }
}

/* ---- requests ---- */

static json_t *list_new(char *const *texts)
{
    json_t *list = json_array();

    for (; texts && *texts; texts++)
        json_array_append_new(list, json_string(*texts));
    return list;
}

/* Returns what the worker gets (docs/design/PROTOCOL.packages.md). */
static json_t *describe(const packages_jobs_t *self,
                        const session_entry_t *entry, const json_t *content)
{
    const options_t *options = self->parts->options;
    const profile_t *profile = entry->profile;
    const profile_packages_t *packages = &profile->packages;
    const packages_users_t users = launch_users_of_packages(self->parts->users);
    const packages_folder_t *place = self->parts->packages_folder;
    const json_t *names = json_object_get(content, "names");
    cleanup_free char *folder = packages_folder_session(place, entry->packages);
    /* If the program does not exist, the worker reports it. */
    cleanup_free char *uv = options->packages_uv
                                ? mem_text(options->packages_uv)
                                : packages_place_uv(options, profile);
    json_t *job = json_pack(
        "{s:O,s:o,s:s,s:s,s:s,s:s,s:o,s:o,s:o,s:I,s:I,s:I,s:s,s:o,s:o,s:I,s:I}",
        "order", json_object_get(content, "order"), "names",
        names ? json_deep_copy(names) : json_array(), "session", folder, "work",
        packages_folder_work(place), "profile", profile->name, "index",
        packages->index, "hosts", list_new(packages->hosts), "allow",
        list_new(packages->allow), "deny", list_new(packages->deny), "cooldown",
        (json_int_t) (packages->cooldown_ms / 1000), "max_bytes",
        (json_int_t) packages->max_bytes, "max_files",
        (json_int_t) packages->max_files, "uv", uv ? uv : "", "accept",
        list_new(profile->accept), "without", list_new(profile->without), "uid",
        (json_int_t) users.uv_uid, "gid", (json_int_t) users.uv_gid);

    if (users.has_own)
        json_object_set_new(job, "mapper",
                            json_integer(PYTHON_PROCESS_MAPPER_FD));
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

/* Reads which lane the order is for. Returns what is wrong with the request;
 * NULL if nothing is. */
static const char *read_order(const json_t *content, lane_kind_t *ret_lane)
{
    const char *order = text_of(content, "order");
    const json_t *names = json_object_get(content, "names");

    if (strcmp(order, "list") == 0) {
        *ret_lane = LANE_LIST;
        return !names || (json_is_array(names) && !json_array_size(names))
                   ? NULL
                   : "`names` must be empty for a list";
    }
    *ret_lane = LANE_WRITE;
    if (strcmp(order, "add") != 0 && strcmp(order, "remove") != 0)
        return "`order` must be add, remove or list";
    return are_names(names) ? NULL
                            : "packages must be an array of 1 to 100 texts, "
                              "each of 1 to 500 bytes without control "
                              "characters, as [\"humanize>=4\"]";
}

static void add(packages_jobs_t *self, const session_entry_t *entry,
                const json_t *content, lane_kind_t lane,
                packages_asker_t **asker_p)
{
    job_t **at = &self->lanes[lane];
    job_t *job = mem_new(sizeof *job);

    job->jobs = self;
    job->lane = lane;
    snprintf(job->session, sizeof job->session, "%s", entry->id);
    job->profile = entry->profile;
    job->content = describe(self, entry, content);
    job->asker = take_ptr(*asker_p);
    while (*at)
        at = &(*at)->next;
    *at = job;
    start_next(self, lane);
}

/* Jobs that wait. */
typedef struct {
    unsigned of_all, of_session, of_code;
} waiting_t;

static waiting_t count_waiting(const job_t *lane, const char *session)
{
    waiting_t count = {0};

    for (; lane; lane = lane->next) {
        if (lane->process)
            continue;
        count.of_all++;
        count.of_session += strcmp(lane->session, session) == 0;
        count.of_code += packages_asker_is_code(lane->asker);
    }
    return count;
}

/* Returns an error that says when to ask again, if too many jobs wait. Clients
 * have places that code, which may be hostile, cannot fill. */
static json_t *refuse_busy(const job_t *lane, const char *session, bool is_code)
{
    waiting_t count = count_waiting(lane, session);
    json_t *error;
    unsigned max = 0;

    if (count.of_session >= SESSION_MAX)
        max = SESSION_MAX;
    else if (count.of_all >= WAITING_MAX)
        max = WAITING_MAX;
    else if (is_code && count.of_code >= CODE_MAX)
        max = CODE_MAX;
    if (!max)
        return NULL;
    error = management_error(
        "PackagesBusy", GATEWAY_EXIT_FAILED,
        "%u jobs with packages%s wait already; try again in %d s", max,
        max == SESSION_MAX ? " of this session"
        : max == CODE_MAX  ? " that cells asked for"
                           : "",
        RETRY_S);
    json_object_set_new(error, "retry_after", json_integer(RETRY_S));
    return error;
}

/* Returns the error for a session whose code would not find the packages. */
static json_t *off(const session_entry_t *entry)
{
    const char *profile = entry->profile->name;

    if (entry->profile->packages.index)
        return management_error("RestartNeeded", GATEWAY_EXIT_FAILED,
                                "the kernel of session %s was started without "
                                "the packages folder of profile %s: restart it "
                                "(hearth session restart %s), then ask again",
                                entry->id, profile, entry->id);
    return management_error("PackagesOff", GATEWAY_EXIT_ENVIRONMENT,
                            "profile %s has no package index: set "
                            "profile/%s/packages/index",
                            profile, profile);
}

/* Returns the error for code that may not ask, though clients may. */
static json_t *off_for_code(const session_entry_t *entry, lane_kind_t lane,
                            const char *order)
{
    const char *profile = entry->profile->name;
    const char *what = lane == LANE_WRITE ? order : "add";

    return management_error(
        "PackagesOff", GATEWAY_EXIT_ENVIRONMENT,
        "code in a cell may not ask for packages here "
        "(profile/%s/packages/cells); a client may: `hearth packages %s %s "
        "NAME`",
        profile, what, entry->id);
}

/* Returns why there can be no such job now; NULL if there can. */
static json_t *refusal(const packages_jobs_t *self,
                       const session_entry_t *entry, const json_t *content,
                       bool is_code, lane_kind_t *ret_lane)
{
    const char *flaw = read_order(content, ret_lane);

    if (flaw)
        return management_error("BadRequest", GATEWAY_EXIT_USAGE, "%s", flaw);
    if (!entry->profile->packages.index || !entry->sees_packages)
        return off(entry);
    if (is_code && !entry->profile->packages.serves_cells)
        return off_for_code(entry, *ret_lane, text_of(content, "order"));
    if (session_table_is_closing(self->parts->table))
        return stopping(false);
    return refuse_busy(self->lanes[*ret_lane], entry->id, is_code);
}

/* Records that code was refused what it asked for. */
static void note_refusal(const packages_jobs_t *self,
                         const session_entry_t *entry, const json_t *content,
                         const json_t *error)
{
    const packages_job_about_t about = {
        .session = entry->id,
        .who = AUDIT_KERNEL,
        .order =
            strcmp(text_of(content, "order"), "remove") == 0 ? "remove" : "add",
        .names = json_object_get(content, "names"),
    };

    packages_records_note(self->parts, &about, error);
}

static void take(packages_jobs_t *self, const session_entry_t *entry,
                 const json_t *content, packages_asker_t *asker)
{
    cleanup_packages_asker packages_asker_t *taken = asker;
    const json_t *names = json_object_get(content, "names");
    lane_kind_t lane;
    json_t *error =
        refusal(self, entry, content, packages_asker_is_code(asker), &lane);

    if (error && packages_asker_is_code(taken) && are_names(names))
        note_refusal(self, entry, content, error);
    if (error)
        packages_asker_answer(taken, error);
    else
        add(self, entry, content, lane, &taken);
}

void packages_jobs_serve(packages_jobs_t *self, const json_t *content,
                         message_t **request_p)
{
    const session_entry_t *entry =
        session_api_find(self->parts, content, request_p);

    if (entry)
        take(self, entry, content,
             packages_asker_new_client(self->parts, request_p));
}

void packages_jobs_call(packages_jobs_t *self, const session_entry_t *entry,
                        const session_call_t *call)
{
    json_auto_t *text =
        json_loads(call->text, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);

    take(self, entry, json_object_get(text, "arguments"),
         packages_asker_new_code(self->parts, entry, call->id));
}
