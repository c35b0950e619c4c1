/* The front door of the command line: finds a command's entry in the tables,
 * reads the options that its rows allow, prints every --help from the same
 * rows. What a command does stands in its own file. */
#include "gateway/cli/command.h"

#include "base/buffer.h"
#include "gateway/cli/terminal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* In the order of --help. */
static const command_t *const tables[] = {
    exec_commands,    session_commands, attach_commands, notebook_commands,
    gateway_commands, serve_commands,   kernel_commands, doctor_commands,
};

#define TABLES (sizeof tables / sizeof *tables)

typedef struct {
    const flag_t *flag; /* borrowed from the command's table */
    const char *value;  /* borrowed from argv; NULL for a switch */
} given_t;

struct arguments {
    const command_t *command; /* borrowed */
    given_t *given;           /* owned; the options in the order given */
    size_t given_count;
    const char **operands; /* owned; pointers into argv */
    size_t operand_count;
};

static void arguments_clear(arguments_t *self)
{
    free(self->given);
    free(self->operands);
}

bool arguments_has(const arguments_t *self, const char *flag)
{
    for (size_t i = 0; i < self->given_count; i++)
        if (strcmp(self->given[i].flag->name, flag) == 0)
            return true;
    return false;
}

const char *arguments_each(const arguments_t *self, const char *flag,
                           size_t *cursor)
{
    while (*cursor < self->given_count) {
        const given_t *given = &self->given[(*cursor)++];
        if (strcmp(given->flag->name, flag) == 0)
            return given->value;
    }
    return NULL;
}

const char *arguments_value(const arguments_t *self, const char *flag)
{
    size_t cursor = 0;
    const char *value, *last = NULL;

    while ((value = arguments_each(self, flag, &cursor)))
        last = value;
    return last;
}

const char *arguments_operand(const arguments_t *self, size_t index)
{
    return index < self->operand_count ? self->operands[index] : NULL;
}

int usage_error(const arguments_t *self, const char *format, ...)
{
    va_list list;

    fputs("hearth: ", stderr);
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fprintf(stderr, "\nTry 'hearth %s --help'.\n", self->command->name);
    return GATEWAY_EXIT_USAGE;
}

bool parse_seconds(const char *text, double *ret_seconds)
{
    double seconds, unit = 1;
    char *end;

    errno = 0;
    seconds = strtod(text, &end);
    if (errno || end == text || !(seconds >= 0) || seconds > 1e9)
        return false;
    if (*end == 'm')
        unit = 60;
    else if (*end == 'h')
        unit = 3600;
    if (unit > 1 || *end == 's')
        end++;
    if (*end)
        return false;
    *ret_seconds = seconds * unit;
    return true;
}

static const char HELP[] = "help";

static void print_flag(const flag_t *flag)
{
    cleanup_free char *name =
        mem_format("--%s%s%s", flag->name, flag->value ? " " : "",
                   flag->value ? flag->value : "");

    if (flag->letter)
        printf("  -%c, %-22s %s\n", flag->letter, name, flag->help);
    else
        printf("      %-22s %s\n", name, flag->help);
}

static void print_command_help(const command_t *command)
{
    static const flag_t help = {HELP, 'h', NULL, "this text"};

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
    size_t size = group ? strlen(group) : 0;

    printf("usage: hearth %s%sCOMMAND [OPTION]...\n\n", group ? group : "",
           group ? " " : "");
    if (!group)
        puts("Warm, sandboxed Python kernels that keep an agent's variables "
             "between its\nturns.\n");
    puts("commands:");
    for (size_t i = 0; i < TABLES; i++)
        for (const command_t *c = tables[i]; c->name; c++)
            if (!group
                || (strncmp(c->name, group, size) == 0 && c->name[size] == ' '))
                printf("  %-20s %s\n", c->name, c->help);
    printf("\n'hearth %s%sCOMMAND --help' tells more, and so does hearth(1).\n",
           group ? group : "", group ? " " : "");
}

/* Finds the entry whose words argv begins with; *ret_words says how many. */
static const command_t *find_command(int argc, char **argv, int *ret_words)
{
    for (size_t i = 0; i < TABLES; i++) {
        for (const command_t *c = tables[i]; c->name; c++) {
            const char *space = strchr(c->name, ' ');
            size_t size = space ? (size_t) (space - c->name) : 0;

            if (!space && strcmp(argv[1], c->name) == 0) {
                *ret_words = 1;
                return c;
            }
            if (space && argc > 2 && strlen(argv[1]) == size
                && strncmp(argv[1], c->name, size) == 0
                && strcmp(argv[2], space + 1) == 0) {
                *ret_words = 2;
                return c;
            }
        }
    }
    return NULL;
}

static bool is_group(const char *word)
{
    size_t size = strlen(word);

    for (size_t i = 0; i < TABLES; i++)
        if (strncmp(tables[i]->name, word, size) == 0
            && tables[i]->name[size] == ' ')
            return true;
    return false;
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static const flag_t *find_flag(const command_t *command, const char *name,
                               size_t size, char letter)
{
    for (const flag_t *flag = command->flags; flag && flag->name; flag++)
        if (letter ? flag->letter == letter
                   : strlen(flag->name) == size
                         && strncmp(flag->name, name, size) == 0)
            return flag;
    return NULL;
}

/* One option, which may take the word behind it. Returns how many words it
 * used, or 0 after it said what is wrong. */
static int read_option(arguments_t *self, char **words)
{
    const char *word = words[0];
    bool is_long = word[1] == '-';
    const char *name = is_long ? word + 2 : word + 1;
    size_t size = is_long ? strcspn(name, "=") : 1;
    const char *value = NULL;
    int used = 1;
    const flag_t *flag =
        find_flag(self->command, name, size, is_long ? 0 : *name);

    if (!flag) {
        usage_error(self, "unknown option '%.*s'", (int) (size + 1 + is_long),
                    word);
        return 0;
    }
    if (name[size])
        value = is_long ? name + size + 1 : name + size;
    if (!flag->value && value) {
        usage_error(self, "option '--%s' takes no value", flag->name);
        return 0;
    }
    if (flag->value && !value) {
        value = words[1];
        used = 2;
    }
    if (flag->value && !value) {
        usage_error(self, "option '--%s' needs %s", flag->name, flag->value);
        return 0;
    }
    self->given[self->given_count++] = (given_t){flag, value};
    return used;
}

static int run_command(const command_t *command, int count, char **words)
{
    CLEANUP(arguments_clear)
    arguments_t arguments = {
        .command = command,
        .given = mem_new(((size_t) count + 1) * sizeof(given_t)),
        .operands = mem_new(((size_t) count + 1) * sizeof(char *)),
    };
    bool is_operand = false; /* everything behind -- is */

    for (int i = 0; i < count && !is_operand; i++) {
        if (strcmp(words[i], "--") == 0)
            is_operand = true;
        else if (is_help(words[i]))
            return print_command_help(command), GATEWAY_EXIT_OK;
    }
    is_operand = false;
    for (int i = 0; i < count;) {
        int used = 1;

        if (!is_operand && strcmp(words[i], "--") == 0)
            is_operand = true;
        else if (is_operand || words[i][0] != '-' || !words[i][1])
            arguments.operands[arguments.operand_count++] = words[i];
        else if ((used = read_option(&arguments, words + i)) == 0)
            return GATEWAY_EXIT_USAGE;
        i += used;
    }
    if (arguments.operand_count < command->operands_min)
        return usage_error(&arguments, "it needs %s", command->operands);
    if (arguments.operand_count > command->operands_max)
        return usage_error(&arguments, "unexpected '%s'",
                           arguments.operands[command->operands_max]);
    return command->run(&arguments);
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

int cli_main(int argc, char **argv)
{
    const command_t *command;
    int words = 0, status;

    if (argc < 2) {
        print_list(NULL);
        return GATEWAY_EXIT_USAGE;
    }
    if (is_help(argv[1]) || strcmp(argv[1], HELP) == 0) {
        print_list(NULL);
        return GATEWAY_EXIT_OK;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("hearth " HEARTH_VERSION);
        return GATEWAY_EXIT_OK;
    }
    command = find_command(argc, argv, &words);
    if (command) {
        status = run_command(command, argc - 1 - words, argv + 1 + words);
    } else if (is_group(argv[1]) && (argc == 2 || is_help(argv[2]))) {
        print_list(argv[1]);
        status = argc == 2 ? GATEWAY_EXIT_USAGE : GATEWAY_EXIT_OK;
    } else {
        status = unknown(argv[1], is_group(argv[1]) ? argv[2] : NULL);
    }
    /* A full disk or a closed pipe behind standard output is a failure. */
    if (fflush(stdout) != 0 && status == GATEWAY_EXIT_OK) {
        fprintf(stderr, "hearth: standard output: %s\n", strerror(errno));
        return GATEWAY_EXIT_FAILED;
    }
    return status;
}
