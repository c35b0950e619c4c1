/* hearth fetch: brings files from outside into a session's workspace, and lists
 * the fetches that are not done. Interrupted, it cancels its fetch. */
#include "gateway/cli/core/command.h"

#include "base/buffer.h"
#include "gateway/cli/client/file_copy.h"
#include "gateway/cli/client/kernel_client.h"
#include "gateway/cli/client/management_client.h"
#include "gateway/cli/core/progress.h"
#include "gateway/cli/core/terminal.h"

#include <sodium.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define URL_WIDTH  60 /* columns of a list */
#define PATH_WIDTH 200
#define TAG_BYTES  8

/* Set by the handler; ends the wait for an answer. */
static volatile sig_atomic_t is_interrupted;

static void on_signal(int number)
{
    (void) number;
    is_interrupted = 1;
}

/* A fetch that is awaited. */
typedef struct {
    management_client_t *other; /* owned; asks meanwhile; NULL: none is */
    const char *session;
    char tag[2 * TAG_BYTES + 1]; /* by which lists name it */
    progress_t *progress;        /* owned; NULL until bytes have come */
} wait_t;

static uint64_t count_of(const json_t *fetch, const char *key)
{
    json_int_t count = json_integer_value(json_object_get(fetch, key));

    return count > 0 ? (uint64_t) count : 0;
}

/* Shows how far the fetch has come. */
static void show_progress(wait_t *self, const json_t *fetch)
{
    terminal_cell_t cell;

    if (!self->progress)
        self->progress = progress_new(
            terminal_write_cell(&cell, member_text(fetch, "path"), PATH_WIDTH),
            0);
    progress_expect(self->progress, count_of(fetch, "total"));
    progress_show(self->progress, count_of(fetch, "bytes"));
}

/* Returns the fetch as the gateway lists it, which the caller owns; NULL if it
 * is not there. */
static json_t *find(const wait_t *self)
{
    json_auto_t *reply = NULL;
    json_t *fetch;
    size_t i;

    if (!self->other
        || management_client_ask(
               self->other, "fetch",
               json_pack("{s:s,s:s}", "id", self->session, "order", "list"),
               &reply)
               != GATEWAY_EXIT_OK)
        return NULL;
    json_array_foreach(json_object_get(reply, "fetches"), i, fetch)
    {
        if (strcmp(member_text(fetch, "tag"), self->tag) == 0)
            return json_incref(fetch);
    }
    return NULL;
}

/* Returns false after a signal. */
static bool look(void *arg)
{
    wait_t *self = arg;
    json_auto_t *fetch = isatty(STDERR_FILENO) ? find(self) : NULL;

    if (fetch && strcmp(member_text(fetch, "state"), "running") == 0)
        show_progress(self, fetch);
    return !is_interrupted;
}

static void cancel(const wait_t *self)
{
    json_auto_t *fetch = find(self), *reply = NULL;

    if (fetch
        && management_client_ask(self->other, "fetch",
                                 json_pack("{s:s,s:s,s:O}", "id", self->session,
                                           "order", "cancel", "number",
                                           json_object_get(fetch, "number")),
                                 &reply)
               == GATEWAY_EXIT_OK)
        fputs("hearth: the fetch was cancelled; what has come is kept for the "
              "next one\n",
              stderr);
}

/* Makes a name for the fetch that no other client has. */
static void make_tag(wait_t *self)
{
    unsigned char bytes[TAG_BYTES];

    randombytes_buf(bytes, sizeof bytes);
    sodium_bin2hex(self->tag, sizeof self->tag, bytes, sizeof bytes);
}

/* Returns the content of the request; NULL after what is wrong was printed. */
static json_t *describe(const arguments_t *arguments, const char *url,
                        bool is_alone)
{
    const char *into = arguments_value(arguments, "into");
    const char *hash = arguments_value(arguments, "sha256");
    size_t size = into ? strlen(into) : 0;
    cleanup_free char *path = into ? file_copy_path(into) : mem_text("");
    json_t *content;

    if (!path)
        return NULL;
    /* Several files need a folder, and a folder's text has lost its slash. */
    if (size && (!is_alone || into[size - 1] == '/' || strcmp(into, ".") == 0)
        && path[strlen(path) - (*path != '\0')] != '/') {
        char *folder = mem_format("%s/", path);

        free(path);
        path = folder;
    }
    content = json_pack("{s:s,s:s,s:s?,s:s,s:s*}", "id",
                        arguments_operand(arguments, 0), "order", "fetch",
                        "url", url, "path", path, "sha256", hash);
    if (!content || !json_object_get(content, "url")) {
        usage_error(arguments, "the URL or the hash is not UTF-8 text");
        json_decref(content);
        return NULL;
    }
    return content;
}

static void print_fetched(const json_t *reply)
{
    const char *encoding = member_text(reply, "encoding");

    printf("%s  %s  sha256 %s%s%s%s\n",
           terminal_cell(member_text(reply, "path"), PATH_WIDTH),
           progress_size(count_of(reply, "size")), member_text(reply, "sha256"),
           json_is_true(json_object_get(reply, "cached")) ? "  (cached)" : "",
           *encoding ? "  compressed: " : "", encoding);
}

static gateway_exit_t fetch_one(const arguments_t *arguments,
                                management_client_t *management,
                                const char *url, bool is_alone, json_t *results)
{
    json_t *content = describe(arguments, url, is_alone);
    wait_t wait = {.session = arguments_operand(arguments, 0)};
    json_auto_t *reply = NULL;
    gateway_exit_t status;

    if (!content)
        return GATEWAY_EXIT_USAGE;
    make_tag(&wait);
    json_object_set_new(content, "tag", json_string(wait.tag));
    (void) management_client_find(&wait.other);
    management_client_look(management, look, &wait);
    status = management_client_ask(management, "fetch", content, &reply);
    management_client_look(management, NULL, NULL);
    progress_destroy(&wait.progress);
    if (is_interrupted)
        cancel(&wait);
    else if (status != GATEWAY_EXIT_OK)
        management_client_complain(management);
    else if (arguments_has(arguments, "json"))
        json_object_del(reply, "status");
    else
        print_fetched(reply);
    if (status == GATEWAY_EXIT_OK)
        json_array_append(results, reply);
    management_client_destroy(&wait.other);
    return status;
}

static gateway_exit_t list(const arguments_t *arguments)
{
    json_auto_t *reply = NULL;
    gateway_exit_t status = management_client_request(
        false, "fetch",
        json_pack("{s:s,s:s}", "id", arguments_operand(arguments, 0), "order",
                  "list"),
        &reply);
    const json_t *fetches = json_object_get(reply, "fetches"), *fetch;
    size_t i;

    if (status != GATEWAY_EXIT_OK)
        return status;
    if (arguments_has(arguments, "json")) {
        json_print(fetches);
        return GATEWAY_EXIT_OK;
    }
    if (json_array_size(fetches))
        printf("%-9s%-12s%-12s%-60s  %s\n", "STATE", "HAS", "OF", "URL",
               "PATH");
    json_array_foreach(fetches, i, fetch)
    {
        uint64_t total = count_of(fetch, "total");

        printf("%-9s%-12s%-12s%-60s  %s\n", member_text(fetch, "state"),
               progress_size(count_of(fetch, "bytes")),
               total ? progress_size(total) : "?",
               terminal_cell(member_text(fetch, "url"), URL_WIDTH),
               terminal_cell(member_text(fetch, "path"), PATH_WIDTH));
        if (*member_text(fetch, "doing"))
            printf("         %s\n",
                   terminal_cell(member_text(fetch, "doing"), PATH_WIDTH));
    }
    return GATEWAY_EXIT_OK;
}

/* The others are fetched even if one cannot be. */
static int fetch(const arguments_t *arguments)
{
    cleanup_management_client management_client_t *management = NULL;
    json_auto_t *results = json_array();
    bool is_alone = !arguments_operand(arguments, 2);
    gateway_exit_t first;
    const char *url;

    if (arguments_has(arguments, "list"))
        return arguments_operand(arguments, 1)
                   ? usage_error(arguments, "--list takes no URL")
                   : (int) list(arguments);
    if (!arguments_operand(arguments, 1))
        return usage_error(arguments, "name a URL, or give --list");
    if (!is_alone && arguments_value(arguments, "sha256"))
        return usage_error(arguments, "--sha256 is for one URL");
    first = management_client_open(false, &management);
    if (first != GATEWAY_EXIT_OK)
        return first;
    if (sodium_init() < 0)
        return complain(GATEWAY_EXIT_FAILED, "there are no random numbers");
    management_client_be_patient(management);
    kernel_client_catch_signals(on_signal);
    for (size_t i = 1;
         !is_interrupted && (url = arguments_operand(arguments, i)); i++) {
        gateway_exit_t status =
            fetch_one(arguments, management, url, is_alone, results);

        if (first == GATEWAY_EXIT_OK)
            first = status;
    }
    if (arguments_has(arguments, "json"))
        json_print(results);
    return is_interrupted ? 128 + SIGINT : (int) first;
}

static const flag_t flags[] = {
    {"sha256", 0, "HASH", "refuse the file unless it has this SHA-256"},
    {"into", 'o', "PATH",
     "the file's path in the workspace; a folder if it ends with a slash, or "
     "if there are several URLs"},
    {"list", 0, NULL, "list the session's fetches that are not done"},
    FLAG_JSON,
    {0},
};

const command_t fetch_commands[] = {
    {
        .name = "fetch",
        .operands = "ID [URL...]",
        .help = "fetch files from outside into a session's workspace",
        .more =
            "The session has no network: the gateway fetches them, from hosts\n"
            "that the configuration permits (profile/<name>/fetch/allow). A\n"
            "file of that name is replaced. A fetch that broke off goes on\n"
            "where it ended.",
        .flags = flags,
        .run = fetch,
    },
    {0},
};
