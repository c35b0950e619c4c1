/* Reads the messages of a worker of downloads (download_process.h). It reads
 * what strangers have written, and may be hostile itself: a datagram is either
 * a word of progress, or its one answer. */
#ifndef HEARTH_GATEWAY_REGISTRY_DOWNLOADS_DOWNLOAD_ANSWER_H
#define HEARTH_GATEWAY_REGISTRY_DOWNLOADS_DOWNLOAD_ANSWER_H

#include "base/bytes.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DOWNLOAD_DATAGRAM_MAX (64u << 10) /* bytes, in either direction */
#define DOWNLOAD_WORD_MAX     200         /* bytes of progress that are kept */
#define DOWNLOAD_HASH_SIZE    64          /* hexadecimal digits of a SHA-256 */
#define DOWNLOAD_LETTERS                                                       \
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

/* One kind of downloads, as its errors and its worker name it. */
typedef struct {
    const char *noun;   /* begins the names of its errors: "Packages" */
    const char *thing;  /* what it brings: "file"; NULL: packages */
    const char *worker; /* "the packages worker" */
    const char *module; /* the worker's: "hearth_downloads.packages.worker" */
    const char *after_limit; /* ends the sentence about a job that took too
                                long */
    bool has_file; /* an answer without a fault comes with a descriptor */
    /* Returns the reply for a worker's `ok`, which the caller owns. NULL, and
     * in *ret_flaw what is not valid, if it is not. */
    json_t *(*read_ok)(const json_t *said, const char **ret_flaw);
} download_kind_t;

/* How far a job has come; all is 0 at its beginning. */
typedef struct {
    char text[DOWNLOAD_WORD_MAX]; /* a sentence without controls */
    uint64_t bytes;               /* that have come */
    int64_t total;                /* bytes of all; at most 0: unknown */
} download_progress_t;

/* Returns the answer as a reply of the management protocol, which the caller
 * owns; an error if the datagram is not valid. Returns NULL after a word of
 * progress, which is then in *progress. */
json_t *download_answer_read(const download_kind_t *kind, bytes_t said,
                             download_progress_t *progress);

/* Returns the kind's error with that name, as "Failed"; the caller owns it. */
json_t *download_answer_error(const download_kind_t *kind, const char *name,
                              const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Returns true for a text of 1 to `max` of these letters, of which the first
 * and the last are letters or digits. */
bool download_answer_is_word(const char *text_or_null, const char *letters,
                             size_t max);
/* Returns true for the 64 hexadecimal digits of a SHA-256, in lower case. */
bool download_answer_is_hash(const json_t *value_or_null);

/* Copies of a sentence what fits, with spaces in the place of controls. */
void download_answer_clean(const char *text, char *ret_text, size_t size);

#endif
