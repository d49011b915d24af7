/* Quotients and remainders of 64-bit numbers that fit in 32 bits, taken in 32 bits:
 *    %q = div %x, %y : tile<i64, N>    // %x in 0 .. 65535 * 2048 + 2047, %y cast from i32
 * becomes
 *    %q = cast (div (cast %x : i32), (cast %y : i32)) : i64
 * A GPU divides 32 bits by some 20 instructions and 64 bits by a branch that asks whether the upper
 * halves are empty and a function where they are not.  Numbers of programs and of elements of a
 * block are mostly small, though kernels count in 64 bits to be safe.
 *
 * Ranges come of the analysis, without what it assumes of indices.  Refused: dividends that may be
 * the least of 32 bits, whose quotient by -1 has no place there, and powers of two, by which
 * numbers are shifted.  Each one is narrowed once. */
#include "ir/analysis.h"
#include "ir/walk.h"
#include "passes/pass.h"

#include <assert.h>

typedef struct Narrow {
   TlTypes *types;
   TlAnalysis *facts;
   TlMap made; /* results of this pass: no larger than their dividends */
} Narrow;

/* Is every element a number of 32 bits, as far as is known, and not the least one? */
static bool
is_small(const Narrow *n, const TlValue *v)
{
   const TlAxisInfo *info = tl_axis_info(n->facts, v);
   return tl_map_has(&n->made, v) || (info->has_range && !info->assumes_index &&
                                      info->lo >= -INT32_MAX && info->hi <= INT32_MAX);
}

/* A divisor may also be the least number; by a power of two numbers are shifted. */
static bool
is_small_divisor(const Narrow *n, const TlValue *v)
{
   uint64_t bits;
   while (tl_value_is(v, TL_OP_SPLAT) || tl_value_is(v, TL_OP_BROADCAST))
      v = tl_arg(v->def, 0);
   if (tl_is_const(v, &bits))
      return (bits & (bits - 1)) != 0 && is_small(n, v);
   return is_small(n, v) ||
          (tl_value_is(v, TL_OP_CAST) && tl_type_elem(tl_arg(v->def, 0)->type)->dtype == TL_I32);
}

static bool
narrow(Narrow *n, TlOp *op)
{
   assert(op->num_args == 2);
   const TlType *wide = tl_result(op, 0)->type;
   TlValue *x = tl_arg(op, 0), *y = tl_arg(op, 1);
   if (tl_type_elem(wide)->kind != TL_TYPE_SCALAR || tl_type_elem(wide)->dtype != TL_I64 ||
       !is_small(n, x) || !is_small_divisor(n, y))
      return false;
   TlBuilder b = tl_builder_before(op);
   const TlType *type = tl_type_with_elem(n->types, wide, tl_type_scalar(n->types, TL_I32));
   TlValue *args[2] = {tl_t1(&b, TL_OP_CAST, type, x), tl_t1(&b, TL_OP_CAST, type, y)};
   TlValue *result = op->opcode == TL_OP_DIV ? tl_b2(&b, TL_OP_DIV, args[0], args[1])
                                             : tl_b2(&b, TL_OP_REM, args[0], args[1]);
   result = tl_t1(&b, TL_OP_CAST, wide, result);
   tl_map_put(&n->made, result, result);
   tl_replace_uses(tl_result(op, 0), result);
   tl_remove(op);
   return true;
}

bool
tl_pass_narrow_divisions(TlPassCx *cx, TlFunc *f)
{
   assert(f->state == TL_STATE_TYPED);
   Narrow n = {.types = f->module->types};
   tl_map_init(&n.made, cx->scratch);
   bool progress = false;
   TlOp *next;
   const TlBlock *body = f->body->block;
   for (TlOp *op = body->first; op; op = next) {
      next = tl_walk_next(op, body);
      if (op->opcode != TL_OP_DIV && op->opcode != TL_OP_REM)
         continue;
      n.facts = n.facts ? n.facts : tl_analysis_new(cx->scratch, f);
      progress |= narrow(&n, op);
   }
   return progress;
}
