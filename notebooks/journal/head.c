/* See head.h; the bytes are in docs/reference/journal.md. */
#include "notebooks/journal/head.h"

#include <sodium.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>

#define HEAD_NAME "head"
#define HEAD_SIZE 64
#define MAC_AT    48
/* No journal reaches this number; numbers after it do not overflow. */
#define SEQ_MAX (UINT64_C(1) << 62)

static const char magic[8] = "HEARTHH1";

int journal_head_open(int folder)
{
    return openat(folder, HEAD_NAME, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
                  0600);
}

static void encode(const journal_head_t *head, const segment_key_t *key,
                   uint8_t ret_bytes[HEAD_SIZE])
{
    memset(ret_bytes, 0, HEAD_SIZE);
    memcpy(ret_bytes, magic, sizeof(magic));
    le_put64(ret_bytes + 8, head->seq);
    memcpy(ret_bytes + 16, head->chain, sizeof(head->chain));
    crypto_generichash(ret_bytes + MAC_AT, HEAD_SIZE - MAC_AT, ret_bytes,
                       MAC_AT, key->chain, sizeof(key->chain));
}

/* Locks the head's file. That is free, because the writer has its lock on the
 * folder. */
int journal_hold(const char *folder)
{
    cleanup_fd int folder_fd =
        open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    cleanup_fd int fd = -1;

    if (folder_fd < 0)
        return -errno;
    fd = openat(folder_fd, HEAD_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 || flock(fd, LOCK_SH) < 0)
        return -errno;
    return take_fd(&fd);
}

bool journal_head_write(int fd, const journal_head_t *head,
                        const segment_key_t *key)
{
    uint8_t bytes[HEAD_SIZE];

    encode(head, key, bytes);
    return pwrite(fd, bytes, sizeof(bytes), 0) == sizeof(bytes);
}

int journal_head_load(int folder, const segment_key_t *key,
                      journal_head_t *ret_head)
{
    uint8_t bytes[HEAD_SIZE];
    uint8_t expected[HEAD_SIZE];
    journal_head_t head;

    cleanup_fd int fd =
        openat(folder, HEAD_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return errno == ENOENT ? 0 : -errno;
    ssize_t got = pread(fd, bytes, sizeof(bytes), 0);
    if (got == 0)
        return 0;
    if (got != sizeof(bytes))
        return -EBADMSG;
    head.seq = le_get64(bytes + 8);
    memcpy(head.chain, bytes + 16, sizeof(head.chain));
    encode(&head, key, expected);
    if (sodium_memcmp(bytes, expected, sizeof(bytes)) != 0
        || head.seq > SEQ_MAX)
        return -EBADMSG;
    *ret_head = head;
    return 1;
}

int journal_head_read(const char *folder, const uint8_t *key,
                      journal_head_t *ret_head, fault_t *fault)
{
    segment_key_t keys;

    *ret_head = (journal_head_t){0};
    if (sodium_init() < 0)
        return fault_set(fault, EIO, "libsodium cannot be used");
    cleanup_fd int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return fault_set(fault, errno, "%s: %s", folder, strerror(errno));
    segment_key_set(&keys, key);
    int result = journal_head_load(fd, &keys, ret_head);
    if (result == -EBADMSG)
        return fault_set(fault, EBADMSG, "%s/%s is damaged", folder, HEAD_NAME);
    if (result < 0)
        return fault_set(fault, -result, "%s/%s: %s", folder, HEAD_NAME,
                         strerror(-result));
    return 0;
}
