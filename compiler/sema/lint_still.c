/* Comparisons by which a loop chooses of each round's block, and that no round changes: lanes of a
 * block, from 0 on, beside places among all of them. */
#include "ir/control.h"
#include "ir/walk.h"
#include "sema/lint_access.h"

static const TlOp *
loop_around(const TlOp *op)
{
   const TlOp *loop = tl_parent(op);
   while (loop && loop->opcode != TL_OP_FOR)
      loop = tl_parent(loop);
   return loop;
}

/* start + lanes, in the loop, where the start is its index's: the place of the round's lanes. */
static const TlValue *
placed(const TlValue *lanes, const TlOp *loop)
{
   for (const TlUse *u = lanes->uses; u; u = u->next) {
      const TlOp *op = u->user;
      if (op->opcode == TL_OP_BROADCAST || tl_has_trait(op, TL_TRAIT_SAME_ELEMENTS)) {
         const TlValue *found = placed(tl_result(op, 0), loop);
         if (found)
            return found;
      }
      for (unsigned i = 0; op->opcode == TL_OP_ADD && i < 2; i++)
         if (tl_lint_before_moves(tl_arg(op, i)) == tl_for_index(loop))
            return tl_result(op, 0);
   }
   return NULL;
}

/* A place among all, such as pid * BLOCK + lanes, that no round moves. */
static bool
is_place_of_program(TlLintFacts *f, const TlValue *v)
{
   TlSum sum;
   const TlValue *base;
   return tl_value_sum(f->affine, v, &sum, &base) && !base && !tl_lint_has_rounds(&sum) &&
          sum.num >= 2 && tl_lint_has_any_program(&sum);
}

/* where(m[:, None] >= lanes[None, :], ..), where the round has start + lanes */
static bool
check_comparison(TlLintFacts *f, const TlOp *op, const TlOp *loop)
{
   TlSema *s = f->s;
   bool is_order = op->opcode == TL_OP_GE || op->opcode == TL_OP_GT || op->opcode == TL_OP_LE ||
                   op->opcode == TL_OP_LT;
   for (unsigned i = 0; is_order && i < 2; i++) {
      const TlValue *lanes = tl_lint_before_moves(tl_arg(op, i)),
                    *other = tl_lint_before_moves(tl_arg(op, 1 - i));
      bool is_lanes = lanes->def && lanes->def->opcode == TL_OP_ARANGE &&
                      !tl_attr_int(lanes->def, TL_ATTR_START) && lanes->name;
      const TlValue *place = is_lanes && is_place_of_program(f, other) ? placed(lanes, loop) : NULL;
      if (!place)
         continue;
      tl_report(s->diags, W0382, op->range, tl_range_text(s, op->range), lanes->name);
      if (place->name)
         tl_help(s->diags, "compare with '%.40s', which has the places of the round", place->name);
      tl_note(s->diags, N0200, place->def->range, "the places of the round are here");
      return true;
   }
   return false;
}

static bool
check_condition(TlLintFacts *f, const TlValue *condition, const TlOp *loop)
{
   const TlOp *op = condition->def;
   if (!op || op->range.file != f->s->impl->main->file || loop_around(op) != loop)
      return false;
   if (op->opcode == TL_OP_AND || op->opcode == TL_OP_BROADCAST)
      return check_condition(f, tl_arg(op, 0), loop) ||
             (op->num_args > 1 && check_condition(f, tl_arg(op, 1), loop));
   return check_comparison(f, op, loop);
}

void
tl_lint_still(TlLintFacts *f)
{
   const TlBlock *top = f->func->body->block;
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top)) {
      const TlOp *loop = op->opcode == TL_OP_SELECT ? loop_around(op) : NULL;
      if (loop && tl_result(op, 0)->type->rank == 2 && check_condition(f, tl_arg(op, 0), loop))
         return;
   }
}
