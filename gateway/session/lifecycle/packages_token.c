/* See packages_token.h. */
#include "gateway/session/lifecycle/packages_token.h"

#include "base/hex.h"

#include <sodium.h>

#include <string.h>

void packages_token_make(char ret_token[PACKAGES_TOKEN_SIZE])
{
    unsigned char bytes[(PACKAGES_TOKEN_SIZE - 1) / 2];

    randombytes_buf(bytes, sizeof bytes);
    sodium_bin2hex(ret_token, PACKAGES_TOKEN_SIZE, bytes, sizeof bytes);
}

bool packages_token_is_valid(const char *text)
{
    return hex_is(text, PACKAGES_TOKEN_SIZE - 1);
}
