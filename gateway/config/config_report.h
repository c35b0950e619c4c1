/* The findings of reading a configuration: errors and warnings in the order in
 * which people should see them, and where each value comes from. */
#ifndef HEARTH_GATEWAY_CONFIG_CONFIG_REPORT_H
#define HEARTH_GATEWAY_CONFIG_CONFIG_REPORT_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct config_report config_report_t;

config_report_t *config_report_new(void);
void config_report_destroy(config_report_t **self_p);
#define cleanup_config_report CLEANUP(config_report_destroy)

/* Adds an error: the configuration cannot be used. `code` is a positive errno
 * value. */
void config_report_error(config_report_t *self, int code, const char *format,
                         ...) __attribute__((format(printf, 3, 4)));
/* Adds a warning: the configuration can be used, but is probably not what was
 * meant. */
void config_report_warning(config_report_t *self, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Returns the number of errors. */
size_t config_report_errors(const config_report_t *self);
/* Returns the index-th finding, lent; NULL after the last one. */
const char *config_report_at(const config_report_t *self, size_t index,
                             bool *ret_is_error);
/* Returns the code of the first error; 0 without errors. */
int config_report_code(const config_report_t *self);

/* Notes that the value of a key is from `place`: "/etc/hearth/hearth.cfg:3",
 * "$HEARTH_STATE_DIR". The last note counts. */
void config_report_came(config_report_t *self, const char *key,
                        const char *place);
/* Returns the place of a key's value, lent; NULL if it is the default. */
const char *config_report_place(const config_report_t *self, const char *key);
/* Returns "hearth.cfg:3: ", or "" for a default, as the beginning of a finding;
 * to be freed. */
char *config_report_prefix(const config_report_t *self, const char *key);

#endif
