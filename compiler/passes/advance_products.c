/* Products that go on while the threads compute.
 *
 * Where warps with a role of their own read rings (specialize_warps), an iteration of attention
 * multiplies twice with the softmax between, and waits for the matrix units both times.  Neither
 * wait is needed there: the first product of the next iteration is begun as soon as this one's is
 * read, and the last product goes on into the next iteration.
 *
 *    before:   for (acc): wait, s = dot(q, k); arrive
 *                         softmax of s: p, acc = acc * shrink
 *                         wait, acc = dot(p, v, acc); arrive
 *    after:    if any:    wait, s = dot(q, k); arrive
 *              for (s, acc in flight): row maxima of s
 *                         wait for the next stage
 *                         acc is done; arrive at the stage of the iteration before
 *                         what else reads s
 *                         begin next s = dot(q, next k)
 *                         the rest of the softmax: p, acc = acc * shrink
 *                         wait, begin acc = dot(p, v, acc)
 *                         next s is done; arrive
 *              acc is done; arrive
 *              if any:    the last iteration, which begins nothing
 *
 * In a loop over tiles all of this is under one condition.  With two, ptxas takes the path around
 * the loop for a write to sums in flight (C7515), or keeps the operands of the last iteration
 * through the loop over tiles and spills.  A loop that runs once at most has no next product.
 *
 * The registers of s serve all iterations: the next product is begun when the last reader of this
 * one is done.  A wait for a stage is a loop, behind which ptxas does not pull what follows it; so
 * acc is waited for behind one.
 *
 * Invariant: each stage is waited for and left as often, and in the same order, as before. */
#include "ir/control.h"
#include "ir/trips.h"
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
   TlOp *late, *late_wait, *late_arrive;    /* the one that comes last */
   unsigned sum;                            /* position of its result among the carried values */
   TlValue *slot, *parity;                  /* carried: the stage of the ring */
   TL_VEC(TlOp *) slice;                    /* what early needs, and itself, in program order */
   TlMap needs_sum; /* operations of the body that read the carried sum, or what comes of it */
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
   if (!sum || sum->next || sum->user != a->body->last)
      return false;
   a->sum = (unsigned)(sum - a->body->last->args);
   /* of one stage, the arrival behind the first would leave it before the last has read it */
   return a->early_wait && a->early_arrive && a->late_wait && a->late_wait != a->early_wait;
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
   TlOp *const parts[] = {a->early_wait, a->early};
   for (unsigned k = 0; k < 2; k++) {
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

/* After the last product comes one arrival, which leaves its stage, and pure operations. */
static bool
ends_with_arrival(Advance *a)
{
   for (TlOp *op = a->late->next; op != a->body->last; op = op->next) {
      if (tl_op_is_pure(op))
         continue;
      if (op->opcode != TL_OP_BARRIER_ARRIVE || a->late_arrive || tl_arg(op, 1) != a->slot)
         return false;
      a->late_arrive = op;
   }
   return a->late_arrive && tl_arg(a->late_wait, 1) == a->slot;
}

/* What needs the carried sum is pure, so that it may be moved behind the wait for it. */
static bool
find_readers(Advance *a)
{
   TlValue *sum = tl_carried(a->body, a->sum);
   TL_VEC(TlValue *) todo = {0};
   tl_map_init(&a->needs_sum, a->cx->scratch);
   tl_vec_push(a->cx->scratch, &todo, sum);
   while (todo.len) {
      for (const TlUse *u = tl_vec_pop(&todo)->uses; u; u = u->next) {
         TlOp *op = tl_in_block(u->user, a->body);
         if (op == a->body->last || tl_map_has(&a->needs_sum, op))
            continue;
         if (!tl_op_is_pure(op))
            return false;
         tl_map_put(&a->needs_sum, op, op);
         for (unsigned i = 0; i < op->num_results; i++)
            tl_vec_push(a->cx->scratch, &todo, tl_result(op, i));
      }
   }
   return sum->type == tl_result(a->late, 0)->type;
}

/* Is it a multiplication that ptxas fuses with the sum that follows? */
static bool
is_fused(const TlOp *op)
{
   const TlUse *use = op->opcode == TL_OP_MUL ? tl_result(op, 0)->uses : NULL;
   return use && !use->next && (use->user->opcode == TL_OP_ADD || use->user->opcode == TL_OP_SUB);
}

/* The last operation of the body that reads the first product. */
static TlOp *
last_reader(const Advance *a, const TlValue *product)
{
   TlOp *last = NULL;
   for (TlOp *op = a->body->first; op; op = op->next)
      for (const TlUse *u = product->uses; u; u = u->next) {
         TlOp *reader = tl_in_block(u->user, a->body);
         if (reader && is_fused(reader))
            reader = tl_in_block(tl_result(reader, 0)->uses->user, a->body);
         last = reader == op ? op : last;
      }
   return last;
}

/* The first product is last read by what does not wait for the sum of the iteration before. */
static bool
is_read_without_sum(const Advance *a)
{
   const TlOp *last = last_reader(a, tl_result(a->early, 0));
   return last && last != a->body->last && !tl_map_has(&a->needs_sum, last);
}

/* ---- the rewrite ---- */
static TlOp *
build_if(const Advance *a, TlBuilder *b, TlValue *condition, TlValue *const *like, unsigned n)
{
   const TlType **types = tl_new_array(a->cx->scratch, const TlType *, n);
   for (unsigned i = 0; i < n; i++)
      types[i] = like[i]->type;
   return tl_build(b, TL_OP_IF, &condition, 1, types, n, NULL, 0, 2);
}

static TlBuilder
builder_in(const Advance *a, const TlOp *op, unsigned region)
{
   return tl_builder_inside(a->func, op, region, a->early->range);
}

/* The first product from a stage of the ring, and what comes before it.  map: slot and parity. */
static TlOp *
build_early(Advance *a, TlBuilder *b, TlMap *map)
{
   TlOp *dot = NULL;
   for (size_t i = 0; i < a->slice.len; i++) {
      TlOp *op = tl_clone_op(b, a->slice.data[i], map);
      dot = a->slice.data[i] == a->early ? op : dot;
   }
   return dot;
}

/* The product of the first iteration. */
static TlValue *
build_first(Advance *a, TlBuilder *b)
{
   unsigned first = tl_first_carried(a->loop);
   TlMap map;
   tl_map_init(&map, a->cx->scratch);
   tl_map_put(&map, a->slot, tl_init(a->loop, a->slot->index - first));
   tl_map_put(&map, a->parity, tl_init(a->loop, a->parity->index - first));
   TlValue *product = tl_result(build_early(a, b, &map), 0);
   tl_clone_op(b, a->early_arrive, &map);
   return product;
}

static TlValue *
build_first_if(Advance *a, TlBuilder *b, TlValue *any)
{
   TlValue *product = tl_result(a->early, 0);
   TlOp *op = build_if(a, b, any, &product, 1);
   TlBuilder then = builder_in(a, op, 0), other = builder_in(a, op, 1);
   TlValue *v = build_first(a, &then);
   tl_build_yield(&then, &v, 1);
   v = tl_b0(&other, TL_OP_POISON, product->type);
   tl_build_yield(&other, &v, 1);
   return tl_result(op, 0);
}

static void
copy_ops(const Advance *a, TlBuilder *b, TlMap *map)
{
   for (const TlOp *op = a->body->first; op != a->body->last; op = op->next)
      if (op != a->early && op != a->early_wait && op != a->early_arrive)
         tl_clone_op(b, op, map);
}

static TlValue *
wait_for(TlBuilder *b, TlValue *in_flight, int64_t num)
{
   const TlType *type = tl_type_in_flight(b->module->types, in_flight->type, false);
   return tl_t1(b, TL_OP_DOT_WAIT, type, in_flight, {TL_ATTR_NUM, {.i = num}});
}

/* The warp leaves the stage, if pred. */
static void
leave(const Advance *a, TlBuilder *b, TlValue *slot, TlValue *pred)
{
   TlValue *args[] = {tl_arg(a->late_arrive, 0), slot, pred};
   tl_build_n(b, TL_OP_BARRIER_ARRIVE, args, 3, NULL, TL_ATTRS_());
}

/* Waits for what the loop left in flight, and leaves its stage if it had some; values: of the
 * carried values, where it ends. */
static void
finish_sum(const Advance *a, TlBuilder *b, TlValue *more, TlValue **values)
{
   unsigned n = a->loop->num_results, num = a->body->last->num_args;
   for (unsigned i = 0; i < num; i++)
      values[i] = tl_result(a->loop, i);
   values[a->sum] = wait_for(b, values[a->sum], 0);
   leave(a, b, tl_result(a->loop, n - 1), more);
}

/* The last iteration; values: with what it begins. */
static void
build_last(const Advance *a, TlBuilder *b, TlValue *const *values)
{
   const TlOp *yield = a->body->last;
   unsigned n = a->loop->num_results, num = yield->num_args;
   TlMap map;
   tl_map_init(&map, a->cx->scratch);
   for (unsigned i = 0; i < num; i++)
      tl_map_put(&map, tl_carried(a->body, i), values[i]);
   tl_map_put(&map, tl_result(a->early, 0), tl_result(a->loop, n - 3));
   tl_map_put(&map, tl_for_index(a->loop), tl_result(a->loop, n - 2));
   copy_ops(a, b, &map);
   TlValue **last = tl_new_array(a->cx->scratch, TlValue *, num);
   for (unsigned i = 0; i < num; i++)
      last[i] = tl_slice_mapped(&map, tl_arg(yield, i));
   tl_build_yield(b, last, num);
}

static void
build_last_if(const Advance *a, TlBuilder *b, TlValue *any, TlValue *more)
{
   unsigned num = a->body->last->num_args;
   TlValue **values = tl_new_array(a->cx->scratch, TlValue *, num);
   TlValue *sum = tl_result(a->loop, a->sum);
   finish_sum(a, b, more, values);
   TlOp *op = build_if(a, b, any, values, num);
   for (unsigned i = 0; i < num; i++)
      tl_replace_uses(tl_result(a->loop, i), tl_result(op, i));
   tl_set_arg(values[a->sum]->def, 0, sum);
   TlBuilder then = builder_in(a, op, 0), other = builder_in(a, op, 1);
   tl_build_yield(&other, values, num);
   build_last(a, &then, values);
}

static bool
is_before(const TlOp *op, const TlOp *other)
{
   while (op && op != other)
      op = op->next;
   return op == other;
}

/* The operation before which the sum is waited for: behind the first reduction that does without
 * it, or the product's last reader; and before the registers that the product in flight reads get
 * what the next one is to read. */
static TlOp *
wait_before(const Advance *a, TlOp *last_reader)
{
   TlOp *behind = a->body->first, *operand = tl_arg(a->late, 0)->def;
   while (behind != last_reader &&
          (behind->opcode != TL_OP_REDUCE || tl_map_has(&a->needs_sum, behind)))
      behind = behind->next;
   behind = behind->next;
   bool is_own = operand && operand->block == a->body && tl_type_is_tile(tl_arg(a->late, 0)->type);
   return is_own && is_before(operand, behind) ? operand : behind;
}

/* Operations that compute the next stage go to the front; the map gets what they give. */
static void
move_stage_first(Advance *a, TlMap *map)
{
   const TlOp *yield = a->body->last;
   unsigned first = tl_first_carried(a->loop);
   TlValue *slot = tl_arg(yield, a->slot->index - first);
   TlValue *parity = tl_arg(yield, a->parity->index - first);
   TlSlice next;
   tl_slice_init(&next, a->cx->scratch, a->loop);
   bool is_pure = tl_slice_add(&next, slot) && tl_slice_add(&next, parity);
   assert(is_pure && "stages are counted by pure operations");
   (void)is_pure;
   for (size_t i = next.ops.len; i-- > 0;)
      tl_move_before(next.ops.data[i], a->body->first);
   tl_map_put(map, a->slot, slot);
   tl_map_put(map, a->parity, parity);
}

/* The sum that came in flight is waited for before all that reads it. */
static void
build_sum(Advance *a, TlBuilder *b)
{
   TlValue *sum = tl_carried(a->body, a->sum);
   const TlType *type = sum->type;
   sum->type = tl_type_in_flight(b->module->types, type, true);
   TlValue *done = wait_for(b, sum, 0), *index = tl_for_index(a->loop);
   TlValue *is_later = tl_b2(b, TL_OP_NE, index, tl_for_lower(a->loop));
   leave(a, b, tl_carried(a->body, a->loop->num_results - 1), is_later);
   tl_replace_uses(sum, done);
   tl_set_arg(done->def, 0, sum);
}

/* Readers of the sum that come before `behind` go to that place, which is behind it. */
static void
move_readers(const Advance *a, const TlOp *behind, TlOp *place)
{
   for (TlOp *op = a->body->first, *next; op != behind; op = next) {
      next = op->next;
      if (tl_map_has(&a->needs_sum, op))
         tl_move_before(op, place);
   }
}

/* The body: the next product begun within, the sum in flight at its end. */
static void
build_body(Advance *a)
{
   TlOp *yield = a->body->last;
   unsigned n = a->loop->num_results;
   TlValue *product = tl_carried(a->body, n - 3);
   TlMap map;
   tl_map_init(&map, a->cx->scratch);
   tl_replace_uses(tl_result(a->early, 0), product);
   move_stage_first(a, &map);
   TlOp *reader = last_reader(a, product), *place = wait_before(a, reader);
   TlBuilder start = tl_builder_before(place);
   start.range = a->early->range;
   TlOp *dot = build_early(a, &start, &map);
   build_sum(a, &start);
   move_readers(a, place->prev, place); /* the last of what has been built */
   tl_move_before(dot, is_before(place, reader) ? reader->next : place);
   if (is_before(a->late, dot)) /* what is begun first is done first */
      tl_move_before(a->late, dot->next);
   TlTypes *types = a->func->module->types;
   tl_result(dot, 0)->type = tl_type_in_flight(types, tl_result(dot, 0)->type, true);
   tl_result(a->late, 0)->type = tl_type_in_flight(types, tl_result(a->late, 0)->type, true);
   TlBuilder end = tl_builder_before(yield);
   end.range = a->early->range;
   tl_append_arg(yield, wait_for(&end, tl_result(dot, 0), 1));
   tl_clone_op(&end, a->early_arrive, &map);
   tl_append_arg(yield, tl_b2(&end, TL_OP_ADD, tl_for_index(a->loop), tl_for_step(a->loop)));
   tl_append_arg(yield, a->slot);
}

/* The loop goes into the branch that is taken if it has an iteration; without one, its values are
 * those it begins with.  Returns the place behind the loop. */
static TlBuilder
enter_if(Advance *a, TlBuilder *b, TlValue *any)
{
   unsigned n = a->loop->num_results;
   TlValue **inits = tl_new_array(a->cx->scratch, TlValue *, n);
   for (unsigned i = 0; i < n; i++)
      inits[i] = tl_init(a->loop, i);
   TlOp *op = build_if(a, b, any, inits, n);
   for (unsigned i = 0; i < n; i++)
      tl_replace_uses(tl_result(a->loop, i), tl_result(op, i));
   TlBuilder other = builder_in(a, op, 1);
   tl_build_yield(&other, inits, n);
   tl_move_to_end(a->loop, op->regions[0]->block);
   return builder_in(a, op, 0);
}

static bool
is_in_loop(const TlOp *op)
{
   do
      op = tl_parent(op);
   while (op && !tl_is_loop(op));
   return op != NULL;
}

/* The loop carries the first product, the index that it is of, and the stage of the last one. */
static void
carry(Advance *a, TlBuilder *b, TlValue *product, TlValue *more, TlValue *end)
{
   TlValue *sum = tl_init(a->loop, a->sum),
           *slot = tl_init(a->loop, a->slot->index - tl_first_carried(a->loop));
   TlValue *const extra[] = {product, tl_for_lower(a->loop), slot};
   const TlType *in_flight = tl_type_in_flight(b->module->types, sum->type, true);
   TlValue *start = tl_t1(b, TL_OP_DOT_START, in_flight, sum);
   tl_set_arg(a->loop, 1, tl_b3(b, TL_OP_SELECT, more, end, tl_for_lower(a->loop)));
   a->loop = tl_carrying(a->loop, extra, 3);
   a->body = a->loop->regions[0]->block;
   a->slot = a->body->args[a->slot->index];
   a->parity = a->body->args[a->parity->index];
   tl_set_init(a->loop, a->sum, start);
   tl_result(a->loop, a->sum)->type = in_flight;
}

static void
advance(Advance *a)
{
   TlBuilder b = tl_builder_before(a->loop);
   b.range = a->loop->range;
   TlValue *lower = tl_for_lower(a->loop), *upper = tl_for_upper(a->loop);
   TlValue *any = tl_is_before(&b, a->loop, 0, lower, upper);
   TlValue *more = tl_exists_after(&b, a->loop, 0, lower, 1);
   TlValue *end = tl_b2(&b, TL_OP_SUB, upper, tl_for_step(a->loop));
   if (is_in_loop(a->loop)) {
      TlValue **values = tl_new_array(a->cx->scratch, TlValue *, a->loop->num_results);
      TlBuilder behind = enter_if(a, &b, any);
      b = tl_builder_before(a->loop);
      b.range = behind.range;
      carry(a, &b, build_first(a, &b), more, end);
      finish_sum(a, &behind, more, values);
      build_last(a, &behind, values);
   } else {
      carry(a, &b, build_first_if(a, &b, any), more, end);
      TlBuilder behind = tl_builder_before(a->loop->next);
      behind.range = a->loop->range;
      build_last_if(a, &behind, any, more);
   }
   build_body(a);
   tl_remove(a->late_arrive);
   tl_remove(a->early_arrive);
   tl_remove(a->early);
   tl_remove(a->early_wait);
}

bool
tl_pass_advance_products(TlPassCx *cx, TlFunc *f)
{
   assert(f->state == TL_STATE_LAID);
   bool changed = false;
   TlAnalysis *facts = NULL; /* of the bounds, which stay as they are */
   const TlBlock *top = f->body->block;
   for (TlOp *op = tl_walk_inner(top), *next; op; op = next) {
      next = tl_walk_inner_next(op, top);
      Advance a = {.cx = cx, .func = f, .loop = op};
      if (op->opcode != TL_OP_FOR)
         continue;
      a.body = op->regions[0]->block;
      if (!find_products(&a) || !find_slice(&a) || !ends_with_arrival(&a) || !find_readers(&a) ||
          !is_read_without_sum(&a))
         continue;
      facts = facts ? facts : tl_analysis_new(cx->scratch, f);
      if (tl_most_trips(facts, op) > 1) {
         advance(&a);
         changed = true;
      }
   }
   return changed;
}
