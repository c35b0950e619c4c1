/* See revival_report.h. */
#include "gateway/cli/recordings/revival_report.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "gateway/cli/client/management_client.h"
#include "gateway/cli/recordings/replay_session.h"
#include "notebooks/json/member.h"
#include "notebooks/recording/variable_names.h"

#include <string.h>

#define NAMES_MAX 100 /* of each kind, in the report */
#define CELLS_MAX 50  /* cells that ran differently, in the report */
#define LISTED    20  /* names in a sentence */
#define WHY_MAX   200 /* bytes of a reason, in the report */
/* things from outside, in a sentence */
#define MISSING_LISTED  5
#define MISSING_MAX     30          /* in the report */
#define MISSING_WHY_MAX 400         /* bytes */
#define MISSING_BYTES   (16u << 10) /* of all in the report */

void revival_report_init(revival_report_t *self)
{
    *self = (revival_report_t){.present = json_object(), .odd = json_array()};
}

void revival_report_clear(revival_report_t *self)
{
    json_decref(self->odd);
    json_decref(self->present);
    *self = (revival_report_t){0};
}

/* Returns the text's first bytes, at most `max`, and no part of a character;
 * the caller owns them. */
static char *shorten(const char *text, size_t max)
{
    size_t size = strlen(text);

    return mem_copy(text, size > max ? utf8_cut(text, max) : size);
}

static void keep_odd(revival_report_t *self, const replay_step_t *step)
{
    cleanup_free char *why = shorten(step->why, WHY_MAX);

    json_array_append_new(
        self->odd,
        json_pack("{s:I, s:s, s:s, s:s}", "number", (json_int_t) step->number,
                  "id", step->cell->id, "verdict",
                  replay_session_verdict(step->verdict), "why", why));
}

void revival_report_add(revival_report_t *self, const replay_step_t *step)
{
    if (strcmp(member_text(step->result.reply, "ename"), "KernelDied") == 0)
        json_object_clear(self->present);
    if (!step->is_late)
        variable_names_apply(
            self->present, json_object_get(step->result.figures, "namespace"));
    if (step->why && step->verdict != REPLAY_WAITING
        && json_array_size(self->odd) < CELLS_MAX)
        keep_odd(self, step);
}

/* ---- the sentence ---- */

static void write_names(const char *what, const json_t *list, buffer_t *out)
{
    const json_t *item;
    size_t i, count = json_array_size(list);

    if (!count)
        return;
    buffer_format(out, "; %s: ", what);
    json_array_foreach(list, i, item)
    {
        if (i == LISTED) {
            buffer_format(out, " and %zu more", count - i);
            return;
        }
        buffer_format(out, "%s%s", i ? ", " : "",
                      json_is_string(item) ? json_string_value(item)
                                           : member_text(item, "name"));
    }
}

static void write_odd(const json_t *odd, const char *verdict, buffer_t *out)
{
    const json_t *cell;
    bool is_first = true;
    size_t i;

    json_array_foreach(odd, i, cell)
    {
        if (strcmp(member_text(cell, "verdict"), verdict) != 0)
            continue;
        buffer_format(out, "%s%.0f", is_first ? " (cell " : ", ",
                      member_number(cell, "number", 0));
        is_first = false;
    }
    if (!is_first)
        buffer_text(out, ")");
}

/* Writes what is missing: `missing` are the first of `count`. */
static void write_missing(const json_t *missing, size_t count, buffer_t *out)
{
    size_t size = json_array_size(missing), i;

    for (i = 0; i < size && i < MISSING_LISTED; i++) {
        const json_t *one = json_array_get(missing, i);
        const char *what = member_text(one, "what");

        buffer_format(out, "; missing from outside: %s%s%s", what,
                      *what ? ": " : "", member_text(one, "why"));
    }
    if (i < count)
        buffer_format(out, "; and %zu more from outside are missing",
                      count - i);
}

static json_t *make_sentence(const revival_report_t *self,
                             const revival_plan_t *plan,
                             const json_t *variables, const json_t *missing,
                             size_t missing_count)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    const replay_summary_t *summary = &self->summary;

    buffer_format(&out,
                  "this session was gone and has been revived: %zu cells ran "
                  "again, %zu of them with another outcome",
                  summary->same + summary->different, summary->different);
    write_odd(self->odd, "different", &out);
    buffer_format(&out, ", %zu were skipped", summary->skipped);
    write_odd(self->odd, "skipped", &out);
    if (!self->is_complete)
        buffer_text(&out, self->is_damaged
                              ? "; the recording is damaged, and cells after "
                                "the damage are not known"
                              : "; it was ended before the last cell");
    if (plan->has_gaps)
        buffer_text(&out, "; older cells are not in the recording any more");
    write_names("variables back", json_object_get(variables, "back"), &out);
    write_names("back, but different", json_object_get(variables, "different"),
                &out);
    write_names("missing", json_object_get(variables, "missing"), &out);
    write_missing(missing, missing_count, &out);
    buffer_text(&out, "; the workspace is the same folder as before");
    return json_stringn((const char *) out.data, out.size);
}

/* ---- the report ---- */

static void shorten_member(json_t *row, const char *key)
{
    cleanup_free char *text = shorten(member_text(row, key), MISSING_WHY_MAX);

    if (*text)
        json_object_set_new(row, key, json_string(text));
}

/* Returns the first rows, shortened, for which a report has room; the caller
 * owns them. */
static json_t *first_missing(const json_t *missing)
{
    json_t *first = json_array();
    size_t bytes = 0;

    for (size_t i = 0; i < json_array_size(missing) && i < MISSING_MAX; i++) {
        json_auto_t *row = json_copy(json_array_get(missing, i));

        shorten_member(row, "what");
        shorten_member(row, "why");
        bytes += json_dumpb(row, NULL, 0, 0);
        if (bytes > MISSING_BYTES)
            break;
        json_array_append(first, row);
    }
    return first;
}

json_t *revival_report_make(const revival_report_t *self, const char *session,
                            const revival_plan_t *plan, const json_t *missing)
{
    json_t *variables =
        variable_names_compare(plan->expected, self->present, NAMES_MAX);
    const replay_summary_t *summary = &self->summary;
    char now[CLOCK_ISO_SIZE];
    json_t *first = first_missing(missing);

    clock_iso(clock_wall_us(), now);
    return json_pack(
        "{s:b, s:b, s:s, s:s, s:I, s:I, s:I, s:I, s:O, s:o, s:o, s:s, s:o}",
        "is_complete", self->is_complete, "has_gaps", plan->has_gaps, "session",
        session, "at", now, "ran",
        (json_int_t) summary->same + (json_int_t) summary->different, "same",
        (json_int_t) summary->same, "different",
        (json_int_t) summary->different, "skipped",
        (json_int_t) summary->skipped, "cells", self->odd, "missing", first,
        "variables", variables, "workspace", "reused", "sentence",
        make_sentence(self, plan, variables, first, json_array_size(missing)));
}

bool revival_report_is_whole(const json_t *report)
{
    const json_t *variables = json_object_get(report, "variables");

    return json_is_true(json_object_get(report, "is_complete"))
           && json_is_false(json_object_get(report, "has_gaps"))
           && !json_integer_value(json_object_get(report, "different"))
           && !json_array_size(json_object_get(report, "missing"))
           && !json_array_size(json_object_get(variables, "different"))
           && !json_array_size(json_object_get(variables, "missing"));
}
