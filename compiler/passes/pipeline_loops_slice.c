/* Backward slices within a loop's body, loops that carry more, and which iterations there are.
 * Invariant: an operation is a member together with everything in the body that it reads. */
#include "ir/control.h"
#include "passes/pipeline_loops.h"

#include <assert.h>
#include <string.h>

void
tl_slice_init(TlSlice *s, TlArena *arena, TlOp *loop)
{
   assert(loop->opcode == TL_OP_FOR);
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
         if (x->block != body || x == tl_for_index(s->loop) || tl_map_has(&s->members, x))
            continue;
         tl_map_put(&s->members, x, x);
         unsigned i = x->index - tl_first_carried(s->loop);
         tl_vec_push(s->arena, &s->carried, i);
         tl_vec_push(s->arena, &todo, tl_yielded(body, i));
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

TlOp *
tl_for_with_more(TlBuilder *b, const TlOp *old, TlValue *const *more, unsigned num_more)
{
   unsigned num = old->num_results;
   const TlBlock *old_body = old->regions[0]->block;
   TlOp *loop = tl_op_new(b, TL_OP_FOR, old->num_args + num_more, num + num_more, 1);
   memcpy(loop->attrs, old->attrs, sizeof loop->attrs);
   loop->range = old->range;
   TlBlock *body = loop->regions[0]->block;
   tl_block_add_arg(body, tl_for_index(old)->type, tl_for_index(old)->name);
   for (unsigned i = 0; i < tl_first_init(old); i++)
      tl_set_arg(loop, i, tl_arg(old, i));
   for (unsigned i = 0; i < num + num_more; i++) {
      TlValue *init = i < num ? tl_init(old, i) : more[i - num];
      const char *name = i < num ? tl_carried(old_body, i)->name : NULL;
      tl_set_init(loop, i, init);
      tl_result(loop, i)->type = init->type;
      tl_result(loop, i)->name = i < num ? old->results[i].name : NULL;
      tl_block_add_arg(body, init->type, name);
   }
   return loop;
}

void
tl_take_body(TlBlock *from, TlBlock *to)
{
   assert(from->num_args <= to->num_args);
   while (from->first)
      tl_move_to_end(from->first, to);
   for (unsigned i = 0; i < from->num_args; i++)
      tl_replace_uses(from->args[i], to->args[i]);
}

TlOp *
tl_for_carrying(TlOp *old, TlValue *const *more, unsigned num_more)
{
   TlBuilder b = tl_builder_before(old);
   TlOp *loop = tl_for_with_more(&b, old, more, num_more);
   tl_take_body(old->regions[0]->block, loop->regions[0]->block);
   for (unsigned i = 0; i < old->num_results; i++)
      tl_replace_uses(tl_result(old, i), tl_result(loop, i));
   tl_remove(old);
   return loop;
}

/* ---- which iterations there are ---- */
TlValue *
tl_is_before(TlBuilder *b, const TlOp *loop, int64_t step, TlValue *x, TlValue *y)
{
   if (step)
      return tl_b2(b, step > 0 ? TL_OP_LT : TL_OP_GT, x, y);
   TlValue *by = tl_for_step(loop), *zero = tl_const_int(b, by->type->dtype, 0);
   return tl_b3(b, TL_OP_SELECT, tl_b2(b, TL_OP_GT, by, zero), tl_b2(b, TL_OP_LT, x, y),
                tl_b2(b, TL_OP_GT, x, y));
}

/* The index there may overflow: the distance to the bound is compared unsigned, or all in 64
 * bits. */
TlValue *
tl_exists_after(TlBuilder *b, const TlOp *loop, int64_t step, TlValue *from, int64_t iterations)
{
   assert(iterations >= 0);
   TlTypes *types = b->module->types;
   TlDtype t = from->type->dtype, u = tl_dtype_info[t].bytes == 8 ? TL_U64 : TL_U32;
   TlValue *upper = tl_for_upper(loop);
   if (step == 0) {
      const TlType *wide = tl_type_scalar(types, TL_I64);
      TlValue *way = tl_b2(b, TL_OP_MUL, tl_t1(b, TL_OP_CAST, wide, tl_for_step(loop)),
                           tl_const_int(b, TL_I64, iterations));
      TlValue *there = tl_b2(b, TL_OP_ADD, tl_t1(b, TL_OP_CAST, wide, from), way);
      return tl_is_before(b, loop, 0, there, tl_t1(b, TL_OP_CAST, wide, upper));
   }
   bool up = step > 0;
   TlValue *way = tl_b2(b, TL_OP_SUB, up ? upper : from, up ? from : upper);
   if (t != u)
      way = tl_t1(b, TL_OP_BITCAST, tl_type_scalar(types, u), way);
   return tl_b2(b, TL_OP_GT, way, tl_const_int(b, u, iterations * (up ? step : -step)));
}
