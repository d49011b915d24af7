/* reduce: within the thread (a tree over register halves), then over lanes by butterfly shuffles,
 * then over warps through shared memory, where every thread reads the partial results that it
 * needs, or of many warps a lane one, and the lanes shuffle again.  All threads that hold a result
 * element compute it, so the result has the sliced layout at once.  Needs a layout whose hardware
 * bits move either along the axis or off it (all that place_layouts makes).
 * A function that may not take its operands in any order gets them in the axis' order instead: bits
 * of the axis from the lowest on, registers and lanes as they come; what lies above a warp's bit
 * goes through shared memory unfolded and is folded with what was read.
 * Invariant: copies (zero columns) are never combined with themselves. */
#include "layout/cost.h"
#include "passes/lower/impl.h"

#include <assert.h>
#include <string.h>

/* 0 has none; minus one it has them all. */
static uint32_t
lowest_bit(uint32_t v)
{
   return v & (0u - v);
}

/* Partial results of k values: n registers each, numbered by the bits of `col`. */
typedef struct Partial {
   TlValue **v; /* k */
   unsigned k, n;
   unsigned num_bits;
   uint32_t col[TL_LL_MAX_BITS]; /* element columns of the remaining register bits */
} Partial;

uint32_t
tl_axis_mask(const TlLinear *l, unsigned axis)
{
   assert(axis < l->rank);
   return ((1u << l->log2_dim[axis]) - 1) << tl_ll_dim_shift(l, axis);
}

bool
tl_axis_is_separate(const TlLinear *l, unsigned axis)
{
   uint32_t mask = tl_axis_mask(l, axis), seen = 0;
   for (unsigned i = 0; i < tl_ll_in_bits(l); i++) {
      uint32_t in = l->col[i] & mask;
      if (in && (in != l->col[i] || (in & (in - 1)) || (in & seen)))
         return false;
      seen |= in;
   }
   return true;
}

/* Drops register bit `bit`: both halves of every value. */
static void
halves(TlLowerCx *cx, const Partial *p, unsigned bit, TlValue **lo, TlValue **hi)
{
   assert(bit < p->num_bits && p->n == 1u << p->num_bits);
   uint32_t *index = tl_new_array(cx->scratch, uint32_t, p->n);
   for (unsigned half = 0; half < 2; half++) {
      unsigned n = 0;
      for (uint32_t r = 0; r < p->n; r++)
         if ((r >> bit & 1) == half)
            index[n++] = r;
      for (unsigned i = 0; i < p->k; i++)
         (half ? hi : lo)[i] = tl_regs_pick(cx, p->v[i], index, n);
   }
}

static void
drop_bit(Partial *p, unsigned bit)
{
   assert(bit < p->num_bits);
   memmove(&p->col[bit], &p->col[bit + 1], (p->num_bits - bit - 1) * sizeof p->col[0]);
   p->num_bits--;
   p->n /= 2;
}

static void
combine(TlLowerCx *cx, const TlOp *op, Partial *p, TlValue **first, TlValue **second)
{
   assert(op->regions[0]->block->num_args == 2 * p->k);
   TlValue **args = tl_new_array(cx->scratch, TlValue *, 2 * p->k);
   memcpy(args, first, p->k * sizeof *args);
   memcpy(args + p->k, second, p->k * sizeof *args);
   tl_inline_region(cx, op->regions[0], args, 2 * p->k, p->n, p->v);
}

/* Folds register bits whose column satisfies (col & mask) != 0, lowest element bit first. */
static void
fold_registers(TlLowerCx *cx, const TlOp *op, Partial *p, uint32_t mask)
{
   TlValue **lo = tl_new_array(cx->scratch, TlValue *, p->k);
   TlValue **hi = tl_new_array(cx->scratch, TlValue *, p->k);
   for (;;) {
      unsigned best = p->num_bits;
      for (unsigned i = 0; i < p->num_bits; i++)
         if ((p->col[i] & mask) && (best == p->num_bits || p->col[i] < p->col[best]))
            best = i;
      if (best == p->num_bits)
         return;
      halves(cx, p, best, lo, hi);
      drop_bit(p, best);
      combine(cx, op, p, lo, hi);
   }
}

static void
drop_copies(TlLowerCx *cx, Partial *p)
{
   TlValue **lo = tl_new_array(cx->scratch, TlValue *, p->k);
   TlValue **hi = tl_new_array(cx->scratch, TlValue *, p->k);
   for (unsigned i = p->num_bits; i-- > 0;)
      if (p->col[i] == 0) {
         halves(cx, p, i, lo, hi);
         memcpy(p->v, lo, p->k * sizeof *lo);
         drop_bit(p, i);
      }
}

TlValue *
tl_shuffle_xor(TlLowerCx *cx, TlValue *v, unsigned lane_xor)
{
   assert(lane_xor && lane_xor < 1u << TL_LANE_BITS);
   const TlType *elem = tl_type_elem(v->type);
   TlValue *raw = tl_regs_to_memory(cx, v);
   raw = tl_build_n(&cx->b, TL_OP_SHFL, (TlValue *const[]){raw, tl_i32(cx, lane_xor)}, 2, raw->type,
                    TL_ATTRS_({TL_ATTR_SHFL, {.i = TL_SHFL_BFLY}}));
   return tl_regs_from_memory(cx, raw, elem);
}

TlValue *
tl_thread_bit(TlLowerCx *cx, TlHw hw, unsigned bit)
{
   assert(bit < (hw == TL_HW_LANE ? TL_LANE_BITS : cx->log2_warps));
   uint32_t cols[TL_LANE_BITS + 5] = {0}, bits;
   cols[hw == TL_HW_LANE ? bit : TL_LANE_BITS + bit] = 1;
   return tl_op2(cx, TL_OP_NE, tl_thread_word(cx, cols, &bits), tl_i32(cx, 0));
}

TlValue *
tl_regs_select(TlLowerCx *cx, TlValue *cond, TlValue *a, TlValue *b)
{
   assert(a->type == b->type);
   unsigned n = tl_regs_of(a->type);
   if (a->type->kind != TL_TYPE_REGS && a->type->kind != TL_TYPE_SCALAR)
      n = 1;
   return tl_b3(&cx->b, TL_OP_SELECT, tl_regs_splat(cx, cond, n), a, b);
}

/* Bits of a lane's number, in the order of their folding. */
typedef struct Lanes {
   unsigned n, bit[TL_LANE_BITS];
} Lanes;

/* Those that move along the part `mask` of an axis: by number, or by their place on it. */
static Lanes
axis_lanes(const TlLinear *l, uint32_t mask, bool by_place)
{
   Lanes lanes = {0};
   for (unsigned bit = 0; bit < l->num[TL_HW_LANE]; bit++) {
      uint32_t col = tl_ll_col(l, TL_HW_LANE, bit);
      unsigned at = lanes.n;
      if (!(col & mask))
         continue;
      for (; by_place && at > 0 && tl_ll_col(l, TL_HW_LANE, lanes.bit[at - 1]) > col; at--)
         lanes.bit[at] = lanes.bit[at - 1];
      lanes.bit[at] = bit;
      lanes.n++;
   }
   return lanes;
}

/* Every lane gets the values of the lane whose bits `lanes` are 0. */
static void
spread_from_first(TlLowerCx *cx, Partial *p, unsigned lanes)
{
   uint32_t cols[TL_LANE_BITS + 5] = {0}, bits;
   for (unsigned i = 0; i < TL_LANE_BITS; i++)
      cols[i] = 1u << i & ~lanes;
   TlValue *from = tl_thread_word(cx, cols, &bits);
   for (unsigned i = 0; i < p->k; i++) {
      const TlType *elem = tl_type_elem(p->v[i]->type);
      TlValue *raw = tl_regs_to_memory(cx, p->v[i]);
      raw = tl_build_n(&cx->b, TL_OP_SHFL, (TlValue *const[]){raw, from}, 2, raw->type,
                       TL_ATTRS_({TL_ATTR_SHFL, {.i = TL_SHFL_IDX}}));
      p->v[i] = tl_regs_from_memory(cx, raw, elem);
   }
}

enum { MOST_ORDERED_LANES_LOG2 = 2 }; /* that select their operands' order */

/* Combines the values of the lanes that differ in one of the bits, the first ones' first.  Where
 * order counts, both lanes select what comes first; of more bits than some the lower lane alone has
 * it right, its own value first, and the one whose bits are 0 tells the others in the end: two
 * selections a value and bit, and the truths that they hang on, become one shuffle a value. */
static void
fold_lanes(TlLowerCx *cx, const TlOp *op, Partial *p, const Lanes *lanes)
{
   bool commutes = tl_region_commutes(op->regions[0]);
   bool is_spread = !commutes && lanes->n > MOST_ORDERED_LANES_LOG2;
   TlValue **a = tl_new_array(cx->scratch, TlValue *, p->k);
   TlValue **b = tl_new_array(cx->scratch, TlValue *, p->k);
   unsigned all = 0;
   for (unsigned n = 0; n < lanes->n; n++) {
      unsigned bit = lanes->bit[n];
      TlValue *upper = commutes || is_spread ? NULL : tl_thread_bit(cx, TL_HW_LANE, bit);
      for (unsigned i = 0; i < p->k; i++) {
         TlValue *other = tl_shuffle_xor(cx, p->v[i], 1u << bit);
         a[i] = upper ? tl_regs_select(cx, upper, other, p->v[i]) : p->v[i];
         b[i] = upper ? tl_regs_select(cx, upper, p->v[i], other) : other;
      }
      combine(cx, op, p, a, b);
      all |= 1u << bit;
   }
   if (is_spread)
      spread_from_first(cx, p, all);
}

/* Folds what registers and lanes hold of the part `mask` of the axis: registers first if that may
 * be, else runs of either in the axis' order. */
static void
fold_thread(TlLowerCx *cx, const TlOp *op, Partial *p, const TlLinear *l, uint32_t mask)
{
   bool any_order = tl_region_takes_any_order(op->regions[0]);
   uint32_t lanes = 0, regs = 0;
   for (unsigned i = 0; i < l->num[TL_HW_LANE]; i++)
      lanes |= tl_ll_col(l, TL_HW_LANE, i) & mask;
   for (unsigned i = 0; i < p->num_bits; i++)
      regs |= p->col[i] & mask;
   do {
      uint32_t now = any_order ? regs : regs & (lowest_bit(lanes) - 1);
      fold_registers(cx, op, p, now);
      regs &= ~now;
      now = any_order ? lanes : lanes & (lowest_bit(regs) - 1);
      Lanes run = axis_lanes(l, now, !any_order);
      fold_lanes(cx, op, p, &run);
      lanes &= ~now;
   } while (regs | lanes);
}

/* The axis' bits that warps hold. */
static uint32_t
axis_warps(const TlLinear *l, uint32_t mask)
{
   uint32_t cols = 0;
   for (unsigned i = 0; i < l->num[TL_HW_WARP]; i++)
      cols |= tl_ll_col(l, TL_HW_WARP, i) & mask;
   return cols;
}

static unsigned
axis_warps_log2(const TlLinear *l, uint32_t mask)
{
   return (unsigned)__builtin_popcount(axis_warps(l, mask));
}

/* The axis' bits in registers and lanes that must wait for those of warps. */
static uint32_t
unfolded_by_thread(const TlOp *op, const TlLinear *l, uint32_t mask)
{
   uint32_t warps = axis_warps(l, mask);
   if (!warps || tl_region_takes_any_order(op->regions[0]))
      return 0;
   return mask & ~warps & ~(lowest_bit(warps) - 1);
}

static uint32_t
align16(uint32_t v)
{
   return (v + 15) & ~15u;
}

/* Bytes of the partial results of operand `i`. */
static uint32_t
partial_bytes(const TlOp *op, const TlLinear *l, unsigned i)
{
   const TlType *t = tl_arg(op, i)->type;
   unsigned axis = (unsigned)tl_attr_int(op, TL_ATTR_AXIS);
   assert(t->kind == TL_TYPE_TILE && axis < t->rank);
   uint32_t mask = tl_axis_mask(l, axis);
   uint32_t results = (uint32_t)(tl_type_num_elems(t) / t->shape[axis]);
   unsigned bits =
      axis_warps_log2(l, mask) + (unsigned)__builtin_popcount(unfolded_by_thread(op, l, mask));
   return align16((results << bits) * tl_dtype_info[tl_memory_dtype(t->elem)].bytes);
}

uint32_t
tl_reduce_scratch(const TlOp *op)
{
   unsigned axis = (unsigned)tl_attr_int(op, TL_ATTR_AXIS);
   TlLinear l = tl_layout_of(tl_arg(op, 0)->type);
   uint32_t bytes = 0;
   if (!tl_axis_is_separate(&l, axis) || !axis_warps_log2(&l, tl_axis_mask(&l, axis)))
      return 0;
   for (unsigned i = 0; i < op->num_args; i++)
      bytes += partial_bytes(op, &l, i);
   return bytes;
}

/* The element's index among the partial results of a warp: the axis field removed, what is unfolded
 * of it put above. */
static uint32_t
result_index(const TlOp *op, const TlLinear *l, uint32_t col)
{
   unsigned axis = (unsigned)tl_attr_int(op, TL_ATTR_AXIS);
   unsigned shift = tl_ll_dim_shift(l, axis), end = 0;
   uint32_t low = col & ((1u << shift) - 1), mask = tl_axis_mask(l, axis);
   uint32_t index = low | col >> (shift + l->log2_dim[axis]) << shift;
   for (unsigned d = 0; d < l->rank; d++)
      end += d == axis ? 0 : l->log2_dim[d];
   for (uint32_t rest = unfolded_by_thread(op, l, mask); rest; rest &= rest - 1, end++)
      index |= (col & lowest_bit(rest)) ? 1u << end : 0;
   return index;
}

/* Where the warp bit `i` is among the axis', which number partial results. */
static unsigned
warp_rank(const TlLinear *l, uint32_t mask, unsigned i)
{
   uint32_t col = tl_ll_col(l, TL_HW_WARP, i);
   assert(col & mask);
   return (unsigned)__builtin_popcount(axis_warps(l, mask) & (col - 1));
}

/* Who reads the partial results of the axis' warps: every thread those of the low bits of their
 * number, `regs` bits, as registers; the lanes `lanes`, equal till then, those of the others. */
typedef struct Readers {
   unsigned regs;
   Lanes lanes;
} Readers;

/* One side of the exchange of partial results, [result][warp] or [warp][result]. */
typedef struct Side {
   unsigned result, warp;  /* shifts: elements from one result, or one of the warps, to the next */
   const Readers *readers; /* NULL: who writes */
} Side;

static bool
reads_other(const Readers *r, unsigned lane_bit)
{
   for (unsigned i = 0; r && i < r->lanes.n; i++)
      if (r->lanes.bit[i] == lane_bit)
         return true;
   return false;
}

enum { FEW_WARPS_LOG2 = 3 }; /* partial results of more are shared out among the lanes */

/* Few partial results are read soonest by every thread.  Many would be four cycles of shared memory
 * for each four of them and warp, and as many registers; a lane reads one then. */
static Readers
readers_of(const TlOp *op, const TlLinear *l, uint32_t mask)
{
   Readers r = {.regs = axis_warps_log2(l, mask)};
   if (r.regs <= FEW_WARPS_LOG2 || unfolded_by_thread(op, l, mask))
      return r;
   Lanes lanes = axis_lanes(l, mask, false);
   r.lanes.n = lanes.n < r.regs ? lanes.n : r.regs;
   memcpy(r.lanes.bit, lanes.bit, r.lanes.n * sizeof lanes.bit[0]);
   r.regs -= r.lanes.n;
   return r;
}

/* Byte columns of partial results: registers of p, then for readers their bits of the axis' warps
 * as further register bits, then lanes and warps. */
static TlLinear
partial_columns(const TlOp *op, const TlLinear *l, const Partial *p, unsigned bytes, Side side,
                uint32_t *col)
{
   const Readers *r = side.readers;
   uint32_t mask = tl_axis_mask(l, (unsigned)tl_attr_int(op, TL_ATTR_AXIS));
   uint32_t folded = mask & ~unfolded_by_thread(op, l, mask), warp = bytes << side.warp;
   unsigned n = 0, next = 0;
   TlLinear s = {.rank = 1};
   for (unsigned i = 0; i < p->num_bits; i++, n++)
      col[n] = (result_index(op, l, p->col[i]) << side.result) * bytes;
   for (; r && next < r->regs; n++)
      col[n] = warp << next++;
   s.num[TL_HW_REG] = (uint8_t)n;
   for (unsigned i = 0; i < l->num[TL_HW_LANE]; i++) {
      uint32_t c = tl_ll_col(l, TL_HW_LANE, i);
      if (reads_other(r, i))
         col[n++] = warp << next++;
      else
         col[n++] = c & folded ? 0 : (result_index(op, l, c) << side.result) * bytes;
   }
   assert(!r || next == axis_warps_log2(l, mask));
   for (unsigned i = 0; i < l->num[TL_HW_WARP]; i++) {
      uint32_t c = tl_ll_col(l, TL_HW_WARP, i);
      if (c & mask)
         col[n++] = r ? 0 : warp << warp_rank(l, mask, i);
      else
         col[n++] = (result_index(op, l, c) << side.result) * bytes;
   }
   s.num[TL_HW_LANE] = l->num[TL_HW_LANE];
   s.num[TL_HW_WARP] = l->num[TL_HW_WARP];
   return s;
}

/* Of the shared memory, for what one warp writes or reads. */
static unsigned
wavefronts(TlLowerCx *cx, const TlOp *op, const Partial *p, const TlLinear *l, Side side)
{
   unsigned es = tl_dtype_info[tl_memory_dtype(tl_arg(op, 0)->type->elem)].bytes;
   uint32_t col[TL_LL_MAX_IN];
   TlLinear s = partial_columns(op, l, p, es, side, col);
   TlSharedMap map = tl_shared_map_of_columns(cx, &s, col, es);
   return map.num / map.vec *
          tl_cost_shared_linear(map.thread_cols, TL_LANE_BITS, map.vec * es).wavefronts;
}

/* The partial results of one element are read soonest side by side.  But lanes with elements of
 * their own are then as many partial results apart as there are warps, and meet at the same banks:
 * 64x256 numbers added up over 8 warps took 128 wavefronts to write and 512 to read, a warp. */
static Side
cheapest_side(TlLowerCx *cx, const TlOp *op, const Partial *p, const TlLinear *l, const Readers *r)
{
   unsigned axis = (unsigned)tl_attr_int(op, TL_ATTR_AXIS), results = 0, cost[2] = {0};
   uint32_t mask = tl_axis_mask(l, axis);
   for (unsigned d = 0; d < l->rank; d++)
      results += d == axis ? 0 : l->log2_dim[d];
   results += (unsigned)__builtin_popcount(unfolded_by_thread(op, l, mask));
   Side side[2] = {{.result = axis_warps_log2(l, mask)}, {.warp = results}};
   for (unsigned i = 0; i < 2; i++) {
      cost[i] = wavefronts(cx, op, p, l, side[i]);
      side[i].readers = r;
      cost[i] += wavefronts(cx, op, p, l, side[i]);
   }
   return side[cost[1] < cost[0]];
}

enum { MOST_PARTIALS = 128 }; /* registers of partial results read at once */

static void
store_partials(TlLowerCx *cx, const TlOp *op, const Partial *p, const TlLinear *l, Side side,
               TlSharedRef *ref)
{
   side.readers = NULL;
   uint32_t at = 0, col[TL_LL_MAX_IN];
   for (unsigned i = 0; i < p->k; i++) {
      uint32_t bytes = partial_bytes(op, l, i);
      TlValue *raw = tl_regs_to_memory(cx, p->v[i]);
      unsigned es = tl_dtype_info[tl_type_elem(raw->type)->dtype].bytes;
      ref[i] = tl_shared_part(tl_scratch_ref(cx, op), at, bytes);
      at += bytes;
      TlLinear s = partial_columns(op, l, p, es, side, col);
      TlSharedMap map = tl_shared_map_of_columns(cx, &s, col, es);
      /* Of warps that hold the same elements one stores: the one that also stores the tile, so
       * that a tile stored in place cannot be read again, changed, by the others. */
      TlValue *owner = tl_thread_is_zero(cx, 0, tl_owner_of(l).free_warps);
      tl_shared_store(cx, &ref[i], &map, raw, owner);
   }
}

/* The partial results of value `i`: all that a thread reads, or of those the `round`-th. */
static TlValue *
load_partials(TlLowerCx *cx, const TlOp *op, const Partial *p, const TlLinear *l, unsigned i,
              const TlSharedRef *ref, Side side, int round)
{
   unsigned bits = p->num_bits;
   const TlType *elem = tl_arg(op, i)->type->elem;
   TlDtype t = tl_memory_dtype(elem);
   unsigned es = tl_dtype_info[t].bytes;
   uint32_t col[TL_LL_MAX_IN];
   TlLinear s = partial_columns(op, l, p, es, side, col);
   if (round >= 0) { /* one warp's partials: the warp bits are an offset */
      unsigned regs = side.readers->regs;
      memmove(&col[bits], &col[bits + regs], (tl_ll_in_bits(&s) - bits - regs) * sizeof col[0]);
      s.num[TL_HW_REG] = (uint8_t)bits;
   }
   TlSharedMap map = tl_shared_map_of_columns(cx, &s, col, es);
   for (unsigned j = 0; round >= 0 && j < map.num; j++)
      map.offset[j] ^= ((unsigned)round << side.warp) * es;
   return tl_regs_from_memory(cx, tl_shared_load(cx, ref, &map, t), elem);
}

static void
fold_warps(TlLowerCx *cx, const TlOp *op, Partial *p, const TlLinear *l, uint32_t mask)
{
   uint32_t warps = axis_warps(l, mask), warps_read = warps, rest = unfolded_by_thread(op, l, mask);
   Readers r = readers_of(op, l, mask);
   unsigned n = p->n;
   TlValue **loaded = tl_new_array(cx->scratch, TlValue *, p->k);
   TlSharedRef *ref = tl_new_array(cx->scratch, TlSharedRef, p->k);
   Side side = cheapest_side(cx, op, p, l, &r);
   store_partials(cx, op, p, l, side, ref);
   bool at_once = n << r.regs <= MOST_PARTIALS || (rest && lowest_bit(rest) < warps);
   for (unsigned round = 0; round < (at_once ? 1u : 1u << r.regs); round++) {
      for (unsigned i = 0; i < p->k; i++)
         loaded[i] = load_partials(cx, op, p, l, i, &ref[i], side, at_once ? -1 : (int)round);
      if (round == 0)
         memcpy(p->v, loaded, p->k * sizeof *loaded);
      else
         combine(cx, op, p, p->v, loaded);
   }
   if (at_once) {
      for (unsigned i = 0; i < r.regs; i++, warps &= warps - 1)
         p->col[p->num_bits++] = lowest_bit(warps);
      p->n = n << r.regs;
   }
   fold_thread(cx, op, p, l, warps_read | rest);
   fold_lanes(cx, op, p, &r.lanes);
}

void
tl_lower_reduce(TlLowerCx *cx, TlOp *op)
{
   assert(op->num_args == op->num_results);
   unsigned axis = (unsigned)tl_attr_int(op, TL_ATTR_AXIS);
   TlLinear l = tl_layout_of(tl_arg(op, 0)->type);
   uint32_t mask = tl_axis_mask(&l, axis);
   if (!tl_axis_is_separate(&l, axis)) {
      tl_report(cx->pass->diags, E0408, op->range, "reduce");
      tl_fail(cx);
      return;
   }
   Partial p = {.k = op->num_args, .n = 1u << l.num[TL_HW_REG], .num_bits = l.num[TL_HW_REG]};
   p.v = tl_new_array(cx->scratch, TlValue *, p.k);
   memcpy(p.col, l.col, p.num_bits * sizeof p.col[0]);
   for (unsigned i = 0; i < p.k; i++)
      p.v[i] = tl_lower_use(cx, tl_arg(op, i));
   drop_copies(cx, &p);
   uint32_t rest = unfolded_by_thread(op, &l, mask);
   fold_thread(cx, op, &p, &l, mask & ~rest);
   if (axis_warps(&l, mask))
      fold_warps(cx, op, &p, &l, mask);
   for (unsigned i = 0; i < p.k; i++)
      tl_lower_def(cx, tl_result(op, i), p.v[i]);
}

void
tl_lower_any_in_warp(TlLowerCx *cx, TlOp *op)
{
   TlValue *all = tl_lower_use(cx, tl_arg(op, 0)), *any = tl_regs_reg(cx, all, 0);
   for (unsigned i = 1; i < tl_regs_of(all->type); i++)
      any = tl_op2(cx, TL_OP_OR, any, tl_regs_reg(cx, all, i));
   tl_lower_def(cx, tl_result(op, 0), tl_t1(&cx->b, TL_OP_VOTE, any->type, any));
}
