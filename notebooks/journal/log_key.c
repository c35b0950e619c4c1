/* See log_key.h. */
#include "notebooks/journal/log_key.h"

#include "base/buffer.h"
#include "base/fd.h"

#include <sodium.h>

#include <errno.h>
#include <string.h>

int log_key_read(const char *path, bool makes, uint8_t ret_key[LOG_KEY_SIZE],
                 fault_t *fault)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    int r = file_read(path, 2 * LOG_KEY_SIZE, &content, fault);

    if (r == -ENOENT && makes) {
        randombytes_buf(ret_key, LOG_KEY_SIZE);
        return file_write_atomic(path, 0600, ret_key, LOG_KEY_SIZE, fault);
    }
    if (r < 0)
        return r;
    if (content.size != LOG_KEY_SIZE)
        return fault_set(fault, EINVAL, "%s has %zu bytes, %d are right", path,
                         content.size, LOG_KEY_SIZE);
    memcpy(ret_key, content.data, LOG_KEY_SIZE);
    sodium_memzero(content.data, content.size);
    return 0;
}
