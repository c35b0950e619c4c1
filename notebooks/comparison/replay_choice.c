/* See replay_choice.h. */
#include "notebooks/comparison/replay_choice.h"

#include "notebooks/json/member.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define OUTSIDE     "outside_effects"
#define OUTSIDE_TAG "hearth.outside_effects"
#define SKIP_TAG    "skip-execution" /* nbclient's */

static const char *const comments[] = {"skip-on-revive", "outside-effects"};

size_t replay_count(const notebook_t *notebook)
{
    size_t count = 0;

    for (size_t i = 0; i < notebook->count; i++)
        count += notebook->cells[i].kind == NOTEBOOK_CODE;
    return count;
}

int replay_find(const notebook_t *notebook, const char *name,
                size_t *ret_number, fault_t *fault)
{
    size_t count = replay_count(notebook), number = 0;
    char *end;
    unsigned long wanted = strtoul(name, &end, 10);

    if (isdigit((unsigned char) *name) && !*end && wanted > 0
        && wanted <= count) {
        *ret_number = wanted;
        return 0;
    }
    for (size_t i = 0; i < notebook->count; i++) {
        number += notebook->cells[i].kind == NOTEBOOK_CODE;
        if (strcmp(notebook->cells[i].id, name) == 0
            && notebook->cells[i].kind == NOTEBOOK_CODE) {
            *ret_number = number;
            return 0;
        }
    }
    return fault_set(fault, ENOENT,
                     "there is no cell %s: a cell is named by its id or by "
                     "its number, 1 to %zu",
                     name, count);
}

static bool has_tag(const notebook_cell_t *cell, const char *name)
{
    const json_t *tag;
    size_t i;

    json_array_foreach(json_object_get(cell->metadata, "tags"), i, tag)
    {
        if (json_is_string(tag) && strcmp(json_string_value(tag), name) == 0)
            return true;
    }
    return false;
}

/* Returns true for a line of its own such as "# hearth: skip-on-revive". */
static bool is_marking(const char *line)
{
    size_t size;

    line += strspn(line, " \t");
    if (*line++ != '#')
        return false;
    line += strspn(line, " \t");
    if (strncmp(line, "hearth:", 7) != 0)
        return false;
    line += 7 + strspn(line + 7, " \t");
    size = strcspn(line, " \t\r\n");
    for (size_t i = 0; i < sizeof comments / sizeof *comments; i++)
        if (strlen(comments[i]) == size
            && strncmp(comments[i], line, size) == 0)
            return true;
    return false;
}

static bool has_outside_effects(const notebook_cell_t *cell)
{
    const char *line = cell->source;

    if (has_tag(cell, OUTSIDE_TAG)
        || json_is_true(notebook_cell_note(cell, OUTSIDE)))
        return true;
    while (line && *line) {
        if (is_marking(line))
            return true;
        line = strchr(line, '\n');
        if (line)
            line++;
    }
    return false;
}

const char *replay_recorded_error(const notebook_cell_t *cell)
{
    const char *noted = json_string_value(notebook_cell_note(cell, "ename"));
    const json_t *output;
    size_t i;

    if (noted)
        return noted;
    json_array_foreach(cell->outputs, i, output)
    {
        if (strcmp(member_text(output, "output_type"), "error") == 0)
            return member_text(output, "ename");
    }
    return "";
}

static const char *status_of(const notebook_cell_t *cell)
{
    const char *status = json_string_value(notebook_cell_note(cell, "status"));

    return status ? status : "";
}

bool replay_is_recorded(const notebook_cell_t *cell)
{
    return *status_of(cell) || cell->count || json_array_size(cell->outputs);
}

const char *replay_skips(const notebook_cell_t *cell,
                         const replay_options_t *options)
{
    static const struct {
        const char *ename, *why;
    } bad_ends[] = {
        {"KernelDied", "the kernel died in it"},
        {"SessionGone", "the session was ended in it"},
        {"TimeLimitExceeded", "it had reached its time limit"},
        {"OutputLimitExceeded", "it had passed its output limit"},
        {"KeyboardInterrupt", "it had been interrupted"},
    };
    const char *status = status_of(cell);
    const char *ename = replay_recorded_error(cell);

    if (options->is_revival
        && json_is_true(notebook_cell_note(cell, REPLAY_BROKEN_OFF)))
        return "it belongs to a revival that was broken off";
    if (!options->is_revival
        && json_is_true(notebook_cell_note(cell, "revival")))
        return "a revival had run it again";
    if ((options->is_revival || options->has_seed)
        && json_is_true(notebook_cell_note(cell, "seed")))
        return "it belongs to the profile's seed, which each new kernel runs";
    if (json_is_true(notebook_cell_note(cell, NOTEBOOK_REFUSED)))
        return "it had been refused and never ran";
    if (strcmp(status, "aborted") == 0)
        return "it had not been run: one before it failed";
    if (strcmp(status, "unanswered") == 0)
        return "it had not finished";
    if (has_tag(cell, SKIP_TAG))
        return "it has the tag " SKIP_TAG;
    if (!options->runs_all && has_outside_effects(cell))
        return "it is marked as having effects outside the session";
    for (size_t i = 0; i < sizeof bad_ends / sizeof *bad_ends; i++)
        if (strcmp(ename, bad_ends[i].ename) == 0)
            return bad_ends[i].why;
    return NULL;
}
