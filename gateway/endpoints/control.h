/* The registry's requests to the endpoints thread, and the answers: messages
 * whose receiver owns them. */
#ifndef HEARTH_GATEWAY_ENDPOINTS_CONTROL_H
#define HEARTH_GATEWAY_ENDPOINTS_CONTROL_H

#include "gateway/endpoints/table.h"

#include <jansson.h>

typedef enum {
    CONTROL_OPEN,  /* who, session, profile, is_observing */
    CONTROL_LIST,  /* nothing else */
    CONTROL_CLOSE, /* who, viewer */
    CONTROL_END,   /* nothing else; has no answer */
} control_kind_t;

typedef struct {
    control_kind_t kind;
    uint64_t token; /* comes back with the answer */
    char *who;      /* owned; asks, as the audit log names it */
    char *session;  /* owned; a whole id */
    char *profile;  /* owned; the session's, by name */
    char *viewer;   /* owned; its name */
    bool is_observing;
} control_request_t;

typedef struct {
    uint64_t token; /* 0: only the count has changed */
    size_t count;   /* endpoints that are open */
    char *text;     /* owned; JSON of the answer, or NULL */
} control_answer_t;

void control_request_destroy(control_request_t **self_p);
#define cleanup_control_request CLEANUP(control_request_destroy)
void control_answer_destroy(control_answer_t **self_p);
#define cleanup_control_answer CLEANUP(control_answer_destroy)

/* Executes the request and returns the answer, {"status",…}, which the caller
 * owns; NULL if it has none. */
json_t *control_serve(endpoint_table_t *table, audit_writer_t *audit,
                      const control_request_t *request);

#endif
