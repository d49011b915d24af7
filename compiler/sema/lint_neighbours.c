/* Programs that load what the programs beside them store: a stencil in place.  What they find there
 * is from before or behind the store, as it happens. */
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
       !tl_lint_is_argument(load->base) || type->rank != store->pointers->type->rank)
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

void
tl_lint_neighbours(TlLintFacts *f)
{
   uint32_t main = f->s->impl->main->file;
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
