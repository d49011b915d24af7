/* What may be written at a place: members after a dot, else names in sight, arguments by name. */
#include "lsp/impl.h"

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
   if (strncmp(name, l->prefix, l->len) != 0)
      return;
   json_t *item = json_pack("{s:s, s:i}", "label", name, "kind", kind);
   if (detail)
      json_object_set_new(item, "detail", json_string(detail));
   if (doc && *doc)
      json_object_set_new(item, "documentation", json_string(doc));
   json_array_append_new(l->items, item);
}

static void
offer_builtins(List *l, const TlDocument *d, uint32_t namespaces)
{
   const TlBuiltin *b;
   for (unsigned i = 0; (b = tl_builtin_at(i)); i++)
      if ((b->namespaces & namespaces) && strcmp(b->doc, "not supported") != 0)
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
   static const char *const attributes[] = {"dtype", "shape", "T", "type"};
   const TlBuiltin *b;
   for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++)
      offer(l, attributes[i], PROPERTY, NULL, NULL);
   for (unsigned i = 0; (b = tl_builtin_at(i)); i++)
      if (b->flags & TL_BUILTIN_METHOD)
         offer(l, b->name, METHOD, tl_arena_printf(d->comp.arena, "%s(%s)", b->name, b->signature),
               b->doc);
}

/* ---- after a dot ---- */
static const struct {
   const char *name;
   uint32_t ns;
} modules[] = {
   {"tl", TL_NS_TL},         {"language", TL_NS_TL},         {"math", TL_NS_MATH},
   {"triton", TL_NS_TRITON}, {"libdevice", TL_NS_LIBDEVICE},
};

static void
offer_module(List *l, const TlDocument *d, const TlNode *module, uint32_t file)
{
   const TlSource *src = tl_source(d->comp.sources, file);
   TlParseCx px = {d->comp.arena, d->comp.strings, d->comp.sources, NULL};
   TlDiags quiet;
   tl_diags_init(&quiet, d->comp.arena, d->comp.sources);
   px.diags = &quiet;
   (void)module;
   const TlAstModule *ast = src ? tl_parse_file(&px, file) : NULL;
   for (size_t i = 0; ast && i < ast->body.len; i++) {
      const TlNode *n = ast->body.data[i];
      if (n && n->kind == TL_AST_FUNCTION)
         offer(l, tl_ast_Function(n)->name, FUNCTION, tl_signature_of(d, n, file),
               tl_docstring_of(n));
   }
}

static void
offer_members(List *l, TlRequest *r, TlWord w)
{
   const TlDocument *d = r->doc;
   size_t end = w.begin - 1, begin = end; /* of the word before the dot */
   while (begin > w.dotted && d->text[begin - 1] != '.')
      begin--;
   const char *name = tl_arena_strndup(d->comp.arena, d->text + begin, end - begin);
   for (size_t i = 0; i < sizeof modules / sizeof modules[0]; i++)
      if (strcmp(modules[i].name, name) == 0) {
         offer_builtins(l, d, modules[i].ns);
         if (modules[i].ns == TL_NS_TL)
            offer_dtypes(l, false);
         return;
      }
   const TlMention *m =
      d->comp.names ? tl_mention_at(d->comp.names, (uint32_t)(begin + (begin < end))) : NULL;
   const TlNode *node = NULL;
   TlRange at;
   if (m && m->symbol && m->symbol->kind == TL_SYMBOL_IMPORT &&
       tl_definition_of(d, m->symbol, &node, &at) && !node)
      offer_module(l, d, node, at.file);
   else
      offer_methods(l, d);
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
      bool is_seen =
         !y->owner || (y->owner->range.begin <= offset && offset <= y->owner->range.end + 1);
      if (is_seen)
         offer(l, y->name, kind_of(y), tl_describe_seen(d, y->range.begin), NULL);
   }
}

static void
offer_keywords(List *l)
{
   static const char *const words[] = {
      "def", "return", "if",    "else", "elif",   "for",  "while",  "in",   "and",   "or",
      "not", "True",   "False", "None", "import", "from", "lambda", "pass", "assert"};
   for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
      offer(l, words[i], KEYWORD, NULL, NULL);
}

/* Arguments by name of the call that is being written. */
static void
offer_arguments(List *l, const TlRequest *r)
{
   const TlDocument *d = r->doc;
   TlOpenCall call;
   if (!tl_open_call(d->text, r->offset, &call) || call.keyword)
      return;
   const TlBuiltin *b =
      tl_lsp_builtin(d, d->text + call.callee.dotted, call.callee.end - call.callee.dotted);
   for (const char *p = b ? b->signature : ""; *p; p += *p == ',') {
      p += strspn(p, " *");
      size_t n = strcspn(p, ",=: ");
      if (n)
         offer(l, tl_arena_printf(d->comp.arena, "%.*s=", (int)n, p), PROPERTY, b->name, NULL);
      p += n;
      for (int depth = 0; *p && (*p != ',' || depth); p++)
         depth += (*p == '(') - (*p == ')');
   }
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
      offer_members(&l, r, w);
      return l.items;
   }
   size_t n = strlen(d->path);
   bool is_tile = !(n > 3 && strcmp(d->path + n - 3, ".py") == 0);
   offer_arguments(&l, r);
   offer_symbols(&l, d, r->offset);
   offer_keywords(&l);
   offer_builtins(&l, d, is_tile ? TL_NS_TL | TL_NS_PYTHON | TL_NS_TRITON : TL_NS_PYTHON);
   if (is_tile)
      offer_dtypes(&l, true);
   return l.items;
}
