/* See session_table.h. */
#include "gateway/registry/core/session_table.h"

#include "base/buffer.h"
#include "gateway/config/state_files.h"
#include "gateway/frontends/management_error.h"

#include <stdlib.h>
#include <string.h>

#define IDS_MAX 400 /* bytes of ids in an error */

struct session_table {
    mailbox_t *mailbox;     /* borrowed */
    session_entry_t *first; /* owned */
    zhashx_t *by_id;        /* owned; id -> session_entry_t, borrowed */
    size_t count;           /* entries */
    size_t alive;           /* with an owner and not gone */
    size_t gone;            /* and not forgotten */
    size_t starting;
    bool is_closing;
};

session_table_t *session_table_new(mailbox_t *mailbox)
{
    session_table_t *self = mem_new(sizeof *self);

    self->mailbox = mailbox;
    self->by_id = zhashx_new();
    return self;
}

void session_entry_destroy(session_entry_t **entry_p)
{
    session_entry_t *entry = *entry_p;

    if (!entry)
        return;
    mailbox_line_destroy(&entry->line);
    free(entry->launch.preinstalled);
    free(entry->launch.preinstalled_contents);
    free(entry->runtime_folder);
    free(entry->workspace);
    free(entry->name);
    free(entry->connection_file);
    json_decref(entry->environment);
    download_rules_clear(&entry->rules);
    responses_clear(&entry->response);
    free(entry);
    *entry_p = NULL;
}

void session_table_destroy(session_table_t **self_p)
{
    session_table_t *self = *self_p;

    if (!self)
        return;
    zhashx_destroy(&self->by_id);
    for (session_entry_t *entry = self->first, *next; entry; entry = next) {
        next = entry->next;
        session_entry_destroy(&entry);
    }
    free(self);
    *self_p = NULL;
}

bool session_entry_is_gone(const session_entry_t *entry)
{
    return entry->state >= SESSION_ENTRY_GONE;
}

void session_entry_note_launch(session_entry_t *entry)
{
    entry->sees_packages = entry->packages[0] != '\0';
}

/* Adds the entry to the counts (+1), or takes it out of them (-1). */
static void count_entry(session_table_t *self, const session_entry_t *entry,
                        int sign)
{
    size_t one = (size_t) sign;

    self->count += one;
    if (!entry->is_pooled && !session_entry_is_gone(entry))
        self->alive += one;
    if (entry->state == SESSION_ENTRY_GONE)
        self->gone += one;
    if (entry->state == SESSION_ENTRY_STARTING)
        self->starting += one;
}

static void change(session_table_t *self, session_entry_t *entry,
                   session_entry_state_t state, bool is_pooled)
{
    count_entry(self, entry, -1);
    entry->state = state;
    entry->is_pooled = is_pooled;
    count_entry(self, entry, 1);
}

/* Returns true if the kernel that another gateway has started is shown the
 * folder of packages that its profile has now. */
static bool sees_packages(const session_spec_t *spec)
{
    const char *shown = spec->profile->packages.shown;

    return shown && spec->packages.shown
           && strcmp(shown, spec->packages.shown) == 0;
}

static session_entry_t *make_entry(const session_spec_t *spec, bool is_start,
                                   int64_t now_ms)
{
    session_entry_t *entry = mem_new(sizeof *entry);

    snprintf(entry->id, sizeof entry->id, "%s", spec->id);
    entry->profile = spec->profile;
    entry->limits = spec->limits;
    entry->runtime_folder = mem_text(spec->runtime_folder);
    entry->workspace = mem_text(spec->workspace);
    entry->name = mem_text(spec->name);
    if (spec->environment)
        entry->environment = json_loads(spec->environment, 0, NULL);
    download_rules_make(spec->profile, &spec->asked.downloads, &entry->rules);
    if (entry->rules.has_packages)
        memcpy(entry->packages, spec->packages.token, sizeof entry->packages);
    entry->sees_packages = sees_packages(spec);
    entry->launch.preinstalled = mem_text(spec->process.preinstalled);
    entry->connection_file = mem_text(spec->connection_file);
    entry->is_external = spec->is_external;
    if (spec->is_external) {
        entry->connection = spec->connection;
        entry->connection.secret = NULL;
    }
    entry->is_pooled = spec->is_pooled;
    entry->started_ms = now_ms;
    entry->state = is_start ? SESSION_ENTRY_STARTING : SESSION_ENTRY_WAITING;
    if (spec->end.reason[0]) {
        entry->state = SESSION_ENTRY_GONE;
        entry->gone_ms = now_ms;
    }
    return entry;
}

int session_table_add(session_table_t *self, session_spec_t **spec_p,
                      bool is_start, int64_t now_ms,
                      session_entry_t **ret_entry, fault_t *fault)
{
    session_entry_t *entry = make_entry(*spec_p, is_start, now_ms);
    int r = mailbox_line_new(self->mailbox, session_actor, *spec_p, entry,
                             &entry->line, fault);

    if (r < 0) {
        session_entry_destroy(&entry);
        return r;
    }
    (void) take_ptr(*spec_p);
    entry->next = self->first;
    if (entry->next)
        entry->next->before = entry;
    self->first = entry;
    zhashx_update(self->by_id, entry->id, entry);
    count_entry(self, entry, 1);
    *ret_entry = entry;
    return 0;
}

void session_table_take(session_table_t *self, session_entry_t *entry)
{
    if (entry->before)
        entry->before->next = entry->next;
    else
        self->first = entry->next;
    if (entry->next)
        entry->next->before = entry->before;
    entry->next = entry->before = NULL;
    zhashx_delete(self->by_id, entry->id);
    count_entry(self, entry, -1);
}

void session_table_remove(session_table_t *self, session_entry_t **entry_p)
{
    session_table_take(self, *entry_p);
    session_entry_destroy(entry_p);
}

session_entry_t *session_table_first(const session_table_t *self)
{
    return self->first;
}

session_entry_t *session_table_next(const session_entry_t *entry)
{
    return entry->next;
}

session_entry_t *session_table_find_any(const session_table_t *self,
                                        const char *id)
{
    return zhashx_lookup(self->by_id, id);
}

session_entry_t *session_table_find(const session_table_t *self, const char *id)
{
    session_entry_t *entry = session_table_find_any(self, id);

    return entry && !entry->is_pooled ? entry : NULL;
}

/* The ways to name a session, best first. */
typedef enum {
    FITS_ID,    /* the id begins so */
    FITS_ALIVE, /* it is the name of one that is not gone */
    FITS_GONE,
    FITS_NOT
} fit_t;

static fit_t find_fit(const session_entry_t *entry, const char *word)
{
    if (entry->is_pooled)
        return FITS_NOT;
    if (strncmp(entry->id, word, strlen(word)) == 0)
        return FITS_ID;
    if (!entry->name || strcmp(entry->name, word) != 0)
        return FITS_NOT;
    return session_entry_is_gone(entry) ? FITS_GONE : FITS_ALIVE;
}

session_entry_t *session_table_find_prefix(const session_table_t *self,
                                           const char *prefix,
                                           bool *ret_is_ambiguous)
{
    session_entry_t *found = session_table_find(self, prefix);
    fit_t best = FITS_NOT;

    *ret_is_ambiguous = false;
    if (found || !prefix[0])
        return found;
    for (session_entry_t *at = self->first; at; at = at->next) {
        fit_t fit = find_fit(at, prefix);

        if (fit > best || fit == FITS_NOT)
            continue;
        *ret_is_ambiguous = fit == best;
        best = fit;
        found = at;
    }
    return *ret_is_ambiguous ? NULL : found;
}

json_t *session_table_ambiguous(const session_table_t *self, const char *word)
{
    cleanup_buffer buffer_t ids = BUFFER_EMPTY;

    for (const session_entry_t *at = self->first; at; at = at->next)
        if (find_fit(at, word) != FITS_NOT && ids.size < IDS_MAX)
            buffer_format(&ids, "%s%s", ids.size ? ", " : "", at->id);
    return management_error("AmbiguousSession", GATEWAY_EXIT_USAGE,
                            "%s is more than one session: %s", word,
                            ids.size ? (const char *) ids.data : "");
}

void session_table_set_rules(session_entry_t *entry,
                             const download_wishes_t *wishes)
{
    download_rules_clear(&entry->rules);
    download_rules_make(entry->profile, wishes, &entry->rules);
}

void session_table_rename(session_entry_t *entry, const char *name)
{
    free(entry->name);
    entry->name = mem_text(name);
}

json_t *session_table_unknown(const char *id)
{
    return management_error(
        "UnknownSession", GATEWAY_EXIT_GONE,
        "there is no session %s; `hearth session list` shows the sessions",
        id ? id : "without an id");
}

void session_table_set_ready(session_table_t *self, session_entry_t *entry)
{
    change(self, entry, SESSION_ENTRY_READY, entry->is_pooled);
}

void session_table_set_waiting(session_table_t *self, session_entry_t *entry)
{
    change(self, entry, SESSION_ENTRY_WAITING, entry->is_pooled);
}

void session_table_set_drained(session_table_t *self, session_entry_t *entry)
{
    change(self, entry, SESSION_ENTRY_DRAINED, entry->is_pooled);
}

bool session_table_set_gone(session_table_t *self, session_entry_t *entry,
                            int64_t now_ms)
{
    if (session_entry_is_gone(entry))
        return false;
    entry->gone_ms = now_ms;
    change(self, entry, SESSION_ENTRY_GONE, entry->is_pooled);
    return true;
}

void session_table_set_forgotten(session_table_t *self, session_entry_t *entry)
{
    change(self, entry, SESSION_ENTRY_FORGOTTEN, entry->is_pooled);
}

void session_table_revive(session_table_t *self, session_entry_t *entry)
{
    entry->is_expired = false;
    change(self, entry, SESSION_ENTRY_WAITING, entry->is_pooled);
}

void session_table_own(session_table_t *self, session_entry_t *entry,
                       uint64_t token)
{
    entry->hand_token = token;
    change(self, entry, entry->state, false);
}

void session_table_disown(session_table_t *self, session_entry_t *entry)
{
    change(self, entry, entry->state, true);
}

size_t session_table_count(const session_table_t *self)
{
    return self->count;
}

size_t session_table_alive(const session_table_t *self)
{
    return self->alive;
}

size_t session_table_gone(const session_table_t *self)
{
    return self->gone;
}

size_t session_table_starting(const session_table_t *self)
{
    return self->starting;
}

void session_table_close(session_table_t *self)
{
    self->is_closing = true;
}

bool session_table_is_closing(const session_table_t *self)
{
    return self->is_closing;
}
