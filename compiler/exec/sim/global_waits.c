/* Does a kernel wait in a `while` loop for what others write?  A load that decides whether the loop
 * goes on makes an order between threads that the race check does not see.  Of atomics it knows,
 * as their results reach the other threads through barriers, and a loop that only counts waits for
 * nobody. */
#include "exec/sim/impl.h"
#include "ir/walk.h"

#include <assert.h>

/* What is computed from loads inside a loop. */
typedef struct Taint {
   bool *is_loaded; /* by value id */
   bool in_shared;  /* shared memory holds some of it */
   bool changed;
} Taint;

static void
mark(Taint *t, const TlValue *v)
{
   t->changed |= !t->is_loaded[v->id];
   t->is_loaded[v->id] = true;
}

static void
mark_all(Taint *t, const TlOp *op)
{
   for (unsigned i = 0; i < op->num_results; i++)
      mark(t, tl_result(op, i));
   for (unsigned r = 0; r < op->num_regions; r++)
      for (unsigned i = 0; i < op->regions[r]->block->num_args; i++)
         mark(t, op->regions[r]->block->args[i]);
}

static bool
is_from_load(const Taint *t, const TlOp *op)
{
   if (op->opcode == TL_OP_LD_GLOBAL || op->opcode == TL_OP_CP_ASYNC)
      return true;
   bool is_from = t->in_shared && tl_has_trait(op, TL_TRAIT_READS_SHARED);
   for (unsigned i = 0; i < op->num_args && !is_from; i++)
      is_from = t->is_loaded[tl_arg(op, i)->id];
   return is_from;
}

static void
follow(Taint *t, const TlOp *op)
{
   if (!is_from_load(t, op))
      return;
   mark_all(t, op);
   if (tl_has_trait(op, TL_TRAIT_WRITES_SHARED) && !t->in_shared)
      t->in_shared = t->changed = true;
   if (tl_has_trait(op, TL_TRAIT_TERM))
      mark_all(t, tl_parent(op));
}

static bool
is_decided_by_load(TlArena *arena, const TlFunc *f, const TlOp *loop)
{
   Taint t = {.is_loaded = tl_new_array(arena, bool, f->next_value_id), .changed = true};
   assert(loop->opcode == TL_OP_WHILE && loop->num_regions == 2);
   while (t.changed) {
      t.changed = false;
      for (unsigned r = 0; r < loop->num_regions; r++) {
         const TlBlock *block = loop->regions[r]->block;
         for (const TlOp *op = block->first; op; op = tl_walk_next(op, block))
            follow(&t, op);
      }
   }
   return t.is_loaded[tl_arg(loop->regions[0]->block->last, 0)->id];
}

bool
sim_waits_for_others(TlArena *arena, const TlFunc *f)
{
   const TlBlock *body = f->body->block;
   for (const TlOp *op = body->first; op; op = tl_walk_next(op, body))
      if (op->opcode == TL_OP_WHILE && is_decided_by_load(arena, f, op))
         return true;
   return false;
}
