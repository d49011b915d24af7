/* What a name is: its type and what is known of its elements, a function's signature and text. */
#include "lsp/impl.h"
#include "ir/analysis.h"

#include <inttypes.h>
#include <string.h>

static json_t *
hover(const TlRequest *r, size_t begin, size_t end, const char *code, const char *text)
{
   const TlDocument *d = r->doc;
   TlSb sb;
   tl_sb_init(&sb, d->comp.arena);
   tl_sb_printf(&sb, "```python\n%s\n```", code);
   if (text && *text)
      tl_sb_printf(&sb, "\n%s", text);
   return json_pack("{s:{s:s, s:s}, s:o}", "contents", "kind", "markdown", "value", tl_sb_cstr(&sb),
                    "range", tl_json_range(r->server, d->text, d->len, begin, end));
}

/* ---- facts of a value ---- */
static const TlFunc *
function_of(const TlValue *v)
{
   const TlBlock *b = v->def ? v->def->block : v->block;
   return b && b->region ? b->region->func : NULL;
}

static void
print_axis(TlSb *out, const char *what, const uint32_t *by_axis, unsigned rank)
{
   bool says = false;
   for (unsigned i = 0; i < rank; i++)
      says |= by_axis[i] > 1;
   if (!says)
      return;
   tl_sb_printf(out, "%s%s ", out->len ? ", " : "", what);
   for (unsigned i = 0; i < rank; i++)
      tl_sb_printf(out, "%s%u", i ? " x " : "", by_axis[i]);
}

/* "contiguous 128, divisible by 128, from 0 to 127"; "" when nothing is known. */
static const char *
facts_of(const TlDocument *d, uint32_t offset)
{
   const TlSv *v = d->comp.sema ? tl_sema_seen(d->comp.sema, offset) : NULL;
   const TlFunc *f = v && v->kind == TL_SV_VALUE ? function_of(v->value) : NULL;
   TlSb sb;
   tl_sb_init(&sb, d->comp.arena);
   if (!f || d->comp.diags.num_errors) /* half-built code is not to be analysed */
      return "";
   const TlAxisInfo *info = tl_axis_info(tl_analysis_new(d->comp.arena, f), v->value);
   unsigned rank = v->value->type->rank ? v->value->type->rank : 1;
   if (tl_type_is_tile(v->value->type)) {
      print_axis(&sb, "contiguous", info->contiguity, rank);
      print_axis(&sb, "constant over", info->constancy, rank);
   }
   print_axis(&sb, "divisible by", info->divisibility, rank);
   if (info->has_range)
      tl_sb_printf(&sb, "%sfrom %" PRId64 " to %" PRId64, sb.len ? ", " : "", info->lo, info->hi);
   return tl_sb_cstr(&sb);
}

/* ---- functions ---- */
static const char *
builtin_code(const TlDocument *d, const TlBuiltin *b)
{
   return tl_arena_printf(d->comp.arena, "%s(%s)", b->name, b->signature);
}

static json_t *
hover_symbol(TlRequest *r, const TlMention *m)
{
   const TlDocument *d = r->doc;
   const TlNode *node = NULL;
   TlRange at = {0};
   TlSymbolKind kind = m->symbol->kind;
   bool is_code = kind == TL_SYMBOL_FUNCTION || kind == TL_SYMBOL_IMPORT;
   if (is_code && tl_definition_of(d, m->symbol, &node, &at) && node &&
       node->kind == TL_AST_FUNCTION)
      return hover(r, m->range.begin, m->range.end,
                   tl_arena_printf(d->comp.arena, "def %s", tl_signature_of(d, node, at.file)),
                   tl_docstring_of(node));
   const char *kind_text = kind == TL_SYMBOL_PARAMETER ? "(parameter) "
                           : kind == TL_SYMBOL_IMPORT  ? "(import) "
                           : kind == TL_SYMBOL_CLASS   ? "class "
                                                       : "";
   const char *code = tl_arena_printf(d->comp.arena, "%s%s", kind_text, tl_describe_mention(d, m));
   return hover(r, m->range.begin, m->range.end, code, facts_of(d, m->range.begin));
}

/* module.function of an imported file. */
static json_t *
hover_attribute(TlRequest *r, TlWord w)
{
   const TlDocument *d = r->doc;
   const TlNode *n = tl_node_around(d, (uint32_t)w.begin, TL_AST_ATTRIBUTE), *node;
   uint32_t file;
   if (!n || !d->comp.sema)
      return NULL;
   TlSv v = tl_sema_meaning(d->comp.sema, n);
   if (!tl_sv_definition(&v, &node, &file) || !node || node->kind != TL_AST_FUNCTION)
      return NULL;
   return hover(r, w.begin, w.end,
                tl_arena_printf(d->comp.arena, "def %s", tl_signature_of(d, node, file)),
                tl_docstring_of(node));
}

json_t *
tl_lsp_hover(TlRequest *r)
{
   const TlMention *m = tl_mention_of(r);
   if (!r->doc)
      return NULL;
   TlWord w = tl_word_at(r->doc->text, r->doc->len, r->offset, true);
   if (m && m->symbol)
      return hover_symbol(r, m);
   if (w.begin == w.end)
      return NULL;
   const TlBuiltin *b = tl_lsp_builtin(r->doc, r->doc->text + w.dotted, w.end - w.dotted);
   if (b)
      return hover(r, w.begin, w.end, builtin_code(r->doc, b), b->doc);
   return hover_attribute(r, w);
}

/* ---- signature help ---- */
/* The parameters of "a, b=None, *rest" one by one; the number of the one meant, or -1. */
static json_t *
parameters(const char *signature, const TlOpenCall *call, int *active)
{
   json_t *list = json_array();
   int n = 0, depth = 0;
   const char *begin = signature;
   *active = call->keyword ? -1 : (int)call->argument;
   for (const char *p = signature;; p++) {
      depth += (*p && strchr("([{", *p)) - (*p && strchr(")]}", *p));
      if (*p && (*p != ',' || depth))
         continue;
      while (begin < p && *begin == ' ')
         begin++;
      if (begin == p)
         break;
      if (call->keyword && strncmp(begin, call->keyword, call->keyword_len) == 0 &&
          strcspn(begin, ":=, )") == call->keyword_len)
         *active = n;
      json_array_append_new(list, json_pack("{s:s%}", "label", begin, (size_t)(p - begin)));
      n++;
      if (!*p)
         break;
      begin = p + 1;
   }
   return list;
}

static json_t *
signature(const TlRequest *r, const TlOpenCall *call, const char *name, const char *params,
          const char *doc)
{
   int active;
   json_t *list = parameters(params, call, &active);
   const char *label = tl_arena_printf(r->doc->comp.arena, "%s(%s)", name, params);
   json_t *one = json_pack("{s:s, s:s, s:o}", "label", label, "documentation", doc ? doc : "",
                           "parameters", list);
   json_t *out = json_pack("{s:[o], s:i}", "signatures", one, "activeSignature", 0);
   if (active >= 0)
      json_object_set_new(out, "activeParameter", json_integer(active));
   return out;
}

static const TlSymbol *
function_named(const TlDocument *d, const char *name, size_t len)
{
   const TlNames *names = d->comp.names;
   for (size_t i = 0; names && i < names->symbols.len; i++) {
      const TlSymbol *y = names->symbols.data[i];
      bool is_code = y->kind == TL_SYMBOL_FUNCTION || y->kind == TL_SYMBOL_IMPORT;
      if (is_code && strlen(y->name) == len && memcmp(y->name, name, len) == 0)
         return y;
   }
   return NULL;
}

json_t *
tl_lsp_signature_help(TlRequest *r)
{
   TlOpenCall call;
   if (!r->doc || !tl_open_call(r->doc->text, r->offset, &call))
      return NULL;
   const TlDocument *d = r->doc;
   const char *dotted = d->text + call.callee.dotted;
   size_t len = call.callee.end - call.callee.dotted;
   const TlSymbol *y = function_named(d, dotted, len);
   const TlNode *node = NULL;
   TlRange at;
   if (y && tl_definition_of(d, y, &node, &at) && node && node->kind == TL_AST_FUNCTION) {
      const char *whole = tl_signature_of(d, node, at.file), *params = strchr(whole, '(') + 1;
      return signature(r, &call, y->name,
                       tl_arena_strndup(d->comp.arena, params, strlen(params) - 1),
                       tl_docstring_of(node));
   }
   const TlBuiltin *b = tl_lsp_builtin(d, dotted, len);
   return b ? signature(r, &call, b->name, b->signature, b->doc) : NULL;
}
