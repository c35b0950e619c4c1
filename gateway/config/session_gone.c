/* See session_gone.h. */
#include "gateway/config/session_gone.h"

#include "base/buffer.h"

char *session_gone_text(const char *id, const char *ended, const char *reason,
                        const char *detail)
{
    const char *colon = detail && *detail ? ": " : "";

    return mem_format(
        "session %s is gone since %s (%s%s%s); its variables were discarded. "
        "`hearth session revive %s` runs its recorded cells again; "
        "`hearth session create` begins a new session",
        id, ended, reason, colon, detail ? detail : "", id);
}
