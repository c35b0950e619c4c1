/* Objects that count no references any more: whoever uses one does not write to
 * it, and its page stays shared between a zygote and its kernels. */
#ifndef HEARTH_KERNELS_HEARTH_KERNEL_IMMORTAL_H
#define HEARTH_KERNELS_HEARTH_KERNEL_IMMORTAL_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Makes those of a list immortal, and what they refer to and the collector does
 * not know: texts, numbers, code. How many it were: 0 where the interpreter has
 * no such objects (before CPython 3.12). NULL with an exception when an object
 * cannot be read; those before it are immortal. */
PyObject *immortal_make(PyObject *list);

#endif
