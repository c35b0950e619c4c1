/* See download_asker.h. */
#include "gateway/registry/downloads/download_asker.h"

#include "gateway/audit/audit.h"
#include "gateway/registry/core/management_socket.h"
#include "gateway/registry/core/pending_requests.h"

struct download_asker {
    const registry_parts_t *parts; /* borrowed */
    char *who;                     /* owned */
    message_t *request;            /* owned; NULL: code asks, or is answered */
    char session[SESSION_ID_MAX];  /* of code */
    uint64_t call;                 /* the number of its call; 0: a client
                                      asks */
};

download_asker_t *download_asker_new_client(const registry_parts_t *parts,
                                            message_t **request_p)
{
    download_asker_t *self = mem_new(sizeof *self);

    self->parts = parts;
    self->who = mem_text(message_sender(*request_p));
    self->request = take_ptr(*request_p);
    return self;
}

download_asker_t *download_asker_new_code(const registry_parts_t *parts,
                                          const session_entry_t *entry,
                                          uint64_t call)
{
    download_asker_t *self = mem_new(sizeof *self);

    self->parts = parts;
    self->who = mem_text(AUDIT_KERNEL);
    snprintf(self->session, sizeof self->session, "%s", entry->id);
    self->call = call;
    return self;
}

void download_asker_destroy(download_asker_t **self_p)
{
    download_asker_t *self = *self_p;

    if (!self)
        return;
    message_destroy(&self->request);
    free(self->who);
    free(self);
    *self_p = NULL;
}

const char *download_asker_who(const download_asker_t *self)
{
    return self->who;
}

bool download_asker_is_code(const download_asker_t *self)
{
    return self->call;
}

/* Says something of the call to its session, which drops it if the call has
 * ended. */
static void say_to_code(const download_asker_t *self, session_tools_kind_t kind,
                        const json_t *said)
{
    const session_entry_t *entry =
        session_table_find(self->parts->table, self->session);
    cleanup_free char *text = json_dumps(said, JSON_COMPACT);
    session_command_t *command;

    if (!entry || entry->state >= SESSION_ENTRY_DRAINED)
        return;
    command = session_command_new_tools(kind, NULL, text);
    command->tools.number = self->call;
    mailbox_line_send(entry->line, command);
}

void download_asker_say_progress(const download_asker_t *self,
                                 const json_t *progress)
{
    if (download_asker_is_code(self))
        say_to_code(self, TOOLS_PROGRESS, progress);
}

void download_asker_answer(download_asker_t *self, json_t *reply)
{
    if (self->request) {
        management_answer(self->parts->management, &self->request, reply);
        return;
    }
    /* An error is a result, too: code reads which one. */
    say_to_code(self, TOOLS_ANSWER, reply);
    json_decref(reply);
}

void download_asker_pass(download_asker_t *self, const session_entry_t *entry,
                         session_command_kind_t kind, json_t *reply)
{
    json_auto_t *taken = reply;
    cleanup_free char *text = json_dumps(taken, JSON_COMPACT);
    uint64_t token = pending_requests_add_for(self->parts->pending,
                                              &self->request, entry->id, 0);

    mailbox_line_send(entry->line, session_command_new_text(kind, token, text));
}
