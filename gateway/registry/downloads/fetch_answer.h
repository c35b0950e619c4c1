/* The kind of downloads that fetch one file, and the answers of their worker.
 */
#ifndef HEARTH_GATEWAY_REGISTRY_DOWNLOADS_FETCH_ANSWER_H
#define HEARTH_GATEWAY_REGISTRY_DOWNLOADS_FETCH_ANSWER_H

#include "gateway/registry/downloads/download_answer.h"

/* Its reply has `sha256`, `size`, `cached` and `encoding`, which is "" for a
 * file that came as it is. */
extern const download_kind_t fetch_kind;

#endif
