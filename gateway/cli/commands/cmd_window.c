/* hearth window: opens the gateway's own page in a browser, or prints the URL
 * that does. The URL has a code that is good once, for a minute, and which the
 * browser sends to no server but the gateway. */
#include "gateway/cli/core/command.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/environment.h"
#include "base/fd.h"
#include "base/spawn.h"
#include "gateway/cli/client/management_client.h"
#include "gateway/cli/core/subprocess.h"
#include "gateway/http/core/window_access.h"
#include "notebooks/json/member.h"

#include <sodium.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE_FILE "window.html" /* in the runtime folder, 0600 */
#define OPENER    "xdg-open"

/* The arguments of the command. */
typedef struct {
    options_t *options; /* owned */
    char *session;      /* owned; id, or NULL: the list of all */
    char *url;          /* owned; of the gateway */
} window_wish_t;

static void wish_clear(window_wish_t *self)
{
    options_destroy(&self->options);
    free(self->session);
    free(self->url);
}
#define cleanup_wish CLEANUP(wish_clear)

static gateway_exit_t find_session(management_client_t *management,
                                   const char *id, char **ret_id)
{
    json_auto_t *reply = NULL;
    gateway_exit_t status = management_client_call(
        management, "session_show", json_pack("{s:s}", "id", id), &reply);

    if (status == GATEWAY_EXIT_OK)
        *ret_id =
            mem_text(member_text(json_object_get(reply, "session"), "id"));
    return status;
}

static gateway_exit_t find_gateway(const arguments_t *arguments,
                                   window_wish_t *wish)
{
    cleanup_management_client management_client_t *management = NULL;
    const char *id = arguments_operand(arguments, 0);
    json_auto_t *info = NULL;
    const json_t *http;
    gateway_exit_t status = management_client_open(
        !arguments_has(arguments, "no-start"), &management);

    if (status == GATEWAY_EXIT_OK && id)
        status = find_session(management, id, &wish->session);
    if (status == GATEWAY_EXIT_OK)
        status = management_client_call(management, "gateway_info",
                                        json_object(), &info);
    if (status != GATEWAY_EXIT_OK)
        return status;
    management_client_add_http(info);
    if (!(http = json_object_get(info, "http")))
        return complain(GATEWAY_EXIT_ENVIRONMENT,
                        "the gateway does not serve HTTP: http/enabled is 0 "
                        "in its configuration");
    wish->url = mem_text(member_text(http, "url"));
    return GATEWAY_EXIT_OK;
}

/* Makes the URL. Its code follows #, which browsers send to no server. */
static gateway_exit_t make_url(const window_wish_t *wish, unsigned scopes,
                               char **ret_url)
{
    cleanup_free char *path =
        mem_format("%s/" GATEWAY_JOURNAL_KEY_FILE, wish->options->state_dir);
    cleanup_free char *code = NULL;
    uint8_t key[LOG_KEY_SIZE];
    fault_t fault;

    if (log_key_read(path, false, key, &fault) < 0)
        return complain(GATEWAY_EXIT_ENVIRONMENT, "%s", fault.text);
    code = window_access_code(key, scopes, clock_wall_us());
    sodium_memzero(key, sizeof key);
    *ret_url = mem_format("%shearth/window#code=%s%s%s", wish->url, code,
                          wish->session ? "&sessions/" : "",
                          wish->session ? wish->session : "");
    return GATEWAY_EXIT_OK;
}

static bool has_display(void)
{
    return environment_text("DISPLAY") || environment_text("WAYLAND_DISPLAY");
}

/* Starts the program that opens a file in the person's browser, which may end
 * with the browser: it is not waited for. */
static bool start_opener(const char *opener, char *path)
{
    char name[] = OPENER, *argv[] = {name, path, NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int r;

    posix_spawn_file_actions_init(&actions);
    for (int fd = 0; fd <= 2; fd++)
        posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
    posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    r = spawn_detached(opener, argv, environ, &actions, &pid);
    posix_spawn_file_actions_destroy(&actions);
    return r == 0;
}

/* Opens a file that leads to the URL, because every user of the machine can
 * read the arguments of a program. Returns false if no browser was started. */
static bool open_browser(const window_wish_t *wish, const char *url)
{
    cleanup_free char *opener = subprocess_find(NULL, OPENER);
    cleanup_free char *path =
        mem_format("%s/" PAGE_FILE, wish->options->runtime_dir);
    cleanup_free char *text =
        mem_format("<!DOCTYPE html><meta charset=\"utf-8\"><title>hearth"
                   "</title><meta http-equiv=\"refresh\" content=\"0; url=%s\">"
                   "<a href=\"%s\">hearth</a>\n",
                   url, url);
    fault_t fault;

    return opener && has_display()
           && file_write_atomic(path, 0600, text, strlen(text), &fault) == 0
           && start_opener(opener, path);
}

static int window(const arguments_t *arguments)
{
    const char *words = arguments_value(arguments, "scope");
    unsigned scopes = token_scopes_parse(words ? words : "observe");
    cleanup_wish window_wish_t wish = {0};
    cleanup_free char *url = NULL;
    gateway_exit_t status;

    if (!scopes)
        return usage_error(arguments,
                           "--scope takes observe, execute, files and admin "
                           "with commas between, not \"%s\"",
                           words);
    if (sodium_init() < 0)
        return complain(GATEWAY_EXIT_ENVIRONMENT, "libsodium cannot start");
    if (!(wish.options = arguments_options(arguments)))
        return GATEWAY_EXIT_ENVIRONMENT;
    status = find_gateway(arguments, &wish);
    if (status == GATEWAY_EXIT_OK)
        status = make_url(&wish, scopes, &url);
    if (status != GATEWAY_EXIT_OK)
        return status;
    if (arguments_has(arguments, "url") || !open_browser(&wish, url))
        printf("%s\n", url);
    sodium_memzero(url, strlen(url));
    return GATEWAY_EXIT_OK;
}

static const flag_t flags[] = {
    {"url", 'u', NULL, "print the URL, open no browser"},
    {"scope", 's', "LIST",
     "what the page may: observe (default), execute, files, admin"},
    FLAG_NO_START,
    {0},
};

const command_t window_commands[] = {
    {
        .name = "window",
        .operands = "[ID]",
        .help = "watch the sessions, or one, in a browser",
        .more = "Opens the gateway's page, or prints its URL where there is no "
                "browser to open.\nThe URL is good once, for a minute; the "
                "page then stays for 12 hours.",
        .flags = flags,
        .run = window,
    },
    {0},
};
