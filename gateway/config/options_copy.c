/* See options_copy.h. */
#include "gateway/config/options_copy.h"

#include "base/buffer.h"

#include <assert.h>

/* Adds the profile if it is missing, by setting a key to the value that every
 * new profile has. */
static void add_profile(options_t *to, const char *name)
{
    cleanup_free char *key = mem_format("profile/%s/fresh", name);
    fault_t fault;
    int r;

    if (options_profile(to, name))
        return;
    r = options_set(to, key, "no", &fault);
    assert(r == 0);
    (void) r;
}

options_t *options_copy(options_t *from)
{
    cleanup_options options_t *to = options_new();
    options_item_t item, other;
    fault_t fault;

    /* Each becomes the first one; the last one of them is the default. */
    for (size_t i = from->profile_count; i-- > 0;) {
        add_profile(to, from->profiles[i]->name);
        (void) options_prefer(to, from->profiles[i]->name, &fault);
    }
    for (size_t i = 0;
         options_item(from, i, &item) && options_item(to, i, &other); i++)
        option_value_copy(item.row, other.base, item.base);
    return take_ptr(to);
}
