/* Updates in place of two parts of an array by both of them, as rotations are: what is loaded anew
 * behind the first store is no old value any more. */
#include "ir/walk.h"
#include "sema/lint_access.h"

static bool
is_same_place(const TlLintAccess *x, const TlLintAccess *y)
{
   return x->is_known && y->is_known && x->base == y->base && tl_same_sum(&x->sum, &y->sum);
}

/* Do both stand in one block, the first before the other, without a barrier between them? */
static bool
is_before(const TlOp *first, const TlOp *other)
{
   for (const TlOp *op = first->next; op && first->block == other->block; op = op->next) {
      if (op == other)
         return true;
      if (op->opcode == TL_OP_DEBUG_BARRIER)
         return false;
   }
   return false;
}

/* Is it a factor, and not only added to?  x += f(y); y += f(x) is meant as it stands. */
static bool
is_factor(const TlValue *v)
{
   for (const TlUse *u = v->uses; u; u = u->next)
      if (u->user->opcode == TL_OP_MUL ||
          (u->user->opcode == TL_OP_CAST && is_factor(tl_result(u->user, 0))))
         return true;
   return false;
}

/* Was the stored value made of what stood there, scaled, and of what stood where y goes?  Or is it
 * what stood there, as it is: both are exchanged. */
static bool
is_of_both(const TlLintFacts *f, const TlLintAccess *x, const TlLintAccess *y)
{
   const TlValue *stored = tl_arg(x->op, 1);
   bool is_of_own = false, is_of_other = false;
   for (size_t i = 0; i < f->all.len; i++) {
      const TlLintAccess *l = &f->all.data[i];
      if (l->op->opcode != TL_OP_LOAD || !is_before(l->op, x->op))
         continue;
      const TlValue *old = tl_result(l->op, 0);
      bool is_other = is_same_place(l, y) && tl_lint_comes_from(stored, old);
      if (is_other && tl_lint_before_casts(stored) == old)
         return tl_lint_before_casts(tl_arg(y->op, 1))->def &&
                tl_lint_before_casts(tl_arg(y->op, 1))->def->opcode == TL_OP_LOAD;
      is_of_other |= is_other;
      is_of_own |= is_same_place(l, x) && is_factor(old) && tl_lint_comes_from(stored, old);
   }
   return is_of_own && is_of_other;
}

/* store(a, load(a) * c - load(b) * s); store(b, load(a) * s + load(b) * c) */
static bool
check_update(TlLintFacts *f, const TlLintAccess *x, const TlLintAccess *again)
{
   TlSema *s = f->s;
   for (size_t i = 0; i < f->all.len; i++) {
      const TlLintAccess *y = &f->all.data[i];
      if (y->op->opcode != TL_OP_STORE || !y->is_known || y->base != x->base ||
          is_same_place(x, y) || !is_before(again->op, y->op) ||
          !tl_lint_comes_from(tl_arg(y->op, 1), tl_result(again->op, 0)) || !is_of_both(f, x, y))
         continue;
      tl_report(s->diags, W0380, again->op->range);
      tl_help(s->diags, "load both before the first store: a = tl.load(..); b = tl.load(..), then "
                        "both stores of a and b");
      tl_note(s->diags, N0200, x->op->range, "it is stored here, of the old values");
      return true;
   }
   return false;
}

void
tl_lint_updates(TlLintFacts *f)
{
   uint32_t main = f->s->impl->main->file;
   for (size_t i = 0; i < f->all.len; i++)
      for (size_t k = 0; k < f->all.len; k++) {
         const TlLintAccess *x = &f->all.data[i], *again = &f->all.data[k];
         if (x->op->opcode == TL_OP_STORE && again->op->opcode == TL_OP_LOAD &&
             again->op->range.file == main && is_same_place(x, again) &&
             is_before(x->op, again->op) && check_update(f, x, again))
            return;
      }
}
