/* See url_plain.h. */
#include "base/url_plain.h"

#include "base/buffer.h"

#include <string.h>

char *url_plain(const char *url)
{
    const char *mark = strstr(url, "://");
    size_t before = mark ? (size_t) (mark + 3 - url) : 0;
    size_t end = strcspn(url, "?#");
    size_t last = before;

    /* In what is no URL a password may be anywhere before the last @. */
    for (size_t i = before; i < end && !(mark && url[i] == '/'); i++)
        if (url[i] == '@')
            last = i + 1;
    if (before > end)
        before = last = end;
    return mem_format("%.*s%.*s", (int) before, url, (int) (end - last),
                      url + last);
}
