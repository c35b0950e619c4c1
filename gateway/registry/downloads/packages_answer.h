/* The kind of downloads that add packages, and the answers of their worker. */
#ifndef HEARTH_GATEWAY_REGISTRY_DOWNLOADS_PACKAGES_ANSWER_H
#define HEARTH_GATEWAY_REGISTRY_DOWNLOADS_PACKAGES_ANSWER_H

#include "gateway/registry/downloads/download_answer.h"

extern const download_kind_t packages_kind;

#endif
