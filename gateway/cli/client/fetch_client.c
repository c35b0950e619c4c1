/* See fetch_client.h. */
#include "gateway/cli/client/fetch_client.h"

#include "base/buffer.h"
#include "gateway/cli/client/fetch_tag.h"
#include "gateway/cli/client/file_copy.h"
#include "gateway/cli/client/kernel_client.h"
#include "gateway/cli/client/management_client.h"
#include "gateway/cli/core/command.h"
#include "gateway/cli/core/progress.h"
#include "gateway/cli/core/terminal.h"
#include "notebooks/json/member.h"

#include <sodium.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct fetch_client {
    management_client_t *management; /* owned */
    management_client_t *other;      /* owned; asks meanwhile; NULL: none */
    const char *session;             /* of this fetch; borrowed */
    fetch_tag_t tag;                 /* by which lists name it */
    progress_t *progress;            /* owned; of this fetch */
};

/* Set by the handler; ends the wait for an answer. */
static volatile sig_atomic_t is_interrupted;

static void on_signal(int number)
{
    (void) number;
    is_interrupted = 1;
}

bool fetch_client_is_interrupted(void)
{
    return is_interrupted;
}

void fetch_client_destroy(fetch_client_t **self_p)
{
    fetch_client_t *self = *self_p;

    if (!self)
        return;
    management_client_destroy(&self->management);
    management_client_destroy(&self->other);
    free(self);
    *self_p = NULL;
}

gateway_exit_t fetch_client_new(fetch_client_t **ret_client)
{
    cleanup_fetch_client fetch_client_t *self = mem_new(sizeof *self);
    gateway_exit_t status = management_client_open(false, &self->management);

    if (status != GATEWAY_EXIT_OK)
        return status;
    if (sodium_init() < 0)
        return complain(GATEWAY_EXIT_FAILED, "there are no random numbers");
    management_client_be_patient(self->management);
    kernel_client_catch_signals(on_signal);
    *ret_client = take_ptr(self);
    return GATEWAY_EXIT_OK;
}

/* Shows how far the fetch has come. */
static void show_progress(fetch_client_t *self, const json_t *fetch)
{
    terminal_cell_t cell;

    progress_name(self->progress,
                  terminal_write_cell(&cell, member_text(fetch, "path"),
                                      FETCH_PATH_WIDTH));
    progress_expect(self->progress, member_count(fetch, "total"));
    progress_show(self->progress, member_count(fetch, "bytes"));
}

/* Returns false after a signal. */
static bool goes_on(void *arg)
{
    (void) arg;
    return !is_interrupted;
}

/* Asks how far the fetch has come, and shows it. */
static void ask_progress(fetch_client_t *self)
{
    json_auto_t *fetch = fetch_tag_find(self->other, self->session, &self->tag);

    if (fetch && strcmp(member_text(fetch, "state"), "running") == 0
        && member_count(fetch, "bytes"))
        show_progress(self, fetch);
    else
        progress_put_off(self->progress);
}

/* Returns false after a signal. */
static bool look(void *arg)
{
    fetch_client_t *self = arg;

    if (self->other && progress_is_due(self->progress))
        ask_progress(self);
    return goes_on(NULL);
}

static void cancel(const fetch_client_t *self)
{
    json_auto_t *fetch =
        self->other ? fetch_tag_cancel(self->other, self->session, &self->tag)
                    : NULL;

    if (fetch)
        fprintf(stderr, "hearth: the fetch was cancelled%s\n",
                strcmp(member_text(fetch, "kind"), "file") == 0
                    ? "; what has come is kept for the next one"
                    : "");
}

/* Gives a folder's path its slash again, which the text has lost. */
char *fetch_client_path(const char *into, bool is_folder)
{
    size_t size = into ? strlen(into) : 0;
    cleanup_free char *path = size ? file_copy_path(into) : mem_text("");

    if (!path || !*path)
        return take_ptr(path);
    if ((!is_folder && into[size - 1] != '/') || path[strlen(path) - 1] == '/')
        return take_ptr(path);
    return mem_format("%s/", path);
}

gateway_exit_t fetch_client_ask(fetch_client_t *self, json_t *content,
                                json_t **ret_reply)
{
    json_auto_t *kept = json_incref(content), *reply = NULL;
    gateway_exit_t status;

    self->session = member_text(kept, "id");
    fetch_tag_make(&self->tag);
    json_object_set_new(content, "tag", json_string(self->tag.text));
    self->progress = progress_new("", 0);
    progress_say_lines(self->progress);
    if (management_client_find(&self->other))
        management_client_look(self->other, goes_on, NULL);
    management_client_look(self->management, look, self);
    status = management_client_ask(self->management, "fetch", content, &reply);
    management_client_look(self->management, NULL, NULL);
    progress_destroy(&self->progress);
    if (is_interrupted)
        cancel(self);
    else if (status != GATEWAY_EXIT_OK)
        management_client_complain(self->management);
    management_client_destroy(&self->other);
    json_object_del(reply, "status");
    *ret_reply = reply ? json_incref(reply)
                       : management_client_failure(self->management);
    return status;
}
