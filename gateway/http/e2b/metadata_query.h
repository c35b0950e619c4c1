/* The query by which E2B's clients choose sandboxes: names and values of their
 * metadata, encoded twice by some clients. Hostile input. */
#ifndef HEARTH_GATEWAY_HTTP_E2B_METADATA_QUERY_H
#define HEARTH_GATEWAY_HTTP_E2B_METADATA_QUERY_H

#include <jansson.h>
#include <stdbool.h>

/* Returns true if the metadata has each value that the query names; NULL names
 * none. */
bool metadata_query_matches(const char *query_or_null, const json_t *metadata);

#endif
