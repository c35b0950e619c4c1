/* A session without threads, sockets and processes, at a time that the test
 * sets. Its parts and its journal are real; its clients, frontends, registry,
 * audit log and kernel are records of what the session did (deeds.h), and so
 * are the states in its journal: deeds_content("journal tool_call"). A test
 * that links this wraps their functions (tests/Makemodule.am). */
#ifndef HEARTH_TESTS_LIB_SESSION_FAKES_H
#define HEARTH_TESTS_LIB_SESSION_FAKES_H

#include "gateway/session/core/session.h"
#include "gateway/session/lifecycle/messages.h"
#include "tests/lib/deeds.h"
#include "tests/lib/fake_clients.h"
#include "tests/lib/fake_kernel.h"

/* What is outside of the session. */
typedef struct {
    int64_t now_ms;        /* monotonic; the wall clock is at the same */
    size_t delay_ms;       /* of the timer that was started last */
    bool has_frontend;     /* a frontend looks at the session */
    bool is_journal_lost;  /* the journal cannot be written */
    bool is_reply_lost;    /* it has no room for a reply */
    size_t records_max;    /* how many at once; 0: all */
    int sandbox;           /* what a look at the sandbox says: 0 or -EXXX */
    uint64_t sent;         /* the request of the last frame to the kernel */
    bool is_holding;       /* replies wait for clients that are away */
    bool is_frontend_gone; /* the frontend has left */
    bool is_frontend_slow; /* it was slow, and is not any more */
    bool has_another;      /* another one is there when it was dropped */
    session_command_t *command; /* that the registry sends next; or NULL */
    unsigned subscribers;       /* of iopub */
    size_t backlog;             /* bytes that subscribers have not taken */
    size_t replies;             /* bytes that clients have not taken */
    bool is_connectable;        /* pid 1 and the link accept connections */
    bool is_adoptable;          /* the process of another gateway is there */
    bool is_closed;             /* the kernel has closed its link */
    bool is_mute;               /* nothing can be sent to the kernel */
    bool is_read;               /* the loop watches the link for input */
    unsigned reads;             /* of the link */
    bool is_piecewise;          /* each brings one frame, and more wait */
    kernel_end_t end;           /* what pid 1 says of the kernel's end */
    size_t link;                /* bytes of messages on the link */
    size_t unfinished; /* bytes of the kernel's message that has begun */
    size_t growth;     /* bytes that a read of the kernel may bring */
} fake_outside_t;

extern fake_outside_t fake_outside;
extern profile_t fake_session_profile;

/* Makes a session that has no kernel yet; a setup of cmocka's. *state is its
 * session_t. */
int fake_session_begin(void **state);
int fake_session_end(void **state);
/* Gives the session a kernel that is ready and idle. */
void fake_session_ready(session_t *self);
/* Makes a session with such a kernel; a setup of cmocka's. */
int fake_session_begin_ready(void **state);
/* Forgets the session's parts, as a gateway that is killed would. Returns its
 * settings as the next gateway finds them; the caller owns them. The folder
 * and the journal stay. */
session_spec_t *fake_session_leave(session_t *self);
/* Does the same, and makes the parts anew. The kernel of the last one is kept.
 */
void fake_session_adopt(session_t *self);
/* Notes a state in the session's journal. */
void fake_session_note(session_t *self, const char *type, uint64_t seq,
                       const char *content);

/* Returns the number of the session's running request. */
uint64_t fake_running(const session_t *self);

#endif
