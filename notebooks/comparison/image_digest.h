/* A picture by its content. */
#ifndef HEARTH_NOTEBOOKS_COMPARISON_IMAGE_DIGEST_H
#define HEARTH_NOTEBOOKS_COMPARISON_IMAGE_DIGEST_H

#include <jansson.h>

#define IMAGE_DIGEST_NAME_SIZE 80

/* Writes a name for a picture's content, such as "640x480 png, 0f3a…"; `value`
 * is base64. Two pictures with the same name show the same. For a PNG only the
 * chunks that make the picture count, not those with its time and program. */
void image_digest_name(const json_t *value,
                       char ret_name[IMAGE_DIGEST_NAME_SIZE]);

#endif
