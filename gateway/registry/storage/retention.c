/* See retention.h. The main thread decides, a few sessions at a time. It
 * renames a folder before it is removed, so that a revival finds it whole or
 * not at all. */
#include "gateway/registry/storage/retention.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "gateway/config/state_files.h"
#include "gateway/frontends/management_error.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE        64 /* sessions that are listed at a time */
#define SLICE       16 /* sessions that are checked in a row */
#define SLICE_MS    50 /* the pause after them */
#define FIRST_MS    500
#define PASS_MIN_MS 1000
#define PASS_MAX_MS (60 * 60 * 1000)
#define MOVES_MAX   100 /* tries to move a folder aside */

struct retention {
    const session_table_t *table; /* borrowed */
    packages_folder_t *packages;  /* borrowed */
    remover_t *remover;           /* borrowed */
    char *state_dir;              /* owned */
    char *aside;                  /* owned; the folder of what is removed */
    int64_t keep_ms;
    DIR *pass;       /* owned; NULL between two passes */
    size_t moved;    /* in this pass */
    int64_t born_us; /* wall clock, at born_ms */
    int64_t born_ms; /* monotonic */
};

retention_t *retention_new(const char *state_dir, const char *aside,
                           int64_t keep_ms, const session_table_t *table,
                           packages_folder_t *packages, remover_t *remover)
{
    retention_t *self = mem_new(sizeof *self);

    self->state_dir = mem_text(state_dir);
    self->aside = mem_text(aside);
    self->keep_ms = keep_ms;
    self->table = table;
    self->packages = packages;
    self->remover = remover;
    return self;
}

void retention_destroy(retention_t **self_p)
{
    retention_t *self = *self_p;

    if (!self)
        return;
    if (self->pass)
        closedir(self->pass);
    free(self->aside);
    free(self->state_dir);
    free(self);
    *self_p = NULL;
}

void retention_begin(retention_t *self, int64_t wall_us, int64_t monotonic_ms)
{
    self->born_us = wall_us;
    self->born_ms = monotonic_ms;
}

/* Returns the time without changes of the clock: a clock that is set forward
 * while the gateway runs makes no session due. */
static int64_t earlier_us(const retention_t *self, int64_t wall_us,
                          int64_t monotonic_ms)
{
    int64_t measured = self->born_us + (monotonic_ms - self->born_ms) * 1000;

    return wall_us < measured ? wall_us : measured;
}

static bool is_over(const retention_t *self, const char *folder, int64_t now_us)
{
    cleanup_session_spec session_spec_t *spec = NULL;
    cleanup_free char *profile = NULL;
    fault_t fault;

    return session_spec_read(folder, &spec, &profile, &fault) == 0
           && spec->end.reason[0] && spec->end.ended_us > 0
           && now_us - spec->end.ended_us > self->keep_ms * 1000;
}

/* Moves a folder into the one of what is removed. The remover's thread may
 * remove that as soon as it is made: then it is made again. */
static int rename_aside(const retention_t *self, const char *folder,
                        const char *target, fault_t *fault)
{
    for (int i = 0; i < MOVES_MAX; i++) {
        int r = path_make_folders(self->aside, 0700, fault);

        if (r < 0 || rename(folder, target) == 0)
            return r;
        if (errno != ENOENT)
            break;
    }
    return fault_set(fault, errno, "%s: %s", folder, strerror(errno));
}

/* Moves the state folder aside. Its packages go first: their name is in it. */
static int move_aside(const retention_t *self, const char *id,
                      const char *folder, fault_t *fault)
{
    cleanup_free char *target = mem_format("%s/%s", self->aside, id);
    cleanup_session_spec session_spec_t *spec = NULL;
    cleanup_free char *profile = NULL;
    int r = session_spec_read(folder, &spec, &profile, fault);

    if (r < 0)
        return r;
    packages_folder_discard(self->packages, spec->packages.token);
    return rename_aside(self, folder, target, fault);
}

static void look_at(retention_t *self, const char *id, int64_t now_us)
{
    cleanup_free char *folder = session_state_folder(self->state_dir, id);
    fault_t fault;

    if (session_table_find_any(self->table, id)
        || !is_over(self, folder, now_us))
        return;
    if (move_aside(self, id, folder, &fault) < 0) {
        log_error("session=%s cannot be removed: %s", id, fault.text);
        return;
    }
    self->moved++;
    log_notice("session=%s recording and workspace are removed: "
               "sessions/journal_keep is over",
               id);
}

static int64_t pass_ms(const retention_t *self)
{
    int64_t wanted = self->keep_ms / 10;

    return wanted < PASS_MIN_MS   ? PASS_MIN_MS
           : wanted > PASS_MAX_MS ? PASS_MAX_MS
                                  : wanted;
}

static void end_pass(retention_t *self)
{
    closedir(self->pass);
    self->pass = NULL;
    if (self->moved)
        remover_run(self->remover);
    self->moved = 0;
}

int64_t retention_step(retention_t *self, int64_t wall_us, int64_t monotonic_ms)
{
    cleanup_free char *sessions = mem_format("%s/sessions", self->state_dir);
    int64_t now_us = earlier_us(self, wall_us, monotonic_ms);

    if (!self->pass)
        self->pass = opendir(sessions);
    for (int i = 0; self->pass && i < SLICE; i++) {
        struct dirent *item = readdir(self->pass);

        if (!item)
            end_pass(self);
        else if (item->d_name[0] != '.')
            look_at(self, item->d_name, now_us);
    }
    return self->pass ? SLICE_MS : pass_ms(self);
}

/* Describes the files of such a session, for the caller; NULL if the
 * session has not ended. */
static json_t *describe(const retention_t *self, const char *id)
{
    cleanup_free char *folder = session_state_folder(self->state_dir, id);
    cleanup_session_spec session_spec_t *spec = NULL;
    cleanup_free char *profile = NULL;
    int64_t now_us = earlier_us(self, clock_wall_us(), clock_monotonic_ms());
    char ended[CLOCK_ISO_SIZE];
    fault_t fault;

    if (session_table_find_any(self->table, id)
        || session_spec_read(folder, &spec, &profile, &fault) < 0
        || !spec->end.reason[0] || spec->end.ended_us <= 0)
        return NULL;
    clock_iso(spec->end.ended_us, ended);
    return json_pack("{s:s,s:s,s:s,s:s,s:s,s:I}", "id", spec->id, "name",
                     spec->name ? spec->name : "", "reason", spec->end.reason,
                     "ended", ended, "folder", folder, "age",
                     (json_int_t) ((now_us - spec->end.ended_us) / 1000000));
}

static int is_shown(const struct dirent *item)
{
    return item->d_name[0] != '.';
}

json_t *retention_list(const retention_t *self, const char *after)
{
    cleanup_free char *sessions = mem_format("%s/sessions", self->state_dir);
    json_t *recordings = json_array();
    struct dirent **items = NULL;
    int count = scandir(sessions, &items, is_shown, alphasort);
    int at = 0, end;
    json_t *reply;

    while (at < count && strcmp(items[at]->d_name, after) <= 0)
        at++;
    for (end = at; end < count && end < at + PAGE; end++) {
        json_t *recording = describe(self, items[end]->d_name);

        if (recording)
            json_array_append_new(recordings, recording);
    }
    reply = json_pack("{s:s,s:o,s:s}", "status", "ok", "recordings", recordings,
                      "next", end < count ? items[end - 1]->d_name : "");
    for (int i = 0; i < count; i++)
        free(items[i]);
    free(items);
    return reply;
}

json_t *retention_remove(retention_t *self, const char *id)
{
    json_auto_t *recording = strchr(id, '/') ? NULL : describe(self, id);
    const char *folder =
        json_string_value(json_object_get(recording, "folder"));
    fault_t fault;

    if (!recording)
        return management_error("UnknownSession", GATEWAY_EXIT_GONE,
                                "there is no recording of a gone session %s",
                                id);
    if (move_aside(self, id, folder, &fault) < 0)
        return management_error("RemoveError", GATEWAY_EXIT_FAILED, "%s",
                                fault.text);
    remover_run(self->remover);
    log_notice("session=%s recording and workspace are removed, as requested",
               id);
    return json_pack("{s:s}", "status", "ok");
}

static int on_slice(zloop_t *loop, int timer, void *arg)
{
    retention_t *self = arg;
    int64_t pause = retention_step(self, clock_wall_us(), clock_monotonic_ms());

    (void) timer;
    zloop_timer(loop, (size_t) pause, 1, on_slice, self);
    return 0;
}

void retention_run(retention_t *self, zloop_t *loop)
{
    retention_begin(self, clock_wall_us(), clock_monotonic_ms());
    remover_run(self->remover); /* folders that an earlier gateway left aside */
    if (self->keep_ms)
        zloop_timer(loop, FIRST_MS, 1, on_slice, self);
}
