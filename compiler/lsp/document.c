/* Open documents: their text, changed piece by piece, and the last compilation of it. */
#include "lsp/impl.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_ERRORS = 200 };
static const char lost[] =
   "its text in the editor is not known here any more, since an edit could not be followed; close "
   "it and open it again";

TlDocument *
tl_document_find(const TlServer *s, const char *uri)
{
   for (TlDocument *d = s->documents; d; d = d->next)
      if (strcmp(d->uri, uri) == 0)
         return d;
   return NULL;
}

static void
document_free(TlDocument *d)
{
   if (d->has_view)
      tl_compilation_free(&d->comp);
   free(d->uri);
   free(d->path);
   free(d->text);
   free(d);
}

TlDocument *
tl_document_open(TlServer *s, const char *uri, const char *text, size_t len)
{
   TlDocument *d = calloc(1, sizeof *d);
   if (!d)
      return NULL;
   d->uri = strdup(uri);
   d->path = tl_path_of_uri(uri);
   if (!d->path)
      d->path = strdup(uri);
   d->text = calloc(1, 1);
   if (!d->uri || !d->path || !d->text) {
      document_free(d);
      return NULL;
   }
   d->is_lost = !tl_document_edit(d, 0, 0, text, len);
   d->next = s->documents;
   s->documents = d;
   return d;
}

void
tl_document_close(TlServer *s, TlDocument *d)
{
   TlDocument **link = &s->documents;
   while (*link != d)
      link = &(*link)->next;
   *link = d->next;
   if (s->at_work == d)
      s->at_work = NULL;
   document_free(d);
}

bool
tl_document_edit(TlDocument *d, size_t begin, size_t end, const char *text, size_t len)
{
   if (begin > end || end > d->len || d->len - (end - begin) + len > TL_MAX_SOURCE_BYTES)
      return false;
   size_t after = d->len - end, total = begin + len + after;
   char *changed = malloc(total + 1);
   if (!changed)
      return false;
   if (begin)
      memcpy(changed, d->text, begin);
   if (len)
      memcpy(changed + begin, text, len);
   if (after)
      memcpy(changed + begin + len, d->text + end, after);
   changed[total] = 0;
   free(d->text);
   d->text = changed;
   d->len = total;
   d->is_stale = d->is_unpublished = true;
   d->is_broken = false;
   return true;
}

const char *
tl_document_update(const TlServer *s, TlDocument *d)
{
   static const char bug[] = "a bug in tilec ended the check of this text";
   if (d->is_lost)
      return lost;
   if (d->is_broken)
      return bug;
   if (d->has_view && !d->is_stale)
      return NULL;
   if (d->has_view)
      tl_compilation_free(&d->comp);
   TlCompileExtra extra = s->options.extra;
   extra.watch = true;
   extra.max_errors = MAX_ERRORS;
   d->has_view = tl_compilation_init(&d->comp, NULL, &extra) == TILEC_OK;
   if (!d->has_view)
      return "out of memory";
   TilecCompileOptions o = s->options.compile;
   o.file = d->path;
   o.source = d->text;
   o.source_bytes = d->len;
   o.stop_after = TILEC_STAGE_IR; /* of IR text */
   tl_check(&d->comp, &o, &extra);
   d->is_stale = false;
   return NULL;
}

/* ---- file: URIs (RFC 8089) ---- */
static int
hex(char c)
{
   return c >= '0' && c <= '9'   ? c - '0'
          : c >= 'a' && c <= 'f' ? c - 'a' + 10
          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                 : -1;
}

char *
tl_path_of_uri(const char *uri)
{
   const char *host = tl_skip_prefix(uri, "file://"), *p = host ? strchr(host, '/') : NULL;
   char *path = p ? malloc(strlen(p) + 1) : NULL, *out = path;
   if (!path)
      return NULL;
   for (; *p; p++) {
      int high = *p == '%' ? hex(p[1]) : -1, low = high >= 0 ? hex(p[2]) : -1;
      *out++ = low >= 0 ? (char)(high * 16 + low) : *p;
      p += low >= 0 ? 2 : 0;
   }
   *out = 0;
   return path;
}

static bool
is_plain(unsigned char c)
{
   return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
          (c && strchr("-._~/", c));
}

char *
tl_uri_of_path(const char *path)
{
   static const char digits[] = "0123456789ABCDEF";
   char *absolute = realpath(path, NULL);
   const char *p = absolute ? absolute : path;
   char *uri = malloc(strlen(p) * 3 + sizeof "file://"), *out = uri;
   if (uri) {
      out += sprintf(out, "file://");
      for (; *p; p++) {
         unsigned char c = (unsigned char)*p;
         if (is_plain(c)) {
            *out++ = *p;
            continue;
         }
         *out++ = '%';
         *out++ = digits[c >> 4];
         *out++ = digits[c & 15];
      }
      *out = 0;
   }
   free(absolute);
   return uri;
}

/* ---- what editors tell ---- */
/* Nothing is said of a text that is not the editor's: not even what was said before. */
static void
lose(TlServer *s, TlDocument *d)
{
   if (!d->is_lost)
      tl_lsp_show(s, d->uri, lost);
   d->is_lost = d->is_unpublished = true;
}

void
tl_lsp_did_open(TlRequest *r)
{
   const json_t *item = json_object_get(r->params, "textDocument");
   const json_t *uri = json_object_get(item, "uri"), *text = json_object_get(item, "text");
   if (!json_is_string(uri) || !json_is_string(text))
      return;
   if (r->doc)
      tl_document_close(r->server, r->doc);
   TlDocument *d = tl_document_open(r->server, json_string_value(uri), json_string_value(text),
                                    json_string_length(text));
   if (!d || d->is_lost)
      tl_lsp_show(r->server, json_string_value(uri), "the text is too large, or memory is short");
   if (d)
      d->version = json_integer_value(json_object_get(item, "version"));
}

/* One change: the whole text, or a range of it.  False when it cannot be followed. */
static bool
change(const TlServer *s, TlDocument *d, const json_t *one)
{
   const json_t *range = json_object_get(one, "range"), *text = json_object_get(one, "text");
   size_t begin = 0, end = d->len;
   if (!json_is_string(text))
      return false;
   if (range) {
      const json_t *from = json_object_get(range, "start"), *to = json_object_get(range, "end");
      if (d->is_lost || !tl_lsp_is_position(from) || !tl_lsp_is_position(to))
         return false;
      begin = tl_offset_of(s, d->text, d->len, from);
      end = tl_offset_of(s, d->text, d->len, to);
   }
   bool ok = tl_document_edit(d, begin, end, json_string_value(text), json_string_length(text));
   if (!range && ok)
      d->is_lost = false;
   return ok;
}

/* Documents import each other: all may have other errors now. */
static void
touch_others(TlServer *s, const TlDocument *changed)
{
   for (TlDocument *d = s->documents; d; d = d->next)
      if (d != changed && d->has_view && !d->is_lost && d->comp.imports.len)
         d->is_stale = d->is_unpublished = true;
}

void
tl_lsp_did_change(TlRequest *r)
{
   const json_t *one;
   size_t i;
   if (!r->doc)
      return;
   json_array_foreach(json_object_get(r->params, "contentChanges"), i,
                      one) if (!change(r->server, r->doc, one)) lose(r->server, r->doc);
   r->doc->version =
      json_integer_value(json_object_get(json_object_get(r->params, "textDocument"), "version"));
}

/* What is on disk counts for files that import it. */
void
tl_lsp_did_save(TlRequest *r)
{
   touch_others(r->server, r->doc);
}

void
tl_lsp_did_close(TlRequest *r)
{
   if (!r->doc)
      return;
   tl_lsp_send(r->server->options.out, json_pack("{s:s, s:s, s:{s:s, s:[]}}", "jsonrpc", "2.0",
                                                 "method", "textDocument/publishDiagnostics",
                                                 "params", "uri", r->doc->uri, "diagnostics"));
   tl_document_close(r->server, r->doc);
}
