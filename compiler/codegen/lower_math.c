/* Functions of fp32 from hardware approximations and short polynomials; the 16-bit types go through
 * fp32.  Error bounds in ulp of fp32, by construction (not measured over all inputs):
 *
 *   exp2   ex2.approx.ftz                               2 ulp; results below 2^-126 become 0
 *   exp    ex2.approx.ftz(x * log2 e)                   2 + 1.2 |x| ulp (as Triton)
 *   log    f + f^2 P(f) with x = 2^e (1 + f)            2 ulp, denormals included
 *   log2   the same, scaled                             2 ulp
 *   sin, cos  reduction by pi/2 in fp64, |x| < 2^40     2 ulp; beyond: reduction loses accuracy
 *   erf    x P(x^2) below 1, 1 - 2^-Q(x) above          3 ulp
 *   tanh   x + x^3 P(x^2) below 0.6, 1 - 2 / (e^2x + 1) 3 ulp
 *   sqrt, rsqrt  sqrt.approx.ftz, rsqrt.approx.ftz      1, 2 ulp; sqrt_rn is correctly rounded
 *
 * Polynomials are least-maximum fits made for this file (weighted Lawson iteration at 40 digits);
 * that of log is Cephes' logf approximation in the form f - f^2/2 + f^3 P(f). strict mode keeps
 * denormals (no .ftz) and uses the correctly rounded square root. */
#include "codegen/cg.h"

#include <assert.h>
#include <string.h>

typedef LLVMValueRef F32Fn(TlCg *cg, LLVMValueRef x);

static LLVMValueRef
mul(TlCg *cg, LLVMValueRef a, LLVMValueRef b)
{
   return LLVMBuildFMul(cg->b, a, b, "");
}

static LLVMValueRef
add(TlCg *cg, LLVMValueRef a, LLVMValueRef b)
{
   return LLVMBuildFAdd(cg->b, a, b, "");
}

static LLVMValueRef
fma32(TlCg *cg, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c)
{
   LLVMValueRef args[] = {a, b, c};
   return tl_cg_overloaded(cg, "llvm.fma", LLVMTypeOf(a), args, 3);
}

/* c[n-1] x^(n-1) + .. + c[0] by Horner with fma. */
static LLVMValueRef
poly(TlCg *cg, LLVMValueRef x, const double *c, unsigned n)
{
   LLVMValueRef y = tl_cg_f32(cg, c[n - 1]);
   for (unsigned i = n - 1; i-- > 0;)
      y = fma32(cg, y, x, tl_cg_f32(cg, c[i]));
   return y;
}

static LLVMValueRef
as_i32(TlCg *cg, LLVMValueRef x)
{
   return LLVMBuildBitCast(cg->b, x, cg->i32, "");
}

static LLVMValueRef
as_f32(TlCg *cg, LLVMValueRef x)
{
   return LLVMBuildBitCast(cg->b, x, cg->f32, "");
}

static LLVMValueRef
f32_bits(TlCg *cg, uint32_t bits)
{
   return LLVMConstBitCast(LLVMConstInt(cg->i32, bits, 0), cg->f32);
}

static LLVMValueRef
fabs32(TlCg *cg, LLVMValueRef x)
{
   return tl_cg_overloaded(cg, "llvm.fabs", cg->f32, &x, 1);
}

static LLVMValueRef
copysign32(TlCg *cg, LLVMValueRef mag, LLVMValueRef sign)
{
   LLVMValueRef args[] = {mag, sign};
   return tl_cg_overloaded(cg, "llvm.copysign", cg->f32, args, 2);
}

static LLVMValueRef
fn_exp2(TlCg *cg, LLVMValueRef x)
{
   return tl_cg_call(cg, cg->func->strict_fp ? "llvm.nvvm.ex2.approx.f32"
                                             : "llvm.nvvm.ex2.approx.ftz.f32",
                     cg->f32, &x, 1);
}

static LLVMValueRef
fn_exp(TlCg *cg, LLVMValueRef x)
{
   LLVMValueRef log2e = tl_cg_f32(cg, 1.4426950408889634);
   if (!cg->func->strict_fp)
      return fn_exp2(cg, mul(cg, x, log2e));
   /* strict: x = n ln 2 + r exactly enough, e^r by ex2 of r log2 e with |r| <= ln2 / 2 */
   LLVMValueRef n = mul(cg, x, log2e);
   n = tl_cg_overloaded(cg, "llvm.rint", cg->f32, &n, 1);
   LLVMValueRef r = fma32(cg, n, tl_cg_f32(cg, -0.693145751953125), x);
   r = fma32(cg, n, tl_cg_f32(cg, -1.428606765330187e-06), r);
   LLVMValueRef scaled = fn_exp2(cg, mul(cg, r, log2e));
   LLVMValueRef y = mul(cg, scaled, fn_exp2(cg, n));
   LLVMValueRef big = LLVMBuildFCmp(cg->b, LLVMRealOGT, x, tl_cg_f32(cg, 89.0), "");
   y = LLVMBuildSelect(cg->b, big, f32_bits(cg, 0x7F800000), y, "");
   LLVMValueRef small = LLVMBuildFCmp(cg->b, LLVMRealOLT, x, tl_cg_f32(cg, -104.0), "");
   return LLVMBuildSelect(cg->b, small, tl_cg_f32(cg, 0.0), y, "");
}

/* log(x) = e ln2 + log(1 + f), sqrt(1/2) <= 1 + f < sqrt(2); scale = 1 or log2 e. */
static LLVMValueRef
log_core(TlCg *cg, LLVMValueRef x, bool base2)
{
   static const double P[] = {3.3333331174e-1,  -2.4999993993e-1, 2.0000714765e-1,
                              -1.6668057665e-1, 1.4249322787e-1,  -1.2420140846e-1,
                              1.1676998740e-1,  -1.1514610310e-1, 7.0376836292e-2};
   LLVMValueRef tiny = LLVMBuildFCmp(cg->b, LLVMRealOLT, x, f32_bits(cg, 0x00800000), "");
   LLVMValueRef up = mul(cg, x, tl_cg_f32(cg, 8388608.0)); /* 2^23 for denormals */
   LLVMValueRef xs = LLVMBuildSelect(cg->b, tiny, up, x, "");
   LLVMValueRef e0 = LLVMBuildSelect(cg->b, tiny, tl_cg_f32(cg, -23.0), tl_cg_f32(cg, 0.0), "");
   LLVMValueRef bits = as_i32(cg, xs);
   /* exponent relative to sqrt(1/2) = 0x3F3504F3 */
   LLVMValueRef d = LLVMBuildSub(cg->b, bits, tl_cg_i32(cg, 0x3F3504F3), "");
   LLVMValueRef ei = LLVMBuildAnd(cg->b, d, tl_cg_i32(cg, (int32_t)0xFF800000), "");
   LLVMValueRef m = as_f32(cg, LLVMBuildSub(cg->b, bits, ei, ""));
   LLVMValueRef e = LLVMBuildSIToFP(cg->b, LLVMBuildAShr(cg->b, ei, tl_cg_i32(cg, 23), ""), cg->f32,
                                    "");
   e = add(cg, e, e0);
   LLVMValueRef f = add(cg, m, tl_cg_f32(cg, -1.0));
   LLVMValueRef f2 = mul(cg, f, f);
   LLVMValueRef p = mul(cg, mul(cg, f2, f), poly(cg, f, P, sizeof P / sizeof P[0]));
   LLVMValueRef tail = fma32(cg, f2, tl_cg_f32(cg, -0.5), p); /* log(1+f) - f */
   LLVMValueRef y;
   if (base2) { /* log2 e = 1.4426950 split so that f * high is nearly exact */
      LLVMValueRef hi = tl_cg_f32(cg, 1.44269502162933349609375);
      LLVMValueRef lo = tl_cg_f32(cg, 1.92596299112661746887e-8);
      LLVMValueRef s = fma32(cg, tail, hi, mul(cg, add(cg, f, tail), lo));
      s = fma32(cg, f, hi, s);
      y = add(cg, e, s);
   } else {
      LLVMValueRef s = fma32(cg, e, tl_cg_f32(cg, -2.12194440e-4), tail);
      s = add(cg, f, s);
      y = fma32(cg, e, tl_cg_f32(cg, 0.693359375), s);
   }
   LLVMValueRef inf = f32_bits(cg, 0x7F800000);
   LLVMValueRef special = LLVMBuildFCmp(cg->b, LLVMRealUGE, x, inf, ""); /* Inf or NaN */
   y = LLVMBuildSelect(cg->b, special, add(cg, x, x), y, "");
   LLVMValueRef negative = LLVMBuildFCmp(cg->b, LLVMRealOLT, x, tl_cg_f32(cg, 0.0), "");
   y = LLVMBuildSelect(cg->b, negative, f32_bits(cg, 0x7FC00000), y, "");
   LLVMValueRef zero = LLVMBuildFCmp(cg->b, LLVMRealOEQ, x, tl_cg_f32(cg, 0.0), "");
   return LLVMBuildSelect(cg->b, zero, f32_bits(cg, 0xFF800000), y, "");
}

static LLVMValueRef
fn_log(TlCg *cg, LLVMValueRef x)
{
   return log_core(cg, x, false);
}

static LLVMValueRef
fn_log2(TlCg *cg, LLVMValueRef x)
{
   return log_core(cg, x, true);
}

/* x = k pi/2 + r with r in [-pi/4, pi/4]; the reduction in fp64 with pi/2 in three parts. */
static LLVMValueRef
trig_reduce(TlCg *cg, LLVMValueRef x, LLVMValueRef *quadrant)
{
   LLVMValueRef d = LLVMBuildFPExt(cg->b, x, cg->f64, "");
   LLVMValueRef k =
      LLVMBuildFMul(cg->b, d, LLVMConstReal(cg->f64, 0.63661977236758134308), ""); /* 2/pi */
   k = tl_cg_overloaded(cg, "llvm.rint", cg->f64, &k, 1);
   static const double part[] = {1.57079632679489655800e+00, 6.12323399573676603587e-17,
                                 -1.49738490485916983e-33};
   for (unsigned i = 0; i < 3; i++)
      d = fma32(cg, k, LLVMConstReal(cg->f64, -part[i]), d);
   LLVMTypeRef types[] = {cg->i64, cg->f64};
   unsigned id = LLVMLookupIntrinsicID("llvm.fptosi.sat", 15);
   LLVMValueRef f = LLVMGetIntrinsicDeclaration(cg->mod, id, types, 2);
   LLVMValueRef q =
       LLVMBuildCall2(cg->b, LLVMIntrinsicGetType(cg->llvm, id, types, 2), f, &k, 1, "");
   *quadrant = LLVMBuildTrunc(cg->b, q, cg->i32, "");
   return LLVMBuildFPTrunc(cg->b, d, cg->f32, "");
}

static LLVMValueRef
trig(TlCg *cg, LLVMValueRef x, unsigned shift)
{
   static const double S[] = {-0.1666666716337204, 0.008333329111337662, -0.0001983933470910415,
                              2.7183114070794545e-06};
   static const double C[] = {0.04166664555668831, -0.001388736767694354, 2.443845005473122e-05};
   LLVMValueRef q, r = trig_reduce(cg, x, &q);
   LLVMValueRef r2 = mul(cg, r, r);
   LLVMValueRef s = fma32(cg, mul(cg, r, r2), poly(cg, r2, S, 4), r);
   LLVMValueRef c = fma32(cg, mul(cg, r2, r2), poly(cg, r2, C, 3),
                          fma32(cg, r2, tl_cg_f32(cg, -0.5), tl_cg_f32(cg, 1.0)));
   q = LLVMBuildAdd(cg->b, q, tl_cg_i32(cg, shift), "");
   LLVMValueRef one = tl_cg_i32(cg, 1), zero = tl_cg_i32(cg, 0);
   LLVMValueRef odd = LLVMBuildICmp(cg->b, LLVMIntNE, LLVMBuildAnd(cg->b, q, one, ""), zero, "");
   LLVMValueRef y = LLVMBuildSelect(cg->b, odd, c, s, "");
   LLVMValueRef flip =
      LLVMBuildShl(cg->b, LLVMBuildAnd(cg->b, q, tl_cg_i32(cg, 2), ""), tl_cg_i32(cg, 30), "");
   y = as_f32(cg, LLVMBuildXor(cg->b, as_i32(cg, y), flip, ""));
   LLVMValueRef finite =
      LLVMBuildFCmp(cg->b, LLVMRealOLT, fabs32(cg, x), f32_bits(cg, 0x7F800000), "");
   return LLVMBuildSelect(cg->b, finite, y, f32_bits(cg, 0x7FC00000), "");
}

static LLVMValueRef
fn_sin(TlCg *cg, LLVMValueRef x)
{
   return trig(cg, x, 0);
}

static LLVMValueRef
fn_cos(TlCg *cg, LLVMValueRef x)
{
   return trig(cg, x, 1);
}

static LLVMValueRef
fn_erf(TlCg *cg, LLVMValueRef x)
{
   static const double P[] = {1.1283791065216064,    -0.3761262595653534,    0.11283600330352783,
                              -0.026854444295167923, 0.005189535208046436,   -0.0008020841050893068,
                              7.889119297033176e-05};
   static const double Q[] = {
       -0.00029482899117283523, 1.6297565698623657,    0.913283109664917,
       0.1567329466342926,      -0.036606304347515106, 0.006178172305226326,
       -0.0006691046874038875,  3.652154919109307e-05, -3.6258765589991526e-07};
   LLVMValueRef a = fabs32(cg, x);
   LLVMValueRef small = mul(cg, x, poly(cg, mul(cg, x, x), P, 7));
   LLVMValueRef args[] = {a, tl_cg_f32(cg, 4.0)};
   LLVMValueRef capped = tl_cg_overloaded(cg, "llvm.minnum", cg->f32, args, 2);
   LLVMValueRef power = LLVMBuildFNeg(cg->b, poly(cg, capped, Q, 9), "");
   LLVMValueRef big = LLVMBuildFSub(cg->b, tl_cg_f32(cg, 1.0), fn_exp2(cg, power), "");
   big = copysign32(cg, big, x);
   LLVMValueRef is_small = LLVMBuildFCmp(cg->b, LLVMRealULT, a, tl_cg_f32(cg, 1.0), "");
   return LLVMBuildSelect(cg->b, is_small, small, big, ""); /* NaN takes `small`, which is NaN */
}

static LLVMValueRef
fn_tanh(TlCg *cg, LLVMValueRef x)
{
   static const double P[] = {-0.33333298563957214, 0.13331958651542664, -0.05378667637705803,
                              0.02080536261200905, -0.005905843805521727};
   LLVMValueRef a = fabs32(cg, x), x2 = mul(cg, x, x);
   LLVMValueRef small = fma32(cg, mul(cg, x, x2), poly(cg, x2, P, 5), x);
   LLVMValueRef e = fn_exp2(cg, mul(cg, a, tl_cg_f32(cg, 2.8853900817779268)));
   LLVMValueRef div[] = {tl_cg_f32(cg, 2.0), add(cg, e, tl_cg_f32(cg, 1.0))};
   LLVMValueRef q = tl_cg_call(cg, "llvm.nvvm.div.full", cg->f32, div, 2);
   LLVMValueRef big = copysign32(cg, LLVMBuildFSub(cg->b, tl_cg_f32(cg, 1.0), q, ""), x);
   LLVMValueRef is_small = LLVMBuildFCmp(cg->b, LLVMRealULT, a, tl_cg_f32(cg, 0.6), "");
   return LLVMBuildSelect(cg->b, is_small, small, big, "");
}

static LLVMValueRef
fn_sqrt_approx(TlCg *cg, LLVMValueRef x)
{
   if (cg->func->strict_fp)
      return tl_cg_overloaded(cg, "llvm.sqrt", cg->f32, &x, 1);
   return tl_cg_call(cg, "llvm.nvvm.sqrt.approx.ftz.f", cg->f32, &x, 1);
}

static LLVMValueRef
fn_sqrt_rn(TlCg *cg, LLVMValueRef x)
{
   return tl_cg_overloaded(cg, "llvm.sqrt", cg->f32, &x, 1);
}

static LLVMValueRef
fn_rsqrt(TlCg *cg, LLVMValueRef x)
{
   if (cg->func->strict_fp) {
      LLVMValueRef root = fn_sqrt_rn(cg, x);
      return LLVMBuildFDiv(cg->b, tl_cg_f32(cg, 1.0), root, "");
   }
   return tl_cg_call(cg, "llvm.nvvm.rsqrt.approx.ftz.f", cg->f32, &x, 1);
}

/* Applies an fp32 function to every register; 16-bit types through fp32; fp64 by f64, or an error.
 */
static void
apply(TlCg *cg, const TlOp *op, F32Fn *fn, const char *f64)
{
   TlDtype t = tl_type_elem(tl_result(op, 0)->type)->dtype;
   TlRegs x = tl_cg_use(cg, tl_arg(op, 0));
   TlRegs dst = tl_cg_def(cg, tl_result(op, 0));
   if (t == TL_FP64 && !f64) {
      tl_cg_unsupported(cg, tl_arena_printf(cg->arena, "'%s' of fp64", tl_info(op)->text),
                        "compute it in fp32, or on the CPU executor");
      return;
   }
   for (unsigned r = 0; r < dst.count; r++) {
      if (t == TL_FP64) {
         dst.v[r] = tl_cg_overloaded(cg, f64, cg->f64, &x.v[r], 1);
         continue;
      }
      LLVMValueRef wide = tl_cg_cast(cg, x.v[r], t, TL_FP32, TL_ROUNDING_RTNE);
      dst.v[r] = tl_cg_cast(cg, fn(cg, wide), TL_FP32, t, TL_ROUNDING_RTNE);
   }
}

void
tl_emit_exp(TlCg *cg, const TlOp *op)
{
   apply(cg, op, fn_exp, NULL);
}

void
tl_emit_exp2(TlCg *cg, const TlOp *op)
{
   apply(cg, op, fn_exp2, NULL);
}

void
tl_emit_log(TlCg *cg, const TlOp *op)
{
   apply(cg, op, fn_log, NULL);
}

void
tl_emit_log2(TlCg *cg, const TlOp *op)
{
   apply(cg, op, fn_log2, NULL);
}

void
tl_emit_sin(TlCg *cg, const TlOp *op)
{
   apply(cg, op, fn_sin, NULL);
}

void
tl_emit_cos(TlCg *cg, const TlOp *op)
{
   apply(cg, op, fn_cos, NULL);
}

void
tl_emit_erf(TlCg *cg, const TlOp *op)
{
   apply(cg, op, fn_erf, NULL);
}

void
tl_emit_tanh(TlCg *cg, const TlOp *op)
{
   apply(cg, op, fn_tanh, NULL);
}

void
tl_emit_sqrt(TlCg *cg, const TlOp *op)
{
   bool exact = strcmp(tl_info(op)->how, "rn") == 0;
   apply(cg, op, exact ? fn_sqrt_rn : fn_sqrt_approx, "llvm.sqrt");
}

/* 1 / sqrt(x) in fp64: both correctly rounded, so 1 ulp. */
void
tl_emit_rsqrt(TlCg *cg, const TlOp *op)
{
   if (tl_type_elem(tl_result(op, 0)->type)->dtype != TL_FP64) {
      apply(cg, op, fn_rsqrt, NULL);
      return;
   }
   TlRegs x = tl_cg_use(cg, tl_arg(op, 0));
   TlRegs dst = tl_cg_def(cg, tl_result(op, 0));
   for (unsigned r = 0; r < dst.count; r++) {
      LLVMValueRef root = tl_cg_overloaded(cg, "llvm.sqrt", cg->f64, &x.v[r], 1);
      dst.v[r] = LLVMBuildFDiv(cg->b, LLVMConstReal(cg->f64, 1.0), root, "");
   }
}
