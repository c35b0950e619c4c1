/* Makes the view for models of one output of MEGABYTES, ROUNDS times:
 * `view_output MEGABYTES ROUNDS`. Prints the milliseconds of each. */
#include "base/clock.h"
#include "notebooks/modelview/modelview.h"

#include <stdio.h>
#include <stdlib.h>

#define LINE "line %zu: all work and no play makes the view a dull text\n"

static json_t *make_outputs(size_t bytes)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;

    for (size_t i = 0; text.size < bytes; i++)
        buffer_format(&text, LINE, i);
    return json_pack("[{s:s,s:s,s:o}]", "output_type", "stream", "name",
                     "stdout", "text",
                     json_stringn((char *) text.data, text.size));
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: view_output MEGABYTES ROUNDS\n");
        return 2;
    }
    json_auto_t *outputs =
        make_outputs(strtoul(argv[1], NULL, 10) * 1000 * 1000);
    const modelview_cell_t cell = {.status = MODELVIEW_OK,
                                   .cell = 1,
                                   .reading.session = "7f3c",
                                   .outputs = outputs};

    for (unsigned long i = strtoul(argv[2], NULL, 10); i > 0; i--) {
        cleanup_modelview modelview_t view = {0};
        int64_t begun = clock_monotonic_us();
        modelview_make(&cell, &view);
        printf("%.3f\n", (double) (clock_monotonic_us() - begun) / 1000);
    }
    return 0;
}
