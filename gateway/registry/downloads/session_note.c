/* See session_note.h. */
#include "gateway/registry/downloads/session_note.h"

#include "base/buffer.h"
#include "gateway/audit/audit.h"
#include "gateway/registry/core/session_table.h"

#include <string.h>

void session_note_add(const registry_parts_t *parts, const session_note_t *note)
{
    session_entry_t *entry = session_table_find(parts->table, note->session);
    json_auto_t *arguments = note->arguments;
    json_auto_t *record =
        json_pack("{s:s,s:s}", "text", note->text, "by", "hearth");
    cleanup_free char *packed = NULL;

    if (strcmp(note->who, AUDIT_KERNEL) != 0)
        json_object_set_new(record, "call",
                            json_pack("{s:s,s:O,s:O,s:b}", "name", note->name,
                                      "arguments", arguments, "result",
                                      note->result, "revival",
                                      note->is_revival));
    packed = json_dumps(record, JSON_COMPACT);

    if (entry && entry->state != SESSION_ENTRY_DRAINED)
        mailbox_line_send(entry->line,
                          session_command_new_text(SESSION_NOTE, 0, packed));
}
