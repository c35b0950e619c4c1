/* A gate with one port, whose clients the test plays, and a Unix socket in
 * libzmq's place. Time passes when the test says so. */
#ifndef HEARTH_TESTS_UNIT_CHANNELS_GATE_RIG_H
#define HEARTH_TESTS_UNIT_CHANNELS_GATE_RIG_H

#include "gateway/gate/gate.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WAIT_MS  60000 /* until something that comes has come */
#define QUIET_MS 300   /* ... until it would have */
#define GREETING (ZMTP_GREETING + 8)

typedef struct {
    memory_budget_t *memory;
    gate_t *gate;
    gate_port_t *port;
    int number; /* of the TCP port */
    char *path; /* owned; of the Unix socket that it leads to */
    int inner;  /* that socket listens */
} gate_rig_t;

extern gate_rig_t rig;
extern _Atomic int64_t ahead_ms; /* time that the test lets pass */
/* A test that has locked it holds up the gate's thread. */
extern pthread_mutex_t gate_may_go;
extern atomic_uint gate_turns; /* of the gate's thread */

int gate_rig_set_up(void **state);
/* Begins with a port of IOPub. */
int gate_rig_set_up_subscriptions(void **state);
int gate_rig_tear_down(void **state);
#define RIGGED(test)                                                           \
    cmocka_unit_test_setup_teardown(test, gate_rig_set_up, gate_rig_tear_down)

/* Returns -1 if the port does not listen. */
int dial_port(int number);
/* Connects to the rig's port. */
int dial(void);
bool is_ready(int fd, int wait_ms);
bool is_writable(int fd, int wait_ms);
/* Accepts a connection, as libzmq does. */
int answer(void);
void say(int fd, const void *bytes, size_t size);
/* Reads that much. */
void hear(int fd, size_t size);
/* Reads to the end, which comes. */
void assert_ended(int fd);
/* Says a greeting of GREETING bytes. */
void greet(int fd);
/* Says a frame with only a part of its body. */
void begin_frame(int fd, unsigned flags, size_t size, size_t part);

#endif
