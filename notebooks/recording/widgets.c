/* See widgets.h. The protocol is ipywidgets' "jupyter.widget" 2.0: comm_open
 * has the whole state, comm_msg what has changed in it; binary parts lie beside
 * the JSON, with the paths at which they belong. */
#include "notebooks/recording/widgets.h"

#include "base/buffer.h"
#include "notebooks/json/member.h"

#include <sodium.h>

#include <string.h>

#define TARGET "jupyter.widget"
#define MIME   "application/vnd.jupyter.widget-state+json"

static const char *const names[] = {"model_name", "model_module",
                                    "model_module_version"};

void widgets_clear(widgets_t *self)
{
    json_decref(self->models);
    *self = (widgets_t){0};
}

bool widgets_wants(const journal_record_t *record)
{
    return record->kind == JOURNAL_EVENT
           && (strcmp(record->type, "comm_open") == 0
               || strcmp(record->type, "comm_msg") == 0
               || strcmp(record->type, "comm_close") == 0);
}

static json_t *encode(bytes_t part)
{
    const int variant = sodium_base64_VARIANT_ORIGINAL;
    size_t size = sodium_base64_ENCODED_LEN(part.size, variant);
    cleanup_free char *text = mem_new(size);

    sodium_bin2base64(text, size, part.bytes, part.size, variant);
    return json_string(text);
}

static size_t size_of(const json_t *value)
{
    return value ? json_dumpb(value, NULL, 0, JSON_COMPACT | JSON_ENCODE_ANY)
                 : 0;
}

/* Returns true if an update replaces the value at the buffer's path: a member
 * of the state that the buffer is in, or the very place. A member that is only
 * binary is not in the state at all. */
static bool is_replaced(const json_t *buffer, const json_t *data)
{
    const json_t *path = json_object_get(buffer, "path"), *other;
    const char *name = json_string_value(json_array_get(path, 0));
    size_t i;

    if (name && json_object_get(json_object_get(data, "state"), name))
        return true;
    json_array_foreach(json_object_get(data, "buffer_paths"), i, other)
    {
        if (json_equal(path, other))
            return true;
    }
    return false;
}

static void drop_buffers(json_t *model, const json_t *data)
{
    json_t *buffers = json_object_get(model, "buffers");

    for (size_t i = json_array_size(buffers); i > 0; i--)
        if (is_replaced(json_array_get(buffers, i - 1), data))
            json_array_remove(buffers, i - 1);
}

static void take_buffers(json_t *model, const journal_record_t *record,
                         const json_t *data)
{
    const json_t *paths = json_object_get(data, "buffer_paths");
    json_t *buffers = json_object_get(model, "buffers");
    json_t *path;
    size_t i;

    json_array_foreach(paths, i, path)
    {
        if (i == record->buffer_count || !json_is_array(path))
            return;
        if (!buffers) {
            buffers = json_array();
            json_object_set_new(model, "buffers", buffers);
        }
        json_array_append_new(buffers, json_pack("{s:s, s:O, s:o}", "encoding",
                                                 "base64", "path", path, "data",
                                                 encode(record->buffers[i])));
    }
}

/* Takes a model's state, and the names under which a front end finds the
 * model's code. */
static void take_state(json_t *model, const journal_record_t *record,
                       const json_t *data)
{
    json_t *state = json_object_get(data, "state");

    if (!json_is_object(state))
        return;
    drop_buffers(model, data);
    json_object_update(json_object_get(model, "state"), state);
    take_buffers(model, record, data);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cleanup_free char *own = mem_format("_%s", names[i]);
        json_t *name = json_object_get(state, own);
        if (json_is_string(name))
            json_object_set(model, names[i], name);
    }
}

/* Removes the buffers that the update replaces. */
static size_t size_replaced(const json_t *model, const json_t *data)
{
    const json_t *had = json_object_get(model, "state"), *buffer;
    const char *name;
    json_t *value;
    size_t size = 0, i;

    json_object_foreach(json_object_get(data, "state"), name, value) size +=
        size_of(json_object_get(had, name));
    json_array_foreach(json_object_get(model, "buffers"), i, buffer)
    {
        if (is_replaced(buffer, data))
            size += size_of(json_object_get(buffer, "data"));
    }
    return size;
}

static size_t size_added(const journal_record_t *record, const json_t *data)
{
    const char *name;
    json_t *value;
    size_t size = 0;

    json_object_foreach(json_object_get(data, "state"), name, value) size +=
        size_of(value);
    for (size_t i = 0; i < record->buffer_count; i++)
        size += record->buffers[i].size / 3 * 4 + 6;
    return size;
}

static bool fits(widgets_t *self, const json_t *model,
                 const journal_record_t *record, const json_t *data)
{
    size_t most = self->bytes_max ? self->bytes_max : WIDGETS_BYTES_MAX;
    size_t gone = size_replaced(model, data);
    size_t left = self->bytes > gone ? self->bytes - gone : 0;
    size_t more = size_added(record, data);

    if (more > most || left > most - more) {
        self->is_cut = true;
        return false;
    }
    self->bytes = left + more;
    return true;
}

static json_t *open_model(widgets_t *self, const char *id)
{
    json_t *model = json_pack("{s:s, s:s, s:s, s:{}}", names[0], "", names[1],
                              "", names[2], "", "state");

    if (!self->models)
        self->models = json_object();
    json_object_set_new(self->models, id, model);
    return model;
}

void widgets_add(widgets_t *self, const journal_record_t *record,
                 const json_t *content)
{
    const char *id = member_text(content, "comm_id");
    const json_t *data = json_object_get(content, "data");
    const char *method = member_text(data, "method");
    json_t *model = json_object_get(self->models, id);

    if (strcmp(record->type, "comm_close") == 0) {
        size_t gone = size_replaced(model, model);
        self->bytes -= gone < self->bytes ? gone : self->bytes;
        json_object_del(self->models, id);
        return;
    }
    if (strcmp(record->type, "comm_open") == 0) {
        if (strcmp(member_text(content, "target_name"), TARGET) == 0 && *id
            && fits(self, model, record, data))
            take_state(open_model(self, id), record, data);
        return;
    }
    /* An echo reports a change that a front end has made. */
    if (model
        && (strcmp(method, "update") == 0 || strcmp(method, "echo_update") == 0)
        && fits(self, model, record, data))
        take_state(model, record, data);
}

json_t *widgets_json(const widgets_t *self)
{
    if (!json_object_size(self->models))
        return NULL;
    return json_pack("{s:{s:i, s:i, s:O}}", MIME, "version_major", 2,
                     "version_minor", 0, "state", self->models);
}
