/* Reads a request's head: method, path, query and header lines. The result is
 * an exchange without a body. */
#ifndef HEARTH_GATEWAY_HTTP_CORE_REQUEST_HEAD_H
#define HEARTH_GATEWAY_HTTP_CORE_REQUEST_HEAD_H

#include "gateway/http/core/http.h"

/* Returns the request that has come, which the caller owns. */
exchange_t *request_head_read(http_t *http, struct lws *wsi);
/* Returns true if the first line ends with a version of HTTP/1. libwebsockets
 * takes an encoded CR or LF in the path or the query for that line's end: then
 * it has only a part of the path, and no version. */
bool request_head_is_http(struct lws *wsi);
bool request_head_is_http_1_0(struct lws *wsi);
/* Returns a sentence about a header line that is wrong although libwebsockets
 * accepts it; NULL if no line is wrong. */
const char *request_head_flaw(struct lws *wsi);
/* Returns a header line's value, to be freed; NULL if the request does not have
 * the line. */
char *request_head_text(struct lws *wsi, enum lws_token_indexes token);
/* Returns true if the text is UTF-8 without control characters, which all later
 * code relies on. */
bool request_head_is_text(const char *text);
/* Returns the Content-Length. -1: no such header; -2: not a valid number.
 */
int64_t request_head_body_size(struct lws *wsi);

#endif
