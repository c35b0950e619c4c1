/* The syntax of texts, and of items of lists, in the configuration. */
#ifndef HEARTH_GATEWAY_CONFIG_OPTION_SYNTAX_H
#define HEARTH_GATEWAY_CONFIG_OPTION_SYNTAX_H

#include <stdbool.h>

#define NAME_LETTERS                                                           \
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"

/* "numpy", "scipy.stats". */
bool option_is_module(const char *name);
/* The name of a host tool, or its beginning and *. */
bool option_is_tool(const char *name);
/* The name of a package, or its beginning and *. */
bool option_is_package(const char *name);
bool option_is_requirement(const char *text);
/* Returns true if both requirements are of one package: case, and which of - _
 * . stand between its words, make no difference. */
bool option_is_same_package(const char *one, const char *other);
/* Returns the comma after the first requirement of a list, NULL if it is the
 * last. */
const char *option_requirement_end(const char *text);
/* The name of a host or its IPv4 address. */
bool option_is_host(const char *name);
/* A host, or * or *. and a host for all below it, or an address (IPv6 in
 * brackets); perhaps a port. */
bool option_is_place(const char *text);
/* An IPv4 or IPv6 network in CIDR notation, without bits of a host. */
bool option_is_network(const char *text);
/* The URL of an index: http or https, a host, perhaps a port, a path. */
bool option_is_index(const char *text);
/* The name of a variable that kernels may have. */
bool option_is_variable(const char *name);
/* An origin as a browser writes it, or *. */
bool option_is_origin(const char *text);
/* An absolute path. */
bool option_is_path(const char *text);
/* SOURCE:TARGET, absolute paths without "..". */
bool option_is_mount(const char *text);
/* The path of a URL that begins and ends with a slash. */
bool option_is_base(const char *text);
/* An IPv4 or IPv6 address. */
bool option_is_address(const char *text);

#endif
