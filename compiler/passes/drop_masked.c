/* Accesses that no thread makes, and choices that no thread has: a tile of 4,096 elements masked
 * with `i < 1000` has registers that lie beyond 1,000 in every thread.
 *
 *    %m = lt %i, 1000 : regs<i1, 4>        // i in [0, 1023], [1024, 2047], ..
 *    %v = ld_global %p, %m, 0.0            // becomes a load of register 0 and three constants
 *
 * Ranges are found for each register, from lanes, warps, program ids and constants up; of signed
 * arithmetic, which does not overflow (ir/analysis.h).  Loads, stores and sums without a use lose
 * the accesses whose mask is never true; a mask that is true wherever it is left is dropped.
 * Copies to shared memory of such a mask take the address of others.
 * `select`, and `and` of masks, lose the registers where one operand is always the outcome.
 * Arithmetic on what is left over is trim_registers' and dce's.
 * Refused: values with a register that nothing bounds; atomics whose result is used.
 * Each operation is visited once, so it ends. */
#include "ir/control.h"
#include "ir/interval.h"
#include "ir/walk.h"
#include "passes/pass.h"

#include <assert.h>

enum { MAX_DEPTH = 48, LANES = 32, MOST_PROGRAMS = 65535 };

typedef struct Range {
   int64_t lo, hi;
} Range;

typedef enum Truth { NOT_ASKED, UNKNOWN, NEVER, ALWAYS } Truth;

typedef struct Drop {
   TlPassCx *cx;
   const TlFunc *func;
   TlTypes *types;
   Range **range;       /* by value id: of each register, where it was asked for */
   uint8_t **has_range; /* its entries that are filled */
   uint8_t **truth;     /* by value id: Truth of each register */
   uint32_t num_values;
   unsigned depth;
} Drop;

static const Range everything = {INT64_MIN, INT64_MAX};

static int64_t
saturate(TlWide v)
{
   return v < INT64_MIN ? INT64_MIN : v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

/* What the type can hold. */
static Range
range_of_type(const TlType *t)
{
   const TlType *elem = tl_type_elem(t);
   if (elem->kind != TL_TYPE_SCALAR || !tl_dtype_is_int(elem->dtype))
      return everything;
   unsigned bits = tl_dtype_info[elem->dtype].bits;
   if (bits == 64)
      return everything;
   bool is_signed = tl_dtype_is_signed(elem->dtype);
   return (Range){is_signed ? -(INT64_C(1) << (bits - 1)) : 0,
                  (INT64_C(1) << (bits - is_signed)) - 1};
}

/* A conversion to a type that does not hold them all wraps. */
static Range
if_within(Range r, Range all)
{
   return r.lo >= all.lo && r.hi <= all.hi ? r : everything;
}

static Range range_of(Drop *d, const TlValue *v, uint32_t r);

static Range
operand(Drop *d, const TlOp *op, unsigned i, uint32_t r)
{
   const TlValue *v = tl_arg(op, i);
   return range_of(d, v, tl_type_num_regs(v->type) == 1 ? 0 : r);
}

static Range
arithmetic(TlOpcode op, Range a, Range b)
{
   TlInterval r;
   if (!tl_interval_of(op, (TlInterval){a.lo, a.hi}, (TlInterval){b.lo, b.hi}, &r))
      return everything;
   return (Range){saturate(r.lo), saturate(r.hi)};
}

static Range
range_of_op(Drop *d, const TlOp *op, uint32_t r)
{
   TlDtype t = tl_type_elem(tl_result(op, 0)->type)->dtype;
   bool x_axis = tl_has_attr(op, TL_ATTR_AXIS) && tl_attr_int(op, TL_ATTR_AXIS) == 0;
   int64_t value;
   TlInts index;
   switch (op->opcode) {
   case TL_OP_CONSTANT:
      value = tl_bits_to_int(t, tl_attr_bits(op, TL_ATTR_VALUE));
      return (Range){value, value};
   case TL_OP_LANE_ID:
      return (Range){0, LANES - 1};
   case TL_OP_WARP_ID:
      return (Range){0, d->func->num_warps - 1};
   case TL_OP_PROGRAM_ID:
      return (Range){0, (x_axis ? INT32_MAX : MOST_PROGRAMS) - 1};
   case TL_OP_SPLAT:
      return range_of(d, tl_arg(op, 0), 0);
   case TL_OP_PICK:
      index = tl_attr_ints(op, TL_ATTR_INDEX);
      value = index.data[r];
      for (unsigned i = 0; i < op->num_args; i++) {
         int64_t n = tl_type_num_regs(tl_arg(op, i)->type);
         if (value < n)
            return range_of(d, tl_arg(op, i), (uint32_t)value);
         value -= n;
      }
      return everything;
   case TL_OP_CAST:
      return tl_dtype_is_int(tl_type_elem(tl_arg(op, 0)->type)->dtype)
                ? if_within(operand(d, op, 0, r), range_of_type(tl_result(op, 0)->type))
                : everything;
   default:
      if (op->num_args != 2 || !tl_has_trait(op, TL_TRAIT_ELTWISE) || (t != TL_I32 && t != TL_I64))
         return everything;
      return arithmetic(op->opcode, operand(d, op, 0, r), operand(d, op, 1, r));
   }
}

/* The index of a loop that counts up by constants. */
static Range
range_of_index(Drop *d, const TlValue *v)
{
   const TlOp *loop = v->block->region->parent;
   if (!loop || loop->opcode != TL_OP_FOR || v->index != 0 ||
       range_of(d, tl_arg(loop, 2), 0).lo <= 0)
      return everything;
   Range r = {range_of(d, tl_arg(loop, 0), 0).lo, range_of(d, tl_arg(loop, 1), 0).hi};
   r.hi = r.hi == INT64_MAX ? r.hi : r.hi - 1;
   return r.hi < r.lo ? everything : r; /* a loop without an iteration */
}

static Range
range_of(Drop *d, const TlValue *v, uint32_t r)
{
   const TlType *elem = tl_type_elem(v->type);
   uint32_t n = tl_type_num_regs(v->type);
   assert(r < n);
   if (v->id >= d->num_values || elem->kind != TL_TYPE_SCALAR || !tl_dtype_is_int(elem->dtype) ||
       d->depth >= MAX_DEPTH)
      return range_of_type(v->type);
   if (!d->range[v->id]) {
      d->range[v->id] = tl_new_array(d->cx->scratch, Range, n);
      d->has_range[v->id] = tl_new_array(d->cx->scratch, uint8_t, n);
   }
   if (d->has_range[v->id][r])
      return d->range[v->id][r];
   d->depth++;
   Range all = range_of_type(v->type),
         found = v->def ? range_of_op(d, v->def, r) : range_of_index(d, v);
   d->depth--;
   if (found.lo > all.hi || found.hi < all.lo) /* never computed */
      found = all;
   found.lo = found.lo < all.lo ? all.lo : found.lo;
   found.hi = found.hi > all.hi ? all.hi : found.hi;
   d->range[v->id][r] = found;
   d->has_range[v->id][r] = 1;
   return found;
}

static Truth
compared(TlOpcode op, Range a, Range b)
{
   switch (op) {
   case TL_OP_LT:
      return a.hi < b.lo ? ALWAYS : a.lo >= b.hi ? NEVER : UNKNOWN;
   case TL_OP_LE:
      return a.hi <= b.lo ? ALWAYS : a.lo > b.hi ? NEVER : UNKNOWN;
   case TL_OP_GT:
      return compared(TL_OP_LT, b, a);
   case TL_OP_GE:
      return compared(TL_OP_LE, b, a);
   case TL_OP_EQ:
      return a.hi < b.lo || b.hi < a.lo ? NEVER : UNKNOWN;
   default:
      return UNKNOWN;
   }
}

static Truth truth_of(Drop *d, const TlValue *v, uint32_t r);

static Truth
truth_of_pick(Drop *d, const TlOp *op, uint32_t r)
{
   int64_t at = tl_attr_ints(op, TL_ATTR_INDEX).data[r];
   unsigned i = 0;
   for (; at >= tl_type_num_regs(tl_arg(op, i)->type); i++)
      at -= tl_type_num_regs(tl_arg(op, i)->type);
   return truth_of(d, tl_arg(op, i), (uint32_t)at);
}

static Truth
truth_of_op(Drop *d, const TlOp *op, uint32_t r)
{
   if (op->opcode == TL_OP_CONSTANT)
      return tl_attr_bits(op, TL_ATTR_VALUE) ? ALWAYS : NEVER;
   if (op->opcode == TL_OP_SPLAT)
      return truth_of(d, tl_arg(op, 0), 0);
   if (op->opcode == TL_OP_PICK)
      return truth_of_pick(d, op, r);
   if (op->opcode == TL_OP_SELECT) /* bytes of an access where a mask is true, else 0 */
      return truth_of(d, tl_arg(op, 0), r) == NEVER ? truth_of(d, tl_arg(op, 2), r) : UNKNOWN;
   if (op->opcode == TL_OP_AND || op->opcode == TL_OP_OR) {
      Truth a = truth_of(d, tl_arg(op, 0), r), b = truth_of(d, tl_arg(op, 1), r);
      Truth rules = op->opcode == TL_OP_AND ? NEVER : ALWAYS;
      return a == rules || b == rules ? rules : a == b ? a : UNKNOWN;
   }
   if (op->num_args != 2 || !tl_has_trait(op, TL_TRAIT_ELTWISE))
      return UNKNOWN;
   const TlType *elem = tl_type_elem(tl_arg(op, 0)->type);
   if (elem->kind != TL_TYPE_SCALAR || !tl_dtype_is_int(elem->dtype))
      return UNKNOWN;
   Range a = operand(d, op, 0, r), b = operand(d, op, 1, r);
   if (elem->dtype == TL_U64 && (a.lo < 0 || b.lo < 0)) /* ranges are those of the bits as I64 */
      return UNKNOWN;
   return compared(op->opcode, a, b);
}

static Truth
truth_of(Drop *d, const TlValue *v, uint32_t r)
{
   uint32_t n = tl_type_num_regs(v->type);
   r = n == 1 ? 0 : r;
   if (!v->def || v->id >= d->num_values || d->depth >= MAX_DEPTH)
      return UNKNOWN;
   if (!d->truth[v->id])
      d->truth[v->id] = tl_new_array(d->cx->scratch, uint8_t, n);
   if (d->truth[v->id][r] != NOT_ASKED)
      return (Truth)d->truth[v->id][r];
   d->depth++;
   Truth t = truth_of_op(d, v->def, r);
   d->depth--;
   d->truth[v->id][r] = (uint8_t)t;
   return t;
}

/* ---- accesses ---- */
static TlValue *
pick(TlBuilder *b, TlTypes *types, TlValue *const *from, unsigned num, const int64_t *index,
     uint32_t n)
{
   const TlType *t = tl_type_regs(types, tl_type_elem(from[0]->type), n);
   const TlInts *ints = tl_ints(b->func->module->arena, index, n);
   return tl_build_n(b, TL_OP_PICK, from, num, t, TL_ATTRS_({TL_ATTR_INDEX, {.ints = ints}}));
}

/* The registers of `v` that belong to the accesses kept, `each` for each. */
static TlValue *
kept_of(Drop *d, TlBuilder *b, TlValue *v, const uint32_t *keep, uint32_t n, uint32_t each)
{
   if (v->type->kind != TL_TYPE_REGS) /* one for all */
      return v;
   int64_t *index = tl_new_array(d->cx->scratch, int64_t, n *each);
   for (uint32_t i = 0; i < n * each; i++)
      index[i] = (int64_t)keep[i / each] * each + i % each;
   return pick(b, d->types, &v, 1, index, n * each);
}

/* All registers again: of the accesses kept from `v`, of the others from `other`, or nothing. */
static TlValue *
with_others(Drop *d, TlBuilder *b, TlValue *v, TlValue *other, const TlType *type,
            const uint32_t *keep, uint32_t n, uint32_t vec)
{
   uint32_t total = tl_type_num_regs(type), kept = n * vec;
   const TlType *elem = tl_type_elem(type);
   int64_t *index = tl_new_array(d->cx->scratch, int64_t, total);
   if (!other)
      other = tl_const_bits(b, elem, 0);
   bool is_one = tl_type_num_regs(other->type) == 1;
   for (uint32_t r = 0; r < total; r++)
      index[r] = (n ? kept : 0) + (is_one ? 0 : r);
   for (uint32_t i = 0; i < kept; i++)
      index[keep[i / vec] * vec + i % vec] = i;
   TlValue *from[2] = {n ? v : other, other};
   return pick(b, d->types, from, n ? 2 : 1, index, total);
}

static void
drop_from(Drop *d, TlOp *op, unsigned at_pred, const uint32_t *keep, uint32_t n, bool is_true)
{
   TlBuilder b = tl_builder_before(op);
   bool is_load = op->opcode == TL_OP_LD_GLOBAL;
   uint32_t vec = (uint32_t)tl_attr_int(op, TL_ATTR_VEC);
   TlValue *other = is_load && op->num_args > 2 ? tl_arg(op, 2) : NULL, *made = NULL;
   if (n) {
      TlValue *args[3];
      unsigned num = 0;
      for (unsigned i = 0; i < op->num_args && !(is_true && i >= at_pred); i++)
         args[num++] = kept_of(d, &b, tl_arg(op, i), keep, n, i == 0 || i == at_pred ? 1 : vec);
      const TlType *type =
         op->num_results ? tl_type_regs(d->types, tl_type_elem(tl_result(op, 0)->type), n * vec)
                         : NULL;
      TlAttrInit attrs[TL_MAX_OP_ATTRS + 1];
      unsigned a = 0;
      for (; a < tl_info(op)->num_attrs; a++)
         attrs[a] = (TlAttrInit){tl_info(op)->attr[a].key, op->attrs[a]};
      attrs[a] = (TlAttrInit){TL_ATTR_COUNT, {.i = 0}};
      made = tl_build_n(&b, op->opcode, args, num, type, attrs);
   }
   if (op->num_results && tl_result(op, 0)->uses) {
      const TlType *type = tl_result(op, 0)->type;
      bool is_whole = n * vec == tl_type_num_regs(type);
      tl_replace_uses(tl_result(op, 0),
                      is_whole ? made : with_others(d, &b, made, other, type, keep, n, vec));
   }
   tl_remove(op);
}

static bool
drop_accesses(Drop *d, TlOp *op)
{
   bool is_atomic = op->opcode == TL_OP_ATOM_RMW;
   if ((op->opcode != TL_OP_LD_GLOBAL && op->opcode != TL_OP_ST_GLOBAL && !is_atomic) ||
       !tl_pred(op) || (is_atomic && !tl_is_unused(op)))
      return false;
   const TlValue *mask = tl_pred(op);
   uint32_t accesses = tl_type_num_regs(tl_arg(op, 0)->type), n = 0;
   uint32_t *keep = tl_new_array(d->cx->scratch, uint32_t, accesses);
   bool is_true = true;
   for (uint32_t i = 0; i < accesses; i++) {
      Truth t = truth_of(d, mask, i);
      if (t == ALWAYS && tl_is_partial(op)) /* some bytes are not all */
         t = UNKNOWN;
      if (t == NEVER)
         continue;
      is_true &= t == ALWAYS;
      keep[n++] = i;
   }
   if (n == accesses && !is_true)
      return false;
   drop_from(d, op, tl_pred_at(op), keep, n, is_true);
   return true;
}

/* Copies to shared memory stay, which write zeros where the mask is false.  What they would read
 * does not matter there: the address is that of another copy, and their own need not be known. */
static bool
share_addresses(Drop *d, TlOp *op)
{
   if (op->opcode != TL_OP_CP_ASYNC || !tl_pred(op))
      return false;
   TlValue *addresses = tl_arg(op, 1);
   uint32_t n = tl_type_num_regs(addresses->type), shared = 0;
   if (n == 1 || tl_type_num_regs(tl_pred(op)->type) != n)
      return false;
   while (shared + 1 < n && truth_of(d, tl_pred(op), shared) == NEVER)
      shared++;
   bool changed = false;
   int64_t *index = tl_new_array(d->cx->scratch, int64_t, n);
   for (uint32_t i = 0; i < n; i++) {
      index[i] = truth_of(d, tl_pred(op), i) == NEVER ? shared : i;
      changed |= index[i] != i;
   }
   if (!changed)
      return false;
   TlBuilder b = tl_builder_before(op);
   tl_set_arg(op, 1, pick(&b, d->types, &addresses, 1, index, n));
   return true;
}

/* ---- choices ---- */
/* The last two operands of a select, or both of an `and` of masks, are what a register can be. */
enum { FIRST, SECOND, COMPUTED };

static int
outcome(Drop *d, const TlOp *op, uint32_t r)
{
   Truth t = truth_of(d, tl_arg(op, 0), r), u;
   if (op->opcode == TL_OP_SELECT)
      return t == ALWAYS ? FIRST : t == NEVER ? SECOND : COMPUTED;
   u = truth_of(d, tl_arg(op, 1), r);
   return t == NEVER || u == ALWAYS ? FIRST : u == NEVER || t == ALWAYS ? SECOND : COMPUTED;
}

static bool
is_choice(const TlOp *op, TlOpcode opcode)
{
   if (op->opcode != opcode || tl_result(op, 0)->type->kind != TL_TYPE_REGS)
      return false;
   const TlType *type = tl_result(op, 0)->type, *elem = tl_type_elem(type);
   for (unsigned i = 0; i < op->num_args; i++)
      if (tl_type_num_regs(tl_arg(op, i)->type) != tl_type_num_regs(type))
         return false;
   return opcode == TL_OP_SELECT || (elem->kind == TL_TYPE_SCALAR && elem->dtype == TL_I1);
}

/* The operation for the registers in `keep`, n of them; the others are what `index` says of its
 * last two operands, with the new operation's registers behind those. */
static void
compute_kept(Drop *d, TlOp *op, const uint32_t *keep, uint32_t n, const int64_t *index)
{
   TlBuilder b = tl_builder_before(op);
   const TlType *type = tl_result(op, 0)->type;
   TlValue *from[3] = {tl_arg(op, op->num_args - 2), tl_arg(op, op->num_args - 1)}, *kept[3];
   if (n) {
      for (unsigned i = 0; i < op->num_args; i++)
         kept[i] = kept_of(d, &b, tl_arg(op, i), keep, n, 1);
      const TlType *few = tl_type_regs(d->types, tl_type_elem(type), n);
      from[2] = tl_build_n(&b, op->opcode, kept, op->num_args, few, TL_ATTRS_());
   }
   tl_replace_uses(tl_result(op, 0),
                   pick(&b, d->types, from, n ? 3 : 2, index, tl_type_num_regs(type)));
   tl_remove(op);
}

/* A choice is left to the registers where no range tells its outcome: of a block on the diagonal
 * most are on one side in every thread, and what was computed for the other side is trimmed. */
static bool
drop_choices(Drop *d, TlOp *op, TlOpcode opcode)
{
   if (!is_choice(op, opcode) || tl_is_unused(op))
      return false;
   uint32_t total = tl_type_num_regs(tl_result(op, 0)->type), n = 0;
   uint32_t *keep = tl_new_array(d->cx->scratch, uint32_t, total);
   int64_t *index = tl_new_array(d->cx->scratch, int64_t, total);
   for (uint32_t r = 0; r < total; r++) {
      int one = outcome(d, op, r);
      index[r] = one == COMPUTED ? 2 * (int64_t)total + n : one * (int64_t)total + r;
      if (one == COMPUTED)
         keep[n++] = r;
   }
   if (n == total)
      return false;
   compute_kept(d, op, keep, n, index);
   return true;
}

bool
tl_pass_drop_masked(TlPassCx *cx, TlFunc *f)
{
   assert(f->state == TL_STATE_LOWERED);
   Drop d = {.cx = cx, .func = f, .types = f->module->types, .num_values = f->next_value_id};
   d.range = tl_new_array(cx->scratch, Range *, d.num_values);
   d.has_range = tl_new_array(cx->scratch, uint8_t *, d.num_values);
   d.truth = tl_new_array(cx->scratch, uint8_t *, d.num_values);
   bool changed = false;
   const TlBlock *body = f->body->block;
   for (TlOp *op = tl_walk_inner(body), *next; op; op = next) {
      next = tl_walk_inner_next(op, body);
      changed |=
         drop_accesses(&d, op) || share_addresses(&d, op) || drop_choices(&d, op, TL_OP_SELECT);
   }
   for (TlOp *op = tl_walk_inner(body), *next; op; op = next) { /* of them truths were asked */
      next = tl_walk_inner_next(op, body);
      changed |= drop_choices(&d, op, TL_OP_AND);
   }
   return changed;
}
