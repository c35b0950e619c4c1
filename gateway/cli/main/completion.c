/* hearth complete: what may stand at the end of a command line, for a shell's
 * completion. It comes from the rows that --help comes from; what the shell
 * knows better is asked for in a line of its own. Not for people. */
#include "gateway/cli/main/completion.h"

#include "base/buffer.h"
#include "gateway/cli/core/arguments.h"
#include "gateway/cli/core/option_types.h"
#include "gateway/cli/main/command_table.h"
#include "gateway/cli/main/session_words.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LONGEST_S 2 /* seconds that a completion may take */

typedef struct {
    const char *const *words; /* borrowed; the last one is being written */
    size_t count;             /* at least 1 */
    const char *session;      /* borrowed; the first operand, or NULL */
} completed_line_t;

static const char *last(const completed_line_t *line)
{
    return line->words[line->count - 1];
}

/* Offers a text as a candidate, if the last word is its beginning. */
static void offer(const completed_line_t *line, const char *prefix,
                  const char *text, size_t size)
{
    cleanup_free char *candidate =
        mem_format("%s%.*s", prefix, (int) size, text);

    if (strncmp(candidate, last(line), strlen(last(line))) == 0)
        puts(candidate);
}

static void offer_words(const completed_line_t *line, const char *words,
                        size_t size)
{
    const char *end = words + size;

    while (words < end) {
        size_t length = strcspn(words, "|");

        offer(line, "", words, length);
        words += length + 1;
    }
}

/* Offers an array of texts, which is taken. */
static void offer_all(const completed_line_t *line, json_t *texts)
{
    json_auto_t *owned = texts;
    const json_t *text;
    size_t i;

    json_array_foreach(owned, i, text)
        offer(line, "", json_string_value(text), json_string_length(text));
}

static void offer_values(const completed_line_t *line, const char *word,
                         size_t size)
{
    switch (option_types_source(word, size)) {
    case OPTION_TYPE_WORDS:
        offer_words(line, word, size);
        break;
    case OPTION_TYPE_FILES:
        puts(":files");
        break;
    case OPTION_TYPE_FOLDERS:
        puts(":folders");
        break;
    case OPTION_TYPE_SESSIONS:
        offer_all(line, session_words_sessions());
        break;
    case OPTION_TYPE_OUTPUTS:
        if (line->session)
            offer_all(line, session_words_outputs(line->session, last(line)));
        break;
    case OPTION_TYPE_PROGRAMS:
        if (line->session)
            offer_all(line, session_words_programs(line->session, last(line)));
        break;
    case OPTION_TYPE_ANY:
        break;
    }
}

static void offer_flags(const completed_line_t *line, const command_t *command)
{
    for (const flag_t *flag = command->flags; flag && flag->name; flag++)
        if (flag->help)
            offer(line, "--", flag->name, strlen(flag->name));
    offer(line, "--", "help", strlen("help"));
}

/* The row of an option that wants the next word as its value; else NULL. */
static const flag_t *wants_value(const command_t *command, const char *word)
{
    bool is_long = word[0] == '-' && word[1] == '-';
    const flag_t *flag = NULL;

    if (is_long && word[2])
        flag = find_flag(command, word + 2, strlen(word + 2), 0);
    else if (word[0] == '-' && word[1] && !word[2])
        flag = find_flag(command, NULL, 0, word[1]);
    return flag && flag->value ? flag : NULL;
}

/* Completes the words after the command's name, read as its arguments. */
static void complete_command(completed_line_t *line, const command_t *command,
                             size_t first)
{
    const flag_t *awaited = NULL;
    bool is_operand = false;
    size_t operands = 0;
    operand_t operand;

    for (size_t i = first; i + 1 < line->count; i++) {
        const char *word = line->words[i];

        if (awaited && strcmp(word, "=") == 0)
            continue; /* bash takes "--restart=auto" for three words */
        if (awaited)
            awaited = NULL;
        else if (!is_operand && strcmp(word, "--") == 0)
            is_operand = true;
        else if (is_operand || word[0] != '-' || !word[1])
            line->session = operands++ ? line->session : word;
        else
            awaited = wants_value(command, word);
    }
    if (awaited)
        offer_values(line, awaited->value, strlen(awaited->value));
    else if (!is_operand && *last(line) == '-')
        offer_flags(line, command);
    else if (operand_at(command, operands, &operand))
        offer_values(line, operand.name, operand.size);
}

/* Offers the first or, with a group, the second word of every command; the
 * commands of one group are next to each other. */
static void complete_names(const completed_line_t *line, const char *group)
{
    const command_t *command;
    const char *before = "";
    size_t before_size = 0;

    for (size_t i = 0; (command = command_table_at(i)); i++) {
        const char *word = command_table_word(command, group);
        size_t size = word ? strcspn(word, " ") : 0;

        if (!word || (size == before_size && strncmp(word, before, size) == 0))
            continue;
        offer(line, "", word, size);
        before = word;
        before_size = size;
    }
    offer(line, "--", "help", strlen("help"));
    if (!group)
        offer(line, "--", "version", strlen("version"));
}

/* Ends the program at once; what was offered by then has been printed. */
static void give_up(int signal_number)
{
    (void) signal_number;
    _exit(GATEWAY_EXIT_OK);
}

/* Has the person wait for a short time only, also for a gateway that does not
 * answer or a disk that is slow. What fails is not printed. */
static void keep_short_and_silent(void)
{
    struct sigaction action = {.sa_handler = give_up};
    cleanup_fd int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);

    (void) dup2(nowhere, STDERR_FILENO);
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    sigemptyset(&action.sa_mask);
    sigaction(SIGALRM, &action, NULL);
    alarm(LONGEST_S);
}

int completion_print(int count, const char *const *words)
{
    static const char *const nothing[] = {""};
    const command_t *command;
    completed_line_t line;
    int used = 0;

    if (count && strcmp(words[0], "--") == 0) {
        words++;
        count--;
    }
    if (!count)
        words = nothing;
    line = (completed_line_t){words, count ? (size_t) count : 1, NULL};
    keep_short_and_silent();
    command = command_table_find((int) line.count - 1, words, &used);
    if (command)
        complete_command(&line, command, (size_t) used);
    else if (line.count == 1)
        complete_names(&line, NULL);
    else if (line.count == 2 && command_table_is_group(words[0]))
        complete_names(&line, words[0]);
    return GATEWAY_EXIT_OK;
}
