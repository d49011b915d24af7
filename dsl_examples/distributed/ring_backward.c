/* The backward pass of ring attention; see ring.h.  dq stays, dk and dv follow their keys and
 * values one step behind: what a rank made of them in a step is added to what came from the rank
 * before, and handed on while the next step is computed.  A last hop brings them home. */
#include "ring.h"

/* Sums of dk and dv to the next rank, and keys and values but in the last step. */
static void
hand_on(Ring *a, unsigned step)
{
   Rank *r = a->r;
   CommPart parts[2];
   unsigned count = 0;
   if (step + 1 < r->size)
      parts[count++] = ring_kv_part(a, step);
   if (step > 0)
      parts[count++] = ring_part(a, &a->dkv[(step - 1) % 2], &a->dkv[step % 2]);
   rank_after(r);
   rank_mark(r, a->marks, step, MARK_MOVE_BEGIN);
   rank_exchange(r, parts, count);
   rank_mark(r, a->marks, step, MARK_MOVE_END);
}

static void
make_gradients(Ring *a, const RingStep *s, unsigned step)
{
   Rank *r = a->r;
   const Array *kv = step ? &a->kv[step % 2] : &a->own_kv;
   const Array *dkv = step ? &a->part_dkv : &a->dkv[0];
   size_t row = s->first_row, at = row * a->dim;
   TilecArg q = rank_at(&a->q, at), k = rank_at(kv, 0), v = rank_at(kv, a->kv_elems);
   TilecArg dout = rank_at(&a->dout, at);
   TilecArg lse = rank_at(&a->lse, row), delta = rank_at(&a->delta, row);
   RANK_LAUNCH(r, s->is_causal ? &a->causal_kv : &a->whole_kv, q, k, v, dout, lse, delta,
               rank_at(dkv, 0), rank_at(dkv, a->kv_elems), (int)a->heads, (int)s->rows,
               (int)s->keys, (int)a->local, a->scale);
   RANK_LAUNCH(r, s->is_causal ? &a->causal_q : &a->whole_q, q, k, v, dout, lse, delta,
               rank_at(&a->dq, at), (int)a->heads, (int)s->rows, (int)s->keys, (int)a->local,
               a->scale);
}

const Array *
ring_dkv(const Ring *a)
{
   return &a->dkv[a->r->size > 1 ? a->r->size % 2 : 0];
}

void
ring_backward(Rank *r, void *ring)
{
   Ring *a = ring;
   RANK_LAUNCH(r, &a->make_delta, rank_at(&a->o, 0), rank_at(&a->dout, 0), rank_at(&a->delta, 0),
               (int)(a->heads * a->local));
   for (unsigned step = 0; step < r->size && !rank_failed(r); step++) {
      RingStep s = ring_step(a, step);
      rank_fault(r, r->size + step);
      if (r->size > 1)
         hand_on(a, step);
      rank_mark(r, a->marks, step, MARK_WORK_BEGIN);
      make_gradients(a, &s, step);
      rank_mark(r, a->marks, step, MARK_WORK_END);
      rank_before(r);
      if (step > 0)
         RANK_LAUNCH(r, &a->add_rows, rank_at(&a->dkv[step % 2], 0), rank_at(&a->part_dkv, 0),
                     (int)(2 * a->heads_kv), (int)s.keys, (int)a->local);
   }
   if (r->size > 1) {
      CommPart home = ring_part(a, &a->dkv[(r->size - 1) % 2], &a->dkv[r->size % 2]);
      rank_after(r);
      rank_exchange(r, &home, 1);
      rank_before(r);
   }
}
