/* See file_copy.h. One piece is under way at a time, so its answer is the flow
 * control. Holes of a file stay holes where they can. */
#include "gateway/cli/client/file_copy.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "gateway/cli/core/progress.h"
#include "notebooks/json/member.h"
#include "protocol/piece_digest.h"
#include "workspace/name.h"

#include <czmq.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define PIECE (1u << 20)

char *file_copy_path(const char *operand)
{
    cleanup_buffer buffer_t bytes = BUFFER_EMPTY;
    buffer_t text = BUFFER_EMPTY;
    fault_t fault;

    if (name_unescape(operand, strlen(operand), &bytes, &fault) < 0) {
        fprintf(stderr, "hearth: %s\n", fault.text);
        return NULL;
    }
    name_escape(&text, bytes.data, bytes.size);
    return text.data ? (char *) text.data : mem_text("");
}

/* The target of a copy to this machine. */
typedef struct {
    int fd;           /* owned unless it is standard output */
    char *path;       /* owned; NULL: standard output */
    char *temporary;  /* owned; removed unless it got its name */
    bool is_seekable; /* holes can stay */
} target_t;

static void target_clear(target_t *self)
{
    if (self->temporary)
        unlink(self->temporary);
    if (self->path && self->fd >= 0)
        close(self->fd);
    free(self->temporary);
    free(self->path);
}
#define cleanup_target CLEANUP(target_clear)

static void complain_of(const char *name, const char *what)
{
    cleanup_free char *text = name_text(name);

    fprintf(stderr, "hearth: %s: %s\n", text, what);
}

/* Returns the local file to write. If the target is a folder, it is the
 * folder's file of the same name as the one in the workspace. */
static char *local_path(const char *local, const char *path)
{
    cleanup_buffer buffer_t name = BUFFER_EMPTY;
    struct stat status;
    fault_t fault;
    const char *last;

    if (stat(local, &status) < 0 || !S_ISDIR(status.st_mode)
        || name_unescape(path, strlen(path), &name, &fault) < 0)
        return mem_text(local);
    while (name.size && name.data[name.size - 1] == '/')
        name.data[--name.size] = '\0';
    last = strrchr((const char *) name.data, '/');
    return mem_format("%s/%s", local,
                      last ? last + 1 : (const char *) name.data);
}

static bool open_target(target_t *self, const char *local, const char *path)
{
    struct stat status;

    if (strcmp(local, "-") == 0) {
        self->fd = STDOUT_FILENO;
        self->is_seekable = false;
        return true;
    }
    self->path = local_path(local, path);
    /* A device or a FIFO is written to and not replaced. */
    if (stat(self->path, &status) == 0 && !S_ISREG(status.st_mode)) {
        self->fd = open(self->path, O_WRONLY | O_CLOEXEC);
    } else {
        self->temporary =
            mem_format("%s.hearth-%ld", self->path, (long) getpid());
        self->fd = open(self->temporary,
                        O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        self->is_seekable = true;
    }
    if (self->fd >= 0)
        return true;
    complain_of(self->path, strerror(errno));
    free(take_ptr(self->temporary));
    return false;
}

static bool finish_target(target_t *self, uint64_t size)
{
    if (!self->temporary)
        return true;
    if (ftruncate(self->fd, (off_t) size) < 0
        || rename(self->temporary, self->path) < 0) {
        complain_of(self->path, strerror(errno));
        return false;
    }
    free(take_ptr(self->temporary));
    return true;
}

static bool write_all(const target_t *self, const void *bytes, size_t size)
{
    const char *name = self->path ? self->path : "standard output";
    fault_t fault;

    if (fd_write_all(self->fd, bytes, size, &fault) == 0)
        return true;
    complain_of(name, strerror(fault.code));
    return false;
}

static bool write_hole(const target_t *self, uint64_t size)
{
    static const char zeros[64u << 10];

    if (self->is_seekable)
        return lseek(self->fd, (off_t) size, SEEK_CUR) >= 0;
    while (size) {
        size_t part = size < sizeof zeros ? (size_t) size : sizeof zeros;

        if (!write_all(self, zeros, part))
            return false;
        size -= part;
    }
    return true;
}

/* Copies one piece; false if it failed, which was printed. */
static bool take_piece(management_client_t *management, const char *transfer,
                       target_t *target, uint64_t *offset, json_t **ret_reply)
{
    cleanup_buffer buffer_t data = BUFFER_EMPTY;
    char sum[PIECE_DIGEST_SIZE];
    uint64_t hole;

    if (management_client_exchange(
            management, "files_read",
            json_pack("{s:s,s:I,s:I}", "transfer", transfer, "offset",
                      (json_int_t) *offset, "size", (json_int_t) PIECE),
            (bytes_t){0}, ret_reply, &data)
        != GATEWAY_EXIT_OK) {
        management_client_complain(management);
        return false;
    }
    piece_digest(buffer_bytes(&data), sum);
    if (strcmp(sum, member_text(*ret_reply, "digest")) != 0) {
        fputs("hearth: a piece of the file was damaged in transit\n", stderr);
        return false;
    }
    hole = member_count(*ret_reply, "hole");
    *offset += hole + data.size;
    return (!hole || write_hole(target, hole))
           && (!data.size || write_all(target, data.data, data.size));
}

/* Closes the transfer; its answer is not waited for. */
static void close_transfer(management_client_t *management,
                           const char *transfer)
{
    json_auto_t *reply = NULL;

    (void) management_client_ask(management, "files_close",
                                 json_pack("{s:s}", "transfer", transfer),
                                 &reply);
}

static bool take_all(management_client_t *management, const char *transfer,
                     const char *name, uint64_t size, target_t *target)
{
    cleanup_progress progress_t *progress = progress_new(name, size);
    uint64_t offset = 0;
    bool is_over = false, has_grown = false;

    while (!is_over) {
        json_auto_t *reply = NULL;

        if (!take_piece(management, transfer, target, &offset, &reply))
            return false;
        is_over = json_is_true(json_object_get(reply, "end"));
        has_grown = json_is_true(json_object_get(reply, "grown"));
        progress_show(progress, offset);
    }
    if (!finish_target(target, size))
        return false;
    if (has_grown)
        fprintf(stderr,
                "hearth: %s grew meanwhile; it was copied with its earlier "
                "size, %" PRIu64 " bytes\n",
                name, size);
    return true;
}

gateway_exit_t file_copy_out(management_client_t *management,
                             const char *session, const char *path,
                             const char *local, bool may_grow)
{
    cleanup_target target_t target = {.fd = -1};
    json_auto_t *reply = NULL;
    const char *transfer;
    const json_t *entry;
    gateway_exit_t status;
    bool is_done;

    status =
        management_client_call(management, "files_get",
                               json_pack("{s:s,s:s,s:b}", "id", session, "path",
                                         path, "growing", may_grow),
                               &reply);
    if (status != GATEWAY_EXIT_OK)
        return status;
    transfer = member_text(reply, "transfer");
    entry = json_object_get(reply, "entry");
    is_done = open_target(&target, local, path)
              && take_all(management, transfer, member_text(entry, "path"),
                          member_count(entry, "size"), &target);
    close_transfer(management, transfer);
    return is_done ? GATEWAY_EXIT_OK : GATEWAY_EXIT_FAILED;
}

/* Returns how many bytes from `offset` on are a hole in the file. */
static uint64_t find_hole(int fd, uint64_t offset, uint64_t size)
{
    off_t data;

    if (offset >= size)
        return 0;
    data = lseek(fd, (off_t) offset, SEEK_DATA);
    if (data < 0)
        return errno == ENXIO ? size - offset : 0;
    return (uint64_t) data - offset;
}

/* Reads the next piece of a local file, at most PIECE bytes. Returns its size;
 * 0 at the end. */
static ssize_t read_piece(int fd, bool is_file, uint64_t offset, char *bytes)
{
    size_t size = 0;
    ssize_t r = 1;

    while (size < PIECE && r > 0) {
        if (zsys_interrupted) {
            errno = EINTR;
            return -1;
        }
        r = is_file
                ? pread(fd, bytes + size, PIECE - size, (off_t) (offset + size))
                : read(fd, bytes + size, PIECE - size);
        /* czmq's handler takes the signals that would end us. */
        if (r < 0 && errno == EINTR && !zsys_interrupted)
            r = 1;
        else if (r > 0)
            size += (size_t) r;
    }
    return r < 0 ? -1 : (ssize_t) size;
}

static gateway_exit_t give_piece(management_client_t *management,
                                 const char *transfer, uint64_t offset,
                                 uint64_t hole, const void *bytes, size_t size)
{
    char sum[PIECE_DIGEST_SIZE];
    json_auto_t *reply = NULL;
    gateway_exit_t status;

    piece_digest((bytes_t){bytes, size}, sum);
    status = management_client_exchange(
        management, "files_write",
        json_pack("{s:s,s:I,s:I,s:s}", "transfer", transfer, "offset",
                  (json_int_t) offset, "hole", (json_int_t) hole, "digest",
                  sum),
        (bytes_t){bytes, size}, &reply, NULL);
    if (status != GATEWAY_EXIT_OK)
        management_client_complain(management);
    return status;
}

static gateway_exit_t give_all(management_client_t *management,
                               const char *transfer, int fd, const char *name,
                               uint64_t *ret_size)
{
    cleanup_free char *bytes = mem_new(PIECE);
    struct stat status = {0};
    bool is_file = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
    uint64_t total = is_file ? (uint64_t) status.st_size : 0;
    cleanup_progress progress_t *progress = progress_new(name, total);
    gateway_exit_t result = GATEWAY_EXIT_OK;
    uint64_t offset = 0;

    for (;;) {
        uint64_t hole = is_file ? find_hole(fd, offset, total) : 0;
        ssize_t size = read_piece(fd, is_file, offset + hole, bytes);

        if (size < 0) {
            complain_of(name, strerror(errno));
            return GATEWAY_EXIT_FAILED;
        }
        if (!size && !hole)
            break;
        result = give_piece(management, transfer, offset, hole, bytes,
                            (size_t) size);
        if (result != GATEWAY_EXIT_OK)
            return result;
        offset += hole + (uint64_t) size;
        progress_show(progress, offset);
    }
    *ret_size = offset;
    return GATEWAY_EXIT_OK;
}

gateway_exit_t file_copy_in(management_client_t *management,
                            const char *session, const char *local,
                            const char *path, bool replaces)
{
    bool is_stdin = strcmp(local, "-") == 0;
    cleanup_fd int opened = is_stdin ? -1 : open(local, O_RDONLY | O_CLOEXEC);
    json_auto_t *reply = NULL, *last = NULL;
    gateway_exit_t status;
    const char *transfer;
    uint64_t size = 0;

    if (!is_stdin && opened < 0) {
        complain_of(local, strerror(errno));
        return GATEWAY_EXIT_FAILED;
    }
    status =
        management_client_call(management, "files_put",
                               json_pack("{s:s,s:s,s:b}", "id", session, "path",
                                         path, "replace", replaces),
                               &reply);
    if (status != GATEWAY_EXIT_OK)
        return status;
    transfer = member_text(reply, "transfer");
    status = give_all(management, transfer, is_stdin ? STDIN_FILENO : opened,
                      path, &size);
    if (status != GATEWAY_EXIT_OK) {
        close_transfer(management, transfer);
        return status;
    }
    return management_client_call(
        management, "files_commit",
        json_pack("{s:s,s:I}", "transfer", transfer, "size", (json_int_t) size),
        &last);
}
