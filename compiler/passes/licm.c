/* Loop-invariant code: pure operations whose operands come from outside a loop move before it,
 * inner loops first, so that one walk carries an operation out of a whole nest.  Loads stay (memory
 * may change), and so does integer division whose divisor may be zero: executed when the loop's
 * body is not, it would be reported as undefined. */
#include "ir/control.h"
#include "ir/walk.h"
#include "passes/pass.h"

#include <assert.h>

/* Every operand of op, and of the operations nested in it, is defined before the loop or in op. */
static bool
is_invariant(const TlOp *op, const TlOp *top, const TlOp *loop)
{
   for (unsigned i = 0; i < op->num_args; i++) {
      const TlValue *v = op->args[i].value;
      if (tl_is_defined_in(v, loop) && !(op != top && tl_is_defined_in(v, top)))
         return false;
   }
   for (unsigned r = 0; r < op->num_regions; r++)
      for (const TlOp *inner = op->regions[r]->block->first; inner; inner = inner->next)
         if (!is_invariant(inner, top, loop))
            return false;
   return true;
}

static bool
is_speculatable(const TlOp *op)
{
   uint64_t divisor;
   if ((op->opcode == TL_OP_DIV || op->opcode == TL_OP_REM) &&
       tl_dtype_is_int(tl_type_elem(op->results[0].type)->dtype) &&
       !(tl_is_const(tl_arg(op, 1), &divisor) && divisor != 0))
      return false;
   for (unsigned r = 0; r < op->num_regions; r++)
      for (const TlOp *inner = op->regions[r]->block->first; inner; inner = inner->next)
         if (!is_speculatable(inner))
            return false;
   return true;
}

static bool
hoist_from(TlOp *loop)
{
   assert(tl_is_loop(loop));
   bool progress = false;
   if (loop->opcode == TL_OP_FOR && (tl_attr_int(loop, TL_ATTR_FLAGS) >> TL_LOOP_FLAG_NO_LICM & 1))
      return false;
   for (unsigned r = 0; r < loop->num_regions; r++) {
      TlOp *next;
      for (TlOp *op = loop->regions[r]->block->first; op; op = next) {
         next = op->next;
         if (op->num_results && tl_op_is_pure(op) && is_invariant(op, op, loop) &&
             is_speculatable(op)) {
            tl_move_before(op, loop);
            progress = true;
         }
      }
   }
   return progress;
}

bool
tl_pass_licm(TlPassCx *cx, TlFunc *f)
{
   (void)cx;
   bool progress = false;
   const TlBlock *body = f->body->block;
   for (TlOp *op = tl_walk_inner(body); op; op = tl_walk_inner_next(op, body))
      if (tl_is_loop(op))
         progress |= hoist_from(op);
   return progress;
}
