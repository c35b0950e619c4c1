/* The front door of the command line: finds a command's entry and runs it;
 * prints every --help from the rows of the same table. What a command does
 * stands in its own file. */
#include "gateway/cli/arguments.h"
#include "gateway/cli/catalogue.h"

#include "base/buffer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define NAME_WIDTH 22 /* of an option and its value in --help */

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
    static const flag_t help = {"help", 'h', NULL, "this text"};

    printf("usage: hearth %s [OPTION]...%s%s\n\n%s\n", command->name,
           *command->operands ? " " : "", command->operands, command->help);
    if (command->more)
        printf("\n%s\n", command->more);
    puts("\noptions:");
    for (const flag_t *flag = command->flags; flag && flag->name; flag++)
        if (flag->help)
            print_flag(flag);
    print_flag(&help);
}

/* `group` is the first word of the commands to list, or NULL for all. */
static void print_list(const char *group)
{
    const command_t *command;

    printf("usage: hearth %s%sCOMMAND [OPTION]...\n\n", group ? group : "",
           group ? " " : "");
    if (!group)
        puts("Warm, sandboxed Python kernels that keep an agent's variables "
             "between its\nturns.\n");
    puts("commands:");
    for (size_t i = 0; (command = catalogue_at(i)); i++)
        if (catalogue_word(command, group))
            printf("  %-20s %s\n", command->name, command->help);
    printf("\n'hearth %s%sCOMMAND --help' tells more, and so does hearth(1).\n",
           group ? group : "", group ? " " : "");
}

static int run_command(const command_t *command, int count, char **words)
{
    if (command->run_words)
        return command->run_words(count, words);
    for (int i = 0; i < count && strcmp(words[i], "--") != 0; i++)
        if (is_help(words[i]) && command->help)
            return print_command_help(command), GATEWAY_EXIT_OK;
    return arguments_run(command, count, words);
}

static int unknown(const char *first, const char *second)
{
    fprintf(stderr,
            "hearth: there is no command '%s%s%s'\n"
            "Try 'hearth %s%s--help'.\n",
            first, second ? " " : "", second ? second : "", second ? first : "",
            second ? " " : "");
    return GATEWAY_EXIT_USAGE;
}

static int dispatch(int count, char **words)
{
    const command_t *command;
    int used = 0;

    if (count < 1)
        return print_list(NULL), GATEWAY_EXIT_USAGE;
    if (is_help(words[0]) || strcmp(words[0], "help") == 0)
        return print_list(NULL), GATEWAY_EXIT_OK;
    if (strcmp(words[0], "--version") == 0)
        return puts("hearth " HEARTH_VERSION), GATEWAY_EXIT_OK;
    command = catalogue_find(count, (const char *const *) words, &used);
    if (command)
        return run_command(command, count - used, words + used);
    if (!catalogue_is_group(words[0]))
        return unknown(words[0], NULL);
    if (count > 1 && !is_help(words[1]))
        return unknown(words[0], words[1]);
    print_list(words[0]);
    return count == 1 ? GATEWAY_EXIT_USAGE : GATEWAY_EXIT_OK;
}

/* Under its other name the program is that one command. */
static bool is_kernelgateway(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;

    return strcmp(name, "hearth-kernelgateway") == 0
           || strcmp(name, "jupyter-kernelgateway") == 0;
}

int cli_main(int argc, char **argv)
{
    int status = argc > 0 && is_kernelgateway(argv[0])
                     ? kernelgateway_main(argc - 1, argv + 1)
                     : dispatch(argc - 1, argv + 1);

    /* A full disk or a closed pipe behind standard output is a failure. */
    if (fflush(stdout) != 0 && status == GATEWAY_EXIT_OK)
        return complain(GATEWAY_EXIT_FAILED, "standard output: %s",
                        strerror(errno));
    return status;
}
