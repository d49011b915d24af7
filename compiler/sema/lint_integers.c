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

/* ---- parts of a number ---- */
/* Do both operations take them for the same kind of number: less the same one, times the same one,
 * or joined? */
static bool
is_one_kind(const TlOp *p, const TlOp *q)
{
   if (p->opcode == TL_OP_JOIN)
      return p == q;
   if (p == q || p->opcode != q->opcode ||
       (p->opcode != TL_OP_SUB && p->opcode != TL_OP_ADD && p->opcode != TL_OP_MUL))
      return false;
   for (unsigned i = 0; i < 2; i++)
      for (unsigned k = 0; k < 2; k++)
         if (tl_lint_is_same(tl_arg(p, i), tl_arg(q, k)))
            return true;
   return false;
}

static bool
is_taken_alike(const TlValue *a, const TlValue *b, unsigned *steps)
{
   for (const TlUse *x = a->uses; x && ++*steps < MAX_STEPS; x = x->next) {
      if ((x->user->opcode == TL_OP_CAST || x->user->opcode == TL_OP_BROADCAST) &&
          is_taken_alike(tl_result(x->user, 0), b, steps))
         return true;
      for (const TlUse *y = b->uses; y && ++*steps < MAX_STEPS; y = y->next)
         if (is_one_kind(x->user, y->user) ||
             (y->user->opcode == TL_OP_CAST && is_taken_alike(a, tl_result(y->user, 0), steps)))
            return true;
   }
   return false;
}

/* The low bits of x that '&' takes, `width` of them; NULL: nothing takes these. */
static const TlValue *
low_bits_of(const TlValue *x, unsigned width)
{
   uint64_t bits;
   for (const TlUse *u = x->uses; u; u = u->next) {
      const TlOp *op = u->user;
      const TlValue *found = NULL;
      if (op->opcode == TL_OP_AND && tl_is_const(tl_arg(op, tl_arg(op, 0) == x), &bits) &&
          bits == (UINT64_C(1) << width) - 1)
         found = tl_result(op, 0);
      else if (op->opcode == TL_OP_CAST)
         found = low_bits_of(tl_result(op, 0), width);
      if (found)
         return found;
   }
   return NULL;
}

/* lo = (b & 0xF) - 8; hi = (b >> 4) - 8, of int8 */
static bool
check_high_bits(TlLintFacts *f, const TlOp *op)
{
   TlSema *s = f->s;
   uint64_t by;
   const TlValue *x = tl_lint_before_casts(tl_arg(op, 0));
   const TlType *e = tl_type_elem(x->type);
   bool is_signed = e->kind == TL_TYPE_SCALAR && tl_dtype_is_int(e->dtype) && e->dtype != TL_I1 &&
                    tl_dtype_is_signed(e->dtype) && !s->impl->has_guessed_types;
   unsigned bits = is_signed ? tl_dtype_info[e->dtype].bits : 0;
   if (!bits || !tl_is_const(tl_arg(op, 1), &by) || !by || by >= bits ||
       !tl_dtype_is_signed(tl_value_dtype(tl_result(op, 0))))
      return false;
   unsigned width = bits - (unsigned)by;
   unsigned steps = 0;
   const TlValue *low = width < 32 ? low_bits_of(x, width) : NULL;
   if (!low || !is_taken_alike(low, tl_result(op, 0), &steps))
      return false;
   long long half = 1LL << (width - 1);
   tl_report(s->diags, W0383, op->range, tl_dtype_info[e->dtype].text, -half, half - 1,
             2 * half - 1);
   tl_help(s->diags, "mask what was shifted, too: (%.40s) & %#llx, or load it as unsigned",
           tl_range_text(s, op->range), 2 * half - 1);
   tl_note(s->diags, N0200, low->def->range, "'&' is here");
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
   bool is_shift_told = false, is_rounding_told = false, are_bits_told = false;
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top)) {
      bool is_shift = op->opcode == TL_OP_SHL || op->opcode == TL_OP_SHR;
      if ((op->opcode == TL_OP_CAST || op->opcode == TL_OP_NE) && check_inverted(f, op))
         continue;
      if (op->range.file != f->s->impl->main->file)
         continue;
      check_sign(f, op);
      are_bits_told = are_bits_told || (op->opcode == TL_OP_SHR && check_high_bits(f, op));
      if (!is_shift && op->opcode != TL_OP_CAST)
         continue;
      a = a ? a : tl_analysis_new(f->s->arena, f->func);
      if (is_shift && !is_shift_told)
         is_shift_told = check_shift(f, a, op);
      else if (!is_shift && !is_rounding_told)
         is_rounding_told = check_rounded(f, a, op);
   }
}
