/* The values of the configuration, from text to members and back into words
 * for people. */
#include "gateway/config/option_value.h"

#include "base/buffer.h"
#include "base/texts.h"
#include "gateway/config/default_paths.h"

#include <arpa/inet.h>

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Digits, at most `fraction` behind a point, in units of 10^-fraction. The
 * rest of the text is returned; NULL: no number or too big a one. */
static const char *parse_digits(const char *text, int fraction,
                                uint64_t *ret_value)
{
    uint64_t value = 0;
    bool is_behind = false;

    if (!isdigit((unsigned char) *text))
        return NULL;
    for (; isdigit((unsigned char) *text) || (*text == '.' && !is_behind);
         text++) {
        if (*text == '.') {
            if (!fraction || !isdigit((unsigned char) text[1]))
                return NULL;
            is_behind = true;
            continue;
        }
        if ((is_behind && fraction-- == 0) || value > UINT64_MAX / 100)
            return NULL;
        value = value * 10 + (uint64_t) (*text - '0');
    }
    while (fraction-- > 0) {
        if (value > UINT64_MAX / 100)
            return NULL;
        value *= 10;
    }
    *ret_value = value;
    return text;
}

typedef struct {
    const char *suffix;
    uint64_t factor;
} unit_t;

static const unit_t durations[] = {
    {"d", 86400}, {"h", 3600}, {"m", 60}, {"s", 1}, {"", 1},
};
static const unit_t sizes[] = {
    {"T", TIB}, {"G", GIB}, {"M", MIB}, {"K", KIB}, {"", 1},
};
static const unit_t plain[] = {{"", 1}};

static bool parse_quantity(const char *text, const unit_t *units, size_t count,
                           int fraction, uint64_t *ret_value)
{
    uint64_t value;
    const char *suffix = parse_digits(text, fraction, &value);

    for (size_t i = 0; suffix && i < count; i++) {
        if (strcmp(suffix, units[i].suffix) != 0)
            continue;
        if (value > UINT64_MAX / units[i].factor)
            return false;
        *ret_value = value * units[i].factor;
        return true;
    }
    return false;
}

static bool parse_number(const setting_t *self, const char *text,
                         uint64_t *ret_value)
{
    uint64_t value = 0;
    bool is_number = false;

    if (self->kind == KIND_DURATION) /* milliseconds: three digits behind */
        is_number =
            parse_quantity(text, durations,
                           sizeof(durations) / sizeof(durations[0]), 3, &value);
    else if (self->kind == KIND_SIZE)
        is_number = parse_quantity(text, sizes,
                                   sizeof(sizes) / sizeof(sizes[0]), 0, &value);
    else
        is_number = parse_quantity(text, plain, 1, 0, &value);
    if (!is_number)
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

static bool is_module(const char *name)
{
    return name[0] && name[0] != '.' && !isdigit((unsigned char) name[0])
           && name[strspn(name, NAME_LETTERS ".")] == '\0'
           && !strstr(name, "..") && name[strlen(name) - 1] != '.';
}

static bool is_variable(const char *name)
{
    return name[0] && !isdigit((unsigned char) name[0])
           && !name[strspn(name, NAME_LETTERS)] && environment_is_free(name);
}

/* As a browser writes it, RFC 6454, section 6.2; or *. Not "null", which pages
 * have that must not be trusted: outputs of kernels, too. */
static bool is_origin(const char *text)
{
    const char *host = strstr(text, "://");

    return strcmp(text, "*") == 0
           || (host && host[3] && !strpbrk(host + 3, "/?#@ \\")
               && isalpha((unsigned char) text[0])
               && text + strspn(text, NAME_LETTERS "+-.") == host);
}

static bool is_path(const char *text)
{
    return text[0] == '/';
}

/* No part of it is "", "." or "..". */
static bool is_plain_path(const char *text, size_t size)
{
    for (size_t at = 0; at < size;) {
        const char *part = text + at + 1;
        size_t length = strcspn(part, "/");

        if (text[at] != '/')
            return false;
        if (length > size - at - 1)
            length = size - at - 1;
        if (!length || (part[0] == '.' && length == 1)
            || (part[0] == '.' && part[1] == '.' && length == 2))
            return false;
        at += length + 1;
    }
    return size > 0;
}

/* SOURCE:TARGET. What they lead to is the sandbox's to judge. */
static bool is_mount(const char *text)
{
    const char *colon = strrchr(text, ':');

    return colon && is_plain_path(text, (size_t) (colon - text))
           && is_plain_path(colon + 1, strlen(colon + 1));
}

/* The items between commas, without blanks around; NULL when one is none. An
 * empty text is an empty list. */
static char **parse_list(const char *text, bool (*is_item)(const char *))
{
    cleanup_texts char **list = mem_new(sizeof(char *));
    size_t count = 0;

    if (!text[strspn(text, " ")])
        return take_ptr(list);
    while (text) {
        const char *comma = strchr(text, ',');
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

static bool is_base(const char *text)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "abcdefghijklmnopqrstuvwxyz0123456789_-./~";

    return text[0] == '/' && text[strlen(text) - 1] == '/'
           && !strstr(text, "//") && !strstr(text, "/.")
           && !text[strspn(text, letters)];
}

static bool is_address(const char *text)
{
    unsigned char address[sizeof(struct in6_addr)];

    return inet_pton(AF_INET, text, address) == 1
           || inet_pton(AF_INET6, text, address) == 1;
}

static bool set_text(char **member, const char *text, bool is_permitted)
{
    if (!is_permitted)
        return false;
    free(*member);
    *member = mem_text(text);
    return true;
}

static bool set_list(char ***member, char **list)
{
    if (!list)
        return false;
    texts_destroy(member);
    *member = list;
    return true;
}

/* The value to its member; false when it is not permitted. */
static bool set_member(const setting_t *self, void *base, const char *text)
{
    void *member = (char *) base + self->offset;
    uint64_t number = 0;

    switch (self->kind) {
    case KIND_FOLDER:
    case KIND_PROGRAM:
        return set_text(member, text, is_path(text));
    case KIND_TEXT:
        return set_text(member, text, *text != '\0');
    case KIND_BASE:
        return set_text(member, text, is_base(text));
    case KIND_ADDRESS:
        return set_text(member, text, is_address(text));
    case KIND_NAMES:
    case KIND_MODULES:
        return set_list(member, parse_list(text, is_module));
    case KIND_ENV:
        return set_list(member, parse_list(text, is_variable));
    case KIND_ORIGINS:
        return set_list(member, parse_list(text, is_origin));
    case KIND_FOLDERS:
        return set_list(member, parse_list(text, is_path));
    case KIND_MOUNTS:
        return set_list(member, parse_list(text, is_mount));
    case KIND_CHOICE:
        return parse_choice(self->words, text, member);
    case KIND_DURATION:
        if (parse_number(self, text, &number))
            *(int64_t *) member = (int64_t) number;
        else
            return false;
        return true;
    case KIND_SIZE:
    case KIND_NUMBER:
        return parse_number(self, text, member);
    }
    return false;
}

/* "90s", "1G": the biggest unit that divides it. */
static void write_quantity(kind_t kind, uint64_t value, char *ret_text,
                           size_t size)
{
    const unit_t *units = kind == KIND_SIZE ? sizes : durations;

    if (kind == KIND_NUMBER) {
        snprintf(ret_text, size, "%llu", (unsigned long long) value);
        return;
    }
    if (kind == KIND_DURATION && value % 1000) {
        snprintf(ret_text, size, "%llu.%03llus",
                 (unsigned long long) (value / 1000),
                 (unsigned long long) (value % 1000));
        return;
    }
    if (kind == KIND_DURATION)
        value /= 1000;
    while (units->factor > 1 && (!value || value % units->factor))
        units++;
    snprintf(ret_text, size, "%llu%s",
             (unsigned long long) (value / units->factor), units->suffix);
}

void setting_range(const setting_t *self, char *ret_text, size_t size)
{
    static const char *const forms[] = {
        [KIND_FOLDER] = "an absolute path",
        [KIND_PROGRAM] = "an absolute path",
        [KIND_TEXT] = "a text",
        [KIND_BASE] = "a path that begins and ends with a slash",
        [KIND_ADDRESS] = "an IPv4 or IPv6 address",
        [KIND_MODULES] = "names of modules with commas between",
        [KIND_MOUNTS] =
            ("SOURCE:TARGET, absolute paths without .., with commas "
             "between"),
        [KIND_FOLDERS] = "absolute paths with commas between",
        [KIND_NAMES] = "names with commas between",
        [KIND_ENV] =
            ("names of variables with commas between, not PATH, HOME, USER, "
             "LOGNAME, HEARTH_..., KG_..., LD_..., PYTHON..."),
        [KIND_ORIGINS] =
            ("origins such as https://pages.example or "
             "http://localhost:3000, without a path, with commas between; * "
             "is all"),
        [KIND_DURATION] = "a duration such as 90, 1.5s, 20m, 24h",
        [KIND_SIZE] = "a size such as 4096, 64K, 512M, 2G",
        [KIND_NUMBER] = "a whole number",
        [KIND_CHOICE] = "one of ",
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

int setting_set(const setting_t *self, void *base, const char *key,
                const char *value, fault_t *fault)
{
    char range[192];

    if (set_member(self, base, value))
        return 0;
    setting_range(self, range, sizeof(range));
    return fault_set(fault, EINVAL, "%s = \"%.64s\": must be %s", key, value,
                     range);
}

void setting_reset(const setting_t *self, void *base)
{
    bool is_good = !self->initial[0] || set_member(self, base, self->initial);

    assert(is_good); /* a default outside its own range */
    (void) is_good;
}
