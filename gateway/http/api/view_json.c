/* See view_json.h. */
#include "gateway/http/api/view_json.h"

#include "gateway/http/core/decimal.h"

#include <inttypes.h>
#include <string.h>

/* Reads which client a view is for. */
static bool read_way(exchange_t *exchange, read_hint_way_t *ret_way)
{
    const char *client = exchange_argument(exchange, "client");

    if (client && strcmp(client, "python") != 0) {
        exchange_fail(exchange, 400, "client must be python, not %.30s",
                      client);
        return false;
    }
    *ret_way = client ? READ_HINT_METHOD : READ_HINT_PATH;
    return true;
}

bool view_json_read_options(exchange_t *exchange,
                            execution_view_options_t *ret_options,
                            bool *ret_is_wanted)
{
    const char *view = exchange_argument(exchange, "view");
    const char *tokens = exchange_argument(exchange, "max_tokens");
    read_hint_t reading = {.session = exchange->request.parameters[0],
                           .base = exchange->http->base};
    uint64_t tokens_max = 0;

    if (view && strcmp(view, "model") != 0) {
        exchange_fail(exchange, 400, "view must be model, not %.30s", view);
        return false;
    }
    if (tokens
        && (!decimal_read(tokens, &tokens_max) || !tokens_max
            || tokens_max > MODELVIEW_TOKENS_MAX)) {
        exchange_fail(exchange, 400, "max_tokens must be a number, 1 to %d",
                      MODELVIEW_TOKENS_MAX);
        return false;
    }
    if (!read_way(exchange, &reading.way))
        return false;
    *ret_is_wanted = view != NULL;
    *ret_options =
        (execution_view_options_t){.reading = reading,
                                   .hint = "ask again",
                                   .tokens_max = (size_t) tokens_max};
    return true;
}

static json_t *image_json(const modelview_image_t *image)
{
    json_t *json = json_pack("{s:s,s:s,s:I}", "ref", image->ref, "mime",
                             image->mime, "bytes", (json_int_t) image->size);

    if (image->width && image->height) {
        json_object_set_new(json, "width", json_integer(image->width));
        json_object_set_new(json, "height", json_integer(image->height));
    }
    if (image->is_inline)
        json_object_set_new(json, "data",
                            json_stringn(image->base64, image->base64_size));
    return json;
}

json_t *view_json(const execution_view_t *view)
{
    const buffer_t *text = &view->view.text;
    json_t *namespace =
        json_object_get(json_object_get(view->metadata, "hearth"), "namespace");
    json_t *images = json_array();
    json_t *json;

    for (size_t i = 0; i < view->view.image_count; i++)
        json_array_append_new(images, image_json(&view->view.images[i]));
    json =
        json_pack("{s:o,s:b,s:s,s:I,s:o,s:o}", "text",
                  json_stringn((const char *) text->data, text->size),
                  "is_error", view->view.is_error, "status",
                  execution_view_status(view), "cell", (json_int_t) view->cell,
                  "images", images, "state", execution_view_state(view->loss));
    if (view->duration_us >= 0)
        json_object_set_new(json, "ms",
                            json_real((double) view->duration_us / 1000));
    if (json_is_object(namespace))
        json_object_set(json, "namespace", namespace);
    return json;
}

json_t *view_json_metadata(const json_t *metadata, const char *reader)
{
    json_t *copy =
        json_is_object(metadata) ? json_deep_copy(metadata) : json_object();
    json_t *own = json_object_get(copy, "hearth");

    if (!json_is_object(own)) {
        own = json_object();
        json_object_set_new(copy, "hearth", own);
    }
    json_object_set_new(own, "view", json_string("model"));
    json_object_set_new(own, "reader", json_string(reader));
    return copy;
}
