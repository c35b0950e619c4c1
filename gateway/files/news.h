/* Reports of the files thread to the registry. */
#ifndef HEARTH_GATEWAY_FILES_NEWS_H
#define HEARTH_GATEWAY_FILES_NEWS_H

#include "base/buffer.h"
#include "base/cleanup.h"
#include "protocol/message.h"

#include <jansson.h>

typedef enum {
    FILES_ANSWER, /* request, answer, data */
    FILES_DONE,   /* session, note: something was done with a file of it */
    FILES_PLACED, /* number, answer */
    FILES_PROBED, /* number, answer */
    FILES_FULL,   /* session, text: the workspace holds more than it may */
} files_word_t;

/* One piece of news; it owns all in it. */
typedef struct {
    files_word_t word;
    message_t *request;
    uint64_t number; /* of what was placed or probed */
    json_t *answer;
    buffer_t data; /* of a file, to go with the answer */
    char session[64];
    char text[256];
    char *note; /* JSON text */
} files_news_t;

void files_news_destroy(files_news_t **self_p);
#define cleanup_files_news CLEANUP(files_news_destroy)

/* The limits of a workspace; 0: no limit. */
typedef struct {
    uint64_t bytes;
    uint64_t files;
} files_limits_t;

#endif
