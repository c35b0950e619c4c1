/* See sandbox.h. The notes are part of what HTTP keeps over a restart. A
 * sandbox ends like a session that a client deletes. */
#include "gateway/http/e2b/sandbox.h"

#include "base/clock.h"
#include "gateway/http/subscriptions/resume_state.h"
#include "gateway/http/subscriptions/session_set.h"

#include <string.h>

#define AGAIN_US 10000000 /* pause before an end that failed is tried again */

static json_int_t number(const json_t *note, const char *name)
{
    return json_integer_value(json_object_get(note, name));
}

static json_int_t end_after(double seconds)
{
    return clock_wall_us() + (json_int_t) (seconds * 1e6);
}

void sandbox_add(http_t *http, const char *session, json_t *note,
                 double seconds)
{
    json_object_set_new(note, "started", json_integer(clock_wall_us()));
    json_object_set_new(note, "end", json_integer(end_after(seconds)));
    json_object_set_new(http->kept.sandboxes, session, note);
    session_set_note(http, session, true);
    resume_state_save(http);
}

static bool is_gone(const http_t *http, const char *session)
{
    return session_set_is_read(http) && !session_set_has(http, session);
}

json_t *sandbox_find(const http_t *http, const char *session)
{
    json_t *note = json_object_get(http->kept.sandboxes, session);

    return note && !is_gone(http, session) ? note : NULL;
}

void sandbox_set_end(http_t *http, const char *session, double seconds,
                     bool only_later)
{
    json_t *note = json_object_get(http->kept.sandboxes, session);
    json_int_t end = end_after(seconds);

    if (!note || (only_later && number(note, "end") >= end))
        return;
    json_object_set_new(note, "end", json_integer(end));
    resume_state_save(http);
}

void sandbox_forget(http_t *http, const char *session)
{
    if (json_object_del(http->kept.sandboxes, session) == 0)
        resume_state_save(http);
}

bool sandbox_are_texts(json_t *object)
{
    json_t *value;
    const char *name;
    size_t size = 0;

    if (!object || json_is_null(object))
        return true;
    if (!json_is_object(object))
        return false;
    json_object_foreach(object, name, value)
    {
        if (!*name || !json_is_string(value))
            return false;
        size += strlen(name) + json_string_length(value);
    }
    return size <= SANDBOX_TEXTS_MAX;
}

bool sandbox_are_variables(json_t *object)
{
    json_t *value;
    const char *name;

    if (!sandbox_are_texts(object))
        return false;
    json_object_foreach(object, name, value)
    {
        if (strchr(name, '='))
            return false;
    }
    return true;
}

/* Ends a session whose end no client waits for: the answer is dropped. */
static void end(http_t *http, const char *session)
{
    json_auto_t *asked = json_pack("{s:s}", "id", session);
    cleanup_free char *content = json_dumps(asked, JSON_COMPACT);
    fault_t fault;

    (void) frontend_call(http->frontend,
                         &(frontend_call_t){.type = "session_delete_request",
                                            .content = text_bytes(content),
                                            .tag = ++http->counter},
                         &fault);
}

void sandboxes_on_tick(http_t *http)
{
    int64_t now = clock_wall_us();
    bool is_changed = false;
    json_t *note;
    const char *session;
    void *next;

    json_object_foreach_safe(http->kept.sandboxes, next, session, note)
    {
        if (is_gone(http, session)) {
            json_object_del(http->kept.sandboxes, session);
            is_changed = true;
        } else if (now >= number(note, "end")
                   && now - number(note, "asked") > AGAIN_US) {
            json_object_set_new(note, "asked", json_integer(now));
            end(http, session);
        }
    }
    if (is_changed)
        resume_state_save(http);
}
