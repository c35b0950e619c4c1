/* See reload.h. In the main thread, as everything that reads what may change
 * (option_table.c). */
#include "gateway/serve/reload.h"

#include "base/buffer.h"
#include "base/log.h"
#include "base/log_file.h"
#include "gateway/config/config_reload.h"
#include "gateway/config/state_files.h"
#include "gateway/frontends/management_error.h"
#include "gateway/http/server/http.h"

struct reload {
    options_t *options;              /* borrowed */
    const service_notify_t *manager; /* borrowed, or NULL */
    zactor_t *http;                  /* borrowed; NULL: no HTTP */
    config_reload_t *config;         /* owned */
    char *log;                       /* owned; NULL: it is not its own file */
};

reload_t *reload_new(options_t *options, const service_notify_t *manager,
                     zactor_t *http)
{
    reload_t *self = mem_new(sizeof *self);
    cleanup_free char *log =
        mem_format("%s/" GATEWAY_LOG_FILE, options->state_dir);

    self->options = options;
    self->manager = manager;
    self->http = http;
    self->config = config_reload_new(options);
    if (log_file_is(log))
        self->log = take_ptr(log);
    return self;
}

void reload_destroy(reload_t **self_p)
{
    reload_t *self = *self_p;

    if (!self)
        return;
    config_reload_destroy(&self->config);
    free(self->log);
    free(self);
    *self_p = NULL;
}

static json_t *refuse(const config_report_t *report)
{
    cleanup_buffer buffer_t all = BUFFER_EMPTY;
    json_t *errors = json_array();
    const char *text;
    bool is_error;
    json_t *reply;

    for (size_t i = 0; (text = config_report_at(report, i, &is_error)); i++)
        if (is_error) {
            log_error("reload: %s", text);
            json_array_append_new(errors, json_string(text));
            buffer_format(&all, "%s%s", all.size ? "\n" : "", text);
        }
    log_error("reload: the old configuration stays in force");
    reply = management_error(
        "ConfigurationError", GATEWAY_EXIT_ENVIRONMENT,
        "the new configuration has errors; the old one stays in force");
    json_object_set_new(reply, "errors", errors);
    json_object_set_new(reply, "hint", json_string((const char *) all.data));
    return reply;
}

static void log_changes(const json_t *changes)
{
    const json_t *item;
    size_t i;

    json_array_foreach(json_object_get(changes, "changed"), i, item)
        log_notice("reload: %s = %s (it was %s)",
                   json_string_value(json_object_get(item, "key")),
                   json_string_value(json_object_get(item, "to")),
                   json_string_value(json_object_get(item, "from")));
    json_array_foreach(json_object_get(changes, "renewed"), i, item)
        log_notice("reload: the file of %s is another one now and is read",
                   json_string_value(item));
    json_array_foreach(json_object_get(changes, "restart"), i, item)
        log_warning("reload: %s has another value now, which needs a restart",
                    json_string_value(item));
    json_array_foreach(json_object_get(changes, "command_line"), i, item)
        log_notice("reload: %s keeps its value from the command line",
                   json_string_value(item));
}

static void log_warnings(const config_report_t *report)
{
    const char *text;
    bool is_error;

    for (size_t i = 0; (text = config_report_at(report, i, &is_error)); i++)
        log_warning("reload: %s", text);
}

static json_t *read_again(reload_t *self)
{
    cleanup_config_report config_report_t *report = config_report_new();
    json_t *changes = config_reload_run(self->config, report);

    if (!changes)
        return refuse(report);
    log_set_level((log_level_t) self->options->log_level);
    log_warnings(report);
    log_changes(changes);
    if (self->http
        && (json_array_size(json_object_get(changes, "changed"))
            || json_array_size(json_object_get(changes, "renewed"))))
        http_change(self->http, self->options);
    json_object_set_new(changes, "status", json_string("ok"));
    return changes;
}

json_t *reload_run(reload_t *self)
{
    json_t *reply;
    fault_t fault;

    service_notify_reloading(self->manager);
    if (self->log && log_file_reopen(self->log, &fault) < 0)
        log_error("reload: %s", fault.text);
    reply = read_again(self);
    log_notice("reload: done");
    service_notify_ready(self->manager, "running");
    return reply;
}
