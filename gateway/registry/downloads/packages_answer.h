/* The kind of downloads that add packages, and the answers of their worker. */
#ifndef HEARTH_GATEWAY_REGISTRY_DOWNLOADS_PACKAGES_ANSWER_H
#define HEARTH_GATEWAY_REGISTRY_DOWNLOADS_PACKAGES_ANSWER_H

#include "gateway/registry/downloads/download_answer.h"

extern const download_kind_t packages_kind;
/* The kind of those that make the packages of a profile. Their answer has the
 * member "environment", KEY/NUMBER, too. */
extern const download_kind_t preinstall_kind;

/* Return true if an answer may have the text as a package's name, or as its
 * version. NULL is neither. */
bool packages_answer_is_name(const char *text_or_null);
bool packages_answer_is_version(const char *text_or_null);

#endif
