/* See packages_folder.h. Lives in the main thread; a thread of its own removes
 * what was moved into `discarded`. */
#include "gateway/registry/storage/packages_folder.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "base/log.h"
#include "gateway/config/packages_place.h"
#include "gateway/registry/storage/remover.h"
#include "gateway/session/lifecycle/packages_token.h"

#include <jansson.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TOP_MODE       0711
#define WORK_MODE      0700
#define SESSIONS_MODE  0311 /* without `r`, so that names cannot be listed */
#define DISCARDED_MODE 0700
#define MOVES_MAX      100 /* tries to move a folder aside */

struct packages_folder {
    char *top;          /* owned; packages/dir */
    char *sessions;     /* owned */
    char *work;         /* owned */
    char *discarded;    /* owned */
    remover_t *remover; /* owned; NULL until there is something to remove */
};

void packages_folder_destroy(packages_folder_t **self_p)
{
    packages_folder_t *self = *self_p;

    if (!self)
        return;
    remover_destroy(&self->remover);
    free(self->discarded);
    free(self->work);
    free(self->sessions);
    free(self->top);
    free(self);
    *self_p = NULL;
}

/* Gives the folder mode and owner by a descriptor: no link that was put in its
 * place meanwhile is followed. Without `r` it can be opened by O_PATH alone. */
static int adjust(const char *path, mode_t mode, uid_t uid, gid_t gid,
                  fault_t *fault)
{
    cleanup_fd int fd =
        open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    char link[64];
    struct stat about;

    if (fd < 0 || fstat(fd, &about) < 0)
        return fault_set(fault, errno, "packages/dir: %s: %s", path,
                         strerror(errno));
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if ((about.st_mode & 07777) != mode && chmod(link, mode) < 0)
        return fault_set(fault, errno, "packages/dir: chmod of %s: %s", path,
                         strerror(errno));
    if (about.st_uid != uid && fchownat(fd, "", uid, gid, AT_EMPTY_PATH) < 0)
        return fault_set(fault, errno, "packages/dir: chown of %s: %s", path,
                         strerror(errno));
    return 0;
}

static int refuse(const char *path, int code, fault_t *fault)
{
    return fault_set(fault, code,
                     "packages/dir: %s: %s; set packages/dir to a folder that "
                     "the gateway can make",
                     path, strerror(code));
}

/* Makes a folder, or checks the one that is there. An empty one of this user
 * is made again: a gateway may have ended before it gave the folder away. */
static int make_one(const char *path, mode_t mode, uid_t uid, gid_t gid,
                    fault_t *fault)
{
    struct stat about;
    int r = 0;

    if (uid != geteuid() && lstat(path, &about) == 0
        && about.st_uid == geteuid())
        (void) rmdir(path);
    if (mkdir(path, 0700) < 0)
        r = errno == EEXIST ? packages_place_check(path, uid, fault)
                            : refuse(path, errno, fault);
    return r < 0 ? r : adjust(path, mode, uid, gid, fault);
}

/* Takes the worker's folder back if an earlier version gave it to uv's user. */
static int take_back(const char *path, uid_t uv_uid, uid_t uid, gid_t gid,
                     fault_t *fault)
{
    struct stat about;

    if (uv_uid == uid || lstat(path, &about) < 0 || !S_ISDIR(about.st_mode)
        || about.st_uid != uv_uid)
        return 0;
    return adjust(path, WORK_MODE, uid, gid, fault);
}

/* Makes the folders above packages/dir, whatever the umask is. */
static int make_parents(const char *top, mode_t mode, fault_t *fault)
{
    cleanup_free char *partial = mem_text(top);

    for (char *end = partial; (end = strchr(end + 1, '/'));) {
        *end = '\0';
        if (mkdir(partial, mode) == 0 ? chmod(partial, mode) < 0
                                      : errno != EEXIST)
            return refuse(partial, errno, fault);
        *end = '/';
    }
    return 0;
}

/* The worker gets its paths as JSON. */
static int check_text(const char *path, fault_t *fault)
{
    json_auto_t *text = json_string(path);

    return text ? 0
                : fault_set(fault, EILSEQ,
                            "packages/dir is not UTF-8 text: choose another "
                            "folder");
}

static int make_all(const packages_folder_t *self,
                    const packages_owners_t *owners, fault_t *fault)
{
    const zygote_user_t *zygotes = owners->zygotes;
    uid_t uid = zygotes ? zygotes->uid : geteuid();
    gid_t gid = zygotes ? zygotes->gid : getegid();
    int r;

    if ((r = check_text(self->top, fault)) < 0)
        return r;
    r = make_parents(self->top, uid == geteuid() ? 0700 : TOP_MODE, fault);
    if (r < 0
        || (r = make_one(self->top, TOP_MODE, geteuid(), getegid(), fault)) < 0)
        return r;
    if (uid != geteuid()
        && (r = packages_place_reach(self->top, uid, fault)) < 0)
        return r;
    /* The worker, which may be root, keeps its own files in it. uv's sandbox
     * shows one folder of it, so uv's user needs no right to the others. */
    if ((r = take_back(self->work, owners->uv_uid, uid, gid, fault)) < 0
        || (r = make_one(self->work, WORK_MODE, uid, gid, fault)) < 0)
        return r;
    return make_one(self->sessions, SESSIONS_MODE, uid, gid, fault);
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

int packages_folder_new(const options_t *options,
                        const packages_owners_t *owners,
                        packages_folder_t **ret_folder, fault_t *fault)
{
    cleanup_packages_folder packages_folder_t *self = mem_new(sizeof *self);
    bool is_wanted = packages_place_is_wanted(options);
    int r;

    self->top = mem_text(options->packages_dir);
    while (strlen(self->top) > 1 && self->top[strlen(self->top) - 1] == '/')
        self->top[strlen(self->top) - 1] = '\0';
    self->sessions = mem_format("%s/sessions", self->top);
    self->work = mem_format("%s/work", self->top);
    self->discarded = mem_format("%s/discarded", self->top);
    if (is_wanted
        && ((r = make_all(self, owners, fault)) < 0
            || (r = show(self, options, fault)) < 0))
        return r;
    if (is_wanted && access(self->discarded, F_OK) == 0)
        remove_soon(self); /* what an earlier gateway left */
    *ret_folder = take_ptr(self);
    return 0;
}

char *packages_folder_session(const packages_folder_t *self, const char *token)
{
    return mem_format("%s/%s", self->sessions, token);
}

const char *packages_folder_work(const packages_folder_t *self)
{
    return self->work;
}

void packages_folder_discard(packages_folder_t *self, const char *token)
{
    cleanup_free char *folder = NULL, *aside = NULL;

    if (!packages_token_is_valid(token))
        return;
    folder = packages_folder_session(self, token);
    aside = mem_format("%s/%s", self->discarded, token);
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
