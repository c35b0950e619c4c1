/* See status_check.h. */
#include "sandbox/verification/status_check.h"

#include "base/capability.h"

#include <stdio.h>
#include <string.h>

#define CAPS_KILL  "0000000000000020"
#define CAPS_NONE  "0000000000000000"
#define CAPS_COUNT 5

/* Copies the value after "Name:\t" in /proc/PID/status. */
static bool status_value(const char *status, const char *name, char *ret_text,
                         size_t size)
{
    size_t length = strlen(name);

    for (const char *line = status; *line; line += strcspn(line, "\n")) {
        line += *line == '\n';
        if (strncmp(line, name, length) == 0 && line[length] == ':') {
            line += length + 1 + strspn(line + length + 1, "\t ");
            snprintf(ret_text, size, "%.*s", (int) strcspn(line, "\n"), line);
            return true;
        }
    }
    return false;
}

static int check_line(const seen_process_t *process, const char *status,
                      const char *name, const char *expected, fault_t *fault)
{
    char text[128];

    if (!status_value(status, name, text, sizeof text))
        return seen_process_differs(process, fault, name, "missing", expected);
    return strcmp(text, expected) == 0
               ? 0
               : seen_process_differs(process, fault, name, text, expected);
}

static int check_ids(const seen_process_t *process, const char *status,
                     fault_t *fault)
{
    const verification_t *expected = process->expected;
    bool own = process->is_init && expected->init_uid != 0;
    unsigned uid = own ? expected->init_uid : expected->host_uid;
    unsigned gid = own ? expected->init_gid : expected->host_gid;
    char uids[64];
    char gids[64];
    int r;

    snprintf(uids, sizeof uids, "%u\t%u\t%u\t%u", uid, uid, uid, uid);
    snprintf(gids, sizeof gids, "%u\t%u\t%u\t%u", gid, gid, gid, gid);
    if ((r = check_line(process, status, "Uid", uids, fault)) < 0
        || (r = check_line(process, status, "Gid", gids, fault)) < 0)
        return r;
    /* A caller without privilege cannot remove a process's groups. */
    return capability_gives_users()
               ? check_line(process, status, "Groups", "", fault)
               : 0;
}

static int check_capabilities(const seen_process_t *process, const char *status,
                              fault_t *fault)
{
    static const char *const sets[CAPS_COUNT] = {"CapInh", "CapPrm", "CapEff",
                                                 "CapAmb", "CapBnd"};
    bool may_kill = process->is_init && process->expected->init_uid != 0;
    int r = 0;

    if (!seen_process_has_wall(process, "capabilities"))
        return 0;
    for (size_t i = 0; i < CAPS_COUNT && r == 0; i++)
        r = check_line(process, status, sets[i],
                       may_kill && i != CAPS_COUNT - 1 ? CAPS_KILL : CAPS_NONE,
                       fault);
    return r;
}

int status_check(const seen_process_t *process, const char *status,
                 fault_t *fault)
{
    const char *pid = process->is_init ? "1" : "3";
    char numbers[128] = "missing";
    const char *inner;
    int r;

    if ((r = check_ids(process, status, fault)) < 0
        || (r = check_capabilities(process, status, fault)) < 0
        || (r = check_line(process, status, "NoNewPrivs", "1", fault)) < 0)
        return r;
    if ((process->is_init || seen_process_has_wall(process, "seccomp"))
        && (r = check_line(process, status, "Seccomp", "2", fault)) < 0)
        return r;
    /* The last number is the one inside. */
    status_value(status, "NSpid", numbers, sizeof numbers);
    inner = strrchr(numbers, '\t');
    if (inner == NULL || strcmp(inner + 1, pid) != 0)
        return seen_process_differs(process, fault, "NSpid", numbers,
                                    process->is_init ? "1 inside" : "3 inside");
    return 0;
}
