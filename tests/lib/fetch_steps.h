/* Fetches of sessions, step by step, by workers that are records
 * (download_fakes.h): aa1 and bb2 may fetch from a.example, 9 bytes at most. */
#ifndef HEARTH_TESTS_LIB_FETCH_STEPS_H
#define HEARTH_TESTS_LIB_FETCH_STEPS_H

#include "gateway/registry/downloads/fetch_jobs.h"
#include "tests/lib/download_fakes.h"

#include <stdint.h>

#define DID(text)      assert_string_equal(deeds_take(), text)
#define ANSWERED(text) assert_string_equal(rig_answers(), text)
#define HASH           "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
#define OK                                                                     \
    "{\"status\":\"ok\",\"sha256\":\"" HASH "\",\"size\":4,\"cached\":false,"  \
    "\"encoding\":\"\"}"
#define ERROR(ename)                                                           \
    "{\"status\":\"error\",\"ename\":\"" ename "\",\"evalue\":\"no\","         \
    "\"exit_code\":1}"

/* The list of permitted places; its first entry can be taken out. */
extern char *fetch_places[];

fetch_jobs_t *jobs(void);
/* Has a client ask for the file of a URL. */
void fetch(const char *session, const char *url);
/* Has code in a cell of aa1 ask, as its call `id`. */
void call(uint64_t id, const char *arguments);
/* Returns a file of that many bytes that is open for reading. */
int file_of(int size);
/* Has a worker answer with OK and a file of 4 bytes. */
void bring(size_t at);
/* Has a worker answer with that reply and such a file. */
void bring_with(size_t at, const char *reply);
/* Has the files thread answer for what was placed last. */
void placed(const char *answer);

/* A setup and a teardown of cmocka's. */
int fetch_steps_begin(void **state);
int fetch_steps_end(void **state);
#define FETCH_TEST(name)                                                       \
    cmocka_unit_test_setup_teardown(name, fetch_steps_begin, fetch_steps_end)

#endif
