/* Regions over scalars (combine functions, map bodies) applied to registers.
 *
 * Elementwise regions run on all registers at once: the rules accept registers where the region has
 * scalars.  A region with control flow or memory operations is repeated for each register. */
#include "passes/lower/impl.h"

#include <assert.h>

static bool
is_elementwise(const TlBlock *block)
{
   assert(block->last && tl_has_trait(block->last, TL_TRAIT_TERM));
   for (const TlOp *op = block->first; op != block->last; op = op->next)
      if (!tl_has_trait(op, TL_TRAIT_ELTWISE) && op->opcode != TL_OP_CONSTANT &&
          op->opcode != TL_OP_POISON)
         return false;
   return true;
}

static void
run_once(TlLowerCx *cx, const TlBlock *block, TlValue *const *args, unsigned num_args, unsigned n,
         TlValue **results)
{
   assert(block->num_args == num_args && block->last);
   for (unsigned i = 0; i < num_args; i++)
      tl_lower_def(cx, block->args[i], args[i]);
   for (TlOp *op = block->first; op != block->last; op = op->next)
      tl_lower_op(cx, op);
   for (unsigned i = 0; i < block->last->num_args; i++)
      results[i] = tl_regs_splat(cx, tl_lower_use(cx, tl_arg(block->last, i)), n);
}

void
tl_inline_region(TlLowerCx *cx, const TlRegion *region, TlValue *const *args, unsigned num_args,
                 unsigned n, TlValue **results)
{
   assert(n > 0 && region->block->last);
   const TlBlock *block = region->block;
   unsigned num_results = block->last->num_args;
   if (n == 1 || is_elementwise(block)) {
      run_once(cx, block, args, num_args, n, results);
      return;
   }
   TlValue **one = tl_new_array(cx->scratch, TlValue *, num_args);
   TlValue **out = tl_new_array(cx->scratch, TlValue *, (size_t)num_results * n);
   TlValue **part = tl_new_array(cx->scratch, TlValue *, num_results);
   for (unsigned r = 0; r < n; r++) {
      for (unsigned i = 0; i < num_args; i++)
         one[i] = tl_regs_of(args[i]->type) == 1 ? args[i] : tl_regs_reg(cx, args[i], r);
      run_once(cx, block, one, num_args, 1, part);
      for (unsigned i = 0; i < num_results; i++)
         out[i * n + r] = part[i];
   }
   for (unsigned i = 0; i < num_results; i++)
      results[i] = tl_regs_concat(cx, &out[(size_t)i * n], n);
}

bool
tl_region_commutes(const TlRegion *region)
{
   const TlBlock *block = region->block;
   const TlOp *op = block->first;
   if (block->num_args != 2 || op == block->last || op->next != block->last ||
       !tl_has_trait(op, TL_TRAIT_COMMUTES) || op->num_args != 2)
      return false;
   const TlValue *a = tl_arg(op, 0), *b = tl_arg(op, 1);
   return (a == block->args[0] && b == block->args[1]) ||
          (a == block->args[1] && b == block->args[0]);
}
