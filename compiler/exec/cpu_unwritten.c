/* Elements that a run leaves as they were in an array that was made for it and that the kernel does
 * nothing with but store to: the grid has too few blocks, a stride jumps over them, or a mask keeps
 * them out.
 *
 * A margin that is as wide on both sides is meant.  Of an array of zeros nothing is said where what
 * was loaded decides which elements are stored: that is a scatter into them. */
#include "exec/cpu_impl.h"
#include "ir/walk.h"

#include <string.h>

/* By value id: does what was loaded decide it? */
typedef struct Loaded {
   bool *is;
   bool is_new;
} Loaded;

static void
set(Loaded *l, const TlValue *v, bool is)
{
   l->is_new |= is && !l->is[v->id];
   l->is[v->id] |= is;
}

static bool
any_operand(const Loaded *l, const TlOp *op, unsigned end)
{
   bool any =
      op->opcode == TL_OP_LOAD || op->opcode == TL_OP_ATOMIC_RMW || op->opcode == TL_OP_ATOMIC_CAS;
   for (unsigned i = 0; i < end; i++)
      any |= l->is[tl_arg(op, i)->id];
   return any;
}

static void
spread(Loaded *l, const TlOp *op)
{
   if (!tl_is_branching(op)) {
      for (unsigned i = 0; i < op->num_results; i++)
         set(l, tl_result(op, i), any_operand(l, op, op->num_args));
      return;
   }
   bool control = any_operand(l, op, tl_first_init(op));
   if (op->opcode == TL_OP_FOR)
      set(l, tl_for_index(op), control);
   for (unsigned i = 0; i < op->num_results; i++) {
      TlJoin j = tl_join(op, i);
      bool is = control && op->opcode != TL_OP_FOR;
      for (unsigned k = 0; k < j.num_in; k++)
         is |= l->is[j.in[k]->id];
      for (unsigned k = 0; k < j.num_out; k++)
         set(l, j.out[k], is);
   }
}

static bool
is_guarded(const Loaded *l, const TlOp *op)
{
   for (op = tl_parent(op); op; op = tl_parent(op))
      if (op->opcode == TL_OP_WHILE ||
          any_operand(l, op, op->opcode == TL_OP_FOR ? tl_first_init(op) : op->num_args))
         return true;
   return false;
}

const bool *
tl_cpu_loaded_values(TlArena *arena, const TlFunc *f)
{
   const TlBlock *top = f->body->block;
   Loaded l = {.is = tl_new_array(arena, bool, f->next_value_id + 1), .is_new = true};
   while (l.is_new) { /* what is set stays set */
      l.is_new = false;
      for (const TlOp *op = top->first; op; op = tl_walk_next(op, top))
         spread(&l, op);
   }
   return l.is;
}

bool
tl_cpu_is_chosen(const bool *loaded, const TlOp *op)
{
   const Loaded l = {.is = (bool *)(uintptr_t)loaded};
   const TlValue *mask = tl_pred(op);
   return loaded[tl_arg(op, 0)->id] || (mask && loaded[mask->id]) || is_guarded(&l, op);
}

static bool
scatters(TlArena *arena, const TlFunc *f)
{
   const bool *loaded = tl_cpu_loaded_values(arena, f);
   const TlBlock *top = f->body->block;
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top))
      if (op->opcode == TL_OP_STORE && tl_cpu_is_chosen(loaded, op))
         return true;
   return false;
}

/* Elements from `first` on that nothing has been stored to, each as far as `bytes`. */
static uint64_t
left_out(const TlExecBuffer *b, uint64_t *first, bool *is_tail)
{
   uint64_t n = 0, num = b->bytes / b->elem_bytes;
   *is_tail = true;
   for (uint64_t i = 0; i < num; i++) {
      bool is_left = memchr(b->reached + i * b->elem_bytes, 0, b->elem_bytes) != NULL;
      if (is_left && !n)
         *first = i;
      *is_tail &= is_left || !n;
      n += is_left;
   }
   return n;
}

static bool
is_stored(const TlExecBuffer *b, uint64_t i)
{
   return memchr(b->reached + i * b->elem_bytes, 0, b->elem_bytes) == NULL;
}

/* Is what is left out a margin, as wide at the one end as at the other, around a box of which all
 * is stored?  Stencils leave one. */
static bool
is_margin(const TlExecBuffer *b, const TlExecArg *a)
{
   enum { MOST_DIMS = 8 };
   uint64_t num = b->bytes / b->elem_bytes, all = 1, box = 1, stored = 0;
   uint64_t from[MOST_DIMS], to[MOST_DIMS] = {0};
   bool has_margin = false;
   if (!a->shape || !a->shape_rank || a->shape_rank > MOST_DIMS)
      return false;
   for (unsigned d = 0; d < a->shape_rank; d++) {
      from[d] = a->shape[d];
      all *= a->shape[d];
   }
   for (uint64_t i = 0; all == num && i < num; i++) {
      uint64_t at = i;
      if (!is_stored(b, i))
         continue;
      stored++;
      for (unsigned d = a->shape_rank; d-- > 0; at /= a->shape[d]) {
         uint64_t index = at % a->shape[d];
         from[d] = index < from[d] ? index : from[d];
         to[d] = index >= to[d] ? index + 1 : to[d];
      }
   }
   for (unsigned d = 0; stored && d < a->shape_rank; d++) {
      if (from[d] != a->shape[d] - to[d])
         return false;
      has_margin |= from[d] > 0;
      box *= to[d] - from[d];
   }
   return stored && has_margin && box == stored;
}

bool
tl_cpu_tell_unwritten(TlArena *arena, const TlExecRun *run)
{
   bool is_told = false;
   for (unsigned i = 0; i < run->num_args; i++) {
      const TlExecBuffer *b = &run->buffers[i];
      const TlExecInst *by = b->reached ? atomic_load(&b->store) : NULL;
      uint64_t first = 0;
      bool is_tail;
      if (!by || atomic_load(&b->is_read))
         continue;
      uint64_t left = left_out(b, &first, &is_tail);
      if (!left || is_margin(b, &run->args[i]) || (!b->written && scatters(arena, run->plan->func)))
         continue;
      TlExecFault f = {.kind = TL_FAULT_UNWRITTEN,
                       .range = by->op->range,
                       .op = tl_source_name(by->op),
                       .buffer = b->name,
                       .byte = (int64_t)(first * b->elem_bytes),
                       .elem_bytes = b->elem_bytes,
                       .buffer_bytes = b->bytes,
                       .value = (int64_t)left,
                       .limit = is_tail};
      run->opts->warn(run->opts->user, &f);
      is_told = true;
   }
   return is_told;
}
