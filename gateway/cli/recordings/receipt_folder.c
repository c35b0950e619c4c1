/* See receipt_folder.h. */
#include "gateway/cli/recordings/receipt_folder.h"

#include "base/fd.h"
#include "gateway/cli/client/management_client.h"
#include "gateway/cli/core/terminal.h"
#include "notebooks/journal/log_key.h"
#include "notebooks/receipt/receipt.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <unistd.h>

signing_key_t *receipt_folder_key(const options_t *options, bool makes)
{
    cleanup_free char *path =
        mem_format("%s/%s", options->state_dir, GATEWAY_ATTEST_KEY_FILE);
    uint8_t seed[LOG_KEY_SIZE];
    signing_key_t *key = NULL;
    fault_t fault;

    if (!makes && access(path, F_OK) < 0) {
        complain(GATEWAY_EXIT_ENVIRONMENT,
                 "this gateway has signed no receipt yet: name the signer's "
                 "key with --public-key");
        return NULL;
    }
    if ((makes && path_make_folders(options->state_dir, 0700, &fault) < 0)
        || log_key_read(path, makes, seed, &fault) < 0)
        complain(GATEWAY_EXIT_ENVIRONMENT, "%s", fault.text);
    else
        key = signing_key_new(seed);
    sodium_memzero(seed, sizeof seed);
    return key;
}

static signing_key_t *read_public(const char *path)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    signing_key_t *key = NULL;
    fault_t fault;

    if (file_read(path, SIGNING_KEY_PEM_MAX, &text, &fault) < 0)
        complain(GATEWAY_EXIT_USAGE, "%s", fault.text);
    else if (signing_key_parse(buffer_bytes(&text), &key, &fault) < 0)
        complain(GATEWAY_EXIT_USAGE, "%s: %s", path, fault.text);
    return key;
}

static void print_report(const receipt_report_t *report, const char *key_id,
                         bool is_json)
{
    bool is_whole = json_array_size(report->problems) == 0;

    if (is_json) {
        json_auto_t *json =
            json_pack("{s:b, s:O, s:O, s:s, s:s, s:I}", "whole", is_whole,
                      "problems", report->problems, "remarks", report->remarks,
                      "session", report->session, "key", key_id, "files",
                      (json_int_t) report->files);
        json_print(json);
        return;
    }
    if (is_whole)
        printf("whole: %zu files of session %s, signed by the key %.16s\n",
               report->files, terminal_cell(report->session, 36), key_id);
    json_print_texts(report->problems, "not whole: ");
    json_print_texts(report->remarks, "not covered: ");
}

gateway_exit_t receipt_folder_verify(const options_t *options,
                                     const char *folder, const char *public_key,
                                     bool is_json)
{
    cleanup_signing_key signing_key_t *key =
        public_key ? read_public(public_key)
                   : receipt_folder_key(options, false);
    cleanup_receipt_report receipt_report_t report = {0};
    fault_t fault = {0};
    int r;

    if (!key)
        return public_key ? GATEWAY_EXIT_USAGE : GATEWAY_EXIT_ENVIRONMENT;
    r = receipt_check(folder, key, &report, &fault);
    if (r == -EBADMSG)
        return complain(GATEWAY_EXIT_FAILED, "%s", fault.text);
    if (r < 0)
        return complain(GATEWAY_EXIT_USAGE, "%s", fault.text);
    print_report(&report, signing_key_id(key), is_json);
    return json_array_size(report.problems) == 0 ? GATEWAY_EXIT_OK
                                                 : GATEWAY_EXIT_FAILED;
}
