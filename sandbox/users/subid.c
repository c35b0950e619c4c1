/* See subid.h. Directory services, which may lend ranges too (libsubid), are
 * not asked. */
#include "sandbox/users/subid.h"

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/fd.h"

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FILE_MAX  (16UL << 20)
#define COUNT_MAX (UINT64_C(1) << 24) /* as gateway/uid_count has it */
#define FIRST_MIN 1000                /* as gateway/uid_first has it */
#define LAST_MAX  UINT64_C(0xfffffffd)

/* Reads one line, NAME:FIRST:COUNT; false if it is another user's, or empty. */
static bool read_line(const char *line, const char *name, uid_t uid,
                      subid_t *ret_range)
{
    char whose[64];
    char number[16];
    subid_t range;

    snprintf(number, sizeof number, "%u", uid);
    if (sscanf(line, "%63[^:\n]:%" SCNu64 ":%" SCNu64, whose, &range.first,
               &range.count)
            != 3
        || range.first < FIRST_MIN || range.first > LAST_MAX || range.count == 0
        || range.count > LAST_MAX - range.first)
        return false;
    if (strcmp(whose, number) != 0 && (!name || strcmp(whose, name) != 0))
        return false;
    *ret_range = range;
    return true;
}

static const char *next_line(const char *at)
{
    at += strcspn(at, "\n");
    return *at ? at + 1 : at;
}

static subid_t overlap(subid_t a, subid_t b)
{
    uint64_t first = a.first > b.first ? a.first : b.first;
    uint64_t a_end = a.first + a.count, b_end = b.first + b.count;
    uint64_t end = a_end < b_end ? a_end : b_end;

    if (end <= first)
        return (subid_t){0, 0};
    end -= first;
    return (subid_t){first, end < COUNT_MAX ? end : COUNT_MAX};
}

subid_t subid_common(const char *users, const char *groups, const char *name,
                     uid_t uid)
{
    subid_t best = {0, 0};
    subid_t user, group;

    for (const char *at = users; *at; at = next_line(at)) {
        if (!read_line(at, name, uid, &user))
            continue;
        for (const char *by = groups; *by; by = next_line(by)) {
            if (!read_line(by, name, uid, &group))
                continue;
            group = overlap(user, group);
            if (group.count > best.count)
                best = group;
        }
    }
    return best;
}

/* Reads the file and appends a NUL; a missing file lends nothing. */
static int read_file(const char *path, buffer_t *ret_text, fault_t *fault)
{
    int r = file_read(path, FILE_MAX, ret_text, fault);

    if (r < 0 && r != -ENOENT)
        return r;
    buffer_append(ret_text, "", 1);
    return 0;
}

/* Reads "INSIDE OUTSIDE COUNT" of a map. */
static bool read_mapped(const char *line, subid_t *ret_range)
{
    return sscanf(line, "%" SCNu64 " %*u %" SCNu64, &ret_range->first,
                  &ret_range->count)
           == 2;
}

bool subid_covers(const char *map, subid_t range)
{
    subid_t mapped;

    for (const char *at = map; *at; at = next_line(at))
        if (read_mapped(at, &mapped) && range.first >= mapped.first
            && range.first - mapped.first < mapped.count
            && range.count <= mapped.count - (range.first - mapped.first))
            return true;
    return false;
}

static subid_t find_longest(const char *map)
{
    const subid_t all = {FIRST_MIN, LAST_MAX};
    subid_t longest = {0, 0}, mapped;

    for (const char *at = map; *at; at = next_line(at)) {
        if (!read_mapped(at, &mapped))
            continue;
        mapped = overlap(mapped, all);
        if (mapped.count > longest.count)
            longest = mapped;
    }
    return longest;
}

bool subid_is_mapped(subid_t range, subid_t *ret_longest)
{
    cleanup_buffer buffer_t users = BUFFER_EMPTY, groups = BUFFER_EMPTY;
    fault_t fault;

    if (read_file("/proc/self/uid_map", &users, &fault) < 0
        || read_file("/proc/self/gid_map", &groups, &fault) < 0)
        return true; /* without /proc there is no sandbox, which is reported */
    if (subid_covers((const char *) users.data, range)
        && subid_covers((const char *) groups.data, range))
        return true;
    *ret_longest = find_longest((const char *) users.data);
    return false;
}

int subid_find(subid_t *ret_range, fault_t *fault)
{
    cleanup_buffer buffer_t users = BUFFER_EMPTY, groups = BUFFER_EMPTY;
    uid_t uid = geteuid();
    const struct passwd *user = getpwuid(uid);
    subid_t range;
    int r;

    if ((r = read_file("/etc/subuid", &users, fault)) < 0
        || (r = read_file("/etc/subgid", &groups, fault)) < 0)
        return r;
    range = subid_common((const char *) users.data, (const char *) groups.data,
                         user ? user->pw_name : NULL, uid);
    if (range.count < SUBID_MIN)
        return fault_set(fault, ENOENT,
                         "/etc/subuid and /etc/subgid lend user %u no range of "
                         "the same numbers; as root: usermod --add-subuids "
                         "100000-165535 --add-subgids 100000-165535 %s",
                         uid, user ? user->pw_name : "USER");
    if ((uid >= range.first && uid - range.first < range.count)
        || (getegid() >= range.first && getegid() - range.first < range.count))
        return fault_set(
            fault, EINVAL,
            "/etc/subuid and /etc/subgid lend user %u a range that "
            "holds the user's own number, or group's",
            uid);
    *ret_range = range;
    return 0;
}
