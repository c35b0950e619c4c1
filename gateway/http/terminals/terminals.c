/* See terminals.h. */
#include "gateway/http/terminals/terminals.h"

#include "base/clock.h"
#include "gateway/http/core/model.h"
#include "gateway/http/subscriptions/resume_state.h"

#include <string.h>

bool terminals_is_name(const char *name)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    size_t size = strspn(name, letters);

    return size > 0 && size <= WEB_TERMINAL_NAME_MAX && !name[size];
}

static void destroy(void **item_p)
{
    web_terminal_destroy((web_terminal_t **) item_p);
}

void terminals_load(http_t *http)
{
    json_t *note;
    const char *name;
    void *next;

    http->terminals = zhashx_new();
    zhashx_set_destructor(http->terminals, destroy);
    json_object_foreach_safe(http->kept.terminals, next, name, note)
    {
        const web_terminal_place_t place = {
            name, model_text(note, "session"),
            json_integer_value(json_object_get(note, "process")),
            model_text(note, "who")};
        if (terminals_is_name(name) && *place.session && place.process > 0)
            zhashx_insert(http->terminals, name,
                          web_terminal_new(http, &place));
        else
            json_object_del(http->kept.terminals, name);
    }
}

void terminals_destroy(http_t *http)
{
    zhashx_destroy(&http->terminals);
}

static char *free_name(const http_t *http)
{
    for (unsigned number = 1;; number++) {
        cleanup_free char *name = mem_format("%u", number);
        if (!terminals_find(http, name))
            return take_ptr(name);
    }
}

web_terminal_t *terminals_add(http_t *http, const web_terminal_place_t *place)
{
    web_terminal_place_t named = *place;
    cleanup_free char *number = NULL;
    web_terminal_t *terminal;

    terminals_sweep(http);
    if (!named.name)
        named.name = number = free_name(http);
    terminal = web_terminal_new(http, &named);
    zhashx_update(http->terminals, named.name, terminal);
    json_object_set_new(http->kept.terminals, named.name,
                        json_pack("{s:s, s:I, s:s}", "session", named.session,
                                  "process", named.process, "who", named.who));
    resume_state_save(http);
    web_terminal_follow(terminal);
    return terminal;
}

web_terminal_t *terminals_find(const http_t *http, const char *name)
{
    web_terminal_t *terminal = zhashx_lookup(http->terminals, name);

    return terminal && !web_terminal_is_over(terminal) ? terminal : NULL;
}

json_t *terminals_list(http_t *http)
{
    json_t *models = json_array();
    json_t *note;
    const char *name;

    terminals_sweep(http);
    json_object_foreach(http->kept.terminals, name, note) json_array_append_new(
        models, web_terminal_describe(terminals_find(http, name)));
    return models;
}

void terminals_sweep(http_t *http)
{
    json_t *note;
    const char *name;
    void *next;
    bool has_changed = false;

    json_object_foreach_safe(http->kept.terminals, next, name, note)
    {
        if (terminals_find(http, name))
            continue;
        zhashx_delete(http->terminals, name);
        json_object_del(http->kept.terminals, name);
        has_changed = true;
    }
    if (has_changed)
        resume_state_save(http);
}

void terminals_on_tick(http_t *http)
{
    int64_t now = clock_monotonic_ms();

    for (web_terminal_t *at = zhashx_first(http->terminals); at;
         at = zhashx_next(http->terminals))
        web_terminal_on_tick(at, now);
    terminals_sweep(http);
}
