/* See imported.h. One question is under way at a time: a newer one answers the
 * client of the older one without the kernel. */
#include "gateway/session/core/imported.h"

#include "gateway/session/kernel/publisher.h"
#include "gateway/session/lifecycle/notify.h"
#include "gateway/session/lifecycle/timers.h"
#include "gateway/session/requests/request_queue.h"

#define PATIENCE_MS 5000 /* for a kernel that has no cell, and is slow */

/* Answers with `restart`, which is taken. */
static void answer(session_t *self, json_t *restart)
{
    session_imported_t *asked = &self->unanswered.imported;

    if (!asked->reply) {
        json_decref(restart);
        return;
    }
    timers_stop(self->timers, TIMER_IMPORTED);
    json_object_set_new(asked->reply, "restart", restart);
    notify_answer(self->notify, asked->token, take_ptr(asked->reply));
    json_decref(asked->names);
    asked->names = NULL;
}

/* Returns the names of what was added or changed; the caller owns them. */
static json_t *names_of(const json_t *reply)
{
    static const char *const lists[] = {"added", "changed"};
    json_t *names = json_array();
    const json_t *entry;
    size_t k;

    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        json_array_foreach(json_object_get(reply, lists[i]), k, entry)
            json_array_append(names, json_object_get(entry, "name"));
    return names;
}

/* Returns true if the kernel was asked. One that has a cell would answer after
 * it. */
static bool ask_kernel(session_t *self)
{
    session_imported_t *asked = &self->unanswered.imported;
    cleanup_free char *text = NULL;
    frame_t frame = {.type = FRAME_LOOK};
    json_auto_t *content = NULL;
    fault_t ignored;

    if (!asked->is_known || !session_kernel(self)
        || !session_state_is(self->state, PHASE_IDLE)
        || !session_state_is_greeted(self->state))
        return false;
    /* The kernel may owe an answer to the gateway before this one. */
    asked->number = (int64_t) request_queue_number(self->requests);
    content = json_pack("{s:I,s:O}", "look", (json_int_t) asked->number,
                        "names", asked->names);
    text = json_dumps(content, JSON_COMPACT);
    frame.content = text_bytes(text);
    return kernel_link_send(self->link, &frame, &ignored) == 0;
}

/* Returns true if no code of the session runs, or will run, in the kernel: it
 * starts, or a fresh one follows it. */
static bool is_fresh(const session_t *self)
{
    return session_state_is(self->state, PHASE_STARTING)
           || session_state_is(self->state, PHASE_STOPPING);
}

void imported_ask(session_t *self, uint64_t token, const char *reply)
{
    session_imported_t *asked = &self->unanswered.imported;

    answer(self, json_null());
    asked->token = token;
    asked->reply = json_loads(reply, JSON_ALLOW_NUL, NULL);
    asked->names = names_of(asked->reply);
    if (is_fresh(self))
        answer(self, json_array());
    else if (ask_kernel(self))
        timers_start(self->timers, TIMER_IMPORTED, PATIENCE_MS);
    else
        answer(self, json_null());
}

static bool has(const json_t *list, const json_t *name)
{
    const json_t *one;
    size_t i;

    json_array_foreach(list, i, one) if (json_equal(one, name)) return true;
    return false;
}

/* Returns the names that the kernel was asked for and that are among
 * `imported`; null if that is no list that it may say. */
static json_t *choose(const json_t *names, const json_t *imported)
{
    json_t *chosen, *name;
    size_t i;

    if (!json_is_array(imported)
        || json_array_size(imported) > json_array_size(names))
        return json_null();
    chosen = json_array();
    json_array_foreach(names, i, name)
    {
        if (has(imported, name))
            json_array_append(chosen, name);
    }
    return chosen;
}

int imported_on_looked(session_t *self, const frame_t *frame,
                       const kernel_permissions_content_t *content,
                       fault_t *fault)
{
    json_auto_t *said = NULL;
    int64_t number;
    int r = publisher_note(self->publisher, "looked", frame->seq, "{}", fault);

    if (r < 0 || !self->unanswered.imported.reply
        || !jspan_to_integer(jspan_member(content->object, "look"), &number)
        || number != self->unanswered.imported.number)
        return r;
    said = json_loadb((const char *) frame->content.bytes, frame->content.size,
                      JSON_ALLOW_NUL, NULL);
    answer(self, choose(self->unanswered.imported.names,
                        json_object_get(said, "imported")));
    return 0;
}

void imported_give_up(void *session)
{
    answer(session, json_null());
}

void imported_greet(session_t *self, jspan_t welcome)
{
    self->unanswered.imported.is_known =
        jspan_is(jspan_member(welcome, "looks"), JSPAN_TRUE);
}

void imported_clear(session_t *self)
{
    json_decref(self->unanswered.imported.names);
    json_decref(self->unanswered.imported.reply);
}
