/* Sums of products by wgmma stay in flight from one iteration to the next.
 *
 * As lowered, each product is waited for at once.  Where a loop only adds products to what it
 * carries, nothing needs the sum before the loop ends, and one group of products may be in flight
 * while the next is begun:
 *
 *    before:   for: wgmma, wait for all
 *    after:    for: wgmma, wait for the groups of the iteration before
 *              wait for all
 *
 * Then an iteration still reads its operands while the next one issues copies.  Those go to stages
 * that were read two iterations before or earlier, a distance that pipeline_loops leaves where it
 * sees such a loop; the phases of the ring tell.  What is written behind the wait may go to the
 * stage that the iteration before read.  The copies come after the product: the tensor cores have
 * the next one before they are done with the last, however long the addresses and masks of the
 * copies take.
 *
 * Invariant: at the end of an iteration all groups of earlier ones are done in every thread; then
 * the barrier before the copies of the next one lets them overwrite what was read two before, and
 * one behind the wait what was read before. */
#include "ir/control.h"
#include "ir/walk.h"
#include "passes/pass.h"
#include "passes/ring_distance.h"

enum { MOST_SUMS = 8 };

/* A sum that the loop carries. */
typedef struct Sum {
   TlOp *product, *wait;
   unsigned position; /* among the carried values */
} Sum;

typedef struct Delay {
   TlPassCx *cx;
   TlOp *loop;
   TlBlock *body;
   TL_VEC(Sum) sums;
} Delay;

static TlOp *
only_user(const TlValue *v)
{
   return v->uses && !v->uses->next ? v->uses->user : NULL;
}

/* wgmma of shared operands on a carried value, waited for, yielded at the same place. */
static bool
add_sum(Delay *d, TlOp *product)
{
   Sum s = {.product = product, .wait = only_user(tl_result(product, 0))};
   const TlValue *acc = product->num_args > 2 ? tl_arg(product, 2) : NULL;
   if (!acc || acc->def || acc->block != d->body || acc->index == 0 || only_user(acc) != product ||
       tl_arg(product, 0)->type->kind != TL_TYPE_SCALAR)
      return false;
   s.position = acc->index - 1;
   if (!s.wait || s.wait->opcode != TL_OP_WGMMA_WAIT || s.wait->num_args != 1 ||
       tl_attr_int(s.wait, TL_ATTR_NUM) != 0 || only_user(tl_result(s.wait, 0)) != d->body->last ||
       tl_arg(d->body->last, s.position) != tl_result(s.wait, 0))
      return false;
   tl_vec_push(d->cx->scratch, &d->sums, s);
   return d->sums.len <= MOST_SUMS;
}

/* May the products be in flight where that is written?  Behind the last wait only those of the same
 * iteration are. */
static bool
leaves_alone(const Delay *d, const TlOp *write, bool is_behind)
{
   TlExtent e = {.end = INT32_MAX, .phase = -1};
   tl_attr_extent(write, &e);
   for (size_t i = 0; i < d->sums.len; i++)
      for (unsigned k = 0; k < 2; k++) {
         TlExtent read = tl_wgmma_extent(d->sums.data[i].product, k);
         if (is_behind ? tl_meets_here(&e, &read) : !tl_is_far(&e, &read))
            return false;
      }
   return true;
}

static bool
find_sums(Delay *d)
{
   for (TlOp *op = d->body->first; op; op = op->next)
      if (op->num_regions || op->opcode == TL_OP_MBAR_ARRIVE ||
          (op->opcode == TL_OP_WGMMA && !add_sum(d, op)))
         return false;
   if (!d->sums.len)
      return false;
   const TlOp *last = d->sums.data[d->sums.len - 1].wait;
   bool is_behind = false;
   for (TlOp *op = d->body->first; op; op = op->next) {
      is_behind |= op == last;
      if (tl_has_trait(op, TL_TRAIT_WRITES_SHARED) && !leaves_alone(d, op, is_behind))
         return false;
   }
   return true;
}

static void
delay(Delay *d)
{
   TlTypes *types = tl_op_func(d->loop)->module->types;
   TlBuilder before = tl_builder_before(d->loop), after = tl_builder_before(d->loop->next);
   before.range = after.range = d->loop->range;
   for (size_t i = 0; i < d->sums.len; i++) {
      Sum *s = &d->sums.data[i];
      TlValue *out = tl_result(d->loop, s->position);
      unsigned init = tl_first_init(d->loop) + s->position;
      const TlType *regs = out->type, *flying = tl_type_in_flight(types, regs, true);
      tl_set_arg(d->loop, init, tl_t1(&before, TL_OP_WGMMA_START, flying, tl_arg(d->loop, init)));
      d->body->args[tl_first_carried(d->loop) + s->position]->type = flying;
      tl_result(s->wait, 0)->type = out->type = flying;
      TlValue *done = tl_t1(&after, TL_OP_WGMMA_WAIT, regs, out);
      tl_replace_uses(out, done);
      tl_set_arg(done->def, 0, out);
      tl_attr(s->wait, TL_ATTR_NUM)->i = (int64_t)d->sums.len;
   }
}

static bool
is_copy(const TlOp *op)
{
   return op->opcode == TL_OP_CP_ASYNC || op->opcode == TL_OP_CP_ASYNC_COMMIT;
}

/* Copies before the only product go behind it, unless a wait between counts them. */
static void
issue_products_first(Delay *d)
{
   const Sum *last = &d->sums.data[d->sums.len - 1];
   TlOp *from = d->body->first;
   while (from->opcode != TL_OP_CP_ASYNC && from->opcode != TL_OP_WGMMA)
      from = from->next;
   for (const TlOp *op = from; op != last->product; op = op->next)
      if (op->opcode == TL_OP_CP_ASYNC_WAIT || op->opcode == TL_OP_WGMMA ||
          (!is_copy(op) && tl_has_trait(op, TL_TRAIT_WRITES_SHARED)))
         return;
   for (TlOp *op = from, *next; op != last->product; op = next) {
      next = op->next;
      if (is_copy(op))
         tl_move_before(op, last->wait);
   }
}

bool
tl_pass_delay_waits(TlPassCx *cx, TlFunc *f)
{
   const TlBlock *top = f->body->block;
   bool changed = false;
   for (TlOp *op = top->first; op; op = tl_walk_next(op, top)) {
      if (op->opcode != TL_OP_FOR)
         continue;
      Delay d = {.cx = cx, .loop = op, .body = op->regions[0]->block};
      if (find_sums(&d)) {
         delay(&d);
         issue_products_first(&d);
         changed = true;
      }
   }
   return changed;
}
