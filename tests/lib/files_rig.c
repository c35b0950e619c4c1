/* See files_rig.h. */
#include "tests/lib/files_rig.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "gateway/files/place.h"
#include "gateway/files/quota.h"
#include "gateway/files/transfer.h"
#include "gateway/frontends/handover.h"
#include "tests/lib/folder.h"
#include "tests/lib/test.h"
#include "tests/lib/tree_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#define STEPS_MAX  1000000 /* far more than any copy takes */
#define TIMERS_MAX 8

files_thread_t files_rig;
int64_t files_rig_look_ms;
int64_t files_rig_now_ms;

/* Timers that were started. */
static struct {
    zloop_timer_fn *handler;
    void *arg;
    size_t delay_ms;
} timers[TIMERS_MAX];
static int timer_count;

int64_t __wrap_clock_monotonic_ms(void);
int __wrap_zloop_timer(zloop_t *self, size_t delay, size_t times,
                       zloop_timer_fn *handler, void *arg);
void __wrap_handover_send(void *socket, void *object);
void __wrap_audit_writer_note_by(audit_writer_t *self, const char *who,
                                 const char *event, const char *session,
                                 const char *outcome, json_t *details);

int64_t __wrap_clock_monotonic_ms(void)
{
    return files_rig_now_ms += files_rig_look_ms;
}

int __wrap_zloop_timer(zloop_t *self, size_t delay, size_t times,
                       zloop_timer_fn *handler, void *arg)
{
    (void) self;
    assert_int_equal(times, 1);
    assert_in_range(timer_count, 0, TIMERS_MAX - 1);
    timers[timer_count].handler = handler;
    timers[timer_count].arg = arg;
    timers[timer_count].delay_ms = delay;
    return ++timer_count;
}

void __wrap_handover_send(void *socket, void *object)
{
    cleanup_files_news files_news_t *news = object;

    (void) socket;
    if (news->word == FILES_DONE) {
        deeds_note("journal of %s: %s", news->session, news->note);
    } else if (news->word != FILES_FULL) {
        cleanup_free char *text = json_dumps(news->answer, JSON_SORT_KEYS);

        deeds_note("%s %u: %s",
                   news->word == FILES_PLACED   ? "placed"
                   : news->word == FILES_PROBED ? "probed"
                                                : "answer",
                   (unsigned) news->number, text);
    }
}

void __wrap_audit_writer_note_by(audit_writer_t *self, const char *who,
                                 const char *event, const char *session,
                                 const char *outcome, json_t *details)
{
    cleanup_free char *text = json_dumps(details, JSON_SORT_KEYS);

    (void) self;
    deeds_note("audit %s %s by %s of %s: %s", event, outcome, who, session,
               text);
    json_decref(details);
}

static usage_t on_its_way(const files_thread_t *self, const char *session)
{
    return copies_usage(self, session);
}

int files_rig_begin(void **state)
{
    if (make_folder(state) < 0 || mkdir(in_workspace(""), 0755) < 0
        || mkdir(in_outside(""), 0755) < 0
        || (geteuid() == 0 && chown(in_workspace(""), RIG_UID, RIG_GID) < 0))
        return -1;
    timer_count = 0;
    files_rig_look_ms = 0;
    deeds_forget();
    files_rig = (files_thread_t){.quotas = quotas_new(),
                                 .copies = copies_new(),
                                 .state_dir = folder,
                                 .on_its_way = on_its_way};
    return 0;
}

void files_rig_end_thread(void)
{
    copies_destroy(&files_rig.copies);
}

int files_rig_end(void **state)
{
    files_rig_end_thread();
    quotas_destroy(&files_rig.quotas);
    return remove_folder(state);
}

static const char *path_in(const char *inner, const char *name)
{
    static char paths[4][512];
    static unsigned next;
    char *path = paths[next++ % 4];

    (void) snprintf(path, sizeof paths[0], "%s/%s%s%s", folder, inner,
                    *name ? "/" : "", name);
    return path;
}

const char *in_workspace(const char *name)
{
    return path_in("workspace", name);
}

const char *in_outside(const char *name)
{
    return path_in("outside", name);
}

const char *names_in(const char *path)
{
    static char names[4096];
    struct dirent **entries;
    int count = scandir(path, &entries, NULL, alphasort);

    names[0] = '\0';
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        size_t size = strlen(names);

        if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
            (void) snprintf(names + size, sizeof names - size, "%s%s",
                            size ? " " : "", name);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return names;
}

void put_text(const char *path, const char *text)
{
    cleanup_free char *above = mem_text(path);
    fault_t fault;

    *strrchr(above, '/') = '\0';
    assert_int_equal(path_make_folders(above, 0755, &fault), 0);
    assert_int_equal(file_replace(path, 0644, text, strlen(text), &fault), 0);
}

const char *text_in(const char *path)
{
    static char text[4096];
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    fault_t fault;

    if (file_read(path, sizeof text - 1, &content, &fault) < 0)
        return "-";
    (void) snprintf(text, sizeof text, "%.*s", (int) content.size,
                    (const char *) content.data);
    return text;
}

void files_rig_limit(uint64_t bytes, uint64_t files)
{
    quota_add(&files_rig, "aa1", in_workspace(""),
              (files_limits_t){.bytes = bytes, .files = files});
    (void) files_rig_step();
}

static file_request_t request_of(const json_t *content)
{
    return (file_request_t){.session = "aa1",
                            .who = "uid=7",
                            .workspace = in_workspace(""),
                            .content = content};
}

static void expect(files_news_t *news, json_t *answer, int r,
                   const fault_t *fault)
{
    if (r == FILES_LATER)
        copies_expect(&files_rig, news);
    else
        files_answer(&files_rig, news, answer, r, fault);
}

void files_rig_place(bool is_tree, uint64_t number, int file,
                     const char *content)
{
    json_auto_t *object = json_loads(content, 0, NULL);
    const file_request_t request = request_of(object);
    files_news_t *news = mem_new(sizeof *news);
    cleanup_fd int taken = file;
    fault_t fault = {0};

    assert_non_null(object);
    news->word = FILES_PLACED;
    news->number = number;
    expect(news, NULL,
           (is_tree ? place_tree : place_file)(&files_rig, &request, &taken,
                                               &fault),
           &fault);
}

void files_rig_probe(bool is_tree, uint64_t number, const char *path)
{
    json_auto_t *content = json_pack("{s:s}", "path", path);
    const file_request_t request = request_of(content);
    files_news_t *news = mem_new(sizeof *news);
    fault_t fault = {0};

    news->word = FILES_PROBED;
    news->number = number;
    expect(news, json_object(),
           place_probe(&files_rig, &request, is_tree, &fault), &fault);
}

void files_rig_place_tree(uint64_t number, buffer_t *tree, const char *path,
                          unsigned bytes, unsigned files)
{
    cleanup_free char *content = mem_format(
        "{\"path\":\"%s\",\"usage\":{\"bytes\":%u,\"files\":%u},\"details\":"
        "{\"url\":\"u\",\"commit\":\"c\"},\"journaled\":{\"url\":\"u?k\"}}",
        path, bytes, files);

    tree_text(tree, 'e', "", "");
    files_rig_place(true, number, tree_open(tree), content);
    buffer_clear(tree);
}

void files_rig_refused(const char *ename, const char *sentence)
{
    const char *did = deeds_take();
    cleanup_free char *name = mem_format("\"ename\": \"%s\"", ename);

    if (!strstr(did, name) || !strstr(did, sentence)
        || strncmp(did, "placed ", 7) != 0 || strstr(did, "; audit")
        || strstr(did, "; journal") || strstr(did, "; placed"))
        fail_msg("%s", did);
}

void files_rig_was_placed(void)
{
    const char *did = deeds_take();

    if (!strstr(did, "; placed ") || !strstr(did, "\"status\": \"ok\""))
        fail_msg("%s", did);
}

void files_rig_ask(files_rig_handler_t *handler, const char *content)
{
    json_auto_t *object = json_loads(content, 0, NULL);
    const file_request_t request = request_of(object);
    files_news_t *news = mem_new(sizeof *news);
    json_t *answer = NULL;
    fault_t fault = {0};
    int r;

    news->word = FILES_ANSWER;
    r = handler(&files_rig, &request, &answer, &fault);
    expect(news, answer, r, &fault);
}

/* A step waits for no time: timers that do are never due in a test. */
bool files_rig_step(void)
{
    int count = timer_count;
    bool is_any = false;

    timer_count = 0;
    for (int i = 0; i < count; i++)
        if (timers[i].delay_ms == 0) {
            is_any = true;
            timers[i].handler(NULL, i + 1, timers[i].arg);
        }
    return is_any;
}

unsigned files_rig_finish(void)
{
    unsigned steps = 0;

    while (files_rig_step())
        assert_in_range(++steps, 0, STEPS_MAX);
    return steps;
}
