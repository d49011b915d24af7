/* Elementwise operations: native loops for the common types, fp16 and bf16 by widening to fp32, and
 * tl_eval for the rest.
 * Invariant: every native loop gives, bit for bit, what tl_eval gives (tests/unit/exec compares
 * them): a NaN that an operation makes is the canonical one; fp32 functions are done in double and
 * rounded; fp16 and bf16 widen to fp32 only for operations that survive rounding twice: fp32's 24
 * bits are at least 2p + 2 for p = 11 and p = 8, enough for + - * / sqrt. */
#include "exec/cpu_impl.h"

#include <math.h>
#include <string.h>

#define CANON(v) ((v) == (v) ? (v) : NAN_OF)

/* r[i] of type R from x[i], y[i], z[i] of type T */
#define LOOP1(name, R, T, expr)                                                                    \
   static void name(void *rp, const void *const *ap, size_t n)                                     \
   {                                                                                               \
      R *r = rp;                                                                                   \
      const T *x = ap[0];                                                                          \
      for (size_t i = 0; i < n; i++) {                                                             \
         T a = x[i];                                                                               \
         r[i] = (R)(expr);                                                                         \
      }                                                                                            \
   }
#define LOOP2(name, R, T, expr)                                                                    \
   static void name(void *rp, const void *const *ap, size_t n)                                     \
   {                                                                                               \
      R *r = rp;                                                                                   \
      const T *x = ap[0], *y = ap[1];                                                              \
      for (size_t i = 0; i < n; i++) {                                                             \
         T a = x[i], b = y[i];                                                                     \
         r[i] = (R)(expr);                                                                         \
      }                                                                                            \
   }

/* ---- integers ---- */
#define U(v) ((uint64_t)(v))
#define INT_LOOPS(T)                                                                               \
   LOOP1(neg_##T, T, T, 0 - U(a))                                                                  \
   LOOP1(abs_##T, T, T, a < 0 ? 0 - U(a) : U(a))                                                   \
   LOOP2(add_##T, T, T, U(a) + U(b))                                                               \
   LOOP2(sub_##T, T, T, U(a) - U(b))                                                               \
   LOOP2(mul_##T, T, T, U(a) * U(b))                                                               \
   LOOP2(div_##T, T, T, b == 0 ? 0 : b == (T)-1 && (T)-1 < 1 ? (T)(0 - U(a)) : (T)(a / b))         \
   LOOP2(rem_##T, T, T, b == 0 || (b == (T)-1 && (T)-1 < 1) ? 0 : (T)(a % b))                      \
   LOOP2(min_##T, T, T, a < b ? a : b)                                                             \
   LOOP2(max_##T, T, T, a > b ? a : b)                                                             \
   LOOP2(and_##T, T, T, (a & b))                                                                   \
   LOOP2(or_##T, T, T, a | b)                                                                      \
   LOOP2(xor_##T, T, T, a ^ b)                                                                     \
   ORDER_LOOPS(T)
#define ORDER_LOOPS(T)                                                                             \
   LOOP2(eq_##T, uint8_t, T, a == b)                                                               \
   LOOP2(ne_##T, uint8_t, T, a != b)                                                               \
   LOOP2(lt_##T, uint8_t, T, a < b)                                                                \
   LOOP2(le_##T, uint8_t, T, a <= b)                                                               \
   LOOP2(gt_##T, uint8_t, T, a > b)                                                                \
   LOOP2(ge_##T, uint8_t, T, a >= b)

/* b == -1 is asked of unsigned types as well, where it means the largest number; (T)-1 < 1 keeps
 * that case out.  Comparing an unsigned value with 0 is as intended in `abs`. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtype-limits"
#ifdef __clang__
#pragma GCC diagnostic ignored "-Wtautological-compare"
#endif
INT_LOOPS(int8_t)
INT_LOOPS(int16_t)
INT_LOOPS(int32_t)
INT_LOOPS(int64_t)
INT_LOOPS(uint8_t)
INT_LOOPS(uint16_t)
INT_LOOPS(uint32_t)
INT_LOOPS(uint64_t)
#pragma GCC diagnostic pop

/* A count at or over the width gives 0, or the sign. */
#define SHIFT_LOOPS(S, UT, bits)                                                                   \
   LOOP2(shl_##UT, UT, UT, b < bits ? U(a) << b : 0)                                               \
   LOOP2(shr_##UT, UT, UT, b < bits ? U(a) >> b : 0)                                               \
   LOOP2(shr_##S, S, S, (int64_t)a >> ((UT)b < bits ? (unsigned)b : bits - 1))
SHIFT_LOOPS(int32_t, uint32_t, 32)
SHIFT_LOOPS(int64_t, uint64_t, 64)

/* ---- floats ---- */
/* A NaN loses; of two zeros the negative is the smaller. */
#define MIN_OF(a, b)                                                                               \
   ((a) < (b)    ? (a)                                                                             \
    : (b) < (a)  ? (b)                                                                             \
    : (a) == (b) ? (signbit(a) ? (a) : (b))                                                        \
    : (a) == (a) ? (a)                                                                             \
                 : CANON(b))
#define MAX_OF(a, b)                                                                               \
   ((a) > (b)    ? (a)                                                                             \
    : (b) > (a)  ? (b)                                                                             \
    : (a) == (b) ? (signbit(a) ? (b) : (a))                                                        \
    : (a) == (a) ? (a)                                                                             \
                 : CANON(b))
#define FLOAT_LOOPS(T, f)                                                                          \
   LOOP1(neg_##T, T, T, -a)                                                                        \
   LOOP1(abs_##T, T, T, fabs##f(a))                                                                \
   LOOP2(add_##T, T, T, CANON(a + b))                                                              \
   LOOP2(sub_##T, T, T, CANON(a - b))                                                              \
   LOOP2(mul_##T, T, T, CANON((a * b)))                                                            \
   LOOP2(div_##T, T, T, CANON(a / b))                                                              \
   LOOP2(rem_##T, T, T, CANON(fmod##f(a, b)))                                                      \
   LOOP2(min_##T, T, T, MIN_OF(a, b))                                                              \
   LOOP2(max_##T, T, T, MAX_OF(a, b))                                                              \
   static void fma_##T(void *rp, const void *const *ap, size_t n)                                  \
   {                                                                                               \
      T *r = rp;                                                                                   \
      const T *x = ap[0], *y = ap[1], *z = ap[2];                                                  \
      for (size_t i = 0; i < n; i++) {                                                             \
         T v = fma##f(x[i], y[i], z[i]);                                                           \
         r[i] = CANON(v);                                                                          \
      }                                                                                            \
   }                                                                                               \
   ORDER_LOOPS(T)
#define NAN_OF NAN
FLOAT_LOOPS(float, f)
FLOAT_LOOPS(double, )

/* Functions of one float, in double. */
#define MATH_LOOP(name, T, expr)                                                                   \
   static void name(void *rp, const void *const *ap, size_t n)                                     \
   {                                                                                               \
      T *r = rp;                                                                                   \
      const T *in = ap[0];                                                                         \
      for (size_t i = 0; i < n; i++) {                                                             \
         double x = in[i], v = expr;                                                               \
         r[i] = (T)CANON(v);                                                                       \
      }                                                                                            \
   }
#define TL_OP_MATH(id, name, expr)                                                                 \
   MATH_LOOP(name##_float, float, expr)                                                            \
   MATH_LOOP(name##_double, double, expr)
#include "ir/ops.def"

/* ---- any type of a width ---- */
#define SELECT_LOOP(T)                                                                             \
   static void select_##T(void *rp, const void *const *ap, size_t n)                               \
   {                                                                                               \
      T *r = rp;                                                                                   \
      const uint8_t *c = ap[0];                                                                    \
      const T *x = ap[1], *y = ap[2];                                                              \
      for (size_t i = 0; i < n; i++)                                                               \
         r[i] = c[i] ? x[i] : y[i];                                                                \
   }
SELECT_LOOP(uint8_t)
SELECT_LOOP(uint16_t)
SELECT_LOOP(uint32_t)
SELECT_LOOP(uint64_t)

#define COPY_LOOP(bytes)                                                                           \
   static void copy_##bytes(void *r, const void *const *ap, size_t n)                              \
   {                                                                                               \
      memmove(r, ap[0], (n * bytes));                                                              \
   }
COPY_LOOP(1)
COPY_LOOP(2)
COPY_LOOP(4)
COPY_LOOP(8)

/* ---- the tables ---- */
#define ORDER_ROW(D, T)                                                                            \
   [TL_OP_EQ][D] = eq_##T, [TL_OP_NE][D] = ne_##T, [TL_OP_LT][D] = lt_##T, [TL_OP_LE][D] = le_##T, \
   [TL_OP_GT][D] = gt_##T, [TL_OP_GE][D] = ge_##T
#define BIT_ROW(D, T) [TL_OP_AND][D] = and_##T, [TL_OP_OR][D] = or_##T, [TL_OP_XOR][D] = xor_##T
#define INT_ROW(D, T)                                                                              \
   [TL_OP_NEG][D] = neg_##T, [TL_OP_ABS][D] = abs_##T, [TL_OP_ADD][D] = add_##T,                   \
   [TL_OP_SUB][D] = sub_##T, [TL_OP_MUL][D] = mul_##T, [TL_OP_DIV][D] = div_##T,                   \
   [TL_OP_REM][D] = rem_##T, [TL_OP_MIN][D] = min_##T, [TL_OP_MAX][D] = max_##T, BIT_ROW(D, T),    \
   ORDER_ROW(D, T)
#define FLOAT_ROW(D, T)                                                                            \
   [TL_OP_NEG][D] = neg_##T, [TL_OP_ABS][D] = abs_##T, [TL_OP_ADD][D] = add_##T,                   \
   [TL_OP_SUB][D] = sub_##T, [TL_OP_MUL][D] = mul_##T, [TL_OP_DIV][D] = div_##T,                   \
   [TL_OP_DIV_RN][D] = div_##T, [TL_OP_REM][D] = rem_##T, [TL_OP_MIN][D] = min_##T,                \
   [TL_OP_MAX][D] = max_##T, [TL_OP_FMA][D] = fma_##T, ORDER_ROW(D, T)

/* By the dtype of operand 0. */
static TlExecKernel *const kernels[TL_OP_COUNT][TL_DTYPE_COUNT] = {
   INT_ROW(TL_I8, int8_t),
   INT_ROW(TL_I16, int16_t),
   INT_ROW(TL_I32, int32_t),
   INT_ROW(TL_I64, int64_t),
   INT_ROW(TL_U8, uint8_t),
   INT_ROW(TL_U16, uint16_t),
   INT_ROW(TL_U32, uint32_t),
   INT_ROW(TL_U64, uint64_t),
   BIT_ROW(TL_I1, uint8_t),
   ORDER_ROW(TL_I1, uint8_t),
   FLOAT_ROW(TL_FP32, float),
   FLOAT_ROW(TL_FP64, double),
   [TL_OP_SHL][TL_I32] = shl_uint32_t,
   [TL_OP_SHL][TL_U32] = shl_uint32_t,
   [TL_OP_SHL][TL_I64] = shl_uint64_t,
   [TL_OP_SHL][TL_U64] = shl_uint64_t,
   [TL_OP_SHR][TL_I32] = shr_int32_t,
   [TL_OP_SHR][TL_U32] = shr_uint32_t,
   [TL_OP_SHR][TL_I64] = shr_int64_t,
   [TL_OP_SHR][TL_U64] = shr_uint64_t,
#define TL_OP_MATH(id, name, expr)                                                                 \
   [TL_OP_##id][TL_FP32] = name##_float, [TL_OP_##id][TL_FP64] = name##_double,
#include "ir/ops.def"
};

/* By the bytes of an element. */
static TlExecKernel *const select_kernel[9] = {
   [1] = select_uint8_t, [2] = select_uint16_t, [4] = select_uint32_t, [8] = select_uint64_t};
static TlExecKernel *const copy_kernel[9] = {
   [1] = copy_1, [2] = copy_2, [4] = copy_4, [8] = copy_8};

void
tl_cpu_pick_kernel(TlExecInst *inst)
{
   const TlOp *op = inst->op;
   TlDtype dtype = inst->arg[0]->dtype;
   bool keeps_nan = (op->opcode == TL_OP_MIN || op->opcode == TL_OP_MAX) &&
                    tl_dtype_is_float(dtype) && tl_attr_int(op, TL_ATTR_NAN) == TL_NAN_ALL;
   if (keeps_nan)
      return;
   if (op->opcode == TL_OP_SELECT)
      inst->kernel = select_kernel[inst->result[0]->elem_bytes];
   else if (op->opcode == TL_OP_BITCAST)
      inst->kernel = copy_kernel[inst->result[0]->elem_bytes];
   else if (op->opcode == TL_OP_CAST)
      inst->kernel = tl_cpu_cast_kernel(dtype, inst->result[0]->dtype,
                                        tl_rounding_of(tl_attr_int(op, TL_ATTR_ROUNDING)));
   else if ((dtype == TL_FP16 || dtype == TL_BF16) && tl_has_trait(op, TL_TRAIT_EXACT))
      inst->half = kernels[op->opcode][TL_FP32];
   else
      inst->kernel = kernels[op->opcode][dtype];
}

/* ---- running ---- */
static void
apply_half(const TlExecInst *inst, uint8_t *r, const void *const *a, size_t n)
{
   enum { PART = 256, MAX_ARGS = 3 };
   float wide[MAX_ARGS][PART], out[PART];
   const void *args[MAX_ARGS];
   TlDtype dtype = inst->arg[0]->dtype;
   bool gives_bool = inst->result[0]->dtype == TL_I1;
   for (size_t at = 0; at < n; at += PART) {
      size_t part = n - at < PART ? n - at : PART;
      for (uint32_t k = 0; k < inst->num_args; k++) {
         tl_cpu_widen(dtype, wide[k], (const uint8_t *)a[k] + at * 2, part);
         args[k] = wide[k];
      }
      if (gives_bool) {
         inst->half(r + at, args, part);
      } else {
         inst->half(out, args, part);
         tl_cpu_narrow(dtype, r + at * 2, out, part);
      }
   }
}

static void
apply_eval(const TlExecInst *inst, uint8_t *r, const void *const *a, size_t n)
{
   enum { MAX_ARGS = 4 };
   TlDtype dtypes[MAX_ARGS];
   TlBits bits[MAX_ARGS];
   TlDtype to = inst->result[0]->dtype;
   for (uint32_t k = 0; k < inst->num_args; k++)
      dtypes[k] = inst->arg[k]->dtype;
   for (size_t i = 0; i < n; i++) {
      for (uint32_t k = 0; k < inst->num_args; k++)
         bits[k] = tl_load_elem(dtypes[k], (const uint8_t *)a[k] + i * inst->arg[k]->elem_bytes);
      TlBits v = tl_eval(inst->op->opcode, inst->op->attrs, to, dtypes, bits, NULL);
      tl_store_elem(to, r + i * inst->result[0]->elem_bytes, v);
   }
}

void
tl_cpu_apply(const TlExecInst *inst, void *r, const void *const *a, size_t n)
{
   if (inst->kernel)
      inst->kernel(r, a, n);
   else if (inst->half)
      apply_half(inst, r, a, n);
   else
      apply_eval(inst, r, a, n);
}

/* ---- checked mode ---- */
static bool
is_zero(const uint8_t *p, uint32_t bytes)
{
   for (uint32_t i = 0; i < bytes; i++)
      if (p[i])
         return false;
   return true;
}

static bool
divides_integers(const TlExecInst *inst)
{
   TlOpcode op = inst->op->opcode;
   return (op == TL_OP_DIV || op == TL_OP_REM) && tl_dtype_is_int(inst->arg[0]->dtype);
}

/* An i1 `and` with false, and an `or` with true, are defined whatever the other operand. */
static bool
is_decided(TlExecThread *t, const TlExecInst *inst, unsigned by, size_t i)
{
   TlOpcode op = inst->op->opcode;
   const TlExecSlot *s = inst->arg[by];
   if ((op != TL_OP_AND && op != TL_OP_OR) || s->dtype != TL_I1)
      return false;
   bool defined = !tl_cpu_is_undef(t, s) || !tl_cpu_shadow(t, s)[i];
   return defined && ((const uint8_t *)tl_cpu_data(t, s))[i] == (op == TL_OP_OR);
}

static uint8_t
source_of(TlExecThread *t, const TlExecInst *inst, size_t i)
{
   unsigned first = 0, last = inst->num_args;
   if (inst->op->opcode == TL_OP_SELECT) {
      const TlExecSlot *c = inst->arg[0];
      uint8_t undef = tl_cpu_is_undef(t, c) ? tl_cpu_shadow(t, c)[i] : 0;
      if (undef)
         return undef;
      first = ((const uint8_t *)tl_cpu_data(t, c))[i] ? 1 : 2;
      last = first + 1;
   }
   for (unsigned k = first; k < last; k++) {
      const TlExecSlot *s = inst->arg[k];
      uint8_t source = tl_cpu_is_undef(t, s) ? tl_cpu_shadow(t, s)[i] : 0;
      if (source && !(last == 2 && is_decided(t, inst, 1 - k, i)))
         return source;
   }
   if (divides_integers(inst)) {
      const TlExecSlot *d = inst->arg[1];
      if (is_zero((const uint8_t *)tl_cpu_data(t, d) + i * d->elem_bytes, d->elem_bytes))
         return inst->source;
      if (inst->cut_source && tl_cpu_is_cut(t, inst, i))
         return inst->cut_source;
   }
   return 0;
}

static void
propagate(TlExecThread *t, const TlExecInst *inst, size_t n)
{
   const TlExecSlot *r = inst->result[0];
   bool any = divides_integers(inst);
   for (uint32_t k = 0; k < inst->num_args; k++)
      any |= t->undef[inst->arg[k]->root];
   t->undef[r->root] = false;
   if (!any)
      return;
   uint8_t *shadow = tl_cpu_shadow(t, r), seen = 0;
   for (size_t i = 0; i < n; i++) {
      shadow[i] = source_of(t, inst, i);
      seen |= shadow[i];
   }
   t->undef[r->root] = seen != 0;
}

static void
look_for_wrap(TlExecThread *t, const TlExecInst *inst, size_t n)
{
   const int32_t *a = tl_cpu_data(t, inst->arg[0]), *b = tl_cpu_data(t, inst->arg[1]);
   TlOpcode op = inst->op->opcode;
   for (size_t i = 0; i < n; i++) {
      int64_t x = a[i], y = b[i];
      int64_t full = op == TL_OP_ADD ? x + y : op == TL_OP_SUB ? x - y : x * y;
      if (full != (int32_t)full) {
         tl_cpu_warn(t, inst, inst->result[0], i, TL_FAULT_WRAP, full);
         return;
      }
   }
}

static void
look_for_negative(TlExecThread *t, const TlExecInst *inst, size_t n)
{
   const TlExecSlot *x = inst->arg[0];
   const uint8_t *data = tl_cpu_data(t, x);
   for (size_t i = 0; i < n; i++) {
      int64_t v = tl_bits_to_int(x->dtype, tl_load_elem(x->dtype, data + i * x->elem_bytes));
      if (v < 0) {
         tl_cpu_warn(t, inst, x, i, TL_FAULT_SIGN, v);
         return;
      }
   }
}

/* The numbers that a narrow integer holds, or a float of 8 bits, which saturates; false: another
 * type. */
static bool
narrow_limits(TlDtype t, double *low, double *high)
{
   bool is_signed = tl_dtype_is_signed(t);
   if (t == TL_FP8E4NV || t == TL_FP8E5) {
      *high = t == TL_FP8E4NV ? 448 : 57344;
      *low = -*high;
      return true;
   }
   if (!tl_dtype_is_int(t) || t == TL_I1 || tl_dtype_info[t].bits > 16)
      return false;
   double end = ldexp(1, (int)tl_dtype_info[t].bits - is_signed);
   *low = is_signed ? -end : 0;
   *high = end - 1;
   return true;
}

/* A float that the narrow type it is converted to does not hold.  Wider ones may be those of
 * lanes that are masked off, such as an infinity. */
static void
look_for_unfit(TlExecThread *t, const TlExecInst *inst, size_t n)
{
   const TlExecSlot *x = inst->arg[0], *r = inst->result[0];
   double low, high;
   if (!tl_dtype_is_float(x->dtype) || !narrow_limits(r->dtype, &low, &high))
      return;
   double rounded = tl_dtype_is_float(r->dtype) ? high / 16 : 0; /* a scale that is rounded */
   const uint8_t *data = tl_cpu_data(t, x);
   bool may_be_undef = tl_cpu_is_undef(t, x);
   for (size_t i = 0; i < n; i++) {
      double v = tl_bits_to_number(x->dtype, tl_load_elem(x->dtype, data + i * x->elem_bytes));
      if (!isfinite(v) || (trunc(v) >= low - rounded && trunc(v) <= high + rounded) ||
          fabs(v) > 1e15 || (may_be_undef && tl_cpu_shadow(t, x)[i]))
         continue;
      TlExecFault what = {.kind = TL_FAULT_UNFIT,
                          .value = (int64_t)v,
                          .limit = (int64_t)high,
                          .text = tl_dtype_info[r->dtype].text};
      tl_cpu_warn_of(t, inst, r, i, &what);
      return;
   }
}

size_t
tl_cpu_num_odd(TlDtype t, const void *data, size_t n)
{
   const uint64_t *d = data;
   const uint32_t *w = data;
   const uint16_t *h = data;
   const uint16_t exponent = t == TL_FP16 ? 0x7c00 : 0x7f80;
   size_t odd = 0;
   if (t == TL_FP32)
      for (size_t i = 0; i < n; i++)
         odd += (w[i] & 0x7f800000) == 0x7f800000;
   else if (t == TL_FP64)
      for (size_t i = 0; i < n; i++)
         odd += (d[i] & 0x7ff0000000000000) == 0x7ff0000000000000;
   else if (t == TL_FP16 || t == TL_BF16)
      for (size_t i = 0; i < n; i++)
         odd += (h[i] & exponent) == exponent;
   return odd;
}

static bool
has_nan(TlDtype t, const void *data, size_t n)
{
   size_t bytes = tl_dtype_info[t].bytes;
   for (size_t i = 0; i < n; i++)
      if (isnan(tl_bits_to_number(t, tl_load_elem(t, (const uint8_t *)data + i * bytes))))
         return true;
   return false;
}

/* Operations that make NaN or infinity of finite numbers where a kernel does not expect it. */
static bool
may_be_odd(const TlExecInst *inst)
{
   switch ((int)inst->op->opcode) {
   case TL_OP_EXP:
   case TL_OP_EXP2:
   case TL_OP_LOG:
   case TL_OP_LOG2:
   case TL_OP_SQRT:
   case TL_OP_RSQRT:
   case TL_OP_DIV:
   case TL_OP_CAST:
      return tl_dtype_is_float(inst->arg[0]->dtype);
   }
   return false;
}

bool
tl_cpu_eltwise(TlExecThread *t, const TlExecInst *inst)
{
   enum { MAX_ARGS = 4 };
   const void *a[MAX_ARGS];
   const TlExecSlot *r = inst->result[0];
   size_t n = tl_cpu_count(t, r);
   for (uint32_t k = 0; k < inst->num_args; k++)
      a[k] = tl_cpu_data(t, inst->arg[k]);
   if (t->checked && inst->op->opcode == TL_OP_CAST)
      look_for_unfit(t, inst, n); /* before the result takes its place */
   bool is_watched = t->checked && !t->odd && may_be_odd(inst);
   bool is_exp = inst->op->opcode == TL_OP_EXP || inst->op->opcode == TL_OP_EXP2;
   bool is_of_nan = is_watched && is_exp && has_nan(inst->arg[0]->dtype, a[0], n);
   size_t odd = 0;
   for (uint32_t k = 0; is_watched && !is_exp && k < inst->num_args; k++) /* exp(-inf) is 0 */
      odd += tl_cpu_num_odd(inst->arg[k]->dtype, a[k], n);
   tl_cpu_apply(inst, tl_cpu_data(t, r), a, n);
   if (is_watched && tl_cpu_num_odd(r->dtype, tl_cpu_data(t, r), n) > odd) {
      t->odd = inst;
      t->odd_of_nan = is_of_nan;
   }
   if (t->checked) {
      propagate(t, inst, n);
      if (inst->watch_wrap)
         look_for_wrap(t, inst, n);
      if (inst->watch_sign)
         look_for_negative(t, inst, n);
   }
   return true;
}
