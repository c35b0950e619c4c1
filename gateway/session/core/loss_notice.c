/* See loss_notice.h. The names come from a kernel, and the loss goes to each
 * client that listens, so it is bounded. */
#include "gateway/session/core/loss_notice.h"

#include "base/clock.h"
#include "base/utf8.h"

#include <string.h>

#define OLDER_MAX 10000 /* names; about as many as a session keeps */

struct loss_notice {
    kernel_losses_t losses;  /* by the records so far */
    kernel_loss_t foreseen;  /* it is about to happen; without cause: none is */
    loss_readers_t readers;  /* they have got the last loss */
    loss_readers_t expected; /* they have got the one about to happen */
    uint64_t number;         /* of the last loss: 1, 2, 3 … */
    json_t *older;           /* owned; names of losses before it, each with the
                                number of the newest */
    size_t older_more;       /* the number of those that were left out */
    uint64_t more_number;    /* of the newest loss with one of those */
    uint64_t unread_number;  /* of the newest loss with others; 0: none */
    loss_readers_t informed; /* with the last loss before it that they have
                                got: they have got those before, too */
};

loss_notice_t *loss_notice_new(void)
{
    loss_notice_t *self = mem_new(sizeof *self);

    self->older = json_object();
    return self;
}

void loss_notice_destroy(loss_notice_t **self_p)
{
    loss_notice_t *self = *self_p;

    if (!self)
        return;
    kernel_losses_clear(&self->losses);
    kernel_loss_clear(&self->foreseen);
    loss_readers_clear(&self->readers);
    loss_readers_clear(&self->expected);
    loss_readers_clear(&self->informed);
    json_decref(self->older);
    free(self);
    *self_p = NULL;
}

/* --- The loss as JSON --- */

/* Adds the names that fit to `list`, and returns how many do not. Leaves out
 * variables that the kernel `losses` has, which is NULL if it has ended. */
static size_t list_names(const json_t *names, const kernel_losses_t *losses,
                         json_t *list)
{
    size_t total = 0, more = 0, i;
    json_t *name;

    json_array_foreach(names, i, name)
    {
        size_t size = json_dumpb(name, NULL, 0, JSON_ENCODE_ANY);

        if (losses && kernel_losses_has(losses, json_string_value(name)))
            continue;
        /* Two quotes, and a comma or bracket in the list, are not the name's.
         */
        if (json_array_size(list) == LOSS_NOTICE_NAMES_MAX
            || size > LOSS_NOTICE_NAME_MAX + 2
            || total + size + 1 > LOSS_NOTICE_NAMES_SIZE) {
            more++;
            continue;
        }
        total += size + 1;
        json_array_append(list, name);
    }
    return more;
}

/* Returns the cause's beginning, for the caller. */
static json_t *cause_of(const kernel_loss_t *loss)
{
    const char *cause = loss->cause ? loss->cause : "";
    size_t size =
        utf8_whole((bytes_t){cause, strnlen(cause, LOSS_NOTICE_CAUSE_MAX)});
    json_t *text = json_stringn(cause, size);

    return text ? text : json_string("not known");
}

static json_t *make_loss(const kernel_loss_t *loss,
                         const kernel_losses_t *losses, size_t left_out,
                         bool is_reviving)
{
    json_t *names = json_array();
    size_t more = left_out + list_names(loss->names, losses, names);
    json_t *made = json_pack("{s:o}", "cause", cause_of(loss));
    char at[CLOCK_ISO_SIZE];

    if (loss->wall_us) {
        clock_iso(loss->wall_us, at);
        json_object_set_new(made, "at", json_string(at));
    }
    json_object_set_new(made, "names", names);
    if (more)
        json_object_set_new(made, "more", json_integer((json_int_t) more));
    if (loss->is_unread)
        json_object_set_new(made, "incomplete", json_true());
    if (is_reviving)
        json_object_set_new(made, "reviving", json_true());
    return made;
}

/* --- The losses before the last --- */

/* Keeps a name of the last loss for the readers that have not got it. */
static void keep_older(loss_notice_t *self, const char *name)
{
    if (!json_object_get(self->older, name)
        && (json_object_size(self->older) == OLDER_MAX
            || strlen(name) > LOSS_NOTICE_NAME_MAX)) {
        self->older_more++;
        self->more_number = self->number;
        return;
    }
    (void) json_object_set_new(self->older, name,
                               json_integer((json_int_t) self->number));
}

/* Takes the loss that was the last one until now. A reader that has it has got
 * those before it, too. */
static void make_older(loss_notice_t *self, const kernel_loss_t *loss)
{
    json_t *name;
    size_t i;

    json_array_foreach(loss->names, i, name)
    {
        keep_older(self, json_string_value(name));
    }
    json_array_foreach(self->losses.loss.names, i, name)
    {
        (void) json_object_del(self->older, json_string_value(name));
    }
    if (loss->is_unread)
        self->unread_number = self->number;
    for (i = 0; i < self->readers.count; i++)
        loss_readers_add(&self->informed, self->readers.list[i].name,
                         self->number);
    self->number++;
}

static void add_names(json_t *names, const json_t *list)
{
    json_t *name;
    size_t i;

    json_array_foreach(list, i, name)
    {
        (void) json_object_set_new(names, json_string_value(name), json_true());
    }
}

/* Adds the names of losses after that number. */
static void add_older(json_t *names, const loss_notice_t *self, uint64_t number)
{
    const char *name;
    json_t *value;

    json_object_foreach(self->older, name, value)
    {
        if ((uint64_t) json_integer_value(value) > number)
            (void) json_object_set_new(names, name, json_true());
    }
}

/* Returns a loss for a reader, with those before it that the reader has not
 * got: those before the last, and the last itself if `loss` is a later one. */
static json_t *make_whole(const loss_notice_t *self, const kernel_loss_t *loss,
                          const char *reader, bool is_reviving)
{
    const kernel_loss_t *last = &self->losses.loss;
    bool has_last = loss == last || loss_readers_has(&self->readers, reader);
    uint64_t got = loss != last && has_last
                       ? self->number
                       : loss_readers_number(&self->informed, reader);
    json_auto_t *names = json_object();
    json_auto_t *list = json_array();
    kernel_loss_t whole = *loss;
    const char *name;
    json_t *value;

    add_names(names, loss->names);
    if (!has_last) {
        add_names(names, last->names);
        whole.is_unread |= last->is_unread;
    }
    add_older(names, self, got);
    whole.is_unread |= self->unread_number > got;
    json_object_foreach(names, name, value)
        json_array_append_new(list, json_string(name));
    whole.names = list;
    return make_loss(&whole, loss == last ? &self->losses : NULL,
                     self->more_number > got ? self->older_more : 0,
                     is_reviving);
}

/* --- The records --- */

bool loss_notice_add(loss_notice_t *self, const journal_record_t *record)
{
    kernel_loss_t before = self->losses.loss;
    json_auto_t *names = json_incref(before.names);

    kernel_losses_add(&self->losses, record);
    if (self->losses.loss.seq == before.seq || !self->losses.loss.seq)
        return false;
    before.names = names;
    make_older(self, &before);
    loss_readers_clear(&self->readers);
    self->readers = self->expected;
    self->expected = (loss_readers_t){0};
    return true;
}

void loss_notice_miss(loss_notice_t *self)
{
    kernel_losses_miss(&self->losses);
    json_object_clear(self->older);
    self->older_more = 0;
}

bool loss_notice_has_kernel(const loss_notice_t *self)
{
    return self->losses.was_ready;
}

/* --- A loss that is about to happen --- */

void loss_notice_foresee(loss_notice_t *self, int64_t wall_us,
                         const char *detail, bool is_in_cell)
{
    kernel_loss_clear(&self->foreseen);
    self->foreseen =
        kernel_losses_foresee(&self->losses, wall_us, detail, is_in_cell);
}

void loss_notice_forget(loss_notice_t *self)
{
    kernel_loss_clear(&self->foreseen);
}

json_t *loss_notice_foreseen(const loss_notice_t *self, const char *reader)
{
    return self->foreseen.cause
               ? make_whole(self, &self->foreseen, reader, false)
               : NULL;
}

void loss_notice_expect(loss_notice_t *self, const char *reader)
{
    loss_readers_add(&self->expected, reader, 0);
}

/* --- A loss that has happened --- */

bool loss_notice_is_due(const loss_notice_t *self, const char *reader)
{
    return self->losses.loss.fresh_seq
           && !loss_notice_was_reported(self, reader);
}

bool loss_notice_was_reported(const loss_notice_t *self, const char *reader)
{
    return loss_readers_has(&self->readers, reader);
}

uint64_t loss_notice_seq(const loss_notice_t *self)
{
    return self->losses.loss.seq;
}

bool loss_notice_is_reviving(const loss_notice_t *self)
{
    return self->losses.is_reviving;
}

json_t *loss_notice_model(const loss_notice_t *self, const char *reader,
                          bool is_reviving)
{
    return make_whole(self, &self->losses.loss, reader, is_reviving);
}

json_t *loss_notice_last(const loss_notice_t *self)
{
    const kernel_loss_t *last = &self->losses.loss;

    return last->seq && !last->fresh_seq ? make_loss(last, NULL, 0, false)
                                         : NULL;
}

/* A revival that was broken off is over: the next loss has its own names, and
 * those of this one for the readers that have not got it. */
void loss_notice_deliver(loss_notice_t *self, const char *reader)
{
    loss_readers_add(&self->readers, reader, 0);
    self->losses.is_reviving = false;
}

const char *loss_notice_reader(const loss_notice_t *self, size_t index)
{
    return index < self->readers.count ? self->readers.list[index].name : NULL;
}
