/* See replacements.h. */
#include "gateway/registry/replacements.h"

#include "base/buffer.h"
#include "base/log.h"

#include <stdlib.h>
#include <string.h>

/* A request that waits. */
typedef struct replacement {
    struct replacement *next; /* owned */
    message_t *request;       /* owned */
} replacement_t;

struct replacements {
    const session_table_t *table; /* borrowed */
    replacement_t *first;         /* owned; in the order they came */
    size_t count;
};

replacements_t *replacements_new(const session_table_t *table)
{
    replacements_t *self = mem_new(sizeof *self);

    self->table = table;
    return self;
}

/* Takes the one at `place` out of the list; the caller owns its request. */
static message_t *take(replacements_t *self, replacement_t **place)
{
    replacement_t *found = *place;
    message_t *request = found->request;

    *place = found->next;
    free(found);
    self->count--;
    return request;
}

void replacements_destroy(replacements_t **self_p)
{
    replacements_t *self = *self_p;
    message_t *request;

    if (!self)
        return;
    while ((request = replacements_give_up(self)))
        message_destroy(&request);
    free(self);
    *self_p = NULL;
}

/* Returns the session that has that connection file, lent; NULL if no session
 * has it, or if the file is wrong, which its own session will report. */
static session_entry_t *find_older(const replacements_t *self, const char *path)
{
    cleanup_connection_file connection_file_t connection = {0};
    session_entry_t *at;
    fault_t fault;

    if (!path || connection_file_read(path, &connection, &fault) < 0)
        return NULL;
    for (at = session_table_first(self->table); at; at = session_table_next(at))
        if (at->connection_file
            && (strcmp(at->connection_file, path) == 0
                || connection_file_collides(&at->connection, &connection)))
            return at;
    return NULL;
}

static const char *named_file(const json_t *content)
{
    return json_string_value(json_object_get(content, "connection_file"));
}

static void end(const session_entry_t *entry)
{
    if (session_entry_is_gone(entry))
        return;
    log_notice("session=%s ends: a new kernel has its connection file",
               entry->id);
    mailbox_line_send(entry->line,
                      session_command_new_text(SESSION_END, 0,
                                               "a new kernel was started with "
                                               "its connection file"));
}

bool replacements_take(replacements_t *self, const json_t *content,
                       message_t **request_p)
{
    const session_entry_t *older = find_older(self, named_file(content));
    replacement_t **place = &self->first;

    if (!older)
        return false;
    end(older);
    while (*place)
        place = &(*place)->next;
    *place = mem_new(sizeof **place);
    (*place)->request = take_ptr(*request_p);
    self->count++;
    return true;
}

static bool still_waits(const replacements_t *self, const message_t *request)
{
    bytes_t bytes = message_content(request);
    json_auto_t *content = json_loadb(bytes.bytes, bytes.size, 0, NULL);

    return find_older(self, named_file(content)) != NULL;
}

message_t *replacements_next(replacements_t *self)
{
    for (replacement_t **place = &self->first; *place; place = &(*place)->next)
        if (!still_waits(self, (*place)->request))
            return take(self, place);
    return NULL;
}

message_t *replacements_give_up(replacements_t *self)
{
    return self->first ? take(self, &self->first) : NULL;
}

size_t replacements_waiting(const replacements_t *self)
{
    return self->count;
}
