/* See packages_credentials.h. The text of the file is cut into words where it
 * is, and wiped afterwards. An entry `default` would name a user for any host,
 * so it is refused, as is what only ftp(1) understands. Called in the main
 * thread, before each job, so a new password counts at once. */
#include "gateway/config/packages_credentials.h"

#include "base/buffer.h"
#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX 65535 /* bytes */
#define WORD_MAX 1024  /* bytes of a user or a password */

typedef struct {
    char *at;      /* borrowed; what is not read yet */
    unsigned line; /* from 1 */
    char last;     /* the character after the last word, which is a NUL now */
} word_reader_t;

/* One machine of the file; the words are borrowed from its text. */
typedef struct {
    const char *host; /* NULL: there was none yet */
    const char *user;
    const char *password;
} machine_t;

typedef struct {
    char text[FILE_MAX + 1];
    size_t size;
} credentials_text_t;

static void content_destroy(credentials_text_t **self_p)
{
    if (!*self_p)
        return;
    explicit_bzero(*self_p, sizeof **self_p);
    free(*self_p);
    *self_p = NULL;
}

#define cleanup_content CLEANUP(content_destroy)

/* ---- the file ---- */

/* Refuses a file that another user could have read or written. */
static int judge(int fd, const char *path, fault_t *fault)
{
    struct stat about;

    if (fstat(fd, &about) < 0)
        return fault_errno(fault, path);
    if (!S_ISREG(about.st_mode))
        return fault_set(fault, EINVAL, "%.100s is no file", path);
    if (about.st_uid != geteuid() && about.st_uid != 0)
        return fault_set(fault, EPERM,
                         "%.100s belongs to user %u; it must belong to user "
                         "%u, which is the gateway's, or to root",
                         path, about.st_uid, geteuid());
    if (about.st_mode & 077)
        return fault_set(fault, EPERM,
                         "other users may read or write %.100s (mode %04o); "
                         "run `chmod 600` on it",
                         path, about.st_mode & 07777);
    if (about.st_size > FILE_MAX)
        return fault_set(fault, EINVAL, "%.100s has more than %d bytes", path,
                         FILE_MAX);
    return 0;
}

static int read_all(const char *path, credentials_text_t *content,
                    fault_t *fault)
{
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t size = 1;
    int r;

    if (fd < 0)
        return fault_errno(fault, path);
    if ((r = judge(fd, path, fault)) < 0)
        return r;
    while (size > 0 && content->size < FILE_MAX) {
        size =
            read(fd, content->text + content->size, FILE_MAX - content->size);
        if (size < 0)
            return fault_errno(fault, path);
        content->size += (size_t) size;
    }
    if (memchr(content->text, '\0', content->size))
        return fault_set(fault, EINVAL, "%.100s has a NUL", path);
    return 0;
}

/* ---- its words ---- */

static bool is_space(char letter)
{
    return letter == ' ' || letter == '\t' || letter == '\n' || letter == '\r';
}

static void skip(word_reader_t *self)
{
    for (; is_space(*self->at); self->at++)
        self->line += *self->at == '\n';
}

/* Cuts the next word out of the text, without its quotes; NULL at the end. */
static char *next_word(word_reader_t *self)
{
    char *word, *out;
    bool is_quoted;

    skip(self);
    if (!*self->at)
        return NULL;
    is_quoted = *self->at == '"';
    self->at += is_quoted;
    word = out = self->at;
    while (*self->at && (is_quoted ? *self->at != '"' : !is_space(*self->at))) {
        if (*self->at == '\\' && self->at[1])
            self->at++;
        *out++ = *self->at++;
    }
    self->last = *self->at;
    self->line += self->last == '\n';
    if (self->last)
        self->at++;
    *out = '\0';
    return word;
}

/* Returns the next word that is no comment; NULL at the end. */
static char *next_key(word_reader_t *self)
{
    char *word;

    while ((word = next_word(self)) && *word == '#')
        if (self->last != '\n')
            self->at += strcspn(self->at, "\n");
    return word;
}

/* Returns true if the text can be a user or a password of HTTP. */
static bool is_value(const char *text)
{
    size_t size = strlen(text);

    for (size_t i = 0; i < size; i++)
        if ((unsigned char) text[i] < ' ' || text[i] == 0x7F)
            return false;
    return size && size <= WORD_MAX;
}

/* ---- its entries ---- */

/* Returns true if that is the host of the index's URL. */
static bool is_index(const profile_t *profile, const char *host)
{
    const char *begin = strstr(profile->packages.index, "://");
    size_t size;

    begin = begin ? begin + 3 : profile->packages.index;
    begin += *begin == '[';
    size = strcspn(begin, begin[-1] == '[' ? "]" : ":/");
    return strlen(host) == size && strncasecmp(begin, host, size) == 0;
}

static bool is_host(const profile_t *profile, const char *host)
{
    for (char **one = profile->packages.hosts; one && *one; one++)
        if (strcasecmp(*one, host) == 0)
            return true;
    return is_index(profile, host);
}

static bool is_in(const json_t *list, const char *host)
{
    const json_t *one;
    size_t i;

    json_array_foreach(
        list, i,
        one) if (strcasecmp(json_string_value(json_object_get(one, "host")),
                            host)
                 == 0) return true;
    return false;
}

/* Adds an entry that is whole, if the profile may reach its host. The first one
 * of a host counts. */
static int add(const profile_t *profile, const machine_t *entry, json_t *list,
               fault_t *fault)
{
    json_t *one;

    if (!entry->host || !is_host(profile, entry->host)
        || is_in(list, entry->host))
        return 0;
    if (!entry->user || !entry->password)
        return fault_set(fault, EINVAL, "its machine %.100s lacks a %s",
                         entry->host, entry->user ? "password" : "login");
    one = json_pack("{s:s,s:s,s:s}", "host", entry->host, "user", entry->user,
                    "password", entry->password);
    if (!one)
        return fault_set(fault, EINVAL, "its machine %.100s is no UTF-8 text",
                         entry->host);
    json_array_append_new(list, one);
    return 0;
}

/* Takes the value of a key into the entry. */
static int take(word_reader_t *reader, const char *key, machine_t *entry,
                fault_t *fault)
{
    unsigned line = reader->line;
    const char *value = next_word(reader);

    if (!value || !is_value(value))
        return fault_set(fault, EINVAL,
                         "line %u: after %s there must be a text of 1 to %d "
                         "bytes without controls",
                         line, key, WORD_MAX);
    if (strcmp(key, "login") == 0) {
        if (strchr(value, ':'))
            return fault_set(fault, EINVAL,
                             "line %u: a login with a colon cannot be sent",
                             line);
        entry->user = value;
    } else if (strcmp(key, "password") == 0) {
        entry->password = value;
    } else if (strcmp(key, "machine") == 0) {
        *entry = (machine_t){.host = value};
    }
    return 0;
}

static int refuse_key(const char *key, unsigned line, fault_t *fault)
{
    if (strcmp(key, "default") == 0)
        return fault_set(fault, EINVAL,
                         "line %u: `default` would be for any host; write "
                         "`machine` and the host's name",
                         line);
    return fault_set(fault, EINVAL,
                     "line %u: there must be one of the words machine, login, "
                     "password and account",
                     line);
}

static int parse(const profile_t *profile, credentials_text_t *content,
                 json_t *list, fault_t *fault)
{
    word_reader_t reader = {.at = content->text, .line = 1};
    machine_t entry = {0};
    const char *key;
    int r;

    while ((key = next_key(&reader))) {
        if (strcmp(key, "machine") == 0
            && (r = add(profile, &entry, list, fault)) < 0)
            return r;
        if (strcmp(key, "machine") != 0 && strcmp(key, "login") != 0
            && strcmp(key, "password") != 0 && strcmp(key, "account") != 0)
            return refuse_key(key, reader.line - (reader.last == '\n'), fault);
        if ((r = take(&reader, key, &entry, fault)) < 0)
            return r;
    }
    return add(profile, &entry, list, fault);
}

static bool has_index(const profile_t *profile, const json_t *list)
{
    const json_t *one;
    size_t i;

    json_array_foreach(list, i,
                       one) if (is_index(profile,
                                         json_string_value(json_object_get(
                                             one, "host")))) return true;
    return false;
}

int packages_credentials_read(const profile_t *profile, json_t **ret_list,
                              fault_t *fault)
{
    const char *path = profile->packages.credentials;
    cleanup_content credentials_text_t *content = mem_new(sizeof *content);
    json_auto_t *list = json_array();
    int r;

    if ((r = read_all(path, content, fault)) < 0)
        return r;
    if ((r = parse(profile, content, list, fault)) < 0)
        return fault_wrap(fault, "%.100s", path);
    if (!has_index(profile, list))
        return fault_set(fault, EINVAL,
                         "%.100s has no machine with the host of the index",
                         path);
    *ret_list = json_incref(list);
    return 0;
}
