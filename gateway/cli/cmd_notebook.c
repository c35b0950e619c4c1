/* hearth notebook: a session's recording as a document. It is read from the
 * state folder, so that no gateway has to run. */
#include "gateway/cli/command.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "notebooks/export.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define KEY_SIZE 32 /* of the journal's key */

/* The folder of the one session whose id begins so. */
static gateway_exit_t find_session(const char *state_dir, const char *prefix,
                                   char **ret_folder)
{
    cleanup_free char *sessions = mem_format("%s/sessions", state_dir);
    cleanup_free char *found = NULL;
    DIR *folder = opendir(sessions);
    const struct dirent *item;
    size_t count = 0;

    while (folder && *prefix && count < 2 && (item = readdir(folder))) {
        if (item->d_name[0] == '.'
            || strncmp(item->d_name, prefix, strlen(prefix)) != 0)
            continue;
        free(found);
        found = mem_format("%s/%s", sessions, item->d_name);
        count++;
        if (strcmp(item->d_name, prefix) == 0)
            break;
    }
    if (folder)
        closedir(folder);
    if (!found || count > 1) {
        fprintf(stderr,
                found ? "hearth: more than one session begins with %s\n"
                      : "hearth: there is no session %s\n",
                prefix);
        return found ? GATEWAY_EXIT_USAGE : GATEWAY_EXIT_GONE;
    }
    *ret_folder = take_ptr(found);
    return GATEWAY_EXIT_OK;
}

static int read_key(const char *state_dir, buffer_t *key, fault_t *fault)
{
    cleanup_free char *path = mem_format("%s/journal.key", state_dir);
    int r = file_read(path, KEY_SIZE, key, fault);

    if (r >= 0 && key->size != KEY_SIZE)
        return fault_set(fault, EINVAL, "%s does not hold a key", path);
    return r;
}

/* Also a damaged journal's document is worth having, up to the damage. */
static gateway_exit_t print_document(const char *journal, const buffer_t *key,
                                     export_format_t format)
{
    cleanup_buffer buffer_t document = BUFFER_EMPTY;
    fault_t fault = {0};
    int r = notebook_export(journal, key->data, format, &document, &fault);

    if (document.size)
        fwrite(document.data, 1, document.size, stdout);
    if (r < 0)
        return complain(GATEWAY_EXIT_FAILED, "%s", fault.text);
    return GATEWAY_EXIT_OK;
}

static gateway_exit_t export_from(const char *state_dir, const char *id,
                                  export_format_t format, const char *output)
{
    cleanup_free char *folder = NULL;
    cleanup_free char *journal = NULL;
    cleanup_buffer buffer_t key = BUFFER_EMPTY;
    gateway_exit_t status = find_session(state_dir, id, &folder);
    fault_t fault = {0};
    int r;

    if (status != GATEWAY_EXIT_OK)
        return status;
    journal = mem_format("%s/journal", folder);
    r = read_key(state_dir, &key, &fault);
    if (r >= 0 && !output)
        return print_document(journal, &key, format);
    if (r >= 0)
        r = notebook_save(journal, key.data, format, output, &fault);
    if (r < 0)
        return complain(GATEWAY_EXIT_FAILED, "%s", fault.text);
    return GATEWAY_EXIT_OK;
}

static int export(const arguments_t *arguments)
{
    cleanup_options options_t *options = arguments_options(arguments);
    const char *output = arguments_value(arguments, "output");
    const char *name = arguments_value(arguments, "format");
    export_format_t format = EXPORT_IPYNB;
    size_t size = output ? strlen(output) : 0;

    if (!options)
        return GATEWAY_EXIT_ENVIRONMENT;
    if (name ? strcmp(name, "md") == 0
             : size > 3 && strcmp(output + size - 3, ".md") == 0)
        format = EXPORT_MARKDOWN;
    if (output && strcmp(output, "-") == 0)
        output = NULL;
    return export_from(options->state_dir, arguments_operand(arguments, 0),
                       format, output);
}

static const flag_t flags[] = {
    {"output", 'o', "FILE", "where to, instead of standard output"},
    {"format", 0, "ipynb|md", "Jupyter's, or Markdown (by the file's name)"},
    {0},
};

const command_t notebook_commands[] = {
    {
        .name = "notebook export",
        .operands = "ID",
        .help = "write a session's recording as a notebook",
        .more = "Also of a session that is gone. No gateway has to run.",
        .flags = flags,
        .run = export,
    },
    {0},
};
