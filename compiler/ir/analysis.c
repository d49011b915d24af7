/* Forward analysis of contiguity, divisibility, constancy and ranges, as analysis.h defines them.
 * One transfer function for each operation that says more than "equal operands give equal results".
 * Loops: a carried value starts as its initial value and is joined with what the body yields until
 * nothing changes; ranges that still grow are widened to the type's limits, and after MAX_ROUNDS
 * the carried values are taken as unknown, so the cost stays linear for each nesting level. */
#include "ir/analysis.h"
#include "ir/control.h"
#include "ir/interval.h"

#include <assert.h>

enum { MAX_ROUNDS = 12, WIDEN_AFTER = 2 };

struct TlAnalysis {
   TlAxisInfo *info; /* by value id */
   bool *is_done;    /* by value id */
   uint32_t num_values;
   TlAxisInfo unknown;
};

/* ---- small arithmetic on powers of two ---- */
static uint32_t
min32(uint32_t a, uint32_t b)
{
   return a < b ? a : b;
}

static uint32_t
max32(uint32_t a, uint32_t b)
{
   return a > b ? a : b;
}

/* Largest power of two that divides v; the maximum for 0. */
static uint32_t
pow2_divisor(uint64_t v)
{
   if (v == 0 || (v & (TL_MAX_DIVISIBILITY - 1)) == 0)
      return TL_MAX_DIVISIBILITY;
   return (uint32_t)(v & (0 - v));
}

static uint32_t
capped_product(uint64_t a, uint64_t b)
{
   return a * b > TL_MAX_DIVISIBILITY ? (uint32_t)TL_MAX_DIVISIBILITY : (uint32_t)(a * b);
}

/* ---- types ---- */
static unsigned
num_dims(const TlType *t) /* a scalar counts as one dimension of size 1 */
{
   return t->kind == TL_TYPE_TILE ? t->rank : 1;
}

static uint32_t
dim(const TlType *t, unsigned d)
{
   return t->kind == TL_TYPE_TILE && d < t->rank ? t->shape[d] : 1;
}

static bool
is_int_type(const TlType *t)
{
   const TlType *elem = tl_type_elem(t);
   return elem->kind == TL_TYPE_SCALAR && tl_dtype_is_int(elem->dtype);
}

/* Bytes of one step of contiguity. */
static uint32_t
step_of(const TlType *t)
{
   const TlType *elem = tl_type_elem(t);
   if (elem->kind != TL_TYPE_PTR)
      return 1;
   return elem->elem->kind == TL_TYPE_PTR ? 8 : tl_dtype_info[elem->elem->dtype].bytes;
}

/* False for u64, whose values do not fit. */
static bool
type_range(const TlType *t, int64_t *lo, int64_t *hi)
{
   if (!is_int_type(t))
      return false;
   TlDtype d = tl_type_elem(t)->dtype;
   unsigned bits = tl_dtype_info[d].bits;
   if (d == TL_U64)
      return false;
   if (!tl_dtype_is_signed(d)) {
      *lo = 0;
      *hi = (int64_t)((1ull << bits) - 1);
   } else {
      *hi = (int64_t)(UINT64_MAX >> (65 - bits));
      *lo = -*hi - 1;
   }
   return true;
}

static TlAxisInfo
nothing_known(const TlType *t)
{
   TlAxisInfo r = {0};
   for (unsigned d = 0; d < TL_MAX_RANK; d++)
      r.contiguity[d] = r.divisibility[d] = r.constancy[d] = 1;
   r.has_range = t && type_range(t, &r.lo, &r.hi);
   return r;
}

/* ---- reading facts ---- */
/* Divides the first element of every aligned group of g along d. */
static uint32_t
div_at(const TlAxisInfo *a, const TlType *t, unsigned d, uint32_t g)
{
   assert(d < TL_MAX_RANK);
   if (g >= a->contiguity[d])
      return a->divisibility[d];
   return min32(a->divisibility[d], capped_product(g, pow2_divisor(step_of(t))));
}

/* Divides every element. */
static uint32_t
div_all(const TlAxisInfo *a, const TlType *t)
{
   uint32_t best = 1;
   for (unsigned d = 0; d < num_dims(t); d++)
      best = max32(best, div_at(a, t, d, 1));
   return best;
}

bool
tl_axis_known(const TlAxisInfo *info, int64_t *value)
{
   *value = info->lo;
   return info->has_range && info->lo == info->hi;
}

static bool
is_non_negative(const TlAxisInfo *a, const TlType *t)
{
   return (a->has_range && a->lo >= 0) || !tl_dtype_is_signed(tl_type_elem(t)->dtype);
}

/* ---- building facts ---- */
/* lo..hi without limit.  Signed: what lies outside does not happen.  Unsigned: it wraps. */
static void
set_range(TlAxisInfo *r, const TlType *t, TlWide lo, TlWide hi)
{
   assert(lo <= hi);
   int64_t min, max;
   r->has_range = type_range(t, &min, &max);
   if (!r->has_range)
      return;
   bool fits = lo >= min && hi <= max;
   if (!fits && !tl_dtype_is_signed(tl_type_elem(t)->dtype))
      lo = min, hi = max;
   r->lo = (int64_t)(lo < min ? min : lo > max ? max : lo);
   r->hi = (int64_t)(hi > max ? max : hi < min ? min : hi);
}

/* Unsigned results may wrap inside a contiguity group, unless the group is aligned to its size. */
static void
limit_to_aligned(TlAxisInfo *r)
{
   for (unsigned d = 0; d < TL_MAX_RANK; d++)
      r->contiguity[d] = min32(r->contiguity[d], r->divisibility[d]);
}

static void
finish(TlAxisInfo *r, const TlType *t)
{
   int64_t value;
   bool known = tl_axis_known(r, &value) && is_int_type(t);
   for (unsigned d = 0; d < num_dims(t); d++) {
      if (known) {
         r->constancy[d] = dim(t, d);
         r->contiguity[d] = 1;
         r->divisibility[d] = pow2_divisor((uint64_t)value);
      }
      assert(r->contiguity[d] && r->contiguity[d] <= dim(t, d));
      assert(r->constancy[d] && r->constancy[d] <= dim(t, d));
   }
}

typedef struct Call {
   TlAnalysis *a;
   const TlOp *op;
   const TlType *type;      /* of result 0 */
   const TlAxisInfo *x, *y; /* operands 0 and 1, NULL when there is none */
   const TlType *tx, *ty;
} Call;

typedef void Transfer(const Call *c, TlAxisInfo *r);

/* Equal operands give equal elements. */
static void
common_constancy(const Call *c, TlAxisInfo *r)
{
   for (unsigned d = 0; d < num_dims(c->type); d++) {
      r->constancy[d] = dim(c->type, d);
      for (unsigned i = 0; i < c->op->num_args; i++)
         r->constancy[d] =
            min32(r->constancy[d], tl_axis_info(c->a, tl_arg(c->op, i))->constancy[d]);
   }
}

/* ---- sources ---- */
static void
tr_constant(const Call *c, TlAxisInfo *r)
{
   for (unsigned d = 0; d < num_dims(c->type); d++)
      r->constancy[d] = dim(c->type, d);
   if (!is_int_type(c->type))
      return;
   int64_t v = tl_bits_to_int(tl_type_elem(c->type)->dtype, tl_attr_bits(c->op, TL_ATTR_VALUE));
   set_range(r, c->type, v, v);
   for (unsigned d = 0; d < num_dims(c->type); d++)
      r->divisibility[d] = pow2_divisor((uint64_t)v);
}

static void
tr_program_id(const Call *c, TlAxisInfo *r)
{
   bool x = tl_attr_int(c->op, TL_ATTR_AXIS) == 0; /* CUDA's grid limits: 2^31 - 1, 65535, 65535 */
   bool is_id = c->op->opcode == TL_OP_PROGRAM_ID;
   int64_t most = x ? INT32_MAX : 65535;
   set_range(r, c->type, is_id ? 0 : 1, is_id ? most - 1 : most);
}

static void
tr_block_id(const Call *c, TlAxisInfo *r)
{
   bool is_id = c->op->opcode == TL_OP_BLOCK_ID;
   set_range(r, c->type, is_id ? 0 : 1, is_id ? INT32_MAX - 1 : INT32_MAX);
}

static void
tr_arange(const Call *c, TlAxisInfo *r)
{
   int64_t start = tl_attr_int(c->op, TL_ATTR_START), end = tl_attr_int(c->op, TL_ATTR_END);
   r->contiguity[0] = dim(c->type, 0);
   r->divisibility[0] = pow2_divisor((uint64_t)start);
   set_range(r, c->type, start, end - 1);
}

/* ---- arithmetic ---- */
static void
copy_range(TlAxisInfo *r, const TlAxisInfo *from)
{
   r->has_range = from->has_range;
   r->lo = from->lo;
   r->hi = from->hi;
}

/* Of op(x, y); false where it is not known. */
static bool
interval(const Call *c, const TlAxisInfo *x, TlInterval *out)
{
   const TlAxisInfo *y = c->y;
   return x->has_range && y->has_range &&
          tl_interval_of(c->op->opcode, (TlInterval){x->lo, x->hi}, (TlInterval){y->lo, y->hi},
                         out);
}

static void
set_interval(const Call *c, TlAxisInfo *r, const TlAxisInfo *x)
{
   TlInterval range;
   if (interval(c, x, &range))
      set_range(r, c->type, range.lo, range.hi);
}

/* r's contiguity is set; divisibility and range of a sum or difference follow. */
static void
finish_sum(const Call *c, TlAxisInfo *r)
{
   int64_t min, max;
   TlInterval range;
   for (unsigned d = 0; d < num_dims(c->type); d++)
      r->divisibility[d] =
         min32(div_at(c->x, c->tx, d, r->contiguity[d]), div_at(c->y, c->ty, d, r->contiguity[d]));
   bool known = interval(c, c->x, &range), has = type_range(c->type, &min, &max);
   if (known)
      set_range(r, c->type, range.lo, range.hi);
   if (!tl_dtype_is_signed(tl_type_elem(c->type)->dtype) &&
       (!has || !known || range.lo < min || range.hi > max))
      limit_to_aligned(r);
}

static void
tr_add(const Call *c, TlAxisInfo *r)
{
   if (!is_int_type(c->type))
      return;
   for (unsigned d = 0; d < num_dims(c->type); d++)
      r->contiguity[d] = max32(min32(c->x->contiguity[d], c->y->constancy[d]),
                               min32(c->x->constancy[d], c->y->contiguity[d]));
   finish_sum(c, r);
}

static void
tr_sub(const Call *c, TlAxisInfo *r)
{
   if (!is_int_type(c->type))
      return;
   for (unsigned d = 0; d < num_dims(c->type); d++)
      r->contiguity[d] = min32(c->x->contiguity[d], c->y->constancy[d]);
   finish_sum(c, r);
}

static void
scale(const Call *c, TlAxisInfo *r, uint32_t factor)
{
   for (unsigned d = 0; d < num_dims(c->type); d++)
      r->divisibility[d] = capped_product(div_at(c->x, c->tx, d, 1), factor);
}

static void
tr_mul(const Call *c, TlAxisInfo *r)
{
   if (!is_int_type(c->type))
      return;
   for (unsigned d = 0; d < num_dims(c->type); d++)
      r->divisibility[d] = capped_product(div_at(c->x, c->tx, d, 1), div_at(c->y, c->ty, d, 1));
   set_interval(c, r, c->x);
}

static void
tr_shl(const Call *c, TlAxisInfo *r)
{
   int64_t count;
   if (!tl_axis_known(c->y, &count) || count < 0 ||
       count >= tl_dtype_info[tl_type_elem(c->type)->dtype].bits)
      return;
   scale(c, r, pow2_divisor(1ull << count));
   set_interval(c, r, c->x);
}

/* What nothing bounds has its type's least value, or for i64 that of the i32 it was made from; the
 * number of a block times its size, which the number of blocks bounds, has that but for rounding.
 * An `arange - 3` has a bound, -3, and is meant to go below zero. */
bool
tl_axis_takes_index(TlAnalysis *a, const TlOp *op)
{
   if (op->opcode != TL_OP_DIV && op->opcode != TL_OP_REM)
      return false;
   const TlType *t = tl_arg(op, 0)->type;
   const TlAxisInfo *x = tl_axis_info(a, tl_arg(op, 0));
   if (t->kind != TL_TYPE_TILE || !is_int_type(t) || !x->has_range || x->lo > INT32_MIN / 2)
      return false;
   for (unsigned d = 0; d < t->rank; d++)
      if (x->contiguity[d] > 1)
         return true;
   return false;
}

/* The dividend's range, without what it is assumed not to be. */
static TlAxisInfo
dividend_range(const Call *c)
{
   TlAxisInfo x = *c->x;
   if (tl_axis_takes_index(c->a, c->op)) {
      x.lo = 0;
      x.hi = x.hi < 0 ? 0 : x.hi;
   }
   return x;
}

/* Groups of consecutive values that start at multiples of their size, and whose divisor is a
 * multiple of that size too, have one quotient.  `divisor` is the power of two in the divisor. */
static uint32_t
quotient_run(const Call *c, unsigned d, uint32_t divisor)
{
   uint32_t g = min32(c->x->contiguity[d], divisor);
   return div_at(c->x, c->tx, d, g) >= g ? g : 1;
}

static void
tr_div(const Call *c, TlAxisInfo *r)
{
   int64_t v;
   if (!is_int_type(c->type))
      return;
   bool known = tl_axis_known(c->y, &v) && v > 0;
   TlAxisInfo x = dividend_range(c);
   bool non_negative = is_non_negative(&x, c->tx);
   for (unsigned d = 0; d < num_dims(c->type); d++) {
      uint32_t run = min32(quotient_run(c, d, div_all(c->y, c->ty)), c->y->constancy[d]);
      if (non_negative)
         r->constancy[d] = max32(r->constancy[d], run);
      if (known && pow2_divisor((uint64_t)v) == (uint64_t)v)
         r->divisibility[d] = max32(1, div_at(c->x, c->tx, d, 1) / (uint32_t)v);
   }
   set_interval(c, r, &x);
}

static void
tr_rem(const Call *c, TlAxisInfo *r)
{
   if (!is_int_type(c->type))
      return;
   TlAxisInfo x = dividend_range(c);
   bool non_negative = is_non_negative(&x, c->tx);
   uint32_t divisor = div_all(c->y, c->ty);
   for (unsigned d = 0; d < num_dims(c->type); d++) {
      uint32_t g = non_negative ? min32(quotient_run(c, d, divisor), c->y->constancy[d]) : 1;
      if (div_at(c->x, c->tx, d, g) < g)
         g = 1;
      r->contiguity[d] = g;
      r->divisibility[d] = min32(div_at(c->x, c->tx, d, g), divisor);
   }
   set_interval(c, r, &x);
}

static void
tr_shr(const Call *c, TlAxisInfo *r)
{
   int64_t count;
   if (!tl_axis_known(c->y, &count) || count < 0 ||
       count >= tl_dtype_info[tl_type_elem(c->type)->dtype].bits)
      return;
   uint32_t divisor = pow2_divisor(1ull << count);
   for (unsigned d = 0; d < num_dims(c->type); d++) {
      r->constancy[d] = max32(r->constancy[d], quotient_run(c, d, divisor));
      r->divisibility[d] = max32(1, div_at(c->x, c->tx, d, 1) >> (count > 30 ? 30 : count));
   }
   set_interval(c, r, c->x);
}

/* Low bits that a known mask keeps (2^k - 1 keeps a run of consecutive values) or clears. */
static void
tr_and(const Call *c, TlAxisInfo *r)
{
   int64_t mask;
   bool known = tl_axis_known(c->y, &mask);
   for (unsigned d = 0; d < num_dims(c->type); d++) {
      uint32_t kept = known ? pow2_divisor(~(uint64_t)mask) : 1;
      uint32_t cleared = known ? pow2_divisor((uint64_t)mask) : 1;
      uint32_t g = quotient_run(c, d, kept);
      r->contiguity[d] = g;
      r->constancy[d] = max32(r->constancy[d], quotient_run(c, d, cleared));
      r->divisibility[d] = g > 1 ? div_at(c->x, c->tx, d, g)
                                 : max32(div_at(c->x, c->tx, d, 1), div_at(c->y, c->ty, d, 1));
   }
   set_interval(c, r, c->x);
}

static void
tr_or_xor(const Call *c, TlAxisInfo *r)
{
   for (unsigned d = 0; d < num_dims(c->type); d++)
      r->divisibility[d] = min32(div_at(c->x, c->tx, d, 1), div_at(c->y, c->ty, d, 1));
   set_interval(c, r, c->x);
}

static void
tr_neg(const Call *c, TlAxisInfo *r)
{
   if (!is_int_type(c->type))
      return;
   for (unsigned d = 0; d < num_dims(c->type); d++)
      r->divisibility[d] = div_at(c->x, c->tx, d, 1);
   if (c->x->has_range)
      set_range(r, c->type, -(TlWide)c->x->hi, -(TlWide)c->x->lo);
}

static void
tr_abs(const Call *c, TlAxisInfo *r)
{
   if (!is_int_type(c->type))
      return;
   for (unsigned d = 0; d < num_dims(c->type); d++)
      r->divisibility[d] = div_at(c->x, c->tx, d, 1);
   if (!c->x->has_range)
      return;
   TlWide a = -(TlWide)c->x->lo, b = c->x->hi;
   set_range(r, c->type,
             c->x->lo > 0   ? c->x->lo
             : c->x->hi < 0 ? -(TlWide)c->x->hi
                            : 0,
             a > b ? a : b);
}

static void
tr_min_max(const Call *c, TlAxisInfo *r)
{
   if (!is_int_type(c->type))
      return;
   for (unsigned d = 0; d < num_dims(c->type); d++)
      r->divisibility[d] = min32(div_at(c->x, c->tx, d, 1), div_at(c->y, c->ty, d, 1));
   set_interval(c, r, c->x);
}

/* x < b and x >= b are equal over a group of consecutive x that starts at a multiple of its size,
 * when b is a multiple of that size too; likewise b > x and b <= x. */
static void
tr_compare(const Call *c, TlAxisInfo *r)
{
   TlOpcode op = c->op->opcode;
   bool left = op == TL_OP_LT || op == TL_OP_GE;
   if (!is_int_type(c->tx) || op == TL_OP_EQ || op == TL_OP_NE)
      return;
   const TlAxisInfo *run = left ? c->x : c->y, *bound = left ? c->y : c->x;
   for (unsigned d = 0; d < num_dims(c->type); d++) {
      uint32_t g = min32(min32(run->contiguity[d], bound->constancy[d]), div_all(bound, c->ty));
      if (div_at(run, c->tx, d, g) >= g)
         r->constancy[d] = max32(r->constancy[d], g);
   }
}

/* ---- choice ---- */
/* Facts that hold for an element of either. */
static void
join(TlAxisInfo *r, const TlAxisInfo *a, const TlAxisInfo *b, const TlType *t)
{
   TlAxisInfo out = nothing_known(t);
   for (unsigned d = 0; d < num_dims(t); d++) {
      uint32_t g = out.contiguity[d] = min32(a->contiguity[d], b->contiguity[d]);
      out.constancy[d] = min32(a->constancy[d], b->constancy[d]);
      out.divisibility[d] = min32(div_at(a, t, d, g), div_at(b, t, d, g));
   }
   out.assumes_index = a->assumes_index || b->assumes_index;
   if (a->has_range && b->has_range) {
      out.has_range = true;
      out.lo = a->lo < b->lo ? a->lo : b->lo;
      out.hi = a->hi > b->hi ? a->hi : b->hi;
   }
   *r = out;
}

static void
tr_select(const Call *c, TlAxisInfo *r)
{
   const TlAxisInfo *a = c->y, *b = tl_axis_info(c->a, tl_arg(c->op, 2));
   join(r, a, b, c->type);
   for (unsigned d = 0; d < num_dims(c->type); d++) {
      uint32_t same = c->x->constancy[d];
      uint32_t g = min32(r->contiguity[d], same);
      r->divisibility[d] = min32(div_at(a, c->type, d, g), div_at(b, c->type, d, g));
      r->contiguity[d] = g;
      r->constancy[d] = min32(r->constancy[d], same);
   }
}

/* ---- conversions and pointers ---- */
static void
tr_cast(const Call *c, TlAxisInfo *r)
{
   if (!is_int_type(c->type) || !is_int_type(c->tx) || tl_type_elem(c->type)->dtype == TL_I1)
      return;
   int64_t lo, hi;
   bool limited = type_range(c->type, &lo, &hi);
   bool fits =
      limited ? c->x->has_range && c->x->lo >= lo && c->x->hi <= hi : is_non_negative(c->x, c->tx);
   unsigned bits = tl_dtype_info[tl_type_elem(c->type)->dtype].bits;
   uint32_t half = 1u << (bits > 31 ? 30 : bits - 1);
   for (unsigned d = 0; d < num_dims(c->type); d++) {
      r->contiguity[d] = c->x->contiguity[d];
      r->divisibility[d] = c->x->divisibility[d];
      if (!fits) /* a group aligned to its size stays within one half of the type */
         r->contiguity[d] = min32(r->contiguity[d], min32(r->divisibility[d], half));
      r->divisibility[d] = div_at(c->x, c->tx, d, r->contiguity[d]);
   }
   if (fits && limited)
      copy_range(r, c->x);
}

static void
tr_bitcast(const Call *c, TlAxisInfo *r)
{
   if (is_int_type(c->type) && is_int_type(c->tx)) {
      tr_cast(c, r);
      return;
   }
   const TlType *from = tl_type_elem(c->tx), *to = tl_type_elem(c->type);
   if (from->kind == TL_TYPE_PTR && to->kind == TL_TYPE_PTR && step_of(c->tx) == step_of(c->type)) {
      *r = *c->x; /* addresses of bools are read as bytes */
      return;
   }
   bool address = (from->kind == TL_TYPE_PTR || is_int_type(from)) &&
                  (to->kind == TL_TYPE_PTR || is_int_type(to));
   for (unsigned d = 0; d < num_dims(c->type) && address; d++)
      r->divisibility[d] = div_at(c->x, c->tx, d, 1);
}

static void
tr_addptr(const Call *c, TlAxisInfo *r)
{
   uint32_t bytes = pow2_divisor(step_of(c->type));
   for (unsigned d = 0; d < num_dims(c->type); d++) {
      uint32_t g = max32(min32(c->x->contiguity[d], c->y->constancy[d]),
                         min32(c->x->constancy[d], c->y->contiguity[d]));
      r->contiguity[d] = g;
      r->divisibility[d] =
         min32(div_at(c->x, c->tx, d, g), capped_product(div_at(c->y, c->ty, d, g), bytes));
   }
}

/* ---- shape ---- */
static void
tr_splat(const Call *c, TlAxisInfo *r)
{
   for (unsigned d = 0; d < num_dims(c->type); d++) {
      r->constancy[d] = dim(c->type, d);
      r->divisibility[d] = c->x->divisibility[0];
   }
   copy_range(r, c->x);
}

/* Dimension `to` of the result is dimension `from` of the operand. */
static void
copy_dim(const Call *c, TlAxisInfo *r, unsigned to, unsigned from)
{
   assert(to < TL_MAX_RANK && from < TL_MAX_RANK);
   r->contiguity[to] = c->x->contiguity[from];
   r->divisibility[to] = c->x->divisibility[from];
   r->constancy[to] = c->x->constancy[from];
}

/* Elements along d are equal, or there is only one. */
static void
flat_dim(const Call *c, TlAxisInfo *r, unsigned d)
{
   r->contiguity[d] = 1;
   r->constancy[d] = dim(c->type, d);
   r->divisibility[d] = div_all(c->x, c->tx);
}

static void
tr_broadcast(const Call *c, TlAxisInfo *r)
{
   for (unsigned d = 0; d < num_dims(c->type); d++) {
      if (dim(c->tx, d) == dim(c->type, d))
         copy_dim(c, r, d, d);
      else
         flat_dim(c, r, d);
   }
   copy_range(r, c->x);
}

static void
tr_expand_dims(const Call *c, TlAxisInfo *r)
{
   unsigned axis = (unsigned)tl_attr_int(c->op, TL_ATTR_AXIS);
   assert(axis < num_dims(c->type));
   for (unsigned d = 0; d < num_dims(c->type); d++) {
      if (d == axis)
         flat_dim(c, r, d);
      else
         copy_dim(c, r, d, d > axis ? d - 1 : d);
   }
   copy_range(r, c->x);
}

static void
tr_trans(const Call *c, TlAxisInfo *r)
{
   TlInts order = tl_attr_ints(c->op, TL_ATTR_ORDER);
   assert(order.len == num_dims(c->type));
   for (unsigned d = 0; d < num_dims(c->type); d++)
      copy_dim(c, r, d, (unsigned)order.data[d]);
   copy_range(r, c->x);
}

/* The last dimensions that are larger than 1, or the last of all. */
static unsigned
inner_dim(const TlType *t)
{
   unsigned d = num_dims(t) - 1;
   while (d > 0 && dim(t, d) == 1)
      d--;
   return d;
}

/* Row-major order is kept: runs along the innermost dimension stay runs, as far as the new one
 * goes.  When only dims of size 1 come or go, the others keep their facts. */
static void
tr_reshape(const Call *c, TlAxisInfo *r)
{
   copy_range(r, c->x);
   for (unsigned d = 0; d < num_dims(c->type); d++)
      r->divisibility[d] = div_all(c->x, c->tx);
   if (tl_attr_int(c->op, TL_ATTR_REORDER))
      return;
   unsigned from = num_dims(c->tx), to = num_dims(c->type);
   for (;;) { /* equal dims, from the last on */
      while (from > 0 && dim(c->tx, from - 1) == 1)
         from--;
      while (to > 0 && dim(c->type, to - 1) == 1)
         to--;
      if (from == 0 || to == 0 || dim(c->tx, from - 1) != dim(c->type, to - 1))
         break;
      copy_dim(c, r, --to, --from);
   }
   if (from == 0 || to == 0)
      return;
   unsigned inner = inner_dim(c->type), x_inner = inner_dim(c->tx);
   if (to - 1 != inner || from - 1 != x_inner)
      return;
   uint32_t g = min32(c->x->contiguity[x_inner], dim(c->type, inner));
   r->contiguity[inner] = g;
   r->constancy[inner] = min32(c->x->constancy[x_inner], dim(c->type, inner));
   r->divisibility[inner] = div_at(c->x, c->tx, x_inner, g);
}

static void
tr_same(const Call *c, TlAxisInfo *r)
{
   *r = *c->x;
}

/* Results whose elements are elements of the operands. */
static void
tr_elements(const Call *c, TlAxisInfo *r)
{
   copy_range(r, c->x);
   uint32_t div = div_all(c->x, c->tx);
   if ((c->op->opcode == TL_OP_JOIN || c->op->opcode == TL_OP_CAT) && c->y) {
      TlAxisInfo both;
      join(&both, c->x, c->y, c->tx);
      copy_range(r, &both);
      div = min32(div, div_all(c->y, c->ty));
   }
   for (unsigned d = 0; d < num_dims(c->type); d++)
      r->divisibility[d] = div;
}

static void
tr_load(const Call *c, TlAxisInfo *r)
{
   if (!tl_attr_int(c->op, TL_ATTR_VOLATILE))
      common_constancy(c, r);
}

static void
tr_hint(const Call *c, TlAxisInfo *r)
{
   TlInts values = tl_attr_ints(c->op, TL_ATTR_VALUES);
   int64_t hint = tl_attr_int(c->op, TL_ATTR_HINT);
   *r = *c->x;
   for (unsigned d = 0; d < num_dims(c->type) && d < values.len; d++) {
      uint32_t v = values.data[d] > 0 ? pow2_divisor((uint64_t)values.data[d]) : 1;
      if (hint == TL_HINT_DIVISIBLE)
         r->divisibility[d] = max32(r->divisibility[d], v);
      else if (hint == TL_HINT_CONTIGUOUS)
         r->contiguity[d] = max32(r->contiguity[d], min32(v, dim(c->type, d)));
      else
         r->constancy[d] = max32(r->constancy[d], min32(v, dim(c->type, d)));
   }
}

static Transfer *const transfers[TL_OP_COUNT] = {
   [TL_OP_CONSTANT] = tr_constant,
   [TL_OP_PROGRAM_ID] = tr_program_id,
   [TL_OP_NUM_PROGRAMS] = tr_program_id,
   [TL_OP_BLOCK_ID] = tr_block_id,
   [TL_OP_NUM_BLOCKS] = tr_block_id,
   [TL_OP_ARANGE] = tr_arange,
   [TL_OP_SPLAT] = tr_splat,
   [TL_OP_BROADCAST] = tr_broadcast,
   [TL_OP_EXPAND_DIMS] = tr_expand_dims,
   [TL_OP_RESHAPE] = tr_reshape,
   [TL_OP_TRANS] = tr_trans,
   [TL_OP_CONVERT_LAYOUT] = tr_same,
   [TL_OP_JOIN] = tr_elements,
   [TL_OP_SPLIT] = tr_elements,
   [TL_OP_CAT] = tr_elements,
   [TL_OP_GATHER] = tr_elements,
   [TL_OP_ADD] = tr_add,
   [TL_OP_SUB] = tr_sub,
   [TL_OP_MUL] = tr_mul,
   [TL_OP_DIV] = tr_div,
   [TL_OP_REM] = tr_rem,
   [TL_OP_SHL] = tr_shl,
   [TL_OP_SHR] = tr_shr,
   [TL_OP_AND] = tr_and,
   [TL_OP_OR] = tr_or_xor,
   [TL_OP_XOR] = tr_or_xor,
   [TL_OP_NEG] = tr_neg,
   [TL_OP_ABS] = tr_abs,
   [TL_OP_MIN] = tr_min_max,
   [TL_OP_MAX] = tr_min_max,
   [TL_OP_EQ] = tr_compare,
   [TL_OP_NE] = tr_compare,
   [TL_OP_LT] = tr_compare,
   [TL_OP_LE] = tr_compare,
   [TL_OP_GT] = tr_compare,
   [TL_OP_GE] = tr_compare,
   [TL_OP_SELECT] = tr_select,
   [TL_OP_CAST] = tr_cast,
   [TL_OP_BITCAST] = tr_bitcast,
   [TL_OP_ADDPTR] = tr_addptr,
   [TL_OP_LOAD] = tr_load,
   [TL_OP_HINT] = tr_hint,
};

/* ---- the walk ---- */
static void run_block(TlAnalysis *a, const TlBlock *block);

static void
put(TlAnalysis *a, const TlValue *v, TlAxisInfo info)
{
   assert(v->id < a->num_values);
   finish(&info, v->type);
   a->info[v->id] = info;
   a->is_done[v->id] = true;
}

static void
run_op(TlAnalysis *a, const TlOp *op)
{
   for (unsigned i = 0; i < op->num_results; i++) {
      Call c = {.a = a, .op = op, .type = op->results[i].type};
      if (op->num_args > 0) {
         c.x = tl_axis_info(a, tl_arg(op, 0));
         c.tx = tl_arg(op, 0)->type;
      }
      if (op->num_args > 1) {
         c.y = tl_axis_info(a, tl_arg(op, 1));
         c.ty = tl_arg(op, 1)->type;
      }
      TlAxisInfo r = nothing_known(c.type);
      if (tl_has_trait(op, TL_TRAIT_ELTWISE))
         common_constancy(&c, &r);
      if (transfers[op->opcode])
         transfers[op->opcode](&c, &r);
      r.assumes_index = tl_axis_takes_index(a, op);
      for (unsigned k = 0; k < op->num_args; k++)
         r.assumes_index |= tl_axis_info(a, tl_arg(op, k))->assumes_index;
      put(a, &op->results[i], r);
   }
}

/* x compared with a known value is promised: its range shrinks.  Only of a value whose block always
 * comes to the promise, and not of what a loop carries, as that is joined round by round. */
static void
promise(TlAnalysis *a, const TlBlock *block, const TlOp *compare, unsigned side)
{
   assert(side < compare->num_args);
   const TlValue *x = tl_arg(compare, side);
   int64_t v;
   bool is_own =
      x->def ? x->def->block == block : tl_value_block(x) == block && !block->region->parent;
   if (!is_own || !a->info[x->id].has_range ||
       !tl_axis_known(tl_axis_info(a, tl_arg(compare, 1 - side)), &v))
      return;
   TlOpcode op = compare->opcode;
   bool is_less = op == TL_OP_LT || op == TL_OP_LE, is_strict = op == TL_OP_LT || op == TL_OP_GT;
   TlAxisInfo info = a->info[x->id];
   TlWide lo = info.lo, hi = info.hi;
   if (op == TL_OP_EQ || is_less == (side == 0))
      hi = (TlWide)v - is_strict < hi ? (TlWide)v - is_strict : hi;
   if (op == TL_OP_EQ || is_less == (side == 1))
      lo = (TlWide)v + is_strict > lo ? (TlWide)v + is_strict : lo;
   if (lo > hi)
      return; /* broken: never reached */
   info.lo = (int64_t)lo;
   info.hi = (int64_t)hi;
   put(a, x, info);
}

static void
run_assume(TlAnalysis *a, const TlBlock *block, const TlValue *condition)
{
   const TlOp *op = condition->def;
   if (!op || op->num_args != 2 || !is_int_type(tl_arg(op, 0)->type))
      return;
   switch (op->opcode) {
   case TL_OP_AND:
      run_assume(a, block, tl_arg(op, 0));
      run_assume(a, block, tl_arg(op, 1));
      break;
   case TL_OP_LT:
   case TL_OP_LE:
   case TL_OP_GT:
   case TL_OP_GE:
   case TL_OP_EQ:
      promise(a, block, op, 0);
      promise(a, block, op, 1);
      break;
   default:
      break;
   }
}

static bool
same_facts(const TlAxisInfo *a, const TlAxisInfo *b)
{
   for (unsigned d = 0; d < TL_MAX_RANK; d++)
      if (a->contiguity[d] != b->contiguity[d] || a->divisibility[d] != b->divisibility[d] ||
          a->constancy[d] != b->constancy[d])
         return false;
   return a->has_range == b->has_range && a->assumes_index == b->assumes_index &&
          (!a->has_range || (a->lo == b->lo && a->hi == b->hi));
}

/* Joins `from` into the carried argument; true when that changed it. */
static bool
widen(TlAnalysis *a, const TlValue *arg, const TlAxisInfo *from, unsigned round)
{
   assert(arg->id < a->num_values && a->is_done[arg->id]);
   TlAxisInfo old = a->info[arg->id], joined;
   join(&joined, &old, from, arg->type);
   if (same_facts(&old, &joined))
      return false;
   int64_t lo, hi;
   if (round >= WIDEN_AFTER && joined.has_range && type_range(arg->type, &lo, &hi)) {
      joined.lo = joined.lo < old.lo ? lo : joined.lo;
      joined.hi = joined.hi > old.hi ? hi : joined.hi;
   }
   put(a, arg, round >= MAX_ROUNDS ? nothing_known(arg->type) : joined);
   return true;
}

/* lower + trip * step, between the bounds. */
static TlAxisInfo
index_info(TlAnalysis *a, const TlOp *loop)
{
   assert(loop->opcode == TL_OP_FOR);
   const TlType *t = tl_for_index(loop)->type;
   const TlAxisInfo *lower = tl_axis_info(a, tl_for_lower(loop));
   const TlAxisInfo *upper = tl_axis_info(a, tl_for_upper(loop));
   const TlAxisInfo *step = tl_axis_info(a, tl_for_step(loop));
   TlAxisInfo r = nothing_known(t);
   r.divisibility[0] = min32(lower->divisibility[0], step->divisibility[0]);
   if (!lower->has_range || !upper->has_range || !step->has_range)
      return r;
   if (step->lo > 0 && upper->hi > lower->lo)
      set_range(&r, t, lower->lo, (TlWide)upper->hi - 1);
   else if (step->hi < 0 && upper->lo < lower->hi)
      set_range(&r, t, (TlWide)upper->lo + 1, lower->hi);
   return r;
}

static void
run_for(TlAnalysis *a, const TlOp *op)
{
   assert(op->opcode == TL_OP_FOR && op->num_regions == 1);
   const TlBlock *body = op->regions[0]->block;
   put(a, tl_for_index(op), index_info(a, op));
   for (unsigned i = 0; i < op->num_results; i++)
      put(a, tl_carried(body, i), *tl_axis_info(a, tl_init(op, i)));
   bool changed = true;
   for (unsigned round = 0; changed; round++) {
      run_block(a, body);
      changed = false;
      for (unsigned i = 0; i < op->num_results; i++)
         changed |= widen(a, tl_carried(body, i), tl_axis_info(a, tl_yielded(body, i)), round);
   }
   for (unsigned i = 0; i < op->num_results; i++) /* holds initial and yielded values */
      put(a, &op->results[i], *tl_axis_info(a, tl_carried(body, i)));
}

static void
run_while(TlAnalysis *a, const TlOp *op)
{
   assert(op->opcode == TL_OP_WHILE && op->num_regions == 2);
   const TlBlock *before = op->regions[0]->block, *body = op->regions[1]->block;
   for (unsigned i = 0; i < op->num_results; i++)
      put(a, tl_carried(before, i), *tl_axis_info(a, tl_init(op, i)));
   bool changed = true;
   for (unsigned round = 0; changed; round++) {
      run_block(a, before);
      for (unsigned i = 0; i < op->num_results; i++)
         put(a, tl_carried(body, i), *tl_axis_info(a, tl_yielded(before, i)));
      run_block(a, body);
      changed = false;
      for (unsigned i = 0; i < op->num_results; i++)
         changed |= widen(a, tl_carried(before, i), tl_axis_info(a, tl_yielded(body, i)), round);
   }
   for (unsigned i = 0; i < op->num_results; i++)
      put(a, &op->results[i], *tl_axis_info(a, tl_yielded(before, i)));
}

static void
run_if(TlAnalysis *a, const TlOp *op)
{
   assert(op->opcode == TL_OP_IF && op->num_regions == 2);
   for (unsigned r = 0; r < 2; r++)
      run_block(a, op->regions[r]->block);
   for (unsigned i = 0; i < op->num_results; i++) {
      TlAxisInfo joined;
      TlJoin j = tl_join(op, i);
      join(&joined, tl_axis_info(a, j.in[0]), tl_axis_info(a, j.in[1]), op->results[i].type);
      put(a, &op->results[i], joined);
   }
}

/* Regions that nothing is known about on entry: reduce, scan, map, role. */
static void
run_other_regions(TlAnalysis *a, const TlOp *op)
{
   for (unsigned r = 0; r < op->num_regions; r++) {
      const TlBlock *block = op->regions[r]->block;
      for (unsigned i = 0; i < block->num_args; i++)
         put(a, block->args[i], nothing_known(block->args[i]->type));
      run_block(a, block);
   }
   run_op(a, op);
}

static void
run_block(TlAnalysis *a, const TlBlock *block)
{
   for (const TlOp *op = block->first; op; op = op->next) {
      if (op->opcode == TL_OP_FOR)
         run_for(a, op);
      else if (op->opcode == TL_OP_WHILE)
         run_while(a, op);
      else if (op->opcode == TL_OP_IF)
         run_if(a, op);
      else if (op->opcode == TL_OP_ASSUME)
         run_assume(a, block, tl_arg(op, 0));
      else if (op->num_regions)
         run_other_regions(a, op);
      else
         run_op(a, op);
   }
}

TlAnalysis *
tl_analysis_new(TlArena *arena, const TlFunc *f)
{
   assert(f->body);
   TlAnalysis *a = tl_new(arena, TlAnalysis);
   a->num_values = f->next_value_id;
   a->info = tl_new_array(arena, TlAxisInfo, f->next_value_id);
   a->is_done = tl_new_array(arena, bool, f->next_value_id);
   a->unknown = nothing_known(NULL);
   unsigned arg = 0;
   for (unsigned i = 0; i < f->num_params; i++) {
      const TlParam *p = &f->params[i];
      if (!p->is_runtime || arg == f->body->block->num_args)
         continue;
      const TlValue *v = f->body->block->args[arg++];
      TlAxisInfo info = nothing_known(v->type);
      if (p->divisibility && (is_int_type(v->type) || tl_type_is_ptr_like(v->type)))
         info.divisibility[0] = pow2_divisor(p->divisibility);
      put(a, v, info);
   }
   for (; arg < f->body->block->num_args; arg++)
      put(a, f->body->block->args[arg], nothing_known(f->body->block->args[arg]->type));
   run_block(a, f->body->block);
   return a;
}

const TlAxisInfo *
tl_axis_info(TlAnalysis *a, const TlValue *v)
{
   return v->id < a->num_values && a->is_done[v->id] ? &a->info[v->id] : &a->unknown;
}
