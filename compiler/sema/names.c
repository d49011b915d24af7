/* See names.h.  Each scope is read twice: first what its statements bind, since a name bound
 * anywhere in a function is local in all of it, then what they mention. */
#include "sema/names.h"
#include "sema/bindings.h"
#include "sema/impl.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

typedef struct Scope {
   struct Scope *outer;
   const TlNode *owner; /* NULL: the file */
   TlMap symbols;       /* name -> TlSymbol; NULL after `global` and `nonlocal` */
   bool is_class;       /* not seen from functions inside */
} Scope;

typedef struct Argument { /* f(name=..) of a function of the file */
   const TlSymbol *callee;
   size_t mention;
} Argument;

typedef struct Walk {
   TlArena *arena;
   TlSources *sources;
   TlNames *names;
   Scope *scope;
   TlMap scopes; /* Function -> Scope */
   TL_VEC(Argument) arguments;
} Walk;

static void walk(void *user, TlNode *n);
static void walk_list(Walk *w, const TlNodeList *list);

/* ---- binding ---- */
static TlSymbol *
bind(Walk *w, const char *name, TlSymbolKind kind, TlRange range, const TlNode *node)
{
   TlSymbol *old = tl_map_get(&w->scope->symbols, name);
   if (old || tl_map_has(&w->scope->symbols, name))
      return old;
   TlSymbol *s = tl_new(w->arena, TlSymbol);
   *s = (TlSymbol){
      .name = name, .kind = kind, .range = range, .node = node, .owner = w->scope->owner};
   tl_map_put(&w->scope->symbols, name, s);
   tl_vec_push(w->arena, &w->names->symbols, s);
   return s;
}

static void
bind_one(void *user, const TlBinding *b)
{
   static const TlSymbolKind kinds[] = {[TL_BINDS_VARIABLE] = TL_SYMBOL_VARIABLE,
                                        [TL_BINDS_FUNCTION] = TL_SYMBOL_FUNCTION,
                                        [TL_BINDS_CLASS] = TL_SYMBOL_CLASS,
                                        [TL_BINDS_IMPORT] = TL_SYMBOL_IMPORT};
   Walk *w = user;
   bool is_variable = b->kind == TL_BINDS_VARIABLE;
   switch (b->kind) {
   case TL_BINDS_PART:
   case TL_BINDS_NOTHING:
      return;
   case TL_BINDS_ELSEWHERE:
      if (w->scope->outer)
         tl_map_put(&w->scope->symbols, b->name, NULL);
      return;
   case TL_BINDS_VARIABLE:
   case TL_BINDS_FUNCTION:
   case TL_BINDS_CLASS:
   case TL_BINDS_IMPORT:
      break;
   }
   if (strchr(b->name, '.') || /* `import a.b` binds a; nobody asks for that one */
       tl_map_has(&w->scope->symbols, b->name))
      return;
   TlRange range = is_variable ? b->node->range : tl_ast_name_range(w->sources, b->node);
   TlSymbol *y = bind(w, b->name, kinds[b->kind], range, is_variable ? b->stmt : b->node);
   y->import = b->kind == TL_BINDS_IMPORT ? b->stmt : NULL;
   y->is_unpacked = b->is_unpacked;
}

static void
bind_list(Walk *w, const TlNodeList *stmts)
{
   tl_each_binding(stmts, bind_one, w);
}

/* ---- mentions ---- */
static TlSymbol *
find(const Scope *scope, const char *name)
{
   for (const Scope *s = scope; s; s = s->outer) {
      TlSymbol *found = s->is_class && s != scope ? NULL : tl_map_get(&s->symbols, name);
      if (found)
         return found;
   }
   return NULL;
}

static void
mention(Walk *w, const char *name, TlRange range, const TlNode *node, bool is_write)
{
   TlSymbol *s = find(w->scope, name);
   if (s && !is_write)
      s->reads++;
   tl_vec_push(w->arena, &w->names->mentions,
               (TlMention){.range = range,
                           .name = name,
                           .symbol = s,
                           .node = node,
                           .owner = w->scope->owner,
                           .is_write = is_write});
}

static void
walk_target(Walk *w, TlNode *t)
{
   const TlNodeList *items = NULL;
   if (t->kind == TL_AST_NAME)
      mention(w, tl_ast_Name(t)->id, t->range, t, true);
   else if (t->kind == TL_AST_STARRED)
      walk_target(w, tl_ast_Starred(t)->value);
   else if (t->kind == TL_AST_TUPLE)
      items = &tl_ast_Tuple(t)->items;
   else if (t->kind == TL_AST_LIST)
      items = &tl_ast_List(t)->items;
   else
      walk(w, t);
   for (size_t i = 0; items && i < items->len; i++)
      walk_target(w, items->data[i]);
}

static void
walk_node(Walk *w, TlNode *n)
{
   if (n)
      walk(w, n);
}

static Scope *
enter(Walk *w, const TlNode *owner)
{
   Scope *s = tl_new(w->arena, Scope);
   *s = (Scope){.outer = w->scope, .owner = owner};
   tl_map_init(&s->symbols, w->arena);
   w->scope = s;
   return s;
}

static void
bind_params(Walk *w, const TlNodeList *params)
{
   for (size_t i = 0; i < params->len; i++) {
      TlNode *p = params->data[i];
      if (!tl_ast_Param(p)->name)
         continue;
      TlRange range = tl_ast_name_range(w->sources, p);
      bind(w, tl_ast_Param(p)->name, TL_SYMBOL_PARAMETER, range, p);
      mention(w, tl_ast_Param(p)->name, range, p, true);
   }
}

/* Defaults and annotations belong to the scope around. */
static void
walk_params(Walk *w, const TlNodeList *params)
{
   for (size_t i = 0; i < params->len; i++) {
      walk_node(w, tl_ast_Param(params->data[i])->annotation);
      walk_node(w, tl_ast_Param(params->data[i])->default_value);
   }
}

/* "BLOCK" in a decorator is the parameter: keys of configurations, arguments of heuristics. */
static void
find_strings(void *user, TlNode *n)
{
   Walk *w = user;
   uint32_t len = n->range.end - n->range.begin;
   if (n->kind == TL_AST_STR && tl_ast_Str(n)->value.len + 2 == len) {
      TlMap *symbols = &w->scope->symbols;
      for (size_t i = 0; i < symbols->cap; i++) {
         const char *name = (const char *)symbols->slots[i].key;
         if (symbols->slots[i].used && strcmp(name, tl_ast_Str(n)->value.data) == 0)
            mention(w, name, tl_range(n->range.file, n->range.begin + 1, n->range.end - 1), n,
                    false);
      }
   }
   tl_ast_children(n, find_strings, w);
}

static void
walk_function(Walk *w, TlNode *n)
{
   const TlAstFunction *f = tl_ast_Function(n);
   Scope *outer = w->scope;
   mention(w, f->name, tl_ast_name_range(w->sources, n), n, true);
   walk_params(w, &f->params);
   walk_node(w, f->returns);
   Scope *inner = enter(w, n);
   bind_params(w, &f->params);
   for (size_t i = 0; i < f->decorators.len; i++) {
      find_strings(w, f->decorators.data[i]);
      w->scope = tl_is_jit_decorator(f->decorators.data[i]) ? inner : outer;
      walk(w, f->decorators.data[i]);
      w->scope = inner;
   }
   tl_map_put(&w->scopes, n, inner);
   bind_list(w, &f->body);
   walk_list(w, &f->body);
   w->scope = outer;
}

static void
walk_class(Walk *w, TlNode *n)
{
   const TlAstClass *c = tl_ast_Class(n);
   mention(w, c->name, tl_ast_name_range(w->sources, n), n, true);
   walk_list(w, &c->decorators);
   walk_list(w, &c->bases);
   Scope *outer = w->scope;
   enter(w, n)->is_class = true;
   bind_list(w, &c->body);
   walk_list(w, &c->body);
   w->scope = outer;
}

static void
walk_lambda(Walk *w, TlNode *n)
{
   const TlAstLambda *l = tl_ast_Lambda(n);
   Scope *outer = w->scope;
   walk_params(w, &l->params);
   enter(w, n);
   bind_params(w, &l->params);
   walk_node(w, l->body);
   w->scope = outer;
}

static void
walk_comprehension(Walk *w, const TlAstComprehension *c)
{
   Scope *outer = w->scope;
   enter(w, outer->owner);
   for (size_t i = 0; i < c->clauses.len; i++)
      tl_each_loop_binding(c->clauses.data[i], bind_one, w);
   for (size_t i = 0; i < c->clauses.len; i++) {
      const TlAstCompFor *f = tl_ast_CompFor(c->clauses.data[i]);
      walk_target(w, f->target);
      walk_node(w, f->iter);
      walk_list(w, &f->conditions);
   }
   walk_node(w, c->key);
   walk_node(w, c->value);
   w->scope = outer;
}

static void
walk_call(Walk *w, const TlAstCall *c)
{
   walk(w, c->func);
   const TlNode *callee = c->func;
   if (callee->kind == TL_AST_SUBSCRIPT) /* kernel[grid](..) */
      callee = tl_ast_Subscript(callee)->value;
   const TlSymbol *fn =
      callee->kind == TL_AST_NAME ? find(w->scope, tl_ast_Name(callee)->id) : NULL;
   for (size_t i = 0; i < c->args.len; i++) {
      TlNode *a = c->args.data[i];
      if (a->kind != TL_AST_KEYWORD || !tl_ast_Keyword(a)->name) {
         walk(w, a);
         continue;
      }
      if (fn && fn->kind == TL_SYMBOL_FUNCTION) {
         tl_vec_push(w->arena, &w->arguments, (Argument){fn, w->names->mentions.len});
         tl_vec_push(w->arena, &w->names->mentions,
                     (TlMention){.range = tl_ast_name_range(w->sources, a),
                                 .name = tl_ast_Keyword(a)->name,
                                 .node = a,
                                 .owner = w->scope->owner,
                                 .is_keyword = true});
      }
      walk(w, tl_ast_Keyword(a)->value);
   }
}

static void
walk_import(Walk *w, const TlAstImport *n)
{
   for (size_t i = 0; i < n->names.len; i++) {
      const TlAstAlias *a = tl_ast_Alias(n->names.data[i]);
      const char *name = a->as_name ? a->as_name : a->name;
      if (!strchr(name, '.'))
         mention(w, name, tl_ast_name_range(w->sources, n->names.data[i]), n->names.data[i], true);
   }
}

/* x += y is no use of x: what it makes has to be read. */
static void
walk_assignment(Walk *w, TlNode *n)
{
   if (n->kind == TL_AST_ASSIGN) {
      walk(w, tl_ast_Assign(n)->value);
      for (size_t i = 0; i < tl_ast_Assign(n)->targets.len; i++)
         walk_target(w, tl_ast_Assign(n)->targets.data[i]);
   } else if (n->kind == TL_AST_AUG_ASSIGN) {
      walk(w, tl_ast_AugAssign(n)->value);
      walk_target(w, tl_ast_AugAssign(n)->target);
   } else {
      walk_node(w, tl_ast_AnnAssign(n)->annotation);
      walk_node(w, tl_ast_AnnAssign(n)->value);
      walk_target(w, tl_ast_AnnAssign(n)->target);
   }
}

static void
walk_pattern(Walk *w, TlNode *n)
{
   TlNode *target = tl_pattern_target(n);
   if (n->kind == TL_AST_PAT_CAPTURE)
      walk_node(w, tl_ast_PatCapture(n)->pattern);
   else if (n->kind == TL_AST_PAT_MAPPING) {
      walk_list(w, &tl_ast_PatMapping(n)->keys);
      walk_list(w, &tl_ast_PatMapping(n)->patterns);
   }
   if (target)
      walk_target(w, target);
}

static void
walk(void *user, TlNode *n)
{
   Walk *w = user;
   switch (n->kind) {
   case TL_AST_PAT_CAPTURE:
   case TL_AST_PAT_STAR:
   case TL_AST_PAT_MAPPING:
      walk_pattern(w, n);
      return;
   case TL_AST_NAME:
      mention(w, tl_ast_Name(n)->id, n->range, n, false);
      return;
   case TL_AST_FUNCTION:
      walk_function(w, n);
      return;
   case TL_AST_CLASS:
      walk_class(w, n);
      return;
   case TL_AST_LAMBDA:
      walk_lambda(w, n);
      return;
   case TL_AST_COMPREHENSION:
      walk_comprehension(w, tl_ast_Comprehension(n));
      return;
   case TL_AST_CALL:
      walk_call(w, tl_ast_Call(n));
      return;
   case TL_AST_IMPORT:
      walk_import(w, tl_ast_Import(n));
      return;
   case TL_AST_ASSIGN:
   case TL_AST_AUG_ASSIGN:
   case TL_AST_ANN_ASSIGN:
      walk_assignment(w, n);
      return;
   case TL_AST_WALRUS:
      walk(w, tl_ast_Walrus(n)->value);
      walk_target(w, tl_ast_Walrus(n)->target);
      return;
   case TL_AST_FOR:
      walk(w, tl_ast_For(n)->iter);
      walk_target(w, tl_ast_For(n)->target);
      walk_list(w, &tl_ast_For(n)->body);
      walk_list(w, &tl_ast_For(n)->orelse);
      return;
   case TL_AST_WITH_ITEM:
      walk(w, tl_ast_WithItem(n)->value);
      if (tl_ast_WithItem(n)->target)
         walk_target(w, tl_ast_WithItem(n)->target);
      return;
   default:
      tl_ast_children(n, walk, w);
   }
}

static void
walk_list(Walk *w, const TlNodeList *list)
{
   for (size_t i = 0; i < list->len; i++)
      walk_node(w, list->data[i]);
}

/* ---- the file ---- */
static void
resolve_arguments(Walk *w)
{
   for (size_t i = 0; i < w->arguments.len; i++) {
      const Argument *a = &w->arguments.data[i];
      const Scope *of = tl_map_get(&w->scopes, a->callee->node);
      TlMention *m = &w->names->mentions.data[a->mention];
      TlSymbol *s = of ? tl_map_get(&of->symbols, m->name) : NULL;
      m->symbol = s && s->kind == TL_SYMBOL_PARAMETER ? s : NULL;
   }
}

static int
by_position(const void *a, const void *b)
{
   const TlMention *x = a, *y = b;
   if (x->range.begin != y->range.begin)
      return x->range.begin < y->range.begin ? -1 : 1;
   return (x->range.end > y->range.end) - (x->range.end < y->range.end);
}

TlNames *
tl_names_of(TlArena *arena, TlSources *sources, const TlAstModule *ast)
{
   assert(ast);
   Walk w = {.arena = arena, .sources = sources, .names = tl_new(arena, TlNames)};
   tl_map_init(&w.scopes, arena);
   enter(&w, NULL);
   bind_list(&w, &ast->body);
   walk_list(&w, &ast->body);
   resolve_arguments(&w);
   if (w.names->mentions.len)
      qsort(w.names->mentions.data, w.names->mentions.len, sizeof(TlMention), by_position);
   return w.names;
}

const TlMention *
tl_mention_at(const TlNames *names, uint32_t offset)
{
   const TlMention *found = NULL;
   for (size_t i = 0; i < names->mentions.len; i++) {
      const TlMention *m = &names->mentions.data[i];
      if (m->range.begin > offset)
         break;
      if (offset <= m->range.end)
         found = m;
   }
   return found;
}
