/* See process_steps.h. */
#include "tests/lib/process_steps.h"

#include "gateway/session/processes/process_requests.h"
#include "tests/lib/deeds.h"
#include "tests/lib/fake_keeper.h"
#include "tests/lib/test.h"

#include <string.h>

int process_steps_begin(void **state)
{
    fake_keeper = (fake_keeper_t){0};
    if (fake_session_begin(state) < 0)
        return -1;
    fake_session_ready(*state);
    return 0;
}

process_t *process_steps_add(session_t *self)
{
    process_t *process = processes_add(self->processes, 0);

    process->arguments = mem_text("[\"ls\"]");
    process->folder = mem_text(".");
    process->who = mem_text("uid=1");
    process->phase = PROCESS_RUNNING;
    process->link = fake_keeper_link();
    return process;
}

message_t *process_steps_message(const char *client, const char *type,
                                 const char *content)
{
    cleanup_free char *header =
        mem_format("{\"msg_id\":\"m\",\"session\":\"%s\",\"msg_type\":\"%s\"}",
                   client, type);
    message_t *message = message_new(text_bytes(header), text_bytes("{}"),
                                     text_bytes("{}"), text_bytes(content));

    message_add_identity(message, client, strlen(client));
    return message;
}

void process_steps_serve(session_t *self, message_t *message)
{
    request_t *request = request_new(7, CHANNEL_CONTROL, &message);

    assert_true(process_requests_serve(self, &request));
    assert_null(request);
}

void process_steps_ask_as(session_t *self, const char *client, const char *word,
                          const char *content)
{
    cleanup_free char *type = mem_format("process_%s", word);

    process_steps_serve(self, process_steps_message(client, type, content));
}

void process_steps_ask(session_t *self, const char *word, const char *content)
{
    process_steps_ask_as(self, "me", word, content);
}

void process_steps_refused(const char *word, const char *ename,
                           const char *evalue)
{
    cleanup_free char *did = mem_format("control process_%s_reply error", word);
    cleanup_free char *type = mem_format("process_%s_reply", word);
    cleanup_free char *text =
        mem_format("\"ename\":\"%s\",\"evalue\":\"%s\"", ename, evalue);

    assert_string_equal(deeds_take(), did);
    assert_non_null(strstr(deeds_content(type), text));
}
