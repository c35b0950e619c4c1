/* See mcp_agents.h. A token is never printed: each agent has its own way to
 * take it from the environment. */
#include "gateway/cli/mcp/mcp_agents.h"

#include "gateway/cli/client/management_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLAIN                                                                  \
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./:=@%+,"

/* Prints a word as a shell reads it. */
static void print_word(const char *word)
{
    if (*word && strspn(word, PLAIN) == strlen(word)) {
        printf("%s", word);
        return;
    }
    putchar('\'');
    for (; *word; word++)
        if (*word == '\'')
            printf("'\\''");
        else
            putchar(*word);
    putchar('\'');
}

static void print_claude(const mcp_start_t *start)
{
    const json_t *word;
    size_t i;

    printf("claude mcp add hearth");
    if (start->url) {
        printf(" --env HEARTH_URL=");
        print_word(start->url);
    }
    if (start->has_token)
        printf(" --env HEARTH_TOKEN=\"$HEARTH_TOKEN\"");
    printf(" --");
    json_array_foreach(start->words, i, word)
    {
        putchar(' ');
        print_word(json_string_value(word));
    }
    putchar('\n');
}

static json_t *arguments_of(const mcp_start_t *start)
{
    json_t *arguments = json_array();

    for (size_t i = 1; i < json_array_size(start->words); i++)
        json_array_append(arguments, json_array_get(start->words, i));
    return arguments;
}

/* Prints a value in TOML: its strings and lists are JSON's, too. */
static void print_value(const char *before, json_t *value, const char *after)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY);

    printf("%s%s%s", before, text, after);
    free(text);
    json_decref(value);
}

static void print_codex(const mcp_start_t *start)
{
    printf("[mcp_servers.hearth]\n");
    print_value("command = ", json_incref(json_array_get(start->words, 0)),
                "\n");
    print_value("args = ", arguments_of(start), "\n");
    if (start->url)
        print_value("env = { HEARTH_URL = ", json_string(start->url), " }\n");
    if (start->has_token)
        printf("env_vars = [\"HEARTH_TOKEN\"]\n");
}

static void print_servers(const char *key, const mcp_start_t *start)
{
    json_t *server =
        json_pack("{s:s,s:O,s:o}", "type", "stdio", "command",
                  json_array_get(start->words, 0), "args", arguments_of(start));
    json_auto_t *config = json_pack("{s:{s:o}}", key, "hearth", server);
    json_auto_t *variables = json_object();

    if (start->url)
        json_object_set_new(variables, "HEARTH_URL", json_string(start->url));
    if (start->has_token)
        json_object_set_new(variables, "HEARTH_TOKEN",
                            json_string("${env:HEARTH_TOKEN}"));
    if (json_object_size(variables))
        json_object_set(server, "env", variables);
    json_print(config);
}

static void print_cursor(const mcp_start_t *start)
{
    print_servers("mcpServers", start);
}

static void print_vscode(const mcp_start_t *start)
{
    print_servers("servers", start);
}

static const struct {
    const char *name;
    const char *place; /* the file that the printed lines belong into */
    void (*print)(const mcp_start_t *start);
} agents[] = {
    {"claude", "a command", print_claude},
    {"codex", "~/.codex/config.toml", print_codex},
    {"cursor", "~/.cursor/mcp.json", print_cursor},
    {"vscode", ".vscode/mcp.json", print_vscode},
};

bool mcp_agents_print(const char *agent, const mcp_start_t *start)
{
    for (size_t i = 0; i < sizeof agents / sizeof *agents; i++) {
        if (strcmp(agents[i].name, agent) != 0)
            continue;
        fprintf(stderr, "%s:\n", agents[i].place);
        agents[i].print(start);
        return true;
    }
    return false;
}
