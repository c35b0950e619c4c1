/* Tree files (workspace/tree_reader.h), well made or not. */
#ifndef HEARTH_TESTS_LIB_TREE_FILE_H
#define HEARTH_TESTS_LIB_TREE_FILE_H

#include "base/buffer.h"
#include "base/fd.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Adds the head of a record. */
static inline void tree_head(buffer_t *tree, char type, uint32_t name_size,
                             uint64_t size)
{
    uint8_t head[16] = {(uint8_t) type};

    for (int i = 0; i < 4; i++)
        head[4 + i] = (uint8_t) (name_size >> 8 * i);
    for (int i = 0; i < 8; i++)
        head[8 + i] = (uint8_t) (size >> 8 * i);
    buffer_append(tree, head, sizeof head);
}

/* Adds a whole record. */
static inline void tree_add(buffer_t *tree, char type, const char *name,
                            bytes_t content)
{
    tree_head(tree, type, (uint32_t) strlen(name), content.size);
    buffer_text(tree, name);
    buffer_append(tree, content.bytes, content.size);
}

static inline void tree_text(buffer_t *tree, char type, const char *name,
                             const char *content)
{
    tree_add(tree, type, name, text_bytes(content));
}

/* Adds that many files, "name-0" and so on, of four bytes each. */
static inline void tree_files(buffer_t *tree, const char *name, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        cleanup_free char *path = mem_format("%s-%u", name, i);

        tree_text(tree, 'f', path, "text");
    }
}

/* Adds one file of that size. */
static inline void tree_big(buffer_t *tree, const char *name, size_t size)
{
    cleanup_free char *bytes = mem_new(size + 1);

    memset(bytes, 'b', size);
    tree_text(tree, 'f', name, bytes);
}

/* Opens it for reading alone, as a worker hands it over. */
static inline int tree_open(const buffer_t *tree)
{
    cleanup_fd int made = memfd_create("tree", MFD_CLOEXEC);
    cleanup_free char *path = mem_format("/proc/self/fd/%d", made);
    fault_t fault;

    if (made < 0 || fd_write_all(made, tree->data, tree->size, &fault) < 0)
        abort();
    return open(path, O_RDONLY | O_CLOEXEC);
}

#endif
