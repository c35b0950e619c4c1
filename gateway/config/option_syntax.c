/* See option_syntax.h. */
#include "gateway/config/option_syntax.h"

#include "base/hex.h"
#include "base/units.h"
#include "gateway/config/default_paths.h"
#include "protocol/limits.h"

#include <arpa/inet.h>

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#define PACKAGE_NAME_MAX   128
#define REQUIREMENT_MAX    20000 /* as the packages worker has it */
#define HOST_NAME_MAX_SIZE 253   /* RFC 1035 */
#define HOST_LABEL_MAX     63    /* RFC 1035 */
#define INDEX_URL_MAX      2000

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

/* Checks PEP 508's form of a name. An "x*" must begin as a name does. */
bool option_is_package(const char *name)
{
    size_t size = strspn(name, NAME_LETTERS "-.");
    bool is_beginning = strcmp(name + size, "*") == 0;

    return size > 0 && size <= PACKAGE_NAME_MAX
           && isalnum((unsigned char) name[0])
           && (is_beginning
               || (!name[size] && isalnum((unsigned char) name[size - 1])));
}

/* Refuses only what is never a requirement: a URL, a path, an option, a marker.
 * The worker reads the text as a whole. */
bool option_is_requirement(const char *text)
{
    static const char letters[] = NAME_LETTERS "-.[]<>=!~*+:, ";
    size_t size = strspn(text, letters);

    return size > 0 && size <= REQUIREMENT_MAX && !text[size]
           && isalnum((unsigned char) text[0]);
}

/* Returns the letter of a normalised name (PEP 503) at `*at`, and goes past it;
 * 0 after the name. */
static int next_letter(const char **at)
{
    size_t run = strspn(*at, "-_.");
    char letter = **at;

    if (run) {
        *at += run;
        return '-';
    }
    if (!isalnum((unsigned char) letter))
        return 0;
    (*at)++;
    return tolower((unsigned char) letter);
}

bool option_is_same_package(const char *one, const char *other)
{
    int letter;

    do {
        letter = next_letter(&one);
        if (letter != next_letter(&other))
            return false;
    } while (letter);
    return true;
}

/* Extras and versions have commas, too: in brackets, and before an operator. */
const char *option_requirement_end(const char *text)
{
    bool is_inside = false;

    for (; *text; text++) {
        if (*text == '[' || *text == ']')
            is_inside = *text == '[';
        else if (*text == ',' && !is_inside
                 && !strchr("<>=!~", text[1 + strspn(text + 1, " ")]))
            return text;
        else if (*text == ',' && !text[1 + strspn(text + 1, " ")])
            return text; /* strchr finds the end of the text, too */
    }
    return NULL;
}

/* Returns true if the first `size` letters are labels with dots between,
 * RFC 1123, section 2.1; _ too, which names in private networks have. */
static bool is_host(const char *text, size_t size)
{
    if (!size || size > HOST_NAME_MAX_SIZE)
        return false;
    for (size_t at = 0; at <= size;) {
        size_t label = strspn(text + at, NAME_LETTERS "-");

        if (label > size - at)
            label = size - at;
        if (!label || label > HOST_LABEL_MAX || text[at] == '-'
            || text[at + label - 1] == '-')
            return false;
        at += label;
        if (at < size && text[at] != '.')
            return false;
        at++;
    }
    return true;
}

bool option_is_host(const char *name)
{
    return is_host(name, strlen(name));
}

/* Returns true if it is ":1" to ":65535"; no port is fine, too. */
static bool is_port(const char *text, size_t size)
{
    uint64_t port = 0;
    char digits[6];

    if (!size)
        return true;
    if (text[0] != ':' || size < 2 || size > sizeof digits)
        return false;
    memcpy(digits, text + 1, size - 1);
    digits[size - 1] = '\0';
    return units_number(digits, &port) && port >= 1 && port <= 65535;
}

/* Returns how many bytes an IPv6 address with its two brackets has, if the text
 * begins with one: 5 for "[::1]:8080". Returns 0 if the text begins otherwise.
 */
static size_t bracketed(const char *text, size_t size)
{
    unsigned char address[sizeof(struct in6_addr)];
    char inner[INET6_ADDRSTRLEN];
    const char *end = memchr(text, ']', size);
    size_t length = end ? (size_t) (end - text) : 0;

    if (text[0] != '[' || length < 2 || length > sizeof inner)
        return 0;
    memcpy(inner, text + 1, length - 1);
    inner[length - 1] = '\0';
    return inet_pton(AF_INET6, inner, address) == 1 ? length + 1 : 0;
}

/* Returns true if the last label is a number (WHATWG URL, "ends in a number").
 * Programs read the whole as an IPv4 address then, or as nothing. */
static bool ends_in_number(const char *text, size_t size)
{
    size_t at = size;

    while (at && text[at - 1] != '.')
        at--;
    if (size - at >= 2 && text[at] == '0' && (text[at + 1] | 0x20) == 'x')
        return at + 2 + strspn(text + at + 2, HEX_DIGITS "ABCDEF") >= size;
    return at + strspn(text + at, "0123456789") >= size;
}

static bool is_ipv4(const char *text, size_t size)
{
    unsigned char address[sizeof(struct in_addr)];
    char whole[INET_ADDRSTRLEN];

    if (size >= sizeof whole)
        return false;
    memcpy(whole, text, size);
    whole[size] = '\0';
    return inet_pton(AF_INET, whole, address) == 1;
}

/* Returns true if it is *, a host, or *. and a host that has a name. */
static bool is_hosts(const char *text, size_t size)
{
    if (size == 1 && text[0] == '*')
        return true;
    if (size > 2 && strncmp(text, "*.", 2) == 0)
        return is_host(text + 2, size - 2)
               && !ends_in_number(text + 2, size - 2);
    return is_host(text, size)
           && (!ends_in_number(text, size) || is_ipv4(text, size));
}

bool option_is_place(const char *text)
{
    size_t whole = strlen(text);
    size_t size = bracketed(text, whole);

    if (!size) {
        size = strcspn(text, ":");
        if (!is_hosts(text, size))
            return false;
    }
    return is_port(text + size, whole - size);
}

bool option_is_network(const char *text)
{
    unsigned char address[sizeof(struct in6_addr)];
    char written[INET6_ADDRSTRLEN];
    size_t size = strcspn(text, "/");
    int family = memchr(text, ':', size) ? AF_INET6 : AF_INET;
    size_t bits = family == AF_INET6 ? 128 : 32;
    uint64_t prefix;

    if (!text[size] || size >= sizeof written)
        return false;
    memcpy(written, text, size);
    written[size] = '\0';
    if (inet_pton(family, written, address) != 1
        || !units_number(text + size + 1, &prefix) || prefix > bits)
        return false;
    for (size_t bit = (size_t) prefix; bit < bits; bit++)
        if (address[bit / 8] & (0x80 >> bit % 8))
            return false;
    return true;
}

bool option_is_index(const char *text)
{
    static const char path[] = NAME_LETTERS "-.~!$&'()+;=:/%";
    size_t scheme = strncmp(text, "https://", 8) == 0  ? 8
                    : strncmp(text, "http://", 7) == 0 ? 7
                                                       : 0;
    const char *host = text + scheme;
    size_t whole = strcspn(host, "/");
    size_t size = bracketed(host, whole);

    if (!scheme || strlen(text) > INDEX_URL_MAX)
        return false;
    if (!size) {
        const char *colon = memchr(host, ':', whole);

        size = colon ? (size_t) (colon - host) : whole;
        if (!is_host(host, size))
            return false;
    }
    return is_port(host + size, whole - size)
           && !host[whole + strspn(host + whole, path)];
}

bool option_is_variable(const char *name)
{
    return name[0] && !isdigit((unsigned char) name[0])
           && !name[strspn(name, NAME_LETTERS)] && default_paths_is_free(name);
}

/* Checks an origin as a browser writes it (RFC 6454, section 6.2), or *.
 * Refuses "null", because pages that must not be trusted have that origin:
 * outputs of kernels, too. */
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

/* Returns true if no part of it is "", "." or "..". */
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

/* Checks SOURCE:TARGET. The sandbox judges where they lead. */
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
