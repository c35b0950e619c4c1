/* See revive.h. */
#include "gateway/session/requests/revive.h"

#include "protocol/jspan_write.h"

struct revive {
    buffer_t report; /* empty without a report */
};

revive_t *revive_new(void)
{
    return mem_new(sizeof(revive_t));
}

void revive_destroy(revive_t **self_p)
{
    revive_t *self = *self_p;

    if (!self)
        return;
    buffer_reset(&self->report);
    free(self);
    *self_p = NULL;
}

void revive_write_unfinished(buffer_t *out)
{
    jspan_write_begin(out);
    jspan_write_bool(out, "is_complete", false);
    jspan_write_text(out, "sentence",
                     "this session was gone and has a fresh kernel; its "
                     "recorded cells were not all run again, variables may be "
                     "missing");
    jspan_write_end(out);
}

void revive_keep(revive_t *self, bytes_t report)
{
    buffer_clear(&self->report);
    buffer_append(&self->report, report.bytes, report.size);
}

/* Returns true if a client reads the reply: not for cells of the revival, and
 * not for silent ones. */
static bool is_read(const request_t *request)
{
    return request_is_execute(request) && !request->silent
           && request->purpose == REQUEST_FOR_CLIENT;
}

void revive_write(const revive_t *self, const request_t *request,
                  buffer_t *members)
{
    if (self->report.size && is_read(request))
        jspan_write_raw(members, "revived", buffer_bytes(&self->report));
}

void revive_note_reply(revive_t *self, const request_t *request)
{
    if (is_read(request))
        buffer_clear(&self->report);
}
