/* The forward pass of ring attention; see ring.h. */
#include "ring.h"

RingStep
ring_step(const Ring *a, unsigned step)
{
   unsigned rank = a->r->rank, owner = (rank + a->r->size - step) % a->r->size;
   if (owner == rank)
      return (RingStep){.is_causal = true, .rows = a->local, .keys = a->local};
   if (owner < rank)
      return (RingStep){.rows = a->local, .keys = a->chunk};
   return (RingStep){.first_row = a->chunk, .rows = a->chunk, .keys = a->local};
}

CommPart
ring_part(const Ring *a, const Array *send, const Array *recv)
{
   const Rank *r = a->r;
   return (CommPart){.to = (r->rank + 1) % r->size,
                     .from = (r->rank + r->size - 1) % r->size,
                     .send = rank_address(send, 0),
                     .recv = rank_address(recv, 0),
                     .bytes = 2 * a->kv_elems * ex_dtype_bytes(send->dtype)};
}

CommPart
ring_kv_part(const Ring *a, unsigned step)
{
   return ring_part(a, step ? &a->kv[step % 2] : &a->own_kv, &a->kv[(step + 1) % 2]);
}

void
ring_hand_on(Ring *a, unsigned step)
{
   Rank *r = a->r;
   CommPart part = ring_kv_part(a, step);
   rank_after(r);
   rank_mark(r, a->marks, step, MARK_MOVE_BEGIN);
   rank_exchange(r, &part, 1);
   rank_mark(r, a->marks, step, MARK_MOVE_END);
}

static void
attend(Ring *a, const RingStep *s, unsigned step)
{
   Rank *r = a->r;
   const Array *kv = step ? &a->kv[step % 2] : &a->own_kv;
   const Array *o = step ? &a->part : r->size == 1 ? &a->o : &a->acc;
   const Array *lse = step ? &a->part_lse : &a->lse;
   size_t at = s->first_row * a->dim;
   RANK_LAUNCH(r, s->is_causal ? &a->causal : &a->whole, rank_at(&a->q, at), rank_at(kv, 0),
               rank_at(kv, a->kv_elems), rank_at(o, at), rank_at(lse, s->first_row), (int)a->heads,
               (int)s->rows, (int)s->keys, (int)a->local, a->scale);
   if (step)
      RANK_LAUNCH(r, &a->merge, rank_at(&a->acc, at), rank_at(&a->lse, s->first_row),
                  rank_at(&a->part, at), rank_at(&a->part_lse, s->first_row), (int)a->heads,
                  (int)s->rows, (int)a->local);
}

void
ring_forward(Rank *r, void *ring)
{
   Ring *a = ring;
   for (unsigned step = 0; step < r->size && !rank_failed(r); step++) {
      RingStep s = ring_step(a, step);
      bool is_last = step + 1 == r->size;
      rank_fault(r, step);
      if (!is_last)
         ring_hand_on(a, step);
      rank_mark(r, a->marks, step, MARK_WORK_BEGIN);
      attend(a, &s, step);
      rank_mark(r, a->marks, step, MARK_WORK_END);
      if (!is_last)
         rank_before(r);
   }
   if (r->size > 1)
      RANK_LAUNCH(r, &a->convert, rank_at(&a->acc, 0), rank_at(&a->o, 0), (long long)a->q_elems);
}
