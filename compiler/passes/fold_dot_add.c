/* acc + dot(a, b, 0) becomes dot(a, b, acc): the addition is part of the matrix instruction.  Only
 * when the dot has no other use, since it would be computed twice, and not in strict mode for
 * floats, whose sum would be rounded in another order.  Of two products the later one begins with
 * the sum of the earlier one: the other way round the operands of both would live at once. */
#include "ir/walk.h"
#include "passes/pass.h"

#include <assert.h>

static bool
is_zero_dot(const TlValue *v)
{
   uint64_t bits;
   return tl_value_is(v, TL_OP_DOT) && v->uses && !v->uses->next &&
          tl_is_const(tl_arg(v->def, 2), &bits) && bits == 0;
}

/* Of the two that are added, the number of the one made last where both are made in one block. */
static unsigned
later_of(const TlOp *add)
{
   const TlOp *a = tl_arg(add, 0)->def, *b = tl_arg(add, 1)->def;
   return a && b && a->block == b->block && tl_stands_before(a, b);
}

static bool
fold_sum(TlFunc *f, TlOp *add)
{
   assert(add->opcode == TL_OP_ADD && add->num_args == 2);
   unsigned later = later_of(add);
   for (unsigned n = 0; n < 2; n++) {
      unsigned i = n ? 1 - later : later;
      TlValue *product = tl_arg(add, i), *acc = tl_arg(add, 1 - i);
      if (!is_zero_dot(product) || acc == product)
         continue;
      TlOp *dot = product->def;
      if (dot->block != add->block || (f->strict_fp && tl_dtype_is_float(product->type->dtype)))
         continue;
      tl_move_before(dot, add); /* acc may be defined between the two */
      tl_set_arg(dot, 2, acc);
      tl_replace_uses(tl_result(add, 0), product);
      tl_remove(add);
      return true;
   }
   return false;
}

bool
tl_pass_fold_dot_add(TlPassCx *cx, TlFunc *f)
{
   assert(f->state == TL_STATE_TYPED);
   (void)cx;
   bool changed = false;
   const TlBlock *body = f->body->block;
   for (TlOp *op = tl_walk_inner(body), *next; op; op = next) {
      next = tl_walk_inner_next(op, body);
      if (op->opcode == TL_OP_ADD && op->num_results &&
          tl_result(op, 0)->type->kind == TL_TYPE_TILE)
         changed |= fold_sum(f, op);
   }
   return changed;
}
