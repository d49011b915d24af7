/* Arithmetic, comparison, selection and register shuffling: one LLVM instruction or intrinsic for
 * each register.  Nothing here knows which target runs it. */
#include "codegen/cg.h"

#include <assert.h>
#include <string.h>

typedef LLVMValueRef OneFn(TlCg *cg, const TlOp *op, const LLVMValueRef *x);

/* Applies fn to every register; operands have as many registers as the result. */
static void
each(TlCg *cg, const TlOp *op, OneFn *fn)
{
   enum { MAX_ARGS = 3 };
   assert(op->num_args <= MAX_ARGS);
   TlRegs args[MAX_ARGS];
   for (unsigned k = 0; k < op->num_args; k++)
      args[k] = tl_cg_use(cg, tl_arg(op, k));
   TlRegs dst = tl_cg_def(cg, tl_result(op, 0));
   for (unsigned r = 0; r < dst.count && !cg->failed; r++) {
      LLVMValueRef x[MAX_ARGS] = {0};
      for (unsigned k = 0; k < op->num_args; k++)
         x[k] = args[k].v[args[k].count == 1 ? 0 : r];
      dst.v[r] = fn(cg, op, x);
   }
}

static TlDtype
arg_dtype(const TlOp *op)
{
   return tl_type_elem(tl_arg(op, 0)->type)->dtype;
}

static bool
is_ptr(const TlValue *v)
{
   return tl_type_is_ptr_like(v->type);
}

/* Floats that LLVM computes with directly (fp8 kinds are bytes). */
static bool
is_native_float(TlDtype t)
{
   return tl_dtype_is_float(t) && tl_dtype_info[t].bits >= 16;
}

/* fp8 kinds are computed in fp32, whose 24 bits make the second rounding harmless. */
static LLVMValueRef
fp8_to_wide(TlCg *cg, TlDtype t, LLVMValueRef v)
{
   return tl_cg_cast(cg, v, t, TL_FP32, TL_ROUNDING_RTNE);
}

void
tl_emit_constant(TlCg *cg, const TlOp *op)
{
   TlRegs dst = tl_cg_def(cg, tl_result(op, 0));
   const TlType *elem = tl_type_elem(tl_result(op, 0)->type);
   uint64_t bits = tl_attr_bits(op, TL_ATTR_VALUE);
   LLVMValueRef c = elem->kind == TL_TYPE_PTR
                       ? LLVMConstIntToPtr(LLVMConstInt(cg->i64, bits, 0), cg->p1)
                       : tl_cg_bits(cg, elem->dtype, bits);
   for (unsigned r = 0; r < dst.count; r++)
      dst.v[r] = c;
}

void
tl_emit_poison(TlCg *cg, const TlOp *op)
{
   TlRegs dst = tl_cg_def(cg, tl_result(op, 0));
   /* Zero, not LLVM poison: an undefined value must not license LLVM to drop what depends on it. */
   for (unsigned r = 0; r < dst.count; r++)
      dst.v[r] = LLVMConstNull(tl_cg_elem(cg, tl_result(op, 0)->type));
}

void
tl_emit_splat(TlCg *cg, const TlOp *op)
{
   assert(tl_type_num_regs(tl_arg(op, 0)->type) == 1);
   LLVMValueRef x = tl_cg_use1(cg, tl_arg(op, 0));
   TlRegs dst = tl_cg_def(cg, tl_result(op, 0));
   for (unsigned r = 0; r < dst.count; r++)
      dst.v[r] = x;
}

void
tl_emit_pick(TlCg *cg, const TlOp *op)
{
   TL_VEC(LLVMValueRef) all = {0};
   for (unsigned k = 0; k < op->num_args; k++) {
      TlRegs a = tl_cg_use(cg, tl_arg(op, k));
      for (unsigned r = 0; r < a.count; r++)
         tl_vec_push(cg->arena, &all, a.v[r]);
   }
   TlInts index = tl_attr_ints(op, TL_ATTR_INDEX);
   TlRegs dst = tl_cg_def(cg, tl_result(op, 0));
   for (unsigned r = 0; r < dst.count; r++)
      dst.v[r] = all.data[index.data[r]];
}

/* Width of a register's value in bits; i1 registers are repacked as bytes. */
void
tl_emit_repack(TlCg *cg, const TlOp *op)
{
   assert(op->num_args == 1);
   TlRegs src = tl_cg_use(cg, tl_arg(op, 0));
   const TlType *to = tl_type_elem(tl_result(op, 0)->type);
   unsigned from_bits = tl_cg_elem_bits(tl_type_elem(tl_arg(op, 0)->type));
   unsigned to_bits = tl_cg_elem_bits(to);
   TlRegs dst = tl_cg_def(cg, tl_result(op, 0));
   unsigned wide = from_bits > to_bits ? from_bits : to_bits;
   LLVMValueRef *pieces = tl_new_array(cg->arena, LLVMValueRef, src.count);
   unsigned n = tl_cg_pack(cg, src.v, src.count, from_bits, wide, pieces);
   tl_cg_unpack(cg, pieces, n, wide, tl_cg_elem(cg, to), to_bits, dst.v);
}

/* Opaque to LLVM, which would move what is computed from x out of loops; ptxas drops the moves. */
void
tl_emit_pin(TlCg *cg, const TlOp *op)
{
   TlRegs x = tl_cg_use(cg, tl_arg(op, 0)), dst = tl_cg_def(cg, tl_result(op, 0));
   assert(x.count == dst.count);
   for (unsigned i = 0; i < dst.count; i++)
      dst.v[i] = cg->host
                    ? x.v[i]
                    : tl_cg_asm(cg, "mov.b32 $0, $1;", "=r,r", cg->i32, &x.v[i], 1, TL_ASM_EFFECT);
}

/* ---- unary ---- */
static LLVMValueRef
one_neg(TlCg *cg, const TlOp *op, const LLVMValueRef *x)
{
   if (tl_dtype_is_fp8(arg_dtype(op)))
      return LLVMBuildXor(cg->b, x[0], LLVMConstInt(cg->i8, 0x80, 0), "");
   return is_native_float(arg_dtype(op)) ? LLVMBuildFNeg(cg->b, x[0], "")
                                         : LLVMBuildNeg(cg->b, x[0], "");
}

void
tl_emit_neg(TlCg *cg, const TlOp *op)
{
   each(cg, op, one_neg);
}

static LLVMValueRef
one_abs(TlCg *cg, const TlOp *op, const LLVMValueRef *x)
{
   TlDtype t = arg_dtype(op);
   if (is_native_float(t))
      return tl_cg_overloaded(cg, "llvm.fabs", tl_cg_dtype(cg, t), x, 1);
   if (tl_dtype_is_fp8(t))
      return LLVMBuildAnd(cg->b, x[0], LLVMConstInt(cg->i8, 0x7F, 0), "");
   if (!tl_dtype_is_signed(t))
      return x[0];
   LLVMValueRef args[] = {x[0], LLVMConstInt(cg->i1, 0, 0)};
   return tl_cg_overloaded(cg, "llvm.abs", tl_cg_dtype(cg, t), args, 2);
}

void
tl_emit_abs(TlCg *cg, const TlOp *op)
{
   each(cg, op, one_abs);
}

/* floor, ceil, trunc, rint: through fp32 for the 16-bit types (exact both ways). */
static LLVMValueRef
one_math(TlCg *cg, const TlOp *op, const LLVMValueRef *x)
{
   TlDtype t = arg_dtype(op);
   if (t == TL_FP64)
      return tl_cg_overloaded(cg, tl_info(op)->how, cg->f64, x, 1);
   LLVMValueRef wide = tl_cg_cast(cg, x[0], t, TL_FP32, TL_ROUNDING_RTNE);
   LLVMValueRef y = tl_cg_overloaded(cg, tl_info(op)->how, cg->f32, &wide, 1);
   return tl_cg_cast(cg, y, TL_FP32, t, TL_ROUNDING_RTNE);
}

void
tl_emit_math(TlCg *cg, const TlOp *op)
{
   each(cg, op, one_math);
}

/* ---- binary ---- */
static LLVMValueRef
one_arith(TlCg *cg, const TlOp *op, const LLVMValueRef *x)
{
   TlDtype t = arg_dtype(op);
   bool is_float = tl_dtype_is_float(t);
   LLVMOpcode code = op->opcode == TL_OP_ADD   ? (is_float ? LLVMFAdd : LLVMAdd)
                     : op->opcode == TL_OP_SUB ? (is_float ? LLVMFSub : LLVMSub)
                                               : (is_float ? LLVMFMul : LLVMMul);
   if (tl_dtype_is_fp8(t)) {
      LLVMValueRef wide =
         LLVMBuildBinOp(cg->b, code, fp8_to_wide(cg, t, x[0]), fp8_to_wide(cg, t, x[1]), "");
      return tl_cg_cast(cg, wide, TL_FP32, t, TL_ROUNDING_RTNE);
   }
   LLVMValueRef v = LLVMBuildBinOp(cg->b, code, x[0], x[1], "");
   return is_float ? tl_cg_contract(cg, v) : v;
}

void
tl_emit_arith(TlCg *cg, const TlOp *op)
{
   each(cg, op, one_arith);
}

/* Integer division: a zero divisor must not be undefined behaviour for LLVM, so it is replaced by
 * 1; the language gives 0, which x % 1 is.  INT_MIN / -1 traps on some hosts, where -1 is replaced
 * as well: the quotient wraps.  PTX divides magnitudes, which wraps, and instruction selection
 * makes nothing of it that LLVM leaves it undefined. */
static LLVMValueRef
int_divide(TlCg *cg, TlDtype t, bool is_rem, const LLVMValueRef *x)
{
   assert(tl_dtype_is_int(t));
   LLVMTypeRef type = tl_cg_dtype(cg, t);
   LLVMValueRef zero = LLVMConstNull(type), one = LLVMConstInt(type, 1, 0);
   bool is_signed = tl_dtype_is_signed(t);
   bool is_const = LLVMIsAConstantInt(x[1]) != NULL;
   long long c = is_const ? LLVMConstIntGetSExtValue(x[1]) : 0;
   LLVMOpcode code = is_rem ? (is_signed ? LLVMSRem : LLVMURem) : (is_signed ? LLVMSDiv : LLVMUDiv);
   if (is_const && c != 0 && (c != -1 || !is_signed))
      return LLVMBuildBinOp(cg->b, code, x[0], x[1], "");
   LLVMValueRef bad = LLVMBuildICmp(cg->b, LLVMIntEQ, x[1], zero, "");
   LLVMValueRef instead = zero;
   if (is_signed && (cg->host || is_const)) {
      LLVMValueRef is_m1 = LLVMBuildICmp(cg->b, LLVMIntEQ, x[1], LLVMConstAllOnes(type), "");
      bad = LLVMBuildOr(cg->b, bad, is_m1, "");
      instead = LLVMBuildSelect(cg->b, is_m1, LLVMBuildNeg(cg->b, x[0], ""), zero, "");
   }
   LLVMValueRef safe = LLVMBuildSelect(cg->b, bad, one, x[1], "");
   LLVMValueRef q = LLVMBuildBinOp(cg->b, code, x[0], safe, "");
   return is_rem ? q : LLVMBuildSelect(cg->b, bad, instead, q, "");
}

static LLVMValueRef
one_div(TlCg *cg, const TlOp *op, const LLVMValueRef *x)
{
   TlDtype t = arg_dtype(op);
   if (!tl_dtype_is_float(t))
      return int_divide(cg, t, false, x);
   if (t == TL_FP64)
      return LLVMBuildFDiv(cg->b, x[0], x[1], "");
   LLVMValueRef a[] = {tl_cg_cast(cg, x[0], t, TL_FP32, TL_ROUNDING_RTNE),
                       tl_cg_cast(cg, x[1], t, TL_FP32, TL_ROUNDING_RTNE)};
   bool exact = op->opcode == TL_OP_DIV_RN || cg->func->strict_fp;
   LLVMValueRef q = exact ? LLVMBuildFDiv(cg->b, a[0], a[1], "")
                          : tl_cg_call(cg, "llvm.nvvm.div.full", cg->f32, a, 2);
   return tl_cg_cast(cg, q, TL_FP32, t, TL_ROUNDING_RTNE);
}

void
tl_emit_div(TlCg *cg, const TlOp *op)
{
   each(cg, op, one_div);
}

/* fmod: a zero has the sign of a, which LLVM's a - trunc(a / b) * b loses. */
static LLVMValueRef
float_rem(TlCg *cg, LLVMValueRef a, LLVMValueRef b)
{
   LLVMTypeRef t = LLVMTypeOf(a);
   LLVMValueRef r = LLVMBuildFRem(cg->b, a, b, "");
   LLVMValueRef is_zero = LLVMBuildFCmp(cg->b, LLVMRealOEQ, r, LLVMConstReal(t, 0), "");
   LLVMValueRef args[] = {r, a};
   return LLVMBuildSelect(cg->b, is_zero, tl_cg_overloaded(cg, "llvm.copysign", t, args, 2), r, "");
}

static LLVMValueRef
one_rem(TlCg *cg, const TlOp *op, const LLVMValueRef *x)
{
   TlDtype t = arg_dtype(op);
   if (!tl_dtype_is_float(t))
      return int_divide(cg, t, true, x);
   if (t == TL_FP64)
      return float_rem(cg, x[0], x[1]);
   LLVMValueRef a = tl_cg_cast(cg, x[0], t, TL_FP32, TL_ROUNDING_RTNE);
   LLVMValueRef b = tl_cg_cast(cg, x[1], t, TL_FP32, TL_ROUNDING_RTNE);
   return tl_cg_cast(cg, float_rem(cg, a, b), TL_FP32, t, TL_ROUNDING_RTNE);
}

void
tl_emit_rem(TlCg *cg, const TlOp *op)
{
   each(cg, op, one_rem);
}

static LLVMValueRef
int_minmax(TlCg *cg, TlDtype t, bool is_max, LLVMValueRef a, LLVMValueRef b)
{
   assert(tl_dtype_is_int(t));
   const char *name = tl_dtype_is_signed(t) ? (is_max ? "llvm.smax" : "llvm.smin")
                                            : (is_max ? "llvm.umax" : "llvm.umin");
   LLVMValueRef args[] = {a, b};
   return tl_cg_overloaded(cg, name, tl_cg_dtype(cg, t), args, 2);
}

static LLVMValueRef
float_minmax(TlCg *cg, TlDtype t, bool is_max, bool nan_all, LLVMValueRef a, LLVMValueRef b)
{
   assert(tl_dtype_is_float(t));
   const char *name = nan_all ? (is_max ? "llvm.maximum" : "llvm.minimum")
                              : (is_max ? "llvm.maxnum" : "llvm.minnum");
   bool is_own = t == TL_FP64 || t == TL_FP16 || t == TL_BF16;
   TlDtype wide = is_own ? t : TL_FP32;
   LLVMValueRef args[] = {tl_cg_cast(cg, a, t, wide, TL_ROUNDING_RTNE),
                          tl_cg_cast(cg, b, t, wide, TL_ROUNDING_RTNE)};
   if (t == TL_FP64 && nan_all) { /* no max.NaN.f64: the ordinary one, then a NaN test */
      LLVMValueRef m =
         tl_cg_overloaded(cg, is_max ? "llvm.maxnum" : "llvm.minnum", cg->f64, args, 2);
      LLVMValueRef nan = LLVMBuildFCmp(cg->b, LLVMRealUNO, a, b, "");
      return LLVMBuildSelect(cg->b, nan, LLVMBuildFAdd(cg->b, a, b, ""), m, "");
   }
   LLVMValueRef m = tl_cg_overloaded(cg, name, tl_cg_dtype(cg, wide), args, 2);
   LLVMValueRef narrow = tl_cg_cast(cg, m, wide, t, TL_ROUNDING_RTNE);
   if (!tl_dtype_is_fp8(t))
      return narrow;
   /* The conversion would make an infinity finite, so an operand is passed on as it is. */
   LLVMValueRef is_a =
      LLVMBuildICmp(cg->b, LLVMIntEQ, tl_cg_to_int(cg, m, 32), tl_cg_to_int(cg, args[0], 32), "");
   LLVMValueRef nan = LLVMBuildFCmp(cg->b, LLVMRealUNO, m, m, "");
   return LLVMBuildSelect(cg->b, nan, narrow, LLVMBuildSelect(cg->b, is_a, a, b, ""), "");
}

static LLVMValueRef
minmax(TlCg *cg, TlDtype t, bool is_max, bool nan_all, LLVMValueRef a, LLVMValueRef b)
{
   return tl_dtype_is_float(t) ? float_minmax(cg, t, is_max, nan_all, a, b)
                               : int_minmax(cg, t, is_max, a, b);
}

static LLVMValueRef
one_minmax(TlCg *cg, const TlOp *op, const LLVMValueRef *x)
{
   bool nan_all = tl_attr_int(op, TL_ATTR_NAN) == TL_NAN_ALL;
   return minmax(cg, arg_dtype(op), op->opcode == TL_OP_MAX, nan_all, x[0], x[1]);
}

void
tl_emit_minmax(TlCg *cg, const TlOp *op)
{
   each(cg, op, one_minmax);
}

static LLVMValueRef
one_clamp(TlCg *cg, const TlOp *op, const LLVMValueRef *x)
{
   bool nan_all = tl_attr_int(op, TL_ATTR_NAN) == TL_NAN_ALL;
   LLVMValueRef v = minmax(cg, arg_dtype(op), true, nan_all, x[0], x[1]);
   return minmax(cg, arg_dtype(op), false, nan_all, v, x[2]);
}

void
tl_emit_clamp(TlCg *cg, const TlOp *op)
{
   each(cg, op, one_clamp);
}

static LLVMValueRef
one_bitwise(TlCg *cg, const TlOp *op, const LLVMValueRef *x)
{
   LLVMOpcode code = op->opcode == TL_OP_AND ? LLVMAnd : op->opcode == TL_OP_OR ? LLVMOr : LLVMXor;
   return LLVMBuildBinOp(cg->b, code, x[0], x[1], "");
}

void
tl_emit_bitwise(TlCg *cg, const TlOp *op)
{
   each(cg, op, one_bitwise);
}

/* A count of the width or more is poison to LLVM, so it is clamped: left and logical shifts then
 * give 0, arithmetic ones the sign.  Never marked nsw: sext(shl nsw x, 31) is miscompiled by LLVM
 * 22 on NVPTX. */
static LLVMValueRef
one_shift(TlCg *cg, const TlOp *op, const LLVMValueRef *x)
{
   TlDtype t = arg_dtype(op);
   LLVMTypeRef type = tl_cg_dtype(cg, t);
   unsigned width = tl_dtype_info[t].bits;
   bool arithmetic = op->opcode == TL_OP_SHR && tl_dtype_is_signed(t);
   LLVMOpcode code = op->opcode == TL_OP_SHL ? LLVMShl : arithmetic ? LLVMAShr : LLVMLShr;
   if (LLVMIsAConstantInt(x[1]) && LLVMConstIntGetZExtValue(x[1]) < width)
      return LLVMBuildBinOp(cg->b, code, x[0], x[1], "");
   LLVMValueRef last = LLVMConstInt(type, width - 1, 0);
   LLVMValueRef over = LLVMBuildICmp(cg->b, LLVMIntUGT, x[1], last, "");
   LLVMValueRef count = LLVMBuildSelect(cg->b, over, last, x[1], "");
   LLVMValueRef y = LLVMBuildBinOp(cg->b, code, x[0], count, "");
   return arithmetic ? y : LLVMBuildSelect(cg->b, over, LLVMConstNull(type), y, "");
}

void
tl_emit_shift(TlCg *cg, const TlOp *op)
{
   each(cg, op, one_shift);
}

static LLVMValueRef
one_mulhi(TlCg *cg, const TlOp *op, const LLVMValueRef *x)
{
   TlDtype t = arg_dtype(op);
   unsigned bits = tl_dtype_info[t].bits;
   LLVMTypeRef wide = LLVMIntTypeInContext(cg->llvm, bits * 2);
   bool is_signed = tl_dtype_is_signed(t);
   LLVMValueRef a =
      is_signed ? LLVMBuildSExt(cg->b, x[0], wide, "") : LLVMBuildZExt(cg->b, x[0], wide, "");
   LLVMValueRef b =
      is_signed ? LLVMBuildSExt(cg->b, x[1], wide, "") : LLVMBuildZExt(cg->b, x[1], wide, "");
   LLVMValueRef product = LLVMBuildMul(cg->b, a, b, "");
   LLVMValueRef high = LLVMBuildLShr(cg->b, product, LLVMConstInt(wide, bits, 0), "");
   return LLVMBuildTrunc(cg->b, high, tl_cg_dtype(cg, t), "");
}

void
tl_emit_mulhi(TlCg *cg, const TlOp *op)
{
   each(cg, op, one_mulhi);
}

typedef struct Predicate {
   LLVMIntPredicate is_signed, is_unsigned;
   LLVMRealPredicate real;
} Predicate;

static Predicate
predicate(TlOpcode op)
{
   switch (op) {
   case TL_OP_EQ:
      return (Predicate){LLVMIntEQ, LLVMIntEQ, LLVMRealOEQ};
   case TL_OP_NE:
      return (Predicate){LLVMIntNE, LLVMIntNE, LLVMRealUNE};
   case TL_OP_LT:
      return (Predicate){LLVMIntSLT, LLVMIntULT, LLVMRealOLT};
   case TL_OP_LE:
      return (Predicate){LLVMIntSLE, LLVMIntULE, LLVMRealOLE};
   case TL_OP_GT:
      return (Predicate){LLVMIntSGT, LLVMIntUGT, LLVMRealOGT};
   default:
      assert(op == TL_OP_GE);
      return (Predicate){LLVMIntSGE, LLVMIntUGE, LLVMRealOGE};
   }
}

static LLVMValueRef
one_compare(TlCg *cg, const TlOp *op, const LLVMValueRef *x)
{
   Predicate p = predicate(op->opcode);
   if (is_ptr(tl_arg(op, 0)))
      return LLVMBuildICmp(cg->b, p.is_unsigned, x[0], x[1], "");
   TlDtype t = arg_dtype(op);
   if (!tl_dtype_is_float(t))
      return LLVMBuildICmp(cg->b, tl_dtype_is_signed(t) ? p.is_signed : p.is_unsigned, x[0], x[1],
                           "");
   TlDtype wide = t == TL_FP64 ? TL_FP64 : TL_FP32;
   return LLVMBuildFCmp(cg->b, p.real, tl_cg_cast(cg, x[0], t, wide, TL_ROUNDING_RTNE),
                        tl_cg_cast(cg, x[1], t, wide, TL_ROUNDING_RTNE), "");
}

void
tl_emit_compare(TlCg *cg, const TlOp *op)
{
   each(cg, op, one_compare);
}

/* ---- ternary, pointers, bits ---- */
/* fp64 to fp32, rounded to odd: of the two neighbours of an inexact value the one whose last bit is
 * set.  Rounding that once more to a type of at most 22 bits is right (Boldo, Melquiond 2008). */
static LLVMValueRef
round_to_odd(TlCg *cg, LLVMValueRef v)
{
   LLVMValueRef near = LLVMBuildFPTrunc(cg->b, v, cg->f32, "");
   LLVMValueRef bits = LLVMBuildBitCast(cg->b, near, cg->i32, "");
   LLVMValueRef back = LLVMBuildFPExt(cg->b, near, cg->f64, ""), zero = LLVMConstReal(cg->f64, 0);
   LLVMValueRef is_even = LLVMBuildICmp(
      cg->b, LLVMIntEQ, LLVMBuildAnd(cg->b, bits, tl_cg_i32(cg, 1), ""), tl_cg_i32(cg, 0), "");
   LLVMValueRef is_inexact = LLVMBuildFCmp(cg->b, LLVMRealONE, v, back, "");
   LLVMValueRef is_above = LLVMBuildFCmp(cg->b, LLVMRealOGT, v, back, "");
   LLVMValueRef is_positive = LLVMBuildFCmp(cg->b, LLVMRealOGT, back, zero, "");
   LLVMValueRef away = LLVMBuildICmp(cg->b, LLVMIntEQ, is_above, is_positive, "");
   LLVMValueRef step = LLVMBuildSelect(cg->b, away, tl_cg_i32(cg, 1), tl_cg_i32(cg, -1), "");
   LLVMValueRef moves = LLVMBuildAnd(cg->b, is_even, is_inexact, "");
   step = LLVMBuildSelect(cg->b, moves, step, tl_cg_i32(cg, 0), "");
   return LLVMBuildBitCast(cg->b, LLVMBuildAdd(cg->b, bits, step, ""), cg->f32, "");
}

/* A sum of a product of fp8 numbers and an fp8 number has at most 49 bits: exact in fp64, while
 * fp32 would round it a first time. */
static LLVMValueRef
one_fma(TlCg *cg, const TlOp *op, const LLVMValueRef *x)
{
   TlDtype t = arg_dtype(op);
   if (!tl_dtype_is_fp8(t))
      return tl_cg_overloaded(cg, "llvm.fma", tl_cg_dtype(cg, t), x, 3);
   LLVMValueRef wide[3];
   for (unsigned i = 0; i < 3; i++)
      wide[i] = LLVMBuildFPExt(cg->b, fp8_to_wide(cg, t, x[i]), cg->f64, "");
   LLVMValueRef sum = tl_cg_overloaded(cg, "llvm.fma", cg->f64, wide, 3);
   return tl_cg_cast(cg, round_to_odd(cg, sum), TL_FP32, t, TL_ROUNDING_RTNE);
}

void
tl_emit_fma(TlCg *cg, const TlOp *op)
{
   each(cg, op, one_fma);
}

/* LLVM makes two selects of one whose condition is a conjunction; in SASS the second comparison
 * takes the first one's predicate for nothing, so the conjunction is kept from it. */
static LLVMValueRef
whole_condition(TlCg *cg, LLVMValueRef c)
{
   if (cg->host || !LLVMIsAInstruction(c) || LLVMGetInstructionOpcode(c) != LLVMAnd)
      return c;
   LLVMValueRef both[] = {LLVMGetOperand(c, 0), LLVMGetOperand(c, 1)};
   return tl_cg_asm(cg, "and.pred $0, $1, $2;", "=b,b,b", LLVMTypeOf(c), both, 2, 0);
}

static LLVMValueRef
one_select(TlCg *cg, const TlOp *op, const LLVMValueRef *x)
{
   bool is_tile = tl_result(op, 0)->type->kind == TL_TYPE_REGS;
   return LLVMBuildSelect(cg->b, is_tile ? whole_condition(cg, x[0]) : x[0], x[1], x[2], "");
}

void
tl_emit_select(TlCg *cg, const TlOp *op)
{
   each(cg, op, one_select);
}

static LLVMValueRef
one_addptr(TlCg *cg, const TlOp *op, const LLVMValueRef *x)
{
   const TlType *pointee = tl_type_elem(tl_arg(op, 0)->type)->elem;
   TlDtype offset = tl_type_elem(tl_arg(op, 1)->type)->dtype;
   unsigned bytes = tl_cg_elem_bits(pointee) / 8;
   LLVMTypeRef unit = bytes == 1 ? cg->i8 : LLVMIntTypeInContext(cg->llvm, bytes * 8);
   LLVMValueRef i = x[1];
   if (tl_dtype_info[offset].bits < 64)
      i = tl_dtype_is_signed(offset) ? LLVMBuildSExt(cg->b, i, cg->i64, "")
                                     : LLVMBuildZExt(cg->b, i, cg->i64, "");
   return LLVMBuildGEP2(cg->b, unit, x[0], &i, 1, "");
}

void
tl_emit_addptr(TlCg *cg, const TlOp *op)
{
   each(cg, op, one_addptr);
}

static LLVMValueRef
one_bitcast(TlCg *cg, const TlOp *op, const LLVMValueRef *x)
{
   const TlType *from = tl_type_elem(tl_arg(op, 0)->type);
   const TlType *to = tl_type_elem(tl_result(op, 0)->type);
   LLVMTypeRef type = tl_cg_elem(cg, to);
   if (LLVMTypeOf(x[0]) == type)
      return x[0];
   if (from->kind == TL_TYPE_PTR)
      return LLVMBuildPtrToInt(cg->b, x[0], type, "");
   if (to->kind == TL_TYPE_PTR)
      return LLVMBuildIntToPtr(cg->b, x[0], type, "");
   return LLVMBuildBitCast(cg->b, x[0], type, "");
}

void
tl_emit_bitcast(TlCg *cg, const TlOp *op)
{
   each(cg, op, one_bitcast);
}

static LLVMValueRef
one_cast(TlCg *cg, const TlOp *op, const LLVMValueRef *x)
{
   TlDtype to = tl_type_elem(tl_result(op, 0)->type)->dtype;
   return tl_cg_cast(cg, x[0], arg_dtype(op), to, (int)tl_attr_int(op, TL_ATTR_ROUNDING));
}

void
tl_emit_cast(TlCg *cg, const TlOp *op)
{
   TlDtype from = arg_dtype(op), to = tl_type_elem(tl_result(op, 0)->type)->dtype;
   if (!tl_cg_casts_in_pairs(cg, from, to, (int)tl_attr_int(op, TL_ATTR_ROUNDING))) {
      each(cg, op, one_cast);
      return;
   }
   TlRegs x = tl_cg_use(cg, tl_arg(op, 0)), dst = tl_cg_def(cg, tl_result(op, 0));
   for (unsigned r = 0; r < dst.count; r += 2) {
      bool is_last = r + 1 == dst.count;
      LLVMValueRef pair[2] = {x.v[r], is_last ? LLVMConstNull(LLVMTypeOf(x.v[r])) : x.v[r + 1]};
      LLVMValueRef out[2];
      tl_cg_cast_pair(cg, pair, from, to, out);
      dst.v[r] = out[0];
      if (!is_last)
         dst.v[r + 1] = out[1];
   }
}
