/* The spilled parts of a journal. A blob is written beside and renamed before
 * the record that refers to it, so that a record never lacks its part. A blob
 * without a record (the writer died between the two) is found by the next
 * sweep. Only the journal knows which record refers to which blob. */
#include "notebooks/journal/blobs.h"

#include "base/cleanup.h"
#include "base/fd.h"

#include <openssl/sha.h>
#include <sodium.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define HEX_SIZE   (2 * BLOB_HASH_SIZE + 1)
#define PATH_SIZE  (sizeof(BLOBS_FOLDER) + HEX_SIZE)
#define UNFINISHED BLOBS_FOLDER "/unfinished"

static void put_size(uint8_t *reference, uint64_t size)
{
    for (int i = 0; i < 8; i++)
        reference[i] = (uint8_t) (size >> (8 * i));
}

static uint64_t get_size(const uint8_t *reference)
{
    uint64_t size = 0;
    for (int i = 0; i < 8; i++)
        size |= (uint64_t) reference[i] << (8 * i);
    return size;
}

static void blob_path(const uint8_t *hash, char ret_path[PATH_SIZE])
{
    char hex[HEX_SIZE];

    sodium_bin2hex(hex, sizeof(hex), hash, BLOB_HASH_SIZE);
    snprintf(ret_path, PATH_SIZE, "%s/%s", BLOBS_FOLDER, hex);
}

int blob_write(int folder, const void *bytes, size_t size,
               uint8_t ret_reference[BLOB_REFERENCE_SIZE], uint64_t *ret_added,
               fault_t *fault)
{
    uint8_t reference[BLOB_REFERENCE_SIZE];
    char path[PATH_SIZE];
    struct stat there;

    put_size(reference, size);
    SHA256(bytes, size, reference + 8);
    blob_path(reference + 8, path);
    if (fstatat(folder, path, &there, AT_SYMLINK_NOFOLLOW) < 0
        || (uint64_t) there.st_size != size) {
        if (mkdirat(folder, BLOBS_FOLDER, 0700) < 0 && errno != EEXIST)
            return fault_set(fault, errno, "%s: %s", BLOBS_FOLDER,
                             strerror(errno));
        cleanup_fd int fd =
            openat(folder, UNFINISHED,
                   O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
            return fault_set(fault, errno, "%s: %s", UNFINISHED,
                             strerror(errno));
        int result = fd_write_all(fd, bytes, size, fault);
        if (result < 0) {
            unlinkat(folder, UNFINISHED, 0);
            return fault_wrap(fault, "%s", path);
        }
        if (renameat(folder, UNFINISHED, folder, path) < 0)
            return fault_set(fault, errno, "%s: %s", path, strerror(errno));
        *ret_added = size;
    } else {
        *ret_added = 0;
    }
    memcpy(ret_reference, reference, sizeof(reference));
    return 0;
}

static int read_whole(int fd, size_t size, buffer_t *ret_part)
{
    buffer_clear(ret_part);
    uint8_t *to = buffer_reserve(ret_part, size + 1);
    while (ret_part->size < size) {
        ssize_t got = read(fd, to + ret_part->size, size - ret_part->size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? -errno : -EBADMSG;
        ret_part->size += (size_t) got;
    }
    return 0;
}

int blob_read(int folder, const uint8_t reference[BLOB_REFERENCE_SIZE],
              buffer_t *ret_part, fault_t *fault)
{
    uint8_t hash[BLOB_HASH_SIZE];
    char path[PATH_SIZE];
    struct stat there;

    blob_path(reference + 8, path);
    cleanup_fd int fd = openat(folder, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 || fstat(fd, &there) < 0)
        return fault_set(fault, errno, "%s: %s", path, strerror(errno));
    /* The file's own size is asked before memory is: the reference may be
     * anything in a journal without a key. */
    if (!S_ISREG(there.st_mode)
        || (uint64_t) there.st_size != get_size(reference))
        return fault_set(fault, EBADMSG, "%s is damaged", path);
    int result = read_whole(fd, (size_t) there.st_size, ret_part);
    if (result < 0)
        return fault_set(fault, -result, "%s: %s", path, strerror(-result));
    SHA256(ret_part->data, ret_part->size, hash);
    if (memcmp(hash, reference + 8, sizeof(hash)) != 0)
        return fault_set(fault, EBADMSG, "%s is damaged", path);
    return 0;
}

static DIR *open_blobs(int folder)
{
    cleanup_fd int fd =
        openat(folder, BLOBS_FOLDER, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    DIR *blobs = fdopendir(fd);
    if (blobs)
        take_fd(&fd);
    return blobs;
}

static int compare(const void *left, const void *right)
{
    return memcmp(left, right, BLOB_HASH_SIZE);
}

static bool is_kept(const char *name, const uint8_t *keep, size_t count)
{
    uint8_t hash[BLOB_HASH_SIZE];
    size_t size;

    if (sodium_hex2bin(hash, sizeof(hash), name, strlen(name), NULL, &size,
                       NULL)
            != 0
        || size != sizeof(hash))
        return false;
    return count && bsearch(hash, keep, count, BLOB_HASH_SIZE, compare);
}

uint64_t blobs_bytes(int folder)
{
    cleanup_dir DIR *blobs = open_blobs(folder);
    uint64_t bytes = 0;
    struct stat there;

    for (struct dirent *file = blobs ? readdir(blobs) : NULL; file;
         file = readdir(blobs))
        if (fstatat(dirfd(blobs), file->d_name, &there, AT_SYMLINK_NOFOLLOW)
                == 0
            && S_ISREG(there.st_mode))
            bytes += (uint64_t) there.st_size;
    return bytes;
}

uint64_t blobs_sweep(int folder, uint8_t *keep, size_t count)
{
    cleanup_dir DIR *blobs = open_blobs(folder);

    if (count)
        qsort(keep, count, BLOB_HASH_SIZE, compare);
    for (struct dirent *file = blobs ? readdir(blobs) : NULL; file;
         file = readdir(blobs))
        if (file->d_name[0] != '.' && !is_kept(file->d_name, keep, count))
            unlinkat(dirfd(blobs), file->d_name, 0);
    return blobs_bytes(folder);
}
