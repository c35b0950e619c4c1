/* The model that a client sends with a file (Jupyter's contents), as it comes:
 * what stands beside its content is kept in memory, the content in a file
 * without a name when it is big. Memory does not grow with the content, nor
 * does the time that is spent on it at once: it is looked at as it passes. */
#ifndef HEARTH_GATEWAY_HTTP_CORE_BODY_FILE_H
#define HEARTH_GATEWAY_HTTP_CORE_BODY_FILE_H

#include "gateway/http/contents/model_decoder.h"

#include <stddef.h>
#include <stdint.h>

#define DEPOSIT_MEMORY   (256u << 10) /* bytes of a content without a file */
#define DEPOSIT_MODEL    (64u << 10)  /* bytes beside the content */
#define DEPOSIT_PATIENCE 10 /* seconds; some may have been saved by then */

typedef struct deposit deposit_t;

/* All of a gateway's: where their files are, and what they take together. */
typedef struct {
    const char *folder; /* borrowed */
    uint64_t taken;     /* bytes that there are, or are due */
    uint64_t max;       /* that there may be */
} deposits_t;

/* For a body of so many bytes, 0: nobody knows. NULL: there is no room for it
 * at this time. */
deposit_t *deposit_new(deposits_t *all, uint64_t size);
void deposit_destroy(deposit_t **self_p);

/* The next piece of the body. What is wrong is told at the end. */
void deposit_feed(deposit_t *self, const void *bytes, size_t size);
/* The body was all there. The model is JSON; its content, if that is a text,
 * an array or an object, is an empty one. Lent. -EBADMSG: it was no JSON
 * object; -E2BIG: what stands beside the content is too long; -EBUSY: there is
 * no room at this time; others: the disk's. */
int deposit_end(deposit_t *self, json_span_t *ret_model, fault_t *fault);
/* Its content, when that was a text, an array or an object. Lent: what is
 * taken of it is `content_reset` by whoever reads it. */
void deposit_lend(const deposit_t *self, content_t *ret_content);

#endif
