/* Requests about files: whose workspace it is, is the registry's to say; the
 * rest is done by the thread for files (gateway/files/actor.h), also for
 * sessions that are gone. Part of the registry. */
#include "gateway/registry/internal.h"

#include "base/buffer.h"
#include "base/log.h"
#include "gateway/config/limit_overrides.h"
#include "gateway/config/state_files.h"

#include <string.h>

files_limits_t errands_limits(const profile_limits_t *limits)
{
    return (files_limits_t){limits->workspace_bytes, limits->workspace_files};
}

/* The workspace of a session that no actor keeps any more. */
static char *find_left(const registry_t *self, const char *id,
                       files_limits_t *ret_limits)
{
    cleanup_session_spec session_spec_t *spec = NULL;
    cleanup_free char *profile = NULL;
    profile_limits_t limits;
    fault_t fault;

    if (session_spec_find(self->options->state_dir, id, &spec, &profile, &fault)
        < 0)
        return NULL;
    limits = session_limits_keep(adoption_profile(self, profile),
                                 spec->limits_asked);
    *ret_limits = errands_limits(&limits);
    return mem_text(spec->workspace);
}

static void refuse(registry_t *self, message_t **request_p, json_t *error)
{
    management_reply(self->management, *request_p, error);
    message_destroy(request_p);
}

static void ask(registry_t *self, message_t **request_p, const char *session,
                const char *workspace, files_limits_t limits)
{
    if (!files_ask(self->files, request_p, session, workspace, limits))
        refuse(self, request_p,
               management_error("FilesBusy", GATEWAY_EXIT_FAILED,
                                "too many requests about files wait; ask again "
                                "when one was answered"));
}

void errands_make(registry_t *self, json_t *content, message_t **request_p)
{
    const char *id = json_string_value(json_object_get(content, "id"));
    cleanup_free char *workspace = NULL;
    bool is_ambiguous = false;
    files_limits_t limits = {0};
    const entry_t *entry;

    if (json_object_get(content, "transfer")) {
        ask(self, request_p, "", "", limits);
        return;
    }
    entry = id ? orders_find(self, id, &is_ambiguous) : NULL;
    if (entry) {
        ask(self, request_p, entry->id, entry->workspace,
            errands_limits(&entry->limits));
    } else if (is_ambiguous) {
        refuse(self, request_p, orders_ambiguous(id));
    } else if (id && (workspace = find_left(self, id, &limits))) {
        ask(self, request_p, id, workspace, limits);
    } else {
        refuse(self, request_p, orders_unknown(id));
    }
}

static void on_full(registry_t *self, const files_news_t *news)
{
    entry_t *entry = registry_find(self, news->session);

    log_notice("session=%s %s", news->session, news->text);
    if (entry && !entry->is_gone)
        line_say(entry->line, "FULL", news->text, NULL);
}

static void on_done(registry_t *self, const files_news_t *news)
{
    entry_t *entry = registry_find(self, news->session);

    if (entry && !entry->is_gone && !entry->is_drained)
        line_say(entry->line, "FILE", news->note, NULL);
}

int errands_on_files(zloop_t *loop, zsock_t *pipe, void *arg)
{
    registry_t *self = arg;
    cleanup_files_news files_news_t *news = files_receive(self->files);

    (void) loop;
    (void) pipe;
    if (!news)
        return 0;
    switch (news->word) {
    case FILES_ANSWER:
        management_reply_data(self->management, news->request,
                              take_ptr(news->answer),
                              (bytes_t){news->data.data, news->data.size});
        break;
    case FILES_DONE:
        on_done(self, news);
        break;
    case FILES_FULL:
        on_full(self, news);
        break;
    }
    return 0;
}
