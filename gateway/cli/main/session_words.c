/* See session_words.h. */
#include "gateway/cli/main/session_words.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "gateway/cli/client/management_client.h"
#include "gateway/cli/client/process_client.h"
#include "gateway/cli/core/terminal.h"
#include "gateway/cli/recordings/recordings.h"
#include "notebooks/json/member.h"
#include "notebooks/recording/cell_outcome.h"
#include "notebooks/recording/journal_refs.h"

#include <ctype.h>
#include <string.h>

#define READ_MS   700 /* for each reading of a journal, which may be large */
#define NAMED_MAX 50  /* cells, and programs, that are offered */
#define ID_MAX    64  /* columns of a session's id */

/* Returns true if a word that begins with `begin` may also begin with what is
 * typed. */
static bool may_begin(const char *begin, const char *typed)
{
    size_t size = strlen(begin), typed_size = strlen(typed);

    return strncmp(begin, typed, size < typed_size ? size : typed_size) == 0;
}

/* ---- outputs ---- */

/* Adds the outputs of a cell that are still kept. `begin` is "out:7.". */
static void add_cell(const recordings_t *session,
                     const journal_ref_cell_t *cell, const char *begin,
                     json_t *words)
{
    cleanup_cell_outcome cell_outcome_t outcome = {0};
    cell_outcome_place_t place = {.folder = session->journal,
                                  .key = session->key,
                                  .request = cell->request,
                                  .mark = cell->mark};

    if (cell_outcome_read(&place, false, &outcome) < 0)
        return;
    cell_outcome_add_pages(outcome.outputs, outcome.reply);
    for (size_t i = 1; i <= json_array_size(outcome.outputs); i++)
        json_array_append_new(words, json_sprintf("%s%zu", begin, i));
}

/* Adds the newest cells. They are without "out:" if the word begins so. */
static void add_cells(const recordings_t *session, const journal_refs_t *refs,
                      const char *typed, json_t *words)
{
    int64_t until_ms = clock_monotonic_ms() + READ_MS;
    const char *prefix = isdigit((unsigned char) *typed) ? "" : "out:";
    size_t added = 0;

    for (size_t i = refs->cell_count; i > 0 && added < NAMED_MAX; i--) {
        const journal_ref_cell_t *cell = &refs->cells[i - 1];
        cleanup_free char *begin = mem_format("%s%lld.", prefix, cell->number);

        if (!may_begin(begin, typed))
            continue;
        if (clock_monotonic_ms() >= until_ms)
            return;
        add_cell(session, cell, begin, words);
        added++;
    }
}

static void add_programs(const journal_refs_t *refs, const char *typed,
                         json_t *words)
{
    size_t added = 0;

    for (size_t i = refs->program_count; i > 0 && added < NAMED_MAX; i--) {
        cleanup_free char *word = mem_format(
            "process:%llu", (unsigned long long) refs->programs[i - 1]);

        if (!may_begin(word, typed))
            continue;
        json_array_append_new(words, json_string(word));
        added++;
    }
}

json_t *session_words_outputs(const char *session, const char *typed)
{
    cleanup_options options_t *options = options_new();
    cleanup_recordings recordings_t found = {0};
    cleanup_journal_refs journal_refs_t refs = {0};
    json_t *words = json_array();
    fault_t fault;

    if (options_load(options, NULL, &fault) < 0
        || recordings_find(options, session, &found) != GATEWAY_EXIT_OK)
        return words;
    /* Records before damage in the journal can be read. */
    (void) journal_refs_read(found.journal, found.key,
                             clock_monotonic_ms() + READ_MS, &refs, &fault);
    add_programs(&refs, typed, words);
    add_cells(&found, &refs, typed, words);
    return words;
}

/* ---- programs and sessions, of the gateway ---- */

json_t *session_words_programs(const char *session, const char *typed)
{
    cleanup_process_client process_client_t *client = NULL;
    json_auto_t *reply = NULL;
    json_t *words = json_array();
    const json_t *process;
    size_t i;

    if (process_client_open(session, false, &client) != GATEWAY_EXIT_OK
        || process_client_ask(client, "list", json_object(), &reply)
               != GATEWAY_EXIT_OK)
        return words;
    json_array_foreach(json_object_get(reply, "processes"), i, process)
    {
        if (strcmp(member_text(process, "state"), "ended") != 0)
            json_array_append_new(
                words,
                json_sprintf(
                    "%s%" JSON_INTEGER_FORMAT, *typed == 'p' ? "process:" : "",
                    json_integer_value(json_object_get(process, "process"))));
    }
    return words;
}

json_t *session_words_sessions(void)
{
    cleanup_management_client management_client_t *management = NULL;
    json_auto_t *reply = NULL;
    json_t *words = json_array();
    const json_t *session;
    size_t i;

    if (management_client_open(false, &management) != GATEWAY_EXIT_OK
        || management_client_call(management, "session_list", json_object(),
                                  &reply)
               != GATEWAY_EXIT_OK)
        return words;
    json_array_foreach(json_object_get(reply, "sessions"), i, session)
        json_array_append_new(words, json_string(terminal_cell(
                                         member_text(session, "id"), ID_MAX)));
    return words;
}
