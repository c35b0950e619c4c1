/* Transfers that take several requests: a file out, a file in, a long listing.
 * Pieces are named by their offsets, so that a piece that comes twice does no
 * harm. In the thread for files. */
#include "gateway/files/transfer.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "gateway/files/quota.h"
#include "protocol/piece_digest.h"
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

#define QUIET_MS 600000 /* a transfer without requests ends after this time */

struct transfers {
    transfer_t *first; /* owned */
    size_t count;
};

transfers_t *transfers_new(void)
{
    return mem_new(sizeof(transfers_t));
}

static void transfer_destroy(transfer_t **self_p)
{
    transfer_t *self = *self_p;

    reader_destroy(&self->reader);
    writer_destroy(&self->writer);
    walk_destroy(&self->walk);
    file_hash_clear(&self->hash);
    free(self->who);
    free(self->path);
    free(self);
    *self_p = NULL;
}

static void note_copy(files_thread_t *self, transfer_t *transfer,
                      const char *what, const char *outcome, uint64_t size,
                      json_t *sha256)
{
    transfer->is_audited = true;
    files_note(self, &(file_event_t){.who = transfer->who,
                                     .session = transfer->session,
                                     .what = what,
                                     .path = transfer->path,
                                     .outcome = outcome,
                                     .details = json_pack("{s:I,s:O}", "size",
                                                          (json_int_t) size,
                                                          "sha256", sha256)});
}

void transfer_end(files_thread_t *self, transfer_t *transfer)
{
    transfer_t **at = &self->transfers->first;

    if (!transfer->is_audited && !transfer->walk) {
        json_auto_t *unknown = json_null();

        note_copy(self, transfer, transfer->writer ? "put" : "get",
                  "broken off", transfer->hash.hashed, unknown);
    }
    while (*at != transfer)
        at = &(*at)->next;
    *at = transfer->next;
    self->transfers->count--;
    transfer_destroy(&transfer);
}

static void end_all(files_thread_t *self, int64_t touched_before)
{
    transfer_t *next;

    for (transfer_t *at = self->transfers->first; at; at = next) {
        next = at->next;
        if (at->touched < touched_before)
            transfer_end(self, at);
    }
}

void transfers_sweep(files_thread_t *self)
{
    end_all(self, clock_monotonic_ms() - QUIET_MS);
}

void transfers_destroy(files_thread_t *self)
{
    end_all(self, INT64_MAX);
    free(self->transfers);
    self->transfers = NULL;
}

usage_t transfers_usage(const files_thread_t *self, const char *session)
{
    usage_t sum = {0};

    for (const transfer_t *at = self->transfers->first; at; at = at->next)
        if (at->writer && strcmp(at->session, session) == 0) {
            sum.bytes += at->stored;
            sum.files++;
        }
    return sum;
}

int transfer_new(files_thread_t *self, const file_request_t *request,
                 const char *path, transfer_t **ret_transfer, fault_t *fault)
{
    transfer_t *transfer;
    uint8_t number[8];

    if (self->transfers->count >= TRANSFERS_MAX)
        return fault_set(fault, EBUSY,
                         "%d transfers are running, the most that is "
                         "permitted; try again later",
                         TRANSFERS_MAX);
    transfer = mem_new(sizeof *transfer);
    randombytes_buf(number, sizeof number);
    sodium_bin2hex(transfer->id, sizeof transfer->id, number, sizeof number);
    snprintf(transfer->session, sizeof transfer->session, "%s",
             request->session);
    transfer->who = mem_text(request->who);
    transfer->path = mem_text(path);
    file_hash_begin(&transfer->hash);
    transfer->touched = clock_monotonic_ms();
    transfer->next = self->transfers->first;
    self->transfers->first = transfer;
    self->transfers->count++;
    *ret_transfer = transfer;
    return 0;
}

int transfer_find(files_thread_t *self, const file_request_t *request,
                  transfer_t **ret_transfer, fault_t *fault)
{
    const char *id =
        json_string_value(json_object_get(request->content, "transfer"));

    for (transfer_t *at = self->transfers->first; at && id; at = at->next)
        if (strcmp(at->id, id) == 0) {
            at->touched = clock_monotonic_ms();
            *ret_transfer = at;
            return 0;
        }
    return fault_set(fault, EBADMSG,
                     "there is no such transfer; it has ended, or was not used "
                     "for %d minutes",
                     QUIET_MS / 60000);
}

static int get_offset(const file_request_t *request, const char *key,
                      uint64_t *ret_value, fault_t *fault)
{
    const json_t *value = json_object_get(request->content, key);

    if (value && (!json_is_integer(value) || json_integer_value(value) < 0))
        return fault_set(fault, EINVAL, "%s must be a whole number, 0 or more",
                         key);
    *ret_value = (uint64_t) json_integer_value(value);
    return 0;
}

int transfer_on_get(files_thread_t *self, const file_request_t *request,
                    json_t **ret_answer, fault_t *fault)
{
    cleanup_free char *path = NULL;
    cleanup_fd int root = -1;
    cleanup_reader reader_t *reader = NULL;
    bool may_grow = json_is_true(json_object_get(request->content, "growing"));
    transfer_t *transfer;
    int r;

    if ((r = files_path(request->content, "path", &path, fault)) < 0
        || (r = files_root(request, &root, fault)) < 0
        || (r = reader_new(root, path, may_grow, &reader, fault)) < 0
        || (r = transfer_new(self, request, path, &transfer, fault)) < 0)
        return r;
    transfer->reader = take_ptr(reader);
    *ret_answer = json_pack("{s:s,s:o}", "transfer", transfer->id, "entry",
                            files_entry(path, reader_status(transfer->reader)));
    return 0;
}

int transfer_on_read(files_thread_t *self, const file_request_t *request,
                     json_t **ret_answer, fault_t *fault)
{
    char sum[PIECE_DIGEST_SIZE];
    transfer_t *transfer;
    uint64_t offset, size, end;
    piece_t piece;
    int r;

    if ((r = transfer_find(self, request, &transfer, fault)) < 0
        || (r = get_offset(request, "offset", &offset, fault)) < 0
        || (r = get_offset(request, "size", &size, fault)) < 0)
        return r;
    if (!transfer->reader)
        return fault_set(fault, EBADMSG, "the transfer is not for reading");
    if (!size || size > FILES_PIECE_MAX)
        size = FILES_PIECE_MAX;
    r = reader_read(transfer->reader, offset,
                    buffer_reserve(request->out, (size_t) size), (size_t) size,
                    &piece, fault);
    if (r < 0)
        return r;
    request->out->size = piece.size;
    file_hash_add(&transfer->hash, offset,
                  piece.hole ? NULL : request->out->data,
                  piece.hole ? piece.hole : piece.size);
    piece_digest((bytes_t){request->out->data, piece.size}, sum);
    end = (uint64_t) reader_status(transfer->reader)->st_size;
    *ret_answer = json_pack(
        "{s:I,s:I,s:I,s:s,s:b,s:b}", "offset", (json_int_t) offset, "size",
        (json_int_t) piece.size, "hole", (json_int_t) piece.hole, "digest", sum,
        "end", offset + piece.size + piece.hole >= end, "grown",
        reader_has_grown(transfer->reader));
    if (offset + piece.size + piece.hole >= end && !transfer->is_audited) {
        json_t *sha256 = file_hash_json(&transfer->hash, end);

        json_object_set_new(*ret_answer, "sha256", sha256);
        note_copy(self, transfer, "get", "ok", end, sha256);
    }
    return 0;
}

int transfer_on_put(files_thread_t *self, const file_request_t *request,
                    json_t **ret_answer, fault_t *fault)
{
    cleanup_free char *path = NULL;
    cleanup_fd int root = -1;
    cleanup_writer writer_t *writer = NULL;
    bool replaces =
        !json_is_false(json_object_get(request->content, "replace"));
    transfer_t *transfer;
    int r;

    if ((r = files_path(request->content, "path", &path, fault)) < 0
        || (r = files_root(request, &root, fault)) < 0
        || (r = quota_check(self, request->session, (usage_t){.files = 1},
                            fault))
               < 0
        || (r = writer_new(root, path, replaces, &writer, fault)) < 0
        || (r = transfer_new(self, request, path, &transfer, fault)) < 0)
        return r;
    transfer->writer = take_ptr(writer);
    *ret_answer = json_pack("{s:s}", "transfer", transfer->id);
    return 0;
}

static int find_put(files_thread_t *self, const file_request_t *request,
                    transfer_t **ret_transfer, fault_t *fault)
{
    int r = transfer_find(self, request, ret_transfer, fault);

    if (r == 0 && !(*ret_transfer)->writer)
        return fault_set(fault, EBADMSG, "the transfer is not for writing");
    return r;
}

/* Checks that the piece is whole, and that its place is the next one. */
static int check_piece(const file_request_t *request, uint64_t offset,
                       uint64_t have, fault_t *fault)
{
    const char *sum =
        json_string_value(json_object_get(request->content, "digest"));
    char ours[PIECE_DIGEST_SIZE];

    if (offset > have)
        return fault_set(fault, EBADMSG,
                         "the piece at %" PRIu64 " leaves a gap: %" PRIu64
                         " bytes are there",
                         offset, have);
    if (request->data.size > FILES_PIECE_MAX)
        return fault_set(fault, EBADMSG, "a piece has at most %u bytes",
                         FILES_PIECE_MAX);
    piece_digest(request->data, ours);
    if (!sum || strcmp(sum, ours) != 0)
        return fault_set(fault, EBADMSG,
                         "the piece at %" PRIu64 " was damaged in transit",
                         offset);
    return 0;
}

int transfer_on_write(files_thread_t *self, const file_request_t *request,
                      json_t **ret_answer, fault_t *fault)
{
    transfer_t *transfer;
    uint64_t offset, hole, have;
    int r;

    if ((r = find_put(self, request, &transfer, fault)) < 0
        || (r = get_offset(request, "offset", &offset, fault)) < 0
        || (r = get_offset(request, "hole", &hole, fault)) < 0)
        return r;
    have = writer_size(transfer->writer);
    r = check_piece(request, offset, have, fault);
    if (r < 0)
        return r;
    /* A piece that is there already came twice. */
    if (offset == have) {
        const bytes_t *data = &request->data;

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
            file_hash_add(&transfer->hash, offset, NULL, hole);
        if (data->size)
            file_hash_add(&transfer->hash, offset + hole, data->bytes,
                          data->size);
    }
    *ret_answer = json_pack("{s:I}", "offset",
                            (json_int_t) writer_size(transfer->writer));
    return 0;
}

int transfer_on_commit(files_thread_t *self, const file_request_t *request,
                       json_t **ret_answer, fault_t *fault)
{
    transfer_t *transfer;
    uint64_t size, have;
    int r;

    if ((r = find_put(self, request, &transfer, fault)) < 0
        || (r = get_offset(request, "size", &size, fault)) < 0)
        return r;
    have = writer_size(transfer->writer);
    if (size != have)
        return fault_set(fault, EBADMSG,
                         "%" PRIu64 " bytes arrived, %" PRIu64
                         " were announced",
                         have, size);
    r = writer_commit(transfer->writer, fault);
    if (r < 0)
        return r;
    quota_count(self, transfer->session,
                (usage_t){.bytes = transfer->stored, .files = 1},
                writer_replaced(transfer->writer));
    *ret_answer = json_pack("{s:I,s:o}", "size", (json_int_t) size, "sha256",
                            file_hash_json(&transfer->hash, size));
    note_copy(self, transfer, "put", "ok", size,
              json_object_get(*ret_answer, "sha256"));
    transfer_end(self, transfer);
    return 0;
}

int transfer_on_close(files_thread_t *self, const file_request_t *request,
                      json_t **ret_answer, fault_t *fault)
{
    transfer_t *transfer;
    int r = transfer_find(self, request, &transfer, fault);

    if (r < 0)
        return r;
    transfer_end(self, transfer);
    *ret_answer = json_object();
    return 0;
}
