/* Facts about the gateway that the command line, HTTP and MCP need: names of
 * files, exit codes, the management protocol's version. */
#ifndef HEARTH_GATEWAY_CONFIG_STATE_FILES_H
#define HEARTH_GATEWAY_CONFIG_STATE_FILES_H

#define GATEWAY_LOCK_FILE   "hearth.lock" /* in the state folder */
#define GATEWAY_LOG_FILE    "gateway.log" /* there, of one that was started */
#define GATEWAY_SOCKET_FILE "management.sock" /* in the runtime folder */
#define GATEWAY_KEY_FILE    "management.key"  /* in the runtime folder, 0600 */
/* In the runtime folder, 0600: URL and token of the HTTP side. */
#define GATEWAY_HTTP_FILE "http.json"
/* In the state folder, 0600: what chains the journals. */
#define GATEWAY_JOURNAL_KEY_FILE "journal.key"
/* In the state folder, 0600: the seed of the key that signs receipts. */
#define GATEWAY_ATTEST_KEY_FILE "attest.key"
/* In the state folder, 0600, while files for Jupyter's programs may exist: the
 * path of the folder that has them. */
#define GATEWAY_DISCOVERY_FILE "discovery.folder"
/* The management socket for threads of the gateway. */
#define GATEWAY_INPROC_ENDPOINT "inproc://management"

typedef enum {
    GATEWAY_EXIT_OK = 0,
    GATEWAY_EXIT_FAILED = 1, /* the code raised, the operation failed */
    GATEWAY_EXIT_USAGE = 2,
    GATEWAY_EXIT_GONE = 3,        /* no such session, or it is gone */
    GATEWAY_EXIT_UNREACHABLE = 4, /* no gateway could be reached or started */
    GATEWAY_EXIT_ENVIRONMENT = 5, /* configuration or machine */
    GATEWAY_EXIT_TIME_LIMIT = 124,
} gateway_exit_t;

#endif
