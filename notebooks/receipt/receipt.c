/* See receipt.h. The folder may have been in foreign hands: no link in it is
 * followed. */
#include "notebooks/receipt/receipt.h"

#include "base/fd.h"
#include "notebooks/json/tree.h"
#include "notebooks/receipt/envelope.h"
#include "notebooks/receipt/statement.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Hashes a file of the folder. -EINVAL: it is no plain file. */
static int hash_file(int folder, const char *name,
                     char ret_hex[DIGEST_SIZE + 1], fault_t *fault)
{
    /* Not blocked by a FIFO. */
    cleanup_fd int fd =
        openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat status;

    if (fd < 0 && errno != ELOOP)
        return fault_errno(fault, name);
    if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
        return fault_set(fault, EINVAL, "%s is not a regular file", name);
    if (digest_file(fd, ret_hex) < 0)
        return fault_errno(fault, name);
    return 0;
}

/* Calls `each` for everything in the folder besides the receipt. */
static int for_each(int folder,
                    int (*each)(void *arg, const char *name, fault_t *fault),
                    void *arg, fault_t *fault)
{
    int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = copy < 0 ? NULL : fdopendir(copy);
    const struct dirent *entry;
    size_t count = 0;
    int r = 0;

    if (!entries)
        return fault_errno(fault, "the folder");
    while (r == 0 && (entry = readdir(entries))) {
        if (!statement_is_name(entry->d_name)
            || strcmp(entry->d_name, RECEIPT_FILE) == 0)
            continue;
        if (++count > RECEIPT_FILES_MAX)
            r = fault_set(fault, EINVAL, "a receipt is for at most %d files",
                          RECEIPT_FILES_MAX);
        else
            r = each(arg, entry->d_name, fault);
    }
    closedir(entries);
    return r;
}

/* Returns true if it is UTF-8, as JSON's texts are. */
static bool is_text(const char *name)
{
    json_auto_t *text = json_string(name);

    return text != NULL;
}

/* ---- writing ---- */

typedef struct {
    int folder;
    json_t *subjects;
} subject_list_t;

static int add_subject(void *arg, const char *name, fault_t *fault)
{
    subject_list_t *self = arg;
    char hex[DIGEST_SIZE + 1];
    int r;

    if (!is_text(name))
        return fault_set(fault, EINVAL,
                         "the name of a file is not UTF-8: rename the file");
    r = hash_file(self->folder, name, hex, fault);
    if (r == 0)
        json_array_append_new(
            self->subjects,
            json_pack("{s:s, s:{s:s}}", "name", name, "digest", "sha256", hex));
    return r;
}

static int write_sealed(const char *folder, const signing_key_t *key,
                        const json_t *statement, fault_t *fault)
{
    cleanup_free char *path = mem_format("%s/%s", folder, RECEIPT_FILE);
    cleanup_free char *body =
        json_dumps(statement, JSON_COMPACT | JSON_SORT_KEYS);
    json_auto_t *sealed = envelope_seal(key, STATEMENT_TYPE, text_bytes(body));
    cleanup_free char *text = json_dumps(sealed, JSON_INDENT(2));

    return file_write_atomic(path, 0600, text, strlen(text), fault);
}

int receipt_write(const char *folder, const signing_key_t *key,
                  const char *version, fault_t *fault)
{
    cleanup_free char *path = mem_format("%s/%s", folder, RECEIPT_NOTEBOOK);
    cleanup_fd int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cleanup_notebook notebook_t notebook = {0};
    json_auto_t *found = json_array();
    int r = notebook_open(path, &notebook, fault);

    if (r < 0)
        return r;
    r = for_each(fd, add_subject,
                 &(subject_list_t){.folder = fd, .subjects = found}, fault);
    if (r < 0)
        return r;
    json_auto_t *subjects = json_tree_sorted(found, "name", false);
    json_auto_t *statement =
        statement_new(&notebook, subjects,
                      &(statement_author_t){.key_id = signing_key_id(key),
                                            .version = version});
    return write_sealed(folder, key, statement, fault);
}

/* ---- checking ---- */

void receipt_report_clear(receipt_report_t *self)
{
    free(self->session);
    json_decref(self->problems);
    json_decref(self->remarks);
    *self = (receipt_report_t){0};
}

static void add_sentence(json_t *list, const char *name, const char *what)
{
    cleanup_free char *text = mem_format("%s %s", name, what);

    json_array_append_new(list, json_string(text));
}

static void check_subject(int folder, const json_t *subject,
                          receipt_report_t *report)
{
    const char *name = json_string_value(json_object_get(subject, "name"));
    const char *wanted = json_string_value(
        json_object_get(json_object_get(subject, "digest"), "sha256"));
    char hex[DIGEST_SIZE + 1];
    fault_t fault;
    int r = hash_file(folder, name, hex, &fault);

    if (r == -ENOENT)
        add_sentence(report->problems, name, "is missing");
    else if (r < 0)
        add_sentence(report->problems, name, "cannot be read, or is no file");
    else if (strcmp(hex, wanted) != 0)
        add_sentence(report->problems, name, "was changed");
    else
        report->files++;
}

typedef struct {
    const json_t *subjects;
    json_t *remarks;
} search_t;

static int find_name(void *arg, const char *name, fault_t *fault)
{
    const search_t *self = arg;
    size_t index;
    json_t *subject;

    (void) fault;
    json_array_foreach(
        self->subjects, index,
        subject) if (strcmp(json_string_value(json_object_get(subject, "name")),
                            name)
                     == 0) return 0;
    add_sentence(self->remarks, is_text(name) ? name : "a file",
                 "is not in the receipt");
    return 0;
}

static int open_receipt(const char *folder, const signing_key_t *key,
                        json_t **ret_statement, fault_t *fault)
{
    cleanup_free char *path = mem_format("%s/%s", folder, RECEIPT_FILE);
    cleanup_buffer buffer_t text = BUFFER_EMPTY, body = BUFFER_EMPTY;
    int r = file_read(path, ENVELOPE_MAX, &text, fault);

    if (r < 0)
        return r;
    r = envelope_open(key, STATEMENT_TYPE, buffer_bytes(&text), &body, fault);
    if (r == 0)
        r = statement_parse(buffer_bytes(&body), ret_statement, fault);
    return r < 0 ? fault_wrap(fault, "%s", path) : 0;
}

int receipt_check(const char *folder, const signing_key_t *key,
                  receipt_report_t *ret_report, fault_t *fault)
{
    cleanup_fd int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cleanup_receipt_report receipt_report_t report = {.problems = json_array(),
                                                      .remarks = json_array()};
    json_auto_t *statement = NULL;
    size_t index;
    json_t *subject;
    int r;

    if (fd < 0)
        return fault_errno(fault, folder);
    r = open_receipt(folder, key, &statement, fault);
    if (r < 0)
        return r;
    const json_t *subjects = statement_subjects(statement);
    report.session = mem_text(statement_session(statement));
    json_array_foreach(subjects, index, subject)
        check_subject(fd, subject, &report);
    r = for_each(fd, find_name,
                 &(search_t){.subjects = subjects, .remarks = report.remarks},
                 fault);
    if (r < 0)
        return r;
    *ret_report = report;
    report = (receipt_report_t){0};
    return 0;
}
