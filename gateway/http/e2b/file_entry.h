/* Entries of a workspace as E2B's clients read them. */
#ifndef HEARTH_GATEWAY_HTTP_E2B_FILE_ENTRY_H
#define HEARTH_GATEWAY_HTTP_E2B_FILE_ENTRY_H

#include <jansson.h>

/* Returns E2B's EntryInfo of an entry that the files' thread describes, owned
 * by the caller. */
json_t *file_entry(const json_t *entry);
/* Returns {"name","type","path"} of a file that was written, owned by the
 * caller. `path` is text of the files' thread. */
json_t *file_entry_written(const char *path);

#endif
