/* Invented segments. Without the key no input gets past the first hash, so most
 * inputs are signed here. All records that a holder of the key could write (or
 * any program, without a key) are then read, compacted, exported and continued.
 * The first byte decides how. */
#include "base/buffer.h"
#include "base/fd.h"
#include "notebooks/journal/compaction.h"
#include "notebooks/journal/segment.h"
#include "notebooks/journal/writer.h"
#include "notebooks/recording/export.h"

#include "notebooks/journal/append.h"
#include "notebooks/journal/reader.h"
#include "tests/fuzz/scratch.h"

#include <sodium.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static char path[64];

static void prepare(void)
{
    if (path[0])
        return;
    if (sodium_init() < 0)
        abort();
    scratch_make();
    snprintf(path, sizeof(path), "%s/journal-000001.log", scratch);
}

/* Makes the checks and the chain of all records good, as far as they go. */
static void sign(buffer_t *segment, const segment_key_t *key)
{
    segment_header_t header = {.number = 1, .first_seq = 1};
    uint8_t chain[SEGMENT_HASH_SIZE];

    segment_header_encode(&header, key, segment->data);
    segment_chain_start(&header, key, chain);
    for (size_t at = SEGMENT_HEADER_SIZE;
         at + RECORD_HEADER_SIZE <= segment->size;) {
        uint8_t *entry = segment->data + at;
        size_t rest = segment->size - at - RECORD_HEADER_SIZE;
        memcpy(entry, "HJR1", 4);
        size_t body_size = le_get32(entry + 96) % 512;
        le_put32(entry + 96, (uint32_t) body_size);
        crypto_shorthash(entry + 104, entry, 104, key->check);
        if (body_size > rest)
            return;
        bytes_t body = {entry + RECORD_HEADER_SIZE, body_size};
        record_chain(entry, &body, 1, key, chain);
        at += RECORD_HEADER_SIZE + body_size;
    }
}

static void read_all(void)
{
    cleanup_journal_reader journal_reader_t *reader = NULL;
    journal_record_t record;
    fault_t fault;
    size_t sum = 0;

    if (journal_reader_new(scratch, NULL, 0, &reader, &fault) < 0)
        return;
    while (journal_reader_next(reader, &record, &fault) > 0) {
        for (size_t i = 0; i < record.buffer_count; i++)
            sum += record.buffers[i].size;
        sum += record.content.size + strlen(record.type);
    }
    if (sum > (1u << 30))
        abort();
}

static void export_all(void)
{
    static const export_format_t formats[] = {EXPORT_IPYNB, EXPORT_MARKDOWN,
                                              EXPORT_SCRIPT, EXPORT_JSONL};
    recording_options_t options = {0};
    fault_t fault;

    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        char *text = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&text, &size);
        if (!out)
            abort();
        export_write(scratch, &options, formats[i], out, &fault);
        fclose(out);
        free(text);
    }
}

static void append_one(void)
{
    cleanup_journal journal_t *journal = NULL;
    journal_record_t record = {
        .kind = JOURNAL_STATE, .type = "idle", .content = {"{}", 2}};
    fault_t fault;

    if (journal_open(scratch, NULL, NULL, &journal, NULL, &fault) == 0
        && journal_append(journal, &record, &fault) < 0)
        abort();
}

/* Checks that a compacted segment is whole. */
static void compact(const buffer_t *segment, const segment_key_t *key)
{
    cleanup_buffer buffer_t once = BUFFER_EMPTY;
    cleanup_buffer buffer_t twice = BUFFER_EMPTY;
    fault_t fault;

    if (compaction_run(segment, SEGMENT_COMPACTED, key, &once, &fault) < 0)
        return;
    if (compaction_run(&once, SEGMENT_EMPTIED, key, &twice, &fault) < 0)
        abort();
    buffer_clear(&once);
    if (compaction_list_blobs(&twice, key, &once, &fault) < 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    cleanup_buffer buffer_t segment = BUFFER_EMPTY;
    segment_key_t key;
    fault_t fault;

    prepare();
    segment_key_set(&key, NULL);
    if (size < 1 + SEGMENT_HEADER_SIZE)
        return 0;
    buffer_append(&segment, bytes + 1, size - 1);
    if (bytes[0] & 1)
        sign(&segment, &key);
    compact(&segment, &key);
    if (file_write_atomic(path, 0600, segment.data, segment.size, &fault) < 0)
        return 0;
    read_all();
    export_all();
    append_one();
    return 0;
}
