/* See outside_client.h. The gateway reads and hashes the file. */
#include "gateway/cli/client/outside_client.h"

#include "base/buffer.h"
#include "notebooks/json/member.h"
#include "notebooks/json/tree.h"

#include <string.h>

#define PIECE (1u << 20) /* the most that is read at once */

bool outside_client_exists(management_client_t *management, const char *session,
                           const char *path)
{
    json_auto_t *reply = NULL;

    return management_client_ask(
               management, "files_stat",
               json_pack("{s:s,s:s}", "id", session, "path", path), &reply)
           == GATEWAY_EXIT_OK;
}

/* Reads a transfer to its end; returns the hash of the file, which the caller
 * owns, or NULL. */
static char *read_hash(management_client_t *management, const char *transfer)
{
    json_int_t offset = 0;

    for (;;) {
        cleanup_buffer buffer_t data = BUFFER_EMPTY;
        json_auto_t *reply = NULL;

        if (management_client_exchange(management, "files_read",
                                       json_pack("{s:s,s:I,s:I}", "transfer",
                                                 transfer, "offset", offset,
                                                 "size", (json_int_t) PIECE),
                                       (bytes_t){0}, &reply, &data)
            != GATEWAY_EXIT_OK)
            return NULL;
        if (json_is_true(json_object_get(reply, "end")))
            return mem_text(member_text(reply, "sha256"));
        offset += (json_int_t) member_number(reply, "hole", 0)
                  + (json_int_t) data.size;
    }
}

/* Returns true if it is a file of that size and hash. */
static bool has_file(management_client_t *management, const char *session,
                     const json_t *result)
{
    json_auto_t *reply = NULL, *closed = NULL;
    cleanup_free char *hash = NULL;
    const char *transfer;

    if (management_client_ask(management, "files_get",
                              json_pack("{s:s,s:s}", "id", session, "path",
                                        member_text(result, "path")),
                              &reply)
        != GATEWAY_EXIT_OK)
        return false;
    transfer = member_text(reply, "transfer");
    if (json_equal(json_object_get(json_object_get(reply, "entry"), "size"),
                   json_object_get(result, "size")))
        hash = read_hash(management, transfer);
    (void) management_client_ask(management, "files_close",
                                 json_pack("{s:s}", "transfer", transfer),
                                 &closed);
    return hash && strcmp(hash, member_text(result, "sha256")) == 0;
}

static bool has_packages(management_client_t *management, const char *session,
                         const json_t *result)
{
    json_auto_t *reply = NULL;
    const json_t *there, *package;
    size_t i;

    if (management_client_ask(management, "packages",
                              json_pack("{s:s,s:s,s:[]}", "id", session,
                                        "order", "list", "names"),
                              &reply)
        != GATEWAY_EXIT_OK)
        return false;
    there = json_object_get(reply, "packages");
    json_array_foreach(json_object_get(result, "packages"), i, package)
    {
        const json_t *found =
            json_tree_find(there, "name", member_text(package, "name"));

        if (strcmp(member_text(found, "version"),
                   member_text(package, "version"))
            != 0)
            return false;
    }
    json_array_foreach(json_object_get(result, "removed"), i, package)
    {
        if (json_tree_find(there, "name", member_text(package, "name")))
            return false;
    }
    return true;
}

bool outside_client_has(management_client_t *management, const char *session,
                        const json_t *result)
{
    const char *path = member_text(result, "path");

    if (strcmp(member_text(result, "status"), "ok") != 0)
        return false;
    if (json_is_array(json_object_get(result, "packages")))
        return has_packages(management, session, result);
    if (*member_text(result, "commit"))
        return *path && outside_client_exists(management, session, path);
    return *path && has_file(management, session, result);
}
