/* The standard Jupyter connection file: transport, ip, five ports, key,
 * signature scheme. Mode 0600, written atomically. */
#ifndef HEARTH_PROTOCOL_CONNECTION_FILE_H
#define HEARTH_PROTOCOL_CONNECTION_FILE_H

#include "base/buffer.h"
#include "base/fault.h"
#include "protocol/channel.h"
#include "protocol/secret.h"

#include <stdbool.h>
#include <stddef.h>

#define CONNECTION_ENDPOINT_SIZE 160

typedef struct {
    char transport[8];        /* "tcp" or "ipc" */
    char ip[108];             /* address, or the path prefix of ipc */
    int ports[CHANNEL_COUNT]; /* by channel_t; 0: the kernel chooses */
    char kernel_name[64];
    secret_t *secret; /* owned */
} connection_file_t;

/* Reads and checks: every field's type and range; -EINVAL names the field. */
int connection_file_read(const char *path, connection_file_t *ret_connection,
                         fault_t *fault);
int connection_file_parse(const void *text, size_t size,
                          connection_file_t *ret_connection, fault_t *fault);
int connection_file_write(const connection_file_t *self, const char *path,
                          fault_t *fault);
/* Appends the file's text up to its last member; the caller may append further
 * members (protocol/jspan_write.h), and ends the object. The text has the key:
 * the caller wipes it. */
void connection_file_print(const connection_file_t *self, buffer_t *text);
/* Writes an endpoint: "tcp://127.0.0.1:5000" or "ipc://prefix-1". */
void connection_file_endpoint(const connection_file_t *self, channel_t channel,
                              char ret_endpoint[CONNECTION_ENDPOINT_SIZE]);
/* Returns true if only one of the two can be bound: both have a port at the
 * same address, or at all addresses of the machine. */
bool connection_file_collides(const connection_file_t *self,
                              const connection_file_t *other);
void connection_file_clear(connection_file_t *self);
#define cleanup_connection_file CLEANUP(connection_file_clear)

#endif
