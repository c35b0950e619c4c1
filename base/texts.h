/* Lists of texts: a NULL behind the last one, and each of them owned. */
#ifndef HEARTH_BASE_TEXTS_H
#define HEARTH_BASE_TEXTS_H

#include "base/cleanup.h"

#include <stdbool.h>

/* The list and what is in it; the caller's pointer is NULL then. */
void texts_destroy(char ***self_p);
/* Whether the text is one of them; NULL is a list with nothing in it. */
bool texts_have(char *const *self_or_null, const char *text);

#define cleanup_texts CLEANUP(texts_destroy)

#endif
