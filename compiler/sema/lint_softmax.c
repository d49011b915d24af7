/* Softmaxes whose two reductions do not belong together: the greatest along one axis and the sum
 * along another, and logarithms of sums that stay relative to a maximum.
 *
 * log(sum(exp(x - m))) is the logarithm for x less m.  With m nowhere but in exponents nothing adds
 * it back, which is told of where the logarithm meets x itself, or is stored as what it is not.
 * -log(sum(..)) alone is meant: it belongs to the greatest element. */
#include "ir/control.h"
#include "ir/walk.h"
#include "sema/lint_access.h"

#include <string.h>

enum { MAX_STEPS = 200 };

static bool
is_exponential(const TlOp *op)
{
   return op && (op->opcode == TL_OP_EXP || op->opcode == TL_OP_EXP2);
}

/* The same elements, spread or in another type or shape. */
static bool
is_move(const TlOp *op)
{
   return op && (op->opcode == TL_OP_CAST || op->opcode == TL_OP_BROADCAST ||
                 op->opcode == TL_OP_HINT || tl_has_trait(op, TL_TRAIT_SAME_ELEMENTS));
}

static const TlValue *
before_moves(const TlValue *v)
{
   while (is_move(v->def))
      v = tl_arg(v->def, 0);
   return v;
}

static bool
is_scaling(const TlOp *op)
{
   double number;
   return op && op->opcode == TL_OP_MUL &&
          (tl_is_number(tl_arg(op, 0), &number) || tl_is_number(tl_arg(op, 1), &number));
}

/* x - m of exp(x - m), and of exp2((x - m) * c); NULL: it is another. */
static const TlOp *
difference_in(const TlOp *exponential)
{
   double number;
   const TlOp *op = tl_arg(exponential, 0)->def;
   while (op && (op->opcode == TL_OP_CAST || is_scaling(op)))
      op = tl_arg(op, is_scaling(op) && tl_is_number(tl_arg(op, 0), &number))->def;
   return op && op->opcode == TL_OP_SUB ? op : NULL;
}

/* ---- two axes ---- */
static bool
is_reduced_by(const TlOp *op, TlOpcode by)
{
   return op && op->opcode == TL_OP_REDUCE && op->num_args == 1 && tl_combined_by(op) == by;
}

/* What is summed up, as it was before a mask chose of it. */
static const TlOp *
summed_exponential(const TlValue *v)
{
   const TlOp *op = v->def;
   while (op && (op->opcode == TL_OP_CAST || op->opcode == TL_OP_SELECT))
      op = tl_arg(op, op->opcode == TL_OP_SELECT)->def;
   return is_exponential(op) ? op : NULL;
}

/* The greatest of x, along an axis of its own, that the exponent is relative to. */
static const TlOp *
greatest_before(const TlOp *exponential)
{
   const TlOp *minus = difference_in(exponential);
   const TlOp *most = minus ? before_moves(tl_arg(minus, 1))->def : NULL;
   const TlValue *x = minus ? tl_arg(minus, 0) : NULL;
   return is_reduced_by(most, TL_OP_MAX) && x->type->rank > 1 &&
                tl_arg(most, 0)->type->rank == x->type->rank &&
                tl_type_same_shape(tl_arg(most, 0)->type, x->type)
             ? most
             : NULL;
}

/* Is the exponential, as it is or chosen, summed up along the axis as well? */
static bool
is_summed_along(const TlValue *v, int64_t axis, unsigned *steps)
{
   for (const TlUse *u = v->uses; u; u = u->next) {
      const TlOp *op = u->user;
      bool goes_on = op->num_results == 1 && !op->num_regions && tl_has_trait(op, TL_TRAIT_ELTWISE);
      if (++*steps > MAX_STEPS || op->opcode == TL_OP_DOT ||
          (op->opcode == TL_OP_REDUCE && tl_attr_int(op, TL_ATTR_AXIS) == axis) ||
          (goes_on && is_summed_along(tl_result(op, 0), axis, steps)))
         return true;
   }
   return false;
}

/* Does it divide, or is its logarithm taken? */
static bool
normalises(const TlValue *v, unsigned *steps)
{
   for (const TlUse *u = v->uses; u; u = u->next) {
      const TlOp *op = u->user;
      bool divides = (op->opcode == TL_OP_DIV || op->opcode == TL_OP_DIV_RN) && tl_arg(op, 1) == v;
      bool goes_on = is_move(op) || op->opcode == TL_OP_ADD || op->opcode == TL_OP_MAX;
      if (divides || op->opcode == TL_OP_LOG || op->opcode == TL_OP_LOG2 ||
          (goes_on && ++*steps < MAX_STEPS && normalises(tl_result(op, 0), steps)))
         return true;
   }
   return false;
}

/* e = exp(x - max(x, axis=1)[:, None]); e / sum(e, axis=0) */
static bool
check_axes(TlLintFacts *f, const TlOp *sum)
{
   TlSema *s = f->s;
   const TlOp *e = is_reduced_by(sum, TL_OP_ADD) ? summed_exponential(tl_arg(sum, 0)) : NULL;
   const TlOp *most = e && tl_arg(sum, 0)->type->rank > 1 ? greatest_before(e) : NULL;
   unsigned steps = 0, uses = 0;
   if (!most || tl_arg(sum, 0)->type->rank != tl_arg(most, 0)->type->rank)
      return false;
   int64_t along = tl_attr_int(most, TL_ATTR_AXIS);
   if (tl_attr_int(sum, TL_ATTR_AXIS) == along || sum->range.file != most->range.file ||
       !normalises(tl_result(sum, 0), &steps) || is_summed_along(tl_result(e, 0), along, &uses))
      return false;
   bool is_table = tl_arg(sum, 0)->type->rank == 2;
   tl_report(s->diags, W0368, sum->range, (long long)tl_attr_int(sum, TL_ATTR_AXIS),
             (long long)along);
   tl_help(s->diags, "a softmax takes both along one axis: axis=%lld here, too%s", (long long)along,
           !is_table ? ""
           : along   ? ", and what is left as [:, None]"
                     : ", and what is left as [None, :]");
   tl_note(s->diags, N0200, most->range,
           tl_arena_printf(s->arena, "axis %lld is reduced here", (long long)along));
   return true;
}

/* ---- sums that stay relative ---- */
typedef struct LogSum {
   const TlOp *log, *loop, *exponential; /* loop: that adds them up; or NULL */
   bool is_summed;
   unsigned steps;
} LogSum;

/* The exponential that a sum is of, in one step or in rounds. */
static void
find_exponential(LogSum *l, const TlValue *v)
{
   const TlOp *op = v->def;
   if (!op || ++l->steps > MAX_STEPS || l->exponential)
      return;
   if (is_exponential(op)) {
      l->exponential = l->is_summed ? op : NULL;
   } else if (op->opcode == TL_OP_FOR && !l->loop) {
      l->loop = op;
      l->is_summed = true;
      find_exponential(l, tl_yielded(op->regions[0]->block, v->index));
   } else if (is_reduced_by(op, TL_OP_ADD)) {
      l->is_summed = true;
      find_exponential(l, tl_arg(op, 0));
   } else if (is_move(op) || op->opcode == TL_OP_SELECT) {
      find_exponential(l, tl_arg(op, op->opcode == TL_OP_SELECT));
   } else if (op->opcode == TL_OP_ADD) {
      find_exponential(l, tl_arg(op, 0));
      find_exponential(l, tl_arg(op, 1));
   }
}

/* m = maximum(m, max(x)) */
static bool
is_running(const TlValue *v)
{
   const TlOp *op = v->def;
   return op && (op->opcode == TL_OP_MAX || is_reduced_by(op, TL_OP_MAX));
}

/* The maximum as it is known where the logarithm is taken; NULL: none is subtracted. */
static const TlValue *
maximum_behind(const LogSum *l, const TlValue *m)
{
   const TlOp *op = m->def;
   const TlBlock *body = l->loop ? l->loop->regions[0]->block : NULL;
   for (unsigned i = 0; body && i < l->loop->num_results; i++)
      if (tl_yielded(body, i) == m)
         return is_running(m) ? tl_result(l->loop, i) : NULL;
   if (op && op->opcode == TL_OP_FOR)
      return is_running(tl_yielded(op->regions[0]->block, m->index)) ? m : NULL;
   return is_running(m) && (!body || op->block != body) ? m : NULL;
}

static bool
are_exponents(const TlValue *v, unsigned *steps)
{
   for (const TlUse *u = v->uses; u; u = u->next) {
      const TlOp *op = u->user;
      bool goes_on = op->opcode == TL_OP_CAST || is_scaling(op);
      if (++*steps > MAX_STEPS ||
          (!is_exponential(op) && !(goes_on && are_exponents(tl_result(op, 0), steps))))
         return false;
   }
   return true;
}

/* Is it in exponents alone?  Another use may add it back, or keep it for later. */
static bool
is_in_exponents(const TlValue *m, unsigned *steps)
{
   for (const TlUse *u = m->uses; u; u = u->next) {
      const TlOp *op = u->user;
      bool is_minus = op->opcode == TL_OP_SUB && tl_arg(op, 1) == m;
      if (++*steps > MAX_STEPS || (!(is_minus && are_exponents(tl_result(op, 0), steps)) &&
                                   !(is_move(op) && is_in_exponents(tl_result(op, 0), steps))))
         return false;
   }
   return true;
}

/* The pointers that a value was loaded by begin there; NULL: it was not loaded. */
static const TlValue *
loaded_from(const TlValue *v, unsigned *steps)
{
   const TlOp *op = v->def;
   const TlValue *base = NULL;
   if (!op || ++*steps > MAX_STEPS || op->num_regions)
      return NULL;
   if (op->opcode == TL_OP_LOAD) {
      base = tl_arg(op, 0);
      while (base->def && base->def->num_args &&
             tl_type_elem(tl_arg(base->def, 0)->type)->kind == TL_TYPE_PTR)
         base = tl_arg(base->def, 0);
      return base;
   }
   for (unsigned i = 0; (is_move(op) || tl_has_trait(op, TL_TRAIT_ELTWISE)) && i < op->num_args;
        i++) {
      const TlValue *here = loaded_from(tl_arg(op, i), steps);
      base = base ? base : here;
   }
   return base;
}

static bool
is_called_so(const TlValue *v)
{
   return v && v->name &&
          (tl_has_word(v->name, "lse") || tl_has_word(v->name, "logsumexp") ||
           tl_has_word(v->name, "logz"));
}

/* Does the logarithm meet x, or go where its name says that it is that of all of x? */
static bool
meets_numbers(const TlValue *v, const TlValue *x, unsigned *steps)
{
   unsigned from = 0;
   const TlValue *base = loaded_from(x, &from);
   for (const TlUse *u = v->uses; u; u = u->next) {
      const TlOp *op = u->user;
      bool is_pair = op->opcode == TL_OP_SUB || op->opcode == TL_OP_ADD;
      if (++*steps > MAX_STEPS)
         return false;
      if (op->opcode == TL_OP_STORE) {
         const TlValue *p = tl_arg(op, 0);
         while (p->def && p->def->num_args &&
                tl_type_elem(tl_arg(p->def, 0)->type)->kind == TL_TYPE_PTR)
            p = tl_arg(p->def, 0);
         if (tl_arg(op, 1) == v && (is_called_so(p) || is_called_so(v)))
            return true;
      }
      if (is_pair) {
         const TlValue *with = before_moves(tl_arg(op, tl_arg(op, 0) == v));
         unsigned other = 0;
         if (tl_lint_is_same(with, before_moves(x)) || (base && loaded_from(with, &other) == base))
            return true;
      }
      if (is_move(op) && meets_numbers(tl_result(op, 0), x, steps))
         return true;
   }
   return false;
}

/* lse = log(sum(exp(v - top))); store(y, v - lse) */
static bool
check_logarithm(TlLintFacts *f, const TlOp *log)
{
   TlSema *s = f->s;
   LogSum l = {.log = log};
   find_exponential(&l, tl_arg(log, 0));
   const TlOp *minus = l.exponential ? difference_in(l.exponential) : NULL;
   const TlValue *m = minus ? before_moves(tl_arg(minus, 1)) : NULL;
   const TlValue *top = m ? maximum_behind(&l, m) : NULL;
   unsigned steps = 0, uses = 0;
   if (!top || !is_in_exponents(top, &steps) ||
       !meets_numbers(tl_result(log, 0), tl_arg(minus, 0), &uses))
      return false;
   const char *name = top->name ? top->name : m->name;
   bool is_natural = log->opcode == TL_OP_LOG;
   tl_report(s->diags, W0369, log->range,
             name ? tl_arena_printf(s->arena, "'%.40s'", name) : "the greatest");
   tl_help(s->diags, "add it back: %s + %s(..)", name ? name : "max(x)",
           is_natural ? "log" : "log2");
   if (minus->range.file == log->range.file)
      tl_note(s->diags, N0200, minus->range, "it is subtracted here");
   return true;
}

/* ---- one scale twice ---- */
/* Does an exponential take it, scaled, chosen or relative to a maximum? */
static bool
is_exponent(const TlValue *v, unsigned *steps)
{
   for (const TlUse *u = v->uses; u && ++*steps < MAX_STEPS; u = u->next) {
      const TlOp *op = u->user;
      bool goes_on = is_move(op) || op->opcode == TL_OP_SELECT || op->opcode == TL_OP_MUL ||
                     op->opcode == TL_OP_ADD || (op->opcode == TL_OP_SUB && tl_arg(op, 0) == v);
      if (is_exponential(op) || (goes_on && is_exponent(tl_result(op, 0), steps)))
         return true;
   }
   return false;
}

/* The number that all elements are, or v itself. */
static const TlValue *
one_for_all(const TlValue *v)
{
   v = before_moves(v);
   return v->def && v->def->opcode == TL_OP_SPLAT ? before_moves(tl_arg(v->def, 0)) : v;
}

/* The product with the argument that the operand of a dot is; NULL: it is none. */
static const TlOp *
product_with(const TlValue *v, const TlValue *scale)
{
   const TlOp *op = before_moves(v)->def;
   for (unsigned i = 0; op && op->opcode == TL_OP_MUL && i < 2; i++)
      if (one_for_all(tl_arg(op, i)) == scale || product_with(tl_arg(op, i), scale))
         return op;
   return NULL;
}

/* q = q * scale; exp(dot(q, k) * scale) */
static bool
check_scale(TlLintFacts *f, const TlOp *op)
{
   TlSema *s = f->s;
   for (unsigned i = 0; i < 2; i++) {
      const TlValue *scale = one_for_all(tl_arg(op, i));
      const TlOp *dot = before_moves(tl_arg(op, 1 - i))->def;
      unsigned steps = 0;
      if (!dot || dot->opcode != TL_OP_DOT || !tl_lint_is_argument(scale) || !scale->name ||
          scale->type->kind != TL_TYPE_SCALAR || !tl_dtype_is_float(scale->type->dtype))
         continue;
      const TlOp *first[2] = {product_with(tl_arg(dot, 0), scale),
                              product_with(tl_arg(dot, 1), scale)};
      if (!first[0] == !first[1] || !is_exponent(tl_result(op, 0), &steps))
         continue;
      const TlOp *at = first[0] ? first[0] : first[1];
      tl_report(s->diags, W0384, op->range, scale->name);
      tl_help(s->diags, "leave it out here, or there: the exponents have %.40s * %.40s",
              scale->name, scale->name);
      tl_note(s->diags, N0200, at->range, "the operand is scaled here");
      return true;
   }
   return false;
}

void
tl_lint_softmax(TlLintFacts *f)
{
   const TlBlock *top = f->func->body->block;
   bool are_axes_told = false, is_log_told = false, is_scale_told = false;
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top)) {
      bool is_own = op->range.file == f->s->impl->main->file;
      bool is_log = op->opcode == TL_OP_LOG || op->opcode == TL_OP_LOG2;
      is_scale_told = is_scale_told || (is_own && op->opcode == TL_OP_MUL && check_scale(f, op));
      are_axes_told = are_axes_told || (is_own && check_axes(f, op));
      is_log_told = is_log_told || (is_own && is_log && check_logarithm(f, op));
   }
}
