/* See read_hint.h. */
#include "notebooks/modelview/read_hint.h"

#include "notebooks/modelview/short_id.h"

static void write_way(const read_hint_t *self, const char *ref, buffer_t *out)
{
    char id[SHORT_ID_SIZE];
    const char *session = short_id_write(self->session, id);

    switch (self->way) {
    case READ_HINT_TOOL:
        buffer_format(out, "read_output ref=%s", ref);
        break;
    case READ_HINT_COMMAND:
        buffer_format(out, "hearth output %s %s", session, ref);
        break;
    case READ_HINT_PATH:
        buffer_format(out, "GET %s/hearth/sessions/%s/outputs/%s",
                      self->base ? self->base : "", session, ref);
        break;
    case READ_HINT_METHOD:
        buffer_format(out, "session.read_output(\"%s\"", ref);
        break;
    }
}

void read_hint_from_line(read_hint_way_t way, unsigned long long from_line,
                         buffer_t *out)
{
    buffer_format(
        out, way == READ_HINT_COMMAND ? "--from-line=%llu" : "from_line=%llu",
        from_line);
}

void read_hint_write(const read_hint_t *self, const char *ref,
                     unsigned long long from_line, buffer_t *out)
{
    static const char *const before_line[] = {
        [READ_HINT_TOOL] = " ",
        [READ_HINT_COMMAND] = " ",
        [READ_HINT_PATH] = "?",
        [READ_HINT_METHOD] = ", ",
    };

    write_way(self, ref, out);
    if (from_line > 1) {
        buffer_text(out, before_line[self->way]);
        read_hint_from_line(self->way, from_line, out);
    }
    if (self->way == READ_HINT_METHOD)
        buffer_text(out, ")");
}
