/* See display_places.h. */
#include "notebooks/formats/display_places.h"

void display_places_clear(display_places_t *self)
{
    json_decref(self->ids);
    *self = (display_places_t){0};
}

const char *display_id(const json_t *content)
{
    const char *id = json_string_value(
        json_object_get(json_object_get(content, "transient"), "display_id"));

    return id ? id : "";
}

void display_places_note(display_places_t *self, const char *id, json_t *output,
                         size_t size)
{
    json_t *places;

    if (!*id)
        return;
    if (!self->ids)
        self->ids = json_object();
    places = json_object_get(self->ids, id);
    if (!places) {
        places = json_array();
        json_object_set_new(self->ids, id, places);
    }
    if (json_array_size(places) == DISPLAY_PLACES_MAX)
        json_array_remove(places, 0);
    json_array_append_new(places, json_pack("{s:O, s:I}", "output", output,
                                            "size", (json_int_t) size));
}

int64_t display_places_update(display_places_t *self, const char *id,
                              json_t *form, size_t size, uint64_t room)
{
    int64_t grown = 0;
    json_t *place;
    size_t i;

    json_array_foreach(json_object_get(self->ids, id), i, place)
    {
        int64_t more =
            (int64_t) size - json_integer_value(json_object_get(place, "size"));

        /* The places before may have shrunk by more than this one grows. */
        if (more > 0 && grown + more > 0 && (uint64_t) (grown + more) > room)
            continue;
        grown += more;
        json_object_set_new(place, "size", json_integer((json_int_t) size));
        json_object_update(json_object_get(place, "output"), form);
    }
    return grown;
}
