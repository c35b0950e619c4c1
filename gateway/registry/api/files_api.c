/* See files_api.h. Lives in the main thread. */
#include "gateway/registry/api/files_api.h"

#include "base/buffer.h"
#include "base/log.h"
#include "gateway/config/lowering.h"
#include "gateway/config/state_files.h"
#include "gateway/files/actor.h"
#include "gateway/frontends/management_error.h"
#include "gateway/registry/core/management_socket.h"
#include "gateway/registry/downloads/fetch_jobs.h"
#include "gateway/registry/sessions/session_factory.h"

#include <string.h>

static files_limits_t limits_of(const profile_limits_t *limits)
{
    return (files_limits_t){limits->workspace_bytes, limits->workspace_files};
}

/* Returns the workspace of a session that has no actor any more; NULL if no
 * such session is known. */
static char *find_left(const registry_parts_t *parts, const char *id,
                       files_limits_t *ret_limits)
{
    cleanup_session_spec session_spec_t *spec = NULL;
    cleanup_free char *profile = NULL;
    profile_limits_t limits;
    fault_t fault;

    if (session_spec_find(parts->options->state_dir, id, &spec, &profile,
                          &fault)
        < 0)
        return NULL;
    limits = lowering_limits(session_factory_profile(parts->options, profile),
                             spec->asked.limits);
    *ret_limits = limits_of(&limits);
    return mem_text(spec->workspace);
}

static void ask(const registry_parts_t *parts, message_t **request_p,
                const char *session, const char *workspace,
                files_limits_t limits)
{
    if (!files_ask(parts->files, request_p, session, workspace, limits))
        management_answer(
            parts->management, request_p,
            management_error("FilesBusy", GATEWAY_EXIT_FAILED,
                             "too many requests about files wait; ask again "
                             "when one was answered"));
}

void files_api_make(const registry_parts_t *parts, json_t *content,
                    message_t **request_p)
{
    const char *id = json_string_value(json_object_get(content, "id"));
    cleanup_free char *workspace = NULL;
    bool is_ambiguous = false;
    files_limits_t limits = {0};
    const session_entry_t *entry;

    if (json_object_get(content, "transfer")) {
        ask(parts, request_p, "", "", limits);
        return;
    }
    entry =
        id ? session_table_find_prefix(parts->table, id, &is_ambiguous) : NULL;
    if (entry) {
        ask(parts, request_p, entry->id, entry->workspace,
            limits_of(&entry->limits));
    } else if (is_ambiguous) {
        management_answer(parts->management, request_p,
                          session_table_ambiguous(parts->table, id));
    } else if (id && (workspace = find_left(parts, id, &limits))) {
        ask(parts, request_p, id, workspace, limits);
    } else {
        management_answer(parts->management, request_p,
                          session_table_unknown(id));
    }
}

static void on_full(const registry_parts_t *parts, const files_news_t *news)
{
    session_entry_t *entry = session_table_find(parts->table, news->session);

    log_notice("session=%s %s", news->session, news->text);
    if (entry && !session_entry_is_gone(entry))
        mailbox_line_send(
            entry->line, session_command_new_text(SESSION_FULL, 0, news->text));
}

static void on_done(const registry_parts_t *parts, const files_news_t *news)
{
    session_entry_t *entry = session_table_find(parts->table, news->session);

    if (entry && entry->state < SESSION_ENTRY_DRAINED)
        mailbox_line_send(
            entry->line, session_command_new_text(SESSION_FILE, 0, news->note));
}

int files_api_on_files(zloop_t *loop, zsock_t *pipe, void *arg)
{
    const registry_parts_t *parts = arg;
    cleanup_files_news files_news_t *news = files_receive(parts->files);

    (void) loop;
    (void) pipe;
    if (!news)
        return 0;
    switch (news->word) {
    case FILES_ANSWER:
        management_reply_data(parts->management, news->request,
                              take_ptr(news->answer),
                              buffer_bytes(&news->data));
        break;
    case FILES_DONE:
        on_done(parts, news);
        break;
    case FILES_PLACED:
        fetch_jobs_on_placed(parts->downloads.fetches, news->number,
                             take_ptr(news->answer));
        break;
    case FILES_PROBED:
        fetch_jobs_on_probed(parts->downloads.fetches, news->number,
                             take_ptr(news->answer));
        break;
    case FILES_FULL:
        on_full(parts, news);
        break;
    }
    return 0;
}
