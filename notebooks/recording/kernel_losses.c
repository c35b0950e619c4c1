/* See kernel_losses.h. A record may come from a kernel: what is of another type
 * than it should be is left out. */
#include "notebooks/recording/kernel_losses.h"

#include "base/buffer.h"
#include "base/json_plain.h"
#include "base/string_list.h"
#include "notebooks/json/member.h"
#include "notebooks/json/tree.h"
#include "protocol/jspan.h"

#include <string.h>

#define NAME_COST        64 /* bytes of memory beside the letters of a name */
#define COUNT_DIGITS_MAX 18 /* of a cell; they fit into 64 bits */

void kernel_loss_clear(kernel_loss_t *self)
{
    free(self->cause);
    json_decref(self->names);
    *self = (kernel_loss_t){0};
}

void kernel_losses_clear(kernel_losses_t *self)
{
    kernel_loss_clear(&self->loss);
    json_decref(self->names);
    *self = (kernel_losses_t){0};
}

/* Returns a part without a tree of it, lent; ABSENT if it is no JSON. */
static jspan_t check(bytes_t part)
{
    jspan_t value = {0};
    fault_t fault;

    if (jspan_check(part.bytes, part.size, &value, &fault) < 0)
        return (jspan_t){0};
    return value;
}

/* --- The names of the kernel's variables --- */

static size_t cost_of(const char *name)
{
    return strlen(name) + NAME_COST;
}

static void keep_name(kernel_losses_t *self, const char *name)
{
    if (!name || kernel_losses_has(self, name)
        || self->names_size + cost_of(name) > KERNEL_LOSSES_NAMES_SIZE)
        return;
    if (!self->names)
        self->names = json_object();
    if (json_object_set_new(self->names, name, json_true()) == 0)
        self->names_size += cost_of(name);
}

static void drop_name(kernel_losses_t *self, const char *name)
{
    if (name && json_object_del(self->names, name) == 0)
        self->names_size -= cost_of(name);
}

static void drop_names(kernel_losses_t *self)
{
    json_object_clear(self->names);
    self->names_size = 0;
}

/* Takes what a cell did to the variables. */
static void apply(kernel_losses_t *self, const json_t *difference)
{
    static const char *const keys[] = {"appeared", "changed"};
    json_t *item;
    size_t i;

    json_array_foreach(json_object_get(difference, "went"), i, item)
    {
        drop_name(self, json_string_value(item));
    }
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        json_array_foreach(json_object_get(difference, keys[k]), i, item)
        {
            keep_name(self, json_string_value(json_object_get(item, "name")));
        }
}

bool kernel_losses_has(const kernel_losses_t *self, const char *name)
{
    return json_object_get(self->names, name) != NULL;
}

/* --- The records --- */

static json_t *sorted_names(json_t *names)
{
    size_t count = json_object_size(names), i = 0;
    cleanup_free const char **keys = mem_new((count + 1) * sizeof *keys);
    json_t *list = json_array();
    const char *name;
    json_t *value;

    json_object_foreach(names, name, value) keys[i++] = name;
    qsort(keys, count, sizeof *keys, string_list_compare);
    for (i = 0; i < count; i++)
        json_array_append_new(list, json_string(keys[i]));
    return list;
}

static void add_names(json_t *names, const json_t *list)
{
    json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        if (json_is_string(item))
            (void) json_object_set_new(names, json_string_value(item),
                                       json_true());
    }
}

kernel_loss_t kernel_losses_foresee(const kernel_losses_t *self,
                                    int64_t wall_us, const char *detail,
                                    bool is_in_cell)
{
    cleanup_free char *place = is_in_cell && self->cell > 0
                                   ? mem_format(", in cell %lld", self->cell)
                                   : mem_text("");
    json_auto_t *names = json_object();

    (void) json_object_update(names, self->names);
    if (self->is_reviving)
        add_names(names, self->loss.names);
    return (kernel_loss_t){.wall_us = wall_us,
                           .cause = mem_format("%s%s", detail, place),
                           .names = sorted_names(names),
                           .is_unread =
                               self->is_unread
                               || (self->is_reviving && self->loss.is_unread)};
}

/* Notes that records cannot be read: a later kernel may have made the variables
 * of the last loss again. */
static void miss_loss(kernel_loss_t *self)
{
    self->is_unread = true;
    json_array_clear(self->names);
    if (!self->fresh_seq)
        self->fresh_seq = self->seq;
}

void kernel_losses_miss(kernel_losses_t *self)
{
    if (self->loss.seq)
        miss_loss(&self->loss);
    self->is_unread = self->was_ready = true;
    self->is_reviving = false;
}

/* Notes the end of a kernel. One that was never ready had no variables, so the
 * loss before it stays. */
static void on_end(kernel_losses_t *self, const journal_record_t *record)
{
    json_auto_t *content = NULL;
    kernel_loss_t loss;

    if (!self->was_ready)
        return;
    content = json_tree_of(record->content);
    loss =
        kernel_losses_foresee(self, record->wall_us,
                              member_text(content, "detail"), self->is_in_cell);
    loss.seq = record->seq;
    kernel_loss_clear(&self->loss);
    self->loss = loss;
    drop_names(self);
    self->was_ready = self->is_in_cell = self->is_unread = false;
    self->is_reviving = false;
}

/* Returns those of the loss, and of `missing`, that the kernel does not have;
 * the caller owns them. */
static json_t *names_not_back(const kernel_losses_t *self,
                              const json_t *missing)
{
    json_auto_t *names = json_object();
    const char *name;
    json_t *value;

    add_names(names, self->loss.names);
    add_names(names, missing);
    json_object_foreach(self->names, name, value)
    {
        (void) json_object_del(names, name);
    }
    return sorted_names(names);
}

/* Takes the report of a revival, which has run the cells again. It does not
 * know the variables of cells that the recording does not have any more, and
 * its report is short. */
static void on_revived(kernel_losses_t *self, const journal_record_t *record)
{
    json_auto_t *content = json_tree_of(record->content);
    json_t *missing =
        json_object_get(json_object_get(content, "variables"), "missing");
    bool was_reviving = self->is_reviving;
    json_t *names;

    self->is_reviving = false;
    if (!was_reviving || !self->loss.seq || !json_is_array(missing))
        return;
    names = names_not_back(self, missing);
    if (!json_array_size(names) && !self->loss.is_unread) {
        json_decref(names);
        kernel_loss_clear(&self->loss);
        return;
    }
    self->loss.fresh_seq = record->seq;
    json_decref(self->loss.names);
    self->loss.names = names;
}

static void on_ready(kernel_losses_t *self, const journal_record_t *record)
{
    self->was_ready = true;
    if (self->loss.seq && !self->loss.fresh_seq && !self->is_reviving)
        self->loss.fresh_seq = record->seq;
}

static void on_state(kernel_losses_t *self, const journal_record_t *record)
{
    if (strcmp(record->type, "gone") == 0
        || strcmp(record->type, "restart") == 0)
        on_end(self, record);
    else if (strcmp(record->type, "reviving") == 0)
        self->is_reviving = true;
    else if (strcmp(record->type, "revived") == 0)
        on_revived(self, record);
    else if (strcmp(record->type, "ready") == 0)
        on_ready(self, record);
}

/* Returns false if a reply names no variables for sure. Most name none, which a
 * look at the bytes settles. */
static bool may_name_variables(bytes_t metadata)
{
    return metadata.size
           && memmem(metadata.bytes, metadata.size, "\"namespace\"", 11);
}

static void on_reply(kernel_losses_t *self, const journal_record_t *record)
{
    jspan_t own, difference;

    if (record->kernel_seq && !may_name_variables(record->metadata)) {
        self->is_in_cell = false;
        return;
    }
    own = jspan_member(check(record->metadata), "hearth");
    difference = jspan_member(own, "namespace");
    if (record->kernel_seq
        || (own.kind != JSPAN_ABSENT
            && jspan_is(jspan_member(own, "lost"), JSPAN_ABSENT))) {
        json_auto_t *tree =
            json_tree_of((bytes_t){difference.text, difference.size});
        apply(self, tree);
        self->is_in_cell = false;
        return;
    }
    /* The gateway itself has answered: the kernel could not. */
    self->is_in_cell = jspan_text_equals(
        jspan_member(check(record->content), "ename"), "KernelDied");
}

/* Reads the number of a cell where a session writes it: as the last member,
 * after the code, which may be long and is not looked at. Valid JSON can have
 * nothing else there. Returns false if the content has another form. */
static bool read_last_count(bytes_t content, int64_t *ret_count)
{
    static const char key[] = "\"execution_count\":";
    const size_t key_size = sizeof key - 1;
    const char *text = content.bytes;
    size_t end = content.size ? content.size - 1 : 0, at = end;
    int64_t count = 0;

    while (at > 0 && json_is_digit(text[at - 1]))
        at--;
    if (at == end || end - at > COUNT_DIGITS_MAX || text[end] != '}'
        || at <= key_size || memcmp(text + at - key_size, key, key_size) != 0
        || !strchr(",{", text[at - key_size - 1]))
        return false;
    for (; at < end; at++)
        count = count * 10 + (text[at] - '0');
    *ret_count = count;
    return true;
}

static void on_input(kernel_losses_t *self, const journal_record_t *record)
{
    int64_t count = 0;

    if (!read_last_count(record->content, &count))
        (void) jspan_to_integer(
            jspan_member(check(record->content), "execution_count"), &count);
    self->cell = count;
}

/* Notes a request. A client that comes before a revival has ended finds what
 * has come back by then: nothing, if the revival runs no cell again. */
static void on_request(kernel_losses_t *self, const journal_record_t *record)
{
    json_auto_t *metadata = json_tree_of(record->metadata);

    if (json_is_true(
            json_object_get(json_object_get(metadata, "hearth"), "revival")))
        return;
    if (self->loss.seq && !self->loss.fresh_seq)
        self->loss.fresh_seq = record->seq;
}

void kernel_losses_add(kernel_losses_t *self, const journal_record_t *record)
{
    if (self->is_reviving && record->kind == JOURNAL_REQUEST
        && strcmp(record->type, "execute_request") == 0) {
        on_request(self, record);
    } else if (record->kind == JOURNAL_STATE) {
        on_state(self, record);
    } else if (record->kind == JOURNAL_REPLY
               && strcmp(record->type, "execute_reply") == 0) {
        on_reply(self, record);
    } else if (record->kind == JOURNAL_EVENT
               && strcmp(record->type, "execute_input") == 0) {
        on_input(self, record);
    }
}
