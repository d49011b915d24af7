/* Where loads from global memory are not to come behind what stands after them.
 *
 * ptxas gives up registers for blocks on a multiprocessor: of loads whose results are stored one
 * after the other it begins a few, waits, stores, and only then begins the next, in the registers
 * that are free again.  Each round is a trip to memory.  It moves nothing past a barrier of a warp,
 * which is no instruction where the lanes are together, so one goes behind such loads.
 *
 *    ld a; ld b; ld c; st.shared a; ..     becomes     ld a; ld b; ld c; bar.warp; st.shared a; ..
 *
 * Refused where what then lives would leave too few warps on a multiprocessor, and where other
 * effects wait for loads first. */
#include "codegen/cg.h"
#include "ir/control.h"
#include "ir/pressure.h"
#include "ir/walk.h"

#include <string.h>

/* The parameter, or whatever else is no sum, that the addresses of an access begin at. */
static const TlValue *
root_of(const TlOp *access)
{
   const TlValue *v = tl_arg(access, 0);
   while (v->def && (v->def->opcode == TL_OP_ADDPTR || v->def->opcode == TL_OP_SPLAT ||
                     (v->def->opcode == TL_OP_PICK && v->def->num_args == 1)))
      v = tl_arg(v->def, 0);
   return v;
}

/* Is `store` the first to memory that many loads before it, and none after it, read by the same
 * pointer, and is there room for what they load?  ptxas sees that loads and stores by one pointer
 * with different offsets do not meet: 32 loads of a tile that is changed in place came one after
 * the other. */
static bool
ends_loads(const TlCg *cg, const TlOp *store)
{
   enum { MANY = 16 };
   const TlValue *root = root_of(store);
   uint32_t accesses = 0, registers = 0;
   for (const TlOp *op = store->block->first; op != store; op = op->next) {
      bool is_load = op->opcode == TL_OP_LD_GLOBAL;
      unsigned n = is_load ? tl_type_num_regs(tl_result(op, 0)->type) : 0;
      registers += n;
      if (is_load && root_of(op) == root)
         accesses += n / (unsigned)tl_attr_int(op, TL_ATTR_VEC);
      if (op->opcode == TL_OP_ST_GLOBAL && root_of(op) == root)
         return false;
   }
   for (const TlOp *op = store->next; op; op = op->next)
      if (op->num_regions > 0 || (op->opcode == TL_OP_LD_GLOBAL && root_of(op) == root))
         return false;
   return accesses >= MANY && registers <= tl_registers_at_start(cg->target, cg->func) / 2;
}

bool
tl_cg_holds_loads(const TlCg *cg)
{
   for (const TlOp *op = cg->func->body->block->first; op; op = op->next)
      if (op->opcode == TL_OP_ST_GLOBAL && ends_loads(cg, op))
         return true;
   return false;
}

static bool
is_product(const TlOp *op)
{
   return op->opcode == TL_OP_WGMMA || op->opcode == TL_OP_MMA;
}

/* The first write of shared memory of a function with products and no loop, when loads before it
 * are read behind its first product only (advance_loads); NULL: there is none.  ptxas delays such
 * loads, and their latency was waited for once more. */
static const TlOp *
first_exchange(const TlCg *cg)
{
   const TlBlock *body = cg->func->body->block;
   const TlOp *write = NULL, *product = NULL;
   uint32_t registers = 0;
   bool is_ahead = false;
   TlMap behind;
   tl_map_init(&behind, cg->arena);
   for (const TlOp *op = body->first; op; op = op->next) {
      if (tl_is_loop(op))
         return NULL;
      write = write || !tl_has_trait(op, TL_TRAIT_WRITES_SHARED) ? write : op;
      product = product || !is_product(op) ? product : op;
      if (product)
         tl_map_put(&behind, op, (void *)op);
   }
   for (const TlOp *op = body->first; write && product && op != write; op = op->next) {
      if (op->opcode != TL_OP_LD_GLOBAL)
         continue;
      const TlUse *u = tl_result(op, 0)->uses;
      registers += tl_type_num_regs(tl_result(op, 0)->type);
      while (u && tl_map_get(&behind, tl_in_block(u->user, body)))
         u = u->next;
      is_ahead |= !u;
   }
   return is_ahead && registers <= tl_registers_at_start(cg->target, cg->func) / 2 ? write : NULL;
}

/* The words of every value, those of loads also where the next operation of a chain reads them. */
static const uint32_t *
words_with_loads(const TlCg *cg)
{
   const TlBlock *body = cg->func->body->block;
   const uint32_t *lowered = tl_lowered_words(cg->arena, cg->func);
   uint32_t *words = tl_new_array(cg->arena, uint32_t, cg->func->next_value_id + 1);
   memcpy(words, lowered, cg->func->next_value_id * sizeof *words);
   for (const TlOp *op = body->first; op; op = op->next)
      if (op->opcode == TL_OP_LD_GLOBAL)
         words[tl_result(op, 0)->id] = tl_cg_regs_bits(tl_result(op, 0)->type) / 32;
   return words;
}

/* Loads between two places that nothing is moved past. */
typedef struct Stretch {
   const TlOp *last;  /* load */
   const TlOp *write; /* the first effect behind it, on shared memory; NULL: another one is */
   uint32_t loaded;   /* words */
} Stretch;

/* Of what threads have in registers; copies wait for none of it. */
static bool
is_write(const TlOp *op)
{
   return tl_has_trait(op, TL_TRAIT_WRITES_SHARED) && op->opcode != TL_OP_CP_ASYNC &&
          op->opcode != TL_OP_TMA_LOAD;
}

static bool
ends_stretch(const TlOp *op)
{
   return op->opcode == TL_OP_BAR_SYNC || op->opcode == TL_OP_BAR_WARP || op->num_regions ||
          !op->next;
}

/* Do the loads live together, does ptxas have a reason to begin them one after the other, and do
 * they leave the multiprocessor as many warps as advance_loads does?  Below 32 words registers
 * bring no block more; blocks of eight warps and more take steps of so many that it seldom tries:
 * of thirteen such variants two gained and five lost. */
static bool
is_held(const TlCg *cg, const Stretch *s, TlMap *alive)
{
   enum { FEW_WORDS = 16, FEW_ALIVE = 32, MOST_WARPS = 4, ENOUGH_WARPS = 16 };
   uint32_t warps = tl_total_warps(cg->func);
   if (!s->write || s->loaded < FEW_WORDS || warps > MOST_WARPS)
      return false;
   uint32_t words = (uint32_t)(uintptr_t)tl_map_get(alive, s->last), all = words + words / 8;
   return words >= s->loaded && words >= FEW_ALIVE &&
          all <= tl_registers_at_start(cg->target, cg->func) &&
          tl_blocks_with(cg->target, warps, all) * warps >= ENOUGH_WARPS;
}

/* Functions without loops have each latency once, and nothing else to do meanwhile.  The place is
 * behind the last load of a stretch: earlier it would keep others behind it. */
static void
hold_before_exchanges(TlCg *cg)
{
   const TlBlock *body = cg->func->body->block;
   const uint32_t *words = words_with_loads(cg);
   if (tl_has_loop(body) ||
       tl_pressure(cg->arena, cg->func, words, NULL) > tl_registers_at_start(cg->target, cg->func))
      return;
   TlMap *alive = tl_live_words(cg->arena, cg->func, words);
   Stretch s = {0};
   bool is_next = false;
   for (const TlOp *op = body->first; op; op = op->next) {
      if (op->opcode == TL_OP_LD_GLOBAL) {
         s.last = op;
         s.loaded += tl_cg_regs_bits(tl_result(op, 0)->type) / 32;
         s.write = NULL;
         is_next = true;
      } else if (is_next && !tl_op_is_pure(op)) {
         s.write = is_write(op) ? op : NULL;
         is_next = false;
      }
      if (!ends_stretch(op))
         continue;
      if (is_held(cg, &s, alive))
         tl_map_put(&cg->holds, s.write, (void *)s.write);
      s = (Stretch){0};
   }
}

void
tl_cg_find_holds(TlCg *cg)
{
   const TlBlock *body = cg->func->body->block;
   const TlOp *first = first_exchange(cg);
   for (const TlOp *op = body->first; op; op = op->next) /* all threads of a warp come by here */
      if (op == first || (op->opcode == TL_OP_ST_GLOBAL && ends_loads(cg, op)))
         tl_map_put(&cg->holds, op, (void *)op);
   hold_before_exchanges(cg);
}

void
tl_cg_hold(TlCg *cg)
{
   tl_cg_call(cg, "llvm.nvvm.bar.warp.sync", cg->voidt, &(LLVMValueRef){tl_cg_i32(cg, -1)}, 1);
}
