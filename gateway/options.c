/* The configuration. Two tables say all: the keys of the gateway and of its
 * sessions, and those of a profile. A row knows where the value lies, how it
 * is written and what is permitted; reading a file, the command line and the
 * manual's test all go through the rows. */
#include "gateway/options.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "gateway/zpl.h"
#include "protocol/limits.h"

#include <arpa/inet.h>
#include <czmq.h>

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <pwd.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define KIB  ((uint64_t) 1 << 10)
#define MIB  ((uint64_t) 1 << 20)
#define GIB  ((uint64_t) 1 << 30)
#define TIB  ((uint64_t) 1 << 40)
#define HOUR ((uint64_t) 3600 * 1000)
#define DAY  (24 * HOUR)
#define NAME_LETTERS                                                           \
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"
#define PROFILE_NAME_MAX 32
#define PROFILES_MAX     64

/* How a value is written, and the type of the member it goes to. */
typedef enum {
    KIND_FOLDER,   /* char *: an absolute path */
    KIND_PROGRAM,  /* char *: an absolute path */
    KIND_TEXT,     /* char *: not empty */
    KIND_ADDRESS,  /* char *: IPv4 or IPv6 */
    KIND_MODULES,  /* char **: names with commas between */
    KIND_FOLDERS,  /* char **: absolute paths with commas between */
    KIND_NAMES,    /* char **: words with commas between */
    KIND_DURATION, /* int64_t: milliseconds */
    KIND_SIZE,     /* uint64_t: bytes */
    KIND_NUMBER,   /* uint64_t */
    KIND_CHOICE,   /* int: the place among the words */
} kind_t;

typedef struct {
    const char *key;     /* "gateway/ip", "profile/<name>/python" */
    kind_t kind;         /* of the value */
    size_t offset;       /* in options_t or profile_t */
    uint64_t min;        /* numbers, sizes, durations: the lowest ... */
    uint64_t max;        /* ... and highest; 0 is always permitted where ... */
    bool has_zero;       /* ... it has a meaning of its own */
    const char *words;   /* KIND_CHOICE: "tcp|ipc" */
    const char *initial; /* as it would be written */
    const char *help;    /* one sentence */
} row_t;

#define AT(member) offsetof(options_t, member)
static const row_t rows[] = {
    {"gateway/runtime_dir", KIND_FOLDER, AT(runtime_dir), 0, 0, false, NULL, "",
     "sockets and connection files; gone after a reboot"},
    {"gateway/state_dir", KIND_FOLDER, AT(state_dir), 0, 0, false, NULL, "",
     "journals, workspaces and what a next gateway must know"},
    {"gateway/log_level", KIND_CHOICE, AT(log_level), 0, 0, false,
     "error|warning|info|debug", "info", "how much is logged"},
    {"gateway/transport", KIND_CHOICE, AT(transport), 0, 0, false, "tcp|ipc",
     "tcp", "how clients reach the sockets of a new session"},
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
    {"gateway/uid_first", KIND_NUMBER, AT(uid_first), 1000, 0x7fff0000u, false,
     NULL, "1879048192",
     "first of the user numbers that sessions get when the gateway is root"},
    {"gateway/uid_count", KIND_NUMBER, AT(uid_count), 1, 1u << 24, false, NULL,
     "65536", "how many user numbers there are for sessions"},
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
    {"sessions/restart", KIND_CHOICE, AT(restart), 0, 0, false, "never|auto",
     "never", "whether a kernel that died is replaced by a fresh one"},
    {"sessions/journal_bytes", KIND_SIZE, AT(journal_bytes), 64 * KIB, TIB,
     true, NULL, "1G",
     "disk that a session's journal may take; 0 without bound"},
    {"sessions/spill", KIND_SIZE, AT(spill), KIB, 256 * MIB, true, NULL, "1M",
     "parts of messages from this size on get a file of their own; 0 never"},
    {"sessions/sessions_max", KIND_NUMBER, AT(sessions_max), 1, 100000, false,
     NULL, "1000", "how many sessions there can be at a time"},
    {"sessions/mask", KIND_TEXT, AT(mask), 0, 0, false, NULL, "",
     "what notebooks do not tell: patterns and $NAMEs with blanks between"},
    {"sessions/gone_keep", KIND_DURATION, AT(gone_keep_ms), 0, 365 * DAY, true,
     NULL, "1h", "how long a session that is gone still says why"},
};
#undef AT

#define OF_PROFILE "profile/<name>/"
#define AT(member) offsetof(profile_t, member)
static const row_t profile_rows[] = {
    {OF_PROFILE "display_name", KIND_TEXT, AT(display_name), 0, 0, false, NULL,
     "Python 3 (hearth)", "what people are shown"},
    {OF_PROFILE "python", KIND_PROGRAM, AT(python), 0, 0, false, NULL, "",
     "the interpreter"},
    {OF_PROFILE "preload", KIND_MODULES, AT(preload), 0, 0, false, NULL,
     "numpy, pandas, matplotlib.pyplot",
     "modules that are imported before a session needs them"},
    {OF_PROFILE "readonly", KIND_FOLDERS, AT(readonly), 0, 0, false, NULL, "",
     "further folders, data for instance, that sessions can read"},
    {OF_PROFILE "network", KIND_CHOICE, AT(network), 0, 0, false,
     "none|loopback", "none", "what sockets a session can have"},
    {OF_PROFILE "accept", KIND_NAMES, AT(accept), 0, 0, false, NULL, "",
     "walls that this machine may lack"},
    {OF_PROFILE "without", KIND_NAMES, AT(without), 0, 0, false, NULL, "",
     "walls, accepted too, that are left out: for tests"},
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
    {OF_PROFILE "limits/tmp_bytes", KIND_SIZE, AT(limits.tmp_bytes), MIB, TIB,
     false, NULL, "256M", "size of /tmp and of /dev/shm, each"},
    {OF_PROFILE "limits/workspace_bytes", KIND_SIZE, AT(limits.workspace_bytes),
     MIB, 1024 * TIB, true, NULL, "0",
     "disk that a session's workspace may take; 0 no limit"},
    {OF_PROFILE "limits/workspace_files", KIND_NUMBER,
     AT(limits.workspace_files), 1, UINT32_MAX, true, NULL, "0",
     "files and folders in a session's workspace; 0 no limit"},
    {OF_PROFILE "limits/retain", KIND_SIZE, AT(limits.retain), MIB, 64 * GIB,
     false, NULL, "64M",
     "output that a kernel keeps for a gateway to come back"},
};
#undef AT

#define ROWS         (sizeof(rows) / sizeof(rows[0]))
#define PROFILE_ROWS (sizeof(profile_rows) / sizeof(profile_rows[0]))

static void destroy_list(char **list)
{
    for (char **item = list; item && *item; item++)
        free(*item);
    free(list);
}

static void cleanup_list_p(char ***list_p)
{
    destroy_list(*list_p);
}
#define cleanup_list CLEANUP(cleanup_list_p)

void options_destroy(options_t **self_p)
{
    options_t *self = *self_p;

    if (!self)
        return;
    for (size_t i = 0; i < self->profile_count; i++)
        profile_destroy(&self->profiles[i]);
    free(self->profiles);
    free(self->mask);
    free(self->ip);
    free(self->state_dir);
    free(self->runtime_dir);
    free(self->file);
    free(self);
    *self_p = NULL;
}

static const char *environment(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

/* XDG says that a relative path in its variables is to be ignored. */
static const char *environment_folder(const char *name)
{
    const char *value = environment(name);
    return value && value[0] == '/' ? value : NULL;
}

/* A folder below the user's home; the environment may name another one. */
static char *home_folder(const char *variable, const char *below)
{
    const char *folder = environment_folder(variable);
    if (folder)
        return mem_format("%s/hearth", folder);
    const char *home = environment_folder("HOME");
    const struct passwd *user = home ? NULL : getpwuid(getuid());
    if (user)
        home = user->pw_dir;
    return mem_format("%s/%s/hearth", home ? home : "", below);
}

static char *default_runtime_dir(void)
{
    const char *folder = environment_folder("HEARTH_RUNTIME_DIR");
    if (folder)
        return mem_text(folder);
    folder = environment_folder("XDG_RUNTIME_DIR");
    if (folder)
        return mem_format("%s/hearth", folder);
    return mem_format("/tmp/hearth-%u", (unsigned) getuid());
}

static char *default_state_dir(void)
{
    const char *folder = environment_folder("HEARTH_STATE_DIR");
    if (folder)
        return mem_text(folder);
    return home_folder("XDG_STATE_HOME", ".local/state");
}

/* Digits, at most `fraction` behind a point, in units of 10^-fraction. The
 * rest of the text is returned; NULL: no number or too big a one. */
static const char *parse_digits(const char *text, int fraction,
                                uint64_t *ret_value)
{
    uint64_t value = 0;
    bool is_behind = false;

    if (!isdigit((unsigned char) *text))
        return NULL;
    for (; isdigit((unsigned char) *text) || (*text == '.' && !is_behind);
         text++) {
        if (*text == '.') {
            if (!fraction || !isdigit((unsigned char) text[1]))
                return NULL;
            is_behind = true;
            continue;
        }
        if ((is_behind && fraction-- == 0) || value > UINT64_MAX / 100)
            return NULL;
        value = value * 10 + (uint64_t) (*text - '0');
    }
    while (fraction-- > 0) {
        if (value > UINT64_MAX / 100)
            return NULL;
        value *= 10;
    }
    *ret_value = value;
    return text;
}

typedef struct {
    const char *suffix;
    uint64_t factor;
} unit_t;

static const unit_t durations[] = {
    {"d", 86400}, {"h", 3600}, {"m", 60}, {"s", 1}, {"", 1},
};
static const unit_t sizes[] = {
    {"T", TIB}, {"G", GIB}, {"M", MIB}, {"K", KIB}, {"", 1},
};
static const unit_t plain[] = {{"", 1}};

static bool parse_quantity(const char *text, const unit_t *units, size_t count,
                           int fraction, uint64_t *ret_value)
{
    uint64_t value;
    const char *suffix = parse_digits(text, fraction, &value);

    for (size_t i = 0; suffix && i < count; i++) {
        if (strcmp(suffix, units[i].suffix) != 0)
            continue;
        if (value > UINT64_MAX / units[i].factor)
            return false;
        *ret_value = value * units[i].factor;
        return true;
    }
    return false;
}

static bool parse_number(const row_t *row, const char *text,
                         uint64_t *ret_value)
{
    uint64_t value = 0;
    bool is_number = false;

    if (row->kind == KIND_DURATION) /* milliseconds: three digits behind */
        is_number =
            parse_quantity(text, durations,
                           sizeof(durations) / sizeof(durations[0]), 3, &value);
    else if (row->kind == KIND_SIZE)
        is_number = parse_quantity(text, sizes,
                                   sizeof(sizes) / sizeof(sizes[0]), 0, &value);
    else
        is_number = parse_quantity(text, plain, 1, 0, &value);
    if (!is_number)
        return false;
    if ((value < row->min || value > row->max)
        && !(value == 0 && row->has_zero))
        return false;
    *ret_value = value;
    return true;
}

static bool parse_choice(const char *words, const char *text, int *ret_place)
{
    size_t size = strlen(text);

    for (int place = 0; words; place++) {
        const char *bar = strchr(words, '|');
        size_t length = bar ? (size_t) (bar - words) : strlen(words);
        if (length == size && memcmp(words, text, size) == 0) {
            *ret_place = place;
            return true;
        }
        words = bar ? bar + 1 : NULL;
    }
    return false;
}

static bool is_module(const char *name)
{
    return name[0] && name[0] != '.' && !isdigit((unsigned char) name[0])
           && name[strspn(name, NAME_LETTERS ".")] == '\0'
           && !strstr(name, "..") && name[strlen(name) - 1] != '.';
}

static bool is_path(const char *text)
{
    return text[0] == '/';
}

/* The items between commas, without blanks around; NULL when one is none. An
 * empty text is an empty list. */
static char **parse_list(const char *text, bool (*is_item)(const char *))
{
    cleanup_list char **list = mem_new(sizeof(char *));
    size_t count = 0;

    if (!text[strspn(text, " ")])
        return take_ptr(list);
    while (text) {
        const char *comma = strchr(text, ',');
        text += strspn(text, " ");
        size_t size = comma ? (size_t) (comma - text) : strlen(text);
        if (comma && comma < text)
            return NULL;
        while (size && text[size - 1] == ' ')
            size--;
        list = mem_resize(list, (count + 2) * sizeof(char *));
        list[count] = mem_copy(text, size);
        list[++count] = NULL;
        if (!is_item(list[count - 1]))
            return NULL;
        text = comma ? comma + 1 : NULL;
    }
    return take_ptr(list);
}

static bool is_address(const char *text)
{
    unsigned char address[sizeof(struct in6_addr)];

    return inet_pton(AF_INET, text, address) == 1
           || inet_pton(AF_INET6, text, address) == 1;
}

static bool set_text(char **member, const char *text, bool is_permitted)
{
    if (!is_permitted)
        return false;
    free(*member);
    *member = mem_text(text);
    return true;
}

static bool set_list(char ***member, char **list)
{
    if (!list)
        return false;
    destroy_list(*member);
    *member = list;
    return true;
}

/* The value to its member; false when it is not permitted. */
static bool set_member(const row_t *row, void *base, const char *text)
{
    void *member = (char *) base + row->offset;
    uint64_t number = 0;

    switch (row->kind) {
    case KIND_FOLDER:
    case KIND_PROGRAM:
        return set_text(member, text, is_path(text));
    case KIND_TEXT:
        return set_text(member, text, *text != '\0');
    case KIND_ADDRESS:
        return set_text(member, text, is_address(text));
    case KIND_NAMES:
    case KIND_MODULES:
        return set_list(member, parse_list(text, is_module));
    case KIND_FOLDERS:
        return set_list(member, parse_list(text, is_path));
    case KIND_CHOICE:
        return parse_choice(row->words, text, member);
    case KIND_DURATION:
        if (parse_number(row, text, &number))
            *(int64_t *) member = (int64_t) number;
        else
            return false;
        return true;
    case KIND_SIZE:
    case KIND_NUMBER:
        return parse_number(row, text, member);
    }
    return false;
}

/* "90s", "1G": the biggest unit that divides it. */
static void write_quantity(kind_t kind, uint64_t value, char *ret_text,
                           size_t size)
{
    const unit_t *units = kind == KIND_SIZE ? sizes : durations;

    if (kind == KIND_NUMBER) {
        snprintf(ret_text, size, "%llu", (unsigned long long) value);
        return;
    }
    if (kind == KIND_DURATION && value % 1000) {
        snprintf(ret_text, size, "0.%03llus", (unsigned long long) value);
        return;
    }
    if (kind == KIND_DURATION)
        value /= 1000;
    while (units->factor > 1 && (!value || value % units->factor))
        units++;
    snprintf(ret_text, size, "%llu%s",
             (unsigned long long) (value / units->factor), units->suffix);
}

static void write_range(const row_t *row, char *ret_text, size_t size)
{
    static const char *const forms[] = {
        [KIND_FOLDER] = "an absolute path",
        [KIND_PROGRAM] = "an absolute path",
        [KIND_TEXT] = "a text",
        [KIND_ADDRESS] = "an IPv4 or IPv6 address",
        [KIND_MODULES] = "names of modules with commas between",
        [KIND_FOLDERS] = "absolute paths with commas between",
        [KIND_NAMES] = "names with commas between",
        [KIND_DURATION] = "a duration such as 90, 1.5s, 20m, 24h",
        [KIND_SIZE] = "a size such as 4096, 64K, 512M, 2G",
        [KIND_NUMBER] = "a whole number",
        [KIND_CHOICE] = "one of ",
    };
    char low[32];
    char high[32];

    if (row->max) {
        write_quantity(row->kind, row->min, low, sizeof(low));
        write_quantity(row->kind, row->max, high, sizeof(high));
        snprintf(ret_text, size, "%s from %s to %s%s", forms[row->kind], low,
                 high, row->has_zero && row->min ? ", or 0" : "");
    } else {
        snprintf(ret_text, size, "%s%s", forms[row->kind],
                 row->words ? row->words : "");
    }
}

static int set_row(const row_t *row, void *base, const char *key,
                   const char *value, fault_t *fault)
{
    char range[128];

    if (set_member(row, base, value))
        return 0;
    write_range(row, range, sizeof(range));
    return fault_set(fault, EINVAL, "%s = \"%.64s\": must be %s", key, value,
                     range);
}

/* The row whose key is `key` behind the first `skip` letters. */
static const row_t *find_row(const row_t *table, size_t count, size_t skip,
                             const char *key)
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

static int unknown_key(const char *key, fault_t *fault)
{
    return fault_set(fault, EINVAL, "%.100s: there is no such key", key);
}

/* "<name>/limits/retain": `rest` is what stands behind "profile/". */
static int set_profile_key(options_t *self, const char *key, const char *rest,
                           const char *value, fault_t *fault)
{
    char name[PROFILE_NAME_MAX + 1];
    size_t size = strspn(rest, NAME_LETTERS "-.");
    const row_t *row = NULL;

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
        return set_row(row, profile, key, value, fault);
    if (self->profile_count == PROFILES_MAX)
        return fault_set(fault, EINVAL, "%s: more than %d profiles", key,
                         PROFILES_MAX);
    int result = set_row(row, add_profile(self, name), key, value, fault);
    if (result < 0)
        profile_destroy(&self->profiles[--self->profile_count]);
    return result;
}

int options_set(options_t *self, const char *key, const char *value,
                fault_t *fault)
{
    const row_t *row = find_row(rows, ROWS, 0, key);

    if (row)
        return set_row(row, self, key, value, fault);
    if (strncmp(key, "profile/", 8) == 0)
        return set_profile_key(self, key, key + 8, value, fault);
    return unknown_key(key, fault);
}

options_t *options_new(void)
{
    cleanup_options options_t *self = mem_new(sizeof(*self));

    self->runtime_dir = default_runtime_dir();
    self->state_dir = default_state_dir();
    for (size_t i = 0; i < ROWS; i++) {
        bool is_good =
            !rows[i].initial[0] || set_member(&rows[i], self, rows[i].initial);
        assert(is_good); /* a default outside its own range */
        (void) is_good;
    }
    add_profile(self, "python3");
    return take_ptr(self);
}

/* Whether a key begins with `path` and a slash. */
static bool has_keys_below(const row_t *table, size_t count, const char *path)
{
    size_t size = strlen(path);

    for (size_t i = 0; i < count; i++)
        if (strncmp(table[i].key, path, size) == 0 && table[i].key[size] == '/')
            return true;
    return false;
}

/* A section is checked even when all in it is commented out: a wrong name must
 * not pass because of that. */
static int check_section(const char *path, fault_t *fault)
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

/* One item of the file and what is below it. `key` is its path; its level is
 * bounded by zpl_check. For zconfig a section is an item with an empty value.
 */
static int take_item(options_t *self, zconfig_t *item, const char *key,
                     const char *text, fault_t *fault)
{
    const char *value = zconfig_value(item);
    bool has_value = value && *value;
    int result = has_value ? options_set(self, key, value, fault)
                           : check_section(key, fault);

    if (result < 0)
        return fault_wrap(fault, "%u", zpl_line(text, key));
    for (zconfig_t *child = zconfig_child(item); child && result == 0;
         child = zconfig_next(child)) {
        cleanup_free char *below =
            mem_format("%s/%s", key, zconfig_name(child));
        result = take_item(self, child, below, text, fault);
    }
    return result;
}

static int parse_text(options_t *self, const char *text, size_t size,
                      fault_t *fault)
{
    int result = zpl_check(text, size, fault);
    if (result < 0)
        return result;
    zconfig_t *root = zconfig_str_load(text);
    if (!root)
        return fault_set(fault, EINVAL, "1: no ZPL");
    for (zconfig_t *item = zconfig_child(root); item && result == 0;
         item = zconfig_next(item))
        result = take_item(self, item, zconfig_name(item), text, fault);
    zconfig_destroy(&root);
    return result;
}

static int load_file(options_t *self, const char *file, fault_t *fault)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;

    int result = file_read(file, CONFIG_FILE_MAX, &text, fault);
    if (result < 0)
        return result;
    buffer_append(&text, "", 0); /* an empty file has no NUL behind it yet */
    result = parse_text(self, (const char *) text.data, text.size, fault);
    if (result < 0) {
        fault_t inner = *fault;
        return fault_set(fault, inner.code, "%s:%s", file, inner.text);
    }
    set_text(&self->file, file, true);
    return 0;
}

/* The environment speaks for one run, the file for all of them. */
static void environment_wins(options_t *self)
{
    const char *runtime = environment_folder("HEARTH_RUNTIME_DIR");
    const char *state = environment_folder("HEARTH_STATE_DIR");

    if (runtime)
        set_text(&self->runtime_dir, runtime, true);
    if (state)
        set_text(&self->state_dir, state, true);
}

static char *find_file(void)
{
    const char *named = environment("HEARTH_CONFIG");
    if (named)
        return mem_text(named);
    cleanup_free char *folder = home_folder("XDG_CONFIG_HOME", ".config");
    cleanup_free char *own = mem_format("%s/hearth.cfg", folder);
    if (access(own, F_OK) == 0)
        return take_ptr(own);
#ifdef HEARTH_SYSCONFDIR
    static const char system_wide[] = HEARTH_SYSCONFDIR "/hearth/hearth.cfg";
    if (access(system_wide, F_OK) == 0)
        return mem_text(system_wide);
#endif
    return NULL;
}

int options_load(options_t *self, const char *file_or_null, fault_t *fault)
{
    cleanup_free char *file =
        file_or_null ? mem_text(file_or_null) : find_file();
    int result = file ? load_file(self, file, fault) : 0;

    environment_wins(self);
    return result;
}

const profile_t *options_profile(const options_t *self, const char *name)
{
    if (!name || !*name)
        return self->profiles[0];
    return find_profile(self, name);
}

bool options_key(size_t index, options_key_t *ret_key)
{
    const row_t *row;

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
    write_range(index < ROWS ? &rows[index] : &profile_rows[index - ROWS],
                ret_text, size);
}
