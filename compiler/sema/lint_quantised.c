/* Numbers that are scaled to the range of 8 bits by the greatest of their absolute values, and
 * become integers unrounded: the conversion goes towards zero, so that errors are twice as large
 * and lean to one side.  Divided by that greatest value alone they do not fill the range: -1, 0 and
 * 1 is all that becomes of them. */
#include "ir/control.h"
#include "ir/walk.h"
#include "sema/builtin.h"
#include "sema/lint_access.h"

enum { MAX_STEPS = 200 };

/* The elements as they were before masks, shapes and types changed. */
static const TlOp *
element_source(const TlValue *v)
{
   uint64_t bits;
   for (unsigned steps = 0; v->def && steps < MAX_STEPS; steps++) {
      TlOpcode code = v->def->opcode;
      if (code == TL_OP_SELECT)
         v = tl_arg(v->def, tl_is_const(tl_arg(v->def, 1), &bits) ? 2 : 1);
      else if (code == TL_OP_CAST || code == TL_OP_RESHAPE || code == TL_OP_BROADCAST)
         v = tl_arg(v->def, 0);
      else
         break;
   }
   return v->def;
}

/* max(abs(x)) is in it. */
static bool
has_greatest_size(const TlValue *v, unsigned *steps)
{
   const TlOp *op = v->def;
   if (!op || op->opcode == TL_OP_LOAD || ++*steps > MAX_STEPS)
      return false;
   if (op->opcode == TL_OP_REDUCE) {
      const TlOp *from = element_source(tl_arg(op, 0));
      return from && from->opcode == TL_OP_ABS;
   }
   for (unsigned i = 0; !op->num_regions && i < op->num_args; i++)
      if (has_greatest_size(tl_arg(op, i), steps))
         return true;
   return false;
}

/* A product or quotient, or several of them, with a scale from within the kernel. */
static bool
is_scaled(const TlValue *v)
{
   unsigned steps = 0;
   const TlOp *op = v->def;
   return op && (op->opcode == TL_OP_DIV || op->opcode == TL_OP_MUL) &&
          has_greatest_size(v, &steps);
}

/* What is left of x, whatever its limits and its type on the way. */
static const TlValue *
before_limits(const TlValue *v)
{
   uint64_t bits;
   for (const TlOp *op = v->def; op; op = v->def) {
      bool is_bound = op->opcode == TL_OP_MIN || op->opcode == TL_OP_MAX;
      bool is_of_floats =
         op->opcode == TL_OP_CAST && tl_dtype_is_float(tl_value_dtype(tl_arg(op, 0)));
      if (!is_bound && !is_of_floats && op->opcode != TL_OP_CLAMP)
         return v;
      v = tl_arg(op, is_bound && tl_is_const(tl_arg(op, 0), &bits) ? 1 : 0);
   }
   return v;
}

/* ---- divided by the greatest itself ---- */
static bool
is_quotient(const TlOp *op)
{
   return op && (op->opcode == TL_OP_DIV || op->opcode == TL_OP_DIV_RN);
}

static bool
is_rounding(const TlOp *op)
{
   return op->opcode == TL_OP_RINT || op->opcode == TL_OP_FLOOR || op->opcode == TL_OP_CEIL ||
          op->opcode == TL_OP_TRUNC;
}

/* Half of one or less, for all elements or by their signs: what rounds. */
static bool
is_half(const TlValue *v)
{
   double number;
   if (v->def && v->def->opcode == TL_OP_SELECT)
      return is_half(tl_arg(v->def, 1)) && is_half(tl_arg(v->def, 2));
   return tl_is_number(v, &number) && number >= -0.5 && number <= 0.5;
}

/* x + half with the sign of x, not contracted: what libdevice.round cuts off */
static bool
adds_half_by_sign(const TlOp *op)
{
   double number;
   const TlOp *half = op->opcode == TL_OP_FMA ? tl_arg(op, 2)->def : NULL;
   return half && half->opcode == TL_OP_BITCAST && tl_is_number(tl_arg(op, 1), &number) &&
          number == 1;
}

/* What is left of x, whatever rounds it to whole numbers, its limits and its type. */
static const TlValue *
before_rounding(const TlValue *v)
{
   for (unsigned steps = 0; steps < MAX_STEPS; steps++) {
      const TlOp *op = v->def;
      v = before_limits(v);
      if (v->def && v->def->opcode == TL_OP_SELECT)
         v = tl_arg(v->def, 1);
      else if (v->def && v->def->opcode == TL_OP_ADD && is_half(tl_arg(v->def, 1)))
         v = tl_arg(v->def, 0);
      else if (v->def && adds_half_by_sign(v->def))
         v = tl_arg(v->def, 0);
      else if (v->def && v->def->opcode == TL_OP_SUB && is_half(tl_arg(v->def, 1)))
         v = tl_arg(v->def, 0);
      else if (v->def && is_rounding(v->def))
         v = tl_arg(v->def, 0);
      if (v->def == op)
         break;
   }
   return v;
}

/* The reduction that m is: kept away from 0, or the greatest of all rounds; NULL: it is none. */
static const TlOp *
greatest_size(const TlValue *m, unsigned *steps)
{
   double number;
   const TlOp *op = m->def;
   if (!op || ++*steps > MAX_STEPS)
      return NULL;
   switch ((int)op->opcode) {
   case TL_OP_REDUCE: {
      const TlOp *size = element_source(tl_arg(op, 0));
      bool is_greatest = op->num_args == 1 && tl_combined_by(op) == TL_OP_MAX;
      return is_greatest && size && size->opcode == TL_OP_ABS ? size : NULL;
   }
   case TL_OP_FOR:
      return greatest_size(tl_yielded(op->regions[0]->block, m->index), steps);
   case TL_OP_MAX:
   case TL_OP_ADD: {
      const TlOp *a = greatest_size(tl_arg(op, 0), steps), *b = greatest_size(tl_arg(op, 1), steps);
      bool is_of_rounds = !tl_arg(op, 0)->def || !tl_arg(op, 1)->def;
      bool has_number =
         tl_is_number(tl_arg(op, 0), &number) || tl_is_number(tl_arg(op, 1), &number);
      return (a && b) || !(has_number || (is_of_rounds && op->opcode == TL_OP_MAX)) ? NULL
             : a                                                                    ? a
                                                                                    : b;
   }
   case TL_OP_SELECT: {
      const TlOp *a = greatest_size(tl_arg(op, 1), steps), *b = greatest_size(tl_arg(op, 2), steps);
      return a ? a : b;
   }
   }
   bool is_move = op->opcode == TL_OP_CAST || op->opcode == TL_OP_BROADCAST ||
                  tl_has_trait(op, TL_TRAIT_SAME_ELEMENTS);
   return is_move ? greatest_size(tl_arg(op, 0), steps) : NULL;
}

static const TlValue *
base_of(const TlOp *load)
{
   const TlValue *p = tl_arg(load, 0);
   while (p->def && p->def->num_args && tl_type_elem(tl_arg(p->def, 0)->type)->kind == TL_TYPE_PTR)
      p = tl_arg(p->def, 0);
   return p;
}

/* Is x what the greatest absolute value is of, loaded once more, maybe? */
static bool
is_of(const TlValue *x, const TlOp *size)
{
   const TlOp *from = element_source(x), *of = element_source(tl_arg(size, 0));
   return from && of &&
          (from == of || (from->opcode == TL_OP_LOAD && of->opcode == TL_OP_LOAD &&
                          base_of(from) == base_of(of)));
}

/* x / max(abs(x)), x * (1 / max(abs(x))) */
static const TlOp *
divided_by_greatest(const TlValue *v)
{
   const TlOp *op = v->def;
   bool is_pair = op && op->num_args == 2;
   const TlValue *x = is_pair ? tl_arg(op, 0) : NULL, *by = is_pair ? tl_arg(op, 1) : NULL;
   double number;
   unsigned steps = 0;
   if (op && op->opcode == TL_OP_MUL) {
      for (unsigned i = 0; i < 2; i++) {
         const TlValue *scale = tl_arg(op, i);
         while (scale->def &&
                (scale->def->opcode == TL_OP_CAST || scale->def->opcode == TL_OP_BROADCAST ||
                 tl_has_trait(scale->def, TL_TRAIT_SAME_ELEMENTS)))
            scale = tl_arg(scale->def, 0);
         if (is_quotient(scale->def) && tl_is_number(tl_arg(scale->def, 0), &number) &&
             number == 1) {
            const TlOp *size = greatest_size(tl_arg(scale->def, 1), &steps);
            return size && is_of(tl_arg(op, 1 - i), size) ? size : NULL;
         }
      }
      return NULL;
   }
   const TlOp *size = is_quotient(op) ? greatest_size(by, &steps) : NULL;
   return size && is_of(x, size) ? size : NULL;
}

static bool
check_range(TlLintFacts *f, const TlOp *op)
{
   TlSema *s = f->s;
   const TlValue *v = tl_arg(op, 0), *scaled;
   if (v->def && v->def->opcode == TL_OP_CAST && tl_dtype_is_int(tl_value_dtype(v)))
      v = tl_arg(v->def, 0); /* .to(int32).to(int8) */
   scaled = tl_dtype_is_float(tl_value_dtype(v)) ? before_rounding(v) : NULL;
   const TlOp *size = scaled ? divided_by_greatest(scaled) : NULL;
   if (!size)
      return false;
   const TlValue *m = is_quotient(scaled->def) ? tl_arg(scaled->def, 1) : NULL;
   while (m && !m->name && m->def && m->def->num_args == 1 && m->def->opcode != TL_OP_REDUCE)
      m = tl_arg(m->def, 0);
   tl_report(s->diags, W0372, op->range, tl_dtype_info[tl_value_dtype(tl_result(op, 0))].text);
   if (m && m->name)
      tl_help(s->diags, "divide by %.40s / 127.0, or multiply by 127.0 before it is rounded",
              m->name);
   tl_note(s->diags, N0200, scaled->def->range, "it is divided here");
   return true;
}

/* The greatest size over a number above 1, kept away from 0: a scale to divide by; NULL: it is
 * another. */
static const TlOp *
scale_of(const TlValue *v)
{
   double number;
   unsigned steps = 0;
   for (const TlOp *op = v->def; op; op = v->def) {
      bool is_bound = op->opcode == TL_OP_MAX || op->opcode == TL_OP_ADD;
      if (is_bound && tl_is_number(tl_arg(op, 1), &number))
         v = tl_arg(op, 0);
      else if (op->opcode == TL_OP_CAST || op->opcode == TL_OP_BROADCAST ||
               op->opcode == TL_OP_SPLAT || tl_has_trait(op, TL_TRAIT_SAME_ELEMENTS))
         v = tl_arg(op, 0);
      else
         break;
   }
   const TlOp *op = v->def;
   bool is_divided = is_quotient(op) && tl_is_number(tl_arg(op, 1), &number) && number > 1;
   bool is_made_less = op && op->opcode == TL_OP_MUL && tl_is_number(tl_arg(op, 1), &number) &&
                       number > 0 && number < 1;
   return is_divided || is_made_less ? greatest_size(tl_arg(op, 0), &steps) : NULL;
}

/* (x * (max(abs(x)) / 127)).to(int8) */
static bool
check_inverse(TlLintFacts *f, const TlOp *op)
{
   TlSema *s = f->s;
   const TlValue *v = tl_arg(op, 0);
   if (v->def && v->def->opcode == TL_OP_CAST && tl_dtype_is_int(tl_value_dtype(v)))
      v = tl_arg(v->def, 0);
   const TlOp *product = tl_dtype_is_float(tl_value_dtype(v)) ? before_rounding(v)->def : NULL;
   for (unsigned i = 0; product && product->opcode == TL_OP_MUL && i < 2; i++) {
      const TlValue *scale = tl_arg(product, i);
      const TlOp *size = scale_of(scale);
      if (!size || !is_of(tl_arg(product, 1 - i), size))
         continue;
      while (!scale->name && scale->def && scale->def->num_args == 1)
         scale = tl_arg(scale->def, 0);
      tl_report(s->diags, W0381, op->range, tl_dtype_info[tl_value_dtype(tl_result(op, 0))].text);
      if (scale->name)
         tl_help(s->diags,
                 "divide by '%.40s': what it is made of is the greatest, which becomes "
                 "the greatest of the type",
                 scale->name);
      tl_note(s->diags, N0200, product->range, "it is multiplied here");
      return true;
   }
   return false;
}

static void
check_conversion(TlLintFacts *f, const TlOp *op)
{
   TlSema *s = f->s;
   const TlType *to = tl_type_elem(tl_result(op, 0)->type);
   const TlValue *v = tl_arg(op, 0);
   bool is_short = to->kind == TL_TYPE_SCALAR && tl_dtype_info[to->dtype].bits == 8 &&
                   tl_type_elem(v->type)->kind == TL_TYPE_SCALAR &&
                   op->range.file == s->impl->main->file;
   if (is_short && check_inverse(f, op))
      return;
   if (to->kind != TL_TYPE_SCALAR || to->dtype != TL_I8 ||
       tl_type_elem(v->type)->kind != TL_TYPE_SCALAR || op->range.file != s->impl->main->file ||
       check_range(f, op) || !tl_dtype_is_float(tl_value_dtype(v)))
      return;
   if (!is_scaled(before_limits(v)))
      return;
   tl_report(s->diags, W0362, op->range, tl_dtype_info[to->dtype].text);
   if (v->name)
      tl_help(s->diags, "round it before: libdevice.rint(%.40s), or tl.floor(%.40s + 0.5)", v->name,
              v->name);
}

void
tl_lint_quantised(TlLintFacts *f)
{
   const TlBlock *top = f->func->body->block;
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top))
      if (op->opcode == TL_OP_CAST)
         check_conversion(f, op);
}
