/* Addresses that differ by constants share one: of addptr(p, base + c) with constants c, one
 * address a group is computed and the others are that address plus a constant, which memory
 * instructions take for nothing.
 *
 * An offset is a sum of terms (registers of other values) and a constant.  Offsets of fewer bits
 * than an address wrap, so the constant may leave the sum only when that cannot happen: no bit of
 * it may be set in the terms, so that adding it does not carry, or the terms' range leaves room for
 * it (rows of 92 elements: bits say nothing of a multiple of 92).  Possible bits and the range of
 * every value are found in one walk.  Registers whose terms agree form a group; a register for
 * which nothing is known is a group of its own.  A single address is the first of its block with
 * the same terms plus a constant. */
#include "ir/control.h"
#include "ir/interval.h"
#include "ir/walk.h"
#include "passes/pass.h"
#include "passes/pick.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TERMS = 6, MAX_DEPTH = 12 };

typedef struct Term {
   uint32_t value; /* id */
   uint32_t reg;
   int64_t times;
} Term;

typedef struct Sum {
   Term term[MAX_TERMS]; /* sorted after the first, which is the pointer */
   uint32_t num_terms;
   int64_t constant; /* in elements */
   uint64_t bits;    /* of the terms' sum: those that may be set */
   TlInterval range; /* of the terms' sum, as if it had no limit */
   uint32_t reg;     /* of the addptr */
} Sum;

typedef struct Leader {
   Sum sum;
   TlValue *address;
} Leader;

typedef struct Split {
   TlPassCx *cx;
   TlTypes *types;
   uint64_t *bits;    /* by value id: bits that may be set in any register, integers only */
   TlInterval *range; /* by value id: of any register, integers only */
   uint32_t num_values;
   TlMap sources;          /* pick -> TlPickSource[] */
   TlMap casts;            /* widening cast -> Groups */
   bool of_scalars;        /* sums of scalars are taken apart as well */
   TL_VEC(Leader) leaders; /* of the block that is walked */
   const TlBlock *leaders_of;
   bool progress;
} Split;

static uint32_t
count_of(const TlValue *v)
{
   return tl_type_num_regs(v->type);
}

static TlPickSource
source_of(Split *s, const TlOp *pick, uint32_t reg)
{
   assert(pick->opcode == TL_OP_PICK);
   TlPickSource *table = tl_map_get(&s->sources, pick);
   if (!table) {
      uint32_t *count = tl_new_array(s->cx->scratch, uint32_t, pick->num_args);
      for (unsigned i = 0; i < pick->num_args; i++)
         count[i] = count_of(tl_arg(pick, i));
      table = tl_pick_sources(s->cx->scratch, count, pick->num_args);
      tl_map_put(&s->sources, pick, table);
   }
   return table[tl_attr_ints(pick, TL_ATTR_INDEX).data[reg]];
}

/* ---- bits that may be set ---- */
static uint64_t
width_mask(const TlValue *v)
{
   unsigned bits = tl_dtype_info[tl_type_elem(v->type)->dtype].bits;
   return bits >= 64 ? ~0ull : (1ull << bits) - 1;
}

static bool
is_int(const TlValue *v)
{
   const TlType *elem = tl_type_elem(v->type);
   return elem->kind == TL_TYPE_SCALAR && tl_dtype_is_int(elem->dtype);
}

/* All bits from the lowest set one up. */
static uint64_t
from_lowest(uint64_t bits)
{
   return bits ? ~((bits & (0 - bits)) - 1) : 0;
}

static uint64_t
bits_of_sum(uint64_t a, uint64_t b)
{
   return (a & b) == 0 ? a | b : from_lowest(a | b);
}

static uint64_t
bits_of_product(uint64_t a, uint64_t b)
{
   if ((b & (b - 1)) == 0) /* a shift, or zero */
      return a * b;
   return from_lowest((a & (0 - a)) * (b & (0 - b)));
}

static uint64_t
known(const Split *s, const TlValue *v)
{
   uint64_t bits;
   if (tl_is_const(v, &bits))
      return bits & width_mask(v);
   return v->id < s->num_values ? s->bits[v->id] : ~0ull;
}

static uint64_t
possible_bits(const Split *s, const TlFunc *f, const TlOp *op)
{
   uint64_t a = op->num_args > 0 && is_int(tl_arg(op, 0)) ? known(s, tl_arg(op, 0)) : ~0ull;
   uint64_t b = op->num_args > 1 && is_int(tl_arg(op, 1)) ? known(s, tl_arg(op, 1)) : ~0ull;
   uint64_t amount;
   bool by_constant = op->num_args > 1 && is_int(tl_arg(op, 1)) &&
                      tl_is_const(tl_arg(op, 1), &amount) &&
                      amount < tl_dtype_info[tl_type_elem(op->results[0].type)->dtype].bits;
   switch (op->opcode) { /* what index arithmetic is made of; of others nothing is known */
   case TL_OP_LANE_ID:
      return 31;
   case TL_OP_WARP_ID: { /* counts warps of a role: at most all */
      uint64_t n = 1;
      while (n < f->num_warps)
         n *= 2;
      return n - 1;
   }
   case TL_OP_SPLAT:
      return a;
   case TL_OP_PICK:
      for (unsigned i = 1; i < op->num_args; i++)
         a |= known(s, tl_arg(op, i));
      return a;
   case TL_OP_ADD:
      return bits_of_sum(a, b);
   case TL_OP_MUL:
      return bits_of_product(a, b);
   case TL_OP_OR:
   case TL_OP_XOR:
      return a | b;
   case TL_OP_AND:
      return a & b;
   case TL_OP_SHL:
      return by_constant ? a << amount : from_lowest(a);
   case TL_OP_SHR: { /* of what may be negative nothing is known */
      uint64_t mask = width_mask(tl_result(op, 0));
      return by_constant && (a & ~(mask >> 1)) == 0 ? a >> amount : ~0ull;
   }
   default:
      return ~0ull;
   }
}

/* ---- ranges ---- */
static TlInterval
type_range(const TlValue *v)
{
   TlDtype t = tl_type_elem(v->type)->dtype;
   unsigned bits = tl_dtype_info[t].bits;
   if (bits == 1) /* true is 1 or -1 */
      return (TlInterval){-1, 1};
   bool is_signed = tl_dtype_is_signed(t);
   TlWide half = (TlWide)1 << (bits - 1);
   return (TlInterval){is_signed ? -half : 0, is_signed ? half - 1 : 2 * half - 1};
}

/* What lies outside the type wraps, so that nothing is known. */
static TlInterval
wrapped(const TlValue *v, TlInterval r)
{
   TlInterval t = type_range(v);
   return r.lo < t.lo || r.hi > t.hi ? t : r;
}

static TlInterval
range_of(const Split *s, const TlValue *v)
{
   uint64_t bits;
   if (!is_int(v))
      return (TlInterval){INT64_MIN, INT64_MAX};
   if (tl_is_const(v, &bits)) {
      int64_t value = tl_bits_to_int(tl_type_elem(v->type)->dtype, bits);
      return wrapped(v, (TlInterval){value, value});
   }
   bool is_found = v->id < s->num_values && s->range[v->id].lo <= s->range[v->id].hi;
   return is_found ? s->range[v->id] : type_range(v);
}

/* Operands of interval arithmetic fit in 64 bits. */
static bool
is_operand(TlInterval r)
{
   return r.lo >= INT64_MIN && r.hi <= INT64_MAX;
}

static TlInterval
possible_range(const Split *s, const TlFunc *f, const TlOp *op)
{
   const TlValue *result = tl_result(op, 0);
   TlInterval all = type_range(result), out;
   if (op->opcode == TL_OP_LANE_ID)
      return (TlInterval){0, 31};
   if (op->opcode == TL_OP_WARP_ID)
      return (TlInterval){0, (TlWide)f->num_warps - 1};
   if (op->num_args == 0 || !is_int(tl_arg(op, 0)))
      return all;
   TlInterval a = range_of(s, tl_arg(op, 0));
   switch (op->opcode) {
   case TL_OP_SPLAT:
   case TL_OP_CAST:
      return wrapped(result, a);
   case TL_OP_PICK:
      for (unsigned i = 1; i < op->num_args; i++) {
         TlInterval b = range_of(s, tl_arg(op, i));
         a = (TlInterval){a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
      }
      return a;
   default:
      break;
   }
   if (op->num_args != 2 || !tl_has_trait(op, TL_TRAIT_ELTWISE) || !is_int(tl_arg(op, 1)))
      return all;
   TlInterval b = range_of(s, tl_arg(op, 1));
   bool is_known = is_operand(a) && is_operand(b) && tl_interval_of(op->opcode, a, b, &out);
   return is_known ? wrapped(result, out) : all;
}

/* Of a loop that counts up and whose index does not wrap on the way out. */
static TlInterval
index_range(const Split *s, const TlOp *loop)
{
   TlInterval lower = range_of(s, tl_for_lower(loop)), upper = range_of(s, tl_for_upper(loop));
   TlInterval step = range_of(s, tl_for_step(loop)), all = type_range(tl_for_index(loop));
   bool goes_up = step.lo > 0 && lower.lo < upper.hi && upper.hi - 1 + step.hi <= all.hi;
   return goes_up ? (TlInterval){lower.lo, upper.hi - 1} : all;
}

static void
find_bits(Split *s, const TlFunc *f, const TlBlock *block)
{
   for (const TlOp *op = block->first; op; op = op->next) {
      if (op->opcode == TL_OP_FOR) { /* lower + k * step */
         const TlValue *index = tl_for_index(op);
         s->bits[index->id] =
            from_lowest(known(s, tl_for_lower(op)) | known(s, tl_for_step(op))) & width_mask(index);
         s->range[index->id] = index_range(s, op);
      }
      for (unsigned i = 0; i < op->num_regions; i++)
         find_bits(s, f, op->regions[i]->block);
      if (op->num_regions == 0 && op->num_results == 1 && is_int(tl_result(op, 0))) {
         s->bits[tl_result(op, 0)->id] = possible_bits(s, f, op) & width_mask(tl_result(op, 0));
         s->range[tl_result(op, 0)->id] = possible_range(s, f, op);
      }
   }
}

/* A parameter with a divisibility fact. */
static void
param_bits(Split *s, const TlFunc *f)
{
   const TlBlock *body = f->body->block;
   for (unsigned i = 0, k = 0; i < f->num_params; i++) {
      if (!f->params[i].is_runtime)
         continue;
      const TlValue *v = body->args[k++];
      if (is_int(v) && f->params[i].divisibility > 1)
         s->bits[v->id] = from_lowest(f->params[i].divisibility) & width_mask(v);
   }
}

/* ---- sums ---- */
static int
compare_terms(const Term *a, const Term *b)
{
   if (a->value != b->value)
      return a->value < b->value ? -1 : 1;
   if (a->reg != b->reg)
      return a->reg < b->reg ? -1 : 1;
   return a->times < b->times ? -1 : a->times > b->times;
}

static TlInterval
times_range(TlInterval r, int64_t times)
{
   TlWide a, b, far = (TlWide)1 << 100; /* from where MAX_TERMS do not overflow */
   if (!is_operand(r) || times < INT32_MIN || times > INT32_MAX)
      return (TlInterval){-far, far};
   a = r.lo * times;
   b = r.hi * times;
   return times < 0 ? (TlInterval){b, a} : (TlInterval){a, b};
}

static bool
add_term(Split *s, Sum *sum, const TlValue *v, uint32_t reg, int64_t times)
{
   assert(reg < count_of(v));
   if (sum->num_terms == MAX_TERMS)
      return false;
   uint32_t at = sum->num_terms++;
   Term t = {v->id, reg, times};
   for (; at > 1 && compare_terms(&sum->term[at - 1], &t) > 0; at--)
      sum->term[at] = sum->term[at - 1];
   sum->term[at] = t;
   sum->bits = bits_of_sum(sum->bits, bits_of_product(known(s, v), (uint64_t)times));
   TlInterval r = times_range(range_of(s, v), times);
   sum->range = (TlInterval){sum->range.lo + r.lo, sum->range.hi + r.hi};
   return true;
}

static int64_t
product(int64_t a, int64_t b) /* wraps */
{
   return (int64_t)((uint64_t)a * (uint64_t)b);
}

/* Whether the constant may be added after the terms' sum, of v's type, was extended: no carry, and
 * the sign is that of the terms; or neither the terms' sum nor the whole wraps. */
static bool
is_separable(const Sum *sum, const TlValue *v)
{
   uint64_t mask = width_mask(v), sign = mask ^ mask >> 1, c = (uint64_t)sum->constant;
   if ((c & ~(mask ^ sign)) == 0 && (c & sum->bits) == 0)
      return true;
   TlInterval all = type_range(v);
   TlWide lo = sum->range.lo, hi = sum->range.hi, by = sum->constant;
   return mask > 1 && lo >= all.lo && hi <= all.hi && lo + by >= all.lo && hi + by <= all.hi;
}

/* The registers of a value whose terms agree: each is its leader, which has the least constant,
 * plus a distance. */
typedef struct Groups {
   uint32_t num;
   int64_t *leader;   /* by group */
   int64_t *group;    /* by register */
   int64_t *distance; /* by register, from the leader of its group */
} Groups;

static int
by_terms(const Sum *a, const Sum *b)
{
   if (a->num_terms != b->num_terms)
      return a->num_terms < b->num_terms ? -1 : 1;
   int order = 0;
   for (uint32_t i = 0; i < a->num_terms && !order; i++)
      order = compare_terms(&a->term[i], &b->term[i]);
   return order;
}

static int
by_terms_then_constant(const void *x, const void *y)
{
   const Sum *a = x, *b = y;
   int order = by_terms(a, b);
   if (order)
      return order;
   if (a->constant != b->constant)
      return a->constant < b->constant ? -1 : 1;
   return a->reg < b->reg ? -1 : 1;
}

static Groups *
group_sums(Split *s, Sum *sum, uint32_t n)
{
   assert(n > 0);
   TlArena *a = s->cx->scratch;
   Groups *g = tl_new(a, Groups);
   *g = (Groups){0, tl_new_array(a, int64_t, n), tl_new_array(a, int64_t, n),
                 tl_new_array(a, int64_t, n)};
   qsort(sum, n, sizeof *sum, by_terms_then_constant);
   int64_t least = 0;
   for (uint32_t i = 0; i < n; i++) {
      if (i == 0 || by_terms(&sum[i], &sum[i - 1]) != 0) {
         g->leader[g->num++] = sum[i].reg;
         least = sum[i].constant;
      }
      g->group[sum[i].reg] = (int64_t)g->num - 1;
      g->distance[sum[i].reg] = sum[i].constant - least;
   }
   return g;
}

static bool add_register(Split *s, Sum *sum, const TlValue *v, uint32_t reg, int64_t times,
                         unsigned depth);

/* Offset register reg as terms and a constant that may be added after the terms' sum was extended
 * to 64 bits; else as one term.  sum holds room for the pointer. */
static void
add_extended(Split *s, Sum *sum, const TlValue *v, uint32_t reg, unsigned depth)
{
   Sum inner = *sum;
   inner.constant = 0;
   if (add_register(s, &inner, v, reg, 1, depth) &&
       (width_mask(v) == ~0ull || is_separable(&inner, v))) {
      inner.constant += sum->constant;
      *sum = inner;
   } else {
      sum->term[sum->num_terms++] = (Term){v->id, reg, 1};
   }
}

/* Of integers made wider. */
static Groups *
groups_of_cast(Split *s, const TlOp *cast, unsigned depth)
{
   assert(cast->opcode == TL_OP_CAST);
   Groups *g = tl_map_get(&s->casts, cast);
   if (!g) {
      const TlValue *from = tl_arg(cast, 0);
      uint32_t n = count_of(from);
      Sum *sum = tl_new_array(s->cx->scratch, Sum, n);
      for (uint32_t r = 0; r < n; r++) {
         sum[r] = (Sum){.num_terms = 1, .reg = r};
         add_extended(s, &sum[r], from, r, depth);
      }
      g = group_sums(s, sum, n);
      tl_map_put(&s->casts, cast, g);
   }
   return g;
}

/* times * register reg of v into the sum.  false: too many terms. */
static bool
add_register(Split *s, Sum *sum, const TlValue *v, uint32_t reg, int64_t times, unsigned depth)
{
   uint64_t bits;
   if (tl_is_const(v, &bits)) {
      sum->constant += product(times, tl_bits_to_int(tl_type_elem(v->type)->dtype, bits));
      return true;
   }
   const TlOp *def = v->def;
   if (!def || depth == MAX_DEPTH)
      return add_term(s, sum, v, reg, times);
   if (def->opcode == TL_OP_SPLAT)
      return add_register(s, sum, tl_arg(def, 0), 0, times, depth + 1);
   if (def->opcode == TL_OP_PICK) {
      TlPickSource from = source_of(s, def, reg);
      return add_register(s, sum, tl_arg(def, from.arg), from.reg, times, depth + 1);
   }
   bool is_taken_apart =
      v->type->kind == TL_TYPE_REGS || (s->of_scalars && v->type->kind == TL_TYPE_SCALAR);
   if (!is_taken_apart)
      return add_term(s, sum, v, reg, times);
   if (def->opcode == TL_OP_MUL && tl_is_const(tl_arg(def, 1), &bits)) {
      int64_t by = tl_bits_to_int(tl_type_elem(v->type)->dtype, bits);
      return add_register(s, sum, tl_arg(def, 0), reg, product(times, by), depth + 1);
   }
   if (def->opcode == TL_OP_CAST && is_int(v) && is_int(tl_arg(def, 0)) &&
       width_mask(tl_arg(def, 0)) < width_mask(v)) {
      const Groups *g = groups_of_cast(s, def, depth + 1);
      sum->constant += product(times, g->distance[reg]);
      return add_term(s, sum, v, (uint32_t)g->leader[g->group[reg]], times);
   }
   if (def->opcode == TL_OP_ADD ||
       (def->opcode == TL_OP_OR && (known(s, tl_arg(def, 0)) & known(s, tl_arg(def, 1))) == 0))
      return add_register(s, sum, tl_arg(def, 0), reg, times, depth + 1) &&
             add_register(s, sum, tl_arg(def, 1), reg, times, depth + 1);
   return add_term(s, sum, v, reg, times);
}

/* The register that v's register is plus a constant. */
static void
pointer_register(Split *s, Sum *sum, const TlValue *v, uint32_t reg)
{
   for (unsigned depth = 0; v->def && depth < MAX_DEPTH; depth++) {
      const TlOp *def = v->def;
      if (def->opcode == TL_OP_SPLAT) {
         reg = 0;
      } else if (def->opcode == TL_OP_PICK) {
         TlPickSource from = source_of(s, def, reg);
         v = tl_arg(def, from.arg);
         reg = from.reg;
         continue;
      } else if (def->opcode == TL_OP_ADDPTR) {
         Sum offset = {0};
         if (!add_register(s, &offset, tl_arg(def, 1), reg, 1, 0) || offset.num_terms)
            break;
         sum->constant += offset.constant;
      } else {
         break;
      }
      v = tl_arg(def, 0);
   }
   sum->term[0] = (Term){v->id, reg, 1};
   sum->num_terms = 1;
}

static Sum
address(Split *s, const TlOp *op, uint32_t reg)
{
   Sum sum = {.reg = reg};
   pointer_register(s, &sum, tl_arg(op, 0), reg);
   add_extended(s, &sum, tl_arg(op, 1), reg, 0);
   return sum;
}

static TlValue *
pick(Split *s, TlBuilder *b, TlValue *v, const int64_t *index, uint32_t n)
{
   assert(n > 0);
   const TlInts *ints = tl_ints(b->module->arena, index, n);
   return tl_t1(b, TL_OP_PICK, tl_type_regs(s->types, tl_type_elem(v->type), n), v,
                {TL_ATTR_INDEX, {.ints = ints}});
}

/* One i64 a register. */
static TlValue *
constants(Split *s, TlBuilder *b, const int64_t *value, uint32_t n)
{
   assert(n > 0);
   TlMap seen;
   TL_VEC(TlValue *) parts = {0};
   int64_t *index = tl_new_array(s->cx->scratch, int64_t, n);
   tl_map_init(&seen, s->cx->scratch);
   for (uint32_t i = 0; i < n; i++) {
      const void *key = (const void *)(uintptr_t)(value[i] + 1);
      uintptr_t at = (uintptr_t)tl_map_get(&seen, key);
      if (!at) {
         tl_vec_push(s->cx->scratch, &parts, tl_const_int(b, TL_I64, value[i]));
         at = parts.len;
         tl_map_put(&seen, key, (void *)at);
      }
      index[i] = (int64_t)at - 1;
   }
   const TlType *type = tl_type_regs(s->types, tl_type_scalar(s->types, TL_I64), n);
   const TlInts *ints = tl_ints(b->module->arena, index, n);
   return tl_build_n(b, TL_OP_PICK, parts.data, (unsigned)parts.len, type,
                     TL_ATTRS_({TL_ATTR_INDEX, {.ints = ints}}));
}

static void
split(Split *s, TlOp *op)
{
   assert(op->opcode == TL_OP_ADDPTR);
   uint32_t n = count_of(tl_result(op, 0));
   Sum *sum = tl_new_array(s->cx->scratch, Sum, n);
   for (uint32_t r = 0; r < n; r++)
      sum[r] = address(s, op, r);
   const Groups *g = group_sums(s, sum, n);
   if (g->num == n)
      return;
   TlBuilder b = tl_builder_before(op);
   TlValue *bases = tl_b2(&b, TL_OP_ADDPTR, pick(s, &b, tl_arg(op, 0), g->leader, g->num),
                          pick(s, &b, tl_arg(op, 1), g->leader, g->num));
   TlValue *from = g->num == 1 ? tl_t1(&b, TL_OP_SPLAT, tl_result(op, 0)->type, bases)
                               : pick(s, &b, bases, g->group, n);
   TlValue *whole = tl_b2(&b, TL_OP_ADDPTR, from, constants(s, &b, g->distance, n));
   tl_replace_uses(tl_result(op, 0), whole);
   tl_remove(op);
   s->progress = true;
}

/* One address: that of an earlier operation of its block plus a constant, if one has the same
 * terms (steps of a loop that was unrolled). */
static void
join_scalar(Split *s, TlOp *op)
{
   assert(op->opcode == TL_OP_ADDPTR && count_of(tl_result(op, 0)) == 1);
   if (s->leaders_of != op->block) {
      s->leaders.len = 0;
      s->leaders_of = op->block;
   }
   s->of_scalars = true;
   Sum sum = address(s, op, 0);
   s->of_scalars = false;
   for (size_t i = 0; i < s->leaders.len; i++) {
      const Leader *l = &s->leaders.data[i];
      if (by_terms(&l->sum, &sum) != 0)
         continue;
      TlBuilder b = tl_builder_before(op);
      TlValue *far = tl_const_int(&b, TL_I64, sum.constant - l->sum.constant);
      tl_replace_uses(tl_result(op, 0), tl_b2(&b, TL_OP_ADDPTR, l->address, far));
      tl_remove(op);
      s->progress = true;
      return;
   }
   tl_vec_push(s->cx->scratch, &s->leaders, ((Leader){sum, tl_result(op, 0)}));
}

static void
split_all(Split *s, const TlBlock *body)
{
   for (TlOp *op = tl_walk_inner(body), *next; op; op = next) {
      next = tl_walk_inner_next(op, body);
      uint64_t bits;
      if (op->opcode == TL_OP_ADDPTR && count_of(tl_result(op, 0)) > 1 &&
          !tl_is_const(tl_arg(op, 1), &bits) && !tl_value_is(tl_arg(op, 1), TL_OP_SPLAT))
         split(s, op);
      else if (op->opcode == TL_OP_ADDPTR && tl_result(op, 0)->type->kind != TL_TYPE_REGS &&
               !tl_is_const(tl_arg(op, 1), &bits))
         join_scalar(s, op);
   }
}

bool
tl_pass_split_addresses(TlPassCx *cx, TlFunc *f)
{
   assert(f->state == TL_STATE_LOWERED);
   Split s = {.cx = cx, .types = f->module->types, .num_values = f->next_value_id};
   s.bits = tl_new_array(cx->scratch, uint64_t, s.num_values);
   memset(s.bits, 0xff, s.num_values * sizeof *s.bits);
   s.range = tl_new_array(cx->scratch, TlInterval, s.num_values);
   for (uint32_t i = 0; i < s.num_values; i++)
      s.range[i] = (TlInterval){1, 0}; /* not found */
   tl_map_init(&s.sources, cx->scratch);
   tl_map_init(&s.casts, cx->scratch);
   param_bits(&s, f);
   find_bits(&s, f, f->body->block);
   split_all(&s, f->body->block);
   return s.progress;
}
