/* See option_syntax.h. */
#include "gateway/config/option_syntax.h"

#include "gateway/config/default_paths.h"
#include "protocol/limits.h"

#include <arpa/inet.h>

#include <ctype.h>
#include <string.h>

bool option_is_module(const char *name)
{
    return name[0] && name[0] != '.' && !isdigit((unsigned char) name[0])
           && name[strspn(name, NAME_LETTERS ".")] == '\0'
           && !strstr(name, "..") && name[strlen(name) - 1] != '.';
}

bool option_is_tool(const char *name)
{
    size_t size = strspn(name, NAME_LETTERS "-./");

    return name[0] && size <= TOOL_NAME_MAX
           && (!name[size] || strcmp(name + size, "*") == 0);
}

bool option_is_variable(const char *name)
{
    return name[0] && !isdigit((unsigned char) name[0])
           && !name[strspn(name, NAME_LETTERS)] && default_paths_is_free(name);
}

/* As a browser writes it, RFC 6454, section 6.2; or *. Not "null", which pages
 * have that must not be trusted: outputs of kernels, too. */
bool option_is_origin(const char *text)
{
    const char *host = strstr(text, "://");

    return strcmp(text, "*") == 0
           || (host && host[3] && !strpbrk(host + 3, "/?#@ \\")
               && isalpha((unsigned char) text[0])
               && text + strspn(text, NAME_LETTERS "+-.") == host);
}

bool option_is_path(const char *text)
{
    return text[0] == '/';
}

/* No part of it is "", "." or "..". */
static bool is_plain_path(const char *text, size_t size)
{
    for (size_t at = 0; at < size;) {
        const char *part = text + at + 1;
        size_t length = strcspn(part, "/");

        if (text[at] != '/')
            return false;
        if (length > size - at - 1)
            length = size - at - 1;
        if (!length || (part[0] == '.' && length == 1)
            || (part[0] == '.' && part[1] == '.' && length == 2))
            return false;
        at += length + 1;
    }
    return size > 0;
}

/* SOURCE:TARGET. What they lead to is the sandbox's to judge. */
bool option_is_mount(const char *text)
{
    const char *colon = strrchr(text, ':');

    return colon && is_plain_path(text, (size_t) (colon - text))
           && is_plain_path(colon + 1, strlen(colon + 1));
}

bool option_is_base(const char *text)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "abcdefghijklmnopqrstuvwxyz0123456789_-./~";

    return text[0] == '/' && text[strlen(text) - 1] == '/'
           && !strstr(text, "//") && !strstr(text, "/.")
           && !text[strspn(text, letters)];
}

bool option_is_address(const char *text)
{
    unsigned char address[sizeof(struct in6_addr)];

    return inet_pton(AF_INET, text, address) == 1
           || inet_pton(AF_INET6, text, address) == 1;
}
