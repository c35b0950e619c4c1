/* Checks the folder of a worker of downloads for hearth doctor. */
#ifndef HEARTH_GATEWAY_CLI_DOCTOR_WORKER_FOLDER_H
#define HEARTH_GATEWAY_CLI_DOCTOR_WORKER_FOLDER_H

#include "gateway/config/options.h"

/* Returns 0 if a worker of downloads can use the folder that the key names, or
 * if the gateway can make it. */
int doctor_check_folder(const options_t *options, const char *key,
                        const char *folder, fault_t *fault);

#endif
