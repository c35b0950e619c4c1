/* The packages that a profile has by packages/preinstall, when a recording was
 * made and when its cells run again. */
#ifndef HEARTH_GATEWAY_CLI_RECORDINGS_PREINSTALLED_CHANGE_H
#define HEARTH_GATEWAY_CLI_RECORDINGS_PREINSTALLED_CHANGE_H

#include <jansson.h>

#define PREINSTALLED_SHOWN 10 /* packages on each side of the sentence */

/* Returns "preinstalled then: numpy 2.2; now: numpy 2.3", to be freed, with
 * what differs alone. NULL if nothing does, or `then` lists no package: an
 * older hearth has recorded none. Both are lists of a notebook's metadata. */
char *preinstalled_change(const json_t *then, const json_t *now);

#endif
