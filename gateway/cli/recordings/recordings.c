/* See recordings.h. */
#include "gateway/cli/recordings/recordings.h"

#include "base/cleanup.h"
#include "base/fd.h"
#include "gateway/cli/client/management_client.h"
#include "gateway/config/state_files.h"
#include "notebooks/journal/log_key.h"
#include "notebooks/json/member.h"
#include "notebooks/recording/export.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

void recordings_clear(recordings_t *self)
{
    redact_destroy(&self->mask);
    free(self->key);
    free(self->journal);
    free(self->folder);
    free(self->id);
    *self = (recordings_t){0};
}

static bool has_name(const char *sessions, const char *id, const char *name)
{
    cleanup_free char *path = mem_format("%s/%s/session.json", sessions, id);
    json_auto_t *about = json_load_file(path, 0, NULL);

    return strcmp(member_text(about, "name"), name) == 0
           && !json_is_true(json_object_get(about, "pooled"));
}

/* Finds the sessions whose ids begin so, or those of that name. Returns how
 * many; `ids` has one a line. An id that is given whole is the only one. */
static size_t count_sessions(const char *sessions, const char *word,
                             bool by_name, buffer_t *ids)
{
    cleanup_dir DIR *folder = opendir(sessions);
    const struct dirent *item;
    size_t count = 0;

    while (folder && *word && (item = readdir(folder))) {
        const char *id = item->d_name;

        if (id[0] == '.'
            || (by_name ? !has_name(sessions, id, word)
                        : strncmp(id, word, strlen(word)) != 0))
            continue;
        if (strcmp(id, word) == 0) {
            ids->size = 0;
            buffer_text(ids, id);
            return 1;
        }
        buffer_format(ids, "%s%s", count ? "\n" : "", id);
        count++;
    }
    return count;
}

gateway_exit_t recordings_key(const options_t *options,
                              recordings_t *ret_recordings)
{
    cleanup_free char *path =
        mem_format("%s/" GATEWAY_JOURNAL_KEY_FILE, options->state_dir);
    fault_t fault = {0};

    ret_recordings->key = mem_new(LOG_KEY_SIZE);
    if (log_key_read(path, false, ret_recordings->key, &fault) < 0)
        return complain(GATEWAY_EXIT_ENVIRONMENT, "%s", fault.text);
    if (redact_new(options->mask, &ret_recordings->mask, &fault) < 0)
        return complain(GATEWAY_EXIT_ENVIRONMENT, "sessions/mask: %s",
                        fault.text);
    ret_recordings->options = (recording_options_t){
        .key = ret_recordings->key, .mask = ret_recordings->mask};
    return GATEWAY_EXIT_OK;
}

char *recordings_id_of_name(const options_t *options, const char *name)
{
    cleanup_free char *sessions = mem_format("%s/sessions", options->state_dir);
    cleanup_buffer buffer_t begun = BUFFER_EMPTY, named = BUFFER_EMPTY;

    return count_sessions(sessions, name, false, &begun) == 0
                   && count_sessions(sessions, name, true, &named) == 1
               ? mem_text((const char *) named.data)
               : NULL;
}

gateway_exit_t recordings_find(const options_t *options, const char *prefix,
                               recordings_t *ret_recordings)
{
    cleanup_free char *sessions = mem_format("%s/sessions", options->state_dir);
    cleanup_recordings recordings_t self = {0};
    cleanup_buffer buffer_t ids = BUFFER_EMPTY;
    size_t count = count_sessions(sessions, prefix, false, &ids);
    gateway_exit_t status;

    if (count == 0)
        count = count_sessions(sessions, prefix, true, &ids);
    if (count == 0)
        return complain(GATEWAY_EXIT_GONE, "there is no session %s", prefix);
    if (count > 1)
        return complain(GATEWAY_EXIT_USAGE, "%s is more than one session:\n%s",
                        prefix, (const char *) ids.data);
    self.id = mem_text((const char *) ids.data);
    self.folder = mem_format("%s/%s", sessions, self.id);
    self.journal = mem_format("%s/journal", self.folder);
    if ((status = recordings_key(options, &self)) != GATEWAY_EXIT_OK)
        return status;
    self.options.session = self.id;
    *ret_recordings = self;
    self = (recordings_t){0};
    return GATEWAY_EXIT_OK;
}

bool recordings_is_file(const char *name)
{
    return strpbrk(name, "/.") != NULL;
}

static gateway_exit_t read_session(const options_t *options, const char *id,
                                   notebook_t *ret_notebook)
{
    cleanup_recordings recordings_t session = {0};
    fault_t fault = {0};
    gateway_exit_t status = recordings_find(options, id, &session);

    if (status != GATEWAY_EXIT_OK)
        return status;
    int r = recording_notebook(session.journal, &session.options, ret_notebook,
                               &fault);
    if (r < 0)
        complain(GATEWAY_EXIT_FAILED, "%s", fault.text);
    return r < 0 && r != -EBADMSG ? GATEWAY_EXIT_FAILED : GATEWAY_EXIT_OK;
}

/* Writes the notebook to a file first, so that memory holds only the cells that
 * are looked at. */
static gateway_exit_t map_session(const options_t *options, const char *id,
                                  notebook_t *ret_notebook)
{
    cleanup_recordings recordings_t session = {0};
    fault_t fault = {0};
    gateway_exit_t status = recordings_find(options, id, &session);
    cleanup_file FILE *file = NULL;

    if (status != GATEWAY_EXIT_OK)
        return status;
    file = tmpfile();
    if (!file)
        return complain(GATEWAY_EXIT_FAILED, "a temporary file: %s",
                        strerror(errno));
    int r = export_write(session.journal, &session.options, EXPORT_WHOLE, file,
                         &fault);
    if (r < 0)
        complain(GATEWAY_EXIT_FAILED, "%s", fault.text);
    if (r < 0 && r != -EBADMSG)
        return GATEWAY_EXIT_FAILED;
    if (notebook_map(fileno(file), session.id, ret_notebook, &fault) < 0)
        return complain(GATEWAY_EXIT_FAILED, "%s", fault.text);
    return GATEWAY_EXIT_OK;
}

gateway_exit_t recordings_open(const options_t *options, const char *name,
                               notebook_t *ret_notebook)
{
    fault_t fault = {0};

    if (!recordings_is_file(name))
        return map_session(options, name, ret_notebook);
    if (notebook_open(name, ret_notebook, &fault) < 0)
        return complain(GATEWAY_EXIT_FAILED, "%s", fault.text);
    return GATEWAY_EXIT_OK;
}

gateway_exit_t recordings_notebook(const options_t *options, const char *name,
                                   notebook_t *ret_notebook)
{
    fault_t fault = {0};

    if (!recordings_is_file(name))
        return read_session(options, name, ret_notebook);
    if (notebook_read(name, ret_notebook, &fault) < 0)
        return complain(GATEWAY_EXIT_FAILED, "%s", fault.text);
    return GATEWAY_EXIT_OK;
}
