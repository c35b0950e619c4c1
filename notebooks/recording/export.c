/* Documents from a journal: recording.c reads, a writer writes, and what is
 * JSON is sealed on its way. */
#include "notebooks/recording/export.h"

#include "notebooks/formats/notebook_mac.h"
#include "notebooks/formats/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *name;
    const notebook_writer_t *writer;
    bool is_sealed;
} formats[] = {
    [EXPORT_IPYNB] = {"ipynb", &ipynb_writer, true},
    [EXPORT_MARKDOWN] = {"md", &markdown_writer, false},
    [EXPORT_SCRIPT] = {"py", &script_writer, false},
    [EXPORT_JSONL] = {"jsonl", &jsonl_writer, true},
    [EXPORT_WHOLE] = {NULL, &whole_writer, false},
    [EXPORT_PAGE] = {"html", &page_writer, false},
};

bool export_format(const char *name, export_format_t *ret_format)
{
    const char *dot = strrchr(name, '.');
    const char *ending = dot ? dot + 1 : name;

    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (!formats[i].name || strcmp(formats[i].name, ending) != 0)
            continue;
        *ret_format = (export_format_t) i;
        return true;
    }
    return false;
}

typedef struct {
    const notebook_writer_t *writer; /* borrowed */
    FILE *out;                       /* borrowed */
    size_t count;                    /* of cells written */
    bool is_sealed;
    notebook_mac_t mac;
    json_t *row; /* owned by export_write; ids of the cells, in order */
} export_t;

static int write_cell(notebook_cell_t *cell, void *arg, fault_t *fault)
{
    export_t *self = arg;
    char mac[NOTEBOOK_MAC_HEX_SIZE];

    if (self->is_sealed) {
        notebook_mac_cell(&self->mac, cell, mac);
        notebook_mac_add(&self->mac, mac);
        json_array_append_new(self->row, json_string(cell->id));
        json_object_set_new(json_object_get(cell->metadata, "hearth"), "mac",
                            json_string(mac));
    }
    self->writer->cell(self->out, cell, self->count++);
    if (ferror(self->out))
        return fault_set(fault, EIO, "the notebook cannot be written");
    return 0;
}

/* Writes the journal's head and the seal of all cells, for verify.c. */
static void write_mac(export_t *self, const recording_options_t *options,
                      recording_end_t *end)
{
    const char *session = options->session ? options->session : "";
    char mac[NOTEBOOK_MAC_HEX_SIZE];
    char chain[2 * sizeof end->head.chain + 1];

    notebook_mac_finish(&self->mac, session, &end->head, mac);
    sodium_bin2hex(chain, sizeof chain, end->head.chain,
                   sizeof end->head.chain);
    json_object_set_new(json_object_get(end->metadata, "hearth"), "head",
                        json_pack("{s:I, s:s, s:I, s:s, s:O}", "cells",
                                  (json_int_t) self->count, "chain", chain,
                                  "seq", (json_int_t) end->head.seq, "mac", mac,
                                  "row", self->row));
}

int export_write(const char *journal_folder, const recording_options_t *options,
                 export_format_t format, FILE *out, fault_t *fault)
{
    cleanup_recording_end recording_end_t end = {0};
    json_auto_t *row = json_array();
    export_t self = {.row = row,
                     .writer = formats[format].writer,
                     .out = out,
                     .is_sealed = formats[format].is_sealed};

    notebook_mac_init(&self.mac, options->key);
    self.writer->begin(out);
    int result =
        recording_read(journal_folder, options, write_cell, &self, &end, fault);
    if (result < 0 && result != -EBADMSG)
        return result;
    if (self.is_sealed)
        write_mac(&self, options, &end);
    self.writer->end(out, end.metadata, self.count);
    if (fflush(out) != 0)
        return fault_set(fault, errno, "the notebook cannot be written: %s",
                         strerror(errno));
    return result;
}

/* Reports why no file can be made at `path`. */
static int refuse_path(const char *path, int code, fault_t *fault)
{
    const char *slash = strrchr(path, '/');
    size_t size = slash && slash != path ? (size_t) (slash - path) : 1;

    if (code == ENOENT && slash)
        return fault_set(fault, code,
                         "cannot write %s: there is no folder %.*s", path,
                         (int) size, path);
    return fault_set(fault, code, "cannot write %s: %s", path, strerror(code));
}

/* Makes a file beside `path`, so that `path` is unchanged after a failure. */
static int save_beside(const char *journal_folder,
                       const recording_options_t *options,
                       export_format_t format, const char *path, char *beside,
                       fault_t *fault)
{
    int fd = mkostemp(beside, O_CLOEXEC);
    FILE *out = fd < 0 ? NULL : fdopen(fd, "w");

    if (!out)
        return refuse_path(path, errno, fault);
    int result = export_write(journal_folder, options, format, out, fault);
    bool is_flushed = fsync(fd) == 0;
    if ((fclose(out) != 0 || !is_flushed)
        && (result == 0 || result == -EBADMSG))
        return fault_set(fault, EIO, "%s cannot be written", path);
    return result;
}

int export_save(const char *journal_folder, const recording_options_t *options,
                export_format_t format, const char *path, fault_t *fault)
{
    cleanup_free char *beside = mem_format("%s.XXXXXX", path);

    int result =
        save_beside(journal_folder, options, format, path, beside, fault);
    if (result < 0 && result != -EBADMSG) {
        unlink(beside);
        return result;
    }
    if (rename(beside, path) < 0) {
        refuse_path(path, errno, fault);
        unlink(beside);
        return -fault->code;
    }
    return result;
}
