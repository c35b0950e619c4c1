/* One of Jupyter's terminals: a program in a PTY of a session
 * (docs/design/PROTOCOL.process.md), which this side follows as long as it
 * runs, with or without clients. All clients see the same. */
#ifndef HEARTH_GATEWAY_HTTP_TERMINALS_WEB_TERMINAL_H
#define HEARTH_GATEWAY_HTTP_TERMINALS_WEB_TERMINAL_H

#include "gateway/http/core/http.h"

#define WEB_TERMINAL_NAME_MAX 64 /* bytes */

/* A client: a member of its owner, which the ops get. */
typedef struct terminal_viewer terminal_viewer_t;

typedef struct {
    /* Output: UTF-8 without a torn character, as the program wrote it. */
    void (*output)(terminal_viewer_t *self, bytes_t text);
    /* Returns true if no more output should come for now. */
    bool (*is_full)(const terminal_viewer_t *self);
    /* This side follows the terminal no more. With a status the program still
     * runs, and the client may come back; 0: it has ended. */
    void (*end)(terminal_viewer_t *self, int status);
    /* Called each second; monotonic ms. */
    void (*tick)(terminal_viewer_t *self, int64_t now);
} terminal_viewer_ops_t;

struct terminal_viewer {
    const terminal_viewer_ops_t *ops;
    terminal_viewer_t *next; /* borrowed; of the same terminal */
    unsigned rows, columns;  /* of its screen; 0: not known */
};

/* The process of a terminal; lent. */
typedef struct {
    const char *name;
    const char *session; /* whole id */
    json_int_t process;
    const char *who; /* the client that made it */
} web_terminal_place_t;

web_terminal_t *web_terminal_new(http_t *http,
                                 const web_terminal_place_t *place);
void web_terminal_destroy(web_terminal_t **self_p);
web_terminal_place_t web_terminal_place(const web_terminal_t *self);
/* Returns the model that clients get, which the caller owns. */
json_t *web_terminal_describe(const web_terminal_t *self);
/* Returns true if its program has ended. */
bool web_terminal_is_over(const web_terminal_t *self);
/* Notes that the program has ended, and reports it to the viewers. */
void web_terminal_end(web_terminal_t *self);
/* Follows the program if it does not yet; called each second too. */
void web_terminal_follow(web_terminal_t *self);
void web_terminal_on_tick(web_terminal_t *self, int64_t now);

/* Adds a viewer, which gets the recent output. */
void web_terminal_add(web_terminal_t *self, terminal_viewer_t *viewer);
void web_terminal_remove(web_terminal_t *self, terminal_viewer_t *viewer);
/* Takes a viewer's new size: the terminal has the smallest of all. */
void web_terminal_resize(web_terminal_t *self);
/* Notes that a viewer has room again. */
void web_terminal_relax(web_terminal_t *self);
/* Passes input on. Returns false, and takes none, if too much waits already. */
bool web_terminal_input(web_terminal_t *self, bytes_t text);
/* Sends the signal to what runs in its foreground. */
void web_terminal_signal(web_terminal_t *self, const char *name);

#endif
