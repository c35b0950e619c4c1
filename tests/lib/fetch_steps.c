/* See fetch_steps.h. */
#include "tests/lib/fetch_steps.h"

#include "base/buffer.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

static char place[] = "a.example";
char *fetch_places[] = {place, NULL};

fetch_jobs_t *jobs(void)
{
    return download_fakes.parts->downloads.fetches;
}

void fetch(const char *session, const char *url)
{
    cleanup_free char *text = mem_format(
        "{\"id\":\"%s\",\"order\":\"fetch\",\"url\":\"%s\"}", session, url);

    download_fakes_fetch(text);
}

void call(uint64_t id, const char *arguments)
{
    cleanup_free char *text =
        mem_format("{\"call\":%d,\"name\":\"hearth:fetch\",\"arguments\":%s,"
                   "\"request\":7,\"seconds_left\":9}",
                   (int) id, arguments);
    const session_call_t made = {.text = text, .id = id};

    fetch_jobs_call(
        jobs(), session_table_find(download_fakes.parts->table, "aa1"), &made);
    if (!download_fakes.holds_probes)
        download_fakes_answer_probes("{\"status\":\"ok\"}");
}

int file_of(int size)
{
    int made = memfd_create("fetched", MFD_CLOEXEC);
    cleanup_free char *path = mem_format("/proc/self/fd/%d", made);
    int file = open(path, O_RDONLY | O_CLOEXEC);

    assert_true(file >= 0);
    assert_int_equal(ftruncate(made, size), 0);
    close(made);
    return file;
}

void bring_with(size_t at, const char *reply)
{
    download_fakes.file = file_of(4);
    download_fakes_answer(at, reply);
    assert_int_equal(download_fakes.file, -1);
}

void bring(size_t at)
{
    bring_with(at, OK);
}

void placed(const char *answer)
{
    fetch_jobs_on_placed(jobs(), download_fakes.placed,
                         json_loads(answer, 0, NULL));
}

int fetch_steps_begin(void **state)
{
    int r = download_fakes_begin(state);

    fetch_places[0] = place;
    fake_profile.fetch = (profile_fetch_t){
        .allow = fetch_places, .max_bytes = 9, .serves_cells = 1};
    download_fakes_set_rules(NULL, NULL);
    return r;
}

int fetch_steps_end(void **state)
{
    fake_profile.fetch = (profile_fetch_t){0};
    return download_fakes_end(state);
}
