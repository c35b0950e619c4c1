/* See pending_cell.h. */
#include "gateway/cli/client/pending_cell.h"

#include "base/clock.h"
#include "gateway/cli/client/kernel_client.h"
#include "notebooks/json/member.h"
#include "notebooks/json/tree.h"

#include <string.h>

#define LAST_MS 3000 /* between a reply and its idle */

void pending_cell_clear(pending_cell_t *self)
{
    json_decref(self->figures);
    json_decref(self->reply);
    free(self->request);
    *self = (pending_cell_t){0};
}

void pending_cell_begin(pending_cell_t *self, const char *request)
{
    pending_cell_clear(self);
    self->request = mem_text(request);
    self->heard = self->asked = clock_monotonic_ms();
}

static pending_cell_event_t kind(channel_t channel, const char *type,
                                 const json_t *content)
{
    if (channel == CHANNEL_SHELL && strcmp(type, "execute_reply") == 0)
        return PENDING_CELL_REPLY;
    if (channel == CHANNEL_STDIN && strcmp(type, "input_request") == 0)
        return PENDING_CELL_QUESTION;
    if (channel != CHANNEL_IOPUB)
        return PENDING_CELL_SIGN;
    if (strcmp(type, "status") != 0)
        return PENDING_CELL_OUTPUT;
    return strcmp(member_text(content, "execution_state"), "idle") == 0
               ? PENDING_CELL_IDLE
               : PENDING_CELL_SIGN;
}

/* Returns the content of a message if the cell's request is its parent, NULL
 * otherwise. */
static json_t *read_content(const pending_cell_t *self,
                            const message_t *message)
{
    bytes_t header = message_parent(message);
    bytes_t text = message_content(message);
    json_auto_t *parent = json_loadb(header.bytes, header.size, 0, NULL);

    if (strcmp(member_text(parent, "msg_id"), self->request) != 0)
        return NULL;
    return json_tree_load(text.bytes, text.size, NULL);
}

static void keep_reply(pending_cell_t *self, const message_t *message,
                       json_t *content)
{
    json_decref(self->reply);
    json_decref(self->figures);
    self->reply = json_incref(content);
    self->figures = kernel_client_figures(message);
}

pending_cell_event_t pending_cell_hear(pending_cell_t *self, channel_t channel,
                                       const message_t *message,
                                       json_t **ret_content)
{
    json_t *content = read_content(self, message);
    pending_cell_event_t what;

    if (!content)
        return PENDING_CELL_OTHERS;
    self->heard = self->asked = clock_monotonic_ms();
    what = kind(channel, message_type(message), content);
    if (what == PENDING_CELL_REPLY)
        keep_reply(self, message, content);
    else if (what == PENDING_CELL_IDLE)
        self->is_idle = true;
    *ret_content = content;
    return what;
}

bool pending_cell_is_late(const pending_cell_t *self, int64_t now)
{
    return self->reply && now - self->heard > LAST_MS;
}

bool pending_cell_is_session_gone(pending_cell_t *self,
                                  management_client_t *management,
                                  const char *session)
{
    json_auto_t *reply = NULL;
    gateway_exit_t status;

    self->asked = clock_monotonic_ms();
    status = management_client_ask(management, "session_show",
                                   json_pack("{s:s}", "id", session), &reply);
    return status == GATEWAY_EXIT_GONE
           || strcmp(member_text(json_object_get(reply, "session"), "state"),
                     "gone")
                  == 0;
}
