/* See launch_outcome.h. */
#include "gateway/registry/launch/launch_outcome.h"

#include "base/buffer.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

void launch_outcome_failed(audit_writer_t *audit, zygote_slot_t *slot,
                           session_entry_t *entry, const char *text)
{
    zygote_slot_forget(slot, entry);
    audit_writer_note(
        audit, "fork", entry->id, "failed",
        json_pack("{s:s,s:s}", "profile", entry->profile->name, "text", text));
    mailbox_line_send(entry->line,
                      session_command_new_text(SESSION_FAILED, 0, text));
}

void launch_outcome_without_zygote(audit_writer_t *audit, zygote_slot_t *slot,
                                   session_entry_t *entry)
{
    cleanup_free char *text =
        mem_format("profile %s cannot start: %s", entry->profile->name,
                   zygote_slot_fault(slot));

    launch_outcome_failed(audit, slot, entry, text);
}

void launch_outcome_give_up(audit_writer_t *audit, zygote_slot_t *slot)
{
    session_entry_t *entry;

    while ((entry = zygote_slot_take_parked(slot)))
        launch_outcome_without_zygote(audit, slot, entry);
}

void launch_outcome_settle(audit_writer_t *audit, zygote_slot_t *slot,
                           const char *text)
{
    session_entry_t *entry;

    while ((entry = zygote_slot_first_launch(slot))) {
        if (!zygote_slot_comes_back(slot)) {
            launch_outcome_failed(audit, slot, entry, text);
            continue;
        }
        zygote_slot_forget(slot, entry);
        mailbox_line_send(entry->line,
                          session_command_new_text(SESSION_AGAIN, 0, text));
    }
}

/* Ends a kernel whose session has gone meanwhile. */
static void end_orphan(const zygote_result_t *answer)
{
    if (answer->pidfd < 0)
        return;
    (void) syscall(SYS_pidfd_send_signal, answer->pidfd, SIGKILL, NULL, 0);
    close(answer->pidfd);
}

void launch_outcome_launched(audit_writer_t *audit, zygote_slot_t *slot,
                             const zygote_result_t *answer)
{
    session_entry_t *entry = zygote_slot_find(slot, answer->number);
    session_command_t *command;

    if (!entry) {
        end_orphan(answer);
        return;
    }
    zygote_slot_forget(slot, entry);
    audit_writer_note(audit, "fork", entry->id, "ok",
                      json_pack("{s:s,s:i,s:I}", "profile",
                                entry->profile->name, "pid", (int) answer->pid,
                                "host_uid", (json_int_t) entry->host_uid));
    command = session_command_new(SESSION_LAUNCHED, 0);
    command->launched =
        (session_launched_t){.pid = answer->pid, .pidfd = answer->pidfd};
    /* The kernel starts on that processor; without this the system could wake
     * the session's thread there. */
    mailbox_line_keep_off(entry->line, answer->processor);
    mailbox_line_send(entry->line, command);
}

void launch_outcome_refused(audit_writer_t *audit, zygote_slot_t *slot,
                            const zygote_result_t *answer)
{
    session_entry_t *entry = zygote_slot_find(slot, answer->number);

    if (entry)
        launch_outcome_failed(audit, slot, entry, answer->text);
}
