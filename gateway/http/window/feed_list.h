/* The list of sessions as the feed shows it: one for all pages, asked of the
 * registry each second while a page has the topic, so that a page more costs
 * the sessions nothing. Each row has the version of its last change. */
#ifndef HEARTH_GATEWAY_HTTP_WINDOW_FEED_LIST_H
#define HEARTH_GATEWAY_HTTP_WINDOW_FEED_LIST_H

#include "gateway/http/core/http.h"

typedef struct feed_list feed_list_t;
typedef void feed_list_changed_fn(http_t *http);

/* Returns an empty list; `changed` is called when there is a new version. */
feed_list_t *feed_list_new(http_t *http, feed_list_changed_fn *changed);
void feed_list_destroy(feed_list_t **self_p);
/* Asks the registry, unless an answer is due. */
void feed_list_refresh(feed_list_t *self);
/* Forgets all: no page has the topic. */
void feed_list_clear(feed_list_t *self);
/* Takes what the registry replied. */
void feed_list_take(feed_list_t *self, const json_t *reply);

/* Returns the latest version; 0: nothing is known so far. */
uint64_t feed_list_version(const feed_list_t *self);
/* Appends a message with what has changed since a version; with all sessions
 * if that is 0, or so old that ends are forgotten. */
void feed_list_write(const feed_list_t *self, uint64_t since, buffer_t *out);

#endif
