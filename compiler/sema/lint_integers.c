/* Integers that are not what is meant of them: shifted beyond their bits by what counts lanes,
 * numbers of lanes that a short floating-point type rounds, '~' of a number that is taken for true
 * or false, and signs of differences of unsigned numbers. */
#include "ir/analysis.h"
#include "ir/walk.h"
#include "sema/builtin.h"
#include "sema/help.h"
#include "sema/lint_access.h"

enum { MAX_STEPS = 100 };

/* ---- numbers of lanes ---- */
/* The arange that the tile is made of, with constants alone, so that it has the ends of its range;
 * NULL: it is not. */
static const TlValue *
counted_lanes(const TlValue *v, unsigned *steps)
{
   const TlOp *op = v->def;
   uint64_t bits;
   if (!op || ++*steps > MAX_STEPS)
      return NULL;
   switch ((int)op->opcode) {
   case TL_OP_ARANGE:
      return v;
   case TL_OP_CAST:
      return tl_dtype_is_int(tl_value_dtype(tl_arg(op, 0))) ? counted_lanes(tl_arg(op, 0), steps)
                                                            : NULL;
   case TL_OP_EXPAND_DIMS:
   case TL_OP_BROADCAST:
      return counted_lanes(tl_arg(op, 0), steps);
   case TL_OP_ADD:
   case TL_OP_SUB:
   case TL_OP_MUL:
      for (unsigned i = 0; i < 2; i++)
         if (tl_is_const(tl_arg(op, i), &bits))
            return counted_lanes(tl_arg(op, 1 - i), steps);
   }
   return NULL;
}

/* Is v computed of the other one, and not of what was loaded by it? */
static bool
is_made_of(const TlValue *v, const TlValue *from, unsigned *steps)
{
   const TlOp *op = v->def;
   if (v == from)
      return true;
   if (!op || op->opcode == TL_OP_LOAD || op->num_regions || ++*steps > MAX_STEPS)
      return false;
   for (unsigned i = 0; i < op->num_args; i++)
      if (is_made_of(tl_arg(op, i), from, steps))
         return true;
   return false;
}

/* where(i < 32, x << i, ..): what is shifted too far is not taken. */
static bool
is_looked_after(const TlOp *shift, const TlValue *lanes)
{
   for (const TlUse *u = tl_result(shift, 0)->uses; u; u = u->next) {
      unsigned steps = 0;
      bool is_chosen = u->user->opcode == TL_OP_SELECT || u->user->opcode == TL_OP_MUL ||
                       u->user->opcode == TL_OP_AND;
      for (unsigned i = 0; is_chosen && i < u->user->num_args; i++)
         if (tl_arg(u->user, i) != tl_result(shift, 0) &&
             is_made_of(tl_arg(u->user, i), lanes, &steps))
            return true;
   }
   return false;
}

/* 1 << arange(0, 64).  Where sizes are guessed, how far a product of them shifts says nothing. */
static bool
check_shift(TlLintFacts *f, TlAnalysis *a, const TlOp *op)
{
   TlSema *s = f->s;
   unsigned steps = 0;
   uint64_t bits;
   const TlDtypeInfo *info = &tl_dtype_info[tl_value_dtype(tl_result(op, 0))];
   const TlValue *count = tl_arg(op, 1);
   const TlValue *lanes = tl_is_const(count, &bits) ? NULL : counted_lanes(count, &steps);
   if (!lanes || s->impl->has_guessed_numbers)
      return false;
   const TlAxisInfo *x = tl_axis_info(a, count);
   if (!x->has_range || x->hi < (int64_t)info->bits || is_looked_after(op, lanes))
      return false;
   tl_report(s->diags, W0220, op->range, (long long)x->hi, info->bits, info->text);
   if (x->hi < 64)
      tl_help(s->diags, "convert what is shifted to a wider type first: %s",
              tl_is_const(tl_arg(op, 0), &bits)
                 ? tl_arena_printf(s->arena, "tl.full([%u], %lld, tl.%s64)",
                                   tl_type_num_elems(tl_result(op, 0)->type) > UINT32_MAX
                                      ? 1
                                      : (unsigned)tl_type_num_elems(tl_result(op, 0)->type),
                                   (long long)tl_bits_to_int(tl_value_dtype(tl_arg(op, 0)), bits),
                                   info->kind == TL_KIND_UINT ? "uint" : "int")
                 : tl_arena_printf(s->arena, "x.to(tl.%s64)",
                                   info->kind == TL_KIND_UINT ? "uint" : "int"));
   return true;
}

/* By what the numbers of the tile go on, at least. */
static int64_t
step_of(const TlAxisInfo *x, unsigned rank)
{
   int64_t step = x->divisibility[0];
   for (unsigned d = 0; d < rank; d++) {
      if (x->contiguity[d] > 1)
         return 1;
      step = x->divisibility[d] < step ? x->divisibility[d] : step;
   }
   return step > 0 ? step : 1;
}

/* arange(0, 4096).to(fp16) */
static bool
check_rounded(TlLintFacts *f, TlAnalysis *a, const TlOp *op)
{
   unsigned steps = 0;
   const TlType *from = tl_type_elem(tl_arg(op, 0)->type),
                *to = tl_type_elem(tl_result(op, 0)->type);
   bool is_half = to->kind == TL_TYPE_SCALAR && (to->dtype == TL_FP16 || to->dtype == TL_BF16);
   if (!is_half || from->kind != TL_TYPE_SCALAR || !tl_dtype_is_int(from->dtype) ||
       !counted_lanes(tl_arg(op, 0), &steps) || !tl_lint_trusts_numbers(f))
      return false;
   const TlAxisInfo *x = tl_axis_info(a, tl_arg(op, 0));
   const TlDtypeInfo *info = &tl_dtype_info[to->dtype];
   int64_t whole = to->dtype == TL_FP16 ? 2048 : 256;
   if (!x->has_range || x->hi / step_of(x, tl_result(op, 0)->type->rank) <= whole ||
       !tl_lint_is_spelled(f, tl_result(op, 0), to->dtype))
      return false;
   tl_report(f->s->diags, W0364, op->range, (long long)x->hi, info->text, (long long)whole);
   return true;
}

/* ---- '~' for 'not' ---- */
/* Is it taken for true or false where it is not 0? */
static bool
is_truth(const TlOp *op)
{
   uint64_t bits;
   if (op->opcode == TL_OP_CAST)
      return tl_type_elem(tl_result(op, 0)->type)->kind == TL_TYPE_SCALAR &&
             tl_value_dtype(tl_result(op, 0)) == TL_I1;
   return op->opcode == TL_OP_NE && tl_is_const(tl_arg(op, 1), &bits) && !bits;
}

/* It is told there that no comparison is written. */
static bool
is_condition_of_where(const TlOp *op)
{
   for (const TlUse *u = tl_result(op, 0)->uses; u; u = u->next)
      if (u->user->opcode == TL_OP_SELECT && u->user->range.begin == op->range.begin)
         return true;
   return false;
}

/* (~flag).to(i1), if ~flag: */
static bool
check_inverted(TlLintFacts *f, const TlOp *op)
{
   TlSema *s = f->s;
   const TlValue *x = is_truth(op) ? tl_help_inverted(tl_arg(op, 0)) : NULL;
   const TlOp *invert = x ? tl_arg(op, 0)->def : NULL;
   if (!x || invert->range.file != s->impl->main->file || is_condition_of_where(op))
      return false;
   tl_report(s->diags, W0363, invert->range, tl_range_text(s, invert->range),
             tl_dtype_info[tl_value_dtype(x)].text);
   if (x->name)
      tl_help(s->diags, "compare it: %.60s == 0", x->name);
   return true;
}

/* ---- signs of what has none ---- */
/* maximum(a - b, 0), a - b < 0 */
static void
check_sign(TlLintFacts *f, const TlOp *op)
{
   uint64_t bits;
   bool is_asked = op->opcode == TL_OP_MAX || op->opcode == TL_OP_LT || op->opcode == TL_OP_GE;
   if (is_asked && tl_is_const(tl_arg(op, 1), &bits) && !bits && !f->s->impl->has_guessed_types)
      (void)tl_help_difference(f->s, tl_arg(op, 0), op->range);
}

void
tl_lint_integers(TlLintFacts *f)
{
   const TlBlock *top = f->func->body->block;
   TlAnalysis *a = NULL;
   bool is_shift_told = false, is_rounding_told = false;
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top)) {
      bool is_shift = op->opcode == TL_OP_SHL || op->opcode == TL_OP_SHR;
      if ((op->opcode == TL_OP_CAST || op->opcode == TL_OP_NE) && check_inverted(f, op))
         continue;
      if (op->range.file != f->s->impl->main->file)
         continue;
      check_sign(f, op);
      if (!is_shift && op->opcode != TL_OP_CAST)
         continue;
      a = a ? a : tl_analysis_new(f->s->arena, f->func);
      if (is_shift && !is_shift_told)
         is_shift_told = check_shift(f, a, op);
      else if (!is_shift && !is_rounding_told)
         is_rounding_told = check_rounded(f, a, op);
   }
}
