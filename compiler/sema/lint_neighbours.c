/* Programs that load what others store: a stencil in place, a sum that all add to.  What they find
 * there is from before or behind, as it happens. */
#include "ir/control.h"
#include "ir/walk.h"
#include "sema/lint.h"
#include "sema/lint_access.h"

#include <stdlib.h>

/* How far x is from y, where they differ by a number alone. */
static bool
distance(const TlSum *x, const TlSum *y, int64_t *out)
{
   unsigned moved = 0, others = 0;
   for (unsigned i = 0; i < x->num; i++) {
      const TlTerm *t = &x->term[i];
      unsigned k = 0;
      if (t->dim < 0 && !t->num)
         continue;
      while (k < y->num && !(y->term[k].dim == t->dim && tl_same_term(t, &y->term[k])))
         k++;
      if (k == y->num)
         return false;
      moved++;
   }
   for (unsigned k = 0; k < y->num; k++)
      others += y->term[k].dim >= 0 || y->term[k].num;
   return moved == others && !__builtin_sub_overflow(tl_lint_constant(x), tl_lint_constant(y), out);
}

/* The axis whose programs take blocks of `len` elements side by side; -1: none. */
static int
axis_of_blocks(const TlSum *index, int64_t len)
{
   int found = -1;
   for (unsigned i = 0; i < index->num; i++) {
      const TlTerm *t = &index->term[i];
      int axis = tl_lint_axis(t);
      if (axis >= 0 && (t->num != 1 || t->scale != len || found >= 0))
         return -1;
      found = axis >= 0 ? axis : found;
      for (unsigned k = 0; k < t->num; k++)
         if (t->factor[k].is_iteration)
            return -1;
   }
   return found;
}

/* Does the mask know where in its block an element is: lane > 0, a halo that is not loaded? */
static bool
is_masked_in_block(const TlLintAccess *x, unsigned d, int axis)
{
   for (unsigned i = 0; i < x->num_bounds; i++)
      if (tl_lint_has_dim(&x->bound[i].index, (int)d) &&
          !tl_lint_has_program(&x->bound[i].index, axis))
         return true;
   return x->has_other;
}

static bool
check_beside(TlLintFacts *f, const TlLintAccess *load, const TlLintAccess *store)
{
   TlSema *s = f->s;
   const TlType *type = load->pointers->type;
   int64_t far = 0;
   int along = -1;
   unsigned dim = 0;
   if (!load->is_known || !store->is_known || load->base != store->base ||
       !tl_lint_is_argument(load->base) || type->rank != store->pointers->type->rank ||
       tl_value_is_chosen(f->affine, load->pointers) ||
       tl_value_is_chosen(f->affine, store->pointers)) /* (i + 1) % 256 stays in the block */
      return false;
   for (unsigned d = 0; d < type->rank; d++) {
      TlTerm step, other_step;
      TlSum index, other;
      int64_t away;
      if (!tl_lint_index(f, load, d, &step, &index) ||
          !tl_lint_index(f, store, d, &other_step, &other) || !tl_same_term(&step, &other_step) ||
          !distance(&index, &other, &away))
         return false;
      int axis = away ? axis_of_blocks(&other, type->shape[d]) : -1;
      if (away && (axis < 0 || away <= -(int64_t)type->shape[d] || away >= type->shape[d] ||
                   is_masked_in_block(load, d, axis) || is_masked_in_block(store, d, axis)))
         return false;
      if (away)
         far = away, along = axis, dim = d;
   }
   if (along < 0 || ((tl_lint_guard(f, load->op) | tl_lint_guard(f, store->op)) >> along & 1))
      return false;
   tl_report(s->diags, W0294, load->op->range, load->base->name, (long long)llabs(far),
             far < 0 ? "before" : "behind", type->shape[dim], along);
   tl_help(s->diags, "store to another array than '%.40s': programs run in any order and at once",
           load->base->name);
   tl_note(s->diags, N0200, store->op->range, "each program stores its own elements here");
   return true;
}

/* ---- sums that are not done ---- */
static bool
is_loaded(const TlValue *v, unsigned *steps)
{
   enum { MAX_STEPS = 200 };
   if (!v->def || ++*steps > MAX_STEPS)
      return false;
   if (v->def->opcode == TL_OP_LOAD)
      return true;
   for (unsigned i = 0; i < v->def->num_args; i++)
      if (is_loaded(tl_arg(v->def, i), steps))
         return true;
   return false;
}

static bool
asks_memory(const TlOp *op)
{
   unsigned steps = 0;
   return op->opcode == TL_OP_IF && is_loaded(tl_arg(op, 0), &steps);
}

/* Waits or asks who was last: while, if of what was loaded, what an atomic gave, a compare and
 * swap. */
static bool
is_synchronised(const TlFunc *func)
{
   const TlBlock *top = func->body->block;
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top))
      if (op->opcode == TL_OP_WHILE || asks_memory(op) || op->opcode == TL_OP_ATOMIC_CAS ||
          op->opcode == TL_OP_INLINE_ASM ||
          (op->opcode == TL_OP_LOAD && tl_attr_int(op, TL_ATTR_VOLATILE)) ||
          (op->opcode == TL_OP_ATOMIC_RMW && tl_result(op, 0)->uses))
         return true;
   return false;
}

/* atomic_add(total, sum(v)), then load(total) by the same programs: others may still add. */
static bool
check_unfinished(TlLintFacts *f, const TlLintAccess *sum)
{
   TlSema *s = f->s;
   uint32_t main = s->impl->main->file;
   if (sum->op->opcode != TL_OP_ATOMIC_RMW || sum->op->range.file != main || !sum->is_known ||
       f->programs[sum->pointers->id] || tl_lint_guard(f, sum->op))
      return false;
   for (size_t i = 0; i < f->all.len; i++) {
      const TlLintAccess *load = &f->all.data[i];
      if (load->op->opcode != TL_OP_LOAD || load->op->range.file != main || !load->is_known ||
          load->base != sum->base || !tl_lint_is_argument(load->base) ||
          load->op->range.begin < sum->op->range.begin || tl_lint_guard(f, load->op) ||
          !tl_lint_is_same(load->pointers, sum->pointers))
         continue;
      tl_report(s->diags, W0296, load->op->range, load->base->name, tl_source_name(sum->op));
      tl_help(s->diags, "programs run in any order: what needs all of it is a launch of its own");
      tl_note(s->diags, N0200, sum->op->range, "all programs combine with it here");
      return true;
   }
   return false;
}

void
tl_lint_neighbours(TlLintFacts *f)
{
   uint32_t main = f->s->impl->main->file;
   bool is_one = tl_lint_is_one_program(f);
   if (f->has_atomics && !is_one && !is_synchronised(f->func))
      for (size_t i = 0; i < f->all.len; i++)
         if (check_unfinished(f, &f->all.data[i]))
            return;
   if (!tl_lint_are_concurrent(f))
      return;
   for (size_t i = 0; i < f->all.len; i++)
      for (size_t k = 0; k < f->all.len; k++) {
         const TlLintAccess *load = &f->all.data[i], *store = &f->all.data[k];
         bool is_pair = load->op->opcode == TL_OP_LOAD && store->op->opcode == TL_OP_STORE &&
                        load->op->range.file == main && store->op->range.file == main;
         if (is_pair && check_beside(f, load, store))
            return;
      }
}
