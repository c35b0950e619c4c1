/* Steps of tests that export a journal. */
#ifndef HEARTH_TESTS_LIB_EXPORT_STEPS_H
#define HEARTH_TESTS_LIB_EXPORT_STEPS_H

#include "base/buffer.h"
#include "notebooks/recording/export.h"
#include "tests/lib/recorded.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns a journal in the folder, to be destroyed. */
static inline journal_t *export_steps_open(const char *folder)
{
    cleanup_free char *path = mem_format("%s/journal", folder);

    return recordings_open(path);
}

static inline void export_steps_append(journal_t *journal, journal_kind_t kind,
                                       uint64_t request, const char *type,
                                       const char *content,
                                       const char *metadata)
{
    journal_record_t record = {.kind = kind,
                               .request = request,
                               .content = {content, strlen(content)},
                               .metadata = {metadata, strlen(metadata)}};

    recorded_append_record(journal, &record, type);
}

static inline void export_steps_ask(journal_t *journal, uint64_t request,
                                    const char *content)
{
    export_steps_append(journal, JOURNAL_REQUEST, request, "execute_request",
                        content, "");
}

static inline void export_steps_say(journal_t *journal, uint64_t request,
                                    const char *type, const char *content)
{
    export_steps_append(journal, JOURNAL_EVENT, request, type, content, "");
}

static inline void export_steps_answer(journal_t *journal, uint64_t request,
                                       const char *content)
{
    export_steps_append(journal, JOURNAL_REPLY, request, "execute_reply",
                        content,
                        "{\"started\":\"2026-01-02T03:04:05.500000Z\"}");
}

/* Writes the document of a journal into memory, as a string. */
static inline int export_steps_text(const char *path, export_format_t format,
                                    buffer_t *out, fault_t *fault)
{
    recording_options_t options = {.session = "5e55"};
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);

    assert_non_null(file);
    int r = export_write(path, &options, format, file, fault);
    fclose(file);
    buffer_append(out, text, size);
    buffer_append(out, "", 1);
    out->size--;
    free(text);
    return r;
}

static inline void export_steps_oddities(journal_t *journal)
{
    static const char *const contents[] = {
        "{}",
        "[]",
        "{\"name\":5,\"text\":{}}",
        "{\"name\":\"stdout\",\"text\":[]}",
        "{\"name\":\"stdout\",\"text\":\"\\u0000 \\u00e4 \\ud83d\\ude00\"}",
        "{\"data\":5,\"metadata\":[]}",
        "{\"data\":{\"text/plain\":5,\"image/png\":null,"
        "\"application/json\":[1,2.5,\"x\"],"
        "\"application/vnd.x+json\":{\"a\":123456789012345678901234567890}}}",
        "{\"data\":{\"image/png\":\"aGVsbG8=\\n\",\"text/html\":\"<b>\\n\"},"
        "\"metadata\":{\"image/png\":{\"width\":5}},"
        "\"execution_count\":\"one\",\"transient\":{\"display_id\":7}}",
        "{\"ename\":1,\"evalue\":null,\"traceback\":[1,\"a\",null]}",
        "{\"wait\":\"no\"}",
    };
    static const char *const types[] = {
        "stream",       "display_data",        "execute_result", "error",
        "clear_output", "update_display_data", "comm_msg",
    };

    export_steps_append(journal, JOURNAL_STATE, 0, "ready",
                        "{\"language_info\":5}", "");
    for (uint64_t i = 0; i < sizeof(contents) / sizeof(contents[0]); i++) {
        export_steps_ask(journal, i + 2, "{\"code\":\"x = 1\\n\\nx\"}");
        for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
            export_steps_say(journal, i + 2, types[t], contents[i]);
            if (strcmp(types[t], "error") == 0 && i != 9)
                export_steps_say(journal, i + 2, "stream",
                                 "{\"name\":\"stderr\",\"text\":\"1\\n2\\n\"}");
        }
        export_steps_answer(journal, i + 2, contents[i]);
    }
    export_steps_ask(journal, 100, "{\"code\":5}");
    export_steps_say(journal, 100, "display_data",
                     "{\"data\":{\"text/plain\":\"p\",\"image/png\":\"aGk=\","
                     "\"application/json\":{\"b\":1,\"a\":[]}},"
                     "\"metadata\":{\"image/png\":{\"width\":5}}}");
    export_steps_append(journal, JOURNAL_GAP, 100, "gap", "{}", "");
    export_steps_append(journal, JOURNAL_GAP, 0, "gap", "[]", "");
    export_steps_append(journal, JOURNAL_STATE, 0, "gone",
                        "{\"reason\":\"idle\"}", "");
}

#endif
