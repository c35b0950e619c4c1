/* One key of the configuration: the form of its value, the permitted values,
 * and the member of a struct that it sets. */
#ifndef HEARTH_GATEWAY_CONFIG_OPTION_VALUE_H
#define HEARTH_GATEWAY_CONFIG_OPTION_VALUE_H

#include "base/fault.h"
#include "base/units.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOUR ((uint64_t) 3600 * 1000)
#define DAY  (24 * HOUR)

/* How a value is written, and the type of the member it goes to. */
typedef enum {
    VALUE_PATH,     /* char *: an absolute path */
    VALUE_PROGRAM,  /* char *: an absolute path */
    VALUE_TEXT,     /* char *: not empty */
    VALUE_BASE,     /* char *: a URL's path that begins and ends with / */
    VALUE_ADDRESS,  /* char *: IPv4 or IPv6 */
    VALUE_MODULES,  /* char **: names with commas between */
    VALUE_MOUNTS,   /* char **: SOURCE:TARGET with commas between */
    VALUE_FOLDERS,  /* char **: absolute paths with commas between */
    VALUE_NAMES,    /* char **: words with commas between */
    VALUE_TOOLS,    /* char **: names of host tools, or x*, commas between */
    VALUE_URL,      /* char *: of an index; empty: NULL */
    VALUE_HOSTS,    /* char **: names of hosts with commas between */
    VALUE_PACKAGES, /* char **: names of packages, or x*, commas between */
    VALUE_REQUIREMENTS, /* char **: NAME[EXTRA]>=1,<2, commas between */
    VALUE_PLACES,       /* char **: HOST, *.HOST or *[:PORT], commas between */
    VALUE_NETWORKS,     /* char **: networks as CIDR, commas between */
    VALUE_ENV,          /* char **: names of variables with commas between */
    VALUE_ORIGINS, /* char **: SCHEME://HOST[:PORT] or *, with commas between */
    VALUE_DURATION, /* int64_t: milliseconds */
    VALUE_SIZE,     /* uint64_t: bytes */
    VALUE_NUMBER,   /* uint64_t */
    VALUE_CHOICE,   /* int: the place among the words */
    VALUE_SWITCH,   /* int: 0 or 1, written no or yes */
} value_kind_t;

typedef struct {
    const char *key;     /* "gateway/ip", "profile/<name>/python" */
    value_kind_t kind;   /* type of the value */
    size_t offset;       /* in options_t or profile_t */
    uint64_t min;        /* of numbers, sizes, durations: the lowest ... */
    uint64_t max;        /* ... and highest; 0 is always permitted where ... */
    bool has_zero;       /* ... it has a special meaning */
    const char *words;   /* VALUE_CHOICE: "tcp|ipc" */
    const char *initial; /* default, as text */
    const char *help;    /* one sentence */
    bool is_reread;      /* `hearth gateway reload` applies it */
} option_value_t;

/* Sets the member of the struct at `base`. -EINVAL says which values are
 * permitted; then nothing was changed. `key` is for that sentence. */
int option_value_set(const option_value_t *self, void *base, const char *key,
                     const char *value, fault_t *fault);
/* Sets the member to that of the struct at `from`, which has the same row. */
void option_value_copy(const option_value_t *self, void *base,
                       const void *from);
/* Sets the member to the default. */
void option_value_reset(const option_value_t *self, void *base);
/* Returns the member as text, to be freed; "" if it is empty. */
char *option_value_write(const option_value_t *self, const void *base);
/* Describes what is permitted, in at most `size` bytes. */
void option_value_range(const option_value_t *self, char *ret_text,
                        size_t size);

#endif
