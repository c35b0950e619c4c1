/* Invented logs: a file, and after a zero byte the head. Without the key no
 * input gets past the first record, so the lines of most inputs are signed
 * here; the first byte decides whether, and where a record is cut. A gateway
 * continues each of them: its records verify, and the earlier flaws are
 * reported afterwards. */
#include "base/buffer.h"
#include "base/fd.h"
#include "notebooks/journal/chained_log.h"
#include "notebooks/journal/chained_log_format.h"

#include "tests/fuzz/scratch.h"

#include <sodium.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_BYTES 2000

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static const uint8_t key[LOG_KEY_SIZE] = "a key of thirty-two bytes, fixed";
static char log_folder[64];

static void prepare(void)
{
    fault_t fault;

    if (log_folder[0]) {
        path_remove_tree(log_folder, &fault);
    } else {
        if (sodium_init() < 0)
            abort();
        scratch_make();
        snprintf(log_folder, sizeof log_folder, "%s/log", scratch);
    }
    if (mkdir(log_folder, 0700) < 0)
        abort();
}

/* Each line becomes a record, with the MAC that its place in the row asks
 * for. */
static void sign(const char *text, size_t size, buffer_t *out)
{
    uint8_t mac[CHAINED_LOG_MAC_SIZE] = {0};
    char hex[2 * CHAINED_LOG_MAC_SIZE + 1];
    const char *end = text + size;
    uint64_t number = 0;

    for (const char *newline; text < end; text = newline + 1) {
        size_t begin = out->size;
        newline = memchr(text, '\n', (size_t) (end - text));
        if (!newline)
            newline = end;
        if (text < newline && *text == '#')
            buffer_format(out, "{\"n\":%llu,", (unsigned long long) ++number);
        buffer_append(out, text, (size_t) (newline - text));
        chained_log_mac(key, mac,
                        out->data ? out->data + begin : (uint8_t *) "",
                        out->size - begin, mac);
        sodium_bin2hex(hex, sizeof hex, mac, sizeof mac);
        buffer_format(out, CHAINED_LOG_TAIL, hex);
    }
}

static void write_file(const char *name, const void *bytes, size_t size)
{
    cleanup_free char *path = mem_format("%s/%s", log_folder, name);
    fault_t fault;

    if (file_write_atomic(path, 0600, bytes, size, &fault) < 0)
        abort();
}

static bool count_line(void *arg, const char *line, size_t size)
{
    uint64_t *count = arg;

    if (memchr(line, '\n', size) || size > CHAINED_LOG_LINE_MAX + BUFSIZ * 16)
        abort();
    ++*count;
    return true;
}

static chained_log_report_t read_all(void)
{
    chained_log_report_t report;
    uint64_t lines = 0;
    fault_t fault;

    if (chained_log_read(log_folder, key, count_line, &lines, &report, &fault)
        < 0)
        abort();
    if (report.records > lines || !report.flaws != !report.text[0])
        abort();
    return report;
}

/* Opens the log as the audit does. A file that is not a log is left alone. */
static void go_on(const chained_log_report_t *before)
{
    cleanup_chained_log chained_log_t *log = NULL;
    fault_t fault;

    if (chained_log_open(log_folder, key, FILE_BYTES, 4, &log, &fault) < 0)
        return;
    bool is_reported = chained_log_is_damaged(log);
    if (chained_log_append(log, "\"event\":\"fuzz\"", &fault) < 0)
        abort();
    chained_log_report_t after = read_all();
    if (!after.records
        || (before->records && before->flaws && !after.flaws && !is_reported))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    cleanup_buffer buffer_t file = BUFFER_EMPTY;
    const uint8_t *head;

    if (!size)
        return 0;
    prepare();
    head = memchr(bytes + 1, 0, size - 1);
    size_t length = head ? (size_t) (head - bytes) - 1 : size - 1;
    if (bytes[0] & 1)
        sign((const char *) bytes + 1, length, &file);
    else
        buffer_append(&file, bytes + 1, length);
    if (bytes[0] >> 1 < file.size)
        file.size -= bytes[0] >> 1;
    write_file("000001.log", file.data ? file.data : (uint8_t *) "", file.size);
    if (head)
        write_file("head", head + 1, size - length - 2);
    chained_log_report_t report = read_all();
    go_on(&report);
    return 0;
}
