/* A journal stays below its bound: the oldest segments lose their outputs, then
 * all that they have, and blobs that no record refers to go. */
#include "notebooks/journal/retention.h"

#include "base/fd.h"
#include "notebooks/journal/blobs.h"
#include "notebooks/journal/compaction.h"
#include "notebooks/journal/open_segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* Removes the blobs to which no record refers, and returns the bytes of the
 * others. If a segment cannot be read to its end, all stay. */
static uint64_t sweep(journal_t *self)
{
    cleanup_buffer buffer_t bytes = BUFFER_EMPTY;
    cleanup_buffer buffer_t hashes = BUFFER_EMPTY;
    fault_t fault;

    for (uint64_t number = 1; number <= self->number; number++)
        if (segment_load(self->folder_fd, number, &bytes, &fault) < 0
            || compaction_list_blobs(&bytes, &self->key, &hashes, &fault) < 0)
            return blobs_bytes(self->folder_fd);
    return blobs_sweep(self->folder_fd, hashes.data,
                       hashes.size / BLOB_HASH_SIZE);
}

static int replace_segment(journal_t *self, const char *name,
                           const buffer_t *bytes, fault_t *fault)
{
    cleanup_fd int fd =
        openat(self->folder_fd, JOURNAL_UNFINISHED,
               O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return journal_fail(self, errno, JOURNAL_UNFINISHED, fault);
    int result = fd_write_all(fd, bytes->data, bytes->size, fault);
    if (result < 0) {
        unlinkat(self->folder_fd, JOURNAL_UNFINISHED, 0);
        return result;
    }
    if (renameat(self->folder_fd, JOURNAL_UNFINISHED, self->folder_fd, name)
        < 0)
        return journal_fail(self, errno, name, fault);
    return 0;
}

static int compact(journal_t *self, closed_t *closed, segment_stage_t stage,
                   fault_t *fault)
{
    cleanup_buffer buffer_t bytes = BUFFER_EMPTY;
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    uint64_t blobs = blobs_bytes(self->folder_fd);
    char name[SEGMENT_NAME_SIZE];

    segment_name(closed->number, name);
    int result = segment_load(self->folder_fd, closed->number, &bytes, fault);
    if (result < 0)
        return result;
    result = compaction_run(&bytes, stage, &self->key, &out, fault);
    if (result < 0) {
        closed->is_damaged = true;
        return result;
    }
    result = replace_segment(self, name, &out, fault);
    if (result < 0)
        return result;
    self->bytes -= closed->size;
    self->bytes += out.size;
    closed->size = out.size;
    closed->stage = stage;
    self->compactions++;
    if (blobs) {
        self->bytes -= blobs;
        self->bytes += sweep(self);
    }
    return 0;
}

/* Returns the oldest segment that still has something to give; NULL if no
 * segment has. */
static closed_t *next_to_compact(journal_t *self, segment_stage_t stage)
{
    for (size_t i = 0; i < self->closed_count; i++)
        if (!self->closed[i].is_damaged && self->closed[i].stage < stage)
            return &self->closed[i];
    return NULL;
}

void journal_keep_bound(journal_t *self)
{
    fault_t fault;

    while (self->bytes > self->options.bytes_max) {
        segment_stage_t stage = SEGMENT_COMPACTED;
        closed_t *closed = next_to_compact(self, stage);
        if (!closed && self->weight > self->segment_max) {
            if (journal_rotate(self, &fault) < 0)
                break;
            continue;
        }
        if (!closed) {
            stage = SEGMENT_EMPTIED;
            closed = next_to_compact(self, stage);
        }
        if (!closed)
            break;
        bool was_damaged = closed->is_damaged;
        if (compact(self, closed, stage, &fault) < 0
            && closed->is_damaged == was_damaged)
            break;
    }
    self->compact_at = self->options.bytes_max;
    if (self->bytes > self->options.bytes_max)
        self->compact_at = self->bytes + self->segment_max;
}
