/* A tree of files in one file, as a worker that has no rights in a workspace
 * hands it over: read in pieces and in bounded memory, whatever it says.
 *
 * The file is a sequence of records: a head of 16 bytes, a name, a content.
 * The head is little-endian: u8 type, u8 zero[3], u32 size of the name, u64
 * size of the content.
 *
 * - `d`: a folder, without content. `f`: a file. `x`: an executable file.
 *   `F` and `X`: such files, with the time of TREE_DATE.
 *   `l`: a symbolic link, whose content is the target: 1 to 4095 bytes, no NUL.
 *   `e`: the end, without name and content. Nothing follows it.
 * - A name is the path below the tree: 1 to 4095 bytes, 100 components at most,
 *   separated by single slashes. A component has 1 to 255 bytes, no NUL, and is
 *   neither "." nor "..".
 * - A folder comes before what is in it, and no name comes twice. The reader
 *   keeps no names: who makes the tree sees a breach of these two. */
#ifndef HEARTH_WORKSPACE_TREE_READER_H
#define HEARTH_WORKSPACE_TREE_READER_H

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/fault.h"

#include <stdbool.h>
#include <stdint.h>

#define TREE_DEPTH_MAX 100       /* components of a name */
#define TREE_DATE      946684800 /* 2000-01-01, UTC: seconds since 1970 */

typedef enum {
    TREE_FOLDER,
    TREE_FILE,
    TREE_EXECUTABLE,
    TREE_LINK,
    TREE_END,
} tree_type_t;

/* One record; its texts are lent until the next one is read. */
typedef struct {
    tree_type_t type;
    const char *path;   /* bytes; "" of the end */
    const char *target; /* of a link; or NULL */
    uint64_t size;      /* of a file's content; 0 of all others */
    bool is_dated;      /* a file that gets the time of TREE_DATE */
} tree_entry_t;

typedef struct tree_reader tree_reader_t;

/* Takes a file that is open for reading. -EINVAL if it is no plain file. */
int tree_reader_new(int *fd_p, tree_reader_t **ret_reader, fault_t *fault);
void tree_reader_destroy(tree_reader_t **self_p);
#define cleanup_tree_reader CLEANUP(tree_reader_destroy)

/* Reads the next record; of a file before it, all content must have been read.
 * After TREE_END nothing may be read. Returns -EPROTO if a rule is broken, or
 * the file ends too early. After a failure nothing may be read. */
int tree_reader_next(tree_reader_t *self, tree_entry_t *ret_entry,
                     fault_t *fault);
/* Reads at most `max` more bytes of the content of the file that was read last.
 * *ret_piece is lent until the next call, and has no bytes at the end. */
int tree_reader_content(tree_reader_t *self, size_t max, bytes_t *ret_piece,
                        fault_t *fault);

#endif
