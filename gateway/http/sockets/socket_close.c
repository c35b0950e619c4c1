/* See socket_close.h. */
#include "gateway/http/sockets/socket_close.h"

#include "base/buffer.h"

#include <jansson.h>

#include <string.h>

#define STATUS_MIN 1000 /* codes that a client may send */
#define STATUS_MAX 4999

int socket_close_send(struct lws *wsi, int status, const char *reason)
{
    cleanup_free char *text = mem_text(reason);

    lws_close_reason(wsi, (enum lws_close_status) status,
                     (unsigned char *) text, strlen(text));
    return -1;
}

/* Answers a client's close. libwebsockets has replaced codes below 3000 that a
 * client may not send by 1002. */
int socket_close_receive(struct lws *wsi, const uint8_t *bytes, size_t size)
{
    unsigned status;

    if (!size)
        return 0;
    if (size == 1)
        return socket_close_send(
            wsi, LWS_CLOSE_STATUS_PROTOCOL_ERR,
            "a close frame cannot have a body of one byte");
    status = (unsigned) bytes[0] << 8 | bytes[1];
    if (status < STATUS_MIN || status > STATUS_MAX)
        return socket_close_send(wsi, LWS_CLOSE_STATUS_PROTOCOL_ERR,
                                 "there is no such code in a close frame");
    json_auto_t *reason = json_stringn((const char *) bytes + 2, size - 2);
    if (!reason) /* not UTF-8 */
        return socket_close_send(wsi, LWS_CLOSE_STATUS_INVALID_PAYLOAD,
                                 "the reason in a close frame is not UTF-8");
    return 0;
}
