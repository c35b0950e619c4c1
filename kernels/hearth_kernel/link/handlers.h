/* Python's handlers of SIGINT. The kernel's own raises KeyboardInterrupt. A
 * handler that user code sets is called after a function of the kernel's, which
 * notes that Python code has got the signal. User code sees its own handler.
 * Functions that the interpreter itself calls have no frame in a traceback.
 *
 * The interpreter drops an exception that a finalizer raises, or a callback of
 * fork. A KeyboardInterrupt that is dropped there is raised again after it. */
#ifndef HEARTH_KERNELS_HEARTH_KERNEL_LINK_HANDLERS_H
#define HEARTH_KERNELS_HEARTH_KERNEL_LINK_HANDLERS_H

#include <Python.h>
#include <stdbool.h>

/* Returns a handler that raises KeyboardInterrupt if decide(number, frame) is
 * true. */
PyObject *handlers_new_interrupter(PyObject *decide);
/* Has note(number, frame) called before each handler of SIGINT that
 * signal.signal sets from now on. From then on the interpreter drops no
 * KeyboardInterrupt. Returns -1 with an exception set on failure. */
int handlers_install(PyObject *note);
/* Returns true if what is handled is no new signal: the last one is raised
 * again. */
bool handlers_is_again(void);

#endif
