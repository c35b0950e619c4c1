/* The traces of a fetch: the record in the audit log of one that failed,
 * wherever it failed, and a note in the session's notebook of one that was
 * done. The record of that is the files thread's (gateway/files/copies.c). */
#ifndef HEARTH_GATEWAY_REGISTRY_DOWNLOADS_FETCH_RECORDS_H
#define HEARTH_GATEWAY_REGISTRY_DOWNLOADS_FETCH_RECORDS_H

#include "gateway/registry/core/parts.h"
#include "gateway/registry/downloads/download_answer.h"

#include <jansson.h>

/* A fetch; all members are borrowed. */
typedef struct {
    const download_kind_t *kind;
    const char *session; /* its id */
    const char *who;     /* asked for it, as in the audit log */
    const char *url;
    const char *path;    /* below the workspace */
    json_t *ref, *depth; /* that were asked for; or NULL */
    bool has_lfs;        /* the contents of Git LFS were asked for */
    bool has_submodules; /* so were those */
    bool is_revival;     /* a revival asks again */
} fetch_about_t;

/* Records the reply to a fetch, of the management protocol. */
void fetch_records_note(const registry_parts_t *parts,
                        const fetch_about_t *about, json_t *reply);

#endif
