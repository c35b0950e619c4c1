/* See tool_server_file.h. A program gets an environment of its own: the
 * variables that every program needs, and those that its entry names. So a key
 * of one server is not in the environment of another one. */
#include "gateway/config/tool_server_file.h"

#include "base/buffer.h"
#include "base/string_list.h"
#include "gateway/config/tool_server_url.h"
#include "gateway/config/tool_server_variables.h"

#include <jansson.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define VARIABLES_MAX 64 /* that an entry names */
#define NAME_CHARACTERS                                                        \
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-."

/* Variables that each server gets from this process's environment. */
static const char *const common[] = {
    "HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER",
};

#define COMMON_SIZE (sizeof common / sizeof *common)

void tool_server_file_destroy(tool_server_file_t **self_p)
{
    tool_server_file_t *self = *self_p;

    if (!self)
        return;
    for (size_t i = 0; i < self->size; i++) {
        free(self->servers[i].name);
        string_list_destroy(&self->servers[i].argv);
        string_list_destroy(&self->servers[i].environment);
        free(self->servers[i].description);
        free(self->servers[i].missing);
    }
    free(self);
    *self_p = NULL;
}

static bool is_name(const char *text)
{
    size_t size = strlen(text);

    return size && size <= TOOL_SERVER_NAME_MAX
           && strspn(text, NAME_CHARACTERS) == size;
}

/* ---- the command line ---- */

static int read_words(tool_server_t *self, const json_t *entry, fault_t *fault)
{
    const json_t *command = json_object_get(entry, "command");
    const json_t *arguments = json_object_get(entry, "args"), *word;
    size_t i;

    if (!json_is_string(command) || !*json_string_value(command))
        return fault_set(fault, EINVAL,
                         "%s: `command` must name a program, or `url` a server "
                         "that runs elsewhere",
                         self->name);
    if (arguments && !json_is_array(arguments))
        return fault_set(fault, EINVAL, "%s: `args` must be an array of texts",
                         self->name);
    if (json_array_size(arguments) >= TOOL_SERVER_WORDS_MAX)
        return fault_set(fault, EINVAL,
                         "%s: `args` has %zu words, less than %d are permitted",
                         self->name, json_array_size(arguments),
                         TOOL_SERVER_WORDS_MAX);
    self->argv = mem_new((json_array_size(arguments) + 2) * sizeof *self->argv);
    self->argv[0] = mem_text(json_string_value(command));
    json_array_foreach(arguments, i, word)
    {
        if (!json_is_string(word))
            return fault_set(fault, EINVAL,
                             "%s: `args` must be an array of texts",
                             self->name);
        self->argv[i + 1] = mem_text(json_string_value(word));
    }
    return 0;
}

char *tool_server_program(const tool_server_t *server)
{
    const char *name = server->argv[0];
    const char *folders = getenv("PATH");
    cleanup_free char *copy = mem_text(folders ? folders : "/usr/bin:/bin");
    char *rest = copy;

    if (strchr(name, '/'))
        return access(name, X_OK) == 0 ? mem_text(name) : NULL;
    for (const char *folder; (folder = strtok_r(rest, ":", &rest));) {
        cleanup_free char *path = mem_format("%s/%s", folder, name);

        if (access(path, X_OK) == 0)
            return take_ptr(path);
    }
    return NULL;
}

/* ---- the environment ---- */

static int read_environment(tool_server_t *self, const json_t *entry,
                            fault_t *fault)
{
    json_t *named = json_object_get(entry, "env"), *value;
    const char *name;
    size_t count = 0;

    if (named && !json_is_object(named))
        return fault_set(fault, EINVAL, "%s: `env` must be an object",
                         self->name);
    if (json_object_size(named) > VARIABLES_MAX)
        return fault_set(fault, EINVAL,
                         "%s: `env` has %zu variables, %d are permitted",
                         self->name, json_object_size(named), VARIABLES_MAX);
    self->environment =
        mem_new((COMMON_SIZE + VARIABLES_MAX + 1) * sizeof *self->environment);
    for (size_t i = 0; i < COMMON_SIZE; i++)
        if (getenv(common[i]) && !json_object_get(named, common[i]))
            self->environment[count++] =
                mem_format("%s=%s", common[i], getenv(common[i]));
    json_object_foreach(named, name, value)
    {
        cleanup_buffer buffer_t text = BUFFER_EMPTY;

        if (!*name || strchr(name, '=') || !json_is_string(value))
            return fault_set(
                fault, EINVAL,
                "%s: `env` must have texts, and names without =", self->name);
        buffer_format(&text, "%s=", name);
        tool_server_expand(json_string_value(value), &text, &self->missing);
        self->environment[count++] = mem_text((const char *) text.data);
    }
    return 0;
}

/* ---- the file ---- */

static int read_kind(tool_server_t *server, const json_t *entry,
                     bool is_private, fault_t *fault)
{
    int r = tool_server_url_is(entry)
                ? tool_server_url_read(server->name, entry, is_private,
                                       &server->description, &server->missing,
                                       fault)
                : read_words(server, entry, fault);

    return r < 0 ? r : read_environment(server, entry, fault);
}

static int read_entry(tool_server_file_t *self, const char *name,
                      const json_t *entry, bool is_private, fault_t *fault)
{
    tool_server_t *server = &self->servers[self->size];

    if (self->size == TOOL_SERVERS_MAX)
        return fault_set(fault, EINVAL, "more than %d servers",
                         TOOL_SERVERS_MAX);
    if (!is_name(name))
        return fault_set(fault, EINVAL,
                         "\"%.80s\": a server's name is 1 to %d letters, "
                         "digits and _ - .",
                         name, TOOL_SERVER_NAME_MAX);
    server->name = mem_text(name);
    self->size++;
    if (!json_is_object(entry))
        return fault_set(fault, EINVAL, "%s: an object is wanted", name);
    return read_kind(server, entry, is_private, fault);
}

/* Reads the JSON, and whether no other user can read it. */
static int read_json(const char *path, json_t **ret_all, bool *ret_private,
                     fault_t *fault)
{
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat about;
    json_error_t error;

    if (fd < 0 || fstat(fd, &about) < 0)
        return fault_set(fault, errno, "%s: %s", path, strerror(errno));
    *ret_all = json_loadfd(fd, JSON_REJECT_DUPLICATES, &error);
    *ret_private = !(about.st_mode & (S_IRWXG | S_IRWXO));
    return *ret_all ? 0
                    : fault_set(fault, EINVAL, "%s:%d: %s", path, error.line,
                                error.text);
}

int tool_server_file_read(const char *path, tool_server_file_t **ret_file,
                          fault_t *fault)
{
    cleanup_tool_server_file tool_server_file_t *self = mem_new(sizeof *self);
    json_auto_t *all = NULL;
    json_t *servers, *entry;
    bool is_private;
    const char *name;
    int r;

    if ((r = read_json(path, &all, &is_private, fault)) < 0)
        return r;
    servers = json_object_get(all, "mcpServers");
    if (!json_is_object(servers))
        return fault_set(fault, EINVAL,
                         "%s: {\"mcpServers\": {NAME: {\"command\", \"args\", "
                         "\"env\"}}} is wanted, or {\"url\", \"headers\"}",
                         path);
    json_object_foreach(servers, name, entry)
    {
        r = read_entry(self, name, entry, is_private, fault);
        if (r < 0)
            return fault_wrap(fault, "%s", path);
    }
    *ret_file = take_ptr(self);
    return 0;
}
