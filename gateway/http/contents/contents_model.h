/* Jupyter's models of files, refusals, and a request's options. */
#ifndef HEARTH_GATEWAY_HTTP_CONTENTS_CONTENTS_MODEL_H
#define HEARTH_GATEWAY_HTTP_CONTENTS_CONTENTS_MODEL_H

#include "gateway/http/core/http.h"

typedef struct {
    const char *type;   /* "file", "notebook", "directory"; NULL: as it is */
    const char *format; /* "text", "base64", "json"; NULL: as it is */
    bool content, hash;
} contents_wish_t;

/* Reads a request's options, lent from the exchange. Returns false if they are
 * invalid; then an error was sent. */
bool contents_wish(exchange_t *exchange, contents_wish_t *ret_wish);

/* Returns a model with all of Jupyter's members; those not given are null. */
json_t *contents_model(const char *path, const char *type, const char *created,
                       const char *modified, bool is_writable);
/* Returns the model of an entry that the files' thread describes. */
json_t *contents_entry_model(const char *session, const json_t *entry);
/* Adds the entries (taken) to a folder's model. */
void contents_set_entries(json_t *folder, json_t *entries);
/* Returns the MIME type, "text/x-python". */
const char *contents_mimetype(const char *path, const char *format);
/* Adds the header Last-Modified from an ISO time. */
void contents_modified(exchange_t *exchange, const char *iso);

/* Returns the requested path as the client wrote it; "" if the request has no
 * path. */
const char *contents_path(const exchange_t *exchange);
/* Answers {"message","reason"}, the reason in Jupyter's words ("bad type"). */
void contents_refuse(exchange_t *exchange, int status, const char *reason,
                     const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void contents_absent(exchange_t *exchange);
/* Returns true if the reply is no error; if it is one, the words of the files'
 * thread or of the registry were sent. */
bool contents_is_ok(exchange_t *exchange, const json_t *reply);
/* Returns true if the token has this scope; if not, an error was sent. */
bool contents_may(exchange_t *exchange, unsigned scope);

#endif
