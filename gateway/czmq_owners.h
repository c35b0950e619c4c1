/* czmq's destructors as cleanup attributes (STYLE: they fit as they are). */
#ifndef HEARTH_GATEWAY_CZMQ_OWNERS_H
#define HEARTH_GATEWAY_CZMQ_OWNERS_H

#include "base/cleanup.h"

#include <czmq.h>

#define cleanup_zmsg  CLEANUP(zmsg_destroy)
#define cleanup_zsock CLEANUP(zsock_destroy)

#endif
