/* hearth lab: shows sessions to a person in JupyterLab. Its server is Jupyter's
 * own, unmodified. It reaches the sessions over HTTP, as those of another
 * gateway, with a token that is good as long as it runs. Classes of ours
 * (gateway/jupyter, in Python) make it show sessions that others started and
 * leave them alone at its end. An extension (gateway/jupyter/hearth-follow)
 * lets an open notebook follow what others run. */
#include "gateway/cli/core/command.h"

#include "base/buffer.h"
#include "base/environment.h"
#include "base/fd.h"
#include "gateway/cli/client/management_client.h"
#include "gateway/cli/core/foreground.h"
#include "gateway/cli/core/subprocess.h"
#include "gateway/cli/core/terminal.h"
#include "gateway/cli/recordings/recordings.h"
#include "gateway/config/default_paths.h"
#include "gateway/http/core/token_file.h"
#include "notebooks/json/member.h"
#include "notebooks/recording/export.h"

#include <sodium.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NAME_CHARACTERS                                                        \
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
#define NAME_MAX_BYTES 60
#define ID_BYTES       8 /* of a session's id in a notebook's name */
#define COPIES_MAX     1000
#define OWN_MAX        16 /* options that hearth gives to JupyterLab */
#define TOKEN_BYTES    24
#define NOTEBOOKS      "HEARTH_LAB_NOTEBOOKS"
#define PROGRAM        "HEARTH_LAB_PROGRAM"
#define EXTENSIONS     "hearth_labextensions"

typedef struct {
    const arguments_t *arguments; /* borrowed */
    options_t *options;           /* owned */
    json_t *sessions;             /* owned; those to show */
    json_t *info;                 /* owned; of the gateway */
    char *program;                /* owned; jupyter-lab */
    char *folder;                 /* owned; of the notebooks */
    json_t *notebooks;            /* owned; file's name -> session's id */
    char token_id[TOKEN_ID_SIZE]; /* "": none was made */
} lab_t;

static void lab_clear(lab_t *self)
{
    fault_t fault;

    if (*self->token_id
        && token_file_revoke(self->options->state_dir, self->token_id, &fault)
               < 0)
        complain(GATEWAY_EXIT_FAILED, "the token of this JupyterLab: %s",
                 fault.text);
    json_decref(self->notebooks);
    json_decref(self->info);
    json_decref(self->sessions);
    free(self->program);
    free(self->folder);
    options_destroy(&self->options);
}
#define cleanup_lab CLEANUP(lab_clear)

/* --- Which sessions --- */

static gateway_exit_t find_one(lab_t *self, management_client_t *management,
                               const char *id)
{
    json_auto_t *reply = NULL;
    json_t *session;
    gateway_exit_t status = management_client_call(
        management, "session_show", json_pack("{s:s}", "id", id), &reply);

    if (status != GATEWAY_EXIT_OK)
        return status;
    session = json_object_get(reply, "session");
    if (strcmp(member_text(session, "state"), "gone") == 0)
        return complain(GATEWAY_EXIT_GONE,
                        "session %s is gone (%s)\n"
                        "'hearth notebook export' writes its notebook.",
                        terminal_cell(member_text(session, "id"), 40),
                        terminal_cell(member_text(session, "reason"), 40));
    json_array_append(self->sessions, session);
    return GATEWAY_EXIT_OK;
}

static gateway_exit_t find_all(lab_t *self, management_client_t *management)
{
    json_auto_t *reply = NULL;
    gateway_exit_t status = management_client_call(
        management, "session_list", json_pack("{s:b}", "all", false), &reply);

    if (status == GATEWAY_EXIT_OK)
        json_array_extend(self->sessions, json_object_get(reply, "sessions"));
    return status;
}

static gateway_exit_t ask_gateway(lab_t *self)
{
    const char *id = arguments_operand(self->arguments, 0);
    cleanup_management_client management_client_t *management = NULL;
    gateway_exit_t status;

    self->sessions = json_array();
    status = management_client_open(!arguments_has(self->arguments, "no-start"),
                                    &management);
    if (status == GATEWAY_EXIT_OK)
        status = management_client_call(management, "gateway_info",
                                        json_object(), &self->info);
    if (status == GATEWAY_EXIT_OK)
        status =
            id ? find_one(self, management, id) : find_all(self, management);
    if (status != GATEWAY_EXIT_OK)
        return status;
    management_client_add_http(self->info);
    if (!json_object_get(self->info, "http"))
        return complain(GATEWAY_EXIT_ENVIRONMENT,
                        "the gateway does not serve HTTP: http/enabled is 0 "
                        "in its configuration");
    return GATEWAY_EXIT_OK;
}

/* --- Their notebooks --- */

/* Returns "analysis-1b2c3d4e.ipynb", with a number if that exists: a notebook
 * that a person saved is not overwritten. */
static char *free_name(const char *folder, const json_t *session)
{
    const char *name = member_text(session, "name");
    cleanup_buffer buffer_t stem = BUFFER_EMPTY;

    for (size_t i = 0; i < NAME_MAX_BYTES && name[i]; i++)
        buffer_format(&stem, "%c",
                      strchr(NAME_CHARACTERS, name[i]) ? name[i] : '_');
    buffer_format(&stem, "%s%.*s", stem.size ? "-" : "session-", ID_BYTES,
                  member_text(session, "id"));
    for (int copy = 1; copy <= COPIES_MAX; copy++) {
        cleanup_free char *file =
            copy == 1
                ? mem_format("%s.ipynb", (const char *) stem.data)
                : mem_format("%s-%d.ipynb", (const char *) stem.data, copy);
        cleanup_free char *path = mem_format("%s/%s", folder, file);
        if (access(path, F_OK) < 0)
            return take_ptr(file);
    }
    return NULL;
}

static gateway_exit_t write_notebook(lab_t *self, const json_t *session)
{
    const char *id = member_text(session, "id");
    cleanup_recordings recordings_t recorded = {0};
    cleanup_free char *name = free_name(self->folder, session);
    cleanup_free char *path = NULL;
    fault_t fault = {0};
    gateway_exit_t status;
    int r;

    if (!name)
        return complain(GATEWAY_EXIT_FAILED,
                        "%s holds %d notebooks of session %s; remove some",
                        self->folder, COPIES_MAX, id);
    status = recordings_find(self->options, id, &recorded);
    if (status != GATEWAY_EXIT_OK)
        return status;
    path = mem_format("%s/%s", self->folder, name);
    r = export_save(recorded.journal, &recorded.options, EXPORT_IPYNB, path,
                    &fault);
    if (r < 0)
        complain(GATEWAY_EXIT_FAILED, "%s", fault.text);
    /* A damaged recording is shown as far as it goes. */
    if (r < 0 && r != -EBADMSG)
        return GATEWAY_EXIT_FAILED;
    json_object_set_new(self->notebooks, name, json_string(id));
    return GATEWAY_EXIT_OK;
}

static gateway_exit_t write_notebooks(lab_t *self)
{
    const char *folder = arguments_value(self->arguments, "folder");
    const json_t *session;
    fault_t fault;
    size_t i;

    self->notebooks = json_object();
    self->folder = folder ? mem_text(folder)
                          : mem_format("%s/lab", self->options->state_dir);
    if (path_make_folders(self->folder, 0700, &fault) < 0)
        return complain(GATEWAY_EXIT_FAILED, "%s", fault.text);
    json_array_foreach(self->sessions, i, session)
    {
        gateway_exit_t status = write_notebook(self, session);
        if (status != GATEWAY_EXIT_OK)
            return status;
    }
    return GATEWAY_EXIT_OK;
}

/* --- What JupyterLab is given --- */

static gateway_exit_t make_token(lab_t *self)
{
    const json_t *http = json_object_get(self->info, "http");
    bool is_observer = arguments_has(self->arguments, "observe");
    unsigned scopes = SCOPE_OBSERVE | (is_observer ? 0u : SCOPE_EXECUTE);
    cleanup_free char *token = NULL;
    fault_t fault;

    if (!*member_text(http, "token"))
        return is_observer ? complain(
                   GATEWAY_EXIT_ENVIRONMENT,
                   "http/auth = none: every client that reaches the gateway "
                   "may execute, so --observe would have no effect")
                           : GATEWAY_EXIT_OK;
    if (token_file_create(self->options->state_dir, "hearth lab", scopes,
                          &token, self->token_id, &fault)
        < 0)
        return complain(GATEWAY_EXIT_FAILED, "%s", fault.text);
    setenv("JUPYTER_GATEWAY_AUTH_TOKEN", token, 1);
    sodium_memzero(token, strlen(token));
    return GATEWAY_EXIT_OK;
}

/* Names this program, by which the page revives sessions. */
static void offer_revival(const arguments_t *arguments)
{
    const char *config = arguments_value(arguments, "config");
    cleanup_free char *program = realpath("/proc/self/exe", NULL);
    cleanup_free char *file = config ? realpath(config, NULL) : NULL;

    unsetenv(PROGRAM);
    if (arguments_has(arguments, "observe") || !program)
        return;
    setenv(PROGRAM, program, 1);
    if (file)
        setenv("HEARTH_CONFIG", file, 1);
}

static void set_environment(const lab_t *self)
{
    const json_t *http = json_object_get(self->info, "http");
    cleanup_free char *package = default_paths_python_dir();
    cleanup_free char *notebooks = json_dumps(self->notebooks, JSON_COMPACT);
    const char *path = environment_text("PYTHONPATH");
    cleanup_free char *longer =
        path ? mem_format("%s:%s", package, path) : mem_text(package);

    setenv("JUPYTER_GATEWAY_URL", member_text(http, "url"), 1);
    setenv("PYTHONPATH", longer, 1);
    setenv(NOTEBOOKS, notebooks, 1);
    if (self->options->http.certificate)
        setenv("JUPYTER_GATEWAY_CA_CERTS", self->options->http.certificate, 0);
    offer_revival(self->arguments);
}

/* Gives the server a token. For a token of its own, Jupyter would print five
 * lines; hearth_lab.py prints the address. */
static void give_server_token(void)
{
    uint8_t bytes[TOKEN_BYTES];
    char text[2 * TOKEN_BYTES + 1];

    randombytes_buf(bytes, sizeof bytes);
    sodium_bin2hex(text, sizeof text, bytes, sizeof bytes);
    setenv("JUPYTER_TOKEN", text, 0);
    sodium_memzero(text, sizeof text);
}

/* --- JupyterLab itself --- */

/* Returns the words of JupyterLab's command line, NULL after the last one; the
 * caller frees the list alone. What a person has written comes last, and so
 * counts. */
static const char **list_words(const lab_t *self, const char *const *own)
{
    size_t size = 0, count = 0;
    const char **words, *word;

    while (arguments_rest(self->arguments, count))
        count++;
    words = mem_new((OWN_MAX + count + 1) * sizeof *words);
    for (; *own; own++)
        words[size++] = *own;
    /* Jupyter refuses root, whose kernels would be root's; ours are not. */
    if (geteuid() == 0)
        words[size++] = "--ServerApp.allow_root=True";
    if (!arguments_has(self->arguments, "verbose"))
        words[size++] = "--Application.log_level=WARN";
    if (arguments_has(self->arguments, "no-browser"))
        words[size++] = "--no-browser";
    for (size_t i = 0; (word = arguments_rest(self->arguments, i)); i++)
        words[size++] = word;
    return words;
}

static gateway_exit_t open_lab(const lab_t *self)
{
    const char *port = arguments_value(self->arguments, "port");
    const char *first =
        json_object_iter_key(json_object_iter((json_t *) self->notebooks));
    cleanup_free char *root =
        mem_format("--ServerApp.root_dir=%s", self->folder);
    cleanup_free char *page =
        mem_format("--LabApp.default_url=/lab%s%s", first ? "/tree/" : "",
                   first ? first : "");
    cleanup_free char *listen =
        mem_format("--ServerApp.port=%s", port ? port : "");
    cleanup_free char *package = default_paths_python_dir();
    cleanup_free char *extensions =
        mem_format("--LabApp.extra_labextensions_path=%s/" EXTENSIONS, package);
    const char *const own[] = {
        self->program,
        "--ServerApp.kernel_manager_class=hearth_lab.Kernels",
        "--ServerApp.session_manager_class=hearth_lab.Sessions",
        ("--ServerApp.kernel_websocket_connection_class="
         "hearth_channels.Channels"),
        "--ServerApp.contents_manager_class=hearth_lab.Contents",
        "--ServerApp.extra_services=hearth_lab",
        /* JupyterLab's own terminals would be shells of the host:
         * hearth_terminals.py has others. */
        "--ServerApp.terminals_enabled=False",
        extensions,
        root,
        page,
        port ? listen : NULL,
        NULL,
    };
    cleanup_free const char **words = list_words(self, own);

    return foreground_run((char *const *) (uintptr_t) words);
}

static int lab(const arguments_t *arguments)
{
    const char *named = arguments_value(arguments, "jupyter");
    cleanup_lab lab_t self = {.arguments = arguments};
    gateway_exit_t status;

    if (sodium_init() < 0)
        return complain(GATEWAY_EXIT_ENVIRONMENT, "libsodium cannot start");
    if (!(self.options = arguments_options(arguments)))
        return GATEWAY_EXIT_ENVIRONMENT;
    self.program =
        named ? mem_text(named) : subprocess_find(NULL, "jupyter-lab");
    if (!self.program || access(self.program, X_OK) < 0)
        return complain(GATEWAY_EXIT_ENVIRONMENT,
                        "%s is %s\n'pip install jupyterlab' installs it; "
                        "--jupyter names one in another place.",
                        named ? named : "jupyter-lab",
                        named ? "no program" : "not in PATH");
    if ((status = ask_gateway(&self)) != GATEWAY_EXIT_OK
        || (status = write_notebooks(&self)) != GATEWAY_EXIT_OK
        || (status = make_token(&self)) != GATEWAY_EXIT_OK)
        return status;
    set_environment(&self);
    give_server_token();
    return open_lab(&self);
}

static const flag_t flags[] = {
    {"observe", 0, NULL, "read-only: nothing can be executed"},
    {"folder", 0, "DIR", "folder for the notebooks"},
    {"jupyter", 0, "FILE", "path of the program jupyter-lab"},
    {"port", 0, "NUMBER", "port of JupyterLab"},
    {"no-browser", 0, NULL, "only print the address"},
    {"verbose", 'v', NULL, "print all that JupyterLab's server logs"},
    FLAG_NO_START,
    FLAG_CONFIG,
    {0},
};

const command_t lab_commands[] = {
    {
        .name = "lab",
        .operands = "[ID]",
        .rest = "JUPYTER_OPTION",
        .is_rest_optional = true,
        .help = "open JupyterLab on a session or on all sessions",
        .more = "The session's recorded notebook is connected to its live "
                "kernel.\nThe session continues after JupyterLab ends.",
        .flags = flags,
        .run = lab,
    },
    {0},
};
