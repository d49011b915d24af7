/* Masks that a loop does not change, computed where they are used.  A thread has seven registers
 * for truths; a loop that carries more packs them into bits and unpacks them one at a time, and
 * ptxas then orders all else around that: eight sums over the lanes went one after another, each
 * waiting for its shuffles, because of eight stores behind them.
 *
 *    %m = lt %y, %n : regs<i1, 8>
 *    for ..  st_global %p, %x, %m          // becomes  %m' = lt %y, %n  and a store with it
 *
 * Copied are comparisons, and what `and` and `or` make of them; the numbers that they compare stay
 * where they are.  Refused: loops that carry few truths; loops with products, whose registers are
 * counted; masks that are not made of comparisons.
 * A copy is in the loop, so no loop has it to sink again, and the pass ends. */
#include "ir/control.h"
#include "ir/walk.h"
#include "passes/pass.h"

#include <assert.h>

enum { MOST_TRUTHS = 6, MAX_DEPTH = 6 };

static bool
is_truth(const TlValue *v)
{
   const TlType *elem = tl_type_elem(v->type);
   return elem->kind == TL_TYPE_SCALAR && elem->dtype == TL_I1;
}

/* Made of comparisons, before the loop. */
static bool
sinks(const TlValue *v, const TlOp *loop, unsigned depth)
{
   const TlOp *op = v->def;
   if (!op || depth == MAX_DEPTH || tl_is_defined_in(v, loop))
      return false;
   if (op->opcode != TL_OP_AND && op->opcode != TL_OP_OR)
      return op->num_args == 2 && tl_has_trait(op, TL_TRAIT_ELTWISE) && !is_truth(tl_arg(op, 0)) &&
             is_truth(v);
   return sinks(tl_arg(op, 0), loop, depth + 1) || sinks(tl_arg(op, 1), loop, depth + 1);
}

static TlValue *
copy_at(TlBuilder *b, TlValue *v, const TlOp *loop, unsigned depth)
{
   if (v->type->kind != TL_TYPE_REGS || !sinks(v, loop, depth))
      return v;
   TlValue *args[2];
   for (unsigned i = 0; i < 2; i++)
      args[i] = is_truth(tl_arg(v->def, i)) ? copy_at(b, tl_arg(v->def, i), loop, depth + 1)
                                            : tl_arg(v->def, i);
   return tl_b2(b, v->def->opcode, args[0], args[1]);
}

/* Registers of masks that come from outside of the loop; 0 where it has products. */
static uint32_t
truths_into(const TlOp *loop)
{
   uint32_t n = 0;
   const TlBlock *body = tl_loop_body(loop);
   for (const TlOp *op = body->first; op; op = tl_walk_next(op, body)) {
      const TlValue *mask = tl_pred(op);
      if (op->opcode == TL_OP_MMA || op->opcode == TL_OP_WGMMA)
         return 0;
      if (mask && mask->type->kind == TL_TYPE_REGS && !tl_is_defined_in(mask, loop))
         n += tl_type_num_regs(mask->type);
   }
   return n;
}

static bool
sink_into(TlOp *loop)
{
   bool changed = false;
   const TlBlock *body = tl_loop_body(loop);
   if (truths_into(loop) <= MOST_TRUTHS)
      return false;
   for (TlOp *op = body->first; op; op = tl_walk_next(op, body)) {
      TlValue *mask = tl_pred(op);
      if (!mask || mask->type->kind != TL_TYPE_REGS || !sinks(mask, loop, 0))
         continue;
      TlBuilder b = tl_builder_before(op);
      tl_set_arg(op, tl_pred_at(op), copy_at(&b, mask, loop, 0));
      changed = true;
   }
   return changed;
}

bool
tl_pass_sink_masks(TlPassCx *cx, TlFunc *f)
{
   (void)cx;
   assert(f->state == TL_STATE_LOWERED);
   bool changed = false;
   const TlBlock *body = f->body->block;
   for (TlOp *op = tl_walk_inner(body); op; op = tl_walk_inner_next(op, body))
      if (tl_is_loop(op)) /* inner ones first */
         changed |= sink_into(op);
   return changed;
}
