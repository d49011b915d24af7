/* Constants folded, identities applied, control flow with known outcome inlined.
 * Every rewrite is exact: it gives the same bits for all inputs (a NaN may change its payload, as
 * arithmetic on the GPU does not keep payloads either), keeps the type, and leaves no more work
 * than before: operations on tiles never grow in number.  Float identities that would lose a signed
 * zero or a NaN are not applied.  Functions of constants (exp, ...) get eval.c's value, nearer than
 * the GPU's.
 *
 * One walk in order: operands are simplified before their users.  A rule gets an operation and
 * returns the value that replaces its only result, or NULL. */
#include "ir/control.h"
#include "ir/walk.h"
#include "passes/pass.h"

#include <assert.h>
#include <string.h>

typedef struct Fold {
   bool is_typed;
   bool progress;
} Fold;

/* ---- looking at values ---- */
static TlDtype
dtype_of(const TlValue *v)
{
   return tl_type_elem(v->type)->dtype;
}

static bool
is_data(const TlValue *v)
{
   return tl_type_elem(v->type)->kind == TL_TYPE_SCALAR;
}

static bool
is_int(const TlValue *v)
{
   return is_data(v) && tl_dtype_is_int(dtype_of(v));
}

static bool
is_float(const TlValue *v)
{
   return is_data(v) && tl_dtype_is_float(dtype_of(v));
}

static bool
is_bits(const TlValue *v, uint64_t want)
{
   uint64_t bits;
   return tl_is_const(v, &bits) && bits == want;
}

static bool
is_zero(const TlValue *v) /* integer 0 */
{
   return is_int(v) && is_bits(v, 0);
}

static bool
is_int_value(const TlValue *v, int64_t want)
{
   return is_int(v) && is_bits(v, tl_int_to_bits(dtype_of(v), want));
}

static bool
is_int_constant(const TlValue *v, int64_t *value)
{
   TlBits bits;
   if (!is_data(v) || !is_int(v) || !tl_is_const(v, &bits))
      return false;
   *value = tl_bits_to_int(dtype_of(v), bits);
   return true;
}

static bool
is_float_value(const TlValue *v, double want) /* the pattern: tells -0 from 0 */
{
   return is_float(v) && is_bits(v, tl_double_to_bits(dtype_of(v), want, TL_ROUND_NEAREST_EVEN));
}

static TlBuilder
builder_at(TlOp *op)
{
   TlBuilder b = tl_builder_before(op);
   b.range = op->range;
   return b;
}

static TlValue *
constant_like(TlOp *op, uint64_t bits)
{
   assert(op->num_results == 1);
   TlBuilder b = builder_at(op);
   return tl_const_bits(&b, op->results[0].type, bits);
}

/* ---- constants ---- */
/* All operands constant: one evaluation, as all elements are equal. */
static TlValue *
fold_constant_operands(TlOp *op)
{
   enum { MAX_ARGS = 4 };
   TlDtype dtypes[MAX_ARGS];
   TlBits bits[MAX_ARGS];
   if (!tl_has_trait(op, TL_TRAIT_ELTWISE) || op->opcode == TL_OP_ADDPTR ||
       op->num_args > MAX_ARGS || !is_data(&op->results[0]))
      return NULL;
   for (unsigned i = 0; i < op->num_args; i++) {
      if (!is_data(tl_arg(op, i)) || !tl_is_const(tl_arg(op, i), &bits[i]))
         return NULL;
      dtypes[i] = dtype_of(tl_arg(op, i));
   }
   bool undefined = false;
   TlBits result =
      tl_eval(op->opcode, op->attrs, dtype_of(&op->results[0]), dtypes, bits, &undefined);
   return undefined ? NULL : constant_like(op, result);
}

/* Operations that only arrange elements: of a constant they give a constant. */
static TlValue *
fold_arrangement(TlOp *op)
{
   uint64_t bits;
   TlValue *x = tl_arg(op, 0);
   if (x->type == op->results[0].type && op->opcode != TL_OP_TRANS)
      return x;
   if (is_data(x) && tl_is_const(x, &bits))
      return constant_like(op, bits);
   TlBuilder b = builder_at(op);
   const TlType *type = op->results[0].type;
   if (tl_value_is(x, TL_OP_SPLAT)) /* arranging equal elements */
      return tl_type_is_tile(type) ? tl_t1(&b, TL_OP_SPLAT, type, tl_arg(x->def, 0))
                                   : tl_arg(x->def, 0);
   if (op->opcode == TL_OP_BROADCAST && tl_value_is(x, TL_OP_BROADCAST) && !type->layout)
      return tl_t1(&b, TL_OP_BROADCAST, type, tl_arg(x->def, 0));
   if (op->opcode == TL_OP_RESHAPE && tl_value_is(x, TL_OP_RESHAPE) && !type->layout &&
       !tl_attr_int(op, TL_ATTR_REORDER) && !tl_attr_int(x->def, TL_ATTR_REORDER))
      return tl_t1(&b, TL_OP_RESHAPE, type, tl_arg(x->def, 0));
   return NULL;
}

/* A tile whose elements are one scalar: that, or a new scalar constant; NULL for other tiles. */
static TlValue *
scalar_of(TlBuilder *b, TlValue *v)
{
   uint64_t bits;
   if (tl_value_is(v, TL_OP_SPLAT))
      return tl_arg(v->def, 0);
   return is_data(v) && tl_is_const(v, &bits) ? tl_const_bits(b, tl_type_elem(v->type), bits)
                                              : NULL;
}

/* op(splat a, splat b) = splat(op(a, b)).  TYPED only: later, layouts have been chosen. */
static TlValue *
fold_splats(TlOp *op)
{
   enum { MAX_ARGS = 3 };
   const TlType *type = op->results[0].type;
   TlValue *args[MAX_ARGS];
   bool any = false;
   if (!tl_has_trait(op, TL_TRAIT_ELTWISE) || !tl_type_is_tile(type) || type->layout ||
       op->num_args > MAX_ARGS)
      return NULL;
   for (unsigned i = 0; i < op->num_args; i++) {
      uint64_t bits;
      bool is_splat = tl_value_is(tl_arg(op, i), TL_OP_SPLAT);
      if (!is_splat && !(is_data(tl_arg(op, i)) && tl_is_const(tl_arg(op, i), &bits)))
         return NULL;
      any |= is_splat;
   }
   if (!any)
      return NULL;
   TlBuilder b = builder_at(op);
   for (unsigned i = 0; i < op->num_args; i++)
      args[i] = scalar_of(&b, tl_arg(op, i));
   TlOp *scalar = tl_op_new(&b, op->opcode, op->num_args, 1, 0);
   memcpy(scalar->attrs, op->attrs, sizeof scalar->attrs);
   for (unsigned i = 0; i < op->num_args; i++)
      tl_set_arg(scalar, i, args[i]);
   scalar->results[0].type = tl_type_elem(type);
   return tl_t1(&b, TL_OP_SPLAT, type, tl_result(scalar, 0));
}

static bool
is_identity_order(TlInts order)
{
   for (size_t i = 0; i < order.len; i++)
      if (order.data[i] != (int64_t)i)
         return false;
   return true;
}

static TlValue *
fold_trans(TlOp *op)
{
   assert(op->opcode == TL_OP_TRANS);
   TlInts outer = tl_attr_ints(op, TL_ATTR_ORDER);
   TlValue *x = tl_arg(op, 0);
   if (is_identity_order(outer))
      return x;
   if (!tl_value_is(x, TL_OP_TRANS))
      return NULL;
   TlInts inner = tl_attr_ints(x->def, TL_ATTR_ORDER);
   int64_t both[TL_MAX_RANK];
   for (size_t i = 0; i < outer.len; i++) /* result dim i = inner dim outer[i] = x dim .. */
      both[i] = inner.data[outer.data[i]];
   if (is_identity_order((TlInts){both, outer.len}))
      return tl_arg(x->def, 0)->type == op->results[0].type ? tl_arg(x->def, 0) : NULL;
   if (op->results[0].type->layout)
      return NULL;
   TlBuilder b = builder_at(op);
   return tl_b1(&b, TL_OP_TRANS, tl_arg(x->def, 0),
                {TL_ATTR_ORDER, {.ints = tl_ints(b.module->arena, both, outer.len)}});
}

/* ---- identities of two operands ---- */
/* (x op c1) op c2 = x op (c1 op c2): add, mul, and, or, xor wrap and associate. */
static TlValue *
fold_reassociate(TlOp *op)
{
   assert(op->num_args == 2);
   TlValue *x = tl_arg(op, 0), *c2 = tl_arg(op, 1);
   uint64_t bits[2];
   if (!is_int(x) || !tl_value_is(x, op->opcode) || !tl_is_const(c2, &bits[1]) ||
       !tl_is_const(tl_arg(x->def, 1), &bits[0]))
      return NULL;
   TlDtype dtypes[2] = {dtype_of(x), dtype_of(x)};
   bool undefined = false;
   TlBits c = tl_eval(op->opcode, op->attrs, dtypes[0], dtypes, bits, &undefined);
   if (undefined)
      return NULL;
   TlBuilder b = builder_at(op);
   return tl_b2(&b, op->opcode, tl_arg(x->def, 0), tl_const_bits(&b, x->type, c));
}

/* Registers that are all constants, not all equal. */
static bool
is_pick_of_constants(const TlValue *v)
{
   uint64_t bits;
   if (!tl_value_is(v, TL_OP_PICK))
      return false;
   for (unsigned i = 0; i < v->def->num_args; i++)
      if (!tl_is_const(tl_arg(v->def, i), &bits))
         return false;
   return true;
}

/* Of registers: splat(a) + (splat(b) + constants) = splat(a + b) + constants, in any order. */
static TlValue *
fold_add_uniform_first(TlOp *op)
{
   for (unsigned k = 0; k < 2; k++) {
      TlValue *a = tl_arg(op, k), *sum = tl_arg(op, 1 - k);
      if (!is_int(a) || !tl_value_is(a, TL_OP_SPLAT) || !tl_value_is(sum, TL_OP_ADD))
         continue;
      for (unsigned i = 0; i < 2; i++) {
         TlValue *b = tl_arg(sum->def, i), *constants = tl_arg(sum->def, 1 - i);
         if (!tl_value_is(b, TL_OP_SPLAT) || !is_pick_of_constants(constants))
            continue;
         TlBuilder at = builder_at(op);
         TlValue *uniform = tl_b2(&at, TL_OP_ADD, tl_arg(a->def, 0), tl_arg(b->def, 0));
         return tl_b2(&at, TL_OP_ADD, tl_t1(&at, TL_OP_SPLAT, a->type, uniform), constants);
      }
   }
   return NULL;
}

static TlValue *
fold_add(TlOp *op)
{
   TlValue *x = tl_arg(op, 0), *y = tl_arg(op, 1);
   if (is_zero(y) || is_float_value(y, -0.0)) /* x + -0 keeps the sign of a zero */
      return x;
   TlValue *folded = fold_reassociate(op);
   return folded ? folded : fold_add_uniform_first(op);
}

static TlValue *
fold_sub(TlOp *op)
{
   TlValue *x = tl_arg(op, 0), *y = tl_arg(op, 1);
   if (is_zero(y) || is_float_value(y, 0.0))
      return x;
   if (x == y && is_int(x))
      return constant_like(op, 0);
   return NULL;
}

static TlValue *
fold_mul(TlOp *op)
{
   TlValue *x = tl_arg(op, 0), *y = tl_arg(op, 1);
   if (is_int_value(y, 1) || is_float_value(y, 1.0))
      return x;
   if (is_zero(y))
      return constant_like(op, 0);
   return fold_reassociate(op);
}

/* No element is negative, whatever the launch. */
static bool
is_count(const TlValue *v)
{
   const TlOp *op = v->def;
   int64_t by;
   if (!op)
      return false;
   switch (op->opcode) {
   case TL_OP_PROGRAM_ID:
   case TL_OP_NUM_PROGRAMS:
      return true;
   case TL_OP_ARANGE:
      return tl_attr_int(op, TL_ATTR_START) >= 0;
   case TL_OP_SPLAT:
      return is_count(tl_arg(op, 0));
   case TL_OP_CAST:
      return dtype_of(v) == TL_I64 && dtype_of(tl_arg(op, 0)) == TL_I32 && is_count(tl_arg(op, 0));
   case TL_OP_DIV:
   case TL_OP_REM:
      return is_int_constant(tl_arg(op, 1), &by) && by > 0 && is_count(tl_arg(op, 0));
   default:
      return false;
   }
}

/* An i64 that holds what an i32 does. */
static bool
was_i32(const TlValue *v)
{
   int64_t n;
   if (is_int_constant(v, &n))
      return n >= INT32_MIN && n <= INT32_MAX;
   if (tl_value_is(v, TL_OP_SPLAT))
      return was_i32(tl_arg(v->def, 0));
   return tl_value_is(v, TL_OP_CAST) && dtype_of(tl_arg(v->def, 0)) == TL_I32;
}

static TlValue *
as_i32(TlBuilder *b, TlValue *v)
{
   const TlType *elem = tl_type_scalar(b->func->module->types, TL_I32);
   const TlType *type = tl_type_with_elem(b->func->module->types, v->type, elem);
   int64_t n;
   assert(was_i32(v));
   if (is_int_constant(v, &n))
      return tl_const_bits(b, type, tl_int_to_bits(TL_I32, n));
   if (tl_value_is(v, TL_OP_SPLAT))
      return tl_t1(b, TL_OP_SPLAT, type, as_i32(b, tl_arg(v->def, 0)));
   return tl_arg(v->def, 0);
}

/* i64(a) / i64(b) = i64(a / b) for 32-bit numbers, of which the quotient is a third of the work;
 * only the smallest by -1 leaves them, and no count is that.  Programs of many rows write
 * program_id(0).to(int64) before all that follows. */
static TlValue *
fold_to_i32_division(TlOp *op)
{
   const TlType *type = op->results[0].type;
   TlValue *x = tl_arg(op, 0), *y = tl_arg(op, 1);
   if (dtype_of(&op->results[0]) != TL_I64 || !was_i32(x) || !was_i32(y) || !is_count(x))
      return NULL;
   TlBuilder b = builder_at(op);
   x = as_i32(&b, x);
   y = as_i32(&b, y);
   TlOp *narrow = tl_op_new(&b, op->opcode, 2, 1, 0);
   tl_set_arg(narrow, 0, x);
   tl_set_arg(narrow, 1, y);
   narrow->results[0].type = x->type;
   return tl_t1(&b, TL_OP_CAST, type, tl_result(narrow, 0));
}

static TlValue *
fold_div(TlOp *op)
{
   TlValue *x = tl_arg(op, 0), *y = tl_arg(op, 1);
   return is_int_value(y, 1) || is_float_value(y, 1.0) ? x : fold_to_i32_division(op);
}

static TlValue *
fold_rem(TlOp *op)
{
   return is_int_value(tl_arg(op, 1), 1) ? constant_like(op, 0) : fold_to_i32_division(op);
}

static TlValue *
fold_and(TlOp *op)
{
   TlValue *x = tl_arg(op, 0), *y = tl_arg(op, 1);
   if (x == y || is_int_value(y, -1))
      return x;
   return is_zero(y) ? y : fold_reassociate(op);
}

static TlValue *
fold_or(TlOp *op)
{
   TlValue *x = tl_arg(op, 0), *y = tl_arg(op, 1);
   if (x == y || is_zero(y))
      return x;
   return is_int_value(y, -1) ? y : fold_reassociate(op);
}

/* x ^ (x ^ y): how sums of two by xor give one of them, as sorts do. */
static TlValue *
other_of_xor(const TlValue *x, const TlValue *both)
{
   if (!tl_value_is(both, TL_OP_XOR))
      return NULL;
   TlValue *a = tl_arg(both->def, 0), *b = tl_arg(both->def, 1);
   return x == a ? b : x == b ? a : NULL;
}

/* x ^ (c ? d : 0) is c ? x ^ d : x.  Where d is an xor as well, as in exchanges of sorts, three
 * operands are one instruction (LOP3), with a choice between not. */
static TlValue *
fold_xor_of_choice(TlOp *op, TlValue *x, TlValue *choice)
{
   if (!tl_value_is(choice, TL_OP_SELECT) || choice->uses->next)
      return NULL;
   TlValue *d = tl_arg(choice->def, 1);
   if (!is_zero(tl_arg(choice->def, 2)) || !tl_value_is(d, TL_OP_XOR))
      return NULL;
   TlBuilder b = builder_at(op);
   return tl_b3(&b, TL_OP_SELECT, tl_arg(choice->def, 0), tl_b2(&b, TL_OP_XOR, x, d), x);
}

static TlValue *
fold_xor(TlOp *op)
{
   TlValue *x = tl_arg(op, 0), *y = tl_arg(op, 1), *other = other_of_xor(x, y);
   if (is_zero(y))
      return x;
   if (other || (other = other_of_xor(y, x)))
      return other;
   TlValue *chosen = fold_xor_of_choice(op, x, y);
   if (chosen || (chosen = fold_xor_of_choice(op, y, x)))
      return chosen;
   return x == y ? constant_like(op, 0) : fold_reassociate(op);
}

static TlValue *
fold_shift(TlOp *op)
{
   return is_zero(tl_arg(op, 1)) ? tl_arg(op, 0) : NULL;
}

static TlValue *
fold_min_max(TlOp *op)
{
   return tl_arg(op, 0) == tl_arg(op, 1) ? tl_arg(op, 0) : NULL;
}

static TlValue *
fold_neg(TlOp *op)
{
   TlValue *x = tl_arg(op, 0);
   return tl_value_is(x, TL_OP_NEG) ? tl_arg(x->def, 0) : NULL;
}

static TlValue *
fold_select(TlOp *op)
{
   TlValue *cond = tl_arg(op, 0), *a = tl_arg(op, 1), *b = tl_arg(op, 2);
   uint64_t bits;
   if (a == b)
      return a;
   if (tl_is_const(cond, &bits))
      return bits ? a : b;
   if (cond->type == a->type && is_bits(a, 1) && is_bits(b, 0)) /* i1 */
      return cond;
   return NULL;
}

/* ---- casts ---- */
/* Every value of `from` is a value of `to`. */
static bool
is_lossless(TlDtype from, TlDtype to)
{
   assert(from < TL_DTYPE_COUNT && to < TL_DTYPE_COUNT);
   const TlDtypeInfo *f = &tl_dtype_info[from], *t = &tl_dtype_info[to];
   bool from_float = tl_dtype_is_float(from), to_float = tl_dtype_is_float(to);
   if (from == to)
      return true;
   if (from_float != to_float)
      return false;
   if (from_float)
      return f->bits < t->bits && f->mantissa <= t->mantissa && f->exponent <= t->exponent;
   if (to == TL_I1)
      return false;
   if (tl_dtype_is_signed(from))
      return tl_dtype_is_signed(to) && f->bits <= t->bits;
   return f->bits < t->bits || (f->bits == t->bits && !tl_dtype_is_signed(to));
}

static TlValue *
fold_cast(TlOp *op)
{
   TlValue *x = tl_arg(op, 0);
   const TlType *type = op->results[0].type;
   if (x->type == type)
      return x;
   if (!tl_value_is(x, TL_OP_CAST) || !is_lossless(dtype_of(tl_arg(x->def, 0)), dtype_of(x)))
      return NULL;
   TlValue *source = tl_arg(x->def, 0);
   if (source->type == type) /* fp8e5 has Inf, but narrowing to it saturates */
      return dtype_of(source) == TL_FP8E5 ? NULL : source;
   TlBuilder b = builder_at(op);
   return tl_t1(&b, TL_OP_CAST, type, source,
                {TL_ATTR_ROUNDING, {.i = tl_attr_int(op, TL_ATTR_ROUNDING)}});
}

static TlValue *
fold_bitcast(TlOp *op)
{
   TlValue *x = tl_arg(op, 0);
   const TlType *type = op->results[0].type;
   if (x->type == type)
      return x;
   if (!tl_value_is(x, TL_OP_BITCAST))
      return NULL;
   TlValue *source = tl_arg(x->def, 0);
   TlBuilder b = builder_at(op);
   return source->type == type ? source : tl_t1(&b, TL_OP_BITCAST, type, source);
}

static TlValue *
fold_addptr(TlOp *op)
{
   return is_zero(tl_arg(op, 1)) ? tl_arg(op, 0) : NULL;
}

/* ---- comparisons ---- */
/* Low bits that are 0 in every element, whatever the launch: 6 of pid * 64. */
static unsigned
low_zeros(const TlValue *v, unsigned depth)
{
   enum { MAX_DEPTH = 8 };
   uint64_t bits;
   unsigned n = 0, other;
   if (tl_is_const(v, &bits)) {
      while (n < 64 && !(bits >> n & 1))
         n++;
      return n;
   }
   if (!v->def || depth == MAX_DEPTH)
      return 0;
   switch (v->def->opcode) {
   case TL_OP_CAST:
      return is_int(tl_arg(v->def, 0)) ? low_zeros(tl_arg(v->def, 0), depth + 1) : 0;
   case TL_OP_SPLAT:
      return low_zeros(tl_arg(v->def, 0), depth + 1);
   case TL_OP_MUL:
      n = low_zeros(tl_arg(v->def, 0), depth + 1) + low_zeros(tl_arg(v->def, 1), depth + 1);
      return n < 64 ? n : 64;
   case TL_OP_ADD:
      n = low_zeros(tl_arg(v->def, 0), depth + 1);
      other = low_zeros(tl_arg(v->def, 1), depth + 1);
      return n < other ? n : other;
   default:
      return 0;
   }
}

/* Bits that hold every element; 64 where nothing tells. */
static unsigned
bits_of_range(const TlValue *v)
{
   const TlOp *op = v->def;
   if (tl_value_is(v, TL_OP_CAST) && is_int(tl_arg(op, 0)))
      return bits_of_range(tl_arg(op, 0));
   if (!tl_value_is(v, TL_OP_ARANGE) || tl_attr_int(op, TL_ATTR_START) < 0)
      return 64;
   unsigned n = 0;
   for (uint64_t last = (uint64_t)tl_attr_int(op, TL_ATTR_END) - 1; last; last >>= 1)
      n++;
   return n;
}

/* The value that v shows in another shape. */
static TlValue *
before_shapes(TlValue *v)
{
   while (tl_value_is(v, TL_OP_EXPAND_DIMS) || tl_value_is(v, TL_OP_BROADCAST))
      v = tl_arg(v->def, 0);
   return v;
}

/* v with `with` where before_shapes(v) stands; `with` may be of another element type. */
static TlValue *
in_shapes_of(TlBuilder *b, TlValue *v, TlValue *with)
{
   if (!tl_value_is(v, TL_OP_EXPAND_DIMS) && !tl_value_is(v, TL_OP_BROADCAST))
      return with;
   TlValue *arg = in_shapes_of(b, tl_arg(v->def, 0), with);
   const TlType *t = tl_type_with_elem(b->func->module->types, v->type, tl_type_elem(with->type));
   TlOp *op = tl_op_new(b, v->def->opcode, 1, 1, 0);
   tl_set_arg(op, 0, arg);
   memcpy(op->attrs, v->def->attrs, sizeof op->attrs);
   op->results[0].type = t;
   return tl_result(op, 0);
}

/* Of splat(s) + range, where s is a multiple of a power of two that no element of the range
 * reaches: the range, and s in *base.  Their sum neither carries nor wraps. */
static TlValue *
above_base(TlValue *v, TlValue **base)
{
   if (!is_int(v) || !tl_value_is(v, TL_OP_ADD))
      return NULL;
   for (unsigned k = 0; k < 2; k++) {
      TlValue *splat = tl_arg(v->def, k), *rest = tl_arg(v->def, 1 - k);
      if (tl_value_is(splat, TL_OP_SPLAT) && low_zeros(splat, 0) >= bits_of_range(rest)) {
         *base = tl_arg(splat->def, 0);
         return rest;
      }
   }
   return NULL;
}

/* What two values of one type that differ from x and y alike compare as x and y do: without a base
 * that both have, or as they were before both were widened. */
static bool
comparable(TlValue **x, TlValue **y)
{
   TlValue *base[2], *a = above_base(*x, &base[0]), *b = above_base(*y, &base[1]);
   if (a && b && base[0] == base[1]) {
      *x = a;
      *y = b;
      return true;
   }
   if (!tl_value_is(*x, TL_OP_CAST) || !tl_value_is(*y, TL_OP_CAST))
      return false;
   a = tl_arg((*x)->def, 0);
   b = tl_arg((*y)->def, 0);
   if (!is_int(a) || !is_int(b) || dtype_of(a) != dtype_of(b) || dtype_of(a) == TL_I1 ||
       !is_lossless(dtype_of(a), dtype_of(*x)))
      return false;
   *x = a;
   *y = b;
   return true;
}

/* Bounds of a signed value: a constant, a count, or the index of a loop that counts up from or to a
 * constant. */
static void
find_bounds(const TlValue *v, int64_t *lo, int64_t *hi)
{
   int64_t n;
   *lo = INT64_MIN;
   *hi = INT64_MAX;
   if (is_count(v))
      *lo = 0;
   if (is_int_constant(v, &n))
      *lo = *hi = n;
   while (tl_value_is(v, TL_OP_SPLAT) ||
          (tl_value_is(v, TL_OP_CAST) && dtype_of(v) == TL_I64 && was_i32(v)))
      v = tl_arg(v->def, 0);
   const TlOp *loop = v->def ? NULL : v->block->region->parent;
   if (!loop || loop->opcode != TL_OP_FOR || tl_for_index(loop) != v ||
       !is_int_constant(tl_for_step(loop), &n) || n <= 0)
      return;
   if (is_int_constant(tl_for_lower(loop), &n))
      *lo = n;
   if (is_int_constant(tl_for_upper(loop), &n) && n > INT64_MIN)
      *hi = n - 1;
}

/* A comparison that every value within the bounds answers alike. */
static TlValue *
fold_bounded(TlOp *op)
{
   bool turns = op->opcode == TL_OP_GT || op->opcode == TL_OP_GE; /* y < x, y <= x */
   TlValue *x = tl_arg(op, turns), *y = tl_arg(op, !turns);
   int64_t lo[2], hi[2];
   if (!is_int(x) || (dtype_of(x) != TL_I32 && dtype_of(x) != TL_I64))
      return NULL;
   find_bounds(x, &lo[0], &hi[0]);
   find_bounds(y, &lo[1], &hi[1]);
   bool is_less = hi[0]<lo[1], is_greater = lo[0]> hi[1], yes = false, no = false;
   if (op->opcode == TL_OP_LT || op->opcode == TL_OP_GT) {
      yes = is_less;
      no = lo[0] >= hi[1];
   } else if (op->opcode == TL_OP_LE || op->opcode == TL_OP_GE) {
      yes = hi[0] <= lo[1];
      no = is_greater;
   } else if (op->opcode == TL_OP_EQ) {
      no = is_less || is_greater;
   } else if (op->opcode == TL_OP_NE) {
      yes = is_less || is_greater;
   }
   return yes || no ? constant_like(op, yes) : NULL;
}

/* (pid * 64 + row) < (pid * 64 + column), both in 0..63: row < column. */
static TlValue *
fold_compare(TlOp *op)
{
   assert(op->num_args == 2);
   TlValue *known = fold_bounded(op);
   if (known)
      return known;
   TlValue *x = before_shapes(tl_arg(op, 0)), *y = before_shapes(tl_arg(op, 1));
   if (!is_int(x) || !comparable(&x, &y))
      return NULL;
   TlBuilder b = builder_at(op);
   x = in_shapes_of(&b, tl_arg(op, 0), x);
   y = in_shapes_of(&b, tl_arg(op, 1), y);
   return tl_b2(&b, op->opcode, x, y);
}

static TlValue *
fold_compare_equal(TlOp *op) /* eq, le, ge of one integer with itself */
{
   if (tl_arg(op, 0) == tl_arg(op, 1) && is_int(tl_arg(op, 0)))
      return constant_like(op, 1);
   return fold_compare(op);
}

static TlValue *
fold_compare_unequal(TlOp *op) /* ne, lt, gt */
{
   if (tl_arg(op, 0) == tl_arg(op, 1) && is_int(tl_arg(op, 0)))
      return constant_like(op, 0);
   return fold_compare(op);
}

/* ---- memory: known masks ---- */
static TlValue *
fold_load(TlOp *op)
{
   assert(op->opcode == TL_OP_LOAD);
   uint64_t mask;
   if (op->num_args < 2 || !tl_is_const(tl_arg(op, 1), &mask))
      return NULL;
   if (!mask)
      return op->num_args > 2 && !tl_attr_int(op, TL_ATTR_VOLATILE) ? tl_arg(op, 2) : NULL;
   TlBuilder b = builder_at(op);
   TlOp *load = tl_op_new(&b, TL_OP_LOAD, 1, 1, 0);
   tl_set_arg(load, 0, tl_arg(op, 0));
   memcpy(load->attrs, op->attrs, sizeof load->attrs);
   load->results[0].type = op->results[0].type;
   return tl_result(load, 0);
}

typedef TlValue *Rule(TlOp *op);

#define fold_none NULL
static Rule *const rules[TL_OP_COUNT] = {
#define TL_OP(id, name, args, n, infer, layout, eval, fold, ...) [TL_OP_##id] = fold_##fold,
#include "ir/ops.def"
};

/* ---- operations without result, and control flow ---- */
/* True when op is gone. */
static bool
fold_effect(Fold *f, TlOp *op)
{
   uint64_t bits;
   bool gone = false;
   if (op->opcode == TL_OP_STORE && op->num_args > 2 && tl_is_const(tl_arg(op, 2), &bits)) {
      gone = !bits;
      f->progress = true;
      if (bits)
         tl_remove_arg(op, 2);
   } else if (op->opcode == TL_OP_ASSUME && tl_is_const(tl_arg(op, 0), &bits) && bits) {
      f->progress = gone = true;
   }
   if (gone)
      tl_remove(op);
   return gone;
}

/* The region's operations take op's place; its yielded values replace the results.  Returns the
 * first of them, or what follows op. */
static TlOp *
inline_region(TlOp *op, TlRegion *region)
{
   assert(region->parent == op);
   assert(region->block->last && tl_has_trait(region->block->last, TL_TRAIT_TERM));
   TlOp *end = region->block->last;
   TlOp *first = region->block->first == end ? op->next : region->block->first;
   for (unsigned i = 0; i < op->num_results; i++)
      if (op->results[i].uses)
         tl_replace_uses(tl_result(op, i), tl_arg(end, i));
   while (region->block->first != end)
      tl_move_before(region->block->first, op);
   tl_remove(op);
   return first;
}

static int64_t
const_int(const TlValue *v, bool *known)
{
   uint64_t bits;
   *known = *known && tl_is_const(v, &bits);
   return *known ? tl_bits_to_int(dtype_of(v), bits) : 0;
}

typedef enum Trips { TRIPS_UNKNOWN, TRIPS_NONE, TRIPS_ONE, TRIPS_NONE_OR_ONE } Trips;

static bool
is_program_id(const TlValue *v)
{
   while (tl_value_is(v, TL_OP_CAST) && tl_type_elem(v->type)->dtype == TL_I64)
      v = tl_arg(v->def, 0);
   return tl_value_is(v, TL_OP_PROGRAM_ID);
}

/* Is v = of + 1, or the least of that and others? */
static Trips
follows(const TlValue *v, const TlValue *of, unsigned depth)
{
   uint64_t more;
   if (depth && tl_value_is(v, TL_OP_MIN) &&
       (follows(tl_arg(v->def, 0), of, depth - 1) || follows(tl_arg(v->def, 1), of, depth - 1)))
      return TRIPS_NONE_OR_ONE;
   for (unsigned k = 0; k < 2 && tl_value_is(v, TL_OP_ADD); k++)
      if (tl_arg(v->def, k) == of && tl_is_const(tl_arg(v->def, 1 - k), &more) && more == 1)
         return TRIPS_ONE;
   return TRIPS_UNKNOWN;
}

/* for h in range(pid, pid + 1), or to min(pid + 1, n): a program's number has a next one, so the
 * sum does not wrap. */
static Trips
trips_of_program(const TlOp *loop)
{
   enum { MAX_DEPTH = 4 };
   uint64_t step;
   const TlValue *lower = tl_for_lower(loop);
   if (!is_program_id(lower) || !tl_is_const(tl_for_step(loop), &step) ||
       tl_bits_to_int(dtype_of(lower), step) < 1)
      return TRIPS_UNKNOWN;
   return follows(tl_for_upper(loop), lower, MAX_DEPTH);
}

/* Bounds are compared in the signedness of their type. */
static Trips
count_trips(const TlOp *loop)
{
   assert(loop->opcode == TL_OP_FOR);
   bool known = true;
   Trips trips = trips_of_program(loop);
   if (trips != TRIPS_UNKNOWN)
      return trips;
   int64_t lo = const_int(tl_for_lower(loop), &known);
   int64_t hi = const_int(tl_for_upper(loop), &known);
   int64_t step = const_int(tl_for_step(loop), &known);
   bool is_signed = tl_dtype_is_signed(dtype_of(tl_for_index(loop)));
   if (!known || step == 0 || (!is_signed && (lo < 0 || hi < 0 || step < 0)))
      return TRIPS_UNKNOWN;
   if (step > 0 ? lo >= hi : lo <= hi)
      return TRIPS_NONE;
   uint64_t distance = step > 0 ? (uint64_t)hi - (uint64_t)lo : (uint64_t)lo - (uint64_t)hi;
   uint64_t stride = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
   return stride >= distance ? TRIPS_ONE : TRIPS_UNKNOWN;
}

/* A carried value that every trip yields unchanged is its initial value. */
static bool
fold_unchanged(TlOp *loop)
{
   assert(loop->opcode == TL_OP_FOR);
   TlBlock *body = loop->regions[0]->block;
   bool progress = false;
   for (unsigned i = 0; i < loop->num_results; i++) {
      TlValue *arg = tl_carried(body, i), *init = tl_init(loop, i), *yielded = tl_yielded(body, i);
      if (yielded != arg && yielded != init)
         continue;
      if (loop->results[i].uses) {
         tl_replace_uses(tl_result(loop, i), init);
         progress = true;
      }
      bool only_yielded = yielded == arg && arg->uses && !arg->uses->next;
      if (arg->uses && !only_yielded) {
         tl_replace_uses(arg, init);
         progress = true;
      }
   }
   return progress;
}

/* A loop that runs at most once is its body under a condition. */
static TlOp *
loop_to_if(TlOp *loop)
{
   TlFunc *f = tl_op_func(loop);
   TlBuilder b = builder_at(loop);
   unsigned n = loop->num_results;
   const TlType **types = tl_new_array(f->module->arena, const TlType *, n + 1);
   TlValue **values = tl_new_array(f->module->arena, TlValue *, n + 1);
   TlBlock *body = loop->regions[0]->block;
   for (unsigned i = 0; i < n; i++)
      types[i] = tl_result(loop, i)->type;
   TlValue *runs = tl_b2(&b, TL_OP_LT, tl_for_lower(loop), tl_for_upper(loop));
   TlOp *branch = tl_build(&b, TL_OP_IF, &runs, 1, types, n, NULL, 0, 2);
   tl_replace_uses(tl_for_index(loop), tl_for_lower(loop));
   for (unsigned i = 0; i < n; i++)
      tl_replace_uses(tl_carried(body, i), tl_init(loop, i));
   for (unsigned r = 0; r < 2; r++) {
      TlBuilder in = tl_builder_inside(f, branch, r, loop->range);
      while (r == 0 && body->first != body->last)
         tl_move_to_end(body->first, in.block);
      for (unsigned i = 0; i < n; i++)
         values[i] = r == 0 ? tl_yielded(body, i) : tl_init(loop, i);
      tl_build_yield(&in, values, n);
   }
   for (unsigned i = 0; i < n; i++)
      tl_replace_uses(tl_result(loop, i), tl_result(branch, i));
   tl_remove(loop);
   return branch;
}

/* Returns where to go on, or NULL when op stays. */
static TlOp *
fold_for(Fold *f, TlOp *op)
{
   assert(op->opcode == TL_OP_FOR);
   Trips trips = count_trips(op);
   TlOp *next = op->next;
   if (trips == TRIPS_UNKNOWN) {
      f->progress |= fold_unchanged(op);
      return NULL;
   }
   f->progress = true;
   if (trips == TRIPS_NONE_OR_ONE)
      return loop_to_if(op);
   if (trips == TRIPS_ONE) {
      tl_replace_uses(tl_for_index(op), tl_for_lower(op));
      for (unsigned i = 0; i < op->num_results; i++)
         tl_replace_uses(tl_carried(op->regions[0]->block, i), tl_init(op, i));
      return inline_region(op, op->regions[0]);
   }
   for (unsigned i = 0; i < op->num_results; i++)
      tl_replace_uses(tl_result(op, i), tl_init(op, i));
   tl_remove(op);
   return next;
}

static TlOp *
fold_if(Fold *f, TlOp *op)
{
   assert(op->opcode == TL_OP_IF && op->num_regions == 2);
   uint64_t cond;
   if (tl_is_const(tl_arg(op, 0), &cond)) {
      f->progress = true;
      return inline_region(op, op->regions[cond ? 0 : 1]);
   }
   for (unsigned i = 0; i < op->num_results; i++) {
      TlJoin join = tl_join(op, i);
      TlValue *a = join.in[0];
      if (a == join.in[1] && op->results[i].uses && !tl_is_defined_in(a, op)) {
         tl_replace_uses(tl_result(op, i), a);
         f->progress = true;
      }
   }
   return NULL;
}

/* ---- the walk ---- */
/* Constants to the right, so that the rules look there only. */
static void
order_operands(Fold *f, TlOp *op)
{
   uint64_t bits;
   if (!tl_has_trait(op, TL_TRAIT_COMMUTES) || op->num_args != 2 ||
       !tl_is_const(tl_arg(op, 0), &bits) || tl_is_const(tl_arg(op, 1), &bits))
      return;
   TlValue *x = tl_arg(op, 0), *y = tl_arg(op, 1);
   tl_set_arg(op, 0, y);
   tl_set_arg(op, 1, x);
   f->progress = true;
}

/* Removes op when a rule gives another value for its result. */
static bool
fold_value(Fold *f, TlOp *op)
{
   if (op->num_results != 1 || op->num_regions)
      return false;
   order_operands(f, op);
   TlValue *v = fold_constant_operands(op);
   if (!v && rules[op->opcode])
      v = rules[op->opcode](op);
   if (!v)
      v = fold_splats(op);
   if (!v)
      return false;
   if (!v->name)
      v->name = op->results[0].name;
   if (op->results[0].uses)
      tl_replace_uses(tl_result(op, 0), v);
   tl_remove(op);
   f->progress = true;
   return true;
}

/* max(fp32(x)) = fp32(max(x)), and min, of 16-bit floats that are made wide for that alone: the
 * machine compares two of them at once, and they are not unpacked. */
static void
narrow_extremum(Fold *f, TlOp *op)
{
   assert(op->opcode == TL_OP_REDUCE);
   const TlBlock *body = op->regions[0]->block;
   TlValue *x = tl_arg(op, 0);
   TlOp *shaped = tl_value_is(x, TL_OP_RESHAPE) && !x->uses->next ? x->def : NULL; /* all axes */
   const TlValue *made = shaped ? tl_arg(shaped, 0) : x;
   bool is_extremum = tl_combined_by(op) == TL_OP_MAX || tl_combined_by(op) == TL_OP_MIN;
   if (!is_extremum || body->first->next != body->last || body->num_args != 2 ||
       !tl_value_is(made, TL_OP_CAST) || dtype_of(made) != TL_FP32 || made->uses->next)
      return;
   TlValue *source = tl_arg(made->def, 0);
   if (dtype_of(source) != TL_FP16 && dtype_of(source) != TL_BF16)
      return;
   TlBuilder b = tl_builder_before(op->next);
   b.range = op->range;
   const TlType *elem = tl_type_elem(source->type), *type = op->results[0].type;
   for (unsigned i = 0; i < body->num_args; i++)
      body->args[i]->type = elem;
   body->first->results[0].type = elem;
   tl_set_arg(shaped ? shaped : op, 0, source);
   if (shaped)
      x->type = tl_type_with_elem(b.module->types, x->type, elem);
   op->results[0].type =
      type->kind == TL_TYPE_SCALAR ? elem : tl_type_with_elem(b.module->types, type, elem);
   TlOp *wide = tl_op_new(&b, TL_OP_CAST, 1, 1, 0);
   wide->results[0].type = type;
   wide->results[0].name = op->results[0].name;
   tl_replace_uses(tl_result(op, 0), tl_result(wide, 0));
   tl_set_arg(wide, 0, tl_result(op, 0));
   f->progress = true;
}

static void
visit_block(Fold *f, TlBlock *block)
{
   TlOp *next;
   for (TlOp *op = block->first; op; op = next) {
      next = op->next;
      TlOp *again = op->opcode == TL_OP_FOR  ? fold_for(f, op)
                    : op->opcode == TL_OP_IF ? fold_if(f, op)
                                             : NULL;
      if (again) {
         next = again;
         continue;
      }
      if (fold_value(f, op) || fold_effect(f, op))
         continue;
      if (op->opcode == TL_OP_REDUCE && f->is_typed)
         narrow_extremum(f, op);
      for (unsigned r = 0; r < op->num_regions; r++)
         visit_block(f, op->regions[r]->block);
   }
}

bool
tl_pass_fold(TlPassCx *cx, TlFunc *func)
{
   (void)cx;
   Fold f = {.is_typed = func->state == TL_STATE_TYPED};
   visit_block(&f, func->body->block);
   return f.progress;
}
