/* See verify.h. */
#include "notebooks/comparison/verify.h"

#include "base/buffer.h"
#include "notebooks/formats/notebook_mac.h"
#include "notebooks/journal/head.h"
#include "notebooks/journal/reader.h"
#include "notebooks/json/member.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define PROBLEMS_MAX 100 /* of these each is reported on its own */

void verify_clear(verify_t *self)
{
    json_decref(self->remarks);
    json_decref(self->problems);
    *self = (verify_t){0};
}

static void __attribute__((format(printf, 2, 3)))
say(json_t *list, const char *format, ...)
{
    char text[512];
    va_list arguments;

    if (json_array_size(list) >= PROBLEMS_MAX)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    json_array_append_new(list, json_string(text));
}

static void begin(verify_t *self)
{
    *self = (verify_t){.problems = json_array(), .remarks = json_array()};
}

/* ---- the journal ---- */

/* Losses that a gateway found when it came back stay in the journal. */
static void check_reported(verify_t *self, const journal_record_t *record)
{
    if (record->kind != JOURNAL_STATE || strcmp(record->type, "cut") != 0)
        return;
    json_auto_t *content =
        json_loadb(record->content.bytes, record->content.size, 0, NULL);
    say(self->problems,
        "records %lld to %lld were cut off before the gateway opened it again",
        (long long) json_integer_value(json_object_get(content, "from")),
        (long long) json_integer_value(json_object_get(content, "to")));
}

static void check_head(verify_t *self, const journal_head_t *promised)
{
    bool is_other =
        promised->seq && promised->seq == self->head.seq
        && memcmp(promised->chain, self->head.chain, sizeof promised->chain)
               != 0;

    if (is_other)
        say(self->problems, "its last record is not the one that was noted");
    if (!promised->seq && self->head.seq)
        say(self->remarks, "the journal has no head: whether records are "
                           "missing at its end cannot be known");
    if (promised->seq > self->head.seq)
        say(self->problems,
            "it was cut off: records %llu to %llu are missing at the end",
            (unsigned long long) self->head.seq + 1,
            (unsigned long long) promised->seq);
}

int verify_journal(const char *journal_folder, const uint8_t *key,
                   verify_t *ret_verify, fault_t *fault)
{
    cleanup_journal_reader journal_reader_t *reader = NULL;
    cleanup_verify verify_t self = {0};
    journal_head_t promised = {0};
    journal_record_t record;
    fault_t found = {0};

    begin(&self);
    if (journal_head_read(journal_folder, key, &promised, &found) == -EBADMSG)
        say(self.problems, "%s", found.text);
    int result = journal_reader_new(journal_folder, key, 0, &reader, &found);
    if (result < 0 && result != -EBADMSG) {
        *fault = found;
        return result;
    }
    while (result == 0
           && (result = journal_reader_next(reader, &record, &found)) == 1) {
        check_reported(&self, &record);
        self.records++;
        result = 0;
    }
    if (result < 0)
        say(self.problems, "%s", found.text);
    if (reader)
        self.head = journal_reader_head(reader);
    if (result == 0)
        check_head(&self, &promised);
    *ret_verify = self;
    self = (verify_t){0};
    return 0;
}

/* ---- a notebook ---- */

/* A malformed seal is ignored: the check of all seals reports it. */
static const char *stated_mac(const json_t *own)
{
    const char *mac = member_text(own, "mac");
    return strlen(mac) == NOTEBOOK_MAC_HEX_SIZE - 1 ? mac : "";
}

/* Returns true if the cell is as it was exported. */
static bool check_cell(verify_t *self, const notebook_mac_t *mac,
                       notebook_cell_t *cell, size_t number)
{
    const char *stated = stated_mac(json_object_get(cell->metadata, "hearth"));
    char expected[NOTEBOOK_MAC_HEX_SIZE];

    if (!*stated) {
        say(self->problems, "cell %zu (%.64s) is not of the recording", number,
            cell->id);
        return false;
    }
    notebook_cell_load(cell);
    notebook_mac_cell(mac, cell, expected);
    notebook_cell_unload(cell);
    if (sodium_memcmp(expected, stated, NOTEBOOK_MAC_HEX_SIZE) == 0)
        return true;
    say(self->problems, "cell %zu (%.64s) was changed", number, cell->id);
    return false;
}

/* Returns for each cell its place in the exported row, from 1 on; 0: none. */
static size_t *find_places(const notebook_t *notebook, const json_t *row)
{
    size_t *places = mem_new((notebook->count + 1) * sizeof *places);
    json_auto_t *by_id = json_object();
    size_t index;
    json_t *id;

    json_array_foreach(row, index, id)
    {
        if (json_is_string(id))
            json_object_set_new(by_id, json_string_value(id),
                                json_integer((json_int_t) index + 1));
    }
    for (size_t i = 0; i < notebook->count; i++)
        places[i] = (size_t) json_integer_value(
            json_object_get(by_id, notebook->cells[i].id));
    return places;
}

/* Marks the cells of a longest sequence that kept its order: the others are
 * those that were moved. */
static bool *find_kept(const size_t *places, size_t count)
{
    bool *is_kept = mem_new(count + 1);
    cleanup_free size_t *tails = mem_new((count + 1) * sizeof *tails);
    cleanup_free size_t *before = mem_new((count + 1) * sizeof *before);
    size_t length = 0;

    for (size_t i = 0; i < count; i++) {
        size_t low = 0, high = length;
        while (places[i] && low < high) {
            size_t middle = (low + high) / 2;
            if (places[tails[middle]] < places[i])
                low = middle + 1;
            else
                high = middle;
        }
        if (!places[i])
            continue;
        before[i] = low ? tails[low - 1] : count;
        tails[low] = i;
        if (low == length)
            length++;
    }
    for (size_t i = length ? tails[length - 1] : count; i < count;
         i = before[i])
        is_kept[i] = true;
    return is_kept;
}

/* Names the cells that were removed or moved. The row is not
 * sealed: it only explains what the seals have found. */
static void name_cells(verify_t *self, const notebook_t *notebook,
                       const json_t *row)
{
    cleanup_free size_t *places = find_places(notebook, row);
    cleanup_free bool *is_kept = find_kept(places, notebook->count);
    cleanup_free bool *is_here = mem_new(json_array_size(row) + 1);
    size_t index;
    json_t *id;

    for (size_t i = 0; i < notebook->count; i++) {
        is_here[places[i] ? places[i] - 1 : json_array_size(row)] = true;
        if (places[i] && !is_kept[i])
            say(self->problems, "cell %zu (%.64s) was moved: it was cell %zu",
                i + 1, notebook->cells[i].id, places[i]);
    }
    json_array_foreach(row, index, id)
    {
        if (!is_here[index] && json_is_string(id))
            say(self->problems, "cell %zu of the export (%.64s) was removed",
                index + 1, json_string_value(id));
    }
}

/* Checks the cells one by one, then their row. A seal that was taken out, put
 * in or moved changes that of the whole. */
static void check_cells(verify_t *self, const notebook_t *notebook,
                        const uint8_t *key, const json_t *own,
                        const json_t *head)
{
    char expected[NOTEBOOK_MAC_HEX_SIZE];
    size_t good = 0;
    notebook_mac_t mac;
    long long exported = json_integer_value(json_object_get(head, "cells"));

    notebook_mac_init(&mac, key);
    for (size_t i = 0; i < notebook->count; i++) {
        notebook_cell_t *cell = &notebook->cells[i];
        good += check_cell(self, &mac, cell, i + 1);
        const char *stated =
            stated_mac(json_object_get(cell->metadata, "hearth"));
        if (*stated)
            notebook_mac_add(&mac, stated);
    }
    notebook_mac_finish(&mac, member_text(own, "session"), &self->head,
                        expected);
    if (strcmp(expected, stated_mac(head)) == 0)
        return;
    if (notebook->count && !good) {
        json_array_clear(self->problems);
        say(self->problems, "no seal is good: it was sealed with another key, "
                            "or not by hearth");
        return;
    }
    say(self->problems,
        "cells were removed, added or moved, or the head was changed: %lld "
        "were exported, %zu are here",
        exported, notebook->count);
    name_cells(self, notebook, json_object_get(head, "row"));
}

static bool read_head(const json_t *head, journal_head_t *ret_head)
{
    const char *chain = member_text(head, "chain");
    json_int_t seq = json_integer_value(json_object_get(head, "seq"));
    size_t size = 0;

    *ret_head = (journal_head_t){.seq = seq > 0 ? (uint64_t) seq : 0};
    return seq >= 0
           && sodium_hex2bin(ret_head->chain, sizeof ret_head->chain, chain,
                             strlen(chain), NULL, &size, NULL)
                  == 0
           && size == sizeof ret_head->chain;
}

/* Checks the journal up to the record at which the notebook was made. */
static void check_journal(verify_t *self, const char *journal_folder,
                          const uint8_t *key)
{
    cleanup_journal_reader journal_reader_t *reader = NULL;
    journal_record_t record;
    journal_head_t at = {0};
    fault_t fault = {0};
    int result = journal_reader_new(journal_folder, key, 0, &reader, &fault);

    while (result >= 0 && at.seq < self->head.seq
           && (result = journal_reader_next(reader, &record, &fault)) == 1)
        at = journal_reader_head(reader);
    if (result < 0)
        say(self->problems, "its journal: %s", fault.text);
    else if (at.seq < self->head.seq)
        say(self->problems,
            "its journal was cut off: it ends with record %llu, the notebook "
            "was made at record %llu",
            (unsigned long long) at.seq, (unsigned long long) self->head.seq);
    else if (!journal_reader_is_original(reader))
        say(self->remarks, "the journal was compacted since: the notebook "
                           "cannot be compared with it");
    else if (at.seq != self->head.seq
             || memcmp(at.chain, self->head.chain, sizeof at.chain) != 0)
        say(self->problems, "its journal is a different one");
}

int verify_notebook(const notebook_t *notebook, const uint8_t *key,
                    const char *journal_folder, verify_t *ret_verify,
                    fault_t *fault)
{
    json_t *own = json_object_get(notebook->metadata, "hearth");
    json_t *head = json_object_get(own, "head");
    cleanup_verify verify_t self = {0};

    if (sodium_init() < 0)
        return fault_set(fault, EIO, "libsodium cannot be used");
    begin(&self);
    self.cells = notebook->count;
    if (!head) {
        say(self.problems, "it carries no seal: it was not exported by hearth, "
                           "or the seal was taken out");
    } else if (!read_head(head, &self.head)) {
        say(self.problems, "its head is damaged");
    } else {
        check_cells(&self, notebook, key, own, head);
        if (!journal_folder)
            say(self.remarks, "its journal is not here: it was not compared");
        else if (self.head.seq)
            check_journal(&self, journal_folder, key);
    }
    *ret_verify = self;
    self = (verify_t){0};
    return 0;
}
