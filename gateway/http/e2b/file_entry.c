/* See file_entry.h. The form is JSON of protocol buffers: whole numbers of 64
 * bits are texts. Inside a
 * sandbox every file is the kernel's, whatever it is outside. */
#include "gateway/http/e2b/file_entry.h"

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "gateway/http/core/model.h"
#include "gateway/http/e2b/sandbox_path.h"

#include <string.h>

#define OWNER "kernel"

static const struct {
    const char *type, *name;
    char letter;
} types[] = {
    {"file", "FILE_TYPE_FILE", '-'},
    {"folder", "FILE_TYPE_DIRECTORY", 'd'},
    {"link", "FILE_TYPE_SYMLINK", 'l'},
};

/* Writes "-rw-r--r--". */
static void write_permissions(char letter, unsigned mode, char ret_text[11])
{
    static const char letters[] = "rwxrwxrwx";

    ret_text[0] = letter;
    for (unsigned i = 0; i < 9; i++)
        ret_text[i + 1] = mode & 0400u >> i ? letters[i] : '-';
    ret_text[10] = '\0';
}

json_t *file_entry(const json_t *entry)
{
    cleanup_free char *path = sandbox_path_write(model_text(entry, "path"));
    json_int_t mode = json_integer_value(json_object_get(entry, "mode"));
    const char *type = "FILE_TYPE_UNSPECIFIED";
    char permissions[11], letter = '?';

    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].type, model_text(entry, "type")) == 0) {
            type = types[i].name;
            letter = types[i].letter;
        }
    write_permissions(letter, (unsigned) mode, permissions);
    return json_pack("{s:s,s:s,s:s,s:o,s:I,s:s,s:s,s:s,s:s}", "name",
                     path_name(path), "type", type, "path", path, "size",
                     json_sprintf("%lld", (long long) json_integer_value(
                                              json_object_get(entry, "size"))),
                     "mode", mode, "permissions", permissions, "owner", OWNER,
                     "group", OWNER, "modifiedTime",
                     model_text(entry, "modified"));
}

json_t *file_entry_written(const char *path)
{
    cleanup_free char *whole = sandbox_path_write(path);

    return json_pack("{s:s,s:s,s:s}", "name", path_name(whole), "type", "file",
                     "path", whole);
}
