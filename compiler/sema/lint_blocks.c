/* Rows that a loop goes through in blocks: places within a block that are kept as places within the
 * row. */
#include "ir/control.h"
#include "ir/walk.h"
#include "sema/lint_access.h"

enum { MAX_STEPS = 200 };

static bool
is_move(const TlOp *op)
{
   return op->opcode == TL_OP_CAST || op->opcode == TL_OP_BROADCAST || op->opcode == TL_OP_SELECT ||
          tl_has_trait(op, TL_TRAIT_SAME_ELEMENTS);
}

/* arange(0, n), and of it along one axis */
static bool
counts_from_zero(const TlValue *v)
{
   while (v->def &&
          (v->def->opcode == TL_OP_BROADCAST || v->def->opcode == TL_OP_CAST ||
           tl_has_trait(v->def, TL_TRAIT_SAME_ELEMENTS)) &&
          v->def->num_args == 1)
      v = tl_arg(v->def, 0);
   return v->def && v->def->opcode == TL_OP_ARANGE && !tl_attr_int(v->def, TL_ATTR_START);
}

/* The loads that a tile is computed from, element by element, until one is along the axis what the
 * loop moves by a whole block in each round. */
static bool
goes_along(TlLintFacts *f, const TlValue *v, unsigned axis, const TlOp *loop, unsigned *steps)
{
   const TlOp *op = v->def;
   if (!op || ++*steps > MAX_STEPS)
      return false;
   if (op->opcode != TL_OP_LOAD) {
      for (unsigned i = 0; tl_has_trait(op, TL_TRAIT_ELTWISE) && i < op->num_args; i++)
         if (goes_along(f, tl_arg(op, i), axis, loop, steps))
            return true;
      return false;
   }
   for (size_t i = 0; i < f->all.len; i++) {
      const TlLintAccess *x = &f->all.data[i];
      TlTerm stride;
      TlSum index;
      if (x->op != op || axis >= x->pointers->type->rank ||
          !tl_lint_index(f, x, axis, &stride, &index))
         continue;
      for (unsigned k = 0; k < index.num; k++) {
         const TlTerm *t = &index.term[k];
         if (tl_lint_is_round(t) && t->factor[0].value == tl_for_index(loop) &&
             t->scale == x->pointers->type->shape[axis])
            return true;
      }
   }
   return false;
}

/* Computed of the loop's index, and not of what was loaded by it. */
static bool
is_of_index(const TlValue *v, const TlValue *index, unsigned *steps)
{
   const TlOp *op = v->def;
   if (v == index)
      return true;
   if (!op || ++*steps > MAX_STEPS || op->opcode == TL_OP_LOAD || op->opcode == TL_OP_FOR ||
       op->opcode == TL_OP_WHILE)
      return false;
   if (op->opcode == TL_OP_IF)
      for (unsigned r = 0; r < op->num_regions; r++) {
         const TlOp *yield = op->regions[r]->block->last;
         if (yield && v->index < yield->num_args &&
             is_of_index(tl_arg(yield, v->index), index, steps))
            return true;
      }
   for (unsigned i = 0; i < op->num_args; i++)
      if (is_of_index(tl_arg(op, i), index, steps))
         return true;
   return false;
}

/* The number of the value that the loop carries which takes v as it is; -1: none, or something is
 * made of v on the way. */
static int
carried_by(const TlValue *v, const TlOp *loop, unsigned *steps)
{
   int found = -1;
   for (const TlUse *u = v->uses; u; u = u->next) {
      const TlOp *op = u->user, *around = tl_parent(op);
      int here = -1;
      if (++*steps > MAX_STEPS)
         return -1;
      if (op->opcode == TL_OP_YIELD) {
         unsigned i = 0;
         while (i < op->num_args && tl_arg(op, i) != v)
            i++;
         if (around == loop)
            here = (int)i;
         else if (around && around->opcode == TL_OP_IF && i < around->num_results)
            here = carried_by(tl_result(around, i), loop, steps);
      } else if (is_move(op) && op->num_results == 1) {
         here = carried_by(tl_result(op, 0), loop, steps);
      }
      if (here < 0)
         return -1;
      found = here;
   }
   return found;
}

/* Beside it the block's number, or its beginning, is kept. */
static bool
keeps_block(const TlOp *loop, unsigned but)
{
   const TlBlock *body = loop->regions[0]->block;
   for (unsigned i = 0; i < loop->num_results; i++) {
      unsigned steps = 0;
      if (i != but && is_of_index(tl_yielded(body, i), tl_for_index(loop), &steps))
         return true;
   }
   return false;
}

/* value, index = max(v, axis=0, return_indices=True); at = where(value > best, index, at) */
static bool
check_place(TlLintFacts *f, const TlOp *op)
{
   TlSema *s = f->s;
   const TlOp *loop = tl_parent(op);
   unsigned steps = 0, uses = 0;
   uint64_t step;
   while (loop && loop->opcode == TL_OP_IF)
      loop = tl_parent(loop);
   if (!loop || loop->opcode != TL_OP_FOR || op->num_args != 2 ||
       !counts_from_zero(tl_arg(op, 1)) || !tl_result(op, 1)->uses)
      return false;
   unsigned axis = (unsigned)tl_attr_int(op, TL_ATTR_AXIS);
   if (!tl_lint_trusts_numbers(f) || !goes_along(f, tl_arg(op, 0), axis, loop, &steps))
      return false;
   int at = carried_by(tl_result(op, 1), loop, &uses);
   if (at < 0 || !tl_result(loop, (unsigned)at)->uses || keeps_block(loop, (unsigned)at))
      return false;
   const TlValue *v = tl_result(op, 1), *round = tl_for_index(loop);
   const char *name = v->name ? v->name : "index", *first = round->name ? round->name : "start";
   bool is_start = tl_is_const(tl_for_step(loop), &step) && step > 1;
   tl_report(s->diags, W0370, op->range, name);
   tl_help(s->diags, "add where the block begins: %.40s%s + %.40s", first,
           is_start ? "" : " * BLOCK", name);
   return true;
}

void
tl_lint_blocks(TlLintFacts *f)
{
   const TlBlock *top = f->func->body->block;
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top))
      if (op->opcode == TL_OP_REDUCE && op->range.file == f->s->impl->main->file &&
          check_place(f, op))
         return;
}
