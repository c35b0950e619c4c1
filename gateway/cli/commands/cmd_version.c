/* hearth version: prints the versions of the program and its libraries. */
#include "gateway/cli/core/command.h"

#include "gateway/cli/client/management_client.h"
#include "gateway/cli/core/commit.h"

#include <czmq.h>
#include <libwebsockets.h>
#include <openssl/crypto.h>
#include <sodium.h>

/* Lists the libraries that are loaded; czmq knows only the version that it was
 * built with. */
static json_t *list_libraries(void)
{
    int major, minor, patch;

    zmq_version(&major, &minor, &patch);
    return json_pack("{s:o,s:o,s:s,s:s,s:s,s:s}", "libzmq",
                     json_sprintf("%d.%d.%d", major, minor, patch), "czmq",
                     json_sprintf("%d.%d.%d", CZMQ_VERSION_MAJOR,
                                  CZMQ_VERSION_MINOR, CZMQ_VERSION_PATCH),
                     "jansson", jansson_version_str(), "libsodium",
                     sodium_version_string(), "openssl",
                     OpenSSL_version(OPENSSL_VERSION), "libwebsockets",
                     lws_get_library_version());
}

static int version(const arguments_t *arguments)
{
    json_auto_t *libraries = list_libraries();
    const char *name;
    json_t *value;

    if (arguments_has(arguments, "json")) {
        json_auto_t *document = json_pack(
            "{s:s,s:s?,s:O}", "version", HEARTH_VERSION, "commit",
            *commit_name ? commit_name : NULL, "libraries", libraries);
        json_print(document);
        return GATEWAY_EXIT_OK;
    }
    printf("hearth %s%s%s%s\n", HEARTH_VERSION, *commit_name ? " (" : "",
           commit_name, *commit_name ? ")" : "");
    json_object_foreach(libraries, name, value)
        printf("%-14s %s\n", name, json_string_value(value));
    return GATEWAY_EXIT_OK;
}

static const flag_t flags[] = {
    FLAG_JSON,
    {0},
};

const command_t version_commands[] = {
    {
        .name = "version",
        .operands = "",
        .help = "print the versions of hearth and its libraries",
        .more = "It has the commit if hearth was built from a checkout.",
        .flags = flags,
        .run = version,
    },
    {0},
};
