/* See mount_check.h. */
#include "sandbox/verification/mount_check.h"
#include "sandbox/policy/inside.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static bool is_one_of(const char *text, const char *const *list)
{
    for (; *list != NULL; list++)
        if (strcmp(text, *list) == 0)
            return true;
    return false;
}

static bool has_option(const char *options, const char *option)
{
    size_t length = strlen(option);

    for (const char *at = options; (at = strstr(at, option)) != NULL; at++)
        if ((at == options || at[-1] == ',')
            && (at[length] == ',' || at[length] == '\0'))
            return true;
    return false;
}

/* Checks one line of mountinfo: number, parent, device, root, place, options,
 * then what it shares with whom. */
static int check_mount(const seen_process_t *process, const char *line,
                       fault_t *fault)
{
    static const char *const writable[] = {
        "/proc", "/dev/pts", "/dev/shm", "/tmp", SANDBOX_WORKSPACE, NULL};
    char place[PATH_MAX];
    char options[256];
    char shared[32];

    if (sscanf(line, "%*d %*d %*s %*s %4095s %255s %31s", place, options,
               shared)
        != 3)
        return seen_process_differs(process, fault, "a line of mountinfo", line,
                                    "a mount");
    if (strcmp(shared, "-") != 0)
        return seen_process_differs(process, fault, place, shared,
                                    "not shared");
    if (!has_option(options, "nosuid"))
        return seen_process_differs(process, fault, place, options, "nosuid");
    if (!has_option(options, "nodev") && strncmp(place, "/dev/", 5) != 0
        && strncmp(place, "/proc/", 6) != 0)
        return seen_process_differs(process, fault, place, options, "nodev");
    if (seen_process_has_wall(process, "readonly") && !has_option(options, "ro")
        && !is_one_of(place, writable))
        return seen_process_differs(process, fault, place, options,
                                    "read-only");
    return 0;
}

int mount_check(const seen_process_t *process, char *mountinfo, fault_t *fault)
{
    char *line;
    int r;

    for (char *rest = mountinfo;
         (line = strsep(&rest, "\n")) != NULL && line[0] != '\0';)
        if ((r = check_mount(process, line, fault)) < 0)
            return r;
    return 0;
}
