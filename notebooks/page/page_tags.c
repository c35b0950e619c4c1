/* See page_tags.h. */
#include "notebooks/page/page_tags.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

typedef struct {
    const char *name;
    int kind;
} named_kind_t;

static const named_kind_t tags[] = {
    {"a", TAG_KEPT},          {"abbr", TAG_KEPT},     {"b", TAG_KEPT},
    {"blockquote", TAG_KEPT}, {"br", TAG_VOID},       {"caption", TAG_KEPT},
    {"center", TAG_KEPT},     {"code", TAG_KEPT},     {"col", TAG_VOID},
    {"colgroup", TAG_KEPT},   {"dd", TAG_KEPT},       {"del", TAG_KEPT},
    {"details", TAG_KEPT},    {"dfn", TAG_KEPT},      {"div", TAG_KEPT},
    {"dl", TAG_KEPT},         {"dt", TAG_KEPT},       {"em", TAG_KEPT},
    {"figcaption", TAG_KEPT}, {"figure", TAG_KEPT},   {"h1", TAG_KEPT},
    {"h2", TAG_KEPT},         {"h3", TAG_KEPT},       {"h4", TAG_KEPT},
    {"h5", TAG_KEPT},         {"h6", TAG_KEPT},       {"hr", TAG_VOID},
    {"i", TAG_KEPT},          {"img", TAG_VOID},      {"ins", TAG_KEPT},
    {"kbd", TAG_KEPT},        {"li", TAG_KEPT},       {"mark", TAG_KEPT},
    {"ol", TAG_KEPT},         {"p", TAG_KEPT},        {"pre", TAG_KEPT},
    {"q", TAG_KEPT},          {"s", TAG_KEPT},        {"samp", TAG_KEPT},
    {"small", TAG_KEPT},      {"span", TAG_KEPT},     {"strong", TAG_KEPT},
    {"sub", TAG_KEPT},        {"summary", TAG_KEPT},  {"sup", TAG_KEPT},
    {"table", TAG_KEPT},      {"tbody", TAG_KEPT},    {"td", TAG_KEPT},
    {"tfoot", TAG_KEPT},      {"th", TAG_KEPT},       {"thead", TAG_KEPT},
    {"time", TAG_KEPT},       {"tr", TAG_KEPT},       {"u", TAG_KEPT},
    {"ul", TAG_KEPT},         {"var", TAG_KEPT},      {"applet", TAG_GONE},
    {"audio", TAG_GONE},      {"canvas", TAG_GONE},   {"frameset", TAG_GONE},
    {"map", TAG_GONE},        {"math", TAG_GONE},     {"object", TAG_GONE},
    {"picture", TAG_GONE},    {"select", TAG_GONE},   {"slot", TAG_GONE},
    {"svg", TAG_GONE},        {"template", TAG_GONE}, {"video", TAG_GONE},
    {"iframe", TAG_RAW},      {"noembed", TAG_RAW},   {"noframes", TAG_RAW},
    {"noscript", TAG_RAW},    {"plaintext", TAG_RAW}, {"script", TAG_RAW},
    {"style", TAG_RAW},       {"textarea", TAG_RAW},  {"title", TAG_RAW},
    {"xmp", TAG_RAW},         {"area", TAG_IGNORED},  {"base", TAG_IGNORED},
    {"embed", TAG_IGNORED},   {"frame", TAG_IGNORED}, {"input", TAG_IGNORED},
    {"link", TAG_IGNORED},    {"meta", TAG_IGNORED},  {"param", TAG_IGNORED},
    {"source", TAG_IGNORED},  {"track", TAG_IGNORED},
};

static const named_kind_t attributes[] = {
    {"align", ATTRIBUTE_WORD},     {"alt", ATTRIBUTE_TEXT},
    {"colspan", ATTRIBUTE_NUMBER}, {"dir", ATTRIBUTE_WORD},
    {"height", ATTRIBUTE_NUMBER},  {"lang", ATTRIBUTE_WORD},
    {"reversed", ATTRIBUTE_FLAG},  {"rowspan", ATTRIBUTE_NUMBER},
    {"scope", ATTRIBUTE_WORD},     {"span", ATTRIBUTE_NUMBER},
    {"start", ATTRIBUTE_NUMBER},   {"title", ATTRIBUTE_TEXT},
    {"valign", ATTRIBUTE_WORD},    {"width", ATTRIBUTE_NUMBER},
};

static const named_kind_t *find(const named_kind_t *entries, size_t count,
                                bytes_t name)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(entries[i].name) == name.size
            && strncasecmp(entries[i].name, name.bytes, name.size) == 0)
            return &entries[i];
    return NULL;
}

static const named_kind_t *find_tag(bytes_t name)
{
    return find(tags, sizeof tags / sizeof *tags, name);
}

tag_kind_t tag_kind(bytes_t name)
{
    const named_kind_t *tag = find_tag(name);

    return tag ? (tag_kind_t) tag->kind : TAG_OPENED;
}

const char *tag_name(bytes_t name)
{
    const named_kind_t *tag = find_tag(name);

    return tag && (tag->kind == TAG_KEPT || tag->kind == TAG_VOID) ? tag->name
                                                                   : NULL;
}

bool tag_ends(const char *next, const char *open)
{
    static const char *const ends[][2] = {
        {"li", " li "},
        {"p", " p "},
        {"dt", " dt dd "},
        {"dd", " dt dd "},
        {"td", " td th "},
        {"th", " td th "},
        {"tr", " td th tr "},
        {"thead", " td th tr tbody thead tfoot caption colgroup "},
        {"tbody", " td th tr tbody thead tfoot caption colgroup "},
        {"tfoot", " td th tr tbody thead tfoot caption colgroup "},
    };
    char word[16];

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (strcmp(ends[i][0], next) != 0)
            continue;
        (void) snprintf(word, sizeof word, " %s ", open);
        return strstr(ends[i][1], word) != NULL;
    }
    return false;
}

attribute_kind_t attribute_kind(bytes_t name)
{
    const named_kind_t *attribute =
        find(attributes, sizeof attributes / sizeof *attributes, name);

    return attribute ? (attribute_kind_t) attribute->kind : ATTRIBUTE_NONE;
}

const char *attribute_name(bytes_t name)
{
    const named_kind_t *attribute =
        find(attributes, sizeof attributes / sizeof *attributes, name);

    return attribute ? attribute->name : NULL;
}
