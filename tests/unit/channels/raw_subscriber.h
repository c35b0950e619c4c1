/* A connection to a XPUB socket of libzmq by hand: a socket of libzmq would not
 * send what no subscriber sends. */
#ifndef HEARTH_TESTS_UNIT_CHANNELS_RAW_SUBSCRIBER_H
#define HEARTH_TESTS_UNIT_CHANNELS_RAW_SUBSCRIBER_H

#include "tests/lib/test.h"

#include <sys/socket.h>
#include <unistd.h>

/* Connects to the address and exchanges greetings. Returns the connection,
 * which has subscribed to nothing. */
static inline int raw_subscriber(const void *address, socklen_t size)
{
    static const char greeting[64] = "\xff\0\0\0\0\0\0\0\1\x7f\3\0NULL";
    static const char ready[] = "\4\x19\5READY\13Socket-Type\0\0\0\3SUB";
    char answer[64 + 28]; /* its greeting, and READY of an XPUB */
    const struct sockaddr *to = address;
    int fd = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(connect(fd, to, size), 0);
    assert_int_equal(write(fd, greeting, sizeof greeting), sizeof greeting);
    assert_int_equal(write(fd, ready, sizeof ready - 1), sizeof ready - 1);
    assert_int_equal(recv(fd, answer, sizeof answer, MSG_WAITALL),
                     sizeof answer);
    return fd;
}

#endif
