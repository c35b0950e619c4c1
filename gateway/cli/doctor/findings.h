/* The report of hearth doctor, and what a check adds to it. */
#ifndef HEARTH_GATEWAY_CLI_DOCTOR_FINDINGS_H
#define HEARTH_GATEWAY_CLI_DOCTOR_FINDINGS_H

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

#endif
