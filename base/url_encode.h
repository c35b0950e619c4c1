/* Texts in URLs, and in header lines like them. */
#ifndef HEARTH_BASE_URL_ENCODE_H
#define HEARTH_BASE_URL_ENCODE_H

/* Returns the text with %XX for each byte but letters, digits, "-._~" (RFC
 * 3986, 2.3) and those of `kept`. The caller owns it. */
char *url_encode(const char *text, const char *kept);

#endif
