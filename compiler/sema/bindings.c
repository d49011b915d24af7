/* The one walk over what binds names: see bindings.h. */
#include "sema/bindings.h"

typedef struct Walk {
   void (*on)(void *user, const TlBinding *b);
   void *user;
} Walk;

static void
bind(const Walk *w, TlBindingKind kind, const char *name, const TlNode *node, const TlNode *stmt)
{
   const TlBinding b = {.kind = kind, .name = name, .node = node, .stmt = stmt};
   w->on(w->user, &b);
}

static void
bind_target(const Walk *w, const TlNode *t, const TlNode *stmt, bool is_unpacked)
{
   const TlNodeList *items = NULL;
   TlBinding b = {.kind = stmt->kind == TL_AST_DEL ? TL_BINDS_NOTHING : TL_BINDS_VARIABLE,
                  .node = t,
                  .stmt = stmt,
                  .is_unpacked = is_unpacked};
   switch (t->kind) {
   case TL_AST_NAME:
      b.name = tl_ast_Name(t)->id;
      w->on(w->user, &b);
      return;
   case TL_AST_ATTRIBUTE:
      b.node = tl_ast_Attribute(t)->value;
      b.kind = TL_BINDS_PART;
      if (b.node->kind != TL_AST_NAME)
         return;
      b.name = tl_ast_Name(b.node)->id;
      w->on(w->user, &b);
      return;
   case TL_AST_STARRED:
      bind_target(w, tl_ast_Starred(t)->value, stmt, is_unpacked);
      return;
   case TL_AST_TUPLE:
      items = &tl_ast_Tuple(t)->items;
      break;
   case TL_AST_LIST:
      items = &tl_ast_List(t)->items;
      break;
   default:
      return;
   }
   for (size_t i = 0; i < items->len; i++)
      bind_target(w, items->data[i], stmt, true);
}

TlNode *
tl_pattern_target(const TlNode *pattern)
{
   switch (pattern->kind) {
   case TL_AST_PAT_CAPTURE:
      return tl_ast_PatCapture(pattern)->target;
   case TL_AST_PAT_STAR:
      return tl_ast_PatStar(pattern)->target;
   case TL_AST_PAT_MAPPING:
      return tl_ast_PatMapping(pattern)->rest;
   default:
      return NULL;
   }
}

static void
bind_targets(const Walk *w, const TlNodeList *targets, const TlNode *stmt)
{
   for (size_t i = 0; i < targets->len; i++)
      bind_target(w, targets->data[i], stmt, false);
}

static void
walk(void *user, TlNode *n)
{
   const Walk *w = user;
   switch (n->kind) {
   case TL_AST_FUNCTION:
      bind(w, TL_BINDS_FUNCTION, tl_ast_Function(n)->name, n, n);
      return;
   case TL_AST_CLASS:
      bind(w, TL_BINDS_CLASS, tl_ast_Class(n)->name, n, n);
      return;
   case TL_AST_LAMBDA:
      return;
   case TL_AST_IMPORT:
      for (size_t i = 0; i < tl_ast_Import(n)->names.len; i++) {
         const TlNode *alias = tl_ast_Import(n)->names.data[i];
         const TlAstAlias *a = tl_ast_Alias(alias);
         bind(w, TL_BINDS_IMPORT, a->as_name ? a->as_name : a->name, alias, n);
      }
      return;
   case TL_AST_GLOBAL:
      for (size_t i = 0; i < tl_ast_Global(n)->names.len; i++) {
         const TlNode *name = tl_ast_Global(n)->names.data[i];
         bind(w, TL_BINDS_ELSEWHERE, tl_ast_Name(name)->id, name, n);
      }
      return;
   case TL_AST_COMP_FOR:
      walk(user, tl_ast_CompFor(n)->iter);
      for (size_t i = 0; i < tl_ast_CompFor(n)->conditions.len; i++)
         walk(user, tl_ast_CompFor(n)->conditions.data[i]);
      return;
   case TL_AST_ASSIGN:
      bind_targets(w, &tl_ast_Assign(n)->targets, n);
      break;
   case TL_AST_AUG_ASSIGN:
      bind_target(w, tl_ast_AugAssign(n)->target, n, false);
      break;
   case TL_AST_ANN_ASSIGN:
      bind_target(w, tl_ast_AnnAssign(n)->target, n, false);
      break;
   case TL_AST_WALRUS:
      bind_target(w, tl_ast_Walrus(n)->target, n, false);
      break;
   case TL_AST_DEL:
      bind_targets(w, &tl_ast_Del(n)->targets, n);
      break;
   case TL_AST_FOR:
      bind_target(w, tl_ast_For(n)->target, n, true);
      break;
   case TL_AST_WITH_ITEM:
      if (tl_ast_WithItem(n)->target)
         bind_target(w, tl_ast_WithItem(n)->target, n, true);
      break;
   case TL_AST_EXCEPT:
      if (tl_ast_Except(n)->name) {
         const TlBinding b = {TL_BINDS_VARIABLE, tl_ast_Except(n)->name, n, n, true};
         w->on(w->user, &b);
      }
      break;
   case TL_AST_PAT_CAPTURE:
   case TL_AST_PAT_STAR:
   case TL_AST_PAT_MAPPING:
      if (tl_pattern_target(n))
         bind_target(w, tl_pattern_target(n), n, true);
      break;
   default:
      break;
   }
   tl_ast_children(n, walk, user);
}

void
tl_each_binding(const TlNodeList *stmts, void (*on)(void *user, const TlBinding *b), void *user)
{
   Walk w = {on, user};
   for (size_t i = 0; i < stmts->len; i++)
      if (stmts->data[i])
         walk(&w, stmts->data[i]);
}

void
tl_each_loop_binding(const TlNode *comp_for, void (*on)(void *user, const TlBinding *b), void *user)
{
   Walk w = {on, user};
   bind_target(&w, tl_ast_CompFor(comp_for)->target, comp_for, true);
}
