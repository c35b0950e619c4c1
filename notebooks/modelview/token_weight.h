/* How much of a budget of tokens a text takes. Models' tokenizers differ, and
 * none is asked: digits, hexadecimal and base64 have half as many bytes a token
 * as English prose, so bytes alone would let twice the budget through. */
#ifndef HEARTH_NOTEBOOKS_MODELVIEW_TOKEN_WEIGHT_H
#define HEARTH_NOTEBOOKS_MODELVIEW_TOKEN_WEIGHT_H

#include "base/buffer.h"

#include <stddef.h>

/* The weight of a number of tokens: the bytes of English prose with them. */
#define TOKEN_WEIGHT(tokens) ((tokens) *36 / 10)
#define NEWLINE_WEIGHT       4

/* Returns the weight of a text, at least its bytes. It is an estimate: for
 * numbers, logs, tables, code and prose of o200k_base's tokens 0.8 to 1.5
 * times, for prose in other scripts up to three times. Linear in the text. */
size_t token_weight(bytes_t text);

#endif
