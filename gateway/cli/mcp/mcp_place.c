/* See mcp_place.h. URL and token come from the user's environment or from the
 * gateway; both are checked, because they become lines of a request. */
#include "gateway/cli/mcp/mcp_place.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PORT_BYTES 5

void mcp_place_clear(mcp_place_t *self)
{
    free(self->host);
    free(self->port);
    free(self->path);
    free(self->token);
    tls_trust_destroy(&self->trust);
    own_gateway_destroy(&self->own);
    *self = (mcp_place_t){0};
}

/* Returns true if a text can be in a line of a request. */
static bool is_plain(const char *text)
{
    for (; *text; text++)
        if (*text <= ' ' || *text > '~')
            return false;
    return true;
}

static int refuse(const char *url, fault_t *fault)
{
    return fault_set(fault, EINVAL,
                     "the gateway's URL \"%.100s\" is not http://HOST:PORT/ or "
                     "https://HOST:PORT/",
                     is_plain(url) ? url : "with a blank in it");
}

/* Reads "HOST:PORT", "[HOST]:PORT", or a host alone. */
static bool read_authority(const char *text, size_t size, const char *usual,
                           mcp_place_t *place)
{
    bool is_six = *text == '[';
    const char *end =
        is_six ? memchr(text, ']', size) : memchr(text, ':', size);
    size_t host = end ? (size_t) (end - text) - is_six : size;
    const char *port = end ? end + is_six : text + size;
    size_t left = (size_t) (text + size - port);

    if ((is_six && !end) || !host || (left && *port != ':') || left == 1
        || left > 1 + PORT_BYTES)
        return false;
    place->host = mem_copy(text + is_six, host);
    place->port = left ? mem_copy(port + 1, left - 1) : mem_text(usual);
    return strspn(place->port, "0123456789") == strlen(place->port)
           && strpbrk(place->host, "@?#[]") == NULL;
}

static char *path_of(const char *base, const char *session)
{
    const char *slash = *base && base[strlen(base) - 1] == '/' ? "" : "/";

    return session ? mem_format("%s%smcp/sessions/%s", base, slash, session)
                   : mem_format("%s%smcp", base, slash);
}

int mcp_place_read(const char *url, const char *session, const char *token,
                   const tls_files_t *files, mcp_place_t *ret_place,
                   fault_t *fault)
{
    cleanup_mcp_place mcp_place_t place = {0};
    bool is_tls = strncmp(url, "https://", 8) == 0;
    const char *at = url + (is_tls ? 8 : 7), *base;
    int r;

    if (!is_plain(url) || (!is_tls && strncmp(url, "http://", 7) != 0))
        return refuse(url, fault);
    base = at + strcspn(at, "/");
    if (!read_authority(at, (size_t) (base - at), is_tls ? "443" : "80", &place)
        || strpbrk(base, "?#"))
        return refuse(url, fault);
    if (token && !is_plain(token))
        return fault_set(fault, EINVAL,
                         "the token has a blank or a character that no token "
                         "has");
    if (session && !is_plain(session))
        return fault_set(fault, EINVAL,
                         "the session's name has a blank; give its id");
    if (is_tls && (r = tls_trust_new(files, &place.trust, fault)) < 0)
        return r;
    place.path = path_of(base, session);
    place.token = token ? mem_text(token) : NULL;
    *ret_place = place;
    place = (mcp_place_t){0};
    return 0;
}

bool mcp_place_is_current(const mcp_place_t *self)
{
    return !self->own || own_gateway_serves(self->own);
}

/* Looks after the connection is there: a gateway that lives now had its port
 * then. A look before it would leave an instant for another program. */
int mcp_place_connect(const mcp_place_t *self, net_stream_t *stream,
                      fault_t *fault)
{
    int r = net_stream_open(stream, self->host, self->port, self->trust, fault);

    if (mcp_place_is_current(self))
        return r;
    net_stream_close(stream);
    return fault_set(fault, ESTALE, "the gateway at %s:%s has ended",
                     self->host, self->port);
}
