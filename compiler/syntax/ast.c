/* Tables and the child walker, all from ast.def. */
#include "syntax/ast.h"

const char *const tl_ast_op_text[TL_AST_OP_COUNT] = {
#define X(id, text) [TL_AST_OP_##id] = text,
   TL_AST_OPS(X)
#undef X
};

const char *const tl_ast_kind_text[TL_AST_COUNT] = {
#define TL_NODE_BEGIN(ID, Name, text) [TL_AST_##ID] = text,
#define TL_NODE_END(ID, Name)
#include "syntax/ast.def"
};

typedef void Visit(void *user, TlNode *child);

static void
visit_node(TlNode *n, Visit *visit, void *user)
{
   if (n)
      visit(user, n);
}

static void
visit_list(const TlNodeList *list, Visit *visit, void *user)
{
   for (size_t i = 0; i < list->len; i++)
      visit_node(list->data[i], visit, user);
}

/* The two kinds whose fields are not in source order. */
static bool
visit_out_of_order(const TlNode *node, Visit *visit, void *user)
{
   if (node->kind == TL_AST_CONDITIONAL) {
      const TlAstConditional *c = tl_ast_Conditional(node);
      visit_node(c->then_value, visit, user);
      visit_node(c->test, visit, user);
      visit_node(c->else_value, visit, user);
      return true;
   }
   if (node->kind == TL_AST_DICT) {
      const TlAstDict *d = tl_ast_Dict(node);
      for (size_t i = 0; i < d->values.len; i++) {
         visit_node(d->keys.data[i], visit, user);
         visit_node(d->values.data[i], visit, user);
      }
      return true;
   }
   return false;
}

void
tl_ast_children(const TlNode *node, Visit *visit, void *user)
{
   if (visit_out_of_order(node, visit, user))
      return;
   switch (node->kind) {
#define TL_NODE_BEGIN(ID, Name, text)                                                              \
   case TL_AST_##ID: {                                                                             \
      const TlAst##Name *n = tl_ast_##Name(node);                                                  \
      (void)n;
#define TL_NODE_END(ID, Name)                                                                      \
   break;                                                                                          \
   }
#define TL_F_NODE(f) visit_node(n->f, visit, user);
#define TL_F_LIST(f) visit_list(&n->f, visit, user);
#include "syntax/ast.def"
   case TL_AST_COUNT:
      break;
   }
}

const TlNode *
tl_ast_takes_everything(const TlNode *pattern)
{
   if (pattern->kind == TL_AST_PAT_CAPTURE) {
      const TlNode *inner = tl_ast_PatCapture(pattern)->pattern;
      return inner ? tl_ast_takes_everything(inner) : pattern;
   }
   if (pattern->kind != TL_AST_PAT_OR)
      return NULL;
   const TlNodeList *all = &tl_ast_PatOr(pattern)->alternatives;
   return tl_ast_takes_everything(all->data[all->len - 1]);
}
