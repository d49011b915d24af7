/* Warps without the thread that sends for boxes go past what it does in a loop: its expectations,
 * its copies, and the addresses and coordinates that only they need.
 *
 *    mbar_expect %full, %p                     %w = vote %p
 *    %at = mul %slot, 8192                     if %w {
 *    tma_load %at, %map, %full, %p, ..    ->      mbar_expect %full, %p
 *                                                 %at = mul %slot, 8192
 *                                                 tma_load %at, %map, %full, %p, .. }
 *
 * A vote makes the branch one of whole warps.  Done where more than one warp runs the loop; other
 * effects between two sends end the group.  A group that is in a condition already is the inside
 * of another operation, and no loop's own, so it ends. */
#include "ir/control.h"
#include "ir/walk.h"
#include "passes/pass.h"

#include <assert.h>

static bool
is_send(const TlOp *op)
{
   return op->opcode == TL_OP_MBAR_EXPECT || op->opcode == TL_OP_TMA_LOAD ||
          op->opcode == TL_OP_TMA_STORE;
}

static bool
may_move(const TlOp *op)
{
   return tl_op_is_pure(op) && !op->num_regions;
}

/* The last send of the group that begins with `first`: of the same threads, with nothing but pure
 * operations between. */
static TlOp *
last_of_group(TlOp *first)
{
   TlOp *last = first;
   for (TlOp *op = first->next; op; op = op->next) {
      if (is_send(op) && tl_pred(op) == tl_pred(first))
         last = op;
      else if (!may_move(op))
         break;
   }
   return last;
}

static bool
is_only_used_in(const TlOp *op, const TlOp *outer)
{
   bool has_use = false;
   for (unsigned i = 0; i < op->num_results; i++)
      for (const TlUse *use = tl_result(op, i)->uses; use; use = use->next) {
         if (tl_parent(use->user) != outer)
            return false;
         has_use = true;
      }
   return has_use;
}

/* A condition behind `last`, its blocks empty. */
static TlOp *
build_condition(TlFunc *f, TlValue *votes, const TlOp *last)
{
   assert(last->next); /* a block ends with its terminator */
   TlBuilder b = tl_builder_before(last->next);
   b.range = last->range;
   TlOp *condition = tl_build(&b, TL_OP_IF, &votes, 1, NULL, 0, NULL, 0, 2);
   for (unsigned i = 0; i < 2; i++) {
      TlBuilder in = tl_builder_inside(f, condition, i, last->range);
      tl_build_yield(&in, NULL, 0);
   }
   return condition;
}

/* The group and what only it needs go into the condition, from the last to the first. */
static void
branch(TlFunc *f, TlOp *first, const TlOp *last)
{
   TlBuilder b = tl_builder_before(first);
   b.range = first->range;
   const TlType *bit = tl_type_scalar(f->module->types, TL_I1);
   TlValue *votes = tl_t1(&b, TL_OP_VOTE, bit, tl_pred(first));
   TlOp *condition = build_condition(f, votes, last);
   TlOp *top = condition->regions[0]->block->last;
   bool is_in_group = true;
   for (TlOp *op = condition->prev, *prev; op; op = prev) {
      prev = op->prev;
      bool moves = is_send(op) ? is_in_group : may_move(op) && is_only_used_in(op, condition);
      is_in_group &= op != first;
      if (moves) {
         tl_move_before(op, top);
         top = op;
      }
   }
}

bool
tl_pass_branch_sends(TlPassCx *cx, TlFunc *f)
{
   assert(f->state == TL_STATE_LOWERED);
   bool changed = false;
   const TlBlock *top = f->body->block;
   for (TlOp *op = top->first, *next; op; op = next) {
      next = tl_walk_next(op, top);
      const TlOp *loop = tl_parent(op);
      if (!is_send(op) || !tl_pred(op) || !loop || !tl_is_loop(loop) || tl_warps_at(f, op) < 2)
         continue;
      TlOp *last = last_of_group(op);
      next = tl_walk_next(last, top);
      if (last != op) {
         branch(f, op, last);
         changed = true;
      }
   }
   (void)cx;
   return changed;
}
