/* See html_text.h. Not a parser of HTML: what is between < and > is a tag, and
 * what it does not know it leaves as it is. Each byte is looked at a bounded
 * number of times. */
#include "notebooks/modelview/html_text.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#define NAME_MAX_SIZE 12 /* of a tag that is looked for */

typedef struct {
    const char *at, *end; /* borrowed; the rest of the page */
    buffer_t *out;        /* borrowed */
    size_t begin;         /* of our text in *out */
    bool is_blank_due;    /* white space was passed */
} html_reader_t;

static const struct {
    const char *name;
    const char *text; /* for the tag */
} breaks[] = {
    {"br", "\n"},  {"p", "\n"},        {"/p", "\n"},   {"div", "\n"},
    {"/tr", "\n"}, {"/div", "\n"},     {"li", "\n- "}, {"/h1", "\n"},
    {"/h2", "\n"}, {"/h3", "\n"},      {"/h4", "\n"},  {"/table", "\n"},
    {"/td", "\t"}, {"/th", "\t"},      {"/pre", "\n"}, {"/li", "\n"},
    {"tr", "\n"},  {"/caption", "\n"},
};

static const struct {
    const char *name, *text;
} entities[] = {
    {"amp;", "&"}, {"lt;", "<"},   {"gt;", ">"},   {"quot;", "\""},
    {"#39;", "'"}, {"apos;", "'"}, {"nbsp;", " "}, {"hellip;", "…"},
};

static void put(html_reader_t *self, const char *text, size_t size)
{
    bool is_at_line = self->out->size == self->begin
                      || self->out->data[self->out->size - 1] == '\n'
                      || self->out->data[self->out->size - 1] == '\t';

    if (self->is_blank_due && !is_at_line)
        buffer_text(self->out, " ");
    self->is_blank_due = false;
    buffer_append(self->out, text, size);
}

/* Puts a line break or a tab, of which two in a row say no more than one. */
static void put_break(html_reader_t *self, const char *text)
{
    self->is_blank_due = false;
    if (*text == '\n')
        while (self->out->size > self->begin
               && self->out->data[self->out->size - 1] == '\t')
            self->out->size--;
    if (self->out->size > self->begin
        && !(*text == '\n' && self->out->data[self->out->size - 1] == '\n'))
        buffer_text(self->out, text);
}

/* Passes over everything up to the end tag of an element that shows nothing. */
static void skip_element(html_reader_t *self, const char *name)
{
    size_t size = strlen(name);

    while (self->at < self->end) {
        const char *tag =
            memmem(self->at, (size_t) (self->end - self->at), "</", 2);
        self->at = tag ? tag + 2 : self->end;
        if (tag && (size_t) (self->end - self->at) >= size
            && strncasecmp(self->at, name, size) == 0)
            break;
    }
    const char *close = memchr(self->at, '>', (size_t) (self->end - self->at));
    self->at = close ? close + 1 : self->end;
}

static void take_tag(html_reader_t *self)
{
    const char *close;
    char name[NAME_MAX_SIZE] = "";
    size_t size = 0;

    close = memchr(self->at, '>', (size_t) (self->end - self->at));
    if (!close) {
        self->at = self->end;
        return;
    }
    for (const char *at = self->at + 1;
         at < close && size < sizeof name - 1
         && (isalnum((unsigned char) *at) || (*at == '/' && size == 0));
         at++)
        name[size++] = (char) tolower((unsigned char) *at);
    self->at = close + 1;
    if (strcmp(name, "script") == 0 || strcmp(name, "style") == 0)
        skip_element(self, name);
    for (size_t i = 0; i < sizeof breaks / sizeof *breaks; i++)
        if (strcmp(breaks[i].name, name) == 0)
            put_break(self, breaks[i].text);
}

static void take_entity(html_reader_t *self)
{
    size_t rest = (size_t) (self->end - self->at - 1);

    for (size_t i = 0; i < sizeof entities / sizeof *entities; i++) {
        size_t size = strlen(entities[i].name);
        if (rest < size || memcmp(self->at + 1, entities[i].name, size) != 0)
            continue;
        put(self, entities[i].text, strlen(entities[i].text));
        self->at += 1 + size;
        return;
    }
    put(self, self->at++, 1);
}

void html_text(bytes_t page, buffer_t *out)
{
    html_reader_t self = {.at = page.bytes,
                          .end = (const char *) page.bytes + page.size,
                          .out = out,
                          .begin = out->size};

    while (self.at < self.end) {
        const char *from = self.at;
        if (*from == '<') {
            take_tag(&self);
        } else if (*from == '&') {
            take_entity(&self);
        } else if (isspace((unsigned char) *from)) {
            self.is_blank_due = true;
            self.at++;
        } else {
            while (self.at < self.end && *self.at != '<' && *self.at != '&'
                   && !isspace((unsigned char) *self.at))
                self.at++;
            put(&self, from, (size_t) (self.at - from));
        }
    }
}
