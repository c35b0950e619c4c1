/* The report to clients that a session was gone and got a fresh kernel: this
 * alone does not restore its variables. The client that asked for the revival
 * runs the recorded cells again and reports the outcome. A reply without the
 * report would mislead, so the report is kept until a client has it: here and,
 * for the next gateway, in the journal. Pure. */
#ifndef HEARTH_GATEWAY_SESSION_REQUESTS_REVIVE_H
#define HEARTH_GATEWAY_SESSION_REQUESTS_REVIVE_H

#include "base/buffer.h"
#include "base/cleanup.h"
#include "gateway/session/requests/request.h"

/* Appends the report of a revival that has just begun. */
void revive_write_unfinished(buffer_t *out);

typedef struct revive revive_t;

/* Returns a keeper without a report. */
revive_t *revive_new(void);
void revive_destroy(revive_t **self_p);
#define cleanup_revive CLEANUP(revive_destroy)

/* Keeps a report, a JSON object, which replaces an earlier one. */
void revive_keep(revive_t *self, bytes_t report);
/* Appends the report to the members that the metadata of a request's reply get.
 * Appends nothing without a report, or if no client waits for the reply. */
void revive_write(const revive_t *self, const request_t *request,
                  buffer_t *members);
/* Forgets the report, if the reply to the request had it. */
void revive_note_reply(revive_t *self, const request_t *request);

#endif
