/* The configuration. Everything about its keys is in two tables
 * (option_table.h). Reading a file, the command line and the manual's test all
 * go through their rows. */
#include "gateway/config/options.h"

#include "base/buffer.h"
#include "base/capability.h"
#include "base/string_list.h"
#include "gateway/config/default_paths.h"
#include "gateway/config/option_keys.h"
#include "gateway/config/option_syntax.h"
#include "gateway/config/option_table.h"
#include "sandbox/cgroups/cgroup.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PROFILE_NAME_MAX 32
#define PROFILES_MAX     64
#define USERS_MIN        3 /* of a session, of the zygotes, of pid 1 */

void options_destroy(options_t **self_p)
{
    options_t *self = *self_p;

    if (!self)
        return;
    for (size_t i = 0; i < self->profile_count; i++)
        profile_destroy(&self->profiles[i]);
    free(self->profiles);
    free(self->fetch.ca_file);
    free(self->fetch.dir);
    free(self->packages.uv);
    free(self->packages.dir);
    free(self->jupyter.runtime_dir);
    free(self->http.client_ca);
    free(self->http.key);
    free(self->http.certificate);
    free(self->http.expose_headers);
    free(self->http.allow_headers);
    free(self->http.allow_methods);
    string_list_destroy(&self->http.allow_origin);
    free(self->http.force_profile);
    free(self->http.token);
    free(self->http.base_url);
    free(self->http.ip);
    string_list_destroy(&self->environment.inherit);
    string_list_destroy(&self->environment.allow);
    free(self->mask);
    free(self->ip);
    free(self->state_dir);
    free(self->runtime_dir);
    free(self->file);
    free(self);
    *self_p = NULL;
}

static profile_t *find_profile(const options_t *self, const char *name)
{
    for (size_t i = 0; i < self->profile_count; i++)
        if (strcmp(self->profiles[i]->name, name) == 0)
            return self->profiles[i];
    return NULL;
}

static profile_t *add_profile(options_t *self, const char *name)
{
    size_t count = self->profile_count + 1;

    self->profiles = mem_resize(self->profiles, count * sizeof(profile_t *));
    self->profiles[count - 1] = profile_new(name);
    self->profile_count = count;
    return self->profiles[count - 1];
}

/* Sets a profile's key, such as "<name>/limits/retain"; `rest` is the part
 * after "profile/". */
static int set_profile_key(options_t *self, const char *key, const char *rest,
                           const char *value, fault_t *fault)
{
    char name[PROFILE_NAME_MAX + 1];
    size_t size = strspn(rest, NAME_LETTERS "-.");
    const option_value_t *row = NULL;

    if (rest[size] == '/')
        row = option_keys_find(option_profile_rows, option_profile_row_count,
                               OF_PROFILE_SIZE, rest + size + 1);
    if (!row)
        return option_keys_refuse(key, fault);
    if (!size || size > PROFILE_NAME_MAX)
        return fault_set(fault, EINVAL,
                         "%.100s: the name of a profile has 1 to %d letters, "
                         "digits, _ - .",
                         key, PROFILE_NAME_MAX);
    snprintf(name, sizeof(name), "%.*s", (int) size, rest);
    profile_t *profile = find_profile(self, name);
    if (profile)
        return option_value_set(row, profile, key, value, fault);
    if (self->profile_count == PROFILES_MAX)
        return fault_set(fault, EINVAL, "%s: more than %d profiles", key,
                         PROFILES_MAX);
    int result =
        option_value_set(row, add_profile(self, name), key, value, fault);
    if (result < 0)
        profile_destroy(&self->profiles[--self->profile_count]);
    return result;
}

int options_set(options_t *self, const char *key, const char *value,
                fault_t *fault)
{
    const option_value_t *row =
        option_keys_find(option_rows, option_row_count, 0, key);

    if (row)
        return option_value_set(row, self, key, value, fault);
    if (strncmp(key, "profile/", 8) == 0)
        return set_profile_key(self, key, key + 8, value, fault);
    return option_keys_refuse(key, fault);
}

options_t *options_new(void)
{
    cleanup_options options_t *self = mem_new(sizeof(*self));

    self->runtime_dir = default_paths_runtime_dir();
    self->state_dir = default_paths_state_dir();
    self->jupyter.runtime_dir = default_paths_jupyter_runtime_dir();
    self->packages.dir = default_paths_packages_dir();
    self->fetch.dir = default_paths_fetch_dir();
    for (size_t i = 0; i < option_row_count; i++)
        option_value_reset(&option_rows[i], self);
    add_profile(self, "python3");
    return take_ptr(self);
}

bool options_is_kernel_variable(const char *name)
{
    return strncmp(name, "KERNEL_", 7) == 0
           && !name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789")];
}

bool options_permits_variable(const options_t *self, const char *name)
{
    return strncmp(name, "KERNEL_", 7) == 0
               ? options_is_kernel_variable(name)
               : string_list_have(self->environment.allow, name);
}

const profile_t *options_profile(const options_t *self, const char *name)
{
    if (!name || !*name)
        return self->profiles[0];
    return find_profile(self, name);
}

bool options_takes_groups_v1(const options_t *self)
{
    return self->cgroups == CGROUP_AUTO || self->cgroups == CGROUP_V1;
}

bool options_wants_zygote_user(const options_t *self)
{
    return self->users.zygote_user == OPTIONS_ZYGOTE_OWN
           || (self->users.zygote_user == OPTIONS_ZYGOTE_AUTO
               && geteuid() != 0);
}

const char *options_refuse_zygote_user(const options_t *self,
                                       bool has_groups_v1)
{
    /* The gateway could not read files that are closed to all users but this
     * one. */
    if (self->users.lends_subids)
        return "an ordinary user's zygotes have that user";
    if (!capability_gives_users())
        return "it needs root, or CAP_SETUID and CAP_SETGID";
    /* Without it, only the creator of a session's user namespace can look into
     * the session. With another user for zygotes that would not be the
     * gateway. */
    if (!capability_sees_users())
        return "it needs CAP_SYS_PTRACE, to check sessions before they are "
               "handed out";
    if (self->users.uid_count < USERS_MIN)
        return "it needs three numbers of gateway/uid_count";
    if (has_groups_v1 && geteuid() != 0)
        return "with control groups of version 1 only root can add processes "
               "of another user";
    return NULL;
}

uid_t options_zygote_uid(const options_t *self)
{
    assert(self->users.uid_count >= USERS_MIN);
    return (uid_t) (self->users.uid_first + self->users.uid_count - 2);
}

bool options_lacks_sandbox_user(const options_t *self)
{
    return geteuid() == 0 && capability_gives_users()
           && self->users.uid_count < USERS_MIN;
}

int options_prefer(options_t *self, const char *name, fault_t *fault)
{
    for (size_t i = 0; i < self->profile_count; i++) {
        profile_t *profile = self->profiles[i];

        if (strcmp(profile->name, name) != 0)
            continue;
        memmove(self->profiles + 1, self->profiles, i * sizeof *self->profiles);
        self->profiles[0] = profile;
        return 0;
    }
    return fault_set(fault, EINVAL, "there is no profile '%.100s'", name);
}

bool options_item(options_t *self, size_t index, options_item_t *ret_item)
{
    if (index < option_row_count) {
        ret_item->row = &option_rows[index];
        ret_item->base = self;
        snprintf(ret_item->key, sizeof ret_item->key, "%s", ret_item->row->key);
        return true;
    }
    index -= option_row_count;
    if (index / option_profile_row_count >= self->profile_count)
        return false;
    profile_t *profile = self->profiles[index / option_profile_row_count];
    ret_item->row = &option_profile_rows[index % option_profile_row_count];
    ret_item->base = profile;
    snprintf(ret_item->key, sizeof ret_item->key, "profile/%s/%s",
             profile->name, ret_item->row->key + OF_PROFILE_SIZE);
    return true;
}

bool options_find(options_t *self, const char *key, options_item_t *ret_item)
{
    for (size_t i = 0; options_item(self, i, ret_item); i++)
        if (strcmp(ret_item->key, key) == 0)
            return true;
    return false;
}
