/* See session_note.h. */
#include "gateway/registry/downloads/session_note.h"

#include "base/buffer.h"
#include "gateway/registry/core/session_table.h"

void session_note_add(const registry_parts_t *parts, const char *session,
                      const char *text)
{
    session_entry_t *entry = session_table_find(parts->table, session);
    json_auto_t *note = json_pack("{s:s,s:s}", "text", text, "by", "hearth");
    cleanup_free char *packed = json_dumps(note, JSON_COMPACT);

    if (entry && entry->state < SESSION_ENTRY_DRAINED)
        mailbox_line_send(entry->line,
                          session_command_new_text(SESSION_NOTE, 0, packed));
}
