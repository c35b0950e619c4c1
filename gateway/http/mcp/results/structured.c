/* See structured.h. Texts are plain, as in the view for models, but whole: only
 * the middle of a very long one is left out. */
#include "gateway/http/mcp/results/structured.h"

#include "base/utf8.h"
#include "gateway/http/core/model.h"
#include "gateway/http/mcp/calls/offer.h"
#include "gateway/http/mcp/protocol/resource_uri.h"
#include "notebooks/modelview/plain_line.h"
#include "notebooks/modelview/traceback.h"

#include <string.h>

#define CUT "\n… cut …\n"

/* --- Texts --- */

/* Returns the text, for the caller; the middle is left out if it is long. */
static json_t *take_text(buffer_t *text)
{
    cleanup_buffer buffer_t cut = BUFFER_EMPTY;
    size_t head, tail;

    if (text->size <= STRUCTURED_TEXT_MAX)
        return json_stringn(text->size ? (const char *) text->data : "",
                            text->size);
    head = utf8_cut(text->data, STRUCTURED_TEXT_MAX / 2);
    tail = utf8_cut(text->data, text->size - STRUCTURED_TEXT_MAX / 2);
    buffer_append(&cut, text->data, head);
    buffer_text(&cut, CUT);
    buffer_append(&cut, text->data + tail, text->size - tail);
    return json_stringn((const char *) cut.data, cut.size);
}

/* Appends a text of a kernel, in which a NUL is a character like others. */
static void write_plain(const json_t *value, buffer_t *out)
{
    const char *text = json_is_string(value) ? json_string_value(value) : "";
    size_t size = json_string_length(value);
    cleanup_plain_line plain_line_t line;

    plain_line_init(&line, text, size);
    while (plain_line_next(&line)) {
        buffer_append(out, line.line.bytes, line.line.size);
        buffer_text(out, "\n");
    }
    if (out->size && size && text[size - 1] != '\n')
        out->size--;
}

/* Returns what was written to a stream, for the caller. */
static json_t *stream_text(const json_t *outputs, const char *name)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    const json_t *output;
    size_t i;

    json_array_foreach(outputs, i, output)
    {
        if (strcmp(model_text(output, "output_type"), "stream") == 0
            && strcmp(model_text(output, "name"), name) == 0)
            write_plain(json_object_get(output, "text"), &text);
    }
    return take_text(&text);
}

/* Returns the text of the last expression, for the caller; NULL if the outputs
 * have no result. */
static json_t *result_text(const json_t *outputs)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    const json_t *output;
    size_t i;

    json_array_foreach(outputs, i, output)
    {
        if (strcmp(model_text(output, "output_type"), "execute_result") != 0)
            continue;
        write_plain(
            json_object_get(json_object_get(output, "data"), "text/plain"),
            &text);
        return take_text(&text);
    }
    return NULL;
}

/* --- Parts --- */

/* Returns the error's text, for the caller, with all that is in it. */
static json_t *value_of(const json_t *reply)
{
    json_t *value = json_object_get(reply, "evalue");

    return json_is_string(value) ? json_incref(value) : json_string("");
}

static json_t *error_of(const json_t *reply)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    const json_t *line;
    size_t i;

    if (!*model_text(reply, "ename"))
        return NULL;
    json_array_foreach(json_object_get(reply, "traceback"), i, line)
    {
        buffer_text(&text, text.size ? "\n" : "");
        write_plain(line, &text);
    }
    return json_pack("{s:s,s:o,s:o}", "name", model_text(reply, "ename"),
                     "value", value_of(reply), "traceback", take_text(&text));
}

static json_t *images_of(const char *session, const modelview_t *view)
{
    json_t *images = json_array();

    for (size_t i = 0; i < view->image_count; i++) {
        const modelview_image_t *at = &view->images[i];
        cleanup_free char *uri = resource_uri_of_output(session, at->ref);
        json_t *image =
            json_pack("{s:s,s:s,s:s,s:I}", "ref", at->ref, "uri", uri, "mime",
                      at->mime, "bytes", (json_int_t) at->size);

        if (at->width && at->height) {
            json_object_set_new(image, "width", json_integer(at->width));
            json_object_set_new(image, "height", json_integer(at->height));
        }
        json_array_append_new(images, image);
    }
    return images;
}

/* --- The whole --- */

json_t *structured_run(const char *session, const execution_view_t *view)
{
    json_t *namespace =
        json_object_get(json_object_get(view->metadata, "hearth"), "namespace");
    json_t *run = json_pack("{s:s,s:s,s:o,s:o,s:o,s:o}", "session", session,
                            "status", execution_view_status(view), "stdout",
                            stream_text(view->outputs, "stdout"), "stderr",
                            stream_text(view->outputs, "stderr"), "images",
                            images_of(session, &view->view), "state",
                            execution_view_state(view->loss));
    json_t *result = result_text(view->outputs);
    json_t *error = error_of(view->reply);
    size_t shown = traceback_last(view->outputs);

    if (view->cell)
        json_object_set_new(run, "cell", json_integer(view->cell));
    if (view->duration_us >= 0)
        json_object_set_new(run, "ms",
                            json_real((double) view->duration_us / 1000));
    if (result)
        json_object_set_new(run, "result", result);
    if (!error && shown) /* the cell has ended well nevertheless */
        error = error_of(json_array_get(view->outputs, shown - 1));
    if (error)
        json_object_set_new(run, "error", error);
    if (json_is_object(namespace))
        json_object_set(run, "namespace", namespace);
    return run;
}

json_t *structured_text(bool is_error, const json_t *blocks)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    const json_t *block;
    size_t i;

    json_array_foreach(blocks, i, block)
    {
        const json_t *part = json_object_get(block, "text");

        if (json_is_string(part))
            buffer_append(&text, json_string_value(part),
                          json_string_length(part));
    }
    return json_pack("{s:s,s:o}", "status", is_error ? "error" : "ok", "text",
                     take_text(&text));
}

json_t *structured_process(const json_t *process, buffer_t *out, buffer_t *err)
{
    json_t *code = json_object_get(process, "exit_code");
    json_t *members = json_pack("{s:O*,s:o*,s:o*}", "process",
                                json_object_get(process, "process"), "stdout",
                                take_text(out), "stderr", take_text(err));

    if (code)
        json_object_set(members, "exit_code", code);
    return members;
}

json_t *structured_schema(const struct mcp_offer *offer, const char *tool)
{
    json_auto_t *all = offer->output_schemas
                           ? json_loadb(offer->output_schemas,
                                        *offer->output_schemas_size, 0, NULL)
                           : NULL;
    bool is_run = strcmp(tool, "execute") == 0 || strcmp(tool, "wait") == 0;
    bool has_processes = strcmp(tool, "session") == 0;

    return json_incref(json_object_get(all, is_run          ? "run"
                                            : has_processes ? "session"
                                                            : "text"));
}
