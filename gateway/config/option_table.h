/* Every key of the configuration, a row each. */
#ifndef HEARTH_GATEWAY_CONFIG_OPTION_TABLE_H
#define HEARTH_GATEWAY_CONFIG_OPTION_TABLE_H

#include "gateway/config/option_value.h"

/* How the key of a profile's row begins. */
#define OF_PROFILE      "profile/<name>/"
#define OF_PROFILE_SIZE (sizeof(OF_PROFILE) - 1)

extern const option_value_t option_rows[]; /* offsets in options_t */
extern const size_t option_row_count;
extern const option_value_t option_profile_rows[]; /* offsets in profile_t */
extern const size_t option_profile_row_count;

#endif
