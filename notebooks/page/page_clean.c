/* See page_clean.h. Not a parser of HTML as browsers have it: it decides what
 * is shown, and what is safe follows from what it writes. That is text without
 * "<", and tags of a fixed list, with attributes in quotes whose values have no
 * quote. */
#include "notebooks/page/page_clean.h"

#include "base/base64.h"
#include "notebooks/page/page_reference.h"
#include "notebooks/page/page_tags.h"
#include "notebooks/page/page_text.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define NODES_MAX  50000
#define DEPTH_MAX  200
#define TARGET_MAX 300 /* bytes of a link's target */

typedef struct {
    const char *name; /* static */
    bytes_t target;   /* lent; a link's */
    size_t from;      /* where its content begins in what is written */
} open_t;

typedef struct {
    const char *at, *end; /* what is not read yet */
    buffer_t *out;        /* borrowed */
    open_t open[DEPTH_MAX];
    size_t depth;     /* of them in use */
    size_t nodes;     /* that were read */
    bool has_content; /* something can be seen */
} clean_t;

typedef struct {
    bytes_t name, value;
} attribute_t;

static bytes_t between(const char *from, const char *to)
{
    return (bytes_t){from, (size_t) (to - from)};
}

static bool is_blank(char letter)
{
    return letter == ' ' || letter == '\t' || letter == '\n' || letter == '\r'
           || letter == '\f';
}

static bytes_t trimmed(bytes_t text)
{
    const char *from = text.bytes, *to = from + text.size;

    while (from < to && is_blank(*from))
        from++;
    while (from < to && is_blank(to[-1]))
        to--;
    return between(from, to);
}

static bool begins_with(bytes_t text, const char *prefix)
{
    return text.size >= strlen(prefix)
           && strncasecmp(text.bytes, prefix, strlen(prefix)) == 0;
}

/* --- Elements --- */

/* Says where a link leads, unless that is its text; nothing can be clicked. */
static void write_target(clean_t *self, const open_t *link)
{
    cleanup_buffer buffer_t shown = BUFFER_EMPTY;
    bytes_t target = trimmed(link->target);
    bool is_cut = target.size > TARGET_MAX;

    if (!begins_with(target, "http:") && !begins_with(target, "https:"))
        return;
    if (is_cut)
        target.size = TARGET_MAX;
    page_reference_text(target, &shown);
    if (!is_cut && shown.size == self->out->size - link->from
        && memcmp(shown.data, self->out->data + link->from, shown.size) == 0)
        return;
    buffer_text(self->out, " ⟨");
    buffer_append(self->out, shown.data, shown.size);
    buffer_text(self->out, is_cut ? "…⟩" : "⟩");
}

static void close_last(clean_t *self)
{
    const open_t *last = &self->open[--self->depth];
    bool is_link = strcmp(last->name, "a") == 0;

    if (is_link)
        write_target(self, last);
    buffer_format(self->out, "</%s>", is_link ? "span" : last->name);
}

/* Closes the element of that name and those in it; another end tag is left out.
 */
static void close_element(clean_t *self, const char *name)
{
    size_t depth = self->depth;

    while (depth && strcmp(self->open[depth - 1].name, name) != 0)
        depth--;
    while (depth && self->depth >= depth)
        close_last(self);
}

/* --- Attributes --- */

/* Reads the next attribute of a tag; false at the tag's end, which is passed.
 */
static bool next_attribute(clean_t *self, attribute_t *ret_attribute)
{
    const char *at = self->at, *from;
    char quote;

    while (at < self->end && (is_blank(*at) || *at == '/'))
        at++;
    self->at = at < self->end && *at == '>' ? at + 1 : at;
    if (at == self->end || *at == '>')
        return false;
    for (from = at++; at < self->end && !is_blank(*at) && !strchr("/>=", *at);)
        at++;
    *ret_attribute = (attribute_t){between(from, at), between(at, at)};
    for (from = at; from < self->end && is_blank(*from);)
        from++;
    self->at = at;
    if (from == self->end || *from != '=')
        return true;
    for (from++; from < self->end && is_blank(*from);)
        from++;
    quote = from < self->end && (*from == '"' || *from == '\'') ? *from : '\0';
    from += quote != '\0';
    at = from;
    while (at < self->end
           && (quote ? *at != quote : !is_blank(*at) && *at != '>'))
        at++;
    ret_attribute->value = between(from, at);
    self->at = quote && at < self->end ? at + 1 : at;
    return true;
}

/* Returns true if the value may be in an attribute of that kind. */
static bool is_value(attribute_kind_t kind, bytes_t value)
{
    bool is_number = kind == ATTRIBUTE_NUMBER;
    const char *at = value.bytes, *end = at + value.size;

    if (kind == ATTRIBUTE_TEXT || kind == ATTRIBUTE_FLAG)
        return true;
    if (is_number && at < end && end[-1] == '%')
        end--;
    if (at == end || end - at > (is_number ? 5 : 20))
        return false;
    for (; at < end; at++)
        if (is_number ? !isdigit((unsigned char) *at)
                      : !isalpha((unsigned char) *at) && *at != '-')
            return false;
    return true;
}

/* Returns true for the bytes of a picture in which nothing else can be. */
static bool is_picture(bytes_t source)
{
    static const char *const types[] = {
        "data:image/png;base64,", "data:image/jpeg;base64,",
        "data:image/gif;base64,", "data:image/webp;base64,"};
    const char *text = source.bytes;
    size_t head = 0;

    for (size_t i = 0; i < sizeof types / sizeof *types && !head; i++)
        if (begins_with(source, types[i]))
            head = strlen(types[i]);
    return head
           && base64_find(text + head, source.size - head, false)
                  != BASE64_NONE;
}

static void write_attribute(clean_t *self, const char *element,
                            const attribute_t *attribute)
{
    attribute_kind_t kind = attribute_kind(attribute->name);
    bytes_t source = trimmed(attribute->value);

    if (strcmp(element, "img") == 0 && attribute->name.size == 3
        && begins_with(attribute->name, "src") && is_picture(source)) {
        buffer_text(self->out, " src=\"");
        buffer_append(self->out, source.bytes, source.size);
        buffer_text(self->out, "\"");
        self->has_content = true;
        return;
    }
    if (kind == ATTRIBUTE_NONE || !is_value(kind, attribute->value))
        return;
    buffer_format(self->out, " %s", attribute_name(attribute->name));
    if (kind == ATTRIBUTE_FLAG)
        return;
    buffer_text(self->out, "=\"");
    page_reference_text(attribute->value, self->out);
    buffer_text(self->out, "\"");
}

/* --- Tags --- */

static void skip_attributes(clean_t *self, bool *ret_is_closed)
{
    attribute_t attribute;

    while (next_attribute(self, &attribute))
        continue;
    *ret_is_closed =
        self->end - self->at >= 0 && self->at[-1] == '>' && self->at[-2] == '/';
}

static const char *name_end(const char *at, const char *end)
{
    while (at < end && !is_blank(*at) && *at != '/' && *at != '>')
        at++;
    return at;
}

/* Returns true if an element's name is at `at`. */
static bool is_name_at(const char *at, const char *end, bytes_t name)
{
    if ((size_t) (end - at) < name.size
        || strncasecmp(at, name.bytes, name.size) != 0)
        return false;
    at += name.size;
    return at == end || is_blank(*at) || *at == '/' || *at == '>';
}

/* Passes over an element that is left out with what is in it; elements of its
 * name may be in it, unless that is text. */
static void skip_element(clean_t *self, bytes_t name, bool is_raw)
{
    size_t depth = 1;

    while (depth) {
        const char *mark =
            memchr(self->at, '<', (size_t) (self->end - self->at));
        bool is_end, is_closed = false;
        if (!mark) {
            self->at = self->end;
            return;
        }
        is_end = mark + 1 < self->end && mark[1] == '/';
        self->at = mark + 1 + is_end;
        if ((is_raw && !is_end) || !is_name_at(self->at, self->end, name))
            continue;
        self->at += name.size;
        skip_attributes(self, &is_closed);
        depth = is_end ? depth - 1 : depth + !is_closed;
    }
}

static void open_element(clean_t *self, const char *name, tag_kind_t kind)
{
    bool is_link = strcmp(name, "a") == 0;
    open_t made = {.name = name, .target = between(name, name)};
    attribute_t attribute;

    while (self->depth && tag_ends(name, self->open[self->depth - 1].name))
        close_last(self);
    buffer_format(self->out, "<%s", is_link ? "span" : name);
    while (next_attribute(self, &attribute)) {
        if (is_link && attribute.name.size == 4
            && begins_with(attribute.name, "href"))
            made.target = attribute.value;
        write_attribute(self, name, &attribute);
    }
    /* Open, because folded text would be missing on paper. */
    buffer_text(self->out, strcmp(name, "details") == 0 ? " open>" : ">");
    if (strcmp(name, "hr") == 0)
        self->has_content = true;
    if (kind == TAG_VOID)
        return;
    made.from = self->out->size;
    self->open[self->depth++] = made;
}

static void read_start(clean_t *self, bytes_t name)
{
    tag_kind_t kind = tag_kind(name);
    bool is_closed = false;

    self->at += name.size;
    if ((kind == TAG_KEPT && self->depth < DEPTH_MAX) || kind == TAG_VOID) {
        open_element(self, tag_name(name), kind);
        return;
    }
    skip_attributes(self, &is_closed);
    if (kind == TAG_RAW || (kind == TAG_GONE && !is_closed))
        skip_element(self, name, kind == TAG_RAW);
}

/* Passes over a comment, a declaration or an instruction. */
static void skip_comment(clean_t *self, const char *mark)
{
    size_t size = (size_t) (self->end - mark);
    const char *to = NULL;

    if (size >= 4 && memcmp(mark, "<!--", 4) == 0)
        to = memmem(mark + 2, size - 2, "-->", 3);
    else
        to = memchr(mark, '>', size);
    self->at = !to ? self->end : to + (*to == '-' ? 3 : 1);
}

static void read_tag(clean_t *self, const char *mark)
{
    char next = mark + 1 < self->end ? mark[1] : '\0';
    const char *from = mark + 1 + (next == '/');
    bool has_name = from < self->end && isalpha((unsigned char) *from);
    bool is_closed;

    self->at = from;
    if (has_name) {
        bytes_t name = between(from, name_end(from, self->end));
        if (next != '/') {
            read_start(self, name);
            return;
        }
        self->at += name.size;
        skip_attributes(self, &is_closed);
        if (tag_name(name))
            close_element(self, tag_name(name));
    } else if (next == '/' || next == '!' || next == '?') {
        skip_comment(self, mark);
    } else {
        buffer_text(self->out, "&lt;");
        self->has_content = true;
    }
}

static void read_text(clean_t *self, const char *stop)
{
    bytes_t text = between(self->at, stop);

    if (trimmed(text).size)
        self->has_content = true;
    page_reference_text(text, self->out);
    self->at = stop;
}

page_clean_t page_clean(bytes_t html, buffer_t *out)
{
    const char *start = html.size ? html.bytes : "";
    clean_t self = {.at = start, .end = start + html.size, .out = out};
    bool is_cut;

    while (self.at < self.end && self.nodes++ < NODES_MAX) {
        const char *mark = memchr(self.at, '<', (size_t) (self.end - self.at));
        if (mark == self.at)
            read_tag(&self, mark);
        else
            read_text(&self, mark ? mark : self.end);
    }
    is_cut = self.at < self.end;
    while (self.depth)
        close_last(&self);
    if (!self.has_content)
        return PAGE_CLEAN_EMPTY;
    return is_cut ? PAGE_CLEAN_CUT : PAGE_CLEAN_WHOLE;
}
