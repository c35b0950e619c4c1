/* The name of a session's folder of packages, which is also the right to enter
 * that folder: it is not listed, and the kernel alone has the name. */
#ifndef HEARTH_GATEWAY_SESSION_LIFECYCLE_PACKAGES_TOKEN_H
#define HEARTH_GATEWAY_SESSION_LIFECYCLE_PACKAGES_TOKEN_H

#include <stdbool.h>

#define PACKAGES_TOKEN_SIZE 33 /* 32 hex digits and a NUL */

/* Makes a token of 128 random bits. */
void packages_token_make(char ret_token[PACKAGES_TOKEN_SIZE]);
/* Returns true if the text has the form of a token: it is a name of a folder,
 * and no path. */
bool packages_token_is_valid(const char *text);

#endif
