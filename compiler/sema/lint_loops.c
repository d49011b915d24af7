/* Sums of loops that add up something else than is meant: factors of products whose pointers move
 * by elements where rows are to be passed, and sums that go on from row to row. */
#include "ir/control.h"
#include "ir/walk.h"
#include "sema/lint.h"
#include "sema/lint_access.h"

#include <string.h>

enum { MAX_STEPS = 200 };

/* ---- steps ---- */
/* The access in the loop whose tile the operand is, element by element. */
static const TlLintAccess *
factor_of(const TlLintFacts *f, const TlValue *v, const TlBlock *body)
{
   while (v->def && v->def->block == body && v->def->opcode == TL_OP_CAST)
      v = tl_arg(v->def, 0);
   for (size_t i = 0; v->def && v->def->block == body && i < f->all.len; i++)
      if (f->all.data[i].op == v->def && v->def->opcode == TL_OP_LOAD)
         return &f->all.data[i];
   return NULL;
}

/* acc = dot(a, b, acc), acc += dot(a, b) */
static bool
adds_up(const TlOp *dot, const TlBlock *body)
{
   const TlValue *acc = tl_arg(dot, 2), *sum = tl_result(dot, 0);
   if (!acc->def && acc->block == body)
      return true;
   for (const TlUse *u = sum->uses; u; u = u->next)
      for (unsigned i = 0; u->user->opcode == TL_OP_ADD && i < 2; i++)
         if (!tl_arg(u->user, i)->def && tl_arg(u->user, i)->block == body)
            return true;
   return false;
}

static bool
has_iteration(const TlTerm *t)
{
   for (unsigned i = 0; i < t->num; i++)
      if (t->factor[i].is_iteration)
         return true;
   return false;
}

/* pb += 32, where the 32 rows that a round takes are `stride` apart. */
static bool
check_step(TlLintFacts *f, const TlLintAccess *x, int k)
{
   TlSema *s = f->s;
   const TlTerm *stride = NULL, *step = NULL;
   unsigned strides = 0, steps = 0;
   if (!x || !x->is_known || x->pointers->type->rank != 2)
      return false;
   for (unsigned i = 0; i < x->sum.num; i++) {
      const TlTerm *t = &x->sum.term[i];
      bool is_stride = t->dim == k, is_step = t->dim < 0 && has_iteration(t);
      stride = is_stride ? t : stride;
      step = is_step ? t : step;
      strides += is_stride;
      steps += is_step;
   }
   int64_t len = x->pointers->type->shape[k];
   if (strides != 1 || steps != 1 || stride->num != 1 || stride->scale != 1 ||
       !tl_lint_is_round(step) || step->scale != len ||
       !tl_lint_is_argument(stride->factor[0].value) || !stride->factor[0].value->name)
      return false;
   const char *apart = stride->factor[0].value->name, *name = x->pointers->name;
   tl_report(s->diags, W0273, x->op->range, (long long)len, (long long)len, apart);
   if (name)
      tl_help(s->diags, "move them on by whole rows at the end of a round: %.40s += %lld * %.40s",
              name, (long long)len, apart);
   else
      tl_help(s->diags, "move them on by whole rows: multiply what moves them by %.40s", apart);
   return true;
}

static bool
check_steps(TlLintFacts *f, const TlOp *dot)
{
   const TlOp *loop = tl_parent(dot);
   const TlBlock *body = dot->block;
   if (dot->opcode != TL_OP_DOT || !loop || loop->opcode != TL_OP_FOR || !adds_up(dot, body) ||
       dot->range.file != f->s->impl->main->file)
      return false;
   return check_step(f, factor_of(f, tl_arg(dot, 0), body), 1) ||
          check_step(f, factor_of(f, tl_arg(dot, 1), body), 0);
}

/* ---- sums of rows ---- */
/* total = total + .., total = dot(.., total) */
static bool
is_sum(const TlOp *loop, unsigned i)
{
   const TlBlock *body = loop->regions[0]->block;
   const TlValue *acc = tl_carried(body, i);
   const TlOp *op = tl_yielded(body, i)->def;
   return op && ((op->opcode == TL_OP_ADD && (tl_arg(op, 0) == acc || tl_arg(op, 1) == acc)) ||
                 (op->opcode == TL_OP_DOT && tl_arg(op, 2) == acc));
}

/* The inner loop that alone adds to what the outer one carries as number i, and which of its own
 * that is. */
static const TlOp *
adding_loop(const TlOp *outer, unsigned i, unsigned *number)
{
   const TlBlock *body = outer->regions[0]->block;
   const TlValue *acc = tl_carried(body, i), *next = tl_yielded(body, i);
   const TlOp *inner = next->def;
   bool is_only = acc->uses && !acc->uses->next && acc->uses->user == inner;
   if (!is_only || !inner || inner->opcode != TL_OP_FOR || inner->block != body)
      return NULL;
   for (unsigned k = 0; k < inner->num_results; k++)
      if (tl_result(inner, k) == next && tl_init(inner, k) == acc && is_sum(inner, k)) {
         *number = k;
         return inner;
      }
   return NULL;
}

/* A store in the loop's body of what comes from the sum, to places that the loop's index moves. */
static const TlOp *
store_of(const TlOp *outer, const TlValue *sum)
{
   const TlBlock *body = outer->regions[0]->block;
   for (const TlOp *op = body->first; op; op = op->next)
      if (op->opcode == TL_OP_STORE && tl_lint_comes_from(tl_arg(op, 1), sum) &&
          tl_lint_comes_from(tl_arg(op, 0), tl_for_index(outer)))
         return op;
   return NULL;
}

/* total = zeros(..); for row ..: (for column ..: total += ..); store(out + row, total) */
static bool
check_kept(TlLintFacts *f, const TlOp *outer)
{
   TlSema *s = f->s;
   for (unsigned i = 0; outer->opcode == TL_OP_FOR && i < outer->num_results; i++) {
      unsigned k;
      uint64_t bits;
      const TlOp *inner = adding_loop(outer, i, &k);
      const TlOp *store = inner ? store_of(outer, tl_result(inner, k)) : NULL;
      const char *name = tl_carried(outer->regions[0]->block, i)->name;
      if (!store || !name || tl_result(outer, i)->uses || !tl_is_const(tl_init(outer, i), &bits) ||
          store->range.file != s->impl->main->file)
         continue;
      tl_report(s->diags, W0274, store->range, name);
      tl_help(s->diags, "set '%.40s' inside of the outer loop, before the inner one", name);
      tl_note(s->diags, N0200, inner->range, "the loop that adds to it");
      return true;
   }
   return false;
}

/* ---- what a scan goes on from ---- */
/* The scan, or the reduction, of a tile that combines by one operation, behind conversions and what
 * repeats or picks its elements. */
static const TlOp *
folded(const TlValue *v, TlOpcode kind, bool picks)
{
   while (v->def &&
          (v->def->opcode == TL_OP_CAST || v->def->opcode == TL_OP_SPLAT ||
           v->def->opcode == TL_OP_BROADCAST || v->def->opcode == TL_OP_RESHAPE ||
           v->def->opcode == TL_OP_EXPAND_DIMS || (picks && v->def->opcode == TL_OP_SELECT)))
      v = tl_arg(v->def, v->def->opcode == TL_OP_SELECT);
   const TlOp *op = v->def;
   return op && op->opcode == kind && op->num_args == 1 && tl_combined_by(op) != TL_OP_COUNT ? op
                                                                                             : NULL;
}

/* carry is what is used in the round for nothing but scan(x) + carry; and the scan. */
static const TlOp *
scan_with(const TlValue *carry, const TlBlock *body, unsigned *steps)
{
   const TlOp *found = NULL;
   for (const TlUse *u = carry->uses; u; u = u->next) {
      const TlOp *op = u->user, *scan = NULL;
      if (op->num_results != 1 || op->num_regions || ++*steps > MAX_STEPS)
         return NULL;
      if (op->num_args == 2 && op->block == body)
         scan = folded(tl_arg(op, tl_arg(op, 0) == carry), TL_OP_SCAN, false);
      if (scan && tl_combined_by(scan) != op->opcode)
         return NULL;
      bool is_spread = op->opcode == TL_OP_SPLAT || op->opcode == TL_OP_BROADCAST ||
                       op->opcode == TL_OP_CAST || op->opcode == TL_OP_EXPAND_DIMS;
      scan = scan ? scan : is_spread ? scan_with(tl_result(op, 0), body, steps) : NULL;
      if (!scan)
         return NULL;
      found = scan;
   }
   return found;
}

/* for ..: store(.., cumsum(x) + carry); carry = sum(x) */
static bool
check_scanned(TlLintFacts *f, const TlOp *loop)
{
   TlSema *s = f->s;
   const TlBlock *body = loop->opcode == TL_OP_FOR ? loop->regions[0]->block : NULL;
   for (unsigned i = 0; body && i < loop->num_results; i++) {
      const TlValue *carry = tl_carried(body, i), *next = tl_yielded(body, i);
      const TlOp *total = folded(next, TL_OP_REDUCE, false);
      unsigned steps = 0;
      const TlOp *scan = total ? scan_with(carry, body, &steps) : NULL;
      if (!scan || !carry->name || total->range.file != s->impl->main->file)
         continue;
      TlOpcode by = tl_combined_by(scan);
      const TlOp *last = folded(tl_arg(total, 0), TL_OP_SCAN, true); /* of its elements the last */
      bool is_same =
         (tl_combined_by(total) == by && tl_lint_is_same(tl_arg(total, 0), tl_arg(scan, 0))) ||
         last == scan;
      if (!is_same || tl_lint_comes_from(next, carry))
         continue;
      const char *name = by == TL_OP_ADD   ? "sum"
                         : by == TL_OP_MAX ? "greatest"
                         : by == TL_OP_MIN ? "least"
                                           : "result";
      const char *value = tl_range_text(s, total->range);
      value = strlen(value) <= 60 && !strchr(value, '\n') ? value : "..";
      tl_report(s->diags, W0374, total->range, carry->name, name);
      tl_help(s->diags,
              by == TL_OP_ADD   ? "add it to what is there: %.40s += %s"
              : by == TL_OP_MUL ? "multiply what is there by it: %.40s *= %s"
                                : "combine it with what '%.40s' is before, such as tl.maximum of "
                                  "both: %s",
              carry->name, value);
      tl_note(s->diags, N0200, scan->range, "what the scan goes on from is to be of all rounds");
      return true;
   }
   return false;
}

void
tl_lint_loops(TlLintFacts *f)
{
   const TlBlock *top = f->func->body->block;
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top))
      if (check_steps(f, op) || check_kept(f, op) || check_scanned(f, op))
         return;
}
