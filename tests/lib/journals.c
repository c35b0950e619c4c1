/* See journals.h. */
#include "tests/lib/journals.h"

#include "base/fd.h"
#include "notebooks/journal/append.h"
#include "tests/lib/temporary.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const uint8_t journals_key[32] = "a key of a test, 32 bytes long..";

int journals_make_folder(void **state)
{
    *state = temporary_folder("journal");
    return *state ? 0 : -1;
}

int journals_remove_folder(void **state)
{
    cleanup_free char *folder = *state;
    fault_t fault;

    return path_remove_tree(folder, &fault);
}

journal_t *journals_open(const char *folder, uint64_t bytes_max,
                         uint64_t spill_min)
{
    journal_options_t options = {bytes_max, spill_min};
    journal_t *journal = NULL;
    uint64_t torn = 0;
    fault_t fault = {0};

    if (journal_open(folder, journals_key, &options, &journal, &torn, &fault)
        < 0)
        fail_msg("%s", fault.text);
    return journal;
}

journal_reader_t *journals_read(const char *folder, uint64_t since)
{
    journal_reader_t *reader = NULL;
    fault_t fault = {0};

    if (journal_reader_new(folder, journals_key, since, &reader, &fault) < 0)
        fail_msg("%s", fault.text);
    return reader;
}

bytes_t journals_part(const char *text)
{
    return text_bytes(text);
}

int journals_try(journal_t *journal, journal_kind_t kind, uint64_t request,
                 const char *type, bytes_t content, fault_t *fault)
{
    journal_record_t record = {
        .kind = kind,
        .wall_us = 1700000000000000,
        .request = request,
        .header = journals_part("{\"msg_id\":\"x\"}"),
        .content = content,
    };

    snprintf(record.type, sizeof(record.type), "%s", type);
    return journal_append(journal, &record, fault);
}

void journals_append(journal_t *journal, journal_kind_t kind, uint64_t request,
                     const char *type, const char *content)
{
    fault_t fault = {0};

    if (journals_try(journal, kind, request, type, text_bytes(content), &fault)
        < 0)
        fail_msg("%s", fault.text);
}

int journals_next(journal_reader_t *reader, journal_record_t *ret_record)
{
    fault_t fault = {0};
    int result = journal_reader_next(reader, ret_record, &fault);

    if (result < 0)
        fail_msg("%s", fault.text);
    return result;
}

bool journals_content_is(const journal_record_t *record, const char *text)
{
    return record->content.size == strlen(text)
           && memcmp(record->content.bytes, text, strlen(text)) == 0;
}

uint64_t journals_count(const char *folder, uint64_t since)
{
    cleanup_journal_reader journal_reader_t *reader =
        journals_read(folder, since);
    journal_record_t record;
    uint64_t count = 0;

    while (journals_next(reader, &record))
        count++;
    return count;
}

char *journals_segment_path(const char *folder, unsigned number)
{
    return mem_format("%s/journal-%06u.log", folder, number);
}

unsigned journals_count_blobs(const char *folder)
{
    cleanup_free char *path = mem_format("%s/blobs", folder);
    DIR *blobs = opendir(path);
    unsigned count = 0;

    if (!blobs)
        return 0;
    for (struct dirent *file = readdir(blobs); file; file = readdir(blobs))
        count += file->d_name[0] != '.';
    closedir(blobs);
    return count;
}

int journals_result(const char *folder, const uint8_t *with)
{
    cleanup_journal_reader journal_reader_t *reader = NULL;
    journal_record_t record;
    fault_t fault = {0};
    int result = journal_reader_new(folder, with, 0, &reader, &fault);

    if (result < 0)
        return result;
    while ((result = journal_reader_next(reader, &record, &fault)) > 0)
        continue;
    return result;
}
