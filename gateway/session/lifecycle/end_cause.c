/* See end_cause.h. */
#include "gateway/session/lifecycle/end_cause.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static const char *const names[] = {
#define X(name, text) [END_REASON_##name] = text,
    END_REASONS(X)
#undef X
};

const char *end_reason_name(end_reason_t reason)
{
    assert(reason < END_REASON_COUNT);
    return names[reason];
}

void end_cause_set(end_cause_t *self, end_reason_t reason, const char *format,
                   ...)
{
    va_list args;

    self->reason = reason;
    va_start(args, format);
    vsnprintf(self->detail, sizeof self->detail, format, args);
    va_end(args);
}

bool end_cause_set_first(end_cause_t *self, end_reason_t reason,
                         const char *format, va_list args)
{
    if (self->reason != END_REASON_NONE)
        return false;
    self->reason = reason;
    vsnprintf(self->detail, sizeof self->detail, format, args);
    return true;
}

static const char *signal_note(int number, bool has_group)
{
    switch (number) {
    case SIGKILL:
        return has_group ? "; no limit of the session was reached: its own "
                           "code, the machine's out-of-memory killer, or a "
                           "kill -9"
                         : "; its own code, the machine's out-of-memory "
                           "killer, or a kill -9";
    case SIGSEGV:
        return "; a crash in native code";
    case SIGBUS:
        return "; as when a file that is mapped has no room to grow: /tmp "
               "(limits/tmp) or /dev/shm (limits/shm) is full";
    case SIGSYS:
        return "; a system call that the sandbox forbids";
    default:
        return "";
    }
}

void end_cause_explain(end_cause_t *self, const kernel_end_t *end,
                       bool has_group)
{
    if (self->reason != END_REASON_NONE)
        return;
    if (!end->is_known)
        end_cause_set(self, END_REASON_LOST,
                      "the kernel ended; how is not known");
    else if (end->by_signal)
        end_cause_set(
            self, end->code == SIGSYS ? END_REASON_SYSCALL : END_REASON_SIGNAL,
            "the kernel was killed by signal %d (%s)%s", end->code,
            strsignal(end->code), signal_note(end->code, has_group));
    else
        end_cause_set(self, END_REASON_EXIT, "the kernel exited with code %d",
                      end->code);
}

bool end_cause_permits_restart(const end_cause_t *self)
{
    return !end_cause_is_planned(self)
           /* a revival would find the workspace as full as before */
           && self->reason != END_REASON_WORKSPACE
           && self->reason != END_REASON_LAUNCH;
}

bool end_cause_is_planned(const end_cause_t *self)
{
    return self->reason == END_REASON_DELETED
           || self->reason == END_REASON_IDLE_TIMEOUT
           || self->reason == END_REASON_LIFETIME;
}
