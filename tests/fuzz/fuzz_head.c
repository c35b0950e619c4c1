/* Invented heads of a journal, beside a journal of some records. The first byte
 * decides about the records and the signature; without the key no head is
 * accepted. A gateway that opens such a journal continues after the noted
 * record, uses no number twice, and leaves a whole journal. */
#include "base/buffer.h"
#include "base/fd.h"
#include "notebooks/journal/head.h"
#include "notebooks/journal/writer.h"

#include "notebooks/journal/append.h"
#include "notebooks/journal/reader.h"
#include "tests/fuzz/scratch.h"

#include <sodium.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEAD_SIZE 64
#define MAC_AT    48

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static const uint8_t secret[32] = "a key of thirty-two bytes, fixed";
static char log_folder[64];

static void prepare(void)
{
    fault_t fault;

    if (log_folder[0]) {
        path_remove_tree(log_folder, &fault);
        return;
    }
    if (sodium_init() < 0)
        abort();
    scratch_make();
    snprintf(log_folder, sizeof log_folder, "%s/journal", scratch);
}

/* Returns the last record's number. */
static uint64_t append(unsigned count)
{
    cleanup_journal journal_t *journal = NULL;
    journal_record_t record = {
        .kind = JOURNAL_STATE, .type = "idle", .content = {"{}", 2}};
    fault_t fault;

    if (journal_open(log_folder, secret, NULL, &journal, NULL, &fault) < 0)
        abort();
    while (count--)
        if (journal_append(journal, &record, &fault) < 0)
            abort();
    return journal_last_seq(journal);
}

static void write_head(const uint8_t *bytes, size_t size, bool is_signed)
{
    cleanup_free char *path = mem_format("%s/head", log_folder);
    uint8_t head[2 * HEAD_SIZE] = {0};
    segment_key_t key;
    fault_t fault;

    if (size > sizeof head)
        size = sizeof head;
    if (size)
        memcpy(head, bytes, size);
    if (is_signed) {
        segment_key_set(&key, secret);
        memcpy(head, "HEARTHH1", 8);
        memset(head + 32, 0, MAC_AT - 32);
        if (head[15] == 0x3f || head[15] == 0x40)
            head[15] = 0; /* what follows would go past what is believed */
        crypto_generichash(head + MAC_AT, HEAD_SIZE - MAC_AT, head, MAC_AT,
                           key.chain, sizeof key.chain);
        size = HEAD_SIZE;
    }
    if (file_write_atomic(path, 0600, head, size, &fault) < 0)
        abort();
}

/* Records in their order, the last one last; the note agrees. */
static void check_whole(uint64_t last)
{
    cleanup_journal_reader journal_reader_t *reader = NULL;
    journal_record_t record;
    journal_head_t head, read;
    uint64_t before = 0;
    fault_t fault;
    int r;

    if (journal_reader_new(log_folder, secret, 0, &reader, &fault) < 0)
        abort();
    while ((r = journal_reader_next(reader, &record, &fault)) > 0) {
        if (record.seq <= before)
            abort();
        before = record.seq;
    }
    if (r < 0 || before != last
        || journal_head_read(log_folder, secret, &head, &fault) < 0)
        abort();
    read = journal_reader_head(reader);
    if (head.seq != last || read.seq != last
        || memcmp(head.chain, read.chain, sizeof head.chain) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    cleanup_free char *path = NULL;
    journal_head_t head = {0};
    fault_t fault;

    if (!size)
        return 0;
    prepare();
    uint64_t before = append(bytes[0] >> 1 & 7);
    write_head(bytes + 1, size - 1, bytes[0] & 1);
    int r = journal_head_read(log_folder, secret, &head, &fault);
    if ((r < 0) != (r == -EBADMSG) || (r < 0 && head.seq))
        abort();
    uint64_t after = append(2);
    uint64_t noted = head.seq > before ? head.seq + 1 : before;
    if (after != noted + 2)
        abort();
    check_whole(after);
    return 0;
}
