/* See chained_log.h. The writer's half; chained_log_reader.c reads. One thread.
 */
#include "notebooks/journal/chained_log.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "notebooks/journal/chained_log_format.h"
#include "notebooks/journal/chained_log_tail.h"
#include "protocol/jspan_write.h"

#include <sodium.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct chained_log {
    char *folder;     /* owned */
    int fd, head_fd;  /* owned; the last file, the head */
    uint64_t file;    /* its number */
    uint64_t size;    /* its bytes */
    uint64_t records; /* in it */
    uint64_t first;   /* number of the oldest record that is kept */
    uint64_t last;    /* and of the last one */
    uint64_t file_bytes, files_max;
    uint8_t key[LOG_KEY_SIZE];
    uint8_t mac[CHAINED_LOG_MAC_SIZE]; /* of the last record */
    bool is_damaged;
    char flaw[256];
};

void chained_log_destroy(chained_log_t **self_p)
{
    chained_log_t *self = *self_p;

    if (!self)
        return;
    if (self->fd >= 0) {
        chained_log_flush(self);
        close(self->fd);
    }
    if (self->head_fd >= 0)
        close(self->head_fd);
    sodium_memzero(self->key, sizeof self->key);
    free(self->folder);
    free(self);
    *self_p = NULL;
}

const char *chained_log_flaw(const chained_log_t *self)
{
    return self->flaw;
}

bool chained_log_is_damaged(const chained_log_t *self)
{
    return self->is_damaged;
}

void chained_log_flush(chained_log_t *self)
{
    (void) fdatasync(self->fd);
    (void) fdatasync(self->head_fd);
}

/* Writes the head in place, by one short write: a reader sees the old or the
 * new one. */
static void write_head(chained_log_t *self)
{
    char text[CHAINED_LOG_HEAD_SIZE + 1];
    uint8_t mac[CHAINED_LOG_MAC_SIZE];
    int size = snprintf(text, sizeof text, "%020" PRIu64 " %020" PRIu64 " ",
                        self->first, self->last);

    chained_log_mac(self->key, self->mac, text, (size_t) size, mac);
    sodium_bin2hex(text + size, sizeof text - (size_t) size, mac, sizeof mac);
    text[CHAINED_LOG_HEAD_SIZE - 1] = '\n';
    (void) !pwrite(self->head_fd, text, CHAINED_LOG_HEAD_SIZE, 0);
}

static int write_line(chained_log_t *self, const buffer_t *line, fault_t *fault)
{
    ssize_t written = write(self->fd, line->data, line->size);
    int code = errno;

    if (written == (ssize_t) line->size) {
        self->size += line->size;
        self->records++;
        return 0;
    }
    /* Half a record would be a broken chain. */
    if (written > 0)
        (void) !ftruncate(self->fd, (off_t) self->size);
    return fault_set(fault, written < 0 ? code : ENOSPC, "%s: %s", self->folder,
                     written < 0 ? strerror(code) : "the disk is full");
}

static int append(chained_log_t *self, const char *members, fault_t *fault)
{
    cleanup_buffer buffer_t line = BUFFER_EMPTY;
    char hex[2 * CHAINED_LOG_MAC_SIZE + 1];
    uint8_t mac[CHAINED_LOG_MAC_SIZE];
    int r;

    jspan_write_begin(&line);
    jspan_write_count(&line, "n", self->last + 1);
    buffer_text(&line, ",");
    buffer_text(&line, members);
    if (line.size > CHAINED_LOG_LINE_MAX - CHAINED_LOG_TAIL_SIZE
        || memchr(line.data, '\n', line.size))
        return fault_set(fault, EMSGSIZE, "a record is too long or no line");
    chained_log_mac(self->key, self->mac, line.data, line.size, mac);
    sodium_bin2hex(hex, sizeof hex, mac, sizeof mac);
    buffer_format(&line, CHAINED_LOG_TAIL, hex);
    r = write_line(self, &line, fault);
    if (r < 0)
        return r;
    self->last++;
    memcpy(self->mac, mac, sizeof mac);
    write_head(self);
    return 0;
}

/* Begins a file. Its first record says what came before it, so that the file
 * can be verified when that is gone. */
static int begin_file(chained_log_t *self, fault_t *fault)
{
    cleanup_free char *path = chained_log_file_path(self->folder, ++self->file);
    cleanup_buffer buffer_t members = BUFFER_EMPTY;
    char hex[2 * CHAINED_LOG_MAC_SIZE + 1], iso[CLOCK_ISO_SIZE];
    int fd = open(
        path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW,
        0600);

    if (fd < 0)
        return fault_set(fault, errno, "%s: %s", path, strerror(errno));
    if (self->fd >= 0) {
        chained_log_flush(self);
        close(self->fd);
    }
    self->fd = fd;
    self->size = self->records = 0;
    sodium_bin2hex(hex, sizeof hex, self->mac, sizeof self->mac);
    clock_iso(clock_wall_us(), iso);
    jspan_write_text(&members, "time", iso);
    jspan_write_text(&members, "event", "file");
    jspan_write_count(&members, "file", self->file);
    jspan_write_text(&members, "previous", hex);
    return append(self, (const char *) members.data, fault);
}

/* Returns the number of a file's first record; 0 if it has no record. */
static uint64_t first_record(const char *folder, uint64_t number)
{
    cleanup_free char *path = chained_log_file_path(folder, number);
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    char start[32] = "";

    if (fd < 0 || read(fd, start, sizeof start - 1) <= 5
        || strncmp(start, "{\"n\":", 5) != 0)
        return 0;
    return strtoull(start + 5, NULL, 10);
}

static void remove_old(chained_log_t *self)
{
    cleanup_free uint64_t *numbers = NULL;
    size_t count = chained_log_files(self->folder, &numbers);

    for (size_t i = 0; i + self->files_max < count; i++) {
        cleanup_free char *path =
            chained_log_file_path(self->folder, numbers[i]);

        self->first = first_record(self->folder, numbers[i + 1]);
        /* The head is written first: after a crash the missing file is then
         * known to be removed. */
        write_head(self);
        (void) unlink(path);
    }
}

int chained_log_append(chained_log_t *self, const char *members, fault_t *fault)
{
    if (self->size >= self->file_bytes && self->records > 1) {
        int r = begin_file(self, fault);

        if (r < 0)
            return r;
        remove_old(self);
    }
    return append(self, members, fault);
}

/* Starts a log. A head is written after the first record: if there is a head,
 * there was a log. */
static int begin_log(chained_log_t *self, fault_t *fault)
{
    struct stat status;

    self->is_damaged = fstat(self->head_fd, &status) < 0 || status.st_size > 0;
    if (self->is_damaged)
        snprintf(self->flaw, sizeof self->flaw,
                 "all records that the head names are missing");
    return begin_file(self, fault);
}

/* Returns true if a file has not one whole line. What is changed in a whole
 * line is damage, and stays. */
static bool is_unbegun(const char *folder, uint64_t number)
{
    cleanup_free char *path = chained_log_file_path(folder, number);
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    fault_t fault;

    return file_read(path, CHAINED_LOG_LINE_MAX, &content, &fault) == 0
           && (!content.size || !memchr(content.data, '\n', content.size));
}

/* Continues after the last record. */
static int resume(chained_log_t *self, fault_t *fault)
{
    cleanup_free uint64_t *numbers = NULL;
    size_t count = chained_log_files(self->folder, &numbers);
    cleanup_free char *path = NULL;
    chained_log_tail_t tail;
    int r;

    self->first = 1;
    /* A file that was just begun when the program ended. */
    while (count && is_unbegun(self->folder, numbers[count - 1])) {
        cleanup_free char *empty =
            chained_log_file_path(self->folder, numbers[--count]);

        if (unlink(empty) < 0)
            return fault_set(fault, errno, "%s: %s", empty, strerror(errno));
    }
    if (!count)
        return begin_log(self, fault);
    self->file = numbers[count - 1];
    self->first = first_record(self->folder, numbers[0]);
    r = chained_log_tail(self->folder, self->file, self->key, &tail, fault);
    if (r < 0)
        return r;
    snprintf(self->flaw, sizeof self->flaw, "%s", tail.flaw);
    self->last = tail.last;
    memcpy(self->mac, tail.mac, sizeof self->mac);
    self->is_damaged = !tail.is_whole;
    if (!tail.is_whole)
        return begin_file(self, fault);
    path = chained_log_file_path(self->folder, self->file);
    self->fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
    if (self->fd < 0 || ftruncate(self->fd, (off_t) tail.size) < 0)
        return fault_set(fault, errno, "%s: %s", path, strerror(errno));
    self->size = tail.size;
    self->records = tail.records;
    write_head(self);
    return 0;
}

int chained_log_open(const char *folder, const uint8_t key[LOG_KEY_SIZE],
                     uint64_t file_bytes, uint64_t files_max,
                     chained_log_t **ret_log, fault_t *fault)
{
    cleanup_chained_log chained_log_t *self = mem_new(sizeof *self);
    cleanup_free char *head = mem_format("%s/head", folder);
    int r;

    self->fd = self->head_fd = -1;
    self->folder = mem_text(folder);
    self->file_bytes = file_bytes;
    self->files_max = files_max ? files_max : 1;
    memcpy(self->key, key, sizeof self->key);
    r = path_make_folders(folder, 0700, fault);
    if (r < 0)
        return r;
    self->head_fd = open(head, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (self->head_fd < 0)
        return fault_set(fault, errno, "%s: %s", head, strerror(errno));
    r = resume(self, fault);
    if (r < 0)
        return r;
    *ret_log = take_ptr(self);
    return 0;
}
