/* The greatest and the least so far: of values that a round sees, and from round to round.
 * Products that begin with 0, and sums of exponentials that do not follow the greatest so far. */
#include "ir/control.h"
#include "ir/walk.h"
#include "sema/lint.h"
#include "sema/lint_access.h"

#include <math.h>

enum { MAX_STEPS = 200 };

static bool
is_float(const TlValue *v)
{
   const TlType *e = tl_type_elem(v->type);
   return e->kind == TL_TYPE_SCALAR && tl_dtype_is_float(e->dtype);
}

/* ---- a constant in each round ---- */
/* maximum(-inf, x) in a loop: what is to be the greatest so far never changes. */
static bool
check_constant(TlLintFacts *f, const TlOp *op)
{
   bool is_max = op->opcode == TL_OP_MAX, is_in_loop = false;
   const TlType *e = tl_type_elem(tl_result(op, 0)->type);
   for (const TlOp *p = tl_parent(op); p; p = tl_parent(p))
      is_in_loop |= p->opcode == TL_OP_FOR || p->opcode == TL_OP_WHILE;
   for (unsigned i = 0; is_in_loop && tl_dtype_is_float(e->dtype) && i < 2; i++) {
      double x, other;
      if (!tl_is_number(tl_arg(op, i), &x) || tl_is_number(tl_arg(op, 1 - i), &other))
         continue;
      if (!isinf(x) || (x < 0) != is_max) /* the greatest finite number may cut infinity off */
         continue;
      const char *name = tl_arg(op, i)->name;
      tl_report(f->s->diags, W0277, op->range, is_max ? "maximum" : "minimum",
                is_max ? "-inf" : "inf");
      if (name)
         tl_help(f->s->diags,
                 "'%s' keeps its value from before the loop: set it in each round, %s = ..", name,
                 name);
      return true;
   }
   return false;
}

/* ---- begun at 0 ---- */
static bool is_never_below(const TlValue *v, unsigned *steps);

static bool
are_never_below(const TlOp *op, unsigned first, unsigned *steps)
{
   for (unsigned i = first; i < op->num_args; i++)
      if (!is_never_below(tl_arg(op, i), steps))
         return false;
   return true;
}

/* Is it 0 or more, whatever is loaded? */
static bool
is_never_below(const TlValue *v, unsigned *steps)
{
   double number;
   const TlOp *op = v->def;
   const TlType *e = tl_type_elem(v->type);
   if (tl_is_number(v, &number))
      return number >= 0;
   if (e->kind == TL_TYPE_SCALAR && !tl_dtype_is_float(e->dtype) && !tl_dtype_is_signed(e->dtype))
      return true;
   if (!op || ++*steps > MAX_STEPS)
      return false;
   switch (op->opcode) {
   case TL_OP_ABS:
   case TL_OP_EXP:
   case TL_OP_EXP2:
   case TL_OP_SQRT:
   case TL_OP_SQRT_RN:
   case TL_OP_RSQRT:
      return true;
   case TL_OP_MUL:
      return tl_arg(op, 0) == tl_arg(op, 1) || are_never_below(op, 0, steps);
   case TL_OP_MAX:
      return is_never_below(tl_arg(op, 0), steps) || is_never_below(tl_arg(op, 1), steps);
   case TL_OP_CLAMP:
      return is_never_below(tl_arg(op, 1), steps);
   case TL_OP_SELECT:
      return are_never_below(op, 1, steps);
   case TL_OP_REDUCE:
   case TL_OP_SCAN:
      return is_never_below(tl_arg(op, v->index), steps);
   case TL_OP_ADD:
   case TL_OP_DIV:
   case TL_OP_DIV_RN:
   case TL_OP_MIN:
   case TL_OP_CAST:
   case TL_OP_FLOOR:
      return are_never_below(op, 0, steps);
   default:
      return (tl_has_trait(op, TL_TRAIT_SAME_ELEMENTS) || op->opcode == TL_OP_BROADCAST) &&
             is_never_below(tl_arg(op, 0), steps);
   }
}

/* Is what a mask leaves out set to infinity, below all (is_max) or above? */
static bool
is_cut_off(const TlValue *v, bool is_max, unsigned *steps)
{
   double number;
   const TlOp *op = v->def;
   if (!op || ++*steps > MAX_STEPS)
      return false;
   const TlValue *other = op->opcode == TL_OP_LOAD && op->num_args == 3 ? tl_arg(op, 2) : NULL;
   if (op->opcode == TL_OP_SELECT)
      other = tl_arg(op, 2);
   if (other && tl_is_number(other, &number) && isinf(number) && (number < 0) == is_max)
      return true;
   if (op->opcode == TL_OP_LOAD)
      return false;
   bool goes_on = tl_has_trait(op, TL_TRAIT_ELTWISE) || tl_has_trait(op, TL_TRAIT_SAME_ELEMENTS) ||
                  op->opcode == TL_OP_BROADCAST || op->opcode == TL_OP_REDUCE;
   for (unsigned i = 0; goes_on && i < op->num_args; i++)
      if (is_cut_off(tl_arg(op, i), is_max, steps))
         return true;
   return false;
}

/* exp(x - v) */
static bool
is_in_exponent(const TlValue *v, bool is_difference, unsigned *steps)
{
   for (const TlUse *u = v->uses; u; u = u->next) {
      const TlOp *op = u->user;
      if (op->num_results != 1 || op->num_regions || ++*steps > MAX_STEPS)
         continue;
      if (is_difference && (op->opcode == TL_OP_EXP || op->opcode == TL_OP_EXP2))
         return true;
      bool is_minus = op->opcode == TL_OP_SUB && tl_arg(op, 1) == v;
      bool goes_on = is_minus || op->opcode == TL_OP_CAST || op->opcode == TL_OP_MUL ||
                     op->opcode == TL_OP_BROADCAST || tl_has_trait(op, TL_TRAIT_SAME_ELEMENTS);
      if (goes_on && is_in_exponent(tl_result(op, 0), is_difference || is_minus, steps))
         return true;
   }
   return false;
}

/* A softmax with a 1 below beside the sum begins with 0 and with 1. */
static bool
has_one(const TlOp *loop)
{
   double number;
   for (unsigned i = 0; i < loop->num_results; i++)
      if (tl_is_number(tl_init(loop, i), &number) && number == 1)
         return true;
   return false;
}

/* Where values on the other side of 0 are certain to be looked for. */
static bool
is_meant_for_all(const TlValue *x, const TlValue *next, bool is_max)
{
   unsigned below = 0, cut = 0, uses = 0;
   if (is_never_below(x, &below)) /* of a minimum nothing else than 0 comes */
      return !is_max;
   return is_cut_off(x, is_max, &cut) || (is_max && is_in_exponent(next, false, &uses));
}

/* m = 0.0; for ..: m = maximum(m, max(x)) */
static bool
check_begin(TlLintFacts *f, const TlOp *loop)
{
   TlSema *s = f->s;
   const TlBlock *body = loop->regions[0]->block;
   for (unsigned i = 0; i < loop->num_results; i++) {
      const TlValue *acc = tl_carried(body, i), *next = tl_yielded(body, i);
      const TlOp *op = next->def;
      bool is_max = op && op->opcode == TL_OP_MAX;
      double begin;
      if (!op || (!is_max && op->opcode != TL_OP_MIN) || !is_float(acc) || !acc->name ||
          op->range.file != s->impl->main->file || (tl_arg(op, 0) != acc && tl_arg(op, 1) != acc) ||
          !tl_is_number(tl_init(loop, i), &begin) || begin != 0)
         continue;
      const TlValue *x = tl_arg(op, tl_arg(op, 0) == acc);
      if (has_one(loop) || !is_meant_for_all(x, next, is_max))
         continue;
      tl_report(s->diags, W0280, op->range, acc->name,
                is_max ? " where all values are below it" : " where all values are above it");
      tl_help(s->diags, "begin with float('%s'): %.40s = %s", is_max ? "-inf" : "inf", acc->name,
              !tl_type_is_tile(acc->type) ? is_max ? "float('-inf')" : "float('inf')"
              : is_max                    ? "tl.full(.., float('-inf'), tl.float32)"
                                          : "tl.full(.., float('inf'), tl.float32)");
      return true;
   }
   return false;
}

/* p = zeros(..); for ..: p *= x */
static bool
check_product(TlLintFacts *f, const TlOp *loop)
{
   TlSema *s = f->s;
   const TlBlock *body = loop->regions[0]->block;
   for (unsigned i = 0; i < loop->num_results; i++) {
      const TlValue *acc = tl_carried(body, i);
      const TlOp *op = tl_yielded(body, i)->def;
      double begin;
      if (!op || op->opcode != TL_OP_MUL || !acc->name || op->range.file != s->impl->main->file ||
          (tl_arg(op, 0) != acc && tl_arg(op, 1) != acc) ||
          !tl_is_number(tl_init(loop, i), &begin) || begin != 0)
         continue;
      tl_report(s->diags, W0280, op->range, acc->name, ": so does every product with it");
      tl_help(s->diags, "begin with 1: %.40s = %s", acc->name,
              tl_type_is_tile(acc->type) ? "tl.full(.., 1.0, tl.float32)" : "1.0");
      return true;
   }
   return false;
}

/* ---- sums of exponentials ---- */
/* exp(x - next), spread, reduced or multiplied by a matrix */
static bool
has_exponent(const TlValue *v, const TlValue *next, bool is_inside, unsigned *steps)
{
   const TlOp *op = v->def;
   if (v == next)
      return is_inside;
   if (!op || op->block != next->def->block || ++*steps > MAX_STEPS || op->opcode == TL_OP_LOAD)
      return false;
   bool is_exp = op->opcode == TL_OP_EXP || op->opcode == TL_OP_EXP2;
   bool goes_on = tl_has_trait(op, TL_TRAIT_ELTWISE) || tl_has_trait(op, TL_TRAIT_SAME_ELEMENTS) ||
                  op->opcode == TL_OP_BROADCAST || op->opcode == TL_OP_SPLAT ||
                  op->opcode == TL_OP_EXPAND_DIMS ||
                  (!is_inside && (op->opcode == TL_OP_REDUCE || op->opcode == TL_OP_DOT));
   unsigned first = is_inside && op->opcode == TL_OP_SUB ? 1 : 0; /* what is subtracted */
   for (unsigned i = first; goes_on && i < op->num_args; i++)
      if (has_exponent(tl_arg(op, i), next, is_inside || is_exp, steps))
         return true;
   return false;
}

/* What a round adds to the sum that it carries, as it was: t + x, dot(a, b, t); how many values. */
static unsigned
added(const TlOp *op, const TlValue *acc, const TlValue *out[2])
{
   if (op && op->opcode == TL_OP_ADD && (tl_arg(op, 0) == acc || tl_arg(op, 1) == acc)) {
      out[0] = tl_arg(op, tl_arg(op, 0) == acc);
      return 1;
   }
   if (!op || op->opcode != TL_OP_DOT || tl_arg(op, 2) != acc)
      return 0;
   out[0] = tl_arg(op, 0);
   out[1] = tl_arg(op, 1);
   return 2;
}

/* m = maximum(m, max(v)); t += sum(exp(v - m)): what earlier rounds added had another m. */
static bool
check_unscaled(TlLintFacts *f, const TlOp *loop)
{
   TlSema *s = f->s;
   const TlBlock *body = loop->regions[0]->block;
   for (unsigned i = 0; i < loop->num_results; i++) {
      const TlValue *most = tl_carried(body, i), *next = tl_yielded(body, i);
      bool is_running = next->def && next->def->opcode == TL_OP_MAX && is_float(most) &&
                        (tl_arg(next->def, 0) == most || tl_arg(next->def, 1) == most);
      for (unsigned k = 0; is_running && most->name && k < loop->num_results; k++) {
         const TlValue *acc = tl_carried(body, k), *with[2];
         const TlOp *op = tl_yielded(body, k)->def;
         unsigned num = k == i || !acc->name ? 0 : added(op, acc, with), steps = 0;
         for (unsigned n = 0; n < num; n++) {
            if (op->range.file != s->impl->main->file ||
                !has_exponent(with[n], next, false, &steps))
               continue;
            tl_report(s->diags, W0286, op->range, acc->name, most->name);
            tl_help(s->diags,
                    "scale what is there before: new = maximum(%.40s, ..), %.40s * exp(%.40s - "
                    "new) + .., and then %.40s = new",
                    most->name, acc->name, most->name, most->name);
            return true;
         }
      }
   }
   return false;
}

void
tl_lint_running(TlLintFacts *f)
{
   const TlBlock *top = f->func->body->block;
   bool is_constant_told = false, is_begin_told = false, is_unscaled_told = false;
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top)) {
      bool is_extreme = (op->opcode == TL_OP_MAX || op->opcode == TL_OP_MIN) &&
                        op->range.file == f->s->impl->main->file;
      is_constant_told = is_constant_told || (is_extreme && check_constant(f, op));
      if (op->opcode != TL_OP_FOR)
         continue;
      is_begin_told = is_begin_told || check_begin(f, op) || check_product(f, op);
      is_unscaled_told = is_unscaled_told || check_unscaled(f, op);
   }
}
