/* See lowering.h. */
#include "gateway/config/lowering.h"

#include "base/buffer.h"
#include "base/log.h"
#include "base/string_list.h"
#include "gateway/config/option_keys.h"
#include "gateway/config/option_table.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

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
    {"packages/index", WAY_NO},       {"packages/allow", WAY_LIST},
    {"packages/deny", WAY_LIST},      {"packages/cooldown", WAY_MORE},
    {"packages/offline", WAY_MORE},   {"packages/max_bytes", WAY_LESS},
    {"packages/max_files", WAY_LESS}, {"packages/cells", WAY_LESS},
    {"fetch/allow", WAY_LIST_NO},     {"fetch/deny", WAY_LIST},
    {"fetch/max_bytes", WAY_LESS},    {"fetch/cells", WAY_LESS},
    {"fetch/submodules", WAY_LESS},
};

/* One member of a request. */
typedef struct {
    const profile_t *profile;  /* borrowed */
    const option_value_t *row; /* static */
    const char *key;           /* borrowed; "packages/deny" */
    const char *text;          /* borrowed; as hearth.cfg would have it */
    way_t way;
} member_t;

static way_t find_way(const char *key)
{
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (strcmp(ways[i].key, key) == 0)
            return ways[i].way;
    return strncmp(key, LOWERING_LIMITS "/", sizeof LOWERING_LIMITS) == 0
               ? WAY_LESS
               : WAY_NONE;
}

static const option_value_t *find_row(const char *key)
{
    return option_keys_find(option_profile_rows, option_profile_row_count,
                            OF_PROFILE_SIZE, key);
}

static bool is_list(const member_t *member)
{
    return member->way == WAY_LIST || member->way == WAY_LIST_NO;
}

static bool is_whole(const json_t *value)
{
    return strlen(json_string_value(value)) == json_string_length(value);
}

/* Writes the texts of an array with commas between. */
static bool write_array(const json_t *array, buffer_t *text)
{
    const json_t *item;
    size_t i;

    json_array_foreach(array, i, item)
    {
        if (!json_is_string(item) || !is_whole(item))
            return false;
        buffer_format(text, "%s%s", i ? ", " : "", json_string_value(item));
    }
    return true;
}

/* Writes the value as the configuration would have it; false if it has no
 * such form. */
static bool write_value(const json_t *value, buffer_t *text)
{
    if (json_is_string(value) && is_whole(value))
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
static bool is_looser(const member_t *member, uint64_t asked)
{
    uint64_t most = number_at(member->profile, member->row);
    bool has_none = member->row->has_zero;

    if (member->way == WAY_MORE)
        return asked < most;
    return (most || !has_none) && (asked > most || (!asked && has_none));
}

static int refuse_looser(const member_t *member, fault_t *fault)
{
    cleanup_free char *permitted =
        option_value_write(member->row, member->profile);
    bool is_switch = member->row->kind == VALUE_SWITCH;
    bool is_more = member->way == WAY_MORE;

    return fault_set(fault, ERANGE,
                     "%s: %s is %s than the %s of profile %s; a session can "
                     "only have %s",
                     member->key, member->text,
                     is_switch ? "looser"
                     : is_more ? "less"
                               : "more",
                     permitted, member->profile->name,
                     is_switch ? permitted
                     : is_more ? "more"
                               : "less");
}

/* Refuses a key that is the operator's alone. */
static int refuse_key(const member_t *member, fault_t *fault)
{
    cleanup_free char *value = option_value_write(member->row, member->profile);
    bool is_path = member->row->kind == VALUE_PATH;

    return fault_set(fault, EINVAL,
                     "%s: \"%.64s\" is refused: a session has the value of its "
                     "profile, %s%s%.200s",
                     member->key, member->text, member->profile->name,
                     is_path || !*value ? "" : ": ", is_path ? "" : value);
}

/* Refuses a text that is not empty. What is before an @ may be a password. */
static int refuse_text(const member_t *member, fault_t *fault)
{
    cleanup_free char *value = option_value_write(member->row, member->profile);
    const char *at = strrchr(member->text, '@');

    return fault_set(
        fault, EINVAL,
        "%s: \"%s%.100s\" is refused: a session has the \"%.200s\" "
        "of profile %s, or \"\" for nothing at all",
        member->key, at ? "..." : "", at ? at : member->text, value,
        member->profile->name);
}

static int refuse_empty(const member_t *member, fault_t *fault)
{
    cleanup_free char *value = option_value_write(member->row, member->profile);

    return fault_set(fault, EINVAL,
                     "%s: \"\" would take nothing away from what profile %s "
                     "permits, whose list is \"%.200s\": name one or more",
                     member->key, member->profile->name, value);
}

/* Returns an array of the list's texts. */
static json_t *list_of(char *const *list)
{
    json_t *array = json_array();

    for (; list && *list; list++)
        json_array_append_new(array, json_string(*list));
    return array;
}

static json_t *describe_number(const member_t *member, uint64_t number)
{
    if (member->row->kind == VALUE_SWITCH)
        return json_boolean(number);
    if (member->row->kind != VALUE_DURATION)
        return json_integer((json_int_t) number);
    return number % 1000 ? json_string(member->text)
                         : json_integer((json_int_t) (number / 1000));
}

/* Reads a number or a switch into the view. */
static int read_number(const member_t *member, profile_t *view,
                       json_t **ret_value, fault_t *fault)
{
    profile_t scratch = {0}; /* has this member alone */
    uint64_t number;
    int r = option_value_set(member->row, &scratch, member->key, member->text,
                             fault);

    if (r < 0)
        return r;
    number = number_at(&scratch, member->row);
    if (is_looser(member, number))
        return refuse_looser(member, fault);
    set_number(view, member->row, number);
    *ret_value = describe_number(member, number);
    return 0;
}

static int read_list(const member_t *member, json_t **ret_value, fault_t *fault)
{
    profile_t scratch = {0};
    char ***list = (void *) ((char *) &scratch + member->row->offset);
    int r = option_value_set(member->row, &scratch, member->key, member->text,
                             fault);

    if (r < 0)
        return r;
    if (**list || member->way == WAY_LIST_NO)
        *ret_value = list_of(*list);
    else
        r = refuse_empty(member, fault);
    string_list_destroy(list);
    return r;
}

static int read_member(const member_t *member, profile_t *view,
                       json_t **ret_value, fault_t *fault)
{
    switch (member->way) {
    case WAY_LESS:
    case WAY_MORE:
        return read_number(member, view, ret_value, fault);
    case WAY_LIST:
    case WAY_LIST_NO:
        return read_list(member, ret_value, fault);
    case WAY_NO:
        if (*member->text)
            return refuse_text(member, fault);
        *ret_value = json_string("");
        return 0;
    case WAY_NONE:
        break;
    }
    return refuse_key(member, fault);
}

/* Reads one member into the view; ret_value is its value in one form. */
static int lower(const profile_t *profile, const char *key, const json_t *value,
                 profile_t *view, json_t **ret_value, fault_t *fault)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    member_t member = {.profile = profile,
                       .row = find_row(key),
                       .key = key,
                       .way = find_way(key)};

    if (!member.row) {
        cleanup_free char *whole =
            mem_format("profile/%s/%s", profile->name, key);

        return option_keys_refuse(whole, fault);
    }
    bool fits = member.way == WAY_NONE || json_is_string(value)
                || json_is_array(value) == is_list(&member);

    if (!write_value(value, &text) || !fits)
        return fault_set(fault, EINVAL,
                         "%s is a number, a switch, a list or a text as in "
                         "hearth.cfg",
                         key);
    member.text = (const char *) text.data;
    return read_member(&member, view, ret_value, fault);
}

static char *key_of(const char *section, const char *name)
{
    return mem_format("%s/%.100s", section, name);
}

int lowering_ask(const profile_t *profile, const char *section,
                 json_t *asked_or_null, char **ret_text, fault_t *fault)
{
    profile_t view = *profile;
    json_auto_t *all = json_object();
    cleanup_free char *text = NULL;
    const char *name;
    json_t *value;

    *ret_text = NULL;
    if (asked_or_null && !json_is_null(asked_or_null)
        && !json_is_object(asked_or_null))
        return fault_set(fault, EINVAL,
                         "%s must be an object, as {\"%s\": \"512M\"}", section,
                         strcmp(section, LOWERING_LIMITS) == 0 ? "memory"
                                                               : "max_bytes");
    json_object_foreach(asked_or_null, name, value)
    {
        cleanup_free char *key = key_of(section, name);
        json_t *read = NULL;
        int r = lower(profile, key, value, &view, &read, fault);

        if (r < 0)
            return r;
        json_object_set_new(all, name, read);
    }
    if (!json_object_size(all))
        return 0;
    text = json_dumps(all, JSON_COMPACT);
    if (strlen(text) > LOWERING_MAX)
        return fault_set(fault, EINVAL,
                         "%s has %zu bytes as JSON, and a session can have %d",
                         section, strlen(text), LOWERING_MAX);
    *ret_text = take_ptr(text);
    return 0;
}

bool lowering_keep(const profile_t *profile, const char *section,
                   const char *text_or_null, profile_t *view, json_t **ret_kept)
{
    json_auto_t *asked =
        text_or_null ? json_loads(text_or_null, JSON_REJECT_DUPLICATES, NULL)
                     : NULL;
    json_auto_t *kept = json_object();
    bool is_read = !text_or_null || json_is_object(asked);
    const char *name;
    json_t *value;

    json_object_foreach(asked, name, value)
    {
        cleanup_free char *key = key_of(section, name);
        json_t *read = NULL;
        fault_t fault;
        int r = lower(profile, key, value, view, &read, &fault);

        if (r == 0)
            json_object_set_new(kept, name, read);
        else
            log_notice("profile=%s its value holds: %s", profile->name,
                       fault.text);
        is_read &= r == 0 || r == -ERANGE;
    }
    *ret_kept = json_object_size(kept) ? take_ptr(kept) : NULL;
    return is_read;
}

profile_limits_t lowering_limits(const profile_t *profile,
                                 const char *text_or_null)
{
    profile_t view = *profile;
    json_auto_t *kept = NULL;

    (void) lowering_keep(profile, LOWERING_LIMITS, text_or_null, &view, &kept);
    return view.limits;
}

char *lowering_write(const char *section, const json_t *kept, const char *name)
{
    cleanup_free char *key = key_of(section, name);
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    const option_value_t *row = find_row(key);
    const json_t *value = json_object_get(kept, name);
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
