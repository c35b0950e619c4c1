/* A folder with a configuration, in an environment that names no other one. */
#ifndef HEARTH_TESTS_LIB_OPTIONS_FOLDER_H
#define HEARTH_TESTS_LIB_OPTIONS_FOLDER_H

/* Makes the folder; a setup of cmocka's. *state is its path. */
int options_folder_make(void **state);
int options_folder_remove(void **state);
/* Writes hearth.cfg in it; returns its path, the caller's. */
char *options_folder_write(const char *folder, const char *text);

#endif
