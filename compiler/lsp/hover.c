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
   return json_pack("{s:{s:s, s:o}, s:o}", "contents", "kind", "markdown", "value",
                    tl_json_text(tl_sb_cstr(&sb), sb.len), "range",
                    tl_json_range(r->server, d->text, d->len, begin, end));
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
hover_function(const TlRequest *r, size_t begin, size_t end, const TlNode *node, uint32_t file)
{
   const TlDocument *d = r->doc;
   return hover(r, begin, end,
                tl_arena_printf(d->comp.arena, "def %s", tl_signature_of(d, node, file)),
                tl_docstring_of(node));
}

static json_t *
hover_symbol(const TlRequest *r, const TlMention *m)
{
   static const char *const words[] = {[TL_SYMBOL_VARIABLE] = "",
                                       [TL_SYMBOL_PARAMETER] = "(parameter) ",
                                       [TL_SYMBOL_FUNCTION] = "",
                                       [TL_SYMBOL_CLASS] = "class ",
                                       [TL_SYMBOL_IMPORT] = "(import) "};
   const TlDocument *d = r->doc;
   const TlNode *node = NULL;
   TlRange at = {0};
   TlSymbolKind kind = m->symbol->kind;
   bool is_code = kind == TL_SYMBOL_FUNCTION || kind == TL_SYMBOL_IMPORT;
   if (is_code && tl_definition_of(d, m->symbol, &node, &at) && node &&
       node->kind == TL_AST_FUNCTION)
      return hover_function(r, m->range.begin, m->range.end, node, at.file);
   const char *code =
      tl_arena_printf(d->comp.arena, "%s%s", words[kind], tl_describe_mention(d, m));
   return hover(r, m->range.begin, m->range.end, code, facts_of(d, m->range.begin));
}

static json_t *
hover_dtype(const TlRequest *r, size_t begin, size_t end, TlDtype t)
{
   TlArena *arena = r->doc->comp.arena;
   const char *what = tl_dtype_is_float(t)              ? "floating point"
                      : t == TL_I1                      ? "boolean"
                      : tl_dtype_info[t].text[0] == 'u' ? "unsigned integer"
                                                        : "signed integer";
   return hover(r, begin, end, tl_arena_printf(arena, "(type) %s", tl_dtype_info[t].text),
                tl_arena_printf(arena, "%s, %u bits; tl.%s", what, tl_dtype_info[t].bits,
                                tl_dtype_info[t].triton_name));
}

/* other=0.0 in a call */
static json_t *
hover_argument(const TlRequest *r, TlWord w)
{
   const TlDocument *d = r->doc;
   TlOpenCall call;
   TlCallee callee;
   TlParameter p;
   bool is_named = w.end < d->len && d->text[w.end] == '=' &&
                   tl_open_call(d->text, w.end + 1, &call) && call.keyword == d->text + w.begin;
   if (!is_named || !tl_lsp_callee(d, &call, &callee))
      return NULL;
   while (tl_next_parameter(&callee.params, &p))
      if (p.name_len == call.keyword_len && memcmp(p.name, call.keyword, p.name_len) == 0)
         return hover(r, w.begin, w.end,
                      tl_arena_printf(d->comp.arena, "(argument of %s) %.*s", callee.name,
                                      (int)p.len, p.text),
                      callee.doc);
   return NULL;
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
   const char *name, *doc;
   bool is_member = w.begin && r->doc->text[w.begin - 1] == '.' && /* of no module */
                    tl_lsp_meaning_at(r->doc, w.dotted, w.begin - 1).kind != TL_SV_MODULE;
   for (unsigned i = 0; is_member && (name = tl_lsp_attribute(i, &doc)); i++)
      if (strlen(name) == w.end - w.begin &&
          memcmp(name, r->doc->text + w.begin, strlen(name)) == 0)
         return hover(r, w.begin, w.end, name, doc);
   const TlBuiltin *b = tl_lsp_builtin_at(r->doc, w.dotted, w.end);
   if (b)
      return hover(r, w.begin, w.end, builtin_code(r->doc, b), b->doc);
   const TlNode *node;
   TlRange at;
   const TlSv *value;
   TlSv v = tl_lsp_meaning_at(r->doc, w.dotted, w.end);
   if (tl_lsp_defined(r->doc, &v, &node, &at) && node && node->kind == TL_AST_FUNCTION)
      return hover_function(r, w.begin, w.end, node, at.file);
   if ((name = tl_lsp_constant(r->doc, w.dotted, w.end, &value, &at)))
      return hover(r, w.begin, w.end,
                   tl_arena_printf(r->doc->comp.arena, "%s: %s", name,
                                   tl_sv_describe(r->doc->comp.sema, value)),
                   NULL);
   if (v.kind == TL_SV_TYPE && v.type->kind == TL_TYPE_SCALAR)
      return hover_dtype(r, w.begin, w.end, v.type->dtype);
   return hover_argument(r, w);
}

/* ---- signature help ---- */
/* The parameters one by one; out: the number of the one meant, or -1. */
static json_t *
parameters(const char *rest, const TlOpenCall *call, int *active)
{
   json_t *list = json_array();
   TlParameter p;
   *active = call->keyword ? -1 : (int)call->argument;
   while (tl_next_parameter(&rest, &p)) {
      if (call->keyword && p.name_len == call->keyword_len &&
          memcmp(p.name, call->keyword, p.name_len) == 0)
         *active = (int)json_array_size(list);
      json_array_append_new(list, json_pack("{s:o}", "label", tl_json_text(p.text, p.len)));
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
   doc = doc ? doc : "";
   json_t *one = json_pack("{s:o, s:o, s:o}", "label", tl_json_text(label, strlen(label)),
                           "documentation", tl_json_text(doc, strlen(doc)), "parameters", list);
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

/* The function of the file, of one that it imports, or of a module. */
static const TlNode *
callee(const TlDocument *d, const TlWord *w, uint32_t *file)
{
   const TlSymbol *y = function_named(d, d->text + w->dotted, w->end - w->dotted);
   const TlNode *node = NULL;
   TlRange at = {0};
   TlSv v = y ? tl_sv_poison() : tl_lsp_meaning_at(d, w->dotted, w->end);
   bool is_found = y ? tl_definition_of(d, y, &node, &at) : tl_lsp_defined(d, &v, &node, &at);
   *file = at.file;
   return is_found && node && node->kind == TL_AST_FUNCTION ? node : NULL;
}

bool
tl_lsp_callee(const TlDocument *d, const TlOpenCall *call, TlCallee *out)
{
   uint32_t file;
   const TlWord *w = &call->callee;
   const TlNode *n = callee(d, w, &file);
   const TlBuiltin *b = n ? NULL : tl_lsp_builtin_at(d, w->dotted, w->end);
   if (!n && !b)
      return false;
   if (b) {
      TlSv whole = tl_lsp_meaning_at(d, w->dotted, w->end);
      bool is_method = whole.kind != TL_SV_BUILTIN && w->dotted < w->begin;
      *out = (TlCallee){b->name, b->signature, b->doc};
      if (is_method) { /* what stands before the dot is the first */
         const char *comma = tl_parameter_end(b->signature);
         out->params = comma + (*comma == ',') + (comma[0] == ',' && comma[1] == ' ');
      }
      return true;
   }
   const char *whole = tl_signature_of(d, n, file), *params = strchr(whole, '(') + 1;
   *out =
      (TlCallee){tl_ast_Function(n)->name,
                 tl_arena_strndup(d->comp.arena, params, strlen(params) - 1), tl_docstring_of(n)};
   return true;
}

json_t *
tl_lsp_signature_help(TlRequest *r)
{
   TlOpenCall call;
   TlCallee called;
   if (!r->doc || !tl_open_call(r->doc->text, r->offset, &call) ||
       !tl_lsp_callee(r->doc, &call, &called))
      return NULL;
   return signature(r, &call, called.name, called.params, called.doc);
}
