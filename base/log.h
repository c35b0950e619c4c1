/* The program's log: one line an event, `key=value` pairs, to standard error
 * (with journald's priority prefix when JOURNAL_STREAM is set). Only programs
 * log; libraries return faults. Never content, never secrets: sizes, types,
 * ids. Thread-safe. */
#ifndef HEARTH_BASE_LOG_H
#define HEARTH_BASE_LOG_H

typedef enum {
    LOG_LEVEL_ERROR,
    LOG_LEVEL_WARNING,
    LOG_LEVEL_INFO,
    LOG_LEVEL_DEBUG,
} log_level_t;

void log_set_level(log_level_t level);
/* Reads a level by its name. Returns -EINVAL if the name is not error, warning,
 * info or debug. */
int log_level_parse(const char *name, log_level_t *ret_level);
void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_notice(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
