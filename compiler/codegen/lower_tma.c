/* Tensor maps.  On the GPU each is a hidden parameter of 128 bytes, whose recipe the launch record
 * has (compile/metadata.c); on this CPU a row of 64-bit words: base, sizes, strides. */
#include "codegen/cg.h"
#include "ir/launch_expr.h"

#include <assert.h>

enum { MAP_BYTES = 128, MAP_ALIGN = 64, MIN_SM = 90, MOST_MAPS = 16 /* TL_RT_MAX_HIDDEN */ };

/* By value and constant for the grid: else the map is copied to local memory, where no copy finds
 * it. */
void
tl_cg_tensor_map_params(TlCg *cg, unsigned first)
{
   unsigned byval = LLVMGetEnumAttributeKindForName("byval", 5);
   unsigned align = LLVMGetEnumAttributeKindForName("align", 5);
   static const char constant[] = "nvvm.grid_constant";
   LLVMAttributeRef attr[] = {
      LLVMCreateTypeAttribute(cg->llvm, byval, LLVMArrayType2(cg->i8, MAP_BYTES)),
      LLVMCreateEnumAttribute(cg->llvm, align, MAP_ALIGN),
      LLVMCreateStringAttribute(cg->llvm, constant, sizeof constant - 1, "", 0)};
   assert(first + cg->num_maps == LLVMCountParams(cg->fn));
   for (unsigned i = 0; i < cg->num_maps; i++)
      for (unsigned k = 0; k < sizeof attr / sizeof attr[0]; k++)
         LLVMAddAttributeAtIndex(cg->fn, first + i + 1, attr[k]);
}

static LLVMValueRef
host_map(TlCg *cg, const TlOp *op)
{
   LLVMBasicBlockRef here = LLVMGetInsertBlock(cg->b);
   LLVMPositionBuilderBefore(cg->b, cg->entry_end);
   LLVMValueRef row = LLVMBuildAlloca(cg->b, LLVMArrayType2(cg->i64, op->num_args), "tensor_map");
   LLVMPositionBuilderAtEnd(cg->b, here);
   for (unsigned i = 0; i < op->num_args; i++) {
      const TlType *t = tl_arg(op, i)->type;
      LLVMValueRef x = tl_cg_use1(cg, tl_arg(op, i)), at = LLVMConstInt(cg->i64, i, 0);
      if (t->kind == TL_TYPE_PTR)
         x = LLVMBuildPtrToInt(cg->b, x, cg->i64, "");
      else
         x = LLVMBuildIntCast2(cg->b, x, cg->i64, tl_dtype_is_signed(t->dtype), "");
      LLVMBuildStore(cg->b, x, LLVMBuildGEP2(cg->b, cg->i64, row, &at, 1, ""));
   }
   return row;
}

static void
check_map(TlCg *cg, const TlOp *op)
{
   if (cg->target->sm < MIN_SM)
      tl_cg_unsupported(cg, "'tensor_map'", "tensor maps exist from sm_90 on");
   if (cg->num_maps > MOST_MAPS)
      tl_cg_unsupported(cg, "'tensor_map'", "a launch makes at most 16 of them");
   for (unsigned i = 0; i < op->num_args && !cg->failed; i++)
      if (!tl_launch_expr(cg->arena, cg->func, tl_arg(op, i)))
         tl_cg_unsupported(cg, "'tensor_map'",
                           "base, sizes and strides must follow from the kernel's arguments");
}

void
tl_emit_tensor_map(TlCg *cg, const TlOp *op)
{
   TlRegs dst = tl_cg_def(cg, tl_result(op, 0));
   if (cg->host) {
      dst.v[0] = host_map(cg, op);
      return;
   }
   check_map(cg, op);
   unsigned i = 0;
   while (cg->maps[i] != op)
      i++;
   dst.v[0] = LLVMGetParam(cg->fn, LLVMCountParams(cg->fn) - cg->num_maps + i);
}
