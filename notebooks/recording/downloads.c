/* See downloads.h. Calls of code have records of their own, a client's are in
 * the gateway's notes. Files and repositories have the records of files. */
#include "notebooks/recording/downloads.h"

#include "base/buffer.h"
#include "base/url_plain.h"
#include "notebooks/json/member.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PACKAGES "hearth:packages" /* gateway/session/tools/tool_offer.h */

const char *const downloads_members[] = {"packages", "preinstalled", "files",
                                         "repositories", NULL};

void downloads_clear(downloads_t *self)
{
    json_decref(self->packages);
    json_decref(self->preinstalled);
    json_decref(self->places);
    json_decref(self->calls);
    *self = (downloads_t){0};
}

/* Adds the members that are there, without those that are "" or false. */
static void copy_members(json_t *to, const json_t *from,
                         const char *const *names)
{
    for (; *names; names++) {
        json_t *value = json_object_get(from, *names);

        if (json_is_integer(value) || json_string_length(value)
            || json_is_true(value))
            json_object_set(to, *names, value);
    }
}

/* Replaces a list by that of the packages. */
static void replace(json_t **list, const json_t *packages)
{
    static const char *const members[] = {"name", "version", "sha256", NULL};
    const json_t *package;
    size_t i;

    if (!json_is_array(packages))
        return;
    json_decref(*list);
    *list = json_array();
    json_array_foreach(packages, i, package)
    {
        json_t *kept = json_object();

        copy_members(kept, package, members);
        json_array_append_new(*list, kept);
    }
}

/* Replaces the packages by those of an answer, each of which has all of the
 * session. */
static void keep_packages(downloads_t *self, const json_t *result)
{
    if (strcmp(member_text(result, "status"), "ok") == 0)
        replace(&self->packages, json_object_get(result, "packages"));
}

static void on_file(downloads_t *self, const json_t *content)
{
    static const char *const members[] = {"path",       "sha256", "size",
                                          "commit",     "branch", "lfs",
                                          "submodules", NULL};
    const char *what = member_text(content, "what");
    cleanup_free char *url = url_plain(member_text(content, "url"));
    json_t *depth = json_object_get(content, "depth");
    json_t *place;

    if ((strcmp(what, "fetch") != 0 && strcmp(what, "clone") != 0)
        || strcmp(member_text(content, "outcome"), "ok") != 0)
        return;
    place = json_pack("{s:s}", "url", url);
    copy_members(place, content, members);
    if (json_integer_value(depth))
        json_object_set(place, "depth", depth);
    if (!self->places)
        self->places = json_object();
    json_object_set_new(self->places, member_text(content, "path"), place);
}

static void on_call(downloads_t *self, const journal_record_t *record,
                    const json_t *content)
{
    char seq[24];

    if (strcmp(member_text(content, "name"), PACKAGES) != 0)
        return;
    if (!self->calls)
        self->calls = json_object();
    snprintf(seq, sizeof seq, "%" PRIu64, record->seq);
    json_object_set_new(self->calls, seq, json_true());
}

static void on_result(downloads_t *self, const json_t *content)
{
    char seq[24];

    snprintf(seq, sizeof seq, "%" JSON_INTEGER_FORMAT,
             json_integer_value(json_object_get(content, "call")));
    if (!json_object_get(self->calls, seq))
        return;
    json_object_del(self->calls, seq);
    keep_packages(self, json_object_get(content, "result"));
}

static void on_note(downloads_t *self, const json_t *content)
{
    const json_t *call = json_object_get(content, "call");

    if (strcmp(member_text(call, "name"), PACKAGES) == 0
        && !json_object_get(call, "missing"))
        keep_packages(self, json_object_get(call, "result"));
}

void downloads_add(downloads_t *self, const journal_record_t *record,
                   const json_t *content)
{
    if (strcmp(record->type, "file") == 0)
        on_file(self, content);
    else if (strcmp(record->type, "tool_call") == 0)
        on_call(self, record, content);
    else if (strcmp(record->type, "tool_result") == 0)
        on_result(self, content);
    else if (strcmp(record->type, "note") == 0)
        on_note(self, content);
    else if (strcmp(record->type, "preinstalled") == 0)
        replace(&self->preinstalled, json_object_get(content, "packages"));
}

void downloads_write(const downloads_t *self, json_t *own)
{
    json_auto_t *files = json_array(), *repositories = json_array();
    const char *path;
    json_t *place;

    json_object_foreach(self->places, path, place) json_array_append(
        json_object_get(place, "commit") ? repositories : files, place);
    if (json_array_size(self->packages))
        json_object_set(own, "packages", self->packages);
    if (json_array_size(self->preinstalled))
        json_object_set(own, "preinstalled", self->preinstalled);
    if (json_array_size(files))
        json_object_set(own, "files", files);
    if (json_array_size(repositories))
        json_object_set(own, "repositories", repositories);
}

void downloads_hide(json_t *call)
{
    json_t *arguments = json_object_get(call, "arguments");
    const char *url = member_text(arguments, "url");
    cleanup_free char *plain = url_plain(url);

    if (strcmp(plain, url) == 0)
        return;
    json_object_set_new(arguments, "url", json_string(plain));
    json_object_set_new(call, "url_cut", json_true());
}
