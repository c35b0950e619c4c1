/* The configuration's file: ZPL, read by czmq after zpl.c has looked at it. */
#include "gateway/config/options.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "gateway/config/default_paths.h"
#include "gateway/config/zpl.h"
#include "protocol/limits.h"

#include <czmq.h>

#include <errno.h>
#include <string.h>

static void replace(char **member, const char *text)
{
    free(*member);
    *member = mem_text(text);
}

/* One item of the file and what is below it. `key` is its path; its level is
 * bounded by zpl_check. For zconfig a section is an item with an empty value.
 */
static int take_item(options_t *self, zconfig_t *item, const char *key,
                     const char *text, fault_t *fault)
{
    const char *value = zconfig_value(item);
    bool has_value = value && *value;
    int result = has_value ? options_set(self, key, value, fault)
                           : options_check_section(key, fault);

    if (result < 0)
        return fault_wrap(fault, "%u", zpl_line(text, key));
    for (zconfig_t *child = zconfig_child(item); child && result == 0;
         child = zconfig_next(child)) {
        cleanup_free char *below =
            mem_format("%s/%s", key, zconfig_name(child));
        result = take_item(self, child, below, text, fault);
    }
    return result;
}

static int parse_text(options_t *self, const char *text, size_t size,
                      fault_t *fault)
{
    int result = zpl_check(text, size, fault);
    if (result < 0)
        return result;
    zconfig_t *root = zconfig_str_load(text);
    if (!root)
        return fault_set(fault, EINVAL, "1: no ZPL");
    for (zconfig_t *item = zconfig_child(root); item && result == 0;
         item = zconfig_next(item))
        result = take_item(self, item, zconfig_name(item), text, fault);
    zconfig_destroy(&root);
    return result;
}

static int load_file(options_t *self, const char *file, fault_t *fault)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;

    int result = file_read(file, CONFIG_FILE_MAX, &text, fault);
    if (result < 0)
        return result;
    buffer_append(&text, "", 0); /* an empty file has no NUL behind it yet */
    result = parse_text(self, (const char *) text.data, text.size, fault);
    if (result < 0) {
        fault_t inner = *fault;
        return fault_set(fault, inner.code, "%s:%s", file, inner.text);
    }
    replace(&self->file, file);
    return 0;
}

/* The environment speaks for one run, the file for all of them. */
static void environment_wins(options_t *self)
{
    const char *runtime = environment_folder("HEARTH_RUNTIME_DIR");
    const char *state = environment_folder("HEARTH_STATE_DIR");

    if (runtime)
        replace(&self->runtime_dir, runtime);
    if (state)
        replace(&self->state_dir, state);
}

int options_load(options_t *self, const char *file_or_null, fault_t *fault)
{
    cleanup_free char *file =
        file_or_null ? mem_text(file_or_null) : environment_config_file();
    int result = file ? load_file(self, file, fault) : 0;

    environment_wins(self);
    return result;
}
