/* What goes on over several requests: a file out, a file in, a long listing.
 * Pieces are named by their offsets, so that one that comes twice does no
 * harm. In the thread for files. */
#include "gateway/files/internal.h"

#include "base/clock.h"
#include "workspace/beneath.h"
#include "workspace/name.h"
#include "workspace/reader.h"
#include "workspace/walk.h"
#include "workspace/writer.h"

#include <sodium.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#define QUIET_MS       600000      /* a transfer that nobody asks for ends */
#define HASH_HOLES_MAX (64u << 20) /* zeros that are hashed; more: no hash */
#define DIGEST_SIZE    32          /* BLAKE2b, of a piece on its way */

static void transfer_destroy(transfer_t **self_p)
{
    transfer_t *self = *self_p;

    reader_destroy(&self->reader);
    writer_destroy(&self->writer);
    walk_destroy(&self->walk);
    EVP_MD_CTX_free(self->hash);
    free(self->who);
    free(self->path);
    free(self);
    *self_p = NULL;
}

static void note_copy(self_t *self, transfer_t *transfer, const char *what,
                      const char *outcome, uint64_t size, json_t *sha256)
{
    transfer->is_told = true;
    files_note(
        self, transfer->who, transfer->session, what, transfer->path, outcome,
        json_pack("{s:I,s:O}", "size", (json_int_t) size, "sha256", sha256));
}

void transfer_end(self_t *self, transfer_t *transfer)
{
    transfer_t **at = &self->transfers;

    if (!transfer->is_told && !transfer->walk) {
        json_auto_t *unknown = json_null();

        note_copy(self, transfer, transfer->writer ? "put" : "get",
                  "broken off", transfer->hashed, unknown);
    }
    while (*at != transfer)
        at = &(*at)->next;
    *at = transfer->next;
    self->transfer_count--;
    transfer_destroy(&transfer);
}

void transfer_sweep(self_t *self, bool all)
{
    int64_t now = clock_monotonic_ms();
    transfer_t *next;

    for (transfer_t *at = self->transfers; at; at = next) {
        next = at->next;
        if (all || at->touched + QUIET_MS < now)
            transfer_end(self, at);
    }
}

usage_t transfers_usage(const self_t *self, const char *session)
{
    usage_t sum = {0};

    for (const transfer_t *at = self->transfers; at; at = at->next)
        if (at->writer && strcmp(at->session, session) == 0) {
            sum.bytes += at->stored;
            sum.files++;
        }
    return sum;
}

int transfer_new(self_t *self, const errand_t *errand, const char *path,
                 transfer_t **ret_transfer, fault_t *fault)
{
    transfer_t *transfer;
    uint8_t number[8];

    if (self->transfer_count >= TRANSFERS_MAX)
        return fault_set(fault, EBUSY,
                         "%d transfers are under way, the most that there can "
                         "be; try again later",
                         TRANSFERS_MAX);
    transfer = mem_new(sizeof *transfer);
    randombytes_buf(number, sizeof number);
    sodium_bin2hex(transfer->id, sizeof transfer->id, number, sizeof number);
    snprintf(transfer->session, sizeof transfer->session, "%s",
             errand->session);
    transfer->who = mem_text(errand->who);
    transfer->path = mem_text(path);
    transfer->hash = EVP_MD_CTX_new();
    if (!transfer->hash
        || EVP_DigestInit_ex(transfer->hash, EVP_sha256(), NULL) != 1)
        abort();
    transfer->touched = clock_monotonic_ms();
    transfer->next = self->transfers;
    self->transfers = transfer;
    self->transfer_count++;
    *ret_transfer = transfer;
    return 0;
}

int transfer_find(self_t *self, const errand_t *errand,
                  transfer_t **ret_transfer, fault_t *fault)
{
    const char *id =
        json_string_value(json_object_get(errand->content, "transfer"));

    for (transfer_t *at = self->transfers; at && id; at = at->next)
        if (strcmp(at->id, id) == 0) {
            at->touched = clock_monotonic_ms();
            *ret_transfer = at;
            return 0;
        }
    return fault_set(fault, EBADMSG,
                     "there is no such transfer; it has ended, or nobody asked "
                     "for it for %d minutes",
                     QUIET_MS / 60000);
}

static void forget_hash(transfer_t *self)
{
    EVP_MD_CTX_free(self->hash);
    self->hash = NULL;
}

/* Bytes, or a hole when `bytes` is NULL. Only what comes in order counts. */
static void hash(transfer_t *self, uint64_t offset, const void *bytes,
                 uint64_t size)
{
    static const uint8_t zeros[64u << 10];

    if (!self->hash || offset != self->hashed) {
        if (offset > self->hashed)
            forget_hash(self);
        return;
    }
    self->hashed += size;
    if (bytes) {
        EVP_DigestUpdate(self->hash, bytes, (size_t) size);
        return;
    }
    self->holes += size;
    if (self->holes > HASH_HOLES_MAX || self->holes < size) {
        forget_hash(self);
        return;
    }
    for (uint64_t left = size; left;) {
        size_t part = left < sizeof zeros ? (size_t) left : sizeof zeros;

        EVP_DigestUpdate(self->hash, zeros, part);
        left -= part;
    }
}

/* The SHA-256 of the whole, as far as it is known. */
static json_t *hash_json(transfer_t *self, uint64_t size)
{
    uint8_t sum[EVP_MAX_MD_SIZE];
    char text[2 * EVP_MAX_MD_SIZE + 1];
    unsigned length = 0;

    if (!self->hash || self->hashed != size
        || EVP_DigestFinal_ex(self->hash, sum, &length) != 1) {
        forget_hash(self);
        return json_null();
    }
    forget_hash(self);
    return json_string(sodium_bin2hex(text, sizeof text, sum, length));
}

static void digest(const void *bytes, size_t size,
                   char ret_text[2 * DIGEST_SIZE + 1])
{
    uint8_t sum[DIGEST_SIZE];

    crypto_generichash(sum, sizeof sum, bytes, size, NULL, 0);
    sodium_bin2hex(ret_text, 2 * DIGEST_SIZE + 1, sum, sizeof sum);
}

static int get_offset(const errand_t *errand, const char *key,
                      uint64_t *ret_value, fault_t *fault)
{
    const json_t *value = json_object_get(errand->content, key);

    if (value && (!json_is_integer(value) || json_integer_value(value) < 0))
        return fault_set(fault, EINVAL, "%s must be a whole number, 0 or more",
                         key);
    *ret_value = (uint64_t) json_integer_value(value);
    return 0;
}

int files_on_get(self_t *self, const errand_t *errand, json_t **ret_answer,
                 fault_t *fault)
{
    cleanup_free char *path = NULL;
    cleanup_fd int root = -1;
    cleanup_reader reader_t *reader = NULL;
    bool may_grow = json_is_true(json_object_get(errand->content, "growing"));
    transfer_t *transfer;
    int r;

    if ((r = files_path(errand->content, "path", &path, fault)) < 0
        || (r = files_root(errand, &root, fault)) < 0
        || (r = reader_new(root, path, may_grow, &reader, fault)) < 0
        || (r = transfer_new(self, errand, path, &transfer, fault)) < 0)
        return r;
    transfer->reader = take_ptr(reader);
    *ret_answer = json_pack("{s:s,s:o}", "transfer", transfer->id, "entry",
                            files_entry(path, reader_status(transfer->reader)));
    return 0;
}

int files_on_read(self_t *self, const errand_t *errand, json_t **ret_answer,
                  fault_t *fault)
{
    char sum[2 * DIGEST_SIZE + 1];
    transfer_t *transfer;
    uint64_t offset, size, end;
    piece_t piece;
    int r;

    if ((r = transfer_find(self, errand, &transfer, fault)) < 0
        || (r = get_offset(errand, "offset", &offset, fault)) < 0
        || (r = get_offset(errand, "size", &size, fault)) < 0)
        return r;
    if (!transfer->reader)
        return fault_set(fault, EBADMSG, "the transfer is none of reading");
    if (!size || size > FILES_PIECE_MAX)
        size = FILES_PIECE_MAX;
    r = reader_read(transfer->reader, offset,
                    buffer_reserve(errand->out, (size_t) size), (size_t) size,
                    &piece, fault);
    if (r < 0)
        return r;
    errand->out->size = piece.size;
    hash(transfer, offset, piece.hole ? NULL : errand->out->data,
         piece.hole ? piece.hole : piece.size);
    digest(errand->out->data, piece.size, sum);
    end = (uint64_t) reader_status(transfer->reader)->st_size;
    *ret_answer = json_pack(
        "{s:I,s:I,s:I,s:s,s:b,s:b}", "offset", (json_int_t) offset, "size",
        (json_int_t) piece.size, "hole", (json_int_t) piece.hole, "digest", sum,
        "end", offset + piece.size + piece.hole >= end, "grown",
        reader_has_grown(transfer->reader));
    if (offset + piece.size + piece.hole >= end && !transfer->is_told) {
        json_t *sha256 = hash_json(transfer, end);

        json_object_set_new(*ret_answer, "sha256", sha256);
        note_copy(self, transfer, "get", "ok", end, sha256);
    }
    return 0;
}

int files_on_put(self_t *self, const errand_t *errand, json_t **ret_answer,
                 fault_t *fault)
{
    cleanup_free char *path = NULL;
    cleanup_fd int root = -1;
    cleanup_writer writer_t *writer = NULL;
    bool replaces = !json_is_false(json_object_get(errand->content, "replace"));
    transfer_t *transfer;
    int r;

    if ((r = files_path(errand->content, "path", &path, fault)) < 0
        || (r = files_root(errand, &root, fault)) < 0
        || (r = quota_check(self, errand->session, (usage_t){.files = 1},
                            fault))
               < 0
        || (r = writer_new(root, path, replaces, &writer, fault)) < 0
        || (r = transfer_new(self, errand, path, &transfer, fault)) < 0)
        return r;
    transfer->writer = take_ptr(writer);
    *ret_answer = json_pack("{s:s}", "transfer", transfer->id);
    return 0;
}

static int find_put(self_t *self, const errand_t *errand,
                    transfer_t **ret_transfer, fault_t *fault)
{
    int r = transfer_find(self, errand, ret_transfer, fault);

    if (r == 0 && !(*ret_transfer)->writer)
        return fault_set(fault, EBADMSG, "the transfer is none of writing");
    return r;
}

/* The piece is whole, and its place is the next one. */
static int check_piece(const errand_t *errand, uint64_t offset, uint64_t have,
                       fault_t *fault)
{
    const char *sum =
        json_string_value(json_object_get(errand->content, "digest"));
    char ours[2 * DIGEST_SIZE + 1];

    if (offset > have)
        return fault_set(fault, EBADMSG,
                         "the piece at %" PRIu64 " leaves a gap: %" PRIu64
                         " bytes are there",
                         offset, have);
    if (errand->data.size > FILES_PIECE_MAX)
        return fault_set(fault, EBADMSG, "a piece has at most %u bytes",
                         FILES_PIECE_MAX);
    digest(errand->data.bytes, errand->data.size, ours);
    if (!sum || strcmp(sum, ours) != 0)
        return fault_set(fault, EBADMSG,
                         "the piece at %" PRIu64 " was damaged on its way",
                         offset);
    return 0;
}

int files_on_write(self_t *self, const errand_t *errand, json_t **ret_answer,
                   fault_t *fault)
{
    transfer_t *transfer;
    uint64_t offset, hole, have;
    int r;

    if ((r = find_put(self, errand, &transfer, fault)) < 0
        || (r = get_offset(errand, "offset", &offset, fault)) < 0
        || (r = get_offset(errand, "hole", &hole, fault)) < 0)
        return r;
    have = writer_size(transfer->writer);
    r = check_piece(errand, offset, have, fault);
    if (r < 0)
        return r;
    /* One that is there already came twice. */
    if (offset == have) {
        const bytes_t *data = &errand->data;

        if ((r = quota_check(self, transfer->session,
                             (usage_t){.bytes = data->size}, fault))
                < 0
            || (hole && (r = writer_skip(transfer->writer, hole, fault)) < 0)
            || (data->size
                && (r = writer_write(transfer->writer, data->bytes, data->size,
                                     fault))
                       < 0))
            return r;
        transfer->stored += data->size;
        if (hole)
            hash(transfer, offset, NULL, hole);
        if (data->size)
            hash(transfer, offset + hole, data->bytes, data->size);
    }
    *ret_answer = json_pack("{s:I}", "offset",
                            (json_int_t) writer_size(transfer->writer));
    return 0;
}

int files_on_commit(self_t *self, const errand_t *errand, json_t **ret_answer,
                    fault_t *fault)
{
    transfer_t *transfer;
    uint64_t size, have;
    int r;

    if ((r = find_put(self, errand, &transfer, fault)) < 0
        || (r = get_offset(errand, "size", &size, fault)) < 0)
        return r;
    have = writer_size(transfer->writer);
    if (size != have)
        return fault_set(fault, EBADMSG,
                         "%" PRIu64 " bytes came, %" PRIu64 " were announced",
                         have, size);
    r = writer_commit(transfer->writer, fault);
    if (r < 0)
        return r;
    quota_count(self, transfer->session,
                (usage_t){.bytes = transfer->stored, .files = 1},
                writer_replaced(transfer->writer));
    *ret_answer = json_pack("{s:I,s:o}", "size", (json_int_t) size, "sha256",
                            hash_json(transfer, size));
    note_copy(self, transfer, "put", "ok", size,
              json_object_get(*ret_answer, "sha256"));
    transfer_end(self, transfer);
    return 0;
}

int files_on_close(self_t *self, const errand_t *errand, json_t **ret_answer,
                   fault_t *fault)
{
    transfer_t *transfer;
    int r = transfer_find(self, errand, &transfer, fault);

    if (r < 0)
        return r;
    transfer_end(self, transfer);
    *ret_answer = json_object();
    return 0;
}
