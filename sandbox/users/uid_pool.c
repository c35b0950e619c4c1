/* See uid_pool.h. */
#include "sandbox/users/uid_pool.h"

#include "base/buffer.h"

#include <czmq.h>

#include <stdio.h>
#include <unistd.h>

#define KEY_SIZE 16

struct uid_pool {
    uid_t first;
    uint64_t count;
    uint64_t next;  /* of the range, to be looked at */
    zhashx_t *held; /* owned; uid as text -> size_t, owned: by how many */
};

static void destroy_count(void **count_p)
{
    free(*count_p);
    *count_p = NULL;
}

uid_pool_t *uid_pool_new(uid_t first, uint64_t count)
{
    uid_pool_t *self = mem_new(sizeof *self);

    self->first = first;
    self->count = count;
    self->held = zhashx_new();
    zhashx_set_destructor(self->held, destroy_count);
    return self;
}

void uid_pool_destroy(uid_pool_t **self_p)
{
    if (!*self_p)
        return;
    zhashx_destroy(&(*self_p)->held);
    free(*self_p);
    *self_p = NULL;
}

static size_t *find(const uid_pool_t *self, uid_t uid, char ret_key[KEY_SIZE])
{
    snprintf(ret_key, KEY_SIZE, "%u", uid);
    return zhashx_lookup(self->held, ret_key);
}

uid_t uid_pool_choose(uid_pool_t *self)
{
    char key[KEY_SIZE];

    for (uint64_t i = 0; i < self->count; i++) {
        uid_t uid = (uid_t) (self->first + self->next++ % self->count);

        if (!find(self, uid, key))
            return uid;
    }
    return self->first;
}

gid_t uid_pool_group(uid_t uid)
{
    return uid == geteuid() ? getegid() : (gid_t) uid;
}

void uid_pool_hold(uid_pool_t *self, uid_t uid)
{
    char key[KEY_SIZE];
    size_t *count = find(self, uid, key);

    if (!count) {
        count = mem_new(sizeof *count);
        zhashx_update(self->held, key, count);
    }
    ++*count;
}

void uid_pool_release(uid_pool_t *self, uid_t uid)
{
    char key[KEY_SIZE];
    size_t *count = find(self, uid, key);

    if (count && --*count == 0)
        zhashx_delete(self->held, key);
}
