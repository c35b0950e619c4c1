/* Jupyter's runtime folder, in which programs of one user look for servers and
 * kernels that run. Files of other programs are in it, too. Each file that is
 * written here has a member with the writer's mark: files without it are never
 * replaced and never removed. */
#ifndef HEARTH_GATEWAY_DISCOVERY_JUPYTER_FOLDER_H
#define HEARTH_GATEWAY_DISCOVERY_JUPYTER_FOLDER_H

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/fault.h"

#include <stdbool.h>
#include <stddef.h>

#define JUPYTER_FOLDER_MEMBER "hearth_gateway" /* has the mark */
#define JUPYTER_FOLDER_MARK   33               /* 32 hex digits and a NUL */

typedef struct jupyter_folder jupyter_folder_t;

/* Opens the folder, which must be private (private_folder.h). With `makes`, a
 * missing one is created. `mark` is this writer's; it is copied. */
int jupyter_folder_open(const char *path, const char mark[JUPYTER_FOLDER_MARK],
                        bool makes, jupyter_folder_t **ret_folder,
                        fault_t *fault);
void jupyter_folder_destroy(jupyter_folder_t **self_p);
#define cleanup_jupyter_folder CLEANUP(jupyter_folder_destroy)

/* Returns true if the file at that path is directly in this folder. */
bool jupyter_folder_has(const jupyter_folder_t *self, const char *path);

/* Writes a file with mode 0600: `object` is the text of a JSON object up to its
 * last member, and gets the mark and its end here. A reader sees the whole file
 * or none. A file with the mark is replaced. -EEXIST if another program has a
 * file of that name. One thread may write at a time. */
int jupyter_folder_write(const jupyter_folder_t *self, const char *name,
                         buffer_t *object, fault_t *fault);
/* Removes the file if it has the mark. A file that is missing, or that another
 * program has put there, is success. */
int jupyter_folder_remove(const jupyter_folder_t *self, const char *name,
                          fault_t *fault);
/* Removes all files of servers and kernels that have the mark; returns their
 * number. Files that cannot be removed fail it, after the others were. */
int jupyter_folder_sweep(const jupyter_folder_t *self, fault_t *fault);

#endif
