/* See tcp_info.h. A file of its own: the C library's netinet/tcp.h, which
 * libwebsockets.h includes, knows less of tcp_info than the kernel's header,
 * and they do not go together. */
#include "gateway/http/core/tcp_info.h"

#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

uint64_t received_bytes(int fd)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof info;
    int unread = 0;

    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) < 0
        || ioctl(fd, SIOCINQ, &unread) < 0
        || info.tcpi_bytes_received < (uint64_t) unread)
        return 0;
    return info.tcpi_bytes_received - (uint64_t) unread;
}
