/* Rules for what one session gets from outside: those of its profile, and its
 * own, which can only be stricter (lowering.h). */
#ifndef HEARTH_GATEWAY_CONFIG_DOWNLOAD_RULES_H
#define HEARTH_GATEWAY_CONFIG_DOWNLOAD_RULES_H

#include "base/cleanup.h"
#include "gateway/config/lowering.h"

/* A session's own rules as lowering_ask makes them; each is JSON text, or NULL:
 * none. */
typedef struct {
    char *packages; /* owned */
    char *fetch;    /* owned */
} download_wishes_t;

void download_wishes_clear(download_wishes_t *self);
#define cleanup_download_wishes CLEANUP(download_wishes_clear)
/* Reads the members `packages` and `fetch` of a request for a session. Its
 * errors are those of lowering_ask. */
int download_wishes_read(const profile_t *profile, const json_t *content,
                         download_wishes_t *ret_wishes, fault_t *fault);

/* Adds the rules to the object, as members `packages` and `fetch`. */
void download_wishes_show(const download_wishes_t *self, json_t *object);

typedef struct {
    profile_packages_t packages; /* of profile and session; its texts and lists
                                    are borrowed from the profile */
    profile_fetch_t fetch;       /* the same */
    bool has_packages;           /* the session may get packages */
    bool has_fetch;              /* the session may fetch files */
    json_t *own_packages; /* owned; rules of the session alone that count, or
                             NULL */
    json_t *own_fetch;    /* owned; the same */
} download_rules_t;

/* Makes the rules of today. Where the wishes cannot be read the session gets
 * nothing. */
void download_rules_make(const profile_t *profile,
                         const download_wishes_t *wishes,
                         download_rules_t *ret_rules);
void download_rules_clear(download_rules_t *self);
#define cleanup_download_rules CLEANUP(download_rules_clear)

/* Returns the lists of packages of profile and session as JSON, for the hints
 * of a kernel (docs/design/PROTOCOL.kernel.md). The caller owns it. NULL if
 * both have no list, or if the lists are too long for an environment. */
char *download_rules_packages_lists(const profile_t *profile,
                                    const download_rules_t *rules);

/* Returns true if a kernel can have them that was started with the rules of the
 * profile alone: its environment has the same to say. */
bool download_rules_fit_kernel(const profile_t *profile,
                               const download_wishes_t *wishes);

/* Returns {key: text} of the session's own numbers and switches, as in
 * hearth.cfg, for the caller. */
json_t *download_rules_texts(const char *section, json_t *own_or_null);
/* Returns the session's own list of that name, for the caller. It is empty if
 * the session has no such list. */
json_t *download_rules_list(const json_t *own_or_null, const char *name);

#endif
