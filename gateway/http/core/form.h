/* Reads fields that browsers send: those of a form that a person filled in, and
 * cookies. Hostile input: what is not a valid field is ignored. */
#ifndef HEARTH_GATEWAY_HTTP_CORE_FORM_H
#define HEARTH_GATEWAY_HTTP_CORE_FORM_H

#include "base/buffer.h"

/* Returns the decoded value of the first field of that name in a form's body
 * (application/x-www-form-urlencoded), to be freed. NULL if no field has the
 * name, or if the value has a zero byte and so is not text. */
char *form_form(const buffer_t *body, const char *name);

/* Returns the value of the first cookie of that name in a header, not decoded,
 * to be freed; NULL if no cookie has the name. `header` may be NULL. */
char *form_cookie(const char *header, const char *name);

#endif
