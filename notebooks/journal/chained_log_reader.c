/* See chained_log.h: reads and verifies. A line is a record when it begins with
 * its number and ends with its MAC; nothing else of it is looked at here. */
#include "notebooks/journal/chained_log.h"

#include "base/buffer.h"
#include "notebooks/journal/chained_log_format.h"
#include "notebooks/journal/chained_log_tail.h"

#include <sodium.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BLOCK        (64u << 10)
#define PREVIOUS     ",\"previous\":\""
#define DAMAGED      "\"event\":\"log\",\"who\":\"audit\",\"outcome\":\"damaged\""
#define EVENT_A_FILE "\"event\":\"file\""

typedef struct {
    const uint8_t *key;                    /* borrowed */
    uint8_t mac[CHAINED_LOG_MAC_SIZE];     /* of the record before */
    uint8_t earlier[CHAINED_LOG_MAC_SIZE]; /* of the one before that */
    uint64_t noted;                        /* the head's last record */
    uint8_t noted_mac[CHAINED_LOG_MAC_SIZE];
    bool is_noted;          /* it came by */
    bool is_begun;          /* there was a record before */
    uint64_t next;          /* the number that comes now */
    uint64_t file, line;    /* where we are */
    uint64_t size, in_file; /* whole records of this file */
    bool is_torn;           /* the file ends within a line */
    chained_log_report_t report;
    chained_log_each_t *each; /* may be NULL */
    void *arg;
    bool is_enough;
} log_walk_t;

/* The line of the head file. */
typedef struct {
    char text[CHAINED_LOG_HEAD_SIZE + 1];
    bool is_there; /* and has two numbers: */
    uint64_t first, last;
} log_head_t;

static void flaw(log_walk_t *self, const char *what)
{
    if (!self->report.flaws++)
        snprintf(self->report.text, sizeof self->report.text,
                 "file %06" PRIu64 ", line %" PRIu64 ": %s", self->file,
                 self->line, what);
}

/* Where the line's own MAC begins; NULL when it is no record. */
static const char *find_mac(const char *line, size_t size, uint64_t *ret_number,
                            uint8_t ret_mac[CHAINED_LOG_MAC_SIZE])
{
    static const char before[] = ",\"mac\":\"";
    char hex[2 * CHAINED_LOG_MAC_SIZE + 1];
    const char *at;
    size_t length = 0;

    /* The newline is not in `size`. */
    if (size + 1 <= CHAINED_LOG_TAIL_SIZE || size > CHAINED_LOG_LINE_MAX
        || strncmp(line, "{\"n\":", 5) != 0)
        return NULL;
    at = line + size + 1 - CHAINED_LOG_TAIL_SIZE;
    /* Each byte counts: the MAC has one way to be written, and one end. */
    if (memcmp(at, before, sizeof before - 1) != 0
        || memcmp(line + size - 2, "\"}", 2) != 0
        || sodium_hex2bin(ret_mac, CHAINED_LOG_MAC_SIZE, at + sizeof before - 1,
                          sizeof hex - 1, NULL, &length, NULL)
               != 0
        || length != CHAINED_LOG_MAC_SIZE
        || memcmp(
               sodium_bin2hex(hex, sizeof hex, ret_mac, CHAINED_LOG_MAC_SIZE),
               at + sizeof before - 1, sizeof hex - 1)
               != 0)
        return NULL;
    *ret_number = strtoull(line + 5, NULL, 10);
    return at;
}

/* Reads what a file's first record says about the file before it. */
static void take_previous(log_walk_t *self, const char *line, size_t size)
{
    const char *event = memmem(line, size, EVENT_A_FILE, strlen(EVENT_A_FILE));
    const char *at = memmem(line, size, PREVIOUS, strlen(PREVIOUS));

    if (!event || !at
        || (size_t) (line + size - at)
               < strlen(PREVIOUS) + (size_t) 2 * CHAINED_LOG_MAC_SIZE)
        return;
    (void) sodium_hex2bin(self->mac, CHAINED_LOG_MAC_SIZE,
                          at + strlen(PREVIOUS),
                          (size_t) 2 * CHAINED_LOG_MAC_SIZE, NULL, NULL, NULL);
}

static void check_record(log_walk_t *self, const char *line, size_t size)
{
    uint8_t theirs[CHAINED_LOG_MAC_SIZE], ours[CHAINED_LOG_MAC_SIZE];
    uint64_t number = 0;
    const char *end = find_mac(line, size, &number, theirs);

    if (!end) {
        flaw(self, "this is not a record");
        return;
    }
    if (!self->is_begun) {
        self->next = number;
        self->report.first = number;
        take_previous(self, line, size);
    }
    chained_log_mac(self->key, self->mac, line, (size_t) (end - line), ours);
    if (sodium_memcmp(ours, theirs, sizeof ours) != 0 && self->line == 1
        && self->is_begun) {
        /* The files before are broken; this one may stand for itself. */
        flaw(self, "earlier records were changed or removed");
        take_previous(self, line, size);
        chained_log_mac(self->key, self->mac, line, (size_t) (end - line),
                        ours);
    } else if (number != self->next) {
        flaw(self, "records before this one are missing");
    }
    if (sodium_memcmp(ours, theirs, sizeof ours) != 0)
        flaw(self, "the record was changed, or the one before it is missing");
    else
        self->report.records++;
    memcpy(self->earlier, self->mac, sizeof self->earlier);
    memcpy(self->mac, theirs, sizeof self->mac);
    if (number == self->noted) {
        memcpy(self->noted_mac, theirs, sizeof self->noted_mac);
        self->is_noted = true;
    }
    if (memmem(line, size, DAMAGED, strlen(DAMAGED)))
        flaw(self, "the gateway found the log damaged here when it opened it");
    self->is_begun = true;
    self->report.last = number;
    self->next = number + 1;
}

static void take_line(log_walk_t *self, const char *line, size_t size)
{
    self->line++;
    self->in_file++;
    check_record(self, line, size);
    self->size += size + 1;
    if (self->each && !self->is_enough)
        self->is_enough = !self->each(self->arg, line, size);
}

/* Reads the complete lines of the buffer; the rest waits for more. */
static void take_lines(log_walk_t *self, buffer_t *held)
{
    const char *at = (const char *) held->data;
    const char *end = at + held->size;
    const char *newline;

    while (at < end && (newline = memchr(at, '\n', (size_t) (end - at)))) {
        take_line(self, at, (size_t) (newline - at));
        at = newline + 1;
    }
    buffer_consume(held, (size_t) (at - (const char *) held->data));
}

static int read_file(log_walk_t *self, const char *folder, fault_t *fault)
{
    cleanup_free char *path = chained_log_file_path(folder, self->file);
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    cleanup_buffer buffer_t held = BUFFER_EMPTY;
    ssize_t size;

    self->line = self->size = self->in_file = 0;
    if (fd < 0)
        return fault_set(fault, errno, "%s: %s", path, strerror(errno));
    while ((size = read(fd, buffer_reserve(&held, BLOCK), BLOCK)) > 0) {
        held.size += (size_t) size;
        take_lines(self, &held);
        if (held.size > CHAINED_LOG_LINE_MAX) {
            self->line++;
            flaw(self, "this is not a record");
            return 0;
        }
    }
    if (size < 0)
        return fault_set(fault, errno, "%s: %s", path, strerror(errno));
    self->is_torn = held.size > 0;
    return 0;
}

/* Reads the head; it is "" if it is missing or too short. */
static void read_head(const char *folder, log_head_t *ret_head)
{
    cleanup_free char *path = mem_format("%s/head", folder);
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    log_head_t head = {.text = ""};

    if (fd >= 0
        && read(fd, head.text, CHAINED_LOG_HEAD_SIZE) == CHAINED_LOG_HEAD_SIZE
        && sscanf(head.text, "%" SCNu64 " %" SCNu64, &head.first, &head.last)
               == 2)
        head.is_there = true;
    *ret_head = head;
}

/* Returns false if a head's HMAC is not that of its record. Nothing is known of
 * a record that was not read: its file has gone meanwhile. */
static bool is_signed(const log_walk_t *self, const log_head_t *head)
{
    char hex[2 * CHAINED_LOG_MAC_SIZE + 1];
    uint8_t mac[CHAINED_LOG_MAC_SIZE];
    const uint8_t *record = head->last == self->report.last ? self->mac
                            : head->last + 1 == self->report.last
                                ? self->earlier
                            : self->is_noted ? self->noted_mac
                                             : NULL;

    if (!head->is_there || !record)
        return true;
    chained_log_mac(self->key, record, head->text, 42, mac);
    sodium_bin2hex(hex, sizeof hex, mac, sizeof mac);
    return strncmp(head->text + 42, hex, strlen(hex)) == 0;
}

/* Checks whether the head names what the log has. A writer may be at work: the
 * log's end is compared with the head that was there before the records were
 * read, and its beginning with the head after that. A writer that was killed
 * may have left the head one record late, and no more. */
static void check_head(log_walk_t *self, const log_head_t *before,
                       const log_head_t *after)
{
    self->line++;
    if (!after->is_there)
        flaw(self, "the head is missing or damaged");
    else if (before->is_there && before->last > self->report.last)
        flaw(self, "records at the end are missing");
    else if (after->first && after->first < self->report.first)
        flaw(self, "the oldest records are missing");
    else if (after->last + 1 < self->report.last
             || !is_signed(self,
                           after->last <= self->report.last ? after : before))
        flaw(self, "the head was changed");
}

/* Reads the files that come after the one of that number, in their order.
 * Returns -ENOENT when the writer has removed one meanwhile; self->file is its
 * number, and the next one begins the log. */
static int read_files(log_walk_t *self, const char *folder, uint64_t after,
                      fault_t *fault)
{
    cleanup_free uint64_t *numbers = NULL;
    size_t count = chained_log_files(folder, &numbers);
    int r = 0;

    self->report.files = count;
    for (size_t i = 0; i < count && r == 0; i++) {
        if (numbers[i] <= after)
            continue;
        self->file = numbers[i];
        if (i && numbers[i] != numbers[i - 1] + 1)
            flaw(self, "a file before this one is missing");
        r = read_file(self, folder, fault);
    }
    if (r == -ENOENT)
        self->is_begun = false;
    return r;
}

int chained_log_read(const char *folder, const uint8_t key[LOG_KEY_SIZE],
                     chained_log_each_t *each, void *arg,
                     chained_log_report_t *ret_report, fault_t *fault)
{
    log_walk_t scan = {.key = key, .each = each, .arg = arg};
    log_head_t before, after;
    int r;

    read_head(folder, &before);
    scan.noted = before.last;
    do
        r = read_files(&scan, folder, scan.file, fault);
    while (r == -ENOENT);
    if (r < 0)
        return r;
    if (!scan.report.files)
        return fault_set(fault, ENOENT, "there is no log in %s", folder);
    read_head(folder, &after);
    check_head(&scan, &before, &after);
    *ret_report = scan.report;
    return 0;
}

int chained_log_tail(const char *folder, uint64_t file, const uint8_t *key,
                     chained_log_tail_t *ret_tail, fault_t *fault)
{
    log_walk_t scan = {.key = key, .file = file};
    chained_log_tail_t tail = {0};
    log_head_t head;
    int r = read_file(&scan, folder, fault);

    if (r < 0)
        return r;
    /* A whole log may begin after this file's first record. */
    scan.report.first = 0;
    read_head(folder, &head);
    check_head(&scan, &head, &head);
    tail.last = scan.report.last;
    tail.size = scan.size;
    tail.records = scan.in_file;
    tail.is_whole = !scan.report.flaws && scan.in_file > 0;
    memcpy(tail.mac, scan.mac, sizeof tail.mac);
    snprintf(tail.flaw, sizeof tail.flaw, "%s",
             scan.report.flaws ? scan.report.text
             : scan.is_torn    ? "an unfinished record was cut off"
                               : "");
    *ret_tail = tail;
    return 0;
}
