/* Starts the gateway in this order: folders and their lock, the folder for
 * Jupyter's programs, users for sessions (before there are threads), limits,
 * signals (before any thread inherits a mask). Then come zygotes, the taking
 * over of sessions, and the management socket. A second gateway on the same
 * state is refused by the lock. A lock dies with its process, so a stale one
 * cannot exist. */
#include "gateway/serve/serve.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/service_notify.h"
#include "gateway/audit/audit.h"
#include "gateway/config/config_check.h"
#include "gateway/config/default_paths.h"
#include "gateway/config/fd_limits.h"
#include "gateway/config/seed.h"
#include "gateway/config/state_files.h"
#include "gateway/discovery/discovery.h"
#include "gateway/gate/gate.h"
#include "gateway/http/server/http.h"
#include "gateway/registry/main/registry.h"
#include "gateway/serve/reload.h"
#include "gateway/serve/user_namespace_setup.h"

#include <czmq.h>
#include <sodium.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

static int own_folder(const char *path, fault_t *fault)
{
    struct stat about;
    int r = path_make_folders(path, 0700, fault);

    if (r < 0)
        return r;
    if (stat(path, &about) < 0)
        return fault_set(fault, errno, "%s: %s", path, strerror(errno));
    if (about.st_uid != geteuid())
        return fault_set(fault, EPERM, "%s belongs to user %u, not to this one",
                         path, about.st_uid);
    if (about.st_mode & 022)
        return fault_set(fault, EPERM,
                         "%s can be written by others; run "
                         "`chmod 700 %s`",
                         path, path);
    return 0;
}

static int take_lock(const options_t *options, int *ret_fd, fault_t *fault)
{
    cleanup_free char *path =
        mem_format("%s/%s", options->state_dir, GATEWAY_LOCK_FILE);
    cleanup_fd int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    if (fd < 0)
        return fault_set(fault, errno, "%s: %s", path, strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return fault_set(
            fault, EWOULDBLOCK,
            "another gateway runs on %s; `hearth gateway info` describes it",
            options->state_dir);
    *ret_fd = take_fd(&fd);
    return 0;
}

static int block_signals(int *ret_fd, fault_t *fault)
{
    sigset_t set;
    int fd;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0)
        return fault_set(fault, errno, "signalfd: %s", strerror(errno));
    *ret_fd = fd;
    return 0;
}

static int prepare(options_t *options, const char *package_folder,
                   int *ret_lock, int *ret_signals, discovery_t **ret_discovery,
                   fault_t *fault)
{
    int r;

    if (sodium_init() < 0)
        return fault_set(fault, EIO, "libsodium cannot start");
    if ((r = own_folder(options->state_dir, fault)) < 0
        || (r = own_folder(options->runtime_dir, fault)) < 0
        || (r = take_lock(options, ret_lock, fault)) < 0
        || (r = discovery_new(options, ret_discovery, fault)) < 0
        || (r = user_namespace_setup_begin(options, package_folder, fault)) < 0
        || (r = block_signals(ret_signals, fault)) < 0)
        return r;
    /* Signals are read from the signalfd; czmq must not take them. */
    zsys_init();
    zsys_handler_set(NULL);
    fd_limits_raise();
    zsys_set_max_sockets(0); /* five a session */
    return 0;
}

/* Reports all errors at once; returns true if the options are acceptable. */
static bool is_acceptable(const options_t *options, config_report_t *report)
{
    cleanup_free char *no_users = config_refuse_users(options);
    const char *text;
    bool is_error;

    config_check(options, report);
    if (no_users)
        log_error("%s", no_users);
    for (size_t i = 0; (text = config_report_at(report, i, &is_error)); i++)
        if (is_error)
            log_error("%s", text);
        else
            log_warning("%s", text);
    return !config_report_errors(report) && !no_users;
}

static json_t *on_reload(void *arg)
{
    return reload_run(arg);
}

/* The parts of a gateway. All owned. */
typedef struct {
    int lock_fd;             /* of the state folder, or -1 */
    int signal_fd;           /* from which signals are read, or -1 */
    memory_budget_t *memory; /* of messages on their way */
    audit_t *audit;          /* NULL: there is no log */
    gate_t *gate;            /* before the TCP ports */
    discovery_t *discovery;  /* NULL: it is off */
    registry_t *registry;    /* the sessions */
    zactor_t *http;          /* NULL: it is off */
} parts_t;

static void parts_clear(parts_t *self)
{
    registry_destroy(&self->registry);
    discovery_destroy(&self->discovery);
    gate_destroy(&self->gate);
    audit_destroy(&self->audit);
    memory_budget_destroy(&self->memory);
    cleanup_fd_p(&self->signal_fd);
    cleanup_fd_p(&self->lock_fd);
}
#define cleanup_parts CLEANUP(parts_clear)

static int start(parts_t *self, options_t *options, const char *package,
                 fault_t *fault)
{
    int64_t begun_us = clock_wall_us();
    int r;

    self->memory = memory_budget_new(options->memory.messages);
    if ((r = seed_load(options, fault)) < 0
        || (r = prepare(options, package, &self->lock_fd, &self->signal_fd,
                        &self->discovery, fault))
               < 0)
        return r;
    if (options->audit.files
        && (r = audit_new(options->state_dir, options->audit.file_bytes,
                          options->audit.files, &self->audit, fault))
               < 0)
        return r;
    if ((r = gate_new(self->memory, &self->gate, fault)) < 0
        || (r = registry_new(options, package, self->memory, self->discovery,
                             &self->registry, fault))
               < 0)
        return r;
    return options->http.enabled ? http_new(options, self->memory, begun_us,
                                            self->discovery, &self->http, fault)
                                 : 0;
}

/* Ends what runs. HTTP goes after the sessions have said all: its clients get
 * it before they go. */
static void stop(parts_t *self)
{
    zactor_destroy(&self->http);
    discovery_withdraw(self->discovery);
    if (!registry_end(self->registry)) {
        /* A return would wait for its sockets, and so for that thread. */
        gate_destroy(&self->gate);
        audit_destroy(&self->audit);
        _exit(GATEWAY_EXIT_FAILED);
    }
    registry_destroy(&self->registry);
    gate_destroy(&self->gate);
    audit_destroy(&self->audit);
    /* Waits until libzmq has written what sockets still hold (their linger). */
    zsys_shutdown();
}

int serve_main(options_t *options, config_report_t *report)
{
    cleanup_free char *package = default_paths_python_dir();
    cleanup_service_notify service_notify_t *manager = service_notify_new();
    cleanup_reload reload_t *reload = NULL;
    cleanup_parts parts_t parts = {.lock_fd = -1, .signal_fd = -1};
    fault_t fault;
    int r;

    log_set_level((log_level_t) options->log_level);
    if (!is_acceptable(options, report))
        return GATEWAY_EXIT_ENVIRONMENT;
    r = start(&parts, options, package, &fault);
    if (r < 0) {
        log_error("hearth serve: %s", fault.text);
        return r == -EWOULDBLOCK ? GATEWAY_EXIT_FAILED
                                 : GATEWAY_EXIT_ENVIRONMENT;
    }
    log_notice("gateway runs pid=%d runtime_dir=%s state_dir=%s",
               (int) getpid(), options->runtime_dir, options->state_dir);
    reload = reload_new(options, manager, parts.http);
    registry_on_reload(parts.registry, on_reload, reload);
    service_notify_ready(manager, "running");
    registry_run(parts.registry, parts.signal_fd);
    service_notify_stopping(manager);
    stop(&parts);
    log_notice("gateway has stopped");
    return GATEWAY_EXIT_OK;
}
