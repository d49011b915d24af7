/* Which buffers may a `while` loop wait on?  A load that decides whether the loop goes on may
 * be repeated until another thread has written, which makes an order that the race check does
 * not see.  Of atomics it knows, as their results reach the other threads through barriers; a
 * loop that counts waits for nobody, nor does one that searches in what the kernel does not
 * write: which buffers are written is known at the launch (sim_global_watch).
 *
 * No finer than a buffer: whether the loaded place is the one that somebody writes hangs on
 * values, and a wait that ends at once here, where programs run one after the other, may be a
 * long one on a GPU. */
#include "exec/sim/impl.h"
#include "ir/walk.h"

#include <assert.h>

/* What is computed from loads inside a loop. */
typedef struct Taint {
   const TlFunc *func;
   uint64_t *from;     /* by value id: the buffers (sim_roots) that it was loaded from */
   uint64_t in_shared; /* the same of all shared memory */
   bool changed;
} Taint;

static void
mark(Taint *t, uint64_t *what, uint64_t from)
{
   t->changed |= (*what & from) != from;
   *what |= from;
}

static void
mark_all(Taint *t, const TlOp *op, uint64_t from)
{
   for (unsigned i = 0; i < op->num_results; i++)
      mark(t, &t->from[tl_result(op, i)->id], from);
   for (unsigned r = 0; r < op->num_regions; r++)
      for (unsigned i = 0; i < op->regions[r]->block->num_args; i++)
         mark(t, &t->from[op->regions[r]->block->args[i]->id], from);
}

static uint64_t
loaded_from(const Taint *t, const TlOp *op)
{
   uint64_t from = tl_has_trait(op, TL_TRAIT_READS_SHARED) ? t->in_shared : 0;
   if (op->opcode == TL_OP_LD_GLOBAL)
      from |= sim_roots(t->func, tl_arg(op, 0));
   else if (op->opcode == TL_OP_CP_ASYNC)
      from |= sim_roots(t->func, tl_arg(op, 1));
   for (unsigned i = 0; i < op->num_args; i++)
      from |= t->from[tl_arg(op, i)->id];
   return from;
}

/* What decides how often, or which, regions run. */
static uint64_t
decided_by(const Taint *t, const TlOp *op)
{
   uint64_t from = 0;
   if (op->opcode == TL_OP_WHILE)
      return t->from[tl_arg(op->regions[0]->block->last, 0)->id];
   for (unsigned i = 0; i < tl_first_init(op); i++)
      from |= t->from[tl_arg(op, i)->id];
   return from;
}

/* Each value that a loop carries or a branch yields by itself: beside one that decides whether the
 * loop goes on, others are loaded from elsewhere. */
static void
follow_joins(Taint *t, const TlOp *op)
{
   uint64_t decided = decided_by(t, op);
   if (op->opcode == TL_OP_FOR)
      mark(t, &t->from[tl_for_index(op)->id], decided);
   for (unsigned i = 0; i < op->num_results; i++) {
      TlJoin j = tl_join(op, i);
      uint64_t from = decided;
      for (unsigned k = 0; k < j.num_in; k++)
         from |= t->from[j.in[k]->id];
      for (unsigned k = 0; k < j.num_out; k++)
         mark(t, &t->from[j.out[k]->id], from);
   }
}

static void
follow(Taint *t, const TlOp *op)
{
   if (tl_has_trait(op, TL_TRAIT_TERM) && tl_is_branching(tl_parent(op))) {
      follow_joins(t, tl_parent(op));
      return;
   }
   uint64_t from = tl_is_branching(op) ? 0 : loaded_from(t, op);
   if (!from)
      return;
   mark_all(t, op, from);
   if (tl_has_trait(op, TL_TRAIT_WRITES_SHARED))
      mark(t, &t->in_shared, from);
}

static uint64_t
waits_on(TlArena *arena, const TlFunc *f, const TlOp *loop)
{
   Taint t = {.func = f, .from = tl_new_array(arena, uint64_t, f->next_value_id), .changed = true};
   assert(loop->opcode == TL_OP_WHILE && loop->num_regions == 2);
   while (t.changed) {
      t.changed = false;
      for (unsigned r = 0; r < loop->num_regions; r++) {
         const TlBlock *block = loop->regions[r]->block;
         for (const TlOp *op = block->first; op; op = tl_walk_next(op, block))
            follow(&t, op);
      }
   }
   return t.from[tl_arg(loop->regions[0]->block->last, 0)->id];
}

uint64_t
sim_waits_on(TlArena *arena, const TlFunc *f)
{
   const TlBlock *body = f->body->block;
   uint64_t waits = 0;
   for (const TlOp *op = body->first; op; op = tl_walk_next(op, body))
      if (op->opcode == TL_OP_WHILE)
         waits |= waits_on(arena, f, op);
   return waits;
}
