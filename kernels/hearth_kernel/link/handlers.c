/* See handlers.h. A handler is a built-in function that is bound to a pair:
 * what is called first, and the handler of user code or None. signal.signal and
 * signal.getsignal call _signal's by their names there, where ours are put in
 * their place: docs/design/ARCHITECTURE.md says why. The originals are kept for
 * the life of the process, and the interpreter's lock is held throughout. */
#include "kernels/hearth_kernel/link/handlers.h"

#include <signal.h>

#define AGAIN_MAX 16 /* C code that calls Python for ever goes on at last */

static PyObject *original_set, *original_get, *original_hook;
static const void *raised; /* the last KeyboardInterrupt: compared, not used */
static unsigned again_left;
static bool is_again;

bool handlers_is_again(void)
{
    return is_again;
}

static void raise_interrupt(void)
{
    PyObject *error = PyObject_CallObject(PyExc_KeyboardInterrupt, NULL);

    if (error)
        PyErr_SetObject(PyExc_KeyboardInterrupt, error);
    raised = error;
    Py_XDECREF(error);
}

static PyObject *interrupt(PyObject *pair, PyObject *args)
{
    PyObject *handler = PyTuple_GetItem(pair, 1);
    PyObject *answer = PyObject_CallObject(PyTuple_GetItem(pair, 0), args);
    int raises = answer ? PyObject_IsTrue(answer) : -1;

    Py_XDECREF(answer);
    if (!is_again)
        again_left = AGAIN_MAX;
    is_again = false;
    if (raises >= 0 && handler != Py_None)
        return PyObject_CallObject(handler, args);
    if (raises > 0)
        raise_interrupt();
    if (raises)
        return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef interrupt_method = {
    "interrupt", interrupt, METH_VARARGS,
    "interrupt(number, frame): a handler of SIGINT."};

static PyObject *new_handler(PyObject *first, PyObject *handler)
{
    PyObject *pair = PyTuple_Pack(2, first, handler);
    PyObject *made = pair ? PyCFunction_New(&interrupt_method, pair) : NULL;

    Py_XDECREF(pair);
    return made;
}

PyObject *handlers_new_interrupter(PyObject *decide)
{
    return new_handler(decide, Py_None);
}

static bool is_ours(PyObject *handler)
{
    return PyCFunction_Check(handler)
           && PyCFunction_GetFunction(handler) == interrupt;
}

/* Replaces one of ours, which is taken, by the handler of user code in it. */
static PyObject *unwrap(PyObject *handler)
{
    PyObject *own;

    if (!handler || !is_ours(handler))
        return handler;
    own = PyTuple_GetItem(PyCFunction_GetSelf(handler), 1);
    if (own == Py_None)
        return handler;
    Py_INCREF(own);
    Py_DECREF(handler);
    return own;
}

/* Returns the handler in the arguments of _signal.signal, borrowed, if it is
 * one for SIGINT that is not ours; NULL otherwise. */
static PyObject *find_foreign(PyObject *args)
{
    PyObject *number, *handler;

    if (PyTuple_Size(args) != 2)
        return NULL;
    number = PyTuple_GetItem(args, 0);
    handler = PyTuple_GetItem(args, 1);
    if (!PyLong_Check(number) || !PyCallable_Check(handler) || is_ours(handler)
        || PyLong_AsLong(number) != SIGINT) {
        PyErr_Clear(); /* a number beyond long */
        return NULL;
    }
    return handler;
}

static PyObject *set_handler(PyObject *note, PyObject *args)
{
    PyObject *foreign = find_foreign(args);
    PyObject *wrapped, *before;

    if (!foreign)
        return unwrap(PyObject_CallObject(original_set, args));
    wrapped = new_handler(note, foreign);
    if (!wrapped)
        return NULL;
    before = PyObject_CallFunctionObjArgs(
        original_set, PyTuple_GetItem(args, 0), wrapped, NULL);
    Py_DECREF(wrapped);
    return unwrap(before);
}

static PyObject *get_handler(PyObject *nothing, PyObject *args)
{
    (void) nothing;
    return unwrap(PyObject_CallObject(original_get, args));
}

/* Gets what the interpreter drops. The handler is called after the last code
 * that could drop it once more: a built-in function is not interrupted. */
static PyObject *on_dropped(PyObject *nothing, PyObject *args)
{
    PyObject *dropped = PyTuple_GetItem(args, 0);
    PyObject *error =
        dropped ? PyObject_GetAttrString(dropped, "exc_value") : NULL;

    (void) nothing;
    if (!error)
        return NULL;
    Py_DECREF(error);
    if (error != raised || !again_left)
        return PyObject_CallObject(original_hook, args);
    raised = NULL;
    again_left--;
    is_again = true;
    PyErr_SetInterrupt();
    Py_RETURN_NONE;
}

static PyMethodDef set_method = {"signal", set_handler, METH_VARARGS,
                                 "Set the handler of a signal."};
static PyMethodDef get_method = {"getsignal", get_handler, METH_VARARGS,
                                 "Return the handler of a signal."};
static PyMethodDef hook_method = {"unraisablehook", on_dropped, METH_VARARGS,
                                  "Handle an exception that is dropped."};

/* Puts a function in the place of a module's, which is kept. */
static int replace(const char *name, PyMethodDef *method, PyObject *self,
                   PyObject **ret_original)
{
    PyObject *module = PyImport_ImportModule(name);
    PyObject *original =
        module ? PyObject_GetAttrString(module, method->ml_name) : NULL;
    PyObject *made = original ? PyCFunction_New(method, self) : NULL;
    int r = made ? PyObject_SetAttrString(module, method->ml_name, made) : -1;

    Py_XDECREF(made);
    Py_XDECREF(module);
    if (r == 0)
        *ret_original = original;
    else
        Py_XDECREF(original);
    return r;
}

int handlers_install(PyObject *note)
{
    if (original_set)
        return 0;
    if (replace("_signal", &set_method, note, &original_set) < 0
        || replace("_signal", &get_method, NULL, &original_get) < 0)
        return -1;
    return replace("sys", &hook_method, NULL, &original_hook);
}
