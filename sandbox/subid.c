/* See subid.h. Who else lends numbers (a directory service, by libsubid) is
 * not asked. */
#include "sandbox/subid.h"

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

/* One line, NAME:FIRST:COUNT; false: another's, or none. */
static bool read_line(const char *line, const char *name, uid_t uid,
                      subids_t *ret_range)
{
    char whose[64];
    char number[16];
    subids_t range;

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

static subids_t overlap(subids_t a, subids_t b)
{
    uint64_t first = a.first > b.first ? a.first : b.first;
    uint64_t a_end = a.first + a.count, b_end = b.first + b.count;
    uint64_t end = a_end < b_end ? a_end : b_end;

    if (end <= first)
        return (subids_t){0, 0};
    end -= first;
    return (subids_t){first, end < COUNT_MAX ? end : COUNT_MAX};
}

subids_t subids_common(const char *users, const char *groups, const char *name,
                       uid_t uid)
{
    subids_t best = {0, 0};
    subids_t user, group;

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

/* The file with a NUL behind it; one that is not there lends nothing. */
static int read_file(const char *path, buffer_t *ret_text, fault_t *fault)
{
    int r = file_read(path, FILE_MAX, ret_text, fault);

    if (r < 0 && r != -ENOENT)
        return r;
    buffer_append(ret_text, "", 1);
    return 0;
}

int subids_find(subids_t *ret_range, fault_t *fault)
{
    cleanup_buffer buffer_t users = BUFFER_EMPTY, groups = BUFFER_EMPTY;
    uid_t uid = geteuid();
    const struct passwd *user = getpwuid(uid);
    subids_t range;
    int r;

    if ((r = read_file("/etc/subuid", &users, fault)) < 0
        || (r = read_file("/etc/subgid", &groups, fault)) < 0)
        return r;
    range = subids_common((const char *) users.data, (const char *) groups.data,
                          user ? user->pw_name : NULL, uid);
    if (range.count < SUBIDS_MIN)
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
