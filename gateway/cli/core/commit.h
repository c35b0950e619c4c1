/* The commit that the program was built from. */
#ifndef HEARTH_GATEWAY_CLI_CORE_COMMIT_H
#define HEARTH_GATEWAY_CLI_CORE_COMMIT_H

/* Its abbreviated hash; empty for a release. The build makes this. */
extern const char commit_name[];

#endif
