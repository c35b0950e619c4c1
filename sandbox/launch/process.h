/* Steps of a launch: descriptors, signals, session and working directory. */
#ifndef HEARTH_SANDBOX_LAUNCH_PROCESS_H
#define HEARTH_SANDBOX_LAUNCH_PROCESS_H

#include "sandbox/launch/entry.h"

/* Closes all descriptors from 3 on, except those in `kept`; -1 is skipped. */
int process_close_all_but(const int *kept, size_t count, fault_t *fault);
/* Saves the caller's signals and blocks all of them. */
void process_save_signals(launch_entry_t *entry);
step_fn process_forget_signals;
step_fn process_keep_own_descriptors;
step_fn process_begin_session;
step_fn process_use_null_device;
step_fn process_prepare_payload;
step_fn process_be_dumpable;
step_fn process_enter_workspace;

#endif
