/* Functions of fp32 from hardware approximations and short polynomials; the 16-bit types go through
 * fp32.  docs/accuracy.md has the error bounds, which tests measure in both modes:
 *
 *   exp2         ex2.approx.ftz; results below 2^-126 become 0
 *   exp          ex2.approx.ftz(x * log2 e), as Triton
 *   log, log2    f + f^2 P(f) with x = 2^e (1 + f)
 *   sin, cos     reduction by pi/2 in fp32 below 105615, in fp64 above, one for both functions
 *   erf          x P(x^2) below 1, 1 - 2^-Q(x) above
 *   tanh         x + x^3 P(x^2) below 0.6, 1 - 2 / (e^2x + 1) above
 *   sqrt, rsqrt  sqrt.approx.ftz, rsqrt.approx.ftz
 *
 * Polynomials are least-maximum fits made for this file (weighted Lawson iteration at 40 digits);
 * the last bits of log's coefficients are searched for the least error in ulp, log2's are those of
 * Cephes' logf.  strict mode has no approximate instruction, keeps denormals and divides and takes
 * roots as IEEE has it. */
#include "codegen/cg.h"

#include <assert.h>
#include <math.h>
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
   assert(n > 0);
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

/* p 2^n for a whole n, |n| < 252, by two exact factors: rounded once, denormals included. */
static LLVMValueRef
scale(TlCg *cg, LLVMValueRef p, LLVMValueRef n)
{
   LLVMValueRef whole = LLVMBuildFPToSI(cg->b, n, cg->i32, "");
   LLVMValueRef half = LLVMBuildAShr(cg->b, whole, tl_cg_i32(cg, 1), "");
   LLVMValueRef part[] = {half, LLVMBuildSub(cg->b, whole, half, "")};
   for (unsigned i = 0; i < 2; i++) {
      LLVMValueRef biased = LLVMBuildAdd(cg->b, part[i], tl_cg_i32(cg, 127), "");
      p = mul(cg, p, as_f32(cg, LLVMBuildShl(cg->b, biased, tl_cg_i32(cg, 23), "")));
   }
   return p;
}

/* -limit .. limit; NaN becomes 0. */
static LLVMValueRef
limited(TlCg *cg, LLVMValueRef x, double limit)
{
   LLVMValueRef low = LLVMBuildFCmp(cg->b, LLVMRealOGT, x, tl_cg_f32(cg, -limit), "");
   LLVMValueRef high = LLVMBuildFCmp(cg->b, LLVMRealOLT, x, tl_cg_f32(cg, limit), "");
   LLVMValueRef nan = LLVMBuildFCmp(cg->b, LLVMRealUNO, x, x, "");
   x = LLVMBuildSelect(cg->b, low, x, tl_cg_f32(cg, -limit), "");
   x = LLVMBuildSelect(cg->b, high, x, tl_cg_f32(cg, limit), "");
   return LLVMBuildSelect(cg->b, nan, tl_cg_f32(cg, 0.0), x, "");
}

/* Strict mode: no approximate instruction.  x = n + r, or n ln 2 + r, and a polynomial of r. */
static LLVMValueRef
exp_strict(TlCg *cg, LLVMValueRef x, bool base2)
{
   static const double P2[] = {0.24022650760568126,   0.055504108714600736,  0.009618082557277852,
                               0.0013333522307609031, 0.0001545316294512069, 1.52909485499206e-05};
   static const double PE[] = {0.500000001353873,    0.16666666681704215,   0.04166646419740569,
                               0.008333310844647862, 0.0013933730715792083, 0.00019891080463998843};
   LLVMValueRef t = limited(cg, x, base2 ? 160.0 : 110.0);
   LLVMValueRef n = base2 ? t : mul(cg, t, tl_cg_f32(cg, 1.4426950408889634)), r, s;
   n = tl_cg_overloaded(cg, "llvm.rint", cg->f32, &n, 1);
   if (base2) { /* 2^r - 1 = r (ln 2 high) + (r (ln 2 low) + r^2 P) */
      r = LLVMBuildFSub(cg->b, t, n, "");
      s = fma32(cg, mul(cg, r, r), poly(cg, r, P2, 6), mul(cg, r, tl_cg_f32(cg, -1.9046543e-09)));
      s = fma32(cg, r, tl_cg_f32(cg, 0.6931471824645996), s);
   } else { /* ln 2 high has 15 bits: the first product is exact */
      LLVMValueRef high = fma32(cg, n, tl_cg_f32(cg, -0.693145751953125), t);
      LLVMValueRef low = tl_cg_f32(cg, -1.428606765330187e-06);
      r = fma32(cg, n, low, high);
      LLVMValueRef rest = fma32(cg, n, low, LLVMBuildFSub(cg->b, high, r, ""));
      s = add(cg, r, fma32(cg, mul(cg, r, r), poly(cg, r, PE, 6), rest));
   }
   LLVMValueRef y = scale(cg, add(cg, tl_cg_f32(cg, 1.0), s), n);
   LLVMValueRef nan = LLVMBuildFCmp(cg->b, LLVMRealUNO, x, x, "");
   return LLVMBuildSelect(cg->b, nan, x, y, "");
}

static LLVMValueRef
fn_exp2(TlCg *cg, LLVMValueRef x)
{
   if (cg->func->strict_fp)
      return exp_strict(cg, x, true);
   return tl_cg_call(cg, "llvm.nvvm.ex2.approx.ftz.f32", cg->f32, &x, 1);
}

static LLVMValueRef
fn_exp(TlCg *cg, LLVMValueRef x)
{
   if (cg->func->strict_fp)
      return exp_strict(cg, x, false);
   return fn_exp2(cg, mul(cg, x, tl_cg_f32(cg, 1.4426950408889634)));
}

/* x = 2^e (1 + f) with low <= 1 + f < 2 low, low given by its bits. */
static LLVMValueRef
split_exponent(TlCg *cg, LLVMValueRef x, int32_t low, LLVMValueRef *e)
{
   LLVMValueRef tiny = LLVMBuildFCmp(cg->b, LLVMRealOLT, x, f32_bits(cg, 0x00800000), "");
   LLVMValueRef up = mul(cg, x, tl_cg_f32(cg, 8388608.0)); /* 2^23 for denormals */
   LLVMValueRef xs = LLVMBuildSelect(cg->b, tiny, up, x, "");
   LLVMValueRef e0 = LLVMBuildSelect(cg->b, tiny, tl_cg_f32(cg, -23.0), tl_cg_f32(cg, 0.0), "");
   LLVMValueRef bits = as_i32(cg, xs);
   LLVMValueRef d = LLVMBuildSub(cg->b, bits, tl_cg_i32(cg, low), "");
   LLVMValueRef ei = LLVMBuildAnd(cg->b, d, tl_cg_i32(cg, (int32_t)0xFF800000), "");
   LLVMValueRef m = as_f32(cg, LLVMBuildSub(cg->b, bits, ei, ""));
   /* ei = 2^23 times the exponent: conversion, product and sum are exact */
   *e = fma32(cg, LLVMBuildSIToFP(cg->b, ei, cg->f32, ""), tl_cg_f32(cg, 0x1p-23), e0);
   return add(cg, m, tl_cg_f32(cg, -1.0));
}

/* y, a logarithm of x, where x is neither infinite nor NaN, negative or zero. */
static LLVMValueRef
log_ends(TlCg *cg, LLVMValueRef x, LLVMValueRef y)
{
   /* Inf, NaN and what has a sign; x Inf + Inf is Inf, NaN and NaN, and zeros are set below */
   LLVMValueRef inf = f32_bits(cg, 0x7F800000);
   LLVMValueRef special = LLVMBuildICmp(cg->b, LLVMIntUGE, as_i32(cg, x), as_i32(cg, inf), "");
   y = LLVMBuildSelect(cg->b, special, fma32(cg, x, inf, inf), y, "");
   LLVMValueRef zero = LLVMBuildFCmp(cg->b, LLVMRealOEQ, x, tl_cg_f32(cg, 0.0), "");
   return LLVMBuildSelect(cg->b, zero, f32_bits(cg, 0xFF800000), y, "");
}

/* log(x) = e ln2 + (f + f^2 P(f)), 2/3 <= 1 + f < 4/3.  The sum of both is the only rounding that
 * counts at either end, so that ln2 needs no second part. */
static LLVMValueRef
fn_log(TlCg *cg, LLVMValueRef x)
{
   static const double P[] = {-0.5,           3.33332330e-1,  -2.49997601e-1,
                              2.00106204e-1,  -1.66803211e-1, 1.40019014e-1,
                              -1.21932976e-1, 1.39873460e-1,  -1.28827229e-1};
   LLVMValueRef e;
   LLVMValueRef f = split_exponent(cg, x, 0x3F2AAAAB /* 2/3 */, &e);
   LLVMValueRef s = fma32(cg, poly(cg, f, P, sizeof P / sizeof P[0]), mul(cg, f, f), f);
   return log_ends(cg, x, fma32(cg, e, tl_cg_f32(cg, 0.693147180559945), s));
}

/* log2(x) = e + log2(e) (f - f^2/2 + f^3 P(f)), sqrt(1/2) <= 1 + f < sqrt(2): the sum with e
 * cancels less than it would from 2/3. */
static LLVMValueRef
fn_log2(TlCg *cg, LLVMValueRef x)
{
   static const double P[] = {3.3333331174e-1,  -2.4999993993e-1, 2.0000714765e-1,
                              -1.6668057665e-1, 1.4249322787e-1,  -1.2420140846e-1,
                              1.1676998740e-1,  -1.1514610310e-1, 7.0376836292e-2};
   LLVMValueRef e;
   LLVMValueRef f = split_exponent(cg, x, 0x3F3504F3 /* sqrt(1/2) */, &e);
   LLVMValueRef f2 = mul(cg, f, f);
   LLVMValueRef p = mul(cg, mul(cg, f2, f), poly(cg, f, P, sizeof P / sizeof P[0]));
   LLVMValueRef tail = fma32(cg, f2, tl_cg_f32(cg, -0.5), p); /* log(1+f) - f */
   /* log2 e = 1.4426950 split so that f * high is nearly exact */
   LLVMValueRef hi = tl_cg_f32(cg, 1.44269502162933349609375);
   LLVMValueRef lo = tl_cg_f32(cg, 1.92596299112661746887e-8);
   LLVMValueRef s = fma32(cg, tail, hi, mul(cg, add(cg, f, tail), lo));
   return log_ends(cg, x, add(cg, e, fma32(cg, f, hi, s)));
}

/* ---- reduction by pi/2, in fp64 ---- */
typedef struct Reduced {
   LLVMValueRef quadrant, r; /* i32, f64 */
} Reduced;

static LLVMValueRef
f64_const(TlCg *cg, double v)
{
   return LLVMConstReal(cg->f64, v);
}

static LLVMValueRef
nearest(TlCg *cg, LLVMValueRef x)
{
   return tl_cg_overloaded(cg, "llvm.rint", cg->f64, &x, 1);
}

/* x = k pi/2 + r; pi/2 in three parts: exact enough up to 2^40. */
static Reduced
reduce_near(TlCg *cg, LLVMValueRef x)
{
   static const double part[] = {1.57079632679489655800e+00, 6.12323399573676603587e-17,
                                 -1.49738490485916983e-33};
   LLVMValueRef d = LLVMBuildFPExt(cg->b, x, cg->f64, "");
   LLVMValueRef k =
      nearest(cg, LLVMBuildFMul(cg->b, d, f64_const(cg, 0.63661977236758134308), "")); /* 2/pi */
   for (unsigned i = 0; i < 3; i++)
      d = fma32(cg, k, f64_const(cg, -part[i]), d);
   LLVMTypeRef types[] = {cg->i64, cg->f64};
   unsigned id = LLVMLookupIntrinsicID("llvm.fptosi.sat", 15);
   LLVMValueRef f = LLVMGetIntrinsicDeclaration(cg->mod, id, types, 2);
   LLVMValueRef q =
      LLVMBuildCall2(cg->b, LLVMIntrinsicGetType(cg->llvm, id, types, 2), f, &k, 1, "");
   return (Reduced){LLVMBuildTrunc(cg->b, q, cg->i32, ""), d};
}

/* n <= 53 bits of 1 / (2 pi) from bit `first` after the point on, as an integer. */
static uint64_t
turn_bits(unsigned first, unsigned n)
{
   static const uint64_t two_over_pi[] = {0xA2F9836E4E441529, 0xFC2757D1F534DDC0,
                                          0xDB6295993C439041, 0xFE5163ABDEBBC561};
   uint64_t v = 0;
   for (unsigned b = first; b < first + n; b++) /* 1 / (2 pi) = (2 / pi) / 4 */
      v = v << 1 | (b < 2 ? 0 : two_over_pi[(b - 2) / 64] >> (63 - (b - 2) % 64) & 1);
   return v;
}

enum { TURN_HIGH = 29, TURN_LOW = 53, FAR_EXPONENT = 150 /* of 2^23 */, FAR_ROWS = 128 - 23 };

/* For each e the fraction of 2^e / (2 pi) in parts of 29, 29 and 53 bits, in quadrants. */
static LLVMValueRef
turn_table(TlCg *cg)
{
   static const char name[] = "tilec_turns";
   LLVMTypeRef type = LLVMArrayType2(cg->f64, FAR_ROWS * 3);
   LLVMValueRef table = LLVMGetNamedGlobal(cg->mod, name), v[FAR_ROWS * 3];
   if (table)
      return table;
   for (unsigned e = 0; e < FAR_ROWS; e++) {
      v[3 * e] = f64_const(cg, ldexp((double)turn_bits(e, TURN_HIGH), 2 - TURN_HIGH));
      v[3 * e + 1] =
         f64_const(cg, ldexp((double)turn_bits(e + TURN_HIGH, TURN_HIGH), 2 - 2 * TURN_HIGH));
      v[3 * e + 2] = f64_const(
         cg, ldexp((double)turn_bits(e + 2 * TURN_HIGH, TURN_LOW), 2 - 2 * TURN_HIGH - TURN_LOW));
   }
   table = LLVMAddGlobalInAddressSpace(cg->mod, type, name, cg->host ? 0 : 1);
   LLVMSetInitializer(table, LLVMConstArray2(cg->f64, v, FAR_ROWS * 3));
   LLVMSetGlobalConstant(table, 1);
   LLVMSetLinkage(table, LLVMInternalLinkage);
   return table;
}

/* |x| >= 2^30: x = m 2^e with a 24-bit m; m times each part is exact, whole turns fall away. */
static Reduced
reduce_far(TlCg *cg, LLVMValueRef x)
{
   LLVMValueRef bits = as_i32(cg, x);
   LLVMValueRef exponent = LLVMBuildAnd(cg->b, LLVMBuildLShr(cg->b, bits, tl_cg_i32(cg, 23), ""),
                                        tl_cg_i32(cg, 255), "");
   LLVMValueRef row = LLVMBuildSub(cg->b, exponent, tl_cg_i32(cg, FAR_EXPONENT), "");
   LLVMValueRef m = LLVMBuildOr(cg->b, LLVMBuildAnd(cg->b, bits, tl_cg_i32(cg, 0x7FFFFF), ""),
                                tl_cg_i32(cg, 0x800000), "");
   m = LLVMBuildSIToFP(cg->b, m, cg->f64, "");
   LLVMValueRef negative = LLVMBuildICmp(cg->b, LLVMIntSLT, bits, tl_cg_i32(cg, 0), "");
   m = LLVMBuildSelect(cg->b, negative, LLVMBuildFNeg(cg->b, m, ""), m, "");
   LLVMValueRef table = turn_table(cg), p[3];
   for (unsigned i = 0; i < 3; i++) {
      LLVMValueRef at =
         LLVMBuildAdd(cg->b, LLVMBuildMul(cg->b, row, tl_cg_i32(cg, 3), ""), tl_cg_i32(cg, i), "");
      LLVMValueRef address = LLVMBuildGEP2(cg->b, cg->f64, table, &at, 1, "");
      p[i] = LLVMBuildFMul(cg->b, m, LLVMBuildLoad2(cg->b, cg->f64, address, ""), "");
   }
   LLVMValueRef k = nearest(cg, p[0]);
   LLVMValueRef r = LLVMBuildFSub(cg->b, p[0], k, "");
   LLVMValueRef k2 = nearest(cg, LLVMBuildFAdd(cg->b, r, p[1], ""));
   r = LLVMBuildFAdd(cg->b, LLVMBuildFSub(cg->b, r, k2, ""), p[1], "");
   r = LLVMBuildFMul(cg->b, LLVMBuildFAdd(cg->b, r, p[2], ""), f64_const(cg, 1.5707963267948966),
                     "");
   k = LLVMBuildFAdd(cg->b, k, k2, ""); /* below 2^26 */
   return (Reduced){LLVMBuildFPToSI(cg->b, k, cg->i32, ""), r};
}

/* x = k pi/2 + r with r in [-pi/4, pi/4], of every x. */
static TlTurn
reduce_wide(TlCg *cg, LLVMValueRef x)
{
   LLVMValueRef a = fabs32(cg, x);
   LLVMValueRef is_far =
      LLVMBuildAnd(cg->b, LLVMBuildFCmp(cg->b, LLVMRealOGE, a, f32_bits(cg, 0x4E800000), ""),
                   LLVMBuildFCmp(cg->b, LLVMRealOLT, a, f32_bits(cg, 0x7F800000), ""), "");
   LLVMBasicBlockRef at[2], join = NULL;
   Reduced part[2];
   at[0] = LLVMAppendBasicBlockInContext(cg->llvm, cg->fn, "turn.near");
   at[1] = LLVMAppendBasicBlockInContext(cg->llvm, cg->fn, "turn.far");
   join = LLVMAppendBasicBlockInContext(cg->llvm, cg->fn, "turn");
   LLVMBuildCondBr(cg->b, is_far, at[1], at[0]);
   for (unsigned i = 0; i < 2; i++) {
      LLVMPositionBuilderAtEnd(cg->b, at[i]);
      part[i] = i ? reduce_far(cg, x) : reduce_near(cg, x);
      LLVMBuildBr(cg->b, join);
   }
   LLVMPositionBuilderAtEnd(cg->b, join);
   LLVMValueRef q = LLVMBuildPhi(cg->b, cg->i32, ""), r = LLVMBuildPhi(cg->b, cg->f64, "");
   LLVMAddIncoming(q, (LLVMValueRef[]){part[0].quadrant, part[1].quadrant}, at, 2);
   LLVMAddIncoming(r, (LLVMValueRef[]){part[0].r, part[1].r}, at, 2);
   return (TlTurn){.quadrant = q, .r = LLVMBuildFPTrunc(cg->b, r, cg->f32, "")};
}

/* ---- reduction by pi/2, in fp32 ---- */
enum {
   /* k has 17 bits below, so that the product with the first of three parts of pi/2 is subtracted
    * without rounding.  Of all smaller x the largest error is 1.574 ulp in sin and 1.565 in cos. */
   SMALL_TURN = 105615,
   TURN_GROUP = 8, /* registers that one branch is for: their q and r are live at once */
};

/* |x| < SMALL_TURN.  Adding 1.5 2^23 rounds to a whole number, which the low bits then hold. */
static TlTurn
reduce_small(TlCg *cg, LLVMValueRef x)
{
   static const double part[] = {0x1.921fb4p0, 0x1.4442dp-24, 0x1.846988p-48}; /* 23, 21, 22 bits */
   LLVMValueRef bias = tl_cg_f32(cg, 0x1.8p23);
   LLVMValueRef biased = fma32(cg, x, tl_cg_f32(cg, 0.63661977236758134308), bias);
   LLVMValueRef k = LLVMBuildFSub(cg->b, biased, bias, "");
   for (unsigned i = 0; i < 3; i++)
      x = fma32(cg, k, tl_cg_f32(cg, -part[i]), x);
   return (TlTurn){.quadrant = as_i32(cg, biased), .r = x};
}

/* Turns of n <= TURN_GROUP arguments.  A thread without a large one branches around the rest; the
 * turn of an argument does not depend on its neighbours. */
static void
reduce_group(TlCg *cg, const LLVMValueRef *x, unsigned n, TlTurn **turns)
{
   LLVMValueRef is_large[TURN_GROUP], any = NULL;
   TlTurn wide[TURN_GROUP];
   assert(n > 0 && n <= TURN_GROUP);
   for (unsigned i = 0; i < n; i++) {
      TlTurn small = reduce_small(cg, x[i]);
      turns[i]->quadrant = small.quadrant;
      turns[i]->r = small.r;
      is_large[i] =
         LLVMBuildFCmp(cg->b, LLVMRealOGE, fabs32(cg, x[i]), tl_cg_f32(cg, SMALL_TURN), "");
      any = any ? LLVMBuildOr(cg->b, any, is_large[i], "") : is_large[i];
   }
   LLVMBasicBlockRef from[2] = {LLVMGetInsertBlock(cg->b)};
   LLVMBasicBlockRef large = LLVMAppendBasicBlockInContext(cg->llvm, cg->fn, "turn.large");
   LLVMBasicBlockRef join = LLVMAppendBasicBlockInContext(cg->llvm, cg->fn, "turned");
   LLVMBuildCondBr(cg->b, any, large, join);
   LLVMPositionBuilderAtEnd(cg->b, large);
   for (unsigned i = 0; i < n; i++) {
      wide[i] = reduce_wide(cg, x[i]);
      wide[i].quadrant =
         LLVMBuildSelect(cg->b, is_large[i], wide[i].quadrant, turns[i]->quadrant, "");
      wide[i].r = LLVMBuildSelect(cg->b, is_large[i], wide[i].r, turns[i]->r, "");
   }
   from[1] = LLVMGetInsertBlock(cg->b);
   LLVMBuildBr(cg->b, join);
   LLVMMoveBasicBlockAfter(join, from[1]);
   LLVMPositionBuilderAtEnd(cg->b, join);
   for (unsigned i = 0; i < n; i++) {
      LLVMValueRef q = LLVMBuildPhi(cg->b, cg->i32, ""), r = LLVMBuildPhi(cg->b, cg->f32, "");
      LLVMAddIncoming(q, (LLVMValueRef[]){turns[i]->quadrant, wide[i].quadrant}, from, 2);
      LLVMAddIncoming(r, (LLVMValueRef[]){turns[i]->r, wide[i].r}, from, 2);
      turns[i]->quadrant = q;
      turns[i]->r = r;
   }
}

/* Sine and cosine of t->r.  Infinite and NaN arguments have r = NaN; adding +0 keeps sin(-0). */
static void
sine_and_cosine(TlCg *cg, TlTurn *t)
{
   static const double S[] = {-0.1666666716337204, 0.008333329111337662, -0.0001983933470910415,
                              2.7183114070794545e-06};
   static const double C[] = {0.04166664555668831, -0.001388736767694354, 2.443845005473122e-05};
   LLVMValueRef r = t->r, r2 = mul(cg, r, r), r3 = fma32(cg, r2, r, tl_cg_f32(cg, 0.0));
   t->sine = fma32(cg, r3, poly(cg, r2, S, 4), r);
   t->cosine = fma32(cg, mul(cg, r2, r2), poly(cg, r2, C, 3),
                     fma32(cg, r2, tl_cg_f32(cg, -0.5), tl_cg_f32(cg, 1.0)));
}

/* The turn of x, a register of fp32 or a 16-bit type, where this block of the program has one. */
static TlTurn *
find_turn(TlCg *cg, LLVMValueRef x)
{
   if (cg->turns && cg->turns->block != cg->op->block)
      cg->turns = NULL;
   for (TlTurn *t = cg->turns; t; t = t->next)
      if (t->x == x)
         return t;
   return NULL;
}

static void
make_turns(TlCg *cg, TlRegs x, TlDtype dtype)
{
   for (unsigned from = 0; from < x.count;) {
      LLVMValueRef wide[TURN_GROUP];
      TlTurn *turns[TURN_GROUP];
      unsigned n = 0;
      for (; from < x.count && n < TURN_GROUP; from++) {
         if (find_turn(cg, x.v[from]))
            continue;
         TlTurn *t = tl_new(cg->arena, TlTurn);
         *t = (TlTurn){.x = x.v[from], .block = cg->op->block, .next = cg->turns};
         cg->turns = t;
         wide[n] = tl_cg_cast(cg, t->x, dtype, TL_FP32, TL_ROUNDING_RTNE);
         turns[n++] = t;
      }
      if (n)
         reduce_group(cg, wide, n, turns);
      for (unsigned i = 0; i < n; i++)
         sine_and_cosine(cg, turns[i]);
   }
}

/* sin(x + shift pi/2). */
static LLVMValueRef
turned(TlCg *cg, const TlTurn *t, unsigned shift)
{
   LLVMValueRef one = tl_cg_i32(cg, 1), zero = tl_cg_i32(cg, 0);
   LLVMValueRef q = LLVMBuildAdd(cg->b, t->quadrant, tl_cg_i32(cg, shift), "");
   LLVMValueRef odd = LLVMBuildICmp(cg->b, LLVMIntNE, LLVMBuildAnd(cg->b, q, one, ""), zero, "");
   LLVMValueRef y = LLVMBuildSelect(cg->b, odd, t->cosine, t->sine, "");
   LLVMValueRef flip =
      LLVMBuildShl(cg->b, LLVMBuildAnd(cg->b, q, tl_cg_i32(cg, 2), ""), tl_cg_i32(cg, 30), "");
   return as_f32(cg, LLVMBuildXor(cg->b, as_i32(cg, y), flip, ""));
}

static bool
refuses_f64(TlCg *cg, const TlOp *op)
{
   if (tl_type_elem(tl_result(op, 0)->type)->dtype != TL_FP64)
      return false;
   tl_cg_unsupported(cg, tl_arena_printf(cg->arena, "'%s' of fp64", tl_info(op)->text),
                     "compute it in fp32, or on the CPU executor");
   return true;
}

static void
trig(TlCg *cg, const TlOp *op, unsigned shift)
{
   if (refuses_f64(cg, op))
      return;
   TlDtype dtype = tl_type_elem(tl_result(op, 0)->type)->dtype;
   TlRegs x = tl_cg_use(cg, tl_arg(op, 0)), dst = tl_cg_def(cg, tl_result(op, 0));
   make_turns(cg, x, dtype);
   for (unsigned r = 0; r < dst.count; r++) {
      LLVMValueRef y = turned(cg, find_turn(cg, x.v[r]), shift);
      dst.v[r] = tl_cg_cast(cg, y, TL_FP32, dtype, TL_ROUNDING_RTNE);
   }
}

void
tl_emit_sin(TlCg *cg, const TlOp *op)
{
   trig(cg, op, 0);
}

void
tl_emit_cos(TlCg *cg, const TlOp *op)
{
   trig(cg, op, 1);
}

static LLVMValueRef
fn_erf(TlCg *cg, LLVMValueRef x)
{
   static const double P[] = {1.1283791065216064,    -0.3761262595653534,  0.11283600330352783,
                              -0.026854444295167923, 0.005189535208046436, -0.0008020841050893068,
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
   LLVMValueRef one = tl_cg_f32(cg, 1.0), two = tl_cg_f32(cg, 2.0), y = add(cg, e, one), big;
   if (cg->func->strict_fp) {
      big = LLVMBuildFSub(cg->b, one, LLVMBuildFDiv(cg->b, two, y, ""), "");
   } else { /* y is 1 at least: no scaling, which `div.full` has; inf gives 0 */
      LLVMValueRef reciprocal = tl_cg_call(cg, "llvm.nvvm.rcp.approx.ftz.f", cg->f32, &y, 1);
      big = fma32(cg, reciprocal, LLVMBuildFNeg(cg->b, two, ""), one);
   }
   big = copysign32(cg, big, x);
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

/* Applies an fp32 function to every register: 16-bit types through fp32, fp64 by f64, if any. */
static void
apply(TlCg *cg, const TlOp *op, F32Fn *fn, const char *f64)
{
   assert(op->num_args == 1 && op->num_results == 1);
   TlDtype t = tl_type_elem(tl_result(op, 0)->type)->dtype;
   TlRegs x = tl_cg_use(cg, tl_arg(op, 0));
   TlRegs dst = tl_cg_def(cg, tl_result(op, 0));
   if (!f64 && refuses_f64(cg, op))
      return;
   for (unsigned r = 0; r < dst.count; r++) {
      if (t == TL_FP64) {
         dst.v[r] = tl_cg_overloaded(cg, f64, cg->f64, &x.v[r], 1);
         continue;
      }
      LLVMValueRef wide = tl_cg_cast(cg, x.v[r], t, TL_FP32, TL_ROUNDING_RTNE);
      dst.v[r] = tl_cg_cast(cg, fn(cg, wide), TL_FP32, t, TL_ROUNDING_RTNE);
   }
}

#define EMIT(name)                                                                                 \
   void tl_emit_##name(TlCg *cg, const TlOp *op)                                                   \
   {                                                                                               \
      apply(cg, op, fn_##name, NULL);                                                              \
   }
EMIT(exp)
EMIT(exp2)
EMIT(log)
EMIT(log2)
EMIT(erf)
EMIT(tanh)
#undef EMIT

void
tl_emit_sqrt(TlCg *cg, const TlOp *op)
{
   bool is_exact = op->opcode == TL_OP_SQRT_RN;
   apply(cg, op, is_exact ? fn_sqrt_rn : fn_sqrt_approx, "llvm.sqrt");
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
