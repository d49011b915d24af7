/* Structured control flow to basic blocks.  Loops are emitted rotated (test at the end, one guard
 * before), so an iteration has one branch.  Carried values become phis, one a register. */
#include "codegen/cg.h"
#include "ir/control.h"
#include "ir/pressure.h"
#include "ir/walk.h"

enum { WORD_BITS = 32 };

static LLVMBasicBlockRef
new_block(TlCg *cg, const char *name)
{
   return LLVMAppendBasicBlockInContext(cg->llvm, cg->fn, name);
}

/* Phis for values of the same types as `like`; registered as the registers of `like`. */
static TlRegs
phi_regs(TlCg *cg, const TlValue *like)
{
   TlRegs r = tl_cg_def(cg, like);
   for (unsigned i = 0; i < r.count; i++)
      r.v[i] = LLVMBuildPhi(cg->b, tl_cg_elem(cg, like->type), "");
   return r;
}

static void
incoming(TlRegs phis, TlRegs values, LLVMBasicBlockRef from)
{
   for (unsigned i = 0; i < phis.count; i++)
      LLVMAddIncoming(phis.v[i], &values.v[i], &from, 1);
}

static LLVMValueRef
loop_test(TlCg *cg, TlDtype t, bool down, LLVMValueRef i, LLVMValueRef end)
{
   LLVMIntPredicate p =
      tl_dtype_is_signed(t) ? (down ? LLVMIntSGT : LLVMIntSLT) : (down ? LLVMIntUGT : LLVMIntULT);
   return LLVMBuildICmp(cg->b, p, i, end, "");
}

/* What a loop carries in one value: its registers, or the words that they fill together. */
typedef struct Carried {
   unsigned words; /* 0: its registers */
   TlRegs init, phi, next;
} Carried;

/* Values of 8 or 16 bits that are carried as they were loaded stay in the words that the load
 * filled: of one register each ptxas makes others of two, anew in every iteration. */
static unsigned
words_carried(TlCg *cg, const TlValue *yielded)
{
   const TlOp *def = yielded->def;
   bool is_load = def && (def->opcode == TL_OP_LD_GLOBAL || def->opcode == TL_OP_LD_SHARED);
   const TlType *elem = tl_type_elem(yielded->type);
   if (cg->host || !is_load || tl_cg_elem_bits(elem) >= WORD_BITS || elem->dtype == TL_I1)
      return 0;
   uint32_t bits = tl_cg_regs_bits(yielded->type);
   return bits % WORD_BITS ? 0 : bits / WORD_BITS;
}

static TlRegs
to_words(TlCg *cg, const TlValue *v, TlRegs regs, unsigned num)
{
   TlRegs words = {tl_new_array(cg->arena, LLVMValueRef, num), num};
   if (!num)
      return regs;
   tl_cg_pack(cg, regs.v, regs.count, tl_cg_elem_bits(tl_type_elem(v->type)), WORD_BITS, words.v);
   return words;
}

/* What the loop begins with.  Sums in flight get their registers in front of the guard: LLVM writes
 * constants on the way around the loop anew, where they meet what the loop left in flight, and
 * ptxas then lets no product of the kernel be in flight (C7515). */
static Carried *
begin_carried(TlCg *cg, const TlOp *op)
{
   Carried *carried = tl_new_array(cg->arena, Carried, op->num_results);
   for (unsigned k = 0; k < op->num_results; k++) {
      const TlValue *init = tl_init(op, k);
      bool settles = init->type->is_in_flight && !cg->host;
      carried[k].words = words_carried(cg, tl_yielded(op->regions[0]->block, k));
      carried[k].init = to_words(cg, init, settles ? tl_cg_settle(cg, init) : tl_cg_use(cg, init),
                                 carried[k].words);
   }
   return carried;
}

/* Of `values`, which are the loop's results or what its body sees; all phis begin their block. */
static void
carried_phis(TlCg *cg, Carried *carried, unsigned num, TlValue *const *values)
{
   for (unsigned k = 0; k < num; k++) {
      unsigned words = carried[k].words;
      if (!words) {
         carried[k].phi = phi_regs(cg, values[k]);
         continue;
      }
      carried[k].phi = (TlRegs){tl_new_array(cg->arena, LLVMValueRef, words), words};
      for (unsigned i = 0; i < words; i++)
         carried[k].phi.v[i] = LLVMBuildPhi(cg->b, cg->i32, "");
   }
   for (unsigned k = 0; k < num; k++)
      if (carried[k].words) {
         const TlType *type = values[k]->type;
         TlRegs regs = tl_cg_def(cg, values[k]);
         tl_cg_unpack(cg, carried[k].phi.v, carried[k].words, WORD_BITS, tl_cg_elem(cg, type),
                      tl_cg_elem_bits(tl_type_elem(type)), regs.v);
      }
}

static void
incoming_carried(const Carried *carried, unsigned num, LLVMBasicBlockRef before,
                 LLVMBasicBlockRef latch)
{
   for (unsigned k = 0; k < num; k++) {
      incoming(carried[k].phi, carried[k].init, before);
      incoming(carried[k].phi, carried[k].next, latch);
   }
}

/* What tells that a loop goes on.  ptxas unrolls loops whose iterations it can count, and puts
 * their loads together.  It does so for an index of 32 bits that is compared with its end, but of
 * 64 bits only for a number that counts up to 0: of the iterations that are left, made negative. */
typedef struct Countdown {
   LLVMValueRef first, now; /* NULL: the index is compared */
} Countdown;

/* Does it wait, or meet other threads at a barrier?  Loads stay where they are then. */
static bool
orders_memory(const TlBlock *body)
{
   for (const TlOp *op = body->first; op; op = tl_walk_next(op, body))
      if (tl_has_trait(op, TL_TRAIT_SYNC) && tl_has_trait(op, TL_TRAIT_WRITE))
         return true;
   return false;
}

static Countdown
begin_countdown(TlCg *cg, const TlOp *op, LLVMValueRef lower, LLVMValueRef upper)
{
   TlDtype t = tl_for_index(op)->type->dtype;
   uint64_t bits;
   if (cg->host || tl_dtype_info[t].bits < 64 || !tl_is_const(tl_for_step(op), &bits) ||
       tl_bits_to_int(t, bits) <= 0 || orders_memory(op->regions[0]->block))
      return (Countdown){0};
   LLVMTypeRef type = tl_cg_dtype(cg, t);
   LLVMValueRef trips = LLVMBuildSub(cg->b, upper, lower, "");
   if (bits != 1) {
      trips = LLVMBuildAdd(cg->b, trips, LLVMConstInt(type, bits - 1, 0), "");
      trips = LLVMBuildUDiv(cg->b, trips, LLVMConstInt(type, bits, 0), "");
   }
   return (Countdown){.first = LLVMBuildNeg(cg->b, trips, "")};
}

/* At the end of an iteration, in the block that goes back. */
static LLVMValueRef
count_on(TlCg *cg, Countdown *c, LLVMBasicBlockRef before)
{
   LLVMTypeRef type = LLVMTypeOf(c->now);
   LLVMValueRef next = LLVMBuildAdd(cg->b, c->now, LLVMConstInt(type, 1, 0), "");
   LLVMBasicBlockRef latch = LLVMGetInsertBlock(cg->b);
   LLVMAddIncoming(c->now, &c->first, &before, 1);
   LLVMAddIncoming(c->now, &next, &latch, 1);
   return LLVMBuildICmp(cg->b, LLVMIntNE, next, LLVMConstNull(type), "");
}

/* for(lower, upper, step, inits..) */
void
tl_emit_for(TlCg *cg, const TlOp *op)
{
   const TlBlock *body = op->regions[0]->block;
   unsigned num = op->num_results;
   TlDtype t = tl_for_index(op)->type->dtype;
   LLVMValueRef lower = tl_cg_use1(cg, tl_for_lower(op)), upper = tl_cg_use1(cg, tl_for_upper(op));
   LLVMValueRef step = tl_cg_use1(cg, tl_for_step(op));
   TlValue **inside = tl_new_array(cg->arena, TlValue *, num);
   TlValue **results = tl_new_array(cg->arena, TlValue *, num);
   uint64_t step_bits;
   bool down = tl_is_const(tl_for_step(op), &step_bits) && tl_bits_to_int(t, step_bits) < 0;
   Carried *carried = begin_carried(cg, op);
   Countdown count = begin_countdown(cg, op, lower, upper);
   LLVMBasicBlockRef before = LLVMGetInsertBlock(cg->b);
   LLVMBasicBlockRef loop = new_block(cg, "for"), after = new_block(cg, "for.end");
   LLVMBuildCondBr(cg->b, loop_test(cg, t, down, lower, upper), loop, after);
   LLVMPositionBuilderAtEnd(cg->b, loop);
   TlRegs index = phi_regs(cg, tl_for_index(op));
   if (count.first)
      count.now = LLVMBuildPhi(cg->b, tl_cg_dtype(cg, t), "");
   for (unsigned k = 0; k < num; k++)
      inside[k] = tl_carried(body, k), results[k] = tl_result(op, k);
   carried_phis(cg, carried, num, inside);
   tl_cg_block(cg, body);
   if (cg->failed)
      return;
   if (cg->host)
      tl_host_loop_step(cg, op);
   for (unsigned k = 0; k < num; k++) {
      const TlValue *v = tl_yielded(body, k);
      carried[k].next = to_words(cg, v, tl_cg_use(cg, v), carried[k].words);
   }
   LLVMBasicBlockRef latch = LLVMGetInsertBlock(cg->b);
   LLVMValueRef next = LLVMBuildAdd(cg->b, index.v[0], step, "");
   LLVMValueRef goes_on =
      count.now ? count_on(cg, &count, before) : loop_test(cg, t, down, next, upper);
   LLVMBuildCondBr(cg->b, goes_on, loop, after);
   incoming(index, (TlRegs){&lower, 1}, before);
   incoming(index, (TlRegs){&next, 1}, latch);
   incoming_carried(carried, num, before, latch);
   LLVMPositionBuilderAtEnd(cg->b, after);
   carried_phis(cg, carried, num, results);
   incoming_carried(carried, num, before, latch);
}

/* while(inits..): region 0 decides, region 1 is the body. */
void
tl_emit_while(TlCg *cg, const TlOp *op)
{
   const TlBlock *head = op->regions[0]->block, *body = op->regions[1]->block;
   LLVMBasicBlockRef before = LLVMGetInsertBlock(cg->b);
   LLVMBasicBlockRef test = new_block(cg, "while"), loop = new_block(cg, "while.do"),
                     after = new_block(cg, "while.end");
   LLVMBuildBr(cg->b, test);
   LLVMPositionBuilderAtEnd(cg->b, test);
   TlRegs *carried = tl_new_array(cg->arena, TlRegs, op->num_results);
   for (unsigned k = 0; k < op->num_results; k++)
      carried[k] = phi_regs(cg, tl_carried(head, k));
   tl_cg_block(cg, head);
   if (cg->failed)
      return;
   LLVMBuildCondBr(cg->b, tl_cg_use1(cg, tl_arg(head->last, 0)), loop, after);
   for (unsigned k = 0; k < op->num_results; k++) {
      TlRegs now = tl_cg_use(cg, tl_yielded(head, k));
      cg->regs[tl_carried(body, k)->id] = cg->regs[tl_result(op, k)->id] = now;
   }
   LLVMPositionBuilderAtEnd(cg->b, loop);
   tl_cg_block(cg, body);
   if (cg->failed)
      return;
   if (cg->host)
      tl_host_loop_step(cg, op);
   LLVMBasicBlockRef latch = LLVMGetInsertBlock(cg->b);
   LLVMBuildBr(cg->b, test);
   for (unsigned k = 0; k < op->num_results; k++) {
      incoming(carried[k], tl_cg_use(cg, tl_init(op, k)), before);
      incoming(carried[k], tl_cg_use(cg, tl_yielded(body, k)), latch);
   }
   LLVMPositionBuilderAtEnd(cg->b, after);
}

void
tl_emit_if(TlCg *cg, const TlOp *op)
{
   LLVMBasicBlockRef yes = new_block(cg, "then"), no = new_block(cg, "else"),
                     after = new_block(cg, "endif");
   LLVMBuildCondBr(cg->b, tl_cg_use1(cg, tl_arg(op, 0)), yes, no);
   LLVMBasicBlockRef ends[2], starts[2] = {yes, no};
   for (unsigned side = 0; side < 2; side++) {
      LLVMPositionBuilderAtEnd(cg->b, starts[side]);
      if (side < op->num_regions)
         tl_cg_block(cg, op->regions[side]->block);
      if (cg->failed)
         return;
      ends[side] = LLVMGetInsertBlock(cg->b);
      LLVMBuildBr(cg->b, after);
   }
   LLVMPositionBuilderAtEnd(cg->b, after);
   for (unsigned k = 0; k < op->num_results; k++) {
      TlRegs result = phi_regs(cg, tl_result(op, k));
      for (unsigned side = 0; side < 2; side++)
         incoming(result, tl_cg_use(cg, tl_yielded(op->regions[side]->block, k)), ends[side]);
   }
}

/* Whole groups of four warps take this: PTX ISA, "setmaxnreg". */
static void
set_registers(TlCg *cg, int64_t num)
{
   int64_t have = tl_registers_at_start(cg->target, cg->func);
   LLVMValueRef n = tl_cg_i32(cg, num);
   if (!num || num == have || cg->host)
      return;
   tl_cg_call(cg,
              num > have ? "llvm.nvvm.setmaxnreg.inc.sync.aligned.u32"
                         : "llvm.nvvm.setmaxnreg.dec.sync.aligned.u32",
              cg->voidt, &n, 1);
}

/* Goes on in a block of the first warps, counted by `rel`. */
static void
enter_warps(TlCg *cg, LLVMValueRef rel, int64_t warps, const char *name, LLVMBasicBlockRef after)
{
   LLVMBasicBlockRef yes = new_block(cg, name);
   LLVMValueRef inside = LLVMBuildICmp(cg->b, LLVMIntULT, rel, tl_cg_i32(cg, warps), "");
   LLVMBuildCondBr(cg->b, inside, yes, after);
   LLVMPositionBuilderAtEnd(cg->b, yes);
}

/* A region that only some warps run.  What is left of their last group of four has their
 * registers, and nothing to do. */
void
tl_emit_role(TlCg *cg, const TlOp *op)
{
   enum { GROUP = 4 };
   unsigned outer_first = cg->role_first_warp, outer_num = cg->role_num_warps;
   int64_t first = tl_attr_int(op, TL_ATTR_FIRST_WARP), num = tl_attr_int(op, TL_ATTR_NUM_WARPS);
   LLVMValueRef rel = tl_cg_warp_from(cg, first);
   int64_t registers = tl_attr_int(op, TL_ATTR_REGISTERS), rest = (GROUP - num % GROUP) % GROUP;
   LLVMBasicBlockRef after = new_block(cg, "role.end");
   if (registers && rest) {
      enter_warps(cg, rel, num + rest, "role.group", after);
      set_registers(cg, registers);
   }
   enter_warps(cg, rel, num, "role", after);
   cg->role_first_warp = (unsigned)first;
   cg->role_num_warps = (unsigned)num;
   if (!rest)
      set_registers(cg, registers);
   tl_cg_block(cg, op->regions[0]->block);
   cg->role_first_warp = outer_first;
   cg->role_num_warps = outer_num;
   LLVMBuildBr(cg->b, after);
   LLVMPositionBuilderAtEnd(cg->b, after);
}
