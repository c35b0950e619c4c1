/* Prints outputs as they come, or collects them as a notebook would hold
 * them, with each display in its last form. All of it is hostile text:
 * terminal.c takes out what could drive the terminal. */
#include "gateway/cli/client/output_printer.h"

#include "base/buffer.h"
#include "gateway/cli/client/management_client.h"
#include "gateway/cli/core/terminal.h"
#include "gateway/cli/core/terminal_image.h"
#include "notebooks/formats/output_list.h"
#include "notebooks/json/member.h"

#include <stdio.h>
#include <string.h>

static const char CLEAR_LINE[] = "\r\033[K";

struct output_printer {
    terminal_t *out;    /* owned; standard output */
    terminal_t *errors; /* owned; standard error */
    const char *folder; /* borrowed; where pictures go, or NULL */
    output_list_t list; /* owned; what is collected */
    json_t *files;      /* owned; paths */
    bool is_json;       /* collect, do not print */
    bool has_error;
    bool has_progress; /* the progress line is on the terminal */
    bool clears_next;  /* clear_output(wait=True) was said; when printing */
};

output_printer_t *output_printer_new(const char *folder, bool is_json)
{
    output_printer_t *self = mem_new(sizeof *self);

    self->out = terminal_new(stdout);
    self->errors = terminal_new(stderr);
    self->folder = folder;
    self->files = json_array();
    self->is_json = is_json;
    return self;
}

void output_printer_destroy(output_printer_t **self_p)
{
    output_printer_t *self = *self_p;

    if (!self)
        return;
    json_decref(self->files);
    output_list_clear(&self->list);
    terminal_destroy(&self->errors);
    terminal_destroy(&self->out);
    free(self);
    *self_p = NULL;
}

static void clear_progress(output_printer_t *self)
{
    if (!self->has_progress)
        return;
    fputs(CLEAR_LINE, stderr);
    fflush(stderr);
    self->has_progress = false;
}

static void clear_now(output_printer_t *self)
{
    self->clears_next = false;
    if (terminal_is_tty(self->out)) {
        fputs(CLEAR_LINE, stdout);
        fflush(stdout);
    }
}

/* Returns the text of a string, or of a list of strings as notebooks have them;
 * the caller frees it. */
static char *text_of(const json_t *value)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    const json_t *part;
    size_t i;

    if (json_is_string(value))
        return mem_text(json_string_value(value));
    json_array_foreach(value, i, part) if (json_is_string(part))
        buffer_text(&text, json_string_value(part));
    return mem_copy(text.size ? (char *) text.data : "", text.size);
}

/* ---- streams ---- */

static void on_stream(output_printer_t *self, const json_t *content)
{
    bool is_error = strcmp(member_text(content, "name"), "stderr") == 0;
    const json_t *text = json_object_get(content, "text");

    if (json_is_string(text))
        terminal_text(is_error ? self->errors : self->out,
                      json_string_value(text), json_string_length(text));
}

/* ---- displays and results ---- */

static bool save_picture(output_printer_t *self, const char *extension,
                         const buffer_t *bytes, char **ret_path)
{
    fault_t fault = {0};

    if (terminal_image_save(self->folder, extension, bytes, ret_path, &fault)
        < 0) {
        output_printer_say(self, fault.text);
        return false;
    }
    json_array_append_new(self->files, json_string(*ret_path));
    return true;
}

/* Prints a page with its colours, of which IPython's own pages are full. */
static void print_page(output_printer_t *self, const json_t *data)
{
    cleanup_free char *text = text_of(json_object_get(data, "text/plain"));

    terminal_colored(self->out, text, strlen(text));
    terminal_fresh_line(self->out);
}

/* Returns the file ending for what is saved of a bundle without a picture or
 * plain text, or NULL, and its type. */
static const char *find_document(const json_t *data, const char **ret_type)
{
    static const struct {
        const char *type, *extension;
    } kinds[] = {{"text/html", "html"}, {"application/json", "json"}};
    const char *type;
    json_t *value;

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        *ret_type = kinds[i].type;
        if (json_object_get(data, kinds[i].type))
            return kinds[i].extension;
    }
    *ret_type = NULL;
    json_object_foreach((json_t *) (uintptr_t) data, type, value)
    {
        if (!*ret_type)
            *ret_type = type;
    }
    return NULL;
}

/* Returns the text of a document; JSON is written. */
static char *document_text(const json_t *value)
{
    if (json_is_string(value) || json_is_array(value))
        return text_of(value);
    return json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
}

static void describe_size(size_t size, char ret_text[32])
{
    if (size < 1000)
        snprintf(ret_text, 32, "%zu bytes", size);
    else if (size < 1000 * 1000)
        snprintf(ret_text, 32, "%.1f kB", (double) size / 1e3);
    else
        snprintf(ret_text, 32, "%.1f MB", (double) size / 1e6);
}

/* Prints "[text/html, 4.8 MB; --output-dir saves it]": a page is no text. */
static void name_document(output_printer_t *self, const json_t *data)
{
    const char *type;
    const char *extension = find_document(data, &type);
    char size[32];

    if (!type)
        return;
    cleanup_free char *text = document_text(json_object_get(data, type));
    describe_size(text ? strlen(text) : 0, size);
    cleanup_free char *line =
        mem_format("[%s, %s%s]\n", terminal_cell(type, 100), size,
                   extension && !self->folder ? "; --output-dir saves it" : "");
    terminal_text(self->out, line, strlen(line));
}

static void print_text(output_printer_t *self, const json_t *data)
{
    static const char *const types[] = {"text/plain", "text/markdown",
                                        "text/latex", NULL};

    for (const char *const *type = types; *type; type++) {
        const json_t *value = json_object_get(data, *type);
        cleanup_free char *text = value ? text_of(value) : NULL;

        if (!text)
            continue;
        terminal_text(self->out, text, strlen(text));
        terminal_fresh_line(self->out);
        return;
    }
    name_document(self, data);
}

/* Saves a display's picture or document where that is wanted. */
static bool save_display(output_printer_t *self, const json_t *data,
                         const char *extension, buffer_t *bytes,
                         char **ret_path)
{
    const char *type;

    if (!self->folder)
        return true;
    if (!extension && !json_object_get(data, "text/plain")
        && (extension = find_document(data, &type))) {
        cleanup_free char *text = document_text(json_object_get(data, type));

        buffer_clear(bytes);
        buffer_append(bytes, text, strlen(text));
    }
    return !extension || save_picture(self, extension, bytes, ret_path);
}

static bool on_display(output_printer_t *self, const char *type,
                       json_t *content)
{
    json_t *data = json_object_get(content, "data");
    cleanup_buffer buffer_t bytes = BUFFER_EMPTY;
    cleanup_free char *path = NULL;
    const char *extension = terminal_image_find(data, &bytes);
    bool is_saved = save_display(self, data, extension, &bytes, &path);

    if (self->is_json)
        return is_saved;
    terminal_fresh_line(self->out);
    if (strcmp(type, "page") == 0)
        print_page(self, data);
    else if (!extension || !terminal_image_show(stdout, extension, &bytes))
        print_text(self, data);
    if (path) {
        cleanup_free char *line = mem_format("saved %s\n", path);
        terminal_text(self->out, line, strlen(line));
    }
    return is_saved;
}

/* ---- errors ---- */

static void on_error(output_printer_t *self, const json_t *content)
{
    const json_t *traceback = json_object_get(content, "traceback");
    const json_t *line;
    size_t i;

    if (terminal_is_tty(self->out))
        terminal_fresh_line(self->out);
    json_array_foreach(traceback, i, line)
    {
        if (!json_is_string(line))
            continue;
        terminal_colored(self->errors, json_string_value(line),
                         json_string_length(line));
        terminal_colored(self->errors, "\n", 1);
    }
    if (!json_array_size(traceback)) {
        cleanup_free char *text =
            mem_format("%s: %s\n", member_text(content, "ename"),
                       member_text(content, "evalue"));
        terminal_colored(self->errors, text, strlen(text));
    }
    terminal_end(self->errors);
}

static bool is_display(const char *type)
{
    return strcmp(type, "display_data") == 0 || strcmp(type, "page") == 0
           || strcmp(type, "update_display_data") == 0
           || strcmp(type, "execute_result") == 0;
}

/* Prints an output other than a display. */
static void print_other(output_printer_t *self, const char *type,
                        const json_t *content)
{
    if (strcmp(type, "stream") == 0)
        on_stream(self, content);
    else if (strcmp(type, "error") == 0)
        on_error(self, content);
    else if (json_is_true(json_object_get(content, "wait")))
        self->clears_next = true;
    else
        clear_now(self);
}

bool output_printer_add(output_printer_t *self, const char *type,
                        json_t *content)
{
    bool is_clear = strcmp(type, "clear_output") == 0;

    if (strcmp(type, "error") == 0)
        self->has_error = true;
    else if (!is_clear && !is_display(type) && strcmp(type, "stream") != 0)
        return true;
    if (self->is_json)
        output_list_add(&self->list, 0, type, content, 0);
    if (!self->is_json && !is_clear) {
        clear_progress(self);
        if (self->clears_next)
            clear_now(self);
    }
    if (is_display(type))
        return on_display(self, type, content);
    if (!self->is_json)
        print_other(self, type, content);
    return true;
}

void output_printer_say(output_printer_t *self, const char *text)
{
    cleanup_free char *line = mem_format("hearth: %s\n", text);

    clear_progress(self);
    if (terminal_is_tty(self->errors) && terminal_is_tty(self->out))
        terminal_fresh_line(self->out);
    terminal_colored(self->errors, line, strlen(line));
}

void output_printer_prompt(output_printer_t *self, const char *prompt)
{
    clear_progress(self);
    terminal_text(terminal_is_tty(self->out) ? self->out : self->errors, prompt,
                  strlen(prompt));
}

void output_printer_answered(output_printer_t *self)
{
    terminal_mark_line_start(self->out);
    terminal_mark_line_start(self->errors);
}

void output_printer_progress(output_printer_t *self, long seconds)
{
    if (self->is_json || !terminal_is_tty(self->errors)
        || (terminal_is_tty(self->out) && !terminal_at_line_start(self->out)))
        return;
    fprintf(stderr, "%srunning %ld s (Ctrl-C interrupts)", CLEAR_LINE, seconds);
    fflush(stderr);
    self->has_progress = true;
}

bool output_printer_has_error(const output_printer_t *self)
{
    return self->has_error;
}

void output_printer_end(output_printer_t *self)
{
    clear_progress(self);
    if (terminal_is_tty(self->out))
        terminal_fresh_line(self->out);
    terminal_end(self->out);
    terminal_end(self->errors);
}

json_t *output_printer_take_list(output_printer_t *self)
{
    return output_list_finish(&self->list);
}

json_t *output_printer_files(output_printer_t *self)
{
    return self->files;
}
