/* Pictures out of MIME bundles: to files, and into terminals that can. */
#ifndef HEARTH_GATEWAY_CLI_CORE_TERMINAL_IMAGE_H
#define HEARTH_GATEWAY_CLI_CORE_TERMINAL_IMAGE_H

#include "base/buffer.h"
#include "base/fault.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* Finds the best picture in a bundle (a display's "data"), with its bytes.
 * Returns its file name extension, "png", or NULL when there is none that can
 * be read. */
const char *terminal_image_find(const json_t *bundle, buffer_t *ret_bytes);

/* Writes it as the first of DIR/1.png, DIR/2.png ... that is not there yet;
 * an earlier picture is never replaced. The folder is made when missing. */
int terminal_image_save(const char *folder, const char *extension,
                        const buffer_t *bytes, char **ret_path, fault_t *fault);

/* Draws it if the terminal can show images (kitty, iTerm2 and terminals with
 * their protocols). Returns false if it was not drawn. */
bool terminal_image_show(FILE *file, const char *extension,
                         const buffer_t *bytes);

#endif
