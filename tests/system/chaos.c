/* A machine that misbehaves, by LD_PRELOAD. The wall clock jumps by the seconds
 * in the file $CHAOS_CLOCK. Each write to a file takes $CHAOS_DISK_MS. While
 * the file $CHAOS_STUCK exists, writes to files whose path contains its text
 * fail. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static long long jump(void)
{
    const char *path = getenv("CHAOS_CLOCK");
    char text[32] = "";
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;

    if (fd < 0)
        return 0;
    if (read(fd, text, sizeof text - 1) < 0)
        text[0] = '\0';
    close(fd);
    return strtoll(text, NULL, 10);
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
    static int (*real)(clockid_t, struct timespec *);
    int r;

    if (!real)
        *(void **) &real = dlsym(RTLD_NEXT, "clock_gettime");
    r = real(clock, time);
    if (r == 0 && clock == CLOCK_REALTIME)
        time->tv_sec += jump();
    return r;
}

static int is_stuck(int fd)
{
    const char *path = getenv("CHAOS_STUCK");
    char link[64], target[4096] = "", text[128] = "";
    int wanted = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;

    if (wanted < 0)
        return 0;
    if (read(wanted, text, sizeof text - 1) < 0)
        text[0] = '\0';
    close(wanted);
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (readlink(link, target, sizeof target - 1) < 0)
        return 0;
    return text[0] && strstr(target, text);
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at)
{
    static ssize_t (*real)(int, const struct iovec *, int, off_t);
    const char *delay = getenv("CHAOS_DISK_MS");
    struct stat about;

    if (!real)
        *(void **) &real = dlsym(RTLD_NEXT, "pwritev");
    if (delay && fstat(fd, &about) == 0 && S_ISREG(about.st_mode)) {
        long ms = strtol(delay, NULL, 10);
        struct timespec pause = {ms / 1000, ms % 1000 * 1000000};

        nanosleep(&pause, NULL);
    }
    while (is_stuck(fd)) {
        struct timespec pause = {0, 10 * 1000000};

        nanosleep(&pause, NULL);
    }
    return real(fd, parts, count, at);
}
