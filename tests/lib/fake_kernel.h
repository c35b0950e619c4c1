/* A kernel without a process: what it says is there when the session reads its
 * link, and what it gets is a deed (deeds.h). */
#ifndef HEARTH_TESTS_LIB_FAKE_KERNEL_H
#define HEARTH_TESTS_LIB_FAKE_KERNEL_H

#include "protocol/frame.h"

#define FAKE_LINK_FD 1000 /* no descriptor of the test */

/* Has the kernel say an event of a request. */
void fake_kernel_says(uint16_t type, uint64_t request, const char *content);
/* Likewise, a reply with metadata. */
void fake_kernel_replies(uint64_t request, const char *content,
                         const char *metadata);

/* Forgets what it said, its process and its link. */
void fake_kernel_forget(void);

#endif
