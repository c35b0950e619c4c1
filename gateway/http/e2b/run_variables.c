/* See run_variables.h. An object of texts in JSON is one in Python, too, as
 * long as characters are written as they are. */
#include "gateway/http/e2b/run_variables.h"

#include "base/buffer.h"
#include "base/cleanup.h"

#define ENVIRON "__import__('os').environ"

char *run_variables_before(json_t *of_sandbox, json_t *of_run)
{
    json_auto_t *all = json_object();

    json_object_update(all, of_sandbox);
    json_object_update(all, of_run);
    if (!json_object_size(all))
        return NULL;
    cleanup_free char *text = json_dumps(all, JSON_COMPACT);
    return mem_format(ENVIRON ".update(%s)", text);
}

char *run_variables_after(json_t *of_sandbox, json_t *of_run)
{
    json_auto_t *names = json_array();
    json_t *value;
    const char *name;

    json_object_foreach(of_run, name, value)
    {
        json_array_append_new(names, json_string(name));
    }
    if (!json_array_size(names))
        return NULL;
    cleanup_free char *gone = json_dumps(names, JSON_COMPACT);
    cleanup_free char *kept = run_variables_before(of_sandbox, NULL);
    return mem_format("[" ENVIRON ".pop(name, None) for name in %s]\n%s", gone,
                      kept ? kept : "");
}
