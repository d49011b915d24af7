/* How layouts of operands, results and homes hang together: one rule for each name in the layout
 * column of ops.def.  Pure functions of the decisions so far; layouts.c drives them. */
#include "passes/place/impl.h"
#include "passes/coalesce.h"
#include "passes/place/place.h"

#include <assert.h>

const TlLinear *
tl_place_intern(TlPlace *p, TlLinear l)
{
   return tl_layout_intern(p->types, &l);
}

bool
tl_place_rows_are_shared(const TlPlace *p, const TlType *tile, unsigned dim)
{
   return (p->shared_dims >> dim & 1) && tl_rows_are_shared(tile, dim, p->func->num_warps);
}

TlLinear
tl_place_blocked(const TlPlace *p, const TlType *tile, const unsigned *order, unsigned vec)
{
   assert(tile->kind == TL_TYPE_TILE);
   bool may_share = p->shared_dims >> order[0] & 1;
   return (may_share ? tl_shared_blocked_layout : tl_blocked_layout)(tile->rank, tile->shape, order,
                                                                     vec, p->func->num_warps);
}

const TlLinear *
tl_place_default(TlPlace *p, const TlType *t)
{
   assert(t->kind == TL_TYPE_TILE);
   return tl_place_intern(p, tl_default_layout(t->rank, t->shape, p->func->num_warps));
}

bool
tl_is_costly(const TlOp *op)
{
   return tl_has_trait(op, TL_TRAIT_COSTLY) &&
          tl_dtype_is_float(tl_type_elem(tl_result(op, 0)->type)->dtype);
}

/* ---- homes ---- */
static TlDecision
no_home(TlPlace *p, const TlOp *op)
{
   (void)p;
   (void)op;
   return (TlDecision){0};
}

/* The strongest decision among the tile operands [first, last). */
static TlDecision
strongest(TlPlace *p, const TlOp *op, unsigned first, unsigned last)
{
   assert(first <= last);
   TlDecision best = {0};
   const TlType *tile = NULL;
   for (unsigned i = first; i < last && i < op->num_args; i++) {
      const TlValue *v = tl_arg(op, i);
      if (v->type->kind != TL_TYPE_TILE)
         continue;
      tile = tile ? tile : v->type;
      TlDecision c = tl_choice_of(p, v);
      if (!tl_is_free(p, v) && c.rank > best.rank)
         best = c;
   }
   if (!best.layout && p->use_defaults && tile)
      best = (TlDecision){tl_place_default(p, tile), TL_LR_DEFAULT};
   return best;
}

static TlDecision
home_operands(TlPlace *p, const TlOp *op)
{
   TlDecision c = strongest(p, op, 0, op->num_args);
   if (c.layout || !p->use_defaults)
      return c;
   for (unsigned i = 0; i < op->num_results; i++) /* tiles from scalars */
      if (tl_result(op, i)->type->kind == TL_TYPE_TILE)
         return (TlDecision){tl_place_default(p, tl_result(op, i)->type), TL_LR_DEFAULT};
   return c;
}

static TlDecision
home_result(TlPlace *p, const TlOp *op)
{
   const TlType *t = tl_result(op, 0)->type;
   if (t->kind != TL_TYPE_TILE)
      return (TlDecision){0};
   return (TlDecision){tl_place_default(p, t), TL_LR_DEFAULT};
}

static TlDecision
home_anchor(TlPlace *p, const TlOp *op)
{
   const TlLinear *l = tl_map_get(&p->anchors, op);
   return (TlDecision){l, l ? TL_LR_BLOCKED : TL_LR_NONE};
}

static TlDecision
home_dot(TlPlace *p, const TlOp *op)
{
   const TlDotForm *f = tl_map_get(&p->dots, op);
   assert(f && "find_dots has looked at every dot");
   return (TlDecision){tl_place_intern(p, f->acc), f->is_mma ? TL_LR_MMA : TL_LR_BLOCKED};
}

static TlDecision
home_index(TlPlace *p, const TlOp *op) /* gather: index and result */
{
   return strongest(p, op, 1, 2);
}

/* split: both halves in registers of one thread. */
static TlDecision
home_split(TlPlace *p, const TlOp *op)
{
   TlLinear half;
   unsigned bit;
   const TlType *t = tl_arg(op, 0)->type;
   TlDecision c = strongest(p, op, 0, 1);
   if (!c.layout)
      return c;
   TlLinear l = tl_ll_fold_repeats(c.layout);
   if (t->rank > 1 ? tl_ll_split(&l, &half, &bit)
                   : l.num[TL_HW_REG] && tl_ll_col(&l, TL_HW_REG, 0) == 1)
      return c;
   if (t->rank > 1) {
      TlLinear d = tl_default_layout(t->rank - 1u, t->shape, p->func->num_warps);
      return (TlDecision){tl_place_intern(p, tl_ll_join(&d)), TL_LR_DEFAULT};
   }
   TlLinear pair = tl_default_layout(1, t->shape, p->func->num_warps);
   for (unsigned i = 0; i < tl_ll_in_bits(&pair); i++)
      pair.col[i] = 0;
   pair.num[TL_HW_REG] = 0;
   TlLinear out = tl_ll_empty(1, t->shape);
   tl_ll_push(&out, TL_HW_REG, 1);
   for (unsigned h = TL_HW_LANE; h <= TL_HW_WARP; h++)
      for (unsigned i = 0; i < pair.num[h]; i++)
         tl_ll_push(&out, (TlHw)h, 0);
   return (TlDecision){tl_place_intern(p, out), TL_LR_DEFAULT};
}

/* ---- from the home ---- */
static const TlLinear *
at_home(TlPlace *p, const TlOp *op, unsigned i, const TlLinear *home)
{
   (void)p;
   (void)op;
   (void)i;
   return home;
}

static const TlLinear *
nothing(TlPlace *p, const TlOp *op, unsigned i, const TlLinear *home)
{
   (void)p;
   (void)op;
   (void)i;
   (void)home;
   return NULL;
}

static const TlLinear *
same_home(TlPlace *p, const TlOp *op, const TlLinear *result)
{
   (void)p;
   (void)op;
   return result;
}

/* Whatever the operand has; a default for free ones. */
static const TlLinear *
as_it_is(TlPlace *p, const TlOp *op, unsigned i)
{
   assert(i < op->num_args && tl_arg(op, i)->type->kind == TL_TYPE_TILE);
   TlDecision c = tl_choice_of(p, tl_arg(op, i));
   if (c.layout && !tl_is_free(p, tl_arg(op, i)))
      return c.layout;
   return tl_place_default(p, tl_arg(op, i)->type);
}

static const TlLinear *
expanded(TlPlace *p, const TlOp *op, unsigned i, const TlLinear *home)
{
   assert(op->opcode == TL_OP_EXPAND_DIMS);
   (void)i;
   return tl_place_intern(p, tl_ll_expand(home, (unsigned)tl_attr_int(op, TL_ATTR_AXIS)));
}

static const TlLinear *
home_of_expanded(TlPlace *p, const TlOp *op, const TlLinear *result)
{
   assert(op->opcode == TL_OP_EXPAND_DIMS);
   return tl_place_intern(p, tl_ll_slice(result, (unsigned)tl_attr_int(op, TL_ATTR_AXIS)));
}

static const TlLinear *
sliced(TlPlace *p, const TlOp *op, unsigned i, const TlLinear *home)
{
   (void)i;
   return tl_place_intern(p, tl_ll_slice(home, (unsigned)tl_attr_int(op, TL_ATTR_AXIS)));
}

static const TlLinear *
reshaped(TlPlace *p, const TlOp *op, unsigned i, const TlLinear *home)
{
   assert(i < op->num_results);
   const TlType *t = tl_result(op, i)->type;
   return tl_place_intern(p, tl_ll_reshape(home, t->rank, t->shape));
}

static const TlLinear *
home_of_reshaped(TlPlace *p, const TlOp *op, const TlLinear *result)
{
   const TlType *t = tl_arg(op, 0)->type;
   if (t->kind != TL_TYPE_TILE)
      return result;
   return tl_place_intern(p, tl_ll_reshape(result, t->rank, t->shape));
}

static const TlLinear *
transposed(TlPlace *p, const TlOp *op, unsigned i, const TlLinear *home)
{
   unsigned order[TL_MAX_RANK];
   TlInts ints = tl_attr_ints(op, TL_ATTR_ORDER);
   assert(ints.len <= TL_MAX_RANK);
   (void)i;
   for (unsigned d = 0; d < ints.len; d++)
      order[d] = (unsigned)ints.data[d];
   return tl_place_intern(p, tl_ll_transpose(home, order));
}

static const TlLinear *
home_of_transposed(TlPlace *p, const TlOp *op, const TlLinear *result)
{
   unsigned inverse[TL_MAX_RANK];
   TlInts ints = tl_attr_ints(op, TL_ATTR_ORDER);
   assert(ints.len <= TL_MAX_RANK);
   for (unsigned d = 0; d < ints.len; d++)
      inverse[ints.data[d]] = d;
   return tl_place_intern(p, tl_ll_transpose(result, inverse));
}

static const TlLinear *
home_of_broadcast(TlPlace *p, const TlOp *op, const TlLinear *result)
{
   assert(tl_arg(op, 0)->type->rank == tl_result(op, 0)->type->rank);
   const TlType *from = tl_arg(op, 0)->type, *to = tl_result(op, 0)->type;
   TlLinear l = *result;
   for (unsigned d = 0; d < to->rank; d++)
      if (from->shape[d] != to->shape[d])
         l = tl_ll_unbroadcast(&l, d);
   return tl_place_intern(p, l);
}

static const TlLinear *
joined(TlPlace *p, const TlOp *op, unsigned i, const TlLinear *home)
{
   assert(op->num_args == 2);
   (void)i;
   if (tl_arg(op, 0)->type->kind != TL_TYPE_TILE)
      return tl_place_default(p, tl_result(op, 0)->type);
   return tl_place_intern(p, tl_ll_join(home));
}

static const TlLinear *
split(TlPlace *p, const TlOp *op, unsigned i, const TlLinear *home)
{
   assert(i < op->num_results);
   TlLinear half, l = tl_ll_fold_repeats(home);
   unsigned bit;
   if (tl_result(op, i)->type->kind != TL_TYPE_TILE || !tl_ll_split(&l, &half, &bit))
      return NULL;
   return tl_place_intern(p, half);
}

/* cat: the second tile's registers follow the first's. */
static const TlLinear *
concatenated(TlPlace *p, const TlOp *op, unsigned i, const TlLinear *home)
{
   const TlType *t = tl_result(op, i)->type;
   TlLinear l = tl_ll_empty(1, t->shape);
   for (unsigned h = 0; h < TL_HW_COUNT; h++)
      for (unsigned k = 0; k < home->num[h]; k++)
         tl_ll_push(&l, (TlHw)h, tl_ll_col(home, (TlHw)h, k));
   tl_ll_push(&l, TL_HW_REG, t->shape[0] / 2);
   return tl_place_intern(p, l);
}

static const TlLinear *
dot_operand(TlPlace *p, const TlOp *op, unsigned i, const TlLinear *home)
{
   return i == 2 ? home : as_it_is(p, op, i);
}

static const TlLinear *
gather_operand(TlPlace *p, const TlOp *op, unsigned i, const TlLinear *home)
{
   return i == 1 ? home : as_it_is(p, op, i);
}

/* histogram: the mask lies as the values do. */
static const TlLinear *
as_first(TlPlace *p, const TlOp *op, unsigned i, const TlLinear *home)
{
   (void)i;
   (void)home;
   return as_it_is(p, op, 0);
}

/* ---- the rules ---- */
const TlLayoutRule tl_layout_none = {no_home, nothing, nothing, NULL};
const TlLayoutRule tl_layout_same = {home_operands, at_home, at_home, same_home};
const TlLayoutRule tl_layout_map = {home_operands, at_home, at_home, NULL};
const TlLayoutRule tl_layout_any = {home_operands, at_home, at_home, same_home};
const TlLayoutRule tl_layout_splat = {home_result, at_home, at_home, same_home};
const TlLayoutRule tl_layout_broadcast = {no_home, at_home, nothing, home_of_broadcast};
const TlLayoutRule tl_layout_expand_dims = {home_operands, at_home, expanded, home_of_expanded};
const TlLayoutRule tl_layout_reshape = {home_operands, at_home, reshaped, home_of_reshaped};
const TlLayoutRule tl_layout_trans = {home_operands, at_home, transposed, home_of_transposed};
const TlLayoutRule tl_layout_join = {home_operands, at_home, joined, NULL};
const TlLayoutRule tl_layout_split = {home_split, at_home, split, NULL};
const TlLayoutRule tl_layout_cat = {home_operands, at_home, concatenated, NULL};
const TlLayoutRule tl_layout_gather = {home_index, gather_operand, at_home, NULL};
const TlLayoutRule tl_layout_load = {home_anchor, at_home, at_home, NULL};
const TlLayoutRule tl_layout_store = {home_anchor, at_home, at_home, NULL};
const TlLayoutRule tl_layout_atomic = {home_anchor, at_home, at_home, NULL};
const TlLayoutRule tl_layout_dot = {home_dot, dot_operand, at_home, NULL};
const TlLayoutRule tl_layout_reduce = {home_operands, at_home, sliced, NULL};
const TlLayoutRule tl_layout_scan = {home_operands, at_home, at_home, NULL};
const TlLayoutRule tl_layout_histogram = {home_result, as_first, at_home, NULL};
/* Control operations join positions of several blocks: layouts.c does them. */
const TlLayoutRule tl_layout_for = {no_home, nothing, nothing, NULL};
const TlLayoutRule tl_layout_while = {no_home, nothing, nothing, NULL};
const TlLayoutRule tl_layout_if = {no_home, nothing, nothing, NULL};
/* Made by this pass, with their layouts. */

static const TlLayoutRule *const rules[TL_OP_COUNT] = {
#define TL_OP(id, name, args, n, infer, layout, ...) [TL_OP_##id] = &tl_layout_##layout,
#include "ir/ops.def"
};

const TlLayoutRule *
tl_layout_rule(const TlOp *op)
{
   assert(op->opcode < TL_OP_COUNT);
   return rules[op->opcode];
}

const TlLinear *
tl_place_renamed_source(TlPassCx *cx, TlFunc *f, const TlOp *op, const TlLinear *result)
{
   TlPlace place = {.cx = cx, .func = f, .types = f->module->types};
   const TlLayoutRule *rule = tl_layout_rule(op);
   assert(rule->home_for && "only operations that rename elements have a source");
   const TlLinear *home = rule->home_for(&place, op, result);
   return rule->result(&place, op, 0, home) == result ? home : NULL;
}
