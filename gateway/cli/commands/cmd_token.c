/* hearth token: grants access to the gateway over HTTP, by scopes. Tokens are
 * in the state folder; the gateway need not run. */
#include "gateway/cli/core/command.h"

#include "base/clock.h"
#include "gateway/cli/client/management_client.h"
#include "gateway/cli/core/terminal.h"
#include "gateway/http/core/token_file.h"
#include "notebooks/json/member.h"

#include <sodium.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define NAME_MAX_BYTES 100
#define ALL_WINDOWS    "windows"

/* Returns the path of the tokens; NULL after it printed what is wrong. */
static options_t *prepare(const arguments_t *arguments)
{
    if (sodium_init() < 0) {
        complain(GATEWAY_EXIT_ENVIRONMENT, "libsodium cannot start");
        return NULL;
    }
    return arguments_options(arguments);
}

static int create(const arguments_t *arguments)
{
    const char *words = arguments_value(arguments, "scope");
    const char *name = arguments_operand(arguments, 0);
    unsigned scopes = token_scopes_parse(words ? words : "observe,execute");
    cleanup_options options_t *options = NULL;
    cleanup_free char *token = NULL;
    char id[TOKEN_ID_SIZE];
    fault_t fault;

    if (!scopes)
        return usage_error(arguments,
                           "--scope takes observe, execute, files and admin "
                           "with commas between, not \"%s\"",
                           words);
    if (!name)
        name = "";
    if (strlen(name) > NAME_MAX_BYTES)
        return usage_error(arguments, "a token's name has at most %d bytes",
                           NAME_MAX_BYTES);
    if (!(options = prepare(arguments)))
        return GATEWAY_EXIT_ENVIRONMENT;
    if (token_file_create(options->state_dir, name, scopes, &token, id, &fault)
        < 0)
        return complain(GATEWAY_EXIT_FAILED, "%s", fault.text);
    if (arguments_has(arguments, "json")) {
        json_auto_t *made =
            json_pack("{s:s,s:s,s:s,s:o}", "id", id, "token", token, "name",
                      name, "scopes", token_scopes_names(scopes));
        json_print(made);
    } else {
        printf("%s\n", token);
    }
    sodium_memzero(token, strlen(token));
    return GATEWAY_EXIT_OK;
}

static void print_row(const json_t *token)
{
    const json_t *scopes = json_object_get(token, "scopes"), *scope;
    char text[64] = "";
    size_t i;

    json_array_foreach(scopes, i, scope)
    {
        size_t size = strlen(text);
        snprintf(text + size, sizeof text - size, "%s%s", i ? "," : "",
                 json_string_value(scope));
    }
    printf("%-18s", member_text(token, "id"));
    printf("%-30s", terminal_cell(text, 30));
    printf("%.19s  ", member_text(token, "created"));
    printf("%s\n", terminal_cell(member_text(token, "name"), 60));
}

static int list(const arguments_t *arguments)
{
    cleanup_options options_t *options = prepare(arguments);
    json_auto_t *tokens = NULL;
    const json_t *token;
    fault_t fault;
    size_t i;

    if (!options)
        return GATEWAY_EXIT_ENVIRONMENT;
    if (token_file_list(options->state_dir, &tokens, &fault) < 0)
        return complain(GATEWAY_EXIT_FAILED, "%s", fault.text);
    if (arguments_has(arguments, "json")) {
        json_print(tokens);
        return GATEWAY_EXIT_OK;
    }
    if (json_array_size(tokens))
        printf("%-18s%-30s%-21s%s\n", "ID", "SCOPES", "CREATED", "NAME");
    json_array_foreach(tokens, i, token) print_row(token);
    return GATEWAY_EXIT_OK;
}

static int take_back(const arguments_t *arguments)
{
    cleanup_options options_t *options = prepare(arguments);
    const char *id = arguments_operand(arguments, 0);
    fault_t fault;
    int r;

    if (!options)
        return GATEWAY_EXIT_ENVIRONMENT;
    r = strcmp(id, ALL_WINDOWS) == 0
            ? token_file_revoke_windows(options->state_dir, clock_wall_us(),
                                        &fault)
            : token_file_revoke(options->state_dir, id, &fault);
    if (r == -ENOENT)
        return complain(GATEWAY_EXIT_GONE, "%s", fault.text);
    if (r < 0)
        return complain(GATEWAY_EXIT_FAILED, "%s", fault.text);
    return GATEWAY_EXIT_OK;
}

static const flag_t create_flags[] = {
    {"scope", 's', "SCOPES",
     "what its holder may do [default: observe,execute]"},
    FLAG_JSON,
    FLAG_CONFIG,
    {0},
};

static const flag_t list_flags[] = {FLAG_JSON, FLAG_CONFIG, {0}};
static const flag_t revoke_flags[] = {FLAG_CONFIG, {0}};

const command_t token_commands[] = {
    {
        .name = "token create",
        .operands = "[NAME]",
        .help = "create a token for HTTP and print it",
        .more = "SCOPES: observe (see sessions), execute (use them), files "
                "(workspaces),\nadmin, with commas between. The token is "
                "printed only once.",
        .flags = create_flags,
        .run = create,
    },
    {
        .name = "token list",
        .operands = "",
        .help = "list the tokens",
        .flags = list_flags,
        .run = list,
    },
    {
        .name = "token revoke",
        .operands = "ID|windows",
        .help = "revoke a token, or those of all windows; it counts at once",
        .flags = revoke_flags,
        .run = take_back,
    },
    {0},
};
