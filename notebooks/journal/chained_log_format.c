/* How a chained log lies on disk. Reads and writes no record. */
#include "notebooks/journal/chained_log_format.h"

#include "base/buffer.h"
#include "notebooks/journal/log_key.h"

#include <sodium.h>

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void chained_log_mac(const uint8_t *key, const uint8_t *before,
                     const void *line, size_t size,
                     uint8_t ret_mac[CHAINED_LOG_MAC_SIZE])
{
    crypto_auth_hmacsha256_state state;

    crypto_auth_hmacsha256_init(&state, key, LOG_KEY_SIZE);
    crypto_auth_hmacsha256_update(&state, before, CHAINED_LOG_MAC_SIZE);
    crypto_auth_hmacsha256_update(&state, line, size);
    crypto_auth_hmacsha256_final(&state, ret_mac);
}

char *chained_log_file_path(const char *folder, uint64_t number)
{
    return mem_format("%s/%06" PRIu64 ".log", folder, number);
}

size_t chained_log_files(const char *folder, uint64_t **ret_numbers)
{
    DIR *items = opendir(folder);
    const struct dirent *item;
    uint64_t *numbers = NULL;
    size_t count = 0;

    while (items && (item = readdir(items))) {
        uint64_t number = strtoull(item->d_name, NULL, 10);
        cleanup_free char *name = mem_format("%06" PRIu64 ".log", number);
        size_t at = count;

        if (strcmp(item->d_name, name) != 0)
            continue;
        numbers = mem_resize(numbers, (count + 1) * sizeof *numbers);
        for (; at && numbers[at - 1] > number; at--)
            numbers[at] = numbers[at - 1];
        numbers[at] = number;
        count++;
    }
    if (items)
        closedir(items);
    *ret_numbers = numbers;
    return count;
}
