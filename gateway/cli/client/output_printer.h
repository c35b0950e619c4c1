/* Output of a cell, for a person or for a JSON document. */
#ifndef HEARTH_GATEWAY_CLI_CLIENT_OUTPUT_PRINTER_H
#define HEARTH_GATEWAY_CLI_CLIENT_OUTPUT_PRINTER_H

#include "base/cleanup.h"

#include <jansson.h>
#include <stdbool.h>

typedef struct output_printer output_printer_t;

/* Returns a printer, which the caller owns. `folder` is where pictures are
 * saved, or NULL. With `is_json` nothing is printed, everything is collected.
 */
output_printer_t *output_printer_new(const char *folder, bool is_json);
void output_printer_destroy(output_printer_t **self_p);
#define cleanup_output_printer CLEANUP(output_printer_destroy)

/* Takes one iopub message of the cell, or a "page" out of its reply's payload.
 * Other types than outputs are ignored, and pages are not collected. Returns
 * false if a picture could not be saved. */
bool output_printer_add(output_printer_t *self, const char *type,
                        json_t *content);
/* Prints one line about the end on standard error; untrusted. */
void output_printer_say(output_printer_t *self, const char *text);
/* Prints the prompt of input(). */
void output_printer_prompt(output_printer_t *self, const char *prompt);
/* Notes that the terminal's echo of an answer has ended the line. */
void output_printer_answered(output_printer_t *self);
/* Shows "running 12 s", on a terminal only; it vanishes before the next output.
 */
void output_printer_progress(output_printer_t *self, long seconds);
/* Returns true if an error's traceback was printed or collected. */
bool output_printer_has_error(const output_printer_t *self);
/* Ends standard output at a line's start, with colours off. */
void output_printer_end(output_printer_t *self);
/* Ends the output. Returns the collected outputs as in a notebook; the caller
 * owns them. */
json_t *output_printer_take_list(output_printer_t *self);
/* Returns the paths of saved pictures, lent. */
json_t *output_printer_files(output_printer_t *self);

#endif
