/* Objects that no longer count references: using one does not write to it, so
 * its page stays shared between a zygote and its kernels. */
#ifndef HEARTH_KERNELS_HEARTH_KERNEL_SANDBOX_IMMORTAL_H
#define HEARTH_KERNELS_HEARTH_KERNEL_SANDBOX_IMMORTAL_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Makes the objects of a list immortal, and the objects that they refer to and
 * the collector does not track: texts, numbers, code. Returns their number: 0
 * if the interpreter has no immortal objects (before CPython 3.12). NULL with
 * an exception if an object cannot be read; those before it are immortal. */
PyObject *immortal_make(PyObject *list);

#endif
