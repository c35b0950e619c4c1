/* See config_reload.h. Values are compared as they are written. Keys that the
 * command line has set are found once: their values differ from the file's. */
#include "gateway/config/config_reload.h"

#include "base/buffer.h"
#include "base/string_list.h"
#include "gateway/config/config_check.h"
#include "gateway/config/config_tls.h"
#include "gateway/config/options_copy.h"

#include <string.h>

/* The files of HTTPS. */
static const char *const tls_keys[] = {"http/certificate", "http/key",
                                       "http/client_ca"};
#define TLS_KEYS (sizeof tls_keys / sizeof *tls_keys)

struct config_reload {
    options_t *live;  /* borrowed */
    char *file;       /* owned; or NULL: where one may be */
    char **set_aside; /* owned; keys of the command line */
    config_tls_digest_t digests[TLS_KEYS]; /* of the files that are in use */
};

static bool is_same(const options_item_t *a, const options_item_t *b)
{
    cleanup_free char *first = option_value_write(a->row, a->base);
    cleanup_free char *second = option_value_write(b->row, b->base);

    return strcmp(first, second) == 0;
}

static const char *path_at(const options_t *options, const char *key)
{
    const options_http_t *http = &options->http;

    if (strcmp(key, "http/certificate") == 0)
        return http->certificate;
    return strcmp(key, "http/key") == 0 ? http->key : http->client_ca;
}

static config_tls_digest_t digest_at(const options_t *options, const char *key)
{
    return config_tls_digest(path_at(options, key));
}

config_reload_t *config_reload_new(options_t *live)
{
    config_reload_t *self = mem_new(sizeof *self);
    cleanup_options options_t *read = options_new();
    cleanup_config_report config_report_t *report = config_report_new();
    options_item_t item, other;
    size_t count = 0;

    self->live = live;
    self->file = mem_text(live->file);
    self->set_aside = mem_new(sizeof(char *));
    options_read(read, self->file, report);
    for (size_t i = 0; options_item(live, i, &item); i++) {
        if (options_find(read, item.key, &other) && is_same(&item, &other))
            continue;
        self->set_aside =
            mem_resize(self->set_aside, (count + 2) * sizeof(char *));
        self->set_aside[count++] = mem_text(item.key);
        self->set_aside[count] = NULL;
    }
    for (size_t i = 0; i < TLS_KEYS; i++)
        self->digests[i] = digest_at(live, tls_keys[i]);
    return self;
}

void config_reload_destroy(config_reload_t **self_p)
{
    config_reload_t *self = *self_p;

    if (!self)
        return;
    string_list_destroy(&self->set_aside);
    free(self->file);
    free(self);
    *self_p = NULL;
}

/* The changes that a reload finds. Owned; the lists of config_reload_run. */
typedef struct {
    options_t *fresh; /* as the file has it */
    options_t *next;  /* as the gateway would run with it */
    json_t *changed, *renewed, *restart, *command_line;
} changes_t;

static void discard(changes_t *self)
{
    options_destroy(&self->fresh);
    options_destroy(&self->next);
    json_decref(self->changed);
    json_decref(self->renewed);
    json_decref(self->restart);
    json_decref(self->command_line);
}

static bool is_tls_key(const char *key)
{
    for (size_t i = 0; i < TLS_KEYS; i++)
        if (strcmp(tls_keys[i], key) == 0)
            return true;
    return false;
}

/* Returns true if the running gateway can take the value. HTTPS cannot be
 * switched on or off: the URL that clients have would be wrong. */
static bool can_take(const changes_t *self, const options_t *live,
                     const options_item_t *item)
{
    return item->row->is_reread
           && (!is_tls_key(item->key)
               || (live->http.certificate && self->fresh->http.certificate));
}

static void take(changes_t *self, const options_item_t *item,
                 const options_item_t *fresh)
{
    cleanup_free char *from = option_value_write(item->row, item->base);
    cleanup_free char *to = option_value_write(fresh->row, fresh->base);
    options_item_t next;

    if (options_find(self->next, item->key, &next))
        option_value_copy(next.row, next.base, fresh->base);
    json_array_append_new(
        self->changed,
        json_pack("{s:s,s:s,s:s}", "key", item->key, "from", from, "to", to));
}

/* Lists profiles that only one of both has. */
static void compare_profiles(const options_t *live, const options_t *fresh,
                             json_t *restart)
{
    for (size_t i = 0; i < live->profile_count; i++)
        if (!options_profile(fresh, live->profiles[i]->name))
            json_array_append_new(
                restart, json_sprintf("profile/%s", live->profiles[i]->name));
    for (size_t i = 0; i < fresh->profile_count; i++)
        if (!options_profile(live, fresh->profiles[i]->name))
            json_array_append_new(
                restart, json_sprintf("profile/%s", fresh->profiles[i]->name));
}

static void compare_values(config_reload_t *self, changes_t *changes,
                           const config_report_t *report)
{
    options_item_t item, other;

    for (size_t i = 0; options_item(self->live, i, &item); i++) {
        if (!options_find(changes->fresh, item.key, &other)
            || is_same(&item, &other))
            continue;
        if (string_list_have(self->set_aside, item.key)) {
            if (config_report_place(report, item.key))
                json_array_append_new(changes->command_line,
                                      json_string(item.key));
        } else if (can_take(changes, self->live, &item)) {
            take(changes, &item, &other);
        } else {
            json_array_append_new(changes->restart, json_string(item.key));
        }
    }
    compare_profiles(self->live, changes->fresh, changes->restart);
}

static bool is_same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

/* Checks a certificate that the command line has set, and the file not. */
static void check_certificate(const changes_t *self, config_report_t *report)
{
    for (size_t i = 0; i < TLS_KEYS; i++)
        if (!is_same_text(path_at(self->next, tls_keys[i]),
                          path_at(self->fresh, tls_keys[i]))) {
            config_tls_check(&self->next->http, report);
            return;
        }
}

/* Finds the files of HTTPS that have another content under the same name. */
static void compare_files(config_reload_t *self, changes_t *changes)
{
    for (size_t i = 0; i < TLS_KEYS; i++) {
        const char *key = tls_keys[i];
        config_tls_digest_t digest = digest_at(changes->next, key);
        bool is_renewed =
            is_same_text(path_at(self->live, key), path_at(changes->next, key))
            && memcmp(&digest, &self->digests[i], sizeof digest) != 0;
        options_item_t item;

        if (is_renewed && options_find(self->live, key, &item))
            json_array_append_new(item.row->is_reread ? changes->renewed
                                                      : changes->restart,
                                  json_string(key));
        self->digests[i] = digest;
    }
}

static void apply(config_reload_t *self, const changes_t *changes)
{
    options_item_t item, next;

    for (size_t i = 0; options_item(self->live, i, &item)
                       && options_item(changes->next, i, &next);
         i++)
        if (item.row->is_reread && !is_same(&item, &next))
            option_value_copy(item.row, item.base, next.base);
}

json_t *config_reload_run(config_reload_t *self, config_report_t *report)
{
    CLEANUP(discard)
    changes_t changes = {
        .fresh = options_new(),
        .next = options_copy(self->live),
        .changed = json_array(),
        .renewed = json_array(),
        .restart = json_array(),
        .command_line = json_array(),
    };

    options_read(changes.fresh, self->file, report);
    config_check(changes.fresh, report);
    if (config_report_errors(report))
        return NULL;
    compare_values(self, &changes, report);
    check_certificate(&changes, report);
    if (config_report_errors(report))
        return NULL;
    compare_files(self, &changes);
    apply(self, &changes);
    return json_pack("{s:O,s:O,s:O,s:O}", "changed", changes.changed, "renewed",
                     changes.renewed, "restart", changes.restart,
                     "command_line", changes.command_line);
}
