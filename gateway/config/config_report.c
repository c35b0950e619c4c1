/* See config_report.h. Two lists that are searched from end to end: a
 * configuration has some hundred keys. */
#include "gateway/config/config_report.h"

#include "base/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TEXT_MAX 1024 /* a longer finding is cut */

typedef struct {
    bool is_error;
    int code;   /* of an error */
    char *text; /* owned */
} finding_t;

typedef struct {
    char *key;   /* owned */
    char *place; /* owned */
} key_place_t;

struct config_report {
    finding_t *findings; /* owned */
    size_t finding_count;
    size_t error_count;
    key_place_t *origins; /* owned */
    size_t origin_count;
};

config_report_t *config_report_new(void)
{
    return mem_new(sizeof(config_report_t));
}

void config_report_destroy(config_report_t **self_p)
{
    config_report_t *self = *self_p;

    if (!self)
        return;
    for (size_t i = 0; i < self->finding_count; i++)
        free(self->findings[i].text);
    free(self->findings);
    for (size_t i = 0; i < self->origin_count; i++) {
        free(self->origins[i].key);
        free(self->origins[i].place);
    }
    free(self->origins);
    free(self);
    *self_p = NULL;
}

__attribute__((format(printf, 3, 0))) static void
add(config_report_t *self, finding_t finding, const char *format, va_list args)
{
    char text[TEXT_MAX];

    vsnprintf(text, sizeof text, format, args);
    finding.text = mem_text(text);
    self->findings = mem_resize(self->findings,
                                (self->finding_count + 1) * sizeof(finding_t));
    self->findings[self->finding_count++] = finding;
}

void config_report_error(config_report_t *self, int code, const char *format,
                         ...)
{
    va_list args;

    va_start(args, format);
    add(self, (finding_t){.is_error = true, .code = code}, format, args);
    va_end(args);
    self->error_count++;
}

void config_report_warning(config_report_t *self, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    add(self, (finding_t){.is_error = false}, format, args);
    va_end(args);
}

size_t config_report_errors(const config_report_t *self)
{
    return self->error_count;
}

const char *config_report_at(const config_report_t *self, size_t index,
                             bool *ret_is_error)
{
    if (index >= self->finding_count)
        return NULL;
    *ret_is_error = self->findings[index].is_error;
    return self->findings[index].text;
}

int config_report_code(const config_report_t *self)
{
    for (size_t i = 0; i < self->finding_count; i++)
        if (self->findings[i].is_error)
            return self->findings[i].code;
    return 0;
}

static key_place_t *find_origin(const config_report_t *self, const char *key)
{
    for (size_t i = 0; i < self->origin_count; i++)
        if (strcmp(self->origins[i].key, key) == 0)
            return &self->origins[i];
    return NULL;
}

void config_report_came(config_report_t *self, const char *key,
                        const char *place)
{
    key_place_t *origin = find_origin(self, key);

    if (!origin) {
        self->origins = mem_resize(self->origins, (self->origin_count + 1)
                                                      * sizeof(key_place_t));
        origin = &self->origins[self->origin_count++];
        *origin = (key_place_t){.key = mem_text(key)};
    }
    free(origin->place);
    origin->place = mem_text(place);
}

const char *config_report_place(const config_report_t *self, const char *key)
{
    const key_place_t *origin = find_origin(self, key);

    return origin ? origin->place : NULL;
}

char *config_report_prefix(const config_report_t *self, const char *key)
{
    const char *place = config_report_place(self, key);

    return place ? mem_format("%s: ", place) : mem_text("");
}
