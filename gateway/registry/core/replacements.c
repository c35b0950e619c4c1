/* See replacements.h. */
#include "gateway/registry/core/replacements.h"

#include "base/log.h"

#include <string.h>

session_entry_t *replacements_find(const session_table_t *table,
                                   const json_t *content)
{
    const char *path =
        json_string_value(json_object_get(content, "connection_file"));
    cleanup_connection_file connection_file_t connection = {0};
    session_entry_t *at;
    fault_t fault;

    if (!path || connection_file_read(path, &connection, &fault) < 0)
        return NULL;
    for (at = session_table_first(table); at; at = session_table_next(at))
        if (at->is_external
            && (strcmp(at->connection_file, path) == 0
                || connection_file_collides(&at->connection, &connection)))
            return at;
    return NULL;
}

void replacements_end(const session_entry_t *older)
{
    if (session_entry_is_gone(older))
        return;
    log_notice("session=%s ends: a new kernel has its connection file",
               older->id);
    mailbox_line_send(older->line,
                      session_command_new_text(SESSION_END, 0,
                                               "a new kernel was started with "
                                               "its connection file"));
}
