/* Result types of operations: one function for each name in the infer column of ops.def.
 * Invariant: a rule that returns false has set cx->why to a sentence in the user's words with both
 * actual types, fit for a diagnostic.  Elementwise rules compare uniqued types, so that in the LAID
 * state equal shapes in different layouts are refused as well. */
#include "ir/inline_asm.h"
#include "ir/ir.h"
#include "layout/hw_layouts.h"

#include <assert.h>
#include <string.h>

typedef struct Call {
   TlInferCx *cx;
   TlOpcode opcode;
   const TlType *const *args;
   unsigned num_args;
   const TlAttr *attrs;
   const TlType **results; /* wanted types on entry for rules that check them */
   unsigned num_results;
} Call;

typedef bool Rule(Call *c);

#define FAIL(c, ...) ((c)->cx->why = tl_arena_printf((c)->cx->arena, __VA_ARGS__), false)

static const char *
text(const Call *c, const TlType *t)
{
   return t ? tl_type_cstr(c->cx->arena, t) : "nothing";
}

static const char *
op_name(const Call *c)
{
   return tl_op_info[c->opcode].text;
}

static TlAttr
attr(const Call *c, TlAttrKey key)
{
   return c->attrs[tl_attr_at(c->opcode, key)];
}

static TlDtype
dtype_of(const TlType *t)
{
   return tl_type_elem(t)->dtype;
}

static bool
is_data(const TlType *t) /* scalars, and tiles or registers of scalars */
{
   return tl_type_elem(t)->kind == TL_TYPE_SCALAR;
}

static bool
is_bool(const TlType *t)
{
   return is_data(t) && dtype_of(t) == TL_I1;
}

static bool
is_int(const TlType *t)
{
   return is_data(t) && tl_dtype_is_int(dtype_of(t));
}

static bool
is_float(const TlType *t)
{
   return is_data(t) && tl_dtype_is_float(dtype_of(t));
}

static bool
is_pow2(uint64_t n)
{
   return n && !(n & (n - 1));
}

/* The operand's shape and layout with elements of another dtype. */
static const TlType *
like(const Call *c, const TlType *shape, TlDtype dtype)
{
   return tl_type_with_elem(c->cx->types, shape, tl_type_scalar(c->cx->types, dtype));
}

static const TlType *
tile_of(const Call *c, const TlType *elem, unsigned rank, const uint32_t *shape,
        const TlLinear *layout)
{
   return rank ? tl_type_tile(c->cx->types, elem, rank, shape, layout) : elem;
}

static bool
one_result(Call *c, const TlType *t)
{
   c->results[0] = t;
   return true;
}

static bool
want_tile(Call *c, unsigned i)
{
   if (tl_type_is_tile(c->args[i]))
      return true;
   return FAIL(c, "'%s' needs a tile; got %s", op_name(c), text(c, c->args[i]));
}

static bool
want_results(Call *c)
{
   for (unsigned i = 0; i < c->num_results; i++)
      if (!c->results[i])
         return FAIL(c, "the result type of '%s' must be given", op_name(c));
   return true;
}

/* Equal types; a difference of layout is reported as such. */
static bool
want_equal(Call *c, const TlType *a, const TlType *b)
{
   if (a == b)
      return true;
   if (strcmp(text(c, a), text(c, b)) == 0)
      return FAIL(c, "operands of '%s' must have one layout; both are %s", op_name(c), text(c, a));
   return FAIL(c, "operands of '%s' must have one type; got %s and %s", op_name(c), text(c, a),
               text(c, b));
}

static bool
want_all_equal(Call *c)
{
   for (unsigned i = 1; i < c->num_args; i++)
      if (!want_equal(c, c->args[0], c->args[i]))
         return false;
   return true;
}

/* A mask operand: i1 in the shape of `shape`. */
static bool
want_mask(Call *c, const TlType *shape, unsigned i)
{
   const TlType *mask = c->args[i];
   if (mask == like(c, shape, TL_I1))
      return true;
   return FAIL(c, "the mask of '%s' must be %s; got %s", op_name(c), text(c, like(c, shape, TL_I1)),
               text(c, mask));
}

static bool
valid_shape(Call *c, const TlType *t)
{
   if (t->rank > TL_MAX_RANK)
      return FAIL(c, "a tile has at most %d dimensions; got %u", TL_MAX_RANK, t->rank);
   uint64_t n = 1;
   for (unsigned d = 0; d < t->rank; d++) {
      if (!is_pow2(t->shape[d]))
         return FAIL(c, "tile dimensions must be powers of two; dimension %u of %s is %u", d,
                     text(c, t), t->shape[d]);
      n *= t->shape[d];
      if (n > TL_MAX_TILE_ELEMS)
         return FAIL(c, "a tile has at most %d elements; got %s", TL_MAX_TILE_ELEMS, text(c, t));
   }
   return true;
}

/* ---- rules without a relation ---- */
static bool
infer_none(Call *c)
{
   (void)c;
   return true;
}

static bool
infer_given(Call *c)
{
   return want_results(c);
}

static bool
infer_inline_asm(Call *c)
{
   int64_t pack = attr(c, TL_ATTR_PACK).i;
   unsigned in = 0, out = 0;
   if (!want_results(c))
      return false;
   if (pack < 1 || pack > TL_ASM_MAX_PACK || !is_pow2((uint64_t)pack))
      return FAIL(c, "pack of 'inline_asm' must be 1, 2, 4, 8 or 16; got %lld", (long long)pack);
   for (unsigned i = 0; i < c->num_args && in <= TL_ASM_MAX_WORDS; i++)
      in += tl_asm_words(c->args[i], (unsigned)pack);
   for (unsigned i = 0; i < c->num_results && out <= TL_ASM_MAX_WORDS; i++)
      out += tl_asm_words(c->results[i], (unsigned)pack);
   if (in > TL_ASM_MAX_WORDS || out > TL_ASM_MAX_WORDS)
      return FAIL(c, "a call of inline PTX has at most %d registers of inputs and of outputs",
                  TL_ASM_MAX_WORDS);
   const char *constraints = attr(c, TL_ATTR_CONSTRAINTS).s, *ptx = attr(c, TL_ATTR_TEXT).s;
   if (!constraints || !ptx)
      return FAIL(c, "'inline_asm' needs its text and constraints");
   const char *why = tl_asm_refuses(c->cx->arena, constraints, out, in);
   if (why)
      return FAIL(c, "\"%s\" are no constraints of inline PTX: %s", constraints, why);
   why = tl_asm_missing(c->cx->arena, ptx, in + out);
   return !why || FAIL(c, "inline PTX with %u operands names %s", in + out, why);
}

static bool
infer_i32(Call *c)
{
   return one_result(c, tl_type_scalar(c->cx->types, TL_I32));
}

static bool
infer_token(Call *c)
{
   return one_result(c, tl_type_token(c->cx->types));
}

static bool
infer_constant(Call *c)
{
   if (!want_results(c))
      return false;
   if (!is_data(c->results[0]) || tl_type_elem(c->results[0])->kind != TL_TYPE_SCALAR)
      return FAIL(c, "a constant has a scalar dtype; got %s", text(c, c->results[0]));
   return true;
}

/* ---- creation and shape ---- */
static bool
infer_arange(Call *c)
{
   int64_t start = attr(c, TL_ATTR_START).i, end = attr(c, TL_ATTR_END).i;
   if (start < INT32_MIN || end > INT32_MAX || start >= end)
      return FAIL(c, "'arange' needs start < end in the range of i32; got %lld and %lld",
                  (long long)start, (long long)end);
   if (!is_pow2((uint64_t)(end - start)))
      return FAIL(c, "the length of 'arange' must be a power of two; got %lld (from %lld to %lld)",
                  (long long)(end - start), (long long)start, (long long)end);
   if (end - start > TL_MAX_TILE_ELEMS)
      return FAIL(c, "a tile has at most %d elements; got %lld", TL_MAX_TILE_ELEMS,
                  (long long)(end - start));
   uint32_t shape = (uint32_t)(end - start);
   return one_result(
      c, tl_type_tile(c->cx->types, tl_type_scalar(c->cx->types, TL_I32), 1, &shape, NULL));
}

static bool
infer_splat(Call *c)
{
   if (!want_results(c))
      return false;
   const TlType *to = c->results[0], *from = c->args[0];
   if (from->kind != TL_TYPE_SCALAR && from->kind != TL_TYPE_PTR)
      return FAIL(c, "'splat' needs a scalar or pointer; got %s", text(c, from));
   if (tl_type_elem(to) != from)
      return FAIL(c, "'splat' keeps the element type; got %s from %s", text(c, to), text(c, from));
   return true;
}

static bool
infer_broadcast(Call *c)
{
   if (!want_results(c) || !want_tile(c, 0))
      return false;
   const TlType *to = c->results[0], *from = c->args[0];
   if (!tl_type_is_tile(to) || to->elem != from->elem || to->rank != from->rank)
      return FAIL(c, "'broadcast' keeps rank and element type; got %s from %s", text(c, to),
                  text(c, from));
   for (unsigned d = 0; d < to->rank; d++)
      if (from->shape[d] != to->shape[d] && from->shape[d] != 1)
         return FAIL(c,
                     "only dimensions of size 1 are broadcast; dimension %u is %u in %s and %u in "
                     "%s",
                     d, from->shape[d], text(c, from), to->shape[d], text(c, to));
   return true;
}

static bool
infer_expand_dims(Call *c)
{
   if (!want_tile(c, 0))
      return false;
   const TlType *from = c->args[0];
   int64_t axis = attr(c, TL_ATTR_AXIS).i;
   if (from->rank == TL_MAX_RANK)
      return FAIL(c, "a tile has at most %d dimensions; %s has them already", TL_MAX_RANK,
                  text(c, from));
   if (axis < 0 || axis > from->rank)
      return FAIL(c, "axis of 'expand_dims' must be 0 to %u for %s; got %lld", from->rank,
                  text(c, from), (long long)axis);
   uint32_t shape[TL_MAX_RANK];
   unsigned at = (unsigned)axis;
   memcpy(shape, from->shape, at * sizeof shape[0]);
   shape[at] = 1;
   memcpy(shape + at + 1, from->shape + at, (from->rank - at) * sizeof shape[0]);
   TlLinear layout;
   if (from->layout)
      layout = tl_ll_expand(from->layout, at);
   return one_result(c,
                     tile_of(c, from->elem, from->rank + 1u, shape, from->layout ? &layout : NULL));
}

static bool
infer_reshape(Call *c)
{
   if (!want_results(c))
      return false;
   const TlType *to = c->results[0], *from = c->args[0];
   if (tl_type_elem(to) != tl_type_elem(from) || to->kind == TL_TYPE_REGS ||
       from->kind == TL_TYPE_REGS)
      return FAIL(c, "'reshape' keeps the element type; got %s from %s", text(c, to),
                  text(c, from));
   if (tl_type_num_elems(to) != tl_type_num_elems(from))
      return FAIL(c, "'reshape' keeps the number of elements; %s has %llu, %s has %llu",
                  text(c, from), (unsigned long long)tl_type_num_elems(from), text(c, to),
                  (unsigned long long)tl_type_num_elems(to));
   return true;
}

/* Fills shape with the permuted dims; order must be a permutation of 0..rank-1. */
static bool
permute(Call *c, const TlType *from, uint32_t *shape, unsigned *order)
{
   const TlInts *ints = attr(c, TL_ATTR_ORDER).ints;
   if (!ints || ints->len != from->rank)
      return FAIL(c, "'%s' needs one dimension number for each of the %u dimensions of %s; got %zu",
                  op_name(c), from->rank, text(c, from), ints ? ints->len : 0);
   unsigned seen = 0;
   for (unsigned d = 0; d < from->rank; d++) {
      int64_t k = ints->data[d];
      if (k < 0 || k >= from->rank || (seen >> k & 1))
         return FAIL(c, "the order of '%s' must be a permutation of 0 to %d; dimension %lld is %s",
                     op_name(c), from->rank - 1, (long long)k,
                     k < 0 || k >= from->rank ? "out of range" : "named twice");
      seen |= 1u << k;
      order[d] = (unsigned)k;
      shape[d] = from->shape[k];
   }
   return true;
}

static bool
infer_trans(Call *c)
{
   uint32_t shape[TL_MAX_RANK];
   unsigned order[TL_MAX_RANK];
   if (!want_tile(c, 0) || !permute(c, c->args[0], shape, order))
      return false;
   const TlType *from = c->args[0];
   TlLinear layout;
   if (from->layout)
      layout = tl_ll_transpose(from->layout, order);
   return one_result(c, tile_of(c, from->elem, from->rank, shape, from->layout ? &layout : NULL));
}

static bool
infer_join(Call *c)
{
   const TlType *t = c->args[0];
   if (!want_all_equal(c))
      return false;
   if (t->kind == TL_TYPE_REGS || t->rank == TL_MAX_RANK)
      return FAIL(c, "'join' needs tiles of fewer than %d dimensions; got %s", TL_MAX_RANK,
                  text(c, t));
   uint32_t shape[TL_MAX_RANK];
   memcpy(shape, t->shape, t->rank * sizeof shape[0]);
   shape[t->rank] = 2;
   TlLinear layout;
   if (t->layout)
      layout = tl_ll_join(t->layout);
   return one_result(c,
                     tile_of(c, tl_type_elem(t), t->rank + 1u, shape, t->layout ? &layout : NULL));
}

static bool
infer_split(Call *c)
{
   if (!want_tile(c, 0))
      return false;
   const TlType *t = c->args[0];
   if (t->shape[t->rank - 1] != 2)
      return FAIL(c, "'split' needs a last dimension of size 2; got %s", text(c, t));
   TlLinear half;
   unsigned reg_bit;
   if (t->layout && t->rank > 1 && !tl_ll_split(t->layout, &half, &reg_bit))
      return FAIL(c,
                  "'split' needs both halves in registers of one thread; the layout of %s has "
                  "them elsewhere",
                  text(c, t));
   c->results[0] =
      tile_of(c, t->elem, t->rank - 1u, t->shape, t->layout && t->rank > 1 ? &half : NULL);
   c->results[1] = c->results[0];
   return true;
}

static bool
infer_cat(Call *c)
{
   const TlType *a = c->args[0], *b = c->args[1];
   if (!want_tile(c, 0) || !want_tile(c, 1))
      return false;
   if (a->rank != 1 || b->rank != 1 || a->elem != b->elem || a->shape[0] != b->shape[0])
      return FAIL(c, "'cat' needs two one-dimensional tiles of one type; got %s and %s", text(c, a),
                  text(c, b));
   return one_result(c, tile_of(c, a->elem, 1, &(uint32_t){2 * a->shape[0]}, NULL));
}

static bool
infer_gather(Call *c)
{
   const TlType *src = c->args[0], *index = c->args[1];
   int64_t axis = attr(c, TL_ATTR_AXIS).i;
   if (!want_tile(c, 0) || !want_tile(c, 1))
      return false;
   if (!is_int(index) || is_bool(index))
      return FAIL(c, "indices of 'gather' must be integers; got %s", text(c, index));
   if (src->rank != index->rank)
      return FAIL(c, "source and index of 'gather' must have one rank; got %s and %s", text(c, src),
                  text(c, index));
   if (axis < 0 || axis >= src->rank)
      return FAIL(c, "axis of 'gather' must be 0 to %d for %s; got %lld", src->rank - 1,
                  text(c, src), (long long)axis);
   for (unsigned d = 0; d < src->rank; d++)
      if (d != (unsigned)axis && src->shape[d] != index->shape[d])
         return FAIL(c,
                     "source and index of 'gather' must agree except along axis %lld; got %s and "
                     "%s",
                     (long long)axis, text(c, src), text(c, index));
   return one_result(c, tl_type_with_elem(c->cx->types, index, src->elem));
}

/* ---- elementwise ---- */
static bool
infer_same_any(Call *c)
{
   return want_all_equal(c) && one_result(c, c->args[0]);
}

static bool
same_of(Call *c, bool (*is_right)(const TlType *), const char *what)
{
   if (!want_all_equal(c))
      return false;
   if (!is_right(c->args[0]))
      return FAIL(c, "'%s' needs %s; got %s", op_name(c), what, text(c, c->args[0]));
   return one_result(c, c->args[0]);
}

static bool
infer_same(Call *c)
{
   return same_of(c, is_data, "numbers");
}

static bool
infer_same_float(Call *c)
{
   return same_of(c, is_float, "floating-point numbers");
}

static bool
infer_same_int(Call *c)
{
   return same_of(c, is_int, "integers");
}

static bool
infer_compare(Call *c)
{
   if (!want_all_equal(c))
      return false;
   if (!is_data(c->args[0]))
      return FAIL(c, "'%s' compares numbers; got %s", op_name(c), text(c, c->args[0]));
   return one_result(c, like(c, c->args[0], TL_I1));
}

static bool
infer_select(Call *c)
{
   const TlType *cond = c->args[0];
   if (!want_equal(c, c->args[1], c->args[2]))
      return false;
   if (cond != like(c, c->args[1], TL_I1))
      return FAIL(c, "the condition of 'select' must be %s; got %s",
                  text(c, like(c, c->args[1], TL_I1)), text(c, cond));
   return one_result(c, c->args[1]);
}

static bool
infer_cast(Call *c)
{
   if (!want_results(c))
      return false;
   const TlType *to = c->results[0], *from = c->args[0];
   if (!is_data(from) || !is_data(to))
      return FAIL(c, "'cast' converts numbers; got %s to %s", text(c, from), text(c, to));
   if (tl_type_with_elem(c->cx->types, from, tl_type_elem(to)) != to)
      return FAIL(c, "'cast' keeps shape and layout; got %s to %s", text(c, from), text(c, to));
   return true;
}

static unsigned
bits_of(const TlType *elem)
{
   return elem->kind == TL_TYPE_PTR ? 64 : tl_dtype_info[elem->dtype].bits;
}

static bool
infer_bitcast(Call *c)
{
   if (!want_results(c))
      return false;
   const TlType *to = c->results[0], *from = c->args[0];
   const TlType *to_elem = tl_type_elem(to), *from_elem = tl_type_elem(from);
   if ((to_elem->kind != TL_TYPE_SCALAR && to_elem->kind != TL_TYPE_PTR) ||
       (from_elem->kind != TL_TYPE_SCALAR && from_elem->kind != TL_TYPE_PTR) ||
       tl_type_with_elem(c->cx->types, from, to_elem) != to)
      return FAIL(c, "'bitcast' keeps shape and layout; got %s to %s", text(c, from), text(c, to));
   if (bits_of(to_elem) != bits_of(from_elem))
      return FAIL(c, "'bitcast' keeps the width; %s has %u bits, %s has %u", text(c, from_elem),
                  bits_of(from_elem), text(c, to_elem), bits_of(to_elem));
   return true;
}

/* ---- memory ---- */
static bool
want_pointer(Call *c, unsigned i)
{
   if (tl_type_is_ptr_like(c->args[i]))
      return true;
   return FAIL(c, "'%s' needs a pointer or a tile of pointers; got %s", op_name(c),
               text(c, c->args[i]));
}

static const TlType *
pointee(const Call *c, const TlType *ptr)
{
   return tl_type_with_elem(c->cx->types, ptr, tl_type_elem(ptr)->elem);
}

static bool
want_value(Call *c, const TlType *ptr, unsigned i, const char *what)
{
   if (c->args[i] == pointee(c, ptr))
      return true;
   return FAIL(c, "the %s of '%s' must be %s, as the pointer is %s; got %s", what, op_name(c),
               text(c, pointee(c, ptr)), text(c, ptr), text(c, c->args[i]));
}

static bool
want_writable(Call *c, const TlType *ptr)
{
   if (!tl_type_elem(ptr)->is_const)
      return true;
   return FAIL(c, "'%s' needs a pointer that may be written; got %s", op_name(c), text(c, ptr));
}

static bool
infer_addptr(Call *c)
{
   const TlType *ptr = c->args[0], *offset = c->args[1];
   if (!want_pointer(c, 0))
      return false;
   if (!is_int(offset) || is_bool(offset))
      return FAIL(c, "a pointer offset must be an integer; got %s", text(c, offset));
   if (tl_type_with_elem(c->cx->types, ptr, tl_type_elem(offset)) != offset)
      return FAIL(c, "pointer and offset must have one shape; got %s and %s", text(c, ptr),
                  text(c, offset));
   return one_result(c, ptr);
}

static bool
infer_load(Call *c)
{
   const TlType *ptr = c->args[0];
   if (!want_pointer(c, 0) || (c->num_args > 1 && !want_mask(c, ptr, 1)) ||
       (c->num_args > 2 && !want_value(c, ptr, 2, "'other' value")))
      return false;
   return one_result(c, pointee(c, ptr));
}

static bool
infer_store(Call *c)
{
   const TlType *ptr = c->args[0];
   return want_pointer(c, 0) && want_writable(c, ptr) && want_value(c, ptr, 1, "value") &&
          (c->num_args < 3 || want_mask(c, ptr, 2));
}

static bool
want_rmw_dtype(Call *c, const TlType *value)
{
   int64_t op = attr(c, TL_ATTR_RMW).i;
   TlDtype dtype = dtype_of(value);
   unsigned bits = tl_dtype_info[dtype].bits;
   const char *name = tl_attr_word(TL_AK_RMW, op);
   bool is_arith = op == TL_RMW_ADD || op == TL_RMW_MAX || op == TL_RMW_MIN;
   if (is_arith && (dtype == TL_FP16 || dtype == TL_BF16))
      return true;
   if (!is_data(value) || (bits != 32 && bits != 64))
      return FAIL(c, "atomic '%s' needs 32-bit or 64-bit numbers%s; got %s", name,
                  is_arith ? ", fp16 or bf16" : "", text(c, value));
   if ((op == TL_RMW_AND || op == TL_RMW_OR || op == TL_RMW_XOR) && !is_int(value))
      return FAIL(c, "atomic '%s' needs integers; got %s", name, text(c, value));
   return true;
}

static bool
infer_atomic(Call *c)
{
   const TlType *ptr = c->args[0];
   if (!want_pointer(c, 0) || !want_writable(c, ptr) || !want_value(c, ptr, 1, "value"))
      return false;
   if (c->opcode == TL_OP_ATOMIC_CAS) {
      if (!want_value(c, ptr, 2, "value"))
         return false;
      unsigned bits = bits_of(tl_type_elem(c->args[1]));
      if (bits < 16)
         return FAIL(c, "'atomic_cas' needs 16-bit, 32-bit or 64-bit values; got %s",
                     text(c, c->args[1]));
   } else if (!want_rmw_dtype(c, c->args[1]) || (c->num_args > 2 && !want_mask(c, ptr, 2))) {
      return false;
   }
   return one_result(c, c->args[1]);
}

/* ---- tiles as a whole ---- */
static bool
want_dot_dtypes(Call *c)
{
   TlDtype a = dtype_of(c->args[0]), b = dtype_of(c->args[1]), acc = dtype_of(c->args[2]);
   if (a != b && !(tl_dtype_is_fp8(a) && tl_dtype_is_fp8(b)))
      return FAIL(c, "both operands of 'dot' must have one dtype; got %s and %s",
                  tl_dtype_info[a].text, tl_dtype_info[b].text);
   bool ok;
   if (tl_dtype_is_int(a)) {
      if (tl_dtype_info[a].bits != 8)
         return FAIL(c, "'dot' of integers needs i8 or u8; got %s", tl_dtype_info[a].text);
      ok = acc == TL_I32;
   } else if (a == TL_FP64) {
      ok = acc == TL_FP64;
   } else {
      ok = acc == TL_FP32 || (acc == TL_FP16 && (a == TL_FP16 || tl_dtype_is_fp8(a)));
   }
   if (!ok)
      return FAIL(c, "'dot' of %s cannot accumulate in %s", tl_dtype_info[a].text,
                  tl_dtype_info[acc].text);
   return true;
}

static bool
infer_dot(Call *c)
{
   const TlType *a = c->args[0], *b = c->args[1], *acc = c->args[2];
   for (unsigned i = 0; i < 3; i++)
      if (!(i < 2 && c->args[i]->kind == TL_TYPE_MEMDESC) && !want_tile(c, i))
         return false; /* LAID: operands may be shared buffers */
   if (a->rank != b->rank || (a->rank != 2 && a->rank != 3))
      return FAIL(c, "operands of 'dot' must both have 2 or both 3 dimensions; got %s and %s",
                  text(c, a), text(c, b));
   unsigned r = a->rank;
   uint32_t m = a->shape[r - 2], k = a->shape[r - 1], n = b->shape[r - 1];
   if (k != b->shape[r - 2])
      return FAIL(c, "inner dimensions of 'dot' must match; left has %u in %s, right has %u in %s",
                  k, text(c, a), b->shape[r - 2], text(c, b));
   if (r == 3 && a->shape[0] != b->shape[0])
      return FAIL(c, "batch dimensions of 'dot' must match; got %s and %s", text(c, a), text(c, b));
   bool has_data =
      (a->kind == TL_TYPE_MEMDESC || is_data(a)) && (b->kind == TL_TYPE_MEMDESC || is_data(b));
   if (!has_data || !is_data(acc))
      return FAIL(c, "'dot' multiplies numbers; got %s and %s", text(c, a), text(c, b));
   if (!want_dot_dtypes(c))
      return false;
   uint32_t min_k = tl_dtype_info[dtype_of(a)].bits == 8 ? 32 : 16;
   if (k < min_k)
      return FAIL(c, "the inner dimension of 'dot' must be at least %u for %s; got %u", min_k,
                  tl_dtype_info[dtype_of(a)].text, k);
   if (acc->rank != r || acc->shape[r - 2] != m || acc->shape[r - 1] != n ||
       (r == 3 && acc->shape[0] != a->shape[0]))
      return FAIL(c,
                  "the accumulator of 'dot' of %s and %s must have %u rows and %u columns; got %s",
                  text(c, a), text(c, b), m, n, text(c, acc));
   const TlType *result = c->num_results == 1 ? c->results[0] : NULL;
   bool is_in_flight = result && result->is_in_flight && acc->layout && !acc->is_in_flight;
   return one_result(c, is_in_flight ? tl_type_in_flight(c->cx->types, acc, true) : acc);
}

static bool
infer_dot_start(Call *c)
{
   if (!want_tile(c, 0) || !c->args[0]->layout || c->args[0]->is_in_flight)
      return FAIL(c, "'dot_start' takes a tile with a layout; got %s", text(c, c->args[0]));
   return one_result(c, tl_type_in_flight(c->cx->types, c->args[0], true));
}

static bool
infer_dot_wait(Call *c)
{
   if (!want_tile(c, 0) || !c->args[0]->is_in_flight)
      return FAIL(c, "'dot_wait' takes what is in flight; got %s", text(c, c->args[0]));
   return one_result(c, tl_type_in_flight(c->cx->types, c->args[0], false));
}

static bool
want_axis(Call *c)
{
   for (unsigned i = 0; i < c->num_args; i++)
      if (!want_tile(c, i))
         return false;
   const TlType *first = c->args[0];
   for (unsigned i = 1; i < c->num_args; i++)
      if (!tl_type_same_shape(first, c->args[i]) || first->layout != c->args[i]->layout)
         return FAIL(c, "operands of '%s' must have one shape; got %s and %s", op_name(c),
                     text(c, first), text(c, c->args[i]));
   int64_t axis = attr(c, TL_ATTR_AXIS).i;
   if (axis < 0 || axis >= first->rank)
      return FAIL(c, "axis of '%s' must be 0 to %d for %s; got %lld", op_name(c), first->rank - 1,
                  text(c, first), (long long)axis);
   if (c->num_results != c->num_args)
      return FAIL(c, "'%s' has a result for each operand; got %u for %u", op_name(c),
                  c->num_results, c->num_args);
   return true;
}

static bool
infer_reduce(Call *c)
{
   if (!want_axis(c))
      return false;
   unsigned axis = (unsigned)attr(c, TL_ATTR_AXIS).i;
   const TlType *t = c->args[0];
   uint32_t shape[TL_MAX_RANK];
   memcpy(shape, t->shape, axis * sizeof shape[0]);
   memcpy(shape + axis, t->shape + axis + 1, (t->rank - axis - 1u) * sizeof shape[0]);
   TlLinear slice;
   bool has_layout = t->layout && t->rank > 1;
   if (has_layout)
      slice = tl_ll_slice(t->layout, axis);
   for (unsigned i = 0; i < c->num_args; i++)
      c->results[i] = tile_of(c, c->args[i]->elem, t->rank - 1u, shape, has_layout ? &slice : NULL);
   return true;
}

static bool
infer_scan(Call *c)
{
   if (!want_axis(c))
      return false;
   for (unsigned i = 0; i < c->num_args; i++)
      c->results[i] = c->args[i];
   return true;
}

static bool
infer_map(Call *c)
{
   if (!want_results(c))
      return false;
   for (unsigned i = 0; i < c->num_args + c->num_results; i++) {
      const TlType *t = i < c->num_args ? c->args[i] : c->results[i - c->num_args];
      if (!tl_type_is_tile(t))
         return FAIL(c, "'map' needs tiles; got %s", text(c, t));
      if (!tl_type_same_shape(t, c->args[0]) || t->layout != c->args[0]->layout)
         return FAIL(c, "operands and results of 'map' must have one shape; got %s and %s",
                     text(c, c->args[0]), text(c, t));
   }
   int64_t pack = attr(c, TL_ATTR_PACK).i;
   if (pack < 1 || !is_pow2((uint64_t)pack) || (uint64_t)pack > tl_type_num_elems(c->args[0]))
      return FAIL(c, "pack of 'map' must be a power of two up to the number of elements; got %lld",
                  (long long)pack);
   return true;
}

static bool
infer_histogram(Call *c)
{
   const TlType *x = c->args[0];
   int64_t bins = attr(c, TL_ATTR_BINS).i;
   if (!want_tile(c, 0))
      return false;
   if (x->rank != 1 || !is_int(x))
      return FAIL(c, "'histogram' needs a one-dimensional tile of integers; got %s", text(c, x));
   if (c->num_args > 1 && !want_mask(c, x, 1))
      return false;
   if (bins < 1 || bins > TL_MAX_TILE_ELEMS || !is_pow2((uint64_t)bins))
      return FAIL(c, "'num_bins' of 'histogram' must be a power of two up to %d; got %lld",
                  TL_MAX_TILE_ELEMS, (long long)bins);
   return one_result(
      c, tile_of(c, tl_type_scalar(c->cx->types, TL_I32), 1, &(uint32_t){(uint32_t)bins}, NULL));
}

static bool
infer_assume(Call *c)
{
   if (c->args[0]->kind == TL_TYPE_SCALAR && is_bool(c->args[0]))
      return true;
   return FAIL(c, "'assume' needs a scalar i1; got %s", text(c, c->args[0]));
}

static bool
infer_check_hint(Call *c)
{
   const TlType *x = c->args[0], *index = c->args[1], *elem = tl_type_elem(x);
   TlInts shape = attr(c, TL_ATTR_VALUES).ints ? *attr(c, TL_ATTR_VALUES).ints : (TlInts){0};
   int64_t axis = attr(c, TL_ATTR_AXIS).i, hint = attr(c, TL_ATTR_HINT).i, elems = 1;
   if (elem->kind != TL_TYPE_PTR && !is_int(x))
      return FAIL(c, "'check_hint' needs integers or pointers; got %s", text(c, x));
   if (tl_type_elem(index) != tl_type_scalar(c->cx->types, TL_I32) ||
       tl_type_num_regs(index) != tl_type_num_regs(x))
      return FAIL(c, "'check_hint' needs an i32 index of each value; got %s", text(c, index));
   for (size_t d = 0; d < shape.len && elems > 0; d++)
      elems = shape.data[d] > 0 && shape.data[d] <= TL_MAX_TILE_ELEMS / elems
                 ? elems * shape.data[d]
                 : 0;
   if (shape.len > TL_MAX_RANK || !elems || axis < 0 || (axis && axis >= (int64_t)shape.len) ||
       attr(c, TL_ATTR_SIZE).i < 1 || hint < TL_HINT_DIVISIBLE || hint > TL_HINT_CONSTANT)
      return FAIL(c, "'check_hint' needs a shape, an axis of it and a positive number%s", "");
   return true;
}

static bool
infer_device_assert(Call *c)
{
   if (!is_bool(c->args[0]))
      return FAIL(c, "'device_assert' needs i1; got %s", text(c, c->args[0]));
   return c->num_args < 2 || want_mask(c, c->args[0], 1);
}

/* ---- control ---- */
static bool
infer_for(Call *c)
{
   const TlType *index = c->args[0];
   if (index->kind != TL_TYPE_SCALAR || !is_int(index) || is_bool(index))
      return FAIL(c, "bounds of 'for' must be integer scalars; got %s", text(c, index));
   if (c->args[1] != index || c->args[2] != index)
      return FAIL(c,
                  "lower bound, upper bound and step of 'for' must have one type; got %s, %s, %s",
                  text(c, index), text(c, c->args[1]), text(c, c->args[2]));
   if (c->num_results != c->num_args - 3)
      return FAIL(c, "'for' has a result for each carried value; got %u for %u", c->num_results,
                  c->num_args - 3);
   for (unsigned i = 0; i < c->num_results; i++)
      c->results[i] = c->args[i + 3];
   return true;
}

static bool
infer_while(Call *c)
{
   if (c->num_results != c->num_args)
      return FAIL(c, "'while' has a result for each carried value; got %u for %u", c->num_results,
                  c->num_args);
   for (unsigned i = 0; i < c->num_results; i++)
      c->results[i] = c->args[i];
   return true;
}

static bool
infer_if(Call *c)
{
   if (c->args[0]->kind != TL_TYPE_SCALAR || !is_bool(c->args[0]))
      return FAIL(c, "the condition of 'if' must be a scalar i1; got %s", text(c, c->args[0]));
   return want_results(c);
}

static bool
infer_condition(Call *c)
{
   if (c->args[0]->kind == TL_TYPE_SCALAR && is_bool(c->args[0]))
      return true;
   return FAIL(c, "the condition of 'while' must be a scalar i1; got %s", text(c, c->args[0]));
}

/* ---- LAID: layouts and shared memory ---- */
static bool
infer_convert(Call *c)
{
   if (!want_results(c) || !want_tile(c, 0))
      return false;
   const TlType *to = c->results[0], *from = c->args[0];
   if (!tl_type_is_tile(to) || to->elem != from->elem || !tl_type_same_shape(to, from))
      return FAIL(c, "'convert_layout' keeps shape and element type; got %s from %s", text(c, to),
                  text(c, from));
   return true;
}

static bool
want_memdesc(Call *c, const TlType *t)
{
   if (t->kind == TL_TYPE_MEMDESC)
      return true;
   return FAIL(c, "'%s' needs a shared buffer; got %s", op_name(c), text(c, t));
}

/* Tile and buffer agree in shape and dtype; the buffer has one stage. */
static bool
want_buffer_of(Call *c, const TlType *tile, const TlType *buffer)
{
   if (!want_memdesc(c, buffer))
      return false;
   if (!tl_type_is_tile(tile) || !is_data(tile) || tile->dtype != buffer->dtype ||
       tile->rank != buffer->rank || buffer->count != 1 ||
       memcmp(tile->shape, buffer->shape, tile->rank * sizeof tile->shape[0]) != 0)
      return FAIL(c, "tile and buffer of '%s' must agree; got %s and %s", op_name(c), text(c, tile),
                  text(c, buffer));
   return true;
}

static bool
infer_local_alloc(Call *c)
{
   if (!want_results(c) || !want_memdesc(c, c->results[0]))
      return false;
   return c->num_args == 0 || want_buffer_of(c, c->args[0], c->results[0]);
}

static bool
infer_local_load(Call *c)
{
   return want_results(c) && want_buffer_of(c, c->results[0], c->args[0]);
}

static bool
infer_local_store(Call *c)
{
   return want_buffer_of(c, c->args[0], c->args[1]);
}

static bool
infer_local_view(Call *c)
{
   if (!want_results(c) || !want_memdesc(c, c->args[0]) || !want_memdesc(c, c->results[0]))
      return false;
   const TlType *from = c->args[0], *to = c->results[0], *stage = c->args[1];
   if (stage != tl_type_scalar(c->cx->types, TL_I32))
      return FAIL(c, "the stage of 'local_view' must be i32; got %s", text(c, stage));
   if (to->count != 1 || to->dtype != from->dtype || to->rank != from->rank ||
       to->layout != from->layout ||
       memcmp(to->shape, from->shape, to->rank * sizeof to->shape[0]) != 0)
      return FAIL(c, "'local_view' is one stage of its buffer; got %s from %s", text(c, to),
                  text(c, from));
   return true;
}

static bool
infer_local_trans(Call *c)
{
   uint32_t shape[TL_MAX_RANK];
   unsigned order[TL_MAX_RANK];
   if (!want_results(c) || !want_memdesc(c, c->args[0]) || !want_memdesc(c, c->results[0]) ||
       !permute(c, c->args[0], shape, order))
      return false;
   const TlType *from = c->args[0], *to = c->results[0];
   if (to->dtype != from->dtype || to->rank != from->rank || to->count != from->count ||
       memcmp(to->shape, shape, to->rank * sizeof shape[0]) != 0)
      return FAIL(c, "'local_trans' permutes dimensions only; got %s from %s", text(c, to),
                  text(c, from));
   return true;
}

static TlInts
ints(const Call *c, TlAttrKey key)
{
   const TlInts *list = attr(c, key).ints;
   return list ? *list : (TlInts){0};
}

/* From operand `first` on: base, then sizes of all dimensions, then strides of all but the last. */
static bool
makes_map(Call *c, unsigned first)
{
   if (!want_results(c))
      return false;
   const TlType *map = c->results[0], *base = c->args[first];
   bool is_map = map->kind == TL_TYPE_TMAP && c->num_args == first + 2u * map->rank;
   if (!is_map)
      return FAIL(c, "'%s' gives a map of half as many dimensions as operands; got %s", op_name(c),
                  text(c, map));
   if (base->kind != TL_TYPE_PTR || base->elem != tl_type_scalar(c->cx->types, map->dtype))
      return FAIL(c, "the base of '%s' is a pointer to %s; got %s", op_name(c),
                  tl_dtype_info[map->dtype].text, text(c, base));
   for (unsigned i = first + 1; i < c->num_args; i++)
      if (c->args[i]->kind != TL_TYPE_SCALAR || !tl_dtype_is_int(c->args[i]->dtype))
         return FAIL(c, "sizes and strides of '%s' are integers; got %s", op_name(c),
                     text(c, c->args[i]));
   uint32_t swizzle = (uint32_t)attr(c, TL_ATTR_SWIZZLE).i;
   uint32_t row = map->shape[map->rank - 1] * tl_dtype_info[map->dtype].bytes;
   if ((swizzle && (swizzle < 32 || swizzle > 128 || !is_pow2(swizzle) || row != swizzle)) ||
       row % 16)
      return FAIL(c,
                  "rows of a box are of whole 16 bytes, and as long as the swizzle if any; got "
                  "%u bytes and a swizzle of %u",
                  row, swizzle);
   return true;
}

static bool
infer_tensor_map(Call *c)
{
   return makes_map(c, 0);
}

static bool
infer_map_write(Call *c)
{
   enum { PLACE, ADDRESS, PRED, BASE };
   TlTypes *types = c->cx->types;
   if (c->args[PLACE] != tl_type_scalar(types, TL_I64) ||
       c->args[ADDRESS] != tl_type_scalar(types, TL_I32) ||
       c->args[PRED] != tl_type_scalar(types, TL_I1))
      return FAIL(c, "'map_write' begins with a place, a shared address and an i1; got %s, %s, %s",
                  text(c, c->args[PLACE]), text(c, c->args[ADDRESS]), text(c, c->args[PRED]));
   return makes_map(c, BASE);
}

static bool
moves_box(Call *c, bool is_load)
{
   const TlType *i32 = tl_type_scalar(c->cx->types, TL_I32), *map = c->args[1];
   unsigned pred = is_load ? 3 : 2;
   const char *name = is_load ? "tma_load" : "tma_store";
   bool fits = map->kind == TL_TYPE_TMAP && c->num_args == pred + 1 + map->rank &&
               c->args[pred] == tl_type_scalar(c->cx->types, TL_I1);
   if (!fits)
      return FAIL(c,
                  "'%s' takes a tensor map, an i1 and a coordinate for each dimension; got %s and "
                  "%u operands",
                  name, text(c, map), c->num_args);
   for (unsigned i = 0; i < c->num_args; i++)
      if (i != 1 && i != pred && c->args[i] != i32)
         return FAIL(c, "addresses and coordinates of '%s' are i32; got %s", name,
                     text(c, c->args[i]));
   return true;
}

static bool
infer_tma_load(Call *c)
{
   return moves_box(c, true);
}

static bool
infer_tma_store(Call *c)
{
   return moves_box(c, false);
}

static bool
fill_buffer(Call *c, const TlType *map, const TlType *buffer)
{
   TlBoxes boxes;
   unsigned outer = map->rank - buffer->rank;
   bool fits = buffer->dtype == map->dtype && buffer->rank <= map->rank && buffer->layout &&
               buffer->layout->rank == buffer->rank &&
               tl_hw_boxes_of(buffer->layout, tl_dtype_info[buffer->dtype].bytes,
                              map->shape + outer, &boxes);
   for (unsigned d = 0; fits && d < outer; d++)
      fits = map->shape[d] == 1;
   return fits || FAIL(c, "the boxes of %s do not fill %s", text(c, map), text(c, buffer));
}

static bool
infer_box_copy(Call *c)
{
   const TlType *i32 = tl_type_scalar(c->cx->types, TL_I32), *map = c->args[0], *to = c->args[1],
                *barriers = c->args[2];
   if (map->kind != TL_TYPE_TMAP || c->num_args < 4u + map->rank || c->num_args > 5u + map->rank)
      return FAIL(c, "'box_copy' takes a tensor map and a coordinate for each dimension; got %s",
                  text(c, map));
   if (!want_memdesc(c, to) || !want_memdesc(c, barriers))
      return false;
   if (barriers->dtype != TL_I64)
      return FAIL(c, "'box_copy' takes barriers; got %s", text(c, barriers));
   for (unsigned i = 3; i < 4u + map->rank; i++)
      if (c->args[i] != i32)
         return FAIL(c, "stage and coordinates of 'box_copy' are i32; got %s", text(c, c->args[i]));
   const TlType *last = c->args[c->num_args - 1];
   if (c->num_args > 4u + map->rank && last != tl_type_scalar(c->cx->types, TL_I1))
      return FAIL(c, "the predicate of 'box_copy' is i1; got %s", text(c, last));
   return fill_buffer(c, map, to);
}

static bool
infer_box_store(Call *c)
{
   const TlType *i32 = tl_type_scalar(c->cx->types, TL_I32), *map = c->args[0], *from = c->args[1];
   if (map->kind != TL_TYPE_TMAP || c->num_args != 2u + map->rank)
      return FAIL(c, "'box_store' takes a tensor map and a coordinate for each dimension; got %s",
                  text(c, map));
   if (!want_memdesc(c, from))
      return false;
   for (unsigned i = 2; i < c->num_args; i++)
      if (c->args[i] != i32)
         return FAIL(c, "coordinates of 'box_store' are i32; got %s", text(c, c->args[i]));
   return fill_buffer(c, map, from);
}

static bool
is_mn_major(const Call *c, TlAttrKey desc)
{
   TlDesc d = {0};
   TlInts given = ints(c, desc);
   if (given.len * sizeof given.data[0] == sizeof d)
      memcpy(&d, given.data, sizeof d);
   return d.mn_major != 0;
}

/* PTX ISA, wgmma: imm-trans-a and imm-trans-b exist for .f16 and .bf16 only. */
static bool
reads_both_orders(int64_t mma)
{
   switch (mma) {
   case TL_MMA_WG_TF32_F32:
   case TL_MMA_WG_E4M3_F32:
   case TL_MMA_WG_E5M2_F32:
   case TL_MMA_WG_E4M3_E5M2_F32:
   case TL_MMA_WG_E5M2_E4M3_F32:
   case TL_MMA_WG_S8_S32:
   case TL_MMA_WG_U8_S32:
      return false;
   default:
      return true;
   }
}

static bool
holds_bits(const TlType *t, int64_t bits)
{
   const TlType *elem = tl_type_elem(t);
   return (t->kind == TL_TYPE_SCALAR || t->kind == TL_TYPE_REGS) && elem->kind == TL_TYPE_SCALAR &&
          (int64_t)tl_type_num_regs(t) * tl_dtype_info[elem->dtype].bits == bits;
}

/* A lane's share of m16n8: 128 bits of A and 64 of B in each step of k, four sums; of m8n8k4 of
 * fp64 one element of each, two sums. */
static bool
infer_mma(Call *c)
{
   TlReps rep = tl_reps_of(ints(c, TL_ATTR_REPS));
   int64_t m = rep.m, n = rep.n, k = rep.k;
   if (!want_results(c))
      return false;
   bool is_f64 = attr(c, TL_ATTR_MMA).i == TL_MMA_F64;
   const TlType *a = c->args[0], *b = c->args[1], *r = c->results[0];
   if (m < 1 || n < 1 || k < 1 || c->args[2] != r || !holds_bits(a, m * k * (is_f64 ? 64 : 128)) ||
       !holds_bits(b, n * k * 64) || tl_type_num_regs(r) != m * n * (is_f64 ? 2 : 4))
      return FAIL(c, "repetitions of 'mma' do not fit %s, %s and %s", text(c, a), text(c, b),
                  text(c, r));
   return true;
}

/* Accumulators: m x n instructions of 64 rows, half as many registers as columns. */
static bool
infer_wgmma(Call *c)
{
   TlInts offsets = ints(c, TL_ATTR_OFFSETS);
   TlReps rep = tl_reps_of(ints(c, TL_ATTR_REPS));
   int64_t columns = attr(c, TL_ATTR_COLUMNS).i;
   const TlType *a = c->args[0], *r = c->results[0];
   bool is_shared = a->kind == TL_TYPE_SCALAR;
   if (!want_results(c))
      return false;
   if (!r->is_in_flight || (c->num_args > 2 && tl_type_elem(c->args[2]) != tl_type_elem(r)) ||
       (c->num_args > 2 && c->args[2]->count != r->count))
      return FAIL(c, "'wgmma' gives its accumulators in flight; got %s", text(c, r));
   if (c->args[1] != tl_type_scalar(c->cx->types, TL_I32) || (is_shared && a != c->args[1]))
      return FAIL(c, "a shared operand of 'wgmma' is an i32 address; got %s and %s", text(c, a),
                  text(c, c->args[1]));
   if (is_shared != (attr(c, TL_ATTR_A_DESC).ints != NULL) || !attr(c, TL_ATTR_B_DESC).ints ||
       (!is_shared && attr(c, TL_ATTR_A_EXTENT).ints))
      return FAIL(c, "'wgmma' has 'a_desc' and 'b_desc' for operands in shared memory only");
   bool is_turned = (is_shared && is_mn_major(c, TL_ATTR_A_DESC)) || is_mn_major(c, TL_ATTR_B_DESC);
   if (is_turned && !reads_both_orders(attr(c, TL_ATTR_MMA).i))
      return FAIL(c, "'wgmma' reads 'mn_major' operands of 16-bit elements only");
   int64_t m = rep.m, n = rep.n, k = rep.k;
   if (m < 1 || n < 1 || k < 1 || columns < 8 || columns > 256 || columns % 8 ||
       m * n * columns / 2 != r->count ||
       (!is_shared && a->count * tl_dtype_info[a->dtype].bits != m * k * 128) ||
       offsets.len != (size_t)(k * n + (is_shared ? k * m : 0)))
      return FAIL(c, "repetitions of 'wgmma' do not fit %s and %u offsets", text(c, r),
                  (unsigned)offsets.len);
   return true;
}

static bool
infer_wgmma_start(Call *c)
{
   if (c->args[0]->kind != TL_TYPE_REGS)
      return FAIL(c, "'wgmma_start' takes registers; got %s", text(c, c->args[0]));
   return one_result(c, tl_type_in_flight(c->cx->types, c->args[0], true));
}

static bool
infer_wgmma_wait(Call *c)
{
   if (c->num_results > c->num_args)
      return FAIL(c, "'wgmma_wait' has an operand for each result; got %u for %u", c->num_args,
                  c->num_results);
   for (unsigned i = 0; i < c->num_results; i++) {
      const TlType *t = c->args[i];
      bool is_operand =
         c->results[i] && t->kind == TL_TYPE_REGS && t->is_in_flight &&
         tl_type_in_flight(c->cx->types, t, c->results[i]->is_in_flight) == c->results[i];
      if (!is_operand)
         return FAIL(c,
                     "a result of 'wgmma_wait' is its operand, which is in flight; got %s from %s",
                     text(c, c->results[i]), text(c, t));
   }
   return true;
}

static bool
infer_async_copy(Call *c)
{
   const TlType *ptr = c->args[0];
   if (!want_pointer(c, 0) || !want_buffer_of(c, pointee(c, ptr), c->args[1]) ||
       (c->num_args > 2 && !want_mask(c, ptr, 2)) ||
       (c->num_args > 3 && !want_value(c, ptr, 3, "'other' value")))
      return false;
   return infer_token(c);
}

static bool
infer_any_in_warp(Call *c)
{
   const TlType *t = c->args[0];
   if (t->kind != TL_TYPE_TILE || t->dtype != TL_I1)
      return FAIL(c, "'any_in_warp' takes a tile of i1; got %s", text(c, t));
   return one_result(c, tl_type_scalar(c->cx->types, TL_I1));
}

static bool
infer_barrier(Call *c)
{
   const TlType *i32 = tl_type_scalar(c->cx->types, TL_I32);
   if (!want_memdesc(c, c->args[0]))
      return false;
   if (c->args[0]->dtype != TL_I64 || c->args[1] != i32)
      return FAIL(c, "'%s' takes barriers and an i32 stage; got %s and %s",
                  tl_op_info[c->opcode].text, text(c, c->args[0]), text(c, c->args[1]));
   const TlType *last = c->opcode == TL_OP_BARRIER_WAIT ? i32 : tl_type_scalar(c->cx->types, TL_I1);
   if (c->num_args > 2 && c->args[2] != last)
      return FAIL(c, "the last operand of '%s' must be %s; got %s", tl_op_info[c->opcode].text,
                  text(c, last), text(c, c->args[2]));
   return true;
}

/* ---- the table ---- */
static Rule *const rules[TL_OP_COUNT] = {
#define TL_OP(id, name, args, n, infer, ...) [TL_OP_##id] = infer_##infer,
#include "ir/ops.def"
};

bool
tl_infer(TlInferCx *cx, TlOpcode opcode, const TlType *const *args, unsigned num_args,
         const TlAttr *attrs, const TlType **results, unsigned num_results)
{
   Call c = {cx, opcode, args, num_args, attrs, results, num_results};
   const TlOpInfo *info = &tl_op_info[opcode];
   if ((int)num_args < info->min_args ||
       (info->max_args != TL_ANY && (int)num_args > info->max_args))
      return info->max_args == info->min_args
                ? FAIL(&c, "'%s' takes %d operands; got %u", info->text, info->min_args, num_args)
                : FAIL(&c, "'%s' takes at least %d operands; got %u", info->text, info->min_args,
                       num_args);
   if (info->num_results != TL_ANY && (int)num_results != info->num_results)
      return FAIL(&c, "'%s' has %d results; got %u", info->text, info->num_results, num_results);
   if (!rules[opcode](&c))
      return false;
   for (unsigned i = 0; i < num_results; i++)
      if ((tl_type_is_tile(results[i]) || results[i]->kind == TL_TYPE_MEMDESC) &&
          !valid_shape(&c, results[i]))
         return false;
   return true;
}

bool
tl_infer_accepts(TlTypes *types, const TlType *inferred, const TlType *actual)
{
   if (inferred == actual)
      return true;
   return inferred->kind == TL_TYPE_TILE && !inferred->layout && actual->kind == TL_TYPE_TILE &&
          tl_type_with_layout(types, actual, NULL) == inferred;
}
