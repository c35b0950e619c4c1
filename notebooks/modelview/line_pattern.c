/* See line_pattern.h. Reads an expression and writes its program; what runs the
 * program is line_search.c. */
#include "notebooks/modelview/line_program.h"

#include "base/utf8.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>

#define DEPTH_MAX  50        /* groups in groups */
#define REPEAT_MAX 200       /* of {m,n} */
#define UNBOUNDED  ULONG_MAX /* the n of {m,} */

void line_pattern_destroy(line_pattern_t **self_p)
{
    free(*self_p);
    *self_p = NULL;
}

/* --- Reading the expression --- */

static unsigned emit(line_pattern_t *self, op_t op)
{
    if (self->count == LINE_PATTERN_STATES_MAX) {
        self->flaw = "it is too long";
        return 0;
    }
    self->ops[self->count] = op;
    return self->count++;
}

static void add_byte(set_t *set, unsigned byte)
{
    if (byte < 128)
        set->ascii[byte / 64] |= UINT64_C(1) << byte % 64;
}

static void negate(set_t *set)
{
    set->ascii[0] = ~set->ascii[0];
    set->ascii[1] = ~set->ascii[1];
    set->is_other = !set->is_other;
}

/* Adds the class of \d, \w or \s, or its complement; returns false for another
 * letter. */
static bool add_class(set_t *set, char letter)
{
    set_t class = {.is_other = tolower((unsigned char) letter) == 'w'};

    if (!strchr("dDwWsS", letter))
        return false;
    for (unsigned byte = 0; byte < 128; byte++)
        if (strchr("dD", letter)   ? isdigit((int) byte)
            : strchr("wW", letter) ? byte_is_word(byte)
                                   : isspace((int) byte))
            add_byte(&class, byte);
    if (isupper((unsigned char) letter))
        negate(&class);
    set->ascii[0] |= class.ascii[0];
    set->ascii[1] |= class.ascii[1];
    set->is_other = set->is_other || class.is_other;
    return true;
}

static void fold_case(const line_pattern_t *self, set_t *set)
{
    for (unsigned byte = 'a'; self->ignores_case && byte <= 'z'; byte++) {
        unsigned capital = byte - 'a' + 'A';
        if (set_has_byte(set, byte) || set_has_byte(set, capital)) {
            add_byte(set, byte);
            add_byte(set, capital);
        }
    }
}

/* Reads one character that means itself, after a backslash or not. */
static uint32_t read_code(line_pattern_t *self)
{
    static const char controls[] = "t\tn\nr\r";
    uint32_t code = 0;
    size_t size;
    const char *control;

    if (*self->at == '\\') {
        self->at++;
        control = *self->at ? strchr(controls, *self->at) : NULL;
        if (control && (control - controls) % 2 == 0) {
            self->at++;
            return (uint32_t) control[1];
        }
        if (isalnum((unsigned char) *self->at))
            self->flaw = "it has an unknown escape";
    }
    if (!*self->at) {
        self->flaw = "it ends with a backslash";
        return 0;
    }
    size = utf8_decode(self->at, self->at + strlen(self->at), &code);
    self->at += size ? size : 1;
    return size ? code : UTF8_REPLACEMENT;
}

static void add_span(line_pattern_t *self, set_t *set, uint32_t from,
                     uint32_t to)
{
    if (to < from)
        self->flaw = "a range in [] ends before it begins";
    for (uint32_t code = from; code <= to && code < 128; code++)
        add_byte(set, code);
    if (to >= 128)
        set->is_other = true;
}

/* Reads "[...]"; one character past ASCII in it means all of them. */
static void read_set(line_pattern_t *self)
{
    set_t set = {0};
    bool is_negated = *self->at == '^';
    bool is_first = true;

    self->at += is_negated;
    for (; !self->flaw && (*self->at != ']' || is_first); is_first = false) {
        if (!*self->at) {
            self->flaw = "a [ has no ]";
            return;
        }
        if (*self->at == '\\' && self->at[1] && add_class(&set, self->at[1])) {
            self->at += 2;
            continue;
        }
        uint32_t from = read_code(self), to = from;
        if (*self->at == '-' && self->at[1] && self->at[1] != ']') {
            self->at++;
            to = read_code(self);
        }
        add_span(self, &set, from, to);
    }
    self->at += *self->at == ']';
    fold_case(self, &set);
    if (is_negated)
        negate(&set);
    emit(self, (op_t){.kind = OP_SET, .set = set});
}

static void read_branches(line_pattern_t *self);

static void read_group(line_pattern_t *self)
{
    if (++self->depth > DEPTH_MAX)
        self->flaw = "it has too many groups in one another";
    if (strncmp(self->at, "?:", 2) == 0)
        self->at += 2;
    else if (*self->at == '?')
        self->flaw = "(?...) other than (?:...) and a (?i) at the beginning "
                     "is not known";
    if (!self->flaw)
        read_branches(self);
    if (!self->flaw && *self->at != ')')
        self->flaw = "a ( has no )";
    self->at += !self->flaw;
    self->depth--;
}

/* Reads a character that means itself, a class, or the edge of a word. */
static void read_plain(line_pattern_t *self)
{
    char letter = *self->at == '\\' ? self->at[1] : '\0';
    set_t set = {0};
    uint32_t code;

    if (letter == 'b' || letter == 'B') {
        emit(self, (op_t){.kind = OP_EDGE, .x = letter == 'B'});
        self->at += 2;
        return;
    }
    if (letter && add_class(&set, letter)) {
        self->at += 2;
    } else {
        code = read_code(self);
        add_byte(&set, code);
        set.code = code >= 128 ? code : 0;
        fold_case(self, &set);
    }
    emit(self, (op_t){.kind = OP_SET, .set = set});
}

static void read_atom(line_pattern_t *self)
{
    set_t all = {.ascii = {UINT64_MAX, UINT64_MAX}, .is_other = true};
    char letter = *self->at;

    if (letter == '*' || letter == '+' || letter == '?') {
        self->flaw = "it repeats nothing";
        return;
    }
    if (!strchr("(.[^$", letter)) {
        read_plain(self);
        return;
    }
    self->at++;
    if (letter == '(')
        read_group(self);
    else if (letter == '[')
        read_set(self);
    else if (letter == '.')
        emit(self, (op_t){.kind = OP_SET, .set = all});
    else
        emit(self, (op_t){.kind = letter == '^' ? OP_BEGIN : OP_END});
}

/* Appends a copy of the ops from `begin` to `end`. */
static void copy_ops(line_pattern_t *self, unsigned begin, unsigned end)
{
    unsigned shift = self->count - begin;

    for (unsigned i = begin; i < end && !self->flaw; i++) {
        op_t op = self->ops[i];
        if (op.kind == OP_SPLIT || op.kind == OP_JUMP) {
            op.x += shift;
            op.y += shift;
        }
        emit(self, op);
    }
}

/* Makes room for an op before those from `begin` on. */
static void insert(line_pattern_t *self, unsigned begin, op_t op)
{
    emit(self, op);
    if (self->flaw)
        return;
    memmove(self->ops + begin + 1, self->ops + begin,
            (self->count - 1 - begin) * sizeof op);
    self->ops[begin] = op;
    for (unsigned i = begin + 1; i < self->count; i++)
        if (self->ops[i].kind == OP_SPLIT || self->ops[i].kind == OP_JUMP) {
            self->ops[i].x += self->ops[i].x >= begin;
            self->ops[i].y += self->ops[i].y >= begin;
        }
}

static void make_optional(line_pattern_t *self, unsigned begin)
{
    insert(self, begin, (op_t){.kind = OP_SPLIT});
    self->ops[begin].x = begin + 1;
    self->ops[begin].y = self->count;
}

static void make_star(line_pattern_t *self, unsigned begin)
{
    insert(self, begin, (op_t){.kind = OP_SPLIT});
    emit(self, (op_t){.kind = OP_JUMP, .x = begin, .y = begin});
    self->ops[begin].x = begin + 1;
    self->ops[begin].y = self->count;
}

static void make_plus(line_pattern_t *self, unsigned begin)
{
    emit(self, (op_t){.kind = OP_SPLIT, .x = begin, .y = self->count + 1});
}

/* Reads "{m}", "{m,}" or "{m,n}"; false: the brace means itself. */
static bool read_counts(line_pattern_t *self, unsigned long *ret_min,
                        unsigned long *ret_max)
{
    char *end;
    const char *at = self->at + 1;

    if (*self->at != '{' || !isdigit((unsigned char) *at))
        return false;
    *ret_min = *ret_max = strtoul(at, &end, 10);
    if (*end == ',') {
        at = end + 1;
        *ret_max = UNBOUNDED;
        end++;
        if (isdigit((unsigned char) *at))
            *ret_max = strtoul(at, &end, 10);
    }
    if (*end != '}')
        return false;
    self->at = end + 1;
    if (*ret_min > REPEAT_MAX || *ret_max < *ret_min
        || (*ret_max > REPEAT_MAX && *ret_max != UNBOUNDED))
        self->flaw = "the numbers in {} are too large, or in the wrong order";
    return true;
}

static void repeat(line_pattern_t *self, unsigned begin, unsigned long min,
                   unsigned long max)
{
    unsigned end = self->count, last = begin;

    if (max == 0) {
        self->count = begin;
        return;
    }
    for (unsigned long i = 1; i < min && !self->flaw; i++) {
        last = self->count;
        copy_ops(self, begin, end);
    }
    if (max == UNBOUNDED) {
        if (min)
            make_plus(self, last);
        else
            make_star(self, begin);
        return;
    }
    for (unsigned long i = min ? min : 1; i < max && !self->flaw; i++) {
        last = self->count;
        copy_ops(self, begin, end);
        make_optional(self, last);
    }
    if (min == 0)
        make_optional(self, begin);
}

static void read_repeated(line_pattern_t *self)
{
    unsigned begin = self->count;
    unsigned long min = 0, max = 0;

    read_atom(self);
    while (!self->flaw) {
        if (*self->at == '*' || *self->at == '?' || *self->at == '+') {
            if (*self->at == '*')
                make_star(self, begin);
            else if (*self->at == '?')
                make_optional(self, begin);
            else
                make_plus(self, begin);
            self->at++;
        } else if (read_counts(self, &min, &max)) {
            if (!self->flaw)
                repeat(self, begin, min, max);
        } else {
            return;
        }
    }
}

static void read_branches(line_pattern_t *self)
{
    unsigned begin = self->count;

    while (!self->flaw && *self->at && *self->at != ')' && *self->at != '|')
        read_repeated(self);
    if (self->flaw || *self->at != '|')
        return;
    self->at++;
    insert(self, begin, (op_t){.kind = OP_SPLIT});
    unsigned jump = emit(self, (op_t){.kind = OP_JUMP});
    self->ops[begin].x = begin + 1;
    self->ops[begin].y = self->count;
    /* Instructions that are inserted later in this branch come after the jump.
     */
    read_branches(self);
    self->ops[jump].x = self->ops[jump].y = self->count;
}

line_pattern_t *line_pattern_new(const char *text, const char **ret_flaw)
{
    cleanup_line_pattern line_pattern_t *self = mem_new(sizeof *self);

    self->at = text;
    if (strlen(text) > LINE_PATTERN_SIZE_MAX)
        self->flaw = "it is too long";
    self->ignores_case = strncmp(text, "(?i)", 4) == 0;
    self->at += self->ignores_case ? 4 : 0;
    if (!self->flaw)
        read_branches(self);
    if (!self->flaw && *self->at)
        self->flaw = "a ) has no (";
    emit(self, (op_t){.kind = OP_FOUND});
    if (self->flaw) {
        *ret_flaw = self->flaw;
        return NULL;
    }
    return take_ptr(self);
}
