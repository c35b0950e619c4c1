/* cmocka with the four headers that it wants before it. */
#ifndef HEARTH_TESTS_LIB_TEST_H
#define HEARTH_TESTS_LIB_TEST_H

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
/* clang-format on */

#endif
