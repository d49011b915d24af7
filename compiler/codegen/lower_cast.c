/* Numeric conversions.  Patterns that LLVM 22's NVPTX back end miscompiles are avoided: float to i1
 * is a comparison, i1 to float a select.  fp8 kinds go through fp16 (hardware) or bit
 * arithmetic. */
#include "codegen/cg.h"

#include <math.h>
#include <stdio.h>

static LLVMValueRef
to_bool(TlCg *cg, LLVMValueRef v, TlDtype from)
{
   if (tl_dtype_is_float(from))
      return LLVMBuildFCmp(cg->b, LLVMRealUNE, v, LLVMConstNull(LLVMTypeOf(v)), "");
   return LLVMBuildICmp(cg->b, LLVMIntNE, v, LLVMConstNull(LLVMTypeOf(v)), "");
}

static LLVMValueRef
int_to_int(TlCg *cg, LLVMValueRef v, TlDtype from, TlDtype to)
{
   unsigned a = tl_dtype_info[from].bits, b = tl_dtype_info[to].bits;
   LLVMTypeRef type = tl_cg_dtype(cg, to);
   if (a == b)
      return v;
   if (a > b)
      return LLVMBuildTrunc(cg->b, v, type, "");
   return tl_dtype_is_signed(from) ? LLVMBuildSExt(cg->b, v, type, "")
                                   : LLVMBuildZExt(cg->b, v, type, "");
}

static LLVMValueRef
int_to_float(TlCg *cg, LLVMValueRef v, TlDtype from, TlDtype to)
{
   LLVMTypeRef type = tl_cg_dtype(cg, to);
   if (from == TL_I1)
      return LLVMBuildSelect(cg->b, v, LLVMConstReal(type, 1.0), LLVMConstReal(type, 0.0), "");
   /* 8 and 16 bits first become 32, for which every cvt exists. */
   if (tl_dtype_info[from].bits < 32) {
      bool is_signed = tl_dtype_is_signed(from);
      v = is_signed ? LLVMBuildSExt(cg->b, v, cg->i32, "") : LLVMBuildZExt(cg->b, v, cg->i32, "");
      from = is_signed ? TL_I32 : TL_U32;
   }
   return tl_dtype_is_signed(from) ? LLVMBuildSIToFP(cg->b, v, type, "")
                                   : LLVMBuildUIToFP(cg->b, v, type, "");
}

/* x of a value that is rint(x), else NULL. */
static LLVMValueRef
rounded_from(LLVMValueRef v)
{
   static const char rint[] = "llvm.rint.f32";
   size_t len;
   LLVMValueRef f = LLVMIsACallInst(v) ? LLVMGetCalledValue(v) : NULL;
   const char *name = f ? LLVMGetValueName2(f, &len) : "";
   return strcmp(name, rint) == 0 ? LLVMGetOperand(v, 0) : NULL;
}

/* A float out of an integer type's range becomes the nearest number that it has, as cvt.rzi does;
 * one for 8 bits becomes one of 16, of which the low byte is taken: so does what LLVM makes of the
 * conversion in Triton, and programs for it quantise by that. */
static unsigned
saturated_bits(TlDtype to)
{
   unsigned bits = tl_dtype_info[to].bits;
   return bits < 16 ? 16 : bits;
}

/* cvt from fp32, toward zero or, of rint(x), to the nearest: saturates to the type's range; NaN
 * gives 0, to 64 bits the smallest (PTX ISA, "cvt").  LLVM's fptosi.sat means the same but for that
 * NaN, and is compares and selects around it. */
static LLVMValueRef
fp32_to_int(TlCg *cg, LLVMValueRef v, TlDtype to)
{
   char text[40];
   unsigned bits = saturated_bits(to);
   LLVMValueRef x = rounded_from(v);
   bool is_rounded = x != NULL;
   x = is_rounded ? x : v;
   snprintf(text, sizeof text, "cvt.r%ci.%c%u.f32 $0, $1;", is_rounded ? 'n' : 'z',
            tl_dtype_is_signed(to) ? 's' : 'u', bits);
   if (bits < 64) {
      LLVMValueRef y = tl_cg_asm(cg, text, "=r,f", cg->i32, &x, 1, 0);
      return bits < 32 ? LLVMBuildTrunc(cg->b, y, tl_cg_dtype(cg, to), "") : y;
   }
   LLVMValueRef y = tl_cg_asm(cg, text, "=l,f", cg->i64, &x, 1, 0);
   LLVMValueRef is_nan = LLVMBuildFCmp(cg->b, LLVMRealUNO, x, x, "");
   LLVMValueRef top = LLVMBuildShl(cg->b, LLVMBuildZExt(cg->b, is_nan, cg->i64, ""),
                                   LLVMConstInt(cg->i64, 63, 0), "");
   return LLVMBuildXor(cg->b, y, top, ""); /* which is gone where only the low bits are used */
}

/* Truncates; saturates out of range and gives 0 for NaN, as cvt.rzi does. */
static LLVMValueRef
float_to_int(TlCg *cg, LLVMValueRef v, TlDtype from, TlDtype to)
{
   if (from != TL_FP32 && from != TL_FP64) {
      v = LLVMBuildFPExt(cg->b, v, cg->f32, "");
      from = TL_FP32;
   }
   bool is_signed = tl_dtype_is_signed(to);
   unsigned bits = saturated_bits(to);
   if (!cg->host && from == TL_FP32 && to != TL_I1)
      return fp32_to_int(cg, v, to);
   LLVMTypeRef wide = bits == 64 ? cg->i64 : cg->i32;
   LLVMTypeRef types[] = {wide, tl_cg_dtype(cg, from)};
   const char *name = is_signed ? "llvm.fptosi.sat" : "llvm.fptoui.sat";
   unsigned id = LLVMLookupIntrinsicID(name, 15);
   LLVMValueRef f = LLVMGetIntrinsicDeclaration(cg->mod, id, types, 2);
   LLVMTypeRef ft = LLVMIntrinsicGetType(cg->llvm, id, types, 2);
   LLVMValueRef y = LLVMBuildCall2(cg->b, ft, f, &v, 1, "");
   if (bits >= 32)
      return y;
   int64_t hi = is_signed ? (1LL << (bits - 1)) - 1 : (1LL << bits) - 1;
   LLVMValueRef top[] = {y, tl_cg_i32(cg, hi)};
   y = tl_cg_overloaded(cg, is_signed ? "llvm.smin" : "llvm.umin", cg->i32, top, 2);
   if (is_signed) {
      LLVMValueRef bottom[] = {y, tl_cg_i32(cg, -hi - 1)};
      y = tl_cg_overloaded(cg, "llvm.smax", cg->i32, bottom, 2);
   }
   return LLVMBuildTrunc(cg->b, y, tl_cg_dtype(cg, to), "");
}

/* ---- fp8 ---- */
/* By bit arithmetic: the 7 magnitude bits move to fp32's exponent and fraction, and a
 * multiplication by a power of two corrects the bias (exact, and the result is normal). */
static LLVMValueRef
fp8_to_f32(TlCg *cg, LLVMValueRef v, TlDtype from)
{
   unsigned shift = 23 - tl_dtype_info[from].mantissa;
   LLVMValueRef w = LLVMBuildZExt(cg->b, v, cg->i32, "");
   LLVMValueRef mag = LLVMBuildAnd(cg->b, w, tl_cg_i32(cg, 0x7F), "");
   LLVMValueRef bits = LLVMBuildShl(cg->b, mag, tl_cg_i32(cg, shift), "");
   LLVMValueRef f = LLVMBuildBitCast(cg->b, bits, cg->f32, "");
   f = LLVMBuildFMul(cg->b, f, tl_cg_f32(cg, ldexp(1, 127 - tl_dtype_info[from].bias)), "");
   LLVMValueRef y = LLVMBuildBitCast(cg->b, f, cg->i32, "");
   uint32_t inf = 0x7C, nan = 0x7F;
   if (from == TL_FP8E5) {
      LLVMValueRef is_inf = LLVMBuildICmp(cg->b, LLVMIntEQ, mag, tl_cg_i32(cg, inf), "");
      LLVMValueRef is_nan = LLVMBuildICmp(cg->b, LLVMIntUGT, mag, tl_cg_i32(cg, inf), "");
      y = LLVMBuildSelect(cg->b, is_inf, tl_cg_i32(cg, 0x7F800000), y, "");
      y = LLVMBuildSelect(cg->b, is_nan, tl_cg_i32(cg, 0x7FC00000), y, "");
   } else if (from == TL_FP8E4NV) {
      LLVMValueRef is_nan = LLVMBuildICmp(cg->b, LLVMIntEQ, mag, tl_cg_i32(cg, nan), "");
      y = LLVMBuildSelect(cg->b, is_nan, tl_cg_i32(cg, 0x7FC00000), y, "");
   }
   LLVMValueRef sign =
      LLVMBuildShl(cg->b, LLVMBuildAnd(cg->b, w, tl_cg_i32(cg, 0x80), ""), tl_cg_i32(cg, 24), "");
   return LLVMBuildBitCast(cg->b, LLVMBuildOr(cg->b, y, sign, ""), cg->f32, "");
}

typedef struct Fp8Format {
   int mantissa, bias;
   uint32_t max_bits; /* largest finite pattern */
   double max_value;
   uint32_t nan_bits;
} Fp8Format;

static Fp8Format
fp8_format(TlDtype t)
{
   if (t == TL_FP8E5)
      return (Fp8Format){2, 15, 0x7B, 57344.0, 0x7F};
   if (t == TL_FP8E4NV)
      return (Fp8Format){3, 7, 0x7E, 448.0, 0x7F};
   return (Fp8Format){3, 15, 0x7F, 1.875, 0x7F};
}

/* Round to nearest even by integer arithmetic on the fp32 pattern, saturating: normals keep
 * `mantissa` fraction bits after adding half an ulp and the odd bit; subnormals are rounded by
 * adding a magic float whose ulp is the smallest subnormal.  Toward zero: nothing is added, and
 * subnormals are counted in units of the smallest. */
static LLVMValueRef
f32_to_fp8(TlCg *cg, LLVMValueRef v, TlDtype to, bool toward_zero)
{
   Fp8Format f = fp8_format(to);
   LLVMValueRef bits = LLVMBuildBitCast(cg->b, v, cg->i32, "");
   LLVMValueRef sign = LLVMBuildAnd(cg->b, LLVMBuildLShr(cg->b, bits, tl_cg_i32(cg, 24), ""),
                                    tl_cg_i32(cg, 0x80), "");
   LLVMValueRef mag = LLVMBuildAnd(cg->b, bits, tl_cg_i32(cg, 0x7FFFFFFF), "");
   int drop = 23 - f.mantissa;
   LLVMValueRef odd =
      LLVMBuildAnd(cg->b, LLVMBuildLShr(cg->b, mag, tl_cg_i32(cg, drop), ""), tl_cg_i32(cg, 1), "");
   LLVMValueRef half = tl_cg_i32(cg, (1 << (drop - 1)) - 1);
   LLVMValueRef rounded =
      toward_zero ? mag : LLVMBuildAdd(cg->b, mag, LLVMBuildAdd(cg->b, half, odd, ""), "");
   LLVMValueRef normal = LLVMBuildSub(cg->b, LLVMBuildLShr(cg->b, rounded, tl_cg_i32(cg, drop), ""),
                                      tl_cg_i32(cg, (int64_t)(127 - f.bias) << f.mantissa), "");
   /* magic = 2^(23 + 1 - bias - mantissa): its ulp is 2^(1 - bias - mantissa) */
   uint32_t magic = (uint32_t)(127 + 23 + 1 - f.bias - f.mantissa) << 23;
   LLVMValueRef magic_f = LLVMConstBitCast(LLVMConstInt(cg->i32, magic, 0), cg->f32);
   LLVMValueRef mag_f = LLVMBuildBitCast(cg->b, mag, cg->f32, "");
   LLVMValueRef sum = LLVMBuildFAdd(cg->b, mag_f, magic_f, "");
   LLVMValueRef sub = LLVMBuildSub(cg->b, LLVMBuildBitCast(cg->b, sum, cg->i32, ""),
                                   LLVMConstInt(cg->i32, magic, 0), "");
   if (toward_zero) {
      double units = (double)(1u << (f.bias - 1 + f.mantissa));
      sub = LLVMBuildFMul(cg->b, mag_f, tl_cg_f32(cg, units), "");
      sub = LLVMBuildFPToUI(cg->b, sub, cg->i32, "");
   }
   LLVMValueRef smallest_normal = LLVMConstInt(cg->i32, (uint32_t)(128 - f.bias) << 23, 0);
   LLVMValueRef is_sub = LLVMBuildICmp(cg->b, LLVMIntULT, mag, smallest_normal, "");
   LLVMValueRef y = LLVMBuildSelect(cg->b, is_sub, sub, normal, "");
   LLVMValueRef cap[] = {y, tl_cg_i32(cg, f.max_bits)};
   LLVMValueRef over = LLVMBuildFCmp(cg->b, LLVMRealOGE, mag_f, tl_cg_f32(cg, f.max_value), "");
   y = tl_cg_overloaded(cg, "llvm.umin", cg->i32, cap, 2);
   y = LLVMBuildSelect(cg->b, over, tl_cg_i32(cg, f.max_bits), y, "");
   y = LLVMBuildOr(cg->b, y, sign, "");
   LLVMValueRef nan = LLVMBuildFCmp(cg->b, LLVMRealUNO, v, v, ""); /* one NaN, without sign */
   y = LLVMBuildSelect(cg->b, nan, tl_cg_i32(cg, f.nan_bits), y, "");
   return LLVMBuildTrunc(cg->b, y, cg->i8, "");
}

static LLVMValueRef
round_toward_zero(TlCg *cg, LLVMValueRef v, TlDtype from, TlDtype to)
{
   const char *text = to == TL_FP16   ? "cvt.rz.f16.f32 $0, $1;"
                      : to == TL_BF16 ? "cvt.rz.bf16.f32 $0, $1;"
                                      : "cvt.rz.f32.f64 $0, $1;";
   if (to == TL_FP32)
      return tl_cg_asm(cg, text, "=f,d", cg->f32, &v, 1, 0);
   if (from == TL_FP64)
      v = tl_cg_asm(cg, "cvt.rz.f32.f64 $0, $1;", "=f,d", cg->f32, &v, 1, 0);
   LLVMValueRef h = tl_cg_asm(cg, text, "=h,f", cg->i16, &v, 1, 0);
   return LLVMBuildBitCast(cg->b, h, tl_cg_dtype(cg, to), "");
}

static LLVMValueRef
float_to_float(TlCg *cg, LLVMValueRef v, TlDtype from, TlDtype to, int rounding)
{
   unsigned a = tl_dtype_info[from].bits, b = tl_dtype_info[to].bits;
   if (a == 8)
      return tl_cg_cast(cg, fp8_to_f32(cg, v, from), TL_FP32, to, rounding);
   if (b == 8)
      return f32_to_fp8(cg, tl_cg_cast(cg, v, from, TL_FP32, rounding), to,
                        rounding == TL_ROUNDING_RTZ);
   if (a == 16 && b == 16) /* fp16 <-> bf16 through fp32 */
      return tl_cg_cast(cg, LLVMBuildFPExt(cg->b, v, cg->f32, ""), TL_FP32, to, rounding);
   if (a < b)
      return LLVMBuildFPExt(cg->b, v, tl_cg_dtype(cg, to), "");
   if (rounding == TL_ROUNDING_RTZ)
      return round_toward_zero(cg, v, from, to);
   return LLVMBuildFPTrunc(cg->b, v, tl_cg_dtype(cg, to), "");
}

LLVMValueRef
tl_cg_cast(TlCg *cg, LLVMValueRef v, TlDtype from, TlDtype to, int rounding)
{
   if (from == to)
      return v;
   bool from_float = tl_dtype_is_float(from), to_float = tl_dtype_is_float(to);
   if (from_float && tl_dtype_info[from].bits == 8 && !to_float)
      return tl_cg_cast(cg, fp8_to_f32(cg, v, from), TL_FP32, to, rounding);
   if (!from_float && to_float && tl_dtype_info[to].bits == 8)
      return f32_to_fp8(cg, int_to_float(cg, v, from, TL_FP32), to, rounding == TL_ROUNDING_RTZ);
   if (to == TL_I1)
      return to_bool(cg, v, from);
   if (from_float && to_float)
      return float_to_float(cg, v, from, to, rounding);
   if (from_float)
      return float_to_int(cg, v, from, to);
   return to_float ? int_to_float(cg, v, from, to) : int_to_int(cg, v, from, to);
}

/* ---- pairs of fp8 by the hardware's conversions: PTX ISA "cvt" ---- */
static bool
has_fp8_cvt(TlCg *cg, TlDtype t)
{
   uint32_t ptx = cg->target->sm >= 90 ? 78 : 81;
   return (t == TL_FP8E4NV || t == TL_FP8E5) && (cg->target->features & TL_FEAT_FP8_CVT) &&
          cg->target->max_ptx >= ptx && !cg->host;
}

bool
tl_cg_casts_in_pairs(TlCg *cg, TlDtype from, TlDtype to, int rounding)
{
   if (tl_dtype_info[from].bits == 8 && tl_dtype_is_float(from))
      return has_fp8_cvt(cg, from) && tl_dtype_is_float(to) && tl_dtype_info[to].bits > 8;
   return has_fp8_cvt(cg, to) && tl_dtype_is_float(from) && rounding == TL_ROUNDING_RTNE;
}

void
tl_cg_cast_pair(TlCg *cg, const LLVMValueRef v[2], TlDtype from, TlDtype to, LLVMValueRef out[2])
{
   tl_cg_needs_ptx(cg, cg->target->sm >= 90 ? 78 : 81);
   char text[64];
   LLVMValueRef eight = LLVMConstInt(cg->i16, 8, 0);
   if (tl_dtype_info[to].bits == 8) {
      LLVMValueRef f[2];
      for (unsigned i = 0; i < 2; i++)
         f[i] = tl_cg_cast(cg, v[i], from, TL_FP32, TL_ROUNDING_RTNE);
      snprintf(text, sizeof text, "cvt.rn.satfinite.%s.f32 $0, $2, $1;",
               to == TL_FP8E5 ? "e5m2x2" : "e4m3x2");
      LLVMValueRef both = tl_cg_asm(cg, text, "=h,f,f", cg->i16, f, 2, 0);
      out[0] = LLVMBuildTrunc(cg->b, both, cg->i8, "");
      out[1] = LLVMBuildTrunc(cg->b, LLVMBuildLShr(cg->b, both, eight, ""), cg->i8, "");
      return;
   }
   LLVMValueRef low = LLVMBuildZExt(cg->b, v[0], cg->i16, "");
   LLVMValueRef high = LLVMBuildShl(cg->b, LLVMBuildZExt(cg->b, v[1], cg->i16, ""), eight, "");
   LLVMValueRef both = LLVMBuildOr(cg->b, low, high, ""), half[2];
   snprintf(text, sizeof text, "cvt.rn.f16x2.%s $0, $1;", from == TL_FP8E5 ? "e5m2x2" : "e4m3x2");
   LLVMValueRef word = tl_cg_asm(cg, text, "=r,h", cg->i32, &both, 1, 0);
   tl_cg_unpack(cg, &word, 1, 32, cg->f16, 16, half);
   for (unsigned i = 0; i < 2; i++)
      out[i] = tl_cg_cast(cg, half[i], TL_FP16, to, TL_ROUNDING_RTNE);
}
