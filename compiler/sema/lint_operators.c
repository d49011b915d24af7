/* Operators without parentheses that bind tighter than the line reads. */
#include "sema/impl.h"

#include <string.h>

static const TlNode *
binary_of(TlSema *s, const TlNode *n, const char *ops)
{
   const TlAstBinary *b = n->kind == TL_AST_BINARY ? tl_ast_Binary(n) : NULL;
   return b && strchr(ops, *tl_ast_op_text[b->op]) && !tl_ast_op_text[b->op][1] &&
                !tl_is_parenthesized(s, n)
             ? n
             : NULL;
}

/* 1, 3, 0xF, 0xFF */
static bool
is_mask_of_bits(const TlNode *n)
{
   uint64_t bits = n->kind == TL_AST_INT ? tl_ast_Int(n)->value : 0;
   return bits && !(bits & (bits + 1));
}

/* b & 0xF - 8: of numbers alone a mask is written as one; n - 1 is that of a power of two. */
void
tl_lint_masked_bits(TlSema *s, const TlAstBinary *b)
{
   if (b->op != TL_AST_OP_BITAND || !binary_of(s, b->right, "+-"))
      return;
   const TlAstBinary *r = tl_ast_Binary(b->right);
   if (!is_mask_of_bits(r->left) || r->right->kind != TL_AST_INT)
      return;
   const char *sign = tl_ast_op_text[r->op], *x = tl_node_text(s, b->left);
   const char *y = tl_node_text(s, r->left), *z = tl_node_text(s, r->right);
   tl_report(s->diags, W0390, b->right->range, sign, "&",
             tl_arena_printf(s->arena, "%.40s & (%.40s %s %.40s)", x, y, sign, z));
   tl_help(s->diags, "in parentheses it is: (%.40s & %.40s) %s %.40s", x, y, sign, z);
}
