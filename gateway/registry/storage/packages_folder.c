/* See packages_folder.h. Lives in the main thread; a thread of its own removes
 * what was moved into `discarded`. */
#include "gateway/registry/storage/packages_folder.h"

#include "base/buffer.h"
#include "base/log.h"
#include "gateway/config/packages_place.h"
#include "gateway/registry/storage/remover.h"
#include "gateway/registry/storage/worker_folder.h"
#include "gateway/session/lifecycle/packages_token.h"

#include <sodium.h>

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SESSIONS_MODE  0311 /* without `r`, so that names cannot be listed */
#define DISCARDED_MODE 0700
#define PROFILES_MODE  0755
#define MOVES_MAX      100 /* tries to move a folder aside */
#define NAME_BYTES     16

struct packages_folder {
    char *top;      /* owned; packages/dir */
    char *sessions; /* owned */
    char *work;     /* owned */
    char *profiles; /* owned */
    char *gateway;  /* owned; this gateway's folder in it */
    worker_folder_t worker;
    uid_t uv_uid;       /* the user of uv's sandbox */
    char *discarded;    /* owned */
    remover_t *remover; /* owned; NULL until there is something to remove */
    bool is_new;        /* `sessions` was made, and that was not reported */
};

void packages_folder_destroy(packages_folder_t **self_p)
{
    packages_folder_t *self = *self_p;

    if (!self)
        return;
    remover_destroy(&self->remover);
    free(self->discarded);
    free(self->gateway);
    free(self->profiles);
    free(self->work);
    free(self->sessions);
    free(self->top);
    free(self);
    *self_p = NULL;
}

/* Takes the worker's folder back if an earlier version gave it to uv's user. */
static int take_back(const char *path, uid_t uv_uid,
                     const worker_folder_t *worker, fault_t *fault)
{
    struct stat about;

    if (uv_uid == worker->uid || lstat(path, &about) < 0
        || !S_ISDIR(about.st_mode) || about.st_uid != uv_uid)
        return 0;
    return worker_folder_give(worker, path, WORKER_FOLDER_MODE, fault);
}

static int make_all(packages_folder_t *self, fault_t *fault)
{
    const worker_folder_t worker = self->worker;
    bool was_there = access(self->sessions, F_OK) == 0;
    int r;

    /* The worker, which may be root, keeps its own files in it. uv's sandbox
     * shows one folder of it, so uv's user needs no right to the others. */
    if ((r = worker_folder_make_top(&worker, self->top, fault)) < 0
        || (r = take_back(self->work, self->uv_uid, &worker, fault)) < 0
        || (r = worker_folder_make(&worker, self->work, WORKER_FOLDER_MODE,
                                   fault))
               < 0)
        return r;
    r = worker_folder_make(&worker, self->sessions, SESSIONS_MODE, fault);
    self->is_new |= r == 0 && !was_there;
    return r;
}

/* Notes in the profiles what their sandboxes show. */
static int show(const packages_folder_t *self, const options_t *options,
                fault_t *fault)
{
    cleanup_free char *shown = realpath(self->sessions, NULL);

    if (!shown)
        return fault_set(fault, errno, "packages/dir: %s: %s", self->sessions,
                         strerror(errno));
    for (size_t i = 0; i < options->profile_count; i++) {
        profile_packages_t *packages = &options->profiles[i]->packages;

        free(packages->shown);
        packages->shown = packages->index ? mem_text(shown) : NULL;
    }
    return 0;
}

static void remove_soon(packages_folder_t *self)
{
    if (!self->remover)
        self->remover = remover_new(self->discarded);
    remover_run(self->remover);
}

/* Returns the path of the folder of the gateway that has this state folder. */
static char *name_gateway(const char *profiles, const char *state_dir)
{
    cleanup_free char *real = realpath(state_dir, NULL);
    const char *path = real ? real : state_dir;
    unsigned char hash[NAME_BYTES];
    char name[2 * NAME_BYTES + 1];

    crypto_generichash(hash, sizeof hash, (const unsigned char *) path,
                       strlen(path), NULL, 0);
    sodium_bin2hex(name, sizeof name, hash, sizeof hash);
    return mem_format("%s/%s", profiles, name);
}

int packages_folder_new(const options_t *options,
                        const packages_owners_t *owners,
                        packages_folder_t **ret_folder, fault_t *fault)
{
    cleanup_packages_folder packages_folder_t *self = mem_new(sizeof *self);
    bool is_wanted = packages_place_is_wanted(options);
    int r;

    self->top = worker_folder_top(options->packages.dir);
    self->sessions = mem_format("%s/sessions", self->top);
    self->work = mem_format("%s/work", self->top);
    self->discarded = mem_format("%s/discarded", self->top);
    self->profiles = mem_format("%s/profiles", self->top);
    self->gateway = name_gateway(self->profiles, options->state_dir);
    self->worker = worker_folder_of("packages/dir", owners->zygotes);
    self->uv_uid = owners->uv_uid;
    if (is_wanted
        && ((r = make_all(self, fault)) < 0
            || (r = show(self, options, fault)) < 0))
        return r;
    self->is_new = false;
    if (is_wanted && access(self->discarded, F_OK) == 0)
        remove_soon(self); /* what an earlier gateway left */
    *ret_folder = take_ptr(self);
    return 0;
}

int packages_folder_make(packages_folder_t *self, fault_t *fault)
{
    int r = make_all(self, fault);
    bool is_new = self->is_new;

    if (r < 0)
        return r;
    self->is_new = false;
    return is_new;
}

char *packages_folder_session(const packages_folder_t *self, const char *token)
{
    return mem_format("%s/%s", self->sessions, token);
}

const char *packages_folder_work(const packages_folder_t *self)
{
    return self->work;
}

/* Removes a folder; `name` is its last part. */
static void discard(packages_folder_t *self, const char *folder,
                    const char *name)
{
    cleanup_free char *aside = mem_format("%s/%s", self->discarded, name);

    if (access(folder, F_OK) < 0)
        return;
    /* The remover may be removing the folder `discarded` itself. */
    for (int i = 0; i < MOVES_MAX; i++) {
        (void) mkdir(self->discarded, DISCARDED_MODE);
        if (rename(folder, aside) == 0) {
            remove_soon(self);
            return;
        }
        if (errno != ENOENT)
            break;
    }
    log_error("packages %s cannot be removed: %s", folder, strerror(errno));
}

void packages_folder_discard(packages_folder_t *self, const char *token)
{
    cleanup_free char *folder = NULL;

    if (!packages_token_is_valid(token))
        return;
    folder = packages_folder_session(self, token);
    discard(self, folder, token);
}

int packages_folder_profiles(packages_folder_t *self, char **ret_path,
                             fault_t *fault)
{
    const char *folder = self->gateway;
    int r;

    if ((r = make_all(self, fault)) < 0 /* all of it may have been removed */
        || (r = worker_folder_make(&self->worker, self->profiles, PROFILES_MODE,
                                   fault))
               < 0
        || (r = worker_folder_make(&self->worker, folder, PROFILES_MODE, fault))
               < 0)
        return r;
    *ret_path = realpath(folder, NULL);
    return *ret_path ? 0
                     : fault_set(fault, errno, "packages/dir: %s: %s", folder,
                                 strerror(errno));
}

void packages_folder_sweep(packages_folder_t *self,
                           bool (*is_used)(void *arg, const char *path),
                           void *arg)
{
    cleanup_free char *real = realpath(self->gateway, NULL);
    DIR *folder = real ? opendir(real) : NULL;
    const struct dirent *entry;

    while (folder && (entry = readdir(folder))) {
        cleanup_free char *path = mem_format("%s/%s", real, entry->d_name);

        if (packages_token_is_valid(entry->d_name) && !is_used(arg, path))
            discard(self, path, entry->d_name);
    }
    if (folder)
        closedir(folder);
}
