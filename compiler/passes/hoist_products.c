/* Products that need no other product of their iteration begin right behind its first one.
 *
 *    before:   for: s = dot(k, q); p = exp2(s - m); dv += dot(p, o); d = dot(v, o); p * (d - e) ..
 *    after:    for: s = dot(k, q); d = dot(v, o); p = exp2(s - m); dv += dot(p, o); p * (d - e) ..
 *
 * By wgmma a product goes on beside what the threads do (sink_waits): so the tensor cores compute d
 * while the threads compute p.  What the product reads is loaded before it, and pipeline_loops
 * waits for copies of both at once.
 *
 * Done where the registers hold the results of all products of the loop; outside of loops, too, of
 * products between which nothing writes memory, where their buffers take little of it: one barrier
 * is enough for what all of them read, where each had waited for the one before to be done with the
 * memory that they share.  Products by other instructions stay where they are; their buffers are
 * filled together, too.
 *
 * Invariant: loads move up past nothing that writes memory. */
#include "ir/walk.h"
#include "passes/dot_layouts.h"
#include "passes/live_words.h"
#include "passes/lower/lower.h"
#include "passes/pass.h"

#include <assert.h>

enum { MOST_REGISTERS = 208 /* of the products of an iteration: the rest needs the others */ };

typedef struct Hoist {
   TlPassCx *cx;
   TlBlock *body;
   TlOp *behind;         /* the last of the products that begin together */
   TL_VEC(TlOp *) slice; /* what a product needs of the body */
   TlMap members;
} Hoist;

/* No operation that may write memory or that threads meet at. */
static bool
is_plain(const TlOp *op)
{
   if (op->opcode == TL_OP_LOAD)
      return !tl_attr_int(op, TL_ATTR_VOLATILE);
   return op->opcode == TL_OP_DOT || op->opcode == TL_OP_LOCAL_LOAD ||
          op->opcode == TL_OP_LOCAL_ALLOC ||
          (tl_op_is_pure(op) && !tl_has_trait(op, TL_TRAIT_TERM));
}

/* Products only by wgmma from `first` on, whose results the registers hold. */
static bool
fit(const TlOp *first, const TlOp *end)
{
   unsigned words = 0;
   for (const TlOp *op = first; op != end; op = op->next) {
      if (op->opcode != TL_OP_DOT)
         continue;
      if (!tl_is_by_wgmma(op))
         return false;
      words += tl_words_of(tl_result(op, 0)->type);
   }
   return words > 0 && words <= MOST_REGISTERS;
}

/* Do few bytes of shared memory hold all buffers at once?  Products one by one reuse them. */
static bool
are_small(const TlPassCx *cx, const TlOp *first, const TlOp *end)
{
   enum { BLOCKS = 4 /* that are to fit a multiprocessor */ };
   uint64_t bytes = 0;
   for (const TlOp *op = first; op != end; op = op->next)
      if (op->opcode == TL_OP_LOCAL_ALLOC)
         bytes += tl_memdesc_stage_bytes(tl_result(op, 0)->type);
   return bytes * BLOCKS <= cx->target->sm_shared_bytes;
}

/* What the product needs of the body, none of it a product or with regions. */
static bool
find_slice(Hoist *h, TlOp *dot)
{
   TL_VEC(TlOp *) todo = {0};
   tl_map_init(&h->members, h->cx->scratch);
   h->slice.len = 0;
   tl_vec_push(h->cx->scratch, &todo, dot);
   while (todo.len) {
      TlOp *op = tl_vec_pop(&todo);
      for (unsigned i = 0; i < op->num_args; i++) {
         TlOp *def = tl_arg(op, i)->def;
         if (!def || def->block != h->body || tl_map_has(&h->members, def))
            continue;
         if (def->opcode == TL_OP_DOT || def->num_regions)
            return false;
         tl_map_put(&h->members, def, def);
         tl_vec_push(h->cx->scratch, &todo, def);
      }
   }
   for (TlOp *op = h->behind->next; op != dot; op = op->next)
      if (tl_map_has(&h->members, op))
         tl_vec_push(h->cx->scratch, &h->slice, op);
   return true;
}

/* The slice goes before the first of the products, so that these follow each other. */
static void
hoist(Hoist *h, TlOp *first, TlOp *dot)
{
   for (size_t i = 0; i < h->slice.len; i++)
      tl_move_before(h->slice.data[i], first);
   if (dot != h->behind->next)
      tl_move_before(dot, h->behind->next);
   h->behind = dot;
}

/* From an operation up to another one, or the end of the block. */
static bool
hoist_in(TlPassCx *cx, TlOp *from, const TlOp *end)
{
   Hoist h = {.cx = cx, .body = from->block};
   TlOp *first = NULL;
   bool changed = false;
   for (TlOp *op = from, *next; op != end; op = next) {
      next = op->next;
      if (op->opcode != TL_OP_DOT)
         continue;
      if (!first) {
         h.behind = first = op;
      } else if (find_slice(&h, op)) {
         changed |= op != h.behind->next;
         hoist(&h, first, op);
      }
   }
   return changed;
}

static bool
hoist_in_loop(TlPassCx *cx, TlBlock *body)
{
   for (const TlOp *op = body->first; op != body->last; op = op->next)
      if (!is_plain(op))
         return false;
   return fit(body->first, body->last) && hoist_in(cx, body->first, body->last);
}

/* Fills the buffers of all products before the first of them reads its own, where what they hold
 * comes of none: threads meet once for all. */
static bool
fill_together(TlPassCx *cx, TlOp *from, const TlOp *end)
{
   Hoist h = {.cx = cx, .body = from->block};
   TlOp *first = from;
   bool changed = false;
   while (first != end && first->opcode != TL_OP_DOT && first->opcode != TL_OP_LOCAL_LOAD)
      first = first->next;
   h.behind = first != end ? first->prev : NULL;
   for (TlOp *op = first, *next; h.behind && op != end; op = next) {
      next = op->next;
      if (op->opcode != TL_OP_LOCAL_ALLOC || !find_slice(&h, op))
         continue;
      bool reads = false;
      for (size_t i = 0; i < h.slice.len; i++)
         reads |= h.slice.data[i]->opcode == TL_OP_LOCAL_LOAD;
      if (reads)
         continue;
      for (size_t i = 0; i < h.slice.len; i++)
         tl_move_before(h.slice.data[i], first);
      tl_move_before(op, first);
      h.behind = first->prev;
      changed = true;
   }
   return changed;
}

/* Outside of loops between operations that write memory. */
static bool
hoist_in_stretches(TlPassCx *cx, TlBlock *block)
{
   bool changed = false;
   for (TlOp *op = block->first, *end; op; op = end ? end->next : NULL) {
      for (end = op; end && is_plain(end);)
         end = end->next;
      if (op == end || !are_small(cx, op, end))
         continue;
      if (fit(op, end))
         changed |= hoist_in(cx, op, end);
      changed |= fill_together(cx, op, end);
   }
   return changed;
}

bool
tl_pass_hoist_products(TlPassCx *cx, TlFunc *f)
{
   assert(f->state == TL_STATE_LAID);
   TlBlock *top = f->body->block;
   bool changed = cx->target && hoist_in_stretches(cx, top);
   for (TlOp *op = top->first; op; op = tl_walk_next(op, top))
      if (op->opcode == TL_OP_FOR)
         changed |= hoist_in_loop(cx, op->regions[0]->block);
   return changed;
}
