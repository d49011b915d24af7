/* Straight-line code in an order that keeps few values alive, where its own needs more registers
 * than a thread has.
 *
 * An operation is emitted for all of its registers at once: 32 loads, 32 differences, 32 powers.
 * Element by element the same code holds a part of that at a time, but ptxas spills before it
 * finds such an order: 164 bytes of a KL divergence of two times 32 values, in 64 registers; 460 of
 * a sum of 512 loaded ones, in 255.
 *
 *    a0 a1 .. b0 b1 .. c0 = f(a0, b0) c1 .. st c0 ..    becomes    a0 a1 .. b0 c0 b1 c1 .. st c0 ..
 *
 * Each effect, in turn, gets what it needs, and whatever then can be computed without more values
 * alive than before is computed at once.  Effects keep their order; loads from global memory pass
 * each other and arithmetic, but no effect.  So ptxas may still begin them as early as there are
 * registers.  Left alone are blocks where little more lives than a thread has registers, as ptxas
 * orders these well itself (8 to 24 bytes were spilled instead of none), and where the new order
 * saves less than a quarter of what lives.
 *
 * Of two blocks that are to share a multiprocessor (cg->by_element) each has half of the registers.
 *
 * What extracts a part of a result stays with it: together they are a node. */
#include "codegen/cg.h"
#include "ir/pressure.h"
#include "ir/walk.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { NONE = UINT32_MAX };

/* A value that lives in the block. */
typedef struct Live {
   LLVMValueRef value;
   uint32_t words, readers; /* nodes that have still to read it; of it all when `escapes` */
   bool escapes;            /* lives on behind the block, or from before it */
   uint32_t last;           /* node that was last counted as a reader */
} Live;

typedef TL_VEC(uint32_t) Numbers;

typedef struct Node {
   TL_VEC(LLVMValueRef) parts; /* the instruction, then what extracts its result */
   Numbers reads;              /* places in `lives`, each once */
   Numbers needs, users;       /* nodes: whose results it reads, and that come before it */
   uint32_t pending;           /* of `needs`, those not yet placed */
   bool is_effect, is_load, is_placed;
} Node;

typedef struct Values {
   TlCg *cg;
   TlArena *arena;
   LLVMBasicBlockRef block;
   TL_VEC(Node) nodes;
   TL_VEC(Live) lives;
   TlMap node_of, live_of; /* value -> number + 1 */
   Numbers order;
} Values;

static uint32_t
number_of(const TlMap *map, LLVMValueRef v)
{
   return (uint32_t)(uintptr_t)tl_map_get(map, v) - 1;
}

static void
set_number(TlMap *map, LLVMValueRef v, size_t number)
{
   tl_map_put(map, v, (void *)(uintptr_t)(number + 1));
}

/* Registers of 32 bits; truths have their own. */
static uint32_t
words_of(LLVMTypeRef type)
{
   switch (LLVMGetTypeKind(type)) {
   case LLVMIntegerTypeKind:
      return LLVMGetIntTypeWidth(type) == 1 ? 0 : (LLVMGetIntTypeWidth(type) + 31) / 32;
   case LLVMPointerTypeKind:
   case LLVMDoubleTypeKind:
      return 2;
   case LLVMVectorTypeKind: {
      uint32_t bits = words_of(LLVMGetElementType(type)) * 16 * LLVMGetVectorSize(type);
      return (bits + 31) / 32;
   }
   case LLVMStructTypeKind: /* its parts count */
   case LLVMVoidTypeKind:
      return 0;
   default:
      return 1;
   }
}

/* An offset goes into the access, or several addresses are one and their offsets. */
static bool
is_offset(LLVMValueRef v)
{
   if (LLVMGetInstructionOpcode(v) != LLVMGetElementPtr)
      return false;
   for (int k = 1; k < LLVMGetNumOperands(v); k++)
      if (!LLVMIsAConstantInt(LLVMGetOperand(v, (unsigned)k)))
         return false;
   return true;
}

/* ---- what an instruction is ---- */
static bool
has_attribute(LLVMValueRef fn, const char *name, bool zero)
{
   unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
   LLVMAttributeRef a =
      LLVMGetEnumAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, kind);
   return a && (!zero || LLVMGetEnumAttributeValue(a) == 0);
}

/* One access, "@$5 ld.global.v4.b32 {..};": neither volatile nor with anything beside it. */
static bool
is_plain_load(const char *text)
{
   if (text[0] == '@')
      text += strcspn(text, " ") + 1;
   return strncmp(text, "ld.global.", 10) == 0 && strchr(text, ';') == text + strlen(text) - 1;
}

static void
classify(Node *n, LLVMValueRef i)
{
   size_t length;
   if (LLVMIsALoadInst(i)) {
      LLVMTypeRef at = LLVMTypeOf(LLVMGetOperand(i, 0));
      n->is_load = LLVMGetPointerAddressSpace(at) == 1 && !LLVMGetVolatile(i) &&
                   LLVMGetOrdering(i) == LLVMAtomicOrderingNotAtomic;
      n->is_effect = !n->is_load;
      return;
   }
   if (!LLVMIsACallInst(i)) {
      n->is_effect = LLVMIsAStoreInst(i) || LLVMIsAFenceInst(i) || LLVMIsAAtomicRMWInst(i) ||
                     LLVMIsAAtomicCmpXchgInst(i) || LLVMIsAAllocaInst(i);
      return;
   }
   LLVMValueRef callee = LLVMGetCalledValue(i);
   if (LLVMIsAInlineAsm(callee)) {
      n->is_load = is_plain_load(LLVMGetInlineAsmAsmString(callee, &length));
      n->is_effect = !n->is_load && LLVMGetInlineAsmHasSideEffects(callee);
   } else {
      n->is_effect = !LLVMIsAFunction(callee) || !has_attribute(callee, "memory", true) ||
                     has_attribute(callee, "convergent", false);
   }
}

/* ---- the graph of a block ---- */
static int
compare(const void *a, const void *b)
{
   uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
   return (x > y) - (x < y);
}

/* In the order of the program, each once. */
static void
set_needs(Values *v, uint32_t node, Numbers *from)
{
   Node *n = &v->nodes.data[node];
   if (from->len)
      qsort(from->data, from->len, sizeof *from->data, compare);
   for (size_t i = 0; i < from->len; i++) {
      uint32_t need = from->data[i];
      if (i > 0 && need == from->data[i - 1])
         continue;
      tl_vec_push(v->arena, &n->needs, need);
      tl_vec_push(v->arena, &v->nodes.data[need].users, node);
      n->pending++;
   }
}

/* Does the value live on where the block has been left? */
static bool
escapes(const Values *v, LLVMValueRef value)
{
   for (LLVMUseRef use = LLVMGetFirstUse(value); use; use = LLVMGetNextUse(use)) {
      LLVMValueRef user = LLVMGetUser(use);
      if (LLVMGetInstructionParent(user) != v->block || LLVMIsAPHINode(user) ||
          LLVMIsATerminatorInst(user))
         return true;
   }
   return false;
}

static uint32_t
add_live(Values *v, LLVMValueRef value, bool is_outside)
{
   uint32_t number = (uint32_t)v->lives.len;
   uint32_t words = is_offset(value) ? 0 : words_of(LLVMTypeOf(value));
   Live live = {value, words, 0, is_outside || escapes(v, value), NONE};
   tl_vec_push(v->arena, &v->lives, live);
   set_number(&v->live_of, value, number);
   return number;
}

/* The node reads the value, which may be of another block. */
static void
read_value(Values *v, uint32_t node, LLVMValueRef value)
{
   if (!LLVMIsAInstruction(value))
      return;
   uint32_t live = number_of(&v->live_of, value);
   if (live == NONE)
      live = add_live(v, value, true);
   if (v->lives.data[live].last == node)
      return;
   v->lives.data[live].last = node;
   v->lives.data[live].readers++;
   tl_vec_push(v->arena, &v->nodes.data[node].reads, live);
}

static void
read_operands_of(Values *v, uint32_t node, LLVMValueRef i, Numbers *needs)
{
   for (int k = 0; k < LLVMGetNumOperands(i); k++) {
      LLVMValueRef arg = LLVMGetOperand(i, (unsigned)k);
      uint32_t need = LLVMIsAInstruction(arg) ? number_of(&v->node_of, arg) : NONE;
      read_value(v, node, arg);
      if (need != NONE)
         tl_vec_push(v->arena, needs, need);
   }
}

static bool
is_part(const Values *v, LLVMValueRef i)
{
   return LLVMGetInstructionOpcode(i) == LLVMExtractValue &&
          LLVMIsAInstruction(LLVMGetOperand(i, 0)) &&
          number_of(&v->node_of, LLVMGetOperand(i, 0)) != NONE;
}

static void
build_graph(Values *v)
{
   uint32_t effect = NONE;
   Numbers loads = {0}; /* since then */
   for (LLVMValueRef i = LLVMGetFirstInstruction(v->block); i && !LLVMIsATerminatorInst(i);
        i = LLVMGetNextInstruction(i)) {
      add_live(v, i, false);
      if (LLVMIsAPHINode(i))
         continue;
      if (is_part(v, i)) {
         uint32_t of = number_of(&v->node_of, LLVMGetOperand(i, 0));
         tl_vec_push(v->arena, &v->nodes.data[of].parts, i);
         set_number(&v->node_of, i, of);
         continue;
      }
      uint32_t node = (uint32_t)v->nodes.len;
      Numbers needs = {0};
      tl_vec_push(v->arena, &v->nodes, (Node){0});
      Node *n = &v->nodes.data[node];
      tl_vec_push(v->arena, &n->parts, i);
      set_number(&v->node_of, i, node);
      classify(n, i);
      read_operands_of(v, node, i, &needs);
      if ((n->is_effect || n->is_load) && effect != NONE)
         tl_vec_push(v->arena, &needs, effect);
      if (n->is_load)
         tl_vec_push(v->arena, &loads, node);
      for (size_t k = 0; k < loads.len && n->is_effect; k++)
         tl_vec_push(v->arena, &needs, loads.data[k]);
      if (n->is_effect) {
         effect = node;
         loads.len = 0;
      }
      set_needs(v, node, &needs);
   }
}

/* ---- what lives ---- */
/* Words that live behind the node, less those before it. */
static int32_t
change_of(const Values *v, const Node *n)
{
   int32_t words = 0;
   for (size_t k = 0; k < n->parts.len; k++)
      words += (int32_t)v->lives.data[number_of(&v->live_of, n->parts.data[k])].words;
   for (size_t k = 0; k < n->reads.len; k++) {
      const Live *l = &v->lives.data[n->reads.data[k]];
      words -= l->readers == 1 && !l->escapes ? (int32_t)l->words : 0;
   }
   return words;
}

static void
read_operands(Values *v, const Node *n)
{
   for (size_t k = 0; k < n->reads.len; k++)
      v->lives.data[n->reads.data[k]].readers--;
}

static void
unread_all(Values *v)
{
   for (size_t i = 0; i < v->nodes.len; i++)
      for (size_t k = 0; k < v->nodes.data[i].reads.len; k++)
         v->lives.data[v->nodes.data[i].reads.data[k]].readers++;
}

/* The most words that live at once; order: of nodes, NULL: as they stand. */
static uint32_t
peak_of(Values *v, const Numbers *order)
{
   int32_t now = 0, most = 0;
   for (size_t i = 0; i < v->lives.len; i++)
      if (number_of(&v->node_of, v->lives.data[i].value) == NONE)
         now += (int32_t)v->lives.data[i].words;
   for (size_t i = 0; i < v->nodes.len; i++) {
      const Node *n = &v->nodes.data[order ? order->data[i] : i];
      now += change_of(v, n);
      read_operands(v, n);
      most = now > most ? now : most;
   }
   unread_all(v);
   return (uint32_t)most;
}

/* ---- the new order ---- */
/* The one that has still to read a value may do so at less cost than before. */
static void
open_last_readers(Values *v, const Node *n, Numbers *open)
{
   for (size_t i = 0; i < n->reads.len; i++) {
      const Live *l = &v->lives.data[n->reads.data[i]];
      uint32_t def = number_of(&v->node_of, l->value);
      if (l->readers != 1 || l->escapes || def == NONE)
         continue;
      const Numbers *users = &v->nodes.data[def].users;
      for (size_t k = users->len; k-- > 0;)
         tl_vec_push(v->arena, open, users->data[k]);
   }
}

/* Is it a truth that stores alone ask for?  It takes none of the words that are counted, but one of
 * a thread's few registers for truths, so it comes when it is needed. */
static bool
is_for_effects(const Values *v, const Node *n)
{
   LLVMTypeRef type = LLVMTypeOf(n->parts.data[0]);
   if (LLVMGetTypeKind(type) != LLVMIntegerTypeKind || LLVMGetIntTypeWidth(type) != 1)
      return false;
   for (size_t k = 0; k < n->users.len; k++)
      if (!v->nodes.data[n->users.data[k]].is_effect)
         return false;
   return n->users.len > 0;
}

/* The node, then whatever can follow at no cost, depth first. */
static void
place(Values *v, uint32_t first)
{
   Numbers open = {0};
   tl_vec_push(v->arena, &open, first);
   while (open.len) {
      uint32_t number = tl_vec_pop(&open);
      Node *n = &v->nodes.data[number];
      bool is_free = !n->is_effect && !n->is_load && change_of(v, n) <= 0 && !is_for_effects(v, n);
      if (n->is_placed || n->pending || (number != first && !is_free))
         continue;
      n->is_placed = true;
      tl_vec_push(v->arena, &v->order, number);
      read_operands(v, n);
      open_last_readers(v, n, &open);
      for (size_t k = n->users.len; k-- > 0;) {
         v->nodes.data[n->users.data[k]].pending--;
         tl_vec_push(v->arena, &open, n->users.data[k]);
      }
   }
}

/* The node behind all that it needs. */
static void
place_needs(Values *v, uint32_t root)
{
   Numbers open = {0}, next = {0}; /* nodes, and which of their needs comes next */
   tl_vec_push(v->arena, &open, root);
   tl_vec_push(v->arena, &next, 0);
   while (open.len) {
      uint32_t number = tl_vec_last(&open), at = tl_vec_last(&next);
      const Node *n = &v->nodes.data[number];
      if (!n->is_placed && at < n->needs.len) {
         tl_vec_last(&next)++;
         if (!v->nodes.data[n->needs.data[at]].is_placed) {
            tl_vec_push(v->arena, &open, n->needs.data[at]);
            tl_vec_push(v->arena, &next, 0);
         }
         continue;
      }
      if (!n->is_placed)
         place(v, number);
      open.len--;
      next.len--;
   }
}

static void
choose_order(Values *v)
{
   for (uint32_t i = 0; i < v->nodes.len; i++) /* they cost nothing; LLVM minds them between */
      if (is_offset(v->nodes.data[i].parts.data[0]))
         place_needs(v, i);
   for (uint32_t i = 0; i < v->nodes.len; i++)
      if (v->nodes.data[i].is_effect)
         place_needs(v, i);
   for (uint32_t i = 0; i < v->nodes.len; i++)
      place_needs(v, i);
   assert(v->order.len == v->nodes.len);
   unread_all(v);
}

/* LLVM's preparation for selecting instructions starts over for some of those that stand between
 * others now: 8,500 instructions with 256 casts took 0.7 s instead of 0.14. */
enum { MOST_NODES = 2048 };

static void
order_block(TlCg *cg, LLVMBasicBlockRef block, uint32_t registers)
{
   Values v = {.cg = cg, .arena = cg->arena, .block = block};
   tl_map_init(&v.node_of, v.arena);
   tl_map_init(&v.live_of, v.arena);
   build_graph(&v);
   uint32_t before = peak_of(&v, NULL);
   if (before <= registers + registers / 4 || v.nodes.len > MOST_NODES)
      return;
   choose_order(&v);
   if (peak_of(&v, &v.order) > before - before / 4)
      return;
   LLVMPositionBuilderBefore(cg->b, LLVMGetBasicBlockTerminator(block));
   LLVMSetCurrentDebugLocation2(cg->b, NULL); /* what moves keeps its own */
   for (size_t i = 0; i < v.order.len; i++) {
      const Node *n = &v.nodes.data[v.order.data[i]];
      for (size_t k = 0; k < n->parts.len; k++) {
         LLVMInstructionRemoveFromParent(n->parts.data[k]);
         LLVMInsertIntoBuilder(cg->b, n->parts.data[k]);
      }
   }
}

static bool
multiplies(const TlBlock *body)
{
   for (const TlOp *op = body->first; op; op = tl_walk_next(op, body))
      if (op->opcode == TL_OP_WGMMA || op->opcode == TL_OP_MMA)
         return true;
   return false;
}

void
tl_cg_order_values(TlCg *cg)
{
   const TlFunc *f = cg->func;
   if (cg->host || f->extra_warps || multiplies(f->body->block))
      return;
   uint32_t registers = tl_registers_at_start(cg->target, f) / (cg->by_element ? 2 : 1);
   for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(cg->fn); b; b = LLVMGetNextBasicBlock(b))
      order_block(cg, b, registers);
}
