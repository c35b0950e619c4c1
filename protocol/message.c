/* A Jupyter message. One block holds the message and its four parts as they
 * arrived; a second block holds the unescaped names from the header. The parts
 * are scanned once, when they are copied: the result is kept, and later readers
 * of the content walk it without another check. Belongs to one thread at a
 * time. Knows neither how it is sent (wire) nor the meaning of its content. */
#include "protocol/message.h"

#include "base/clock.h"
#include "protocol/jspan.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define ITEM_COST      64 /* bytes, about: one of a list, besides its bytes */
#define NAMES_REQUIRED 2  /* of a header: the first ones of read_names */

/* Copies of frames. */
typedef struct {
    bytes_t *items; /* owned, and so are the bytes of each */
    size_t count;
} frame_list_t;

typedef enum {
    PART_HEADER,
    PART_PARENT,
    PART_METADATA,
    PART_CONTENT,
    PART_COUNT
} part_t;

static const char *const part_names[PART_COUNT] = {"header", "parent header",
                                                   "metadata", "content"};

struct message {
    bytes_t parts[PART_COUNT]; /* they lie in `text` */
    jspan_t spans[PART_COUNT]; /* ABSENT: that part is no JSON */
    buffer_t names;            /* owned: the three strings below */
    size_t id;                 /* where in names each begins */
    size_t type;
    size_t session;
    const char *lacks; /* the required name that is not there; or NULL */
    frame_list_t identities;
    frame_list_t buffers;
    char *sender;         /* owned, or NULL */
    pid_t sender_process; /* 0: unknown */
    uint8_t text[];
};

static void list_clear(frame_list_t *self)
{
    for (size_t i = 0; i < self->count; i++) {
        cleanup_free void *bytes = NULL;
        memcpy(&bytes, &self->items[i].bytes, sizeof bytes);
    }
    free(self->items);
    *self = (frame_list_t){0};
}

static void list_add(frame_list_t *self, const void *bytes, size_t size)
{
    /* Full at each power of two. */
    if ((self->count & (self->count - 1)) == 0)
        self->items =
            mem_resize(self->items, (self->count > 0 ? self->count : 1) * 2
                                        * sizeof *self->items);
    self->items[self->count++] =
        (bytes_t){.bytes = mem_copy(bytes, size), .size = size};
}

void message_destroy(message_t **self_p)
{
    message_t *self = *self_p;
    if (self == NULL)
        return;
    list_clear(&self->buffers);
    list_clear(&self->identities);
    buffer_reset(&self->names);
    free(self->sender);
    free(self);
    *self_p = NULL;
}

static bytes_t or_empty_object(bytes_t part)
{
    if (part.bytes == NULL || part.size == 0)
        return (bytes_t){.bytes = "{}", .size = 2};
    return part;
}

/* Appends a string with its NUL; "" if the span is absent. */
static size_t add_name(buffer_t *names, jspan_t string)
{
    size_t start = names->size;
    jspan_text(string, names);
    buffer_append(names, "", 1);
    return start;
}

static void read_names(message_t *self)
{
    static const char *const keys[] = {"msg_id", "msg_type", "session", NULL};
    jspan_t found[3];
    jspan_members(self->spans[PART_HEADER], keys, found);
    buffer_reserve(&self->names,
                   found[0].size + found[1].size + found[2].size + 3);
    self->id = add_name(&self->names, found[0]);
    self->type = add_name(&self->names, found[1]);
    self->session = add_name(&self->names, found[2]);
    for (size_t i = 0; i < NAMES_REQUIRED && !self->lacks; i++)
        self->lacks = jspan_is_name(found[i]) ? NULL : keys[i];
}

message_t *message_new(bytes_t header, bytes_t parent, bytes_t metadata,
                       bytes_t content)
{
    const bytes_t parts[PART_COUNT] = {
        or_empty_object(header), or_empty_object(parent),
        or_empty_object(metadata), or_empty_object(content)};
    size_t size = 0;
    for (size_t i = 0; i < PART_COUNT; i++)
        size += parts[i].size;

    message_t *self = mem_resize(NULL, sizeof *self + size);
    *self = (message_t){0};
    uint8_t *end = self->text;
    for (size_t i = 0; i < PART_COUNT; i++) {
        fault_t fault;
        memcpy(end, parts[i].bytes, parts[i].size);
        self->parts[i] = (bytes_t){.bytes = end, .size = parts[i].size};
        (void) jspan_check(end, parts[i].size, &self->spans[i], &fault);
        end += parts[i].size;
    }
    read_names(self);
    return self;
}

int message_check(const message_t *self, fault_t *fault)
{
    for (size_t i = 0; i < PART_COUNT; i++) {
        jspan_t again;
        if (jspan_is(self->spans[i], JSPAN_OBJECT))
            continue;
        if (jspan_check(self->parts[i].bytes, self->parts[i].size, &again,
                        fault)
            < 0)
            return fault_wrap(fault, "%s", part_names[i]);
        return fault_set(fault, EBADMSG, "the %s is not an object",
                         part_names[i]);
    }
    return self->lacks
               ? fault_set(fault, EINVAL, "the header has no %s", self->lacks)
               : 0;
}

void message_add_identity(message_t *self, const void *bytes, size_t size)
{
    list_add(&self->identities, bytes, size);
}

void message_add_buffer(message_t *self, const void *bytes, size_t size)
{
    list_add(&self->buffers, bytes, size);
}

const char *message_id(const message_t *self)
{
    return (const char *) self->names.data + self->id;
}

const char *message_type(const message_t *self)
{
    return (const char *) self->names.data + self->type;
}

bool message_is_gateways(const message_t *self)
{
    const char *session = message_session(self);

    return session
           && strncmp(session, MESSAGE_GATEWAY_SESSION,
                      strlen(MESSAGE_GATEWAY_SESSION))
                  == 0;
}

const char *message_session(const message_t *self)
{
    return (const char *) self->names.data + self->session;
}

bytes_t message_header(const message_t *self)
{
    return self->parts[PART_HEADER];
}

bytes_t message_parent(const message_t *self)
{
    return self->parts[PART_PARENT];
}

bytes_t message_metadata(const message_t *self)
{
    return self->parts[PART_METADATA];
}

bytes_t message_content(const message_t *self)
{
    return self->parts[PART_CONTENT];
}

void message_set_sender(message_t *self, const char *sender, pid_t process)
{
    free(self->sender);
    self->sender = mem_text(sender);
    self->sender_process = process;
}

const char *message_sender(const message_t *self)
{
    return self->sender != NULL ? self->sender : "";
}

pid_t message_sender_process(const message_t *self)
{
    return self->sender_process;
}

jspan_t message_metadata_json(const message_t *self)
{
    return self->spans[PART_METADATA];
}

jspan_t message_content_json(const message_t *self)
{
    return self->spans[PART_CONTENT];
}

static size_t list_bytes(const frame_list_t *self)
{
    size_t size = self->count * ITEM_COST;

    for (size_t i = 0; i < self->count; i++)
        size += self->items[i].size;
    return size;
}

size_t message_bytes(const message_t *self)
{
    size_t size = sizeof *self + self->names.size
                  + list_bytes(&self->identities) + list_bytes(&self->buffers);

    for (size_t i = 0; i < PART_COUNT; i++)
        size += self->parts[i].size;
    return size;
}

size_t message_identity_count(const message_t *self)
{
    return self->identities.count;
}

bytes_t message_identity(const message_t *self, size_t index)
{
    assert(index < self->identities.count);
    return self->identities.items[index];
}

const bytes_t *message_identities(const message_t *self)
{
    return self->identities.items;
}

size_t message_buffer_count(const message_t *self)
{
    return self->buffers.count;
}

bytes_t message_buffer(const message_t *self, size_t index)
{
    assert(index < self->buffers.count);
    return self->buffers.items[index];
}

const bytes_t *message_buffers(const message_t *self)
{
    return self->buffers.items;
}

void message_write_header(buffer_t *out, const char *msg_id,
                          const char *session, const char *msg_type,
                          int64_t wall_us)
{
    char date[CLOCK_ISO_SIZE];
    clock_iso(wall_us, date);
    jspan_write_begin(out);
    jspan_write_text(out, "msg_id", msg_id);
    jspan_write_text(out, "session", session);
    jspan_write_text(out, "username", "hearth");
    jspan_write_text(out, "date", date);
    jspan_write_text(out, "msg_type", msg_type);
    jspan_write_text(out, "version", MESSAGE_PROTOCOL_VERSION);
    jspan_write_end(out);
}

void message_write_status(buffer_t *out, const char *state)
{
    jspan_write_begin(out);
    jspan_write_text(out, "execution_state", state);
    jspan_write_end(out);
}

void message_write_stream(buffer_t *out, const char *name, const char *text)
{
    jspan_write_begin(out);
    jspan_write_text(out, "name", name);
    jspan_write_text(out, "text", text);
    jspan_write_end(out);
}
