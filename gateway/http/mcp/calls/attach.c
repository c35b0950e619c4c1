/* See attach.h. The exchange keeps the call, because it can be closed before
 * the session has answered. The call keeps the function that is called then. */
#include "gateway/http/mcp/calls/attach.h"

static void on_greeted(exchange_t *exchange, const json_t *session)
{
    mcp_call_t *call = call_of(exchange);
    const subscription_t *subscription =
        subscription_find(exchange->http, call->attached);

    if (session && json_object_size(session) && subscription) {
        call->on_attached(call, subscription, NULL);
        return;
    }
    cleanup_free char *flaw = mem_format(
        "session %s %s", call->attached,
        session ? "is not ready yet: call again later" : "has ended");
    call->on_attached(call, NULL, flaw);
}

void attach_begin(mcp_call_t *call, const char *session, attach_fn *fn)
{
    fault_t fault;
    subscription_t *subscription =
        subscription_open(call->exchange->http, session, &fault);

    if (!subscription) {
        fn(call, NULL, fault.text);
        return;
    }
    if (subscription->is_greeted) {
        fn(call, subscription, NULL);
        return;
    }
    snprintf(call->attached, sizeof call->attached, "%s", session);
    call->on_attached = fn;
    subscription_await(subscription, call->exchange, AWAIT_HELLO, on_greeted);
}
