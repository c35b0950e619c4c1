/* hearth complete: what may stand at the end of a command line, for a shell's
 * completion. It comes from the rows that --help comes from; what the shell
 * knows better is asked for in a line of its own. Not for people. */
#include "gateway/cli/arguments.h"
#include "gateway/cli/catalogue.h"
#include "gateway/cli/mgmt.h"
#include "gateway/cli/terminal.h"
#include "gateway/cli/value.h"

#include "base/buffer.h"

#include <stdio.h>
#include <string.h>

typedef struct {
    const char *const *words; /* borrowed; the last one is being written */
    size_t count;             /* at least 1 */
} line_t;

static const char *last(const line_t *line)
{
    return line->words[line->count - 1];
}

/* A candidate, when the last word is its beginning. */
static void offer(const line_t *line, const char *prefix, const char *text,
                  size_t size)
{
    cleanup_free char *candidate =
        mem_format("%s%.*s", prefix, (int) size, text);

    if (strncmp(candidate, last(line), strlen(last(line))) == 0)
        puts(candidate);
}

static void offer_words(const line_t *line, const char *words, size_t size)
{
    const char *end = words + size;

    while (words < end) {
        size_t length = strcspn(words, "|");

        offer(line, "", words, length);
        words += length + 1;
    }
}

/* None is started for it, and nobody is told when there is none. */
static void offer_sessions(const line_t *line)
{
    cleanup_mgmt mgmt_t *mgmt = NULL;
    json_auto_t *reply = NULL;
    const json_t *session;
    size_t i;

    if (mgmt_open(false, &mgmt) != GATEWAY_EXIT_OK
        || mgmt_ask(mgmt, "session_list", json_object(), &reply)
               != GATEWAY_EXIT_OK)
        return;
    json_array_foreach(json_object_get(reply, "sessions"), i, session)
    {
        const char *id = terminal_cell(member_text(session, "id"), 64);

        offer(line, "", id, strlen(id));
    }
}

static void offer_values(const line_t *line, const char *word, size_t size)
{
    switch (value_source(word, size)) {
    case VALUE_WORDS:
        offer_words(line, word, size);
        break;
    case VALUE_FILES:
        puts(":files");
        break;
    case VALUE_FOLDERS:
        puts(":folders");
        break;
    case VALUE_SESSIONS:
        offer_sessions(line);
        break;
    case VALUE_ANY:
        break;
    }
}

static void offer_flags(const line_t *line, const command_t *command)
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

/* The words behind the command's own, as they would be read. */
static void complete_command(const line_t *line, const command_t *command,
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
            operands++;
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

/* The first or, with a group, the second word of every command; the commands
 * of one group stand together. */
static void complete_names(const line_t *line, const char *group)
{
    const command_t *command;
    const char *before = "";
    size_t before_size = 0;

    for (size_t i = 0; (command = catalogue_at(i)); i++) {
        const char *word = catalogue_word(command, group);
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

static int complete(const arguments_t *arguments)
{
    size_t count = 0;
    cleanup_free const char **words = NULL;
    const command_t *command;
    line_t line;
    int used = 0;

    while (arguments_operand(arguments, count))
        count++;
    words = mem_new((count + 1) * sizeof *words);
    for (size_t i = 0; i < count; i++)
        words[i] = arguments_operand(arguments, i);
    if (!count)
        words[count++] = "";
    line = (line_t){words, count};
    command = catalogue_find((int) count - 1, words, &used);
    if (command)
        complete_command(&line, command, (size_t) used);
    else if (count == 1)
        complete_names(&line, NULL);
    else if (count == 2 && catalogue_is_group(words[0]))
        complete_names(&line, words[0]);
    return GATEWAY_EXIT_OK;
}

const command_t complete_commands[] = {
    {
        .name = "complete",
        .operands = "[WORD...]",
        .run = complete,
    },
    {0},
};
