/* See tree_reader.h. One thread at a time. What was read from the file is
 * judged in memory, where no process can change it. */
#include "workspace/tree_reader.h"

#include "base/buffer.h"
#include "workspace/name.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#define HEAD          16
#define COMPONENT_MAX 255         /* NAME_MAX of Linux's file systems */
#define TARGET_MAX    4095        /* of a link: PATH_MAX without the NUL */
#define AHEAD         (64u << 10) /* bytes that one read gets */

struct tree_reader {
    int fd;         /* owned */
    uint64_t end;   /* size of the file when it was opened */
    uint64_t next;  /* where the next read begins */
    size_t at;      /* first byte of `ahead` that was not used */
    size_t size;    /* bytes in `ahead` */
    uint64_t left;  /* of the content of the last file */
    uint64_t count; /* records, for the faults */
    char path[PATH_BYTES_MAX + 1];
    char target[TARGET_MAX + 1];
    uint8_t ahead[AHEAD];
};

/* A record's head, as it is written. */
typedef struct {
    char type;
    bool has_zeros; /* where they belong */
    uint32_t name_size;
    uint64_t size;
} record_head_t;

void tree_reader_destroy(tree_reader_t **self_p)
{
    tree_reader_t *self = *self_p;

    if (!self)
        return;
    if (self->fd >= 0)
        close(self->fd);
    free(self);
    *self_p = NULL;
}

int tree_reader_new(int *fd_p, tree_reader_t **ret_reader, fault_t *fault)
{
    cleanup_tree_reader tree_reader_t *self = mem_new(sizeof *self);
    struct stat status;

    self->fd = take_fd(fd_p);
    if (fstat(self->fd, &status) < 0)
        return fault_errno(fault, "the tree file");
    if (!S_ISREG(status.st_mode))
        return fault_set(fault, EINVAL, "the tree file is not a plain file");
    self->end = (uint64_t) status.st_size;
    *ret_reader = take_ptr(self);
    return 0;
}

/* Returns how many bytes of the file were not used. */
static uint64_t rest(const tree_reader_t *self)
{
    return self->end - self->next + (self->size - self->at);
}

static int end_early(const tree_reader_t *self, fault_t *fault)
{
    return fault_set(fault, EPROTO,
                     "the tree file ends within record %" PRIu64
                     ": a tree ends with a record of type e",
                     self->count);
}

/* Reads bytes into `ahead`, which is used up. */
static int fill(tree_reader_t *self, fault_t *fault)
{
    uint64_t left = self->end - self->next;
    ssize_t got;

    do
        got = pread(self->fd, self->ahead, left < AHEAD ? (size_t) left : AHEAD,
                    (off_t) self->next);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return fault_errno(fault, "read the tree file");
    if (got == 0)
        return end_early(self, fault);
    self->at = 0;
    self->size = (size_t) got;
    self->next += (size_t) got;
    return 0;
}

/* Lends what is there, of `max` bytes at least one. */
static int take(tree_reader_t *self, size_t max, bytes_t *ret_piece,
                fault_t *fault)
{
    int r = self->at == self->size ? fill(self, fault) : 0;
    size_t there = self->size - self->at;

    if (r < 0)
        return r;
    *ret_piece = (bytes_t){self->ahead + self->at, there < max ? there : max};
    self->at += ret_piece->size;
    return 0;
}

static int read_whole(tree_reader_t *self, void *bytes, size_t size,
                      fault_t *fault)
{
    uint8_t *to = bytes;

    while (size) {
        bytes_t piece;
        int r = take(self, size, &piece, fault);

        if (r < 0)
            return r;
        (void) memcpy(to, piece.bytes, piece.size);
        to += piece.size;
        size -= piece.size;
    }
    return 0;
}

static uint64_t read_number(const uint8_t *bytes, size_t size)
{
    uint64_t number = 0;

    while (size--)
        number = number << 8 | bytes[size];
    return number;
}

static int read_head(tree_reader_t *self, record_head_t *ret_head,
                     fault_t *fault)
{
    uint8_t bytes[HEAD];
    int r = read_whole(self, bytes, sizeof bytes, fault);

    if (r < 0)
        return r;
    *ret_head =
        (record_head_t){.type = (char) bytes[0],
                        .has_zeros = !bytes[1] && !bytes[2] && !bytes[3],
                        .name_size = (uint32_t) read_number(bytes + 4, 4),
                        .size = read_number(bytes + 8, 8)};
    return 0;
}

/* Sizes that a record of each type may have. */
static const struct {
    char letter;
    tree_type_t type;
    uint32_t name_min, name_max;
    uint64_t size_min, size_max;
    const char *rule;
} types[] = {
    {'d', TREE_FOLDER, 1, PATH_BYTES_MAX, 0, 0,
     "a folder has a name of 1 to 4095 bytes, and no content"},
    {'f', TREE_FILE, 1, PATH_BYTES_MAX, 0, UINT64_MAX,
     "a file has a name of 1 to 4095 bytes"},
    {'x', TREE_EXECUTABLE, 1, PATH_BYTES_MAX, 0, UINT64_MAX,
     "a file has a name of 1 to 4095 bytes"},
    {'F', TREE_FILE, 1, PATH_BYTES_MAX, 0, UINT64_MAX,
     "a file has a name of 1 to 4095 bytes"},
    {'X', TREE_EXECUTABLE, 1, PATH_BYTES_MAX, 0, UINT64_MAX,
     "a file has a name of 1 to 4095 bytes"},
    {'l', TREE_LINK, 1, PATH_BYTES_MAX, 1, TARGET_MAX,
     "a link has a name of 1 to 4095 bytes, and a target of as many"},
    {'e', TREE_END, 0, 0, 0, 0, "the end has neither name nor content"},
};

static int check_head(const tree_reader_t *self, const record_head_t *head,
                      tree_type_t *ret_type, fault_t *fault)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (types[i].letter != head->type)
            continue;
        *ret_type = types[i].type;
        if (!head->has_zeros)
            return fault_set(fault, EPROTO,
                             "record %" PRIu64 " of the tree file has no "
                             "zeros after its type",
                             self->count);
        if (head->name_size >= types[i].name_min
            && head->name_size <= types[i].name_max
            && head->size >= types[i].size_min
            && head->size <= types[i].size_max)
            return 0;
        return fault_set(fault, EPROTO,
                         "record %" PRIu64 " of the tree file has a name of "
                         "%" PRIu32 " and a content of %" PRIu64 " bytes: %s",
                         self->count, head->name_size, head->size,
                         types[i].rule);
    }
    return fault_set(fault, EPROTO,
                     "record %" PRIu64 " of the tree file has the type 0x%02x; "
                     "it must be d, f, x, F, X, l or e",
                     self->count, (unsigned char) head->type);
}

/* Returns the rule that a component breaks; NULL if it breaks none. */
static const char *judge_component(const char *name, size_t size)
{
    if (size == 0)
        return "its components are separated by single slashes";
    if (size > COMPONENT_MAX)
        return "a component has at most 255 bytes";
    if ((size == 1 || size == 2) && memcmp(name, "..", size) == 0)
        return "no component is . or ..";
    return NULL;
}

static const char *judge_name(const char *name, size_t size)
{
    const char *end = name + size, *rule;
    unsigned depth = 0;

    if (memchr(name, '\0', size))
        return "a name has no NUL";
    for (const char *at = name; at <= end;) {
        const char *slash = memchr(at, '/', (size_t) (end - at));
        size_t length = (size_t) ((slash ? slash : end) - at);

        if ((rule = judge_component(at, length)))
            return rule;
        if (++depth > TREE_DEPTH_MAX)
            return "a name has at most 100 components";
        at += length + 1;
    }
    return NULL;
}

static int read_name(tree_reader_t *self, size_t size, fault_t *fault)
{
    cleanup_free char *text = NULL;
    const char *rule;
    int r = read_whole(self, self->path, size, fault);

    if (r < 0)
        return r;
    self->path[size] = '\0';
    if (!size || !(rule = judge_name(self->path, size)))
        return 0;
    text = name_text(self->path);
    return fault_set(fault, EPROTO,
                     "the name %.120s in the tree file is not valid: %s", text,
                     rule);
}

static int read_target(tree_reader_t *self, size_t size, fault_t *fault)
{
    int r = read_whole(self, self->target, size, fault);

    if (r < 0)
        return r;
    self->target[size] = '\0';
    if (!memchr(self->target, '\0', size))
        return 0;
    return fault_set(fault, EPROTO,
                     "record %" PRIu64 " of the tree file is a link whose "
                     "target has a NUL",
                     self->count);
}

/* Checks that the file has what the head says, before any of it is used. */
static int check_rest(const tree_reader_t *self, const record_head_t *head,
                      fault_t *fault)
{
    uint64_t left = rest(self);

    if (head->type == 'e' && left)
        return fault_set(
            fault, EPROTO,
            "the tree file goes on for %" PRIu64 " bytes after its end", left);
    return head->name_size > left || head->size > left - head->name_size
               ? end_early(self, fault)
               : 0;
}

int tree_reader_next(tree_reader_t *self, tree_entry_t *ret_entry,
                     fault_t *fault)
{
    tree_entry_t entry = {.path = self->path};
    record_head_t head;
    int r;

    assert(!self->left);
    self->count++;
    if ((r = read_head(self, &head, fault)) < 0
        || (r = check_head(self, &head, &entry.type, fault)) < 0
        || (r = check_rest(self, &head, fault)) < 0
        || (r = read_name(self, head.name_size, fault)) < 0)
        return r;
    if (entry.type == TREE_LINK) {
        if ((r = read_target(self, (size_t) head.size, fault)) < 0)
            return r;
        entry.target = self->target;
    } else {
        entry.size = self->left = head.size;
        entry.is_dated = head.type == 'F' || head.type == 'X';
    }
    *ret_entry = entry;
    return 0;
}

int tree_reader_content(tree_reader_t *self, size_t max, bytes_t *ret_piece,
                        fault_t *fault)
{
    bytes_t piece = {NULL, 0};
    int r = 0;

    if (max > self->left)
        max = (size_t) self->left;
    if (max && (r = take(self, max, &piece, fault)) < 0)
        return r;
    self->left -= piece.size;
    *ret_piece = piece;
    return 0;
}
