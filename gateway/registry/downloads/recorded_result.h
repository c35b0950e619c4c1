/* The result of a download that a replay or a revival makes again: a request
 * may have it as `recorded`, and its job then gets the same or fails. It only
 * narrows what was asked for. `revival` in the request is passed on, for the
 * record. */
#ifndef HEARTH_GATEWAY_REGISTRY_DOWNLOADS_RECORDED_RESULT_H
#define HEARTH_GATEWAY_REGISTRY_DOWNLOADS_RECORDED_RESULT_H

#include "gateway/registry/downloads/download_answer.h"

#include <jansson.h>

/* Adds to a job of packages that it is repeated, and the versions and the
 * wheels that its packages are to have, by the request. Both functions: what is
 * not valid in the result, or the result of a failure, adds nothing. */
void recorded_result_pin_packages(const json_t *request, json_t *job);
/* Adds to a job of that kind the hash of the file, or the commit and its
 * branch, by the request. A hash that was asked for stays. */
void recorded_result_pin_fetch(const json_t *request,
                               const download_kind_t *kind, json_t *job);

#endif
