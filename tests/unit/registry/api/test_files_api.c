/* Requests about files of sessions: whose workspace each is for, and what
 * becomes of the news of the thread for files. Sessions and that thread are
 * records. */
#include "gateway/registry/api/files_api.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "gateway/files/news.h"
#include "gateway/registry/downloads/fetch_jobs.h"
#include "gateway/session/lifecycle/spec.h"
#include "tests/lib/registry_rig.h"
#include "tests/lib/test.h"

#include <string.h>

#define DID(text)     assert_string_equal(deeds_take(), text)
#define SAID(text)    assert_string_equal(fake_said(), text)
#define ANSWERS(text) assert_string_equal(rig_answers(), text)

void __wrap_fetch_jobs_on_placed(fetch_jobs_t *self, uint64_t number,
                                 json_t *answer);
void __wrap_fetch_jobs_on_probed(fetch_jobs_t *self, uint64_t number,
                                 json_t *answer);

void __wrap_fetch_jobs_on_placed(fetch_jobs_t *self, uint64_t number,
                                 json_t *answer)
{
    (void) self;
    deeds_note("placed %d: %s", (int) number, json_string_value(answer));
    json_decref(answer);
}

void __wrap_fetch_jobs_on_probed(fetch_jobs_t *self, uint64_t number,
                                 json_t *answer)
{
    (void) self;
    deeds_note("probed %d: %s", (int) number, json_string_value(answer));
    json_decref(answer);
}

static int begin(void **state)
{
    const registry_parts_t *parts;

    if (rig_begin(state) < 0)
        return -1;
    parts = *state;
    fake_add(parts->table, "aa1", FAKE_TAKEN, 0);
    fake_add(parts->table, "aa2", FAKE_TAKEN, 0);
    fake_add(parts->table, "gone", FAKE_GONE, 0);
    return 0;
}

static void ask(const registry_parts_t *parts, const char *content)
{
    message_t *request = rig_request("files_list_request", content);
    json_auto_t *json = json_loads(content, 0, NULL);

    files_api_make(parts, json, &request);
    message_destroy(&request); /* where it was not taken */
}

/* Writes the file of a session that has no actor any more. */
static void leave(const char *id)
{
    cleanup_session_spec session_spec_t *spec = mem_new(sizeof *spec);
    static char name[] = "python3";
    static profile_t profile = {.name = name};
    fault_t fault;

    snprintf(spec->id, sizeof spec->id, "%s", id);
    spec->profile = &profile;
    spec->name = mem_text("its name");
    spec->state_folder = session_state_folder(rig_outside.folder, id);
    spec->runtime_folder = mem_text("/run/x");
    spec->workspace = mem_text("/w");
    spec->connection_file = mem_text("/run/x/kernel.json");
    assert_int_equal(path_make_folders(spec->state_folder, 0700, &fault), 0);
    assert_int_equal(session_spec_write(spec, &fault), 0);
}

static void file_requests_are_for_the_workspace(void **state)
{
    const registry_parts_t *parts = *state;

    ask(parts, "{\"id\":\"aa1\"}");
    DID("files of 'aa1' in '/state/aa1/workspace'");
    ask(parts, "{\"id\":\"gone\"}");
    DID("files of 'gone' in '/state/gone/workspace'");
    ask(parts, "{\"transfer\":\"t\"}");
    DID("files of '' in ''");
    leave("old");
    ask(parts, "{\"id\":\"old\"}");
    DID("files of 'old' in '/w'");
    ask(parts, "{\"id\":\"aa\"}");
    ask(parts, "{\"id\":\"zz\"}");
    ask(parts, "{}");
    ANSWERS("AmbiguousSession UnknownSession UnknownSession");
    DID("");
}

static void a_request_may_be_one_too_many(void **state)
{
    const registry_parts_t *parts = *state;

    rig_outside.is_files_busy = true;
    ask(parts, "{\"id\":\"aa1\"}");
    ask(parts, "{\"transfer\":\"t\"}");
    ANSWERS("FilesBusy FilesBusy");
    DID("");
}

static void come(const registry_parts_t *parts, files_word_t word,
                 const char *session)
{
    files_news_t *news = mem_new(sizeof *news);

    news->word = word;
    snprintf(news->session, sizeof news->session, "%s", session);
    snprintf(news->text, sizeof news->text, "it is full");
    news->note = mem_text("{}");
    if (word == FILES_ANSWER) {
        news->request = rig_request("files_read_request", "{}");
        news->answer = json_string("done");
        buffer_text(&news->data, "abc");
    }
    if (word == FILES_PLACED || word == FILES_PROBED) {
        news->number = 5;
        news->answer = json_string("done");
    }
    rig_outside.news = news;
    assert_int_equal(files_api_on_files(NULL, NULL, (void *) (uintptr_t) parts),
                     0);
}

static void news_of_fetched_files_are_their_jobs(void **state)
{
    come(*state, FILES_PLACED, "aa1");
    come(*state, FILES_PROBED, "aa1");
    DID("placed 5: done; probed 5: done");
    SAID("");
}

static void news_of_files_are_passed_on(void **state)
{
    const registry_parts_t *parts = *state;

    come(parts, FILES_ANSWER, "");
    DID("answer done with 3 bytes");
    come(parts, FILES_DONE, "aa1");
    come(parts, FILES_FULL, "aa2");
    SAID("aa1 FILE; aa2 FULL");
    come(parts, FILES_DONE, "zz");
    come(parts, FILES_FULL, "zz");
    come(parts, FILES_DONE, "gone");
    come(parts, FILES_FULL, "gone");
    session_table_set_drained(parts->table,
                              session_table_find(parts->table, "aa1"));
    come(parts, FILES_DONE, "aa1");
    SAID("");
    assert_int_equal(files_api_on_files(NULL, NULL, *state), 0); /* none */
    DID("");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, rig_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(file_requests_are_for_the_workspace),
        TEST(a_request_may_be_one_too_many),
        TEST(news_of_fetched_files_are_their_jobs),
        TEST(news_of_files_are_passed_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
