/* The command line's side of the management socket: connects, starts a gateway
 * if none runs, sends requests, and prints failures in plain words. */
#ifndef HEARTH_GATEWAY_CLI_CLIENT_MANAGEMENT_CLIENT_H
#define HEARTH_GATEWAY_CLI_CLIENT_MANAGEMENT_CLIENT_H

#include "base/cleanup.h"
#include "base/fault.h"
#include "gateway/config/state_files.h"
#include "protocol/message.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct management_client management_client_t;

/* Connects to the user's gateway. If none runs and `may_start` is true, starts
 * one in the background and waits until it answers. Prints what failed. */
gateway_exit_t management_client_open(bool may_start,
                                      management_client_t **ret_management);
void management_client_destroy(management_client_t **self_p);
#define cleanup_management_client CLEANUP(management_client_destroy)

/* Connects to the user's gateway, if one runs; prints nothing if none does. */
bool management_client_find(management_client_t **ret_management);
/* Connects like management_client_open. A gateway that has to be started gets
 * `words_or_null` as its command line (ended by NULL) and a working folder.
 * NULL: `hearth serve`, and the current folder. */
gateway_exit_t management_client_start(const char *const *words_or_null,
                                       const char *folder_or_null,
                                       management_client_t **ret_management);

/* Has that line printed on standard error, if it is a terminal, when the answer
 * to the next request takes more than a second. */
void management_client_explain(management_client_t *self, const char *notice);

/* Calls `look` about twice a second from now on while an answer is awaited; it
 * may ask another client. Once it returns false, as after a signal, that answer
 * is not awaited any more. What is asked after that ends what was begun: all of
 * its answers together may take ten seconds, and none after another signal. A
 * line on standard error says so if they take more than one. NULL: no more. */
void management_client_look(management_client_t *self, bool (*look)(void *arg),
                            void *arg);

/* Returns true if `look` has said no or a signal has ended a wait: no answer is
 * then worth a second request, and an unreachable gateway may be there. */
bool management_client_is_interrupted(const management_client_t *self);

/* Lets answers take any time from now on, as long as the gateway lives. */
void management_client_be_patient(management_client_t *self);

/* Sends "<verb>_request" and waits for its reply. `content` is taken. On
 * success *ret_reply is the caller's. On failure the cause is kept for
 * management_client_complain. GATEWAY_EXIT_UNREACHABLE if the gateway ends
 * meanwhile. */
gateway_exit_t management_client_ask(management_client_t *self,
                                     const char *verb, json_t *content,
                                     json_t **ret_reply);
/* Asks like management_client_ask, with bytes beside the content in both
 * directions; `ret_data` may be NULL. */
gateway_exit_t management_client_exchange(management_client_t *self,
                                          const char *verb, json_t *content,
                                          bytes_t data, json_t **ret_reply,
                                          buffer_t *ret_data);
/* Asks like management_client_ask, and prints what failed. */
gateway_exit_t management_client_call(management_client_t *self,
                                      const char *verb, json_t *content,
                                      json_t **ret_reply);
/* Opens, calls once and closes, as most commands do. */
gateway_exit_t management_client_request(bool may_start, const char *verb,
                                         json_t *content, json_t **ret_reply);
/* Adds to a gateway_info reply the member "http": URL and token of the
 * gateway's HTTP side, from a file that only its user can read. Adds nothing if
 * HTTP is off. */
void management_client_add_http(json_t *info);
/* Prints the last failure and its hint to standard error. */
void management_client_complain(const management_client_t *self);
/* Returns the last failure, which the caller owns: `ename`, "" if the gateway
 * did not name it, and `evalue`. */
json_t *management_client_failure(const management_client_t *self);

/* Returns true if a process listens on the management socket. */
bool management_client_is_served(const management_client_t *self);

/* Returns whole seconds as an integer, others as a real. */
json_t *json_seconds(double seconds);
/* Prints to standard output, over several lines. */
void json_print(const json_t *value);
/* Prints the texts of an array, each on a line after `before`; they may be
 * foreign. */
void json_print_texts(const json_t *texts, const char *before);

#endif
