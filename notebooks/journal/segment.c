/* Segment files of the journal: encode, check, decode. Two checks guard a
 * record. A short one over its header comes first, so that a length is
 * believed only when it was written so: then an entry that reaches past the
 * end of the file is one that was not finished, never one that was changed.
 * The chain's hash covers everything, and the hash before it. */
#include "notebooks/journal/segment.h"

#include <sodium.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define SEGMENT_VERSION 1
#define RECORD_MAGIC    0x31524a48u /* "HJR1" */
#define SPILLED         0x80000000u

/* Offsets in a segment's header. */
enum {
    AT_MAGIC = 0,
    AT_VERSION = 8,
    AT_STAGE = 12,
    AT_NUMBER = 16,
    AT_FIRST = 24,
    AT_KERNEL = 32,
    AT_SIZE = 40,
    AT_PREVIOUS = 64,
    AT_ORIGINAL = 80,
    AT_END = 96,
    AT_HASH = 112,
};

/* Offsets in an entry's header. */
enum {
    RECORD_AT_MAGIC = 0,
    RECORD_AT_KIND = 4,
    RECORD_AT_BUFFERS = 6,
    RECORD_AT_SEQ = 8,
    RECORD_AT_WALL = 16,
    RECORD_AT_REQUEST = 24,
    RECORD_AT_KERNEL = 32,
    RECORD_AT_TYPE = 40,
    RECORD_AT_LENGTHS = 80,
    RECORD_AT_BODY = 96,
    RECORD_AT_CHECK = 104,
    RECORD_AT_CHAIN = 112,
};

static const char magic[8] = {'H', 'E', 'A', 'R', 'T', 'H', 'J', '1'};

/* Without a key the chain still finds accidents, only not malice. */
static const uint8_t public_key[32] = "hearth journal: the public key 1";

void le_put32(uint8_t *to, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t) (value >> (8 * i));
}

void le_put64(uint8_t *to, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        to[i] = (uint8_t) (value >> (8 * i));
}

uint32_t le_get32(const uint8_t *from)
{
    uint32_t value = 0;
    for (int i = 0; i < 4; i++)
        value |= (uint32_t) from[i] << (8 * i);
    return value;
}

uint64_t le_get64(const uint8_t *from)
{
    return le_get32(from) | (uint64_t) le_get32(from + 4) << 32;
}

void segment_key_set(segment_key_t *self, const uint8_t *key)
{
    memcpy(self->chain, key ? key : public_key, sizeof(self->chain));
    crypto_generichash(self->check, sizeof(self->check),
                       (const uint8_t *) "check", 5, self->chain,
                       sizeof(self->chain));
}

void segment_name(uint64_t number, char ret_name[SEGMENT_NAME_SIZE])
{
    snprintf(ret_name, SEGMENT_NAME_SIZE, "journal-%06llu.log",
             (unsigned long long) number);
}

bool segment_number(const char *name, uint64_t *ret_number)
{
    unsigned long long number;
    char expected[SEGMENT_NAME_SIZE];

    if (sscanf(name, "journal-%llu.log", &number) != 1 || !number)
        return false;
    segment_name(number, expected);
    if (strcmp(name, expected) != 0)
        return false;
    *ret_number = number;
    return true;
}

int segment_load(int folder, uint64_t number, buffer_t *ret_bytes,
                 fault_t *fault)
{
    char name[SEGMENT_NAME_SIZE];
    struct stat there;

    segment_name(number, name);
    cleanup_fd int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 || fstat(fd, &there) < 0)
        return fault_set(fault, errno, "%s: %s", name, strerror(errno));
    buffer_clear(ret_bytes);
    uint8_t *to = buffer_reserve(ret_bytes, (size_t) there.st_size + 1);
    while (ret_bytes->size < (size_t) there.st_size) {
        ssize_t got = read(fd, to + ret_bytes->size,
                           (size_t) there.st_size - ret_bytes->size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fault_set(fault, errno, "%s: %s", name, strerror(errno));
        if (got == 0)
            break;
        ret_bytes->size += (size_t) got;
    }
    return 0;
}

static void hash(const void *bytes, size_t size, const segment_key_t *key,
                 uint8_t ret_hash[SEGMENT_HASH_SIZE])
{
    crypto_generichash(ret_hash, SEGMENT_HASH_SIZE, bytes, size, key->chain,
                       sizeof(key->chain));
}

void segment_header_encode(const segment_header_t *self,
                           const segment_key_t *key,
                           uint8_t ret_bytes[SEGMENT_HEADER_SIZE])
{
    memset(ret_bytes, 0, SEGMENT_HEADER_SIZE);
    memcpy(ret_bytes + AT_MAGIC, magic, sizeof(magic));
    le_put32(ret_bytes + AT_VERSION, SEGMENT_VERSION);
    le_put32(ret_bytes + AT_STAGE, self->stage);
    le_put64(ret_bytes + AT_NUMBER, self->number);
    le_put64(ret_bytes + AT_FIRST, self->first_seq);
    le_put64(ret_bytes + AT_KERNEL, self->kernel_seq);
    le_put64(ret_bytes + AT_SIZE, self->size);
    memcpy(ret_bytes + AT_PREVIOUS, self->previous, SEGMENT_HASH_SIZE);
    memcpy(ret_bytes + AT_ORIGINAL, self->original, SEGMENT_HASH_SIZE);
    memcpy(ret_bytes + AT_END, self->end, SEGMENT_HASH_SIZE);
    hash(ret_bytes, AT_HASH, key, ret_bytes + AT_HASH);
}

int segment_header_decode(const uint8_t bytes[SEGMENT_HEADER_SIZE],
                          const segment_key_t *key,
                          segment_header_t *ret_header)
{
    uint8_t expected[SEGMENT_HASH_SIZE];

    hash(bytes, AT_HASH, key, expected);
    if (memcmp(bytes + AT_MAGIC, magic, sizeof(magic)) != 0
        || le_get32(bytes + AT_VERSION) != SEGMENT_VERSION
        || le_get32(bytes + AT_STAGE) > SEGMENT_EMPTIED
        || sodium_memcmp(bytes + AT_HASH, expected, sizeof(expected)) != 0)
        return -EBADMSG;
    ret_header->stage = (segment_stage_t) le_get32(bytes + AT_STAGE);
    ret_header->number = le_get64(bytes + AT_NUMBER);
    ret_header->first_seq = le_get64(bytes + AT_FIRST);
    ret_header->kernel_seq = le_get64(bytes + AT_KERNEL);
    ret_header->size = le_get64(bytes + AT_SIZE);
    memcpy(ret_header->previous, bytes + AT_PREVIOUS, SEGMENT_HASH_SIZE);
    memcpy(ret_header->original, bytes + AT_ORIGINAL, SEGMENT_HASH_SIZE);
    memcpy(ret_header->end, bytes + AT_END, SEGMENT_HASH_SIZE);
    return 0;
}

void segment_chain_start(const segment_header_t *self, const segment_key_t *key,
                         uint8_t ret_chain[SEGMENT_HASH_SIZE])
{
    uint8_t bytes[16 + SEGMENT_HASH_SIZE];

    le_put64(bytes, self->number);
    le_put64(bytes + 8, self->first_seq);
    memcpy(bytes + 16, self->previous, SEGMENT_HASH_SIZE);
    hash(bytes, sizeof(bytes), key, ret_chain);
}

void record_header_encode(const journal_record_t *record,
                          const uint32_t lengths[RECORD_PARTS],
                          size_t body_size, const segment_key_t *key,
                          uint8_t ret_bytes[RECORD_HEADER_SIZE])
{
    assert(body_size <= RECORD_BODY_MAX);
    assert(record->buffer_count <= RECORD_BUFFERS_MAX);
    memset(ret_bytes, 0, RECORD_HEADER_SIZE);
    le_put32(ret_bytes + RECORD_AT_MAGIC, RECORD_MAGIC);
    ret_bytes[RECORD_AT_KIND] = (uint8_t) record->kind;
    ret_bytes[RECORD_AT_BUFFERS] = (uint8_t) record->buffer_count;
    ret_bytes[RECORD_AT_BUFFERS + 1] = (uint8_t) (record->buffer_count >> 8);
    le_put64(ret_bytes + RECORD_AT_SEQ, record->seq);
    le_put64(ret_bytes + RECORD_AT_WALL, (uint64_t) record->wall_us);
    le_put64(ret_bytes + RECORD_AT_REQUEST, record->request);
    le_put64(ret_bytes + RECORD_AT_KERNEL, record->kernel_seq);
    memcpy(ret_bytes + RECORD_AT_TYPE, record->type,
           strnlen(record->type, sizeof(record->type) - 1));
    for (size_t i = 0; i < RECORD_PARTS; i++)
        le_put32(ret_bytes + RECORD_AT_LENGTHS + 4 * i, lengths[i]);
    le_put32(ret_bytes + RECORD_AT_BODY, (uint32_t) body_size);
    crypto_shorthash(ret_bytes + RECORD_AT_CHECK, ret_bytes, RECORD_AT_CHECK,
                     key->check);
}

void record_chain(uint8_t header[RECORD_HEADER_SIZE], const bytes_t *body,
                  size_t pieces, const segment_key_t *key,
                  uint8_t chain[SEGMENT_HASH_SIZE])
{
    crypto_generichash_state state;

    crypto_generichash_init(&state, key->chain, sizeof(key->chain),
                            SEGMENT_HASH_SIZE);
    crypto_generichash_update(&state, chain, SEGMENT_HASH_SIZE);
    crypto_generichash_update(&state, header, RECORD_AT_CHAIN);
    for (size_t i = 0; i < pieces; i++)
        crypto_generichash_update(&state, body[i].bytes, body[i].size);
    crypto_generichash_final(&state, chain, SEGMENT_HASH_SIZE);
    memcpy(header + RECORD_AT_CHAIN, chain, SEGMENT_HASH_SIZE);
}

static void decode_header(const uint8_t *bytes, stored_record_t *ret_entry)
{
    journal_record_t *record = &ret_entry->record;

    memset(record, 0, sizeof(*record));
    record->kind = (journal_kind_t) bytes[RECORD_AT_KIND];
    record->buffer_count = (size_t) bytes[RECORD_AT_BUFFERS]
                           | (size_t) bytes[RECORD_AT_BUFFERS + 1] << 8;
    record->seq = le_get64(bytes + RECORD_AT_SEQ);
    record->wall_us = (int64_t) le_get64(bytes + RECORD_AT_WALL);
    record->request = le_get64(bytes + RECORD_AT_REQUEST);
    record->kernel_seq = le_get64(bytes + RECORD_AT_KERNEL);
    memcpy(record->type, bytes + RECORD_AT_TYPE, sizeof(record->type) - 1);
    for (size_t i = 0; i < RECORD_PARTS; i++)
        ret_entry->lengths[i] = le_get32(bytes + RECORD_AT_LENGTHS + 4 * i);
    ret_entry->body = bytes + RECORD_HEADER_SIZE;
    ret_entry->size = RECORD_HEADER_SIZE + le_get32(bytes + RECORD_AT_BODY);
}

/* Returns true if the lengths fill the body exactly. The chain does not show
 * it: a holder of the key can write wrong lengths, and without a key any
 * program can. */
static bool lengths_agree(const stored_record_t *entry)
{
    size_t body = entry->size - RECORD_HEADER_SIZE;
    size_t sum = 4 * entry->record.buffer_count;

    if (sum > body)
        return false;
    for (size_t i = 0; i < RECORD_PARTS + entry->record.buffer_count; i++) {
        uint32_t length = i < RECORD_PARTS
                              ? entry->lengths[i]
                              : le_get32(entry->body + 4 * (i - RECORD_PARTS));
        if ((length & SPILLED) && (length & ~SPILLED) != SEGMENT_REFERENCE_SIZE)
            return false;
        sum += length & ~SPILLED;
    }
    return sum == body;
}

int record_parse(const uint8_t *bytes, size_t size, const segment_key_t *key,
                 uint8_t chain[SEGMENT_HASH_SIZE], stored_record_t *ret_entry,
                 size_t *ret_needed)
{
    uint8_t check[crypto_shorthash_BYTES];
    uint8_t header[RECORD_HEADER_SIZE];
    uint8_t next[SEGMENT_HASH_SIZE];
    stored_record_t entry;

    *ret_needed = RECORD_HEADER_SIZE;
    if (size < RECORD_HEADER_SIZE)
        return 0;
    crypto_shorthash(check, bytes, RECORD_AT_CHECK, key->check);
    if (le_get32(bytes) != RECORD_MAGIC
        || sodium_memcmp(check, bytes + RECORD_AT_CHECK, sizeof(check)) != 0)
        return -EBADMSG;
    decode_header(bytes, &entry);
    if (entry.size > RECORD_HEADER_SIZE + (size_t) RECORD_BODY_MAX
        || entry.record.kind < JOURNAL_REQUEST
        || entry.record.kind > JOURNAL_GAP
        || entry.record.buffer_count > RECORD_BUFFERS_MAX)
        return -EBADMSG;
    *ret_needed = entry.size;
    if (size < entry.size)
        return 0;

    bytes_t body = {entry.body, entry.size - RECORD_HEADER_SIZE};
    memcpy(header, bytes, sizeof(header));
    memcpy(next, chain, sizeof(next));
    record_chain(header, &body, 1, key, next);
    if (sodium_memcmp(next, bytes + RECORD_AT_CHAIN, sizeof(next)) != 0
        || !lengths_agree(&entry))
        return -EBADMSG;
    memcpy(chain, next, sizeof(next));
    *ret_entry = entry;
    return 1;
}

bool record_each(const stored_record_t *self, size_t *cursor, size_t *offset,
                 bytes_t *ret_part, bool *ret_is_spilled)
{
    size_t count = self->record.buffer_count;
    uint32_t length;

    if (*cursor >= RECORD_PARTS + count)
        return false;
    if (*cursor < RECORD_PARTS)
        length = self->lengths[*cursor];
    else
        length = le_get32(self->body + 4 * (*cursor - RECORD_PARTS));
    ret_part->bytes = self->body + 4 * count + *offset;
    ret_part->size = length & ~SPILLED;
    *ret_is_spilled = (length & SPILLED) != 0;
    *offset += ret_part->size;
    (*cursor)++;
    return true;
}

uint64_t record_spilled(const stored_record_t *self)
{
    size_t cursor = 0;
    size_t offset = 0;
    uint64_t bytes = 0;
    bytes_t part;
    bool is_spilled;

    while (record_each(self, &cursor, &offset, &part, &is_spilled))
        if (is_spilled)
            bytes += le_get64(part.bytes);
    return bytes;
}
