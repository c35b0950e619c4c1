/* Invented files of tool servers, which only the gateway's user can read, and
 * which others can. What passes is a command line with its environment, or the
 * description of a URL; no header of it ends a line. A file that others can
 * read has no more than a private one. */
#include "gateway/config/tool_server_file.h"

#include "base/fd.h"

#include <jansson.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static char path[] = "/dev/shm/hearth-fuzz-servers-XXXXXX";
static int file = -1;

static void remove_file(void)
{
    unlink(path);
}

static void open_file(void)
{
    file = mkstemp(path);
    if (file < 0 || setenv("KEY", "k", 1) < 0)
        abort();
    atexit(remove_file);
}

static void check_program(const tool_server_t *server)
{
    cleanup_free char *program = tool_server_program(server);
    size_t count = 0;

    while (server->argv[count])
        count++;
    if (count < 1 || count > TOOL_SERVER_WORDS_MAX || !*server->argv[0])
        abort();
    for (char *const *at = server->environment; *at; at++)
        if (**at == '=' || !strchr(*at, '='))
            abort();
}

static void check_text(const char *text)
{
    for (; *text; text++)
        if (*text < ' ' || *text > '~')
            abort();
}

static void check_url(const tool_server_t *server)
{
    json_auto_t *all =
        json_loads(server->description, JSON_REJECT_DUPLICATES, NULL);
    const char *url = json_string_value(json_object_get(all, "url"));
    const json_t *pair;
    size_t i;

    if (!url || strncmp(url, "http", 4) != 0 || strchr(url, ' '))
        abort();
    check_text(url);
    json_array_foreach(json_object_get(all, "headers"), i, pair)
    {
        check_text(json_string_value(json_array_get(pair, 0)));
        check_text(json_string_value(json_array_get(pair, 1)));
    }
}

static void check(const tool_server_file_t *servers)
{
    if (servers->size > TOOL_SERVERS_MAX)
        abort();
    for (size_t i = 0; i < servers->size; i++) {
        const tool_server_t *server = &servers->servers[i];

        if (!*server->name || strlen(server->name) > TOOL_SERVER_NAME_MAX
            || !server->argv == !server->description)
            abort();
        if (server->argv)
            check_program(server);
        else
            check_url(server);
    }
}

/* Returns true if the file is accepted. */
static bool read_file(mode_t mode)
{
    cleanup_tool_server_file tool_server_file_t *servers = NULL;
    fault_t fault = {0};
    int r;

    if (fchmod(file, mode) < 0)
        abort();
    r = tool_server_file_read(path, &servers, &fault);
    if (r < 0 && (r != -EINVAL || !*fault.text))
        abort();
    if (r == 0)
        check(servers);
    return r == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    bool is_private;

    if (file < 0)
        open_file();
    if (ftruncate(file, 0) < 0
        || pwrite(file, bytes, size, 0) != (ssize_t) size)
        abort();
    is_private = read_file(0600);
    if (read_file(0644) && !is_private)
        abort();
    return 0;
}
