/* More of an output, by the reference from a view for models: its lines by
 * number or by a pattern, or an image under its own type. Any cell of any
 * client can be read, also of a session that is gone. */
#include "gateway/http/api/jupyter_models.h"
#include "gateway/http/api/route.h"
#include "gateway/http/api/view_json.h"
#include "gateway/http/core/decimal.h"
#include "gateway/http/core/model.h"
#include "gateway/http/rpc/registry_client.h"

#include <errno.h>
#include <string.h>

static bool read_line_number(exchange_t *exchange, const char *name,
                             unsigned long long *ret_number)
{
    const char *text = exchange_argument(exchange, name);
    uint64_t number = 0;

    if (text && !decimal_read(text, &number)) {
        exchange_fail(exchange, 400, "%s must be a number", name);
        return false;
    }
    *ret_number = number;
    return true;
}

static bool read_range(exchange_t *exchange, modelview_range_t *ret_range)
{
    execution_view_options_t options;
    modelview_range_t range = {.grep = exchange_argument(exchange, "grep")};
    bool is_wanted;

    if (!view_json_read_options(exchange, &options, &is_wanted)
        || !read_line_number(exchange, "from_line", &range.from_line)
        || !read_line_number(exchange, "lines", &range.lines))
        return false;
    range.tokens_max = options.tokens_max;
    range.way = options.reading.way;
    *ret_range = range;
    return true;
}

static void answer_image(exchange_t *exchange, const modelview_image_t *image)
{
    cleanup_buffer buffer_t bytes = BUFFER_EMPTY;

    if (modelview_image_bytes(image, &bytes))
        exchange_bytes(exchange, 200, image->mime, bytes.data, bytes.size);
    else
        exchange_fail(exchange, 404, "%s is not an image", image->ref);
}

static void on_read(exchange_t *exchange, const json_t *reply)
{
    const json_t *session = json_object_get(reply, "session");
    const char *ref = exchange->request.parameters[1];
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    json_auto_t *outputs = NULL;
    modelview_image_t image;
    modelview_range_t range;
    executions_t *runs;
    fault_t fault;
    int r;

    if (!registry_client_is_ok(exchange, reply)
        || !read_range(exchange, &range))
        return;
    runs = executions_of(exchange->http, model_text(session, "id"),
                         model_text(session, "journal"), &fault);
    if (!runs) {
        if (fault.code == ENOENT)
            exchange_fail(exchange, 404,
                          "The session has no journal, or it was removed");
        else
            executions_fail(exchange, &fault);
        return;
    }
    if (execution_view_image(exchange->http, runs, ref, &image, &outputs)
        == 0) {
        /* The type must outlive the answer, so an image's type is a
         * constant. */
        answer_image(exchange, &image);
        return;
    }
    r = execution_view_read(exchange->http, runs, ref, &range, &text);
    if (r < 0)
        exchange_fail(exchange, r == -EINVAL ? 400 : 404, "%.200s",
                      (const char *) text.data);
    else
        exchange_bytes(exchange, 200, "text/plain; charset=utf-8", text.data,
                       text.size);
}

static void read_output(exchange_t *exchange)
{
    registry_client_ask(exchange, "session_show_request",
                        jupyter_model_id(exchange), on_read);
}

const route_t output_routes[] = {
    {METHOD_GET, "/hearth/sessions/{}/outputs/{}", SCOPE_OBSERVE, read_output},
    {0},
};
