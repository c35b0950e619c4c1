/* The entry of the command line: finds a command's row and runs it, and prints
 * every --help from the same table. Each command is in a file of its own. */
#include "gateway/cli/main/cli.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "base/similar.h"
#include "gateway/cli/commands/cmd_kernelgateway.h"
#include "gateway/cli/core/arguments.h"
#include "gateway/cli/main/command_table.h"
#include "gateway/cli/main/completion.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define NAME_WIDTH 22 /* of an option and its value in --help */
#define WORD_SIZE  64 /* of a word of a command's name, with its NUL */

static void print_flag(const flag_t *flag)
{
    cleanup_free char *name =
        mem_format("--%s%s%s", flag->name, flag->value ? " " : "",
                   flag->value ? flag->value : "");
    char letter[] = {'-', flag->letter, ',', '\0'};

    printf("  %3s ", flag->letter ? letter : "");
    if (strlen(name) > NAME_WIDTH)
        printf("%s\n%*s%s\n", name, NAME_WIDTH + 7, "", flag->help);
    else
        printf("%-*s %s\n", NAME_WIDTH, name, flag->help);
}

static void print_command_help(const command_t *command)
{
    static const flag_t help = {"help", 'h', NULL, "print this help"};

    usage_print(command, stdout);
    printf("\n%s\n", command->help);
    if (command->more)
        printf("\n%s\n", command->more);
    puts("\noptions:");
    for (const flag_t *flag = command->flags; flag && flag->name; flag++)
        if (flag->help)
            print_flag(flag);
    print_flag(&help);
}

/* Prints the list of commands. `group` is the first word of the commands to
 * list, or NULL for all. */
static void print_list(const char *group)
{
    const command_t *command;

    printf("usage: hearth %s%sCOMMAND [OPTION]...\n\n", group ? group : "",
           group ? " " : "");
    if (!group)
        puts("Warm, sandboxed Python kernels that keep an agent's variables "
             "between its\nturns.\n");
    puts("commands:");
    for (size_t i = 0; (command = command_table_at(i)); i++)
        if (command_table_word(command, group))
            printf("  %-20s %s\n", command->name, command->help);
    printf("\n'hearth %s%sCOMMAND --help' and hearth(1) have the details.\n",
           group ? group : "", group ? " " : "");
}

static int run_command(const command_t *command, int count, char **words)
{
    if (command->run_words)
        return command->run_words(count, words);
    for (int i = 0; i < count && strcmp(words[i], "--") != 0; i++)
        if (is_help(words[i]) && command->help) {
            print_command_help(command);
            return GATEWAY_EXIT_OK;
        }
    return arguments_run(command, count, words);
}

/* Returns the command or group that was probably meant, which is the caller's;
 * NULL if none is near. `group` is the first word, if that is right. */
static char *guess(const char *group, const char *typed)
{
    char nearest[WORD_SIZE];
    similar_t similar = {.word = typed};
    const command_t *command;

    for (size_t i = 0; (command = command_table_at(i)); i++) {
        const char *name = command_table_word(command, group);
        char word[WORD_SIZE];

        if (!name)
            continue;
        snprintf(word, sizeof word, "%.*s", (int) strcspn(name, " "), name);
        similar_offer(&similar, word);
        if (similar.best == word)
            similar.best = memcpy(nearest, word, sizeof word);
    }
    return similar.best ? mem_text(similar.best) : NULL;
}

static int unknown(const char *first, const char *second)
{
    cleanup_free char *meant =
        second ? guess(first, second) : guess(NULL, first);

    fprintf(stderr, "hearth: there is no command '%s%s%s'", first,
            second ? " " : "", second ? second : "");
    if (meant)
        fprintf(stderr, "; did you mean '%s%s%s'?", second ? first : "",
                second ? " " : "", meant);
    fprintf(stderr, "\nTry 'hearth %s%s--help'.\n", second ? first : "",
            second ? " " : "");
    return GATEWAY_EXIT_USAGE;
}

static int dispatch(int count, char **words)
{
    const command_t *command;
    int used = 0;

    if (count < 1 || is_help(words[0]) || strcmp(words[0], "help") == 0) {
        print_list(NULL);
        return count < 1 ? GATEWAY_EXIT_USAGE : GATEWAY_EXIT_OK;
    }
    if (strcmp(words[0], "--version") == 0) {
        puts("hearth " HEARTH_VERSION);
        return GATEWAY_EXIT_OK;
    }
    if (strcmp(words[0], "complete") == 0)
        return completion_print(count - 1, (const char *const *) words + 1);
    command = command_table_find(count, (const char *const *) words, &used);
    if (command)
        return run_command(command, count - used, words + used);
    if (!command_table_is_group(words[0]))
        return unknown(words[0], NULL);
    if (count > 1 && !is_help(words[1]))
        return unknown(words[0], words[1]);
    print_list(words[0]);
    return count == 1 ? GATEWAY_EXIT_USAGE : GATEWAY_EXIT_OK;
}

/* Returns true under the program's other name, under which it is that one
 * command. */
static bool is_kernelgateway(const char *path)
{
    const char *name = path_name(path);

    return strcmp(name, "hearth-kernelgateway") == 0
           || strcmp(name, "jupyter-kernelgateway") == 0;
}

int cli_main(int argc, char **argv)
{
    int status = argc > 0 && is_kernelgateway(argv[0])
                     ? kernelgateway_main(argc - 1, argv + 1)
                     : dispatch(argc - 1, argv + 1);

    /* A full disk or a closed pipe at standard output is a failure. */
    if (fflush(stdout) != 0 && status == GATEWAY_EXIT_OK)
        return complain(GATEWAY_EXIT_FAILED, "standard output: %s",
                        strerror(errno));
    return status;
}
