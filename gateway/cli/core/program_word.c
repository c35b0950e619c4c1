/* See program_word.h. */
#include "gateway/cli/core/program_word.h"

#include "base/buffer.h"
#include "gateway/cli/core/terminal.h"
#include "notebooks/modelview/modelview.h"

#include <string.h>

#define PREFIX     "process:"
#define SHOWN_MAX  40 /* columns of a word that is wrong */
#define ALL_DIGITS "0123456789"

static bool is_number(const char *word)
{
    return *word && !word[strspn(word, ALL_DIGITS)];
}

bool program_word_is_meant(const char *word)
{
    return strncmp(word, PREFIX, strlen(PREFIX)) == 0 || is_number(word);
}

gateway_exit_t program_word_read(const arguments_t *arguments, const char *word,
                                 uint64_t *ret_number)
{
    cleanup_free char *ref =
        mem_format("%s%s", is_number(word) ? PREFIX : "", word);
    uint64_t number;

    if (!modelview_read_process_ref(ref, &number) || number == 0)
        return (gateway_exit_t) usage_error(
            arguments,
            "'%s' is not a program: give its number, which 'hearth ps' lists, "
            "as 3 or process:3",
            terminal_cell(word, SHOWN_MAX));
    *ret_number = number;
    return GATEWAY_EXIT_OK;
}
