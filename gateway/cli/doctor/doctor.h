/* Shared by the files of hearth doctor. */
#ifndef HEARTH_GATEWAY_CLI_DOCTOR_DOCTOR_H
#define HEARTH_GATEWAY_CLI_DOCTOR_DOCTOR_H

#include "gateway/config/options.h"

#include <jansson.h>
#include <stdbool.h>

/* FOUND_LACKS: hearth works without it, less well. FOUND_MISSING: it does not.
 */
typedef enum {
    FOUND_OK,
    FOUND_LACKS,
    FOUND_MISSING
} found_t;

typedef struct {
    const options_t *options; /* borrowed */
    config_report_t *config;  /* borrowed; from reading the options */
    json_t *findings;         /* owned by the caller */
    bool is_missing;          /* something required is missing */
    bool has_namespaces;      /* the kernel features of walls that were found */
    bool has_filters;
    bool has_landlock;
} report_t;

void doctor_add(report_t *report, const char *name, found_t found,
                const char *advice, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Returns true if this process may write to `path`, with the capabilities that
 * it has. */
bool doctor_may_write(const char *path);
/* Returns the user that zygotes would have, and workers of downloads with them,
 * if the calling user started a gateway. */
uid_t doctor_zygote_user(const options_t *options);

/* kernel.c */
void doctor_check_kernel(report_t *report);
void doctor_check_namespaces(report_t *report);
void doctor_check_seccomp(report_t *report);
void doctor_check_landlock(report_t *report);
/* Tries what the check of namespaces needs, in a process that this check
 * starts. Prints what failed to stdout; the outcome is the exit code. `user` is
 * the number of a session's user, which the process becomes; NULL: none. */
int doctor_probe_namespaces(const char *user);
int doctor_probe_proc(void);

/* limits.c */
void doctor_check_cgroups(report_t *report);
void doctor_check_files(report_t *report);
void doctor_check_sockets(report_t *report);
void doctor_check_processes(report_t *report);

/* configuration.c */
void doctor_check_configuration(report_t *report);
void doctor_check_http(report_t *report);

/* Returns 0 if a worker of downloads can use the folder that the key names, or
 * if the gateway can make it (worker_folder.c). */
int doctor_check_folder(const options_t *options, const char *key,
                        const char *folder, fault_t *fault);

/* packages.c */
void doctor_check_packages(report_t *report);

/* Checks the packages that profiles have preinstalled; asks the gateway, if one
 * runs (preinstall.c). */
void doctor_check_preinstall(report_t *report);

/* fetch.c */
void doctor_check_fetch(report_t *report);

/* Checks the walls of sessions, their users, the zygotes and the places of each
 * profile (walls.c). Called after the checks of the features that walls are
 * made of. */
void doctor_check_walls(report_t *report);

#endif
