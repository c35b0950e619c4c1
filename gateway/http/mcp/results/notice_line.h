/* The line of an output that a notice of progress shows. Pure. */
#ifndef HEARTH_GATEWAY_HTTP_MCP_RESULTS_NOTICE_LINE_H
#define HEARTH_GATEWAY_HTTP_MCP_RESULTS_NOTICE_LINE_H

#include "base/bytes.h"

#define NOTICE_LINE_MAX 200 /* bytes */

/* Returns the last line of a text, without what ends it; its end, in whole
 * letters, if it is longer than NOTICE_LINE_MAX. It is a part of the text. */
bytes_t notice_line(bytes_t text);

#endif
