/* The preparation of a profile: its zygote needs the folder of the profile's
 * preinstalled packages before it starts. Decides when they are asked for;
 * launcher.h acts. Belongs to the main thread. */
#ifndef HEARTH_GATEWAY_REGISTRY_LAUNCH_PREPARATION_H
#define HEARTH_GATEWAY_REGISTRY_LAUNCH_PREPARATION_H

#include "base/cleanup.h"
#include "kernels/profile.h"

typedef struct preparation preparation_t;

/* Returns the preparation of a profile, which the caller owns; it has not
 * begun. `profile` is borrowed; a reload may change its packages. */
preparation_t *preparation_new(const profile_t *profile);
void preparation_destroy(preparation_t **self_p);
#define cleanup_preparation CLEANUP(preparation_destroy)

/* Notes that the zygote is to start. Returns true if the packages have to be
 * asked for first: the profile has some, and their folder is not known. */
bool preparation_start(preparation_t *self);
/* Returns true while the answer is outstanding. */
bool preparation_is_running(const preparation_t *self);
/* Takes the answer: their folder, or that they cannot be had. `contents` is
 * what is in it, as a recording has it; NULL: that is not known. */
void preparation_on_folder(preparation_t *self, const char *folder,
                           const char *contents);
void preparation_on_fault(preparation_t *self);
/* Returns the packages' folder, borrowed; NULL if it is not known or the
 * profile has no packages. */
const char *preparation_folder(const preparation_t *self);
/* Returns its contents, borrowed; NULL if they are not known. */
const char *preparation_contents(const preparation_t *self);
/* Forgets the folder, and the answer that is outstanding. */
void preparation_forget(preparation_t *self);
/* Returns true if the last answer was that they cannot be had. */
bool preparation_is_vain(const preparation_t *self);
/* Returns true if that is so, or the profile has other packages than at the
 * last start. */
bool preparation_is_outdated(const preparation_t *self);

#endif
