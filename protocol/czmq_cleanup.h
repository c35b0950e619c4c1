/* czmq's destructors as cleanup attributes (STYLE: they fit as they are). */
#ifndef HEARTH_PROTOCOL_CZMQ_CLEANUP_H
#define HEARTH_PROTOCOL_CZMQ_CLEANUP_H

#include "base/cleanup.h"

#include <czmq.h>

#define cleanup_zmsg  CLEANUP(zmsg_destroy)
#define cleanup_zsock CLEANUP(zsock_destroy)

#endif
