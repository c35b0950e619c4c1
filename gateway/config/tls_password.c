/* See tls_password.h. */
#include "gateway/config/tls_password.h"

#include <stdbool.h>

int tls_password_refuse(char *text, int size, int is_new, void *was_asked)
{
    (void) text;
    (void) size;
    (void) is_new;
    if (was_asked)
        *(bool *) was_asked = true;
    return -1;
}
