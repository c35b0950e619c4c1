/* Which host tools one session may call: a list that is requested when the
 * session is created, and stored with it. It never permits what the profile
 * does not. */
#ifndef HEARTH_GATEWAY_CONFIG_TOOL_LIST_H
#define HEARTH_GATEWAY_CONFIG_TOOL_LIST_H

#include "base/fault.h"
#include "kernels/profile.h"

#include <jansson.h>

#include <stdbool.h>

#define TOOL_LIST_MAX 256 /* names of one list */

/* Reads an array of names, "web.*" for all that begin with "web.". NULL or null
 * is no request, and an empty array permits no tool. ret_text is the list with
 * ", " between the names, to be freed; NULL if there was no request. -EINVAL
 * names what is no list, or a name that the profile does not permit. */
int tool_list_ask(const profile_t *profile, const json_t *asked_or_null,
                  char **ret_text, fault_t *fault);
/* Returns true if a text that tool_list_ask made permits the tool; NULL permits
 * all. */
bool tool_list_permits(const char *text_or_null, const char *name);
/* Returns the text as an array, to be freed; NULL for NULL. */
json_t *tool_list_array(const char *text_or_null);

/* Returns true if the profile permits the tool, or a pattern that ends in *. */
bool tool_list_of_profile(const profile_t *profile, const char *name);

#endif
