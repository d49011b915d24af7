/* What may be written at a place: members after a dot, else names in sight, arguments by name. */
#include "lsp/impl.h"
#include "syntax/parse.h"

#include <string.h>

enum { METHOD = 2, FUNCTION = 3, VARIABLE = 6, CLASS = 7, MODULE = 9, PROPERTY = 10 };
enum { KEYWORD = 14, CONSTANT = 21, TYPE = 25 }; /* CompletionItemKind */

typedef struct List {
   json_t *items;
   const char *prefix; /* what is written of the name */
   size_t len;
} List;

static void
offer(List *l, const char *name, int kind, const char *detail, const char *doc)
{
   bool is_asked_for =
      l->len && *l->prefix == '_'; /* __init__ and the like, by their first letter */
   if (strncmp(name, l->prefix, l->len) != 0 || (*name == '_' && !is_asked_for))
      return;
   json_t *item = json_pack("{s:o, s:i}", "label", tl_json_text(name, strlen(name)), "kind", kind);
   if (detail)
      json_object_set_new(item, "detail", tl_json_text(detail, strlen(detail)));
   if (doc && *doc)
      json_object_set_new(item, "documentation", tl_json_text(doc, strlen(doc)));
   json_array_append_new(l->items, item);
}

static void
offer_builtins(List *l, const TlDocument *d, uint32_t namespaces)
{
   const TlBuiltin *b;
   bool is_both = (namespaces & TL_NS_TL) && (namespaces & TL_NS_PYTHON); /* sum: once, as tl's */
   for (unsigned i = 0; (b = tl_builtin_at(i)); i++)
      if ((b->namespaces & namespaces) && strcmp(b->doc, "not supported") != 0 &&
          (!is_both || (b->namespaces & TL_NS_TL) || !tl_builtin_find(TL_NS_TL, b->name)))
         offer(l, b->name, FUNCTION,
               tl_arena_printf(d->comp.arena, "%s(%s)", b->name, b->signature), b->doc);
}

static void
offer_dtypes(List *l, bool is_bare)
{
   for (unsigned t = 0; t < TL_DTYPE_COUNT; t++) {
      offer(l, tl_dtype_info[t].triton_name, TYPE, "element type", NULL);
      if (is_bare && strcmp(tl_dtype_info[t].text, tl_dtype_info[t].triton_name) != 0)
         offer(l, tl_dtype_info[t].text, TYPE, "element type", NULL);
   }
   offer(l, "constexpr", TYPE, "known at compile time", NULL);
}

static void
offer_methods(List *l, const TlDocument *d)
{
   const TlBuiltin *b;
   const char *name, *doc;
   for (unsigned i = 0; (name = tl_lsp_attribute(i, &doc)); i++)
      offer(l, name, PROPERTY, NULL, doc);
   for (unsigned i = 0; (b = tl_builtin_at(i)); i++)
      if (b->flags & TL_BUILTIN_METHOD)
         offer(l, b->name, METHOD, tl_arena_printf(d->comp.arena, "%s(%s)", b->name, b->signature),
               b->doc);
}

/* ---- after a dot ---- */
/* Of a builtin namespace, of a file, of a value, or what is known of a module of Python. */
static void
offer_members(List *l, const TlDocument *d, TlWord w)
{
   TlSv v = tl_lsp_meaning_at(d, w.dotted, w.begin - 1);
   uint32_t namespaces = tl_sv_namespaces(&v);
   const char *name, *signature;
   const TlNode *n;
   if (v.kind != TL_SV_MODULE)
      offer_methods(l, d);
   if (namespaces)
      offer_builtins(l, d, namespaces);
   if (namespaces & TL_NS_TL)
      offer_dtypes(l, false);
   for (size_t i = 0; (n = tl_sv_member(&v, i)); i++)
      if (n->kind == TL_AST_FUNCTION)
         offer(l, tl_ast_Function(n)->name, FUNCTION, tl_signature_of(d, n, n->range.file),
               tl_docstring_of(n));
   const TlSv *value;
   TlRange at;
   for (size_t i = 0; (name = tl_sv_constant(&v, i, &value, &at)); i++)
      offer(l, name, CONSTANT, tl_sv_describe(d->comp.sema, value), NULL);
   for (size_t i = 0; tl_sv_python_member(&v, i, &name, &signature); i++)
      offer(l, name, signature ? FUNCTION : CONSTANT,
            signature ? tl_arena_printf(d->comp.arena, "%s(%s)", name, signature) : NULL, NULL);
}

/* ---- names in sight ---- */
static int
kind_of(const TlSymbol *y)
{
   static const int kinds[] = {[TL_SYMBOL_VARIABLE] = VARIABLE,
                               [TL_SYMBOL_PARAMETER] = VARIABLE,
                               [TL_SYMBOL_FUNCTION] = FUNCTION,
                               [TL_SYMBOL_CLASS] = CLASS,
                               [TL_SYMBOL_IMPORT] = MODULE};
   return kinds[y->kind];
}

static void
offer_symbols(List *l, const TlDocument *d, size_t offset)
{
   const TlNames *names = d->comp.names;
   for (size_t i = 0; names && i < names->symbols.len; i++) {
      const TlSymbol *y = names->symbols.data[i];
      if (tl_is_in_sight(y, offset))
         offer(l, y->name, kind_of(y), tl_describe_seen(d, y->range.begin), NULL);
   }
}

static void
offer_keywords(List *l)
{
   const char *word;
   for (unsigned i = 0; (word = tl_keyword(i)); i++)
      offer(l, word, KEYWORD, NULL, NULL);
   offer(l, "match", KEYWORD, NULL, NULL);
   offer(l, "case", KEYWORD, NULL, NULL);
}

/* Arguments by name of the call that is being written. */
static void
offer_arguments(List *l, const TlRequest *r)
{
   const TlDocument *d = r->doc;
   TlOpenCall call;
   TlCallee callee;
   if (!tl_open_call(d->text, r->offset, &call) || call.keyword ||
       !tl_lsp_callee(d, &call, &callee))
      return;
   TlParameter p;
   while (tl_next_parameter(&callee.params, &p))
      if (p.name_len)
         offer(l, tl_arena_printf(d->comp.arena, "%.*s=", (int)p.name_len, p.name), PROPERTY,
               callee.name, NULL);
}

/* "@ker" */
static bool
is_decorator(const TlDocument *d, TlWord w)
{
   return w.dotted && d->text[w.dotted - 1] == '@';
}

static void
offer_decorators(List *l)
{
   static const char *const rows[][2] = {
      {"kernel", "A function that is launched: @kernel(grid=(cdiv(n, BLOCK),), num_warps=4)."},
      {"jit", "A function that kernels call; with a launch in the file a kernel, as in Triton."},
      {"autotune", "Configurations to choose from: @autotune(configs=[Config({..})], key=[..])."},
      {"heuristics", "Constexprs computed from arguments: @heuristics({\"EVEN\": lambda a: ..})."},
   };
   for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
      offer(l, rows[i][0], FUNCTION, NULL, rows[i][1]);
}

json_t *
tl_lsp_completion(TlRequest *r)
{
   List l = {.items = json_array()};
   if (!r->doc)
      return l.items;
   const TlDocument *d = r->doc;
   TlWord w = tl_word_at(d->text, d->len, r->offset, false);
   l.prefix = d->text + w.begin;
   l.len = w.end - w.begin;
   if (w.begin && d->text[w.begin - 1] == '.') {
      offer_members(&l, d, w);
      return l.items;
   }
   bool is_tile = !tl_is_python_file(d->path); /* Python has builtins under a module's name */
   if (is_tile && is_decorator(d, w)) {
      offer_decorators(&l);
      return l.items;
   }
   offer_arguments(&l, r);
   offer_symbols(&l, d, r->offset);
   offer_keywords(&l);
   offer_builtins(&l, d, is_tile ? TL_NS_TL | TL_NS_PYTHON | TL_NS_TRITON : TL_NS_PYTHON);
   if (is_tile)
      offer_dtypes(&l, true);
   return l.items;
}
