/* Brings the messages of one session to one peer, each once and in order: live
 * ones as the session sends them, and from the journal those that the peer
 * could not take in time. It decides between the two and reads the journal;
 * the caller frames and sends. Belongs to one thread. */
#ifndef HEARTH_NOTEBOOKS_JOURNAL_FOLLOWER_H
#define HEARTH_NOTEBOOKS_JOURNAL_FOLLOWER_H

#include "notebooks/journal/index.h"
#include "notebooks/journal/origin.h"

typedef struct journal_follower journal_follower_t;

/* Returns a follower at position 0 whose peer gets live messages. */
journal_follower_t *journal_follower_new(void);
void journal_follower_destroy(journal_follower_t **self_p);
#define cleanup_journal_follower CLEANUP(journal_follower_destroy)

/* The journal that is read; all borrowed for the call. */
typedef struct {
    const char *folder;
    const uint8_t *key;     /* LOG_KEY_SIZE bytes */
    journal_index_t *index; /* NULL, for next: read from the beginning */
    const char *frontend;   /* the front end whose peers are named */
} journal_source_t;

/* --- Position --- */

/* Returns the number of the last record that the peer was given. */
uint64_t journal_follower_position(const journal_follower_t *self);
/* Sets it: the peer has all up to `seq`, and live messages follow. */
void journal_follower_begin(journal_follower_t *self, uint64_t seq);
/* Sets it: what follows `seq` is read from the journal first. With
 * `repeats_reply` also the record `seq` itself, if that is a reply: it may have
 * been lost on its way. */
void journal_follower_resume(journal_follower_t *self, uint64_t seq,
                             bool repeats_reply);
/* Reads what follows from the journal: live messages were left out. */
void journal_follower_fall_behind(journal_follower_t *self);
/* Returns true if messages wait in the journal. */
bool journal_follower_is_behind(const journal_follower_t *self);

/* --- Live messages --- */

typedef struct {
    uint64_t seq;      /* its number in the journal; 0: it has none */
    uint64_t request;  /* the number of the request that caused it; 0: none */
    bool is_broadcast; /* all peers get it; without a seq it is a status */
    bool is_peer_full; /* the peer takes nothing more now */
} journal_live_t;

typedef enum {
    JOURNAL_LIVE_SEND,    /* send it now */
    JOURNAL_LIVE_DISCARD, /* the peer has it already */
    JOURNAL_LIVE_WAIT,    /* it comes from the journal: call the step */
} journal_live_verdict_t;

/* Decides what becomes of a live message. From the next message that the
 * journal has, a full peer reads the journal; the statuses before it are
 * sent. */
journal_live_verdict_t journal_follower_take(journal_follower_t *self,
                                             const journal_live_t *live);

/* --- Reading --- */

/* Opens the journal, so that a reader that cannot be had is known early. */
int journal_follower_open(journal_follower_t *self,
                          const journal_source_t *source, fault_t *fault);
/* Reads the next record and moves the position to it. 1: a record, lent until
 * the next call; 0: the end for now; -EBADMSG and others: it cannot be read. */
int journal_follower_next(journal_follower_t *self,
                          const journal_source_t *source,
                          journal_record_t *ret_record, fault_t *fault);

/* The caller's half: how messages reach its peer. */
typedef struct {
    /* Returns true if the peer takes nothing more now. */
    bool (*is_full)(void *arg);
    /* Returns true if the client of this name is the peer's. */
    bool (*owns)(void *arg, const char *client);
    /* Sends a status that requests and replies imply. */
    void (*send_status)(void *arg, const char *state, bytes_t parent);
    /* Notes that a request begins. May be NULL. */
    void (*begin_request)(void *arg, const journal_record_t *record,
                          const origin_t *origin);
    /* Sends an event to all. */
    void (*publish)(void *arg, const journal_record_t *record, bytes_t parent);
    /* Sends a question or a reply to the peer's own client, named by `origin`.
     * A reply without a type has no message. */
    void (*answer)(void *arg, channel_t channel, const journal_record_t *record,
                   const origin_t *origin);
    /* Sends an event to all that the journal has only in part. */
    void (*publish_made)(void *arg, uint64_t seq, const char *type,
                         bytes_t parent, bytes_t content);
} journal_follower_ops_t;

/* Sends the next records until the peer is full or many were sent. 1: more
 * records wait; 0: the peer has reached the end and gets live messages; -EXXX:
 * the journal cannot be read, and live messages follow. */
int journal_follower_step(journal_follower_t *self,
                          const journal_source_t *source,
                          const journal_follower_ops_t *ops, void *arg,
                          fault_t *fault);

#endif
