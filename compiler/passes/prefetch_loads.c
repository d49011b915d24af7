/* Small loads of a loop, begun an iteration ahead in registers.
 *
 * Copies to shared memory are of 4 bytes at least, and of what a product reads (pipeline_loops).
 * Scales of rows, zero points, a bias, one number an iteration: these stay loads, and each
 * iteration would wait for memory before it gets to its product.  So does each step of a recurrence
 * without products: nothing else is under way while its few warps wait.
 *
 *    for i:                          v0 = load p(first)
 *       v = load p(i)                for i iter(v = v0):
 *       .. v ..            becomes      next = load p(i + 1), if there is such an iteration
 *                                       .. v ..
 *                                       yield next
 *
 * A recurrence may also load one thing or another, by a condition that can be computed ahead: its
 * last step reads the state that the first began with.  Both become masked loads, and a choice
 * takes one: in a branch they would wait for each other, and loads behind it for them.
 *
 * Taken are loads of a few words whose address, mask and value elsewhere can be computed ahead,
 * from memory that the loop does not store to: different parameters are taken for different memory.
 * Refused: loops that order memory or do not ask for stages, those that run once at most, and those
 * that have no registers to spare.  Without products also what LLVM unrolls, whose loads all come
 * first then, and blocks of many warps, where others run while one waits.
 *
 * And short sums.  ptxas takes four iterations of a short loop at once and puts their loads first:
 * memory is waited for once in four iterations, for loads whose address another load gives as well.
 * With a load of the next iteration it does not, and each iteration would take a load's latency. */
#include "ir/control.h"
#include "ir/pressure.h"
#include "ir/trips.h"
#include "ir/walk.h"
#include "passes/live_words.h"
#include "passes/pipeline_loops.h"

#include <assert.h>

/* Words of a thread. */
typedef struct Limits {
   unsigned one, all; /* of one load, of all loads of a loop */
   unsigned others;   /* what the body takes besides, by tl_peak_words at this state */
} Limits;

/* What stays of loads that products read is small; by pipeline_loops.c, 399 words spill nothing. */
static const Limits beside_products = {.one = 4, .all = 8, .others = 360};
/* Recurrences took 0.4 to 0.9 of their time with up to 16 words more, of 113 others at most. */
static const Limits of_recurrences = {.one = 16, .all = 16, .others = 128};
enum { MOST_WARPS_OF_RECURRENCES = 4, UNROLLED_TRIPS = 64 };

/* Instructions of an iteration: ptxas took loops of 40 four times and of 48 once. */
enum { MOST_OF_SHORT = 32, OF_COSTLY = 3 };

typedef struct Prefetch {
   TlPassCx *cx;
   TlOp *loop;
   TlBlock *body;
   const Limits *limits;
   int64_t step; /* of the index; 0: known at run time only */
   TL_VEC(TlOp *) loads;
   TlSlice slice; /* what they need */
} Prefetch;

/* ---- sides of a branch ---- */
/* Only loads that may run ahead by their size, and a little arithmetic; adds up their words. */
static bool
is_side(const Prefetch *p, const TlBlock *block, unsigned *words)
{
   enum { MOST_OF_A_SIDE = 8 };
   unsigned n = 0;
   for (const TlOp *op = block->first; op != block->last; op = op->next) {
      bool is_load = op->opcode == TL_OP_LOAD && !tl_attr_int(op, TL_ATTR_VOLATILE);
      unsigned own = is_load ? tl_words_of(tl_result(op, 0)->type) : 0;
      if ((!is_load && !tl_op_is_pure(op)) || op->num_regions || own > p->limits->one ||
          ++n > MOST_OF_A_SIDE)
         return false;
      *words += own;
   }
   return true;
}

/* May the branch be taken apart, so that its loads can run ahead? */
static bool
can_join(const Prefetch *p, const TlOp *op)
{
   unsigned words = 0;
   TlSlice slice;
   if (op->opcode != TL_OP_IF || op->num_regions != 2)
      return false;
   tl_slice_init(&slice, p->cx->scratch, p->loop);
   return is_side(p, op->regions[0]->block, &words) && is_side(p, op->regions[1]->block, &words) &&
          words > 0 && words <= p->limits->all && tl_slice_add(&slice, tl_arg(op, 0));
}

/* Loads of a side, masked by `runs`, and its arithmetic go before the branch. */
static void
move_out(Prefetch *p, TlOp *branch, TlBlock *side, TlValue *runs)
{
   TlBuilder b = tl_builder_before(branch);
   TlMap same;
   tl_map_init(&same, p->cx->scratch);
   for (TlOp *op = side->first, *next; op != side->last; op = next) {
      next = op->next;
      if (op->opcode != TL_OP_LOAD) {
         tl_move_before(op, branch);
         continue;
      }
      b.range = op->range;
      TlValue *loaded = tl_load_in(&b, op, &same, runs);
      loaded->name = tl_result(op, 0)->name;
      tl_replace_uses(tl_result(op, 0), loaded);
      tl_remove(op);
   }
}

/*    v = if c { load p } else { load q }    becomes    v = select(c, load p, load q)
 * with masks c and not c. */
static void
join_sides(Prefetch *p, TlOp *branch)
{
   TlBuilder b = tl_builder_before(branch);
   TlValue *runs = tl_arg(branch, 0);
   b.range = branch->range;
   TlValue *other = tl_b2(&b, TL_OP_XOR, runs, tl_const_int(&b, TL_I1, 1));
   move_out(p, branch, branch->regions[0]->block, runs);
   move_out(p, branch, branch->regions[1]->block, other);
   for (unsigned i = 0; i < branch->num_results; i++) {
      TlValue *one = tl_arg(branch->regions[0]->block->last, i);
      TlValue *two = tl_arg(branch->regions[1]->block->last, i), *choice = runs;
      TlTypes *types = b.module->types;
      const TlType *t = tl_type_with_elem(types, one->type, tl_type_scalar(types, TL_I1));
      if (t->kind != TL_TYPE_SCALAR)
         choice = tl_t1(&b, TL_OP_SPLAT, t, runs);
      TlValue *v = tl_b3(&b, TL_OP_SELECT, choice, one, two);
      v->name = tl_result(branch, i)->name;
      tl_replace_uses(tl_result(branch, i), v);
   }
   tl_remove(branch);
}

static bool
join_branches(Prefetch *p)
{
   bool changed = false;
   for (TlOp *op = p->body->first, *next; op; op = next) {
      next = op->next;
      if (!can_join(p, op))
         continue;
      join_sides(p, op);
      changed = true;
   }
   return changed;
}

/* ---- which ---- */
/* Another use than that the next iteration gets it. */
static bool
is_read_here(const TlOp *load, const TlOp *yield)
{
   for (const TlUse *u = load->results[0].uses; u; u = u->next)
      if (u->user != yield)
         return true;
   return false;
}

/* The loads that it pays for, in the order of the program. */
static void
find_loads(Prefetch *p)
{
   unsigned words = 0;
   for (TlOp *op = p->body->first; op; op = op->next) {
      if (op->opcode != TL_OP_LOAD || !is_read_here(op, p->body->last) ||
          !tl_can_run_ahead(p->cx, p->loop, op, p->limits->one))
         continue;
      words += tl_words_of(tl_result(op, 0)->type);
      if (words > p->limits->all)
         return;
      tl_vec_push(p->cx->scratch, &p->loads, op);
   }
}

static void
slice_loads(Prefetch *p)
{
   tl_slice_init(&p->slice, p->cx->scratch, p->loop);
   for (size_t i = 0; i < p->loads.len; i++)
      for (unsigned k = 0; k < p->loads.data[i]->num_args; k++) {
         bool ok = tl_slice_add(&p->slice, tl_arg(p->loads.data[i], k));
         assert(ok && "checked one by one before");
         (void)ok;
      }
}

/* ---- what ptxas does as well ---- */
/* Multiplied only to be added: one instruction does both. */
static bool
is_of_fma(const TlOp *op)
{
   const TlUse *use = op->results[0].uses;
   return op->opcode == TL_OP_MUL && use && !use->next && use->user->opcode == TL_OP_ADD &&
          tl_dtype_is_float(tl_type_elem(op->results[0].type)->dtype);
}

/* Instructions, roughly: one for each element, for each word of a load.  Tiles that only repeat or
 * rearrange registers are for nothing. */
static unsigned
instructions_of(const TlOp *op)
{
   const TlType *t = tl_result(op, 0)->type;
   if (op->opcode == TL_OP_LOAD)
      return tl_words_of(t);
   if (!tl_has_trait(op, TL_TRAIT_ELTWISE) || is_of_fma(op))
      return 0;
   unsigned count = t->kind == TL_TYPE_TILE ? tl_ll_num_regs(t->layout) : 1;
   bool is_costly =
      tl_has_trait(op, TL_TRAIT_COSTLY) || op->opcode == TL_OP_DIV || op->opcode == TL_OP_REM;
   return is_costly ? count * OF_COSTLY : count;
}

/* Only loads, and arithmetic of each thread for itself, all of it little, by a constant step? */
static bool
is_short_sum(const Prefetch *p)
{
   unsigned all = 0;
   if (!p->step)
      return false;
   for (const TlOp *op = p->body->first; op != p->body->last; op = op->next) {
      bool is_load = op->opcode == TL_OP_LOAD && !tl_attr_int(op, TL_ATTR_VOLATILE);
      bool is_exchange = op->opcode == TL_OP_REDUCE || op->opcode == TL_OP_SCAN ||
                         op->opcode == TL_OP_CONVERT_LAYOUT || op->opcode == TL_OP_LOCAL_ALLOC;
      if ((!is_load && !tl_op_is_pure(op)) || op->num_regions || is_exchange)
         return false;
      all += instructions_of(op);
      if (all > MOST_OF_SHORT)
         return false;
   }
   return true;
}

/* ---- rewriting ---- */
/* The index one iteration on. */
static TlValue *
next_index(const Prefetch *p, TlBuilder *b, TlValue *index)
{
   return tl_b2(b, TL_OP_ADD, index, tl_for_step(p->loop));
}

/* What the carried values of the slice are in the next iteration. */
static void
carry_on(Prefetch *p, TlBuilder *b, TlValue *index, TlValue **carried)
{
   if (!p->slice.carried.len)
      return;
   TlMap *map = tl_slice_iteration(&p->slice, index, carried);
   tl_slice_clone(&p->slice, b, map);
   for (size_t i = 0; i < p->slice.carried.len; i++)
      carried[i] = tl_slice_mapped(map, tl_arg(p->body->last, p->slice.carried.data[i]));
}

static void
load_in(Prefetch *p, TlBuilder *b, TlMap *map, TlValue *exists, TlValue **loaded)
{
   tl_slice_clone(&p->slice, b, map);
   for (size_t i = 0; i < p->loads.len; i++)
      loaded[i] = tl_load_in(b, p->loads.data[i], map, exists);
}

static TlValue **
new_values(const Prefetch *p, size_t n)
{
   return tl_new_array(p->cx->scratch, TlValue *, n + 1);
}

/* Loads of the first iteration, before the loop. */
static void
load_first(Prefetch *p, TlValue **loaded)
{
   TlBuilder b = tl_builder_before(p->loop);
   TlValue **carried = new_values(p, p->slice.carried.len), *lower = tl_for_lower(p->loop);
   b.range = p->loop->range;
   for (size_t i = 0; i < p->slice.carried.len; i++)
      carried[i] = tl_init(p->loop, p->slice.carried.data[i]);
   load_in(p, &b, tl_slice_iteration(&p->slice, lower, carried),
           tl_is_before(&b, p->loop, p->step, lower, tl_for_upper(p->loop)), loaded);
}

/* Those of the next one, at the top of the body, where the first is. */
static void
load_next(Prefetch *p, TlOp *before, TlValue **loaded)
{
   TlBuilder b = tl_builder_before(before);
   TlValue **carried = new_values(p, p->slice.carried.len), *index = tl_for_index(p->loop);
   b.range = p->loop->range;
   for (size_t i = 0; i < p->slice.carried.len; i++)
      carried[i] = tl_carried(p->body, p->slice.carried.data[i]);
   carry_on(p, &b, index, carried);
   load_in(p, &b, tl_slice_iteration(&p->slice, next_index(p, &b, index), carried),
           tl_exists_after(&b, p->loop, p->step, index, 1), loaded);
}

static void
rewrite(Prefetch *p)
{
   unsigned num = p->loop->num_results, n = (unsigned)p->loads.len;
   TlValue **first = new_values(p, n), **next = new_values(p, n);
   load_first(p, first);
   load_next(p, p->loads.data[0], next);
   for (unsigned i = 0; i < n; i++)
      tl_append_arg(p->body->last, next[i]);
   TlOp *loop = tl_carrying(p->loop, first, n);
   for (unsigned i = 0; i < n; i++) {
      TlValue *now = tl_carried(loop->regions[0]->block, num + i);
      now->name = tl_result(p->loads.data[i], 0)->name;
      tl_replace_uses(tl_result(p->loads.data[i], 0), now);
      tl_remove(p->loads.data[i]);
   }
}

/* A constant step, or one of 32 bits: the index an iteration on is known not to wrap around what
 * tl_exists_after compares. */
static bool
find_step(Prefetch *p)
{
   uint64_t bits;
   TlDtype t = tl_for_index(p->loop)->type->dtype;
   if (tl_is_const(tl_for_step(p->loop), &bits))
      p->step = tl_bits_to_int(t, bits);
   return tl_dtype_info[t].bytes >= 4 && p->step <= INT32_MAX && p->step >= -INT32_MAX &&
          (p->step || tl_dtype_info[t].bytes == 4);
}

/* tl_peak_words counts the addresses of copies in full, which few warps have many of: beside
 * products what ptxas must keep decides then. */
static bool
has_room(const Prefetch *p, const TlFunc *f, bool multiplies)
{
   TlArena *scratch = p->cx->scratch;
   if (tl_peak_words(scratch, p->body) <= p->limits->others)
      return true;
   if (!multiplies || f->extra_warps)
      return false;
   uint32_t words = tl_pressure(scratch, f, tl_kept_words_of_all(scratch, f), NULL);
   words += p->limits->all;
   return words + words / 4 <= tl_registers_at_start(p->cx->target, f);
}

static bool
prefetch_in(TlPassCx *cx, const TlFunc *f, TlOp *loop)
{
   Prefetch p = {.cx = cx, .loop = loop, .body = loop->regions[0]->block};
   bool multiplies = tl_block_has(p.body, TL_OP_DOT);
   p.limits = multiplies ? &beside_products : &of_recurrences;
   if (tl_for_stages(loop) < 2 || tl_orders_memory(p.body) || !find_step(&p))
      return false;
   if (!multiplies && (tl_known_trips(loop) <= UNROLLED_TRIPS ||
                       f->num_warps > MOST_WARPS_OF_RECURRENCES || is_short_sum(&p)))
      return false;
   bool has_joined = !multiplies && has_room(&p, f, false) && join_branches(&p);
   find_loads(&p);
   if (!p.loads.len || !has_room(&p, f, multiplies))
      return has_joined;
   slice_loads(&p);
   rewrite(&p);
   return true;
}

bool
tl_pass_prefetch_loads(TlPassCx *cx, TlFunc *f)
{
   assert(f->state == TL_STATE_LAID);
   TL_VEC(TlOp *) loops = {0};
   const TlBlock *body = f->body->block;
   TlAnalysis *facts =
      tl_analysis_new(cx->scratch, f); /* of the function as it is until a rewrite */
   for (TlOp *op = tl_walk_inner(body); op; op = tl_walk_inner_next(op, body))
      if (op->opcode == TL_OP_FOR && !tl_is_copiers_own(f, op) && tl_most_trips(facts, op) > 1)
         tl_vec_push(cx->scratch, &loops, op);
   bool changed = false;
   for (size_t i = 0; i < loops.len; i++)
      changed |= prefetch_in(cx, f, loops.data[i]);
   return changed;
}
