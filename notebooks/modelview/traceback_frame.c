/* See traceback_frame.h. The forms are those of IPython 8 and later. */
#include "notebooks/modelview/traceback_frame.h"

#include <ctype.h>
#include <string.h>

static bytes_t trim(const char *from, const char *end)
{
    while (from < end && isspace((unsigned char) *from))
        from++;
    while (from < end && isspace((unsigned char) end[-1]))
        end--;
    return (bytes_t){from, (size_t) (end - from)};
}

bytes_t traceback_trim(bytes_t text)
{
    return trim(text.bytes, (const char *) text.bytes + text.size);
}

static bytes_t digits_at(const char *from, const char *end)
{
    const char *at = from;

    while (at < end && isdigit((unsigned char) *at))
        at++;
    return (bytes_t){from, (size_t) (at - from)};
}

static const char *after(bytes_t text, const char *word)
{
    const char *found = memmem(text.bytes, text.size, word, strlen(word));

    return found ? found + strlen(word) : NULL;
}

bool traceback_has_prefix(bytes_t text, const char *word)
{
    return text.size >= strlen(word)
           && memcmp(text.bytes, word, strlen(word)) == 0;
}

/* Reads "Cell In[4], line 3, in f(x)"; older: "Input In [4], in <cell line:
 * 3>()". */
static bool read_cell_head(bytes_t line, traceback_frame_t *frame)
{
    const char *end = (const char *) line.bytes + line.size;
    const char *at = after(line, "In[");
    const char *number, *function;

    if (!traceback_has_prefix(line, "Cell In")
        && !traceback_has_prefix(line, "Input In"))
        return false;
    if (!at && !(at = after(line, "In [")))
        return false;
    frame->place = digits_at(at, end);
    frame->is_cell = true;
    number = after(line, ", line ");
    if (number)
        frame->number = digits_at(number, end);
    function = after(line, ", in ");
    if (function && *function != '<')
        frame->function = trim(function, end);
    return frame->place.size > 0;
}

/* Reads "File PATH:LINE, in FUNCTION(ARGUMENTS)". */
static bool read_file_head(bytes_t line, traceback_frame_t *frame)
{
    const char *begin = (const char *) line.bytes + strlen("File ");
    const char *end = (const char *) line.bytes + line.size;
    const char *function = after(line, ", in ");
    const char *colon;

    if (!traceback_has_prefix(line, "File "))
        return false;
    if (function) {
        frame->function = trim(function, end);
        end = function - strlen(", in ");
    }
    colon = memrchr(begin, ':', (size_t) (end - begin));
    if (!colon)
        return false;
    frame->number = digits_at(colon + 1, end);
    frame->place = (bytes_t){begin, (size_t) (colon - begin)};
    return frame->number.size > 0;
}

/* Reads "----> 3 code": the line that the frame is at. */
static bool read_arrow(bytes_t line, traceback_frame_t *frame)
{
    const char *at = line.bytes, *end = at + line.size;
    bytes_t rest = trim(at, end);
    bytes_t number;

    at = rest.bytes;
    while (at < end && *at == '-')
        at++;
    /* Before a number of five digits there is no room for the dash. */
    if (at == end || *at != '>')
        return false;
    rest = trim(at + 1, end);
    number = digits_at(rest.bytes, end);
    if (!number.size)
        return false;
    frame->number = number;
    frame->code = trim((const char *) number.bytes + number.size, end);
    return true;
}

bool traceback_frame_read(bytes_t text, traceback_frame_t *ret_frame)
{
    const char *end = (const char *) text.bytes + text.size;
    const char *stop = memchr(text.bytes, '\n', text.size);
    bytes_t head = trim(text.bytes, stop ? stop : end);

    *ret_frame = (traceback_frame_t){0};
    if (!read_cell_head(head, ret_frame) && !read_file_head(head, ret_frame))
        return false;
    if (!stop)
        return true;
    /* Before a number of six digits there is no arrow at all. */
    bool is_numbered = !ret_frame->is_cell && digits_at(stop + 1, end).size > 5;
    while (stop) {
        const char *from = stop + 1;
        stop = memchr(from, '\n', (size_t) (end - from));
        if (read_arrow((bytes_t){from, (size_t) ((stop ? stop : end) - from)},
                       ret_frame))
            return true;
    }
    return is_numbered;
}

bool traceback_frame_is_library(const traceback_frame_t *self)
{
    static const char *const marks[] = {"site-packages/", "dist-packages/",
                                        "/lib/python",    "/lib64/python",
                                        "<frozen ",       "hearth_kernel/"};
    static const char *const ends[] = {".pyx", ".pxi", ".pxd"};
    bytes_t place = self->place;

    if (self->is_cell)
        return false;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (after(place, marks[i]))
            return true;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (place.size > 4
            && memcmp((const char *) place.bytes + place.size - 4, ends[i], 4)
                   == 0)
            return true;
    return false;
}

bytes_t traceback_frame_path(const traceback_frame_t *self)
{
    static const char *const folders[] = {"site-packages/", "dist-packages/",
                                          "/lib/python"};
    bytes_t path = self->place;
    const char *end = (const char *) path.bytes + path.size;
    const char *own;

    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        const char *at = after(path, folders[i]);
        if (at && i == 2)
            at = memchr(at, '/', (size_t) (end - at));
        if (at)
            return trim(*at == '/' ? at + 1 : at, end);
    }
    own = after(path, "/hearth_kernel/");
    return own ? trim(own - strlen("hearth_kernel/"), end) : path;
}
