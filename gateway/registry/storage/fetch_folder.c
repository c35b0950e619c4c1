/* See fetch_folder.h. Lives in the main thread. Only the worker knows what is
 * in its folder. */
#include "gateway/registry/storage/fetch_folder.h"

#include "base/buffer.h"
#include "gateway/registry/storage/worker_folder.h"

#include <stdlib.h>

struct fetch_folder {
    char *work; /* owned */
};

void fetch_folder_destroy(fetch_folder_t **self_p)
{
    fetch_folder_t *self = *self_p;

    if (!self)
        return;
    free(self->work);
    free(self);
    *self_p = NULL;
}

static bool is_wanted(const options_t *options)
{
    for (size_t i = 0; i < options->profile_count; i++)
        if (options->profiles[i]->fetch.allow[0])
            return true;
    return false;
}

int fetch_folder_new(const options_t *options,
                     const zygote_user_t *zygotes_or_null,
                     fetch_folder_t **ret_folder, fault_t *fault)
{
    const worker_folder_t worker =
        worker_folder_of("fetch/dir", zygotes_or_null);
    cleanup_fetch_folder fetch_folder_t *self = mem_new(sizeof *self);
    cleanup_free char *top = worker_folder_top(options->fetch.dir);
    int r;

    self->work = mem_format("%s/work", top);
    if (is_wanted(options)
        && ((r = worker_folder_make_top(&worker, top, fault)) < 0
            || (r = worker_folder_make(&worker, self->work, WORKER_FOLDER_MODE,
                                       fault))
                   < 0))
        return r;
    *ret_folder = take_ptr(self);
    return 0;
}

const char *fetch_folder_work(const fetch_folder_t *self)
{
    return self->work;
}
