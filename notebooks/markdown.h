/* A transcript for people: Markdown that also reads well on a terminal. */
#ifndef HEARTH_NOTEBOOKS_MARKDOWN_H
#define HEARTH_NOTEBOOKS_MARKDOWN_H

#include "base/buffer.h"
#include "notebooks/transcript.h"

void markdown_write(const transcript_t *transcript, buffer_t *out);

#endif
