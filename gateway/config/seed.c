/* See seed.h. gateway/session/requests/seed_runner.c has a session run them. */
#include "gateway/config/seed.h"

#include "notebooks/formats/notebook.h"

#include <errno.h>
#include <string.h>

static bool is_blank(const char *text)
{
    return !text[strspn(text, " \t\r\n\f")];
}

static int take_cells(profile_t *profile, const notebook_t *notebook,
                      fault_t *fault)
{
    cleanup_free char **cells = mem_new((notebook->count + 1) * sizeof *cells);
    size_t count = 0, bytes = 0;

    for (size_t i = 0; i < notebook->count; i++) {
        const notebook_cell_t *cell = &notebook->cells[i];

        if (cell->kind != NOTEBOOK_CODE || is_blank(cell->source))
            continue;
        bytes += cell->source_size;
        if (strlen(cell->source) != cell->source_size)
            return fault_set(fault, EINVAL,
                             "%s: the code of cell %zu has a NUL in it",
                             profile->seed, i + 1);
        cells[count++] = cell->source;
    }
    if (bytes > SEED_CODE_MAX)
        return fault_set(fault, E2BIG,
                         "%s: its code has %zu bytes, %u are the limit; put "
                         "it into a module that the notebook imports",
                         profile->seed, bytes, SEED_CODE_MAX);
    for (size_t i = 0; i < count; i++)
        cells[i] = mem_text(cells[i]);
    if (count)
        profile->seed_cells = take_ptr(cells);
    return 0;
}

static int load(profile_t *profile, fault_t *fault)
{
    cleanup_notebook notebook_t notebook = {0};
    int r = notebook_read(profile->seed, &notebook, fault);

    return r < 0 ? r : take_cells(profile, &notebook, fault);
}

int seed_load(const options_t *options, fault_t *fault)
{
    for (size_t i = 0; i < options->profile_count; i++) {
        profile_t *profile = options->profiles[i];

        if (profile->seed && load(profile, fault) < 0)
            return fault_wrap(fault, "profile/%s/seed", profile->name);
    }
    return 0;
}
