/* hearth packages: lists, adds and removes packages that a session can import
 * beyond its profile. */
#include "gateway/cli/core/command.h"

#include "gateway/cli/client/management_client.h"
#include "gateway/cli/core/terminal.h"
#include "notebooks/json/member.h"
#include "protocol/package_words.h"

#include <stdio.h>

#define WORD_WIDTH 128 /* columns of a name or a version */
#define NOTE_WIDTH 500

/* Sends the request with the operands after the session's, and prints the reply
 * if JSON is wanted. */
static gateway_exit_t request(const arguments_t *arguments, const char *word,
                              json_t **ret_reply)
{
    cleanup_management_client management_client_t *management = NULL;
    const char *id = arguments_operand(arguments, 0);
    json_t *names = json_array();
    json_auto_t *content =
        json_pack("{s:s?,s:s,s:o}", "id", id, "order", word, "names", names);
    gateway_exit_t status;
    const char *name;

    for (size_t i = 1; (name = arguments_operand(arguments, i)); i++)
        if (json_array_append_new(names, json_string(name)) < 0)
            return usage_error(arguments, "a name is not UTF-8 text");
    status = management_client_open(false, &management);
    if (status != GATEWAY_EXIT_OK)
        return status;
    management_client_be_patient(management);
    management_client_explain(
        management,
        "the packages are looked for, fetched and unpacked, perhaps "
        "after those of another session; that takes some minutes at "
        "most");
    status = management_client_call(management, "packages", take_ptr(content),
                                    ret_reply);
    if (status == GATEWAY_EXIT_OK && arguments_has(arguments, "json")) {
        json_object_del(*ret_reply, "status");
        json_print(*ret_reply);
    }
    return status;
}

static const char *word_of(const json_t *package, const char *key,
                           terminal_cell_t *cell)
{
    return terminal_write_cell(cell, member_text(package, key), WORD_WIDTH);
}

/* Prints "added humanize 4.17.0", one a line; returns how many there are. */
static size_t print_list(const json_t *reply, const char *list,
                         const char *before, const char *after)
{
    const json_t *packages = json_object_get(reply, list), *package;
    terminal_cell_t name, version;
    size_t i;

    json_array_foreach(packages, i, package)
        printf("%s%s %s%s\n", before, word_of(package, "name", &name),
               word_of(package, "version", &version), after);
    return json_array_size(packages);
}

/* Prints what is added, and what is imported of it if that has another name. */
static size_t print_added(const json_t *reply)
{
    const json_t *packages = json_object_get(reply, "added"), *package, *module;
    terminal_cell_t name, version;
    size_t i, j;

    json_array_foreach(packages, i, package)
    {
        printf("added %s %s", word_of(package, "name", &name),
               word_of(package, "version", &version));
        json_array_foreach(json_object_get(package, "modules"), j, module)
            printf("%s%s", j ? ", " : " (import ",
                   terminal_cell(json_string_value(module), NOTE_WIDTH));
        puts(j ? ")" : "");
    }
    return json_array_size(packages);
}

static size_t print_changed(const json_t *reply)
{
    const json_t *packages = json_object_get(reply, "changed"), *package;
    terminal_cell_t name, from, to;
    size_t i;

    json_array_foreach(packages, i, package)
        printf("changed %s %s -> %s\n", word_of(package, "name", &name),
               word_of(package, "from", &from), word_of(package, "to", &to));
    return json_array_size(packages);
}

/* Returns true if the package is imported in another version. */
static bool is_old(const json_t *reply, const json_t *package)
{
    const json_t *name = json_object_get(package, "name"), *old;
    size_t i;

    json_array_foreach(json_object_get(reply, "restart"), i, old)
    {
        if (json_equal(old, name))
            return true;
    }
    return false;
}

/* Prints which packages of a list have to be imported anew, as `%pip` does. */
static void print_old(const json_t *reply, const char *list,
                      const char *version)
{
    const json_t *packages = json_object_get(reply, list), *package;
    terminal_cell_t name, word;
    size_t i;

    json_array_foreach(packages, i, package)
    {
        if (is_old(reply, package))
            printf(PACKAGE_IMPORTED "\n", word_of(package, "name", &name),
                   word_of(package, version, &word));
    }
}

static void print_restarts(const json_t *reply)
{
    print_old(reply, "added", "version");
    print_old(reply, "changed", "to");
    if (json_is_null(json_object_get(reply, "restart")))
        puts(PACKAGES_STAY);
}

static void print_notes(const json_t *reply)
{
    const json_t *note;
    size_t i;

    json_array_foreach(json_object_get(reply, "notes"), i, note)
    {
        printf("note: %s\n",
               terminal_cell(json_string_value(note), NOTE_WIDTH));
    }
}

static void print_changes(const json_t *reply, const char *otherwise)
{
    size_t count = print_added(reply);

    count += print_changed(reply);
    count += print_list(reply, "removed", "removed ", "");
    count += print_list(reply, "present", "", " is there already (profile)");
    if (!count)
        puts(otherwise);
    print_restarts(reply);
    print_notes(reply);
}

static int change(const arguments_t *arguments, const char *word,
                  const char *otherwise)
{
    json_auto_t *reply = NULL;
    gateway_exit_t status = request(arguments, word, &reply);

    if (status == GATEWAY_EXIT_OK && !arguments_has(arguments, "json"))
        print_changes(reply, otherwise);
    return status;
}

static int add(const arguments_t *arguments)
{
    return change(arguments, "add",
                  "nothing has changed: the session has them already");
}

static int discard(const arguments_t *arguments)
{
    return change(arguments, "remove",
                  "nothing has changed: the session was not given them");
}

static int list(const arguments_t *arguments)
{
    json_auto_t *reply = NULL;
    gateway_exit_t status = request(arguments, "list", &reply);
    const json_t *packages = json_object_get(reply, "packages"), *package;
    size_t i;

    if (status != GATEWAY_EXIT_OK || arguments_has(arguments, "json"))
        return status;
    if (json_array_size(packages))
        printf("%-32s%-20s%s\n", "PACKAGE", "VERSION", "BECAUSE");
    json_array_foreach(packages, i, package)
        printf("%-32s%-20s%s\n",
               terminal_cell(member_text(package, "name"), WORD_WIDTH),
               terminal_cell(member_text(package, "version"), WORD_WIDTH),
               json_is_true(json_object_get(package, "requested"))
                   ? "requested"
                   : "another needs it");
    return GATEWAY_EXIT_OK;
}

static const flag_t flags[] = {FLAG_JSON, {0}};

const command_t packages_commands[] = {
    {
        .name = "packages add",
        .operands = "ID PACKAGE...",
        .help = "let a session import packages of the profile's index",
        .more =
            "A PACKAGE is a name or a requirement, as 'humanize>=4'. Those\n"
            "that it needs are added, too. The session has no network: the\n"
            "gateway fetches them, as the configuration permits\n"
            "(profile/<name>/packages/). It can import them at once.",
        .flags = flags,
        .run = add,
    },
    {
        .name = "packages list",
        .operands = "ID",
        .help = "list the packages that a session was given, also a gone one",
        .flags = flags,
        .run = list,
    },
    {
        .name = "packages remove",
        .operands = "ID NAME...",
        .help = "take packages from a session, and what only they needed",
        .more =
            "Also from one that is gone: a package that ends the kernel can\n"
            "be removed before `hearth session revive`.",
        .flags = flags,
        .run = discard,
    },
    {0},
};
