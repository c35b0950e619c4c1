/* See compare.h. */
#include "notebooks/comparison/compare.h"

#include "base/buffer.h"
#include "base/utf8.h"
#include "notebooks/comparison/image_digest.h"
#include "notebooks/json/member.h"

#include <ctype.h>
#include <string.h>

#define EXCERPT_MAX 400 /* bytes of what differs */
#define DEPTH_MAX   200

void difference_clear(difference_t *self)
{
    free(self->right);
    free(self->left);
    free(self->what);
    *self = (difference_t){0};
}

/* ---- texts ---- */

/* Where in a text. */
typedef struct {
    const char *at;
    const char *end;
    const char *begin;
} cursor_t;

static bool is_blank(const cursor_t *cursor)
{
    return cursor->at < cursor->end && isspace((unsigned char) *cursor->at);
}

/* Returns true if a number begins here, and not in the middle of a word. */
static bool is_number(const cursor_t *cursor)
{
    unsigned char before =
        cursor->at > cursor->begin ? (unsigned char) cursor->at[-1] : ' ';

    return cursor->at < cursor->end && isdigit((unsigned char) *cursor->at)
           && !isalnum(before) && before != '_';
}

/* Reads it; true when it has a fraction or an exponent. */
static bool read_number(cursor_t *cursor, double *ret_value)
{
    char digits[64];
    size_t size = 0;
    bool is_real = false;

    for (; cursor->at < cursor->end && size + 1 < sizeof digits; cursor->at++) {
        char c = *cursor->at;
        bool is_sign = (c == '+' || c == '-') && size
                       && (digits[size - 1] == 'e' || digits[size - 1] == 'E');
        bool is_mark = c == '.' || c == 'e' || c == 'E';
        if (!isdigit((unsigned char) c) && !is_sign && !is_mark)
            break;
        is_real = is_real || is_mark;
        digits[size++] = c;
    }
    digits[size] = '\0';
    *ret_value = strtod(digits, NULL);
    return is_real;
}

static double size_of(double number)
{
    return number < 0 ? -number : number;
}

static bool is_close(const compare_t *self, double left, double right)
{
    double apart = size_of(left - right);
    double bigger =
        size_of(left) > size_of(right) ? size_of(left) : size_of(right);

    return left == right || apart <= self->absolute
           || apart <= self->relative * bigger;
}

/* Compares two numbers: whole ones are equal or not, others are close enough or
 * not. */
static bool same_number(const compare_t *self, cursor_t *left, cursor_t *right)
{
    cursor_t left_start = *left;
    cursor_t right_start = *right;
    double a, b;
    bool is_real = read_number(left, &a);

    is_real = read_number(right, &b) || is_real;
    if (is_real)
        return is_close(self, a, b);
    return left->at - left_start.at == right->at - right_start.at
           && memcmp(left_start.at, right_start.at,
                     (size_t) (left->at - left_start.at))
                  == 0;
}

/* Moves on to where they differ; true when that is nowhere. A table's columns
 * are as wide as their numbers: runs of blanks are all alike. */
static bool walk(const compare_t *self, cursor_t *left, cursor_t *right)
{
    while (left->at < left->end && right->at < right->end) {
        cursor_t a = *left;
        cursor_t b = *right;
        if (is_blank(&a) && is_blank(&b)) {
            while (is_blank(left))
                left->at++;
            while (is_blank(right))
                right->at++;
        } else if (is_number(&a) && is_number(&b)) {
            if (!same_number(self, left, right)) {
                *left = a;
                *right = b;
                return false;
            }
        } else if (*left->at++ != *right->at++) {
            *left = a;
            *right = b;
            return false;
        }
    }
    while (is_blank(left))
        left->at++;
    while (is_blank(right))
        right->at++;
    return left->at == left->end && right->at == right->end;
}

/* Returns the line at the cursor, cut at whole characters. */
static char *excerpt(const cursor_t *cursor)
{
    const char *start = cursor->at;
    const char *end = cursor->at;

    while (start > cursor->begin && start[-1] != '\n'
           && cursor->at - start < EXCERPT_MAX / 2)
        start--;
    while (end < cursor->end && *end != '\n' && end - start < EXCERPT_MAX)
        end++;
    while (start < end && utf8_is_continuation(*start))
        start++;
    while (end < cursor->end && end > start && utf8_is_continuation(*end))
        end--;
    return mem_copy(start, (size_t) (end - start));
}

static void differ(difference_t *difference, const char *what, char *left,
                   char *right)
{
    difference->what = mem_text(what);
    difference->left = left;
    difference->right = right;
}

static cursor_t cursor_of(bytes_t text)
{
    const char *begin = text.bytes ? text.bytes : "";

    return (cursor_t){begin, begin + text.size, begin};
}

static bool same_text(const compare_t *self, const char *what, bytes_t left,
                      bytes_t right, difference_t *difference)
{
    cleanup_buffer buffer_t a = BUFFER_EMPTY;
    cleanup_buffer buffer_t b = BUFFER_EMPTY;
    cursor_t at, other;

    if (left.size == right.size
        && (!left.size || memcmp(left.bytes, right.bytes, left.size) == 0))
        return true;
    if (!self->is_exact) {
        normal_text(left.bytes, left.size, &a);
        normal_text(right.bytes, right.size, &b);
        at = cursor_of(buffer_bytes(&a));
        other = cursor_of(buffer_bytes(&b));
        if (walk(self, &at, &other))
            return true;
    } else {
        at = cursor_of(left);
        other = cursor_of(right);
        while (at.at < at.end && other.at < other.end && *at.at == *other.at) {
            at.at++;
            other.at++;
        }
    }
    differ(difference, what, excerpt(&at), excerpt(&other));
    return false;
}

bool compare_text(const compare_t *self, const char *left, size_t left_size,
                  const char *right, size_t right_size)
{
    cleanup_difference difference_t ignored = {0};

    return same_text(self, "", (bytes_t){left, left_size},
                     (bytes_t){right, right_size}, &ignored);
}

static bool same_string(const compare_t *self, const char *what,
                        const json_t *left, const json_t *right,
                        difference_t *difference)
{
    return same_text(
        self, what,
        (bytes_t){json_string_value(left), json_string_length(left)},
        (bytes_t){json_string_value(right), json_string_length(right)},
        difference);
}

/* ---- data ---- */

static bool same_json(const compare_t *self, json_t *left, json_t *right,
                      int depth);

static bool same_object(const compare_t *self, json_t *left, json_t *right,
                        int depth)
{
    const char *key;
    json_t *value;

    if (json_object_size(left) != json_object_size(right))
        return false;
    json_object_foreach(left, key, value)
    {
        if (!same_json(self, value, json_object_get(right, key), depth))
            return false;
    }
    return true;
}

static bool same_json(const compare_t *self, json_t *left, json_t *right,
                      int depth)
{
    size_t index;
    json_t *value;

    if (depth > DEPTH_MAX || !left || !right)
        return false;
    if (json_is_real(left) || json_is_real(right))
        return json_is_number(left) && json_is_number(right)
               && is_close(self, json_number_value(left),
                           json_number_value(right));
    if (json_typeof(left) != json_typeof(right))
        return false;
    if (json_is_string(left))
        return compare_text(self, json_string_value(left),
                            json_string_length(left), json_string_value(right),
                            json_string_length(right));
    if (json_is_object(left))
        return same_object(self, left, right, depth + 1);
    if (!json_is_array(left))
        return json_equal(left, right);
    if (json_array_size(left) != json_array_size(right))
        return false;
    json_array_foreach(left, index, value)
    {
        if (!same_json(self, value, json_array_get(right, index), depth + 1))
            return false;
    }
    return true;
}

static char *describe(const json_t *value)
{
    char *text =
        value
            ? json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY)
            : mem_text("nothing");

    size_t size = text ? strlen(text) : 0;

    if (size > EXCERPT_MAX)
        text[utf8_cut(text, EXCERPT_MAX)] = '\0';
    return text ? text : mem_text("");
}

static bool same_picture(const char *mime, const json_t *left,
                         const json_t *right, difference_t *difference)
{
    char a[IMAGE_DIGEST_NAME_SIZE];
    char b[IMAGE_DIGEST_NAME_SIZE];

    image_digest_name(left, a);
    image_digest_name(right, b);
    if (strcmp(a, b) == 0)
        return true;
    differ(difference, mime, mem_text(a), mem_text(b));
    return false;
}

static bool same_value(const compare_t *self, const char *mime, json_t *left,
                       json_t *right, difference_t *difference)
{
    if (json_is_string(left) && json_is_string(right)) {
        if (strncmp(mime, "image/", 6) == 0
            && strcmp(mime, "image/svg+xml") != 0)
            return same_picture(mime, left, right, difference);
        return same_string(self, mime, left, right, difference);
    }
    if (same_json(self, left, right, 0))
        return true;
    differ(difference, mime, describe(left), describe(right));
    return false;
}

/* Compares every MIME type of the first, then those that only the second has.
 */
static bool same_bundle(const compare_t *self, json_t *left, json_t *right,
                        difference_t *difference)
{
    const char *mime;
    json_t *value;

    json_object_foreach(left, mime, value)
    {
        if (!same_value(self, mime, value, json_object_get(right, mime),
                        difference))
            return false;
    }
    json_object_foreach(right, mime, value)
    {
        if (json_object_get(left, mime))
            continue;
        differ(difference, mime, mem_text("nothing"), describe(value));
        return false;
    }
    return true;
}

/* ---- errors ---- */

/* Appends the numbers of the lines in cells that a traceback names, as text. */
static void failing_lines(const json_t *error, buffer_t *out)
{
    json_t *traceback = json_object_get(error, "traceback");
    size_t index;
    json_t *frame;

    json_array_foreach(traceback, index, frame)
    {
        cleanup_buffer buffer_t plain = BUFFER_EMPTY;
        normal_text(json_string_value(frame), json_string_length(frame),
                    &plain);
        buffer_append(&plain, "", 1);
        for (const char *at = (char *) plain.data;
             (at = strstr(at, "Cell In["));) {
            const char *line = strstr(at, "line ");
            at += 8;
            if (line)
                buffer_format(out, "line %ld ", strtol(line + 5, NULL, 10));
        }
    }
    buffer_append(out, "", 1);
}

static bool same_error(const compare_t *self, json_t *left, json_t *right,
                       difference_t *difference)
{
    cleanup_buffer buffer_t a = BUFFER_EMPTY;
    cleanup_buffer buffer_t b = BUFFER_EMPTY;

    if (!same_string(self, "error", json_object_get(left, "ename"),
                     json_object_get(right, "ename"), difference)
        || !same_string(self, "error", json_object_get(left, "evalue"),
                        json_object_get(right, "evalue"), difference))
        return false;
    failing_lines(left, &a);
    failing_lines(right, &b);
    if (strcmp((char *) a.data, (char *) b.data) == 0)
        return true;
    differ(difference, "traceback", (char *) take_ptr(a.data),
           (char *) take_ptr(b.data));
    return false;
}

/* ---- outputs ---- */

/* Joins all text of one stream: how it was cut into outputs means nothing. */
static void join_stream(const json_t *outputs, const char *name, buffer_t *out)
{
    size_t index;
    json_t *output;

    json_array_foreach(outputs, index, output)
    {
        json_t *text = json_object_get(output, "text");
        if (strcmp(member_text(output, "output_type"), "stream") == 0
            && strcmp(member_text(output, "name"), name) == 0)
            buffer_append(out, json_string_value(text),
                          json_string_length(text));
    }
}

static bool same_stream(const compare_t *self, const char *name,
                        const json_t *left, const json_t *right,
                        difference_t *difference)
{
    cleanup_buffer buffer_t a = BUFFER_EMPTY;
    cleanup_buffer buffer_t b = BUFFER_EMPTY;

    join_stream(left, name, &a);
    join_stream(right, name, &b);
    return same_text(self, name, buffer_bytes(&a), buffer_bytes(&b),
                     difference);
}

/* Returns the next output that is not a stream; NULL at the end. */
static json_t *next_display(const json_t *outputs, size_t *index)
{
    while (*index < json_array_size(outputs)) {
        json_t *output = json_array_get(outputs, (*index)++);
        if (strcmp(member_text(output, "output_type"), "stream") != 0)
            return output;
    }
    return NULL;
}

static bool same_display(const compare_t *self, json_t *left, json_t *right,
                         difference_t *difference)
{
    const char *type = member_text(left, "output_type");

    if (!left || !right
        || strcmp(type, member_text(right, "output_type")) != 0) {
        differ(difference, "outputs", mem_text(left ? type : "nothing"),
               mem_text(right ? member_text(right, "output_type") : "nothing"));
        return false;
    }
    if (strcmp(type, "error") == 0)
        return same_error(self, left, right, difference);
    return same_bundle(self, json_object_get(left, "data"),
                       json_object_get(right, "data"), difference);
}

bool compare_outputs(const compare_t *self, const json_t *left,
                     const json_t *right, difference_t *ret_difference)
{
    size_t i = 0;
    size_t k = 0;
    json_t *a, *b;

    *ret_difference = (difference_t){0};
    if (!same_stream(self, "stdout", left, right, ret_difference)
        || !same_stream(self, "stderr", left, right, ret_difference))
        return false;
    do {
        a = next_display(left, &i);
        b = next_display(right, &k);
        if ((a || b) && !same_display(self, a, b, ret_difference))
            return false;
    } while (a && b);
    return true;
}
