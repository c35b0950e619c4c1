/* Sentences about packages that code has imported before they changed: of
 * `hearth packages`, and of `%pip` in a cell (kernels/hearth_kernel/link has
 * them for Python). */
#ifndef HEARTH_PROTOCOL_PACKAGE_WORDS_H
#define HEARTH_PROTOCOL_PACKAGE_WORDS_H

/* Is said if it is not known which of them are imported. */
#define PACKAGES_STAY                                                          \
    "what a cell has imported already stays as it is until a restart"
/* Takes the package's name and its version now. */
#define PACKAGE_IMPORTED "%s is imported already: restart the session to get %s"

#endif
