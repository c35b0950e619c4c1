/* See loss_notice.h. The names come from a kernel, and the loss goes to each
 * client that listens, so it is bounded. */
#include "gateway/session/core/loss_notice.h"

#include "base/clock.h"
#include "protocol/jspan_write.h"

#include <sodium.h>

#include <string.h>

#define READERS_ROOM 16 /* by which a list grows */

typedef struct {
    char (*list)[LOSS_NOTICE_READER_SIZE]; /* owned; the oldest first */
    size_t count;                          /* of them */
    size_t room;                           /* of the list, in readers */
} readers_t;

static void readers_reset(readers_t *self)
{
    free(self->list);
    *self = (readers_t){0};
}

struct loss_notice {
    kernel_losses_t losses; /* by the records so far */
    buffer_t foreseen;      /* the one that is about to happen; or empty */
    readers_t told;         /* they have got the last loss */
    readers_t expected;     /* they have got the one that is about to happen */
    readers_t promised;     /* they have got that a client restores it */
};

bool loss_notice_reader(const request_t *request,
                        char ret_reader[LOSS_NOTICE_READER_SIZE])
{
    cleanup_free char *name = NULL;
    uint8_t digest[16];

    if (!request->is_execute || request->silent)
        return false;
    name = request_reader(request);
    if (!name)
        return false;
    crypto_generichash(digest, sizeof digest, (const uint8_t *) name,
                       strlen(name), NULL, 0);
    sodium_bin2hex(ret_reader, LOSS_NOTICE_READER_SIZE, digest, sizeof digest);
    return true;
}

loss_notice_t *loss_notice_new(void)
{
    return mem_new(sizeof(loss_notice_t));
}

void loss_notice_destroy(loss_notice_t **self_p)
{
    loss_notice_t *self = *self_p;

    if (!self)
        return;
    kernel_losses_clear(&self->losses);
    buffer_reset(&self->foreseen);
    readers_reset(&self->told);
    readers_reset(&self->expected);
    readers_reset(&self->promised);
    free(self);
    *self_p = NULL;
}

/* --- The loss as JSON --- */

/* Writes the names that fit, and returns how many do not. Leaves out variables
 * that the kernel `losses` has, which is NULL if it has ended. */
static size_t write_names(const json_t *names, const kernel_losses_t *losses,
                          buffer_t *out)
{
    size_t begin = out->size, count = 0, more = 0, i;
    json_t *name;

    jspan_write_array(out, "names");
    json_array_foreach(names, i, name)
    {
        size_t before = out->size;

        if (losses && kernel_losses_has(losses, json_string_value(name)))
            continue;
        more++;
        if (count == LOSS_NOTICE_NAMES_MAX)
            continue;
        jspan_write_bytes(
            out, NULL,
            (bytes_t){json_string_value(name), json_string_length(name)});
        /* Two quotes, and a comma after another name, are not the name's. */
        if (out->size - before > LOSS_NOTICE_NAME_MAX + (count ? 3 : 2)
            || out->size - begin > LOSS_NOTICE_NAMES_SIZE)
            out->size = before;
        else
            count++;
    }
    jspan_write_end_array(out);
    return more - count;
}

static void write_loss(const kernel_loss_t *loss, const kernel_losses_t *losses,
                       bool is_reviving, buffer_t *out)
{
    const char *cause = loss->cause ? loss->cause : "";
    char at[CLOCK_ISO_SIZE];
    size_t more;

    jspan_write_begin(out);
    jspan_write_bytes(out, "cause",
                      (bytes_t){cause, strnlen(cause, LOSS_NOTICE_CAUSE_MAX)});
    if (loss->wall_us) {
        clock_iso(loss->wall_us, at);
        jspan_write_text(out, "at", at);
    }
    more = write_names(loss->names, losses, out);
    if (more)
        jspan_write_count(out, "more", more);
    if (loss->is_unread)
        jspan_write_bool(out, "incomplete", true);
    if (is_reviving)
        jspan_write_bool(out, "reviving", true);
    jspan_write_end(out);
}

/* --- The readers --- */

static bool knows(const readers_t *readers, const char *reader)
{
    for (size_t i = 0; i < readers->count; i++)
        if (strcmp(readers->list[i], reader) == 0)
            return true;
    return false;
}

static void add(readers_t *readers, const char *reader)
{
    if (knows(readers, reader) || strlen(reader) >= LOSS_NOTICE_READER_SIZE)
        return;
    if (readers->count == LOSS_NOTICE_READERS_MAX) {
        readers->count--;
        memmove(readers->list, readers->list + 1,
                readers->count * sizeof *readers->list);
    }
    if (readers->count == readers->room) {
        readers->room += READERS_ROOM;
        readers->list =
            mem_resize(readers->list, readers->room * sizeof *readers->list);
    }
    snprintf(readers->list[readers->count++], LOSS_NOTICE_READER_SIZE, "%s",
             reader);
}

static void drop(readers_t *readers, const char *reader)
{
    size_t i = 0;

    while (i < readers->count && strcmp(readers->list[i], reader) != 0)
        i++;
    if (i == readers->count)
        return;
    readers->count--;
    memmove(readers->list + i, readers->list + i + 1,
            (readers->count - i) * sizeof *readers->list);
}

/* --- The records --- */

bool loss_notice_add(loss_notice_t *self, const journal_record_t *record)
{
    uint64_t before = self->losses.loss.seq;

    kernel_losses_add(&self->losses, record);
    if (self->losses.loss.seq == before || !self->losses.loss.seq)
        return false;
    readers_reset(&self->told);
    self->told = self->expected;
    self->expected = (readers_t){0};
    readers_reset(&self->promised);
    return true;
}

void loss_notice_miss(loss_notice_t *self)
{
    kernel_losses_miss(&self->losses);
}

bool loss_notice_has_kernel(const loss_notice_t *self)
{
    return self->losses.was_ready;
}

/* --- A loss that is about to happen --- */

void loss_notice_foresee(loss_notice_t *self, int64_t wall_us,
                         const char *detail, bool is_in_cell)
{
    cleanup_kernel_loss kernel_loss_t loss =
        kernel_losses_foresee(&self->losses, wall_us, detail, is_in_cell);

    buffer_clear(&self->foreseen);
    write_loss(&loss, NULL, false, &self->foreseen);
}

void loss_notice_forget(loss_notice_t *self)
{
    buffer_clear(&self->foreseen);
}

bytes_t loss_notice_foreseen(const loss_notice_t *self)
{
    return buffer_bytes(&self->foreseen);
}

void loss_notice_expect(loss_notice_t *self, const char *reader)
{
    add(&self->expected, reader);
}

/* --- A loss that has happened --- */

bool loss_notice_is_due(const loss_notice_t *self, const char *reader)
{
    return self->losses.loss.fresh_seq && !knows(&self->told, reader);
}

bool loss_notice_is_reviving(const loss_notice_t *self)
{
    return self->losses.is_reviving;
}

void loss_notice_write(const loss_notice_t *self, bool is_reviving,
                       buffer_t *out)
{
    write_loss(&self->losses.loss, &self->losses, is_reviving, out);
}

/* A reader that was promised the variables learns from the next loss that some
 * did not come back. Without such readers a revival that was broken off is
 * over, and the next loss has its own names alone. */
void loss_notice_tell(loss_notice_t *self, const char *reader)
{
    add(&self->told, reader);
    drop(&self->promised, reader);
    if (!self->promised.count)
        self->losses.is_reviving = false;
}

void loss_notice_promise(loss_notice_t *self, const char *reader)
{
    add(&self->promised, reader);
}

const char *loss_notice_told(const loss_notice_t *self, size_t index)
{
    return index < self->told.count ? self->told.list[index] : NULL;
}
