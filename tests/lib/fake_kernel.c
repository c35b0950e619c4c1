/* See fake_kernel.h. */
#include "tests/lib/fake_kernel.h"

#include "tests/lib/deeds.h"
#include "tests/lib/session_fakes.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define QUEUE_MAX 64

static struct {
    frame_t frame;
    char content[512], metadata[512];
} frames[QUEUE_MAX];
static size_t frame_count, frames_read;
static size_t frames_come; /* that reads have brought */
static uint64_t kernel_seq;
static pid_t kernel_process;
static int link_fd;

int __wrap_kernel_new(const char *folder, bool shares_user, kernel_t **ret,
                      fault_t *fault);
void __wrap_kernel_destroy(kernel_t **self_p);
int __wrap_kernel_link_fd(const kernel_t *self);
int __wrap_kernel_init_fd(const kernel_t *self);
int __wrap_kernel_pidfd(const kernel_t *self);
pid_t __wrap_kernel_pid(const kernel_t *self);
uint64_t __wrap_kernel_start_time(const kernel_t *self);
bool __wrap_kernel_is_alive(const kernel_t *self);
bool __wrap_kernel_is_writing(const kernel_t *self);
uint64_t __wrap_kernel_memory_kib(const kernel_t *self);
uint64_t __wrap_kernel_received(const kernel_t *self);
size_t __wrap_kernel_held(const kernel_t *self);
size_t __wrap_kernel_unfinished(const kernel_t *self);
size_t __wrap_kernel_growth(const kernel_t *self);
void __wrap_kernel_set_process(kernel_t *self, pid_t pid, int pidfd);
int __wrap_kernel_adopt_process(kernel_t *self, pid_t pid, uint64_t start_time,
                                fault_t *fault);
int __wrap_kernel_reconnect(kernel_t *self, const char *folder, fault_t *fault);
void __wrap_kernel_disconnect(kernel_t *self);
int __wrap_kernel_hello(kernel_t *self, uint64_t acked, fault_t *fault);
int __wrap_kernel_acknowledge(kernel_t *self, uint64_t seq, bool now,
                              fault_t *fault);
int __wrap_kernel_send(kernel_t *self, const frame_t *frame, fault_t *fault);
int __wrap_kernel_flush(kernel_t *self, fault_t *fault);
int __wrap_kernel_read(kernel_t *self, fault_t *fault);
int __wrap_kernel_next(kernel_t *self, frame_t *ret_frame, fault_t *fault);
int __wrap_kernel_command(kernel_t *self, char command, fault_t *fault);
bool __wrap_kernel_read_end(kernel_t *self, kernel_end_t *ret_end);
void __wrap_kernel_kill(kernel_t *self);

int __wrap_kernel_new(const char *folder, bool shares_user, kernel_t **ret,
                      fault_t *fault)
{
    (void) folder;
    (void) shares_user;
    if (!fake_outside.is_connectable)
        return fault_set(fault, ECONNREFUSED, "no process listens");
    kernel_process = 0;
    link_fd = -1;
    *ret = (kernel_t *) &fake_outside;
    return 0;
}

void __wrap_kernel_destroy(kernel_t **self_p)
{
    *self_p = NULL;
}

int __wrap_kernel_link_fd(const kernel_t *self)
{
    (void) self;
    return link_fd;
}

int __wrap_kernel_init_fd(const kernel_t *self)
{
    (void) self;
    return FAKE_LINK_FD + 1;
}

int __wrap_kernel_pidfd(const kernel_t *self)
{
    (void) self;
    return kernel_process ? FAKE_LINK_FD + 2 : -1;
}

pid_t __wrap_kernel_pid(const kernel_t *self)
{
    (void) self;
    return kernel_process;
}

uint64_t __wrap_kernel_start_time(const kernel_t *self)
{
    (void) self;
    return 77;
}

bool __wrap_kernel_is_alive(const kernel_t *self)
{
    (void) self;
    return !fake_outside.end.is_known;
}

bool __wrap_kernel_is_writing(const kernel_t *self)
{
    (void) self;
    return false;
}

uint64_t __wrap_kernel_memory_kib(const kernel_t *self)
{
    (void) self;
    return 4321;
}

uint64_t __wrap_kernel_received(const kernel_t *self)
{
    (void) self;
    return frames_read;
}

size_t __wrap_kernel_held(const kernel_t *self)
{
    (void) self;
    return fake_outside.link;
}

size_t __wrap_kernel_unfinished(const kernel_t *self)
{
    (void) self;
    return fake_outside.unfinished;
}

size_t __wrap_kernel_growth(const kernel_t *self)
{
    (void) self;
    return fake_outside.growth;
}

void __wrap_kernel_set_process(kernel_t *self, pid_t pid, int pidfd)
{
    (void) self;
    (void) pidfd;
    kernel_process = pid;
}

int __wrap_kernel_adopt_process(kernel_t *self, pid_t pid, uint64_t start_time,
                                fault_t *fault)
{
    (void) self;
    if (!fake_outside.is_adoptable || start_time != 77)
        return fault_set(fault, ESRCH, "the process has ended");
    kernel_process = pid;
    return 0;
}

int __wrap_kernel_reconnect(kernel_t *self, const char *folder, fault_t *fault)
{
    (void) self;
    (void) folder;
    if (!fake_outside.is_connectable)
        return fault_set(fault, ECONNREFUSED, "no process listens");
    link_fd = FAKE_LINK_FD;
    return 0;
}

void __wrap_kernel_disconnect(kernel_t *self)
{
    (void) self;
    link_fd = -1;
}

int __wrap_kernel_hello(kernel_t *self, uint64_t acked, fault_t *fault)
{
    (void) self;
    (void) fault;
    deeds_note("kernel HELLO %d", (int) acked);
    return 0;
}

int __wrap_kernel_acknowledge(kernel_t *self, uint64_t seq, bool now,
                              fault_t *fault)
{
    (void) self;
    (void) seq;
    (void) now;
    (void) fault;
    return 0;
}

static const char *frame_name(uint16_t type)
{
#define DOWN 0
#define UP   0
#define X(name, code, way, text)                                               \
    if (type == (code))                                                        \
        return #name;
    FRAME_TYPES(X)
#undef X
#undef DOWN
#undef UP
    return "?";
}

int __wrap_kernel_send(kernel_t *self, const frame_t *frame, fault_t *fault)
{
    (void) self;
    if (link_fd < 0 || fake_outside.is_mute)
        return fault_set(fault, ENOTCONN, "there is no link");
    deeds_note("kernel %s", frame_name(frame->type));
    fake_outside.sent = frame->request;
    deeds_keep(frame_name(frame->type), frame->content);
    deeds_keep("metadata", frame->metadata);
    return 0;
}

int __wrap_kernel_flush(kernel_t *self, fault_t *fault)
{
    (void) self;
    (void) fault;
    return 0;
}

static void add_frame(uint16_t type, uint64_t request, const char *content,
                      const char *metadata)
{
    assert_true(frame_count < QUEUE_MAX);
    assert_true(strlen(content) < sizeof frames[0].content);
    assert_true(strlen(metadata) < sizeof frames[0].metadata);
    snprintf(frames[frame_count].content, sizeof frames[0].content, "%s",
             content);
    snprintf(frames[frame_count].metadata, sizeof frames[0].metadata, "%s",
             metadata);
    frames[frame_count].frame = (frame_t){
        .type = type,
        .request = request,
        .seq = type == FRAME_WELCOME ? 0 : ++kernel_seq,
        .content = text_bytes(frames[frame_count].content),
        .metadata = text_bytes(frames[frame_count].metadata),
    };
    frame_count++;
}

void fake_kernel_says(uint16_t type, uint64_t request, const char *content)
{
    add_frame(type, request, content, "");
}

void fake_kernel_replies(uint64_t request, const char *content,
                         const char *metadata)
{
    add_frame(FRAME_REPLY, request, content, metadata);
}

int __wrap_kernel_read(kernel_t *self, fault_t *fault)
{
    (void) self;
    fake_outside.reads++;
    if (frames_read < frame_count) {
        frames_come = fake_outside.is_piecewise ? frames_read + 1 : frame_count;
        return fake_outside.is_piecewise ? 2 : 1;
    }
    return fake_outside.is_closed ? fault_set(fault, EPIPE, "closed") : 0;
}

int __wrap_kernel_next(kernel_t *self, frame_t *ret_frame, fault_t *fault)
{
    (void) self;
    (void) fault;
    if (frames_read == frame_count)
        frames_read = frame_count = frames_come = 0;
    if (frames_read == frames_come)
        return 0;
    *ret_frame = frames[frames_read++].frame;
    return 1;
}

int __wrap_kernel_command(kernel_t *self, char command, fault_t *fault)
{
    (void) self;
    (void) fault;
    deeds_note("command %c", command);
    return 0;
}

bool __wrap_kernel_read_end(kernel_t *self, kernel_end_t *ret_end)
{
    (void) self;
    if (fake_outside.end.is_known)
        *ret_end = fake_outside.end;
    return fake_outside.end.is_known;
}

void __wrap_kernel_kill(kernel_t *self)
{
    (void) self;
    deeds_note("kill");
}

void fake_kernel_forget(void)
{
    frame_count = frames_read = frames_come = 0;
    kernel_seq = 0;
    kernel_process = 0;
    link_fd = -1;
}
