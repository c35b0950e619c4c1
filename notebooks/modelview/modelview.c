/* See modelview.h. The outputs are passed once, from the first to the last; the
 * error is folded before them, so that they get what it leaves. */
#include "notebooks/modelview/modelview.h"

#include "base/clock.h"
#include "notebooks/modelview/bundle.h"
#include "notebooks/modelview/header.h"
#include "notebooks/modelview/line_cut.h"
#include "notebooks/modelview/token_weight.h"
#include "notebooks/modelview/traceback.h"

#include <sodium.h>

#include <string.h>

#define ERROR_TOKENS 1000 /* kept free for the error */
#define ERROR_TEXT_MAX                                                         \
    10800 /* bytes: a client cuts errors at 11,000 letters                     \
           */
#define TOKENS_MIN  50
#define MORE_MAX    1000000 /* names that a loss may leave out */
#define IMAGES_ROOM 16

void modelview_clear(modelview_t *self)
{
    buffer_reset(&self->text);
    free(self->images);
    *self = (modelview_t){0};
}

modelview_loss_t modelview_read_loss(const json_t *lost)
{
    const json_t *names = json_object_get(lost, "names");
    const char *at = json_string_value(json_object_get(lost, "at"));
    json_int_t more = json_integer_value(json_object_get(lost, "more"));
    modelview_loss_t loss = {
        .cause = json_string_value(json_object_get(lost, "cause")),
        .names = json_is_array(names) ? names : NULL,
        .more = more > 0 && more <= MORE_MAX ? (size_t) more : 0,
        .is_incomplete = json_is_true(json_object_get(lost, "incomplete")),
        .is_reviving = json_is_true(json_object_get(lost, "reviving")),
        .are_files_kept = true};

    if (at)
        (void) clock_read_iso(at, &loss.wall_us);
    return loss;
}

static bool is_type(const json_t *output, const char *type)
{
    const char *name =
        json_string_value(json_object_get(output, "output_type"));

    return name && strcmp(name, type) == 0;
}

/* --- Images --- */

static void decide_inline(const modelview_t *self, modelview_image_t *image)
{
    size_t count = 0, size = 0;

    for (size_t i = 0; i < self->image_count; i++)
        if (self->images[i].is_inline) {
            count++;
            size += self->images[i].size;
        }
    image->is_inline =
        image->size <= MODELVIEW_IMAGE_MAX && image->width <= MODELVIEW_SIDE_MAX
        && image->height <= MODELVIEW_SIDE_MAX && count < MODELVIEW_IMAGES_MAX
        && size + image->size <= MODELVIEW_IMAGE_BYTES;
}

static void add_image(modelview_t *self, const modelview_image_t *image)
{
    if (self->image_count % IMAGES_ROOM == 0)
        self->images = mem_resize(
            self->images, (self->image_count + IMAGES_ROOM) * sizeof *image);
    self->images[self->image_count++] = *image;
}

/* Names an image. One that is given with the text needs no size. */
static void name_image(const modelview_image_t *image, buffer_t *out)
{
    const char *kind = image->mime + strlen("image/");

    buffer_text(out, "[image ");
    if (image->width && image->height)
        buffer_format(out, "%u×%u ", image->width, image->height);
    buffer_text(out, kind);
    if (!image->is_inline) {
        buffer_text(out, " ");
        line_cut_size(out, image->size);
    }
    buffer_format(out, ", %s%s]", image->ref,
                  image->is_inline ? "" : ", not shown here");
}

/* Names what has no form for a model, such as a drawing or a widget. */
static void name_other(const bundle_t *bundle, const char *ref, buffer_t *out)
{
    buffer_text(out, "[");
    for (const char *at = bundle->mime; *at && at < bundle->mime + 60; at++)
        if (*at > ' ' && *at < 127 && !strchr("[]·", *at))
            buffer_append(out, at, 1);
    if (json_is_string(bundle->value)) {
        buffer_text(out, " ");
        line_cut_size(out, json_string_length(bundle->value));
    }
    buffer_format(out, ", %s, not shown here]", ref);
}

/* --- Outputs --- */

static void write_ref(char *ref, long long cell, size_t output)
{
    snprintf(ref, MODELVIEW_REF_SIZE, "out:%lld.%zu", cell, output);
}

static void add_bundle(modelview_t *self, line_cut_t *cut, long long cell,
                       size_t number, const json_t *output)
{
    cleanup_bundle bundle_t bundle;
    cleanup_buffer buffer_t line = BUFFER_EMPTY;
    modelview_image_t image;
    char ref[MODELVIEW_REF_SIZE];

    write_ref(ref, cell, number);
    if (!bundle_choose(output, &bundle))
        return;
    if (!bundle.mime) {
        line_cut_add(cut, number, bundle.text, !bundle.made.size);
        return;
    }
    if (bundle.is_image) {
        bundle_image(&bundle, &image);
        memcpy(image.ref, ref, sizeof ref);
        decide_inline(self, &image);
        add_image(self, &image);
        name_image(&image, &line);
    } else {
        name_other(&bundle, ref, &line);
    }
    line_cut_add_own(cut, number, (char *) line.data);
}

/* Adds an error that was shown before another one. */
static void add_error(line_cut_t *cut, const modelview_cell_t *cell,
                      size_t number, const json_t *output)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    char ref[MODELVIEW_REF_SIZE];

    write_ref(ref, cell->cell, number);
    traceback_fold(output, ref, &cell->reading, TOKEN_WEIGHT(ERROR_TOKENS),
                   &text);
    line_cut_add_own(cut, number, (char *) text.data + 1);
}

bool modelview_image(const json_t *outputs, long long cell, size_t output,
                     modelview_image_t *ret_image)
{
    cleanup_bundle bundle_t bundle = {0};

    if (output == 0
        || !bundle_choose(json_array_get(outputs, output - 1), &bundle)
        || !bundle.is_image)
        return false;
    bundle_image(&bundle, ret_image);
    write_ref(ret_image->ref, cell, output);
    ret_image->is_inline = true;
    return true;
}

bool modelview_image_bytes(const modelview_image_t *image, buffer_t *out)
{
    size_t room = image->base64_size / 4 * 3 + 4;
    size_t size = 0;

    if (sodium_base642bin(buffer_reserve(out, room), room, image->base64,
                          image->base64_size, NULL, &size, NULL,
                          sodium_base64_VARIANT_ORIGINAL)
        != 0)
        return false;
    out->size += size;
    return true;
}

/* Writes the error that ended the cell, or the last one that it has shown. It
 * comes at the end, where nothing is left out. */
static void fold_error(const modelview_cell_t *cell, size_t number,
                       buffer_t *out)
{
    const json_t *error =
        number ? json_array_get(cell->outputs, number - 1) : cell->reply;
    char ref[MODELVIEW_REF_SIZE];

    /* The loss in the header says the same. */
    if (cell->status == MODELVIEW_LOST && cell->loss)
        return;
    if (!number && !json_is_string(json_object_get(cell->reply, "ename")))
        return;
    write_ref(ref, cell->cell, number);
    traceback_fold(error, ref, &cell->reading, TOKEN_WEIGHT(ERROR_TOKENS), out);
}

static void add_outputs(modelview_t *self, const modelview_cell_t *cell,
                        size_t error, size_t weight_max)
{
    cleanup_line_cut line_cut_t cut;
    size_t i;
    json_t *output;

    line_cut_init(&cut, weight_max);
    json_array_foreach(cell->outputs, i, output)
    {
        if (i + 1 == error)
            continue;
        if (is_type(output, "error"))
            add_error(&cut, cell, i + 1, output);
        else
            add_bundle(self, &cut, cell->cell, i + 1, output);
    }
    line_cut_finish(&cut, cell->cell, &cell->reading, &self->text);
}

static size_t weight_for_outputs(const modelview_cell_t *cell, size_t used,
                                 bool is_error)
{
    size_t tokens = cell->tokens_max ? cell->tokens_max : MODELVIEW_TOKENS;
    size_t weight;

    if (tokens < TOKENS_MIN)
        tokens = TOKENS_MIN;
    if (tokens > MODELVIEW_TOKENS_MAX)
        tokens = MODELVIEW_TOKENS_MAX;
    weight = TOKEN_WEIGHT(tokens);
    if (is_error && weight > ERROR_TEXT_MAX)
        weight = ERROR_TEXT_MAX;
    return weight > used ? weight - used : 0;
}

void modelview_make(const modelview_cell_t *cell, modelview_t *ret_view)
{
    modelview_t self = {.is_error = cell->status == MODELVIEW_ERROR
                                    || cell->status == MODELVIEW_TIMEOUT
                                    || cell->status == MODELVIEW_LOST};
    cleanup_buffer buffer_t error = BUFFER_EMPTY;
    bool has_ended = self.is_error || cell->status == MODELVIEW_OK;
    size_t number = has_ended ? traceback_last(cell->outputs) : 0;

    header_write(cell, &self.text);
    if (self.is_error || number)
        fold_error(cell, number, &error);
    if (cell->status != MODELVIEW_RUNNING && cell->status != MODELVIEW_QUEUED)
        add_outputs(&self, cell, number,
                    weight_for_outputs(cell,
                                       token_weight(buffer_bytes(&self.text))
                                           + token_weight(buffer_bytes(&error)),
                                       self.is_error));
    buffer_append(&self.text, error.data, error.size);
    *ret_view = self;
}
