/* Where displays are shown: the outputs under each display id, which an update
 * changes all at once. An update changes only the newest ones of its id, so
 * that a kernel cannot make many large outputs of one large message. */
#ifndef HEARTH_NOTEBOOKS_FORMATS_DISPLAY_PLACES_H
#define HEARTH_NOTEBOOKS_FORMATS_DISPLAY_PLACES_H

#include "base/cleanup.h"

#include <jansson.h>
#include <stdint.h>

#define DISPLAY_PLACES_MAX 16 /* outputs of an id that an update changes */
/* Room for forms without a bound. */
#define DISPLAY_PLACES_ROOM (UINT64_MAX / 2)

typedef struct {
    json_t *ids; /* owned; display id -> [{"output", "size"}], newest last */
} display_places_t;

void display_places_clear(display_places_t *self);

/* Returns the display_id in a message's content, lent; "" without an id. */
const char *display_id(const json_t *content);

/* Notes that the output shows the display; `size` bytes of content. Does
 * nothing without an id. */
void display_places_note(display_places_t *self, const char *id, json_t *output,
                         size_t size);
/* Sets the members of `form` in the outputs that show the display, oldest
 * first. An output keeps its form if the new one of `size` bytes needs more
 * than `room` more. Returns by how many bytes the outputs have grown in sum. */
int64_t display_places_update(display_places_t *self, const char *id,
                              json_t *form, size_t size, uint64_t room);

#endif
