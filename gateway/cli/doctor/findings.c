/* Findings that a check of hearth doctor adds to its report. */
#include "gateway/cli/doctor/findings.h"

#include <stdarg.h>
#include <stdio.h>

static const char *const found_names[] = {"ok", "warning", "missing"};

static bool is_utf8(const char *text)
{
    json_auto_t *value = json_string(text);
    return value != NULL;
}

void doctor_add(report_t *report, const char *name, found_t found,
                const char *advice, const char *format, ...)
{
    char text[512];
    va_list list;

    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (found == FOUND_MISSING)
        report->is_missing = true;
    /* A path may be no UTF-8, and must not take its row with it. */
    for (char *byte = text; !is_utf8(text) && *byte; byte++)
        if (*byte & 0x80)
            *byte = '?';
    json_array_append_new(report->findings,
                          json_pack("{s:s, s:s, s:s, s:s*}", "name", name,
                                    "state", found_names[found], "found", text,
                                    "advice",
                                    found == FOUND_OK ? NULL : advice));
}
