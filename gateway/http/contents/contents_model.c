/* Jupyter's models of files, and refusals. */
#include "gateway/http/contents/contents_model.h"

#include "base/fd.h"
#include "gateway/http/contents/contents_path.h"
#include "gateway/http/core/authorize.h"
#include "gateway/http/core/model.h"
#include "gateway/http/rpc/registry_client.h"

#include <stdarg.h>
#include <string.h>
#include <strings.h>
#include <time.h>

/* --- The request --- */

const char *contents_path(const exchange_t *exchange)
{
    return exchange->request.parameters[0] ? exchange->request.parameters[0]
                                           : "";
}

/* Reads "0" or "1"; other values are refused, like in Jupyter Server. */
static bool read_flag(exchange_t *exchange, const char *name, bool otherwise,
                      bool *ret_flag)
{
    const char *value = exchange_argument(exchange, name);

    *ret_flag = otherwise;
    if (!value || !*value)
        return true;
    *ret_flag = strcmp(value, "0") != 0;
    if (strcmp(value, "0") == 0 || strcmp(value, "1") == 0)
        return true;
    exchange_fail(exchange, 400, "%s %.40s is invalid, it is 0 or 1", name,
                  value);
    return false;
}

static bool read_word(exchange_t *exchange, const char *name,
                      const char *const words[3], const char **ret_word)
{
    const char *value = exchange_argument(exchange, name);

    *ret_word = NULL;
    if (!value || !*value)
        return true;
    for (int i = 0; i < 3; i++)
        if (words[i] && strcmp(words[i], value) == 0)
            *ret_word = words[i];
    if (*ret_word)
        return true;
    exchange_fail(exchange, 400, "%s %.40s is invalid", name, value);
    return false;
}

bool contents_wish(exchange_t *exchange, contents_wish_t *ret_wish)
{
    static const char *const types[3] = {"file", "notebook", "directory"};
    static const char *const formats[3] = {"text", "base64", "json"};

    return read_word(exchange, "type", types, &ret_wish->type)
           && read_word(exchange, "format", formats, &ret_wish->format)
           && read_flag(exchange, "content", true, &ret_wish->content)
           && read_flag(exchange, "hash", false, &ret_wish->hash);
}

bool contents_may(exchange_t *exchange, unsigned scope)
{
    json_auto_t *names = token_scopes_names(scope);

    if (exchange->scopes & scope)
        return true;
    authorize_challenge(exchange, scope);
    exchange_fail(exchange, 403, "This token lacks the scope %s",
                  json_string_value(json_array_get(names, 0)));
    return false;
}

/* --- Refusals --- */

void contents_refuse(exchange_t *exchange, int status, const char *reason,
                     const char *format, ...)
{
    char text[1024];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    json_t *message = json_string(text);
    if (!message) /* cut in the middle of a character */
        message = json_string(reason);
    exchange_json(exchange, status,
                  json_pack("{s:o,s:s}", "message", message, "reason", reason));
}

void contents_absent(exchange_t *exchange)
{
    exchange_fail(exchange, 404, "No such file or directory: %.200s",
                  contents_path(exchange));
}

bool contents_is_ok(exchange_t *exchange, const json_t *reply)
{
    static const struct {
        const char *ename;
        int status;
    } statuses[] = {
        {"FileNotFound", 404},   {"FileExists", 409},
        {"FileChanged", 409},    {"PathRefused", 400},
        {"WorkspaceFull", 507},  {"TransferBroken", 409},
        {"FolderNotEmpty", 400}, {"FileDenied", 403},
        {"FileBusy", 503},       {"IsFolder", 400},
    };
    const char *ename = model_text(reply, "ename");

    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        if (strcmp(statuses[i].ename, ename) == 0) {
            exchange_fail_by(exchange, statuses[i].status, ename, "%s",
                             model_text(reply, "evalue"));
            return false;
        }
    return registry_client_is_ok(exchange, reply);
}

/* --- Models --- */

json_t *contents_model(const char *path, const char *type, const char *created,
                       const char *modified, bool is_writable)
{
    return json_pack("{s:s,s:s,s:s,s:s,s:s,s:b,s:n,s:n,s:n,s:n,s:n,s:n}",
                     "name", path_name(path), "path", path, "type", type,
                     "created", created, "last_modified", modified, "writable",
                     is_writable, "size", "mimetype", "format", "content",
                     "hash", "hash_algorithm");
}

static bool ends_with(const char *text, const char *end)
{
    size_t size = strlen(text), length = strlen(end);

    return size >= length && strcasecmp(text + size - length, end) == 0;
}

json_t *contents_entry_model(const char *session, const json_t *entry)
{
    const char *below = model_text(entry, "path");
    cleanup_free char *path = mem_format(CONTENTS_WORKSPACES "/%s%s%s", session,
                                         *below ? "/" : "", below);
    const char *modified = model_text(entry, "modified");
    bool is_folder = strcmp(model_text(entry, "type"), "folder") == 0;
    json_t *model =
        contents_model(path,
                       is_folder                          ? "directory"
                       : ends_with(path, CONTENTS_SUFFIX) ? "notebook"
                                                          : "file",
                       modified, modified, true);

    if (!is_folder)
        json_object_set(model, "size", json_object_get(entry, "size"));
    return model;
}

void contents_set_entries(json_t *folder, json_t *entries)
{
    json_object_set_new(folder, "content", entries);
    json_object_set_new(folder, "format", json_string("json"));
}

const char *contents_mimetype(const char *path, const char *format)
{
    static const struct {
        const char *end, *type;
    } types[] = {
        {".py", "text/x-python"},
        {".csv", "text/csv"},
        {".md", "text/markdown"},
        {".html", "text/html"},
        {".css", "text/css"},
        {".js", "text/javascript"},
        {".json", "application/json"},
        {".ipynb", "application/x-ipynb+json"},
        {".xml", "application/xml"},
        {".pdf", "application/pdf"},
        {".png", "image/png"},
        {".jpg", "image/jpeg"},
        {".jpeg", "image/jpeg"},
        {".gif", "image/gif"},
        {".svg", "image/svg+xml"},
        {".webp", "image/webp"},
        {".tsv", "text/tab-separated-values"},
        {".zip", "application/zip"},
    };

    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (ends_with(path, types[i].end))
            return types[i].type;
    return format && strcmp(format, "text") == 0 ? "text/plain"
                                                 : "application/octet-stream";
}

void contents_modified(exchange_t *exchange, const char *iso)
{
    struct tm calendar = {0};
    char text[64];

    if (!strptime(iso, "%Y-%m-%dT%H:%M:%S", &calendar)
        || !strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &calendar))
        return;
    exchange_header(exchange, "Last-Modified", "%s", text);
}
