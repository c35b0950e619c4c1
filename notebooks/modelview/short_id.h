/* A session's id as models see it: short, because each token of it counts. */
#ifndef HEARTH_NOTEBOOKS_MODELVIEW_SHORT_ID_H
#define HEARTH_NOTEBOOKS_MODELVIEW_SHORT_ID_H

#define SHORT_ID_SIZE 64 /* bytes of what is written, with its NUL */

/* Writes the beginning of an id that the gateway has made, and another name as
 * it is. The gateway takes the beginning for the whole. Returns `ret_text`. */
const char *short_id_write(const char *id, char ret_text[SHORT_ID_SIZE]);

#endif
