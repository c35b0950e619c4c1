/* The syntax of texts, and of items of lists, in the configuration. */
#ifndef HEARTH_GATEWAY_CONFIG_OPTION_SYNTAX_H
#define HEARTH_GATEWAY_CONFIG_OPTION_SYNTAX_H

#include <stdbool.h>

#define NAME_LETTERS                                                           \
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"

/* Returns true for the name of a Python module: "numpy", "scipy.stats". */
bool option_is_module(const char *name);
/* Returns true for the name of a host tool, or its beginning and *. */
bool option_is_tool(const char *name);
/* Returns true for the name of a package, or its beginning and *. */
bool option_is_package(const char *name);
bool option_is_requirement(const char *text);
/* Returns true if both requirements are of one package. Names are compared
 * without case, and -, _ and . are the same there (PEP 503). */
bool option_is_same_package(const char *one, const char *other);
/* Returns the comma after the first requirement of a list, NULL if it is the
 * last. */
const char *option_requirement_end(const char *text);
/* Returns true for the name of a host or its IPv4 address. */
bool option_is_host(const char *name);
/* Returns true for a host, its IPv4 address, or its IPv6 address in brackets; *
 * for any host; *. and a host for all names below it. Each may have a port. */
bool option_is_place(const char *text);
/* Returns true for an IPv4 or IPv6 network in CIDR notation, of which no bit of
 * the host is set. */
bool option_is_network(const char *text);
/* Returns true for the URL of a package index: http or https, a host, perhaps a
 * port, a path. */
bool option_is_index(const char *text);
/* Returns true for the name of an environment variable that kernels may have.
 */
bool option_is_variable(const char *name);
/* Returns true for an origin as a browser writes it, or *. */
bool option_is_origin(const char *text);
/* Returns true for an absolute path. */
bool option_is_path(const char *text);
/* Returns true for SOURCE:TARGET, two absolute paths without "." and "..". */
bool option_is_mount(const char *text);
/* Returns true for the path of a URL that begins and ends with a slash. */
bool option_is_base(const char *text);
/* Returns true for an IPv4 or IPv6 address. */
bool option_is_address(const char *text);

#endif
