/* One message after the other.  Diagnostics are sent when nothing more is waiting: of a burst of
 * key presses the last one counts. */
#include "lsp/guard.h"
#include "lsp/impl.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

enum { PARSE_ERROR = -32700, INVALID_REQUEST = -32600, UNKNOWN_METHOD = -32601 };
enum { INTERNAL_ERROR = -32603, NOT_INITIALIZED = -32002, REQUEST_FAILED = -32803 };

typedef struct Method {
   const char *name;
   json_t *(*answer)(TlRequest *r); /* NULL: a notification */
   void (*take)(TlRequest *r);
} Method;

static const Method methods[] = {
#define TL_LSP_REQUEST(method, name, ...) {method, tl_lsp_##name, NULL},
#define TL_LSP_NOTIFICATION(method, name) {method, NULL, tl_lsp_##name},
#include "lsp/methods.def"
};

static const Method *
find_method(const char *name)
{
   for (size_t i = 0; name && i < sizeof methods / sizeof methods[0]; i++)
      if (strcmp(methods[i].name, name) == 0)
         return &methods[i];
   return NULL;
}

/* ---- answers ---- */
static void
send_error(TlServer *s, json_t *id, int code, const char *why)
{
   tl_lsp_send(s->options.out,
               json_pack("{s:s, s:O, s:{s:i, s:s}}", "jsonrpc", "2.0", "id", id ? id : json_null(),
                         "error", "code", code, "message", why));
}

static void
send_result(TlServer *s, json_t *id, json_t *result)
{
   json_t *message = json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id, "result", result);
   if (!tl_lsp_send(s->options.out, message))
      send_error(s, id, INTERNAL_ERROR, "the answer could not be written");
}

void
tl_lsp_show(TlServer *s, const char *uri, const char *message)
{
   enum { ERROR = 1 };
   json_t *text = json_sprintf("%s: %s", uri, message);
   tl_lsp_send(s->options.out,
               json_pack("{s:s, s:s, s:{s:i, s:o}}", "jsonrpc", "2.0", "method",
                         "window/showMessage", "params", "type", ERROR, "message", text));
}

/* ---- one message ---- */
static void
find_document(TlRequest *r)
{
   const json_t *at = json_object_get(json_object_get(r->params, "textDocument"), "uri");
   r->doc = json_is_string(at) ? tl_document_find(r->server, json_string_value(at)) : NULL;
   const json_t *position = json_object_get(r->params, "position");
   r->server->at_work = r->doc;
   if (r->doc && position)
      r->offset = tl_offset_of(r->server, r->doc->text, r->doc->len, position);
}

/* Out of memory in an answer ends that answer. */
static json_t *
answer(const Method *m, TlRequest *r)
{
   if (r->doc)
      r->error = tl_document_update(r->server, r->doc);
   if (r->error)
      return NULL;
   if (!r->doc)
      return m->answer(r);
   if (setjmp(r->doc->comp.oom)) {
      r->error = "out of memory";
      return NULL;
   }
   return m->answer(r);
}

static void
serve_request(TlServer *s, const Method *m, json_t *id, const json_t *params)
{
   TlRequest r = {.server = s, .params = params};
   bool is_first = m && m->answer == tl_lsp_initialize;
   if (!m || !m->answer) {
      send_error(s, id, UNKNOWN_METHOD, "the server does not have this method");
   } else if (!s->is_initialized && !is_first) {
      send_error(s, id, NOT_INITIALIZED, "'initialize' comes first");
   } else if (s->is_shut_down || (s->is_initialized && is_first)) {
      send_error(s, id, INVALID_REQUEST, "not at this time");
   } else {
      find_document(&r);
      json_t *result = answer(m, &r);
      if (r.error)
         send_error(s, id, REQUEST_FAILED, r.error);
      else
         send_result(s, id, result ? result : json_null());
   }
}

static void
serve_message(TlServer *s, json_t *message)
{
   const json_t *name = json_object_get(message, "method");
   json_t *id = json_object_get(message, "id");
   const json_t *params = json_object_get(message, "params");
   const Method *m = find_method(json_string_value(name));
   if (!json_is_string(name)) {
      if (!json_object_get(message, "result") && !json_object_get(message, "error"))
         send_error(s, id, INVALID_REQUEST, "a message has a method");
      return; /* an answer: the server asks nothing */
   }
   if (id) {
      serve_request(s, m, id, params);
      return;
   }
   TlRequest r = {.server = s, .params = params};
   bool is_exit = m && m->take == tl_lsp_exit;
   if (m && m->take && (s->is_initialized || is_exit)) {
      find_document(&r);
      m->take(&r);
   }
}

/* ---- what crashes is given up ---- */
typedef struct Work {
   TlServer *server;
   json_t *message;      /* to serve, or NULL: */
   TlDocument *document; /* whose diagnostics to publish */
} Work;

static void
do_work(void *user)
{
   Work *w = user;
   if (w->message)
      serve_message(w->server, w->message);
   else
      tl_lsp_publish(w->server, w->document);
}

/* The document at work gets nothing more until its text changes: its compilation is in no known
 * state.  Others are as they were. */
static void
give_up(TlServer *s, json_t *message)
{
   TlDocument *d = s->at_work;
   if (d) {
      d->is_broken = true;
      d->has_view = false;
      d->is_unpublished = false;
      tl_lsp_show(s, d->uri,
                  "a bug in tilec ended its check; it is looked at again when it changes");
   }
   json_t *id = json_object_get(message, "id");
   if (id)
      send_error(s, id, INTERNAL_ERROR, "a bug in tilec ended this request");
}

static void
guard(TlServer *s, Work work)
{
   s->at_work = work.document;
   if (!tl_guarded(do_work, &work))
      give_up(s, work.message);
   s->at_work = NULL;
}

static void
publish_all(TlServer *s)
{
   for (TlDocument *d = s->documents; d; d = d->next)
      if (d->is_unpublished)
         guard(s, (Work){.server = s, .document = d});
}

/* False at the end of input. */
static bool
serve_next(TlServer *s)
{
   json_t *message;
   s->near = (TlNear){.text = NULL};
   switch (tl_lsp_receive(&s->input, &message)) {
   case TL_RECEIVED_END:
      return false;
   case TL_RECEIVED_NO_LENGTH:
      send_error(s, NULL, PARSE_ERROR,
                 "a message begins with 'Content-Length: ' and its bytes, "
                 "64 MiB at most; skipped up to the next one");
      break;
   case TL_RECEIVED_NO_JSON:
      send_error(s, NULL, PARSE_ERROR, "the message is no JSON");
      break;
   case TL_RECEIVED:
      guard(s, (Work){.server = s, .message = message});
   }
   json_decref(message);
   s->near = (TlNear){.text = NULL};
   if (!tl_lsp_is_waiting(&s->input))
      publish_all(s);
   return !s->is_over;
}

bool
tl_lsp_serve(const TlLspOptions *options)
{
   TlServer s = {.options = *options, .input = {.fd = fileno(options->in)}};
   while (serve_next(&s))
      ;
   while (s.documents)
      tl_document_close(&s, s.documents);
   return s.is_shut_down;
}

/* ---- life ---- */
static bool
takes_utf8(const json_t *params)
{
   const json_t *general = json_object_get(json_object_get(params, "capabilities"), "general");
   const json_t *encodings = json_object_get(general, "positionEncodings");
   for (size_t i = 0; i < json_array_size(encodings); i++) {
      const char *one = json_string_value(json_array_get(encodings, i));
      if (one && strcmp(one, "utf-8") == 0)
         return true;
   }
   return false;
}

static json_t *
capabilities(const TlServer *s)
{
   static const struct {
      const char *name, *options;
   } rows[] = {
#define TL_LSP_REQUEST(method, name, capability, options) {capability, options},
#include "lsp/methods.def"
   };
   json_t *out =
      json_pack("{s:s, s:{s:b, s:i, s:b}}", "positionEncoding", s->is_utf8 ? "utf-8" : "utf-16",
                "textDocumentSync", "openClose", 1, "change", 2, "save", 1);
   for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
      if (rows[i].name)
         json_object_set_new(out, rows[i].name, json_loads(rows[i].options, JSON_DECODE_ANY, NULL));
   json_object_set_new(json_object_get(out, "semanticTokensProvider"), "legend",
                       tl_lsp_token_legend());
   return out;
}

json_t *
tl_lsp_initialize(TlRequest *r)
{
   TlServer *s = r->server;
   s->is_initialized = true;
   s->is_utf8 = takes_utf8(r->params);
   return json_pack("{s:o, s:{s:s, s:s}}", "capabilities", capabilities(s), "serverInfo", "name",
                    "tilec", "version", tilec_version());
}

void
tl_lsp_initialized(TlRequest *r)
{
   (void)r;
}

json_t *
tl_lsp_shutdown(TlRequest *r)
{
   r->server->is_shut_down = true;
   return NULL;
}

void
tl_lsp_exit(TlRequest *r)
{
   r->server->is_over = true;
}
