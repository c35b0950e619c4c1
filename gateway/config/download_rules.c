/* See download_rules.h. */
#include "gateway/config/download_rules.h"

#include "base/buffer.h"
#include "gateway/config/json_text.h"

#include <stdlib.h>
#include <string.h>

#define LISTS_BYTES (8u << 10) /* of all lists in an environment */

void download_wishes_clear(download_wishes_t *self)
{
    free(self->fetch);
    free(self->packages);
    *self = (download_wishes_t){0};
}

int download_wishes_read(const profile_t *profile, const json_t *content,
                         download_wishes_t *ret_wishes, fault_t *fault)
{
    cleanup_download_wishes download_wishes_t wishes = {0};
    int r = lowering_ask(profile, LOWERING_PACKAGES,
                         json_object_get(content, LOWERING_PACKAGES),
                         &wishes.packages, fault);

    if (r == 0)
        r = lowering_ask(profile, LOWERING_FETCH,
                         json_object_get(content, LOWERING_FETCH),
                         &wishes.fetch, fault);
    if (r < 0)
        return r;
    ret_wishes->packages = take_ptr(wishes.packages);
    ret_wishes->fetch = take_ptr(wishes.fetch);
    return 0;
}

void download_wishes_show(const download_wishes_t *self, json_t *object)
{
    if (self->packages)
        json_object_set_new(object, LOWERING_PACKAGES,
                            json_loads(self->packages, 0, NULL));
    if (self->fetch)
        json_object_set_new(object, LOWERING_FETCH,
                            json_loads(self->fetch, 0, NULL));
}

static bool is_empty_array(const json_t *value)
{
    return json_is_array(value) && !json_array_size(value);
}

void download_rules_make(const profile_t *profile,
                         const download_wishes_t *wishes,
                         download_rules_t *ret_rules)
{
    profile_t view = *profile;
    download_rules_t rules = {0};
    bool knows_packages =
        lowering_keep(profile, LOWERING_PACKAGES, wishes->packages, &view,
                      &rules.own_packages);
    bool knows_fetch = lowering_keep(profile, LOWERING_FETCH, wishes->fetch,
                                     &view, &rules.own_fetch);

    rules.packages = view.packages;
    rules.fetch = view.fetch;
    rules.has_packages = profile->packages.index && knows_packages
                         && !json_object_get(rules.own_packages, "index");
    rules.has_fetch =
        profile->fetch.allow && *profile->fetch.allow && knows_fetch
        && !is_empty_array(json_object_get(rules.own_fetch, "allow"));
    *ret_rules = rules;
}

void download_rules_clear(download_rules_t *self)
{
    json_decref(self->own_fetch);
    json_decref(self->own_packages);
    *self = (download_rules_t){0};
}

/* Takes the names. */
static void add_list(json_t *lists, const char *kind, const char *owner,
                     json_t *names)
{
    if (json_array_size(names))
        json_array_append_new(lists, json_pack("[s,s++,O]", kind, owner,
                                               "packages/", kind, names));
    json_decref(names);
}

char *download_rules_packages_lists(const profile_t *profile,
                                    const download_rules_t *rules)
{
    static const char own[] = "this session's own ";
    cleanup_free char *owner = mem_format("profile/%s/", profile->name);
    json_auto_t *lists = json_array();
    char *text;

    add_list(lists, "deny", owner, json_text_list(rules->packages.deny));
    add_list(lists, "allow", owner, json_text_list(rules->packages.allow));
    add_list(lists, "deny", own,
             download_rules_list(rules->own_packages, "deny"));
    add_list(lists, "allow", own,
             download_rules_list(rules->own_packages, "allow"));
    text = json_array_size(lists) ? json_dumps(lists, JSON_COMPACT) : NULL;
    if (text && strlen(text) > LISTS_BYTES) {
        free(text);
        return NULL;
    }
    return text;
}

bool download_rules_fit_kernel(const profile_t *profile,
                               const download_wishes_t *wishes)
{
    static const download_wishes_t none = {0};
    cleanup_download_rules download_rules_t rules = {0};
    cleanup_download_rules download_rules_t usual = {0};

    download_rules_make(profile, wishes, &rules);
    download_rules_make(profile, &none, &usual);
    return !json_object_get(rules.own_packages, "allow")
           && !json_object_get(rules.own_packages, "deny")
           && rules.has_packages == usual.has_packages
           && rules.has_fetch == usual.has_fetch
           && rules.packages.serves_cells == usual.packages.serves_cells
           && rules.packages.has_start_files == usual.packages.has_start_files
           && rules.packages.has_shadows == usual.packages.has_shadows
           && rules.fetch.serves_cells == usual.fetch.serves_cells;
}

json_t *download_rules_texts(const char *section, json_t *own_or_null)
{
    json_t *texts = json_object(), *value;
    const char *name;

    json_object_foreach(own_or_null, name, value)
    {
        cleanup_free char *text =
            json_is_array(value) ? NULL
                                 : lowering_write(section, own_or_null, name);

        if (text)
            json_object_set_new(texts, name, json_string(text));
    }
    return texts;
}

json_t *download_rules_list(const json_t *own_or_null, const char *name)
{
    json_t *list = json_object_get(own_or_null, name);

    return json_is_array(list) ? json_incref(list) : json_array();
}
