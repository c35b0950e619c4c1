/* hearth fetch: brings files from outside into a session's workspace, and lists
 * the fetches that are not done. Interrupted, it cancels its fetch. */
#include "gateway/cli/core/command.h"

#include "base/buffer.h"
#include "gateway/cli/client/fetch_client.h"
#include "gateway/cli/client/management_client.h"
#include "gateway/cli/core/progress.h"
#include "gateway/cli/core/terminal.h"
#include "notebooks/json/member.h"
#include "workspace/name.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define URL_WIDTH 60 /* columns of a list */

/* Returns the content of the request; NULL after what is wrong was printed. */
static json_t *describe(const arguments_t *arguments, const char *url,
                        bool is_alone)
{
    const char *into = arguments_value(arguments, "into");
    const char *hash = arguments_value(arguments, "sha256");
    bool is_folder = !is_alone || (into && strcmp(into, ".") == 0);
    cleanup_free char *path = fetch_client_path(into, is_folder);
    json_t *content;

    if (!path)
        return NULL;
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
           terminal_cell(member_text(reply, "path"), FETCH_PATH_WIDTH),
           progress_size(member_count(reply, "size")),
           member_text(reply, "sha256"),
           json_is_true(json_object_get(reply, "cached")) ? "  (cached)" : "",
           *encoding ? "  compressed: " : "", encoding);
}

/* Adds what became of one URL; the reply is taken. The URL may be bytes that
 * are not UTF-8. */
static void add_result(json_t *results, const char *url, json_t *reply)
{
    cleanup_free char *text = name_text(url);

    if (!json_object_get(reply, "url"))
        json_object_set_new(reply, "url", json_string(text));
    json_array_append_new(results, reply);
}

static gateway_exit_t fetch_one(const arguments_t *arguments,
                                fetch_client_t *client, const char *url,
                                bool is_alone, json_t *results)
{
    json_t *content = describe(arguments, url, is_alone);
    json_auto_t *reply = NULL;
    gateway_exit_t status = GATEWAY_EXIT_USAGE;

    if (content)
        status = fetch_client_ask(client, content, &reply);
    else
        reply = json_pack("{s:s,s:s}", "ename", "", "evalue",
                          "its URL, path or hash is not valid");
    if (status == GATEWAY_EXIT_OK && !arguments_has(arguments, "json"))
        print_fetched(reply);
    add_result(results, url, take_ptr(reply));
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
        uint64_t total = member_count(fetch, "total");

        printf("%-9s%-12s%-12s%-60s  %s\n", member_text(fetch, "state"),
               progress_size(member_count(fetch, "bytes")),
               total ? progress_size(total) : "?",
               terminal_cell(member_text(fetch, "url"), URL_WIDTH),
               terminal_cell(member_text(fetch, "path"), FETCH_PATH_WIDTH));
        if (*member_text(fetch, "doing"))
            printf("         %s\n", terminal_cell(member_text(fetch, "doing"),
                                                  FETCH_PATH_WIDTH));
    }
    return GATEWAY_EXIT_OK;
}

/* Fetches each URL, also after one that could not be fetched. */
static int fetch(const arguments_t *arguments)
{
    cleanup_fetch_client fetch_client_t *client = NULL;
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
    first = fetch_client_new(&client);
    for (size_t i = 1; client && !fetch_client_is_interrupted()
                       && (url = arguments_operand(arguments, i));
         i++) {
        gateway_exit_t status =
            fetch_one(arguments, client, url, is_alone, results);

        if (first == GATEWAY_EXIT_OK)
            first = status;
    }
    if (client && arguments_has(arguments, "json"))
        json_print(results);
    return fetch_client_is_interrupted() ? 128 + SIGINT : (int) first;
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
