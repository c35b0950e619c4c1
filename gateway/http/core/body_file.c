/* See body_file.h. Two things are done with each byte: the scan says whether
 * the whole is one JSON object and where in it the byte stands, and the byte
 * goes to the model or to the content. The file has no name: whatever ends the
 * request ends it, too. */
#include "gateway/http/core/body_file.h"

#include "base/fd.h"
#include "gateway/http/contents/json_scanner.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Bytes of a name; each letter of "content" may be an escape of six. */
#define KEY_MAX 64

struct deposit {
    deposits_t *all;   /* borrowed */
    uint64_t reserved; /* bytes of it that are this one's */
    scan_t scan;
    buffer_t key;    /* the member's name, with its quotes */
    buffer_t model;  /* all but the content */
    buffer_t held;   /* of the content: what is not in the file */
    bool is_content; /* what comes next belongs to it */
    int file;        /* owned; -1: none yet */
    uint64_t filed;  /* bytes in it */
    int r;           /* negative: it cannot be kept, and why */
    fault_t fault;
};

deposit_t *deposit_new(deposits_t *all, uint64_t size)
{
    if (size > all->max - all->taken)
        return NULL;
    deposit_t *self = mem_new(sizeof *self);

    self->all = all;
    self->file = -1;
    self->reserved = size;
    all->taken += size;
    return self;
}

void deposit_destroy(deposit_t **self_p)
{
    deposit_t *self = *self_p;

    if (!self)
        return;
    if (self->file >= 0)
        close(self->file);
    self->all->taken -= self->reserved;
    buffer_reset(&self->held);
    buffer_reset(&self->model);
    buffer_reset(&self->key);
    free(self);
    *self_p = NULL;
}

/* --- The file --- */

static int reserve(deposit_t *self, uint64_t bytes)
{
    uint64_t more;

    if (bytes <= self->reserved)
        return 0;
    more = bytes - self->reserved;
    if (more > self->all->max - self->all->taken)
        return fault_set(&self->fault, EBUSY,
                         "too much is being uploaded at this time");
    self->all->taken += more;
    self->reserved = bytes;
    return 0;
}

static int put_away(deposit_t *self)
{
    int r = reserve(self, self->filed + self->held.size);

    if (r < 0)
        return r;
    if (self->file < 0)
        self->file =
            open(self->all->folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (self->file < 0)
        return fault_set(&self->fault, errno, "%s: %s", self->all->folder,
                         strerror(errno));
    r = fd_write_all(self->file, self->held.data, self->held.size,
                     &self->fault);
    self->filed += self->held.size;
    buffer_clear(&self->held);
    return r;
}

/* A second content takes the place of the first, as the last of two members
 * counts. */
static int begin_content(deposit_t *self, char byte)
{
    self->is_content = true;
    buffer_text(&self->model, byte == '"' ? "\"\"" : byte == '{' ? "{}" : "[]");
    buffer_clear(&self->held);
    if (self->file < 0)
        return 0;
    self->filed = 0;
    if (ftruncate(self->file, 0) < 0 || lseek(self->file, 0, SEEK_SET) < 0)
        return fault_set(&self->fault, errno, "%s: %s", self->all->folder,
                         strerror(errno));
    return 0;
}

/* --- What comes --- */

/* The value that begins is the content, and may be long. */
static bool is_begun(deposit_t *self, char byte)
{
    bool is_it =
        self->key.size < KEY_MAX && strchr("\"{[", byte) && byte
        && json_text_equals((json_span_t){.text = (const char *) self->key.data,
                                          .size = self->key.size,
                                          .kind = JSON_KIND_STRING},
                            "content");

    buffer_clear(&self->key);
    return is_it;
}

static void take_key(deposit_t *self, const char *bytes, size_t size)
{
    size_t room = KEY_MAX - self->key.size;

    /* The blanks before it, and what closes an object that has none. */
    if (self->key.size || *bytes == '"')
        buffer_append(&self->key, bytes, size < room ? size : room);
}

static int keep(deposit_t *self, const char *bytes, size_t size)
{
    buffer_t *to = self->is_content ? &self->held : &self->model;

    buffer_append(to, bytes, size);
    if (self->is_content)
        return to->size < DEPOSIT_MEMORY ? 0 : put_away(self);
    if (to->size <= DEPOSIT_MODEL)
        return 0;
    return fault_set(&self->fault, E2BIG,
                     "what stands beside the content has more than %u bytes",
                     DEPOSIT_MODEL);
}

/* One byte that may change where the next one stands. */
static int step(deposit_t *self, const char *byte)
{
    scan_place_t before = scan_place(&self->scan), after;
    int r = 0;

    scan_json(&self->scan, byte, 1);
    if (!scan_goes_on(&self->scan))
        return 0;
    after = scan_place(&self->scan);
    if (before == SCAN_KEY)
        take_key(self, byte, 1);
    else if (before == SCAN_VALUE && after != SCAN_VALUE
             && is_begun(self, *byte))
        r = begin_content(self, *byte);
    if (r == 0)
        r = keep(self, byte, 1);
    if (after == SCAN_BEHIND)
        self->is_content = false;
    return r;
}

void deposit_feed(deposit_t *self, const void *bytes, size_t size)
{
    const char *at = bytes, *end = at + size;

    while (at < end && self->r == 0 && scan_goes_on(&self->scan)) {
        size_t run = scan_run(&self->scan, at, (size_t) (end - at));
        if (!run) {
            self->r = step(self, at++);
            continue;
        }
        if (scan_place(&self->scan) == SCAN_KEY)
            take_key(self, at, run);
        self->r = keep(self, at, run);
        at += run;
    }
}

int deposit_end(deposit_t *self, json_span_t *ret_model, fault_t *fault)
{
    if (self->r == 0 && self->file >= 0 && self->held.size)
        self->r = put_away(self);
    if (self->r < 0) {
        *fault = self->fault;
        return self->r;
    }
    if (!scan_is_text(&self->scan))
        return fault_set(fault, EBADMSG, "it is no UTF-8");
    if (self->scan.is_no_json)
        return fault_set(fault, EBADMSG, "byte %llu belongs to no JSON object",
                         (unsigned long long) self->scan.at);
    if (!scan_is_object(&self->scan))
        return fault_set(fault, EBADMSG, "it ends before its object does");
    return json_check(self->model.data, self->model.size, ret_model, fault);
}

void deposit_lend(const deposit_t *self, content_t *ret_content)
{
    bool has_file = self->file >= 0;

    ret_content->has_file = has_file;
    ret_content->file = self->file;
    ret_content->file_size = self->filed;
    ret_content->span.text = (const char *) self->held.data;
    ret_content->span.size = has_file ? 0 : self->held.size;
}
