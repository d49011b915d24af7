/* Code that ptxas is known to translate wrongly, replaced before LLVM selects instructions.  Seen
 * in 12.8, 12.9 and 13.0, and in the driver's own of release 580 (wrong results of random
 * programs on an H100); the second in 13.5 too, the first no more:
 *
 * - neg.s32 into three-operand minima and maxima (VIMNMX3, sm_90 and later): where the operand is
 *   also used as it is, or comes from a parameter or a select, its sign is left out, so that
 *   min(limit, min(max(word, n), -n)) is computed with n.  -x = ~(x - 1) is left alone, given that
 *   ~ is out of LLVM's sight, which would see a negation again.
 * - selp.f32 between -1.0 and -0.0, all targets: an integer -1 or 0 is converted, and the sign of
 *   zero is gone.  As a choice of bits it is right; other pairs of constants are as well. */
#include "codegen/cg.h"

#include <math.h>
#include <string.h>

enum { FIRST_WITH_THREE_OPERANDS = 90 };

static bool
is_i32(TlCg *cg, LLVMValueRef constant, int value)
{
   return LLVMIsAConstantInt(constant) && LLVMTypeOf(constant) == cg->i32 &&
          LLVMConstIntGetSExtValue(constant) == value;
}

/* The value that i negates, or NULL. */
static LLVMValueRef
negated(TlCg *cg, LLVMValueRef i)
{
   LLVMOpcode op = LLVMGetInstructionOpcode(i);
   if (op == LLVMSub && is_i32(cg, LLVMGetOperand(i, 0), 0))
      return LLVMGetOperand(i, 1);
   if (op == LLVMMul && is_i32(cg, LLVMGetOperand(i, 1), -1))
      return LLVMGetOperand(i, 0);
   return NULL;
}

static bool
is_extremum(LLVMValueRef i)
{
   if (!LLVMIsACallInst(i))
      return false;
   size_t length;
   const char *name = LLVMGetValueName2(LLVMGetCalledValue(i), &length);
   return strncmp(name, "llvm.smin", 9) == 0 || strncmp(name, "llvm.smax", 9) == 0 ||
          strncmp(name, "llvm.umin", 9) == 0 || strncmp(name, "llvm.umax", 9) == 0;
}

/* a < b ? a : b, a minimum to LLVM */
static bool
chooses_what_it_compares(LLVMValueRef i)
{
   LLVMValueRef test = LLVMGetOperand(i, 0);
   if (!LLVMIsAICmpInst(test))
      return false;
   LLVMValueRef a = LLVMGetOperand(test, 0), b = LLVMGetOperand(test, 1);
   LLVMValueRef yes = LLVMGetOperand(i, 1), no = LLVMGetOperand(i, 2);
   return (yes == a && no == b) || (yes == b && no == a);
}

/* Choices and what merges control flow are no instructions between the two, or only moves. */
static bool
reaches_extremum(TlCg *cg, LLVMValueRef value)
{
   TlMap seen;
   TL_VEC(LLVMValueRef) open = {0};
   tl_map_init(&seen, cg->arena);
   tl_vec_push(cg->arena, &open, value);
   while (open.len) {
      LLVMValueRef v = open.data[--open.len];
      for (LLVMUseRef use = LLVMGetFirstUse(v); use; use = LLVMGetNextUse(use)) {
         LLVMValueRef user = LLVMGetUser(use);
         bool is_select = LLVMIsASelectInst(user);
         if (is_extremum(user) || (is_select && chooses_what_it_compares(user)))
            return true;
         if ((is_select || LLVMIsAPHINode(user)) && !tl_map_has(&seen, user)) {
            tl_map_put(&seen, user, user);
            tl_vec_push(cg->arena, &open, user);
         }
      }
   }
   return false;
}

static LLVMValueRef
complement_of_predecessor(TlCg *cg, LLVMValueRef x)
{
   LLVMValueRef less = LLVMBuildSub(cg->b, x, LLVMConstInt(cg->i32, 1, 0), "");
   return tl_cg_asm(cg, "not.b32 $0, $1;", "=r,r", cg->i32, &less, 1, 0);
}

static bool
is_fp32(TlCg *cg, LLVMValueRef constant, double value)
{
   LLVMBool inexact;
   if (!LLVMIsAConstantFP(constant) || LLVMTypeOf(constant) != cg->f32)
      return false;
   double got = LLVMConstRealGetDouble(constant, &inexact);
   return got == value && signbit(got) == signbit(value);
}

static bool
chooses_minus_one_or_zero(TlCg *cg, LLVMValueRef i)
{
   if (!LLVMIsASelectInst(i))
      return false;
   LLVMValueRef a = LLVMGetOperand(i, 1), b = LLVMGetOperand(i, 2);
   return (is_fp32(cg, a, -1.0) && is_fp32(cg, b, -0.0)) ||
          (is_fp32(cg, a, -0.0) && is_fp32(cg, b, -1.0));
}

static LLVMValueRef
choice_of_bits(TlCg *cg, LLVMValueRef i)
{
   LLVMValueRef bits[2];
   for (unsigned k = 0; k < 2; k++)
      bits[k] = LLVMConstBitCast(LLVMGetOperand(i, 1 + k), cg->i32);
   LLVMValueRef chosen = LLVMBuildSelect(cg->b, LLVMGetOperand(i, 0), bits[0], bits[1], "");
   return LLVMBuildBitCast(cg->b, chosen, cg->f32, "");
}

/* What is to stand in the place of i, or NULL. */
static LLVMValueRef
replacement(TlCg *cg, LLVMValueRef i)
{
   LLVMPositionBuilderBefore(cg->b, i);
   if (chooses_minus_one_or_zero(cg, i))
      return choice_of_bits(cg, i);
   LLVMValueRef x = negated(cg, i);
   if (x && cg->target->sm >= FIRST_WITH_THREE_OPERANDS && reaches_extremum(cg, i))
      return complement_of_predecessor(cg, x);
   return NULL;
}

void
tl_cg_work_around_ptxas(TlCg *cg)
{
   for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(cg->fn); b; b = LLVMGetNextBasicBlock(b))
      for (LLVMValueRef i = LLVMGetFirstInstruction(b), next; i; i = next) {
         next = LLVMGetNextInstruction(i);
         LLVMValueRef instead = replacement(cg, i);
         if (!instead)
            continue;
         LLVMReplaceAllUsesWith(i, instead);
         LLVMInstructionEraseFromParent(i);
      }
}
