/* Backward slices within a loop's body, loops that carry more, and which iterations there are.
 * Invariant: an operation is a member together with everything in the body that it reads, but of a
 * condition only those results are that something needs. */
#include "ir/control.h"
#include "ir/walk.h"
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

static void
add_op(TlSlice *s, TlOp *op)
{
   tl_map_put(&s->members, op, op);
   if (op->block == s->loop->regions[0]->block)
      tl_vec_push(s->arena, &s->ops, op);
}

typedef TL_VEC(TlValue *) Values;

/* Of a condition's results only those are members that something needs, and what its regions
 * compute for them. */
static void
add_condition(TlSlice *s, TlValue *x, Values *pending)
{
   TlOp *op = x->def;
   if (tl_map_has(&s->members, x))
      return;
   tl_map_put(&s->members, x, x);
   if (!tl_map_has(&s->members, op))
      add_op(s, op);
   tl_vec_push(s->arena, pending, tl_arg(op, 0));
   for (unsigned r = 0; r < op->num_regions; r++)
      tl_vec_push(s->arena, pending, tl_yielded(op->regions[r]->block, x->index));
}

bool
tl_slice_add(TlSlice *s, TlValue *v)
{
   TlBlock *body = s->loop->regions[0]->block;
   Values pending = {0};
   tl_vec_push(s->arena, &pending, v);
   while (pending.len) {
      TlValue *x = tl_vec_pop(&pending);
      if (!x->def) {
         if (x->block != body || x == tl_for_index(s->loop) || tl_map_has(&s->members, x))
            continue;
         tl_map_put(&s->members, x, x);
         unsigned i = x->index - tl_first_carried(s->loop);
         tl_vec_push(s->arena, &s->carried, i);
         tl_vec_push(s->arena, &pending, tl_yielded(body, i));
         continue;
      }
      TlOp *op = x->def;
      if (!tl_in_block(op, body))
         continue;
      if (op->opcode == TL_OP_IF) {
         add_condition(s, x, &pending);
         continue;
      }
      if (tl_map_has(&s->members, op))
         continue;
      if (op->opcode == TL_OP_LOAD && s->takes_loads && op->block == body) {
         if (!tl_map_has(&s->members, x))
            tl_vec_push(s->arena, &s->loads, op);
         tl_map_put(&s->members, x, x);
         continue;
      }
      if (!tl_op_is_pure(op) || op->num_regions) {
         s->has_load = is_load(op);
         return false;
      }
      add_op(s, op);
      for (unsigned i = 0; i < op->num_args; i++)
         tl_vec_push(s->arena, &pending, tl_arg(op, i));
   }
   sort_ops(s);
   return true;
}

static void clone_member(const TlSlice *s, TlBuilder *b, TlOp *op, TlMap *map);

/* The condition with the results that are members, and what they need. */
static void
clone_condition(const TlSlice *s, TlBuilder *b, const TlOp *op, TlMap *map)
{
   unsigned num = 0;
   for (unsigned i = 0; i < op->num_results; i++)
      num += tl_map_has(&s->members, tl_result(op, i));
   TlOp *copy = tl_op_new(b, TL_OP_IF, 1, num, op->num_regions);
   memcpy(copy->attrs, op->attrs, sizeof copy->attrs);
   copy->range = op->range;
   tl_set_arg(copy, 0, tl_slice_mapped(map, tl_arg(op, 0)));
   TlValue **values = tl_new_array(s->arena, TlValue *, num);
   for (unsigned r = 0; r < op->num_regions; r++) {
      const TlBlock *from = op->regions[r]->block;
      TlBuilder inner = tl_builder_inside(b->func, copy, r, op->range);
      unsigned n = 0;
      for (TlOp *x = from->first; x; x = x->next)
         if (tl_map_has(&s->members, x))
            clone_member(s, &inner, x, map);
      for (unsigned i = 0; i < op->num_results; i++)
         if (tl_map_has(&s->members, tl_result(op, i)))
            values[n++] = tl_slice_mapped(map, tl_yielded(from, i));
      tl_build_yield(&inner, values, num);
   }
   for (unsigned i = 0, n = 0; i < op->num_results; i++) {
      TlValue *old = tl_result(op, i);
      if (!tl_map_has(&s->members, old))
         continue;
      TlValue *now = tl_result(copy, n++);
      now->type = old->type;
      now->name = old->name;
      tl_map_put(map, old, now);
   }
}

static void
clone_member(const TlSlice *s, TlBuilder *b, TlOp *op, TlMap *map)
{
   if (op->opcode == TL_OP_IF)
      clone_condition(s, b, op, map);
   else
      tl_clone_op(b, op, map);
}

void
tl_slice_clone(const TlSlice *s, TlBuilder *b, TlMap *map)
{
   for (size_t i = 0; i < s->ops.len; i++)
      clone_member(s, b, s->ops.data[i], map);
}

TlMap *
tl_slice_iteration(const TlSlice *s, TlValue *index, TlValue *const *carried)
{
   const TlBlock *body = s->loop->regions[0]->block;
   TlMap *map = tl_new(s->arena, TlMap);
   tl_map_init(map, s->arena);
   tl_map_put(map, tl_for_index(s->loop), index);
   for (size_t i = 0; i < s->carried.len; i++)
      tl_map_put(map, tl_carried(body, s->carried.data[i]), carried[i]);
   return map;
}

TlValue *
tl_slice_mapped(const TlMap *map, TlValue *v)
{
   TlValue *now = tl_map_get(map, v);
   return now ? now : v;
}

TlValue *
tl_mask_in(TlBuilder *b, const TlOp *load, const TlMap *map, TlValue *exists)
{
   const TlType *ptr = tl_arg(load, 0)->type;
   TlTypes *types = b->module->types;
   TlValue *mask = load->num_args > 1 ? tl_slice_mapped(map, tl_arg(load, 1)) : NULL;
   const TlType *t =
      mask ? mask->type : tl_type_with_elem(types, ptr, tl_type_scalar(types, TL_I1));
   TlValue *all = t->kind == TL_TYPE_SCALAR ? exists : tl_t1(b, TL_OP_SPLAT, t, exists);
   return mask ? tl_b2(b, TL_OP_AND, mask, all) : all;
}

TlValue *
tl_load_in(TlBuilder *b, const TlOp *load, const TlMap *map, TlValue *exists)
{
   TlRange range = b->range;
   TlValue *mask = tl_mask_in(b, load, map, exists);
   b->range = load->range;
   TlOp *op = tl_op_new(b, TL_OP_LOAD, load->num_args > 2 ? 3 : 2, 1, 0);
   memcpy(op->attrs, load->attrs, sizeof op->attrs);
   tl_set_arg(op, 0, tl_slice_mapped(map, tl_arg(load, 0)));
   tl_set_arg(op, 1, mask);
   if (load->num_args > 2)
      tl_set_arg(op, 2, tl_slice_mapped(map, tl_arg(load, 2)));
   tl_result(op, 0)->type = tl_result(load, 0)->type;
   b->range = range;
   return tl_result(op, 0);
}

/* Loops make room for arguments, too: behind those that they have. */
static void
add_region_args(TlOp *op, const TlOp *old, TlValue *const *more, unsigned num_more)
{
   for (unsigned r = 0; r < old->num_regions; r++) {
      const TlBlock *from = old->regions[r]->block;
      TlBlock *block = op->regions[r]->block;
      for (unsigned i = 0; i < from->num_args; i++)
         tl_block_add_arg(block, from->args[i]->type, from->args[i]->name);
      for (unsigned i = 0; i < num_more && tl_is_loop(old); i++)
         tl_block_add_arg(block, more[i]->type, NULL);
   }
}

TlOp *
tl_with_more(TlBuilder *b, const TlOp *old, TlValue *const *more, unsigned num_more)
{
   assert(tl_is_branching(old));
   unsigned num = old->num_results, num_inits = tl_is_loop(old) ? num_more : 0;
   TlOp *op =
      tl_op_new(b, old->opcode, old->num_args + num_inits, num + num_more, old->num_regions);
   memcpy(op->attrs, old->attrs, sizeof op->attrs);
   op->range = old->range;
   for (unsigned i = 0; i < old->num_args; i++)
      tl_set_arg(op, i, tl_arg(old, i));
   for (unsigned i = 0; i < num_inits; i++)
      tl_set_init(op, num + i, more[i]);
   for (unsigned i = 0; i < num + num_more; i++) {
      tl_result(op, i)->type = i < num ? old->results[i].type : more[i - num]->type;
      tl_result(op, i)->name = i < num ? old->results[i].name : NULL;
   }
   add_region_args(op, old, more, num_more);
   return op;
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
tl_carrying(TlOp *old, TlValue *const *more, unsigned num_more)
{
   TlBuilder b = tl_builder_before(old);
   TlOp *op = tl_with_more(&b, old, more, num_more);
   for (unsigned r = 0; r < old->num_regions; r++)
      tl_take_body(old->regions[r]->block, op->regions[r]->block);
   for (unsigned i = 0; i < old->num_results; i++)
      tl_replace_uses(tl_result(old, i), tl_result(op, i));
   tl_remove(old);
   return op;
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
