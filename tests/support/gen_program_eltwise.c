/* Elementwise operations of random programs: any row of the operation table, functions with their
 * bounds, and what is known of the results. */
#include "support/gen_program_impl.h"

#include <math.h>
#include <string.h>

/* ---- what follows for the result ---- */
static Fact
around(double a, double b)
{
   return (Fact){.lo = fmin(a, b), .hi = fmax(a, b)};
}

/* Interval of the real result; false: nothing better than the whole type is known. */
static bool
interval(TlOpcode op, const Fact *x, Fact *out)
{
   switch (op) {
   case TL_OP_ADD:
      *out = (Fact){.lo = x[0].lo + x[1].lo, .hi = x[0].hi + x[1].hi};
      return true;
   case TL_OP_SUB:
      *out = (Fact){.lo = x[0].lo - x[1].hi, .hi = x[0].hi - x[1].lo};
      return true;
   case TL_OP_MUL:
   case TL_OP_FMA: {
      Fact a = around(x[0].lo * x[1].lo, x[0].lo * x[1].hi);
      Fact b = around(x[0].hi * x[1].lo, x[0].hi * x[1].hi);
      *out = (Fact){.lo = fmin(a.lo, b.lo), .hi = fmax(a.hi, b.hi)};
      if (op == TL_OP_FMA)
         out->lo += x[2].lo, out->hi += x[2].hi;
      return true;
   }
   case TL_OP_NEG:
      *out = (Fact){.lo = -x[0].hi, .hi = -x[0].lo};
      return true;
   case TL_OP_ABS: {
      double m = fmax(fabs(x[0].lo), fabs(x[0].hi));
      *out = (Fact){.lo = 0, .hi = m};
      return true;
   }
   case TL_OP_FLOOR:
   case TL_OP_CEIL:
   case TL_OP_TRUNC:
   case TL_OP_RINT:
      *out = (Fact){.lo = floor(x[0].lo), .hi = ceil(x[0].hi)};
      return true;
   case TL_OP_MIN:
      *out = (Fact){.lo = fmin(x[0].lo, x[1].lo), .hi = fmin(x[0].hi, x[1].hi)};
      return true;
   case TL_OP_MAX:
      *out = (Fact){.lo = fmax(x[0].lo, x[1].lo), .hi = fmax(x[0].hi, x[1].hi)};
      return true;
   case TL_OP_CLAMP:
      *out = (Fact){.lo = fmin(fmax(x[0].lo, x[1].lo), x[2].lo),
                    .hi = fmin(fmax(x[0].hi, x[1].hi), x[2].hi)};
      return true;
   case TL_OP_SELECT:
      *out = (Fact){.lo = fmin(x[1].lo, x[2].lo), .hi = fmax(x[1].hi, x[2].hi)};
      return true;
   case TL_OP_REM:
      *out = around(-fmax(fabs(x[0].lo), fabs(x[0].hi)), fmax(fabs(x[0].lo), fabs(x[0].hi)));
      return true;
   default:
      return false;
   }
}

static bool
rounds_to_whole(TlOpcode op)
{
   return op == TL_OP_FLOOR || op == TL_OP_CEIL || op == TL_OP_TRUNC || op == TL_OP_RINT;
}

/* Floats of whole-number programs: the result must be a whole number that the type holds exactly,
 * and so must the product inside fma. */
static bool
exact_result(TlOpcode op, TlDtype d, const Fact *x, Fact *out)
{
   if (!interval(op, x, out))
      return false;
   if (op == TL_OP_REM && x[1].lo <= 0 && x[1].hi >= 0)
      return false;
   double limit = gen_exact_limit(d), most = fmax(fabs(out->lo), fabs(out->hi));
   if (op == TL_OP_FMA) {
      Fact product;
      interval(TL_OP_MUL, x, &product);
      most = fmax(most, fmax(fabs(product.lo), fabs(product.hi)));
   }
   out->whole = true;
   return most <= limit;
}

/* Floats of the other programs: only what IEEE fixes. */
static bool
rounded_result(const Gen *g, TlOpcode op, TlDtype d, const Fact *x, unsigned n, Fact *out)
{
   bool strict = g->b.func->strict_fp;
   bool sums = op == TL_OP_ADD || op == TL_OP_SUB;
   for (unsigned i = op == TL_OP_SELECT; i < n; i++) {
      if (sums && !strict && x[i].product)
         return false;
      out->nan |= x[i].nan;
      out->product |= x[i].product;
   }
   if (op == TL_OP_REM || (op == TL_OP_CLAMP && x[1].hi > x[2].lo))
      return false;
   if (op == TL_OP_DIV_RN || op == TL_OP_SQRT_RN) {
      *out = gen_full(d);
      return true;
   }
   Fact f;
   if (!interval(op, x, &f))
      return false;
   f.nan = out->nan;
   f.product = (out->product || op == TL_OP_MUL) && !rounds_to_whole(op);
   f.whole = rounds_to_whole(op);
   bool passes_on = op == TL_OP_NEG || op == TL_OP_ABS || op == TL_OP_MIN || op == TL_OP_MAX ||
                    op == TL_OP_CLAMP || op == TL_OP_SELECT || rounds_to_whole(op);
   if (!passes_on) { /* rounding may go outward, or over */
      f.lo = f.lo < 0 ? f.lo * 1.25 : f.lo * 0.75;
      f.hi = f.hi > 0 ? f.hi * 1.25 : f.hi * 0.75;
   }
   double limit = gen_finite_limit(d);
   if (isnan(f.lo) || isnan(f.hi) || f.lo < -limit || f.hi > limit) {
      bool product = f.product;
      f = gen_full(d);
      f.nan |= out->nan;
      f.product = product;
      f.nan = passes_on ? out->nan : f.nan;
   }
   if (d == TL_FP8E4B15 && out->nan)
      return false; /* it has none, and the sign of what stands for it is not fixed */
   *out = f;
   return true;
}

static Fact
int_result(TlOpcode op, TlDtype d, const Fact *x)
{
   Fact full = gen_full(d), f;
   if (op == TL_OP_AND && x[1].lo >= 0)
      return (Fact){.lo = 0, .hi = x[1].hi};
   if (!interval(op, x, &f) || f.lo < full.lo || f.hi > full.hi)
      return full;
   return f;
}

/* Whether every executor gives the same bits, and what is then known of them. */
static bool
result_of(Gen *g, TlOpcode op, TlDtype d, TlValue *const *args, unsigned n, Fact *out)
{
   Fact x[3] = {0};
   for (unsigned i = 0; i < n; i++)
      x[i] = gen_fact(g, args[i]);
   *out = (Fact){0};
   bool from_float = gen_is_float(args[n - 1]);
   if (!tl_dtype_is_float(d)) {
      *out = from_float ? gen_full(d) : int_result(op, d, x);
      return true;
   }
   return g->p->class == GEN_EXACT ? exact_result(op, d, x, out)
                                   : rounded_result(g, op, d, x, n, out);
}

/* ---- steps ---- */
static bool
step_bitcast(Gen *g)
{
   TlValue *x = gen_pick(g);
   TlDtype from = gen_dtype(x), to = from;
   for (unsigned t = 0; t < 20 && to == from; t++) {
      TlDtype d = (TlDtype)gen_below(g, TL_DTYPE_COUNT);
      to = tl_dtype_info[from].bits == tl_dtype_info[d].bits ? d : from;
   }
   if (from == to)
      return false;
   if ((tl_dtype_is_float(from) && gen_fact(g, x).nan) ||
       (tl_dtype_is_float(to) && g->p->class == GEN_EXACT))
      return false;
   TlValue *r = tl_t1(&g->b, TL_OP_BITCAST, gen_with(g, x->type, to), x);
   gen_add(g, gen_know(g, r, gen_full(to)));
   return true;
}

/* A narrowing that drops bits instead of rounding. */
static bool
step_cast_toward_zero(Gen *g)
{
   static const TlDtype narrow[] = {TL_FP16, TL_BF16, TL_FP8E5, TL_FP8E4NV};
   TlValue *x = gen_pick(g);
   TlDtype to = narrow[gen_below(g, 4)];
   if (gen_dtype(x) != TL_FP32)
      return false;
   TlValue *r = tl_t1(&g->b, TL_OP_CAST, gen_with(g, x->type, to), x,
                      {TL_ATTR_ROUNDING, {.i = TL_ROUNDING_RTZ}});
   Fact f = gen_fact(g, x);
   double limit = g->p->class == GEN_EXACT ? gen_exact_limit(to) : gen_finite_limit(to);
   if (f.lo < -limit || f.hi > limit) {
      if (g->p->class == GEN_EXACT)
         return false; /* nobody uses it */
      f = gen_full(to);
   }
   f.whole = g->p->class == GEN_EXACT;
   gen_add(g, gen_know(g, r, f));
   return true;
}

static bool
step_cast(Gen *g)
{
   if (gen_chance(g, 20))
      return step_cast_toward_zero(g);
   TlValue *x = gen_pick(g);
   TlDtype to = (TlDtype)gen_below(g, TL_DTYPE_COUNT);
   if (to == gen_dtype(x))
      return false;
   gen_add(g, gen_cast(g, x, to));
   return true;
}

/* An elementwise row of the table. */
static TlOpcode
some_opcode(Gen *g)
{
   for (;;) {
      TlOpcode opcode = (TlOpcode)gen_below(g, TL_OP_COUNT);
      const TlOpInfo *info = &tl_op_info[opcode];
      if ((info->traits & TL_TRAIT_ELTWISE) && (info->traits & TL_TRAIT_TYPED) &&
          opcode != TL_OP_ADDPTR && info->num_results == 1 && info->max_args <= 3)
         return opcode;
   }
}

/* The row on operands from the pool, first of all x. */
static bool
apply(Gen *g, TlOpcode opcode, TlValue *x)
{
   const TlOpInfo *info = &tl_op_info[opcode];
   TlValue *args[3] = {x};
   unsigned n = (unsigned)info->min_args;
   if (opcode == TL_OP_SELECT) {
      args[1] = args[0];
      args[0] = gen_pick_type(g, gen_with(g, args[1]->type, TL_I1));
      args[2] = gen_pick_type(g, args[1]->type);
   } else {
      for (unsigned i = 1; i < n; i++)
         args[i] = gen_pick_type(g, args[0]->type);
   }
   const TlType *types[3], *result = NULL;
   TlAttrInit inits[2] = {{TL_ATTR_COUNT, {.i = 0}}, {TL_ATTR_COUNT, {.i = 0}}};
   TlAttr attrs[TL_MAX_OP_ATTRS] = {0};
   if (info->num_attrs && info->attr[0].key == TL_ATTR_NAN && gen_chance(g, 40)) {
      attrs[0].i = TL_NAN_ALL;
      inits[0] = (TlAttrInit){TL_ATTR_NAN, attrs[0]};
   }
   for (unsigned i = 0; i < n; i++)
      types[i] = args[i]->type;
   TlInferCx cx = {.types = g->m->types, .arena = g->arena};
   Fact fact;
   if (!tl_infer(&cx, opcode, types, n, attrs, &result, 1) ||
       !result_of(g, opcode, tl_type_elem(result)->dtype, args, n, &fact))
      return false;
   gen_add(g, gen_know(g, tl_build_n(&g->b, opcode, args, n, NULL, inits), fact));
   return true;
}

bool
gen_step_eltwise(Gen *g)
{
   TlOpcode opcode = some_opcode(g);
   if (opcode == TL_OP_BITCAST)
      return step_bitcast(g);
   if (opcode == TL_OP_CAST)
      return step_cast(g);
   bool only_float = opcode == TL_OP_FMA || opcode == TL_OP_DIV_RN || opcode == TL_OP_SQRT_RN;
   for (unsigned t = 0; t < 6; t++) {
      TlValue *x = gen_pick(g);
      if ((!only_float || gen_is_float(x)) && apply(g, opcode, x))
         return true;
   }
   return false;
}

/* ---- functions with a bound ----
 * Bounds in ulp of fp32 as docs/accuracy.md publishes them, and where they hold. */
typedef struct Function {
   TlOpcode op;
   double ulp, per_x;
   double lo, hi; /* fp32 and fp64 */
   double narrow; /* 16-bit types: the domain is at most -narrow .. narrow */
} Function;

static const Function functions[] = {
   {TL_OP_EXP, 4, 1.2, -80, 80, 8},
   {TL_OP_EXP2, 4, 0, -120, 120, 8},
   {TL_OP_LOG, 2, 0, 1e-30, 1e30, 60000},
   {TL_OP_LOG2, 2, 0, 1e-30, 1e30, 60000},
   {TL_OP_SIN, 2, 0, -1000, 1000, 1000},
   {TL_OP_COS, 2, 0, -1000, 1000, 1000},
   {TL_OP_SQRT, 2.6, 0, 1e-30, 1e30, 60000},
   {TL_OP_RSQRT, 3, 0, 1e-30, 1e30, 60000},
   {TL_OP_ERF, 3, 0, -8, 8, 8},
   {TL_OP_TANH, 3, 0, -20, 20, 20},
   {TL_OP_DIV, 2.5, 0, -1e15, 1e15, 100},
};

static bool
has_fp64(TlOpcode op)
{
   return op == TL_OP_SQRT || op == TL_OP_RSQRT || op == TL_OP_DIV;
}

/* The result is stored with its operand, and not used further. */
bool
gen_step_function(Gen *g)
{
   const Function *fn = &functions[gen_below(g, sizeof functions / sizeof functions[0])];
   TlValue *x = gen_pick(g);
   for (unsigned t = 0; t < 6 && !gen_is_float(x); t++)
      x = gen_pick(g);
   TlDtype d = gen_dtype(x);
   unsigned bits = tl_dtype_info[d].bits;
   if (g->p->class == GEN_EXACT || g->in_scalars || !tl_dtype_is_float(d) || bits < 16 ||
       (d == TL_FP64 && !has_fp64(fn->op)))
      return false;
   double lo = fn->lo, hi = fn->hi;
   if (bits == 16) {
      lo = lo > 0 ? 0x1p-10 : fmax(lo, -fn->narrow);
      hi = fmin(hi, fn->narrow);
   }
   x = gen_fit(g, x, lo, hi);
   TlValue *y;
   if (fn->op == TL_OP_DIV) {
      TlValue *by = gen_fit(g, gen_pick_type(g, x->type), bits == 16 ? 0.25 : 0x1p-10, 1000);
      y = tl_b2(&g->b, fn->op, x, by);
   } else {
      y = tl_b1(&g->b, fn->op, x);
   }
   int f = gen_store_plain(g, x), out = gen_store_plain(g, y);
   GenBuffer *b = &g->p->buffer[out];
   b->agree = GEN_ULP;
   b->f = f;
   /* half an ulp is the reference's own; a narrower type rounds what is nearly exact */
   b->ulp = bits == 16 ? 1 : fn->ulp + 1;
   b->per_x = bits == 16 ? 0 : fn->per_x;
   if (fn->op == TL_OP_DIV) /* a denormal counts as 0, and the divisor is 2^-10 or more */
      b->least = 0x1p-116;
   return true;
}
