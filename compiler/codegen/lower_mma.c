/* mma.sync: one row a kind.  Register order of fragments as in PTX ISA "Warp Level Matrix Multiply-
 * Accumulate Instructions"; operand order of the repetitions as ops.def says for `mma`. */
#include "codegen/cg.h"

#include <assert.h>

typedef struct MmaKind {
   const char *intrinsic;
   uint8_t a_words, b_words, c_regs; /* registers of one instruction; a and b as 32-bit words */
   uint8_t elem_bits;                /* of a and b */
   enum { AS_HALF2, AS_I32, AS_F64 } operands;
   enum { C_F32, C_HALF2, C_I32, C_F64 } accumulator;
} MmaKind;

static const MmaKind mma_kind[] = {
   [TL_MMA_F16_F32] = {"llvm.nvvm.mma.m16n8k16.row.col.f32.f32", 4, 2, 4, 16, AS_HALF2, C_F32},
   [TL_MMA_BF16_F32] = {"llvm.nvvm.mma.m16n8k16.row.col.bf16", 4, 2, 4, 16, AS_I32, C_F32},
   [TL_MMA_F16_F16] = {"llvm.nvvm.mma.m16n8k16.row.col.f16.f16", 4, 2, 4, 16, AS_HALF2, C_HALF2},
   [TL_MMA_TF32_F32] = {"llvm.nvvm.mma.m16n8k8.row.col.tf32", 4, 2, 4, 32, AS_I32, C_F32},
   [TL_MMA_E4M3_F32] = {"llvm.nvvm.mma.m16n8k32.row.col.f32.e4m3.e4m3.f32", 4, 2, 4, 8, AS_I32,
                        C_F32},
   [TL_MMA_E5M2_F32] = {"llvm.nvvm.mma.m16n8k32.row.col.f32.e5m2.e5m2.f32", 4, 2, 4, 8, AS_I32,
                        C_F32},
   [TL_MMA_E4M3_E5M2_F32] = {"llvm.nvvm.mma.m16n8k32.row.col.f32.e4m3.e5m2.f32", 4, 2, 4, 8, AS_I32,
                             C_F32},
   [TL_MMA_E5M2_E4M3_F32] = {"llvm.nvvm.mma.m16n8k32.row.col.f32.e5m2.e4m3.f32", 4, 2, 4, 8, AS_I32,
                             C_F32},
   [TL_MMA_S8_S32] = {"llvm.nvvm.mma.m16n8k32.row.col.s8", 4, 2, 4, 8, AS_I32, C_I32},
   [TL_MMA_U8_S32] = {"llvm.nvvm.mma.m16n8k32.row.col.u8", 4, 2, 4, 8, AS_I32, C_I32},
   [TL_MMA_F64] = {"llvm.nvvm.mma.m8n8k4.row.col.f64", 1, 1, 2, 64, AS_F64, C_F64},
};

/* Packs an operand's registers into the words that the intrinsic takes. */
static LLVMValueRef *
operand_words(TlCg *cg, const MmaKind *k, TlRegs x, unsigned *num)
{
   LLVMValueRef *w = tl_new_array(cg->arena, LLVMValueRef, x.count);
   if (k->operands == AS_F64) {
      for (unsigned i = 0; i < x.count; i++)
         w[i] = x.v[i];
      *num = x.count;
      return w;
   }
   *num = tl_cg_pack(cg, x.v, x.count, k->elem_bits, 32, w);
   if (k->operands == AS_HALF2)
      for (unsigned i = 0; i < *num; i++)
         w[i] = LLVMBuildBitCast(cg->b, w[i], LLVMVectorType(cg->f16, 2), "");
   return w;
}

static LLVMTypeRef
accumulator_type(TlCg *cg, const MmaKind *k, unsigned *values)
{
   *values = k->accumulator == C_HALF2 ? k->c_regs / 2u : k->c_regs;
   LLVMTypeRef t = k->accumulator == C_F32   ? cg->f32
                   : k->accumulator == C_I32 ? cg->i32
                   : k->accumulator == C_F64 ? cg->f64
                                             : LLVMVectorType(cg->f16, 2);
   LLVMTypeRef parts[4] = {t, t, t, t};
   return LLVMStructTypeInContext(cg->llvm, parts, *values, 0);
}

static void
one_mma(TlCg *cg, const MmaKind *k, const LLVMValueRef *a, const LLVMValueRef *b, LLVMValueRef *c)
{
   LLVMValueRef args[10];
   unsigned n = 0, values;
   LLVMTypeRef ret = accumulator_type(cg, k, &values);
   for (unsigned i = 0; i < k->a_words; i++)
      args[n++] = a[i];
   for (unsigned i = 0; i < k->b_words; i++)
      args[n++] = b[i];
   LLVMTypeRef half2 = LLVMVectorType(cg->f16, 2);
   if (k->accumulator == C_HALF2) {
      LLVMValueRef words[2];
      tl_cg_pack(cg, c, k->c_regs, 16, 32, words);
      for (unsigned i = 0; i < values; i++)
         args[n++] = LLVMBuildBitCast(cg->b, words[i], half2, "");
   } else {
      for (unsigned i = 0; i < k->c_regs; i++)
         args[n++] = c[i];
   }
   LLVMValueRef r = tl_cg_call(cg, k->intrinsic, ret, args, n);
   for (unsigned i = 0; i < values; i++) {
      LLVMValueRef v = LLVMBuildExtractValue(cg->b, r, i, "");
      if (k->accumulator != C_HALF2) {
         c[i] = v;
         continue;
      }
      c[2 * i] = LLVMBuildExtractElement(cg->b, v, tl_cg_i32(cg, 0), "");
      c[2 * i + 1] = LLVMBuildExtractElement(cg->b, v, tl_cg_i32(cg, 1), "");
   }
}

/* A use of the sum that ptxas cannot move or leave out.  In a loop around a chain of m8n8k4 on one
 * accumulator, ptxas 12.8 to 13.0 (optimization 3) lets the next trip's first instruction begin 19
 * cycles after the last one of this trip, without waiting for what it adds to; wrong sums came of
 * it on an H100.  What depends on the sum is a profiler's event, at a NaN that nothing makes. */
static void
await_sum(TlCg *cg, LLVMValueRef sum)
{
   static const char text[] = "{ .reg .b32 %low, %high; .reg .pred %never; "
                              "mov.b64 {%low, %high}, $0; "
                              "setp.eq.u32 %never, %high, 0x7ff7a11e; @%never pmevent 0; }";
   tl_cg_asm(cg, text, "d", cg->voidt, &sum, 1, TL_ASM_EFFECT);
}

void
tl_emit_mma(TlCg *cg, const TlOp *op)
{
   TlReps reps = tl_attr_reps(op);
   unsigned m = (unsigned)reps.m, n = (unsigned)reps.n, ks = (unsigned)reps.k;
   int64_t mma = tl_attr_int(op, TL_ATTR_MMA);
   if (!tl_target_has_mma(cg->target, mma)) {
      tl_cg_unsupported(cg, "this dot", "the target has no matrix instruction for its dtypes");
      return;
   }
   tl_cg_needs_ptx(cg, tl_mma_ptx(mma));
   const MmaKind *k = &mma_kind[mma];
   unsigned na, nb;
   LLVMValueRef *a = operand_words(cg, k, tl_cg_use(cg, tl_arg(op, 0)), &na);
   LLVMValueRef *b = operand_words(cg, k, tl_cg_use(cg, tl_arg(op, 1)), &nb);
   assert(na == m * ks * k->a_words && nb == n * ks * k->b_words);
   TlRegs c = tl_cg_use(cg, tl_arg(op, 2)), dst = tl_cg_def(cg, tl_result(op, 0));
   assert(dst.count == m * n * k->c_regs);
   for (unsigned i = 0; i < dst.count; i++)
      dst.v[i] = c.v[i];
   /* k outermost: consecutive instructions are independent. */
   for (unsigned ki = 0; ki < ks; ki++)
      for (unsigned mi = 0; mi < m; mi++)
         for (unsigned ni = 0; ni < n; ni++)
            one_mma(cg, k, &a[(mi * ks + ki) * k->a_words], &b[(ni * ks + ki) * k->b_words],
                    &dst.v[(mi * n + ni) * k->c_regs]);
   if (mma == TL_MMA_F64 && m * n == 1 && !cg->host)
      await_sum(cg, dst.v[0]);
}

/* cvt.rna.tf32 (PTX ISA, "cvt"); on the host by integer arithmetic, which carries into the exponent
 * as rounding does. */
void
tl_emit_round_tf32(TlCg *cg, const TlOp *op)
{
   TlRegs x = tl_cg_use(cg, tl_arg(op, 0)), dst = tl_cg_def(cg, tl_result(op, 0));
   assert(x.count == dst.count);
   for (unsigned i = 0; i < dst.count; i++) {
      if (!cg->host) {
         LLVMValueRef bits = tl_cg_call(cg, "llvm.nvvm.f2tf32.rna", cg->i32, &x.v[i], 1);
         dst.v[i] = LLVMBuildBitCast(cg->b, bits, cg->f32, "");
         continue;
      }
      LLVMValueRef bits = LLVMBuildBitCast(cg->b, x.v[i], cg->i32, "");
      bits = LLVMBuildAdd(cg->b, bits, tl_cg_i32(cg, 0x1000), "");
      bits = LLVMBuildAnd(cg->b, bits, LLVMConstInt(cg->i32, 0xffffe000, 0), "");
      LLVMValueRef rounded = LLVMBuildBitCast(cg->b, bits, cg->f32, "");
      LLVMValueRef is_nan = LLVMBuildFCmp(cg->b, LLVMRealUNO, x.v[i], x.v[i], "");
      dst.v[i] = LLVMBuildSelect(cg->b, is_nan, x.v[i], rounded, "");
   }
}
