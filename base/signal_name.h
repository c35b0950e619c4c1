/* Names of the signals that clients may send to a program. */
#ifndef HEARTH_BASE_SIGNAL_NAME_H
#define HEARTH_BASE_SIGNAL_NAME_H

/* Returns the number of TERM or SIGTERM; 0 if no signal has that name. */
int signal_name_number(const char *name);

#endif
