/* What is wrong, as an editor shows it, and what it can do about it. */
#include "lsp/impl.h"

#include <ctype.h>
#include <setjmp.h>
#include <string.h>

static int
severity_of(TlSeverity s)
{
   enum { ERROR = 1, WARNING = 2, HINT = 4 };
   return s == TL_SEV_ERROR ? ERROR : s == TL_SEV_WARNING ? WARNING : HINT;
}

static json_t *
related(TlServer *s, const TlDocument *d, const TlDiag *g)
{
   json_t *list = json_array();
   for (const TlDiag *n = g->notes; n; n = n->next)
      if (tl_source(d->comp.sources, n->range.file))
         json_array_append_new(list,
                               json_pack("{s:o, s:o}", "location", tl_json_location(s, d, n->range),
                                         "message", tl_json_text(n->text, strlen(n->text))));
   return list;
}

/* One in a file that this one imports is shown where this one begins. */
static json_t *
diagnostic(TlServer *s, TlDocument *d, const TlDiag *g)
{
   bool is_own = g->range.file == d->comp.file;
   const TlSource *src = tl_source(d->comp.sources, g->range.file);
   const char *text = g->text;
   if (g->help)
      text = tl_arena_printf(d->comp.arena, "%s\nhelp: %s", text, g->help);
   if (!is_own && src)
      text = tl_arena_printf(
         d->comp.arena, "%s:%u: %s", src->name,
         tl_source_line_col(d->comp.sources, g->range.file, g->range.begin).line, text);
   size_t begin = is_own ? g->range.begin : 0, end = is_own ? g->range.end : 0;
   json_t *out = json_pack(
      "{s:o, s:i, s:s, s:s, s:o, s:o}", "range", tl_json_range(s, d->text, d->len, begin, end),
      "severity", severity_of(g->severity), "code", tl_diag_name(g->code), "source", "tilec",
      "message", tl_json_text(text, strlen(text)), "relatedInformation", related(s, d, g));
   enum { UNNECESSARY = 1 };
   TlWarningGroup group = tl_diag_group(g->code);
   if (group == TL_WARNING_UNUSED || group == TL_WARNING_UNUSED_PARAMETER ||
       group == TL_WARNING_UNREACHABLE)
      json_object_set_new(out, "tags", json_pack("[i]", UNNECESSARY));
   return out;
}

void
tl_lsp_publish(TlServer *s, TlDocument *d)
{
   json_t *const list = json_array();
   d->is_unpublished = false;
   const TlDiag *g = tl_document_update(s, d) ? NULL : d->comp.diags.first;
   if (g && !setjmp(d->comp.oom))
      for (; g; g = g->next)
         json_array_append_new(list, diagnostic(s, d, g));
   tl_lsp_send(s->options.out,
               json_pack("{s:s, s:s, s:{s:s, s:I, s:o}}", "jsonrpc", "2.0", "method",
                         "textDocument/publishDiagnostics", "params", "uri", d->uri, "version",
                         d->version, "diagnostics", list));
}

/* ---- code actions ---- */
static json_t *
action(TlRequest *r, const TlDiag *g, const char *title, TlRange at, const char *text)
{
   TlServer *s = r->server;
   TlDocument *d = r->doc;
   json_t *edit = json_pack("{s:o, s:s}", "range",
                            tl_json_range(s, d->text, d->len, at.begin, at.end), "newText", text);
   json_t *changes = json_object();
   json_object_set_new(changes, d->uri, json_pack("[o]", edit));
   return json_pack("{s:s, s:s, s:[o], s:{s:o}}", "title", title, "kind", "quickfix", "diagnostics",
                    diagnostic(s, d, g), "edit", "changes", changes);
}

static bool
is_word(const char *s, size_t len)
{
   for (size_t i = 0; i < len; i++)
      if (!isalnum((unsigned char)s[i]) && s[i] != '_' && (unsigned char)s[i] < 0x80)
         return false;
   return len > 0;
}

/* "did you mean 'name'?": the name in place of the one that is there, or of its last part. */
static json_t *
suggestion(TlRequest *r, const TlDiag *g)
{
   static const char mark[] = "did you mean '";
   const char *at = g->help ? strstr(g->help, mark) : NULL;
   const char *end = at ? strchr(at + sizeof mark - 1, '\'') : NULL;
   if (!end)
      return NULL;
   const char *name = tl_arena_strndup(r->doc->comp.arena, at + sizeof mark - 1,
                                       (size_t)(end - at) - (sizeof mark - 1));
   TlRange where = g->range;
   const char *text = r->doc->text;
   for (uint32_t i = where.end; i > where.begin && !strchr(name, '.'); i--)
      if (text[i - 1] == '.') {
         where.begin = i;
         break;
      }
   if (!is_word(text + where.begin, where.end - where.begin))
      return NULL;
   const char *title = tl_arena_printf(r->doc->comp.arena, "Change to '%s'", name);
   return action(r, g, title, where, name);
}

/* A comment at the end of its line silences a warning. */
static json_t *
silence(TlRequest *r, const TlDiag *g)
{
   TlWarningGroup group = tl_diag_group(g->code);
   if (group == TL_WARNING_COUNT)
      return NULL;
   const char *name = tl_warning_name(group);
   uint32_t end = g->range.begin + (uint32_t)strcspn(r->doc->text + g->range.begin, "\r\n");
   TlArena *a = r->doc->comp.arena;
   return action(r, g, tl_arena_printf(a, "Silence '%s' on this line", name),
                 tl_range(g->range.file, end, end),
                 tl_arena_printf(a, "  # tilec: ignore[%s]", name));
}

json_t *
tl_lsp_code_actions(TlRequest *r)
{
   json_t *list = json_array();
   const json_t *range = json_object_get(r->params, "range");
   if (!r->doc)
      return list;
   size_t begin =
      tl_offset_of(r->server, r->doc->text, r->doc->len, json_object_get(range, "start"));
   size_t end = tl_offset_of(r->server, r->doc->text, r->doc->len, json_object_get(range, "end"));
   for (const TlDiag *g = r->doc->comp.diags.first; g; g = g->next) {
      if (g->range.file != r->doc->comp.file || g->range.end < begin || g->range.begin > end)
         continue;
      json_t *fixes[2] = {suggestion(r, g), silence(r, g)};
      for (unsigned i = 0; i < 2; i++)
         if (fixes[i])
            json_array_append_new(list, fixes[i]);
   }
   return list;
}
