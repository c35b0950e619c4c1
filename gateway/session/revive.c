/* A session that is gone gets a fresh kernel, under its own id, ports and key.
 * Its variables do not come back by that: whoever asked for it runs the
 * recorded cells again and reports what became of them. Until a client was
 * told, every reply would be a lie by omission, so it stands here and, for the
 * next gateway, in the journal. */
#include "gateway/session/internal.h"

#include "base/clock.h"
#include "protocol/reply_metadata.h"

#include <errno.h>
#include <string.h>

static const char unfinished[] =
    "{\"is_complete\":false,\"sentence\":\"this session was gone and has a "
    "fresh kernel; its recorded cells were not all run again, variables may "
    "be missing\"}";

static void keep(self_t *self, const char *report)
{
    buffer_clear(&self->revived);
    buffer_text(&self->revived, report);
}

int revival_begin(self_t *self, fault_t *fault)
{
    session_spec_t *spec = self->spec;
    int r;

    if (self->state != LIFE_GONE)
        return fault_set(fault, EALREADY, "the session is alive");
    r = connection_write(&spec->connection, spec->connection_file, fault);
    if (r < 0
        || (r = output_note(self->output, "reviving", 0, unfinished, fault))
               < 0)
        return r;
    session_stop_timer(self, &self->gone_timer);
    session_stop_timer(self, &self->limit_timer);
    /* A gateway's crash may have left some without an answer. */
    turns_fail_all(self, "KernelDied", "the session was gone; variables: lost");
    spec->reason[0] = '\0';
    free(take_ptr(spec->detail));
    spec->ended_us = 0;
    spec->created_us = clock_wall_us(); /* its lifetime begins anew */
    self->detail[0] = '\0';
    keep(self, unfinished);
    ending_relaunch(self);
    session_count_lifetime(self);
    session_save(self);
    return 0;
}

int revival_report(self_t *self, const char *report, fault_t *fault)
{
    int r = output_note(self->output, "revived", 0, report, fault);

    if (r == 0)
        keep(self, report);
    return r;
}

/* Cells of the revival itself, and silent ones, are nobody's turn. */
static bool is_turn(const request_t *request)
{
    return request->is_execute && !request->silent && !request->is_revival
           && !request->is_seed;
}

bytes_t revival_tell(const self_t *self, bytes_t metadata, buffer_t *extended)
{
    cleanup_buffer buffer_t member = BUFFER_EMPTY;

    if (!self->revived.size || !is_turn(self->running))
        return metadata;
    buffer_text(&member, "\"revived\":");
    buffer_append(&member, self->revived.data, self->revived.size);
    return figures_add(metadata, (const char *) member.data, extended)
               ? (bytes_t){extended->data, extended->size}
               : metadata;
}

void revival_told(self_t *self, const request_t *request)
{
    if (is_turn(request))
        buffer_clear(&self->revived);
}
