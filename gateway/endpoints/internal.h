/* What the files of the doors share; nobody else includes it.
 *   actor.c    the thread: the table, what sessions tell, time
 *   control.c  what the management socket asks
 *   endpoint.c one door: its files, its sockets, its end
 *   relay.c    what goes through it
 *   catchup.c  what is read from the journal for it
 */
#ifndef HEARTH_GATEWAY_ENDPOINTS_INTERNAL_H
#define HEARTH_GATEWAY_ENDPOINTS_INTERNAL_H

#include "base/buffer.h"
#include "base/clock.h"
#include "gateway/channels/channels.h"
#include "gateway/config/options.h"
#include "gateway/frontends/frontend.h"
#include "notebooks/journal/index.h"
#include "notebooks/journal/log_key.h"
#include "protocol/connection.h"
#include "protocol/czmq_cleanup.h"

#define DOORS_FRONT      "doors"
#define DOORS_FOLDER     "viewers" /* in the runtime folder */
#define DOOR_NAME_SIZE   13        /* 12 hex digits and a NUL */
#define DOOR_IDLED       16
#define DOOR_UNTAKEN_MAX (64u << 20) /* bytes that lie for one viewer */

/* A session that doors lead to, as its words tell. */
typedef struct {
    char id[FRONT_ID_MAX];
    char *journal;         /* owned; its folder, once it has greeted */
    uint64_t seq;          /* the last that it told */
    positions_t positions; /* where in the journal things are */
    bool is_greeted, is_gone;
    bool is_lost; /* it is to be attached again */
} aim_t;

typedef struct keeper {
    zsock_t *pipe;            /* borrowed */
    const options_t *options; /* borrowed */
    uint8_t journal_key[CHAIN_KEY_SIZE];
    char *folder;          /* owned; where the doors' files are */
    front_t *front;        /* owned */
    zloop_t *loop;         /* owned */
    struct scribe *scribe; /* owned */
    zhashx_t *aims;        /* owned; id -> aim_t */
    struct door *doors;    /* owned */
    size_t count;
    int soon_timer; /* zloop id; 0: nothing is to be done soon */
} keeper_t;

typedef struct door {
    struct door *next; /* owned */
    keeper_t *keeper;  /* borrowed */
    aim_t *aim;        /* borrowed */
    char name[DOOR_NAME_SIZE];
    char created[CLOCK_ISO_SIZE];
    bool is_observing;
    connection_t connection; /* the secret is owned */
    ports_t *ports;          /* owned */
    int position_fd;         /* owned; `cursor` and who is subscribed */
    uint64_t cursor;         /* the last of the journal that went through */
    unsigned awaited;        /* subscribers that were there before a restart */
    int64_t restored;        /* monotonic ms; when that one began */
    bool is_open;            /* requests are taken */
    bool is_behind;          /* what follows is in the journal */
    int64_t behind_since, replies_since; /* monotonic ms; 0: it is not */
    journal_reader_t *reader;            /* owned; or NULL */
    uint64_t idled[DOOR_IDLED]; /* requests whose end the journal told */
    size_t idled_at;
    uint64_t counter; /* of messages that are made here */
} door_t;

/* endpoint.c */
int door_new(keeper_t *keeper, aim_t *aim, const char *profile,
             bool is_observing, door_t **ret_door, fault_t *fault);
/* One that a gateway before left; ret_session is whose it is. */
int door_restore(keeper_t *keeper, const char *name, door_t **ret_door,
                 char ret_session[FRONT_ID_MAX], fault_t *fault);
/* In a loop that goes on. Its files stay. */
void door_destroy(door_t **self_p);
/* Its files go: nobody comes in by it again. */
void door_remove(door_t **self_p);
/* The connection file; to be freed. */
char *door_file(const door_t *self);
/* False: somebody took the file away. */
bool door_has_file(const door_t *self);
/* On disk, so that it outlives this gateway. */
void door_note(door_t *self);

/* relay.c */
void door_listen(door_t *self);
/* Requests are taken from now on. */
void door_begin(door_t *self);
void door_on_event(door_t *self, const front_event_t *event);
/* Something of the journal's, or without a number. */
void door_publish(door_t *self, const wire_parts_t *parts);
void door_publish_made(door_t *self, const char *type, bytes_t parent,
                       bytes_t content);
void door_send(door_t *self, channel_t channel, bytes_t viewer,
               const wire_parts_t *parts);
void door_status(door_t *self, const char *state, bytes_t parent);
/* Whether more than may lies there untaken. */
bool door_is_full(const door_t *self);
/* The viewer behind this name came by this door. */
bool door_owns(const door_t *self, bytes_t viewer);
void door_on_tick(door_t *self, int64_t now);

/* catchup.c */
void door_catch_up(door_t *self);

/* control.c */
/* OPEN, LIST or CLOSE; the answer bears the token. */
void door_order(keeper_t *self, const char *word, const char *token,
                zmsg_t *order);

/* actor.c */
/* The session that a door is to lead to; attached. */
aim_t *keeper_find_aim(keeper_t *self, const char *session, fault_t *fault);
/* Left, unless a door leads to it. */
void keeper_forget_aim(keeper_t *self, aim_t *aim);
void keeper_add(keeper_t *self, door_t *door); /* taken */
/* Closes a door for good, and what only it needed. */
void keeper_close(keeper_t *self, door_t **at, const char *who,
                  const char *why);
void keeper_look_soon(keeper_t *self);
/* For the audit log: something that nobody with the viewer's key sent. */
void keeper_note_bad(keeper_t *self, const door_t *door, channel_t channel,
                     const char *verdict, uint64_t count);

#endif
