/* See process.h. */
#include "gateway/session/processes/process.h"

#include "base/clock.h"
#include "base/units.h"
#include "protocol/jspan.h"
#include "protocol/jspan_write.h"

#include <string.h>

static const char *const ends[KEEPER_ENDS] = {
    [KEEPER_EXITED] = "exited",       [KEEPER_SIGNALLED] = "signalled",
    [KEEPER_NO_FOLDER] = "no_folder", [KEEPER_NO_PROGRAM] = "no_program",
    [KEEPER_NO_ROOM] = "no_room",
};

static const char *const causes[KEEPER_CAUSES] = {
    [KEEPER_BY_ITSELF] = "itself",
    [KEEPER_BY_LIMIT] = "timeout",
    [KEEPER_BY_REQUEST] = "request",
};

static const char *const fates[] = {
    [PROCESS_BY_KEEPER] = NULL,     [PROCESS_BY_OUTPUT] = "cell_output",
    [PROCESS_BY_KERNEL] = "kernel", [PROCESS_LOST] = "lost",
    [PROCESS_BY_MEMORY] = "memory",
};

static const char *const phases[] = {
    [PROCESS_STARTING] = "starting",
    [PROCESS_RUNNING] = "running",
    [PROCESS_ENDED] = "ended",
};

#define COUNT(table) (sizeof(table) / sizeof *(table))

processes_t *processes_new(void)
{
    return mem_new(sizeof(processes_t));
}

static void process_destroy(process_t **self_p)
{
    process_t *self = *self_p;

    keeper_link_destroy(&self->link);
    process_feed_destroy(&self->feed);
    request_destroy(&self->start.request);
    process_writes_clear(&self->input.writes);
    free(self->arguments);
    free(self->folder);
    free(self->who);
    free(self->key);
    free(self);
    *self_p = NULL;
}

void processes_destroy(processes_t **self_p)
{
    processes_t *self = *self_p;

    if (!self)
        return;
    while (self->first)
        processes_remove(self, self->first);
    process_keys_clear(&self->forgotten);
    free(self);
    *self_p = NULL;
}

static void forget_oldest(processes_t *self)
{
    process_t *oldest = self->first;

    while (oldest->phase != PROCESS_ENDED)
        oldest = oldest->next;
    if (oldest->key)
        process_keys_add(&self->forgotten, oldest->key);
    processes_remove(self, oldest);
}

process_t *processes_add(processes_t *self, uint64_t number)
{
    process_t **end = &self->first;
    process_t *process = mem_new(sizeof *process);

    while (self->ended > PROCESSES_ENDED)
        forget_oldest(self);
    process->number = number ? number : self->last_number + 1;
    if (process->number > self->last_number)
        self->last_number = process->number;
    process->feed = process_feed_new();
    while (*end)
        end = &(*end)->next;
    *end = process;
    self->living++;
    return process;
}

process_t *processes_find(const processes_t *self, uint64_t number)
{
    process_t *at = self->first;

    while (at && at->number != number)
        at = at->next;
    return at;
}

process_t *processes_find_key(const processes_t *self, const char *key)
{
    process_t *at = self->first;

    while (at && !(at->key && strcmp(at->key, key) == 0))
        at = at->next;
    return at;
}

void processes_remove(processes_t *self, process_t *process)
{
    process_t **at = &self->first;

    while (*at != process)
        at = &(*at)->next;
    *at = process->next;
    if (process->phase == PROCESS_ENDED)
        self->ended--;
    else
        self->living--;
    process_destroy(&process);
}

void processes_end(processes_t *self, process_t *process)
{
    keeper_link_destroy(&process->link);
    if (process->phase == PROCESS_ENDED)
        return;
    process->phase = PROCESS_ENDED;
    self->living--;
    self->ended++;
}

/* ---- as JSON ---- */

static void write_time(buffer_t *out, const char *key, int64_t wall_us)
{
    char text[CLOCK_ISO_SIZE];

    clock_iso(wall_us, text);
    jspan_write_text(out, key, text);
}

static void write_end(const process_t *self, buffer_t *out)
{
    cleanup_buffer buffer_t sentence = BUFFER_EMPTY;

    write_time(out, "ended", self->ended_us);
    jspan_write_count(out, "ended_us", (uint64_t) self->ended_us);
    if (self->fate != PROCESS_BY_KERNEL && self->fate != PROCESS_LOST) {
        jspan_write_text(out, "end", ends[self->end]);
        jspan_write_integer(out,
                            self->end == KEEPER_EXITED      ? "exit_code"
                            : self->end == KEEPER_SIGNALLED ? "signal"
                                                            : "errno",
                            self->code);
        /* A keeper that was ended as well could not say it. */
        if (self->cpu_ms || self->fate != PROCESS_BY_MEMORY)
            jspan_write_count(out, "cpu_ms", self->cpu_ms);
    }
    if (self->fate == PROCESS_BY_MEMORY)
        jspan_write_count(out, "memory_limit", self->memory_limit);
    jspan_write_text(out, "cause",
                     fates[self->fate] ? fates[self->fate]
                                       : causes[self->cause]);
    process_write_end(self, &sentence);
    jspan_write_text(out, "sentence", (const char *) sentence.data);
}

void process_write(const process_t *self, const char *key, buffer_t *out)
{
    jspan_write_object(out, key);
    jspan_write_count(out, "process", self->number);
    jspan_write_raw(out, "argv", text_bytes(self->arguments));
    jspan_write_text(out, "cwd", self->folder);
    jspan_write_bool(out, "terminal", self->is_terminal);
    jspan_write_text(out, "who", self->who);
    if (self->key) {
        jspan_write_text(out, "key", self->key);
        jspan_write_text(out, "digest", self->digest);
    }
    if (self->limit_ms)
        jspan_write_count(out, "timeout_ms", (uint64_t) self->limit_ms);
    jspan_write_text(out, "state", phases[self->phase]);
    if (self->pid)
        jspan_write_integer(out, "pid", self->pid);
    write_time(out, "started", self->started_us);
    jspan_write_count(out, "started_us", (uint64_t) self->started_us);
    jspan_write_count(out, "stdout_bytes", self->bytes[0]);
    jspan_write_count(out, "stderr_bytes", self->bytes[1]);
    if (self->input.is_over)
        jspan_write_bool(out, "input_over", true);
    if (self->phase == PROCESS_ENDED)
        write_end(self, out);
    jspan_write_end(out);
}

static int find(const char *const *names, size_t count, jspan_t text)
{
    for (size_t i = 0; i < count; i++)
        if (names[i] && jspan_text_equals(text, names[i]))
            return (int) i;
    return -1;
}

static int64_t read_number(jspan_t object, const char *key)
{
    int64_t value = 0;

    return jspan_to_integer(jspan_member(object, key), &value) ? value : 0;
}

uint64_t process_read_number(jspan_t object)
{
    int64_t number = read_number(object, "process");

    return number > 0 ? (uint64_t) number : 0;
}

static void read_end(process_t *self, jspan_t object)
{
    jspan_t cause = jspan_member(object, "cause");
    int end = find(ends, COUNT(ends), jspan_member(object, "end"));
    int by = find(causes, COUNT(causes), cause);
    int fate = find(fates, COUNT(fates), cause);

    self->ended_us = read_number(object, "ended_us");
    self->end = end >= 0 ? (keeper_end_t) end : KEEPER_EXITED;
    self->cause = by >= 0 ? (keeper_cause_t) by : KEEPER_BY_ITSELF;
    self->fate = fate >= 0 ? (process_fate_t) fate : PROCESS_BY_KEEPER;
    self->cpu_ms = (uint64_t) read_number(object, "cpu_ms");
    self->memory_limit = (uint64_t) read_number(object, "memory_limit");
    self->code =
        (int) read_number(object, self->end == KEEPER_EXITED      ? "exit_code"
                                  : self->end == KEEPER_SIGNALLED ? "signal"
                                                                  : "errno");
}

static void read_key(process_t *self, jspan_t object)
{
    cleanup_free char *digest = jspan_text_new(jspan_member(object, "digest"));

    free(self->key);
    self->key = jspan_text_new(jspan_member(object, "key"));
    snprintf(self->digest, sizeof self->digest, "%s", digest ? digest : "");
}

bool process_read(process_t *self, jspan_t object)
{
    jspan_t arguments = jspan_member(object, "argv");

    if (!jspan_is(arguments, JSPAN_ARRAY))
        return false;
    free(self->arguments);
    free(self->folder);
    free(self->who);
    self->arguments = mem_copy(arguments.text, arguments.size);
    self->folder = jspan_text_new(jspan_member(object, "cwd"));
    self->who = jspan_text_new(jspan_member(object, "who"));
    self->is_terminal = jspan_is(jspan_member(object, "terminal"), JSPAN_TRUE);
    self->input.is_over =
        jspan_is(jspan_member(object, "input_over"), JSPAN_TRUE);
    self->limit_ms = read_number(object, "timeout_ms");
    self->started_us = read_number(object, "started_us");
    self->bytes[0] = (uint64_t) read_number(object, "stdout_bytes");
    self->bytes[1] = (uint64_t) read_number(object, "stderr_bytes");
    self->pid = (pid_t) read_number(object, "pid");
    read_key(self, object);
    read_end(self, object);
    return self->folder && self->who;
}

static void write_keepers_end(const process_t *self, buffer_t *out)
{
    switch (self->end) {
    case KEEPER_EXITED:
        buffer_format(out, "it exited with %d", self->code);
        break;
    case KEEPER_SIGNALLED:
        buffer_format(out, "signal %d ended it", self->code);
        break;
    case KEEPER_NO_FOLDER:
        buffer_format(out, "it was not started: the working folder: %s",
                      strerror(self->code));
        break;
    case KEEPER_NO_PROGRAM:
        buffer_format(out, "it was not started: the program: %s",
                      strerror(self->code));
        break;
    case KEEPER_NO_ROOM:
        buffer_format(out,
                      "it was not started: the sandbox has no room for it: %s",
                      strerror(self->code));
        break;
    case KEEPER_ENDS:
        break;
    }
    if (self->cause == KEEPER_BY_LIMIT)
        buffer_format(out, ", because its time limit of %g s was over",
                      (double) self->limit_ms / 1000);
}

static void write_memory_end(const process_t *self, buffer_t *out)
{
    char limit[32];

    units_say_size(self->memory_limit, limit, sizeof limit);
    if (self->end == KEEPER_EXITED)
        buffer_format(out, "it exited with %d, because a process was",
                      self->code);
    else
        buffer_text(out, "it was");
    buffer_format(out,
                  " ended by the session's memory limit of %s; a session with "
                  "a higher one (limits/memory) would help, or less data at a "
                  "time",
                  limit);
}

void process_write_end(const process_t *self, buffer_t *out)
{
    if (self->fate == PROCESS_BY_KERNEL) {
        buffer_text(out, "it ended with the session's kernel");
    } else if (self->fate == PROCESS_BY_MEMORY) {
        write_memory_end(self, out);
    } else if (self->fate == PROCESS_LOST) {
        buffer_text(out, "its keeper has ended, and the process with it; how "
                         "the process ended is not known");
    } else {
        write_keepers_end(self, out);
        if (self->fate == PROCESS_BY_OUTPUT)
            buffer_text(out, ", because its output was past the limit of a "
                             "cell (limits/cell_output)");
    }
}
