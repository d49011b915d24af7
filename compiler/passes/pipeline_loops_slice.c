/* Backward slices within a loop's body.
 * Invariant: an operation is a member together with everything in the body that it reads. */
#include "passes/pipeline_loops.h"

void
tl_slice_init(TlSlice *s, TlArena *arena, TlOp *loop)
{
   *s = (TlSlice){.arena = arena, .loop = loop};
   tl_map_init(&s->members, arena);
}

static bool
is_load(const TlOp *op)
{
   return op->opcode == TL_OP_LOAD || op->opcode == TL_OP_ATOMIC_RMW ||
          op->opcode == TL_OP_ATOMIC_CAS || op->opcode == TL_OP_LOCAL_LOAD;
}

/* Into program order. */
static void
sort_ops(TlSlice *s)
{
   size_t n = 0;
   for (TlOp *op = s->loop->regions[0]->block->first; op && n < s->ops.len; op = op->next)
      if (tl_map_has(&s->members, op))
         s->ops.data[n++] = op;
}

bool
tl_slice_add(TlSlice *s, TlValue *v)
{
   TlBlock *body = s->loop->regions[0]->block;
   TL_VEC(TlValue *) todo = {0};
   tl_vec_push(s->arena, &todo, v);
   while (todo.len) {
      TlValue *x = tl_vec_pop(&todo);
      if (!x->def) {
         if (x->block != body || x->index == 0 || tl_map_has(&s->members, x))
            continue;
         tl_map_put(&s->members, x, x);
         tl_vec_push(s->arena, &s->carried, x->index - 1);
         tl_vec_push(s->arena, &todo, tl_arg(body->last, x->index - 1));
         continue;
      }
      TlOp *op = x->def;
      if (op->block != body || tl_map_has(&s->members, op))
         continue;
      if (!tl_op_is_pure(op) || op->num_regions) {
         s->has_load = is_load(op);
         return false;
      }
      tl_map_put(&s->members, op, op);
      tl_vec_push(s->arena, &s->ops, op);
      for (unsigned i = 0; i < op->num_args; i++)
         tl_vec_push(s->arena, &todo, tl_arg(op, i));
   }
   sort_ops(s);
   return true;
}

void
tl_slice_clone(const TlSlice *s, TlBuilder *b, TlMap *map)
{
   for (size_t i = 0; i < s->ops.len; i++)
      tl_clone_op(b, s->ops.data[i], map);
}

TlValue *
tl_slice_mapped(const TlMap *map, TlValue *v)
{
   TlValue *now = tl_map_get(map, v);
   return now ? now : v;
}
