/* The first line of a view: what became of the cell and of the state. */
#ifndef HEARTH_NOTEBOOKS_MODELVIEW_HEADER_H
#define HEARTH_NOTEBOOKS_MODELVIEW_HEADER_H

#include "notebooks/modelview/modelview.h"

/* Appends the line without a newline. */
void header_write(const modelview_cell_t *cell, buffer_t *out);
/* Appends a loss: "STATE LOST: kernel ended 12:00:00Z (a limit); variable df
 * gone; files kept". */
void header_write_loss(const modelview_loss_t *loss, buffer_t *out);
/* Appends what is lost and what is not: "; variables df model gone; files
 * kept".
 */
void header_write_lost(const modelview_loss_t *loss, buffer_t *out);

#endif
