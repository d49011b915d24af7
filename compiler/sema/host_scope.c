/* Which names the body of a host function binds, and where: Python decides that by the text of the
 * function, before it runs.  A name that is bound anywhere in the body is local in all of it. */
#include "sema/impl.h"

#include <assert.h>

static const char GENERATOR[] = "yield"; /* a key of scopes that is no interned name */

typedef struct Walk {
   TlSema *s;
   TlMap *scopes;
} Walk;

static void
add(Walk *w, const char *name, TlScope scope)
{
   TlScope old = (TlScope)(uintptr_t)tl_map_get(w->scopes, name);
   if (old < scope)
      tl_map_put(w->scopes, name, (void *)(uintptr_t)scope);
}

static void
add_target(Walk *w, const TlNode *t)
{
   const TlNodeList *items = NULL;
   if (t->kind == TL_AST_NAME)
      add(w, tl_ast_Name(t)->id, TL_SCOPE_LOCAL);
   else if (t->kind == TL_AST_STARRED)
      add_target(w, tl_ast_Starred(t)->value);
   else if (t->kind == TL_AST_TUPLE)
      items = &tl_ast_Tuple(t)->items;
   else if (t->kind == TL_AST_LIST)
      items = &tl_ast_List(t)->items;
   for (size_t i = 0; items && i < items->len; i++)
      add_target(w, items->data[i]);
}

static void
add_declared(Walk *w, const TlAstGlobal *n)
{
   bool is_global = tl_node_text(w->s, &n->node)[0] == 'g';
   for (size_t i = 0; i < n->names.len; i++)
      add(w, tl_ast_Name(n->names.data[i])->id, is_global ? TL_SCOPE_GLOBAL : TL_SCOPE_NONLOCAL);
}

static void
add_imported(Walk *w, const TlAstImport *n)
{
   for (size_t i = 0; i < n->names.len; i++)
      add(w, tl_import_name(w->s, n, tl_ast_Alias(n->names.data[i])), TL_SCOPE_LOCAL);
}

static void
walk(void *user, TlNode *n)
{
   Walk *w = user;
   switch (n->kind) {
   case TL_AST_FUNCTION:
      add(w, tl_ast_Function(n)->name, TL_SCOPE_LOCAL);
      return;
   case TL_AST_CLASS:
      add(w, tl_ast_Class(n)->name, TL_SCOPE_LOCAL);
      return;
   case TL_AST_LAMBDA:
      return;
   case TL_AST_COMP_FOR: /* its target is the comprehension's */
      walk(w, tl_ast_CompFor(n)->iter);
      for (size_t i = 0; i < tl_ast_CompFor(n)->conditions.len; i++)
         walk(w, tl_ast_CompFor(n)->conditions.data[i]);
      return;
   case TL_AST_ASSIGN:
      for (size_t i = 0; i < tl_ast_Assign(n)->targets.len; i++)
         add_target(w, tl_ast_Assign(n)->targets.data[i]);
      break;
   case TL_AST_AUG_ASSIGN:
      add_target(w, tl_ast_AugAssign(n)->target);
      break;
   case TL_AST_ANN_ASSIGN:
      add_target(w, tl_ast_AnnAssign(n)->target);
      break;
   case TL_AST_WALRUS:
      add_target(w, tl_ast_Walrus(n)->target);
      break;
   case TL_AST_FOR:
      add_target(w, tl_ast_For(n)->target);
      break;
   case TL_AST_DEL:
      for (size_t i = 0; i < tl_ast_Del(n)->targets.len; i++)
         add_target(w, tl_ast_Del(n)->targets.data[i]);
      break;
   case TL_AST_WITH_ITEM:
      if (tl_ast_WithItem(n)->target)
         add_target(w, tl_ast_WithItem(n)->target);
      break;
   case TL_AST_EXCEPT:
      if (tl_ast_Except(n)->name)
         add(w, tl_ast_Except(n)->name, TL_SCOPE_LOCAL);
      break;
   case TL_AST_IMPORT:
      add_imported(w, tl_ast_Import(n));
      return;
   case TL_AST_YIELD:
      tl_map_put(w->scopes, GENERATOR, w);
      break;
   case TL_AST_GLOBAL:
      add_declared(w, tl_ast_Global(n));
      return;
   default:
      break;
   }
   tl_ast_children(n, walk, w);
}

void
tl_bound_names(TlSema *s, const TlNodeList *stmts, TlMap *names)
{
   Walk w = {s, names};
   for (size_t i = 0; i < stmts->len; i++)
      if (stmts->data[i])
         walk(&w, stmts->data[i]);
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
   tl_map_put(&s->impl->scopes, function, scopes);
   return scopes;
}

bool
tl_is_generator(TlSema *s, const TlNode *function)
{
   return tl_map_has(tl_scopes_of(s, function), GENERATOR);
}
