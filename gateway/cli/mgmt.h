/* The command line's side of the management socket: connects, starts a
 * gateway when none runs, asks, and says in plain words what went wrong. */
#ifndef HEARTH_GATEWAY_CLI_MGMT_H
#define HEARTH_GATEWAY_CLI_MGMT_H

#include "base/cleanup.h"
#include "base/fault.h"
#include "gateway/config/state_files.h"
#include "protocol/message.h"

#include <jansson.h>
#include <stdbool.h>

typedef struct mgmt mgmt_t;

/* Connects to the user's gateway. None runs and `may_start`: starts one in
 * the background and waits until it answers. Prints what failed. */
gateway_exit_t mgmt_open(bool may_start, mgmt_t **ret_mgmt);
void mgmt_destroy(mgmt_t **self_p);
#define cleanup_mgmt CLEANUP(mgmt_destroy)

/* Sends "<verb>_request" and waits for its reply. `content` is taken. On
 * success *ret_reply is the caller's; on failure what was said is kept for
 * mgmt_complain. A gateway that ends meanwhile is GATEWAY_EXIT_UNREACHABLE. */
gateway_exit_t mgmt_ask(mgmt_t *self, const char *verb, json_t *content,
                        json_t **ret_reply);
/* The same with bytes beside the content, there and back; `ret_data` may be
 * NULL. */
gateway_exit_t mgmt_exchange(mgmt_t *self, const char *verb, json_t *content,
                             bytes_t data, json_t **ret_reply,
                             buffer_t *ret_data);
/* The same as mgmt_ask, and prints what failed. */
gateway_exit_t mgmt_call(mgmt_t *self, const char *verb, json_t *content,
                         json_t **ret_reply);
/* Opens, calls once, closes: what most commands do. */
gateway_exit_t mgmt_request(bool may_start, const char *verb, json_t *content,
                            json_t **ret_reply);
/* What the gateway tells of its HTTP side, token included, to whoever may read
 * its runtime folder: "http" in a reply to gateway_info; absent when it is
 * off. */
void mgmt_add_http(json_t *info);
/* Prints the last failure and its hint to standard error. */
void mgmt_complain(const mgmt_t *self);

/* Whether somebody listens on the management socket. */
bool mgmt_is_served(const mgmt_t *self);

/* A string member, "" when there is none. Lent. */
const char *member_text(const json_t *object, const char *key);
/* A number member, or `otherwise`. */
double member_number(const json_t *object, const char *key, double otherwise);
/* Whole seconds as an integer, others as a real. */
json_t *json_seconds(double seconds);
/* To standard output, over several lines. */
void json_print(const json_t *value);

#endif
