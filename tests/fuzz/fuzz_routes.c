/* Invented paths. The parameters of a matching pattern make the same path
 * again, and at most one route has a path and a method. A path of the contents
 * names a whole session id and a path that stays beneath the workspace, as the
 * kernel agrees. A range is within its file. */
#include "gateway/http/contents/contents_path.h"
#include "gateway/http/core/range.h"
#include "gateway/http/server/routes.h"
#include "workspace/name.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void fill(const char *pattern, char *const parameters[], buffer_t *out)
{
    size_t count = 0;

    while (*pattern) {
        if (*pattern != '{') {
            buffer_append(out, pattern++, 1);
            continue;
        }
        if (!parameters[count])
            abort();
        if (pattern[1] != '*'
            && (strchr(parameters[count], '/') || !*parameters[count]))
            abort();
        buffer_text(out, parameters[count++]);
        pattern += pattern[1] == '*' ? 3 : 2;
    }
    buffer_append(out, "", 0);
}

static void check_routes(const char *path)
{
    unsigned methods = 0;
    size_t cursor = 0;

    for (const route_t *row = routes_each(&cursor); row;
         row = routes_each(&cursor)) {
        char *parameters[EXCHANGE_PARAMETERS_MAX] = {NULL};
        cleanup_buffer buffer_t again = BUFFER_EMPTY;

        if (!routes_match(row->pattern, path, parameters)) {
            for (size_t i = 0; i < EXCHANGE_PARAMETERS_MAX; i++)
                if (parameters[i])
                    abort();
            continue;
        }
        if (methods & row->method)
            abort();
        methods |= row->method;
        fill(row->pattern, parameters, &again);
        if (again.size != strlen(path)
            || (again.size && memcmp(again.data, path, again.size) != 0))
            abort();
        for (size_t i = 0; i < EXCHANGE_PARAMETERS_MAX; i++)
            free(parameters[i]);
    }
}

static void check_place(const char *path)
{
    contents_path_t place = contents_path_of(path);
    bool has_id = place.what == CONTENTS_PATH_RECORDING
                  || place.what == CONTENTS_PATH_FILE;

    if (has_id != (strlen(place.id) == 36)
        || strspn(place.id, "0123456789abcdef-") != strlen(place.id))
        abort();
    if (place.what != CONTENTS_PATH_FILE) {
        if (*place.path)
            abort();
        return;
    }
    if (place.path < path || place.path > path + strlen(path)
        || *place.path == '/')
        abort();
    cleanup_free char *below = NULL;
    fault_t fault;
    if (name_path(place.path, strlen(place.path), &below, &fault) < 0)
        return;
    if (*below == '/' || strcmp(below, "..") == 0 || strstr(below, "/../")
        || strncmp(below, "../", 3) == 0)
        abort();
    (void) contents_path_is_hidden(place.path);
}

static void check_range(const char *text)
{
    static const uint64_t sizes[] = {0, 1, 10, UINT64_MAX >> 1};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        byte_range_t range;
        range_kind_t kind = range_read(text, sizes[i], &range);

        if (kind == RANGE_NONE)
            continue;
        if (range.from > sizes[i] || range.size > sizes[i] - range.from)
            abort();
        if (kind == RANGE_PART && !range.size)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    cleanup_free char *text = mem_copy(bytes, size);

    check_routes(text);
    check_place(text);
    check_range(text);
    return 0;
}
