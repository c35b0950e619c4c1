/* The table of traits, and the conversion of their values. */
#include "gateway/cli/client/kernelgateway_options.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "gateway/cli/core/subprocess.h"
#include "gateway/config/default_paths.h"
#include "notebooks/formats/notebook.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SEPARATORS ", []'\"" /* between names of a list */
#define FETCH_MS   60000
#define FETCHED    "seed.ipynb" /* in the state folder */

/* --- What a value becomes --- */

static int take_key(options_t *options, const trait_t *trait, const char *value,
                    fault_t *fault)
{
    return options_set(options, trait->more, value, fault);
}

/* Takes a text; an empty one leaves the default. */
static int take_text(options_t *options, const trait_t *trait,
                     const char *value, fault_t *fault)
{
    return *value ? options_set(options, trait->more, value, fault) : 0;
}

/* Sets an address. No address is all of them for Tornado, and a name is one
 * too. */
static int take_address(options_t *options, const trait_t *trait,
                        const char *value, fault_t *fault)
{
    if (!*value || strcmp(value, "*") == 0)
        value = "0.0.0.0";
    else if (strcmp(value, "localhost") == 0)
        value = "127.0.0.1";
    return options_set(options, trait->more, value, fault);
}

/* Slashes around it may be missing. */
static int take_base(options_t *options, const trait_t *trait,
                     const char *value, fault_t *fault)
{
    size_t size;

    value += strspn(value, "/");
    for (size = strlen(value); size && value[size - 1] == '/'; size--)
        continue;
    cleanup_free char *base =
        mem_format("/%.*s%s", (int) size, value, size ? "/" : "");
    return options_set(options, trait->more, base, fault);
}

static int take_path(options_t *options, const trait_t *trait,
                     const char *value, fault_t *fault)
{
    cleanup_free char *path = realpath(value, NULL);

    if (!path)
        return fault_set(fault, errno, "%s: %s", value, strerror(errno));
    return options_set(options, trait->more, path, fault);
}

static int take_seconds(options_t *options, const trait_t *trait,
                        const char *value, fault_t *fault)
{
    cleanup_free char *duration = mem_format("%ss", value);

    return options_set(options, trait->more, duration, fault);
}

/* Takes a number of seconds; an empty value leaves the default. */
static int take_age(options_t *options, const trait_t *trait, const char *value,
                    fault_t *fault)
{
    return *value ? take_seconds(options, trait, value, fault) : 0;
}

static int take_token(options_t *options, const trait_t *trait,
                      const char *value, fault_t *fault)
{
    int r = *value ? options_set(options, trait->more, value, fault) : 0;

    return r < 0 || !*value ? r
                            : options_set(options, "http/auth", "token", fault);
}

static int take_level(options_t *options, const trait_t *trait,
                      const char *value, fault_t *fault)
{
    static const char *const levels[][3] = {
        {"debug", "10", "debug"},    {"info", "20", "info"},
        {"warn", "30", "warning"},   {"warning", "30", "warning"},
        {"critical", "50", "error"}, {"error", "40", "error"},
    };

    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        if (strcasecmp(value, levels[i][0]) == 0
            || strcmp(value, levels[i][1]) == 0)
            return options_set(options, trait->more, levels[i][2], fault);
    return fault_set(fault, EINVAL,
                     "'%s' is not one of DEBUG, INFO, WARN, ERROR, CRITICAL",
                     value);
}

static int take_default(options_t *options, const trait_t *trait,
                        const char *value, fault_t *fault)
{
    (void) trait;
    return *value ? options_prefer(options, value, fault) : 0;
}

static int take_forced(options_t *options, const trait_t *trait,
                       const char *value, fault_t *fault)
{
    if (!*value)
        return 0;
    if (!options_profile(options, value))
        return fault_set(fault, EINVAL, "there is no profile '%s'", value);
    return options_set(options, trait->more, value, fault);
}

/* Sets a list: "A,B", or as Python writes it: "['A', 'B']". */
static int take_variables(options_t *options, const trait_t *trait,
                          const char *value, fault_t *fault)
{
    cleanup_buffer buffer_t names = BUFFER_EMPTY;

    for (const char *at = value + strspn(value, SEPARATORS); *at;
         at += strspn(at, SEPARATORS)) {
        size_t size = strcspn(at, SEPARATORS);
        cleanup_free char *name = mem_copy(at, size);
        at += size;
        if (default_paths_is_free(name))
            buffer_format(&names, "%s%s", names.size ? "," : "", name);
        else
            fprintf(stderr, "hearth: %s: %.100s is left out: %s\n", trait->name,
                    name, "kernels have their own, or must not have it");
    }
    return names.size ? options_set(options, trait->more,
                                    (const char *) names.data, fault)
                      : 0;
}

/* Sets the number of waiting sessions of the default profile. */
static int take_prespawn(options_t *options, const trait_t *trait,
                         const char *value, fault_t *fault)
{
    const profile_t *profile = options_profile(options, NULL);
    cleanup_free char *min = mem_format("profile/%s/pool/min", profile->name);
    cleanup_free char *max = mem_format("profile/%s/pool/max", profile->name);
    int r = options_set(options, min, value, fault);

    (void) trait;
    if (r < 0 || profile->pool.max >= profile->pool.min)
        return r;
    return options_set(options, max, value, fault);
}

/* Returns the notebook's profile, as Kernel Gateway has it: the one that is
 * forced, or the one that it names. Lent. */
static const profile_t *seeded_profile(const options_t *options,
                                       const notebook_t *notebook,
                                       const char **ret_name)
{
    const json_t *spec = json_object_get(notebook->metadata, "kernelspec");

    *ret_name = options->http.force_profile;
    if (!*ret_name)
        *ret_name = json_string_value(json_object_get(spec, "name"));
    return options_profile(options, *ret_name);
}

static bool is_on_a_server(const char *uri)
{
    return strncmp(uri, "http://", 7) == 0 || strncmp(uri, "https://", 8) == 0;
}

/* Fetches a file by the interpreter that kernels have, which knows TLS and
 * proxies. */
static int fetch(const options_t *options, const char *url, const char *path,
                 fault_t *fault)
{
    cleanup_free char *folder = default_paths_python_dir();
    cleanup_free char *script = mem_format("%s/hearth_fetch.py", folder);
    const char *python = options_profile(options, NULL)->python;
    const char *const argv[] = {python, "-I", script, url, path, NULL};
    cleanup_buffer buffer_t said = BUFFER_EMPTY;
    const char *sentence;
    int status = path_make_folders(options->state_dir, 0700, fault);

    if (status == 0)
        status = subprocess_run(argv, FETCH_MS, &said, fault);
    if (status <= 0)
        return status;
    sentence = said.data ? (const char *) said.data : "";
    return fault_set(fault, EIO, "%.*s", (int) strcspn(sentence, "\n"),
                     sentence);
}

/* Returns the path of the seed, which the caller frees; NULL after a failure.
 */
static char *find_seed(const options_t *options, const char *uri,
                       fault_t *fault)
{
    cleanup_free char *fetched = mem_format("%s/" FETCHED, options->state_dir);
    char *path;

    if (is_on_a_server(uri))
        return fetch(options, uri, fetched, fault) < 0 ? NULL
                                                       : take_ptr(fetched);
    path = realpath(strncmp(uri, "file://", 7) == 0 ? uri + 7 : uri, NULL);
    if (!path)
        fault_set(fault, errno, "%s: %s", uri, strerror(errno));
    return path;
}

static int take_seed(options_t *options, const trait_t *trait,
                     const char *value, fault_t *fault)
{
    cleanup_notebook notebook_t notebook = {0};
    const char *name;
    int r;

    (void) trait;
    if (!*value)
        return 0;
    cleanup_free char *path = find_seed(options, value, fault);
    if (!path)
        return -fault->code;
    if ((r = notebook_read(path, &notebook, fault)) < 0)
        return r;
    const profile_t *profile = seeded_profile(options, &notebook, &name);
    if (!profile)
        return fault_set(fault, EINVAL,
                         "%s is for the kernelspec '%.100s', and there is no "
                         "such profile; force_kernel_name names another",
                         path, name);
    cleanup_free char *key = mem_format("profile/%s/seed", profile->name);
    return options_set(options, key, path, fault);
}

static int take_api(options_t *options, const trait_t *trait, const char *value,
                    fault_t *fault)
{
    (void) options;
    if (strcmp(value, "kernel_gateway.jupyter_websocket") == 0
        || strcmp(value, "jupyter-websocket") == 0)
        return 0;
    return fault_set(fault, ENOTSUP, "%s", trait->more);
}

/* Sets a switch from true or false, as Python has them. */
static int take_flag(options_t *options, const trait_t *trait,
                     const char *value, fault_t *fault)
{
    static const char *const words[][2] = {
        {"true", "yes"}, {"1", "yes"}, {"false", "no"}, {"0", "no"}};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(value, words[i][0]) == 0)
            return options_set(options, trait->more, words[i][1], fault);
    return *value ? fault_set(fault, EINVAL, "'%s' is neither True nor False",
                              value)
                  : 0;
}

static int ignore(options_t *options, const trait_t *trait, const char *value,
                  fault_t *fault)
{
    (void) options;
    (void) fault;
    if (*value)
        fprintf(stderr, "hearth: %s is not used: %s\n", trait->name,
                trait->more);
    return 0;
}

static int accept(options_t *options, const trait_t *trait, const char *value,
                  fault_t *fault)
{
    (void) options;
    (void) trait;
    (void) value;
    (void) fault;
    return 0;
}

static int refuse(options_t *options, const trait_t *trait, const char *value,
                  fault_t *fault)
{
    (void) options;
    return *value ? fault_set(fault, ENOTSUP, "%s", trait->more) : 0;
}

/* --- The traits --- */

#define CLASSES_OF_ITS_OWN                                                     \
    "Python classes cannot be loaded into this gateway; remove the option"
#define NO_COOKIES "cookies are signed with a key that is never written"

const trait_t traits[TRAITS + 1] = {
    {"log_level", NULL, take_level, "gateway/log_level",
     "DEBUG, INFO, WARN or ERROR"},
    {"ip", "KG_IP", take_address, "http/ip",
     "address that the gateway listens on"},
    {"port", "KG_PORT", take_key, "http/port",
     "port that the gateway listens on"},
    {"port_retries", "KG_PORT_RETRIES", take_key, "http/port_retries",
     "how many of the next ports are tried"},
    {"base_url", "KG_BASE_URL", take_base, "http/base_url",
     "path below which all others are"},
    {"auth_token", "KG_AUTH_TOKEN", take_token, "http/token",
     "token that clients must send"},
    {"allow_origin", "KG_ALLOW_ORIGIN", take_text, "http/allow_origin",
     "origin whose pages may use the gateway, or *"},
    {"certfile", "KG_CERTFILE", take_path, "http/certificate",
     "PEM file of the certificate, for HTTPS"},
    {"keyfile", "KG_KEYFILE", take_path, "http/key",
     "PEM file of the certificate's key"},
    {"ws_ping_interval", "KG_WS_PING_INTERVAL_SECS", take_seconds,
     "http/ping_interval", "seconds between pings of a WebSocket"},
    {"max_kernels", "KG_MAX_KERNELS", take_key, "sessions/sessions_max",
     "how many kernels may run at a time"},
    {"cull_idle_timeout", NULL, take_seconds, "sessions/idle_timeout",
     "seconds of inactivity that end a kernel"},
    {"default_kernel_name", "KG_DEFAULT_KERNEL_NAME", take_default, NULL,
     "profile if a request names none"},
    {"force_kernel_name", "KG_FORCE_KERNEL_NAME", take_forced,
     "http/force_profile", "profile of every kernel"},
    {"prespawn_count", "KG_PRESPAWN_COUNT", take_prespawn, NULL,
     "kernels that are started in advance"},
    {"api", "KG_API", take_api,
     "only kernel_gateway.jupyter_websocket is served; notebooks as web "
     "services are not",
     "only kernel_gateway.jupyter_websocket"},
    {"list_kernels", "KG_LIST_KERNELS", take_flag, "http/list_kernels",
     "True: kernels can be listed"},
    {"seed_uri", "KG_SEED_URI", take_seed, NULL,
     "notebook that each kernel runs first"},
    {"client_ca", "KG_CLIENT_CA", take_path, "http/client_ca",
     "PEM file of the CA of clients' certificates"},
    {"kernel_manager_class", NULL, refuse, CLASSES_OF_ITS_OWN, NULL},
    {"kernel_spec_manager_class", NULL, refuse, CLASSES_OF_ITS_OWN, NULL},
    {"kernel_websocket_connection_class", NULL, refuse, CLASSES_OF_ITS_OWN,
     NULL},
    {"authorizer_class", NULL, refuse, CLASSES_OF_ITS_OWN, NULL},
    {"identity_provider_class", NULL, refuse, CLASSES_OF_ITS_OWN, NULL},
    {"generate_config", NULL, refuse,
     "the configuration is described in hearth.cfg(5)", NULL},
    {"env_process_whitelist", "KG_ENV_PROCESS_WHITELIST", take_variables,
     "sessions/inherit_env", "variables that kernels inherit"},
    {"env_whitelist", "KG_ENV_WHITELIST", take_variables, "sessions/allow_env",
     "variables that a client may set"},
    {"allow_credentials", "KG_ALLOW_CREDENTIALS", take_flag,
     "http/allow_credentials", "True: pages may use cookies"},
    {"allow_headers", "KG_ALLOW_HEADERS", take_text, "http/allow_headers",
     "headers that pages may send"},
    {"allow_methods", "KG_ALLOW_METHODS", take_text, "http/allow_methods",
     "methods that pages may use"},
    {"expose_headers", "KG_EXPOSE_HEADERS", take_text, "http/expose_headers",
     "response headers that pages may read"},
    {"max_age", "KG_MAX_AGE", take_age, "http/max_age",
     "seconds that browsers cache these permissions"},
    {"trust_xheaders", "KG_TRUST_XHEADERS", ignore,
     "the addresses of clients have no effect here", NULL},
    {"ssl_version", "KG_SSL_VERSION", ignore, "OpenSSL chooses, TLS 1.2 on",
     NULL},
    {"cookie_secret", NULL, ignore, NO_COOKIES, NULL},
    {"cookie_secret_file", NULL, ignore, NO_COOKIES, NULL},
    {"config_file", NULL, ignore,
     "Jupyter's configuration is not read; use hearth.cfg(5)", NULL},
    {"config_file_name", NULL, ignore,
     "Jupyter's configuration is not read; use hearth.cfg(5)", NULL},
    {"cull_connected", NULL, ignore,
     "an observer does not keep a session alive", NULL},
    {"cull_busy", NULL, ignore, "a session that runs a cell is not idle", NULL},
    {"cull_interval", NULL, ignore, "idle sessions end when their time is up",
     NULL},
    {"answer_yes", NULL, accept, NULL, NULL},
    {"show_config", NULL, ignore, "`hearth gateway info` shows some of it",
     NULL},
    {0},
};
