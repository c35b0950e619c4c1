/* A session out of the pool. The main thread answers by itself, with what the
 * session said when it was ready, and tells it behind the answer: who asks
 * waits for no other thread. Before the answer it stands on disk whose it is.
 * A member that ends in that moment is one that ends right behind it: its
 * tombstone tells. */
#include "gateway/registry_internal.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What a pooled session can be given afterwards is all that was asked for:
 * its folder and its ports are made already, its kernel has its environment
 * and its limits. */
bool handing_fits(json_t *content)
{
    return !json_object_get(content, "workspace")
           && !json_object_get(content, "connection_file")
           && !json_object_size(json_object_get(content, "environment"))
           && !json_object_get(content, "limits");
}

/* It tells when it ends, but maybe it does not know yet. */
static bool is_alive(const entry_t *member)
{
    const json_t *session = json_object_get(member->card, "session");
    pid_t pid = (pid_t) json_integer_value(json_object_get(session, "pid"));
    cleanup_fd int pidfd = pid > 0 ? (int) syscall(SYS_pidfd_open, pid, 0) : -1;
    struct pollfd look = {pidfd, POLLIN, 0};

    /* A pidfd is readable once its process has ended (pidfd_open(2)). */
    return pidfd >= 0 && poll(&look, 1, 0) == 0;
}

static entry_t *take(registry_t *self, const profile_t *profile)
{
    entry_t *member;

    while ((member = pool_take(self, profile)) && !is_alive(member))
        member->is_ready = false;
    return member;
}

static void set_time(json_t *session, const char *key, int64_t wall_us)
{
    char iso[CLOCK_ISO_SIZE];

    clock_iso(wall_us, iso);
    json_object_set_new(session, key, json_string(iso));
}

/* What the session will say of itself from now on. */
static char *fill_card(entry_t *member, const session_spec_t *wishes,
                       json_t *name)
{
    json_t *session = json_object_get(member->card, "session");

    if (name)
        json_object_set(session, "name", name);
    set_time(session, "created", wishes->created_us);
    set_time(session, "last_activity", wishes->created_us);
    if (wishes->idle_timeout_ms)
        set_time(session, "expires_at",
                 wishes->created_us + wishes->idle_timeout_ms * 1000);
    json_object_set_new(session, "idle_timeout",
                        json_real((double) wishes->idle_timeout_ms / 1000));
    return json_dumps(member->card, JSON_COMPACT);
}

static char *describe_wishes(const registry_t *self,
                             const session_spec_t *wishes, const char *asker,
                             json_t *name)
{
    json_auto_t *settings =
        json_pack("{s:s,s:I,s:I,s:I,s:I,s:I,s:b,s:O*}", "asker", asker,
                  "created_us", (json_int_t) wishes->created_us,
                  "idle_timeout_ms", (json_int_t) wishes->idle_timeout_ms,
                  "lifetime_ms", (json_int_t) wishes->lifetime_ms,
                  "cell_limit_ms", (json_int_t) wishes->cell_limit_ms,
                  "gone_keep_ms", (json_int_t) self->options->gone_keep_ms,
                  "restarts", wishes->restarts, "name", name);

    return json_dumps(settings, JSON_COMPACT);
}

/* A full disk keeps nobody from a session: as any change of it that cannot be
 * written, this one is lost when the gateway is killed. */
static void keep(const registry_t *self, const entry_t *member,
                 const char *settings)
{
    cleanup_free char *folder =
        session_state_folder(self->options->state_dir, member->id);
    fault_t fault;

    if (session_spec_note_handed(folder, settings, &fault) < 0)
        log_error("session=%s state: %s", member->id, fault.text);
}

bool handing_make(registry_t *self, const profile_t *profile, json_t *content,
                  message_t **request_p, int64_t asked_us)
{
    cleanup_session_spec session_spec_t *wishes = mem_new(sizeof *wishes);
    json_t *name = json_object_get(content, "name");
    cleanup_free char *settings = NULL, *answer = NULL;
    entry_t *member;
    fault_t fault;

    name = json_is_string(name) ? name : NULL;
    if (!handing_fits(content)
        || creation_fill_wishes(self, content, wishes, &fault) < 0
        || !(member = take(self, profile)))
        return false;
    line_say(member->line, "WARM", NULL, NULL);
    wishes->created_us = clock_wall_us();
    settings = describe_wishes(self, wishes, message_sender(*request_p), name);
    answer = fill_card(member, wishes, name);
    keep(self, member, settings);
    registry_own(self, member);
    management_reply_text(self->management, *request_p, answer);
    line_say(member->line, "HAND", settings, NULL);
    tally_start(self->tally, clock_monotonic_us() - asked_us);
    launcher_warmth(self, profile)->handed_out++;
    json_decref(take_ptr(member->card));
    message_destroy(request_p);
    pool_refill_soon(self);
    return true;
}
