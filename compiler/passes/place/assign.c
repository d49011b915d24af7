/* Choice of homes by cost.
 *
 * layouts.c has made a first decision for every value.  Here it is improved: a variable is the home
 * of an operation that could have another one, or the layout of a carried position (of a loop or an
 * `if`).  The cost of a labelling, everything weighted by loop depth, is that of
 *    conversions  of each value to each other layout that a user asks for, once, where it is
 *                 defined
 *    operations   accesses, elementwise work and reductions in their homes
 *    recomputing  free values once for each layout asked for
 *
 * One step takes a layout that one variable could have, follows it through the layout rules to
 * everything it would agree with (forward to users, backward to producers, around loops), and asks
 * a minimum cut which of these variables should change.  A step counts only when the cost of the
 * whole falls, so the first decision is never made worse and the search ends.
 * Invariant: homes of dots, splits and other operations that need a certain form stay as they
 * were. */
#include "passes/place/min_cut.h"
#include "passes/place/cost.h"

#include "ir/control.h"
#include "ir/walk.h"
#include "passes/lower/lower.h"
#include "passes/pipeline_loops.h"

#include <assert.h>
#include <string.h>

enum {
   LOOP_WEIGHT = 8,
   MAX_WEIGHT = LOOP_WEIGHT * LOOP_WEIGHT * LOOP_WEIGHT,
   MAX_STEPS = 160,     /* minimum cuts of one function */
   MAX_VARS = 4000,     /* larger functions keep their first decisions */
   MAX_REGISTERS = 512, /* of one tile in a thread, for a layout that was not there before */
   MAX_FEEDING = 256,
};

typedef struct Var {
   TlOp *op;     /* the operation, or the control operation of a position */
   int position; /* -1: of an operation */
   bool is_fixed;
   bool is_operand;       /* a load that only dots read */
   const TlLinear *home;  /* NULL: nothing to decide */
   const TlLinear *other; /* of the step: the layout that would agree, or NULL */
   int64_t weight;
} Var;

/* A value that has to be brought to a layout. */
typedef struct Need {
   const TlValue *value;
   const TlLinear *layout; /* NULL: operand of a dot */
   const TlOp *dot;
   unsigned index;
} Need;
typedef TL_VEC(Need) Needs;

/* A free value in one layout: what building it takes. */
typedef struct Built {
   const TlValue *value;
   int64_t cost;
   Needs needs;
   TL_VEC(struct Built *) from;
   unsigned seen; /* mark of the last count */
} Built;

/* What a variable needs when its home is this. */
typedef struct Demand {
   Needs needs;
   TL_VEC(Built *) built;
   int64_t build_cost; /* everything built, as if nobody shared it */
   int64_t op_cost;
} Demand;

typedef struct Assign {
   TlPlace *p;
   TlPlaceCosts *costs;
   TlArena *arena;
   TL_VEC(Var) vars;
   TlMap var_of;  /* operation -> index + 1; of a control operation: of its position 0 */
   TlMap demands; /* (variable, layout) -> Demand * */
   TlMap built;   /* (value, layout) -> Built * */
   TlMap failed;  /* (variable, layout) tried since the last success */
   unsigned mark;
   unsigned steps;
} Assign;

static bool
is_tile(const TlValue *v)
{
   return v->type->kind == TL_TYPE_TILE;
}

static int64_t
block_weight(const TlBlock *block)
{
   int64_t w = 1;
   for (const TlOp *op = block->region->parent; op; op = tl_parent(op))
      if (tl_is_loop(op) && w < MAX_WEIGHT)
         w *= LOOP_WEIGHT;
   return w;
}

static const void *
key_of(Assign *a, uint64_t id, const TlLinear *layout)
{
   assert(id < 1ull << 44);
   unsigned index = layout ? tl_place_layout_index(a->costs, layout) : 0xffff;
   return (const void *)(uintptr_t)(id << 20 | index);
}

/* ---- variables ---- */
static Var *
var_at(Assign *a, const TlOp *op, unsigned position)
{
   uintptr_t i = (uintptr_t)tl_map_get(&a->var_of, op);
   assert(!i || i - 1 + position < a->vars.len);
   return i ? &a->vars.data[i - 1 + position] : NULL;
}

/* The variable that decides the layout of v, NULL for free values. */
static Var *
var_of_value(Assign *a, const TlValue *v)
{
   if (tl_is_free(a->p, v))
      return NULL;
   if (v->def)
      return var_at(a, v->def, tl_is_branching(v->def) ? v->index : 0);
   const TlOp *parent = v->block->region->parent;
   if (!parent || !tl_is_branching(parent))
      return NULL;
   return var_at(a, parent, v->index - tl_first_carried(parent));
}

static const TlLinear *
layout_under(Assign *a, const TlValue *v, const Var *x, const TlLinear *home)
{
   if (x->position >= 0 || !home)
      return home;
   const TlLinear *l = tl_layout_rule(x->op)->result(a->p, x->op, v->index, home);
   return l ? l : tl_choice_of(a->p, v).layout;
}

static bool
fits_shape(const TlType *t, const TlLinear *l)
{
   uint32_t shape[TL_MAX_RANK];
   if (l->rank != t->rank)
      return false;
   tl_ll_shape(l, shape);
   return memcmp(shape, t->shape, t->rank * sizeof shape[0]) == 0;
}

/* Does the result of a load reach a dot without leaving its block, as a tile of its own, not by a
 * row or a column for all of another one?  *only: and nothing else. */
static bool
feeds_dot(Assign *a, const TlOp *load, bool *only)
{
   assert(load->num_results > 0);
   TL_VEC(const TlValue *) todo = {0};
   TlMap seen;
   bool found = false;
   *only = true;
   tl_map_init(&seen, a->arena);
   tl_vec_push(a->arena, &todo, tl_result(load, 0));
   for (size_t i = 0; i < todo.len && i < MAX_FEEDING; i++)
      for (const TlUse *u = todo.data[i]->uses; u; u = u->next) {
         const TlOp *op = u->user;
         if (op->opcode == TL_OP_DOT && tl_arg(op, 2) != todo.data[i]) {
            found = true;
            continue;
         }
         if (op->block != load->block || !tl_op_is_pure(op) || op->num_regions ||
             op->num_results != 1 || op->opcode == TL_OP_BROADCAST) {
            *only = false;
            continue;
         }
         if (!tl_map_has(&seen, op))
            tl_vec_push(a->arena, &todo, tl_result(op, 0));
         tl_map_put(&seen, op, (void *)1);
      }
   return found;
}

/* Loads that run ahead of their iteration: their layout is that of the copy to shared memory. */
static bool
is_in_staged_loop(const TlOp *load)
{
   const TlOp *loop = tl_parent(load);
   return loop && loop->opcode == TL_OP_FOR && tl_attr_int(loop, TL_ATTR_NUM_STAGES) > 1;
}

/* Will the loop read it from a ring of shared memory (pipeline_loads.c), in any layout alike?  What
 * is cheap to know decides: a load that something else keeps from running ahead is converted. */
static bool
comes_from_ring(Assign *a, const TlOp *load)
{
   const TlOp *loop = tl_parent(load);
   const TlType *t = tl_result(load, 0)->type;
   const TlPassCx *cx = a->p->cx;
   if (load->opcode != TL_OP_LOAD || t->kind != TL_TYPE_TILE || !loop ||
       loop->opcode != TL_OP_FOR || tl_for_stages(loop) < 2 ||
       !tl_block_has(load->block, TL_OP_DOT))
      return false;
   unsigned bytes = tl_dtype_info[tl_memory_dtype(t->elem)].bytes;
   TlAccess access = tl_access_of(a->p->facts, load);
   return cx->target && tl_is_zero_fill(load) && !tl_attr_int(load, TL_ATTR_VOLATILE) &&
          bytes * tl_access_vec(&access) >= TL_LEAST_COPY;
}

/* Scales of groups, which no ring holds: loads of what is equal for several elements.  Products
 * read what is made of them, whose layout may be that of what they scale. */
static bool
is_scale(Assign *a, const TlOp *load)
{
   const TlType *t = tl_result(load, 0)->type;
   if (t->kind != TL_TYPE_TILE || comes_from_ring(a, load))
      return false;
   TlAccess access = tl_access_of(a->p->facts, load);
   for (unsigned d = 0; d < t->rank; d++)
      if (access.equal[d] > 1)
         return true;
   return false;
}

/* Could the operation have another home? */
static bool
is_flexible(Assign *a, const TlOp *op)
{
   const TlLayoutRule *rule = tl_layout_rule(op);
   bool only;
   if (rule == &tl_layout_load)
      return op->opcode == TL_OP_LOAD && !is_in_staged_loop(op) &&
             (!feeds_dot(a, op, &only) || is_scale(a, op));
   if (rule == &tl_layout_atomic) /* a result that is used would have to be sent to its copies */
      return op->num_results && !tl_result(op, 0)->uses;
   return (rule == &tl_layout_same && op->opcode != TL_OP_INLINE_ASM) || rule == &tl_layout_store ||
          rule == &tl_layout_scan || rule == &tl_layout_reduce || rule == &tl_layout_trans ||
          rule == &tl_layout_expand_dims || rule == &tl_layout_join ||
          (rule == &tl_layout_reshape && is_tile(tl_arg(op, 0)));
}

/* The dimension of a load's tile that a product wants to lie together in shared memory, whatever
 * lies together in global memory; its rank where there is none. */
static unsigned
dim_wanted_together(const Assign *a, const TlOp *load)
{
   const TlValue *v = tl_result(load, 0);
   unsigned rank = v->type->rank, of_load[TL_MAX_RANK];
   for (unsigned d = 0; d < rank; d++)
      of_load[d] = d;
   while (v->uses && v->uses->user->opcode == TL_OP_TRANS) {
      TlInts order = tl_attr_ints(v->uses->user, TL_ATTR_ORDER);
      unsigned before[TL_MAX_RANK];
      memcpy(before, of_load, sizeof before);
      for (unsigned d = 0; d < order.len; d++)
         of_load[d] = before[order.data[d]];
      v = tl_result(v->uses->user, 0);
   }
   const TlOp *dot = v->uses ? v->uses->user : NULL;
   if (!dot || dot->opcode != TL_OP_DOT || tl_arg(dot, 2) == v)
      return rank;
   const TlDotForm *f = tl_map_get(&a->p->dots, dot);
   unsigned index = tl_arg(dot, 0) == v ? 0 : 1;
   return tl_dot_needs_k_together(f, index) ? of_load[1 - index] : rank;
}

/* Words that are turned on their way to shared memory, by copies of 4 bytes each.  8 lanes read a
 * sector of 32 bytes and write to as many rows of the swizzle, 4 lanes fill 16 bytes of a row: no
 * byte of a sector is left and no bank is met twice. */
static TlLinear
turned_copy_layout(const TlType *t, const TlAccess *access, unsigned num_warps)
{
   enum { LANES_ALONG_SECTOR = 8, LANES_ACROSS = 4 };
   uint32_t size[2] = {1, 1}, lanes[2], warps[2] = {1, 1};
   unsigned dim = access->dim, other = 1 - dim;
   lanes[dim] = LANES_ALONG_SECTOR;
   lanes[other] = LANES_ACROSS;
   while (warps[other] < num_warps && warps[other] * LANES_ACROSS < t->shape[other])
      warps[other] *= 2;
   warps[dim] = num_warps / warps[other];
   return tl_ll_blocked(2, t->shape, size, lanes, warps, access->order);
}

/* The layout of an access for itself alone: as wide as its own address allows, or with warps beside
 * the lanes. */
static const TlLinear *
own_access_layout(Assign *a, const TlOp *op, bool is_long)
{
   assert(tl_type_elem(tl_arg(op, 0)->type)->kind == TL_TYPE_PTR);
   const TlType *t = tl_arg(op, 0)->type;
   TlAccess access = tl_access_of(a->p->facts, op);
   unsigned vec = tl_access_has_vectors(a->p->cx->target, op) ? tl_access_vec(&access) : 1;
   unsigned together = op->opcode == TL_OP_LOAD ? dim_wanted_together(a, op) : t->rank;
   if (together < t->rank && together != access.dim && access.elem_bytes == 4)
      return tl_place_intern(a->p, turned_copy_layout(t, &access, a->p->func->num_warps));
   if (vec == 1 && is_flexible(a, op)) /* what is equal is fetched once */
      vec = access.equal[access.order[0]];
   uint64_t share = tl_type_num_elems(t) / (32ull * a->p->func->num_warps);
   while (vec > 1 && vec > share)
      vec /= 2;
   unsigned warps = a->p->func->num_warps;
   if (is_long)
      return tl_place_intern(a->p,
                             tl_long_blocked_layout(t->rank, t->shape, access.order, vec, warps));
   return tl_place_intern(a->p, tl_place_blocked(a->p, t, access.order, vec));
}

/* A load that only dots read goes to shared memory: it need not share its layout with accesses of
 * other widths. */
static bool
is_dot_operand(Assign *a, const TlOp *op)
{
   bool only;
   return op->opcode == TL_OP_LOAD && is_tile(tl_arg(op, 0)) && feeds_dot(a, op, &only) && only;
}

static TlDecision
first_home(Assign *a, const TlOp *op)
{
   if (tl_is_branching(op))
      return (TlDecision){0};
   TlDecision home = tl_layout_rule(op)->home(a->p, op);
   if (home.layout && is_dot_operand(a, op))
      home.layout = own_access_layout(a, op, false);
   return home;
}

static void
add_var(Assign *a, Var x)
{
   assert(x.op && x.op->block);
   x.weight = block_weight(x.op->block);
   tl_vec_push(a->arena, &a->vars, x);
}

/* The decisions so far become homes; every result has the layout that follows from them. */
static void
add_operation(Assign *a, TlOp *op)
{
   TlPlace *p = a->p;
   if (op->num_results == 1 && tl_is_free(p, tl_result(op, 0)))
      return;
   const TlLayoutRule *rule = tl_layout_rule(op);
   TlDecision home = first_home(a, op);
   for (unsigned k = 0; k < op->num_results; k++) {
      TlValue *v = tl_result(op, k);
      if (!is_tile(v))
         continue;
      const TlLinear *l = home.layout ? rule->result(p, op, k, home.layout) : NULL;
      l = l ? l : p->choice[v->id].layout;
      p->choice[v->id].layout = l ? l : tl_place_default(p, v->type);
   }
   if (!tl_is_branching(op) && !home.layout)
      return;
   tl_map_put(&a->var_of, op, (void *)(a->vars.len + 1));
   if (!tl_is_branching(op)) {
      tl_map_put(&p->homes, op, (void *)(uintptr_t)home.layout);
      add_var(a, (Var){.op = op,
                       .position = -1,
                       .is_fixed = !is_flexible(a, op),
                       .is_operand = is_dot_operand(a, op),
                       .home = home.layout});
      return;
   }
   for (unsigned k = 0; k < op->num_results; k++) {
      const TlLinear *l = is_tile(tl_result(op, k)) ? p->choice[tl_result(op, k)->id].layout : NULL;
      add_var(a, (Var){.op = op, .position = (int)k, .is_fixed = !l, .home = l});
   }
}

/* ---- what a home demands ---- */
static void need_operand(Assign *a, const TlValue *v, const TlLinear *layout, Needs *needs,
                         int64_t *build_cost, Demand *d, Built *parent);

static int64_t
own_cost(Assign *a, const TlOp *op, const TlLinear *layout)
{
   if (!tl_has_trait(op, TL_TRAIT_ELTWISE))
      return 0;
   return tl_place_cost_op(a->costs, op, layout) * block_weight(op->block);
}

/* A free value in a layout, with what it is built from; computed once. */
static Built *
build(Assign *a, const TlValue *v, const TlLinear *layout)
{
   assert(tl_is_free(a->p, v));
   const void *key = key_of(a, v->id, layout);
   Built *b = tl_map_get(&a->built, key);
   if (b)
      return b;
   b = tl_new(a->arena, Built);
   tl_map_put(&a->built, key, b);
   const TlOp *op = v->def;
   const TlLayoutRule *rule = tl_layout_rule(op);
   *b = (Built){.value = v, .cost = own_cost(a, op, layout)};
   const TlLinear *home = rule->home_for ? rule->home_for(a->p, op, layout) : NULL;
   int64_t ignored = 0;
   for (unsigned i = 0; i < op->num_args && home; i++)
      if (is_tile(tl_arg(op, i)))
         need_operand(a, tl_arg(op, i), rule->operand(a->p, op, i, home), &b->needs, &ignored, NULL,
                      b);
   return b;
}

static int64_t
total_cost(Assign *a, Built *b)
{
   if (b->seen == a->mark)
      return 0;
   b->seen = a->mark;
   int64_t cost = b->cost;
   for (size_t i = 0; i < b->from.len; i++)
      cost += total_cost(a, b->from.data[i]);
   return cost;
}

static void
collect_needs(Assign *a, Built *b, Needs *out)
{
   if (b->seen == a->mark)
      return;
   b->seen = a->mark;
   for (size_t i = 0; i < b->needs.len; i++)
      tl_vec_push(a->arena, out, b->needs.data[i]);
   for (size_t i = 0; i < b->from.len; i++)
      collect_needs(a, b->from.data[i], out);
}

static void
need_operand(Assign *a, const TlValue *v, const TlLinear *layout, Needs *needs, int64_t *build_cost,
             Demand *d, Built *parent)
{
   if (!layout || !fits_shape(v->type, layout))
      return;
   if (!tl_is_free(a->p, v)) {
      tl_vec_push(a->arena, needs, (Need){.value = v, .layout = layout});
      return;
   }
   Built *b = build(a, v, layout);
   if (parent)
      tl_vec_push(a->arena, &parent->from, b);
   if (!d)
      return;
   tl_vec_push(a->arena, &d->built, b);
   a->mark++;
   *build_cost += total_cost(a, b);
   a->mark++;
   collect_needs(a, b, needs);
}

/* Operands whose layout the home does not ask for: they are read in whatever layout they have. */
static bool
is_read_as_it_is(const TlOp *op, unsigned i)
{
   return (op->opcode == TL_OP_GATHER && i == 0) || op->opcode == TL_OP_HISTOGRAM;
}

static void
demand_operation(Assign *a, const Var *x, const TlLinear *home, Demand *d)
{
   const TlOp *op = x->op;
   const TlLayoutRule *rule = tl_layout_rule(op);
   for (unsigned i = 0; i < op->num_args; i++) {
      const TlValue *v = tl_arg(op, i);
      if (!is_tile(v) || is_read_as_it_is(op, i))
         continue;
      if (op->opcode == TL_OP_DOT && i < 2) {
         if (!tl_is_free(a->p, v))
            tl_vec_push(a->arena, &d->needs, (Need){.value = v, .dot = op, .index = i});
      } else {
         need_operand(a, v, rule->operand(a->p, op, i, home), &d->needs, &d->build_cost, d, NULL);
      }
   }
   d->op_cost = tl_place_cost_op(a->costs, op, home) * x->weight;
}

static Demand *
demand_of(Assign *a, const Var *x, const TlLinear *home)
{
   const void *key = key_of(a, (uint64_t)(x - a->vars.data), home);
   Demand *d = tl_map_get(&a->demands, key);
   if (d)
      return d;
   d = tl_new(a->arena, Demand);
   tl_map_put(&a->demands, key, d);
   if (x->position < 0) {
      demand_operation(a, x, home, d);
      return d;
   }
   TlJoin join = tl_join(x->op, (unsigned)x->position);
   for (unsigned i = 0; i < join.num_in; i++)
      need_operand(a, join.in[i], home, &d->needs, &d->build_cost, d, NULL);
   return d;
}

/* ---- costs ---- */
static int64_t
need_cost(Assign *a, const Need *n, const TlLinear *have)
{
   assert(have);
   int64_t w = block_weight(tl_value_block(n->value));
   if (n->layout) {
      int64_t cost = tl_place_cost_convert(a->costs, n->value->type->elem, have, n->layout);
      if (cost && n->value->def && comes_from_ring(a, n->value->def)) {
         int64_t read = tl_place_cost_ring_read(a->costs, n->value->def, n->layout);
         cost = read < cost ? read : cost;
      }
      return w * cost;
   }
   if (n->value->def && n->value->def->opcode == TL_OP_LOAD)
      return 0;
   const TlDotForm *f = tl_map_get(&a->p->dots, n->dot);
   return w * tl_place_cost_dot_operand(a->costs, f, n->index, n->value->type, have);
}

static const TlLinear *
current_layout(Assign *a, const TlValue *v)
{
   const Var *x = var_of_value(a, v);
   return x && x->home ? layout_under(a, v, x, x->home) : tl_choice_of(a->p, v).layout;
}

/* Of the whole function as it stands. */
static int64_t
whole_cost(Assign *a)
{
   int64_t cost = 0;
   TlMap converted;
   tl_map_init(&converted, a->arena);
   TL_VEC(Demand *) all = {0};
   for (size_t i = 0; i < a->vars.len; i++)
      if (a->vars.data[i].home)
         tl_vec_push(a->arena, &all, demand_of(a, &a->vars.data[i], a->vars.data[i].home));
   a->mark++;
   for (size_t i = 0; i < all.len; i++) {
      const Demand *d = all.data[i];
      cost += d->op_cost;
      for (size_t k = 0; k < d->built.len; k++)
         cost += total_cost(a, d->built.data[k]);
      for (size_t k = 0; k < d->needs.len; k++) {
         const Need *n = &d->needs.data[k];
         const void *key = key_of(a, n->value->id, n->layout);
         if (tl_map_has(&converted, key))
            continue;
         tl_map_put(&converted, key, (void *)1);
         cost += need_cost(a, n, current_layout(a, n->value));
      }
   }
   return cost;
}

/* ---- one step ---- */
static bool
is_legal(const Var *x, const TlLinear *l)
{
   if (x->is_fixed || !x->home || !l || !tl_ll_same_shape(l, x->home) ||
       l->num[TL_HW_WARP] != x->home->num[TL_HW_WARP] || !tl_ll_is_surjective(l))
      return false;
   unsigned regs = tl_ll_num_regs(l);
   if (regs > MAX_REGISTERS && regs > tl_ll_num_regs(x->home))
      return false;
   if (x->op->opcode == TL_OP_REDUCE || x->op->opcode == TL_OP_SCAN)
      return tl_axis_is_separate(l, (unsigned)tl_attr_int(x->op, TL_ATTR_AXIS));
   return true;
}

/* The home of x with which result v has this layout. */
static const TlLinear *
home_for_result(Assign *a, const Var *x, const TlValue *v, const TlLinear *l)
{
   if (x->position >= 0)
      return l;
   const TlLayoutRule *rule = tl_layout_rule(x->op);
   if (rule->home_for)
      return rule->home_for(a->p, x->op, l);
   if (x->op->opcode == TL_OP_REDUCE || x->op->opcode == TL_OP_JOIN)
      return layout_under(a, v, x, x->home) == l ? x->home : NULL;
   return l;
}

typedef TL_VEC(uint32_t) Queue;

static void
reach(Assign *a, Queue *q, Var *x, const TlLinear *l)
{
   if (!x || x->other || !is_legal(x, l))
      return;
   x->other = l;
   tl_vec_push(a->arena, q, (uint32_t)(x - a->vars.data));
}

/* Users of v agree when they have its layout l at home. */
static void
reach_users(Assign *a, Queue *q, const TlValue *v, const TlLinear *l)
{
   for (const TlUse *u = v->uses; u; u = u->next) {
      const TlOp *op = u->user;
      unsigned i = (unsigned)(u - op->args);
      if (op->opcode == TL_OP_YIELD || op->opcode == TL_OP_CONDITION) {
         const TlOp *parent = tl_parent(op);
         unsigned skip = tl_first_yielded(op);
         if (tl_is_branching(parent) && i >= skip && i - skip < parent->num_results)
            reach(a, q, var_at(a, parent, i - skip), l);
      } else if (tl_is_branching(op)) {
         if (i >= tl_first_init(op))
            reach(a, q, var_at(a, op, i - tl_first_init(op)), l);
      } else {
         reach(a, q, var_at(a, op, 0), l);
      }
   }
}

/* The values that a variable defines. */
static void
reach_from_values(Assign *a, Queue *q, const Var *x)
{
   if (x->position < 0) {
      for (unsigned k = 0; k < x->op->num_results; k++) {
         const TlValue *v = tl_result(x->op, k);
         if (is_tile(v))
            reach_users(a, q, v, layout_under(a, v, x, x->other));
      }
      return;
   }
   TlJoin join = tl_join(x->op, (unsigned)x->position);
   for (unsigned i = 0; i < join.num_out; i++)
      reach_users(a, q, join.out[i], x->other);
}

static void
spread(Assign *a, Queue *q)
{
   for (size_t i = 0; i < q->len; i++) {
      const Var *x = &a->vars.data[q->data[i]];
      const Demand *d = demand_of(a, x, x->other);
      for (size_t k = 0; k < d->needs.len; k++) {
         const Need *n = &d->needs.data[k];
         Var *y = var_of_value(a, n->value);
         if (y && y->home && n->layout)
            reach(a, q, y, home_for_result(a, y, n->value, n->layout));
      }
      reach_from_values(a, q, x);
   }
}

/* What bringing one value to one demand costs for both labels of its variable and of the user. */
static void
add_need(Assign *a, TlCut *cut, const int32_t *node, const Var *user, const Need *keep,
         const Need *change)
{
   const TlValue *v = keep ? keep->value : change->value;
   const Var *x = var_of_value(a, v);
   bool is_moving = x && x->home && node[x - a->vars.data] >= 0;
   int32_t u = node[user - a->vars.data];
   if (!is_moving && u < 0)
      return;
   const TlLinear *have = current_layout(a, v);
   const TlLinear *then = is_moving ? layout_under(a, v, x, x->other) : have;
   int64_t c[2][2] = {{0}};
   for (unsigned i = 0; i < 2; i++) {
      const TlLinear *l = i ? then : have;
      c[i][0] = keep ? need_cost(a, keep, l) : 0;
      c[i][1] = u < 0 ? c[i][0] : change ? need_cost(a, change, l) : 0;
   }
   if (!is_moving)
      tl_cut_add(cut, (uint32_t)u, c[0][1] - c[0][0]);
   else if (u < 0)
      tl_cut_add(cut, (uint32_t)node[x - a->vars.data], c[1][0] - c[0][0]);
   else if (u == node[x - a->vars.data])
      tl_cut_add(cut, (uint32_t)u, c[1][1] - c[0][0]);
   else
      tl_cut_add_pair(cut, (uint32_t)node[x - a->vars.data], (uint32_t)u, c);
}

static void
add_variable(Assign *a, TlCut *cut, const int32_t *node, const Var *x)
{
   int32_t n = node[x - a->vars.data];
   const Demand *now = demand_of(a, x, x->home), *then = now;
   if (n >= 0) {
      then = demand_of(a, x, x->other);
      tl_cut_add(cut, (uint32_t)n,
                 then->op_cost + then->build_cost - now->op_cost - now->build_cost);
   }
   size_t most = now->needs.len > then->needs.len ? now->needs.len : then->needs.len;
   for (size_t i = 0; i < most; i++) {
      const Need *k = i < now->needs.len ? &now->needs.data[i] : NULL;
      const Need *c = i < then->needs.len ? &then->needs.data[i] : NULL;
      if (k && c && k->value != c->value) {
         add_need(a, cut, node, x, k, NULL);
         add_need(a, cut, node, x, NULL, c);
      } else {
         add_need(a, cut, node, x, k, c);
      }
   }
}

/* The variables that the cut moves take their other layout; undone unless the cost falls. */
static bool
take_cut(Assign *a, const int32_t *node, const bool *label, int64_t *cost)
{
   bool any = false;
   const TlLinear **old = tl_new_array(a->arena, const TlLinear *, a->vars.len);
   for (size_t i = 0; i < a->vars.len; i++) {
      Var *x = &a->vars.data[i];
      old[i] = x->home;
      if (node[i] >= 0 && label[node[i]]) {
         x->home = x->other;
         any = true;
      }
   }
   int64_t now = any ? whole_cost(a) : *cost;
   if (now < *cost) {
      *cost = now;
      return true;
   }
   for (size_t i = 0; i < a->vars.len; i++)
      a->vars.data[i].home = old[i];
   return false;
}

/* Variables that were reached and are not there already, as nodes of a cut; others have -1. */
static int32_t *
number_reached(Assign *a, uint32_t *num)
{
   int32_t *node = tl_new_array(a->arena, int32_t, a->vars.len);
   *num = 0;
   for (size_t i = 0; i < a->vars.len; i++) {
      const Var *y = &a->vars.data[i];
      node[i] = y->other && y->other != y->home ? (int32_t)(*num)++ : -1;
   }
   return node;
}

/* Moves those that a minimum cut names. */
static bool
move_some(Assign *a, int64_t *cost)
{
   uint32_t num;
   int32_t *node = number_reached(a, &num);
   TlCut cut;
   tl_cut_init(&cut, a->arena, num);
   for (size_t i = 0; i < a->vars.len; i++)
      if (a->vars.data[i].home)
         add_variable(a, &cut, node, &a->vars.data[i]);
   bool *label = tl_new_array(a->arena, bool, num + 1);
   tl_cut_solve(&cut, label);
   return take_cut(a, node, label, cost);
}

static bool
move_all(Assign *a, int64_t *cost)
{
   uint32_t num;
   int32_t *node = number_reached(a, &num);
   bool *label = tl_new_array(a->arena, bool, num + 1);
   for (uint32_t i = 0; i < num; i++)
      label[i] = true;
   return take_cut(a, node, label, cost);
}

static bool
is_division(const TlValue *v)
{
   return tl_value_is(v, TL_OP_DIV) || tl_value_is(v, TL_OP_REM);
}

/* Divisions among what is built that were not seen yet. */
static unsigned
new_divisions(Assign *a, Built *b)
{
   if (b->seen == a->mark)
      return 0;
   b->seen = a->mark;
   unsigned num = is_division(b->value);
   for (size_t i = 0; i < b->from.len; i++)
      num += new_divisions(a, b->from.data[i]);
   return num;
}

static unsigned
new_divisions_of(Assign *a, const Demand *d)
{
   unsigned num = 0;
   for (size_t k = 0; k < d->built.len; k++)
      num += new_divisions(a, d->built.data[k]);
   return num;
}

/* Accesses by quotients that x has too, in its layout, come along: those that stay would have them
 * divided once more.  A cut does not see that, since it counts what is built as if nobody shared
 * it. */
static bool
reach_sharers(Assign *a, Queue *q, const Var *x, const TlLinear *layout)
{
   size_t before = q->len;
   const Demand *own = demand_of(a, x, x->home);
   for (size_t i = 0; i < a->vars.len; i++) {
      Var *y = &a->vars.data[i];
      if (y->other || y->home != x->home || y->position >= 0 ||
          !tl_has_trait(y->op, TL_TRAIT_ACCESS))
         continue;
      const Demand *d = demand_of(a, y, y->home);
      a->mark++;
      unsigned alone = new_divisions_of(a, d);
      a->mark++;
      new_divisions_of(a, own);
      if (new_divisions_of(a, d) < alone)
         reach(a, q, y, layout);
   }
   return q->len > before;
}

/* Starts from `layout` as the home of x. */
static bool
step(Assign *a, Var *x, const TlLinear *layout, int64_t *cost)
{
   if (!layout || layout == x->home || !is_legal(x, layout) || a->steps >= MAX_STEPS)
      return false;
   const void *key = key_of(a, (uint64_t)(x - a->vars.data), layout);
   if (tl_map_has(&a->failed, key))
      return false;
   tl_map_put(&a->failed, key, (void *)1);
   Queue q = {0};
   for (size_t i = 0; i < a->vars.len; i++)
      a->vars.data[i].other = NULL;
   reach(a, &q, x, layout);
   spread(a, &q);
   a->steps++;
   bool moved = move_some(a, cost);
   if (!moved && x->op->opcode == TL_OP_STORE && reach_sharers(a, &q, x, layout)) {
      spread(a, &q);
      moved = move_all(a, cost);
   }
   if (moved)
      tl_map_init(&a->failed, a->arena);
   return moved;
}

/* ---- which layouts to try ---- */
/* Exchanges the columns of warp bits along the axis with columns off it, of registers or of lanes,
 * as long as there are some; the highest first, so that vectors and full sectors stay as they are
 * as long as possible. */
static void
move_warps(TlLinear *l, uint32_t mask, TlHw with)
{
   assert(with != TL_HW_WARP);
   unsigned warp0 = tl_ll_first(l, TL_HW_WARP), low = tl_ll_first(l, with);
   unsigned at = low + l->num[with];
   for (unsigned w = warp0 + l->num[TL_HW_WARP]; w-- > warp0;) {
      if (!(l->col[w] & mask))
         continue;
      while (at > low && (!l->col[at - 1] || (l->col[at - 1] & mask)))
         at--;
      if (at == low)
         return;
      uint32_t c = l->col[w];
      l->col[w] = l->col[--at];
      l->col[at] = c;
   }
}

/* What a warp reduces alone needs no shared memory.  NULL where warps would still share rows that
 * are best shared by all (see tl_place_rows_are_shared). */
static const TlLinear *
warps_off_axis(Assign *a, const TlOp *op, const TlLinear *home, bool also_lanes)
{
   assert(op->opcode == TL_OP_REDUCE || op->opcode == TL_OP_SCAN);
   TlLinear l = *home;
   unsigned axis = (unsigned)tl_attr_int(op, TL_ATTR_AXIS);
   uint32_t mask = tl_axis_mask(&l, axis);
   move_warps(&l, mask, TL_HW_REG);
   if (also_lanes)
      move_warps(&l, mask, TL_HW_LANE);
   bool is_shared = tl_place_rows_are_shared(a->p, tl_arg(op, 0)->type, axis);
   for (unsigned i = 0; i < l.num[TL_HW_WARP] && is_shared; i++)
      if (tl_ll_col(&l, TL_HW_WARP, i) & mask)
         return NULL;
   return tl_place_intern(a->p, l);
}

/* Lanes side by side off the axis: each thread reduces its elements alone.  For tiles whose
 * accesses cost the same in any order, as those of strided addresses do. */
static const TlLinear *
lanes_off_axis(Assign *a, const TlOp *op, const TlLinear *home)
{
   unsigned axis = (unsigned)tl_attr_int(op, TL_ATTR_AXIS), order[TL_MAX_RANK], n = 0;
   const TlType *t = tl_arg(op, 0)->type;
   uint32_t mask = tl_axis_mask(home, axis), along = 0;
   for (unsigned i = 0; i < home->num[TL_HW_LANE]; i++)
      along |= tl_ll_col(home, TL_HW_LANE, i) & mask;
   if (!along || t->rank < 2 || tl_place_rows_are_shared(a->p, t, axis))
      return NULL;
   for (unsigned d = t->rank; d-- > 0;)
      if (d != axis)
         order[n++] = d;
   order[n] = axis;
   return tl_place_intern(a->p, tl_place_blocked(a->p, t, order, 1));
}

/* Neighbours along the axis of a scan in one thread, then in lanes, then in warps: a thread then
 * exchanges the total of its elements, and not one for each run of them.  NULL where its vectors
 * lie along the axis: accesses, or conversions, would pay for that. */
static const TlLinear *
registers_first(Assign *a, const TlOp *op, const TlLinear *home)
{
   TlLinear l = *home;
   unsigned axis = (unsigned)tl_attr_int(op, TL_ATTR_AXIS), next = tl_ll_dim_shift(&l, axis);
   uint32_t mask = tl_axis_mask(&l, axis);
   unsigned all = tl_ll_first(&l, TL_HW_WARP) + l.num[TL_HW_WARP];
   if (!l.num[TL_HW_REG] || !l.col[0] || (l.col[0] & mask))
      return NULL;
   for (unsigned i = 0; i < all; i++) {
      uint32_t along = l.col[i] & mask;
      if (!along)
         continue;
      if (along != l.col[i] || (along & (along - 1)))
         return NULL;
      l.col[i] = 1u << next++;
   }
   return tl_place_intern(a->p, l);
}

/* Layouts in which a reduction or scan has less to exchange. */
static bool
try_axis(Assign *a, Var *x, int64_t *cost)
{
   const TlLinear *runs = x->op->opcode == TL_OP_SCAN ? registers_first(a, x->op, x->home) : NULL;
   if (runs && step(a, x, runs, cost))
      return true;
   if (step(a, x, warps_off_axis(a, x->op, x->home, false), cost) ||
       step(a, x, warps_off_axis(a, x->op, x->home, true), cost))
      return true;
   const TlLinear *apart = lanes_off_axis(a, x->op, x->home);
   return apart &&
          (step(a, x, warps_off_axis(a, x->op, apart, false), cost) || step(a, x, apart, cost));
}

/* Everything that makes a conversion of this need unnecessary. */
static bool
try_need(Assign *a, Var *user, const Need *n, int64_t *cost)
{
   assert(user >= a->vars.data && user < a->vars.data + a->vars.len);
   const TlLinear *have = current_layout(a, n->value);
   if (!have || need_cost(a, n, have) == 0)
      return false;
   Var *x = var_of_value(a, n->value);
   if (n->layout && n->layout != have && user->position >= 0 && step(a, user, have, cost))
      return true;
   if (n->layout && user->position < 0 && step(a, user, have, cost))
      return true;
   if (!x || !x->home)
      return false;
   const TlLinear *want = n->layout;
   if (!want) {
      const TlDotForm *f = tl_map_get(&a->p->dots, n->dot);
      want = tl_dot_has_fragment(f, n->index) ? tl_place_intern(a->p, f->operand[n->index]) : NULL;
   }
   return want && step(a, x, home_for_result(a, x, n->value, want), cost);
}

/* What its address alone wants, and fewer indices of a dimension in a thread, where much hangs
 * on each (divisions, 64-bit addresses of rows). */
static bool
try_access(Assign *a, Var *x, int64_t *cost)
{
   return step(a, x, own_access_layout(a, x->op, false), cost) ||
          step(a, x, own_access_layout(a, x->op, true), cost);
}

static int64_t
access_cost(Assign *a, const Var *x, const TlLinear *home)
{
   const Demand *d = demand_of(a, x, home);
   return d->op_cost + d->build_cost;
}

/* Of a load that only dots read: nobody else's layout hangs on its own.  Another access by the same
 * indices may have to come along, or they would be computed twice. */
static bool
try_operand(Assign *a, Var *x, int64_t *cost)
{
   const TlLinear *was = x->home, *l = own_access_layout(a, x->op, true);
   if (l == was || access_cost(a, x, l) >= access_cost(a, x, was))
      return false;
   x->home = l;
   int64_t now = whole_cost(a);
   if (now < *cost) {
      *cost = now;
      return true;
   }
   for (size_t i = 0; i < a->vars.len; i++) {
      Var *y = &a->vars.data[i];
      if (y->home && y->op->opcode == TL_OP_STORE && tl_ll_same_shape(y->home, l) &&
          step(a, y, l, cost))
         return true;
   }
   x->home = was;
   return false;
}

static bool
sweep(Assign *a, int64_t *cost)
{
   bool changed = false;
   for (size_t i = 0; i < a->vars.len && a->steps < MAX_STEPS; i++) {
      Var *x = &a->vars.data[i];
      if (!x->home)
         continue;
      if (!x->is_fixed && x->position < 0) {
         if (x->op->opcode == TL_OP_REDUCE || x->op->opcode == TL_OP_SCAN)
            changed |= try_axis(a, x, cost);
         else if (tl_has_trait(x->op, TL_TRAIT_ACCESS))
            changed |= try_access(a, x, cost);
      } else if (x->is_operand) {
         changed |= try_operand(a, x, cost);
      }
      const Demand *d = demand_of(a, x, x->home);
      for (size_t k = 0; k < d->needs.len; k++)
         if (try_need(a, x, &d->needs.data[k], cost)) {
            changed = true;
            d = demand_of(a, x, x->home);
         }
   }
   return changed;
}

static void
write_back(Assign *a)
{
   TlPlace *p = a->p;
   for (size_t i = 0; i < a->vars.len; i++) {
      const Var *x = &a->vars.data[i];
      if (!x->home)
         continue;
      if (x->position < 0) {
         tl_map_put(&p->homes, x->op, (void *)(uintptr_t)x->home);
         for (unsigned k = 0; k < x->op->num_results; k++)
            if (is_tile(tl_result(x->op, k)))
               p->choice[tl_result(x->op, k)->id].layout =
                  layout_under(a, tl_result(x->op, k), x, x->home);
         continue;
      }
      TlJoin join = tl_join(x->op, (unsigned)x->position);
      for (unsigned k = 0; k < join.num_out; k++)
         p->choice[join.out[k]->id].layout = x->home;
   }
}

void
tl_place_assign(TlPlace *p, TlOp *const *ops, size_t num_ops)
{
   TlArena *arena = p->cx->scratch;
   Assign a = {.p = p, .arena = arena, .costs = tl_place_costs_new(p, arena)};
   tl_map_init(&a.var_of, arena);
   tl_map_init(&a.demands, arena);
   tl_map_init(&a.built, arena);
   tl_map_init(&a.failed, arena);
   for (size_t i = 0; i < num_ops; i++)
      add_operation(&a, ops[i]);
   if (a.vars.len <= MAX_VARS) {
      int64_t cost = whole_cost(&a);
      while (sweep(&a, &cost) && a.steps < MAX_STEPS) {
      }
   }
   write_back(&a);
}
