/* What one sandbox can use up. */
#include "tests/sandbox/inside.h"

#include <sys/mman.h>
#include <sys/resource.h>

#define MIB (1024ULL * 1024)

static void open_many(int out, void *argument)
{
    int count = 0;

    (void) argument;
    while (dup(0) >= 0)
        count++;
    dprintf(out, "%d %s\n", count, errno == EMFILE ? "" : strerror(errno));
}

static void bounds_open_files(void **state)
{
    (void) state;
    /* 0 to 2 and the link are open already; the link may have any number. */
    inside_expect(open_many, NULL, &(sandbox_limits_t){.open_files = 64},
                  "60 \n");
}

static void fork_many(int out, void *argument)
{
    int count = 0;
    pid_t child;

    (void) argument;
    while (count < 1000 && (child = fork()) > 0)
        count++;
    if (count < 1000 && child == 0) {
        pause();
        _exit(0);
    }
    /* The probe is one of the limit, and pid 1 where it has the same user. */
    dprintf(out, "%d %s\n", count, strerror(errno));
}

static void bounds_processes(void **state)
{
    (void) state;
    inside_expect(fork_many, NULL, &(sandbox_limits_t){.processes = 20},
                  inside_is_root() ? "19 Resource temporarily unavailable\n"
                                   : "18 Resource temporarily unavailable\n");
}

static void grow_file(int out, void *argument)
{
    int fd = open(argument, O_WRONLY | O_CREAT, 0644);
    static char block[65536];
    size_t total = 0;
    ssize_t written;

    memset(block, 'x', sizeof block);
    signal(SIGXFSZ, SIG_IGN);
    while (total < 64 * MIB && (written = write(fd, block, sizeof block)) > 0)
        total += (size_t) written;
    dprintf(out, "%llu MiB %s\n", total / MIB, strerror(errno));
}

static void bounds_files(void **state)
{
    char path[] = "/workspace/big";

    (void) state;
    inside_expect(grow_file, path, &(sandbox_limits_t){.file_size = 4 * MIB},
                  "4 MiB File too large\n");
}

static void bounds_tmp_and_shared_memory(void **state)
{
    sandbox_limits_t limits = {.tmp = 4 * MIB, .shm = 3 * MIB};
    char tmp[] = "/tmp/big";
    char shm[] = "/dev/shm/big";

    (void) state;
    inside_expect(grow_file, tmp, &limits, "4 MiB No space left on device\n");
    inside_expect(grow_file, shm, &limits, "3 MiB No space left on device\n");
}

static void map_much(int out, void *argument)
{
    void *memory = mmap(NULL, 512 * MIB, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void) argument;
    dprintf(out, "%s\n", memory == MAP_FAILED ? strerror(errno) : "mapped");
}

static void bounds_address_space(void **state)
{
    (void) state;
    inside_expect(map_much, NULL,
                  &(sandbox_limits_t){.address_space = 256 * MIB},
                  "Cannot allocate memory\n");
    inside_expect(map_much, NULL, NULL, "mapped\n");
}

static void raise_limits(int out, void *argument)
{
    (void) argument;
    for (int resource = 0; resource < (int) RLIM_NLIMITS; resource++) {
        struct rlimit limit;

        if (getrlimit((__rlimit_resource_t) resource, &limit) < 0
            || limit.rlim_max == RLIM_INFINITY)
            continue;
        limit.rlim_max++;
        if (setrlimit((__rlimit_resource_t) resource, &limit) == 0)
            dprintf(out, "limit %d can be raised\n", resource);
    }
    dprintf(out, "done\n");
}

static void cannot_be_raised(void **state)
{
    (void) state;
    inside_expect(raise_limits, NULL, NULL, "done\n");
}

static void open_terminals(int out, void *argument)
{
    int count = 0;

    (void) argument;
    while (count < 200 && open("/dev/ptmx", O_RDWR | O_NOCTTY) >= 0)
        count++;
    dprintf(out, "%d\n", count);
}

static void bounds_terminals(void **state)
{
    (void) state;
    inside_expect(open_terminals, NULL, NULL, "64\n");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_open_files),
        cmocka_unit_test(bounds_processes),
        cmocka_unit_test(bounds_files),
        cmocka_unit_test(bounds_tmp_and_shared_memory),
        cmocka_unit_test(bounds_address_space),
        cmocka_unit_test(cannot_be_raised),
        cmocka_unit_test(bounds_terminals),
    };

    return inside_run("limits", tests, sizeof tests / sizeof tests[0]);
}
