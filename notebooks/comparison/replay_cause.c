/* See replay_cause.h. */
#include "notebooks/comparison/replay_cause.h"

#include "base/buffer.h"
#include "notebooks/comparison/replay_choice.h"
#include "notebooks/json/member.h"

#include <ctype.h>
#include <string.h>

static bool is_word(char c)
{
    return isalnum((unsigned char) c) || c == '_';
}

static bool has_word(const char *text, const char *word)
{
    size_t size = strlen(word);

    for (const char *at = text; (at = strstr(at, word)); at += size)
        if ((at == text || !is_word(at[-1])) && !is_word(at[size]))
            return true;
    return false;
}

const char *replay_error_text(const json_t *outputs, const char *ename)
{
    const json_t *output;
    size_t i;

    json_array_foreach(outputs, i, output)
    {
        if (strcmp(member_text(output, "ename"), ename) == 0)
            return member_text(output, "evalue");
    }
    return "";
}

/* Returns the name that a cell did not find, to be freed, or NULL. */
static char *missing_name(const json_t *outputs)
{
    const char *text = replay_error_text(outputs, "NameError");

    return strncmp(text, "name '", 6) == 0
               ? mem_copy(text + 6, strcspn(text + 6, "'"))
               : NULL;
}

/* Returns the file of its workspace that a cell did not find, to be freed, or
 * NULL. */
static char *missing_file(const json_t *outputs)
{
    static const char before[] = "No such file or directory: '";
    static const char workspace[] = "/workspace/";
    const char *at =
        strstr(replay_error_text(outputs, "FileNotFoundError"), before);

    if (!at)
        return NULL;
    at += sizeof before - 1;
    if (strncmp(at, workspace, sizeof workspace - 1) == 0)
        at += sizeof workspace - 1;
    return *at && *at != '/' && *at != '\'' ? mem_copy(at, strcspn(at, "'"))
                                            : NULL;
}

/* Returns the number of the first cell before the step that differed and has
 * the word; 0 if no cell has it. */
static size_t find_cause(const replay_step_t *step, const notebook_t *notebook,
                         const bool *has_differed, const char *word)
{
    size_t number = 0;

    for (size_t i = 0; i < notebook->count && number + 1 < step->number; i++)
        if (notebook->cells[i].kind == NOTEBOOK_CODE && has_differed[++number]
            && has_word(notebook->cells[i].source, word))
            return number;
    return 0;
}

static void add_reason(replay_step_t *step, const char *reason)
{
    cleanup_free char *why = step->why;

    step->why = mem_format("%s; %s", why, reason);
}

void replay_explain(replay_step_t *step, const notebook_t *notebook,
                    const bool *has_differed)
{
    cleanup_free char *name = missing_name(step->result.outputs);
    cleanup_free char *file = missing_file(step->result.outputs);
    cleanup_free char *reason = NULL;
    size_t cause = 0;

    if (step->verdict != REPLAY_DIFFERENT)
        return;
    if (name || file)
        cause = find_cause(step, notebook, has_differed, name ? name : file);
    if (cause)
        reason = mem_format("it follows from cell %zu", cause);
    else if (file && !*replay_recorded_error(step->cell))
        reason = mem_text("the recorded session had this file: give a folder "
                          "that has it with -w");
    if (reason)
        add_reason(step, reason);
}
