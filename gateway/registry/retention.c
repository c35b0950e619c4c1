/* What is left of sessions that are gone is kept for sessions/journal_keep and
 * then removed, recording and workspace. The main thread decides, a few
 * sessions at a time, and moves a folder aside, so that a revival finds it
 * whole or not at all; a thread of its own removes what lies aside, however
 * much that is. A session that is in the table stays. */
#include "gateway/registry/internal.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SLICE       16 /* sessions that are looked at in a row */
#define SLICE_MS    50 /* and the pause behind them */
#define FIRST_MS    500
#define PASS_MIN_MS 1000
#define PASS_MAX_MS (60 * 60 * 1000)

struct retention {
    registry_t *registry; /* borrowed */
    zactor_t *remover;    /* owned */
    DIR *pass;            /* owned; NULL between two passes */
    char *aside;          /* owned; the folder of what is to be removed */
    size_t moved;         /* in this pass */
    int64_t born_us;      /* wall clock, at */
    int64_t born_ms;      /* monotonic */
};

static int on_slice(zloop_t *loop, int timer, void *arg);

/* Each word on its pipe: there may be something to remove. */
static void remover_actor(zsock_t *pipe, void *arg)
{
    cleanup_free char *aside = arg;
    cleanup_free char *word = NULL;

    zsock_signal(pipe, 0);
    while ((word = zstr_recv(pipe)) && strcmp(word, "$TERM") != 0) {
        fault_t fault;

        if (path_remove_tree(aside, &fault) < 0 && fault.code != ENOENT)
            log_error("what is left of old sessions: %s", fault.text);
        zstr_free(&word);
    }
}

void retention_destroy(retention_t **self_p)
{
    retention_t *self = *self_p;

    if (!self)
        return;
    zactor_destroy(&self->remover);
    if (self->pass)
        closedir(self->pass);
    free(self->aside);
    free(self);
    *self_p = NULL;
}

/* A clock that is set forward while the gateway runs makes nothing due that
 * was not: the time since its start is measured. */
static int64_t now_us(const retention_t *self)
{
    int64_t wall = clock_wall_us();
    int64_t measured =
        self->born_us + (clock_monotonic_ms() - self->born_ms) * 1000;

    return wall < measured ? wall : measured;
}

static bool is_over(const retention_t *self, const char *folder)
{
    cleanup_session_spec session_spec_t *spec = NULL;
    cleanup_free char *profile = NULL;
    int64_t keep_us = self->registry->options->journal_keep_ms * 1000;
    fault_t fault;

    return session_spec_read(folder, &spec, &profile, &fault) == 0
           && spec->reason[0] && spec->ended_us > 0
           && now_us(self) - spec->ended_us > keep_us;
}

static void look_at(retention_t *self, const char *id)
{
    registry_t *registry = self->registry;
    cleanup_free char *folder =
        session_state_folder(registry->options->state_dir, id);
    cleanup_free char *target = mem_format("%s/%s", self->aside, id);
    fault_t fault;

    if (zhashx_lookup(registry->by_id, id) || !is_over(self, folder))
        return;
    if (path_make_folders(self->aside, 0700, &fault) < 0
        || rename(folder, target) < 0) {
        log_error("session=%s cannot be removed: %s", id, strerror(errno));
        return;
    }
    self->moved++;
    log_notice("session=%s recording and workspace are removed: "
               "sessions/journal_keep is over",
               id);
}

static int64_t pass_ms(const retention_t *self)
{
    int64_t wanted = self->registry->options->journal_keep_ms / 10;

    return wanted < PASS_MIN_MS   ? PASS_MIN_MS
           : wanted > PASS_MAX_MS ? PASS_MAX_MS
                                  : wanted;
}

static void look_later(retention_t *self, int64_t delay_ms)
{
    zloop_timer(self->registry->loop, (size_t) delay_ms, 1, on_slice, self);
}

static void end_pass(retention_t *self)
{
    closedir(self->pass);
    self->pass = NULL;
    if (self->moved)
        zstr_send(self->remover, "REMOVE");
    self->moved = 0;
    look_later(self, pass_ms(self));
}

static int on_slice(zloop_t *loop, int timer, void *arg)
{
    retention_t *self = arg;
    cleanup_free char *sessions =
        mem_format("%s/sessions", self->registry->options->state_dir);

    (void) loop;
    (void) timer;
    if (!self->pass)
        self->pass = opendir(sessions);
    for (int i = 0; self->pass && i < SLICE; i++) {
        struct dirent *item = readdir(self->pass);

        if (!item) {
            end_pass(self);
            return 0;
        }
        if (item->d_name[0] != '.')
            look_at(self, item->d_name);
    }
    look_later(self, self->pass ? SLICE_MS : pass_ms(self));
    return 0;
}

retention_t *retention_new(registry_t *registry)
{
    retention_t *self = mem_new(sizeof *self);

    self->registry = registry;
    self->born_us = clock_wall_us();
    self->born_ms = clock_monotonic_ms();
    self->aside = mem_format("%s/discarded", registry->options->state_dir);
    self->remover = zactor_new(remover_actor, mem_text(self->aside));
    /* What an earlier gateway did not get done. */
    zstr_send(self->remover, "REMOVE");
    if (registry->options->journal_keep_ms)
        look_later(self, FIRST_MS);
    return self;
}
