/* See options_folder.h. */
#include "tests/lib/options_folder.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "tests/lib/temporary.h"
#include "tests/lib/test.h"

#include <stdlib.h>
#include <string.h>

int options_folder_make(void **state)
{
    /* What the machine has must not matter. */
    setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
    unsetenv("HEARTH_CONFIG");
    unsetenv("HEARTH_RUNTIME_DIR");
    unsetenv("HEARTH_STATE_DIR");
    unsetenv("HEARTH_PYTHON");
    *state = temporary_folder("options");
    return *state ? 0 : -1;
}

int options_folder_remove(void **state)
{
    cleanup_free char *folder = *state;
    fault_t fault;

    return path_remove_tree(folder, &fault);
}

char *options_folder_write(const char *folder, const char *text)
{
    char *path = mem_format("%s/hearth.cfg", folder);
    fault_t fault = {0};

    if (file_write_atomic(path, 0600, text, strlen(text), &fault) < 0)
        fail_msg("%s", fault.text);
    return path;
}
