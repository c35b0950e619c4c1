/* See frontend_state.h. */
#include "gateway/frontends/frontend_state.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void frontend_forget(frontend_t *self)
{
    zmsg_destroy(&self->frames);
    message_destroy(&self->answer);
    buffer_clear(&self->farewell);
    free(take_ptr(self->buffers));
}

void frontend_wake(frontend_t *self)
{
    static const uint64_t one = 1;
    ssize_t written = write(self->wake_fd, &one, sizeof one);

    (void) written;
}
