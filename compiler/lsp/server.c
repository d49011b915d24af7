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
#define TL_LSP_REQUEST(method, name)      {method, tl_lsp_##name, NULL},
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
send_result(TlServer *s, const json_t *id, json_t *result)
{
   tl_lsp_send(s->options.out, json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id, "result",
                                         result ? result : json_null()));
}

static void
send_error(TlServer *s, json_t *id, int code, const char *why)
{
   tl_lsp_send(s->options.out,
               json_pack("{s:s, s:O, s:{s:i, s:s}}", "jsonrpc", "2.0", "id", id ? id : json_null(),
                         "error", "code", code, "message", why));
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
   if (r->doc && !tl_document_update(r->server, r->doc))
      r->doc = NULL;
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
         send_result(s, id, result);
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

/* Documents whose compilation may be in no known state get none until their text changes. */
static void
give_up(TlServer *s, json_t *message)
{
   for (TlDocument *d = s->documents; d; d = d->next) {
      d->is_broken |= d->is_stale || d == s->at_work;
      d->has_view = d->has_view && !d->is_broken;
      d->is_unpublished = false;
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

bool
tl_lsp_serve(const TlLspOptions *options)
{
   TlNear near;
   TlServer s = {.options = *options, .near = &near};
   setvbuf(options->in, NULL, _IONBF, 0);
   while (!s.is_over) {
      json_t *message;
      near = (TlNear){.text = NULL};
      TlReceived got = tl_lsp_receive(options->in, &message);
      if (got == TL_RECEIVED_END)
         break;
      if (got == TL_RECEIVED_BAD)
         send_error(&s, NULL, PARSE_ERROR, "this is no message of the protocol");
      else
         guard(&s, (Work){.server = &s, .message = message});
      json_decref(message);
      near = (TlNear){.text = NULL};
      if (!tl_lsp_is_waiting(options->in))
         publish_all(&s);
   }
   for (TlDocument *d = s.documents, *next; d; d = next) {
      next = d->next;
      tl_document_free(d);
   }
   return s.is_shut_down;
}

/* ---- life ---- */
static bool
takes_utf8(const json_t *params)
{
   const json_t *general = json_object_get(json_object_get(params, "capabilities"), "general");
   const json_t *encodings = json_object_get(general, "positionEncodings"), *one;
   size_t i;
   json_array_foreach(encodings, i,
                      one) if (json_is_string(one) &&
                               strcmp(json_string_value(one), "utf-8") == 0) return true;
   return false;
}

json_t *
tl_lsp_initialize(TlRequest *r)
{
   TlServer *s = r->server;
   s->is_initialized = true;
   s->is_utf8 = takes_utf8(r->params);
   json_t *tokens = tl_lsp_token_legend();
   return json_pack(
      "{s:{s:s, s:{s:b, s:i, s:b}, s:b, s:{s:[s,s]}, s:{s:[s,s]}, s:b, s:b, s:b, s:b, s:{s:b}, s:b,"
      " s:{s:o, s:b}, s:{s:[s]}}, s:{s:s, s:s}}",
      "capabilities", "positionEncoding", s->is_utf8 ? "utf-8" : "utf-16", "textDocumentSync",
      "openClose", 1, "change", 2, "save", 1, "hoverProvider", 1, "completionProvider",
      "triggerCharacters", ".", "@", "signatureHelpProvider", "triggerCharacters", "(", ",",
      "definitionProvider", 1, "referencesProvider", 1, "documentHighlightProvider", 1,
      "documentSymbolProvider", 1, "renameProvider", "prepareProvider", 1, "inlayHintProvider", 1,
      "semanticTokensProvider", "legend", tokens, "full", 1, "codeActionProvider",
      "codeActionKinds", "quickfix", "serverInfo", "name", "tilec", "version", tilec_version());
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
