/* hearth prune: shows recordings and workspaces of gone sessions with their
 * sizes, and removes them. The gateway does the removal, because it knows which
 * sessions are being revived. */
#include "gateway/cli/core/command.h"

#include "base/buffer.h"
#include "base/cleanup.h"
#include "gateway/cli/client/management_client.h"
#include "gateway/cli/core/terminal.h"
#include "notebooks/json/member.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define DEPTH_MAX 64 /* depth of folders that are measured */

/* Returns the bytes on disk of a folder with its content. Unreadable folders of
 * other users count nothing; a link is not followed. */
static double measure(int parent, const char *name, int depth)
{
    cleanup_fd int fd =
        openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    cleanup_dir DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *item;
    struct stat about;
    double bytes = 0;

    if (!folder)
        return 0;
    (void) take_fd(&fd);
    while ((item = readdir(folder))) {
        if (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0
            || fstatat(dirfd(folder), item->d_name, &about, AT_SYMLINK_NOFOLLOW)
                   < 0)
            continue;
        bytes += 512 * (double) about.st_blocks;
        if (S_ISDIR(about.st_mode) && depth < DEPTH_MAX)
            bytes += measure(dirfd(folder), item->d_name, depth + 1);
    }
    return bytes;
}

/* Finds all recordings that are gone for longer than `older`, with their sizes,
 * page by page. */
static gateway_exit_t find_old(management_client_t *management, double older,
                               json_t *ret_found)
{
    cleanup_free char *after = mem_text("");
    gateway_exit_t status = GATEWAY_EXIT_OK;

    do {
        json_auto_t *reply = NULL;
        json_t *recording;
        size_t i;

        status =
            management_client_call(management, "recording_list",
                                   json_pack("{s:s}", "after", after), &reply);
        json_array_foreach(json_object_get(reply, "recordings"), i, recording)
        {
            const char *folder = member_text(recording, "folder");

            if (member_number(recording, "age", 0) < older)
                continue;
            json_object_set_new(
                recording, "bytes",
                json_integer((json_int_t) measure(AT_FDCWD, folder, 0)));
            json_array_append(ret_found, recording);
        }
        free(after);
        after = mem_text(member_text(reply, "next"));
    } while (status == GATEWAY_EXIT_OK && *after);
    return status;
}

#define SIZE_TEXT 32 /* bytes of it */

/* Writes "1.5 GiB". */
static const char *size_text(double bytes, char text[SIZE_TEXT])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t i = 0;

    for (; bytes >= 1024 && i + 1 < sizeof units / sizeof *units; i++)
        bytes /= 1024;
    snprintf(text, SIZE_TEXT, "%.*f %s", i && bytes < 10 ? 1 : 0, bytes,
             units[i]);
    return text;
}

static double print_found(const json_t *found, bool is_quiet)
{
    const json_t *recording;
    char text[SIZE_TEXT];
    double bytes = 0;
    size_t i;

    json_array_foreach(found, i, recording)
    {
        bytes += member_number(recording, "bytes", 0);
        if (!is_quiet)
            printf("%-36s  %-12s  %-24s  %9s\n",
                   terminal_cell(member_text(recording, "id"), 36),
                   terminal_cell(member_text(recording, "name"), 12),
                   terminal_cell(member_text(recording, "ended"), 24),
                   size_text(member_number(recording, "bytes", 0), text));
    }
    return bytes;
}

/* Removes the sessions found. One that another client has revived or removed
 * meanwhile is no failure. */
static gateway_exit_t remove_found(management_client_t *management,
                                   json_t *found)
{
    size_t count = json_array_size(found);

    for (size_t i = count; i-- > 0;) {
        const char *id = member_text(json_array_get(found, i), "id");
        json_auto_t *reply = NULL;
        gateway_exit_t status =
            management_client_ask(management, "recording_remove",
                                  json_pack("{s:s}", "id", id), &reply);

        if (status == GATEWAY_EXIT_UNREACHABLE) {
            management_client_complain(management);
            return status;
        }
        if (status != GATEWAY_EXIT_OK)
            json_array_remove(found, i);
    }
    return GATEWAY_EXIT_OK;
}

static int prune(const arguments_t *arguments)
{
    cleanup_management_client management_client_t *management = NULL;
    json_auto_t *found = json_array();
    bool is_dry = arguments_has(arguments, "dry-run");
    bool is_json = arguments_has(arguments, "json");
    double older = 0, bytes;
    char text[SIZE_TEXT];
    gateway_exit_t status = management_client_open(true, &management);

    (void) arguments_seconds(arguments, "older-than", &older);
    if (status == GATEWAY_EXIT_OK)
        status = find_old(management, older, found);
    if (status == GATEWAY_EXIT_OK && !is_dry)
        status = remove_found(management, found);
    if (status != GATEWAY_EXIT_OK)
        return status;
    bytes = print_found(found, is_json);
    if (is_json) {
        json_auto_t *document =
            json_pack("{s:b,s:I,s:O}", "removed", !is_dry, "bytes",
                      (json_int_t) bytes, "sessions", found);
        json_print(document);
        return GATEWAY_EXIT_OK;
    }
    printf("%zu sessions, %s%s\n", json_array_size(found),
           size_text(bytes, text),
           is_dry ? "; nothing was removed" : " removed");
    return GATEWAY_EXIT_OK;
}

static const flag_t flags[] = {
    {"older-than", 'o', "TIME",
     "only sessions that are gone for this time, as 7d"},
    {"dry-run", 'n', NULL, "only print what would be removed"},
    FLAG_JSON,
    {0},
};

const command_t prune_commands[] = {
    {
        .name = "prune",
        .operands = "",
        .help = "remove recordings and workspaces of sessions that are gone",
        .more = "Keeps sessions that ended within sessions/gone_keep. Never "
                "removes a folder\nthat was given with --workspace.",
        .flags = flags,
        .run = prune,
    },
    {0},
};
