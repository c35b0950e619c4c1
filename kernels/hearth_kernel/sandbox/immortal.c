/* See immortal.h. CPython has no call for it. An object is immortal when the
 * lower half of its count has its highest bit set (PEP 683; the same in 3.12,
 * 3.13 and 3.14). Code that counts references leaves such an object alone. The
 * value is taken from None, which is immortal wherever there are such objects
 * at all. One thread, the zygote's, before it forks. */
#include "kernels/hearth_kernel/sandbox/immortal.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define IMMORTAL  UINT32_C(0x80000000)
#define DEPTH_MAX 200 /* of tuples in tuples; what is deeper stays mortal */

typedef struct {
    PyTypeObject *code; /* borrowed */
    uint32_t count;     /* what an immortal object's says */
    unsigned long made;
    int depth;
} maker_t;

/* Returns the lower half of the count: the upper half has other uses from 3.14
 * on. */
static uint32_t *count_of(PyObject *object)
{
    return (uint32_t *) (void *) &object->ob_refcnt;
}

static bool has_immortals(void)
{
    const uint16_t probe = 1;

    return sizeof(void *) == 8 && *(const uint8_t *) &probe == 1
           && *count_of(Py_None) & IMMORTAL;
}

static int visit(PyObject *object, void *arg);

/* Visits a code object's constants: the collector does not ask code what it
 * refers to. */
static int visit_constants(PyObject *code, maker_t *maker)
{
    PyObject *constants = PyObject_GetAttrString(code, "co_consts");
    int r;

    if (constants == NULL)
        return -1;
    r = visit(constants, maker);
    Py_DECREF(constants);
    return r;
}

static int visit_referents(PyObject *object, maker_t *maker)
{
    void *slot = PyType_GetSlot(Py_TYPE(object), Py_tp_traverse);
    traverseproc traverse;

    if (slot == NULL)
        return 0;
    memcpy(&traverse, &slot, sizeof traverse);
    return traverse(object, visit, maker);
}

/* Visits an object. Objects that the collector tracks are in the list
 * themselves, or have to live as long as they are referenced. It does not track
 * tuples and dicts without containers in them. */
static int visit(PyObject *object, void *arg)
{
    maker_t *maker = arg;
    int r = 0;

    if (*count_of(object) & IMMORTAL || PyObject_GC_IsTracked(object)
        || maker->depth == DEPTH_MAX)
        return 0;
    *count_of(object) = maker->count;
    maker->made++;
    maker->depth++;
    if (PyTuple_CheckExact(object) || PyDict_CheckExact(object))
        r = visit_referents(object, maker);
    else if (Py_TYPE(object) == maker->code)
        r = visit_constants(object, maker);
    maker->depth--;
    return r;
}

static int make_all(PyObject *list, maker_t *maker)
{
    for (Py_ssize_t i = 0; i < PyList_Size(list); i++) {
        PyObject *object = PyList_GetItem(list, i);

        if (object == NULL)
            return -1;
        if (!(*count_of(object) & IMMORTAL)) {
            *count_of(object) = maker->count;
            maker->made++;
        }
        if (PyObject_GC_IsTracked(object) && visit_referents(object, maker) < 0)
            return -1;
    }
    return 0;
}

PyObject *immortal_make(PyObject *list)
{
    PyObject *code;
    maker_t maker = {0};
    int r;

    if (!PyList_Check(list))
        return PyErr_Format(PyExc_TypeError, "a list is expected");
    if (!has_immortals())
        return PyLong_FromLong(0);
    code = Py_CompileString("0", "<none>", Py_eval_input);
    if (code == NULL)
        return NULL;
    maker.code = Py_TYPE(code);
    maker.count = *count_of(Py_None);
    r = make_all(list, &maker);
    Py_DECREF(code);
    return r < 0 ? NULL : PyLong_FromUnsignedLong(maker.made);
}
