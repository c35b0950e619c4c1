/* Reports a loss of variables to each client that wants to learn of it: as
 * `hearth.lost` in the metadata of the execute_input of its next cell, or of
 * the reply to a cell that fails by the loss. A client can also ask. The
 * state `loss_reported` in the journal has the readers that know, for the next
 * gateway. */
#ifndef HEARTH_GATEWAY_SESSION_CORE_LOSS_REPORT_H
#define HEARTH_GATEWAY_SESSION_CORE_LOSS_REPORT_H

#include "gateway/session/core/session.h"

/* Takes each record that the session writes from now on. */
void loss_report_begin(session_t *self);

/* Appends the metadata with the loss that the sender of a cell does not know,
 * if there is one. Returns true if the sender has the loss by it: not if a
 * client is reviving the session, because the loss changes when that ends. */
bool loss_report_write(session_t *self, const request_t *request,
                       buffer_t *metadata);
/* Notes that the sender of that cell has got the loss. */
void loss_report_note(session_t *self, const request_t *request);

/* Returns the loss that a client with this identity has not got, for the
 * caller: as loss_notice_model does, with its number as "seq". NULL if there is
 * none. The session may have no kernel yet, or be gone. */
json_t *loss_report_model(const session_t *self, const char *identity);
/* Notes that this client has got the loss of that number in an answer. Does
 * nothing if another loss has happened since, or if a client is reviving the
 * session. */
void loss_report_deliver(session_t *self, const char *identity, uint64_t seq);

/* Prepares the loss for requests up to the number `last`, which are about to
 * fail with the error `ename`, because the kernel ends. */
void loss_report_foresee(session_t *self, uint64_t last, const char *ename);
/* Appends the metadata of the reply to such a request, if it gets the loss. */
void loss_report_write_foreseen(session_t *self, const request_t *request,
                                buffer_t *metadata);
/* Ends what loss_report_foresee has begun: those requests have failed. */
void loss_report_forget(session_t *self);

/* Takes a record of an earlier gateway, before its request is answered. */
void loss_report_recall(session_t *self, const journal_record_t *record);

#endif
