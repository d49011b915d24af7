/* Both halves of a word that are both taken come out of it by one mov.b32 {low, high}, and not the
 * low one by cvt.u16.u32: of that ptxas does not see that it lies in the same register as the other
 * already, so it exchanges the halves before each instruction on pairs and again behind it. */
#include "codegen/cg.h"

/* The low 16 bits of word, where an instruction takes them, or NULL. */
static LLVMValueRef
low_half(TlCg *cg, LLVMValueRef word)
{
   for (LLVMUseRef u = LLVMGetFirstUse(word); u; u = LLVMGetNextUse(u))
      if (LLVMIsATruncInst(LLVMGetUser(u)) && LLVMTypeOf(LLVMGetUser(u)) == cg->i16)
         return LLVMGetUser(u);
   return NULL;
}

static bool
shifts_down_half(LLVMValueRef i, LLVMValueRef word)
{
   if (!LLVMIsAInstruction(i) || LLVMGetInstructionOpcode(i) != LLVMLShr ||
       LLVMGetOperand(i, 0) != word)
      return false;
   LLVMValueRef by = LLVMGetOperand(i, 1);
   return LLVMIsAConstantInt(by) && LLVMConstIntGetZExtValue(by) == 16;
}

static LLVMValueRef
high_half(TlCg *cg, LLVMValueRef word)
{
   for (LLVMUseRef u = LLVMGetFirstUse(word); u; u = LLVMGetNextUse(u)) {
      LLVMValueRef half =
         shifts_down_half(LLVMGetUser(u), word) ? low_half(cg, LLVMGetUser(u)) : NULL;
      if (half)
         return half;
   }
   return NULL;
}

static void
take_halves(TlCg *cg, LLVMValueRef word)
{
   LLVMValueRef halves[2] = {low_half(cg, word), high_half(cg, word)};
   if (!halves[0] || !halves[1])
      return;
   LLVMPositionBuilderBefore(cg->b, LLVMGetNextInstruction(word));
   LLVMTypeRef both = LLVMStructTypeInContext(cg->llvm, (LLVMTypeRef[]){cg->i16, cg->i16}, 2, 0);
   LLVMValueRef pair = tl_cg_asm(cg, "mov.b32 {$0, $1}, $2;", "=h,=h,r", both, &word, 1, 0);
   for (unsigned i = 0; i < 2; i++)
      LLVMReplaceAllUsesWith(halves[i], LLVMBuildExtractValue(cg->b, pair, i, ""));
}

void
tl_cg_take_halves(TlCg *cg)
{
   for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(cg->fn); b; b = LLVMGetNextBasicBlock(b))
      for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
         if (LLVMTypeOf(i) == cg->i32 && !LLVMIsAPHINode(i) && LLVMGetNextInstruction(i))
            take_halves(cg, i);
}
