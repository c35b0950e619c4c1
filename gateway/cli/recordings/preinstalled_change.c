/* See preinstalled_change.h. */
#include "gateway/cli/recordings/preinstalled_change.h"

#include "base/buffer.h"
#include "base/utf8.h"
#include "notebooks/json/member.h"
#include "notebooks/json/tree.h"

#include <stdbool.h>
#include <string.h>

#define WORD_SHOWN 128 /* bytes of a name or a version */
#define HASH_SHOWN 8   /* digits, where only the file is another */

static bool is_same(const json_t *one, const json_t *other, const char *member)
{
    return strcmp(member_text(one, member), member_text(other, member)) == 0;
}

/* Returns true if both have a hash, and these differ. */
static bool is_other_file(const json_t *one, const json_t *other)
{
    return *member_text(one, "sha256") && *member_text(other, "sha256")
           && !is_same(one, other, "sha256");
}

/* Writes as much of a member, and no half character: a recording may say
 * anything. */
static void write_member(const json_t *package, const char *member, size_t max,
                         buffer_t *out)
{
    const char *text = member_text(package, member);

    buffer_append(out, text, utf8_cut(text, strnlen(text, max)));
}

/* Writes the packages of a list that the other one has not. */
static void describe(const json_t *list, const json_t *others, buffer_t *out)
{
    const json_t *package;
    size_t count = 0, i;

    json_array_foreach(list, i, package)
    {
        const json_t *other =
            json_tree_find(others, "name", member_text(package, "name"));
        bool is_version = other && is_same(package, other, "version");

        if (is_version && !is_other_file(package, other))
            continue;
        if (++count > PREINSTALLED_SHOWN)
            continue;
        buffer_text(out, count > 1 ? ", " : "");
        write_member(package, "name", WORD_SHOWN, out);
        buffer_text(out, " ");
        write_member(package, "version", WORD_SHOWN, out);
        if (!is_version)
            continue;
        buffer_text(out, " (SHA-256 ");
        write_member(package, "sha256", HASH_SHOWN, out);
        buffer_text(out, "…)");
    }
    if (count > PREINSTALLED_SHOWN)
        buffer_format(out, " and %zu more", count - PREINSTALLED_SHOWN);
    if (!count)
        buffer_text(out, "none of these");
}

char *preinstalled_change(const json_t *then, const json_t *now)
{
    static const char same[] =
        "preinstalled then: none of these; now: none of these";
    buffer_t text = BUFFER_EMPTY;

    if (!json_array_size(then))
        return NULL;
    buffer_text(&text, "preinstalled then: ");
    describe(then, now, &text);
    buffer_text(&text, "; now: ");
    describe(now, then, &text);
    buffer_append(&text, "", 1);
    if (strcmp((const char *) text.data, same) != 0)
        return (char *) text.data;
    buffer_reset(&text);
    return NULL;
}
