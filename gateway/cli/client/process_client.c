/* See process_client.h. */
#include "gateway/cli/client/process_client.h"

#include "base/clock.h"
#include "gateway/cli/client/management_client.h"
#include "gateway/cli/core/command.h"
#include "gateway/cli/core/terminal.h"
#include "notebooks/json/member.h"
#include "notebooks/json/tree.h"

#include <errno.h>
#include <string.h>

#define REPLY_MS 35000 /* a process may take long to start */

struct process_client {
    management_client_t *management; /* owned */
    client_t *client;                /* owned */
    char *session;                   /* owned */
};

void process_client_destroy(process_client_t **self_p)
{
    process_client_t *self = *self_p;

    if (!self)
        return;
    client_destroy(&self->client);
    management_client_destroy(&self->management);
    free(self->session);
    free(self);
    *self_p = NULL;
}

gateway_exit_t process_client_open(const char *session, bool may_start,
                                   process_client_t **ret_client)
{
    cleanup_process_client process_client_t *self = mem_new(sizeof *self);
    json_auto_t *reply = NULL;
    const json_t *shown;
    fault_t fault;
    gateway_exit_t status =
        management_client_open(may_start, &self->management);

    if (status != GATEWAY_EXIT_OK)
        return status;
    status = management_client_call(self->management, "session_show",
                                    json_pack("{s:s}", "id", session), &reply);
    if (status != GATEWAY_EXIT_OK)
        return status;
    shown = json_object_get(reply, "session");
    if (strcmp(member_text(shown, "state"), "gone") == 0)
        return complain(GATEWAY_EXIT_GONE, "session %s is gone (%s)",
                        terminal_cell(member_text(shown, "id"), 40),
                        terminal_cell(member_text(shown, "reason"), 40));
    self->session = mem_text(member_text(shown, "id"));
    if (client_new(member_text(shown, "connection_file"), &self->client, &fault)
        < 0)
        return complain(GATEWAY_EXIT_FAILED, "%s", fault.text);
    *ret_client = take_ptr(self);
    return GATEWAY_EXIT_OK;
}

const char *process_client_session(const process_client_t *self)
{
    return self->session;
}

int process_client_fd(const process_client_t *self)
{
    return client_fd(self->client, CHANNEL_CONTROL);
}

void process_client_send(process_client_t *self, const char *verb,
                         json_t *content, bytes_t data)
{
    json_auto_t *object = content;
    cleanup_free char *text = json_dumps(object, JSON_COMPACT);
    cleanup_free char *type = mem_format("process_%s", verb);
    fault_t ignored;

    /* A request that cannot be sent gets no answer, which the caller
     * notices. */
    (void) client_send(self->client,
                       &(client_request_t){.channel = CHANNEL_CONTROL,
                                           .type = type,
                                           .content = text_bytes(text),
                                           .data = data},
                       NULL, &ignored);
}

void process_news_clear(process_news_t *self)
{
    message_destroy(&self->message);
    json_decref(self->content);
    *self = (process_news_t){0};
}

bool process_client_receive(process_client_t *self, int timeout_ms,
                            process_news_t *ret_news)
{
    for (;;) {
        cleanup_message message_t *message = NULL;
        channel_t channel;
        bytes_t text;
        fault_t fault;

        if (client_receive(self->client, timeout_ms, &channel, &message, &fault)
            < 0)
            return false;
        if (channel != CHANNEL_CONTROL)
            continue;
        text = message_content(message);
        ret_news->content = json_tree_load(text.bytes, text.size, NULL);
        ret_news->message = take_ptr(message);
        return true;
    }
}

gateway_exit_t process_client_complain(const json_t *reply)
{
    const char *ename = member_text(reply, "ename");

    return complain(strcmp(ename, "SessionGone") == 0 ? GATEWAY_EXIT_GONE
                                                      : GATEWAY_EXIT_FAILED,
                    "%s", terminal_cell(member_text(reply, "evalue"), 400));
}

gateway_exit_t process_client_ask(process_client_t *self, const char *verb,
                                  json_t *content, json_t **ret_reply)
{
    int64_t deadline = clock_monotonic_ms() + REPLY_MS;
    cleanup_free char *request = mem_format("%s_request", verb);
    cleanup_free char *reply = mem_format("process_%s_reply", verb);

    process_client_send(self, request, content, (bytes_t){0});
    while (clock_monotonic_ms() < deadline) {
        cleanup_process_news process_news_t news = {0};

        if (!process_client_receive(self, 200, &news)
            || strcmp(message_type(news.message), reply) != 0)
            continue;
        if (strcmp(member_text(news.content, "status"), "ok") != 0)
            return process_client_complain(news.content);
        *ret_reply = json_incref(news.content);
        return GATEWAY_EXIT_OK;
    }
    return complain(GATEWAY_EXIT_UNREACHABLE,
                    "the session did not answer within %d s", REPLY_MS / 1000);
}

bool process_client_is_served(process_client_t *self)
{
    return management_client_is_served(self->management);
}
