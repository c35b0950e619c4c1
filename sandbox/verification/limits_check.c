/* See limits_check.h. */
#include "sandbox/verification/limits_check.h"

#include <stdio.h>
#include <string.h>

static int check_limit(const seen_process_t *process, const char *text,
                       const char *name, uint64_t most, fault_t *fault)
{
    const char *line = strstr(text, name);
    char hard[32] = "missing";
    char limit[32];
    unsigned long long value;

    snprintf(limit, sizeof limit, "%llu at most", (unsigned long long) most);
    if (line == NULL || sscanf(line + strlen(name), "%*s %31s", hard) != 1
        || sscanf(hard, "%llu", &value) != 1 || value > most)
        return seen_process_differs(process, fault, name, hard, limit);
    return 0;
}

int limits_check(const seen_process_t *process, const char *text,
                 fault_t *fault)
{
    const sandbox_limits_t *limits = &process->expected->limits;
    const struct {
        const char *name;
        uint64_t most; /* 0: not limited */
    } rows[] = {
        {"Max core file size", 1}, /* must be 0, which in `most` means no
                                      limit */
        {"Max msgqueue size", 1},
        {"Max realtime priority", 1},
        {"Max pending signals", 1024},
        {"Max open files", limits->open_files},
        {"Max file size", limits->file_size},
        {"Max processes", limits->processes},
        {"Max address space", limits->address_space},
    };
    int r;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].most != 0
            && (r = check_limit(process, text, rows[i].name,
                                rows[i].most == 1 ? 0 : rows[i].most, fault))
                   < 0)
            return r;
    return 0;
}
