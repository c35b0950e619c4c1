/* See request_state.h. "RUN.QUESTION.UNTIL.MAC": nothing is read of a text
 * before its signature was checked. */
#include "gateway/http/mcp/protocol/request_state.h"

#include <sodium.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAC_SIZE 32
#define MAC_HEX  (2 * MAC_SIZE + 1) /* with its NUL */
#define TEXT_MAX 256

/* Signs the first `size` bytes of the text. Each part ends with a NUL, so that
 * no two owners give the same bytes. */
static void sign(const char *text, size_t size,
                 const request_state_owner_t *owner, char ret_hex[MAC_HEX])
{
    static const char purpose[] = "hearth mcp requestState 1";
    crypto_generichash_state state;
    uint8_t mac[MAC_SIZE];

    crypto_generichash_init(&state, owner->key, REQUEST_STATE_KEY, sizeof mac);
    crypto_generichash_update(&state, (const uint8_t *) purpose,
                              sizeof purpose);
    crypto_generichash_update(&state, (const uint8_t *) text, size);
    crypto_generichash_update(&state, (const uint8_t *) "", 1);
    crypto_generichash_update(&state, (const uint8_t *) owner->principal,
                              strlen(owner->principal) + 1);
    crypto_generichash_update(&state, owner->call.bytes, owner->call.size);
    crypto_generichash_final(&state, mac, sizeof mac);
    sodium_bin2hex(ret_hex, MAC_HEX, mac, sizeof mac);
}

void request_state_write(const request_state_t *self,
                         const request_state_owner_t *owner, buffer_t *out)
{
    char text[TEXT_MAX], mac[MAC_HEX];
    int size = snprintf(text, sizeof text, "%s.%" PRIu64 ".%" PRId64, self->run,
                        self->question, self->until_s);

    sign(text, (size_t) size, owner, mac);
    buffer_format(out, "%s.%s", text, mac);
}

/* Reads what was signed: it has the form that is written here. */
static void read_signed(const char *text, request_state_t *ret_state)
{
    const char *number = text + TASK_ID_SIZE;
    char *end;

    snprintf(ret_state->run, sizeof ret_state->run, "%s", text);
    ret_state->question = strtoull(number, &end, 10);
    ret_state->until_s = strtoll(end + 1, NULL, 10);
}

bool request_state_read(const char *text, const request_state_owner_t *owner,
                        int64_t now_s, request_state_t *ret_state)
{
    const char *mac = text ? strrchr(text, '.') : NULL;
    request_state_t state;
    char expected[MAC_HEX];

    if (!mac || mac - text <= TASK_ID_SIZE || mac - text >= TEXT_MAX
        || strlen(mac + 1) != MAC_HEX - 1)
        return false;
    sign(text, (size_t) (mac - text), owner, expected);
    if (sodium_memcmp(mac + 1, expected, MAC_HEX - 1) != 0)
        return false;
    read_signed(text, &state);
    if (now_s > state.until_s)
        return false;
    *ret_state = state;
    return true;
}
