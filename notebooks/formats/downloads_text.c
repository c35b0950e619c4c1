/* See downloads_text.h. */
#include "notebooks/formats/downloads_text.h"

#include "base/buffer.h"
#include "base/cleanup.h"
#include "notebooks/json/member.h"

#include <stdbool.h>
#include <stddef.h>

static json_t *describe(const char *what, const json_t *package)
{
    const char *hash = member_text(package, "sha256");

    return json_sprintf("%s %s %s%s%s", what, member_text(package, "name"),
                        member_text(package, "version"),
                        *hash ? ", SHA-256 " : "", hash);
}

static json_t *describe_package(const json_t *package)
{
    return describe("package", package);
}

static json_t *describe_preinstalled(const json_t *package)
{
    return describe("preinstalled package", package);
}

static json_t *describe_file(const json_t *file)
{
    return json_sprintf("file %s of %s, %" JSON_INTEGER_FORMAT
                        " bytes, SHA-256 %s",
                        member_text(file, "path"), member_text(file, "url"),
                        json_integer_value(json_object_get(file, "size")),
                        member_text(file, "sha256"));
}

static json_t *describe_repository(const json_t *repository)
{
    json_int_t depth = json_integer_value(json_object_get(repository, "depth"));
    bool has_lfs = json_is_true(json_object_get(repository, "lfs"));
    bool has_modules = json_is_true(json_object_get(repository, "submodules"));
    cleanup_free char *commits =
        depth ? mem_format(", depth %" JSON_INTEGER_FORMAT, depth)
              : mem_text("");

    return json_sprintf(
        "repository %s of %s, commit %s%s%s%s", member_text(repository, "path"),
        member_text(repository, "url"), member_text(repository, "commit"),
        commits, has_lfs ? ", with Git LFS" : "",
        has_modules ? ", with submodules" : "");
}

json_t *downloads_text(const json_t *own)
{
    static const struct {
        const char *name;
        json_t *(*describe)(const json_t *one);
    } kinds[] = {
        {"packages", describe_package},
        {"preinstalled", describe_preinstalled},
        {"files", describe_file},
        {"repositories", describe_repository},
    };
    json_t *lines = json_array();
    const json_t *one;
    size_t at;

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        json_array_foreach(json_object_get(own, kinds[i].name), at, one)
            json_array_append_new(lines, kinds[i].describe(one));
    return lines;
}
