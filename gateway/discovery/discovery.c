/* See discovery.h. Owned by serve.c. While files may be in Jupyter's folder,
 * the state folder has a note of that folder. So the next gateway finds the
 * files of one that was killed, also with other settings. */
#include "gateway/discovery/discovery.h"

#include "base/fd.h"
#include "base/log.h"
#include "gateway/config/state_files.h"
#include "gateway/discovery/jupyter_folder.h"
#include "protocol/connection_file.h"
#include "protocol/jspan_write.h"
#include "protocol/limits.h"

#include <sodium.h>

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MARK_BYTES ((JUPYTER_FOLDER_MARK - 1) / 2)

struct discovery {
    jupyter_folder_t *folder; /* owned; NULL after it was withdrawn */
    char *note;               /* owned; the note's path */
    char *state_dir;          /* owned */
};

static char *note_path(const options_t *options)
{
    return mem_format("%s/" GATEWAY_DISCOVERY_FILE, options->state_dir);
}

/* Makes the mark of the files: one state folder has one gateway at a time. */
static void make_mark(const options_t *options, char mark[JUPYTER_FOLDER_MARK])
{
    cleanup_free char *real = realpath(options->state_dir, NULL);
    const char *path = real ? real : options->state_dir;
    uint8_t hash[MARK_BYTES];

    (void) crypto_generichash(hash, sizeof hash, (const uint8_t *) path,
                              strlen(path), NULL, 0);
    sodium_bin2hex(mark, JUPYTER_FOLDER_MARK, hash, sizeof hash);
}

/* ---- the end of a gateway ---- */

/* Removes all files of this state folder's gateways, and then the note. */
static int withdraw(const jupyter_folder_t *folder, const char *note,
                    fault_t *fault)
{
    int r = jupyter_folder_sweep(folder, fault);

    if (r >= 0)
        (void) unlink(note);
    return r;
}

/* Removes files of a gateway that was killed. The folder may be gone. */
static void sweep_former(const char *note, const char mark[JUPYTER_FOLDER_MARK])
{
    cleanup_jupyter_folder jupyter_folder_t *folder = NULL;
    cleanup_buffer buffer_t path = BUFFER_EMPTY;
    fault_t fault;
    int r;

    if (access(note, F_OK) < 0)
        return;
    r = file_read(note, PATH_MAX, &path, &fault);
    if (r == 0)
        r = jupyter_folder_open((const char *) path.data, mark, false, &folder,
                                &fault);
    if (r == 0)
        r = withdraw(folder, note, &fault);
    if (r < 0)
        log_warning("discovery: files of an earlier gateway were not removed: "
                    "%s",
                    fault.text);
    else
        log_notice("discovery: what an earlier gateway left was removed "
                   "files=%d",
                   r);
}

void discovery_withdraw(discovery_t *self)
{
    fault_t fault;

    if (!self || !self->folder)
        return;
    if (withdraw(self->folder, self->note, &fault) < 0)
        log_warning("discovery: files were not removed: %s", fault.text);
    jupyter_folder_destroy(&self->folder);
}

void discovery_destroy(discovery_t **self_p)
{
    discovery_t *self = *self_p;

    if (!self)
        return;
    discovery_withdraw(self);
    free(self->state_dir);
    free(self->note);
    free(self);
    *self_p = NULL;
}

/* ---- its start ---- */

int discovery_new(const options_t *options, discovery_t **ret_discovery,
                  fault_t *fault)
{
    cleanup_discovery discovery_t *self = mem_new(sizeof *self);
    const char *path = options->jupyter.runtime_dir;
    char mark[JUPYTER_FOLDER_MARK];
    int r;

    make_mark(options, mark);
    self->note = note_path(options);
    self->state_dir = mem_text(options->state_dir);
    sweep_former(self->note, mark);
    *ret_discovery = NULL;
    if (!options->jupyter.discovery)
        return 0;
    if ((r = jupyter_folder_open(path, mark, true, &self->folder, fault)) < 0)
        return fault_wrap(fault, "jupyter/runtime_dir");
    if ((r = file_write_atomic(self->note, 0600, path, strlen(path), fault))
        < 0)
        return r;
    *ret_discovery = take_ptr(self);
    return 0;
}

/* ---- files ---- */

static void wipe(buffer_t *text)
{
    if (text->data)
        explicit_bzero(text->data, text->capacity);
}

void discovery_publish_server(discovery_t *self,
                              const discovery_server_t *server)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    cleanup_free char *name = mem_format("jpserver-%d.json", (int) getpid());
    fault_t fault;

    if (!self || !self->folder)
        return;
    /* Reserved at once, so that no copy of the token is left. */
    buffer_reserve(&text, CONNECTION_FILE_MAX);
    jspan_write_begin(&text);
    jspan_write_text(&text, "base_url", server->base_url);
    jspan_write_text(&text, "hostname", server->ip);
    jspan_write_bool(&text, "password", false);
    jspan_write_integer(&text, "pid", getpid());
    jspan_write_integer(&text, "port", server->port);
    jspan_write_text(&text, "root_dir", self->state_dir);
    jspan_write_bool(&text, "secure", server->is_secure);
    jspan_write_text(&text, "sock", "");
    jspan_write_text(&text, "token", server->token);
    jspan_write_text(&text, "url", server->url);
    jspan_write_text(&text, "version", HEARTH_VERSION);
    if (jupyter_folder_write(self->folder, name, &text, &fault) < 0)
        log_warning("discovery: Jupyter's programs do not find this gateway: "
                    "%s",
                    fault.text);
    wipe(&text);
}

static char *kernel_name(const char *session)
{
    return mem_format("kernel-%s.json", session);
}

bool discovery_publish_kernel(discovery_t *self, const char *session,
                              const char *connection_file)
{
    cleanup_connection_file connection_file_t connection = {0};
    cleanup_free char *name = kernel_name(session);
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    fault_t fault;
    int r;

    if (!self->folder)
        return false;
    if (jupyter_folder_has(self->folder, connection_file))
        return true;
    if ((r = connection_file_read(connection_file, &connection, &fault)) == 0) {
        connection_file_print(&connection, &text);
        r = jupyter_folder_write(self->folder, name, &text, &fault);
        wipe(&text);
    }
    if (r < 0)
        log_warning("session=%s discovery: Jupyter's programs do not find it: "
                    "%s",
                    session, fault.text);
    return r == 0;
}

void discovery_remove_kernel(discovery_t *self, const char *session)
{
    cleanup_free char *name = kernel_name(session);
    fault_t fault;

    if (self->folder && jupyter_folder_remove(self->folder, name, &fault) < 0)
        log_warning("session=%s discovery: %s", session, fault.text);
}
