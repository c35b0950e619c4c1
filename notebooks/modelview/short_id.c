/* See short_id.h. */
#include "notebooks/modelview/short_id.h"

#include <stdio.h>
#include <string.h>

#define WHOLE 36 /* bytes of an id that the gateway makes: a UUID */
#define SHORT 8  /* its first part */

const char *short_id_write(const char *id, char ret_text[SHORT_ID_SIZE])
{
    snprintf(ret_text, SHORT_ID_SIZE, "%.*s",
             strlen(id) == WHOLE ? SHORT : SHORT_ID_SIZE - 1, id);
    return ret_text;
}
