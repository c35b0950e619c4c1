/* A picture by its content. */
#ifndef HEARTH_NOTEBOOKS_COMPARISON_IMAGE_DIGEST_H
#define HEARTH_NOTEBOOKS_COMPARISON_IMAGE_DIGEST_H

#include <jansson.h>

#define IMAGE_DIGEST_NAME_SIZE 80

/* "640x480 png, 0f3a…": two pictures with the same name show the same. Of a
 * PNG only the chunks that make the picture count, not those that tell when
 * and by which program it was made. `value` is base64. */
void image_digest_name(const json_t *value,
                       char ret_name[IMAGE_DIGEST_NAME_SIZE]);

#endif
