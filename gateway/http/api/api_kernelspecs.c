/* Profiles as Jupyter's kernelspecs, with a logo. */
#include "gateway/http/api/route.h"

#include <string.h>

/* A hearth, 64 units square; in the program, so that no file is needed. */
static const char logo[] =
    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 64 64\" "
    "width=\"64\" height=\"64\">"
    "<path fill=\"#6b3f2a\" d=\"M4 60V8h56v52H48V26a16 16 0 0 0-32 0v34z\"/>"
    "<path fill=\"#e4572e\" d=\"M32 24c2 10 12 14 12 24a12 12 0 0 1-24 0c0-6 "
    "4-8 5-14 4 2 5 5 5 8 3-5 3-11 2-18z\"/>"
    "<path fill=\"#ffc857\" d=\"M32 42c1 5 5 6 5 11a5 5 0 0 1-10 0c0-4 4-6 "
    "5-11z\"/></svg>";

static json_t *spec_of(const exchange_t *exchange, const profile_t *profile)
{
    cleanup_free char *picture =
        exchange_path(exchange, "/kernelspecs/%s/logo-svg.svg", profile->name);

    return json_pack(
        "{s:s,s:{s:[s,s,s,s,s,s],s:{},s:s,s:s,s:s,s:{s:b},s:s},s:{s:s}}",
        "name", profile->name, "spec", "argv", "hearth", "kernel", "--profile",
        profile->name, "-f", "{connection_file}", "env", "display_name",
        profile->display_name, "language", "python", "interrupt_mode",
        "message", "metadata", "debugger", 0, "kernel_protocol_version", "5.5",
        "resources", "logo-svg", picture);
}

static void list(exchange_t *exchange)
{
    const options_t *options = exchange->http->options;
    json_t *specs = json_object();

    for (size_t i = 0; i < options->profile_count; i++)
        json_object_set_new(specs, options->profiles[i]->name,
                            spec_of(exchange, options->profiles[i]));
    exchange_json(exchange, 200,
                  json_pack("{s:s,s:o}", "default", options->profiles[0]->name,
                            "kernelspecs", specs));
}

static const profile_t *find(exchange_t *exchange)
{
    const profile_t *profile = options_profile(exchange->http->options,
                                               exchange->request.parameters[0]);

    if (!profile)
        exchange_fail(exchange, 404, "Kernel spec %.100s not found",
                      exchange->request.parameters[0]);
    return profile;
}

static void show(exchange_t *exchange)
{
    const profile_t *profile = find(exchange);

    if (profile)
        exchange_json(exchange, 200, spec_of(exchange, profile));
}

static void show_file(exchange_t *exchange)
{
    if (!find(exchange))
        return;
    if (strcmp(exchange->request.parameters[1], "logo-svg.svg") != 0) {
        exchange_fail(exchange, 404, "Kernel spec resource %.100s not found",
                      exchange->request.parameters[1]);
        return;
    }
    exchange_header(exchange, "Cache-Control", "max-age=2592000");
    exchange_bytes(exchange, 200, "image/svg+xml", logo, sizeof logo - 1);
}

const route_t kernelspec_routes[] = {
    {METHOD_GET, "/api/kernelspecs", SCOPE_OBSERVE, list},
    {METHOD_GET, "/api/kernelspecs/{}", SCOPE_OBSERVE, show},
    {METHOD_GET, "/kernelspecs/{}/{}", SCOPE_OBSERVE, show_file},
    {0},
};
