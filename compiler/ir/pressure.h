/* Registers that live at once, for decisions that must not overflow the register file.
 *
 * Of a whole function, with words that the caller gives its values: what choose_warps plans before
 * there are layouts, and what the report of a compilation says of the code that was made.  Passes
 * that change one loop ask tl_peak_words (passes/live_words.h), which counts another thing. */
#ifndef TL_IR_PRESSURE_H
#define TL_IR_PRESSURE_H

#include "ir/ir.h"
#include "ir/target.h"
#include "ir/walk.h"

/* The most registers that a thread of f may have when its block alone fills a multiprocessor; they
 * are given out by eights. */
static inline uint32_t
tl_registers_at_start(const TlTarget *target, const TlFunc *f)
{
   uint32_t most = target->sm_registers / (tl_total_warps(f) * 32) / 8 * 8;
   return most < target->thread_registers ? most : target->thread_registers;
}

/* Registers that a thread has where the operation runs (NULL: in the function's body): its role's,
 * else those at the start. */
static inline uint32_t
tl_registers_at(const TlTarget *target, const TlFunc *f, const TlOp *op)
{
   for (; op; op = tl_parent(op))
      if (op->opcode == TL_OP_ROLE && tl_attr_int(op, TL_ATTR_REGISTERS))
         return (uint32_t)tl_attr_int(op, TL_ATTR_REGISTERS);
   return tl_registers_at_start(target, f);
}

/* The most blocks on a multiprocessor that leave each thread so many registers.  A multiprocessor
 * has four parts, each with a quarter of the registers and every fourth warp: five blocks of two
 * warps leave what three warps of one part share, 168 registers, four blocks twice that. */
static inline uint32_t
tl_blocks_with(const TlTarget *target, uint32_t warps, uint32_t registers)
{
   enum { PARTS = 4, LANES = 32 };
   return target->sm_registers / PARTS / (LANES * registers) * PARTS / warps;
}

/* The most words (32-bit registers of a thread) that live at one operation, where value v takes
 * words[v->id]; *at, unless NULL, receives that operation.  The operands that die at an operation
 * do not live beside its result: it may be made piece by piece in their place.  A value of no words
 * made by a pure operation is made again where it is used, so that its operands live until then. */
uint32_t tl_pressure(TlArena *arena, const TlFunc *f, const uint32_t *words, const TlOp **at);

/* Those that live at each operation: const TlOp * -> words, as uintptr_t; in arena. */
TlMap *tl_live_words(TlArena *arena, const TlFunc *f, const uint32_t *words);

/* The most of them that live at an operation with an effect: what threads hold while they wait for
 * a load or for each other.  Pure operations between two of those may go element by element. */
uint32_t tl_held_words(TlArena *arena, const TlFunc *f, const uint32_t *words);

/* The words of every value of a LOWERED function.  Constants, repeated scalars, picked registers,
 * addresses a constant apart, and what the next operation of a chain alone reads take none. */
const uint32_t *tl_lowered_words(TlArena *arena, const TlFunc *f);

#endif
