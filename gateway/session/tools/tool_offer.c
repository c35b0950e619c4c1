/* See tool_offer.h. Schemas and descriptions are kept as the text that they
 * were: numbers keep their digits. */
#include "gateway/session/tools/tool_offer.h"

#include "protocol/jspan.h"
#include "protocol/jspan_write.h"
#include "protocol/limits.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

typedef struct {
    char *name;           /* owned */
    buffer_t description; /* a JSON string, or empty */
    buffer_t schema;      /* a JSON object */
} tool_t;

struct tool_offer {
    tool_t *tools; /* owned */
    size_t size;
};

void tool_offer_destroy(tool_offer_t **self_p)
{
    tool_offer_t *self = *self_p;

    if (!self)
        return;
    for (size_t i = 0; i < self->size; i++) {
        free(self->tools[i].name);
        buffer_reset(&self->tools[i].description);
        buffer_reset(&self->tools[i].schema);
    }
    free(self->tools);
    free(self);
    *self_p = NULL;
}

static bool is_name_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
           || (c >= '0' && c <= '9') || (c && strchr("_-./", c));
}

bool tool_offer_is_name(const char *text)
{
    size_t size = strlen(text);

    for (size_t i = 0; i < size; i++)
        if (!is_name_character(text[i]))
            return false;
    return size && size <= TOOL_NAME_MAX;
}

static int refuse(fault_t *fault, size_t index, const char *what)
{
    return fault_set(fault, EINVAL, "tools[%zu]: %s", index, what);
}

static int read_name(const tool_offer_t *self, jspan_t value, char **ret_name,
                     fault_t *fault)
{
    cleanup_free char *name = jspan_plain_new(value);

    if (!name || !tool_offer_is_name(name))
        return refuse(fault, self->size,
                      "`name` must be 1 to 128 letters, digits and _ - . /");
    if (tool_offer_has(self, name))
        return fault_set(fault, EINVAL, "tools[%zu]: there are two of `%s`",
                         self->size, name);
    *ret_name = take_ptr(name);
    return 0;
}

static int add(tool_offer_t *self, jspan_t value, fault_t *fault)
{
    jspan_t description = jspan_member(value, "description");
    jspan_t schema = jspan_member(value, "inputSchema");
    tool_t tool = {0};
    int r;

    if (!jspan_is(value, JSPAN_OBJECT))
        return refuse(fault, self->size, "an object is wanted");
    if (!jspan_is(description, JSPAN_ABSENT)
        && !jspan_is(description, JSPAN_STRING))
        return refuse(fault, self->size, "`description` must be a text");
    if (!jspan_is(schema, JSPAN_ABSENT) && !jspan_is(schema, JSPAN_OBJECT))
        return refuse(fault, self->size, "`inputSchema` must be an object");
    r = read_name(self, jspan_member(value, "name"), &tool.name, fault);
    if (r < 0)
        return r;
    if (jspan_is(description, JSPAN_STRING))
        buffer_append(&tool.description, description.text, description.size);
    if (jspan_is(schema, JSPAN_OBJECT)) {
        buffer_append(&tool.schema, schema.text, schema.size);
    } else {
        jspan_write_begin(&tool.schema);
        jspan_write_text(&tool.schema, "type", "object");
        jspan_write_end(&tool.schema);
    }
    self->tools[self->size++] = tool;
    return 0;
}

int tool_offer_read(bytes_t json, tool_offer_t **ret_offer, fault_t *fault)
{
    cleanup_tool_offer tool_offer_t *self = mem_new(sizeof *self);
    jspan_t array, value;
    size_t cursor = 0;
    fault_t why;

    if (json.size > TOOL_OFFER_BYTES_MAX)
        return fault_set(fault, EINVAL,
                         "the tools are %zu bytes of JSON, %u are permitted",
                         json.size, TOOL_OFFER_BYTES_MAX);
    if (jspan_check_portable(json.bytes, json.size, &array, &why) < 0)
        return fault_set(fault, EINVAL, "tools: %s", why.text);
    if (!jspan_is(array, JSPAN_ARRAY))
        return fault_set(fault, EINVAL,
                         "tools must be an array of {\"name\", "
                         "\"description\", \"inputSchema\"}");
    self->tools = mem_new(TOOL_OFFER_MAX * sizeof *self->tools);
    while (jspan_each(array, &cursor, NULL, &value)) {
        int r;

        if (self->size == TOOL_OFFER_MAX)
            return fault_set(fault, EINVAL, "more than %d tools",
                             TOOL_OFFER_MAX);
        r = add(self, value, fault);
        if (r < 0)
            return r;
    }
    *ret_offer = take_ptr(self);
    return 0;
}

bool tool_offer_is_gateways(const char *name)
{
    return strcmp(name, TOOL_PACKAGES) == 0 || strcmp(name, TOOL_FETCH) == 0;
}

bool tool_offer_is_server(const char *provider)
{
    return strncmp(provider, TOOL_SERVER_PREFIX, strlen(TOOL_SERVER_PREFIX))
               == 0
           || tool_offer_is_gateways(provider);
}

size_t tool_offer_size(const tool_offer_t *self)
{
    return self->size;
}

const char *tool_offer_name(const tool_offer_t *self, size_t index)
{
    return self->tools[index].name;
}

bool tool_offer_has(const tool_offer_t *self, const char *name)
{
    for (size_t i = 0; i < self->size; i++)
        if (strcmp(self->tools[i].name, name) == 0)
            return true;
    return false;
}

void tool_offer_begin(const tool_offer_t *self, size_t index, buffer_t *out)
{
    const tool_t *tool = &self->tools[index];

    jspan_write_object(out, NULL);
    jspan_write_text(out, "name", tool->name);
    if (tool->description.size)
        jspan_write_raw(out, "description", buffer_bytes(&tool->description));
    jspan_write_raw(out, "inputSchema", buffer_bytes(&tool->schema));
}
