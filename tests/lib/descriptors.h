/* How many descriptors a test holds. */
#ifndef HEARTH_TESTS_LIB_DESCRIPTORS_H
#define HEARTH_TESTS_LIB_DESCRIPTORS_H

#include "tests/lib/test.h"

#include <dirent.h>

/* Counts the open files, including the descriptor that is used for counting. */
static inline size_t open_files(void)
{
    DIR *folder = opendir("/proc/self/fd");
    size_t count = 0;

    assert_non_null(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

#endif
