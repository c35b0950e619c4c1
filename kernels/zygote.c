/* Starts a zygote and speaks to it over one SOCK_SEQPACKET socket, which is the
 * zygote's descriptor 3: JSON until it is warm, then requests. */
#include "kernels/zygote.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "kernels/zygote_request.h"
#include "protocol/limits.h"

#include <jansson.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct zygote {
    const profile_t *profile; /* borrowed from the configuration */
    int socket;               /* owned */
    pid_t pid;                /* to be reaped; 0 once it is */
    bool is_ready;
    json_t *environment; /* owned; {path: mtime in ns} as it was loaded */
    json_t *last_look;   /* owned; the same, as it was seen last */
};

void zygote_destroy(zygote_t **self_p)
{
    zygote_t *self = *self_p;

    if (!self)
        return;
    if (self->socket >= 0)
        close(self->socket);
    if (self->pid > 0) {
        /* It runs no code but ours and holds no state worth a wait. */
        kill(self->pid, SIGKILL);
        while (waitpid(self->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    json_decref(self->environment);
    json_decref(self->last_look);
    free(self);
    *self_p = NULL;
}

static void add_list(json_t *object, const char *key, char *const *list)
{
    json_t *array = json_array();

    for (size_t i = 0; list && list[i]; i++)
        json_array_append_new(array, json_string(list[i]));
    json_object_set_new(object, key, array);
}

static void set_number(json_t *object, const char *key, uint64_t value)
{
    json_object_set_new(object, key, json_integer((json_int_t) value));
}

static json_t *describe_policy(const profile_policy_t *policy)
{
    json_t *object = json_object();

    add_list(object, "refuse_imports", policy->refuse_imports);
    add_list(object, "allow_imports", policy->allow_imports);
    add_list(object, "refuse_calls", policy->refuse_calls);
    add_list(object, "refuse_magics", policy->refuse_magics);
    return object;
}

static char *describe_profile(const profile_t *profile,
                              const char *preinstalled_or_null,
                              const zygote_user_t *user)
{
    json_auto_t *object = json_object();

    json_object_set_new(object, "profile", json_string(profile->name));
    add_list(object, "preload", profile->preload);
    add_list(object, "readonly", profile->readonly);
    add_list(object, "mount", profile->mount);
    if (profile->packages.shown)
        json_object_set_new(object, "packages",
                            json_pack("[s,s]", profile->packages.shown,
                                      PROFILE_PACKAGES_PLACE));
    if (preinstalled_or_null)
        json_object_set_new(object, "preinstalled",
                            json_string(preinstalled_or_null));
    add_list(object, "accept", profile->accept);
    add_list(object, "without", profile->without);
    set_number(object, "network", (uint64_t) profile->network);
    json_object_set_new(object, "fresh", json_boolean(profile->is_fresh));
    json_object_set_new(object, "policy", describe_policy(&profile->policy));
    if (user)
        set_number(object, "mapper", PYTHON_PROCESS_MAPPER_FD);
    return json_dumps(object, JSON_COMPACT);
}

/* The environment is made from nothing: what a kernel can read of its own
 * start must hold no secret of the gateway's. One thread for BLAS while
 * warming: the zygote must have a single thread when it forks. */
static char *const zygote_environment[] = {
    (char[]){"PATH=/usr/local/bin:/usr/bin:/bin"},
    (char[]){"LANG=C.UTF-8"},
    (char[]){"PYTHONDONTWRITEBYTECODE=1"},
    (char[]){"OPENBLAS_NUM_THREADS=1"},
    (char[]){"OMP_NUM_THREADS=1"},
    (char[]){"MKL_NUM_THREADS=1"},
    (char[]){"MPLBACKEND=module://matplotlib_inline.backend_inline"},
    (char[]){"MPLCONFIGDIR=/tmp/matplotlib"},
    (char[]){"HOME=/tmp"},
    NULL,
};

/* Sends the profile in the first datagram. It is no argument, because each
 * kernel could read that in its /proc/self/cmdline. */
static int send_profile(const zygote_t *self, const char *preinstalled_or_null,
                        const zygote_user_t *user, fault_t *fault)
{
    cleanup_free char *text =
        describe_profile(self->profile, preinstalled_or_null, user);
    size_t size = strlen(text);

    if (size > ZYGOTE_DATAGRAM_MAX)
        return fault_set(fault, E2BIG,
                         "the lists of profile %s are %zu bytes long, more "
                         "than %u",
                         self->profile->name, size, ZYGOTE_DATAGRAM_MAX);
    return fd_send(self->socket, text, size, NULL, 0, fault);
}

int zygote_new(const profile_t *profile, const char *package_folder,
               const char *preinstalled_or_null, const zygote_user_t *user,
               zygote_t **ret_zygote, fault_t *fault)
{
    cleanup_zygote zygote_t *self = mem_new(sizeof *self);
    const python_process_start_t start = {.profile = profile,
                                          .package_folder = package_folder,
                                          .module = "hearth_kernel.zygote",
                                          .user = user,
                                          .environment = zygote_environment};
    cleanup_fd int theirs = -1;
    int r;

    self->profile = profile;
    self->socket = -1;
    if ((r = python_process_pair(&self->socket, &theirs, fault)) < 0
        || (r = send_profile(self, preinstalled_or_null, user, fault)) < 0
        || (r = python_process_spawn(&start, theirs, &self->pid, fault)) < 0)
        return r;
    *ret_zygote = take_ptr(self);
    return 0;
}

const profile_t *zygote_profile(const zygote_t *self)
{
    return self->profile;
}

bool zygote_is_ready(const zygote_t *self)
{
    return self->is_ready;
}

static json_t *look_at(json_t *environment)
{
    json_t *seen = json_object();
    const char *path;
    json_t *unused;

    json_object_foreach(environment, path, unused)
    {
        struct stat about;
        json_int_t changed = 0; /* it is not there */

        if (stat(path, &about) == 0)
            changed =
                about.st_mtim.tv_sec * 1000000000LL + about.st_mtim.tv_nsec;
        json_object_set_new(seen, path, json_integer(changed));
    }
    return seen;
}

zygote_change_t zygote_look(zygote_t *self)
{
    json_auto_t *last = take_ptr(self->last_look);

    if (!self->environment)
        return ZYGOTE_SAME;
    self->last_look = look_at(self->environment);
    if (json_equal(self->last_look, self->environment))
        return ZYGOTE_SAME;
    return json_equal(self->last_look, last) ? ZYGOTE_CHANGED : ZYGOTE_CHANGING;
}

int zygote_socket(const zygote_t *self)
{
    return self->socket;
}

pid_t zygote_pid(const zygote_t *self)
{
    return self->pid;
}

static void encode(const zygote_launch_t *launch, buffer_t *out)
{
    const profile_limits_t *limits = launch->limits;
    const zygote_request_t request = {
        .has_cgroup_folder = launch->cgroup_mode == CGROUP_V2,
        .number = launch->number,
        .host_uid = launch->host_uid,
        .host_gid = launch->host_gid,
        .init_uid = launch->init_uid,
        .init_gid = launch->init_uid,
        .orphan_seconds = launch->orphan_seconds,
        .retain = limits->retain,
        .limits = {
            .address_space = limits->address_space,
            .file_size = limits->file_size,
            .open_files = limits->open_files,
            /* Where a control group counts processes, the limit of the process
             * itself has to be higher: it would refuse without a report. */
            .processes =
                profile_process_limit(limits, launch->cgroup_count > 0),
            .cpu_seconds = limits->cpu_seconds,
            .tmp = limits->tmp,
            .shm = limits->shm,
        }};
    const char *name;
    json_t *value;

    zygote_request_encode(&request, "hearth", out);
    json_object_foreach(launch->environment, name, value)
        zygote_request_add_variable(out, name, json_string_value(value));
    /* The last of a name wins. */
    if (launch->packages)
        zygote_request_add_variable(out, "HEARTH_PACKAGES", launch->packages);
    if (launch->packages && launch->packages_lists)
        zygote_request_add_variable(out, "HEARTH_PACKAGES_LISTS",
                                    launch->packages_lists);
    if (launch->packages && !launch->asks_for_packages)
        zygote_request_add_variable(out, "HEARTH_PACKAGES_CELLS", "no");
    if (launch->packages && launch->runs_start_files)
        zygote_request_add_variable(out, "HEARTH_PACKAGES_PTH", "yes");
    if (launch->packages && launch->has_shadows)
        zygote_request_add_variable(out, "HEARTH_PACKAGES_SHADOW", "yes");
    if (launch->asks_for_files)
        zygote_request_add_variable(out, "HEARTH_FETCH", "cells");
}

int zygote_launch(zygote_t *self, const zygote_launch_t *launch, fault_t *fault)
{
    cleanup_buffer buffer_t request = BUFFER_EMPTY;
    int fds[ZYGOTE_REQUEST_FDS + CGROUP_HIERARCHIES] = {
        launch->workspace_fd, launch->link_fd, launch->init_fd,
        launch->status_fd};

    memcpy(fds + ZYGOTE_REQUEST_FDS, launch->cgroup_fds,
           launch->cgroup_count * sizeof *fds);
    encode(launch, &request);
    if (request.size > ZYGOTE_DATAGRAM_MAX)
        return fault_set(fault, E2BIG,
                         "the environment of a kernel is %zu bytes long, more "
                         "than %u",
                         request.size, ZYGOTE_DATAGRAM_MAX);
    return fd_send(self->socket, request.data, request.size, fds,
                   ZYGOTE_REQUEST_FDS + launch->cgroup_count, fault);
}

static void copy_text(json_t *object, const char *key, zygote_result_t *answer)
{
    const char *text = json_string_value(json_object_get(object, key));

    snprintf(answer->text, sizeof answer->text, "%s", text ? text : "");
}

static zygote_event_t on_end(zygote_t *self, zygote_result_t *answer)
{
    answer->is_explained = answer->text[0] != '\0';
    if (!answer->is_explained)
        snprintf(answer->text, sizeof answer->text,
                 "the zygote of profile %s (%s) ended; its messages are on the "
                 "gateway's standard error",
                 self->profile->name, self->profile->python);
    self->is_ready = false;
    return ZYGOTE_GONE;
}

static int on_ready(zygote_t *self, json_t *object, zygote_event_t *ret_event,
                    zygote_result_t *answer)
{
    json_int_t protocol =
        json_integer_value(json_object_get(object, "protocol"));

    if (protocol != ZYGOTE_PROTOCOL) {
        snprintf(answer->text, sizeof answer->text,
                 "the zygote of profile %s speaks version %" JSON_INTEGER_FORMAT
                 ", the gateway %d: they are of different releases; restart "
                 "the gateway",
                 self->profile->name, protocol, ZYGOTE_PROTOCOL);
        *ret_event = on_end(self, answer);
        return 1;
    }
    self->is_ready = true;
    copy_text(object, "python", answer);
    json_decref(self->environment);
    self->environment = json_incref(json_object_get(object, "environment"));
    *ret_event = ZYGOTE_READY;
    return 1;
}

static int on_json(zygote_t *self, json_t *object, zygote_event_t *ret_event,
                   zygote_result_t *answer)
{
    if (json_object_get(object, "ready"))
        return on_ready(self, object, ret_event, answer);
    if (!json_object_get(object, "fault"))
        return 0;
    copy_text(object, "fault", answer);
    *ret_event = on_end(self, answer);
    return 1;
}

static int on_answer(const zygote_reply_t *said, const int *fds,
                     size_t fd_count, zygote_event_t *ret_event,
                     zygote_result_t *answer)
{
    answer->number = said->number;
    answer->pid = said->pid;
    answer->processor = said->processor;
    if (said->pid > 0)
        answer->pidfd = fd_count ? fds[0] : -1;
    else
        snprintf(answer->text, sizeof answer->text, "%s", said->fault.text);
    *ret_event = said->pid > 0 ? ZYGOTE_LAUNCHED : ZYGOTE_FAILED;
    return 1;
}

int zygote_receive(zygote_t *self, zygote_event_t *ret_event,
                   zygote_result_t *ret_answer)
{
    static const zygote_result_t nothing = {.pidfd = -1};
    cleanup_free char *text = mem_new(ZYGOTE_DATAGRAM_MAX);
    json_auto_t *object = NULL;
    zygote_reply_t said;
    fd_list_t fds = {.count = 0};
    fault_t fault;
    ssize_t size;
    int r = 0;

    *ret_answer = nothing;
    size = fd_receive(self->socket, text, ZYGOTE_DATAGRAM_MAX, FD_PASS_MAX,
                      &fds, &fault);
    /* A zygote that ended with an unread request: Linux first reports the reset
     * connection, and then returns the zygote's last datagrams. */
    if (size == -ECONNRESET)
        size = fd_receive(self->socket, text, ZYGOTE_DATAGRAM_MAX, FD_PASS_MAX,
                          &fds, &fault);
    if (size == -EAGAIN || size == -EINTR)
        return 0;
    if (size <= 0) {
        *ret_event = on_end(self, ret_answer);
        return 1;
    }
    if (zygote_reply_decode(text, (size_t) size, &said))
        r = on_answer(&said, fds.fds, fds.count, ret_event, ret_answer);
    else if ((object = json_loadb(text, (size_t) size, 0, NULL)) != NULL)
        r = on_json(self, object, ret_event, ret_answer);
    for (size_t i = 0; i < fds.count; i++)
        if (fds.fds[i] != ret_answer->pidfd)
            close(fds.fds[i]);
    return r;
}
