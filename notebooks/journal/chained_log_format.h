/* The files of a chained log and the code that joins a record to the one
 * before. */
#ifndef HEARTH_NOTEBOOKS_JOURNAL_CHAINED_LOG_FORMAT_H
#define HEARTH_NOTEBOOKS_JOURNAL_CHAINED_LOG_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#define CHAINED_LOG_MAC_SIZE 32
#define CHAINED_LOG_TAIL     ",\"mac\":\"%s\"}\n"
#define CHAINED_LOG_TAIL_SIZE                                                  \
    (sizeof ",\"mac\":\"" - 1 + 2 * CHAINED_LOG_MAC_SIZE + 3)
#define CHAINED_LOG_HEAD_SIZE (20 + 1 + 20 + 1 + 2 * CHAINED_LOG_MAC_SIZE + 1)

/* Computes HMAC-SHA256 over the MAC before and the line up to its own. */
void chained_log_mac(const uint8_t *key, const uint8_t *before,
                     const void *line, size_t size,
                     uint8_t ret_mac[CHAINED_LOG_MAC_SIZE]);
/* Returns the path of a file, to be freed. */
char *chained_log_file_path(const char *folder, uint64_t number);
/* Sets the files' numbers in order, to be freed; returns how many there are. */
size_t chained_log_files(const char *folder, uint64_t **ret_numbers);

#endif
