/* Time, as the rest of the tree wants it. */
#include "base/clock.h"

#include <stdio.h>
#include <time.h>

#define LAST_US INT64_C(253402300799999999) /* the end of the year 9999 */

static struct timespec now(clockid_t clock)
{
    /* Cannot fail for the two clocks that are asked for. */
    struct timespec time = {0};
    (void) clock_gettime(clock, &time);
    return time;
}

int64_t clock_monotonic_ms(void)
{
    struct timespec time = now(CLOCK_MONOTONIC);
    return (int64_t) time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

int64_t clock_monotonic_us(void)
{
    struct timespec time = now(CLOCK_MONOTONIC);
    return (int64_t) time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

int64_t clock_wall_us(void)
{
    struct timespec time = now(CLOCK_REALTIME);
    return (int64_t) time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

/* Writes `count` digits and the character that follows them; returns the place
 * after it. */
static char *write_digits(char *text, int value, int count, char behind)
{
    for (int i = count - 1; i >= 0; i--) {
        text[i] = (char) ('0' + value % 10);
        value /= 10;
    }
    text[count] = behind;
    return text + count + 1;
}

/* Formats the digits itself: each message has a date, and printf takes longer
 * than the rest of its header. */
void clock_iso(int64_t wall_us, char ret_text[CLOCK_ISO_SIZE])
{
    /* The year has four digits, even if a damaged file has a later time. */
    if (wall_us < 0)
        wall_us = 0;
    if (wall_us > LAST_US)
        wall_us = LAST_US;
    time_t seconds = (time_t) (wall_us / 1000000);
    struct tm parts = {0};
    (void) gmtime_r(&seconds, &parts);

    char *end = ret_text;
    end = write_digits(end, parts.tm_year + 1900, 4, '-');
    end = write_digits(end, parts.tm_mon + 1, 2, '-');
    end = write_digits(end, parts.tm_mday, 2, 'T');
    end = write_digits(end, parts.tm_hour, 2, ':');
    end = write_digits(end, parts.tm_min, 2, ':');
    end = write_digits(end, parts.tm_sec, 2, '.');
    end = write_digits(end, (int) (wall_us % 1000000), 6, 'Z');
    *end = '\0';
}

bool clock_read_iso(const char *text, int64_t *ret_wall_us)
{
    struct tm date = {0};
    double seconds;

    if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%lf", &date.tm_year, &date.tm_mon,
               &date.tm_mday, &date.tm_hour, &date.tm_min, &seconds)
            != 6
        || !(seconds >= 0 && seconds < 62))
        return false;
    date.tm_year -= 1900;
    date.tm_mon--;
    *ret_wall_us =
        (int64_t) timegm(&date) * 1000000 + (int64_t) (seconds * 1e6 + 0.5);
    return true;
}
