/* The program's log. A line is made on the stack of the thread that logs. It
 * leaves by one write, so that lines of several threads do not mix. Threads
 * share nothing but the level. */
#include "base/log.h"

#include "base/clock.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_SIZE 1024 /* a longer line is cut */

static const struct {
    const char *name;
    int priority; /* syslog's, as journald reads it from "<3>" */
} levels[] = {
    [LOG_LEVEL_ERROR] = {"error", 3},
    [LOG_LEVEL_WARNING] = {"warning", 4},
    [LOG_LEVEL_INFO] = {"info", 6},
    [LOG_LEVEL_DEBUG] = {"debug", 7},
};

static atomic_int highest = LOG_LEVEL_INFO;

void log_set_level(log_level_t level)
{
    atomic_store(&highest, (int) level);
}

int log_level_parse(const char *name, log_level_t *ret_level)
{
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        if (strcmp(levels[i].name, name) == 0) {
            *ret_level = (log_level_t) i;
            return 0;
        }
    }
    return -EINVAL;
}

/* Writes the time and the level. journald stamps the time itself and reads the
 * priority. */
static size_t begin_line(char *line, size_t size, log_level_t level)
{
    int length;
    if (getenv("JOURNAL_STREAM") != NULL) {
        length = snprintf(line, size, "<%d>", levels[level].priority);
    } else {
        char time[CLOCK_ISO_SIZE];
        clock_iso(clock_wall_us(), time);
        length = snprintf(line, size, "%s %s ", time, levels[level].name);
    }
    return (size_t) length;
}

__attribute__((format(printf, 2, 0))) static void
write_line(log_level_t level, const char *format, va_list args)
{
    if ((int) level > atomic_load(&highest))
        return;
    int saved = errno;
    char line[LINE_SIZE];
    size_t start = begin_line(line, sizeof line, level);
    int length = vsnprintf(line + start, sizeof line - start, format, args);
    size_t end = start + (length > 0 ? (size_t) length : 0);
    if (end > sizeof line - 1)
        end = sizeof line - 1;

    /* A peer may have chosen part of the text (a file name, an id): control
     * characters would begin a new line or move a terminal's cursor. */
    for (size_t i = start; i < end; i++)
        if ((unsigned char) line[i] < ' ' || line[i] == 127)
            line[i] = '?';
    line[end] = '\n';
    ssize_t written = write(STDERR_FILENO, line, end + 1);
    (void) written; /* an error of the log cannot be reported */
    errno = saved;
}

void log_error(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    write_line(LOG_LEVEL_ERROR, format, args);
    va_end(args);
}

void log_warning(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    write_line(LOG_LEVEL_WARNING, format, args);
    va_end(args);
}

void log_notice(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    write_line(LOG_LEVEL_INFO, format, args);
    va_end(args);
}

void log_debug(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    write_line(LOG_LEVEL_DEBUG, format, args);
    va_end(args);
}
