/* Terms of a sum that a loop does not change, added before it:
 *    for ..:  addptr(addptr(p, k), rows)  ->  q = addptr(p, rows);  for ..:  addptr(q, k)
 * where k comes of the loop and p and rows do not; the same of `and`, for masks.  The loop is left
 * with one addition for an element.
 *
 * Addresses are sums of 64 bits that wrap, and `and` has no order, so the bits stay.  The sum takes
 * the place of p in the registers that live around the loop: it is made only where rows differ
 * along no dimension along which p does not, and where p, if it is no scalar, and the values
 * between have no other user.  Each rewrite takes an operation out of a loop, so it ends. */
#include "ir/control.h"
#include "ir/walk.h"
#include "passes/pass.h"

#include <assert.h>

enum { MAX_DEPTH = 16, MAX_VALUES = 64 };

/* The dimensions, as bits, along which the elements of v may differ; looks at *budget values. */
static uint32_t
varying_dims(const TlValue *v, unsigned *budget)
{
   const TlType *t = v->type;
   if (t->kind != TL_TYPE_TILE)
      return 0;
   uint32_t all = 0, dims = 0;
   for (unsigned d = 0; d < t->rank; d++)
      all |= t->shape[d] > 1 ? 1u << d : 0;
   const TlOp *op = v->def;
   if (!op || *budget == 0)
      return all;
   --*budget;
   if (op->opcode == TL_OP_CONSTANT || op->opcode == TL_OP_SPLAT)
      return 0;
   if (op->opcode == TL_OP_EXPAND_DIMS) {
      unsigned axis = (unsigned)tl_attr_int(op, TL_ATTR_AXIS);
      uint32_t low = (1u << axis) - 1, inner = varying_dims(tl_arg(op, 0), budget);
      return (inner & low) | (inner & ~low) << 1;
   }
   if (op->opcode != TL_OP_BROADCAST && !tl_has_trait(op, TL_TRAIT_ELTWISE))
      return all;
   for (unsigned i = 0; i < op->num_args; i++)
      dims |= varying_dims(tl_arg(op, i), budget);
   return dims & all;
}

static bool
is_sum(const TlOp *op, const TlOp *like)
{
   return op && op->opcode == like->opcode && op->block == like->block &&
          tl_result(op, 0)->type == tl_result(like, 0)->type;
}

/* The sum below v whose argument *at does not change in the loop; every sum on the way there has
 * one user. */
static TlOp *
find_unchanged(const TlValue *v, const TlOp *like, const TlOp *loop, unsigned *at, unsigned depth)
{
   TlOp *op = v->def;
   if (depth == MAX_DEPTH || !is_sum(op, like) || v->uses->next)
      return NULL;
   unsigned num = op->opcode == TL_OP_AND ? 2 : 1;
   for (*at = 0; *at < num; ++*at)
      if (!tl_is_defined_in(tl_arg(op, *at), loop))
         return tl_is_defined_in(tl_arg(op, 1 - *at), loop) ? op : NULL;
   TlOp *found = NULL;
   for (unsigned i = 0; i < num && !found; i++)
      found = find_unchanged(tl_arg(op, i), like, loop, at, depth + 1);
   return found;
}

/* Adds argument i of the sum, which does not change, before the loop to such a one below the other
 * argument. */
static bool
move_term(TlOp *sum, unsigned i, TlOp *loop)
{
   assert(i == 1 || (i == 0 && sum->opcode == TL_OP_AND)); /* an address has its pointer first */
   TlValue *term = tl_arg(sum, i), *rest = tl_arg(sum, 1 - i);
   unsigned at;
   if (tl_is_defined_in(term, loop) || !tl_is_defined_in(rest, loop))
      return false;
   TlOp *first = find_unchanged(rest, sum, loop, &at, 0);
   if (!first)
      return false;
   TlValue *base = tl_arg(first, at);
   unsigned budget[2] = {MAX_VALUES, MAX_VALUES};
   uint32_t dims = varying_dims(base, &budget[0]);
   if ((varying_dims(term, &budget[1]) & ~dims) || (dims && base->uses->next))
      return false;
   TlBuilder b = tl_builder_before(loop);
   tl_set_arg(first, at,
              sum->opcode == TL_OP_AND ? tl_b2(&b, TL_OP_AND, base, term)
                                       : tl_b2(&b, TL_OP_ADDPTR, base, term));
   tl_replace_uses(tl_result(sum, 0), rest);
   tl_remove(sum);
   return true;
}

static bool
group_in(TlOp *loop)
{
   assert(tl_is_loop(loop));
   bool progress = false;
   for (unsigned r = 0; r < loop->num_regions; r++) {
      TlOp *next;
      for (TlOp *op = loop->regions[r]->block->first; op; op = next) {
         next = op->next;
         if (op->opcode != TL_OP_ADDPTR && op->opcode != TL_OP_AND)
            continue;
         if (tl_result(op, 0)->type->kind == TL_TYPE_TILE)
            progress |=
               move_term(op, 1, loop) || (op->opcode == TL_OP_AND && move_term(op, 0, loop));
      }
   }
   return progress;
}

bool
tl_pass_group_invariants(TlPassCx *cx, TlFunc *f)
{
   (void)cx;
   bool progress = false;
   const TlBlock *body = f->body->block;
   for (TlOp *op = tl_walk_inner(body); op; op = tl_walk_inner_next(op, body))
      if (tl_is_loop(op) && !(op->opcode == TL_OP_FOR &&
                              (tl_attr_int(op, TL_ATTR_FLAGS) >> TL_LOOP_FLAG_NO_LICM & 1)))
         progress |= group_in(op);
   return progress;
}
