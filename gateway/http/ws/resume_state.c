/* See resume_state.h. The file is written when a Jupyter session changes and at
 * an orderly end: a gateway that was killed forgets cursors, and its clients
 * see what comes from then on. */
#include "gateway/http/ws/resume_state.h"

#include "base/fd.h"
#include "base/log.h"

#include <errno.h>
#include <string.h>

#define FILE_NAME   "http.json"
#define FILE_MAX    (16u << 20)
#define CURSORS_MAX 4096 /* the oldest give way */

static char *path_of(const http_t *http)
{
    return mem_format("%s/%s", http->options->state_dir, FILE_NAME);
}

static json_t *object_or_new(json_t *whole, const char *name)
{
    json_t *object = json_object_get(whole, name);

    return json_is_object(object) ? json_incref(object) : json_object();
}

void notes_load(http_t *http)
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
    http->sessions = object_or_new(whole, "sessions");
    http->cursors = object_or_new(whole, "cursors");
}

void notes_save(http_t *http)
{
    cleanup_free char *path = path_of(http);
    json_auto_t *whole = json_pack("{s:O,s:O}", "sessions", http->sessions,
                                   "cursors", http->cursors);
    cleanup_free char *text = json_dumps(whole, JSON_COMPACT);
    fault_t fault;

    if (text && file_write_atomic(path, 0600, text, strlen(text), &fault) < 0)
        log_warning("http: %s", fault.text);
}

void notes_keep_cursor(http_t *http, const char *session, const char *viewer,
                       uint64_t cursor, uint64_t question)
{
    cleanup_free char *key = mem_format("%s %s", session, viewer);

    /* Insertion order: the first one is the oldest. */
    (void) json_object_del(http->cursors, key);
    while (json_object_size(http->cursors) >= CURSORS_MAX)
        json_object_del(http->cursors,
                        json_object_iter_key(json_object_iter(http->cursors)));
    json_object_set_new(
        http->cursors, key,
        json_pack("[I,I]", (json_int_t) cursor, (json_int_t) question));
}

bool notes_take_cursor(http_t *http, const char *session, const char *viewer,
                       uint64_t *ret_cursor, uint64_t *ret_question)
{
    cleanup_free char *key = mem_format("%s %s", session, viewer);
    json_t *kept = json_object_get(http->cursors, key);
    json_int_t cursor, question;

    if (json_unpack(kept, "[I,I]", &cursor, &question) < 0)
        return false;
    *ret_cursor = (uint64_t) cursor;
    *ret_question = (uint64_t) question;
    json_object_del(http->cursors, key);
    return true;
}
