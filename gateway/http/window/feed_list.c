/* See feed_list.h. A session that is no longer there leaves its row for a
 * while, without a text. Belongs to the thread of HTTP. */
#include "gateway/http/window/feed_list.h"

#include "gateway/http/core/model.h"
#include "gateway/http/rpc/registry_client.h"
#include "gateway/http/window/feed_message.h"
#include "protocol/jspan_write.h"

#include <string.h>

#define ENDED_MAX 1000 /* rows of sessions that have ended */

typedef struct {
    char *text;       /* owned; the session as JSON; NULL: it has ended */
    uint64_t version; /* of the last change */
    uint64_t round;   /* of the answer that had it last */
} row_t;

struct feed_list {
    http_t *http; /* borrowed */
    feed_list_changed_fn *changed;
    zhashx_t *rows;     /* owned; id -> row_t */
    uint64_t version;   /* of the last change of all */
    uint64_t forgotten; /* of the newest row that was removed */
    uint64_t round;     /* answers so far */
    size_t ended_count; /* rows without a text */
    bool is_asking;
};

static void destroy_row(void **row_p)
{
    row_t *row = *row_p;

    free(row->text);
    free(row);
    *row_p = NULL;
}

feed_list_t *feed_list_new(http_t *http, feed_list_changed_fn *changed)
{
    feed_list_t *self = mem_new(sizeof *self);

    self->http = http;
    self->changed = changed;
    self->rows = zhashx_new();
    zhashx_set_destructor(self->rows, destroy_row);
    return self;
}

void feed_list_destroy(feed_list_t **self_p)
{
    feed_list_t *self = *self_p;

    if (!self)
        return;
    registry_client_forget(self->http, self);
    zhashx_destroy(&self->rows);
    free(self);
    *self_p = NULL;
}

/* ---- what the registry replies ---- */

static void take_row(feed_list_t *self, const json_t *session)
{
    const char *id = model_text(session, "id");
    cleanup_free char *text = json_dumps(session, JSON_COMPACT);
    row_t *row = zhashx_lookup(self->rows, id);

    if (!row) {
        row = mem_new(sizeof *row);
        zhashx_insert(self->rows, id, row);
    } else if (!row->text) {
        self->ended_count--;
    }
    row->round = self->round;
    if (row->text && text && strcmp(row->text, text) == 0)
        return;
    free(row->text);
    row->text = take_ptr(text);
    row->version = self->version + 1;
}

/* Rows that the last answer does not have are of sessions that have ended. */
static void end_rows(feed_list_t *self)
{
    for (row_t *row = zhashx_first(self->rows); row;
         row = zhashx_next(self->rows)) {
        if (!row->text || row->round == self->round)
            continue;
        free(take_ptr(row->text));
        row->version = self->version + 1;
        self->ended_count++;
    }
}

/* Forgets the ends when there are many: a page that has missed some gets the
 * whole list. */
static void forget_ended(feed_list_t *self)
{
    zlistx_t *ids;

    if (self->ended_count <= ENDED_MAX)
        return;
    ids = zhashx_keys(self->rows);
    for (const char *id = zlistx_first(ids); id; id = zlistx_next(ids)) {
        const row_t *row = zhashx_lookup(self->rows, id);
        if (row->text)
            continue;
        if (row->version > self->forgotten)
            self->forgotten = row->version;
        zhashx_delete(self->rows, id);
    }
    zlistx_destroy(&ids);
    self->ended_count = 0;
}

void feed_list_take(feed_list_t *self, const json_t *reply)
{
    const json_t *sessions = json_object_get(reply, "sessions"), *session;
    bool has_changed = !self->round;
    size_t i;

    if (!json_is_array(sessions))
        return;
    self->round++;
    json_array_foreach(sessions, i, session)
    {
        take_row(self, session);
    }
    end_rows(self);
    for (const row_t *row = zhashx_first(self->rows); row && !has_changed;
         row = zhashx_next(self->rows))
        has_changed = row->version > self->version;
    if (!has_changed)
        return;
    self->version++;
    forget_ended(self);
    self->changed(self->http);
}

static void on_reply(void *owner, const json_t *reply)
{
    feed_list_t *self = owner;

    self->is_asking = false;
    feed_list_take(self, reply);
}

void feed_list_refresh(feed_list_t *self)
{
    if (!self->is_asking)
        self->is_asking = registry_client_call(
            self->http, self, "session_list_request", json_object(), on_reply);
}

void feed_list_clear(feed_list_t *self)
{
    zhashx_purge(self->rows);
    self->version = self->forgotten = self->round = 0;
    self->ended_count = 0;
}

/* ---- what pages get ---- */

uint64_t feed_list_version(const feed_list_t *self)
{
    return self->version;
}

void feed_list_write(const feed_list_t *self, uint64_t since, buffer_t *out)
{
    bool is_whole = !since || since < self->forgotten;

    jspan_write_begin(out);
    jspan_write_text(out, "topic", FEED_MESSAGE_LIST);
    jspan_write_bool(out, "snapshot", is_whole);
    jspan_write_array(out, "sessions");
    for (const row_t *row = zhashx_first(self->rows); row;
         row = zhashx_next(self->rows))
        if (row->text && (is_whole || row->version > since))
            jspan_write_raw(out, NULL, text_bytes(row->text));
    jspan_write_end_array(out);
    jspan_write_array(out, "ended");
    for (const row_t *row = zhashx_first(self->rows); row && !is_whole;
         row = zhashx_next(self->rows))
        if (!row->text && row->version > since)
            jspan_write_text(out, NULL, zhashx_cursor(self->rows));
    jspan_write_end_array(out);
    jspan_write_end(out);
}
