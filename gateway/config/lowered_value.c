/* See lowered_value.h. */
#include "gateway/config/lowered_value.h"

#include "base/buffer.h"
#include "base/string_list.h"
#include "gateway/config/json_text.h"
#include "gateway/config/option_keys.h"
#include "gateway/config/option_table.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LIMITS "limits/" /* all keys of this section */

/* How a session can have less of a key than its profile. */
typedef enum {
    WAY_NONE,    /* not at all */
    WAY_LESS,    /* a lower number, or no */
    WAY_MORE,    /* a higher number, or yes */
    WAY_LIST,    /* a list of its own, which counts besides the profile's */
    WAY_LIST_NO, /* such a list, which is nothing at all if it is empty */
    WAY_NO,      /* nothing at all, an empty text */
} way_t;

static const struct {
    const char *key;
    way_t way;
} ways[] = {
    {"packages/index", WAY_NO},
    {"packages/allow", WAY_LIST},
    {"packages/deny", WAY_LIST},
    {"packages/cooldown", WAY_MORE},
    {"packages/require_hashes", WAY_MORE},
    {"packages/offline", WAY_MORE},
    {"packages/pth", WAY_LESS},
    {"packages/shadow", WAY_LESS},
    {"packages/max_bytes", WAY_LESS},
    {"packages/max_files", WAY_LESS},
    {"packages/cells", WAY_LESS},
    {"fetch/allow", WAY_LIST_NO},
    {"fetch/deny", WAY_LIST},
    {"fetch/max_bytes", WAY_LESS},
    {"fetch/max_files", WAY_LESS},
    {"fetch/cells", WAY_LESS},
    {"fetch/submodules", WAY_LESS},
};

/* A value that is asked for. */
typedef struct {
    const profile_t *profile;  /* borrowed */
    const option_value_t *row; /* static */
    const char *key;           /* borrowed; "packages/deny" */
    const char *text;          /* borrowed; as hearth.cfg would have it */
    way_t way;
} setting_t;

static way_t find_way(const char *key)
{
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (strcmp(ways[i].key, key) == 0)
            return ways[i].way;
    return strncmp(key, LIMITS, sizeof LIMITS - 1) == 0 ? WAY_LESS : WAY_NONE;
}

static const option_value_t *find_row(const char *key)
{
    return option_keys_find(option_profile_rows, option_profile_row_count,
                            OF_PROFILE_SIZE, key);
}

static bool is_list(const setting_t *setting)
{
    return setting->way == WAY_LIST || setting->way == WAY_LIST_NO;
}

/* Writes the texts of an array with commas between. */
static bool write_array(const json_t *array, buffer_t *text)
{
    const json_t *item;
    size_t i;

    json_array_foreach(array, i, item)
    {
        if (!json_text_is_whole(item))
            return false;
        buffer_format(text, "%s%s", i ? ", " : "", json_string_value(item));
    }
    return true;
}

/* Writes the value as the configuration would have it; false if it has no
 * such form. */
static bool write_value(const json_t *value, buffer_t *text)
{
    if (json_text_is_whole(value))
        buffer_text(text, json_string_value(value));
    else if (json_is_integer(value))
        buffer_format(text, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_boolean(value))
        buffer_text(text, json_is_true(value) ? "yes" : "no");
    else if (!json_is_array(value) || !write_array(value, text))
        return false;
    buffer_append(text, "", 1);
    return true;
}

static uint64_t number_at(const profile_t *profile, const option_value_t *row)
{
    const void *member = (const char *) profile + row->offset;

    return row->kind == VALUE_SWITCH ? (uint64_t) * (const int *) member
                                     : *(const uint64_t *) member;
}

static void set_number(profile_t *view, const option_value_t *row,
                       uint64_t number)
{
    void *member = (char *) view + row->offset;

    if (row->kind == VALUE_SWITCH)
        *(int *) member = (int) number;
    else
        *(uint64_t *) member = number;
}

/* Returns true if a session with `asked` could do more than the profile's
 * sessions. Where a limit has a zero it means none. */
static bool is_looser(const setting_t *setting, uint64_t asked)
{
    uint64_t most = number_at(setting->profile, setting->row);
    bool has_none = setting->row->has_zero;

    if (setting->way == WAY_MORE)
        return asked < most;
    return (most || !has_none) && (asked > most || (!asked && has_none));
}

static int refuse_looser(const setting_t *setting, fault_t *fault)
{
    cleanup_free char *permitted =
        option_value_write(setting->row, setting->profile);
    bool is_switch = setting->row->kind == VALUE_SWITCH;
    bool is_more = setting->way == WAY_MORE;

    return fault_set(fault, ERANGE,
                     "%s: %s is %s than the %s of profile %s; a session can "
                     "only have %s",
                     setting->key, setting->text,
                     is_switch ? "looser"
                     : is_more ? "less"
                               : "more",
                     permitted, setting->profile->name,
                     is_switch ? permitted
                     : is_more ? "more"
                               : "less");
}

/* Refuses a key that is the operator's alone. */
static int refuse_key(const setting_t *setting, fault_t *fault)
{
    cleanup_free char *value =
        option_value_write(setting->row, setting->profile);
    bool is_path = setting->row->kind == VALUE_PATH;

    return fault_set(fault, EINVAL,
                     "%s: \"%.64s\" is refused: a session has the value of its "
                     "profile, %s%s%.200s",
                     setting->key, setting->text, setting->profile->name,
                     is_path || !*value ? "" : ": ", is_path ? "" : value);
}

/* Refuses a text that is not empty. What is before an @ may be a password. */
static int refuse_text(const setting_t *setting, fault_t *fault)
{
    cleanup_free char *value =
        option_value_write(setting->row, setting->profile);
    const char *at = strrchr(setting->text, '@');

    return fault_set(
        fault, EINVAL,
        "%s: \"%s%.100s\" is refused: a session has the \"%.200s\" "
        "of profile %s, or \"\" for nothing at all",
        setting->key, at ? "..." : "", at ? at : setting->text, value,
        setting->profile->name);
}

static int refuse_empty(const setting_t *setting, fault_t *fault)
{
    cleanup_free char *value =
        option_value_write(setting->row, setting->profile);

    return fault_set(fault, EINVAL,
                     "%s: \"\" would take nothing away from what profile %s "
                     "permits, whose list is \"%.200s\": name one or more",
                     setting->key, setting->profile->name, value);
}

/* Returns an array of the list's texts. */
static json_t *list_of(char *const *list)
{
    json_t *array = json_array();

    for (; list && *list; list++)
        json_array_append_new(array, json_string(*list));
    return array;
}

static json_t *describe_number(const setting_t *setting, uint64_t number)
{
    if (setting->row->kind == VALUE_SWITCH)
        return json_boolean(number);
    if (setting->row->kind != VALUE_DURATION)
        return json_integer((json_int_t) number);
    return number % 1000 ? json_string(setting->text)
                         : json_integer((json_int_t) (number / 1000));
}

/* Reads a number or a switch into the view. */
static int read_number(const setting_t *setting, profile_t *view,
                       json_t **ret_value, fault_t *fault)
{
    profile_t scratch = {0}; /* has this value alone */
    uint64_t number;
    int r = option_value_set(setting->row, &scratch, setting->key,
                             setting->text, fault);

    if (r < 0)
        return r;
    number = number_at(&scratch, setting->row);
    if (is_looser(setting, number))
        return refuse_looser(setting, fault);
    set_number(view, setting->row, number);
    *ret_value = describe_number(setting, number);
    return 0;
}

static int read_list(const setting_t *setting, json_t **ret_value,
                     fault_t *fault)
{
    profile_t scratch = {0};
    char ***list = (void *) ((char *) &scratch + setting->row->offset);
    int r = option_value_set(setting->row, &scratch, setting->key,
                             setting->text, fault);

    if (r < 0)
        return r;
    if (**list || setting->way == WAY_LIST_NO)
        *ret_value = list_of(*list);
    else
        r = refuse_empty(setting, fault);
    string_list_destroy(list);
    return r;
}

static int read_member(const setting_t *setting, profile_t *view,
                       json_t **ret_value, fault_t *fault)
{
    switch (setting->way) {
    case WAY_LESS:
    case WAY_MORE:
        return read_number(setting, view, ret_value, fault);
    case WAY_LIST:
    case WAY_LIST_NO:
        return read_list(setting, ret_value, fault);
    case WAY_NO:
        if (*setting->text)
            return refuse_text(setting, fault);
        *ret_value = json_string("");
        return 0;
    case WAY_NONE:
        break;
    }
    return refuse_key(setting, fault);
}

int lowered_value_read(const profile_t *profile, const char *key,
                       const json_t *value, profile_t *view, json_t **ret_value,
                       fault_t *fault)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    setting_t setting = {.profile = profile,
                         .row = find_row(key),
                         .key = key,
                         .way = find_way(key)};

    if (!setting.row) {
        cleanup_free char *whole =
            mem_format("profile/%s/%s", profile->name, key);

        return option_keys_refuse(whole, fault);
    }
    bool fits = setting.way == WAY_NONE || json_is_string(value)
                || json_is_array(value) == is_list(&setting);

    if (!write_value(value, &text) || !fits)
        return fault_set(fault, EINVAL,
                         "%s is a number, a switch, a list or a text as in "
                         "hearth.cfg",
                         key);
    setting.text = (const char *) text.data;
    return read_member(&setting, view, ret_value, fault);
}

char *lowered_value_write(const char *key, const json_t *value)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    const option_value_t *row = find_row(key);
    profile_t scratch = {0};
    fault_t fault;

    if (!row || !value || !write_value(value, &text))
        return NULL;
    /* A size or a duration in its largest unit. */
    if ((row->kind == VALUE_SIZE || row->kind == VALUE_DURATION)
        && option_value_set(row, &scratch, key, (const char *) text.data,
                            &fault)
               == 0)
        return option_value_write(row, &scratch);
    return mem_text((const char *) text.data);
}
