/* JSON of a test as a checked value. */
#ifndef HEARTH_TESTS_LIB_CHECKED_H
#define HEARTH_TESTS_LIB_CHECKED_H

#include "protocol/jspan.h"
#include "tests/lib/test.h"

#include <string.h>

/* Returns the value of a text, which has to be JSON; ABSENT if it is empty. */
static inline jspan_t checked(const char *text)
{
    jspan_t value = {.kind = JSPAN_ABSENT};
    fault_t fault;

    if (*text)
        assert_int_equal(jspan_check(text, strlen(text), &value, &fault), 0);
    return value;
}

#endif
