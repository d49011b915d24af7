/* Operators without parentheses that bind tighter than the line reads. */
#include "sema/builtin.h"
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

static bool
is_answer(const TlSv *v)
{
   return v->kind == TL_SV_BOOL ||
          (v->kind == TL_SV_VALUE && tl_type_elem(v->value->type)->kind == TL_TYPE_SCALAR &&
           tl_value_dtype(v->value) == TL_I1);
}

static bool
is_integer(const TlSv *v)
{
   return v->kind == TL_SV_INT ||
          (v->kind == TL_SV_VALUE && tl_type_elem(v->value->type)->kind == TL_TYPE_SCALAR &&
           tl_dtype_is_int(tl_value_dtype(v->value)) && !is_answer(v));
}

enum { MIXED = 1, OTHER = 2 }; /* in TlSemaImpl.joined */

void
tl_note_joined(TlSema *s, const TlAstBinary *n, const TlSv *a, const TlSv *b)
{
   bool is_of_run = a->kind == TL_SV_VALUE || b->kind == TL_SV_VALUE;
   if (!is_of_run || !strchr("&|^", *tl_ast_op_text[n->op]))
      return;
   bool is_mixed = (is_answer(a) && is_integer(b)) || (is_integer(a) && is_answer(b));
   uintptr_t before = (uintptr_t)tl_map_get(&s->impl->joined, n);
   tl_map_put(&s->impl->joined, n,
              (void *)(uintptr_t)(is_mixed && before != OTHER ? MIXED : OTHER));
}

/* i < n & keep: the bits of a size and an answer are joined, and then compared. */
static bool
check_joined(TlSema *s, const TlAstCompare *c, const TlNode *side)
{
   if (side->kind != TL_AST_BINARY || tl_has_parentheses(s, side) ||
       (uintptr_t)tl_map_get(&s->impl->joined, side) != MIXED)
      return false;
   const TlAstBinary *b = tl_ast_Binary(side);
   const char *sign = tl_ast_op_text[b->op], *order = tl_ast_op_text[c->ops.data[0]];
   const char *x = tl_node_text(s, b->left), *y = tl_node_text(s, b->right);
   bool is_left = side == c->left;
   const char *z = tl_node_text(s, is_left ? c->rights.data[0] : c->left);
   if (is_left && b->right->kind == TL_AST_INT) /* mask & 1 == 1 */
      return false;
   tl_report(s->diags, W0390, side->range, sign, order,
             is_left
                ? tl_arena_printf(s->arena, "(%.40s %s %.40s) %s %.40s", x, sign, y, order, z)
                : tl_arena_printf(s->arena, "%.40s %s (%.40s %s %.40s)", z, order, x, sign, y));
   if (is_left)
      tl_help(s->diags, "in parentheses it is: %.40s %s (%.40s %s %.40s)", x, sign, y, order, z);
   else
      tl_help(s->diags, "in parentheses it is: (%.40s %s %.40s) %s %.40s", z, order, x, sign, y);
   return true;
}

void
tl_lint_joined(TlSema *s, const TlAstCompare *c)
{
   if (c->rights.len == 1 && !check_joined(s, c, c->left))
      (void)check_joined(s, c, c->rights.data[0]);
}
