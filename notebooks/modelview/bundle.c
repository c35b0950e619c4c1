/* See bundle.h. Outputs come from kernels: any member may be of another type
 * than nbformat says, and is then as if it were missing. */
#include "notebooks/modelview/bundle.h"

#include "base/base64.h"
#include "notebooks/modelview/html_text.h"

#include <sodium.h>

#include <string.h>

#define PNG_HEAD 24 /* bytes up to and with its size */

void bundle_clear(bundle_t *self)
{
    buffer_reset(&self->made);
    *self = (bundle_t){0};
}

/* Takes a text, which nbformat also has as a list of lines. */
static bool take_text(bundle_t *self, const json_t *value)
{
    size_t i;
    json_t *line;

    if (json_is_string(value)) {
        self->text =
            (bytes_t){json_string_value(value), json_string_length(value)};
        return true;
    }
    if (!json_is_array(value))
        return false;
    json_array_foreach(value, i, line)
    {
        if (json_is_string(line))
            buffer_append(&self->made, json_string_value(line),
                          json_string_length(line));
    }
    self->text = buffer_bytes(&self->made);
    return true;
}

static bool fits(const bundle_t *self, const json_t *extras)
{
    bundle_t image = *self;
    modelview_image_t found;

    image.extras = json_object_get(extras, self->mime);
    bundle_image(&image, &found);
    return found.size <= MODELVIEW_IMAGE_MAX
           && found.width <= MODELVIEW_SIDE_MAX
           && found.height <= MODELVIEW_SIDE_MAX;
}

/* Takes the first form of an image that can be given with the text; otherwise
 * the first form. */
static bool take_image(bundle_t *self, const json_t *data)
{
    static const char *const types[] = {"image/png", "image/jpeg", "image/webp",
                                        "image/gif"};
    const json_t *extras = self->extras;

    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const json_t *value = json_object_get(data, types[i]);
        if (!json_is_string(value)
            || base64_find(json_string_value(value), json_string_length(value),
                           false)
                   != BASE64_PLAIN)
            continue;
        bundle_t form = {.mime = types[i], .value = value, .is_image = true};
        bool is_small = fits(&form, extras);
        if (!self->is_image || is_small)
            *self = form;
        if (is_small)
            break;
    }
    return self->is_image;
}

/* Returns true if IPython wrote the text for an object whose other forms are
 * meant, or matplotlib wrote it beside a figure. */
static bool is_stand_in(bytes_t text)
{
    static const char *const begins[] = {"<IPython.core.display.", "<Figure "};

    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (text.size > strlen(begins[i]) && text.size < 200
            && memcmp(text.bytes, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

static bool take_plain(bundle_t *self, const json_t *data, bool with_stand_in)
{
    static const char *const types[] = {BUNDLE_TABLE, "text/markdown",
                                        "text/plain"};

    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (take_text(self, json_object_get(data, types[i]))) {
            if (with_stand_in || !is_stand_in(self->text))
                return true;
            bundle_clear(self);
        }
    return false;
}

static bool take_json(bundle_t *self, const json_t *data)
{
    const json_t *value = json_object_get(data, "application/json");
    cleanup_free char *text =
        value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;

    if (!text)
        return false;
    buffer_text(&self->made, text);
    self->text = buffer_bytes(&self->made);
    return true;
}

static bool take_page(bundle_t *self, const json_t *data)
{
    bundle_t page = {0};
    bool is_taken = take_text(&page, json_object_get(data, "text/html"));

    if (is_taken)
        html_text(page.text, &self->made);
    bundle_clear(&page);
    self->text = buffer_bytes(&self->made);
    return is_taken && self->text.size;
}

/* Takes the first of the types that are left; it is named and not shown. */
static bool take_any(bundle_t *self, json_t *data)
{
    const char *mime;
    json_t *value;

    json_object_foreach(data, mime, value)
    {
        self->mime = mime;
        self->value = value;
        return true;
    }
    return false;
}

bool bundle_choose(const json_t *output, bundle_t *ret_bundle)
{
    json_t *data = json_object_get(output, "data");
    bundle_t self = {.extras = json_object_get(output, "metadata")};
    bool is_found =
        json_object_get(output, "text")
            ? take_text(&self, json_object_get(output, "text"))
            : take_image(&self, data) || take_plain(&self, data, false)
                  || take_json(&self, data)
                  || take_text(&self, json_object_get(data, "text/latex"))
                  || take_page(&self, data) || take_plain(&self, data, true)
                  || take_any(&self, data);

    if (self.mime)
        self.extras =
            json_object_get(json_object_get(output, "metadata"), self.mime);
    *ret_bundle = self;
    return is_found;
}

/* --- Images --- */

static unsigned side(const json_t *extras, const char *name)
{
    double value = json_number_value(json_object_get(extras, name));

    return value >= 1 && value < 1e6 ? (unsigned) value : 0;
}

static void read_png(modelview_image_t *image)
{
    unsigned char head[PNG_HEAD];
    size_t size = 0;

    if (image->base64_size < PNG_HEAD / 3 * 4
        || sodium_base642bin(head, sizeof head, image->base64, PNG_HEAD / 3 * 4,
                             NULL, &size, NULL, sodium_base64_VARIANT_ORIGINAL)
               != 0
        || size != PNG_HEAD || memcmp(head, "\x89PNG\r\n\x1a\n", 8) != 0)
        return;
    image->width = (unsigned) head[16] << 24 | (unsigned) head[17] << 16
                   | (unsigned) head[18] << 8 | head[19];
    image->height = (unsigned) head[20] << 24 | (unsigned) head[21] << 16
                    | (unsigned) head[22] << 8 | head[23];
}

void bundle_image(const bundle_t *self, modelview_image_t *ret_image)
{
    modelview_image_t image = {.mime = self->mime,
                               .base64 = json_string_value(self->value),
                               .base64_size = json_string_length(self->value)};
    size_t padding = 0;

    while (padding < 2 && padding < image.base64_size
           && image.base64[image.base64_size - 1 - padding] == '=')
        padding++;
    image.size =
        image.base64_size < 4 ? 0 : image.base64_size / 4 * 3 - padding;
    if (strcmp(image.mime, "image/png") == 0)
        read_png(&image);
    if (!image.width || !image.height) {
        image.width = side(self->extras, "width");
        image.height = side(self->extras, "height");
    }
    *ret_image = image;
}
