/* See character.h. Unicode's general categories Cc, Cf, Co, Zl and Zp, and the
 * codes that it keeps for more of them. Plain functions; any thread. */
#include "base/character.h"

#include <stddef.h>

typedef struct {
    uint32_t first, last;
    character_kind_t kind;
} range_t;

/* In the order of codes. */
static const range_t ranges[] = {
    {0x0000, 0x001F, CHARACTER_CONTROL},
    {0x007F, 0x009F, CHARACTER_CONTROL},
    {0x00AD, 0x00AD, CHARACTER_INVISIBLE}, /* soft hyphen */
    {0x0600, 0x0605, CHARACTER_FORMAT},    /* Arabic numbers' signs */
    {0x061C, 0x061C, CHARACTER_INVISIBLE}, /* Arabic letter mark: direction */
    {0x06DD, 0x06DD, CHARACTER_FORMAT},
    {0x070F, 0x070F, CHARACTER_FORMAT},
    {0x0890, 0x0891, CHARACTER_FORMAT},
    {0x08E2, 0x08E2, CHARACTER_FORMAT},
    {0x180E, 0x180E, CHARACTER_INVISIBLE}, /* Mongolian vowel separator */
    {0x200B, 0x200B, CHARACTER_INVISIBLE}, /* zero width space */
    {0x200C, 0x200D, CHARACTER_JOINER},
    {0x200E, 0x200F, CHARACTER_INVISIBLE}, /* marks of direction */
    {0x2028, 0x2029, CHARACTER_SEPARATOR},
    {0x202A, 0x202E, CHARACTER_BIDI},
    {0x2060, 0x2065, CHARACTER_INVISIBLE}, /* operators */
    {0x2066, 0x2069, CHARACTER_BIDI},
    {0x206A, 0x206F, CHARACTER_INVISIBLE},
    {0xE000, 0xF8FF, CHARACTER_PRIVATE},
    {0xFEFF, 0xFEFF, CHARACTER_INVISIBLE}, /* byte order mark */
    {0xFFF9, 0xFFFB, CHARACTER_INVISIBLE}, /* interlinear annotations */
    {0x110BD, 0x110BD, CHARACTER_FORMAT},
    {0x110CD, 0x110CD, CHARACTER_FORMAT},
    {0x13430, 0x1343F, CHARACTER_FORMAT},    /* hieroglyphs' joiners */
    {0x1BCA0, 0x1BCA3, CHARACTER_FORMAT},    /* shorthand */
    {0x1D173, 0x1D17A, CHARACTER_INVISIBLE}, /* musical notation */
    {0xE0000, 0xE0FFF, CHARACTER_INVISIBLE}, /* tags */
    {0xF0000, 0xFFFFD, CHARACTER_PRIVATE},
    {0x100000, 0x10FFFD, CHARACTER_PRIVATE},
};

bool character_is(uint32_t code, unsigned kinds)
{
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (code <= ranges[i].last)
            return code >= ranges[i].first && (ranges[i].kind & kinds);
    return false;
}
