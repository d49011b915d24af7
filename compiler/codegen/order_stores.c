/* Addresses and masks of global stores, computed before the store that needs them.
 *
 * An operation is emitted for all of its registers at once, so that 64 addresses come before the
 * first of 64 stores: a0 a1 .. a63 st0 st1 .. st63.  LLVM keeps that order, and so does ptxas where
 * a sum fills the registers: it spilled 448 bytes for the addresses of a sum of 128 words.  Here it
 * becomes a0 st0 a1 st1 ..
 *
 * What serves stores alone goes down to its first reader, unless that keeps more registers of
 * operands alive than it saves; an operand that several read costs each of them its part.  From the
 * last instruction to the first, so that operands can follow.  Nothing else moves: effects keep
 * their order. */
#include "codegen/cg.h"

#include "ir/pressure.h"
#include "ir/walk.h"

#include <string.h>

typedef struct Value {
   LLVMBasicBlockRef block; /* of its readers */
   uint32_t readers;
   uint32_t last;      /* place of the last one */
   bool is_read_wide;  /* some are in other blocks than others, or than the definition */
   bool serves_others; /* than stores and what serves them */
   uint32_t place;     /* of the instruction itself: its number in the function */
} Value;

typedef struct Order {
   TlArena *arena;
   TlMap values;               /* LLVMValueRef -> Value * */
   TL_VEC(LLVMValueRef) front; /* by place: the instruction there, or what has moved before it */
} Order;

static Value *
value_of(Order *o, LLVMValueRef v)
{
   Value *found = tl_map_get(&o->values, v);
   if (!found) {
      found = tl_new(o->arena, Value);
      *found = (Value){0};
      tl_map_put(&o->values, v, found);
   }
   return found;
}

static bool
is_global_store(LLVMValueRef i)
{
   if (LLVMIsAStoreInst(i))
      return LLVMGetPointerAddressSpace(LLVMTypeOf(LLVMGetOperand(i, 1))) == 1;
   if (!LLVMIsACallInst(i) || !LLVMIsAInlineAsm(LLVMGetCalledValue(i)))
      return false;
   size_t length;
   return strstr(LLVMGetInlineAsmAsmString(LLVMGetCalledValue(i), &length), "st.global") != NULL;
}

/* Arithmetic of addresses and masks. */
static bool
can_move(LLVMValueRef i)
{
   switch (LLVMGetInstructionOpcode(i)) {
   case LLVMAdd:
   case LLVMSub:
   case LLVMMul:
   case LLVMShl:
   case LLVMAnd:
   case LLVMOr:
   case LLVMXor:
   case LLVMSExt:
   case LLVMZExt:
   case LLVMTrunc:
   case LLVMICmp:
   case LLVMGetElementPtr:
      return true;
   default:
      return false;
   }
}

/* What counts in halves of a register, as a truth takes less than one. */
static uint32_t
size_of(LLVMValueRef v)
{
   LLVMTypeRef type = LLVMTypeOf(v);
   if (LLVMGetTypeKind(type) == LLVMPointerTypeKind)
      return 4;
   unsigned bits = LLVMGetTypeKind(type) == LLVMIntegerTypeKind ? LLVMGetIntTypeWidth(type) : 0;
   return bits > 32 ? 4 : bits > 1 ? 2 : 1;
}

static bool
takes_register(LLVMValueRef v)
{
   return LLVMIsAInstruction(v) || LLVMIsAArgument(v);
}

static void
number(Order *o, LLVMValueRef fn)
{
   tl_map_init(&o->values, o->arena);
   for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b; b = LLVMGetNextBasicBlock(b))
      for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
         uint32_t place = (uint32_t)o->front.len;
         tl_vec_push(o->arena, &o->front, i);
         value_of(o, i)->place = place;
         for (int k = 0; k < LLVMGetNumOperands(i); k++) {
            LLVMValueRef arg = LLVMGetOperand(i, (unsigned)k);
            if (!takes_register(arg))
               continue;
            Value *v = value_of(o, arg);
            v->is_read_wide |= (v->block && v->block != b) || !LLVMIsAInstruction(arg) ||
                               LLVMGetInstructionParent(arg) != b;
            v->block = b;
            v->readers++;
            v->last = place;
         }
      }
}

enum { PARTS = 1024, MAX_DEPTH = 6 };

/* What v costs when it is read at `place` as well, in parts of half a register. */
static uint64_t
cost_of(Order *o, LLVMValueRef v, uint32_t place, unsigned depth)
{
   if (!LLVMIsAInstruction(v))
      return 0;
   const Value *value = value_of(o, v);
   if (value->is_read_wide || value->last >= place)
      return 0;
   uint64_t all = (uint64_t)size_of(v) * PARTS, sources = 0;
   if (value->readers > 1 || !can_move(v) || depth == MAX_DEPTH)
      return all / value->readers;
   for (int k = 0; k < LLVMGetNumOperands(v) && sources < all; k++)
      sources += cost_of(o, LLVMGetOperand(v, (unsigned)k), place, depth + 1);
   return sources < all ? sources : all; /* it can follow */
}

static bool
is_worth_moving(Order *o, LLVMValueRef i, uint32_t place)
{
   uint64_t cost = 0;
   for (int k = 0; k < LLVMGetNumOperands(i); k++)
      cost += cost_of(o, LLVMGetOperand(i, (unsigned)k), place, 0);
   return cost <= (uint64_t)size_of(i) * PARTS;
}

static uint32_t
first_reader(Order *o, LLVMValueRef i)
{
   uint32_t first = UINT32_MAX;
   for (LLVMUseRef use = LLVMGetFirstUse(i); use; use = LLVMGetNextUse(use)) {
      uint32_t at = value_of(o, LLVMGetUser(use))->place;
      first = at < first ? at : first;
   }
   return first;
}

static void
order(Order *o, TlCg *cg, LLVMValueRef i)
{
   Value *v = value_of(o, i);
   bool is_store = is_global_store(i);
   bool serves = can_move(i) && v->readers && !v->is_read_wide && !v->serves_others;
   if (!is_store && !serves)
      for (int k = 0; k < LLVMGetNumOperands(i); k++)
         if (LLVMIsAInstruction(LLVMGetOperand(i, (unsigned)k)))
            value_of(o, LLVMGetOperand(i, (unsigned)k))->serves_others = true;
   uint32_t at = serves ? first_reader(o, i) : 0;
   if (!serves || !is_worth_moving(o, i, at))
      return;
   LLVMPositionBuilderBefore(cg->b, o->front.data[at]);
   LLVMInstructionRemoveFromParent(i);
   LLVMInsertIntoBuilder(cg->b, i);
   o->front.data[at] = i;
   v->place = at;
   for (int k = 0; k < LLVMGetNumOperands(i); k++) {
      LLVMValueRef arg = LLVMGetOperand(i, (unsigned)k);
      if (takes_register(arg) && value_of(o, arg)->last < at)
         value_of(o, arg)->last = at;
   }
}

/* Is there a store whose values and addresses take more registers than its threads have? */
static bool
has_large_store(const TlCg *cg)
{
   const TlFunc *f = cg->func;
   const TlBlock *body = f->body->block;
   for (const TlOp *op = body->first; op; op = tl_walk_next(op, body))
      if (op->opcode == TL_OP_ST_GLOBAL) {
         uint32_t at = tl_cg_regs_bits(tl_arg(op, 0)->type);
         uint32_t values = tl_cg_regs_bits(tl_arg(op, 1)->type);
         if ((at + values) / 32 > tl_registers_at(cg->target, f, op))
            return true;
      }
   return false;
}

void
tl_cg_order_stores(TlCg *cg)
{
   Order o = {.arena = cg->arena};
   if (!has_large_store(cg))
      return;
   number(&o, cg->fn);
   LLVMSetCurrentDebugLocation2(cg->b, NULL); /* what moves keeps its own */
   for (LLVMBasicBlockRef b = LLVMGetLastBasicBlock(cg->fn); b; b = LLVMGetPreviousBasicBlock(b))
      for (LLVMValueRef i = LLVMGetLastInstruction(b), before; i; i = before) {
         before = LLVMGetPreviousInstruction(i);
         order(&o, cg, i);
      }
}
