/* What the files of hearth doctor share. */
#ifndef HEARTH_GATEWAY_CLI_DOCTOR_DOCTOR_H
#define HEARTH_GATEWAY_CLI_DOCTOR_DOCTOR_H

#include "gateway/config/options.h"

#include <jansson.h>
#include <stdbool.h>

/* FOUND_LACKS: it works without, less well; FOUND_MISSING: it does not. */
typedef enum {
    FOUND_OK,
    FOUND_LACKS,
    FOUND_MISSING
} found_t;

typedef struct {
    const options_t *options; /* borrowed */
    json_t *findings;         /* owned by the caller */
    bool is_missing;          /* something required */
    bool has_namespaces;      /* what the walls are made of, as found */
    bool has_filters;
    bool has_landlock;
} report_t;

void doctor_add(report_t *report, const char *name, found_t found,
                const char *advice, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Whether this process can write there, with what capabilities it has. */
bool doctor_may_write(const char *path);

/* kernel.c */
void doctor_check_kernel(report_t *report);
void doctor_check_namespaces(report_t *report);
void doctor_check_seccomp(report_t *report);
void doctor_check_landlock(report_t *report);
/* What a process of its own tries for the check of namespaces, which starts
 * it: says on stdout what failed, and does not return or has an exit code. */
int doctor_probe_namespaces(void);
int doctor_probe_proc(void);

/* limits.c */
void doctor_check_cgroups(report_t *report);
void doctor_check_files(report_t *report);
void doctor_check_sockets(report_t *report);
void doctor_check_processes(report_t *report);

/* walls.c, behind the checks that find what they are made of. */
void doctor_check_walls(report_t *report);

#endif
