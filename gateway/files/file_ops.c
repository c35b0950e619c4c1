/* See file_ops.h. */
#include "gateway/files/file_ops.h"

#include "base/clock.h"
#include "gateway/config/state_files.h"
#include "gateway/frontends/handover.h"
#include "gateway/frontends/management_error.h"
#include "workspace/beneath.h"
#include "workspace/name.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void files_news_destroy(files_news_t **self_p)
{
    files_news_t *self = *self_p;

    if (!self)
        return;
    message_destroy(&self->request);
    json_decref(self->answer);
    buffer_reset(&self->data);
    free(self->note);
    free(self);
    *self_p = NULL;
}

int files_path(const json_t *content, const char *key, char **ret_path,
               fault_t *fault)
{
    const json_t *value = json_object_get(content, key);
    const char *text = value ? json_string_value(value) : "";

    if (!text)
        return fault_set(fault, EINVAL, "%s must be a text", key);
    return name_path(text, strlen(text), ret_path, fault);
}

static const char *type_name(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return "file";
    case S_IFDIR:
        return "folder";
    case S_IFLNK:
        return "link";
    case S_IFIFO:
        return "fifo";
    case S_IFSOCK:
        return "socket";
    default:
        return "device";
    }
}

json_t *files_entry(const char *path, const struct stat *status)
{
    cleanup_free char *text = name_text(path);
    char modified[CLOCK_ISO_SIZE];

    clock_iso((int64_t) status->st_mtim.tv_sec * 1000000
                  + status->st_mtim.tv_nsec / 1000,
              modified);
    return json_pack("{s:s,s:s,s:I,s:I,s:i,s:I,s:s}", "path", text, "type",
                     type_name(status->st_mode), "size",
                     (json_int_t) status->st_size, "stored",
                     (json_int_t) status->st_blocks * 512, "mode",
                     (int) (status->st_mode & 07777), "links",
                     (json_int_t) status->st_nlink, "modified", modified);
}

int files_root(const file_request_t *request, int *ret_root, fault_t *fault)
{
    return beneath_root(request->workspace, ret_root, fault);
}

void files_report(files_thread_t *self, files_news_t *news)
{
    handover_send(self->pipe, news);
}

/* Reports what was done to the session, whose journal has the record too, while
 * the session has an actor. */
static void report_to_session(files_thread_t *self, const file_event_t *event,
                              const char *outcome, const json_t *object)
{
    files_news_t *news = mem_new(sizeof *news);
    json_auto_t *note =
        json_pack("{s:s,s:s}", "who", event->who, "outcome", outcome);

    json_object_update(note, (json_t *) (uintptr_t) object);
    if (event->journaled)
        json_object_update(note, (json_t *) (uintptr_t) event->journaled);
    news->word = FILES_DONE;
    news->note = json_dumps(note, JSON_COMPACT | JSON_ENSURE_ASCII);
    snprintf(news->session, sizeof news->session, "%s", event->session);
    files_report(self, news);
}

void files_note(files_thread_t *self, const file_event_t *event)
{
    cleanup_free char *text = name_text(event->path);
    const char *outcome = event->outcome ? event->outcome : "ok";
    json_t *object = json_pack("{s:s,s:s}", "what", event->what, "path", text);

    if (event->details)
        json_object_update(object, event->details);
    json_decref(event->details);
    report_to_session(self, event, outcome, object);
    audit_writer_note_by(self->audit, event->who, "file", event->session,
                         outcome, object);
}

static json_t *describe_fault(int code, const fault_t *fault)
{
    static const struct {
        int code;
        const char *ename;
    } names[] = {
        {ENOENT, "FileNotFound"},      {ENOTDIR, "FileNotFound"},
        {EEXIST, "FileExists"},        {ESTALE, "FileChanged"},
        {ENOSPC, "WorkspaceFull"},     {EDQUOT, "WorkspaceFull"},
        {ELOOP, "PathRefused"},        {EXDEV, "PathRefused"},
        {EMLINK, "PathRefused"},       {EINVAL, "PathRefused"},
        {ENAMETOOLONG, "PathRefused"}, {EBADMSG, "TransferBroken"},
        {ENOTEMPTY, "FolderNotEmpty"}, {EISDIR, "IsFolder"},
        {EACCES, "FileDenied"},        {EPERM, "FileDenied"},
        {EBUSY, "FileBusy"},           {ECANCELED, "FileCancelled"},
        {ETIMEDOUT, "FolderNotEmpty"},
    };
    const char *ename = "FileError";

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].code == code)
            ename = names[i].ename;
    return management_error(ename, GATEWAY_EXIT_FAILED, "%s", fault->text);
}

void files_answer(files_thread_t *self, files_news_t *news, json_t *answer,
                  int r, const fault_t *fault)
{
    if (r < 0) {
        json_decref(answer);
        answer = describe_fault(-r, fault);
    } else {
        json_object_set_new(answer, "status", json_string("ok"));
    }
    news->answer = answer;
    files_report(self, news);
}
