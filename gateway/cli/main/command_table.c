/* The tables of commands, and the ways to find one. */
#include "gateway/cli/main/command_table.h"

#include <string.h>

/* In the order of --help. */
static const command_t *const tables[] = {
    exec_commands,
    output_commands,
    run_commands,
    process_commands,
    mcp_commands,
    tools_commands,
    packages_commands,
    fetch_commands,
    clone_commands,
    note_commands,
    session_commands,
    revive_commands,
    attach_commands,
    lab_commands,
    window_commands,
    files_commands,
    notebook_commands,
    notebook_verify_commands,
    notebook_attest_commands,
    notebook_diff_commands,
    replay_commands,
    trace_commands,
    audit_commands,
    gateway_commands,
    logs_commands,
    prune_commands,
    token_commands,
    viewer_commands,
    serve_commands,
    config_commands,
    kernel_commands,
    doctor_commands,
    version_commands,
    kernelgateway_commands,
};

const command_t *command_table_at(size_t index)
{
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        for (const command_t *c = tables[i]; c->name; c++)
            if (index-- == 0)
                return c;
    return NULL;
}

const char *command_table_word(const command_t *command, const char *group)
{
    size_t size = group ? strlen(group) : 0;

    if (!command->help)
        return NULL;
    if (!group)
        return command->name;
    if (strncmp(command->name, group, size) != 0 || command->name[size] != ' ')
        return NULL;
    return command->name + size + 1;
}

bool command_table_is_group(const char *word)
{
    const command_t *command;

    for (size_t i = 0; (command = command_table_at(i)); i++)
        if (command_table_word(command, word))
            return true;
    return false;
}

const command_t *command_table_find(int count, const char *const *words,
                                    int *ret_words)
{
    const command_t *command;

    for (size_t i = 0; count > 0 && (command = command_table_at(i)); i++) {
        size_t size = strcspn(command->name, " ");
        const char *second =
            command->name[size] ? command->name + size + 1 : NULL;

        if (strlen(words[0]) != size
            || strncmp(words[0], command->name, size) != 0)
            continue;
        if (second && (count < 2 || strcmp(words[1], second) != 0))
            continue;
        *ret_words = second ? 2 : 1;
        return command;
    }
    return NULL;
}
