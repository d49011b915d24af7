/* Which names the body of a host function binds, and where: Python decides that by the text of the
 * function, before it runs.  A name that is bound anywhere in the body is local in all of it. */
#include "sema/bindings.h"
#include "sema/impl.h"

#include <assert.h>

static const char GENERATOR[] = "yield"; /* a key of scopes that is no interned name */

typedef struct Names {
   TlSema *s;
   TlMap *scopes;
} Names;

static void
add(void *user, const TlBinding *b)
{
   Names *n = user;
   const char *name = b->name;
   TlScope scope = TL_SCOPE_LOCAL;
   if (b->kind == TL_BINDS_PART)
      return;
   if (b->kind == TL_BINDS_IMPORT)
      name = tl_import_name(n->s, tl_ast_Import(b->stmt), tl_ast_Alias(b->node));
   else if (b->kind == TL_BINDS_ELSEWHERE)
      scope = tl_node_text(n->s, b->stmt)[0] == 'g' ? TL_SCOPE_GLOBAL : TL_SCOPE_NONLOCAL;
   if ((TlScope)(uintptr_t)tl_map_get(n->scopes, name) < scope)
      tl_map_put(n->scopes, name, (void *)(uintptr_t)scope);
}

void
tl_bound_names(TlSema *s, const TlNodeList *stmts, TlMap *names)
{
   Names n = {s, names};
   tl_each_binding(stmts, add, &n);
}

static void
find_yield(void *user, TlNode *n)
{
   bool *found = user;
   bool is_inner =
      n->kind == TL_AST_FUNCTION || n->kind == TL_AST_CLASS || n->kind == TL_AST_LAMBDA;
   *found |= n->kind == TL_AST_YIELD;
   if (!is_inner && !*found)
      tl_ast_children(n, find_yield, found);
}

const TlMap *
tl_scopes_of(TlSema *s, const TlNode *function)
{
   assert(function->kind == TL_AST_FUNCTION);
   TlMap *scopes = tl_map_get(&s->impl->scopes, function);
   if (scopes)
      return scopes;
   scopes = tl_new(s->arena, TlMap);
   tl_map_init(scopes, s->arena);
   const TlAstFunction *f = tl_ast_Function(function);
   for (size_t i = 0; i < f->params.len; i++)
      if (tl_ast_Param(f->params.data[i])->name)
         tl_map_put(scopes, tl_ast_Param(f->params.data[i])->name,
                    (void *)(uintptr_t)TL_SCOPE_LOCAL);
   tl_bound_names(s, &f->body, scopes);
   bool yields = false;
   for (size_t i = 0; i < f->body.len && !yields; i++)
      if (f->body.data[i])
         find_yield(&yields, f->body.data[i]);
   if (yields)
      tl_map_put(scopes, GENERATOR, scopes);
   tl_map_put(&s->impl->scopes, function, scopes);
   return scopes;
}

bool
tl_is_generator(TlSema *s, const TlNode *function)
{
   return tl_map_has(tl_scopes_of(s, function), GENERATOR);
}
