/* A request's head: method, path, query and header lines, as an exchange that
 * has nothing else yet. */
#ifndef HEARTH_GATEWAY_HTTP_CORE_REQUEST_HEAD_H
#define HEARTH_GATEWAY_HTTP_CORE_REQUEST_HEAD_H

#include "gateway/http/core/internal.h"

/* The request that has come. Given. */
exchange_t *head_read(http_t *http, struct lws *wsi);
/* The first line ends with a version of HTTP/1. Where the path or the query has
 * an encoded CR or LF libwebsockets takes it for that line's end: what it then
 * has of the path is not what was asked for, and there is no version. */
bool head_is_http(struct lws *wsi);
/* A header line's value; to be freed, NULL when there is none. */
char *head_text(struct lws *wsi, enum lws_token_indexes token);
/* UTF-8 without control characters: everything behind may rely on it. */
bool head_is_text(const char *text);
/* Its Content-Length. -1: there is none; -2: it is none that one can
 * believe. */
int64_t head_body_size(struct lws *wsi);

#endif
