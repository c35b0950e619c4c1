/* See terminal_choice.h. */
#include "gateway/http/api/terminal_choice.h"

#include "gateway/http/core/model.h"

#include <errno.h>
#include <string.h>

#define WORKSPACES "workspaces/"

/* Finds the only one: a second, different one makes it ambiguous. */
typedef struct {
    const char *id; /* lent; NULL if nothing was found */
    bool is_ambiguous;
} only_t;

static void consider(only_t *self, const char *id)
{
    if (!self->id)
        self->id = id;
    else if (strcmp(self->id, id) != 0)
        self->is_ambiguous = true;
}

static const char *whole_id(const terminal_wish_t *wish, const char *id)
{
    const json_t *session;
    size_t i;

    json_array_foreach(wish->sessions, i, session)
    {
        if (strcmp(model_text(session, "id"), id) == 0)
            return model_text(session, "id");
    }
    return NULL;
}

/* Returns the session of that id, of that name, or whose id begins so. */
static only_t find(const terminal_wish_t *wish, const char *word)
{
    only_t found = {whole_id(wish, word), false};
    const json_t *session;
    size_t i;

    if (found.id)
        return found;
    json_array_foreach(wish->sessions, i, session)
    {
        const char *id = model_text(session, "id");
        if (*word
            && (strcmp(model_text(session, "name"), word) == 0
                || strncmp(id, word, strlen(word)) == 0))
            consider(&found, id);
    }
    return found;
}

static int find_named(const terminal_wish_t *wish, const char *word,
                      terminal_choice_t *ret_choice, fault_t *fault)
{
    only_t found = find(wish, word);

    if (!found.id)
        return fault_set(fault, ENOENT, "There is no living session %.100s",
                         word);
    if (found.is_ambiguous)
        return fault_set(fault, EEXIST,
                         "More than one living session is called %.100s; give "
                         "the whole id",
                         word);
    ret_choice->session = found.id;
    return 0;
}

/* Chooses by "workspaces/ID/folder". Returns false if it is no such path of a
 * living session. */
static bool find_workspace(const terminal_wish_t *wish, const char *path,
                           terminal_choice_t *ret_choice)
{
    const json_t *session;
    size_t i;

    path += strspn(path, "/");
    if (strncmp(path, WORKSPACES, strlen(WORKSPACES)) != 0)
        return false;
    path += strlen(WORKSPACES);
    json_array_foreach(wish->sessions, i, session)
    {
        const char *id = model_text(session, "id");
        size_t size = strcspn(path, "/");
        if (strlen(id) != size || memcmp(path, id, size) != 0)
            continue;
        path += size + strspn(path + size, "/");
        ret_choice->session = id;
        ret_choice->folder = *path ? path : NULL;
        return true;
    }
    return false;
}

/* Returns true if the document lies in the folder itself. */
static bool is_in(const char *document, const char *folder)
{
    const char *slash = strrchr(document, '/');
    size_t size = slash ? (size_t) (slash - document) : 0;
    size_t length;

    folder += strspn(folder, "/");
    length = strlen(folder);
    while (length && folder[length - 1] == '/')
        length--;
    return size == length && memcmp(document, folder, size) == 0;
}

/* Returns the session of the documents in the folder; NULL is any folder. */
static only_t of_documents(const terminal_wish_t *wish, const char *folder)
{
    only_t found = {0};
    const json_t *document;
    const char *key;

    json_object_foreach(wish->documents, key, document)
    {
        const char *path = model_text(document, "path");
        const char *id = whole_id(wish, model_text(document, "kernel"));
        path += strspn(path, "/");
        if (id && (!folder || is_in(path, folder)))
            consider(&found, id);
    }
    return found;
}

static only_t of_all(const terminal_wish_t *wish)
{
    only_t found = {0};
    const json_t *session;
    size_t i;

    json_array_foreach(wish->sessions, i, session)
        consider(&found, model_text(session, "id"));
    return found;
}

int terminal_choice_make(const terminal_wish_t *wish,
                         terminal_choice_t *ret_choice, fault_t *fault)
{
    const char *folder = json_string_value(json_object_get(wish->body, "cwd"));
    const char *word =
        json_string_value(json_object_get(wish->body, "session"));
    only_t found = {0};

    *ret_choice = (terminal_choice_t){0};
    if (folder && find_workspace(wish, folder, ret_choice) && !word)
        return 0;
    if (word) {
        if (!ret_choice->session)
            ret_choice->folder = folder && *folder ? folder : NULL;
        return find_named(wish, word, ret_choice, fault);
    }
    if (folder)
        found = of_documents(wish, folder);
    if (!found.id)
        found = of_documents(wish, NULL);
    if (!found.id || found.is_ambiguous) {
        only_t all = of_all(wish);
        if (!all.id)
            return fault_set(fault, ENOENT,
                             "There is no session to open a terminal in; start "
                             "a notebook first");
        if (all.is_ambiguous)
            return fault_set(
                fault, EEXIST,
                "A terminal is a shell in one session, and there are %zu; open "
                "it in a folder where one of them alone has a notebook, or "
                "name it in \"session\"",
                json_array_size(wish->sessions));
        found = all;
    }
    ret_choice->session = found.id;
    return 0;
}
