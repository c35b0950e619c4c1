/* One key of the configuration: how its value is written, what is permitted,
 * and where in a struct it goes. */
#ifndef HEARTH_GATEWAY_CONFIG_OPTION_VALUE_H
#define HEARTH_GATEWAY_CONFIG_OPTION_VALUE_H

#include "base/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KIB  ((uint64_t) 1 << 10)
#define MIB  ((uint64_t) 1 << 20)
#define GIB  ((uint64_t) 1 << 30)
#define TIB  ((uint64_t) 1 << 40)
#define HOUR ((uint64_t) 3600 * 1000)
#define DAY  (24 * HOUR)
#define NAME_LETTERS                                                           \
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"

/* How a value is written, and the type of the member it goes to. */
typedef enum {
    KIND_FOLDER,   /* char *: an absolute path */
    KIND_PROGRAM,  /* char *: an absolute path */
    KIND_TEXT,     /* char *: not empty */
    KIND_BASE,     /* char *: a URL's path that begins and ends with / */
    KIND_ADDRESS,  /* char *: IPv4 or IPv6 */
    KIND_MODULES,  /* char **: names with commas between */
    KIND_MOUNTS,   /* char **: SOURCE:TARGET with commas between */
    KIND_FOLDERS,  /* char **: absolute paths with commas between */
    KIND_NAMES,    /* char **: words with commas between */
    KIND_ENV,      /* char **: names of variables with commas between */
    KIND_ORIGINS,  /* char **: SCHEME://HOST[:PORT] or *, with commas between */
    KIND_DURATION, /* int64_t: milliseconds */
    KIND_SIZE,     /* uint64_t: bytes */
    KIND_NUMBER,   /* uint64_t */
    KIND_CHOICE,   /* int: the place among the words */
} kind_t;

typedef struct {
    const char *key;     /* "gateway/ip", "profile/<name>/python" */
    kind_t kind;         /* of the value */
    size_t offset;       /* in options_t or profile_t */
    uint64_t min;        /* numbers, sizes, durations: the lowest ... */
    uint64_t max;        /* ... and highest; 0 is always permitted where ... */
    bool has_zero;       /* ... it has a meaning of its own */
    const char *words;   /* KIND_CHOICE: "tcp|ipc" */
    const char *initial; /* as it would be written */
    const char *help;    /* one sentence */
} setting_t;

/* The value to its member of the struct at `base`; -EINVAL says what would be
 * right, and nothing was changed. `key` is for that sentence. */
int setting_set(const setting_t *self, void *base, const char *key,
                const char *value, fault_t *fault);
/* The default to its member. */
void setting_reset(const setting_t *self, void *base);
/* What is permitted, in words; at most `size` bytes. */
void setting_range(const setting_t *self, char *ret_text, size_t size);

#endif
