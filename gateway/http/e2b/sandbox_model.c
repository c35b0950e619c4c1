/* See sandbox_model.h. The version decides which features the clients use: from
 * 0.5.7 on they upload bytes as they are, and below 0.6.2 they do not ask for
 * metadata of files. */
#include "gateway/http/e2b/sandbox_model.h"

#include "base/clock.h"
#include "gateway/http/core/authorize.h"
#include "gateway/http/core/model.h"
#include "gateway/http/e2b/sandbox.h"

#include <unistd.h>

#define ENVD_VERSION "0.6.1"
#define CLIENT_ID    "hearth"

json_t *sandbox_model_access(const exchange_t *exchange, const char *session,
                             const json_t *note)
{
    const char *token = authorize_token(exchange);

    return json_pack("{s:s,s:s,s:s,s:s,s:s?,s:s?,s:n}", "templateID",
                     model_text(note, "template"), "sandboxID", session,
                     "clientID", CLIENT_ID, "envdVersion", ENVD_VERSION,
                     "envdAccessToken", token, "trafficAccessToken", token,
                     "domain");
}

static void set_time(json_t *model, const char *name, const json_t *us)
{
    char text[CLOCK_ISO_SIZE];

    clock_iso(json_integer_value(us), text);
    json_object_set_new(model, name, json_string(text));
}

static json_int_t mib(uint64_t bytes)
{
    return (json_int_t) (bytes / MIB);
}

json_t *sandbox_model(const http_t *http, const json_t *session,
                      const json_t *note)
{
    const profile_t *profile =
        options_profile(http->options, model_text(session, "profile"));
    json_t *metadata = json_object_get(note, "metadata");
    json_t *model = json_pack(
        "{s:s,s:s,s:s,s:s,s:s,s:I,s:I,s:I,s:o}", "templateID",
        model_text(note, "template"), "sandboxID", model_text(session, "id"),
        "clientID", CLIENT_ID, "envdVersion", ENVD_VERSION, "state", "running",
        "cpuCount", (json_int_t) sysconf(_SC_NPROCESSORS_ONLN), "memoryMB",
        profile ? mib(profile->limits.memory) : 0, "diskSizeMB",
        profile ? mib(profile->limits.workspace_bytes) : 0, "metadata",
        metadata ? json_deep_copy(metadata) : json_object());

    set_time(model, "startedAt", json_object_get(note, "started"));
    set_time(model, "endAt", json_object_get(note, "end"));
    return model;
}

bool sandbox_model_timeout(exchange_t *exchange, const json_t *body,
                           double usual, double *ret_seconds)
{
    const json_t *value = json_object_get(body, "timeout");

    *ret_seconds = usual;
    if (!value || json_is_null(value))
        return true;
    *ret_seconds = json_number_value(value);
    if (json_is_number(value) && *ret_seconds >= 0
        && *ret_seconds <= SANDBOX_SECONDS_MAX)
        return true;
    exchange_fail(exchange, 400, "timeout must be seconds, 0 to %d",
                  SANDBOX_SECONDS_MAX);
    return false;
}
