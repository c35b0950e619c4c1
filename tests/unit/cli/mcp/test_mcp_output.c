/* What the pipe says, to a client that reads late. */
#include "gateway/cli/mcp/mcp_output.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#define SIZE (1u << 20) /* more than a pipe holds */

/* Reads all that comes, to the end. */
static void *read_all(void *arg)
{
    int fd = *(const int *) arg;
    char *bytes = mem_new(SIZE + 2);
    size_t size = 0;
    ssize_t got;

    while ((got = read(fd, bytes + size, SIZE + 2 - size)) > 0)
        size += (size_t) got;
    return bytes;
}

static void a_message_is_whole_whenever_it_is_read(void **state)
{
    cleanup_buffer buffer_t message = BUFFER_EMPTY;
    cleanup_fd int kept = dup(STDOUT_FILENO), from = -1, to = -1;
    cleanup_free char *read_bytes = NULL;
    pthread_t reader;
    void *result;
    int ends[2];

    (void) state;
    assert_int_equal(pipe(ends), 0);
    from = ends[0];
    to = ends[1];
    assert_int_equal(fcntl(to, F_SETFL, O_NONBLOCK), 0);
    memset(buffer_reserve(&message, SIZE), 'x', SIZE);
    message.size = SIZE;
    fflush(stdout);
    dup2(to, STDOUT_FILENO);
    assert_int_equal(pthread_create(&reader, NULL, read_all, &from), 0);
    mcp_output_message(message.data, message.size);
    dup2(kept, STDOUT_FILENO);
    close(to);
    to = -1;
    assert_int_equal(pthread_join(reader, &result), 0);
    read_bytes = result;
    assert_memory_equal(read_bytes, message.data, SIZE);
    assert_int_equal(read_bytes[SIZE], '\n');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_is_whole_whenever_it_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
