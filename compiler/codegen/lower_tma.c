/* Tensor maps and copies of boxes.  On the GPU a map is a hidden parameter of 128 bytes, whose
 * recipe the launch record has (compile/metadata.c); on this CPU a row of 64-bit words: base,
 * sizes, strides. */
#include "codegen/cg.h"
#include "ir/launch_expr.h"

#include <assert.h>

enum { MAP_BYTES = 128, MAP_ALIGN = 64, MIN_SM = 90, MOST_MAPS = 16 /* see TL_RT_MAX_HIDDEN */ };

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

void
tl_cg_fetch_tensor_maps(TlCg *cg, LLVMValueRef pred)
{
   unsigned first = LLVMCountParams(cg->fn) - cg->num_maps;
   LLVMValueRef *args = tl_new_array(cg->arena, LLVMValueRef, cg->num_maps + 1);
   const char *text = "{ @!$0 bra FETCHED_${:uid};\n\t", *constraints = "b";
   args[0] = pred;
   for (unsigned i = 0; i < cg->num_maps; i++) {
      args[i + 1] = LLVMGetParam(cg->fn, first + i);
      text = tl_arena_printf(cg->arena, "%sprefetch.tensormap [$%u];\n\t", text, i + 1);
      constraints = tl_arena_printf(cg->arena, "%s,l", constraints);
   }
   text = tl_arena_printf(cg->arena, "%sFETCHED_${:uid}:\n\t}", text);
   tl_cg_asm(cg, text, tl_arena_printf(cg->arena, "%s,~{memory}", constraints), cg->voidt, args,
             cg->num_maps + 1, TL_ASM_EFFECT | TL_ASM_CONVERGENT);
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

static LLVMValueRef
shared_address(TlCg *cg, const TlValue *v)
{
   return LLVMBuildPtrToInt(cg->b, tl_cg_shared_ptr(cg, tl_cg_use1(cg, v), 0), cg->i32, "");
}

enum { MOST_HEAD = 4, MOST_BOX_ARGS = MOST_HEAD + TL_TMAP_RANK };

/* PTX ISA, "cp.async.bulk.tensor": what comes before the coordinates, innermost first, and behind
 * them; `head` operands come before them, of which `constraints` speaks.  Text, as LLVM has the
 * form for the own block from PTX 8.6 on only, and no predicate. */
static void
emit_box(TlCg *cg, const TlOp *op, const char *before, const char *behind, const char *constraints,
         LLVMValueRef *args, unsigned head)
{
   unsigned rank = op->num_args - head;
   TlSb text, all;
   tl_sb_init(&text, cg->arena);
   tl_sb_init(&all, cg->arena);
   tl_sb_str(&text, before);
   tl_sb_str(&all, constraints);
   for (unsigned i = 0; i < rank; i++) {
      args[head + i] = tl_cg_use1(cg, tl_arg(op, head + rank - 1 - i));
      tl_sb_printf(&text, "%s$%u", i ? ", " : "", head + i);
      tl_sb_str(&all, ",r");
   }
   tl_sb_str(&text, behind);
   tl_sb_str(&all, ",~{memory}");
   if (cg->target->sm < MIN_SM)
      tl_cg_unsupported(cg, tl_arena_printf(cg->arena, "'%s'", tl_info(op)->text),
                        "tensor maps exist from sm_90 on");
   tl_cg_needs_ptx(cg, 80);
   tl_cg_asm(cg, tl_sb_cstr(&text), tl_sb_cstr(&all), cg->voidt, args, head + rank, TL_ASM_EFFECT);
}

void
tl_emit_tma_load(TlCg *cg, const TlOp *op)
{
   enum { ADDRESS, MAP, BARRIER, PRED, HEAD };
   LLVMValueRef args[MOST_BOX_ARGS] = {
      shared_address(cg, tl_arg(op, ADDRESS)), tl_cg_use1(cg, tl_arg(op, MAP)),
      shared_address(cg, tl_arg(op, BARRIER)), tl_cg_use1(cg, tl_arg(op, PRED))};
   bool is_both = tl_attr_int(op, TL_ATTR_BOTH);
   const char *before =
      tl_arena_printf(cg->arena,
                      "%s@$3 cp.async.bulk.tensor.%ud.shared::cluster.global.tile."
                      "mbarrier::complete_tx::bytes%s [$0], [$1, {",
                      is_both ? "{ .reg .b16 blocks;\n\tmov.b16 blocks, 3;\n\t" : "",
                      op->num_args - HEAD, is_both ? ".multicast::cluster" : "");
   emit_box(cg, op, before, is_both ? "}], [$2], blocks;\n\t}" : "}], [$2];", "r,l,r,b", args,
            HEAD);
}

void
tl_emit_tma_store(TlCg *cg, const TlOp *op)
{
   enum { ADDRESS, MAP, PRED, HEAD };
   LLVMValueRef args[MOST_BOX_ARGS] = {shared_address(cg, tl_arg(op, ADDRESS)),
                                       tl_cg_use1(cg, tl_arg(op, MAP)),
                                       tl_cg_use1(cg, tl_arg(op, PRED))};
   const char *before = tl_arena_printf(
      cg->arena, "@$2 cp.async.bulk.tensor.%ud.global.shared::cta.tile.bulk_group [$1, {",
      op->num_args - HEAD);
   emit_box(cg, op, before, "}], [$0];\n\t@$2 cp.async.bulk.commit_group;", "r,l,b", args, HEAD);
}

void
tl_emit_tma_stores_wait(TlCg *cg, const TlOp *op)
{
   const char *text = tl_attr_int(op, TL_ATTR_WRITTEN) ? "cp.async.bulk.wait_group 0;"
                                                       : "cp.async.bulk.wait_group.read 0;";
   tl_cg_needs_ptx(cg, 80);
   tl_cg_asm(cg, text, "~{memory}", cg->voidt, NULL, 0, TL_ASM_EFFECT);
}
