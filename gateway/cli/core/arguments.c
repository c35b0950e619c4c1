/* Checks a command line against the rows of its command: known options, which
 * of them take a value and of what kind, and the number of operands. */
#include "gateway/cli/core/arguments.h"

#include "base/buffer.h"
#include "base/similar.h"
#include "gateway/cli/core/option_types.h"
#include "gateway/cli/core/terminal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define CONFIG_LINE_MAX 1024 /* columns of the sentence about one value */

typedef struct {
    const flag_t *flag; /* borrowed from the command's table */
    const char *value;  /* borrowed from argv; NULL for a switch */
} given_flag_t;

struct arguments {
    const command_t *command; /* borrowed */
    given_flag_t *given;      /* owned; the options in the order given */
    size_t given_count;
    const char **operands; /* owned; pointers into argv */
    size_t operand_count;
    char *const *rest; /* borrowed from argv; the words after "--" */
    size_t rest_count;
    buffer_t passed_over; /* skipped words, each after a space */
};

static void arguments_clear(arguments_t *self)
{
    free(self->given);
    free(self->operands);
    buffer_reset(&self->passed_over);
}

/* ---- what was given ---- */

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
        const given_flag_t *given = &self->given[(*cursor)++];
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

bool arguments_seconds(const arguments_t *self, const char *flag,
                       double *ret_seconds)
{
    const char *value = arguments_value(self, flag);

    return value && option_types_seconds(value, ret_seconds);
}

const char *arguments_operand(const arguments_t *self, size_t index)
{
    return index < self->operand_count ? self->operands[index] : NULL;
}

const char *arguments_rest(const arguments_t *self, size_t index)
{
    return index < self->rest_count ? self->rest[index] : NULL;
}

void usage_print(const command_t *command, FILE *file)
{
    fprintf(file, "usage: hearth %s [OPTION]...%s%s", command->name,
            *command->operands ? " " : "", command->operands);
    if (command->rest)
        fprintf(file, command->is_rest_optional ? " [-- %s...]" : " -- %s...",
                command->rest);
    fputs("\n", file);
}

int usage_error(const arguments_t *self, const char *format, ...)
{
    va_list list;

    fputs("hearth: ", stderr);
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputs("\n", stderr);
    usage_print(self->command, stderr);
    fprintf(stderr, "Try 'hearth %s --help'.\n", self->command->name);
    return GATEWAY_EXIT_USAGE;
}

gateway_exit_t complain(gateway_exit_t status, const char *format, ...)
{
    va_list list;

    fputs("hearth: ", stderr);
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
    return status;
}

options_t *arguments_options(const arguments_t *self)
{
    cleanup_options options_t *options = options_new();
    const flag_t *flag =
        find_flag(self->command, "config", strlen("config"), 0);
    fault_t fault = {0};

    if (options_load(options, flag ? arguments_value(self, "config") : NULL,
                     &fault)
        < 0) {
        complain(GATEWAY_EXIT_ENVIRONMENT, "%s", fault.text);
        return NULL;
    }
    return take_ptr(options);
}

void report_print(const config_report_t *report, FILE *file)
{
    const char *text;
    bool is_error;

    for (int wants_errors = 1; wants_errors >= 0; wants_errors--)
        for (size_t i = 0; (text = config_report_at(report, i, &is_error)); i++)
            if (is_error == wants_errors)
                fprintf(file, "%s%s\n", is_error ? "" : "warning: ",
                        terminal_cell(text, CONFIG_LINE_MAX));
}

/* ---- the rows ---- */

bool operand_at(const command_t *command, size_t index, operand_t *ret_operand)
{
    const char *text = command->operands;
    size_t size;

    for (;; text += size) {
        text += strspn(text, " ");
        size = strcspn(text, " ");
        if (!size)
            return false;
        if (index-- == 0)
            break;
    }
    *ret_operand = (operand_t){.name = text, .size = size};
    if (*text == '[') {
        ret_operand->is_optional = true;
        ret_operand->name++;
        ret_operand->size = strcspn(ret_operand->name, "] ");
    }
    /* "[FILE...]" or "[FILE]...": as often as one likes. */
    for (size_t i = 0; i + 2 < size; i++)
        ret_operand->is_many |= memcmp(text + i, "...", 3) == 0;
    if (ret_operand->is_many)
        ret_operand->size = strcspn(ret_operand->name, ".] ");
    return true;
}

const flag_t *find_flag(const command_t *command, const char *name, size_t size,
                        char letter)
{
    for (const flag_t *flag = command->flags; flag && flag->name; flag++)
        if (letter ? flag->letter == letter
                   : strlen(flag->name) == size
                         && strncmp(flag->name, name, size) == 0)
            return flag;
    return NULL;
}

bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* ---- reading ---- */

/* Returns true if the row permits the value; prints an error if not. */
static bool check_value(const arguments_t *self, const flag_t *flag,
                        const char *value)
{
    cleanup_free char *expected = option_types_fault(flag->value, value);

    if (expected)
        usage_error(self, "--%s: '%s' is not %s", flag->name, value, expected);
    return !expected;
}

static void pass_over(arguments_t *self, const char *word)
{
    buffer_format(&self->passed_over, " %s", word);
}

/* Prints that the command has no such option, and the one that was probably
 * meant. */
static void complain_unknown(const arguments_t *self, const char *word,
                             size_t size)
{
    cleanup_free char *typed = mem_copy(word, size);
    similar_t similar = {.word = typed + strspn(typed, "-")};

    for (const flag_t *flag = self->command->flags; flag && flag->name; flag++)
        if (flag->help && typed[1] == '-')
            similar_offer(&similar, flag->name);
    if (similar.best)
        usage_error(self, "unknown option '%s'; did you mean '--%s'?", typed,
                    similar.best);
    else
        usage_error(self, "unknown option '%s'", typed);
}

/* Reads one option, which may use the word after it. Returns the number of
 * words that it used, or 0 after an error message. */
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

    if (!flag && self->command->passes_over) {
        pass_over(self, word);
        return 1;
    }
    if (!flag) {
        complain_unknown(self, word, size + 1 + is_long);
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
    if (flag->value && !check_value(self, flag, value))
        return 0;
    self->given[self->given_count++] = (given_flag_t){flag, value};
    return used;
}

/* Returns true if there are as many operands as the command wants. */
static bool check_operands(const arguments_t *self)
{
    const command_t *command = self->command;
    operand_t operand;
    size_t count = 0;
    bool is_many = false;

    for (; operand_at(command, count, &operand); count++) {
        is_many |= operand.is_many;
        if (count >= self->operand_count && !operand.is_optional) {
            usage_error(self, "%.*s is missing", (int) operand.size,
                        operand.name);
            return false;
        }
    }
    if (self->operand_count > count && !is_many) {
        usage_error(self,
                    command->rest ? "unexpected '%s'; %s begins after --"
                                  : "unexpected '%s'",
                    self->operands[count], command->rest);
        return false;
    }
    return true;
}

/* Takes the words after "--". Returns false if they are operands. */
static bool take_rest(arguments_t *self, int count, char *const *words)
{
    if (!self->command->rest)
        return false;
    self->rest = words;
    self->rest_count = (size_t) count;
    return true;
}

static bool read_words(arguments_t *self, int count, char **words)
{
    bool is_operand = false; /* all words after -- are */

    for (int i = 0; i < count;) {
        int used = 1;

        if (!is_operand && strcmp(words[i], "--") == 0) {
            is_operand = true;
            if (take_rest(self, count - i - 1, words + i + 1))
                break;
        } else if (!is_operand && words[i][0] == '-' && words[i][1])
            used = read_option(self, words + i);
        else if (self->command->passes_over)
            pass_over(self, words[i]);
        else
            self->operands[self->operand_count++] = words[i];
        if (used == 0)
            return false;
        i += used;
    }
    return check_operands(self);
}

int arguments_run(const command_t *command, int count, char **words)
{
    CLEANUP(arguments_clear)
    arguments_t arguments = {
        .command = command,
        .given = mem_new(((size_t) count + 1) * sizeof(given_flag_t)),
        .operands = mem_new(((size_t) count + 1) * sizeof(char *)),
    };

    if (!read_words(&arguments, count, words))
        return GATEWAY_EXIT_USAGE;
    if (arguments.passed_over.size)
        fprintf(stderr, "hearth: ignored, as ipykernel does:%.*s\n",
                (int) arguments.passed_over.size,
                (const char *) arguments.passed_over.data);
    return command->run(&arguments);
}
