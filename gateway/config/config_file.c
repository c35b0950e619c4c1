/* The configuration's file: zpl.c reads its lines, options.c takes the values.
 * Reading does not stop at an error: people want to hear of all of them. */
#include "gateway/config/options.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "gateway/config/default_paths.h"
#include "gateway/config/option_keys.h"
#include "gateway/config/zpl.h"
#include "protocol/limits.h"

#include <errno.h>
#include <string.h>

typedef struct {
    options_t *options;      /* borrowed */
    config_report_t *report; /* borrowed */
    const char *file;        /* borrowed */
    char *unknown; /* owned; the path of an unknown section, or NULL */
} config_reader_t;

static void reader_clear(config_reader_t *self)
{
    free(self->unknown);
}

static void replace(char **member, const char *text)
{
    free(*member);
    *member = mem_text(text);
}

/* Returns true below an unknown section: each line there would be one more
 * error. */
static bool is_lost(const config_reader_t *self, const char *path)
{
    size_t size = self->unknown ? strlen(self->unknown) : 0;

    return size && strncmp(path, self->unknown, size) == 0 && path[size] == '/';
}

static void take_section(config_reader_t *self, const zpl_item_t *item)
{
    fault_t fault;

    if (options_check_section(item->path, &fault) == 0)
        return;
    replace(&self->unknown, item->path);
    config_report_error(self->report, EINVAL, "%s:%u: %s", self->file,
                        item->line, fault.text);
}

static void take_value(config_reader_t *self, const zpl_item_t *item)
{
    const char *before = config_report_place(self->report, item->path);
    cleanup_free char *place = mem_format("%s:%u", self->file, item->line);
    fault_t fault;

    if (before)
        config_report_error(self->report, EINVAL,
                            "%s: %s has a value in %s "
                            "already",
                            place, item->path, before);
    else if (options_set(self->options, item->path, item->value, &fault) < 0)
        config_report_error(self->report, EINVAL, "%s: %s", place, fault.text);
    else
        config_report_came(self->report, item->path, place);
}

static void on_item(void *arg, const zpl_item_t *item)
{
    config_reader_t *self = arg;

    if (item->flaw)
        config_report_error(self->report, EINVAL, "%s:%u: %s", self->file,
                            item->line, item->flaw);
    else if (is_lost(self, item->path))
        return;
    else if (item->value)
        take_value(self, item);
    else
        take_section(self, item);
}

static void load_file(options_t *self, const char *file,
                      config_report_t *report)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    CLEANUP(reader_clear)
    config_reader_t reader = {.options = self, .report = report, .file = file};
    fault_t fault;

    if (file_read(file, CONFIG_FILE_MAX, &text, &fault) < 0) {
        config_report_error(report, fault.code, "%s", fault.text);
        return;
    }
    buffer_append(&text, "", 0); /* an empty file has no NUL at its end yet */
    zpl_read((const char *) text.data, text.size, on_item, &reader);
    replace(&self->file, file);
}

/* Puts the environment's folders above the file's: the environment is for one
 * run, the file for all of them. */
static void environment_wins(options_t *self, config_report_t *report)
{
    const char *runtime = default_paths_folder("HEARTH_RUNTIME_DIR");
    const char *state = default_paths_folder("HEARTH_STATE_DIR");

    if (runtime) {
        replace(&self->runtime_dir, runtime);
        config_report_came(report, "gateway/runtime_dir",
                           "$HEARTH_RUNTIME_DIR");
    }
    if (state) {
        replace(&self->state_dir, state);
        config_report_came(report, "gateway/state_dir", "$HEARTH_STATE_DIR");
    }
}

void options_read(options_t *self, const char *file_or_null,
                  config_report_t *report)
{
    cleanup_free char *file =
        file_or_null ? mem_text(file_or_null) : default_paths_config_file();

    if (file)
        load_file(self, file, report);
    environment_wins(self, report);
}

int options_load(options_t *self, const char *file_or_null, fault_t *fault)
{
    cleanup_config_report config_report_t *report = config_report_new();
    bool is_error = false;
    const char *text;
    size_t count;

    options_read(self, file_or_null, report);
    count = config_report_errors(report);
    if (!count)
        return 0;
    for (size_t i = 0; (text = config_report_at(report, i, &is_error)); i++)
        if (is_error)
            break;
    if (count == 1)
        return fault_set(fault, config_report_code(report), "%s", text);
    return fault_set(fault, config_report_code(report),
                     "%.170s (and %zu more errors: `hearth config check`)",
                     text, count - 1);
}
