/* What the management socket asks of the doors: one more, which there are, one
 * less. */
#include "gateway/endpoints/internal.h"

#include "gateway/audit/audit.h"
#include "gateway/config/state_files.h"
#include "gateway/endpoints/actor.h"
#include "gateway/frontends/management_error.h"

#include <assert.h>
#include <jansson.h>
#include <string.h>

static void answer(keeper_t *self, const char *token, json_t *model)
{
    json_auto_t *owned = model;
    cleanup_free char *text = json_dumps(owned, JSON_COMPACT);

    zstr_sendx(self->pipe, token, text, NULL);
}

static json_t *describe(const door_t *door)
{
    cleanup_free char *file = door_file(door);

    return json_pack("{s:s,s:s,s:b,s:s,s:s}", "name", door->name, "session",
                     door->aim->id, "observe", door->is_observing, "created",
                     door->created, "connection_file", file);
}

/* Tombstones give way to those who live. */
static void make_room(keeper_t *self)
{
    door_t **oldest = NULL;

    for (door_t **at = &self->doors; *at; at = &(*at)->next)
        if ((*at)->aim->is_gone)
            oldest = at;
    if (oldest && self->count >= DOORS_MAX)
        keeper_close(self, oldest, AUDIT_GATEWAY, "others need its place");
}

static void on_open(keeper_t *self, const char *token, zmsg_t *order)
{
    cleanup_free char *session = zmsg_popstr(order);
    cleanup_free char *profile = zmsg_popstr(order);
    cleanup_free char *observe = zmsg_popstr(order);
    cleanup_free char *who = zmsg_popstr(order);
    door_t *door = NULL;
    fault_t fault;
    aim_t *aim;

    make_room(self);
    if (self->count >= DOORS_MAX) {
        answer(self, token,
               management_error("TooManyViewers", GATEWAY_EXIT_FAILED,
                                "%d viewers have connection files already; "
                                "`hearth viewer revoke` takes one away",
                                DOORS_MAX));
        return;
    }
    aim = keeper_find_aim(self, session, &fault);
    if (!aim
        || door_new(self, aim, profile, strcmp(observe, "1") == 0, &door,
                    &fault)
               < 0) {
        if (aim)
            keeper_forget_aim(self, aim);
        answer(self, token,
               management_error("ViewerNotMade", GATEWAY_EXIT_FAILED, "%s",
                                fault.text));
        return;
    }
    keeper_add(self, door);
    scribe_note_by(self->scribe, who, "viewer_open", session, "ok",
                   json_pack("{s:s,s:b}", "viewer", door->name, "observe",
                             door->is_observing));
    answer(self, token,
           json_pack("{s:s,s:o}", "status", "ok", "viewer", describe(door)));
}

static void on_list(keeper_t *self, const char *token)
{
    json_t *viewers = json_array();

    for (const door_t *at = self->doors; at; at = at->next)
        json_array_insert_new(viewers, 0, describe(at));
    answer(self, token,
           json_pack("{s:s,s:o}", "status", "ok", "viewers", viewers));
}

static void on_close(keeper_t *self, const char *token, zmsg_t *order)
{
    cleanup_free char *name = zmsg_popstr(order);
    cleanup_free char *who = zmsg_popstr(order);
    door_t **at = &self->doors;

    while (*at && strcmp((*at)->name, name) != 0)
        at = &(*at)->next;
    if (*at) {
        keeper_close(self, at, who, "revoked");
        answer(self, token, json_pack("{s:s}", "status", "ok"));
    } else {
        answer(self, token,
               management_error("UnknownViewer", GATEWAY_EXIT_GONE,
                                "there is no viewer %s; `hearth viewer list` "
                                "shows those that are",
                                name));
    }
}

void door_order(keeper_t *self, const char *word, const char *token,
                zmsg_t *order)
{
    if (strcmp(word, "OPEN") == 0)
        on_open(self, token, order);
    else if (strcmp(word, "LIST") == 0)
        on_list(self, token);
    else if (strcmp(word, "CLOSE") == 0)
        on_close(self, token, order);
    else
        assert(!"an order that doors do not know");
}
