/* The kind of downloads that bring a repository, and the answers of their
 * worker. */
#ifndef HEARTH_GATEWAY_REGISTRY_DOWNLOADS_CLONE_ANSWER_H
#define HEARTH_GATEWAY_REGISTRY_DOWNLOADS_CLONE_ANSWER_H

#include "gateway/registry/downloads/download_answer.h"

/* Its reply has `commit`, `branch` ("" if none is checked out), `size` of the
 * tree file (workspace/tree_reader.h), `bytes` and `files` of what is in it,
 * `lfs`, `submodules` and `cached`. */
extern const download_kind_t clone_kind;

#endif
