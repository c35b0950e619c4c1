/* hearth output: more of an output that a view for models has cut, by lines or
 * by a pattern, or an image in full. The output of a program beside the kernel
 * is read in the same way. Both come from the session's journal in the state
 * folder, so that no gateway has to run. */
#include "gateway/cli/core/command.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "gateway/cli/client/management_client.h"
#include "gateway/cli/core/program_word.h"
#include "gateway/cli/core/terminal.h"
#include "gateway/cli/recordings/recordings.h"
#include "notebooks/modelview/modelview.h"
#include "notebooks/recording/cell_outcome.h"
#include "notebooks/recording/process_transcript.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define REF_MAX 40 /* columns of a reference that is wrong */

/* An output, by its reference. */
typedef struct {
    recordings_t session;            /* owned */
    char *ref;                       /* owned; as an answer names it */
    bool is_process;                 /* it is of a program, else of a cell */
    uint64_t process;                /* number of the program */
    process_transcript_t transcript; /* owned; of the program */
    long long cell;                  /* number of the cell */
    size_t output;                   /* 1 is the cell's first */
    cell_outcome_t outcome;          /* owned; of the cell */
} found_output_t;

static void found_clear(found_output_t *self)
{
    cell_outcome_clear(&self->outcome);
    process_transcript_clear(&self->transcript);
    free(self->ref);
    recordings_clear(&self->session);
}

/* Reads the reference itself. Prints what is wrong with it. */
static gateway_exit_t read_ref(const arguments_t *arguments,
                               found_output_t *self)
{
    const char *text = arguments_operand(arguments, 1);
    gateway_exit_t status = GATEWAY_EXIT_OK;

    self->is_process = program_word_is_meant(text);
    if (self->is_process) {
        status = program_word_read(arguments, text, &self->process);
        self->ref =
            mem_format("process:%llu", (unsigned long long) self->process);
    } else if (modelview_read_ref(text, &self->cell, &self->output)) {
        self->ref = mem_format("out:%lld.%zu", self->cell, self->output);
    } else {
        usage_error(arguments, MODELVIEW_NO_REF, terminal_cell(text, REF_MAX));
        status = GATEWAY_EXIT_USAGE;
    }
    return status;
}

/* Reads what the program has written. Prints what is wrong. */
static gateway_exit_t find_process(found_output_t *self)
{
    process_transcript_place_t place = {.folder = self->session.journal,
                                        .key = self->session.key,
                                        .process = self->process};
    fault_t fault = {0};

    if (process_transcript_read(&place, &self->transcript, &fault) < 0)
        return complain(GATEWAY_EXIT_FAILED, "%s", fault.text);
    return GATEWAY_EXIT_OK;
}

/* Reads the cell of the reference. Prints what is wrong. */
static gateway_exit_t find_cell(found_output_t *self)
{
    cell_outcome_place_t place = {.folder = self->session.journal,
                                  .key = self->session.key};
    fault_t fault = {0};
    int r = cell_outcome_find(&place, self->cell, &fault);

    if (r == 0)
        r = cell_outcome_read(&place, false, &self->outcome);
    if (r < 0 && r != -ENOENT)
        return complain(GATEWAY_EXIT_FAILED, "%s", fault.text);
    if (r < 0)
        return complain(GATEWAY_EXIT_FAILED, MODELVIEW_NO_CELL, self->cell);
    cell_outcome_add_pages(self->outcome.outputs, self->outcome.reply);
    return GATEWAY_EXIT_OK;
}

/* Reads what the reference names. Prints what is wrong. */
static gateway_exit_t find_output(const options_t *options,
                                  const arguments_t *arguments,
                                  found_output_t *self)
{
    gateway_exit_t status = read_ref(arguments, self);

    if (status == GATEWAY_EXIT_OK)
        status = recordings_find(options, arguments_operand(arguments, 0),
                                 &self->session);
    if (status != GATEWAY_EXIT_OK)
        return status;
    return self->is_process ? find_process(self) : find_cell(self);
}

/* Writes to the file of --output, or to standard output. */
static gateway_exit_t write_out(const arguments_t *arguments, const void *bytes,
                                size_t size)
{
    const char *path = arguments_value(arguments, "output");
    fault_t fault = {0};

    if (path && file_replace(path, 0600, bytes, size, &fault) < 0)
        return complain(GATEWAY_EXIT_FAILED, "%s", fault.text);
    if (!path && fd_write_all(STDOUT_FILENO, bytes, size, &fault) < 0)
        return complain(GATEWAY_EXIT_FAILED, "standard output: %s", fault.text);
    return GATEWAY_EXIT_OK;
}

/* ---- an image ---- */

static void print_image(const found_output_t *found,
                        const modelview_image_t *image)
{
    json_auto_t *document = json_pack(
        "{s:s,s:s,s:s,s:I,s:o}", "session", found->session.id, "ref",
        image->ref, "mime", image->mime, "bytes", (json_int_t) image->size,
        "data", json_stringn(image->base64, image->base64_size));

    if (image->width && image->height) {
        json_object_set_new(document, "width", json_integer(image->width));
        json_object_set_new(document, "height", json_integer(image->height));
    }
    json_print(document);
}

static gateway_exit_t show_image(const arguments_t *arguments,
                                 const found_output_t *found,
                                 const modelview_image_t *image)
{
    cleanup_buffer buffer_t bytes = BUFFER_EMPTY;

    if (arguments_has(arguments, "json")) {
        print_image(found, image);
        return GATEWAY_EXIT_OK;
    }
    if (!arguments_has(arguments, "output") && isatty(STDOUT_FILENO))
        return usage_error(arguments,
                           "%s is an image: write it to a file with "
                           "--output FILE",
                           image->ref);
    if (!modelview_image_bytes(image, &bytes))
        return complain(GATEWAY_EXIT_FAILED, "%s is not an image", image->ref);
    return write_out(arguments, bytes.data, bytes.size);
}

/* ---- text ---- */

static unsigned long long number_of(const arguments_t *arguments,
                                    const char *flag)
{
    const char *text = arguments_value(arguments, flag);

    return text ? strtoull(text, NULL, 10) : 0;
}

static gateway_exit_t read_range(const arguments_t *arguments,
                                 modelview_range_t *ret_range)
{
    unsigned long long tokens = number_of(arguments, "max-tokens");

    if (arguments_has(arguments, "max-tokens")
        && (tokens < 1 || tokens > MODELVIEW_TOKENS_MAX))
        return (gateway_exit_t) usage_error(
            arguments, "--max-tokens must be 1 to %d", MODELVIEW_TOKENS_MAX);
    *ret_range =
        (modelview_range_t){.from_line = number_of(arguments, "from-line"),
                            .lines = number_of(arguments, "lines"),
                            .grep = arguments_value(arguments, "grep"),
                            .tokens_max = (size_t) tokens,
                            .way = READ_HINT_COMMAND};
    return GATEWAY_EXIT_OK;
}

static gateway_exit_t show_text(const arguments_t *arguments,
                                const found_output_t *found,
                                const buffer_t *text)
{
    cleanup_buffer buffer_t line = BUFFER_EMPTY;

    if (arguments_has(arguments, "json")) {
        json_auto_t *document = json_pack(
            "{s:s,s:s,s:o}", "session", found->session.id, "ref", found->ref,
            "text", json_stringn((const char *) text->data, text->size));
        json_print(document);
        return GATEWAY_EXIT_OK;
    }
    buffer_append(&line, text->data, text->size);
    buffer_text(&line, "\n");
    return write_out(arguments, line.data, line.size);
}

/* Reads lines of what the program has written. */
static int read_process(const found_output_t *found,
                        const modelview_range_t *range, buffer_t *text)
{
    const buffer_t *all = &found->transcript.text;
    json_auto_t *masked =
        json_stringn(all->size ? (const char *) all->data : "", all->size);
    cleanup_buffer buffer_t gone = BUFFER_EMPTY;
    bytes_t shown;

    redact_json(found->session.mask, &masked);
    shown = (bytes_t){json_string_value(masked), json_string_length(masked)};
    process_transcript_write_gone(&found->transcript, &gone);
    return modelview_read_process(found->process, shown, buffer_bytes(&gone),
                                  range, text);
}

static int read_cell(found_output_t *found, const modelview_range_t *range,
                     buffer_t *text)
{
    redact_json(found->session.mask, &found->outcome.outputs);
    return modelview_read_output(found->outcome.outputs, found->cell,
                                 found->output, range, text);
}

static gateway_exit_t read_text(const arguments_t *arguments,
                                found_output_t *found)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    modelview_range_t range;
    gateway_exit_t status = read_range(arguments, &range);
    int r;

    if (status != GATEWAY_EXIT_OK)
        return status;
    r = found->is_process ? read_process(found, &range, &text)
                          : read_cell(found, &range, &text);
    if (r < 0)
        return complain(r == -EINVAL ? GATEWAY_EXIT_USAGE : GATEWAY_EXIT_FAILED,
                        "%.*s", (int) text.size, (const char *) text.data);
    return show_text(arguments, found, &text);
}

static int output(const arguments_t *arguments)
{
    cleanup_options options_t *options = arguments_options(arguments);
    CLEANUP(found_clear) found_output_t found = {0};
    modelview_image_t image;
    gateway_exit_t status;

    if (!options)
        return GATEWAY_EXIT_ENVIRONMENT;
    status = find_output(options, arguments, &found);
    if (status != GATEWAY_EXIT_OK)
        return status;
    if (!found.is_process
        && modelview_image(found.outcome.outputs, found.cell, found.output,
                           &image))
        return show_image(arguments, &found, &image);
    return read_text(arguments, &found);
}

static const flag_t flags[] = {
    {"from-line", 0, "NUMBER", "the first line [default: 1]"},
    {"lines", 0, "NUMBER", "at most this many lines [default: what fits]"},
    {"grep", 0, "PATTERN", "only the lines that match a regular expression"},
    {"max-tokens", 0, "NUMBER", "about the size of the text [default: 4000]"},
    {"output", 'o', "FILE", "write to FILE instead of standard output"},
    FLAG_JSON,
    {0},
};

const command_t output_commands[] = {
    {
        .name = "output",
        .operands = "ID REF",
        .help = "read an output of a cell, or of a program beside the kernel",
        .more = "REF is out:7.2, the second output of cell 7, as exec "
                "--for-model names it; or\nprocess:3, or 3, what the program "
                "with the number 3 (hearth ps) has written: at\nmost its first "
                "MiB. Also of a session that is gone. No gateway has to run.",
        .flags = flags,
        .run = output,
    },
    {0},
};
