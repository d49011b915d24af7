/* Loads issued before the threads exchange values, or divide.
 *
 * A reduction, a scan or a conversion through shared memory ends in a barrier, and no load is moved
 * up past one later on: what is read from global memory behind it is asked for only when every
 * warp has come there, and its latency is then waited for once more.
 *
 *    before:   for: a = load(p); s = reduce(a); t = scan(a); b = load(q); store(r, f(s, t, b))
 *    after:    for: a = load(p); b = load(q); s = reduce(a); t = scan(a); store(r, f(s, t, b))
 *
 * A load goes before the first exchange behind the last operation that may write memory or orders
 * it, with the arithmetic of its address and mask.
 *
 * And before the first quotient of integers by what is not constant.  Of 64 bits, ptxas makes
 * a branch of it, past which it moves no load; of a tile, a dozen operations for each element, and
 * it leaves loads behind these: the eight of a concatenation came 40 instructions before their
 * stores, and 340 as moved here.
 *
 * Refused: loads that need a result of what is between, volatile ones, and those whose registers
 * would cost a block of the multiprocessor its place; outside of loops, where other blocks run
 * meanwhile, those that do not leave half of the warps a place.  A function without loops has each
 * latency once and nothing else to do: there a load of two accesses may also go where less lives
 * than elsewhere.
 *
 * Loops with products have rings for their operands and a balance of registers of their own: there
 * loads of a word or two go before the first wait or exchange of the iteration (the last row's
 * decay, which no ring takes, cost each iteration a trip to memory behind its products), also past
 * stores, but to other parameters, which are taken for other memory as by pipeline_loops.
 *
 * A function with products and no loop around them had loops of one round, as often as not, or
 * would have them for other shapes: there loads of any size go before the first exchange, past
 * stores to other parameters unless one stage is asked for, as long as enough warps are left on a
 * multiprocessor.  Their latency is else waited for a second time, behind products and stores.
 * Each load is looked at once, with at most MOST_ARITHMETIC operations, so it ends. */
#include "ir/pressure.h"
#include "ir/walk.h"
#include "passes/dot_layouts.h"
#include "passes/live_words.h"
#include "passes/pass.h"
#include "passes/pipeline_loops.h"

#include <assert.h>

enum {
   MOST_ARITHMETIC = 64, /* operations that one load takes with it */
   USUAL_WORDS = 102,    /* that live in loops: ptxas is given a quarter more (codegen/cg.c) */
   WORDS_OF_HALF = 48,   /* that live where threads have 64 registers */
   FEW_WORDS = 2,        /* of a load beside products */
   ENOUGH_WARPS = 16,    /* of a multiprocessor, each with the loads of two products in flight */
   MOST_OF_ONE = 8,      /* of a load in a function without loops: two accesses */
   MOST_BESIDE = 16,     /* such loads of a loop */
};

typedef struct Advance {
   TlPassCx *cx;
   TlFunc *func;
   uint32_t peak, advanced; /* words that live at once, and that this pass adds */
   TlMap *alive;            /* operation -> words that lived there before; NULL: not asked for */
   bool past_stores;        /* to other parameters */
   bool is_stored;          /* there is such a store behind the front */
   bool (*is_front)(const TlOp *); /* what loads go before and do not take along */
   TlOp *front;                    /* the first of these, NULL before there is one */
   uint32_t held;        /* words that live at once from there on, with those of moved loads */
   TlMap behind;         /* operations from the front on */
   TL_VEC(TlOp *) slice; /* what a load takes along, operands first, itself last */
} Advance;

static void
count_words(Advance *a)
{
   const uint32_t *words = tl_kept_words_of_all(a->cx->scratch, a->func);
   a->peak = tl_pressure(a->cx->scratch, a->func, words, NULL);
   if (!tl_has_loop(a->func->body->block) &&
       a->peak + a->peak / 4 <= tl_registers_at_start(a->cx->target, a->func))
      a->alive = tl_live_words(a->cx->scratch, a->func, words);
}

/* The most that live at the operation and at those inside of it. */
static uint32_t
alive_in(const Advance *a, const TlOp *op)
{
   uint32_t most = (uint32_t)(uintptr_t)tl_map_get(a->alive, op);
   for (unsigned r = 0; r < op->num_regions; r++) {
      const TlBlock *block = op->regions[r]->block;
      for (const TlOp *in = block->first; in; in = tl_walk_next(in, block)) {
         uint32_t words = (uint32_t)(uintptr_t)tl_map_get(a->alive, in);
         most = words > most ? words : most;
      }
   }
   return most;
}

/* Threads meet in the operation, or in a loop of it. */
static bool
is_exchange(const TlOp *op)
{
   switch (op->opcode) {
   case TL_OP_REDUCE:
   case TL_OP_SCAN:
   case TL_OP_CONVERT_LAYOUT:
   case TL_OP_LOCAL_ALLOC:
      return true;
   case TL_OP_FOR:
      for (const TlOp *in = op->regions[0]->block->first; in; in = in->next)
         if (is_exchange(in))
            return true;
      return false;
   default:
      return false;
   }
}

/* A branch, or a dozen operations for each element. */
static bool
is_long_division(const TlOp *op)
{
   uint64_t bits;
   if (op->opcode != TL_OP_DIV && op->opcode != TL_OP_REM)
      return false;
   const TlType *type = tl_result(op, 0)->type;
   TlDtype dtype = tl_type_elem(type)->dtype;
   bool is_long = type->kind == TL_TYPE_TILE || tl_dtype_info[dtype].bits > 32;
   return is_long && !tl_dtype_is_float(dtype) && !tl_is_const(tl_arg(op, 1), &bits);
}

/* Does the operation, with all inside of it, leave memory as it is and unordered? */
static bool
may_be_passed(const TlOp *op)
{
   if (op->opcode == TL_OP_LOAD)
      return !tl_attr_int(op, TL_ATTR_VOLATILE);
   if (op->opcode != TL_OP_FOR)
      return tl_op_is_pure(op) || tl_has_trait(op, TL_TRAIT_TERM) ||
             op->opcode == TL_OP_LOCAL_ALLOC || op->opcode == TL_OP_LOCAL_LOAD;
   for (const TlOp *in = op->regions[0]->block->first; in; in = in->next)
      if (!may_be_passed(in))
         return false;
   return true;
}

/* The same, and stores where loads go past them; notes that there is one. */
static bool
is_passed(Advance *a, const TlOp *op)
{
   if (may_be_passed(op))
      return true;
   a->is_stored |= a->front != NULL;
   return a->past_stores && op->opcode == TL_OP_STORE;
}

/* The operation and what it needs of those behind the front: false where that cannot go along. */
static bool
collect(Advance *a, TlOp *op, TlMap *seen)
{
   if (a->slice.len > MOST_ARITHMETIC || is_exchange(op) || a->is_front(op) || op->num_regions ||
       (a->slice.len && op->opcode != TL_OP_LOAD && !tl_op_is_pure(op)))
      return false;
   for (unsigned i = 0; i < op->num_args; i++) {
      TlOp *def = tl_arg(op, i)->def;
      if (!def || !tl_map_get(&a->behind, def) || tl_map_has(seen, def))
         continue;
      if (def->opcode == TL_OP_LOAD || !tl_op_is_pure(def) || !collect(a, def, seen))
         return false;
   }
   tl_map_put(seen, op, op);
   tl_vec_push(a->cx->scratch, &a->slice, op);
   return true;
}

static bool
has_room(const Advance *a, const TlOp *load)
{
   const TlTarget *target = a->cx->target;
   uint32_t own = tl_kept_words(tl_result(load, 0)), local = a->held + own;
   uint32_t words = a->peak + a->advanced + own;
   if (a->past_stores) {
      words = !a->alive ? words : local > a->peak ? local : a->peak;
      uint32_t all = words + words / 4, warps = tl_total_warps(a->func);
      return all <= tl_registers_at_start(target, a->func) &&
             tl_blocks_with(target, warps, all) * warps >= ENOUGH_WARPS;
   }
   if (!tl_is_of_loop(load))
      return words <= WORDS_OF_HALF || (a->alive && own <= MOST_OF_ONE && local <= a->peak);
   uint32_t before = a->peak > USUAL_WORDS ? a->peak : USUAL_WORDS;
   uint32_t after = words > USUAL_WORDS ? words : USUAL_WORDS;
   uint32_t warps = tl_total_warps(a->func);
   return tl_blocks_with(target, warps, before + before / 4) ==
             tl_blocks_with(target, warps, after + after / 4) &&
          after + after / 4 <= tl_registers_at_start(target, a->func);
}

static bool
advance(Advance *a, TlOp *load)
{
   TlMap seen;
   tl_map_init(&seen, a->cx->scratch);
   a->slice.len = 0;
   if (!collect(a, load, &seen))
      return false;
   for (size_t i = 0; i < a->slice.len; i++) {
      tl_move_before(a->slice.data[i], a->front);
      tl_map_put(&a->behind, a->slice.data[i], NULL);
   }
   a->advanced += tl_kept_words(tl_result(load, 0));
   a->held += tl_kept_words(tl_result(load, 0));
   return true;
}

/* A load that no store before it may have to do with. */
static bool
is_candidate(const Advance *a, const TlBlock *block, const TlOp *op)
{
   return a->front && op->opcode == TL_OP_LOAD &&
          (!a->is_stored || !tl_is_stored_to(block, tl_pointer_root(tl_arg(op, 0))));
}

static bool
advance_in(Advance *a, TlBlock *block, bool (*is_front)(const TlOp *op))
{
   bool changed = false;
   a->is_front = is_front;
   a->front = NULL;
   a->is_stored = false;
   for (TlOp *op = block->first, *next; op; op = next) {
      next = op->next;
      if (!is_passed(a, op)) {
         a->front = NULL;
         a->is_stored = false;
         continue;
      }
      if (!a->front && a->is_front(op)) {
         a->front = op;
         a->held = 0;
         tl_map_init(&a->behind, a->cx->scratch);
      }
      if (a->front && a->alive) {
         uint32_t alive = alive_in(a, op);
         a->held = alive > a->held ? alive : a->held;
      }
      if (is_candidate(a, block, op) && has_room(a, op) && advance(a, op))
         changed = true;
      else if (a->front)
         tl_map_put(&a->behind, op, op);
   }
   return changed;
}

/* What needs the first quotient may still go before the first exchange, which has its own turn. */
static bool
advance_before(Advance *a, TlBlock *block)
{
   bool changed = advance_in(a, block, is_exchange);
   return advance_in(a, block, is_long_division) || changed;
}

/* Does nothing in the block, at any depth, order memory but the waits for its own copies? */
static bool
only_copies_and_stores(const TlBlock *block)
{
   for (const TlOp *op = block->first; op; op = tl_walk_next(op, block)) {
      bool is_known = op->opcode == TL_OP_STORE || op->opcode == TL_OP_ASYNC_COPY ||
                      op->opcode == TL_OP_ASYNC_COMMIT || op->opcode == TL_OP_ASYNC_WAIT ||
                      op->opcode == TL_OP_IF;
      if (!is_known && !may_be_passed(op))
         return false;
   }
   return true;
}

/* Loads of few words in the body of a loop with products. */
static bool
advance_beside_products(Advance *a, TlBlock *body)
{
   unsigned tried = 0;
   bool changed = false;
   if (!only_copies_and_stores(body))
      return false;
   a->front = NULL;
   a->is_front = is_exchange;
   for (TlOp *op = body->first, *next; op; op = next) {
      next = op->next;
      if (!a->front && (is_exchange(op) || op->opcode == TL_OP_ASYNC_WAIT)) {
         a->front = op;
         tl_map_init(&a->behind, a->cx->scratch);
      }
      bool is_small = a->front && op->opcode == TL_OP_LOAD &&
                      tl_kept_words(tl_result(op, 0)) <= FEW_WORDS && tried++ < MOST_BESIDE;
      if (is_small && !tl_is_stored_to(body, tl_pointer_root(tl_arg(op, 0))) && advance(a, op))
         changed = true;
      else if (a->front)
         tl_map_put(&a->behind, op, op);
   }
   return changed;
}

/* Of the innermost loop around, or of the function. */
static bool
is_with_products(const TlBlock *block)
{
   const TlOp *op = block->region->parent;
   while (op && !tl_is_loop(op))
      op = tl_parent(op);
   const TlBlock *top = op ? tl_loop_body(op) : block;
   for (const TlOp *inner = top->first; op && inner; inner = tl_walk_next(inner, top))
      if (inner->opcode == TL_OP_DOT)
         return true;
   return false;
}

static bool
has_product_of_its_own(const TlBlock *block)
{
   for (const TlOp *op = block->first; op; op = op->next)
      if (op->opcode == TL_OP_DOT)
         return true;
   return false;
}

bool
tl_pass_advance_loads(TlPassCx *cx, TlFunc *f)
{
   assert(f->state == TL_STATE_LAID);
   Advance a = {.cx = cx, .func = f};
   TlBlock *top = f->body->block;
   bool changed = false;
   if (f->extra_warps)
      return false;
   count_words(&a);
   changed |= advance_before(&a, top);
   if (f->num_stages > 1 && has_product_of_its_own(top)) {
      a.past_stores = true;
      count_words(&a);
      changed |= advance_in(&a, top, is_exchange);
      a.past_stores = false;
   }
   for (TlOp *op = top->first; op; op = tl_walk_next(op, top))
      for (unsigned r = 0; r < op->num_regions; r++)
         if (!is_with_products(op->regions[r]->block))
            changed |= advance_before(&a, op->regions[r]->block);
         else if (tl_is_loop(op))
            changed |= advance_beside_products(&a, op->regions[r]->block);
   return changed;
}
