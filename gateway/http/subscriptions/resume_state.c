/* See resume_state.h. The file is written when a Jupyter session or terminal
 * changes, and at an orderly end. A gateway that was killed loses the cursors,
 * and its clients get only later messages. */
#include "gateway/http/subscriptions/resume_state.h"

#include "base/fd.h"
#include "base/log.h"

#include <errno.h>
#include <string.h>

#define FILE_NAME   "http.json"
#define FILE_MAX    (16u << 20)
#define CURSORS_MAX 4096 /* beyond it the oldest are removed */

static char *path_of(const http_t *http)
{
    return mem_format("%s/%s", http->options->state_dir, FILE_NAME);
}

static json_t *object_or_new(json_t *whole, const char *name)
{
    json_t *object = json_object_get(whole, name);

    return json_is_object(object) ? json_incref(object) : json_object();
}

void resume_state_load(http_t *http)
{
    cleanup_free char *path = path_of(http);
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    fault_t fault;
    int r = file_read(path, FILE_MAX, &content, &fault);

    if (r < 0 && r != -ENOENT)
        log_warning("http: %s", fault.text);
    json_auto_t *whole =
        json_loadb(content.size ? (const char *) content.data : "{}",
                   content.size ? content.size : 2, 0, NULL);
    http->kept.sessions = object_or_new(whole, "sessions");
    http->kept.cursors = object_or_new(whole, "cursors");
    http->kept.terminals = object_or_new(whole, "terminals");
    http->kept.sandboxes = object_or_new(whole, "sandboxes");
}

void resume_state_save(http_t *http)
{
    cleanup_free char *path = path_of(http);
    json_auto_t *whole =
        json_pack("{s:O,s:O,s:O,s:O}", "sessions", http->kept.sessions,
                  "cursors", http->kept.cursors, "terminals",
                  http->kept.terminals, "sandboxes", http->kept.sandboxes);
    cleanup_free char *text = json_dumps(whole, JSON_COMPACT);
    fault_t fault;

    if (text && file_write_atomic(path, 0600, text, strlen(text), &fault) < 0)
        log_warning("http: %s", fault.text);
}

void resume_state_keep_cursor(http_t *http, const char *session,
                              const char *client, const resume_cursor_t *cursor)
{
    cleanup_free char *key = mem_format("%s %s", session, client);

    /* Insertion order: the first one is the oldest. */
    (void) json_object_del(http->kept.cursors, key);
    while (json_object_size(http->kept.cursors) >= CURSORS_MAX)
        json_object_del(
            http->kept.cursors,
            json_object_iter_key(json_object_iter(http->kept.cursors)));
    json_object_set_new(http->kept.cursors, key,
                        json_pack("[I,I,I,I]", (json_int_t) cursor->seq,
                                  (json_int_t) cursor->question,
                                  (json_int_t) cursor->partial,
                                  (json_int_t) cursor->bytes));
}

static uint64_t number_at(const json_t *list, size_t index)
{
    return (uint64_t) json_integer_value(json_array_get(list, index));
}

bool resume_state_take_cursor(http_t *http, const char *session,
                              const char *client, resume_cursor_t *ret_cursor)
{
    cleanup_free char *key = mem_format("%s %s", session, client);
    const json_t *kept = json_object_get(http->kept.cursors, key);

    if (json_array_size(kept) < 2)
        return false;
    /* An earlier version has written the first two. */
    *ret_cursor = (resume_cursor_t){.seq = number_at(kept, 0),
                                    .question = number_at(kept, 1),
                                    .partial = number_at(kept, 2),
                                    .bytes = number_at(kept, 3)};
    json_object_del(http->kept.cursors, key);
    return true;
}
