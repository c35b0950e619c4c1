/* Connection files: what is accepted is in range. */
#include "protocol/connection_file.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_connection_file connection_file_t connection = {0};
    fault_t fault = {0};
    if (connection_file_parse(data, size, &connection, &fault) < 0) {
        assert(connection.secret == NULL);
        assert(fault.code != 0 && fault.text[0] != '\0');
        return 0;
    }
    assert(strcmp(connection.transport, "tcp") == 0
           || strcmp(connection.transport, "ipc") == 0);
    assert(connection.secret != NULL);
    for (int i = 0; i < CHANNEL_COUNT; i++) {
        char endpoint[CONNECTION_ENDPOINT_SIZE];
        assert(connection.ports[i] >= 0 && connection.ports[i] <= 65535);
        connection_file_endpoint(&connection, (channel_t) i, endpoint);
        assert(strlen(endpoint) < CONNECTION_ENDPOINT_SIZE - 1);
    }
    return 0;
}
