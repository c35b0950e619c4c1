/* See option_keys.h. */
#include "gateway/config/option_keys.h"

#include "base/buffer.h"
#include "base/similar.h"
#include "gateway/config/option_table.h"

#include <errno.h>
#include <string.h>

/* Finds the row whose key equals `key` after its first `skip` letters. */
const option_value_t *option_keys_find(const option_value_t *table,
                                       size_t count, size_t skip,
                                       const char *key)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(table[i].key + skip, key) == 0)
            return &table[i];
    return NULL;
}

/* Former keys: the end of their names, and the keys that replace them. A
 * changed meaning must be reported. */
static const struct {
    const char *end;
    const char *now;
} former[] = {
    {"limits/tmp_bytes", "two limits now: limits/tmp is the size of /tmp, "
                         "limits/shm that of /dev/shm"},
    {"sessions/journal_bytes",
     "a limit of each profile now: profile/<name>/limits/journal_bytes"},
};

/* "limits/memory" of "profile/small/limits/memory"; NULL: it is no profile's.
 * Its name is *ret_name_size bytes before that and a slash. */
static const char *below_profile(const char *path, size_t *ret_name_size)
{
    if (strncmp(path, "profile/", 8) != 0)
        return NULL;
    *ret_name_size = strcspn(path + 8, "/");
    return path[8 + *ret_name_size] ? path + 8 + *ret_name_size + 1 : NULL;
}

/* The row whose name, the end of its key, is nearest to `similar->word`, among
 * those in that section; NULL: in any. Borrowed, or NULL. */
static const option_value_t *find_similar(const option_value_t *table,
                                          size_t count, size_t skip,
                                          const char *section,
                                          similar_t *similar)
{
    size_t size = section ? strlen(section) : 0;
    const option_value_t *found = NULL;

    for (size_t i = 0; i < count; i++) {
        const char *key = table[i].key + skip;
        const char *slash = strrchr(key, '/');
        const char *name = slash ? slash + 1 : key;

        if (section && (strncmp(key, section, size) != 0 || key + size != name))
            continue;
        similar_offer(similar, name);
        if (similar->best == name)
            found = &table[i];
    }
    return found;
}

/* Returns the key that was probably meant, in its own section, else in another
 * one; the caller frees it. NULL if no key is near. */
static char *guess_key(const char *key)
{
    size_t name_size = 0;
    const char *below = below_profile(key, &name_size);
    const char *path = below ? below : key;
    const char *slash = strrchr(path, '/');
    cleanup_free char *section =
        mem_copy(path, slash ? (size_t) (slash - path) + 1 : 0);
    similar_t similar = {.word = slash ? slash + 1 : path};
    const option_value_t *row;

    if (below) {
        row = find_similar(option_profile_rows, option_profile_row_count,
                           OF_PROFILE_SIZE, section, &similar);
        if (!row)
            row = find_similar(option_profile_rows, option_profile_row_count,
                               OF_PROFILE_SIZE, NULL, &similar);
        if (row)
            return mem_format("%.*s/%s", (int) (8 + name_size), key,
                              row->key + OF_PROFILE_SIZE);
    }
    row = find_similar(option_rows, option_row_count, 0, section, &similar);
    if (!row)
        row = find_similar(option_rows, option_row_count, 0, NULL, &similar);
    if (!row && !below)
        row = find_similar(option_profile_rows, option_profile_row_count, 0,
                           NULL, &similar);
    return row ? mem_text(row->key) : NULL;
}

int option_keys_refuse(const char *key, fault_t *fault)
{
    cleanup_free char *guess = NULL;
    size_t size = strlen(key);

    for (size_t i = 0; i < sizeof former / sizeof *former; i++) {
        size_t end = strlen(former[i].end);

        if (size >= end && strcmp(key + size - end, former[i].end) == 0)
            return fault_set(fault, EINVAL, "%.100s is %s", key, former[i].now);
    }
    guess = guess_key(key);
    return fault_set(fault, EINVAL, "%.100s: there is no such key%s%s%s", key,
                     guess ? "; did you mean " : "", guess ? guess : "",
                     guess ? "?" : "");
}

/* Returns true if a key begins with `path` and a slash. */
static bool has_keys_below(const option_value_t *table, size_t count,
                           const char *path)
{
    size_t size = strlen(path);

    for (size_t i = 0; i < count; i++)
        if (strncmp(table[i].key, path, size) == 0 && table[i].key[size] == '/')
            return true;
    return false;
}

/* Returns true if the path is that of a key. */
static bool is_key(const char *path)
{
    size_t name_size;
    const char *below = below_profile(path, &name_size);

    return option_keys_find(option_rows, option_row_count, 0, path)
           || (below
               && option_keys_find(option_profile_rows,
                                   option_profile_row_count, OF_PROFILE_SIZE,
                                   below));
}

int options_check_section(const char *path, fault_t *fault)
{
    static const char *const sections[] = {"gateway", "sessions", "http",
                                           "jupyter", "packages", "fetch",
                                           "mcp",     "profile"};
    static const char *const below_profiles[] = {"fetch",  "limits", "packages",
                                                 "policy", "pool",   "tools"};
    size_t name_size;
    const char *below = below_profile(path, &name_size);
    similar_t similar = {.word = below ? below : path};

    if (strcmp(path, "profile") == 0
        || has_keys_below(option_rows, option_row_count, path))
        return 0;
    if (strncmp(path, "profile/", 8) == 0 && !below)
        return 0;
    for (size_t i = 0; below && i < sizeof below_profiles / sizeof(char *); i++)
        if (strcmp(below, below_profiles[i]) == 0)
            return 0;
    if (is_key(path))
        return fault_set(fault, EINVAL, "%.100s has no value: = is missing",
                         path);
    if (below)
        for (size_t i = 0; i < sizeof below_profiles / sizeof(char *); i++)
            similar_offer(&similar, below_profiles[i]);
    else
        for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
            similar_offer(&similar, sections[i]);
    return fault_set(fault, EINVAL, "there is no section %.100s%s%s%s", path,
                     similar.best ? "; did you mean " : "",
                     similar.best ? similar.best : "", similar.best ? "?" : "");
}
