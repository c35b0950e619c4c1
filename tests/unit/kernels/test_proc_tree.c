/* What is below a process: counted, and ended without it. */
#include "tests/lib/test.h"

#include "base/buffer.h"
#include "base/cleanup.h"
#include "kernels/proc_tree.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAIT_MS 60000
#define BELOW   3
#define MUCH    ((uint64_t) 1 << 40)

typedef struct {
    pid_t first;
    int alive; /* ends when no process below `first` is alive */
} family_t;

static _Noreturn void live(int ready)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void) !write(ready, "", 1);
    for (;;)
        pause();
}

/* `first`, with two children, one of which has a child; in that folder, as
 * their root. */
static void make_family(family_t *self, const char *root)
{
    int alive[2];
    int ready[2];
    char byte;

    assert_int_equal(pipe(alive), 0);
    assert_int_equal(pipe(ready), 0);
    self->first = fork();
    assert_true(self->first >= 0);
    if (self->first == 0) {
        if (strcmp(root, "/") != 0 && chroot(root) < 0)
            _exit(1);
        if (fork() == 0) {
            if (fork() == 0)
                live(ready[1]);
            live(ready[1]);
        }
        if (fork() == 0)
            live(ready[1]);
        close(alive[1]);
        live(ready[1]);
    }
    close(alive[1]);
    close(ready[1]);
    for (int i = 0; i < BELOW + 1; i++)
        assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    self->alive = alive[0];
}

/* A sanitizer can have a thread of its own in each process. */
static unsigned threads_of(pid_t pid)
{
    cleanup_free char *path = mem_format("/proc/%d/task", (int) pid);
    DIR *folder = opendir(path);
    const struct dirent *item;
    unsigned count = 0;

    assert_non_null(folder);
    while ((item = readdir(folder)))
        count += item->d_name[0] != '.';
    closedir(folder);
    return count;
}

/* Its descendants are killed, then itself. */
static void end_family(family_t *self)
{
    struct pollfd end = {self->alive, POLLIN, 0};

    proc_tree_kill(self->first);
    assert_int_equal(poll(&end, 1, WAIT_MS), 1);
    /* It waits for no child, so the ended ones remain. */
    assert_int_equal(waitpid(self->first, NULL, WNOHANG), 0);
    assert_int_equal(kill(self->first, SIGKILL), 0);
    assert_int_equal(waitpid(self->first, NULL, 0), self->first);
    close(self->alive);
}

static void counts_all_processes_and_kills_descendants(void **state)
{
    proc_tree_t found;
    family_t family;

    (void) state;
    make_family(&family, "/");
    proc_tree_read(family.first, false, &found);
    assert_int_equal(found.processes, (BELOW + 1) * threads_of(family.first));
    end_family(&family);
}

int __wrap_statvfs(const char *path, struct statvfs *ret_about);

/* Each folder has much in it. */
int __wrap_statvfs(const char *path, struct statvfs *ret_about)
{
    (void) path;
    *ret_about = (struct statvfs){.f_frsize = 1, .f_blocks = MUCH};
    return 0;
}

/* A session's process before it enters its sandbox, and one that has. */
static void counts_folders_of_a_sandbox_alone(void **state)
{
    proc_tree_t found;
    family_t family;

    (void) state;
    make_family(&family, "/");
    proc_tree_read(family.first, false, &found);
    assert_true(found.memory > 0);
    assert_true(found.memory < MUCH);
    end_family(&family);
    if (geteuid() != 0)
        return; /* only root can give them another root */
    make_family(&family, "/proc");
    proc_tree_read(family.first, false, &found);
    assert_true(found.memory > 2 * MUCH);
    end_family(&family);
}

static void kills_nothing_without_descendants(void **state)
{
    pid_t gone = fork();

    (void) state;
    if (gone == 0)
        _exit(0);
    assert_int_equal(waitpid(gone, NULL, 0), gone);
    proc_tree_kill(gone);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_all_processes_and_kills_descendants),
        cmocka_unit_test(counts_folders_of_a_sandbox_alone),
        cmocka_unit_test(kills_nothing_without_descendants),
    };

    return cmocka_run_group_tests_name("processes", tests, NULL, NULL);
}
