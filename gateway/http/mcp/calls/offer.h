/* The offer of an MCP endpoint: its tools, and the methods beside those that
 * every endpoint has. The dispatcher knows an offer alone, so a test can give
 * it another one. */
#ifndef HEARTH_GATEWAY_HTTP_MCP_CALLS_OFFER_H
#define HEARTH_GATEWAY_HTTP_MCP_CALLS_OFFER_H

#include "gateway/http/mcp/calls/call.h"

typedef void offer_run_fn(mcp_call_t *call);

typedef struct {
    const char *name;  /* NULL ends the table */
    unsigned scope;    /* SCOPE_ bits, one of which is needed to see the tool */
    offer_run_fn *run; /* its arguments fit the schema */
} mcp_tool_t;

typedef struct {
    const char *name; /* NULL ends the table */
    bool is_modern;   /* 2026-07-28 has it */
    bool is_legacy;   /* the revisions before have it */
    unsigned scope;   /* SCOPE_ bits, one of which is needed */
    offer_run_fn *run;
} mcp_method_t;

typedef struct mcp_offer {
    const char *instructions; /* for the model */
    /* Returns them, which the caller owns: of 2026-07-28, or before. */
    json_t *(*capabilities)(bool is_legacy);
    const char *definitions;        /* JSON array of the tools' definitions */
    const size_t *definitions_size; /* bytes of it */
    const char *output_schemas;     /* JSON; of results for programs, or NULL */
    const size_t *output_schemas_size; /* bytes of it */
    const mcp_tool_t *tools;
    const mcp_method_t *methods;
} mcp_offer_t;

/* The offer of hearth's own endpoint. */
extern const mcp_offer_t mcp_offer;

#endif
