/* hearth notebook attest: puts a session's results into a folder with a receipt
 * that others can check; and prints the key for that. */
#include "gateway/cli/core/command.h"

#include "base/fd.h"
#include "gateway/cli/client/file_copy.h"
#include "gateway/cli/recordings/receipt_folder.h"
#include "gateway/cli/recordings/recordings.h"
#include "notebooks/comparison/verify.h"
#include "notebooks/receipt/receipt.h"
#include "notebooks/recording/export.h"
#include "workspace/name.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- attest ---- */

static const flag_t attest_flags[] = {
    {"artifact", 'a', "PATH",
     "also this file of the session's workspace; repeatable"},
    FLAG_JSON,
    {0},
};

/* Refuses a recording that was changed. */
static gateway_exit_t check_journal(const recordings_t *session)
{
    cleanup_verify verify_t verdict = {0};
    fault_t fault;

    if (verify_journal(session->journal, session->options.key, &verdict, &fault)
        < 0)
        return complain(GATEWAY_EXIT_FAILED, "%s", fault.text);
    if (json_array_size(verdict.problems) == 0)
        return GATEWAY_EXIT_OK;
    json_print_texts(verdict.problems, "not whole: ");
    return complain(GATEWAY_EXIT_FAILED,
                    "session %s gets no receipt: its recording was changed",
                    session->id);
}

/* Copies a file of the workspace into the folder, under its own name. */
static gateway_exit_t copy_artifact(management_client_t *management,
                                    const char *session, const char *operand,
                                    const char *folder)
{
    cleanup_free char *path = file_copy_path(operand);
    const char *name = path ? path_name(path) : NULL;

    if (!path)
        return GATEWAY_EXIT_USAGE;
    cleanup_free char *target = mem_format("%s/%s", folder, name);
    if (!*name || strcmp(name, RECEIPT_FILE) == 0 || access(target, F_OK) == 0)
        return complain(GATEWAY_EXIT_USAGE,
                        "%s cannot be an artifact: a file of the folder has "
                        "the name already, or it has none",
                        operand);
    return file_copy_out(management, session, path, folder, false);
}

static gateway_exit_t copy_artifacts(const arguments_t *arguments,
                                     const char *session, const char *folder)
{
    cleanup_management_client management_client_t *management = NULL;
    size_t cursor = 0;
    const char *path = arguments_each(arguments, "artifact", &cursor);
    gateway_exit_t status = GATEWAY_EXIT_OK;

    if (path)
        status = management_client_open(false, &management);
    for (; path && status == GATEWAY_EXIT_OK;
         path = arguments_each(arguments, "artifact", &cursor))
        status = copy_artifact(management, session, path, folder);
    return status;
}

static gateway_exit_t fill(const arguments_t *arguments,
                           const recordings_t *session,
                           const signing_key_t *key, const char *folder)
{
    cleanup_free char *notebook = mem_format("%s/%s", folder, RECEIPT_NOTEBOOK);
    gateway_exit_t status;
    fault_t fault;

    if (export_save(session->journal, &session->options, EXPORT_IPYNB, notebook,
                    &fault)
        < 0)
        return complain(GATEWAY_EXIT_FAILED, "%s", fault.text);
    status = copy_artifacts(arguments, session->id, folder);
    if (status != GATEWAY_EXIT_OK)
        return status;
    if (receipt_write(folder, key, HEARTH_VERSION, &fault) < 0)
        return complain(GATEWAY_EXIT_FAILED, "%s", fault.text);
    return GATEWAY_EXIT_OK;
}

/* Makes the folder, which appears when it is complete. */
static gateway_exit_t make_folder(const arguments_t *arguments,
                                  const recordings_t *session,
                                  const signing_key_t *key, const char *folder)
{
    cleanup_free char *temporary =
        mem_format("%s.hearth-%ld", folder, (long) getpid());
    gateway_exit_t status;
    fault_t fault;

    if (mkdir(temporary, 0700) < 0)
        return complain(GATEWAY_EXIT_FAILED, "%s: %s", folder, strerror(errno));
    status = fill(arguments, session, key, temporary);
    if (status == GATEWAY_EXIT_OK && rename(temporary, folder) < 0)
        status = complain(GATEWAY_EXIT_USAGE,
                          "%s: %s: name a folder that is new or empty", folder,
                          strerror(errno));
    if (status != GATEWAY_EXIT_OK)
        (void) path_remove_tree(temporary, &fault);
    return status;
}

static int attest(const arguments_t *arguments)
{
    cleanup_options options_t *options = arguments_options(arguments);
    cleanup_free char *folder = mem_text(arguments_operand(arguments, 1));
    cleanup_recordings recordings_t session = {0};
    cleanup_signing_key signing_key_t *key = NULL;
    gateway_exit_t status;

    if (!options)
        return GATEWAY_EXIT_ENVIRONMENT;
    for (size_t i = strlen(folder); i > 1 && folder[i - 1] == '/'; i--)
        folder[i - 1] = '\0';
    status =
        recordings_find(options, arguments_operand(arguments, 0), &session);
    if (status == GATEWAY_EXIT_OK)
        status = check_journal(&session);
    if (status != GATEWAY_EXIT_OK)
        return status;
    key = receipt_folder_key(options, true);
    if (!key)
        return GATEWAY_EXIT_ENVIRONMENT;
    status = make_folder(arguments, &session, key, folder);
    if (status != GATEWAY_EXIT_OK)
        return status;
    return receipt_folder_verify(options, folder, NULL,
                                 arguments_has(arguments, "json"));
}

/* ---- attest-key ---- */

static const flag_t key_flags[] = {FLAG_JSON, {0}};

static int attest_key(const arguments_t *arguments)
{
    cleanup_options options_t *options = arguments_options(arguments);
    cleanup_signing_key signing_key_t *key = NULL;
    cleanup_buffer buffer_t pem = BUFFER_EMPTY;

    key = options ? receipt_folder_key(options, true) : NULL;
    if (!key)
        return GATEWAY_EXIT_ENVIRONMENT;
    signing_key_write(key, &pem);
    if (arguments_has(arguments, "json")) {
        json_auto_t *json = json_pack("{s:s, s:s%}", "key", signing_key_id(key),
                                      "pem", (char *) pem.data, pem.size);
        json_print(json);
    } else {
        fwrite(pem.data, 1, pem.size, stdout);
    }
    return GATEWAY_EXIT_OK;
}

const command_t notebook_attest_commands[] = {
    {
        .name = "notebook attest",
        .operands = "ID FOLDER",
        .help = "write a session's notebook and a signed receipt into a folder",
        .more = "Others can check the folder with the public key that "
                "`hearth notebook attest-key` prints: `hearth notebook verify "
                "FOLDER --public-key FILE`.",
        .flags = attest_flags,
        .run = attest,
    },
    {
        .name = "notebook attest-key",
        .operands = "",
        .help = "print the public key with which receipts are checked",
        .flags = key_flags,
        .run = attest_key,
    },
    {0},
};
