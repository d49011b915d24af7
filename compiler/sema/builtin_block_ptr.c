/* Block pointers and tensor descriptors: a compile-time record of run-time parts that becomes a
 * tile of pointers and a mask at each access, in the affine form base + sum((offset[d] + arange) *
 * stride[d]) with 64-bit arithmetic, so that later analyses see the same shape as in hand-written
 * pointer code. */
#include "sema/builtin.h"
#include "sema/help.h"
#include "sema/impl.h"

#include <assert.h>
#include <string.h>

enum { ARG_BASE, ARG_SHAPE, ARG_STRIDES, ARG_OFFSETS, ARG_BLOCK, ARG_ORDER };

/* Every item is a number, of the run or written out, or a single one stands for a list of one. */
static bool
is_list_of_numbers(TlSema *s, const TlCall *call, unsigned arg)
{
   const TlSv *items;
   unsigned num;
   tl_sv_items(&call->args[arg], &items, &num);
   for (unsigned i = 0; i < num; i++) {
      if (items[i].kind == TL_SV_POISON || items[i].kind == TL_SV_VALUE ||
          tl_sv_is_number(&items[i]))
         continue;
      tl_report(s->diags, E0302, tl_call_arg_range(call, arg), tl_call_param(s, call, arg),
                call->row->name, "integers, one for each dimension", tl_sv_text(s, &items[i]));
      if (!tl_help_no_number(s, &items[i]))
         tl_help(s->diags, "write one entry for each dimension, in brackets: [i, j] for two");
      return false;
   }
   return true;
}

/* Scalars of one dtype from a tuple argument; offsets must not be wider than int32. */
static bool
scalar_list(TlSema *s, const TlCall *call, unsigned arg, unsigned rank, TlDtype dtype,
            TlValue **out)
{
   assert(rank <= TL_MAX_RANK);
   const TlSv *items;
   unsigned num;
   TlRange range = tl_call_arg_range(call, arg);
   tl_sv_items(&call->args[arg], &items, &num);
   if (call->args[arg].kind == TL_SV_POISON || !is_list_of_numbers(s, call, arg))
      return false;
   if (num != rank) {
      const TlSv *given = &call->args[arg];
      tl_report(s->diags, E0326, range, tl_call_param(s, call, arg), call->row->name, rank, num);
      if (given->kind == TL_SV_VALUE && tl_type_is_tile(given->value->type) &&
          call->row->fn == tl_builtin_descriptor_store) /* d.store(v, [i, j]) */
         tl_help(s->diags, "the offsets come first: desc.store([i, j], %.40s)",
                 tl_range_text(s, range));
      return false;
   }
   for (unsigned i = 0; i < rank; i++) {
      if (tl_sv_is_number(&items[i]) && !items[i].is_strong && items[i].kind != TL_SV_FLOAT) {
         out[i] = tl_sema_value_as(s, &items[i], dtype, range);
         if (!out[i])
            return false;
         continue;
      }
      TlValue *v = tl_sema_value(s, &items[i], range);
      if (!v)
         return false;
      const TlType *t = v->type;
      bool is_int = t->kind == TL_TYPE_SCALAR && tl_dtype_is_int(t->dtype);
      if (!is_int) {
         tl_blame(s, v, TL_WANT_INT);
         return tl_refuse(s->diags, E0313, range, call->row->name, "integer scalars",
                          tl_type_cstr(s->arena, t));
      }
      if (dtype == TL_I32 && tl_dtype_info[t->dtype].bits > 32) {
         tl_report(s->diags, E0329, range, tl_type_cstr(s->arena, t));
         tl_help(s->diags, "add large distances to the base pointer instead, or cast with "
                           ".to(tl.int32)");
         return false;
      }
      out[i] = tl_sema_cast(s, v, tl_scalar(s, dtype), range);
   }
   return true;
}

static bool
order_list(TlSema *s, const TlCall *call, unsigned rank, uint8_t *out)
{
   assert(rank <= TL_MAX_RANK);
   const TlSv *items;
   unsigned num, seen = 0;
   int64_t order[TL_MAX_RANK];
   TlRange range = tl_call_arg_range(call, ARG_ORDER);
   tl_sv_items(&call->args[ARG_ORDER], &items, &num);
   if (!tl_call_ints(s, call, "order", items, num, TL_MAX_RANK, order, range))
      return false;
   if (num != rank)
      return tl_refuse(s->diags, E0326, range, "order", "make_block_ptr", rank, num);
   for (unsigned i = 0; i < rank; i++) {
      if (order[i] < 0 || order[i] >= rank || (seen >> order[i] & 1))
         return tl_refuse(s->diags, E0345, range, "order", "make_block_ptr", (long long)order[i],
                          "a dimension named once");
      seen |= 1u << order[i];
      out[i] = (uint8_t)order[i];
   }
   return true;
}

static bool
is_base_pointer(TlSema *s, const TlCall *call, unsigned i)
{
   const TlSv *base = &call->args[i];
   if (base->kind == TL_SV_POISON)
      return false;
   if (base->kind == TL_SV_VALUE && base->value->type->kind == TL_TYPE_PTR)
      return true;
   tl_report(s->diags, E0313, tl_call_arg_range(call, i), call->row->name,
             "a scalar pointer as base", tl_sv_text(s, base));
   if (base->kind == TL_SV_NONE && base->s.len)
      tl_help_given_none(s, base->s.data, "an array");
   tl_blame_sv(s, base, TL_WANT_POINTER);
   return false;
}

TlSv
tl_builtin_make_block_ptr(TlSema *s, const TlCall *call)
{
   const TlSv *base = &call->args[ARG_BASE], *items;
   unsigned num;
   if (!is_base_pointer(s, call, ARG_BASE))
      return tl_sv_poison();
   TlBlockPtr *p = tl_new(s->arena, TlBlockPtr);
   p->base = base->value;
   tl_sv_items(&call->args[ARG_SHAPE], &items, &num);
   p->rank = num;
   if (call->args[ARG_SHAPE].kind == TL_SV_POISON || !is_list_of_numbers(s, call, ARG_SHAPE))
      return tl_sv_poison();
   if (num == 0)
      return tl_sv_refuse(s, E0306, tl_call_arg_range(call, ARG_SHAPE), "shape", call->row->name,
                          tl_sv_describe(s, &call->args[ARG_SHAPE]));
   if (num > TL_MAX_RANK)
      return tl_sv_refuse(s, E0298, tl_call_arg_range(call, ARG_SHAPE), TL_MAX_RANK, num);
   const TlSv *block;
   unsigned block_rank;
   tl_sv_items(&call->args[ARG_BLOCK], &block, &block_rank);
   if (!scalar_list(s, call, ARG_SHAPE, num, TL_I64, p->shape) ||
       !scalar_list(s, call, ARG_STRIDES, num, TL_I64, p->strides) ||
       !scalar_list(s, call, ARG_OFFSETS, num, TL_I32, p->offsets) ||
       !tl_call_shape(s, call, "block_shape", block, block_rank, p->block,
                      tl_call_arg_range(call, ARG_BLOCK)))
      return tl_sv_poison();
   if (block_rank != num)
      return tl_sv_refuse(s, E0326, tl_call_arg_range(call, ARG_BLOCK), "block_shape",
                          "make_block_ptr", num, block_rank);
   if (!order_list(s, call, num, p->order))
      return tl_sv_poison();
   return (TlSv){.kind = TL_SV_BLOCKPTR, .block_ptr = p};
}

TlSv
tl_builtin_advance(TlSema *s, const TlCall *call)
{
   const TlSv *base = &call->args[0];
   if (base->kind != TL_SV_BLOCKPTR || base->block_ptr->is_descriptor) {
      if (base->kind != TL_SV_POISON)
         tl_report(s->diags, E0313, tl_call_arg_range(call, 0), "advance", "a block pointer",
                   tl_sv_text(s, base));
      if (base->kind == TL_SV_VALUE)
         tl_help(s->diags, "a plain pointer moves by '+': pointer + offsets");
      return tl_sv_poison();
   }
   TlBlockPtr *p = tl_new(s->arena, TlBlockPtr);
   *p = *base->block_ptr;
   TlValue *by[TL_MAX_RANK];
   if (!scalar_list(s, call, 1, p->rank, TL_I32, by))
      return tl_sv_poison();
   for (unsigned d = 0; d < p->rank; d++) {
      uint64_t bits;
      if (!tl_is_const(by[d], &bits) || bits != 0)
         p->offsets[d] = tl_b2(&s->b, TL_OP_ADD, p->offsets[d], by[d]);
   }
   return (TlSv){.kind = TL_SV_BLOCKPTR, .block_ptr = p};
}

/* ---- access ---- */
/* Index of every element along dim d, i64, in the shape [1, .., block[d], .., 1]. */
static TlValue *
index_along(TlSema *s, const TlBlockPtr *p, unsigned d, TlRange range)
{
   assert(d < p->rank);
   const TlType *i64 = tl_scalar(s, TL_I64);
   bool by_rows = d == 0 && p->rows;
   TlValue *i = by_rows ? p->rows : tl_build_arange(s, 0, p->block[d], range);
   i = tl_sema_cast(s, i, i64, range);
   if (!by_rows) {
      TlValue *offset = tl_sema_cast(s, p->offsets[d], i64, range);
      offset = tl_sema_broadcast_to(s, offset, 1, &p->block[d], range);
      i = tl_b2(&s->b, TL_OP_ADD, offset, i);
   }
   for (unsigned k = 0; k < p->rank; k++)
      if (k != d)
         i = tl_sema_expand(s, i, k, range);
   return i;
}

/* The tile of pointers, and the mask over the dims set in `checked` (NULL when there are none). */
static TlValue *
expand_block(TlSema *s, const TlBlockPtr *p, unsigned checked, TlValue **mask, TlRange range)
{
   assert(p->rank >= 1 && p->rank <= TL_MAX_RANK && checked >> p->rank == 0);
   TlBuilder *b = &s->b;
   TlValue *ptr = tl_sema_broadcast_to(s, p->base, p->rank, p->block, range);
   *mask = NULL;
   for (unsigned d = 0; d < p->rank; d++) {
      TlValue *i = index_along(s, p, d, range);
      const uint32_t *line = i->type->shape;
      TlValue *stride = tl_sema_broadcast_to(s, p->strides[d], p->rank, line, range);
      TlValue *step = tl_b2(b, TL_OP_MUL, i, stride);
      ptr = tl_b2(b, TL_OP_ADDPTR, ptr, tl_sema_broadcast_to(s, step, p->rank, p->block, range));
      if (!(checked >> d & 1))
         continue;
      TlValue *limit = tl_sema_broadcast_to(s, p->shape[d], p->rank, line, range);
      TlValue *low = tl_b2(b, TL_OP_GE, i, tl_const_bits(b, i->type, 0));
      TlValue *in = tl_b2(b, TL_OP_AND, low, tl_b2(b, TL_OP_LT, i, limit));
      in = tl_sema_broadcast_to(s, in, p->rank, p->block, range);
      *mask = *mask ? tl_b2(b, TL_OP_AND, *mask, in) : in;
   }
   return ptr;
}

static bool
checked_dims(TlSema *s, const TlCall *call, unsigned arg, unsigned rank, unsigned *checked)
{
   assert(rank <= TL_MAX_RANK);
   const TlSv *items;
   unsigned num;
   int64_t dims[TL_MAX_RANK];
   TlRange range = tl_call_arg_range(call, arg);
   *checked = 0;
   if (!tl_call_has(call, arg))
      return true;
   bool is_bool = call->args[arg].kind == TL_SV_BOOL;
   if (is_bool && !call->args[arg].b)
      return true; /* False checks none */
   tl_sv_items(&call->args[arg], &items, &num);
   if (is_bool || call->args[arg].kind == TL_SV_STR) {
      tl_report(s->diags, E0302, range, "boundary_check", call->row->name, "a tuple of dimensions",
                tl_sv_text(s, &call->args[arg]));
      tl_help(s->diags, "name the dimensions to check: boundary_check=%s",
              rank == 1   ? "(0,)"
              : rank == 2 ? "(0, 1)"
                          : "(0, 1, 2)");
      return false;
   }
   if (!tl_call_ints(s, call, "boundary_check", items, num, TL_MAX_RANK, dims, range))
      return false;
   for (unsigned i = 0; i < num; i++) {
      if (dims[i] < 0 || dims[i] >= rank || (*checked >> dims[i] & 1))
         return tl_refuse(s->diags, E0327, range, rank - 1, (long long)dims[i]);
      *checked |= 1u << dims[i];
   }
   return true;
}

static bool
refuse(TlSema *s, const TlCall *call, unsigned first, unsigned last)
{
   for (unsigned i = first; i <= last; i++)
      if (tl_call_has(call, i)) {
         tl_report(s->diags, E0324, tl_call_arg_range(call, i), tl_call_param(s, call, i));
         if (call->args[i].kind == TL_SV_TUPLE || call->args[i].kind == TL_SV_INT)
            tl_help(s->diags,
                    "the dimensions that are checked are given by name: "
                    "boundary_check=%.40s",
                    tl_range_text(s, tl_call_arg_range(call, i)));
         else
            tl_help(s->diags, "use boundary_check=(dims..) and padding_option");
         return false;
      }
   return true;
}

/* Value of out-of-bounds elements; NULL where they are undefined. */
static bool
padding_value(TlSema *s, const TlCall *call, const TlType *tile, TlValue **other)
{
   TlText text;
   *other = NULL;
   if (!tl_call_has(call, 4))
      return true;
   if (tl_sv_is_number(&call->args[4])) {
      tl_report(s->diags, E0307, tl_call_arg_range(call, 4), "padding_option", call->row->name,
                "zero nan", tl_sv_constant_text(s, &call->args[4]));
      tl_help(s->diags, "write padding_option=\"zero\", or leave it out");
      return false;
   }
   if (!tl_call_str(s, call, 4, &text))
      return false;
   bool is_float = tl_dtype_is_float(tile->elem->dtype);
   if (tl_text_is(text, ""))
      return true;
   if (tl_text_is(text, "zero")) {
      *other = tl_const_bits(&s->b, tile, 0);
      return true;
   }
   if (tl_text_is(text, "nan") && is_float) {
      *other = tl_const_bits(
         &s->b, tile,
         tl_double_to_bits(tile->elem->dtype, __builtin_nan(""), TL_ROUND_NEAREST_EVEN));
      return true;
   }
   if (tl_text_is(text, "nan"))
      tl_report(s->diags, E0328, tl_call_arg_range(call, 4), "nan",
                tl_dtype_info[tile->elem->dtype].text);
   else
      tl_refuse_word(s, call, 4, "zero nan", tl_text_cstr(s, text));
   return false;
}

static TlSv
load_block(TlSema *s, const TlBlockPtr *p, unsigned checked, TlValue *other,
           const TlAttrInit *attrs, TlRange range)
{
   assert(p->base->type->kind == TL_TYPE_PTR);
   TlValue *mask, *ptr = expand_block(s, p, checked, &mask, range);
   TlValue *args[3] = {ptr, mask, other};
   return tl_sv_value(tl_sema_build(s, TL_OP_LOAD, args,
                                    !mask   ? 1
                                    : other ? 3
                                            : 2,
                                    NULL, attrs, range));
}

/* A descriptor is accessed by methods of its own, with these arguments. */
static bool
refuse_descriptor(TlSema *s, const TlCall *call, const char *args)
{
   assert(call->args[0].kind == TL_SV_BLOCKPTR);
   if (!call->args[0].block_ptr->is_descriptor)
      return false;
   const char *name = call->row->name;
   tl_report(s->diags, E0317, tl_call_arg_range(call, 0), name, "a tensor descriptor");
   tl_help(s->diags, "use descriptor.%s(%s)", name, args);
   return true;
}

TlSv
tl_block_ptr_load(TlSema *s, const TlCall *call, const TlAttrInit *attrs)
{
   const TlBlockPtr *p = call->args[0].block_ptr;
   unsigned checked;
   if (refuse_descriptor(s, call, "[offsets]") || !refuse(s, call, 1, 2) ||
       !checked_dims(s, call, 3, p->rank, &checked))
      return tl_sv_poison();
   const TlType *elem = p->base->type->elem;
   bool is_bool = elem->kind == TL_TYPE_SCALAR && elem->dtype == TL_I1;
   TlBlockPtr bytes = *p;
   if (is_bool) {
      elem = tl_scalar(s, TL_I8);
      const TlType *to = tl_type_ptr(s->types, elem, p->base->type->is_const);
      bytes.base = tl_t1(&s->b, TL_OP_BITCAST, to, p->base);
   }
   const TlType *tile = tl_type_tile(s->types, elem, p->rank, p->block, NULL);
   TlValue *other;
   if (!padding_value(s, call, tile, &other))
      return tl_sv_poison();
   TlSv v = load_block(s, &bytes, checked, other, attrs, call->range);
   if (v.kind == TL_SV_VALUE && is_bool)
      v = tl_sv_value(tl_sema_cast(s, v.value, tl_scalar(s, TL_I1), call->range));
   return v;
}

/* Argument i, of the type `have`, is no block of this shape: what makes it one, or the block to
 * take in its place. */
static void
refuse_shape(TlSema *s, const TlCall *call, unsigned i, const TlType *have, const TlBlockPtr *p)
{
   TlRange range = tl_call_arg_range(call, i);
   const char *want = tl_shape_text(s, p->rank, p->block), *text = tl_range_text(s, range);
   const char *own = tl_shape_text(s, have->rank, have->shape);
   const char *turned = tl_help_transposed(s, have, p->rank, p->block, text);
   const TlType *block = tl_type_tile(s->types, tl_type_elem(have), p->rank, p->block, NULL);
   bool spreads = have->rank <= p->rank;
   for (unsigned d = 0; spreads && d < have->rank; d++) {
      uint32_t size = have->shape[have->rank - 1 - d];
      spreads = size == 1 || size == p->block[p->rank - 1 - d];
   }
   tl_report(s->diags, E0323, range, call->row->name, tl_type_cstr(s->arena, have), want);
   if (turned && p->rows)
      tl_help(s->diags, "%s", turned);
   else if (turned)
      tl_help(s->diags, "%s, or take blocks of the shape %s", turned, own);
   else if (spreads)
      tl_help(s->diags, "repeat it: tl.broadcast_to(value, %s)", want);
   else if (tl_type_num_elems(have) == tl_type_num_elems(block) && !p->rows)
      tl_help(s->diags,
              "bring it to that shape, tl.reshape(value, %s), or take blocks of the shape "
              "%s",
              want, own);
   else if (p->rows)
      tl_help(s->diags, "make a value of the shape %s: a row for each index", want);
   else
      tl_help(s->diags, "take blocks of the shape %s, or make a value of the shape %s", own, want);
}

TlSv
tl_block_ptr_store(TlSema *s, const TlCall *call, const TlAttrInit *attrs)
{
   const TlBlockPtr *p = call->args[0].block_ptr;
   unsigned checked;
   if (refuse_descriptor(s, call, "[offsets], value") || !refuse(s, call, 2, 2) ||
       !checked_dims(s, call, 3, p->rank, &checked))
      return tl_sv_poison();
   TlValue *v = tl_call_value(s, call, 1);
   if (!v)
      return tl_sv_poison();
   const TlType *elem = p->base->type->elem, *have = tl_type_elem(v->type);
   if (p->base->type->is_const && !tl_refuse_const(s, call, p->base->type))
      return tl_sv_poison();
   if (have != elem && !tl_sv_is_number(&call->args[1])) {
      tl_report(s->diags, E0325, tl_call_arg_range(call, 1), tl_type_cstr(s->arena, elem),
                tl_type_cstr(s->arena, have));
      if (elem->kind == TL_TYPE_SCALAR)
         tl_help(s->diags, "convert the value: .to(tl.%s)", tl_dtype_info[elem->dtype].triton_name);
      return tl_sv_poison();
   }
   v = tl_sema_cast(s, v, elem, call->range);
   bool fits = v && (!tl_type_is_tile(v->type) ||
                     (v->type->rank == p->rank &&
                      memcmp(v->type->shape, p->block, p->rank * sizeof p->block[0]) == 0));
   if (!fits) {
      if (v)
         refuse_shape(s, call, 1, v->type, p);
      return tl_sv_poison();
   }
   TlBlockPtr bytes = *p;
   if (elem->kind == TL_TYPE_SCALAR && elem->dtype == TL_I1) {
      const TlType *i8 = tl_scalar(s, TL_I8);
      bytes.base = tl_t1(&s->b, TL_OP_BITCAST, tl_type_ptr(s->types, i8, false), p->base);
      v = tl_sema_cast(s, v, i8, call->range);
   }
   v = tl_sema_broadcast_to(s, v, p->rank, p->block, call->range);
   TlValue *mask;
   TlValue *ptr = expand_block(s, &bytes, checked, &mask, call->range);
   TlValue *args[3] = {ptr, v, mask};
   return tl_sema_build_op(s, TL_OP_STORE, args, mask ? 3 : 2, NULL, 0, attrs, 0, call->range)
             ? tl_sv_none()
             : tl_sv_poison();
}

/* ---- tensor descriptors ---- */
static bool
is_known_one(const TlValue *v)
{
   uint64_t bits;
   return tl_is_const(v, &bits) && bits == 1;
}

/* What the hardware's descriptors demand and the compiler can see. */
static bool
check_descriptor(TlSema *s, const TlCall *call, const TlBlockPtr *p)
{
   assert(p->rank >= 1 && p->rank <= TL_MAX_RANK);
   enum { MOST_DIMS = 5, MIN_BYTES = 16 };
   const TlType *elem = p->base->type->elem;
   unsigned last = p->rank - 1;
   unsigned bytes = elem->kind == TL_TYPE_PTR ? 8 : tl_dtype_info[elem->dtype].bytes;
   if (p->rank > MOST_DIMS)
      return tl_refuse(s->diags, E0345, tl_call_arg_range(call, 1), "shape", call->row->name,
                       (long long)p->rank, "1 to 5 dimensions");
   if (!is_known_one(p->strides[last])) {
      tl_blame(s, p->strides[last], TL_WANT_ONE);
      tl_report(s->diags, E0302, tl_call_arg_range(call, 2), "strides", call->row->name,
                "the constant 1 in the last place", tl_range_text(s, tl_call_arg_range(call, 2)));
      tl_help(s->diags, "rows lie without gaps, strides=[n, 1]: describe a transposed array as it "
                        "lies, and tl.trans(desc.load([i, j])) turns the block");
      return false;
   }
   if (p->block[last] * bytes < MIN_BYTES) {
      tl_report(s->diags, E0345, tl_call_arg_range(call, 3), "block_shape", call->row->name,
                (long long)p->block[last] * bytes, "16 bytes or more along the last dimension");
      tl_help(s->diags, "make the last size %u elements or more", (unsigned)(MIN_BYTES / bytes));
      return false;
   }
   return true;
}

/* A promise of the program, where the value is not known; checked where promises are. */
static TlValue *
multiple_of(TlSema *s, TlValue *v, int64_t factor, TlRange range)
{
   uint64_t bits;
   if (factor <= 1 || tl_is_const(v, &bits))
      return v;
   return tl_sema_hint(s, v, TL_HINT_DIVISIBLE, &factor, 1, range);
}

/* What the hardware's descriptors demand and only the run shows: the base and all rows begin at
 * multiples of 16 bytes, and rows come one after the other. */
static void
promise_alignment(TlSema *s, const TlCall *call, TlBlockPtr *p)
{
   enum { BYTES = 16 };
   const TlType *elem = p->base->type->elem;
   unsigned bytes = elem->kind == TL_TYPE_PTR ? 8 : tl_dtype_info[elem->dtype].bytes;
   p->base = multiple_of(s, p->base, BYTES, tl_call_arg_range(call, 0));
   if (tl_value_is(p->base, TL_OP_HINT))
      tl_attr(p->base->def, TL_ATTR_TENSOR)->i = 1;
   for (unsigned d = 0; d + 1 < p->rank; d++)
      p->strides[d] = multiple_of(s, p->strides[d], BYTES / bytes, tl_call_arg_range(call, 2));
}

TlSv
tl_builtin_make_descriptor(TlSema *s, const TlCall *call)
{
   enum { BASE, SHAPE, STRIDES, BLOCK, PADDING };
   const TlSv *base = &call->args[BASE], *items, *block;
   unsigned num, block_rank;
   TlText padding = {"zero", 4};
   if (!is_base_pointer(s, call, BASE))
      return tl_sv_poison();
   if (tl_call_has(call, PADDING) && !tl_call_str(s, call, PADDING, &padding))
      return tl_sv_poison();
   TlBlockPtr *p = tl_new(s->arena, TlBlockPtr);
   p->base = base->value;
   p->is_descriptor = true;
   p->pads_nan = tl_text_is(padding, "nan");
   tl_sv_items(&call->args[SHAPE], &items, &num);
   tl_sv_items(&call->args[BLOCK], &block, &block_rank);
   p->rank = num;
   if (num == 0 || num > TL_MAX_RANK)
      return tl_sv_refuse(s, E0345, tl_call_arg_range(call, SHAPE), "shape", call->row->name,
                          (long long)num, "1 to 5 dimensions");
   if (block_rank != num)
      return tl_sv_refuse(s, E0326, tl_call_arg_range(call, BLOCK), "block_shape", call->row->name,
                          num, block_rank);
   if (!scalar_list(s, call, SHAPE, num, TL_I64, p->shape) ||
       !scalar_list(s, call, STRIDES, num, TL_I64, p->strides) ||
       !tl_call_shape(s, call, "block_shape", block, num, p->block,
                      tl_call_arg_range(call, BLOCK)) ||
       !check_descriptor(s, call, p))
      return tl_sv_poison();
   const TlType *elem = p->base->type->elem;
   bool known = p->pads_nan || tl_text_is(padding, "zero") || tl_text_is(padding, "");
   if (!known || (p->pads_nan && !tl_dtype_is_float(elem->dtype)))
      return tl_sv_refuse(s, E0328, tl_call_arg_range(call, PADDING), tl_text_cstr(s, padding),
                          tl_type_cstr(s->arena, elem));
   promise_alignment(s, call, p);
   for (unsigned d = 0; d < num; d++) {
      p->offsets[d] = tl_const_int(&s->b, TL_I32, 0);
      p->order[d] = (uint8_t)(num - 1 - d);
   }
   return (TlSv){.kind = TL_SV_BLOCKPTR, .block_ptr = p};
}

/* The block at the offsets argument. */
static bool
descriptor_block(TlSema *s, const TlCall *call, TlBlockPtr *out)
{
   const TlSv *desc = &call->args[0];
   if (desc->kind != TL_SV_BLOCKPTR || !desc->block_ptr->is_descriptor) {
      if (desc->kind != TL_SV_POISON)
         tl_report(s->diags, E0313, tl_call_arg_range(call, 0), call->row->name,
                   "a tensor descriptor", tl_sv_text(s, desc));
      tl_blame_sv(s, desc, TL_WANT_OTHER);
      return false;
   }
   *out = *desc->block_ptr;
   return scalar_list(s, call, 1, out->rank, TL_I32, out->offsets);
}

/* The whole block, every dim checked. */
static TlSv
load_checked(TlSema *s, const TlCall *call, const TlBlockPtr *p)
{
   const TlType *elem = p->base->type->elem;
   const TlType *tile = tl_type_tile(s->types, elem, p->rank, p->block, NULL);
   TlBits bits =
      p->pads_nan ? tl_double_to_bits(elem->dtype, __builtin_nan(""), TL_ROUND_NEAREST_EVEN) : 0;
   return load_block(s, p, (1u << p->rank) - 1, tl_const_bits(&s->b, tile, bits), NULL,
                     call->range);
}

/* Argument i as a block to write: in the element type, of the block's shape, where writing is
 * allowed. */
static TlValue *
block_to_write(TlSema *s, const TlCall *call, unsigned i, const TlBlockPtr *p)
{
   TlValue *v = tl_call_value(s, call, i);
   if (v)
      tl_warn_of_fraction(s, v, p->base->type->elem, tl_call_arg_range(call, i));
   v = v ? tl_sema_cast(s, v, p->base->type->elem, tl_call_arg_range(call, i)) : NULL;
   if (!v)
      return NULL;
   if (p->base->type->is_const && !tl_refuse_const(s, call, p->base->type))
      return NULL;
   if (v->type->rank == p->rank &&
       memcmp(v->type->shape, p->block, p->rank * sizeof p->block[0]) == 0)
      return v;
   refuse_shape(s, call, i, v->type, p);
   return NULL;
}

static TlSv
store_checked(TlSema *s, const TlCall *call, const TlBlockPtr *p, unsigned value)
{
   TlValue *v = block_to_write(s, call, value, p), *mask;
   if (!v)
      return tl_sv_poison();
   TlValue *ptr = expand_block(s, p, (1u << p->rank) - 1, &mask, call->range);
   TlValue *args[3] = {ptr, v, mask};
   return tl_sema_build_op(s, TL_OP_STORE, args, 3, NULL, 0, NULL, 0, call->range) ? tl_sv_none()
                                                                                   : tl_sv_poison();
}

TlSv
tl_builtin_descriptor_load(TlSema *s, const TlCall *call)
{
   TlBlockPtr p;
   return descriptor_block(s, call, &p) ? load_checked(s, call, &p) : tl_sv_poison();
}

TlSv
tl_builtin_descriptor_store(TlSema *s, const TlCall *call)
{
   TlBlockPtr p;
   return descriptor_block(s, call, &p) ? store_checked(s, call, &p, 2) : tl_sv_poison();
}

/* ---- rows of a descriptor ---- */
/* The rows that argument `rows` lists, from the column that the next argument says on: the
 * descriptor's blocks are single rows. */
static bool
descriptor_rows(TlSema *s, const TlCall *call, unsigned rows, TlBlockPtr *out)
{
   const TlSv *desc = &call->args[0];
   assert(desc->kind == TL_SV_BLOCKPTR && desc->block_ptr->is_descriptor);
   *out = *desc->block_ptr;
   if (out->rank != 2 || out->block[0] != 1)
      return tl_refuse(s->diags, E0313, tl_call_arg_range(call, 0), call->row->name,
                       "a tensor descriptor with blocks of one row",
                       tl_shape_text(s, out->rank, out->block));
   TlValue *x = tl_call_value(s, call, rows), *y = tl_call_value(s, call, rows + 1);
   if (!x || !y)
      return false;
   if (x->type->rank != 1 || !tl_dtype_is_int(tl_value_dtype(x)))
      return tl_refuse(s->diags, E0313, tl_call_arg_range(call, rows), call->row->name,
                       "a tile of integers in one dimension", tl_type_cstr(s->arena, x->type));
   if (y->type->rank != 0 || !tl_dtype_is_int(tl_value_dtype(y)))
      return tl_refuse(s->diags, E0313, tl_call_arg_range(call, rows + 1), call->row->name,
                       "an integer", tl_type_cstr(s->arena, y->type));
   out->rows = x;
   out->block[0] = x->type->shape[0];
   out->offsets[1] = y;
   return true;
}

TlSv
tl_builtin_descriptor_gather(TlSema *s, const TlCall *call)
{
   TlBlockPtr p;
   return descriptor_rows(s, call, 1, &p) ? load_checked(s, call, &p) : tl_sv_poison();
}

TlSv
tl_builtin_descriptor_scatter(TlSema *s, const TlCall *call)
{
   TlBlockPtr p;
   return descriptor_rows(s, call, 2, &p) ? store_checked(s, call, &p, 1) : tl_sv_poison();
}

/* ---- atomics of a descriptor ---- */
/* Types as in Triton: of floats max and min take 16 bits alone, where the GPU has descriptors. */
static bool
check_atomic(TlSema *s, const TlCall *call, int rmw, TlDtype t)
{
   unsigned capability = s->impl->options.capability;
   bool is_wide = tl_dtype_info[t].bits >= 32, is_float = tl_dtype_is_float(t);
   bool is_half = t == TL_FP16 || t == TL_BF16;
   bool is_extremum = rmw == TL_RMW_MAX || rmw == TL_RMW_MIN;
   if (rmw == TL_RMW_ADD ? is_wide || is_half : is_wide && !is_float)
      return true;
   if (is_extremum && is_half && (!capability || capability >= 90))
      return true;
   tl_report(s->diags, E0338, tl_call_arg_range(call, 0), tl_attr_word(TL_AK_RMW, rmw),
             tl_dtype_info[t].text);
   if (is_extremum && is_half)
      tl_help(s->diags, "of descriptors of %s GPUs have it from sm_90 on", tl_dtype_info[t].text);
   else if (is_extremum && is_float)
      tl_help(s->diags,
              "of descriptors 'max' and 'min' take integers of 32 and 64 bits, fp16 and "
              "bf16; 'tl.atomic_%s' of pointers takes %s",
              tl_attr_word(TL_AK_RMW, rmw), tl_dtype_info[t].text);
   return false;
}

TlSv
tl_builtin_descriptor_atomic(TlSema *s, const TlCall *call)
{
   int rmw = tl_builtin_row(call)->which;
   TlBlockPtr p;
   if (!descriptor_block(s, call, &p))
      return tl_sv_poison();
   if (!check_atomic(s, call, rmw, p.base->type->elem->dtype))
      return tl_sv_poison();
   TlValue *v = block_to_write(s, call, 2, &p), *mask;
   if (!v)
      return tl_sv_poison();
   TlValue *ptr = expand_block(s, &p, (1u << p.rank) - 1, &mask, call->range);
   const TlAttrInit attrs[] = {{TL_ATTR_RMW, {.i = rmw}},
                               {TL_ATTR_SEM, {.i = TL_SEM_RELAXED}},
                               {TL_ATTR_SCOPE, {.i = TL_SCOPE_GPU}},
                               {TL_ATTR_COUNT, {.i = 0}}};
   TlValue *args[3] = {ptr, v, mask};
   return tl_sema_build(s, TL_OP_ATOMIC_RMW, args, 3, NULL, attrs, call->range) ? tl_sv_none()
                                                                                : tl_sv_poison();
}
