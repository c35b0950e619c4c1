/* A copy of the options for another thread. */
#ifndef HEARTH_GATEWAY_CONFIG_OPTIONS_COPY_H
#define HEARTH_GATEWAY_CONFIG_OPTIONS_COPY_H

#include "gateway/config/options.h"

/* Returns options with the same value of every key and the same order of
 * profiles. What has no key (the name of the file, seed_cells, lends_subids) is
 * not copied. Does not change `from`. */
options_t *options_copy(options_t *from);

#endif
