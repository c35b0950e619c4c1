/* Members of objects of JSON (jansson's), whatever a peer has sent. */
#ifndef HEARTH_NOTEBOOKS_JSON_MEMBER_H
#define HEARTH_NOTEBOOKS_JSON_MEMBER_H

#include <jansson.h>
#include <stdint.h>

/* Returns a string member, lent; "" if there is no such object or string. */
const char *member_text(const json_t *object, const char *key);
/* Returns a member that counts; 0 without the member, or if it is negative. */
uint64_t member_count(const json_t *object, const char *key);
/* Returns a number member, or `otherwise`. */
double member_number(const json_t *object, const char *key, double otherwise);

#endif
