/* The kind of downloads that bring a repository, and the answers of their
 * worker. */
#ifndef HEARTH_GATEWAY_REGISTRY_DOWNLOADS_CLONE_ANSWER_H
#define HEARTH_GATEWAY_REGISTRY_DOWNLOADS_CLONE_ANSWER_H

#include "gateway/registry/downloads/download_answer.h"

/* Its reply has the members that docs/design/PROTOCOL.downloads.md lists; the
 * file of its answer is a tree file (workspace/tree_reader.h). */
extern const download_kind_t clone_kind;

/* Returns true for the name of a commit, by SHA-1 or by SHA-256. */
bool clone_answer_is_commit(const char *text_or_null);
/* Returns true for the name of a branch; "" is one. */
bool clone_answer_is_branch(const char *text_or_null);

#endif
