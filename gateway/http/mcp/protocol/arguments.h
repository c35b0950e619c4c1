/* Checks a tool's arguments against its schema: required members, types and
 * enumerations of a flat object. Pure. */
#ifndef HEARTH_GATEWAY_HTTP_MCP_PROTOCOL_ARGUMENTS_H
#define HEARTH_GATEWAY_HTTP_MCP_PROTOCOL_ARGUMENTS_H

#include <jansson.h>
#include <stdbool.h>

#define ARGUMENTS_TEXT_SIZE 512

/* Returns true if the object fits the schema, else writes a sentence that a
 * model can act on. */
bool arguments_check(const json_t *schema, json_t *arguments,
                     char ret_text[ARGUMENTS_TEXT_SIZE]);

#endif
