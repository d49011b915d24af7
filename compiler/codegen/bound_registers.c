/* How many registers ptxas may give a thread: what the kernel's attributes say of that, so that
 * loads are under way together and nothing spills that need not. */
#include "codegen/cg.h"
#include "ir/control.h"
#include "ir/pressure.h"
#include "ir/walk.h"

#include <stdio.h>
#include <string.h>

static uint32_t
loaded_bits(const TlOp *op)
{
   return tl_cg_regs_bits(tl_result(op, 0)->type);
}

/* Words that an iteration of a loop loads to registers, of the loop that loads most. */
static uint32_t
loaded_in_loop(const TlBlock *block)
{
   uint32_t most = 0;
   for (const TlOp *loop = block->first; loop; loop = tl_walk_next(loop, block)) {
      const TlBlock *body = tl_is_loop(loop) ? tl_loop_body(loop) : NULL;
      uint32_t bits = 0;
      for (const TlOp *op = body ? body->first : NULL; op; op = tl_walk_next(op, body))
         bits += op->opcode == TL_OP_LD_GLOBAL ? loaded_bits(op) : 0;
      most = bits / 32 > most ? bits / 32 : most;
   }
   return most;
}

/* Does a loop load to registers and exchange values between threads, too, or load at least `many`
 * bits?  Products have their own balance of blocks and registers. */
static bool
waits_in_loop(const TlBlock *block, uint32_t many)
{
   bool found = false;
   for (const TlOp *loop = block->first; loop; loop = tl_walk_next(loop, block)) {
      uint32_t loads = 0;
      bool waits = false;
      const TlBlock *body = tl_is_loop(loop) ? tl_loop_body(loop) : NULL;
      if (loop->opcode == TL_OP_MMA || loop->opcode == TL_OP_WGMMA)
         return false;
      for (const TlOp *op = body ? body->first : NULL; op; op = tl_walk_next(op, body)) {
         if (op->opcode == TL_OP_LD_GLOBAL)
            loads += loaded_bits(op);
         waits |= op->opcode == TL_OP_BAR_SYNC || op->opcode == TL_OP_SHFL;
      }
      found |= (loads > 0 && waits) || loads >= many;
   }
   return found;
}

/* Words that loads outside of loops fill and that could all be under way at once, 0 where they are
 * few.  Of 128 words that a sum of partial results reads ptxas, with 80 registers for six blocks,
 * had a sixth under way: seven round trips to memory.  A block of four warps with 96 words each has
 * 48 KB under way, so a few such blocks keep memory busy.  Less comes in without being told: a
 * gradient of states with 68 words took 96 registers, and for 149, three blocks, its launch of 512
 * blocks was two waves and 1.5 of its time. */
static uint32_t
loaded_in_line(const TlBlock *body)
{
   enum { MANY_LOADED = 96 };
   uint32_t most = 0, bits = 0;
   for (const TlOp *op = body->first; op; op = tl_walk_next(op, body))
      if (op->opcode == TL_OP_MMA || op->opcode == TL_OP_WGMMA)
         return 0;
   for (const TlOp *op = body->first; op; op = op->next) {
      if (op->num_regions > 0 || tl_has_trait(op, TL_TRAIT_SYNC))
         bits = 0;
      bits += op->opcode == TL_OP_LD_GLOBAL ? loaded_bits(op) : 0;
      most = bits > most ? bits : most;
   }
   return most >= MANY_LOADED * 32 ? most / 32 : 0;
}

/* Registers of a thread that let its loads be under way at once: `words` live beside them, `held`
 * of those while it waits.  What pure operations make of that between two waits may go element by
 * element, and does not if there is room: exp and log of 32 loaded values took 138 registers, three
 * blocks of 4 warps, and with 96 the loads were under way as before. */
static uint32_t
room_for(uint32_t words, uint32_t held)
{
   enum { USUAL = 128, USUAL_BETWEEN = 96 };
   if (words <= held + held / 2)
      return words > USUAL ? words + words / 4 : USUAL;
   uint32_t half_way = (words + held) / 2;
   uint32_t room = half_way + half_way / 4;
   return room > USUAL_BETWEEN ? room : USUAL_BETWEEN;
}

static uint32_t
blocks_of(const TlCg *cg, uint32_t registers)
{
   return tl_blocks_with(cg->target, tl_total_warps(cg->func), registers);
}

/* ptxas, left alone, gives up registers for one block more on a multiprocessor.  In a loop with an
 * exchange, where no warp runs ahead, loads then wait for each other: a recurrence over 16 of them
 * had 56 registers and four round trips in an iteration, with 96 one.  So it is told the number of
 * blocks that leaves room for 128 registers, or for what lives at once and a quarter more.
 * It also makes loads wait that come in tiles, to save registers that bring no block more: of 8
 * loads of 16 bytes to a sum of 64 registers, 4 were under way at a time.  And the loads of a tile
 * that is changed in place: of 32 masked ones, 16 came one after the other.
 * Blocks of 32 warps would be alone with 128 registers, and nothing runs while one waits at its
 * exchange: it asks for a second one where what it holds and a quarter more leave room.  Of 16
 * warps, which leave twice the registers to their loads, ptxas weighs them better by itself: nine
 * launches of KL divergences and cross entropies took 0.90 of Triton's time, one of them more than
 * 1.1, when asked for one block, and 0.88, none more than 1.1, left alone.
 * Narrow elements fill little of a thread's words: 32 loads of 16 bits a thread, in four blocks of
 * 4 warps, have 32 KB under way.  There all that pure operations hold between two waits is left to
 * go element by element: exp and log of these took 80 registers, six blocks, their loads as before.
 */
static uint32_t
blocks_for_loads(TlCg *cg, uint32_t words, uint32_t held)
{
   uint32_t loaded = loaded_in_loop(cg->func->body->block);
   uint32_t in_line = loaded_in_line(cg->func->body->block);
   uint32_t room = room_for(words, loaded > held ? loaded : held);
   room = room > in_line + in_line / 8 ? room : in_line + in_line / 8;
   uint32_t usual = blocks_of(cg, room);
   enum { MANY = 16, LARGE = 32 /* warps */, ENOUGH_LOADED = 4 * 96 /* words a lane: 48 KB */ };
   uint32_t warps = tl_total_warps(cg->func);
   bool has_room = blocks_of(cg, held + held / 4 + !held) > 1;
   if (usual < 2 && warps >= MANY && warps < LARGE)
      return 0;
   if (usual < 2)
      usual = has_room && warps >= LARGE ? 2 : 1;
   if (words > held + held / 2 && loaded < held && usual * warps * loaded < ENOUGH_LOADED)
      usual = blocks_of(cg, held + held / 4);
   return usual;
}

/* Words that the products of wgmma in a loop's body give, and take from registers; none where its
 * threads copy, as the addresses of that are in no count. */
static uint32_t
words_of_products_in(const TlBlock *body)
{
   uint32_t bits = 0;
   for (const TlOp *op = body->first; op; op = op->next) {
      if (op->opcode == TL_OP_CP_ASYNC)
         return 0;
      if (op->opcode == TL_OP_WGMMA)
         bits += tl_cg_regs_bits(tl_result(op, 0)->type) +
                 (tl_wgmma_is_shared(op, 0) ? 0 : tl_cg_regs_bits(tl_arg(op, 0)->type));
   }
   return bits / 32;
}

/* Of the loop with most. */
static uint32_t
words_of_products(const TlBlock *block)
{
   uint32_t most = 0;
   for (const TlOp *loop = block->first; loop; loop = tl_walk_next(loop, block)) {
      uint32_t words = tl_is_loop(loop) ? words_of_products_in(tl_loop_body(loop)) : 0;
      most = words > most ? words : most;
   }
   return most;
}

/* Blocks that share a multiprocessor hide each other's waits, so a few registers must not cost one:
 * attention of 64 rows and 128 keys took 188 with a soft cap and 198 with a window, where the same
 * code fits 168, three blocks.  Asked for where all that lives and an eighth would cost a block,
 * what lives across effects and an eighth would not, and shared memory lets the blocks in.  Only
 * there: told a number that it reaches anyway, ptxas takes registers (128 -> 150). */
static uint32_t
blocks_of_products(TlCg *cg, uint32_t words, uint32_t alive, uint32_t held)
{
   enum { WORDS_BESIDE = 32, BLOCK_BYTES = 1024 /* of shared memory, reserved */ };
   uint32_t blocks = blocks_of(cg, words + WORDS_BESIDE);
   uint32_t fit = cg->target->sm_shared_bytes / (cg->func->shared_bytes + BLOCK_BYTES);
   bool is_lost = blocks_of(cg, alive + alive / 8) < blocks;
   return fit >= blocks && is_lost && blocks_of(cg, held + held / 8) >= blocks ? blocks : 0;
}

/* Blocks that a pass made room for in shared memory are not to be lost for a few registers: sums of
 * chunk states took 174 where three blocks leave 168, and 167 when asked.  Counts of what copying
 * threads hold are a quarter too high; beyond that nothing is asked for. */
static uint32_t
freed_blocks(TlCg *cg, uint32_t held)
{
   return blocks_of(cg, held - held / 5) >= cg->func->blocks ? cg->func->blocks : 0;
}

/* Is the value arithmetic on a load with half as many words, and on what takes none? */
static bool
is_widened(const TlValue *v, const uint32_t *words, const bool *widened)
{
   const TlOp *op = v->def;
   if (!op || !tl_op_is_pure(op) || !tl_has_trait(op, TL_TRAIT_ELTWISE))
      return false;
   if (op->opcode == TL_OP_CAST)
      return tl_value_is(tl_arg(op, 0), TL_OP_LD_GLOBAL) &&
             2 * tl_cg_regs_bits(tl_arg(op, 0)->type) <= tl_cg_regs_bits(v->type);
   unsigned wide = 0;
   for (unsigned i = 0; i < op->num_args; i++) {
      const TlValue *arg = tl_arg(op, i);
      wide += widened[arg->id];
      if (!widened[arg->id] && words[arg->id])
         return false;
   }
   bool is_cheap = op->opcode == TL_OP_MUL || op->opcode == TL_OP_ADD || op->opcode == TL_OP_SUB;
   return wide == 1 && is_cheap;
}

/* What threads hold while they wait, where such values are made again from what was loaded. */
static uint32_t
held_as_loaded(const TlCg *cg, const uint32_t *words)
{
   const TlBlock *body = cg->func->body->block;
   bool *widened = tl_new_array(cg->arena, bool, cg->func->next_value_id + 1);
   uint32_t *own = tl_new_array(cg->arena, uint32_t, cg->func->next_value_id + 1);
   memcpy(own, words, cg->func->next_value_id * sizeof *own);
   for (const TlOp *op = body->first; op; op = op->next)
      for (unsigned i = 0; i < op->num_results; i++) {
         const TlValue *v = tl_result(op, i);
         widened[v->id] = is_widened(v, words, widened);
         own[v->id] = widened[v->id] ? 0 : own[v->id];
      }
   return tl_held_words(cg->arena, cg->func, own);
}

/* A block alone on its multiprocessor leaves it idle at each barrier.  What is loaded as 16 bits
 * and kept as 32 over a barrier takes twice the registers, and ptxas then takes more than leave
 * room for a second block: 154 for a log-sum-exp of 128 bf16 elements a thread, 256 threads.  Asked
 * for two blocks it spills 96 bytes, and the launch of 256 blocks is one wave instead of two. */
static bool
needs_second_block(const TlCg *cg, const uint32_t *lowered, uint32_t words)
{
   const TlBlock *body = cg->func->body->block;
   bool meets = false;
   if (cg->target->sm >= 100)
      return false;
   for (const TlOp *op = body->first; op; op = op->next) {
      if (op->num_regions || op->opcode == TL_OP_MMA || op->opcode == TL_OP_WGMMA)
         return false;
      meets |= op->opcode == TL_OP_BAR_SYNC;
   }
   if (!meets || blocks_of(cg, words + words / 8 + 1) > 1)
      return false;
   uint32_t held = held_as_loaded(cg, lowered);
   return held && blocks_of(cg, held + held / 2) > 1;
}

/* Words of the largest result of an elementwise operation in a loop. */
static uint32_t
widest_in_loop(const TlBlock *top)
{
   uint32_t most = 0;
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top)) {
      const TlValue *v = op->num_results ? tl_result(op, 0) : NULL;
      bool is_loaded = op->opcode == TL_OP_LD_GLOBAL || tl_has_trait(op, TL_TRAIT_ELTWISE);
      if (!is_loaded || op->block == top || tl_type_elem(v->type)->kind != TL_TYPE_SCALAR)
         continue;
      uint32_t words = tl_cg_regs_bits(v->type) / 32;
      most = words > most ? words : most;
   }
   return most;
}

/* Would a block be alone on its multiprocessor for what its loop computes between loads and stores,
 * though it holds so little there that a second one fits?  No exchange keeps its warps together, so
 * some compute while others wait.  Operation by operation, logarithms of 32 loaded values live
 * beside all that was loaded, 48 words: ptxas took 91 registers, and began the 16 loads over 810 of
 * 1,030 instructions; by element 64, the loads begun within 180. */
static bool
goes_by_element(const TlCg *cg, uint32_t held)
{
   const TlBlock *body = cg->func->body->block;
   uint32_t loaded = loaded_in_loop(body);
   uint32_t most = held > loaded ? held : loaded;
   return loaded && !waits_in_loop(body, UINT32_MAX) && blocks_of(cg, most + most / 4) > 1 &&
          blocks_of(cg, loaded + widest_in_loop(body)) < 2;
}

/* Does all that lives at once leave a multiprocessor full of warps, where no loop loads twice the
 * widest access?  Told of fewer blocks ptxas takes what they leave, and no load is earlier for it:
 * a gradient of routed rows, 31 words, had 72 registers for 32.  Of two wide loads the second may
 * wait for the first if it is left alone. */
static bool
fits_full(const TlCg *cg, uint32_t words)
{
   enum { TWO_WIDE = 8 };
   uint32_t warps = tl_total_warps(cg->func), full = cg->target->sm_warps;
   return loaded_in_loop(cg->func->body->block) < TWO_WIDE &&
          warps * cg->target->sm_blocks >= full && blocks_of(cg, words) * warps >= full;
}

/* The blocks of a multiprocessor that ptxas is to leave registers for; 0: as it finds best, maybe
 * in an order for two (cg->by_element). */
static uint32_t
blocks_to_ask_for(TlCg *cg, const uint32_t *lowered, uint32_t words)
{
   enum { MANY_BITS = 4 * 128 }; /* four of the widest loads */
   const TlFunc *f = cg->func;
   uint32_t held = tl_held_words(cg->arena, f, lowered);
   uint32_t products = words_of_products(f->body->block);
   if (f->blocks && cg->target->sm < 100)
      return freed_blocks(cg, held);
   if (products)
      return blocks_of_products(cg, products, words, held);
   if (cg->target->sm >= 100)
      return 0;
   bool is_free = words > 0 && blocks_of(cg, words) == blocks_of(cg, room_for(words, words));
   uint32_t many = is_free ? MANY_BITS : UINT32_MAX;
   bool holds = tl_cg_holds_loads(cg);
   bool waits = waits_in_loop(f->body->block, many) || loaded_in_line(f->body->block);
   if (waits || holds) {
      uint32_t blocks = blocks_for_loads(cg, words, holds ? words : held);
      bool is_full = blocks * tl_total_warps(f) >= cg->target->sm_warps;
      return holds || is_full || !fits_full(cg, words) ? blocks : 0;
   }
   cg->by_element = goes_by_element(cg, held);
   return 0;
}

/* The programs for each multiprocessor that have room for all registers that ptxas would take; 0:
 * code that lives on so few registers is the same with all of them.  Of 52 kernels of others in
 * which 17 to 64 words live at once, 50 had the registers that they have with no bound with 64 more
 * than that; of those with more words one spilled. */
static uint32_t
few_programs(const TlCg *cg, uint32_t words)
{
   enum { WORDS_BESIDE = 16, MANY_BESIDE = 64, MOST_WORDS = 64 };
   uint32_t room = words <= MOST_WORDS ? words + MANY_BESIDE : cg->target->thread_registers;
   uint32_t blocks = blocks_of(cg, words + WORDS_BESIDE), few = blocks_of(cg, room);
   if (cg->target->sm >= 100 || blocks * tl_total_warps(cg->func) >= cg->target->sm_warps)
      return 0;
   return few ? few : 1;
}

/* ptxas, when it must spill much, may fall to 32 registers a thread: a group norm of 512 elements
 * a thread spilled 21,608 bytes so and 7,896 with all 255.  The bound is named only where tiles
 * overflow it: else ptxas does better left alone, by the order it finds.
 * Left alone it gives up registers for blocks.  A launch of few programs has no use for these: it
 * takes the form that is told of as many as it has (decision 38). */
void
tl_cg_bound_registers(TlCg *cg)
{
   const TlFunc *f = cg->func;
   uint32_t most = tl_registers_at_start(cg->target, f);
   const uint32_t *lowered = tl_lowered_words(cg->arena, f);
   uint32_t words = tl_pressure(cg->arena, f, lowered, NULL);
   char text[16];
   bool has_freed = f->blocks && cg->target->sm < 100;
   cg->few_per_sm = 0;
   cg->by_element = false;
   if (!has_freed && (f->extra_warps || words > most)) {
      snprintf(text, sizeof text, "%u", most);
      tl_cg_attr(cg, "nvvm.maxnreg", text);
      return;
   }
   uint32_t blocks = blocks_to_ask_for(cg, lowered, words);
   if (!blocks) {
      cg->few_per_sm = few_programs(cg, words);
      if (cg->few_per_sm && cg->options->few_programs)
         blocks = cg->few_per_sm;
      else if (!has_freed && needs_second_block(cg, lowered, words))
         blocks = 2;
   }
   snprintf(text, sizeof text, "%u", blocks);
   if (blocks)
      tl_cg_attr(cg, "nvvm.minctasm", text);
}
