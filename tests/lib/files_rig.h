/* The files thread without a thread and a clock: what it copies goes on when
 * the test says so, and its news and records are deeds. A folder with a
 * workspace of session "aa1" and a folder outside of it. A test that links this
 * wraps what it fakes (tests/Makemodule.am). */
#ifndef HEARTH_TESTS_LIB_FILES_RIG_H
#define HEARTH_TESTS_LIB_FILES_RIG_H

#include "base/buffer.h"
#include "gateway/files/copies.h"
#include "tests/lib/deeds.h"

#include <stdbool.h>

#define RIG_UID 54321 /* owns the workspace if the tests run as root */
#define RIG_GID 54322

extern files_thread_t files_rig;
/* How much later each look at the clock is than the one before; 0 at first. */
extern int64_t files_rig_look_ms;
/* The time, which a test may move on. */
extern int64_t files_rig_now_ms;

/* Makes all; a setup and a teardown of cmocka's. */
int files_rig_begin(void **state);
int files_rig_end(void **state);
/* Ends the list of copies, as the end of the thread does. */
void files_rig_end_thread(void);

/* Return a path in the workspace and outside, lent until four more of them were
 * returned. */
const char *in_workspace(const char *name);
const char *in_outside(const char *name);
/* Returns the names of a folder's entries in the order of their letters, lent:
 * "a b". */
const char *names_in(const char *path);
/* Makes a file of that text, and its folders. */
void put_text(const char *path, const char *text);
/* Returns the file's text, lent; "-" if there is none that can be read. */
const char *text_in(const char *path);

/* Sets the limits of the session, whose workspace is measured at once. */
void files_rig_limit(uint64_t bytes, uint64_t files);
/* Has a file or a tree placed, which is taken. `content` is JSON. The session
 * is "aa1", the number that of the news. */
void files_rig_place(bool is_tree, uint64_t number, int file,
                     const char *content);
/* Has the thread look whether a file or a tree may come to that path. */
void files_rig_probe(bool is_tree, uint64_t number, const char *path);
/* Ends a tree, has it placed, and empties the buffer. It announces that many
 * bytes and entries. */
void files_rig_place_tree(uint64_t number, buffer_t *tree, const char *path,
                          unsigned bytes, unsigned files);
/* Checks that the only deed is the news of an error of that name, with that
 * sentence; or the last one is that all is well. */
void files_rig_refused(const char *ename, const char *sentence);
void files_rig_was_placed(void);
/* Has the thread answer a request of that type and content. */
typedef int files_rig_handler_t(files_thread_t *self,
                                const file_request_t *request,
                                json_t **ret_answer, fault_t *fault);
void files_rig_ask(files_rig_handler_t *handler, const char *content);
/* Makes one step of all copies; false if there was none to make. */
bool files_rig_step(void);
/* Makes all steps; returns their number. */
unsigned files_rig_finish(void);

#endif
