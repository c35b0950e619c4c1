/* A folder "recordings" with the notebook of each session, live or gone, in its
 * current state. Notebooks are views of journals and cannot be written. */
#include "gateway/http/contents/contents_recordings.h"

#include "base/clock.h"
#include "gateway/http/core/model.h"
#include "gateway/http/rpc/export_worker.h"
#include "gateway/http/rpc/registry_client.h"

#include <string.h>

static json_t *notebook_model(const json_t *session)
{
    const char *active = model_text(session, "last_activity");
    const char *created = model_text(session, "created");
    cleanup_free char *path = mem_format(
        CONTENTS_RECORDINGS "/%s" CONTENTS_SUFFIX, model_text(session, "id"));

    return contents_model(path, "notebook", created, *active ? active : created,
                          false);
}

/* --- The folder --- */

static void on_list(exchange_t *exchange, const json_t *reply)
{
    char started[CLOCK_ISO_SIZE];
    json_t *folder, *entries;
    const json_t *session;
    size_t i;

    if (!registry_client_is_ok(exchange, reply))
        return;
    clock_iso(exchange->http->clocks.started_us, started);
    folder = contents_model(CONTENTS_RECORDINGS, "directory", started, started,
                            false);
    entries = json_array();
    json_array_foreach(json_object_get(reply, "sessions"), i, session)
        json_array_append_new(entries, notebook_model(session));
    contents_set_entries(folder, entries);
    exchange_json(exchange, 200, folder);
}

void recordings_show_folder(exchange_t *exchange, const contents_wish_t *wish)
{
    char started[CLOCK_ISO_SIZE];

    clock_iso(exchange->http->clocks.started_us, started);
    if (wish->content)
        registry_client_ask(exchange, "session_list_request",
                            json_pack("{s:b}", "all", true), on_list);
    else
        exchange_json(exchange, 200,
                      contents_model(CONTENTS_RECORDINGS, "directory", started,
                                     started, false));
}

/* --- A notebook --- */

/* Returns the requested session; NULL if only the beginning of its id equals.
 */
static const json_t *session_of(exchange_t *exchange, const json_t *reply)
{
    contents_path_t place = contents_path_of(contents_path(exchange));
    const json_t *session = model_asked(reply, place.id);

    if (!registry_client_is_ok(exchange, reply))
        return NULL;
    if (!session)
        contents_absent(exchange);
    return session;
}

static void on_notebook(exchange_t *exchange, const json_t *reply)
{
    const json_t *session = session_of(exchange, reply);
    contents_wish_t wish;

    if (!session || !contents_wish(exchange, &wish))
        return;
    if (!wish.content && !wish.hash)
        exchange_json(exchange, 200, notebook_model(session));
    else
        export_worker_ask(
            exchange, wish.content ? EXPORT_WORKER_MODEL : EXPORT_WORKER_FACTS,
            session, notebook_model(session), wish.hash);
}

static void on_download(exchange_t *exchange, const json_t *reply)
{
    const json_t *session = session_of(exchange, reply);

    if (session)
        export_worker_ask(exchange, EXPORT_WORKER_FILE, session, NULL, false);
}

static void ask_session(exchange_t *exchange, const char *id,
                        registry_client_reply_fn *fn)
{
    registry_client_ask(exchange, "session_show_request",
                        json_pack("{s:s}", "id", id), fn);
}

void recordings_show(exchange_t *exchange, const contents_path_t *place,
                     const contents_wish_t *wish)
{
    if (wish->type && strcmp(wish->type, "notebook") != 0)
        contents_refuse(exchange, 400, "bad type",
                        "%.200s is a notebook, not a %s",
                        contents_path(exchange), wish->type);
    else
        ask_session(exchange, place->id, on_notebook);
}

void recordings_download(exchange_t *exchange, const contents_path_t *place)
{
    ask_session(exchange, place->id, on_download);
}
