/* map and inline_asm: code over groups of `pack` elements.  Which elements share a group is free,
 * so they are neighbouring registers; a thread with fewer registers repeats its last one. */
#include "passes/lower/impl.h"

#include <assert.h>
#include <string.h>

void
tl_lower_map(TlLowerCx *cx, TlOp *op)
{
   unsigned n = tl_regs_of(tl_lower_type(cx, tl_arg(op, 0)->type)), k = op->num_args;
   unsigned pack = (unsigned)tl_attr_int(op, TL_ATTR_PACK), results = op->num_results;
   assert(pack > 0 && k > 0);
   assert(op->regions[0]->block->num_args == k * pack);
   unsigned groups = n < pack ? 1 : n / pack;
   TlValue **args = tl_new_array(cx->scratch, TlValue *, (size_t)k * pack);
   TlValue **out = tl_new_array(cx->scratch, TlValue *, (size_t)results * pack);
   uint32_t *index = tl_new_array(cx->scratch, uint32_t, n > groups ? n : groups);
   for (unsigned i = 0; i < k; i++)
      for (unsigned e = 0; e < pack; e++) {
         for (unsigned g = 0; g < groups; g++) {
            uint32_t r = g * pack + e;
            index[g] = r < n ? r : n - 1;
         }
         args[i * pack + e] = tl_regs_pick(cx, tl_lower_use(cx, tl_arg(op, i)), index, groups);
      }
   tl_inline_region(cx, op->regions[0], args, k * pack, groups, out);
   for (unsigned i = 0; i < results; i++) {
      for (uint32_t r = 0; r < n; r++)
         index[r] = r % pack * groups + r / pack;
      tl_lower_def(cx, tl_result(op, i),
                   tl_regs_gather(cx, &out[(size_t)i * pack], pack, index, n));
   }
}

void
tl_lower_inline_asm(TlLowerCx *cx, TlOp *op)
{
   unsigned n = 1, pack = (unsigned)tl_attr_int(op, TL_ATTR_PACK);
   for (unsigned i = 0; i < op->num_args; i++) {
      unsigned have = tl_regs_of(tl_lower_use(cx, tl_arg(op, i))->type);
      n = have > n ? have : n;
   }
   for (unsigned i = 0; i < op->num_results; i++) {
      unsigned have = tl_regs_of(tl_lower_type(cx, tl_result(op, i)->type));
      n = have > n ? have : n;
   }
   pack = pack ? pack : 1;
   unsigned padded = (n + pack - 1) / pack * pack;
   assert(padded % pack == 0 && padded >= n);
   uint32_t *index = tl_new_array(cx->scratch, uint32_t, padded);
   for (uint32_t r = 0; r < padded; r++)
      index[r] = r < n ? r : n - 1;
   TlValue **args = tl_new_array(cx->scratch, TlValue *, op->num_args);
   const TlType **types = tl_new_array(cx->scratch, const TlType *, op->num_results);
   for (unsigned i = 0; i < op->num_args; i++)
      args[i] =
         tl_regs_pick(cx, tl_regs_splat(cx, tl_lower_use(cx, tl_arg(op, i)), n), index, padded);
   for (unsigned i = 0; i < op->num_results; i++)
      types[i] = tl_type_regs(cx->types, tl_type_elem(tl_result(op, i)->type), padded);
   TlOp *now = tl_lower_clone(cx, op, args, op->num_args, types, 0);
   for (unsigned i = 0; i < op->num_results; i++)
      tl_lower_def(cx, tl_result(op, i), tl_regs_pick(cx, tl_result(now, i), index, n));
}
