/* TYPED to LAID: a layout for every tile.
 *
 * 1. anchors: memory accesses get blocked layouts from what is known of their addresses, dots the
 *    layouts of their instruction;
 * 2. first decisions: homes are propagated forward until they stand (carried values join their
 *    positions, the stronger layout wins), open values then take what their users want, the rest a
 *    default;
 * 3. assign.c changes homes where that lowers the cost of the whole function;
 * 4. rewriting: operands are brought to the layout that the operation's home asks for, by building
 *    free values again, by views of shared memory for dot operands, or by convert_layout.
 * Invariant: rewriting inserts whatever 2 and 3 left unequal, so decisions affect only speed. */
#include "passes/place/impl.h"
#include "passes/place/cost.h"
#include "ir/control.h"
#include "ir/walk.h"
#include "layout/convert_plan.h"
#include "passes/coalesce.h"
#include "passes/remark.h"

#include <assert.h>
#include <string.h>

enum { MAX_SWEEPS = 8, MAX_DEPTH = 256, MAX_FRAGMENT_REGS = 512, MAX_LEAVES = 8 };

/* One memory access and its group. */
typedef struct Anchor {
   TlOp *op;
   TlAccess access;
   unsigned vec;
   bool writes_vectors;
} Anchor;

typedef struct Variant {
   struct Variant *next;
   const TlLinear *layout; /* of the tile, or NULL for a shared buffer */
   TlValue *value;
} Variant;

typedef struct Driver {
   TlPlace place;
   TlArena *arena;
   TL_VEC(TlOp *) ops; /* of the TYPED body in preorder */
   TL_VEC(Anchor) anchors;
   TlMap variants;        /* original value -> Variant * */
   TlMap origin;          /* value made here -> the original with the same elements */
   TL_VEC(TlOp *) to_fix; /* free operations that got a layout: operands still to be brought */
   bool changed;
   unsigned depth;
} Driver;

static bool
is_tile(const TlValue *v)
{
   return v->type->kind == TL_TYPE_TILE;
}

/* ---- 1. operations and anchors ---- */
static void
collect(Driver *d, TlBlock *block)
{
   if (++d->depth > MAX_DEPTH) {
      tl_report(d->place.cx->diags, E0405, d->place.func->range, (int)MAX_DEPTH);
      d->place.cx->failed = true;
      return;
   }
   for (TlOp *op = block->first; op; op = op->next) {
      tl_vec_push(d->arena, &d->ops, op);
      bool has_scalar_region =
         op->opcode == TL_OP_REDUCE || op->opcode == TL_OP_SCAN || op->opcode == TL_OP_MAP;
      for (unsigned i = 0; i < op->num_regions && !has_scalar_region; i++)
         collect(d, op->regions[i]->block);
   }
   d->depth--;
}

static bool
is_memory_access(const TlOp *op)
{
   return tl_has_trait(op, TL_TRAIT_ACCESS) && is_tile(tl_arg(op, 0));
}

static bool
same_group(const Anchor *a, const Anchor *b)
{
   assert(is_memory_access(a->op) && is_memory_access(b->op));
   const TlType *s = tl_arg(a->op, 0)->type, *t = tl_arg(b->op, 0)->type;
   return tl_type_same_shape(s, t) &&
          memcmp(a->access.order, b->access.order, s->rank * sizeof a->access.order[0]) == 0;
}

/* Elements a thread holds side by side for all accesses of a group: as wide as the widest wants,
 * but what writes may have no more than 16 bytes (a gap between neighbouring lanes costs it). */
static unsigned
group_vec(const Driver *d, const Anchor *a)
{
   const TlType *t = tl_arg(a->op, 0)->type;
   uint64_t share = tl_type_num_elems(t) / (32ull * d->place.func->num_warps);
   unsigned vec = 1, most = 16;
   for (size_t i = 0; i < d->anchors.len; i++) {
      const Anchor *b = &d->anchors.data[i];
      if (!same_group(a, b))
         continue;
      vec = b->vec > vec ? b->vec : vec;
      if (b->writes_vectors && 16 / b->access.elem_bytes < most)
         most = 16 / b->access.elem_bytes;
   }
   vec = vec < most ? vec : most;
   while (vec > 1 && vec > share)
      vec /= 2;
   return vec;
}

static void
find_anchors(Driver *d)
{
   TlPlace *p = &d->place;
   for (size_t i = 0; i < d->ops.len; i++) {
      TlOp *op = d->ops.data[i];
      if (!is_memory_access(op))
         continue;
      Anchor a = {.op = op, .vec = 1};
      a.access = tl_access_of(p->facts, op);
      bool has_vectors = tl_access_has_vectors(p->cx->target, op);
      a.writes_vectors = has_vectors && op->opcode != TL_OP_LOAD;
      if (has_vectors)
         a.vec = tl_access_vec(&a.access);
      tl_vec_push(d->arena, &d->anchors, a);
   }
   for (size_t i = 0; i < d->anchors.len; i++) {
      Anchor *a = &d->anchors.data[i];
      const TlType *t = tl_arg(a->op, 0)->type;
      TlLinear l = tl_place_blocked(p, t, a->access.order, group_vec(d, a));
      tl_map_put(&p->anchors, a->op, (void *)(uintptr_t)tl_place_intern(p, l));
   }
}

/* ---- dots ---- */
static bool
is_transparent(const TlOp *op) /* rows stay rows */
{
   return tl_has_trait(op, TL_TRAIT_ELTWISE) || op->opcode == TL_OP_HINT;
}

/* Does A of this dot come from another dot, element by element? */
static bool
is_fed_by_dot(Driver *d, const TlOp *dot)
{
   assert(dot->opcode == TL_OP_DOT);
   TL_VEC(const TlValue *) todo = {0};
   TlMap seen;
   tl_map_init(&seen, d->arena);
   tl_vec_push(d->arena, &todo, tl_arg(dot, 0));
   for (size_t i = 0; i < todo.len && i < 256; i++) {
      const TlOp *def = todo.data[i]->def;
      if (def && def->opcode == TL_OP_DOT)
         return true;
      if (!def || !is_transparent(def) || tl_map_has(&seen, def))
         continue;
      tl_map_put(&seen, def, (void *)1);
      for (unsigned k = 0; k < def->num_args; k++)
         tl_vec_push(d->arena, &todo, tl_arg(def, k));
   }
   return false;
}

/* Does the result reach a row reduction, or the A operand of a dot, element by element? */
static bool
feeds_rows(Driver *d, const TlValue *from)
{
   TL_VEC(const TlValue *) todo = {0};
   TlMap seen;
   tl_map_init(&seen, d->arena);
   tl_vec_push(d->arena, &todo, from);
   for (size_t i = 0; i < todo.len && i < 256; i++)
      for (const TlUse *u = todo.data[i]->uses; u; u = u->next) {
         const TlOp *op = u->user;
         bool is_last_axis =
            op->opcode == TL_OP_REDUCE && tl_attr_int(op, TL_ATTR_AXIS) == from->type->rank - 1;
         if (is_last_axis || (op->opcode == TL_OP_DOT && tl_arg(op, 0) == todo.data[i]))
            return true;
         if (is_transparent(op) && !tl_map_has(&seen, op)) {
            tl_map_put(&seen, op, (void *)1);
            tl_vec_push(d->arena, &todo, tl_result(op, 0));
         }
      }
   return false;
}

/* Is v loaded beside its dot in a loop whose copies are to run ahead? */
static bool
is_staged(const TlValue *v, const TlOp *dot)
{
   const TlOp *loop = tl_parent(dot);
   return tl_value_is(v, TL_OP_LOAD) && v->def->block == dot->block && loop &&
          loop->opcode == TL_OP_FOR && tl_for_stages(loop) > 1;
}

/* The layout in which operand i, bytes of which something else than K lies together, is read from
 * the buffer of a copy that runs ahead, so that K is stored together. */
static bool
turned_layout(const Driver *d, const TlOp *dot, unsigned i, TlLinear *l)
{
   const TlValue *v = tl_arg(dot, i);
   return v->type->rank == 2 && is_staged(v, dot) &&
          tl_hw_turned_bytes(v->type->shape, 1 - i, d->place.func->num_warps, l);
}

static bool
must_stay_turned(Driver *d, const TlOp *dot, unsigned i)
{
   TlLinear l;
   return tl_dot_operand_order(d->place.facts, dot, i) == TL_ORDER_MN &&
          !turned_layout(d, dot, i, &l);
}

static bool
is_float8(TlDtype t)
{
   return tl_dtype_is_float(t) && tl_dtype_info[t].bits == 8;
}

/* Matrix instructions when the target has them for these types, else multiply-adds.  8-bit floats
 * without instructions of their own are exact in fp16. */
static TlDotForm
choose_form(Driver *d, const TlOp *dot, const TlTarget *target, TlDotUse use)
{
   assert(dot->opcode == TL_OP_DOT);
   const TlPlace *p = &d->place;
   const TlType *a = tl_arg(dot, 0)->type, *acc = tl_result(dot, 0)->type;
   TlDotInput in = {.a = a->dtype,
                    .b = tl_arg(dot, 1)->type->dtype,
                    .split = tl_dot_split(a->dtype, tl_attr_int(dot, TL_ATTR_PRECISION)),
                    .is_turned = must_stay_turned(d, dot, 0) || must_stay_turned(d, dot, 1)};
   if (is_float8(in.a)) {
      TlDotForm f = tl_choose_dot_form(target, a, acc, in, p->func->num_warps, use);
      if (f.is_mma)
         return f;
      in.a = in.b = TL_FP16;
   }
   return tl_choose_dot_form(target, a, acc, in, p->func->num_warps, use);
}

static bool
has_many_registers(const TlDotForm *f)
{
   unsigned bytes = tl_dtype_info[f->in.a].bytes;
   for (unsigned i = 0; i < 2 && !f->is_wgmma; i++) {
      unsigned regs = tl_ll_num_regs(&f->operand[i]);
      if (regs > MAX_FRAGMENT_REGS || regs * bytes > MAX_FRAGMENT_REGS * 4)
         return true;
   }
   return false;
}

static void
find_dots(Driver *d)
{
   TlPlace *p = &d->place;
   for (size_t i = 0; i < d->ops.len; i++) {
      TlOp *op = d->ops.data[i];
      if (op->opcode != TL_OP_DOT)
         continue;
      TlDotUse use = is_fed_by_dot(d, op) || feeds_rows(d, tl_result(op, 0)) ? TL_DOT_ROWS_IN_WARP
                                                                             : TL_DOT_FREE;
      TlDotForm *f = tl_new(d->arena, TlDotForm);
      *f = choose_form(d, op, p->cx->target, use);
      if (f->is_mma && has_many_registers(f))
         *f = choose_form(d, op, NULL, use);
      tl_map_put(&p->dots, op, f);
   }
}

/* ---- 2. decisions ---- */
/* The decided values that a free value is built from. */
typedef struct Leaves {
   const TlValue *value[MAX_LEAVES];
   unsigned num;
   uint64_t elems; /* of all of them */
} Leaves;

static void
add_leaf(Leaves *all, const TlValue *v)
{
   for (unsigned i = 0; i < all->num; i++)
      if (all->value[i] == v)
         return;
   if (all->num < MAX_LEAVES)
      all->value[all->num++] = v;
   all->elems += tl_type_num_elems(v->type); /* one beyond the table may count twice */
}

/* of: by value id; NULL for what is built from nothing decided. */
static Leaves *
leaves_of(const TlPlace *p, TlArena *arena, Leaves *const *of, const TlOp *op)
{
   Leaves all = {0};
   for (unsigned i = 0; i < op->num_args; i++) {
      const TlValue *v = tl_arg(op, i);
      if (!is_tile(v))
         continue;
      const Leaves *from = of[v->id];
      if (!tl_is_free(p, v))
         add_leaf(&all, v);
      for (unsigned k = 0; from && k < from->num; k++)
         add_leaf(&all, from->value[k]);
      if (from && from->num == MAX_LEAVES && all.elems < from->elems)
         all.elems = from->elems;
   }
   if (!all.num)
      return NULL;
   Leaves *kept = tl_new(arena, Leaves);
   *kept = all;
   return kept;
}

static bool
has_only_free_tiles(const TlPlace *p, const TlOp *op)
{
   for (unsigned i = 0; i < op->num_args; i++)
      if (is_tile(tl_arg(op, i)) && !tl_is_free(p, tl_arg(op, i)))
         return false;
   return true;
}

static bool
is_free_op(const TlPlace *p, const TlOp *op)
{
   if (op->num_results != 1 || !is_tile(tl_result(op, 0)))
      return false;
   switch (op->opcode) {
   case TL_OP_CONSTANT:
   case TL_OP_POISON:
   case TL_OP_SPLAT:
   case TL_OP_ARANGE:
   case TL_OP_BROADCAST: /* converting the small operand is always cheaper */
      return true;
   case TL_OP_EXPAND_DIMS:
   case TL_OP_TRANS:
   case TL_OP_RESHAPE:
   case TL_OP_HINT:
      return is_tile(tl_arg(op, 0)) && tl_is_free(p, tl_arg(op, 0));
   default:
      return tl_has_trait(op, TL_TRAIT_ELTWISE) && tl_has_trait(op, TL_TRAIT_PURE) &&
             !tl_is_costly(op) && !tl_place_is_long(op) && op->num_args &&
             has_only_free_tiles(p, op);
   }
}

static void
choose(Driver *d, const TlValue *v, TlDecision c)
{
   TlPlace *p = &d->place;
   if (!c.layout || !is_tile(v) || tl_is_free(p, v))
      return;
   TlDecision *old = &p->choice[v->id];
   if (old->layout == c.layout && old->rank == c.rank)
      return;
   *old = c;
   d->changed = true;
}

/* Joins the positions of a carried value or of an `if` result: the stronger layout for all. */
static void
join_choices(Driver *d, const TlJoin *join)
{
   assert(join->num_out > 0);
   TlPlace *p = &d->place;
   TlDecision best = {0};
   if (!is_tile(join->out[0]))
      return;
   for (unsigned i = 0; i < join->num_out;
        i++) { /* what it was stays unless something is stronger */
      TlDecision c = tl_choice_of(p, join->out[i]);
      best = c.rank > best.rank ? c : best;
   }
   for (unsigned i = 0; i < join->num_in; i++) {
      TlDecision c = tl_choice_of(p, join->in[i]);
      if (!tl_is_free(p, join->in[i]) && c.rank > best.rank)
         best = c;
   }
   if (!best.layout && p->use_defaults)
      best = (TlDecision){tl_place_default(p, join->out[0]->type), TL_LR_DEFAULT};
   for (unsigned i = 0; i < join->num_out; i++)
      choose(d, join->out[i], best);
}

static void
decide_forward(Driver *d, TlOp *op)
{
   TlPlace *p = &d->place;
   if (tl_is_branching(op)) {
      for (unsigned i = 0; i < op->num_results; i++) {
         TlJoin join = tl_join(op, i);
         join_choices(d, &join);
      }
      return;
   }
   if (op->num_results == 0 || (op->num_results == 1 && tl_is_free(p, tl_result(op, 0))))
      return;
   const TlLayoutRule *rule = tl_layout_rule(op);
   TlDecision home = rule->home(p, op);
   if (!home.layout)
      return;
   for (unsigned i = 0; i < op->num_results; i++)
      if (is_tile(tl_result(op, i))) {
         TlDecision c = {rule->result(p, op, i, home.layout), home.rank};
         TlDecision old = tl_choice_of(p, tl_result(op, i));
         if (c.rank >= old.rank)
            choose(d, tl_result(op, i), c);
      }
}

static void
sweep_forward(Driver *d)
{
   for (unsigned n = 0; n < MAX_SWEEPS; n++) {
      d->changed = false;
      for (size_t i = 0; i < d->ops.len; i++)
         decide_forward(d, d->ops.data[i]);
      for (size_t i = d->ops.len; i-- > 0;) /* loops see their yields */
         if (tl_is_branching(d->ops.data[i]))
            decide_forward(d, d->ops.data[i]);
      if (!d->changed)
         return;
   }
}

/* Open operands take what the operation asks for. */
static void
want_operands(Driver *d, TlOp *op)
{
   TlPlace *p = &d->place;
   const TlLayoutRule *rule = tl_layout_rule(op);
   if (tl_is_branching(op) || (op->num_results == 1 && tl_is_free(p, tl_result(op, 0))))
      return;
   TlDecision home = rule->home(p, op);
   if (!home.layout && rule->home_for && op->num_results && is_tile(tl_result(op, 0))) {
      TlDecision r = tl_choice_of(p, tl_result(op, 0));
      if (r.layout)
         home = (TlDecision){rule->home_for(p, op, r.layout), r.rank};
   }
   if (!home.layout)
      return;
   for (unsigned i = 0; i < op->num_args; i++) {
      const TlValue *v = tl_arg(op, i);
      if (is_tile(v) && !tl_is_free(p, v) && !tl_choice_of(p, v).layout &&
          tl_type_same_shape(v->type, tl_arg(op, 0)->type))
         choose(d, v, (TlDecision){rule->operand(p, op, i, home.layout), home.rank});
   }
}

/* Building a value again brings what it is built from to the other layout.  Where that is as much
 * as the value itself, as in a step of a sorting network written with sums over pairs, one
 * conversion of the value costs no more, and the chain that would be computed twice ends there. */
static void
find_free_values(Driver *d)
{
   TlPlace *p = &d->place;
   Leaves **of = tl_new_array(d->arena, Leaves *, p->num_values);
   for (size_t i = 0; i < d->ops.len; i++) {
      const TlOp *op = d->ops.data[i];
      if (!is_free_op(p, op))
         continue;
      const TlValue *v = tl_result(op, 0);
      Leaves *leaves = leaves_of(p, d->arena, of, op);
      if (leaves && op->opcode != TL_OP_BROADCAST && leaves->elems >= tl_type_num_elems(v->type))
         continue;
      p->is_free[v->id] = true;
      of[v->id] = leaves;
   }
}

/* Whether rows have something in common: values that a row is combined with and that are not cheap
 * to have again, as loaded weights are, and what is reduced over the rows.  It counts where lanes
 * exchange sums of rows in each iteration of a loop. */
static void
find_shared_dims(Driver *d)
{
   TlPlace *p = &d->place;
   uint32_t of_columns = 0, exchanged = 0;
   for (size_t i = 0; i < d->ops.len; i++) {
      const TlOp *op = d->ops.data[i];
      if (op->opcode == TL_OP_REDUCE) {
         uint32_t axis = 1u << tl_attr_int(op, TL_ATTR_AXIS);
         of_columns |= tl_arg(op, 0)->type->rank > 1 ? ~axis : 0;
         exchanged |= tl_is_of_loop(tl_parent(op)) ? axis : 0;
      }
      const TlValue *from = op->opcode == TL_OP_BROADCAST ? tl_arg(op, 0) : NULL;
      for (unsigned k = 0; from && !tl_is_free(p, from) && k < from->type->rank; k++)
         if (from->type->shape[k] > 1)
            of_columns |= 1u << k;
   }
   p->shared_dims = of_columns | ~exchanged;
}

static void
decide(Driver *d)
{
   TlPlace *p = &d->place;
   for (unsigned n = 0; n < MAX_SWEEPS; n++) {
      sweep_forward(d);
      d->changed = false;
      for (size_t i = d->ops.len; i-- > 0;)
         want_operands(d, d->ops.data[i]);
      if (!d->changed)
         break;
   }
   p->use_defaults = true;
   sweep_forward(d);
}

/* ---- 4. rewriting ---- */
static void
set_layout(Driver *d, TlValue *v, const TlLinear *layout)
{
   assert(is_tile(v) && layout);
   v->type = tl_type_with_layout(d->place.types, v->type, layout);
}

static TlValue *
find_variant(Driver *d, const TlValue *v, const TlLinear *layout)
{
   for (Variant *x = tl_map_get(&d->variants, v); x; x = x->next)
      if (x->layout == layout)
         return x->value;
   return NULL;
}

static void
add_variant(Driver *d, const TlValue *v, const TlLinear *layout, TlValue *value)
{
   assert(!find_variant(d, v, layout) || !layout);
   Variant *x = tl_new(d->arena, Variant);
   *x = (Variant){tl_map_get(&d->variants, v), layout, value};
   tl_map_put(&d->variants, v, x);
}

/* After v's definition. */
static TlBuilder
builder_after(Driver *d, TlValue *v)
{
   TlBlock *block = tl_value_block(v);
   TlBuilder b = tl_builder_at_end(d->place.func, block);
   b.before = v->def ? v->def->next : block->first;
   b.range = v->def ? v->def->range : d->place.func->range;
   return b;
}

static TlValue *
materialise_free(Driver *d, TlValue *v, const TlLinear *layout)
{
   assert(v->def && is_tile(v) && layout);
   TlOp *op = v->def;
   if (v->type->layout) { /* its own operation serves another layout */
      TlBuilder b = tl_builder_before(op);
      TlMap map;
      tl_map_init(&map, d->arena);
      op = tl_clone_op(&b, op, &map);
   }
   set_layout(d, tl_result(op, 0), layout);
   tl_vec_push(d->arena, &d->to_fix, op);
   return tl_result(op, 0);
}

/* v in the given layout. */
static TlValue *
bring(Driver *d, TlValue *v, const TlLinear *layout)
{
   TlPlace *p = &d->place;
   assert(layout);
   TlValue *original = tl_map_get(&d->origin, v);
   v = original ? original : v;
   if (!tl_is_free(p, v) && v->type->layout == layout)
      return v;
   TlValue *found = find_variant(d, v, layout);
   if (found)
      return found;
   if (tl_is_free(p, v)) {
      found = materialise_free(d, v, layout);
   } else {
      TlBuilder b = builder_after(d, v);
      found = tl_t1(&b, TL_OP_CONVERT_LAYOUT, tl_type_with_layout(p->types, v->type, layout), v);
   }
   add_variant(d, v, layout, found);
   if (found != v)
      tl_map_put(&d->origin, found, v);
   return found;
}

/* Does v reach the fragment of operand i without leaving its thread?  Results of 16 bits are the
 * fragments of the next wgmma as they are; others change lanes within four, which is still cheaper
 * than a store and a barrier, but not than a copy that runs ahead. */
static bool
is_register_move(const TlValue *v, const TlDotForm *f, unsigned i, TlArena *arena)
{
   assert(is_tile(v));
   TlConvertPlan *plan = tl_new(arena, TlConvertPlan);
   unsigned bytes = tl_dtype_info[v->type->dtype].bytes;
   bool may_shuffle = f->is_wgmma && tl_dot_elem_bits(&f->in) != 16 && !tl_value_is(v, TL_OP_LOAD);
   TlConvertKind most = may_shuffle ? TL_CONVERT_SHUFFLES : TL_CONVERT_REGISTERS;
   return v->type->layout &&
          tl_convert_plan(v->type->layout, &f->operand[i], bytes, 1 << 23, plan) &&
          plan->kind <= most;
}

/* v in a shared buffer, for `user`: stored as late as possible, so that loads before it overlap. */
static TlValue *
shared_copy(Driver *d, TlValue *v, const TlLinear *memory, TlOp *user)
{
   assert(is_tile(v) && memory);
   TlValue *found = find_variant(d, v, NULL);
   if (found && found->type->layout == memory)
      return found;
   TlBuilder b = user->block == tl_value_block(v) ? tl_builder_before(user) : builder_after(d, v);
   const TlType *t =
      tl_type_memdesc(d->place.types, v->type->dtype, v->type->rank, v->type->shape, memory, 1);
   TlValue *buffer = tl_t1(&b, TL_OP_LOCAL_ALLOC, t, v);
   add_variant(d, v, NULL, buffer);
   return buffer;
}

/* An operand of a dot in the dtype that the form is given, in the layout it has. */
static TlValue *
prepared_operand(Driver *d, TlValue *v, TlDtype want)
{
   TlPlace *p = &d->place;
   if (v->type->dtype == want)
      return v;
   if (tl_is_free(p, v))
      v = bring(d, v, tl_place_default(p, v->type));
   TlBuilder b = builder_after(d, v);
   return tl_t1(&b, TL_OP_CAST,
                tl_type_with_elem(p->types, v->type, tl_type_scalar(p->types, want)), v);
}

/* Operand i as its buffer is stored from. */
static TlValue *
turned_operand(Driver *d, const TlDotForm *f, unsigned i, TlValue *v, const TlOp *dot)
{
   TlLinear l;
   bool is_bytes = f->is_wgmma && tl_dot_elem_bits(&f->in) == 8 && v == tl_arg(dot, i);
   if (!is_bytes || tl_dim_together(v->type) == 1 - i || !turned_layout(d, dot, i, &l))
      return v;
   return bring(d, v, tl_place_intern(&d->place, l));
}

/* Operand i where the form takes it from: a fragment that costs no exchange, or a shared buffer. */
static TlValue *
placed_operand(Driver *d, const TlDotForm *f, unsigned i, TlValue *v, TlOp *op)
{
   assert(i < 2);
   TlPlace *p = &d->place;
   const TlLinear *want = tl_dot_has_fragment(f, i) ? tl_place_intern(p, f->operand[i]) : NULL;
   if (want && (tl_is_free(p, v) || is_register_move(v, f, i, d->arena)))
      return bring(d, v, want);
   if (tl_is_free(p, v))
      v = bring(d, v, tl_place_default(p, v->type));
   v = turned_operand(d, f, i, v, op);
   TlLinear memory = (f->is_mma ? tl_mma_operand_memory : tl_fma_operand_memory)(f, i, v->type);
   return shared_copy(d, v, tl_place_intern(p, memory), op);
}

static void
set_dot_operand(Driver *d, const TlDotForm *f, TlOp *op, unsigned i, TlValue *v)
{
   assert(op->opcode == TL_OP_DOT && i < 2);
   TlPlace *p = &d->place;
   bool is_shared = f->is_mma && v->type->kind == TL_TYPE_MEMDESC;
   if (is_shared && !(f->is_wgmma && i == 1) && !tl_dot_reads_memory(f, i, v->type->layout)) {
      TlBuilder b = tl_builder_before(op);
      const TlType *t = tl_type_tile(p->types, tl_type_scalar(p->types, v->type->dtype),
                                     v->type->rank, v->type->shape, &f->operand[i]);
      v = tl_t1(&b, TL_OP_LOCAL_LOAD, t, v);
   }
   tl_set_arg(op, i, v);
}

static void
rewrite_dot(Driver *d, TlOp *op)
{
   TlPlace *p = &d->place;
   const TlDotForm *f = tl_map_get(&p->dots, op);
   assert(f && "find_dots has looked at every dot");
   TlValue *operand[2];
   for (unsigned i = 0; i < 2; i++) {
      operand[i] = prepared_operand(d, tl_arg(op, i), i == 0 ? f->in.a : f->in.b);
      operand[i] = placed_operand(d, f, i, operand[i], op);
   }
   tl_set_arg(op, 2, bring(d, tl_arg(op, 2), tl_place_intern(p, f->acc)));
   for (unsigned i = 0; i < 2; i++) /* all stores, then the loads: one barrier between */
      set_dot_operand(d, f, op, i, operand[i]);
}

/* The layout asked of an operand; one of another shape than the home's keeps its own. */
static const TlLinear *
operand_layout(TlPlace *p, const TlOp *op, unsigned i, const TlLinear *home)
{
   const TlLayoutRule *rule = tl_layout_rule(op);
   const TlValue *v = tl_arg(op, i);
   const TlLinear *l = home ? rule->operand(p, op, i, home) : NULL;
   uint32_t shape[TL_MAX_RANK];
   if (l && l->rank == v->type->rank) {
      tl_ll_shape(l, shape);
      if (memcmp(shape, v->type->shape, v->type->rank * sizeof shape[0]) == 0)
         return l;
   }
   TlDecision c = tl_choice_of(p, v);
   return c.layout && !tl_is_free(p, v) ? c.layout : tl_place_default(p, v->type);
}

static void
rewrite_operands(Driver *d, TlOp *op, const TlLinear *home)
{
   for (unsigned i = 0; i < op->num_args; i++)
      if (is_tile(tl_arg(op, i)))
         tl_set_arg(op, i, bring(d, tl_arg(op, i), operand_layout(&d->place, op, i, home)));
}

static void
rewrite_position(Driver *d, TlOp *op, unsigned i, const TlLinear *layout)
{
   assert(tl_is_branching(op) && i < op->num_results);
   if (tl_is_loop(op))
      tl_set_init(op, i, bring(d, tl_init(op, i), layout));
   for (unsigned r = 0; r < op->num_regions; r++) {
      TlBlock *block = op->regions[r]->block;
      tl_set_yielded(block, i, bring(d, tl_yielded(block, i), layout));
   }
}

static void
rewrite(Driver *d, TlOp *op)
{
   TlPlace *p = &d->place;
   if (op->opcode == TL_OP_DOT) {
      rewrite_dot(d, op);
      return;
   }
   if (tl_is_branching(op)) {
      for (unsigned i = 0; i < op->num_results; i++)
         if (is_tile(tl_result(op, i)))
            rewrite_position(d, op, i, tl_result(op, i)->type->layout);
      return;
   }
   if (op->opcode == TL_OP_YIELD || op->opcode == TL_OP_CONDITION)
      return; /* its parent does it */
   if (op->num_results == 1 && tl_is_free(p, tl_result(op, 0)))
      return; /* on demand */
   rewrite_operands(d, op, tl_map_get(&p->homes, op));
}

/* Every decided value gets its layout. */
static void
set_decided_layouts(Driver *d)
{
   TlPlace *p = &d->place;
   for (size_t i = 0; i < d->ops.len; i++) {
      TlOp *op = d->ops.data[i];
      for (unsigned k = 0; k < op->num_results; k++)
         if (is_tile(tl_result(op, k)) && !tl_is_free(p, tl_result(op, k)))
            set_layout(d, tl_result(op, k), p->choice[tl_result(op, k)->id].layout);
      for (unsigned r = 0; r < op->num_regions && tl_is_branching(op); r++) {
         TlBlock *block = op->regions[r]->block;
         for (unsigned k = 0; k < block->num_args; k++)
            if (is_tile(block->args[k]))
               set_layout(d, block->args[k], p->choice[block->args[k]->id].layout);
      }
   }
}

/* Free operations that nobody asked for. */
static void
remove_unused_free(Driver *d)
{
   for (size_t i = d->ops.len; i-- > 0;) {
      TlOp *op = d->ops.data[i];
      if (op->num_results == 1 && tl_is_free(&d->place, tl_result(op, 0)) &&
          !tl_result(op, 0)->type->layout && tl_is_unused(op))
         tl_remove(op);
   }
}

static bool
check_registers(Driver *d, const TlBlock *block)
{
   TlPassCx *cx = d->place.cx;
   for (const TlOp *op = block->first; op; op = tl_walk_next(op, block)) {
      for (unsigned i = 0; i < op->num_results; i++) {
         const TlType *t = tl_result(op, i)->type;
         if (t->kind != TL_TYPE_TILE || tl_ll_num_regs(t->layout) <= TL_MAX_REGS_PER_THREAD)
            continue;
         tl_report(cx->diags, E0403, op->range, tl_type_cstr(d->arena, t),
                   tl_ll_num_regs(t->layout), d->place.func->num_warps * 32,
                   (unsigned)TL_MAX_REGS_PER_THREAD);
         tl_help(cx->diags, "use smaller tiles or more warps; %u threads have room for %u elements",
                 d->place.func->num_warps * 32,
                 d->place.func->num_warps * 32 * TL_MAX_REGS_PER_THREAD);
         cx->failed = true;
         return false;
      }
   }
   return true;
}

static void
rewrite_all(Driver *d)
{
   TlPlace *p = &d->place;
   set_decided_layouts(d);
   for (size_t i = 0; i < d->ops.len; i++)
      rewrite(d, d->ops.data[i]);
   for (size_t i = 0; i < d->to_fix.len; i++) { /* grows while it runs */
      TlOp *op = d->to_fix.data[i];
      const TlLayoutRule *rule = tl_layout_rule(op);
      const TlLinear *home = rule->home_for(p, op, tl_result(op, 0)->type->layout);
      for (unsigned k = 0; k < op->num_args; k++)
         if (is_tile(tl_arg(op, k)))
            tl_set_arg(op, k, bring(d, tl_arg(op, k), rule->operand(p, op, k, home)));
   }
   remove_unused_free(d);
}

bool
tl_pass_place_layouts(TlPassCx *cx, TlFunc *f)
{
   assert(f->state == TL_STATE_TYPED);
   uint32_t w = f->num_warps;
   if (w < 1 || w > 32 || (w & (w - 1))) {
      tl_report(cx->diags, E0404, f->range, w);
      cx->failed = true;
      return false;
   }
   Driver d = {.place = {.cx = cx, .func = f, .types = f->module->types}, .arena = cx->scratch};
   TlPlace *p = &d.place;
   collect(&d, f->body->block);
   if (cx->failed)
      return false;
   p->facts = tl_analysis_new(cx->scratch, f);
   p->num_values = f->next_value_id;
   p->choice = tl_new_array(cx->scratch, TlDecision, p->num_values);
   p->is_free = tl_new_array(cx->scratch, bool, p->num_values);
   tl_map_init(&p->anchors, cx->scratch);
   tl_map_init(&p->dots, cx->scratch);
   tl_map_init(&p->homes, cx->scratch);
   tl_map_init(&d.variants, cx->scratch);
   tl_map_init(&d.origin, cx->scratch);
   find_free_values(&d);
   find_shared_dims(&d);
   find_anchors(&d);
   find_dots(&d);
   decide(&d);
   tl_place_assign(p, d.ops.data, d.ops.len);
   rewrite_all(&d);
   if (cx->target)
      f->target = cx->target->arch;
   if (!check_registers(&d, f->body->block))
      return false;
   tl_remark_layouts(cx, f);
   return true;
}
