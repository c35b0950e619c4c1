/* See e2b_door.h. A procedure's path is that of the door and two segments, the
 * first of which has a dot: /e2b/process.Process/Start. */
#include "gateway/http/e2b/e2b_door.h"

#include "gateway/http/api/route.h"
#include "gateway/http/e2b/connect_frame.h"

#include <string.h>
#include <strings.h>

/* The words of the Connect protocol. */
static const struct {
    int status;
    const char *word;
} words[] = {
    {400, "invalid_argument"},   {401, "unauthenticated"},
    {403, "permission_denied"},  {404, "not_found"},
    {405, "unimplemented"},      {409, "already_exists"},
    {410, "not_found"},          {413, "resource_exhausted"},
    {415, "invalid_argument"},   {429, "resource_exhausted"},
    {500, "internal"},           {501, "unimplemented"},
    {502, "unavailable"},        {503, "unavailable"},
    {507, "resource_exhausted"},
};

static bool is_procedure(const char *path)
{
    const char *service;

    if (strlen(path) < sizeof E2B_PATH)
        return false;
    service = path + sizeof E2B_PATH;
    return memchr(service, '.', strcspn(service, "/")) != NULL;
}

const char *e2b_door_word(int status)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i].status == status)
            return words[i].word;
    return "unknown";
}

json_t *e2b_door_code(const char *path, int status)
{
    return is_procedure(path) ? json_string(e2b_door_word(status))
                              : json_integer(status);
}

static bool has_type(const exchange_t *exchange, const char *type)
{
    const char *given = exchange->request.headers[HEADER_CONTENT_TYPE];
    size_t size = strlen(type);

    return given && strncasecmp(given, type, size) == 0
           && strchr("; \t", given[size]);
}

bool e2b_door_is_json(exchange_t *exchange)
{
    if (has_type(exchange, "application/json"))
        return true;
    exchange_fail(exchange, 415,
                  "Only JSON is spoken here: the Content-Type "
                  "must be application/json");
    return false;
}

bool e2b_door_is_stream(exchange_t *exchange)
{
    if (has_type(exchange, CONNECT_STREAM))
        return true;
    exchange_fail(exchange, 415,
                  "This procedure is a stream: the Content-Type must "
                  "be " CONNECT_STREAM);
    return false;
}

/* Returns true if an error is the last message of a stream, because the
 * stream's clients look nowhere else. A client that was not let in gets a
 * status, and so does a stream to a procedure that has none. */
static bool fails_in_stream(const exchange_t *exchange, int status)
{
    return exchange->is_dispatched && status != 401 && status != 403
           && status != 415 && is_procedure(exchange->request.path)
           && has_type(exchange, CONNECT_STREAM);
}

static void fail(exchange_t *exchange, int status, const char *sentence)
{
    cleanup_buffer buffer_t last = BUFFER_EMPTY;
    json_t *error;

    if (fails_in_stream(exchange, status)) {
        connect_frame_write_end(e2b_door_word(status), sentence, &last);
        exchange_bytes(exchange, 200, CONNECT_STREAM, last.data, last.size);
        return;
    }
    error = exchange_error(status, sentence);
    json_object_set_new(error, "code",
                        e2b_door_code(exchange->request.path, status));
    exchange_json(exchange, status, error);
}

const door_t e2b_door = {.path = E2B_PATH, .has_keys = true, .fail = fail};
