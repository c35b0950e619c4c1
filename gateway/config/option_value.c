/* The values of the configuration, from text to members and back into words
 * for people. */
#include "gateway/config/option_value.h"

#include "base/buffer.h"
#include "base/string_list.h"
#include "base/units.h"
#include "gateway/config/option_syntax.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static bool parse_number(const option_value_t *self, const char *text,
                         uint64_t *ret_value)
{
    uint64_t value = 0;

    if (!(self->kind == VALUE_DURATION ? units_duration(text, &value)
          : self->kind == VALUE_SIZE   ? units_size(text, &value)
                                       : units_number(text, &value)))
        return false;
    if ((value < self->min || value > self->max)
        && !(value == 0 && self->has_zero))
        return false;
    *ret_value = value;
    return true;
}

static bool parse_choice(const char *words, const char *text, int *ret_place)
{
    size_t size = strlen(text);

    for (int place = 0; words; place++) {
        const char *bar = strchr(words, '|');
        size_t length = bar ? (size_t) (bar - words) : strlen(words);
        if (length == size && memcmp(words, text, size) == 0) {
            *ret_place = place;
            return true;
        }
        words = bar ? bar + 1 : NULL;
    }
    return false;
}

/* Reads a switch: YAML's words, Python's, and what the shell has for them. */
static bool parse_switch(const char *text, int *ret_value)
{
    static const char *const words[][2] = {
        {"no", "yes"}, {"false", "true"}, {"off", "on"}, {"0", "1"}};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        for (int value = 0; value < 2; value++)
            if (strcasecmp(text, words[i][value]) == 0) {
                *ret_value = value;
                return true;
            }
    return false;
}

static const char *find_comma(const char *text)
{
    return strchr(text, ',');
}

/* Splits a text at commas, without white space around the items; NULL if an
 * item is invalid. An empty text is an empty list. */
static char **split(const char *text, bool (*is_item)(const char *),
                    const char *(*find_end)(const char *) )
{
    cleanup_texts char **list = mem_new(sizeof(char *));
    size_t count = 0;

    if (!text[strspn(text, " ")])
        return take_ptr(list);
    while (text) {
        const char *comma = find_end(text);
        text += strspn(text, " ");
        size_t size = comma ? (size_t) (comma - text) : strlen(text);
        if (comma && comma < text)
            return NULL;
        while (size && text[size - 1] == ' ')
            size--;
        list = mem_resize(list, (count + 2) * sizeof(char *));
        list[count] = mem_copy(text, size);
        list[++count] = NULL;
        if (!is_item(list[count - 1]))
            return NULL;
        text = comma ? comma + 1 : NULL;
    }
    return take_ptr(list);
}

static char **parse_list(const char *text, bool (*is_item)(const char *))
{
    return split(text, is_item, find_comma);
}

static bool set_text(char **member, const char *text, bool is_permitted)
{
    if (!is_permitted)
        return false;
    free(*member);
    *member = mem_text(text);
    return true;
}

/* Sets a URL; an empty text is no URL. */
static bool set_url(char **member, const char *text)
{
    if (*text)
        return set_text(member, text, option_is_index(text));
    free(*member);
    *member = NULL;
    return true;
}

static bool set_list(char ***member, char **list)
{
    if (!list)
        return false;
    string_list_destroy(member);
    *member = list;
    return true;
}

/* Sets the member to the value; false if it is not permitted. */
static bool set_member(const option_value_t *self, void *base, const char *text)
{
    void *member = (char *) base + self->offset;
    uint64_t number = 0;

    switch (self->kind) {
    case VALUE_PATH:
    case VALUE_PROGRAM:
        return set_text(member, text, option_is_path(text));
    case VALUE_TEXT:
        return set_text(member, text, *text != '\0');
    case VALUE_BASE:
        return set_text(member, text, option_is_base(text));
    case VALUE_ADDRESS:
        return set_text(member, text, option_is_address(text));
    case VALUE_URL:
        return set_url(member, text);
    case VALUE_HOSTS:
        return set_list(member, parse_list(text, option_is_host));
    case VALUE_PACKAGES:
        return set_list(member, parse_list(text, option_is_package));
    case VALUE_REQUIREMENTS:
        return set_list(
            member, split(text, option_is_requirement, option_requirement_end));
    case VALUE_PLACES:
        return set_list(member, parse_list(text, option_is_place));
    case VALUE_NETWORKS:
        return set_list(member, parse_list(text, option_is_network));
    case VALUE_NAMES:
    case VALUE_MODULES:
        return set_list(member, parse_list(text, option_is_module));
    case VALUE_TOOLS:
        return set_list(member, parse_list(text, option_is_tool));
    case VALUE_ENV:
        return set_list(member, parse_list(text, option_is_variable));
    case VALUE_ORIGINS:
        return set_list(member, parse_list(text, option_is_origin));
    case VALUE_FOLDERS:
        return set_list(member, parse_list(text, option_is_path));
    case VALUE_MOUNTS:
        return set_list(member, parse_list(text, option_is_mount));
    case VALUE_CHOICE:
        return parse_choice(self->words, text, member);
    case VALUE_SWITCH:
        return parse_switch(text, member);
    case VALUE_DURATION:
        if (parse_number(self, text, &number))
            *(int64_t *) member = (int64_t) number;
        else
            return false;
        return true;
    case VALUE_SIZE:
    case VALUE_NUMBER:
        return parse_number(self, text, member);
    }
    return false;
}

static void write_quantity(value_kind_t kind, uint64_t value, char *ret_text,
                           size_t size)
{
    if (kind == VALUE_DURATION)
        units_write_duration(value, ret_text, size);
    else if (kind == VALUE_SIZE)
        units_write_size(value, ret_text, size);
    else
        snprintf(ret_text, size, "%llu", (unsigned long long) value);
}

void option_value_range(const option_value_t *self, char *ret_text, size_t size)
{
    static const char *const forms[] = {
        [VALUE_PATH] = "an absolute path",
        [VALUE_PROGRAM] = "an absolute path",
        [VALUE_TEXT] = "a text",
        [VALUE_BASE] = "a path that begins and ends with a slash",
        [VALUE_ADDRESS] = "an IPv4 or IPv6 address",
        [VALUE_MODULES] = "names of modules with commas between",
        [VALUE_MOUNTS] =
            ("SOURCE:TARGET, absolute paths without .., with commas "
             "between"),
        [VALUE_FOLDERS] = "absolute paths with commas between",
        [VALUE_NAMES] = "names with commas between",
        [VALUE_TOOLS] =
            ("names of tools (letters, digits, _ - . /), or their beginning "
             "and *, with commas between"),
        [VALUE_URL] =
            ("an http or https URL with a host and without user, query and "
             "fragment, such as https://pypi.org/simple/"),
        [VALUE_HOSTS] =
            ("names or IPv4 addresses of hosts, without scheme and port, with "
             "commas between"),
        [VALUE_PACKAGES] =
            ("names of packages (letters, digits, _ - .), or their beginning "
             "and *, with commas between"),
        [VALUE_REQUIREMENTS] =
            ("requirements such as NAME, NAME==1.2 or NAME[EXTRA]>=1,<2, with "
             "commas between"),
        [VALUE_PLACES] =
            ("hosts (a.example, *.a.example, 192.0.2.1, [2001:db8::1], *), "
             "without scheme and path, perhaps with :PORT, with commas "
             "between"),
        [VALUE_NETWORKS] =
            ("networks such as 10.0.0.0/8 or fd00::/8, whose other bits are 0, "
             "with commas between"),
        [VALUE_ENV] =
            ("names of variables with commas between, not PATH, HOME, USER, "
             "LOGNAME, HEARTH_..., KG_..., LD_..., PYTHON..."),
        [VALUE_ORIGINS] =
            ("origins such as https://pages.example or "
             "http://localhost:3000, without a path, with commas between; * "
             "is all"),
        [VALUE_DURATION] = "a duration such as 90, 1.5s, 20m, 24h",
        [VALUE_SIZE] = "a size such as 4096, 64K, 512M, 2G",
        [VALUE_NUMBER] = "a whole number",
        [VALUE_CHOICE] = "one of ",
        [VALUE_SWITCH] = "yes or no",
    };
    char low[32];
    char high[32];

    if (self->max) {
        write_quantity(self->kind, self->min, low, sizeof(low));
        write_quantity(self->kind, self->max, high, sizeof(high));
        snprintf(ret_text, size, "%s from %s to %s%s", forms[self->kind], low,
                 high, self->has_zero && self->min ? ", or 0" : "");
    } else {
        snprintf(ret_text, size, "%s%s", forms[self->kind],
                 self->words ? self->words : "");
    }
}

int option_value_set(const option_value_t *self, void *base, const char *key,
                     const char *value, fault_t *fault)
{
    char range[192];

    if (set_member(self, base, value))
        return 0;
    option_value_range(self, range, sizeof(range));
    /* The text before an @ may have a password. */
    if (self->kind == VALUE_URL && strchr(value, '@'))
        return fault_set(fault, EINVAL, "%s = \"...%.64s\": must be %s", key,
                         strrchr(value, '@'), range);
    return fault_set(fault, EINVAL, "%s = \"%.64s\": must be %s", key, value,
                     range);
}

/* Appends the word at that place of "a|b|c". */
static void write_choice(const char *words, int place, buffer_t *text)
{
    for (; place > 0; place--)
        words += strcspn(words, "|") + 1;
    buffer_append(text, words, strcspn(words, "|"));
}

static void write_list(char *const *list, buffer_t *text)
{
    for (size_t i = 0; list && list[i]; i++)
        buffer_format(text, "%s%s", i ? ", " : "", list[i]);
}

char *option_value_write(const option_value_t *self, const void *base)
{
    const void *member = (const char *) base + self->offset;
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    char number[32];

    switch (self->kind) {
    case VALUE_PATH:
    case VALUE_PROGRAM:
    case VALUE_TEXT:
    case VALUE_BASE:
    case VALUE_ADDRESS:
    case VALUE_URL:
        if (*(char *const *) member)
            buffer_text(&text, *(char *const *) member);
        break;
    case VALUE_MODULES:
    case VALUE_MOUNTS:
    case VALUE_FOLDERS:
    case VALUE_NAMES:
    case VALUE_TOOLS:
    case VALUE_HOSTS:
    case VALUE_PACKAGES:
    case VALUE_REQUIREMENTS:
    case VALUE_PLACES:
    case VALUE_NETWORKS:
    case VALUE_ENV:
    case VALUE_ORIGINS:
        write_list(*(char **const *) member, &text);
        break;
    case VALUE_CHOICE:
        write_choice(self->words, *(const int *) member, &text);
        break;
    case VALUE_SWITCH:
        buffer_text(&text, *(const int *) member ? "yes" : "no");
        break;
    case VALUE_DURATION:
    case VALUE_SIZE:
    case VALUE_NUMBER:
        write_quantity(self->kind, *(const uint64_t *) member, number,
                       sizeof number);
        buffer_text(&text, number);
        break;
    }
    return mem_copy(text.data ? (const char *) text.data : "", text.size);
}

void option_value_reset(const option_value_t *self, void *base)
{
    bool is_good = !self->initial[0] || set_member(self, base, self->initial);

    assert(is_good); /* a default outside its own range */
    (void) is_good;
}

/* Returns true if the member is a char *, NULL for no value. */
static bool is_text(value_kind_t kind)
{
    return kind == VALUE_PATH || kind == VALUE_PROGRAM || kind == VALUE_TEXT
           || kind == VALUE_BASE || kind == VALUE_ADDRESS || kind == VALUE_URL;
}

void option_value_copy(const option_value_t *self, void *base, const void *from)
{
    cleanup_free char *text = option_value_write(self, from);
    bool is_good = true;

    if (!*text && is_text(self->kind)) {
        char **member = (char **) ((char *) base + self->offset);

        free(*member);
        *member = NULL;
    } else {
        is_good = set_member(self, base, text);
    }
    assert(is_good); /* a value that the row refuses, or written otherwise */
    (void) is_good;
}
