/* Sums that are scaled by rows, mostly by 1, are left alone where all rows of a warp say 1.
 *
 * The online softmax scales its sum whenever the maximum of a row has grown, which after the first
 * blocks it hardly does.  A multiplication for each element of the sum is then spared:
 *
 *    before:   acc = mul sum, broadcast(shrink)
 *    after:    acc = if any_in_warp(shrink != 1): mul sum, broadcast(shrink)   else: sum
 *
 * x * 1 is x, so the result is the same to the bit.  Done where wgmma adds to the product: between
 * waiting for the old sum and beginning the new one, nothing else is left to do.
 *
 * Invariant: the scale is computed as before, by all threads. */
#include "ir/walk.h"
#include "passes/dot_layouts.h"
#include "ir/control.h"
#include "passes/pass.h"

#include <assert.h>

enum { LEAST_REGISTERS = 32 /* to be scaled: the question costs about eight instructions */ };

static unsigned
registers_of(const TlValue *v)
{
   return tl_ll_num_regs(v->type->layout);
}

/* The smaller tile that v repeats. */
static TlValue *
unrepeated(TlValue *v)
{
   while (v->def && (v->def->opcode == TL_OP_BROADCAST || v->def->opcode == TL_OP_EXPAND_DIMS))
      v = tl_arg(v->def, 0);
   return v;
}

/* mul(sum, scale) of fp32, for one product alone; NULL when the sum is not made so. */
static TlOp *
scaling_of(const TlOp *dot)
{
   const TlValue *acc = tl_arg(dot, 2);
   TlOp *mul = acc->def;
   if (!mul || mul->opcode != TL_OP_MUL || acc->uses->next || acc->type->dtype != TL_FP32)
      return NULL;
   return mul->block == dot->block && registers_of(acc) >= LEAST_REGISTERS ? mul : NULL;
}

static bool
skip(TlFunc *f, TlOp *mul)
{
   unsigned side = 0;
   for (; side < 2; side++)
      if (registers_of(unrepeated(tl_arg(mul, side))) * 8 <= registers_of(tl_result(mul, 0)))
         break;
   if (side == 2)
      return false;
   TlValue *scale = unrepeated(tl_arg(mul, side)), *sum = tl_arg(mul, 1 - side);
   TlTypes *types = f->module->types;
   const TlType *type = sum->type;
   TlBuilder b = tl_builder_before(mul);
   b.range = mul->range;
   TlValue *one = tl_const_double(&b, scale->type, 1.0);
   TlValue *differs = tl_b2(&b, TL_OP_NE, scale, one);
   TlValue *any = tl_t1(&b, TL_OP_ANY_IN_WARP, tl_type_scalar(types, TL_I1), differs);
   TlOp *op = tl_build(&b, TL_OP_IF, &any, 1, &type, 1, NULL, 0, 2);
   tl_replace_uses(tl_result(mul, 0), tl_result(op, 0));
   for (unsigned r = 0; r < 2; r++) {
      TlBuilder in = tl_builder_inside(f, op, r, mul->range);
      TlValue *v = r == 0 ? tl_result(mul, 0) : sum;
      if (r == 0)
         tl_move_to_end(mul, in.block);
      tl_build_yield(&in, &v, 1);
   }
   return true;
}

bool
tl_pass_skip_scaling(TlPassCx *cx, TlFunc *f)
{
   assert(f->state == TL_STATE_LAID);
   bool changed = false;
   const TlBlock *top = f->body->block;
   for (TlOp *op = top->first; op; op = tl_walk_next(op, top)) {
      TlOp *mul = op->opcode == TL_OP_DOT && tl_is_by_wgmma(op) ? scaling_of(op) : NULL;
      changed |= mul && skip(f, mul);
   }
   (void)cx;
   return changed;
}
