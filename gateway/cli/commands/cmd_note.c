/* hearth note: adds a text to the session's notebook before the next cell, such
 * as the reasoning that led to the cell. */
#include "gateway/cli/core/command.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "gateway/cli/client/management_client.h"
#include "protocol/limits.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static gateway_exit_t read_stdin(buffer_t *text)
{
    for (;;) {
        ssize_t size = read(STDIN_FILENO, buffer_reserve(text, 4096), 4096);

        if (size < 0)
            return complain(GATEWAY_EXIT_FAILED, "standard input: %s",
                            strerror(errno));
        if (size == 0)
            return GATEWAY_EXIT_OK;
        text->size += (size_t) size;
        if (text->size > NOTE_TEXT_MAX)
            return complain(GATEWAY_EXIT_USAGE,
                            "the note is larger than %u KiB",
                            NOTE_TEXT_MAX >> 10);
    }
}

static int note(const arguments_t *arguments)
{
    const char *text = arguments_operand(arguments, 1);
    const char *by = arguments_value(arguments, "by");
    cleanup_buffer buffer_t given = BUFFER_EMPTY;
    cleanup_management_client management_client_t *management = NULL;
    json_auto_t *content = NULL;
    json_auto_t *reply = NULL;
    gateway_exit_t status;

    if (strcmp(text, "-") != 0)
        buffer_text(&given, text);
    else if ((status = read_stdin(&given)) != GATEWAY_EXIT_OK)
        return status;
    if (!given.size)
        return usage_error(arguments, "the note is empty");
    content =
        json_pack("{s:s, s:s%, s:s*}", "id", arguments_operand(arguments, 0),
                  "text", (const char *) given.data, given.size, "by", by);
    if (!content)
        return usage_error(arguments, "the note is not UTF-8 text");
    if ((status = management_client_open(false, &management))
        != GATEWAY_EXIT_OK)
        return status;
    return management_client_call(management, "session_note", take_ptr(content),
                                  &reply);
}

static const flag_t flags[] = {
    {"by", 'b', "NAME", "author of the note"},
    {0},
};

const command_t note_commands[] = {
    {
        .name = "note",
        .operands = "ID TEXT|-",
        .help = "add a text to a session's notebook, before its next cell",
        .more = "-: the text is read from standard input. At most 64 KiB.",
        .flags = flags,
        .run = note,
    },
    {0},
};
