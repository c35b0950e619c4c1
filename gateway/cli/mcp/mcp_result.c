/* See mcp_result.h. */
#include "gateway/cli/mcp/mcp_result.h"

#include "base/utf8.h"
#include "protocol/jspan_write.h"
#include "protocol/limits.h"

#include <stdlib.h>
#include <string.h>

#define SENTENCE_MAX 60000 /* bytes of one; the gateway takes 64 KiB */

/* ---- results ---- */

/* Joins the texts of a tool's result; false if it has other blocks too. */
static bool join_texts(jspan_t blocks, buffer_t *ret_text)
{
    size_t cursor = 0;
    jspan_t block;

    while (jspan_each(blocks, &cursor, NULL, &block)) {
        jspan_t text = jspan_member(block, "text");

        if (!jspan_text_equals(jspan_member(block, "type"), "text")
            || !jspan_is(text, JSPAN_STRING))
            return false;
        if (ret_text->size)
            buffer_text(ret_text, "\n");
        jspan_text(text, ret_text); /* keeps a NUL in it */
    }
    return true;
}

/* Appends as much of a sentence as the gateway takes, and no half character. A
 * NUL would end it there: its symbol is in its place. */
static bool fail(const void *text, size_t size, buffer_t *ret_text)
{
    const char *at = text;

    if (size > SENTENCE_MAX)
        size = utf8_cut(text, SENTENCE_MAX);
    if (!size)
        buffer_text(ret_text, "the tool failed and does not say why");
    for (size_t i = 0; i < size; i++)
        buffer_append(ret_text, at[i] ? at + i : "\u2400", at[i] ? 1 : 3);
    return false;
}

static bool read_result(jspan_t result, buffer_t *ret_text)
{
    jspan_t value = jspan_member(result, "structuredContent");
    jspan_t blocks = jspan_member(result, "content");
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    bool is_text = jspan_is(blocks, JSPAN_ARRAY) && join_texts(blocks, &text);

    if (jspan_is(jspan_member(result, "isError"), JSPAN_TRUE))
        return fail(text.data, text.size, ret_text);
    if (jspan_is(value, JSPAN_OBJECT))
        buffer_append(ret_text, value.text, value.size);
    else if (is_text)
        jspan_quote(ret_text, text.data, text.size);
    else if (jspan_is(blocks, JSPAN_ARRAY))
        buffer_append(ret_text, blocks.text, blocks.size);
    else
        buffer_text(ret_text, "the server's answer has no result");
    return jspan_is(value, JSPAN_OBJECT) || jspan_is(blocks, JSPAN_ARRAY);
}

bool mcp_result_read(jspan_t answer, buffer_t *ret_text)
{
    jspan_t result = jspan_member(answer, "result");
    jspan_t message = jspan_member(jspan_member(answer, "error"), "message");
    cleanup_buffer buffer_t sentence = BUFFER_EMPTY;

    if (jspan_is(result, JSPAN_OBJECT))
        return read_result(result, ret_text);
    if (jspan_is(message, JSPAN_STRING))
        jspan_text(message, &sentence);
    return fail(sentence.data, sentence.size, ret_text);
}

/* ---- tools ---- */

/* Reads a name, NULL if no tool can have it: one with a NUL neither. */
static const char *read_name(jspan_t value, buffer_t *name)
{
    const char *text;
    size_t size;

    buffer_clear(name);
    if (!jspan_is(value, JSPAN_STRING))
        return NULL;
    jspan_text(value, name);
    text = (const char *) name->data;
    size = strspn(text, "abcdefghijklmnopqrstuvwxyz"
                        "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./");

    return size && size <= TOOL_NAME_MAX && size == name->size ? text : NULL;
}

static void write_tool(const char *name, jspan_t tool, buffer_t *out)
{
    jspan_t description = jspan_member(tool, "description");
    jspan_t schema = jspan_member(tool, "inputSchema");

    jspan_write_object(out, NULL);
    jspan_write_text(out, "name", name);
    if (jspan_is(description, JSPAN_STRING))
        jspan_write_raw(out, "description",
                        (bytes_t){description.text, description.size});
    if (jspan_is(schema, JSPAN_OBJECT))
        jspan_write_raw(out, "inputSchema",
                        (bytes_t){schema.text, schema.size});
    jspan_write_end(out);
}

static void read_page(jspan_t page, mcp_result_wanted_fn *is_wanted, void *arg,
                      mcp_result_tools_t *found, buffer_t *out)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    size_t cursor = 0;
    jspan_t tool;

    while (jspan_each(page, &cursor, NULL, &tool)) {
        const char *name = read_name(jspan_member(tool, "name"), &text);

        if (!name) {
            found->left_out++;
        } else if (is_wanted(arg, name)) {
            found->count++;
            write_tool(name, tool, out);
        }
    }
}

mcp_result_tools_t mcp_result_tools(const buffer_t *pages,
                                    mcp_result_wanted_fn *is_wanted, void *arg,
                                    buffer_t *out)
{
    mcp_result_tools_t found = {0};
    size_t at = 0;

    buffer_text(out, "[");
    while (at < pages->size) {
        const uint8_t *line = pages->data + at;
        const uint8_t *end = memchr(line, '\n', pages->size - at);
        size_t size = end ? (size_t) (end - line) : pages->size - at;
        jspan_t page = {0};
        fault_t ignored;

        at += size + 1;
        if (jspan_check_portable(line, size, &page, &ignored) == 0)
            read_page(page, is_wanted, arg, &found, out);
    }
    buffer_text(out, "]");
    return found;
}
