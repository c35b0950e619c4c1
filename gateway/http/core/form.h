/* Fields as browsers send them by themselves: those of a form that a person
 * filled in, and cookies. Hostile input: what is no field is passed over. */
#ifndef HEARTH_GATEWAY_HTTP_CORE_FORM_H
#define HEARTH_GATEWAY_HTTP_CORE_FORM_H

#include "base/buffer.h"

/* The value of the first such field of a form's body
 * (application/x-www-form-urlencoded), decoded; to be freed. NULL: there is
 * none, or it has a zero byte and is no text. */
char *fields_form(const buffer_t *body, const char *name);

/* The value of the first such cookie of a header, as it stands there; to be
 * freed, NULL when there is none. `header` may be NULL. */
char *fields_cookie(const char *header, const char *name);

#endif
