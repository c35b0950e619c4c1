/* See verify.h. */
#include "notebooks/verify.h"

#include "notebooks/output_list.h"
#include "notebooks/seal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define PROBLEMS_MAX 100 /* that are told one by one */

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
static void check_told(verify_t *self, const journal_record_t *record)
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
        check_told(&self, &record);
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

/* A seal that is not even one adds nothing of its own. */
static const char *stated_seal(const json_t *own)
{
    const char *seal = text_member(own, "mac");
    return strlen(seal) == SEAL_HEX_SIZE - 1 ? seal : "";
}

/* True when the cell is as it was exported. */
static bool check_cell(verify_t *self, const seal_t *seal,
                       const notebook_cell_t *cell, size_t number)
{
    const char *stated = stated_seal(json_object_get(cell->metadata, "hearth"));
    char expected[SEAL_HEX_SIZE];

    if (!*stated) {
        say(self->problems, "cell %zu (%.64s) is not of the recording", number,
            cell->id);
        return false;
    }
    seal_cell(seal, cell, expected);
    if (sodium_memcmp(expected, stated, SEAL_HEX_SIZE) == 0)
        return true;
    say(self->problems, "cell %zu (%.64s) was changed", number, cell->id);
    return false;
}

/* The cells one by one, then their row: a seal that was taken out, put in or
 * moved changes the whole's. */
static void check_cells(verify_t *self, const notebook_t *notebook,
                        const uint8_t *key, const json_t *own,
                        const json_t *head)
{
    char expected[SEAL_HEX_SIZE];
    size_t good = 0;
    seal_t seal;
    long long exported = json_integer_value(json_object_get(head, "cells"));

    seal_init(&seal, key);
    for (size_t i = 0; i < notebook->count; i++) {
        const notebook_cell_t *cell = &notebook->cells[i];
        good += check_cell(self, &seal, cell, i + 1);
        const char *stated =
            stated_seal(json_object_get(cell->metadata, "hearth"));
        if (*stated)
            seal_add(&seal, stated);
    }
    seal_finish(&seal, text_member(own, "session"), &self->head, expected);
    if (strcmp(expected, stated_seal(head)) == 0)
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
}

static bool read_head(const json_t *head, journal_head_t *ret_head)
{
    const char *chain = text_member(head, "chain");
    json_int_t seq = json_integer_value(json_object_get(head, "seq"));
    size_t size = 0;

    *ret_head = (journal_head_t){.seq = seq > 0 ? (uint64_t) seq : 0};
    return seq >= 0
           && sodium_hex2bin(ret_head->chain, sizeof ret_head->chain, chain,
                             strlen(chain), NULL, &size, NULL)
                  == 0
           && size == sizeof ret_head->chain;
}

/* The journal up to the record that the notebook was made at. */
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
        say(self->problems, "its journal is another one");
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
