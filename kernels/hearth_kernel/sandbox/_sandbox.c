/* The Python interface of sandbox/: a description is made once, and then a
 * gateway's requests are served, or one kernel is forked. Also what a zygote
 * does to its objects before that. It decides nothing and keeps one description
 * per interpreter.
 *
 *   describe(plan) -> int
 *       Makes or replaces the description; returns the number of places.
 *       `plan` has `init` (the path of hearth-init), `readonly` (the places of
 *       the host to be shown) and `mounts` (texts "SOURCE:TARGET" of places
 *       that are shown elsewhere). It may have `network` (sandbox_network_t),
 *       `accept` and `without` (names of walls). OSError if a place is missing
 *       or a wall is unknown.
 *   serve(gateway_fd, mapper_fd) -> dict or None
 *       Runs the zygote's loop (loop.h). Returns None when the gateway has
 *       closed its end. In each payload it returns a dict with `link_fd`,
 *       `status_fd`, `init_fd`, `retain` and `env`. OSError if no more kernels
 *       can be made.
 *   await_init(init_fd)
 *       Called once in such a payload, before any foreign code runs. Returns
 *       when its pid 1 is out of reach. OSError if there is no pid 1: the
 *       payload has to end.
 *   fork(spec) -> (pid, pidfd)
 *       Makes one kernel without a gateway. `spec` has the members of
 *       sandbox_launch_t by name. `limits` (a dict of sandbox_limits_t),
 *       `cgroup_fds` (a list), `cgroup_folder` and `keeps_status` (bools) may
 *       be absent. Returns (0, -1) in the payload. OSError if no child was
 *       made; a failure in the child is written to status_fd.
 *   gather() -> bool
 *       Makes small objects adjacent from now on (arenas.h).
 *   close_region()
 *       Ends that and frees the rest of the room for them.
 *   immortal(objects) -> int
 *       Makes objects of a list immortal (immortal.h), before any fork.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "kernels/hearth_kernel/sandbox/arenas.h"
#include "kernels/hearth_kernel/sandbox/immortal.h"
#include "kernels/hearth_kernel/sandbox/loop.h"
#include "sandbox/launch/launch.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#define GROUP_FDS_MAX 8

typedef struct {
    sandbox_t *sandbox; /* owned; NULL before describe */
} module_state_t;

static PyObject *raise_fault(const fault_t *fault)
{
    PyObject *arguments = Py_BuildValue("(is)", fault->code, fault->text);

    if (arguments != NULL) {
        PyErr_SetObject(PyExc_OSError, arguments);
        Py_DECREF(arguments);
    }
    return NULL;
}

/* Adds a mount from "SOURCE:TARGET". The last colon counts, since places of
 * ours have no colon. */
static int say_mount(sandbox_t *sandbox, const char *text, fault_t *fault)
{
    const char *colon = strrchr(text, ':');
    char source[PATH_MAX];

    if (colon == NULL || (size_t) (colon - text) >= sizeof source)
        return fault_set(fault, EINVAL,
                         "sandbox: a mount is SOURCE:TARGET, two paths");
    memcpy(source, text, (size_t) (colon - text));
    source[colon - text] = '\0';
    return sandbox_add_mount(sandbox, source, colon + 1, fault);
}

/* Adds one text of a list of the plan to the sandbox. */
typedef int(say_fn)(sandbox_t *sandbox, const char *text, fault_t *fault);

static int say_one(sandbox_t *sandbox, say_fn *say, PyObject *text)
{
    fault_t fault = {0, ""};
    PyObject *bytes = NULL;
    int r;

    if (!PyUnicode_FSConverter(text, &bytes))
        return -1;
    r = say(sandbox, PyBytes_AsString(bytes), &fault);
    Py_DECREF(bytes);
    if (r < 0)
        raise_fault(&fault);
    return r;
}

/* Adds the texts of that list of the plan; returns their number. A missing list
 * is empty. */
static Py_ssize_t say_list(sandbox_t *sandbox, say_fn *say, PyObject *plan,
                           const char *name)
{
    PyObject *list = PyDict_GetItemString(plan, name);
    Py_ssize_t count = list == NULL ? 0 : PySequence_Size(list);

    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *text = PySequence_GetItem(list, i);
        int r = text == NULL ? -1 : say_one(sandbox, say, text);

        Py_XDECREF(text);
        if (r < 0)
            return -1;
    }
    return count;
}

/* Reads a number of the spec, at most `max`; 0 if it is missing and
 * `optional`. */
static int get_number(PyObject *spec, const char *name, bool optional,
                      uint64_t max, uint64_t *ret_number)
{
    PyObject *value = PyDict_GetItemString(spec, name);
    unsigned long long number;

    if (value == NULL && !optional) {
        PyErr_Format(PyExc_KeyError, "%s", name);
        return -1;
    }
    if (value == NULL || value == Py_None) {
        *ret_number = 0;
        return 0;
    }
    number = PyLong_AsUnsignedLongLong(value);
    if (PyErr_Occurred())
        return -1;
    if (number > max) {
        PyErr_Format(PyExc_ValueError, "%s is out of range", name);
        return -1;
    }
    *ret_number = number;
    return 0;
}

static int set_network(sandbox_t *sandbox, PyObject *plan)
{
    fault_t fault = {0, ""};
    uint64_t network;

    if (get_number(plan, "network", true, SANDBOX_NETWORK_LOOPBACK, &network)
        < 0)
        return -1;
    if (sandbox_set_network(sandbox, (sandbox_network_t) network, &fault) < 0) {
        raise_fault(&fault);
        return -1;
    }
    return 0;
}

static PyObject *describe(PyObject *module, PyObject *plan)
{
    module_state_t *state = PyModule_GetState(module);
    fault_t fault = {0, ""};
    cleanup_sandbox sandbox_t *sandbox = NULL;
    PyObject *program;
    PyObject *path = NULL;
    Py_ssize_t count;

    if (!PyDict_Check(plan))
        return PyErr_Format(PyExc_TypeError, "the plan is not a dict");
    program = PyDict_GetItemString(plan, "init");
    if (program == NULL)
        return PyErr_Format(PyExc_KeyError, "init");
    if (!PyUnicode_FSConverter(program, &path))
        return NULL;
    sandbox = sandbox_new(PyBytes_AsString(path), &fault);
    Py_DECREF(path);
    if (sandbox == NULL)
        return raise_fault(&fault);
    count = say_list(sandbox, sandbox_add_readonly, plan, "readonly");
    if (count < 0 || say_list(sandbox, say_mount, plan, "mounts") < 0
        || say_list(sandbox, sandbox_accept, plan, "accept") < 0
        || say_list(sandbox, sandbox_leave_out, plan, "without") < 0
        || set_network(sandbox, plan) < 0)
        return NULL;
    sandbox_destroy(&state->sandbox);
    state->sandbox = take_ptr(sandbox);
    return PyLong_FromSsize_t(count);
}

static int get_limits(PyObject *dict, sandbox_limits_t *ret_limits)
{
    if (!PyDict_Check(dict)) {
        PyErr_SetString(PyExc_TypeError, "limits is not a dict");
        return -1;
    }
    if (get_number(dict, "address_space", true, UINT64_MAX,
                   &ret_limits->address_space)
            < 0
        || get_number(dict, "file_size", true, UINT64_MAX,
                      &ret_limits->file_size)
               < 0
        || get_number(dict, "open_files", true, UINT64_MAX,
                      &ret_limits->open_files)
               < 0
        || get_number(dict, "processes", true, UINT64_MAX,
                      &ret_limits->processes)
               < 0
        || get_number(dict, "cpu_seconds", true, UINT64_MAX,
                      &ret_limits->cpu_seconds)
               < 0
        || get_number(dict, "tmp", true, UINT64_MAX, &ret_limits->tmp) < 0
        || get_number(dict, "shm", true, UINT64_MAX, &ret_limits->shm) < 0)
        return -1;
    return 0;
}

static int get_launch(PyObject *spec, sandbox_limits_t *limits,
                      sandbox_launch_t *ret_launch)
{
    PyObject *dict = PyDict_GetItemString(spec, "limits");
    struct {
        const char *name;
        bool optional;
        uint64_t max;
        uint64_t number;
    } numbers[] = {
        {"workspace_fd", false, INT_MAX, 0},
        {"link_fd", false, INT_MAX, 0},
        {"init_fd", false, INT_MAX, 0},
        {"status_fd", false, INT_MAX, 0},
        {"host_uid", false, UINT32_MAX, 0},
        {"host_gid", false, UINT32_MAX, 0},
        {"orphan_seconds", true, UINT_MAX, 0},
        {"init_uid", true, UINT32_MAX, 0},
        {"init_gid", true, UINT32_MAX, 0},
        {"keeps_status", true, 1, 0},
        {"mapper_fd", true, INT_MAX, 0},
    };

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (get_number(spec, numbers[i].name, numbers[i].optional,
                       numbers[i].max, &numbers[i].number)
            < 0)
            return -1;
    if (dict != NULL && dict != Py_None) {
        if (get_limits(dict, limits) < 0)
            return -1;
        ret_launch->limits = limits;
    }
    ret_launch->workspace_fd = (int) numbers[0].number;
    ret_launch->link_fd = (int) numbers[1].number;
    ret_launch->init_fd = (int) numbers[2].number;
    ret_launch->status_fd = (int) numbers[3].number;
    ret_launch->host_uid = (uid_t) numbers[4].number;
    ret_launch->host_gid = (gid_t) numbers[5].number;
    ret_launch->orphan_seconds = (unsigned) numbers[6].number;
    ret_launch->init_uid = (uid_t) numbers[7].number;
    ret_launch->init_gid = (gid_t) numbers[8].number;
    ret_launch->keeps_status = numbers[9].number != 0;
    ret_launch->mapper_fd = (int) numbers[10].number;
    return 0;
}

/* Gets the host name as bytes, which the caller holds while it is used. */
static int get_hostname(PyObject *spec, PyObject **ret_bytes)
{
    PyObject *value = PyDict_GetItemString(spec, "hostname");

    *ret_bytes = NULL;
    if (value == NULL || value == Py_None)
        return 0;
    *ret_bytes = PyUnicode_AsUTF8String(value);
    return *ret_bytes == NULL ? -1 : 0;
}

/* Gets the descriptors of the control group into `fds`; none if the spec names
 * none. */
static int get_group(PyObject *spec, int *fds, sandbox_launch_t *launch)
{
    PyObject *list = PyDict_GetItemString(spec, "cgroup_fds");
    PyObject *is_folder = PyDict_GetItemString(spec, "cgroup_folder");
    Py_ssize_t count = list == NULL ? 0 : PySequence_Size(list);

    if (count < 0)
        return -1;
    if (count > GROUP_FDS_MAX) {
        PyErr_SetString(PyExc_ValueError, "too many cgroup_fds");
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PySequence_GetItem(list, i);

        fds[i] = item == NULL ? -1 : (int) PyLong_AsLong(item);
        Py_XDECREF(item);
        if (PyErr_Occurred())
            return -1;
    }
    launch->cgroup_fds = fds;
    launch->cgroup_count = (size_t) count;
    launch->is_cgroup_folder =
        count > 0 && is_folder != NULL && PyObject_IsTrue(is_folder) == 1;
    return 0;
}

/* Forks between Python's own hooks. They give each kernel its own random
 * numbers, and a payload whose locks are free. */
static PyObject *fork_into(module_state_t *state,
                           const sandbox_launch_t *launch)
{
    fault_t fault = {0, ""};
    sandbox_child_t child;
    int r;

    PyOS_BeforeFork();
    r = sandbox_fork(state->sandbox, launch, &child, &fault);
    if (r == 0 && child.pid == 0)
        PyOS_AfterFork_Child();
    else
        PyOS_AfterFork_Parent();
    if (r < 0)
        return raise_fault(&fault);
    return Py_BuildValue("(ii)", (int) child.pid, child.fd);
}

static PyObject *fork_method(PyObject *module, PyObject *spec)
{
    module_state_t *state = PyModule_GetState(module);
    sandbox_limits_t limits = {0};
    sandbox_launch_t launch = {0};
    int group_fds[GROUP_FDS_MAX];
    PyObject *hostname;
    PyObject *result;

    if (!PyDict_Check(spec))
        return PyErr_Format(PyExc_TypeError, "the spec is not a dict");
    if (state->sandbox == NULL)
        return PyErr_Format(PyExc_RuntimeError, "call describe first");
    if (get_launch(spec, &limits, &launch) < 0
        || get_group(spec, group_fds, &launch) < 0
        || get_hostname(spec, &hostname) < 0)
        return NULL;
    launch.hostname = hostname == NULL ? NULL : PyBytes_AsString(hostname);
    result = fork_into(state, &launch);
    Py_XDECREF(hostname);
    return result;
}

/* Returns a text of the request; bytes that are no UTF-8 are as Python shows
 * them. */
static PyObject *show_text(const char *text)
{
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t) strlen(text),
                                "surrogateescape");
}

static PyObject *show_environment(zygote_request_texts_t *texts)
{
    PyObject *environment = PyDict_New();
    const char *name, *value;

    while (environment != NULL
           && zygote_request_next_variable(texts, &name, &value)) {
        PyObject *key = show_text(name);
        PyObject *text = show_text(value);

        if (key == NULL || text == NULL
            || PyDict_SetItem(environment, key, text) < 0)
            Py_CLEAR(environment);
        Py_XDECREF(key);
        Py_XDECREF(text);
    }
    return environment;
}

static PyObject *serve(PyObject *module, PyObject *arguments)
{
    module_state_t *state = PyModule_GetState(module);
    fault_t fault = {0, ""};
    int gateway_fd, mapper_fd;
    loop_t loop;
    int r;

    if (!PyArg_ParseTuple(arguments, "ii", &gateway_fd, &mapper_fd))
        return NULL;
    if (state->sandbox == NULL)
        return PyErr_Format(PyExc_RuntimeError, "call describe first");
    /* The hooks are called once for all kernels: from here to the end this
     * process is about to fork, and each payload has been forked. */
    PyOS_BeforeFork();
    r = loop_run(&loop, state->sandbox, gateway_fd, mapper_fd, &fault);
    if (r == 1)
        PyOS_AfterFork_Child();
    else
        PyOS_AfterFork_Parent();
    if (r < 0)
        return raise_fault(&fault);
    if (r == 0)
        Py_RETURN_NONE;
    return Py_BuildValue("{s:i,s:i,s:i,s:K,s:N}", "link_fd", loop.link_fd,
                         "status_fd", loop.status_fd, "init_fd", loop.init_fd,
                         "retain", (unsigned long long) loop.request.retain,
                         "env", show_environment(&loop.texts));
}

static PyObject *await_init(PyObject *module, PyObject *number)
{
    long fd = PyLong_AsLong(number);
    fault_t fault = {0, ""};

    (void) module;
    if (fd == -1 && PyErr_Occurred())
        return NULL;
    if (sandbox_await_init((int) fd, &fault) < 0)
        return raise_fault(&fault);
    Py_RETURN_NONE;
}

static PyObject *immortal(PyObject *module, PyObject *objects)
{
    (void) module;
    return immortal_make(objects);
}

static PyObject *gather(PyObject *module, PyObject *none)
{
    (void) module;
    (void) none;
    return PyBool_FromLong(arenas_gather());
}

static PyObject *close_region(PyObject *module, PyObject *none)
{
    (void) module;
    (void) none;
    arenas_close();
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"describe", describe, METH_O, "describe(plan) -> int"},
    {"serve", serve, METH_VARARGS,
     "serve(gateway_fd, mapper_fd) -> dict or None"},
    {"await_init", await_init, METH_O, "await_init(init_fd)"},
    {"fork", fork_method, METH_O, "fork(spec) -> (pid, pidfd)"},
    {"gather", gather, METH_NOARGS, "gather() -> whether arenas lie together"},
    {"close_region", close_region, METH_NOARGS,
     "close_region(): arenas to come lie elsewhere"},
    {"immortal", immortal, METH_O, "immortal(objects) -> how many it were"},
    {NULL, NULL, 0, NULL},
};

static void free_module(void *module)
{
    module_state_t *state = PyModule_GetState(module);

    if (state != NULL)
        sandbox_destroy(&state->sandbox);
}

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_sandbox",
    .m_doc = "Forks kernels into the sandbox.",
    .m_size = sizeof(module_state_t),
    .m_methods = methods,
    .m_slots = (PyModuleDef_Slot[]){{0, NULL}},
    .m_free = free_module,
};

PyMODINIT_FUNC PyInit__sandbox(void);

PyMODINIT_FUNC PyInit__sandbox(void)
{
    return PyModuleDef_Init(&definition);
}
