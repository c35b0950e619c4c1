/* Makes a state folder with one session's journal in it, as a gateway would
 * have left it: `fill_journal STATE CELLS BYTES`, the bytes spread over the
 * cells' outputs. Prints how long a record of a `1+1` took to append. */
#include "base/clock.h"
#include "base/fd.h"
#include "notebooks/journal/append.h"
#include "notebooks/journal/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SESSION    "00000000-0000-4000-8000-000000000000"
#define LINE       "all work and no play makes the journal a dull boy 0123456789\\n"
#define SMALL_RUNS 20000

static void give_up(const fault_t *fault)
{
    fprintf(stderr, "fill_journal: %s\n", fault->text);
    exit(1);
}

static void append(journal_t *journal, journal_kind_t kind, uint64_t request,
                   const char *type, const char *content, size_t size)
{
    static const char header[] =
        "{\"msg_id\":\"d4a9c3_1_1\",\"session\":\"d4a9c3\",\"username\":\"u\","
        "\"date\":\"2026-01-02T03:04:05.000006Z\",\"msg_type\":\"x\","
        "\"version\":\"5.4\"}";
    journal_record_t record = {
        .kind = kind,
        .wall_us = 1767323045000000 + (int64_t) journal_last_seq(journal),
        .request = request,
        .header = {header, sizeof(header) - 1},
        .content = {content, size},
    };
    fault_t fault = {0};

    snprintf(record.type, sizeof(record.type), "%s", type);
    if (journal_append(journal, &record, &fault) < 0)
        give_up(&fault);
}

static void append_text(journal_t *journal, journal_kind_t kind,
                        uint64_t request, const char *type, const char *content)
{
    append(journal, kind, request, type, content, strlen(content));
}

/* Half of the bytes are text, half are a picture in base64. */
static void append_outputs(journal_t *journal, uint64_t request, size_t bytes)
{
    cleanup_buffer buffer_t stream = BUFFER_EMPTY;
    cleanup_buffer buffer_t picture = BUFFER_EMPTY;

    buffer_text(&stream, "{\"name\":\"stdout\",\"text\":\"");
    while (stream.size < bytes / 2)
        buffer_text(&stream, LINE);
    buffer_text(&stream, "\"}");
    append(journal, JOURNAL_EVENT, request, "stream", (char *) stream.data,
           stream.size);
    buffer_text(&picture, "{\"data\":{\"text/plain\":\"<Figure>\","
                          "\"image/png\":\"iVBORw0KGgo");
    while (picture.size < bytes / 2)
        buffer_text(&picture, "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789+/Aa");
    buffer_text(&picture, "\"},\"metadata\":{},\"transient\":{}}");
    append(journal, JOURNAL_EVENT, request, "display_data",
           (char *) picture.data, picture.size);
}

static void append_cell(journal_t *journal, uint64_t request, size_t bytes)
{
    append_text(journal, JOURNAL_REQUEST, request, "execute_request",
                "{\"code\":\"frame = frame.dropna()\\nframe.plot()\","
                "\"silent\":false,\"store_history\":true}");
    append_text(journal, JOURNAL_EVENT, request, "execute_input",
                "{\"code\":\"x\",\"execution_count\":1}");
    if (bytes)
        append_outputs(journal, request, bytes);
    else
        append_text(journal, JOURNAL_EVENT, request, "execute_result",
                    "{\"data\":{\"text/plain\":\"2\"},\"metadata\":{},"
                    "\"execution_count\":1}");
    append_text(journal, JOURNAL_REPLY, request, "execute_reply",
                "{\"status\":\"ok\",\"execution_count\":1,"
                "\"user_expressions\":{},\"payload\":[]}");
}

static journal_t *open_journal(const char *path)
{
    journal_options_t options = {.bytes_max = 0, .spill_min = 1 << 20};
    journal_t *journal = NULL;
    uint8_t key[32] = {1};
    fault_t fault = {0};

    if (journal_open(path, key, &options, &journal, NULL, &fault) < 0)
        give_up(&fault);
    return journal;
}

static void time_small(const char *path)
{
    journal_t *journal = open_journal(path);
    int64_t began = clock_wall_us();

    for (uint64_t i = 1; i <= SMALL_RUNS; i++)
        append_cell(journal, i, 0);
    printf("%.3f\n", (double) (clock_wall_us() - began) / (4.0 * SMALL_RUNS));
    journal_destroy(&journal);
}

int main(int argc, char **argv)
{
    uint8_t key[32] = {1};
    fault_t fault = {0};

    if (argc != 4) {
        fprintf(stderr, "usage: fill_journal STATE CELLS BYTES\n");
        return 2;
    }
    size_t cells = strtoul(argv[2], NULL, 10);
    size_t bytes = strtoul(argv[3], NULL, 10);
    cleanup_free char *path =
        mem_format("%s/sessions/" SESSION "/journal", argv[1]);
    cleanup_free char *small = mem_format("%s/small", argv[1]);
    cleanup_free char *key_path = mem_format("%s/journal.key", argv[1]);
    journal_t *journal = open_journal(path);

    for (size_t i = 1; i <= cells; i++)
        append_cell(journal, i, bytes / cells);
    journal_destroy(&journal);
    if (file_write_atomic(key_path, 0600, key, sizeof(key), &fault) < 0)
        give_up(&fault);
    time_small(small);
    return 0;
}
