/* See recorded.h. */
#include "tests/lib/recorded.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "notebooks/journal/append.h"
#include "tests/lib/temporary.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;

int recorded_make_folder(void **state)
{
    *state = temporary_folder("recorded");
    return *state ? 0 : -1;
}

int recorded_remove_folder(void **state)
{
    cleanup_free char *folder = *state;
    fault_t fault;

    return path_remove_tree(folder, &fault);
}

journal_t *recordings_open(const char *folder)
{
    journal_t *journal = NULL;
    fault_t fault = {0};

    if (journal_open(folder, NULL, NULL, &journal, NULL, &fault) < 0)
        fail_msg("%s", fault.text);
    return journal;
}

void recorded_append_record(journal_t *journal, journal_record_t *record,
                            const char *type)
{
    fault_t fault = {0};

    record->wall_us =
        1767323045000000 + 1000000 * (int64_t) journal_last_seq(journal);
    snprintf(record->type, sizeof record->type, "%s", type);
    if (journal_append(journal, record, &fault) < 0)
        fail_msg("%s", fault.text);
}

void recorded_append(journal_t *journal, journal_kind_t kind, uint64_t request,
                     const char *type, const char *content)
{
    journal_record_t record = {.kind = kind,
                               .request = request,
                               .content = {content, strlen(content)}};

    recorded_append_record(journal, &record, type);
}

int recorded_run_python(const char *program, const char *file)
{
    const char *srcdir = getenv("srcdir");
    cleanup_free char *venv =
        mem_format("%s/.venv/bin/python3", srcdir ? srcdir : ".");
    const char *named = getenv("HEARTH_PYTHON");
    const char *python = access(venv, X_OK) == 0 ? venv : "/usr/bin/python3";
    cleanup_free char *first = mem_text(named ? named : python);
    cleanup_free char *code = mem_text(program);
    cleanup_free char *path = mem_text(file);
    char flag[] = "-c";
    char *argv[] = {first, flag, code, path, NULL};
    int status = -1;
    pid_t pid;

    if (posix_spawn(&pid, first, NULL, NULL, argv, environ) != 0
        || waitpid(pid, &status, 0) < 0)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
