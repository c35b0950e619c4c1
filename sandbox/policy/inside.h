/* The users and the workspace inside, the same in each sandbox. */
#ifndef HEARTH_SANDBOX_POLICY_INSIDE_H
#define HEARTH_SANDBOX_POLICY_INSIDE_H

#define SANDBOX_INSIDE_UID 1000
#define SANDBOX_INSIDE_GID 1000
#define SANDBOX_INIT_UID   999 /* pid 1's, where it has one of its own */
#define SANDBOX_INIT_GID   999
#define SANDBOX_WORKSPACE  "/workspace"

#endif
