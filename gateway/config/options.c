/* The configuration. Two tables say all: the keys of the gateway and of its
 * sessions, and those of a profile. A row knows where the value lies, how it
 * is written and what is permitted; reading a file, the command line and the
 * manual's test all go through the rows. */
#include "gateway/config/options.h"

#include "base/buffer.h"
#include "base/privilege.h"
#include "base/texts.h"
#include "gateway/config/default_paths.h"
#include "gateway/config/option_value.h"
#include "sandbox/cgroup.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PROFILE_NAME_MAX 32
#define PROFILES_MAX     64

#define AT(member) offsetof(options_t, member)
static const setting_t rows[] = {
    {"gateway/runtime_dir", KIND_FOLDER, AT(runtime_dir), 0, 0, false, NULL, "",
     "sockets and connection files; gone after a reboot"},
    {"gateway/state_dir", KIND_FOLDER, AT(state_dir), 0, 0, false, NULL, "",
     "journals, workspaces and what a next gateway must know"},
    {"gateway/log_level", KIND_CHOICE, AT(log_level), 0, 0, false,
     "error|warning|info|debug", "info", "how much is logged"},
    {"gateway/transport", KIND_CHOICE, AT(transport), 0, 0, false, "tcp|ipc",
     "ipc", "how clients reach the sockets of a new session"},
    {"gateway/ip", KIND_ADDRESS, AT(ip), 0, 0, false, NULL, "127.0.0.1",
     "address that the sockets of a new session listen on"},
    {"gateway/orphan_timeout", KIND_DURATION, AT(orphan_timeout_ms), 1000,
     365 * DAY, true, NULL, "1h",
     "how long a kernel waits for a gateway to come back; 0 for ever"},
    {"gateway/drain_grace", KIND_DURATION, AT(drain_grace_ms), 0, DAY, true,
     NULL, "30s", "how long an orderly stop waits for running cells"},
    {"gateway/cgroups", KIND_CHOICE, AT(cgroups), 0, 0, false,
     "auto|v2|v1|none", "auto",
     "the control groups that bound a session as a whole; none: by watching"},
    {"gateway/audit_file_bytes", KIND_SIZE, AT(audit_file_bytes), 64 * KIB,
     256 * MIB, false, NULL, "16M",
     "size of the audit log's files; then the next one follows"},
    {"gateway/audit_files", KIND_NUMBER, AT(audit_files), 2, 100000, true, NULL,
     "16", "how many files of the audit log are kept; 0: there is none"},
    {"gateway/uid_first", KIND_NUMBER, AT(uid_first), 1000, 0x7fff0000u, false,
     NULL, "1879048192",
     "first of the user numbers that sessions get when the gateway is root"},
    {"gateway/uid_count", KIND_NUMBER, AT(uid_count), 1, 1u << 24, false, NULL,
     "65536", "how many user numbers there are for sessions"},
    {"gateway/zygote_user", KIND_CHOICE, AT(zygote_user), 0, 0, false,
     "auto|own|gateway", "auto",
     "whether zygotes have a user of their own, without any privilege"},
    {"gateway/session_users", KIND_CHOICE, AT(session_users), 0, 0, false,
     "auto|own|gateway", "auto",
     "whether sessions of an ordinary user have users out of /etc/subuid"},
    {"gateway/starts_max", KIND_NUMBER, AT(starts_max), 1, 1024, false, NULL,
     "4", "how many sessions are started at a time; others wait in order"},
    {"gateway/starts_queue", KIND_NUMBER, AT(starts_queue), 1, 100000, true,
     NULL, "1000", "how many requests for a session wait; the next is refused"},
    {"gateway/memory_reserve", KIND_SIZE, AT(memory_reserve), MIB, TIB, true,
     NULL, "512M", "available memory below which the pools are given up"},
    {"sessions/idle_timeout", KIND_DURATION, AT(idle_timeout_ms), 1, 365 * DAY,
     true, NULL, "20m",
     "a session without activity for so long is ended; 0 never"},
    {"sessions/lifetime", KIND_DURATION, AT(lifetime_ms), 1, 365 * DAY, true,
     NULL, "0", "a session is ended at this age; 0 never"},
    {"sessions/cell_time_limit", KIND_DURATION, AT(cell_time_limit_ms), 1,
     365 * DAY, true, NULL, "0",
     "a cell that runs for so long is interrupted; 0 never"},
    {"sessions/interrupt_grace", KIND_DURATION, AT(interrupt_grace_ms), 100,
     HOUR, false, NULL, "0.4s",
     "how long an interrupted cell has before stronger means follow, twice"},
    {"sessions/ready_timeout", KIND_DURATION, AT(ready_timeout_ms), 100, HOUR,
     false, NULL, "30s",
     "a kernel that is not ready so long after its fork is ended"},
    {"sessions/restart", KIND_CHOICE, AT(restart), 0, 0, false, "never|auto",
     "never", "whether a kernel that died is replaced by a fresh one"},
    {"sessions/spill", KIND_SIZE, AT(spill), KIB, 256 * MIB, true, NULL, "1M",
     "parts of messages from this size on get a file of their own; 0 never"},
    {"sessions/checkpoint_bytes", KIND_SIZE, AT(checkpoint_bytes), 64 * KIB,
     TIB, true, NULL, "256M",
     "disk that checkpoints of a session's files may take; 0: there are none"},
    {"sessions/sessions_max", KIND_NUMBER, AT(sessions_max), 1, 100000, false,
     NULL, "1000", "how many sessions there can be at a time"},
    {"sessions/mask", KIND_TEXT, AT(mask), 0, 0, false, NULL, "",
     "what notebooks do not tell: patterns and $NAMEs with blanks between"},
    {"sessions/allow_env", KIND_ENV, AT(allow_env), 0, 0, false, NULL, "",
     "variables that who asks for a session may set in it, beside KERNEL_..."},
    {"sessions/inherit_env", KIND_ENV, AT(inherit_env), 0, 0, false, NULL, "",
     "variables of the gateway that kernels have, too"},
    {"sessions/subscriber_bytes", KIND_SIZE, AT(subscriber_bytes), MIB, TIB,
     false, NULL, "64M",
     "output of a session that subscribers have not taken, in memory"},
    {"sessions/subscriber_patience", KIND_DURATION, AT(subscriber_patience_ms),
     100, DAY, false, NULL, "10s",
     "how long a subscriber that takes nothing may hold up the others"},
    {"sessions/gone_keep", KIND_DURATION, AT(gone_keep_ms), 0, 365 * DAY, true,
     NULL, "1h", "how long a session that is gone still says why"},
    {"sessions/gone_max", KIND_NUMBER, AT(gone_max), 1, 10000, false, NULL,
     "100", "how many sessions that are gone still say why to their clients"},
    {"sessions/journal_keep", KIND_DURATION, AT(journal_keep_ms), 1, 3650 * DAY,
     true, NULL, "30d",
     "how long recording and workspace of a session that is gone are kept"},
    {"http/enabled", KIND_CHOICE, AT(http.enabled), 0, 0, false, "no|yes",
     "yes", "whether there is HTTP"},
    {"http/ip", KIND_ADDRESS, AT(http.ip), 0, 0, false, NULL, "127.0.0.1",
     "address that HTTP listens on"},
    {"http/port", KIND_NUMBER, AT(http.port), 1, 65535, true, NULL, "8888",
     "port that HTTP listens on; 0 any"},
    {"http/port_retries", KIND_NUMBER, AT(http.port_retries), 1, 65535, true,
     NULL, "50", "how many of the next ports are tried when it is taken"},
    {"http/base_url", KIND_BASE, AT(http.base_url), 0, 0, false, NULL, "/",
     "the path that all others are below"},
    {"http/auth", KIND_CHOICE, AT(http.auth), 0, 0, false, "token|none",
     "token", "whether clients need a token"},
    {"http/token", KIND_TEXT, AT(http.token), 0, 0, false, NULL, "",
     "the token with every right; a random one otherwise"},
    {"http/allow_origin", KIND_ORIGINS, AT(http.allow_origin), 0, 0, false,
     NULL, "",
     "whose pages may use the gateway: origins with commas between, or *"},
    {"http/allow_methods", KIND_TEXT, AT(http.allow_methods), 0, 0, false, NULL,
     "", "methods that pages of other origins are told; those of the path"},
    {"http/allow_headers", KIND_TEXT, AT(http.allow_headers), 0, 0, false, NULL,
     "", "headers that they may send; those that a client of Jupyter sends"},
    {"http/expose_headers", KIND_TEXT, AT(http.expose_headers), 0, 0, false,
     NULL, "", "headers of answers that they may read; Location"},
    {"http/allow_credentials", KIND_CHOICE, AT(http.allow_credentials), 0, 0,
     false, "no|yes", "yes", "whether they may use the cookie of a log-in"},
    {"http/max_age", KIND_DURATION, AT(http.max_age_ms), 1000, DAY, true, NULL,
     "10m", "how long a browser may remember what they may; 0 not at all"},
    {"http/list_kernels", KIND_CHOICE, AT(http.list_kernels), 0, 0, false,
     "no|yes", "yes", "whether kernels and documents are listed over HTTP"},
    {"http/force_profile", KIND_TEXT, AT(http.force_profile), 0, 0, false, NULL,
     "", "profile of every session over HTTP, whatever was asked for"},
    {"http/certificate", KIND_FOLDER, AT(http.certificate), 0, 0, false, NULL,
     "", "PEM file of the certificate; HTTPS then"},
    {"http/key", KIND_FOLDER, AT(http.key), 0, 0, false, NULL, "",
     "PEM file of the certificate's key"},
    {"http/client_ca", KIND_FOLDER, AT(http.client_ca), 0, 0, false, NULL, "",
     "PEM file of who certifies clients; who has no certificate stays outside"},
    {"http/connections_max", KIND_NUMBER, AT(http.connections_max), 1, 100000,
     false, NULL, "4096", "how many connections there can be at a time"},
    {"http/header_max", KIND_SIZE, AT(http.header_max), 4 * KIB, 63 * KIB,
     false, NULL, "32K", "size of a request's headers"},
    {"http/body_max", KIND_SIZE, AT(http.body_max), 64 * KIB, 64 * GIB, false,
     NULL, "512M", "size of a request's body"},
    {"http/frame_max", KIND_SIZE, AT(http.frame_max), 64 * KIB, 256 * MIB,
     false, NULL, "64M",
     "size of a message to a WebSocket; bigger ones become a preview"},
    {"http/queue_max", KIND_SIZE, AT(http.queue_max), 64 * KIB, GIB, false,
     NULL, "4M", "what may wait for a WebSocket that reads slowly"},
    {"http/request_timeout", KIND_DURATION, AT(http.request_timeout_ms), 1000,
     HOUR, false, NULL, "30s", "how long a client may take to send a request"},
    {"http/peer_timeout", KIND_DURATION, AT(http.peer_timeout_ms), 1000, DAY,
     false, NULL, "5m", "a client that acknowledges nothing so long is gone"},
    {"http/ping_interval", KIND_DURATION, AT(http.ping_interval_ms), 1000, HOUR,
     true, NULL, "30s", "how often a WebSocket is pinged; 0 never"},
};
#undef AT

#define OF_PROFILE "profile/<name>/"
#define AT(member) offsetof(profile_t, member)
static const setting_t profile_rows[] = {
    {OF_PROFILE "display_name", KIND_TEXT, AT(display_name), 0, 0, false, NULL,
     "Python 3 (hearth)", "what people are shown"},
    {OF_PROFILE "python", KIND_PROGRAM, AT(python), 0, 0, false, NULL, "",
     "the interpreter"},
    {OF_PROFILE "preload", KIND_MODULES, AT(preload), 0, 0, false, NULL,
     "numpy, pandas, matplotlib.pyplot",
     "modules that are imported before a session needs them"},
    {OF_PROFILE "readonly", KIND_FOLDERS, AT(readonly), 0, 0, false, NULL, "",
     "further folders, data for instance, that sessions can read"},
    {OF_PROFILE "mount", KIND_MOUNTS, AT(mount), 0, 0, false, NULL, "",
     "further folders that sessions can read, at other paths: SOURCE:TARGET"},
    {OF_PROFILE "network", KIND_CHOICE, AT(network), 0, 0, false,
     "none|loopback", "none", "what sockets a session can have"},
    {OF_PROFILE "fresh", KIND_CHOICE, AT(is_fresh), 0, 0, false, "false|true",
     "false", "whether each session has an interpreter of its own, by exec"},
    {OF_PROFILE "isolation", KIND_CHOICE, AT(isolation), 0, 0, false,
     "namespaces|gvisor|kvm", "namespaces",
     "what holds sessions; gvisor and kvm are not built"},
    {OF_PROFILE "zygote_forks", KIND_NUMBER, AT(zygote_forks), 1, 1u << 30,
     true, NULL, "1000",
     "sessions of one zygote, which are alike in their layout; 0 no limit"},
    {OF_PROFILE "zygote_age", KIND_DURATION, AT(zygote_age_ms), 1000, 365 * DAY,
     true, NULL, "24h", "age of a zygote; 0 no limit"},
    {OF_PROFILE "accept", KIND_NAMES, AT(accept), 0, 0, false, NULL, "",
     "walls that this machine may lack"},
    {OF_PROFILE "without", KIND_NAMES, AT(without), 0, 0, false, NULL, "",
     "walls, accepted too, that are left out: for tests"},
    {OF_PROFILE "seed", KIND_FOLDER, AT(seed), 0, 0, false, NULL, "",
     "notebook whose cells each new kernel runs before a session has it"},
    {OF_PROFILE "seed_timeout", KIND_DURATION, AT(seed_ms), 100, HOUR, false,
     NULL, "60s", "how long those cells may take together"},
    {OF_PROFILE "pool/min", KIND_NUMBER, AT(pool.min), 1, 1000, true, NULL, "1",
     "sessions that wait to be handed out, at least"},
    {OF_PROFILE "pool/max", KIND_NUMBER, AT(pool.max), 1, 1000, true, NULL, "8",
     "sessions that wait to be handed out, at most; 0 no pool"},
    {OF_PROFILE "pool/max_age", KIND_DURATION, AT(pool.max_age_ms), 1000,
     365 * DAY, true, NULL, "30m",
     "a waiting session is replaced at this age; 0 never"},
    {OF_PROFILE "limits/memory", KIND_SIZE, AT(limits.memory), 64 * MIB,
     1024 * TIB, true, NULL, "2G",
     "memory of a session as a whole, /tmp and /dev/shm included; 0 no limit"},
    {OF_PROFILE "limits/cpu", KIND_NUMBER, AT(limits.cpu_percent), 1, 1000000,
     true, NULL, "0",
     "processor time per second in percent of one processor; 0 no limit"},
    {OF_PROFILE "limits/cpu_weight", KIND_NUMBER, AT(limits.cpu_weight), 1,
     10000, false, NULL, "100",
     "a session's share where processors are scarce"},
    {OF_PROFILE "limits/io_weight", KIND_NUMBER, AT(limits.io_weight), 1, 10000,
     false, NULL, "100", "a session's share where disks are busy"},
    {OF_PROFILE "policy/refuse_imports", KIND_MODULES,
     AT(policy.refuse_imports), 0, 0, false, NULL, "",
     "modules that a cell is asked not to import"},
    {OF_PROFILE "policy/allow_imports", KIND_MODULES, AT(policy.allow_imports),
     0, 0, false, NULL, "", "the only modules that a cell may import"},
    {OF_PROFILE "policy/refuse_calls", KIND_MODULES, AT(policy.refuse_calls), 0,
     0, false, NULL, "", "functions that a cell is asked not to use"},
    {OF_PROFILE "policy/refuse_magics", KIND_MODULES, AT(policy.refuse_magics),
     0, 0, false, NULL, "", "magics that a cell is asked not to use"},
    {OF_PROFILE "limits/address_space", KIND_SIZE, AT(limits.address_space),
     64 * MIB, 1024 * TIB, true, NULL, "0",
     "memory that a process may map; 0 no limit"},
    {OF_PROFILE "limits/file_size", KIND_SIZE, AT(limits.file_size), KIB,
     1024 * TIB, false, NULL, "1G", "size of a file that a session may write"},
    {OF_PROFILE "limits/open_files", KIND_NUMBER, AT(limits.open_files), 64,
     1u << 20, false, NULL, "1024", "descriptors of a process"},
    {OF_PROFILE "limits/processes", KIND_NUMBER, AT(limits.processes), 8,
     1u << 20, false, NULL, "512", "processes and threads of a session"},
    {OF_PROFILE "limits/cpu_seconds", KIND_NUMBER, AT(limits.cpu_seconds), 1,
     366u * 86400, true, NULL, "0", "processor time of a session; 0 no limit"},
    {OF_PROFILE "limits/tmp", KIND_SIZE, AT(limits.tmp), MIB, TIB, false, NULL,
     "256M", "size of /tmp"},
    {OF_PROFILE "limits/shm", KIND_SIZE, AT(limits.shm), MIB, TIB, false, NULL,
     "256M", "size of /dev/shm"},
    {OF_PROFILE "limits/workspace_bytes", KIND_SIZE, AT(limits.workspace_bytes),
     MIB, 1024 * TIB, true, NULL, "0",
     "disk that a session's workspace may take; 0 no limit"},
    {OF_PROFILE "limits/workspace_files", KIND_NUMBER,
     AT(limits.workspace_files), 1, UINT32_MAX, true, NULL, "0",
     "files and folders in a session's workspace; 0 no limit"},
    {OF_PROFILE "limits/cell_output", KIND_SIZE, AT(limits.cell_output), KIB,
     1024 * TIB, true, NULL, "1G", "output of one cell; 0 no limit"},
    {OF_PROFILE "limits/cell_messages", KIND_NUMBER, AT(limits.cell_messages),
     1, UINT32_MAX, true, NULL, "1000000",
     "messages that the output of one cell may be; 0 no limit"},
    {OF_PROFILE "limits/session_output", KIND_SIZE, AT(limits.session_output),
     KIB, 1024 * TIB, true, NULL, "64G",
     "output of all cells of one kernel; 0 no limit"},
    {OF_PROFILE "limits/session_messages", KIND_NUMBER,
     AT(limits.session_messages), 1, UINT32_MAX, true, NULL, "100000000",
     "messages that the output of all cells of one kernel may be; 0 no limit"},
    {OF_PROFILE "limits/retain", KIND_SIZE, AT(limits.retain), MIB, 64 * GIB,
     false, NULL, "64M",
     "output that a kernel keeps for a gateway to come back"},
    {OF_PROFILE "limits/requests", KIND_NUMBER, AT(limits.requests), 1,
     1u << 20, false, NULL, "10000", "requests that wait in a session"},
    {OF_PROFILE "limits/requests_bytes", KIND_SIZE, AT(limits.requests_bytes),
     64 * KIB, 64 * GIB, false, NULL, "256M",
     "memory that requests may take that wait in a session"},
    {OF_PROFILE "limits/journal_bytes", KIND_SIZE, AT(limits.journal_bytes),
     64 * KIB, TIB, true, NULL, "1G",
     "disk that a session's journal may take; 0 no bound"},
};
#undef AT

#define ROWS         (sizeof(rows) / sizeof(rows[0]))
#define PROFILE_ROWS (sizeof(profile_rows) / sizeof(profile_rows[0]))

void options_destroy(options_t **self_p)
{
    options_t *self = *self_p;

    if (!self)
        return;
    for (size_t i = 0; i < self->profile_count; i++)
        profile_destroy(&self->profiles[i]);
    free(self->profiles);
    free(self->http.client_ca);
    free(self->http.key);
    free(self->http.certificate);
    free(self->http.expose_headers);
    free(self->http.allow_headers);
    free(self->http.allow_methods);
    texts_destroy(&self->http.allow_origin);
    free(self->http.force_profile);
    free(self->http.token);
    free(self->http.base_url);
    free(self->http.ip);
    texts_destroy(&self->inherit_env);
    texts_destroy(&self->allow_env);
    free(self->mask);
    free(self->ip);
    free(self->state_dir);
    free(self->runtime_dir);
    free(self->file);
    free(self);
    *self_p = NULL;
}

/* The row whose key is `key` behind the first `skip` letters. */
static const setting_t *find_row(const setting_t *table, size_t count,
                                 size_t skip, const char *key)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(table[i].key + skip, key) == 0)
            return &table[i];
    return NULL;
}

static profile_t *find_profile(const options_t *self, const char *name)
{
    for (size_t i = 0; i < self->profile_count; i++)
        if (strcmp(self->profiles[i]->name, name) == 0)
            return self->profiles[i];
    return NULL;
}

static profile_t *add_profile(options_t *self, const char *name)
{
    size_t count = self->profile_count + 1;

    self->profiles = mem_resize(self->profiles, count * sizeof(profile_t *));
    self->profiles[count - 1] = profile_new(name);
    self->profile_count = count;
    return self->profiles[count - 1];
}

/* Keys that there were: the end of their names, and what stands for them now.
 * A meaning that has changed must not pass in silence. */
static const struct {
    const char *end;
    const char *now;
} former[] = {
    {"limits/tmp_bytes", "two limits now: limits/tmp is the size of /tmp, "
                         "limits/shm that of /dev/shm"},
    {"sessions/journal_bytes",
     "a limit of each profile now: profile/<name>/limits/journal_bytes"},
};

static int unknown_key(const char *key, fault_t *fault)
{
    size_t size = strlen(key);

    for (size_t i = 0; i < sizeof former / sizeof *former; i++) {
        size_t end = strlen(former[i].end);

        if (size >= end && strcmp(key + size - end, former[i].end) == 0)
            return fault_set(fault, EINVAL, "%.100s is %s", key, former[i].now);
    }
    return fault_set(fault, EINVAL, "%.100s: there is no such key", key);
}

/* "<name>/limits/retain": `rest` is what stands behind "profile/". */
static int set_profile_key(options_t *self, const char *key, const char *rest,
                           const char *value, fault_t *fault)
{
    char name[PROFILE_NAME_MAX + 1];
    size_t size = strspn(rest, NAME_LETTERS "-.");
    const setting_t *row = NULL;

    if (rest[size] == '/')
        row = find_row(profile_rows, PROFILE_ROWS, sizeof(OF_PROFILE) - 1,
                       rest + size + 1);
    if (!row)
        return unknown_key(key, fault);
    if (!size || size > PROFILE_NAME_MAX)
        return fault_set(fault, EINVAL,
                         "%.100s: the name of a profile has 1 to %d letters, "
                         "digits, _ - .",
                         key, PROFILE_NAME_MAX);
    snprintf(name, sizeof(name), "%.*s", (int) size, rest);
    profile_t *profile = find_profile(self, name);
    if (profile)
        return setting_set(row, profile, key, value, fault);
    if (self->profile_count == PROFILES_MAX)
        return fault_set(fault, EINVAL, "%s: more than %d profiles", key,
                         PROFILES_MAX);
    int result = setting_set(row, add_profile(self, name), key, value, fault);
    if (result < 0)
        profile_destroy(&self->profiles[--self->profile_count]);
    return result;
}

int options_set(options_t *self, const char *key, const char *value,
                fault_t *fault)
{
    const setting_t *row = find_row(rows, ROWS, 0, key);

    if (row)
        return setting_set(row, self, key, value, fault);
    if (strncmp(key, "profile/", 8) == 0)
        return set_profile_key(self, key, key + 8, value, fault);
    return unknown_key(key, fault);
}

options_t *options_new(void)
{
    cleanup_options options_t *self = mem_new(sizeof(*self));

    self->runtime_dir = environment_runtime_dir();
    self->state_dir = environment_state_dir();
    for (size_t i = 0; i < ROWS; i++)
        setting_reset(&rows[i], self);
    add_profile(self, "python3");
    return take_ptr(self);
}

/* Whether a key begins with `path` and a slash. */
static bool has_keys_below(const setting_t *table, size_t count,
                           const char *path)
{
    size_t size = strlen(path);

    for (size_t i = 0; i < count; i++)
        if (strncmp(table[i].key, path, size) == 0 && table[i].key[size] == '/')
            return true;
    return false;
}

int options_check_section(const char *path, fault_t *fault)
{
    bool is_known = has_keys_below(rows, ROWS, path);

    if (strncmp(path, "profile", 7) == 0 && (!path[7] || path[7] == '/')) {
        const char *below = path[7] ? strchr(path + 8, '/') : NULL;
        cleanup_free char *generic =
            mem_format("profile/<name>%s", below ? below : "");
        is_known = has_keys_below(profile_rows, PROFILE_ROWS, generic);
    }
    if (is_known)
        return 0;
    return fault_set(fault, EINVAL,
                     "%.100s: neither a section nor a key with a value", path);
}

bool options_permits_variable(const options_t *self, const char *name)
{
    if (strncmp(name, "KERNEL_", 7) == 0)
        return !name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789")];
    return texts_have(self->allow_env, name);
}

const profile_t *options_profile(const options_t *self, const char *name)
{
    if (!name || !*name)
        return self->profiles[0];
    return find_profile(self, name);
}

static uint64_t limit_at(const profile_t *profile, const setting_t *row)
{
    return *(const uint64_t *) ((const char *) profile + row->offset);
}

int options_lower_limit(const profile_t *profile, const char *name,
                        const char *value, profile_limits_t *limits,
                        uint64_t *ret_value, fault_t *fault)
{
    cleanup_free char *key = mem_format("limits/%.100s", name);
    const setting_t *row =
        find_row(profile_rows, PROFILE_ROWS, sizeof(OF_PROFILE) - 1, key);
    profile_t lowered = {.limits = *limits};
    uint64_t most, asked;
    int r;

    if (!row)
        return unknown_key(key, fault);
    r = setting_set(row, &lowered, key, value, fault);
    if (r < 0)
        return r;
    most = limit_at(profile, row);
    asked = limit_at(&lowered, row);
    /* Where a limit has a zero it means none. */
    bool is_bound = most || !row->has_zero;
    bool asks_for_none = !asked && row->has_zero;
    if (is_bound && (asked > most || asks_for_none))
        return fault_set(fault, ERANGE,
                         "%s: %s is more than the %" PRIu64
                         " of profile %s; a session can only have less",
                         key, value, most, profile->name);
    *limits = lowered.limits;
    *ret_value = asked;
    return 0;
}

bool options_takes_groups_v1(const options_t *self)
{
    return self->cgroups == CGROUP_AUTO || self->cgroups == CGROUP_V1;
}

bool options_wants_zygote_user(const options_t *self)
{
    return self->zygote_user == OPTIONS_ZYGOTE_OWN
           || (self->zygote_user == OPTIONS_ZYGOTE_AUTO && geteuid() != 0);
}

const char *options_refuse_zygote_user(const options_t *self,
                                       bool has_groups_v1)
{
    /* It could not read what is closed to others than this user. */
    if (self->lends_subids)
        return "an ordinary user's zygotes have that user";
    if (!privilege_gives_users())
        return "it takes root, or CAP_SETUID and CAP_SETGID";
    /* Who made a session's user namespace can look into the session without:
     * that would not be the gateway any more. */
    if (!privilege_sees_users())
        return "it takes CAP_SYS_PTRACE, to look at sessions before they are "
               "handed out";
    if (self->uid_count < 3)
        return "it takes three numbers of gateway/uid_count";
    if (has_groups_v1 && geteuid() != 0)
        return "control groups of version 1 let nobody but root bring in "
               "another user's processes";
    return NULL;
}

int options_prefer(options_t *self, const char *name, fault_t *fault)
{
    for (size_t i = 0; i < self->profile_count; i++) {
        profile_t *profile = self->profiles[i];

        if (strcmp(profile->name, name) != 0)
            continue;
        memmove(self->profiles + 1, self->profiles, i * sizeof *self->profiles);
        self->profiles[0] = profile;
        return 0;
    }
    return fault_set(fault, EINVAL, "there is no profile '%.100s'", name);
}

bool options_key(size_t index, options_key_t *ret_key)
{
    const setting_t *row;

    if (index >= ROWS + PROFILE_ROWS)
        return false;
    row = index < ROWS ? &rows[index] : &profile_rows[index - ROWS];
    ret_key->key = row->key;
    ret_key->initial = row->initial;
    ret_key->help = row->help;
    return true;
}

void options_key_range(size_t index, char *ret_text, size_t size)
{
    assert(index < ROWS + PROFILE_ROWS);
    setting_range(index < ROWS ? &rows[index] : &profile_rows[index - ROWS],
                  ret_text, size);
}
