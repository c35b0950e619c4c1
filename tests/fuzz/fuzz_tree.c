/* Invented tree files. What the reader accepts leads down, and has no more
 * bytes than the file. */
#include "workspace/tree_reader.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "workspace/name.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Checks that name_path takes the name as it is. */
static void check_path(const tree_entry_t *entry)
{
    cleanup_free char *text = name_text(entry->path), *path = NULL;
    fault_t fault;

    if (name_path(text, strlen(text), &path, &fault) < 0
        || strcmp(path, entry->path) != 0
        || (entry->type != TREE_END && !*path))
        abort();
}

static uint64_t read_content(tree_reader_t *reader, const tree_entry_t *entry)
{
    uint64_t sum = 0;
    bytes_t piece;
    fault_t fault;

    do {
        if (tree_reader_content(reader, 1 + sum % 5000, &piece, &fault) < 0)
            abort(); /* the file does not change */
        sum += piece.size;
    } while (piece.size);
    if (sum != entry->size)
        abort();
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    cleanup_tree_reader tree_reader_t *reader = NULL;
    int fd = memfd_create("tree", MFD_CLOEXEC);
    tree_entry_t entry = {.type = TREE_FOLDER};
    fault_t fault = {0};
    uint64_t sum = 0;

    if (fd < 0 || fd_write_all(fd, bytes, size, &fault) < 0
        || tree_reader_new(&fd, &reader, &fault) < 0)
        abort();
    while (entry.type != TREE_END
           && tree_reader_next(reader, &entry, &fault) == 0) {
        check_path(&entry);
        if ((entry.type == TREE_LINK) != (entry.target != NULL)
            || (entry.target && !*entry.target))
            abort();
        sum += 16 + strlen(entry.path) + read_content(reader, &entry)
               + (entry.target ? strlen(entry.target) : 0);
    }
    if (entry.type == TREE_END ? sum != size : !*fault.text || sum > size)
        abort();
    return 0;
}
