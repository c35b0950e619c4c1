/* URLs without what may be secret. */
#ifndef HEARTH_BASE_URL_PLAIN_H
#define HEARTH_BASE_URL_PLAIN_H

/* Returns the URL without user, password, query and fragment, which may be
 * secrets; the caller owns it. */
char *url_plain(const char *url);

#endif
