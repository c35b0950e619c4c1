/* See http_reply.h. The gateway is the user's own. Its bytes are checked
 * nevertheless, because another program may listen at its port. */
#include "gateway/cli/client/http_reply.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void http_reply_clear(http_reply_t *self)
{
    buffer_reset(&self->head);
    buffer_reset(&self->body);
    *self = (http_reply_t){0};
}

/* Returns the value of a line if it has that name, without blanks before
 * it. */
static const char *value_of(const char *line, const char *name)
{
    size_t size = strlen(name);

    if (strncasecmp(line, name, size) != 0 || line[size] != ':')
        return NULL;
    return line + size + 1 + strspn(line + size + 1, " \t");
}

static int read_line(http_reply_t *self, const char *line)
{
    const char *value;
    char *end;

    if ((value = value_of(line, "content-length"))) {
        self->left = strtoull(value, &end, 10);
        if (*end || end == value || self->left > HTTP_REPLY_BODY_MAX)
            return -EBADMSG;
    } else if ((value = value_of(line, "transfer-encoding"))) {
        self->is_chunked = strcasecmp(value, "chunked") == 0;
    } else if ((value = value_of(line, "content-type"))) {
        self->is_stream = strncasecmp(value, "text/event-stream", 17) == 0;
    } else if ((value = value_of(line, "mcp-session-id"))) {
        snprintf(self->session, sizeof self->session, "%s", value);
    }
    return 0;
}

/* Reads the head once it is whole. */
static int read_head(http_reply_t *self)
{
    char *at = (char *) self->head.data, *rest = NULL;
    int r = 0;

    if (strncmp(at, "HTTP/1.", 7) != 0 || strlen(at) < 12)
        return -EBADMSG;
    self->status = (int) strtol(at + 9, NULL, 10);
    if (self->status < 200 || self->status > 599)
        return -EBADMSG;
    strtok_r(at, "\r\n", &rest);
    for (const char *line = strtok_r(NULL, "\r\n", &rest); line && r == 0;
         line = strtok_r(NULL, "\r\n", &rest))
        r = read_line(self, line);
    self->is_over = !self->is_chunked && !self->left;
    return r;
}

static int feed_body(http_reply_t *self, const void *bytes, size_t size)
{
    if (self->is_chunked) {
        int r =
            chunked_feed(&self->chunks, bytes, size,
                         HTTP_REPLY_BODY_MAX - self->body.size, &self->body);
        self->is_over = r == 1;
        return r < 0 ? -EBADMSG : 0;
    }
    if (size > self->left)
        return -EBADMSG;
    buffer_append(&self->body, bytes, size);
    self->left -= size;
    self->is_over = !self->left;
    return 0;
}

int http_reply_feed(http_reply_t *self, const void *bytes, size_t size)
{
    cleanup_buffer buffer_t rest = BUFFER_EMPTY;
    const char *end;
    int r;

    if (!size)
        return 0;
    if (self->status)
        return self->is_over ? -EBADMSG : feed_body(self, bytes, size);
    buffer_append(&self->head, bytes, size);
    end = strstr((const char *) self->head.data, "\r\n\r\n");
    if (!end)
        return self->head.size > HTTP_REPLY_HEAD_MAX ? -EBADMSG : 0;
    size_t whole = (size_t) (end - (const char *) self->head.data) + 4;
    buffer_append(&rest, self->head.data + whole, self->head.size - whole);
    self->head.size = whole;
    self->head.data[whole] = '\0';
    if ((r = read_head(self)) < 0)
        return r;
    return rest.size ? http_reply_feed(self, rest.data, rest.size) : 0;
}

/* Takes the data of the next event; comments and other lines are passed
 * over. */
static bool next_event(http_reply_t *self, buffer_t *out)
{
    static const char field[] = "data: ";

    for (;;) {
        const uint8_t *end =
            self->body.size ? memchr(self->body.data, '\n', self->body.size)
                            : NULL;
        if (!end)
            return false;
        size_t size = (size_t) (end - self->body.data);
        bool is_data = size > strlen(field)
                       && memcmp(self->body.data, field, strlen(field)) == 0;
        if (is_data)
            buffer_append(out, self->body.data + strlen(field),
                          size - strlen(field));
        buffer_consume(&self->body, size + 1);
        if (is_data)
            return true;
    }
}

bool http_reply_next(http_reply_t *self, buffer_t *out)
{
    if (self->is_stream)
        return next_event(self, out);
    if (!self->is_over || !self->body.size)
        return false;
    buffer_append(out, self->body.data, self->body.size);
    buffer_clear(&self->body);
    return true;
}

bool http_reply_is_for_now(const http_reply_t *self)
{
    return self->status == 429 || (self->status >= 502 && self->status <= 504);
}
