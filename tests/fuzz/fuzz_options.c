/* Invented configuration files. Accepted options have values in their ranges,
 * and at least one profile. */
#include "base/buffer.h"
#include "base/fd.h"
#include "gateway/config/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static char path[] = "/dev/shm/hearth-fuzz-options-XXXXXX";
static int file = -1;

static void remove_file(void)
{
    unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    cleanup_options options_t *options = options_new();
    fault_t fault;

    if (file < 0) {
        file = mkstemp(path);
        atexit(remove_file);
    }
    if (file < 0 || ftruncate(file, 0) < 0
        || pwrite(file, bytes, size, 0) != (ssize_t) size)
        abort();
    if (options_load(options, path, &fault) < 0)
        return 0;
    if (!options->profile_count || options->capacity.sessions_max < 1
        || options->ip[0] == '\0' || options->state_dir[0] != '/'
        || options->times.idle_timeout_ms < 0)
        abort();
    return 0;
}
