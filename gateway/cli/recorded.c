/* See recorded.h. */
#include "gateway/cli/recorded.h"

#include "base/fd.h"
#include "gateway/config/state_files.h"
#include "notebooks/journal/log_key.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

void recorded_clear(recorded_t *self)
{
    mask_destroy(&self->mask);
    free(self->key);
    free(self->journal);
    free(self->folder);
    free(self->id);
    *self = (recorded_t){0};
}

static void close_folder(DIR **folder_p)
{
    if (*folder_p)
        closedir(*folder_p);
}
#define cleanup_folder CLEANUP(close_folder)

/* The sessions whose ids begin so: how many, and one of them. An id that is
 * given whole is the only one. */
static size_t count_sessions(const char *sessions, const char *prefix,
                             char **ret_id)
{
    cleanup_folder DIR *folder = opendir(sessions);
    const struct dirent *item;
    size_t count = 0;

    while (folder && *prefix && (item = readdir(folder))) {
        if (item->d_name[0] == '.'
            || strncmp(item->d_name, prefix, strlen(prefix)) != 0)
            continue;
        free(*ret_id);
        *ret_id = mem_text(item->d_name);
        if (strcmp(item->d_name, prefix) == 0)
            return 1;
        count++;
    }
    return count;
}

gateway_exit_t recorded_key(const options_t *options, recorded_t *ret_recorded)
{
    cleanup_free char *path =
        mem_format("%s/" GATEWAY_JOURNAL_KEY_FILE, options->state_dir);
    fault_t fault = {0};

    ret_recorded->key = mem_new(CHAIN_KEY_SIZE);
    if (chain_key_read(path, false, ret_recorded->key, &fault) < 0)
        return complain(GATEWAY_EXIT_ENVIRONMENT, "%s", fault.text);
    if (mask_new(options->mask, &ret_recorded->mask, &fault) < 0)
        return complain(GATEWAY_EXIT_ENVIRONMENT, "sessions/mask: %s",
                        fault.text);
    ret_recorded->options = (recording_options_t){.key = ret_recorded->key,
                                                  .mask = ret_recorded->mask};
    return GATEWAY_EXIT_OK;
}

gateway_exit_t recorded_find(const options_t *options, const char *prefix,
                             recorded_t *ret_recorded)
{
    cleanup_free char *sessions = mem_format("%s/sessions", options->state_dir);
    cleanup_recorded recorded_t self = {0};
    size_t count = count_sessions(sessions, prefix, &self.id);
    gateway_exit_t status;

    if (count == 0)
        return complain(GATEWAY_EXIT_GONE, "there is no session %s", prefix);
    if (count > 1)
        return complain(GATEWAY_EXIT_USAGE,
                        "more than one session begins with %s", prefix);
    self.folder = mem_format("%s/%s", sessions, self.id);
    self.journal = mem_format("%s/journal", self.folder);
    if ((status = recorded_key(options, &self)) != GATEWAY_EXIT_OK)
        return status;
    self.options.session = self.id;
    *ret_recorded = self;
    self = (recorded_t){0};
    return GATEWAY_EXIT_OK;
}

bool recorded_is_file(const char *name)
{
    return strpbrk(name, "/.") != NULL;
}

static gateway_exit_t read_session(const options_t *options, const char *id,
                                   notebook_t *ret_notebook)
{
    cleanup_recorded recorded_t session = {0};
    fault_t fault = {0};
    gateway_exit_t status = recorded_find(options, id, &session);

    if (status != GATEWAY_EXIT_OK)
        return status;
    int r = recording_notebook(session.journal, &session.options, ret_notebook,
                               &fault);
    if (r < 0)
        complain(GATEWAY_EXIT_FAILED, "%s", fault.text);
    return r < 0 && r != -EBADMSG ? GATEWAY_EXIT_FAILED : GATEWAY_EXIT_OK;
}

gateway_exit_t recorded_open(const options_t *options, const char *name,
                             notebook_t *ret_notebook)
{
    fault_t fault = {0};

    if (!recorded_is_file(name))
        return read_session(options, name, ret_notebook);
    if (notebook_open(name, ret_notebook, &fault) < 0)
        return complain(GATEWAY_EXIT_FAILED, "%s", fault.text);
    return GATEWAY_EXIT_OK;
}

gateway_exit_t recorded_notebook(const options_t *options, const char *name,
                                 notebook_t *ret_notebook)
{
    fault_t fault = {0};

    if (!recorded_is_file(name))
        return read_session(options, name, ret_notebook);
    if (notebook_read(name, ret_notebook, &fault) < 0)
        return complain(GATEWAY_EXIT_FAILED, "%s", fault.text);
    return GATEWAY_EXIT_OK;
}
