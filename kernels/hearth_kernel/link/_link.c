/* The Python face of link.c. Module functions over the one link of the
 * process; what has to wait waits here, without the GIL and with an eye on
 * signals. CPython's limited API of 3.9: one build serves every version. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "base/base64.h"
#include "base/utf8.h"
#include "kernels/hearth_kernel/link/handlers.h"
#include "kernels/hearth_kernel/link/link.h"
#include "kernels/hearth_kernel/link/text.h"
#include "protocol/limits.h"
#include "protocol/package_words.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>

/* How long a wait may miss a signal that another thread received. */
#define WAIT_MS 100

static link_t *the_link;
static PyObject *get_cause; /* owned; () -> number of a request, or None */

static PyObject *refuse(const fault_t *fault)
{
    errno = fault->code;
    return PyErr_Format(PyExc_OSError, "%s", fault->text);
}

static bool is_started(void)
{
    if (!the_link)
        PyErr_SetString(PyExc_RuntimeError, "the link is not started");
    return the_link != NULL;
}

/* Waits until the descriptor is readable, or for WAIT_MS. Returns false if a
 * signal handler raised. */
static bool wait_for(int fd)
{
    struct pollfd poller = {.fd = fd, .events = POLLIN};
    eventfd_t value;

    Py_BEGIN_ALLOW_THREADS if (poll(&poller, 1, WAIT_MS) > 0)
        eventfd_read(fd, &value);
    Py_END_ALLOW_THREADS return PyErr_CheckSignals() == 0;
}

static PyObject *start(PyObject *module, PyObject *args)
{
    int listener;
    unsigned long long retain;
    PyObject *cause;
    fault_t fault;

    (void) module;
    if (!PyArg_ParseTuple(args, "iKO:start", &listener, &retain, &cause))
        return NULL;
    if (link_new(listener, (size_t) retain, &the_link, &fault) < 0)
        return refuse(&fault);
    Py_INCREF(cause);
    get_cause = cause;
    return PyLong_FromLong(link_requests_fd(the_link));
}

/* Finds the request to which the code that runs now belongs. */
static bool find_cause(uint64_t *ret_request)
{
    PyObject *cause = PyObject_CallObject(get_cause, NULL);
    bool is_ok = cause != NULL;

    if (!is_ok)
        return false;
    if (cause == Py_None) {
        *ret_request = link_attributed(the_link);
    } else {
        unsigned long long number = PyLong_AsUnsignedLongLong(cause);

        is_ok = number != (unsigned long long) -1 || !PyErr_Occurred();
        *ret_request = number;
    }
    Py_DECREF(cause);
    return is_ok;
}

static bool write_bytes(link_stream_t stream, const char *text, size_t size)
{
    uint64_t request;

    if (!find_cause(&request))
        return false;
    while (size > 0) {
        size_t piece =
            size > LINK_TEXT_MAX ? utf8_cut(text, LINK_TEXT_MAX) : size;

        while (link_write(the_link, stream, request, text, piece) == -EAGAIN)
            if (!wait_for(link_room_fd(the_link)))
                return false;
        text += piece;
        size -= piece;
    }
    return true;
}

static PyObject *write_text(link_stream_t stream, PyObject *text)
{
    PyObject *bytes;
    PyObject *result = NULL;
    char *data;
    Py_ssize_t size;

    if (!is_started())
        return NULL;
    if (!PyUnicode_Check(text)) {
        PyErr_SetString(PyExc_TypeError, "write() argument must be str");
        return NULL;
    }
    bytes = PyUnicode_AsUTF8String(text);
    if (!bytes && PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) {
        /* Lone surrogates have no place in JSON. */
        PyErr_Clear();
        bytes = PyUnicode_AsEncodedString(text, "utf-8", "replace");
    }
    if (!bytes)
        return NULL;
    if (PyBytes_AsStringAndSize(bytes, &data, &size) == 0
        && write_bytes(stream, data, (size_t) size))
        result = PyLong_FromSsize_t(PyUnicode_GetLength(text));
    Py_DECREF(bytes);
    return result;
}

static PyObject *write_stdout(PyObject *module, PyObject *text)
{
    (void) module;
    return write_text(LINK_STDOUT, text);
}

static PyObject *write_stderr(PyObject *module, PyObject *text)
{
    (void) module;
    return write_text(LINK_STDERR, text);
}

static PyObject *line(PyObject *module, PyObject *nothing)
{
    uint64_t request;

    (void) module;
    (void) nothing;
    if (!is_started() || !find_cause(&request))
        return NULL;
    return PyLong_FromSize_t(link_line(the_link, request));
}

static PyObject *flush(PyObject *module, PyObject *nothing)
{
    (void) module;
    (void) nothing;
    if (the_link)
        link_flush(the_link);
    Py_RETURN_NONE;
}

/* Fills `parts` from a list of bytes objects. Returns false if it raised an
 * exception. */
static bool read_list(PyObject *list, Py_ssize_t count, bytes_t *parts)
{
    for (Py_ssize_t i = 0; i < count; i++) {
        char *data;
        Py_ssize_t size;

        if (PyBytes_AsStringAndSize(PyList_GetItem(list, i), &data, &size) < 0)
            return false;
        parts[i] = (bytes_t){data, (size_t) size};
    }
    return true;
}

/* Returns how many buffers there are; -1 if it raised an exception. */
static Py_ssize_t read_buffers(PyObject *list, bytes_t *parts)
{
    Py_ssize_t count;

    if (!list || list == Py_None)
        return 0;
    count = PyList_Size(list);
    if (count > FRAME_BUFFERS_MAX)
        PyErr_Format(PyExc_ValueError, "more than %d buffers",
                     FRAME_BUFFERS_MAX);
    else if (read_list(list, count, parts))
        return count;
    return -1;
}

static bool is_too_deep(const bytes_t *pieces, size_t count)
{
    text_depth_t depth = {0};

    for (size_t i = 0; i < count; i++)
        text_depth_add(&depth, pieces[i]);
    return depth.deepest > JSON_DEPTH_MAX;
}

/* Raises an exception for a frame that the gateway would refuse: a refused
 * frame would end the session. */
static bool check_limits(const frame_t *frame)
{
    size_t size = frame->metadata.size + frame->content.size
                  + frame->buffer_count * sizeof(uint64_t);

    for (size_t i = 0; i < frame->buffer_count; i++)
        size += frame->buffers[i].size;
    if (size > FRAME_BODY_MAX || frame->metadata.size > FRAME_METADATA_MAX) {
        PyErr_Format(PyExc_ValueError, "an output of %zu bytes is too large",
                     size);
        return false;
    }
    if (is_too_deep(frame->pieces, frame->piece_count)
        || is_too_deep(&frame->metadata, 1)) {
        PyErr_Format(PyExc_ValueError, "JSON nests deeper than %d",
                     JSON_DEPTH_MAX);
        return false;
    }
    return true;
}

static PyObject *emit(PyObject *module, PyObject *args)
{
    unsigned short type;
    unsigned long long request;
    const char *metadata = "";
    Py_ssize_t metadata_size = 0;
    PyObject *content, *buffers = NULL;
    int hold = 0, r;
    cleanup_free bytes_t *pieces = NULL;
    bytes_t parts[FRAME_BUFFERS_MAX] = {{NULL, 0}};
    Py_ssize_t piece_count, count;
    frame_t frame;

    (void) module;
    if (!is_started()
        || !PyArg_ParseTuple(args, "HKO!|y#Op:emit", &type, &request,
                             &PyList_Type, &content, &metadata, &metadata_size,
                             &buffers, &hold)
        || (piece_count = PyList_Size(content)) < 0
        || (count = read_buffers(buffers, parts)) < 0)
        return NULL;
    pieces = mem_new((size_t) (piece_count + 1) * sizeof *pieces);
    if (!read_list(content, piece_count, pieces))
        return NULL;
    frame = (frame_t){.type = type,
                      .request = request,
                      .metadata = {metadata, (size_t) metadata_size},
                      .pieces = pieces,
                      .piece_count = (size_t) piece_count,
                      .buffers = parts,
                      .buffer_count = (size_t) count};
    for (size_t i = 0; i < frame.piece_count; i++)
        frame.content.size += pieces[i].size;
    if (!check_limits(&frame))
        return NULL;
    while ((r = link_emit(the_link, &frame, hold)) == -EAGAIN)
        if (!wait_for(link_room_fd(the_link)))
            return NULL;
    if (r < 0) {
        PyErr_SetString(PyExc_RuntimeError, "the request has ended");
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *part_bytes(bytes_t part)
{
    return PyBytes_FromStringAndSize(part.bytes, (Py_ssize_t) part.size);
}

static PyObject *poll_requests(PyObject *module, PyObject *nothing)
{
    (void) module;
    (void) nothing;
    if (!is_started())
        return NULL;
    link_poll(the_link);
    Py_RETURN_NONE;
}

static PyObject *join(PyObject *module, PyObject *epoll)
{
    long fd = PyLong_AsLong(epoll);

    (void) module;
    if (PyErr_Occurred() || !is_started())
        return NULL;
    link_join(the_link, (int) fd);
    Py_RETURN_NONE;
}

static PyObject *has_next(PyObject *module, PyObject *nothing)
{
    (void) module;
    (void) nothing;
    return PyBool_FromLong(the_link && link_has_next(the_link));
}

static PyObject *request_tuple(const link_request_t *request)
{
    const frame_t *frame;
    PyObject *buffers;

    if (!request)
        Py_RETURN_NONE;
    frame = link_request_frame(request);
    buffers = PyList_New((Py_ssize_t) frame->buffer_count);
    for (size_t i = 0; buffers && i < frame->buffer_count; i++)
        PyList_SetItem(buffers, (Py_ssize_t) i, part_bytes(frame->buffers[i]));
    return Py_BuildValue("HKNNN", (unsigned short) frame->type,
                         (unsigned long long) frame->request,
                         part_bytes(frame->content),
                         part_bytes(frame->metadata), buffers);
}

static PyObject *next(PyObject *module, PyObject *nothing)
{
    cleanup_link_request link_request_t *request = NULL;

    (void) module;
    (void) nothing;
    if (!is_started())
        return NULL;
    request = link_next(the_link);
    return request_tuple(request);
}

static PyObject *next_comm(PyObject *module, PyObject *nothing)
{
    cleanup_link_request link_request_t *request = NULL;

    (void) module;
    (void) nothing;
    if (!is_started())
        return NULL;
    request = link_next_comm(the_link);
    return request_tuple(request);
}

static PyObject *input_wait(PyObject *module, PyObject *number)
{
    unsigned long long request = PyLong_AsUnsignedLongLong(number);

    (void) module;
    if (PyErr_Occurred() || !is_started())
        return NULL;
    for (;;) {
        cleanup_link_request link_request_t *input =
            link_next_input(the_link, request);

        if (input)
            return part_bytes(link_request_frame(input)->content);
        if (!wait_for(link_inputs_fd(the_link)))
            return NULL;
    }
}

static PyObject *input_clear(PyObject *module, PyObject *nothing)
{
    (void) module;
    (void) nothing;
    if (the_link)
        link_clear_inputs(the_link);
    Py_RETURN_NONE;
}

static PyObject *tools(PyObject *module, PyObject *number)
{
    unsigned long long known = PyLong_AsUnsignedLongLong(number);
    cleanup_link_request link_request_t *newest = NULL;
    uint64_t count = 0;

    (void) module;
    if (PyErr_Occurred())
        return NULL;
    if (the_link)
        newest = link_tools(the_link, known, &count);
    if (!newest)
        Py_RETURN_NONE;
    return Py_BuildValue("KN", (unsigned long long) count,
                         part_bytes(link_request_frame(newest)->content));
}

static PyObject *answer_wait(PyObject *module, PyObject *nothing)
{
    cleanup_link_request link_request_t *answer = NULL;

    (void) module;
    (void) nothing;
    if (!is_started())
        return NULL;
    Py_BEGIN_ALLOW_THREADS answer = link_await_answer(the_link);
    Py_END_ALLOW_THREADS if (!answer) Py_RETURN_NONE;
    return Py_BuildValue(
        "KN", (unsigned long long) link_request_frame(answer)->request,
        part_bytes(link_request_frame(answer)->content));
}

static PyObject *attribute(PyObject *module, PyObject *number)
{
    unsigned long long request = PyLong_AsUnsignedLongLong(number);

    (void) module;
    if (PyErr_Occurred())
        return NULL;
    if (the_link)
        link_attribute(the_link, request);
    Py_RETURN_NONE;
}

static PyObject *cause(PyObject *module, PyObject *nothing)
{
    uint64_t request = 0;

    (void) module;
    (void) nothing;
    if (the_link && !find_cause(&request))
        return NULL;
    return PyLong_FromUnsignedLongLong(request);
}

static PyObject *is_child(PyObject *module, PyObject *nothing)
{
    (void) module;
    (void) nothing;
    return PyBool_FromLong(the_link && link_is_child(the_link));
}

static PyObject *is_base64(PyObject *module, PyObject *bytes)
{
    Py_ssize_t size;
    char *text;

    (void) module;
    if (PyBytes_AsStringAndSize(bytes, &text, &size) < 0)
        return NULL;
    switch (base64_find(text, (size_t) size, false)) {
    case BASE64_NONE:
        break;
    case BASE64_LINES:
        Py_RETURN_FALSE;
    case BASE64_PLAIN:
        Py_RETURN_TRUE;
    }
    Py_RETURN_NONE;
}

static PyObject *await_sent(PyObject *module, PyObject *seconds)
{
    unsigned long most = PyLong_AsUnsignedLong(seconds);

    (void) module;
    if (PyErr_Occurred())
        return NULL;
    Py_BEGIN_ALLOW_THREADS if (the_link)
        link_await_sent(the_link, (unsigned) most);
    Py_END_ALLOW_THREADS Py_RETURN_NONE;
}

static PyObject *strike(PyObject *module, PyObject *is_taken)
{
    (void) module;
    if (the_link && !handlers_is_again())
        link_strike(the_link, is_taken == Py_True);
    Py_RETURN_NONE;
}

static PyObject *interrupter(PyObject *module, PyObject *decide)
{
    (void) module;
    return handlers_new_interrupter(decide);
}

static PyObject *note_interrupts(PyObject *module, PyObject *note)
{
    (void) module;
    if (handlers_install(note) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"start", start, METH_VARARGS,
     "start(listener, retain, cause) -> descriptor readable on requests"},
    {"write_stdout", write_stdout, METH_O, "write(text) -> characters"},
    {"write_stderr", write_stderr, METH_O, "write(text) -> characters"},
    {"line", line, METH_NOARGS,
     "line() -> bytes of the last line that the running code wrote to stdout"},
    {"flush", flush, METH_NOARGS, "Sends the text that waits."},
    {"emit", emit, METH_VARARGS,
     "emit(type, request, content, metadata=b'', buffers=None, hold=False)"},
    {"join", join, METH_O,
     "join(epoll): the loop's, where start()'s descriptor is watched."},
    {"has_next", has_next, METH_NOARGS, "Whether next() has something."},
    {"poll", poll_requests, METH_NOARGS, "Reads what the gateway sent."},
    {"next", next, METH_NOARGS,
     "next() -> (type, request, content, metadata, buffers) or None"},
    {"next_comm", next_comm, METH_NOARGS,
     "next_comm() -> likewise, if a comm message is next, or None"},
    {"input_wait", input_wait, METH_O, "input_wait(request) -> content"},
    {"input_clear", input_clear, METH_NOARGS, "Forgets late answers."},
    {"tools", tools, METH_O,
     "tools(known) -> (count, content) of the newest TOOLS, or None."},
    {"answer_wait", answer_wait, METH_NOARGS,
     "answer_wait() -> (call, content) of the next CALLED."},
    {"attribute", attribute, METH_O,
     "attribute(request): text of unknown origin belongs to it."},
    {"cause", cause, METH_NOARGS, "cause() -> request of the running code"},
    {"is_child", is_child, METH_NOARGS, "Whether this is a forked child."},
    {"await_sent", await_sent, METH_O,
     "await_sent(seconds): wait at most that long until all was sent."},
    {"is_base64", is_base64, METH_O,
     "Whether bytes are base64 without white space; None: no base64."},
    {"interrupter", interrupter, METH_O,
     "interrupter(decide) -> a signal handler: KeyboardInterrupt where "
     "decide(number, frame)."},
    {"note_interrupts", note_interrupts, METH_O,
     "note_interrupts(note): note(number, frame) comes before each handler of "
     "SIGINT that is set from now on; no KeyboardInterrupt is dropped."},
    {"strike", strike, METH_O,
     "strike(is_taken): Python code has got a SIGINT."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "hearth_kernel._link",
    .m_doc = "The kernel's end of the kernel link.",
    .m_size = -1,
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__link(void);

PyMODINIT_FUNC PyInit__link(void)
{
    PyObject *module = PyModule_Create(&definition);

    if (module
        && (PyModule_AddIntMacro(module, FRAME_VERSION) < 0
            || PyModule_AddStringMacro(module, PACKAGES_STAY) < 0
            || PyModule_AddStringMacro(module, PACKAGE_IMPORTED) < 0
#define X(name, code, way, type)                                               \
    || PyModule_AddIntConstant(module, #name, FRAME_##name) < 0
                   FRAME_TYPES(X)
#undef X
                )) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
