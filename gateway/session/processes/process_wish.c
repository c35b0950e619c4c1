/* See process_wish.h. */
#include "gateway/session/processes/process_wish.h"

#include "base/buffer.h"
#include "base/string_list.h"
#include "protocol/jspan.h"

#include <sodium.h>

#include <errno.h>
#include <string.h>

#define FOLDER_MAX    4095
#define ROWS          24
#define COLUMNS       80
#define SECONDS_MAX   3155760000.0
#define TERMINAL_NAME "TERM=xterm-256color"

void process_wish_clear(process_wish_t *self)
{
    string_list_destroy(&self->arguments);
    string_list_destroy(&self->environment);
    free(self->arguments_json);
    free(self->folder);
    free(self->key);
    buffer_reset(&self->input);
    *self = (process_wish_t){0};
}

static size_t count_members(jspan_t container)
{
    size_t cursor = 0, count = 0;
    jspan_t value;

    while (jspan_each(container, &cursor, NULL, &value))
        count++;
    return count;
}

static int read_arguments(process_wish_t *self, jspan_t list, fault_t *fault)
{
    size_t count = count_members(list), cursor = 0, i = 0;
    jspan_t value;

    if (!jspan_is(list, JSPAN_ARRAY) || count == 0 || count > PROCESS_TEXTS_MAX)
        return fault_set(
            fault, EINVAL,
            "argv must be a list of 1 to %d texts, the program first",
            PROCESS_TEXTS_MAX);
    self->arguments = mem_new((count + 1) * sizeof(char *));
    while (jspan_each(list, &cursor, NULL, &value)) {
        self->arguments[i] = jspan_plain_new(value);
        if (!self->arguments[i++])
            return fault_set(fault, EINVAL,
                             "argv[%zu] must be a text without NUL", i - 1);
    }
    if (!self->arguments[0][0])
        return fault_set(fault, EINVAL, "argv[0], the program, is empty");
    self->arguments_json = mem_copy(list.text, list.size);
    self->texts.arguments = (const char *const *) self->arguments;
    self->texts.argument_count = count;
    return 0;
}

static bool has_term(const process_wish_t *self, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strncmp(self->environment[i], "TERM=", 5) == 0)
            return true;
    return false;
}

static int read_environment(process_wish_t *self, jspan_t object,
                            fault_t *fault)
{
    size_t count = count_members(object), cursor = 0, i = 0;
    jspan_t key, value;

    if ((!jspan_is(object, JSPAN_ABSENT) && !jspan_is(object, JSPAN_OBJECT))
        || count > PROCESS_TEXTS_MAX)
        return fault_set(fault, EINVAL,
                         "env must be an object of at most %d names and texts",
                         PROCESS_TEXTS_MAX);
    self->environment = mem_new((count + 2) * sizeof(char *));
    while (jspan_each(object, &cursor, &key, &value)) {
        cleanup_free char *name = jspan_plain_new(key);
        cleanup_free char *text = jspan_plain_new(value);

        if (!name || !*name || strchr(name, '=') || !text)
            return fault_set(
                fault, EINVAL,
                "env: '%.60s': a name must not be empty or have '=' "
                "or NUL; a value must be a text without NUL",
                name ? name : "?");
        self->environment[i++] = mem_format("%s=%s", name, text);
    }
    if (self->is_terminal && !has_term(self, i))
        self->environment[i++] = mem_text(TERMINAL_NAME);
    self->texts.environment = (const char *const *) self->environment;
    self->texts.environment_count = i;
    return 0;
}

static bool read_side(jspan_t terminal, const char *key, unsigned otherwise,
                      unsigned *ret_side)
{
    jspan_t member = jspan_member(terminal, key);
    int64_t value = otherwise;

    if (!jspan_is(member, JSPAN_ABSENT) && !jspan_to_integer(member, &value))
        return false;
    *ret_side = (unsigned) value;
    return value >= 1 && value <= KEEPER_SCREEN_MAX;
}

static int read_terminal(process_wish_t *self, jspan_t terminal, fault_t *fault)
{
    self->is_terminal =
        jspan_is(terminal, JSPAN_OBJECT) || jspan_is(terminal, JSPAN_TRUE);
    if (!self->is_terminal && !jspan_is(terminal, JSPAN_ABSENT)
        && !jspan_is(terminal, JSPAN_FALSE) && !jspan_is(terminal, JSPAN_NULL))
        return fault_set(
            fault, EINVAL,
            "terminal must be true, false or an object with rows and "
            "columns");
    if (!read_side(terminal, "rows", ROWS, &self->rows)
        || !read_side(terminal, "columns", COLUMNS, &self->columns))
        return fault_set(fault, EINVAL,
                         "rows and columns must be numbers from 1 to %d",
                         KEEPER_SCREEN_MAX);
    return 0;
}

static int read_input(process_wish_t *self, jspan_t content, fault_t *fault)
{
    jspan_t input = jspan_member(content, "input");
    jspan_t end = jspan_member(content, "end");
    bool is_text = jspan_is(input, JSPAN_STRING);
    bool goes_on = jspan_is(end, JSPAN_FALSE);

    if (!goes_on && !jspan_is(end, JSPAN_ABSENT) && !jspan_is(end, JSPAN_NULL)
        && !jspan_is(end, JSPAN_TRUE))
        return fault_set(fault, EINVAL, "end must be true or false");
    self->has_input = jspan_is(input, JSPAN_TRUE) || (is_text && goes_on);
    if (is_text)
        jspan_text(input, &self->input);
    if (self->input.size > KEEPER_INPUT_MAX)
        return fault_set(fault, EINVAL,
                         "input has %zu bytes, and at most %u may come at the "
                         "start: write a file and read it",
                         self->input.size, KEEPER_INPUT_MAX);
    if (is_text || self->has_input || jspan_is(input, JSPAN_ABSENT)
        || jspan_is(input, JSPAN_FALSE) || jspan_is(input, JSPAN_NULL))
        return 0;
    return fault_set(fault, EINVAL, "input must be true, false or a text");
}

/* Writes a digest of the request's text: a client that sends a request again
 * writes the same text. */
static void read_digest(process_wish_t *self, jspan_t content)
{
    static const char *const members[] = {"argv",  "cwd",      "env", "timeout",
                                          "input", "terminal", "end"};
    crypto_generichash_state state;
    uint8_t bytes[(PROCESS_DIGEST_SIZE - 1) / 2];

    crypto_generichash_init(&state, NULL, 0, sizeof bytes);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        jspan_t member = jspan_member(content, members[i]);
        uint64_t size = member.size;

        /* Earlier versions have no `end`, and their digests stay valid. */
        if (jspan_is(member, JSPAN_ABSENT) && strcmp(members[i], "end") == 0)
            break;
        crypto_generichash_update(&state, (const uint8_t *) &size, sizeof size);
        crypto_generichash_update(&state, (const uint8_t *) member.text, size);
    }
    crypto_generichash_final(&state, bytes, sizeof bytes);
    sodium_bin2hex(self->digest, sizeof self->digest, bytes, sizeof bytes);
}

static int read_key(process_wish_t *self, jspan_t content, fault_t *fault)
{
    jspan_t key = jspan_member(content, "key");

    if (jspan_is(key, JSPAN_ABSENT) || jspan_is(key, JSPAN_NULL))
        return 0;
    self->key = jspan_plain_new(key);
    if (!self->key || !*self->key || strlen(self->key) > PROCESS_KEY_MAX)
        return fault_set(fault, EINVAL,
                         "key must be a text of 1 to %d bytes without NUL",
                         PROCESS_KEY_MAX);
    read_digest(self, content);
    return 0;
}

static int read_rest(process_wish_t *self, jspan_t content, fault_t *fault)
{
    jspan_t folder = jspan_member(content, "cwd");
    jspan_t timeout = jspan_member(content, "timeout");
    double seconds = 0;

    self->folder = jspan_is(folder, JSPAN_ABSENT) ? mem_text(".")
                                                  : jspan_plain_new(folder);
    if (!self->folder || !*self->folder || strlen(self->folder) > FOLDER_MAX)
        return fault_set(
            fault, EINVAL,
            "cwd must be a path of 1 to %d bytes without NUL, relative "
            "to the workspace",
            FOLDER_MAX);
    self->texts.folder = self->folder;
    if (!jspan_is(timeout, JSPAN_ABSENT) && !jspan_is(timeout, JSPAN_NULL)
        && (!jspan_to_real(timeout, &seconds) || !(seconds > 0)
            || seconds > SECONDS_MAX))
        return fault_set(
            fault, EINVAL,
            "timeout must be a number of seconds above 0, or null");
    self->limit_ms =
        seconds > 0 && seconds < 0.001 ? 1 : (int64_t) (seconds * 1000);
    self->follows = jspan_is(jspan_member(content, "follow"), JSPAN_TRUE);
    return 0;
}

int process_wish_read(process_wish_t *self, jspan_t content, fault_t *fault)
{
    int r;

    if ((r = read_arguments(self, jspan_member(content, "argv"), fault)) < 0
        || (r = read_terminal(self, jspan_member(content, "terminal"), fault))
               < 0
        || (r = read_environment(self, jspan_member(content, "env"), fault)) < 0
        || (r = read_rest(self, content, fault)) < 0
        || (r = read_input(self, content, fault)) < 0
        || (r = read_key(self, content, fault)) < 0)
        return r;
    return 0;
}

void process_wish_describe(const process_wish_t *self, process_t *process)
{
    process->arguments = mem_text(self->arguments_json);
    process->folder = mem_text(self->folder);
    process->is_terminal = self->is_terminal;
    process->limit_ms = self->limit_ms;
    process->start.follows = self->follows;
    process->key = self->key ? mem_text(self->key) : NULL;
    memcpy(process->digest, self->digest, sizeof process->digest);
}
