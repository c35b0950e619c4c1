/* Reports to the service manager how far this process is, by the protocol of
 * sd_notify(3): one datagram to the socket that NOTIFY_SOCKET names. */
#ifndef HEARTH_BASE_SERVICE_NOTIFY_H
#define HEARTH_BASE_SERVICE_NOTIFY_H

#include "base/cleanup.h"

typedef struct service_notify service_notify_t;

/* Returns NULL if no service manager wants reports. Removes the variable, so
 * that no child reports for this process. */
service_notify_t *service_notify_new(void);
void service_notify_destroy(service_notify_t **self_p);
#define cleanup_service_notify CLEANUP(service_notify_destroy)

/* Send a report. `self` may be NULL: then they do nothing. `status` is a line
 * for people. */
void service_notify_ready(const service_notify_t *self, const char *status);
void service_notify_reloading(const service_notify_t *self);
void service_notify_stopping(const service_notify_t *self);

#endif
