/* What the parts of the offer share. */
#ifndef HEARTH_TESTS_SYSTEM_PEERS_EVERYTHING_H
#define HEARTH_TESTS_SYSTEM_PEERS_EVERYTHING_H

#include "gateway/http/mcp/calls/offer.h"

#define EVERYTHING_PNG                                                         \
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGA" \
    "hKmMIQAAAABJRU5ErkJggg=="

/* Returns the JSON of a literal, for the caller. */
json_t *everything_parse(const char *text);
/* Answers with a result, which is taken, that clients may keep. */
void everything_answer_cached(mcp_call_t *call, json_t *result);

/* Tools that need the client's answer: everything_input.c. */
offer_run_fn everything_sampling, everything_elicitation,
    everything_elicitation_defaults, everything_elicitation_enums,
    everything_input_elicitation, everything_input_sampling,
    everything_input_roots, everything_input_state, everything_input_many,
    everything_input_rounds, everything_input_capabilities,
    everything_ask_prompt;

/* Prompts and resources: everything_lists.c. */
offer_run_fn everything_list_prompts, everything_get_prompt,
    everything_complete, everything_list_resources, everything_list_templates,
    everything_read_resource;

#endif
