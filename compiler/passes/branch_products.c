/* Warps whose sums of a product nobody reads go past it, and past the reads of its operands.
 *
 *    %a = ldmatrix ..                              %w = vote %p
 *    %b = ldmatrix ..                              %s = if %w {
 *    %s = mma %a, %b, %zero                 ->        .. mma %a, %b, %zero, yield
 *    bar_sync                                      } else { yield 0 }
 *    st_shared %at, %s, %p                         bar_sync
 *                                                  st_shared %at, %s, %p
 *
 * A product with fewer instructions than its block has warps is made by several of them, and one
 * stores it.  All of them read the operands, through the one port of shared memory: of 32 warps a
 * product of 16 x 128 by 128 x 16 asks for 1,536 cycles of it, of the two that store for 96.  A
 * vote makes the branch one of whole warps, as the instructions are.
 *
 * Done where the stores ask for a condition that is made of the thread's number alone, and the
 * warps left out read for longer than a branch takes.  The part of a block that goes into one
 * branch has no barrier and no write to shared memory.  Refused: sums that a loop carries. */
#include "ir/control.h"
#include "ir/walk.h"
#include "passes/live_words.h"
#include "passes/pass.h"

#include <assert.h>

enum {
   LANES = 32,
   BRANCH_CYCLES = 128, /* of shared memory's port, which gives a word to each lane in one */
   MOST_TERMS = 64      /* of a condition */
};

typedef struct Branch {
   TlPassCx *cx;
   TlFunc *func;
   TlMap pred;           /* const TlValue * -> condition of the stores that it ends in, or other */
   TlMap place;          /* const TlOp * -> whether it goes into the branch; of what stands there */
   TlMap done;           /* const TlOp * -> the same, of products that have been in a slice */
   TL_VEC(TlOp *) slice; /* what goes into the branch, from the last to the first */
   TlValue other;        /* no condition */
} Branch;

enum { STAYS = 1, GOES };

static bool
goes(const Branch *b, const TlOp *op)
{
   return (uintptr_t)tl_map_get(&b->place, op) == GOES;
}

/* ---- the condition ---- */

/* The integer that the value is in one thread; false: it is made of something else. */
static bool
in_thread(const TlValue *v, uint32_t warp, uint32_t lane, unsigned *terms, TlBits *out)
{
   const TlOp *op = v->def;
   if (!op || v->type->kind != TL_TYPE_SCALAR || ++*terms > MOST_TERMS)
      return false;
   if (op->opcode == TL_OP_LANE_ID || op->opcode == TL_OP_WARP_ID) {
      *out = op->opcode == TL_OP_LANE_ID ? lane : warp;
      return true;
   }
   if (tl_is_const(v, out))
      return true;
   TlBits bits[2];
   TlDtype dtypes[2];
   if (op->num_args != 2 || op->num_regions || !tl_has_trait(op, TL_TRAIT_ELTWISE))
      return false;
   for (unsigned i = 0; i < 2; i++) {
      if (!in_thread(tl_arg(op, i), warp, lane, terms, &bits[i]))
         return false;
      dtypes[i] = tl_arg(op, i)->type->dtype;
   }
   bool undefined = false;
   *out = tl_eval(op->opcode, op->attrs, v->type->dtype, dtypes, bits, &undefined);
   return !undefined;
}

/* Warps without a thread for which the condition is true; 0 where that is not known. */
static uint32_t
warps_without(const TlValue *pred, uint32_t warps)
{
   uint32_t without = 0;
   for (uint32_t w = 0; w < warps; w++) {
      bool any = false;
      for (uint32_t lane = 0; lane < LANES && !any; lane++) {
         TlBits bits;
         unsigned terms = 0;
         if (!in_thread(pred, w, lane, &terms, &bits))
            return 0;
         any = bits & 1;
      }
      without += !any;
   }
   return without;
}

/* ---- what the stores read ---- */
static bool
is_plain(const TlOp *op)
{
   return tl_op_is_pure(op) && !op->num_regions;
}

static const TlValue *
pred_of(const Branch *b, const TlValue *v)
{
   const TlValue *pred = tl_map_get(&b->pred, v);
   return pred ? pred : &b->other;
}

static const TlValue *
pred_of_use(const Branch *b, const TlUse *use)
{
   const TlOp *op = use->user;
   bool is_store = op->opcode == TL_OP_ST_SHARED || op->opcode == TL_OP_ST_GLOBAL;
   if (is_store && use - op->args == 1 && tl_pred(op))
      return tl_pred(op);
   bool passes_on = op->num_results == 1 && (op->opcode == TL_OP_MMA || is_plain(op));
   return passes_on ? pred_of(b, tl_result(op, 0)) : &b->other;
}

/* The condition of all stores that a value ends in, through products and pure operations, of every
 * value of the block: from the last, so that those made of it are known. */
static void
find_preds(Branch *b, const TlBlock *block)
{
   for (const TlOp *op = block->last; op; op = op->prev) {
      const TlValue *pred = NULL;
      const TlUse *use = op->num_results == 1 ? tl_result(op, 0)->uses : NULL;
      for (; use && pred != &b->other; use = use->next) {
         const TlValue *own = pred_of_use(b, use);
         pred = !pred || pred == own ? own : &b->other;
      }
      if (pred && pred != &b->other)
         tl_map_put(&b->pred, tl_result(op, 0), (void *)pred);
   }
}

/* ---- what goes into the branch ---- */
static bool
reads_shared(const TlOp *op)
{
   return op->opcode == TL_OP_LDMATRIX || op->opcode == TL_OP_LD_SHARED;
}

/* Does what threads see of shared memory stay the same? */
static bool
lets_pass(const TlOp *op)
{
   return is_plain(op) || reads_shared(op) || op->opcode == TL_OP_MMA ||
          op->opcode == TL_OP_LD_GLOBAL || op->opcode == TL_OP_ST_GLOBAL;
}

/* Is every use of the results in the slice, or, of a product's sum, behind it? */
static bool
belongs(const Branch *b, const TlOp *op)
{
   if (tl_is_unused(op))
      return false;
   for (unsigned i = 0; i < op->num_results; i++)
      for (const TlUse *use = tl_result(op, i)->uses; use; use = use->next) {
         bool is_behind = !tl_map_has(&b->place, use->user);
         if (!goes(b, use->user) && !(op->opcode == TL_OP_MMA && is_behind))
            return false;
      }
   return true;
}

/* What ends with the product `last`, up to what other threads could see; cycles that one warp's
 * reads of that take. */
static uint32_t
find_slice(Branch *b, TlOp *last, const TlValue *pred)
{
   uint32_t cycles = 0;
   b->slice.len = 0;
   tl_map_init(&b->place, b->cx->scratch);
   for (TlOp *op = last; op && lets_pass(op); op = op->prev) {
      bool is_product = op->opcode == TL_OP_MMA && pred_of(b, tl_result(op, 0)) == pred;
      bool moves = (is_product || reads_shared(op) || is_plain(op)) && belongs(b, op);
      tl_map_put(&b->place, op, (void *)(uintptr_t)(moves ? GOES : STAYS));
      if (!moves)
         continue;
      if (is_product)
         tl_map_put(&b->done, op, op);
      tl_vec_push(b->cx->scratch, &b->slice, op);
      cycles += reads_shared(op) ? tl_words_of(tl_result(op, 0)->type) : 0;
   }
   return cycles;
}

/* Sums that are read behind the branch. */
static unsigned
find_left(Branch *b, TlValue **left)
{
   unsigned n = 0;
   for (size_t i = b->slice.len; i-- > 0;) {
      bool is_read = false;
      for (const TlUse *u = tl_result(b->slice.data[i], 0)->uses; u; u = u->next)
         is_read |= !goes(b, u->user);
      if (is_read)
         left[n++] = tl_result(b->slice.data[i], 0);
   }
   return n;
}

static void
use_result(Branch *b, TlValue *old, TlValue *with)
{
   for (TlUse *use = old->uses, *next; use; use = next) {
      next = use->next;
      if (!goes(b, use->user))
         tl_set_arg(use->user, (unsigned)(use - use->user->args), with);
   }
}

static TlOp *
branch(Branch *b, const TlOp *last, TlValue *pred)
{
   TlArena *scratch = b->cx->scratch;
   TlValue **left = tl_new_array(scratch, TlValue *, b->slice.len);
   const TlType **types = tl_new_array(scratch, const TlType *, b->slice.len);
   unsigned n = find_left(b, left);
   for (unsigned i = 0; i < n; i++)
      types[i] = left[i]->type;
   TlBuilder at = tl_builder_before(last->next);
   at.range = last->range;
   const TlType *bit = tl_type_scalar(b->func->module->types, TL_I1);
   TlValue *votes = tl_t1(&at, TL_OP_VOTE, bit, pred);
   TlOp *op = tl_build(&at, TL_OP_IF, &votes, 1, types, n, NULL, 0, 2);
   for (unsigned i = 0; i < n; i++)
      use_result(b, left[i], tl_result(op, i));
   for (size_t i = b->slice.len; i-- > 0;)
      tl_move_to_end(b->slice.data[i], op->regions[0]->block);
   TlBuilder in = tl_builder_inside(b->func, op, 0, last->range);
   tl_build_yield(&in, left, n);
   in = tl_builder_inside(b->func, op, 1, last->range);
   for (unsigned i = 0; i < n; i++)
      left[i] = tl_const_bits(&in, types[i], 0);
   tl_build_yield(&in, left, n);
   return op;
}

static bool
branch_in(TlPassCx *cx, TlFunc *f, TlBlock *block)
{
   Branch b = {.cx = cx, .func = f};
   bool changed = false, multiplies = false;
   for (const TlOp *op = block->first; op && !multiplies; op = op->next)
      multiplies = op->opcode == TL_OP_MMA;
   if (!multiplies)
      return false;
   tl_map_init(&b.pred, cx->scratch);
   tl_map_init(&b.done, cx->scratch);
   find_preds(&b, block);
   for (TlOp *op = block->last, *before; op; op = before) {
      before = op->prev;
      if (op->opcode != TL_OP_MMA || tl_map_has(&b.done, op))
         continue;
      TlValue *pred = (TlValue *)pred_of(&b, tl_result(op, 0));
      if (pred == &b.other || !tl_value_dominates(pred, op))
         continue;
      uint32_t without = warps_without(pred, tl_warps_at(f, op));
      if (!without || find_slice(&b, op, pred) * without <= BRANCH_CYCLES)
         continue;
      before = branch(&b, op, pred)->prev;
      changed = true;
   }
   return changed;
}

bool
tl_pass_branch_products(TlPassCx *cx, TlFunc *f)
{
   assert(f->state == TL_STATE_LOWERED);
   TlBlock *top = f->body->block;
   bool changed = branch_in(cx, f, top);
   for (TlOp *op = tl_walk_inner(top); op; op = tl_walk_inner_next(op, top))
      for (unsigned i = 0; i < op->num_regions; i++)
         changed |= branch_in(cx, f, op->regions[i]->block);
   return changed;
}
