/* See preparation.h. */
#include "gateway/registry/launch/preparation.h"

#include "base/buffer.h"

#include <stdlib.h>
#include <string.h>

struct preparation {
    const profile_t *profile; /* borrowed */
    char *asked;              /* owned; the packages at the last start */
    char *folder;             /* owned; NULL: it is not known */
    char *contents;           /* owned; JSON text of its packages, or NULL */
    bool is_running;
    bool is_vain; /* the last answer was no folder */
};

/* Returns the profile's packages as one text, to be freed. */
static char *write_wanted(const profile_t *profile)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;

    for (char *const *one = profile->packages.preinstall; one && *one; one++)
        buffer_format(&text, "%s\n", *one);
    return mem_copy(text.data ? (const char *) text.data : "", text.size);
}

preparation_t *preparation_new(const profile_t *profile)
{
    preparation_t *self = mem_new(sizeof *self);

    self->profile = profile;
    self->asked = mem_text("");
    return self;
}

void preparation_destroy(preparation_t **self_p)
{
    preparation_t *self = *self_p;

    if (!self)
        return;
    free(self->folder);
    free(self->contents);
    free(self->asked);
    free(self);
    *self_p = NULL;
}

bool preparation_start(preparation_t *self)
{
    free(self->asked);
    self->asked = write_wanted(self->profile);
    self->is_running = *self->asked && !self->folder;
    self->is_vain = false;
    return self->is_running;
}

bool preparation_is_running(const preparation_t *self)
{
    return self->is_running;
}

void preparation_on_folder(preparation_t *self, const char *folder,
                           const char *contents)
{
    free(self->folder);
    free(self->contents);
    self->folder = mem_text(folder);
    self->contents = mem_text(contents);
    self->is_running = false;
}

void preparation_on_fault(preparation_t *self)
{
    self->is_running = false;
    self->is_vain = true;
}

const char *preparation_folder(const preparation_t *self)
{
    return self->folder;
}

const char *preparation_contents(const preparation_t *self)
{
    return self->contents;
}

void preparation_forget(preparation_t *self)
{
    free(self->folder);
    free(self->contents);
    self->folder = self->contents = NULL;
    self->is_running = false;
}

bool preparation_is_vain(const preparation_t *self)
{
    return self->is_vain;
}

bool preparation_is_outdated(const preparation_t *self)
{
    cleanup_free char *wanted = write_wanted(self->profile);

    return self->is_vain || strcmp(wanted, self->asked) != 0;
}
