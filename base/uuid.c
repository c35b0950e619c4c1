/* See uuid.h. */
#include "base/uuid.h"

#include "base/hex.h"

/* Where the version and the variant are, and a digit of any other half byte. */
static const char form[] = "xxxxxxxx-xxxx-Vxxx-Nxxx-xxxxxxxxxxxx";

void uuid_write(const uint8_t bytes[16], unsigned version,
                char ret_text[UUID_SIZE + 1])
{
    size_t digit = 0;

    for (size_t i = 0; i < UUID_SIZE; i++) {
        unsigned value = bytes[digit / 2 % 16] >> (digit % 2 ? 0 : 4) & 15;

        if (form[i] == 'V')
            value = version;
        else if (form[i] == 'N')
            value = 8 | (value & 3);
        ret_text[i] = form[i] == '-' ? '-' : HEX_DIGITS[value & 15];
        digit += form[i] != '-';
    }
    ret_text[UUID_SIZE] = '\0';
}

bool uuid_begins(const char *text)
{
    for (size_t i = 0; i < UUID_SIZE; i++)
        if (!text[i]
            || (form[i] == '-' ? text[i] != '-' : !strchr(HEX_DIGITS, text[i])))
            return false;
    return true;
}
