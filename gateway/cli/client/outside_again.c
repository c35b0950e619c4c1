/* See outside_again.h. */
#include "gateway/cli/client/outside_again.h"

#include "base/buffer.h"
#include "base/url_plain.h"
#include "base/utf8.h"
#include "gateway/cli/client/fetch_tag.h"
#include "gateway/cli/client/outside_client.h"
#include "notebooks/json/member.h"
#include "protocol/limits.h"

#include <errno.h>
#include <string.h>

struct outside_again {
    management_client_t *management; /* borrowed */
    char *session;                   /* owned; its id */
    bool is_revival; /* recorded cells of this session run again */
    bool (*goes_on)(void *arg);
    json_t *brought; /* owned; the paths that were filled just now */
};

void outside_again_destroy(outside_again_t **self_p)
{
    outside_again_t *self = *self_p;

    if (!self)
        return;
    json_decref(self->brought);
    free(self->session);
    free(self);
    *self_p = NULL;
}

outside_again_t *outside_again_new(const outside_again_how_t *how)
{
    outside_again_t *self = mem_new(sizeof *self);

    self->management = how->management;
    self->session = mem_text(how->session);
    self->is_revival = how->is_revival;
    self->goes_on = how->goes_on;
    self->brought = json_object();
    return self;
}

static bool has_to_end(const outside_again_t *self)
{
    return self->goes_on && !self->goes_on(NULL);
}

/* Returns true if what a call had brought is left as it is. A revived session
 * has its workspace, and what is in it may have been worked on since. But what
 * an earlier call has brought just now is replaced, as it was then. */
static bool is_left(const outside_again_t *self, const json_t *call)
{
    const json_t *result = json_object_get(call, "result");
    const char *path = member_text(result, "path");
    bool is_kept = self->is_revival && !json_object_get(self->brought, path);

    return *path && (is_kept || json_object_get(result, "commit"))
           && outside_client_exists(self->management, self->session, path);
}

/* Makes the request of a call again, for as long as that may go on. A fetch
 * that may not is cancelled. */
static gateway_exit_t ask_again(outside_again_t *self, const json_t *call)
{
    bool is_fetch = strcmp(member_text(call, "name"), "hearth:fetch") == 0;
    json_t *content = json_deep_copy(json_object_get(call, "arguments"));
    json_auto_t *reply = NULL;
    fetch_tag_t tag;
    gateway_exit_t status;

    json_object_set_new(content, "id", json_string(self->session));
    json_object_set(content, "recorded", json_object_get(call, "result"));
    json_object_set_new(content, "revival", json_boolean(self->is_revival));
    if (is_fetch) {
        fetch_tag_make(&tag);
        json_object_set_new(content, "tag", json_string(tag.text));
    }
    management_client_be_patient(self->management);
    status = management_client_ask(
        self->management, is_fetch ? "fetch" : "packages", content, &reply);
    if (is_fetch && has_to_end(self))
        (void) fetch_tag_cancel(self->management, self->session, &tag);
    return status;
}

/* Writes "fetched from URL", or the names of packages. */
static void name_call(const json_t *call, buffer_t *out)
{
    const json_t *arguments = json_object_get(call, "arguments"), *name;
    cleanup_free char *url = url_plain(member_text(arguments, "url"));
    size_t i;

    buffer_text(out, *url ? url : "packages:");
    json_array_foreach(json_object_get(arguments, "names"), i, name)
        buffer_format(out, " %s",
                      json_is_string(name) ? json_string_value(name) : "");
}

/* Notes in the new part of the recording what a call has brought or not, so
 * that the next revival makes it again. The gateway does that itself for what
 * it was asked for and has done. */
static void repeat_note(const outside_again_t *self, const json_t *call,
                        const char *why_or_null)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    json_auto_t *reply = NULL;
    json_t *copy;

    if (!self->is_revival)
        return;
    copy = json_copy((json_t *) (uintptr_t) call);
    json_object_set_new(copy, "revival", json_true());
    name_call(call, &text);
    if (why_or_null) {
        json_object_set_new(copy, "missing", json_string(why_or_null));
        buffer_format(&text, " cannot be had again: %s", why_or_null);
    } else {
        json_object_del(copy, "missing");
        buffer_format(&text, " is still at %s",
                      member_text(json_object_get(call, "result"), "path"));
    }
    (void) management_client_ask(
        self->management, "session_note",
        json_pack("{s:s,s:s%,s:s,s:o}", "id", self->session, "text", text.data,
                  text.size > NOTE_TEXT_MAX ? utf8_cut(text.data, NOTE_TEXT_MAX)
                                            : text.size,
                  "by", "hearth", "call", copy),
        &reply);
}

/* Returns 0 and why a request has failed, or what ends the run. */
static int judge_failure(const outside_again_t *self, gateway_exit_t status,
                         char **ret_why, fault_t *fault)
{
    json_auto_t *failure = management_client_failure(self->management);
    const char *why = member_text(failure, "evalue");

    if (has_to_end(self))
        return fault_set(fault, EINTR, "interrupted");
    if (status == GATEWAY_EXIT_UNREACHABLE)
        return fault_set(fault, ECONNRESET, "%s", why);
    if (status == GATEWAY_EXIT_GONE)
        return fault_set(fault, ESHUTDOWN, "%s", why);
    *ret_why = mem_text(why);
    return 0;
}

int outside_again_bring(outside_again_t *self, const json_t *call,
                        char **ret_why, fault_t *fault)
{
    gateway_exit_t status;
    int r;

    *ret_why = NULL;
    if (!json_is_object(json_object_get(call, "arguments")))
        *ret_why = mem_text("its note has no arguments with which it could be "
                            "asked for again");
    else if (json_is_true(json_object_get(call, "url_cut")))
        *ret_why = mem_text("its URL had a part that a notebook does not show; "
                            "replay the session itself");
    if (*ret_why)
        return 0;
    if (is_left(self, call)) {
        repeat_note(self, call, NULL);
        return 0;
    }
    status = ask_again(self, call);
    if (status == GATEWAY_EXIT_OK) {
        json_object_set_new(
            self->brought, member_text(json_object_get(call, "result"), "path"),
            json_true());
        return 0;
    }
    r = judge_failure(self, status, ret_why, fault);
    if (r == 0)
        repeat_note(self, call, *ret_why);
    return r;
}
