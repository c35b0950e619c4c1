/* A peer gets each message of a session once and in order, live or from the
 * journal, however much it takes and whenever it falls back. */
#include "tests/lib/journals.h"

#include "base/fd.h"
#include "notebooks/journal/append.h"
#include "notebooks/journal/follower.h"

#include <inttypes.h>
#include <string.h>

#define FRONT "front"
#define ME    "me"
#define OTHER "other"

/* A peer writes down what it gets. */
typedef struct {
    const char *folder; /* borrowed; of the journal */
    journal_t *journal; /* owned */
    journal_follower_t *follower;
    journal_index_t index;
    buffer_t got;  /* a word for each message, with a space after it */
    unsigned room; /* messages that are taken until it is full */
} noting_peer_t;

static noting_peer_t peer;

static int prepare(void **state)
{
    if (journals_make_folder(state) < 0)
        return -1;
    peer = (noting_peer_t){.folder = *state,
                           .journal = journals_open(*state, 0, 0),
                           .follower = journal_follower_new(),
                           .room = 1000};
    return 0;
}

static int clean_up(void **state)
{
    journal_follower_destroy(&peer.follower);
    journal_destroy(&peer.journal);
    buffer_reset(&peer.got);
    return journals_remove_folder(state);
}

/* --- The peer --- */

static bool is_full(void *arg)
{
    const noting_peer_t *self = arg;

    return self->room == 0;
}

static bool owns(void *arg, const char *viewer)
{
    (void) arg;
    return strcmp(viewer, ME) == 0;
}

static void take(noting_peer_t *self, const char *word, uint64_t seq)
{
    if (seq)
        buffer_format(&self->got, "%s:%" PRIu64 " ", word, seq);
    else
        buffer_format(&self->got, "%s ", word);
    if (self->room)
        self->room--;
}

static void send_status(void *arg, const char *state, bytes_t parent)
{
    (void) parent;
    take(arg, state, 0);
}

static void begin_request(void *arg, const journal_record_t *record,
                          const origin_t *origin)
{
    assert_int_equal(origin->number, record->request);
    take(arg, "begin", record->seq);
}

static void publish(void *arg, const journal_record_t *record, bytes_t parent)
{
    /* The parent is the request's header; without a request there is none. */
    assert_int_equal(parent.size > 0, record->request > 0);
    take(arg, record->type, record->seq);
}

static void answer(void *arg, channel_t channel, const journal_record_t *record,
                   const origin_t *origin)
{
    assert_string_equal(origin->client, ME);
    assert_int_equal(channel, record->kind == JOURNAL_REPLY ? CHANNEL_CONTROL
                                                            : CHANNEL_STDIN);
    take(arg, record->type, record->seq);
}

static void publish_made(void *arg, uint64_t seq, const char *type,
                         bytes_t parent, bytes_t content)
{
    (void) parent;
    assert_string_equal(type, "stream");
    assert_non_null(memmem(content.bytes, content.size, "hearth: 3 outputs",
                           strlen("hearth: 3 outputs")));
    take(arg, "gap", seq);
}

static const journal_follower_ops_t ops = {.is_full = is_full,
                                           .owns = owns,
                                           .send_status = send_status,
                                           .begin_request = begin_request,
                                           .publish = publish,
                                           .answer = answer,
                                           .publish_made = publish_made};

static journal_source_t source(void)
{
    return (journal_source_t){.folder = peer.folder,
                              .key = journals_key,
                              .index = &peer.index,
                              .frontend = FRONT};
}

static int step(void)
{
    const journal_source_t from = source();
    fault_t fault;

    return journal_follower_step(peer.follower, &from, &ops, &peer, &fault);
}

static void got(const char *words)
{
    buffer_append(&peer.got, "", 1);
    assert_string_equal((const char *) peer.got.data, words);
    buffer_clear(&peer.got);
}

/* --- The session --- */

/* Journals a request on control, of a client of this front end. */
static void request(uint64_t number, const char *viewer)
{
    cleanup_buffer buffer_t origin = BUFFER_EMPTY;
    fault_t fault;
    journal_record_t record = {.kind = JOURNAL_REQUEST,
                               .request = number,
                               .type = "execute_request",
                               .header = text_bytes("{\"msg_id\":\"r\"}"),
                               .content = text_bytes("{}")};

    buffer_text(&origin, "{\"channel\":\"control\",\"front\":\"" FRONT
                         "\",\"identities\":[\"");
    for (const char *at = viewer; *at; at++)
        buffer_format(&origin, "%02x", (unsigned) *at);
    buffer_text(&origin, "\"]}");
    record.origin = buffer_bytes(&origin);
    assert_int_equal(journal_append(peer.journal, &record, &fault), 0);
}

static void event(uint64_t number, const char *type)
{
    journals_append(peer.journal, JOURNAL_EVENT, number, type, "{}");
}

static void reply(uint64_t number)
{
    journals_append(peer.journal, JOURNAL_REPLY, number, "execute_reply", "{}");
}

static journal_live_verdict_t live(uint64_t seq, uint64_t number,
                                   bool is_broadcast)
{
    const journal_live_t message = {.seq = seq,
                                    .request = number,
                                    .is_broadcast = is_broadcast,
                                    .is_peer_full = is_full(&peer)};

    return journal_follower_take(peer.follower, &message);
}

/* --- Tests --- */

static void sends_live_messages_and_moves_its_position(void **state)
{
    (void) state;
    assert_int_equal(live(0, 1, true), JOURNAL_LIVE_SEND);
    assert_int_equal(journal_follower_position(peer.follower), 0);
    assert_int_equal(live(2, 1, true), JOURNAL_LIVE_SEND);
    assert_int_equal(live(5, 1, false), JOURNAL_LIVE_SEND);
    assert_int_equal(live(0, 1, true), JOURNAL_LIVE_SEND);
    assert_int_equal(journal_follower_position(peer.follower), 5);
    assert_false(journal_follower_is_behind(peer.follower));
}

static void discards_records_that_the_peer_has(void **state)
{
    (void) state;
    journal_follower_begin(peer.follower, 5);
    assert_int_equal(live(4, 1, true), JOURNAL_LIVE_DISCARD);
    assert_int_equal(live(5, 1, false), JOURNAL_LIVE_DISCARD);
    assert_int_equal(live(6, 1, true), JOURNAL_LIVE_SEND);
}

static void falls_behind_at_a_journaled_message_of_a_full_peer(void **state)
{
    (void) state;
    peer.room = 0;
    assert_int_equal(live(0, 1, true), JOURNAL_LIVE_SEND);
    assert_false(journal_follower_is_behind(peer.follower));
    assert_int_equal(live(2, 1, true), JOURNAL_LIVE_WAIT);
    assert_true(journal_follower_is_behind(peer.follower));
    /* From here on also the statuses of requests, and what fits again. */
    peer.room = 1;
    assert_int_equal(live(0, 1, true), JOURNAL_LIVE_WAIT);
    assert_int_equal(live(3, 1, false), JOURNAL_LIVE_WAIT);
    /* What no journal holds cannot wait there. */
    assert_int_equal(live(0, 0, true), JOURNAL_LIVE_SEND);
    assert_int_equal(live(0, 1, false), JOURNAL_LIVE_SEND);
    assert_int_equal(journal_follower_position(peer.follower), 0);
}

static void reads_a_request_as_busy_and_its_reply_as_idle(void **state)
{
    (void) state;
    request(1, ME);
    event(1, "stream");
    reply(1);
    journal_follower_fall_behind(peer.follower);
    assert_int_equal(step(), 0);
    got("busy begin:1 stream:2 execute_reply:3 idle ");
    assert_int_equal(journal_follower_position(peer.follower), 3);
    assert_false(journal_follower_is_behind(peer.follower));
}

static void hides_questions_and_replies_from_others(void **state)
{
    (void) state;
    request(1, OTHER);
    event(1, "input_request");
    event(1, "stream");
    reply(1);
    request(2, ME);
    event(2, "input_request");
    journal_follower_fall_behind(peer.follower);
    assert_int_equal(step(), 0);
    got("busy begin:1 stream:3 idle busy begin:5 input_request:6 ");
}

static void finds_the_request_of_an_event_before_its_position(void **state)
{
    (void) state;
    request(1, ME);
    event(0, "status");
    event(1, "stream");
    reply(1);
    journal_follower_resume(peer.follower, 2, false);
    assert_int_equal(step(), 0);
    got("stream:3 execute_reply:4 idle ");
}

static void finds_no_request_for_an_event_without_one(void **state)
{
    (void) state;
    request(1, ME);
    event(0, "status");
    event(1, "input_request");
    journal_follower_fall_behind(peer.follower);
    assert_int_equal(step(), 0);
    got("busy begin:1 status:2 input_request:3 ");
}

static void discards_a_live_idle_that_the_journal_gave(void **state)
{
    (void) state;
    request(1, ME);
    reply(1);
    journal_follower_fall_behind(peer.follower);
    assert_int_equal(step(), 0);
    assert_int_equal(live(2, 1, false), JOURNAL_LIVE_DISCARD);
    assert_int_equal(live(0, 1, true), JOURNAL_LIVE_DISCARD);
    assert_int_equal(live(0, 2, true), JOURNAL_LIVE_SEND);
    assert_int_equal(live(0, 1, false), JOURNAL_LIVE_SEND);
    assert_int_equal(live(0, 0, true), JOURNAL_LIVE_SEND);
}

static void stops_while_the_peer_is_full(void **state)
{
    (void) state;
    for (int i = 0; i < 5; i++)
        event(0, "stream");
    journal_follower_fall_behind(peer.follower);
    peer.room = 2;
    assert_int_equal(step(), 1);
    got("stream:1 stream:2 ");
    assert_int_equal(step(), 1);
    got("");
    assert_true(journal_follower_is_behind(peer.follower));
    peer.room = 10;
    assert_int_equal(step(), 0);
    got("stream:3 stream:4 stream:5 ");
}

static void yields_to_other_work(void **state)
{
    (void) state;
    for (int i = 0; i < 300; i++)
        event(0, "stream");
    journal_follower_fall_behind(peer.follower);
    assert_int_equal(step(), 1);
    assert_int_equal(journal_follower_position(peer.follower), 256);
    assert_int_equal(step(), 0);
    assert_int_equal(journal_follower_position(peer.follower), 300);
}

static void mentions_outputs_that_are_gone(void **state)
{
    (void) state;
    request(1, ME);
    journals_append(peer.journal, JOURNAL_GAP, 1, "", "{\"records\":3}");
    journal_follower_fall_behind(peer.follower);
    assert_int_equal(step(), 0);
    got("busy begin:1 gap:2 ");
}

/* It was sent, and what followed it was left out. */
static void ends_with_idle_a_reply_that_was_sent_live(void **state)
{
    (void) state;
    request(1, ME);
    reply(1);
    request(2, ME);
    assert_int_equal(live(0, 1, true), JOURNAL_LIVE_SEND); /* busy */
    assert_int_equal(live(2, 1, false), JOURNAL_LIVE_SEND);
    journal_follower_fall_behind(peer.follower);
    assert_int_equal(step(), 0);
    got("idle busy begin:3 ");
}

static void ends_with_idle_once(void **state)
{
    (void) state;
    request(1, ME);
    reply(1);
    assert_int_equal(live(2, 1, false), JOURNAL_LIVE_SEND);
    assert_int_equal(live(0, 1, true), JOURNAL_LIVE_SEND); /* idle */
    journal_follower_fall_behind(peer.follower);
    assert_int_equal(step(), 0);
    got("");
}

static void ignores_the_idle_of_another_request(void **state)
{
    (void) state;
    request(1, OTHER);
    reply(1);
    assert_int_equal(live(2, 1, false), JOURNAL_LIVE_SEND);
    assert_int_equal(live(0, 7, true), JOURNAL_LIVE_SEND);
    journal_follower_fall_behind(peer.follower);
    assert_int_equal(step(), 0);
    got("idle ");
}

static void repeats_a_reply_only_after_a_restart(void **state)
{
    (void) state;
    request(1, ME);
    reply(1);
    event(0, "stream");
    journal_follower_resume(peer.follower, 2, false);
    assert_int_equal(step(), 0);
    got("stream:3 ");
    journal_follower_resume(peer.follower, 2, true);
    assert_int_equal(step(), 0);
    got("execute_reply:2 idle stream:3 ");
    journal_follower_resume(peer.follower, 3, true);
    assert_int_equal(step(), 0);
    got("");
}

static void reads_records_without_a_peer(void **state)
{
    const journal_source_t from = source();
    journal_source_t bare = from;
    journal_record_t record;
    fault_t fault;

    (void) state;
    event(0, "one");
    event(0, "two");
    event(0, "three");
    journal_follower_begin(peer.follower, 1);
    assert_int_equal(
        journal_follower_next(peer.follower, &from, &record, &fault), 1);
    assert_string_equal(record.type, "two");
    assert_int_equal(journal_follower_position(peer.follower), 2);
    journal_follower_begin(peer.follower, 2);
    bare.index = NULL;
    assert_int_equal(
        journal_follower_next(peer.follower, &bare, &record, &fault), 1);
    assert_string_equal(record.type, "three");
    assert_int_equal(
        journal_follower_next(peer.follower, &bare, &record, &fault), 0);
    event(0, "four");
    assert_int_equal(
        journal_follower_next(peer.follower, &bare, &record, &fault), 1);
    assert_int_equal(record.seq, 4);
}

static void gives_up_a_journal_that_cannot_be_read(void **state)
{
    const journal_source_t nowhere = {.folder = "/dev/null/journal",
                                      .key = journals_key,
                                      .index = &peer.index,
                                      .frontend = FRONT};
    journal_record_t record;
    fault_t fault = {0};

    (void) state;
    journal_follower_fall_behind(peer.follower);
    assert_true(journal_follower_open(peer.follower, &nowhere, &fault) < 0);
    assert_true(journal_follower_next(peer.follower, &nowhere, &record, &fault)
                < 0);
    assert_true(
        journal_follower_step(peer.follower, &nowhere, &ops, &peer, &fault)
        < 0);
    assert_string_not_equal(fault.text, "");
    assert_false(journal_follower_is_behind(peer.follower));
    assert_int_equal(live(1, 0, true), JOURNAL_LIVE_SEND);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, prepare, clean_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(sends_live_messages_and_moves_its_position),
        TEST(discards_records_that_the_peer_has),
        TEST(falls_behind_at_a_journaled_message_of_a_full_peer),
        TEST(reads_a_request_as_busy_and_its_reply_as_idle),
        TEST(hides_questions_and_replies_from_others),
        TEST(finds_the_request_of_an_event_before_its_position),
        TEST(finds_no_request_for_an_event_without_one),
        TEST(discards_a_live_idle_that_the_journal_gave),
        TEST(stops_while_the_peer_is_full),
        TEST(yields_to_other_work),
        TEST(mentions_outputs_that_are_gone),
        TEST(ends_with_idle_a_reply_that_was_sent_live),
        TEST(ends_with_idle_once),
        TEST(ignores_the_idle_of_another_request),
        TEST(repeats_a_reply_only_after_a_restart),
        TEST(reads_records_without_a_peer),
        TEST(gives_up_a_journal_that_cannot_be_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
