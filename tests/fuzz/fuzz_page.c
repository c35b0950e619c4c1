/* HTML that a session made up, cleaned for a saved page: what comes out has
 * only tags that are kept, in pairs, with attributes in quotes, none of which a
 * browser acts on. */
#include "base/utf8.h"
#include "notebooks/page/page_clean.h"
#include "notebooks/page/page_tags.h"
#include "notebooks/page/page_text.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check(bool condition)
{
    if (!condition)
        abort();
}

/* Returns where the tag's attributes end. */
static const char *check_attributes(const char *at)
{
    while (*at == ' ') {
        size_t size = strcspn(++at, "= >");
        bytes_t name = {at, size};
        bool is_source = size == 3 && strncmp(at, "src", 3) == 0;
        check(is_source || attribute_kind(name) != ATTRIBUTE_NONE
              || (size == 4 && strncmp(at, "open", 4) == 0));
        at += size;
        if (*at != '=')
            continue;
        check(at[1] == '"');
        at += 2;
        check(!is_source || strncasecmp(at, "data:image/", 11) == 0);
        size = strcspn(at, "\"<>");
        check(at[size] == '"');
        at += size + 1;
    }
    return at;
}

static void check_html(const char *at)
{
    size_t depth = 0;

    while ((at = strchr(at, '<'))) {
        bool is_end = at[1] == '/';
        const char *from = at + 1 + is_end;
        bytes_t name = {from, strcspn(from, " >")};
        check(tag_name(name) && islower((unsigned char) *from));
        at = check_attributes(from + name.size);
        check(*at == '>');
        check(!is_end || depth > 0);
        if (tag_kind(name) == TAG_KEPT)
            depth = is_end ? depth - 1 : depth + 1;
    }
    check(depth == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    (void) page_clean((bytes_t){bytes, size}, &out);
    buffer_append(&out, "", 1); /* ends it: no NUL comes out of it */
    check(strlen((char *) out.data) == out.size - 1);
    check_html((char *) out.data);
    buffer_clear(&out);
    page_text_coloured((bytes_t){bytes, size}, &out);
    return 0;
}
