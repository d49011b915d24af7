/* Products that need no other product of their iteration begin right behind its first one.
 *
 *    before:   for: s = dot(k, q); p = exp2(s - m); dv += dot(p, o); d = dot(v, o); p * (d - e) ..
 *    after:    for: s = dot(k, q); d = dot(v, o); p = exp2(s - m); dv += dot(p, o); p * (d - e) ..
 *
 * By wgmma a product goes on beside what the threads do (sink_waits): so the tensor cores compute d
 * while the threads compute p.  What the product reads is loaded before it, and pipeline_loops
 * waits for copies of both at once.
 *
 * Done where the registers hold the results of all products of the loop.
 *
 * Invariant: loads move up past nothing that writes memory. */
#include "ir/walk.h"
#include "passes/dot_layouts.h"
#include "passes/live_words.h"
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

/* Products only by wgmma; no operation that may write memory or that threads meet at. */
static bool
is_plain(const TlBlock *body)
{
   for (const TlOp *op = body->first; op != body->last; op = op->next) {
      bool reads = op->opcode == TL_OP_LOAD || op->opcode == TL_OP_LOCAL_LOAD ||
                   op->opcode == TL_OP_LOCAL_ALLOC;
      if ((op->opcode != TL_OP_DOT && !reads && !tl_op_is_pure(op)) ||
          (op->opcode == TL_OP_LOAD && tl_attr_int(op, TL_ATTR_VOLATILE)))
         return false;
   }
   return tl_only_by_wgmma(body);
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

static bool
hoist_in(TlPassCx *cx, TlBlock *body)
{
   Hoist h = {.cx = cx, .body = body};
   TlOp *first = NULL;
   bool changed = false;
   if (!is_plain(body) || tl_words_of_products(body) > MOST_REGISTERS)
      return false;
   for (TlOp *op = body->first, *next; op != body->last; op = next) {
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

bool
tl_pass_hoist_products(TlPassCx *cx, TlFunc *f)
{
   assert(f->state == TL_STATE_LAID);
   bool changed = false;
   const TlBlock *top = f->body->block;
   for (TlOp *op = top->first; op; op = tl_walk_next(op, top))
      if (op->opcode == TL_OP_FOR)
         changed |= hoist_in(cx, op->regions[0]->block);
   return changed;
}
