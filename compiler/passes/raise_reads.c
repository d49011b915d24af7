/* Small reads of shared memory stand before the products of wgmma beside which they would run.
 *
 * The tensor cores take their operands through the same port as loads from shared memory do.  A
 * load behind products waits until they have read theirs, a few hundred cycles, and what reads its
 * result waits as well.  In front of them it costs the cycles of its issue.
 *
 *    s = wgmma q, k                          m = ld_shared ..
 *    m = ld_shared ..          becomes       s = wgmma q, k
 *    wait s;  reads s and m                  wait s;  reads s and m
 *
 * A load goes up to the first product begun since threads last met, waited for copies, or wrote
 * what it reads, with the arithmetic of its address.  Refused: loads of matrix operands, which are
 * many words (they run beside products as it is); loads whose words, kept for longer, would not fit
 * the registers. */
#include "ir/pressure.h"
#include "ir/walk.h"
#include "passes/live_words.h"
#include "passes/pass.h"
#include "passes/ring_distance.h"

#include <assert.h>

/* Words of a thread that one load gives, at most; and the registers beside those that
 * tl_peak_words counts (sink_waits.c). */
enum { MOST_WORDS = 8, ALL_REGISTERS = 255, WORDS_BESIDE = 11 };

typedef struct Raise {
   TlPassCx *cx;
   TlBlock *block;
   TL_VEC(TlOp *) slice;
   unsigned most_words; /* what the threads have */
} Raise;

/* May a load from shared memory go from behind the operation to before it, apart from what that
 * one writes there? */
static bool
lets_pass(const TlOp *op)
{
   switch (op->opcode) {
   case TL_OP_WGMMA:
   case TL_OP_WGMMA_WAIT:
   case TL_OP_LD_GLOBAL:
   case TL_OP_ST_GLOBAL:
   case TL_OP_LD_SHARED:
   case TL_OP_ST_SHARED:
   case TL_OP_LDMATRIX:
      return true;
   default:
      return tl_op_is_pure(op) && !op->num_regions;
   }
}

static bool
writes_what_it_reads(const TlOp *op, const TlOp *load)
{
   TlExtent write = {.end = INT32_MAX, .phase = -1}, read = write;
   if (!tl_has_trait(op, TL_TRAIT_WRITES_SHARED))
      return false;
   tl_attr_extent(op, &write);
   tl_attr_extent(load, &read);
   return tl_meets_here(&write, &read);
}

/* The first product before which the load may stand; NULL: none. */
static TlOp *
highest_place(TlOp *load)
{
   TlOp *place = NULL;
   for (TlOp *op = load->prev; op && lets_pass(op) && !writes_what_it_reads(op, load);
        op = op->prev)
      place = op->opcode == TL_OP_WGMMA ? op : place;
   return place;
}

static bool
has_needed_user(const TlOp *op, const TlMap *needed)
{
   for (unsigned i = 0; i < op->num_results; i++)
      for (const TlUse *u = op->results[i].uses; u; u = u->next)
         if (tl_map_get(needed, u->user))
            return true;
   return false;
}

/* The load and what it is made of between place and it, to stand before place: in the order of the
 * program backwards.  False: not all of that is arithmetic. */
static bool
find_slice(Raise *r, TlOp *load, const TlOp *place)
{
   TlMap needed;
   tl_map_init(&needed, r->cx->scratch);
   tl_map_put(&needed, load, load);
   r->slice.len = 0;
   tl_vec_push(r->cx->scratch, &r->slice, load);
   for (TlOp *op = load->prev; op != place->prev; op = op->prev) {
      if (!has_needed_user(op, &needed))
         continue;
      if (!tl_op_is_pure(op) || op->num_regions)
         return false;
      tl_map_put(&needed, op, op);
      tl_vec_push(r->cx->scratch, &r->slice, op);
   }
   return true;
}

/* Puts the slice before place, or back where it was when the registers do not suffice. */
static bool
move_slice(Raise *r, TlOp *place)
{
   TL_VEC(TlOp *) next = {0};
   for (size_t i = 0; i < r->slice.len; i++)
      tl_vec_push(r->cx->scratch, &next, r->slice.data[i]->next);
   for (size_t i = r->slice.len; i-- > 0;)
      tl_move_before(r->slice.data[i], place);
   if (tl_peak_words(r->cx->scratch, r->block) + WORDS_BESIDE <= r->most_words)
      return true;
   for (size_t i = 0; i < r->slice.len; i++)
      tl_move_before(r->slice.data[i], next.data[i]);
   return false;
}

static bool
raise_in(TlPassCx *cx, const TlFunc *f, TlBlock *block)
{
   Raise r = {.cx = cx, .block = block};
   bool changed = false, has_product = false;
   r.most_words =
      cx->target ? tl_registers_at(cx->target, f, block->region->parent) : ALL_REGISTERS;
   for (TlOp *op = block->first, *next; op; op = next) {
      next = op->next;
      has_product |= op->opcode == TL_OP_WGMMA;
      if (!has_product || op->opcode != TL_OP_LD_SHARED ||
          tl_words_of(tl_result(op, 0)->type) > MOST_WORDS)
         continue;
      TlOp *place = highest_place(op);
      changed |= place && find_slice(&r, op, place) && move_slice(&r, place);
   }
   return changed;
}

bool
tl_pass_raise_reads(TlPassCx *cx, TlFunc *f)
{
   assert(f->state == TL_STATE_LOWERED);
   TlBlock *top = f->body->block;
   bool changed = raise_in(cx, f, top);
   for (TlOp *op = tl_walk_inner(top); op; op = tl_walk_inner_next(op, top))
      for (unsigned i = 0; i < op->num_regions; i++)
         changed |= raise_in(cx, f, op->regions[i]->block);
   return changed;
}
