/* Environment variables of one run, as Python code that sets them before it and
 * restores them after it. */
#ifndef HEARTH_GATEWAY_HTTP_E2B_RUN_VARIABLES_H
#define HEARTH_GATEWAY_HTTP_E2B_RUN_VARIABLES_H

#include <jansson.h>

/* Returns Python code that sets the sandbox's variables and those of the run;
 * the caller frees it. Returns NULL if both are NULL or empty. */
char *run_variables_before(json_t *of_sandbox, json_t *of_run);
/* Returns Python code that takes the run's variables away and gives the
 * sandbox's their values back; the caller frees it. Returns NULL if the run has
 * no variables. */
char *run_variables_after(json_t *of_sandbox, json_t *of_run);

#endif
