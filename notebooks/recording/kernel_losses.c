/* See kernel_losses.h. A record may come from a kernel: what is of another type
 * than it should be is left out. */
#include "notebooks/recording/kernel_losses.h"

#include "base/buffer.h"
#include "notebooks/formats/output_list.h"
#include "notebooks/json/tree.h"
#include "notebooks/recording/variable_names.h"

#include <string.h>

static void clear_loss(kernel_loss_t *self)
{
    free(self->cause);
    json_decref(self->names);
    *self = (kernel_loss_t){0};
}

void kernel_losses_clear(kernel_losses_t *self)
{
    clear_loss(&self->loss);
    json_decref(self->names);
    *self = (kernel_losses_t){0};
}

static json_t *parse(bytes_t part)
{
    return part.size ? json_tree_load(part.bytes, part.size, NULL) : NULL;
}

static int compare_text(const void *left, const void *right)
{
    const char *const *a = left, *const *b = right;

    return strcmp(*a, *b);
}

static json_t *sorted_names(json_t *names)
{
    size_t count = json_object_size(names), i = 0;
    cleanup_free const char **keys = mem_new((count + 1) * sizeof *keys);
    json_t *list = json_array();
    const char *name;
    json_t *value;

    json_object_foreach(names, name, value) keys[i++] = name;
    qsort(keys, count, sizeof *keys, compare_text);
    for (i = 0; i < count; i++)
        json_array_append_new(list, json_string(keys[i]));
    return list;
}

void kernel_losses_end(kernel_losses_t *self, int64_t wall_us,
                       const char *detail, bool is_in_cell)
{
    clear_loss(&self->loss);
    self->loss.wall_us = wall_us;
    self->loss.cause = is_in_cell && self->cell > 0
                           ? mem_format("%s, in cell %lld", detail, self->cell)
                           : mem_text(detail);
    self->loss.names = sorted_names(self->names);
    json_object_clear(self->names);
    self->is_in_cell = false;
}

/* A kernel that was never ready had no variables, so the loss before it stays.
 */
static void on_end(kernel_losses_t *self, const journal_record_t *record)
{
    json_auto_t *content = NULL;

    if (!self->was_ready)
        return;
    self->was_ready = false;
    content = parse(record->content);
    kernel_losses_end(self, record->wall_us, text_member(content, "detail"),
                      self->is_in_cell);
    self->loss.seq = record->seq;
}

/* A revival has run the cells again; what it names as missing is lost. */
static void on_revived(kernel_losses_t *self, const journal_record_t *record)
{
    json_auto_t *content = parse(record->content);
    json_t *missing =
        json_object_get(json_object_get(content, "variables"), "missing");

    self->is_reviving = false;
    if (!self->loss.seq || self->loss.fresh_seq || !json_array_size(missing))
        return;
    self->loss.fresh_seq = record->seq;
    json_decref(self->loss.names);
    self->loss.names = json_incref(missing);
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

static void on_reply(kernel_losses_t *self, const journal_record_t *record)
{
    json_auto_t *metadata = parse(record->metadata);
    const json_t *own = json_object_get(metadata, "hearth");

    if (!self->names)
        self->names = json_object();
    if (record->kernel_seq || (own && !json_object_get(own, "lost"))) {
        variable_names_apply(self->names, json_object_get(own, "namespace"));
        self->is_in_cell = false;
        return;
    }
    /* The gateway itself has answered: the kernel could not. */
    json_auto_t *content = parse(record->content);
    self->is_in_cell = strcmp(text_member(content, "ename"), "KernelDied") == 0;
}

/* A revival that runs no cell again ends with the first request that is not
 * its own: nothing has come back. */
static void on_request(kernel_losses_t *self, const journal_record_t *record)
{
    json_auto_t *metadata = parse(record->metadata);

    if (json_is_true(
            json_object_get(json_object_get(metadata, "hearth"), "revival")))
        return;
    self->is_reviving = false;
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
        json_auto_t *content = parse(record->content);
        self->cell =
            json_integer_value(json_object_get(content, "execution_count"));
    }
}
