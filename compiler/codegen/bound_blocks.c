/* Long straight-line code cut into blocks of bounded length before LLVM selects instructions.
 * Selection works on one block at a time, and several of its steps look at all users of a value
 * within the block: their time grows faster than the block.
 *
 * Each piece but the last becomes a new block in front of the old one, which keeps its terminator
 * and its place in the phis of its successors.  LLVM's passes would merge the pieces again at once;
 * a block whose address was taken they leave alone.  In the PTX nothing is left of a cut:
 * emit_ptx.c removes the labels.  Invariant: an instruction and the extraction of its results stay
 * together. */
#include "codegen/cg.h"

/* Blocks of more instructions than these are cut into pieces of about PIECE.  A cut hides from
 * selection what could be combined across it, which matters where code runs often on a GPU. */
enum { LONG = 1024, LONG_IN_LOOP = 4096, PIECE = 256 };

static bool
is_extraction(LLVMValueRef i)
{
   LLVMOpcode op = LLVMGetInstructionOpcode(i);
   return op == LLVMExtractValue || op == LLVMExtractElement || op == LLVMBitCast;
}

/* Whether the block may end before i. */
static bool
can_cut_before(LLVMValueRef i)
{
   return !LLVMIsATerminatorInst(i) && !is_extraction(i) && LLVMGetInstructionOpcode(i) != LLVMPHI;
}

/* Every branch to `from` goes to `to`; phis name where control comes from, which stays. */
static void
redirect_branches(LLVMBasicBlockRef from, LLVMBasicBlockRef to)
{
   LLVMValueRef value = LLVMBasicBlockAsValue(from);
   for (LLVMUseRef use = LLVMGetFirstUse(value), next; use; use = next) {
      next = LLVMGetNextUse(use);
      LLVMValueRef branch = LLVMGetUser(use);
      if (!LLVMIsATerminatorInst(branch))
         continue;
      for (unsigned k = 0; k < LLVMGetNumSuccessors(branch); k++)
         if (LLVMGetSuccessor(branch, k) == from)
            LLVMSetSuccessor(branch, k, to);
   }
}

/* Whether control can come back to the block. */
static bool
is_in_loop(TlCg *cg, LLVMBasicBlockRef block)
{
   TlMap seen;
   TL_VEC(LLVMBasicBlockRef) open = {0};
   tl_map_init(&seen, cg->arena);
   tl_vec_push(cg->arena, &open, block);
   while (open.len) {
      LLVMValueRef end = LLVMGetBasicBlockTerminator(open.data[--open.len]);
      for (unsigned k = 0; k < LLVMGetNumSuccessors(end); k++) {
         LLVMBasicBlockRef next = LLVMGetSuccessor(end, k);
         if (next == block)
            return true;
         if (!tl_map_has(&seen, next)) {
            tl_map_put(&seen, next, next);
            tl_vec_push(cg->arena, &open, next);
         }
      }
   }
   return false;
}

static void
move(TlCg *cg, LLVMValueRef const *instructions, unsigned n, LLVMBasicBlockRef to)
{
   LLVMPositionBuilderAtEnd(cg->b, to);
   for (unsigned i = 0; i < n; i++) {
      LLVMInstructionRemoveFromParent(instructions[i]);
      LLVMInsertIntoBuilder(cg->b, instructions[i]);
   }
}

static void
bound_block(TlCg *cg, LLVMBasicBlockRef block)
{
   TL_VEC(LLVMValueRef) all = {0};
   for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i))
      tl_vec_push(cg->arena, &all, i);
   if (all.len <= LONG) /* first: the search below is as long as the function */
      return;
   if (!cg->host && all.len <= LONG_IN_LOOP && is_in_loop(cg, block))
      return;
   for (size_t start = 0, end; all.len - start > PIECE + PIECE / 2; start = end) {
      for (end = start + PIECE; end < all.len && !can_cut_before(all.data[end]);)
         end++;
      if (end == all.len)
         break;
      LLVMBasicBlockRef piece = LLVMInsertBasicBlockInContext(cg->llvm, block, "cut");
      redirect_branches(block, piece);
      move(cg, &all.data[start], (unsigned)(end - start), piece);
      LLVMBuildBr(cg->b, block);
      LLVMBlockAddress(cg->fn, start == 0 ? block : piece); /* all but the first: its entry */
      cg->is_cut = true;
   }
}

void
tl_cg_bound_blocks(TlCg *cg)
{
   /* Moved instructions keep their own locations. */
   LLVMSetCurrentDebugLocation2(cg->b, NULL);
   for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(cg->fn), next; b; b = next) {
      next = LLVMGetNextBasicBlock(b);
      bound_block(cg, b);
   }
}
