/* Products of the next iteration begun together with the last ones of this.
 *
 * Where warps with a role of their own read rings (specialize_warps), an iteration of attention has
 * two short spells of multiplication, with the softmax between: each waits for the matrix units
 * alone.  The first product needs no more than its stage of the ring, so it is made one iteration
 * ahead, and the spells become one:
 *
 *    before:   for: wait, s = dot(..); arrive;  softmax of s;  wait, acc = dot(p, .., acc); arrive
 *    after:    if any: wait, s = dot(..); arrive
 *              for (s): softmax of s
 *                       if one more: wait, acc = dot(p, .., acc); wait, next s = dot(..); arrive
 *                       else:        wait, acc = dot(p, .., acc)
 *                       arrive
 *
 * Meanwhile the other group of four warps has its softmax.
 *
 * Invariant: each stage is waited for and left as often, and in the same order, as before. */
#include "ir/control.h"
#include "ir/walk.h"
#include "passes/dot_layouts.h"
#include "passes/pipeline_loops.h"

#include <assert.h>

typedef struct Advance {
   TlPassCx *cx;
   TlFunc *func;
   TlOp *loop;
   TlBlock *body;
   TlOp *early, *early_wait, *early_arrive; /* the product that comes first */
   TlOp *late, *late_wait;                  /* the one that comes last */
   TlValue *slot, *parity;                  /* carried: the stage of the ring */
   TL_VEC(TlOp *) slice;                    /* what early needs, and itself, in program order */
} Advance;

/* ---- which loops ---- */
/* The next operation of that kind before or after op, with nothing but pure ones between. */
static TlOp *
neighbour(TlOp *op, TlOpcode opcode, bool is_before)
{
   for (op = is_before ? op->prev : op->next; op; op = is_before ? op->prev : op->next)
      if (op->opcode == opcode || !tl_op_is_pure(op))
         return op->opcode == opcode ? op : NULL;
   return NULL;
}

static bool
find_products(Advance *a)
{
   unsigned n = 0;
   for (TlOp *op = a->body->first; op; op = op->next) {
      if (op->num_regions && !tl_op_is_pure(op))
         return false;
      if (op->opcode != TL_OP_DOT)
         continue;
      if (!tl_is_by_wgmma(op))
         return false;
      a->early = a->early ? a->early : op;
      a->late = op;
      n++;
   }
   uint64_t bits;
   if (n != 2 || !tl_is_const(tl_arg(a->early, 2), &bits) || bits != 0)
      return false;
   a->early_wait = neighbour(a->early, TL_OP_BARRIER_WAIT, true);
   a->early_arrive = neighbour(a->early, TL_OP_BARRIER_ARRIVE, false);
   a->late_wait = neighbour(a->late, TL_OP_BARRIER_WAIT, true);
   const TlUse *sum = tl_result(a->late, 0)->uses;
   return a->early_wait && a->early_arrive && a->late_wait && sum && !sum->next &&
          sum->user == a->body->last;
}

static bool
is_carried(const Advance *a, const TlValue *v)
{
   return !v->def && v->block == a->body && v != tl_for_index(a->loop);
}

/* What the first product needs of the body comes from the stage of the ring alone. */
static bool
find_slice(Advance *a)
{
   TL_VEC(TlValue *) todo = {0};
   TlMap members;
   tl_map_init(&members, a->cx->scratch);
   a->slot = tl_arg(a->early_wait, 1);
   a->parity = tl_arg(a->early_wait, 2);
   if (!is_carried(a, a->slot) || !is_carried(a, a->parity) ||
       tl_arg(a->early_arrive, 1) != a->slot)
      return false;
   TlOp *const parts[] = {a->early_wait, a->early, a->early_arrive};
   for (unsigned k = 0; k < 3; k++) {
      tl_map_put(&members, parts[k], parts[k]);
      for (unsigned i = 0; i < parts[k]->num_args; i++)
         tl_vec_push(a->cx->scratch, &todo, tl_arg(parts[k], i));
   }
   while (todo.len) {
      TlValue *v = tl_vec_pop(&todo);
      if (!v->def) {
         if (v->block == a->body && v != a->slot && v != a->parity)
            return false;
         continue;
      }
      if (v->def->block != a->body || tl_map_has(&members, v->def))
         continue;
      if (!tl_op_is_pure(v->def))
         return false;
      tl_map_put(&members, v->def, v->def);
      for (unsigned i = 0; i < v->def->num_args; i++)
         tl_vec_push(a->cx->scratch, &todo, tl_arg(v->def, i));
   }
   for (TlOp *op = a->body->first; op; op = op->next)
      if (tl_map_has(&members, op))
         tl_vec_push(a->cx->scratch, &a->slice, op);
   return true;
}

/* After the last product come arrivals and pure operations only. */
static bool
ends_with_arrivals(const Advance *a)
{
   for (const TlOp *op = a->late->next; op != a->body->last; op = op->next)
      if (op->opcode != TL_OP_BARRIER_ARRIVE && !tl_op_is_pure(op))
         return false;
   return true;
}

/* ---- the rewrite ---- */
/* The first product from a stage of the ring; waits for it and leaves it. */
static TlValue *
build_early(Advance *a, TlBuilder *b, TlValue *slot, TlValue *parity)
{
   TlMap map;
   tl_map_init(&map, a->cx->scratch);
   tl_map_put(&map, a->slot, slot);
   tl_map_put(&map, a->parity, parity);
   for (size_t i = 0; i < a->slice.len; i++)
      tl_clone_op(b, a->slice.data[i], &map);
   return tl_slice_mapped(&map, tl_result(a->early, 0));
}

/* The last product again; what it needs stays where it is. */
static TlValue *
build_late(Advance *a, TlBuilder *b)
{
   TlMap map;
   tl_map_init(&map, a->cx->scratch);
   tl_clone_op(b, a->late_wait, &map);
   tl_clone_op(b, a->late, &map);
   return tl_slice_mapped(&map, tl_result(a->late, 0));
}

static void
build_yield(TlBuilder *b, TlValue *const *values, unsigned n)
{
   tl_build_n(b, TL_OP_YIELD, values, n, NULL, TL_ATTRS_());
}

static TlOp *
build_if(TlBuilder *b, TlValue *condition, const TlType *const *types, unsigned n)
{
   return tl_build(b, TL_OP_IF, &condition, 1, types, n, NULL, 0, 2);
}

static TlBuilder
builder_in(const Advance *a, const TlOp *op, unsigned region)
{
   TlBuilder b = tl_builder_at_end(a->func, op->regions[region]->block);
   b.range = a->early->range;
   return b;
}

/* The product of the first iteration, before the loop. */
static TlValue *
build_first(Advance *a)
{
   TlBuilder b = tl_builder_before(a->loop);
   b.range = a->early->range;
   unsigned first = tl_first_carried(a->loop);
   TlValue *any = tl_is_before(&b, a->loop, 0, tl_for_lower(a->loop), tl_for_upper(a->loop));
   const TlType *type = tl_result(a->early, 0)->type;
   TlOp *op = build_if(&b, any, &type, 1);
   TlBuilder then = builder_in(a, op, 0), other = builder_in(a, op, 1);
   TlValue *v = build_early(a, &then, tl_init(a->loop, a->slot->index - first),
                            tl_init(a->loop, a->parity->index - first));
   build_yield(&then, &v, 1);
   v = tl_b0(&other, TL_OP_POISON, type);
   build_yield(&other, &v, 1);
   return tl_result(op, 0);
}

/* The last product with the first one of the next iteration, where there is one. */
static void
build_both(Advance *a)
{
   TlOp *yield = a->body->last;
   TlBuilder b = tl_builder_before(yield);
   b.range = a->late->range;
   unsigned first = tl_first_carried(a->loop);
   TlValue *more = tl_exists_after(&b, a->loop, 0, tl_for_index(a->loop), 1);
   const TlType *types[] = {tl_result(a->late, 0)->type, tl_result(a->early, 0)->type};
   TlOp *op = build_if(&b, more, types, 2);
   TlBuilder then = builder_in(a, op, 0), other = builder_in(a, op, 1);
   TlValue *out[2] = {build_late(a, &then),
                      build_early(a, &then, tl_arg(yield, a->slot->index - first),
                                  tl_arg(yield, a->parity->index - first))};
   build_yield(&then, out, 2);
   out[0] = build_late(a, &other);
   out[1] = tl_b0(&other, TL_OP_POISON, types[1]);
   build_yield(&other, out, 2);
   for (TlOp *next, *arrive = a->late->next; arrive != op; arrive = next) {
      next = arrive->next;
      if (arrive->opcode == TL_OP_BARRIER_ARRIVE)
         tl_move_before(arrive, yield);
   }
   tl_replace_uses(tl_result(a->late, 0), tl_result(op, 0));
   tl_append_arg(yield, tl_result(op, 1));
   tl_remove(a->late);
   tl_remove(a->late_wait);
}

static void
advance(Advance *a)
{
   unsigned num = a->loop->num_results;
   TlValue *product = build_first(a);
   a->loop = tl_for_carrying(a->loop, &product, 1);
   a->body = a->loop->regions[0]->block;
   a->slot = a->body->args[a->slot->index];
   a->parity = a->body->args[a->parity->index];
   build_both(a);
   tl_replace_uses(tl_result(a->early, 0), tl_carried(a->body, num));
   tl_remove(a->early_arrive);
   tl_remove(a->early);
   tl_remove(a->early_wait);
}

bool
tl_pass_advance_products(TlPassCx *cx, TlFunc *f)
{
   assert(f->state == TL_STATE_LAID);
   bool changed = false;
   const TlBlock *top = f->body->block;
   for (TlOp *op = tl_walk_inner(top), *next; op; op = next) {
      next = tl_walk_inner_next(op, top);
      Advance a = {.cx = cx, .func = f, .loop = op};
      if (op->opcode != TL_OP_FOR)
         continue;
      a.body = op->regions[0]->block;
      if (find_products(&a) && find_slice(&a) && ends_with_arrivals(&a)) {
         advance(&a);
         changed = true;
      }
   }
   return changed;
}
