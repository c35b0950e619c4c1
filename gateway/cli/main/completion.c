/* hearth complete: what may stand at the end of a command line, for a shell's
 * completion. It comes from the rows that --help comes from; what the shell
 * knows better is asked for in a line of its own. Not for people. */
#include "gateway/cli/main/completion.h"

#include "gateway/cli/client/management_client.h"
#include "gateway/cli/core/arguments.h"
#include "gateway/cli/core/option_types.h"
#include "gateway/cli/core/terminal.h"
#include "gateway/cli/main/command_table.h"
#include "notebooks/json/member.h"

#include "base/buffer.h"

#include <stdio.h>
#include <string.h>

typedef struct {
    const char *const *words; /* borrowed; the last one is being written */
    size_t count;             /* at least 1 */
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

/* Offers the ids of sessions. No gateway is started for it, and a missing
 * gateway is no error. */
static void offer_sessions(const completed_line_t *line)
{
    cleanup_management_client management_client_t *management = NULL;
    json_auto_t *reply = NULL;
    const json_t *session;
    size_t i;

    if (management_client_open(false, &management) != GATEWAY_EXIT_OK
        || management_client_ask(management, "session_list", json_object(),
                                 &reply)
               != GATEWAY_EXIT_OK)
        return;
    json_array_foreach(json_object_get(reply, "sessions"), i, session)
    {
        const char *id = terminal_cell(member_text(session, "id"), 64);

        offer(line, "", id, strlen(id));
    }
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
        offer_sessions(line);
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
static void complete_command(const completed_line_t *line,
                             const command_t *command, size_t first)
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
    line = (completed_line_t){words, count ? (size_t) count : 1};
    command = command_table_find((int) line.count - 1, words, &used);
    if (command)
        complete_command(&line, command, (size_t) used);
    else if (line.count == 1)
        complete_names(&line, NULL);
    else if (line.count == 2 && command_table_is_group(words[0]))
        complete_names(&line, words[0]);
    return GATEWAY_EXIT_OK;
}
