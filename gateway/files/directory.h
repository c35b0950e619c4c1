/* Requests about names in a workspace: status, what has changed, making
 * folders, removing and renaming; and listings, page by page. */
#ifndef HEARTH_GATEWAY_FILES_DIRECTORY_H
#define HEARTH_GATEWAY_FILES_DIRECTORY_H

#include "gateway/files/file_ops.h"

files_handler_t directory_on_stat, directory_on_look, directory_on_make_folder,
    directory_on_delete, directory_on_rename, directory_on_list,
    directory_on_next;

#endif
