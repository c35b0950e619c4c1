/* The second reading of a journal: cells are opened by their first record,
 * closed by the last one that the plan knows, and given on in the notebook's
 * order. It belongs to one export. */
#include "notebooks/recording/recording.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "notebooks/journal/head.h"
#include "notebooks/json/member.h"
#include "notebooks/recording/cell_builder.h"
#include "notebooks/recording/cell_index.h"
#include "notebooks/recording/cell_spool.h"
#include "notebooks/recording/downloads.h"
#include "notebooks/recording/widgets.h"
#include "protocol/jspan.h"

#include <errno.h>
#include <string.h>

/* A cell of the plan on its way. */
typedef struct {
    cell_builder_t *open;     /* owned; between its first and its last record */
    cell_spool_place_t place; /* where the next cell waits, if it does */
    bool is_finished;
} cell_slot_t;

typedef struct {
    const recording_options_t *options; /* borrowed */
    recording_sink_fn *sink;
    void *arg;                /* of the sink */
    cell_index_t plan;        /* owned */
    cell_slot_t *slots;       /* owned; one for each cell of the plan */
    size_t next;              /* in plan.order: what the sink waits for */
    cell_spool_t *cell_spool; /* owned; finished cells that wait */
    journal_reader_t *reader; /* owned */
    journal_reader_t *second; /* owned; for displays; NULL until needed */
    const char *folder;       /* borrowed */
    downloads_t downloads;    /* owned; as far as the records were read */
    widgets_t widgets;        /* owned; as far as the records were read */
    json_t *language;         /* owned; language_info of the kernel, or NULL */
    json_t *tools;            /* owned; host tools by name, or NULL */
    char *profile;            /* owned; of its kernels, or NULL */
    bool has_kernel;          /* one was ready */
    bool is_reviving;         /* the next one is a revival's */
    bool is_fresh;            /* no cell has run in it yet, and it is not the
                                 first */
    char *end_reason;         /* owned; why the session is gone, or NULL */
    int64_t end_us;           /* when */
    int64_t begin_us;         /* of the first record */
} recording_t;

void recording_end_clear(recording_end_t *self)
{
    json_decref(self->metadata);
    *self = (recording_end_t){0};
}

static void recording_clear(recording_t *self)
{
    for (size_t i = 0; self->slots && i < self->plan.count; i++)
        cell_builder_destroy(&self->slots[i].open);
    free(self->slots);
    cell_spool_destroy(&self->cell_spool);
    journal_reader_destroy(&self->second);
    journal_reader_destroy(&self->reader);
    widgets_clear(&self->widgets);
    downloads_clear(&self->downloads);
    json_decref(self->language);
    json_decref(self->tools);
    free(self->profile);
    free(self->end_reason);
    cell_index_clear(&self->plan);
}
#define cleanup_recording CLEANUP(recording_clear)

/* ---- cells that are finished ---- */

static int give(recording_t *self, notebook_cell_t *cell, fault_t *fault)
{
    if (!self->options->is_whole)
        downloads_hide(notebook_cell_note(cell, "call"));
    redact_cell(self->options->mask, cell);
    return self->sink(cell, self->arg, fault);
}

/* Returns the cells that waited for the last one. */
static int give_waiting(recording_t *self, fault_t *fault)
{
    for (; self->next < self->plan.count; self->next++) {
        cell_slot_t *slot = &self->slots[self->plan.order[self->next]];
        cleanup_notebook_cell notebook_cell_t cell = {0};
        int result;

        if (!slot->is_finished)
            return 0;
        if ((result =
                 cell_spool_take(self->cell_spool, &slot->place, &cell, fault))
                < 0
            || (result = give(self, &cell, fault)) < 0)
            return result;
    }
    return 0;
}

static int finish(recording_t *self, size_t index, fault_t *fault)
{
    cell_slot_t *slot = &self->slots[index];
    cleanup_notebook_cell notebook_cell_t cell = {0};

    cell_builder_finish(slot->open, &cell);
    cell_builder_destroy(&slot->open);
    slot->is_finished = true;
    if (self->plan.order[self->next] != index)
        return cell_spool_put(self->cell_spool, &cell, &slot->place, fault);
    self->next++;
    int result = give(self, &cell, fault);
    return result < 0 ? result : give_waiting(self, fault);
}

/* Finishes the cells that are open when the records end: the journal is
 * damaged, or was compacted between the two readers. */
static int finish_all(recording_t *self, fault_t *fault)
{
    while (self->next < self->plan.count) {
        size_t index = self->plan.order[self->next];
        cell_slot_t *slot = &self->slots[index];
        int result = 0;

        if (slot->open)
            result = finish(self, index, fault);
        else if (slot->is_finished)
            result = give_waiting(self, fault);
        else
            self->next++;
        if (result < 0)
            return result;
    }
    return 0;
}

/* ---- records ---- */

/* Reads the record that has a display's last form. */
static bool read_last(recording_t *self, const cell_index_display_t *display,
                      uint64_t seq, journal_record_t *ret_record)
{
    fault_t fault = {0};

    if (!self->second
        && journal_reader_new(self->folder, self->options->key, seq,
                              &self->second, &fault)
               < 0)
        return false;
    return journal_reader_seek(self->second, &display->mark, &fault) == 0
           && journal_reader_next(self->second, ret_record, &fault) == 1;
}

/* Adds a record to its cell. Of a display that gets another form later, in
 * whichever cell, the newest outputs have that form already; updates before it
 * add nothing. */
static void add_to_cell(recording_t *self, cell_builder_t *open,
                        const journal_record_t *record, json_t *content)
{
    const cell_index_display_t *display =
        record->kind == JOURNAL_EVENT
            ? cell_index_display(&self->plan, display_id(content))
            : NULL;
    bool is_update = strcmp(record->type, "update_display_data") == 0;
    size_t size = record->content.size;
    journal_record_t last;

    if (display && display->seq > record->seq) {
        if (is_update)
            return;
        if (cell_index_shows_last(display, record->seq)
            && read_last(self, display, record->seq, &last)) {
            json_auto_t *form = record_object(last.content);
            json_object_set(content, "data", json_object_get(form, "data"));
            json_object_set(content, "metadata",
                            json_object_get(form, "metadata"));
            size = last.content.size;
        }
    }
    cell_builder_add(open, record, content, size);
}

/* Returns the open cell of the request that a state names; NULL if it is not
 * open. */
static cell_builder_t *find_open(const recording_t *self, const json_t *content)
{
    json_int_t request =
        json_integer_value(json_object_get(content, "request"));
    long index =
        request > 0 ? cell_index_of(&self->plan, (uint64_t) request) : -1;

    return index >= 0 ? self->slots[index].open : NULL;
}

/* Keeps what each tool was when it was registered last, as JSON text: the order
 * in a schema is that of the arguments. */
static void on_tools(recording_t *self, const journal_record_t *record)
{
    jspan_t content, tool;
    size_t cursor = 0;
    fault_t ignored;

    if (jspan_check(record->content.bytes, record->content.size, &content,
                    &ignored)
        < 0)
        return;
    if (!self->tools)
        self->tools = json_object();
    content = jspan_member(content, "tools");
    while (jspan_each(content, &cursor, NULL, &tool)) {
        cleanup_free char *name = jspan_text_new(jspan_member(tool, "name"));

        if (name)
            json_object_set_new(self->tools, name,
                                json_stringn(tool.text, tool.size));
    }
}

static void on_state(recording_t *self, const journal_record_t *record,
                     const json_t *content)
{
    cell_builder_t *open = find_open(self, content);
    json_t *language = json_object_get(content, "language_info");

    if (strcmp(record->type, "ready") == 0 && json_is_object(language)
        && json_is_string(json_object_get(language, "name"))) {
        json_decref(self->language);
        self->language = json_incref(language);
    }
    if (strcmp(record->type, "launch") == 0
        && *member_text(content, "profile")) {
        free(self->profile);
        self->profile = mem_text(member_text(content, "profile"));
    }
    if (strcmp(record->type, "reviving") == 0)
        self->is_reviving = true;
    if (strcmp(record->type, "ready") == 0) {
        self->is_fresh = self->has_kernel && !self->is_reviving;
        self->has_kernel = true;
        self->is_reviving = false;
    }
    if (open && strcmp(record->type, "input_reply") == 0)
        cell_builder_answer(open, content);
    if (open && strcmp(record->type, "tool_call") == 0)
        cell_builder_call(open, record, content);
    if (open && strcmp(record->type, "tool_result") == 0)
        cell_builder_called(open, record, content);
    if (strcmp(record->type, "tools") == 0)
        on_tools(self, record);
    downloads_add(&self->downloads, record, content);
    if (strcmp(record->type, "gone") == 0) {
        const char *reason = member_text(content, "reason");
        free(self->end_reason);
        self->end_reason = mem_text(*reason ? reason : "gone");
        self->end_us = record->wall_us;
    }
}

static int take(recording_t *self, const journal_record_t *record,
                fault_t *fault)
{
    long index = cell_index_at(&self->plan, record->seq);
    bool is_first = index >= 0;
    json_auto_t *content = NULL;

    if (!self->begin_us)
        self->begin_us = record->wall_us;
    if (record->kind == JOURNAL_STATE || is_first || widgets_wants(record))
        content = record_object(record->content);
    if (record->kind == JOURNAL_STATE)
        on_state(self, record, content);
    if (widgets_wants(record))
        widgets_add(&self->widgets, record, content);
    if (is_first && !self->slots[index].open && !self->slots[index].is_finished)
        self->slots[index].open = cell_builder_new(record, content);
    else if (!is_first)
        index = cell_index_of(&self->plan, record->request);
    if (index < 0 || !self->slots[index].open)
        return 0;
    if (!is_first) {
        if (!content)
            content = record_object(record->content);
        if (self->is_fresh)
            json_object_set_new(self->slots[index].open->notes, NOTEBOOK_FRESH,
                                json_true());
        self->is_fresh = false;
        add_to_cell(self, self->slots[index].open, record, content);
    }
    return self->plan.cells[index].last_seq == record->seq
               ? finish(self, (size_t) index, fault)
               : 0;
}

/* ---- the metadata of the notebook ---- */

/* Copies the members that nbformat's schema knows, if their types are right. */
static json_t *write_language(const json_t *from)
{
    static const char *const names[] = {
        "name",    "file_extension",     "mimetype", "pygments_lexer",
        "version", "nbconvert_exporter", NULL};
    json_t *language = json_pack("{s:s}", "name", "python");
    json_t *mode = json_object_get(from, "codemirror_mode");

    for (const char *const *name = names; *name; name++) {
        json_t *value = json_object_get(from, *name);
        if (json_is_string(value))
            json_object_set(language, *name, value);
    }
    if (json_is_string(mode) || json_is_object(mode))
        json_object_set(language, "codemirror_mode", mode);
    return language;
}

static json_t *list_tools(json_t *by_name)
{
    json_t *list = json_array();
    json_t *tool;
    const char *name;

    json_object_foreach(by_name, name, tool)
    {
        json_array_append(list, tool);
    }
    return list;
}

static json_t *write_metadata(const recording_t *self, const char *damage)
{
    json_t *own = json_object();

    if (self->options->session)
        json_object_set_new(own, "session",
                            json_string(self->options->session));
    if (self->profile)
        json_object_set_new(own, "profile", json_string(self->profile));
    if (self->begin_us)
        json_object_set_new(own, "began", record_time(self->begin_us));
    if (self->reader)
        json_object_set_new(
            own, "seq",
            json_integer((json_int_t) journal_reader_head(self->reader).seq));
    if (self->end_reason) {
        json_object_set_new(own, "ended", record_time(self->end_us));
        json_object_set_new(own, "reason", json_string(self->end_reason));
    }
    if (damage)
        json_object_set_new(own, "damage", json_string(damage));
    if (self->tools)
        json_object_set_new(own, "tools", list_tools(self->tools));
    downloads_write(&self->downloads, own);
    for (const char *const *name = downloads_members; *name; name++) {
        json_t *member = json_incref(json_object_get(own, *name));

        redact_json(self->options->mask, &member);
        if (member)
            json_object_set_new(own, *name, member);
    }
    if (self->widgets.is_cut)
        json_object_set_new(own, "widgets_cut", json_true());
    json_t *widgets = widgets_json(&self->widgets);
    redact_json(self->options->mask, &widgets);
    return json_pack("{s:{s:s, s:s, s:s}, s:o, s:o, s:o*}", "kernelspec",
                     "display_name", "Python 3 (hearth)", "language", "python",
                     "name", self->profile ? self->profile : "hearth",
                     "language_info", write_language(self->language), "hearth",
                     own, "widgets", widgets);
}

/* ---- the whole ---- */

static int make_plan(recording_t *self, fault_t *fault)
{
    cleanup_journal_reader journal_reader_t *reader = NULL;
    int result =
        journal_reader_new(self->folder, self->options->key, 0, &reader, fault);

    return result < 0 ? result : cell_index_make(&self->plan, reader, fault);
}

/* Returns 0, or a failure of the sink. The plan reports failures of the
 * journal. */
static int read_records(recording_t *self, fault_t *fault)
{
    journal_record_t record;
    fault_t ignored = {0};
    int result = journal_reader_new(self->folder, self->options->key, 0,
                                    &self->reader, fault);

    while (result == 0
           && journal_reader_next(self->reader, &record, &ignored) == 1) {
        result = take(self, &record, fault);
        if (record.seq >= self->plan.seq_last)
            break;
    }
    return result < 0 ? result : finish_all(self, fault);
}

/* Checks the end. A journal that ends before the record that its head names was
 * cut off. If a gateway has opened the journal again since then, a record of
 * its own reports that. */
static int check_end(const recording_t *self, const journal_head_t *promised,
                     fault_t *fault)
{
    if (self->plan.cut_to)
        return fault_set(fault, EBADMSG,
                         "%s: it was cut off once: records %llu to %llu are "
                         "missing",
                         self->folder, (unsigned long long) self->plan.cut_from,
                         (unsigned long long) self->plan.cut_to);
    if (promised->seq <= self->plan.seq_last)
        return 0;
    return fault_set(fault, EBADMSG,
                     "%s: it was cut off: records %llu to %llu are missing",
                     self->folder, (unsigned long long) self->plan.seq_last + 1,
                     (unsigned long long) promised->seq);
}

int recording_read(const char *journal_folder,
                   const recording_options_t *options, recording_sink_fn *sink,
                   void *arg, recording_end_t *ret_end, fault_t *fault)
{
    cleanup_recording recording_t self = {
        .options = options, .folder = journal_folder, .sink = sink, .arg = arg};
    journal_head_t promised = {0};
    fault_t ignored = {0};

    /* Before anything is read: the journal may grow meanwhile. */
    journal_head_read(journal_folder, options->key, &promised, &ignored);
    int damage = make_plan(&self, fault);
    if (damage == 0)
        damage = check_end(&self, &promised, fault);
    if (damage < 0 && damage != -EBADMSG)
        return damage;
    self.slots = mem_new((self.plan.count + 1) * sizeof *self.slots);
    self.cell_spool = cell_spool_new();
    fault_t failure = {0};
    int result = self.plan.seq_last ? read_records(&self, &failure) : 0;
    if (result < 0) {
        *fault = failure;
        return result;
    }
    *ret_end = (recording_end_t){
        .metadata = write_metadata(&self, damage < 0 ? fault->text : NULL)};
    if (self.reader)
        ret_end->head = journal_reader_head(self.reader);
    return damage;
}

static int keep(notebook_cell_t *cell, void *arg, fault_t *fault)
{
    (void) fault;
    notebook_add(arg, cell);
    return 0;
}

int recording_notebook(const char *journal_folder,
                       const recording_options_t *options,
                       notebook_t *ret_notebook, fault_t *fault)
{
    cleanup_notebook notebook_t notebook = {0};
    cleanup_recording_end recording_end_t end = {0};

    int result =
        recording_read(journal_folder, options, keep, &notebook, &end, fault);
    if (result < 0 && result != -EBADMSG)
        return result;
    notebook.metadata = take_ptr(end.metadata);
    *ret_notebook = notebook;
    notebook = (notebook_t){0};
    return result;
}
