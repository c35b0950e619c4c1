/* hearth notebook verify: whether a recording, its notebook or the folder of a
 * receipt is what was written. Needs no gateway. */
#include "gateway/cli/core/command.h"

#include "base/buffer.h"
#include "base/hex.h"
#include "gateway/cli/client/management_client.h"
#include "gateway/cli/recordings/receipt_folder.h"
#include "gateway/cli/recordings/recordings.h"
#include "notebooks/comparison/verify.h"
#include "notebooks/json/member.h"
#include "notebooks/receipt/receipt.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const flag_t verify_flags[] = {
    {"public-key", 0, "FILE",
     "a folder's receipt: check it with this key [default: the gateway's own]"},
    FLAG_JSON,
    {0},
};

static gateway_exit_t print_verdict(const verify_t *verdict, bool is_file,
                                    bool is_json)
{
    bool is_whole = json_array_size(verdict->problems) == 0;

    if (is_json) {
        json_auto_t *json = json_pack(
            "{s:b, s:O, s:O, s:I, s:I, s:I}", "whole", is_whole, "problems",
            verdict->problems, "remarks", verdict->remarks, "records",
            (json_int_t) verdict->records, "cells", (json_int_t) verdict->cells,
            "seq", (json_int_t) verdict->head.seq);
        json_print(json);
    } else {
        if (is_whole && is_file)
            printf("whole: %zu cells, made at record %llu\n", verdict->cells,
                   (unsigned long long) verdict->head.seq);
        else if (is_whole)
            printf("whole: %llu records, the last is %llu\n",
                   (unsigned long long) verdict->records,
                   (unsigned long long) verdict->head.seq);
        json_print_texts(verdict->problems, "not whole: ");
        json_print_texts(verdict->remarks, "not known: ");
    }
    return is_whole ? GATEWAY_EXIT_OK : GATEWAY_EXIT_FAILED;
}

/* Returns the journal of the session that a notebook names; NULL if it is not
 * here. The name is hostile. */
static char *journal_of(const options_t *options, const notebook_t *notebook)
{
    const char *id =
        member_text(json_object_get(notebook->metadata, "hearth"), "session");

    if (!*id || strspn(id, HEX_DIGITS "-") != strlen(id))
        return NULL;
    char *path = mem_format("%s/sessions/%s/journal", options->state_dir, id);
    if (access(path, F_OK) == 0)
        return path;
    free(path);
    return NULL;
}

static int verify_file(const options_t *options, const char *name,
                       verify_t *verdict, fault_t *fault)
{
    cleanup_notebook notebook_t notebook = {0};
    cleanup_recordings recordings_t common = {0};
    int r = notebook_open(name, &notebook, fault);

    if (r < 0)
        return r;
    if (recordings_key(options, &common) != GATEWAY_EXIT_OK)
        return fault_set(
            fault, ENOKEY,
            "a notebook cannot be verified without the key of the journals");
    cleanup_free char *journal = journal_of(options, &notebook);
    return verify_notebook(&notebook, common.options.key, journal, verdict,
                           fault);
}

/* Returns true for a folder with a notebook's files or a receipt. Otherwise the
 * word may be a session's id. */
static bool is_folder(const char *name)
{
    cleanup_free char *receipt = mem_format("%s/%s", name, RECEIPT_FILE);
    struct stat status;

    return stat(name, &status) == 0 && S_ISDIR(status.st_mode)
           && (recordings_is_file(name) || access(receipt, F_OK) == 0);
}

static int verify(const arguments_t *arguments)
{
    cleanup_options options_t *options = arguments_options(arguments);
    const char *name = arguments_operand(arguments, 0);
    cleanup_recordings recordings_t session = {0};
    cleanup_verify verify_t verdict = {0};
    fault_t fault = {0};
    gateway_exit_t status;
    int r;

    if (!options)
        return GATEWAY_EXIT_ENVIRONMENT;
    if (is_folder(name))
        return receipt_folder_verify(options, name,
                                     arguments_value(arguments, "public-key"),
                                     arguments_has(arguments, "json"));
    if (arguments_has(arguments, "public-key"))
        return usage_error(arguments,
                           "--public-key is for a folder with a "
                           "receipt, and %s has no receipt",
                           name);
    if (recordings_is_file(name)) {
        r = verify_file(options, name, &verdict, &fault);
    } else {
        status = recordings_find(options, name, &session);
        if (status != GATEWAY_EXIT_OK)
            return status;
        r = verify_journal(session.journal, session.options.key, &verdict,
                           &fault);
    }
    if (r < 0)
        return complain(GATEWAY_EXIT_USAGE, "%s", fault.text);
    return print_verdict(&verdict, recordings_is_file(name),
                         arguments_has(arguments, "json"));
}

const command_t notebook_verify_commands[] = {
    {
        .name = "notebook verify",
        .operands = "ID|FILE|FOLDER",
        .help = "check if a recording, its notebook or a receipt's folder was "
                "changed",
        .more = "Exit status 0: it is complete; 1: it was changed or cut off; "
                "2: it cannot be read.",
        .flags = verify_flags,
        .run = verify,
    },
    {0},
};
