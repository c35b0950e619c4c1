/* Rewriting one segment of a journal with less in it. The journal decides
 * which and when. */
#ifndef HEARTH_NOTEBOOKS_JOURNAL_COMPACTION_H
#define HEARTH_NOTEBOOKS_JOURNAL_COMPACTION_H

#include "base/buffer.h"
#include "notebooks/journal/segment.h"

/* Takes a whole, closed segment file and appends to `out` the file that
 * replaces it in `stage` (COMPACTED or EMPTIED). -EBADMSG when the segment is
 * damaged: what was changed is never chained anew. */
int compaction_run(const buffer_t *segment, segment_stage_t stage,
                   const segment_key_t *key, buffer_t *out, fault_t *fault);

/* Appends the hashes of the blobs that a segment refers to. Stops at what it
 * cannot read and returns -EBADMSG: then nothing may be removed. */
int compaction_list_blobs(const buffer_t *segment, const segment_key_t *key,
                          buffer_t *hashes, fault_t *fault);

#endif
