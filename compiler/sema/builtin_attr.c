/* Attributes of values and types, and the constants of namespace tl that are not functions. */
#include "sema/builtin.h"
#include "sema/impl.h"

#include <assert.h>
#include <string.h>

static bool
is(const char *a, const char *b)
{
   return strcmp(a, b) == 0;
}

static TlSv
bound(TlSema *s, const char *method, const TlSv *self)
{
   TlSv *copy = tl_new(s->arena, TlSv);
   *copy = *self;
   const TlBuiltin *row = tl_builtin_method(method);
   assert(row && "a row of builtins.def has this method");
   return (TlSv){.kind = TL_SV_BUILTIN, .builtin = {row, copy}};
}

static TlSv
shape_tuple(TlSema *s, unsigned rank, const uint32_t *shape)
{
   assert(rank <= TL_MAX_RANK);
   TlSv dims[TL_MAX_RANK];
   for (unsigned d = 0; d < rank; d++)
      dims[d] = tl_sv_int(shape[d]);
   return tl_sv_tuple(s, dims, rank);
}

/* ---- types ---- */
/* Names that are called: x.dtype.is_floating(), x.type.get_block_shapes(). */
static const char *const type_methods[] = {
   "is_floating",       "is_int",           "is_int_signed",
   "is_int_unsigned",   "is_bool",          "is_ptr",
   "is_block",          "is_fp8",           "is_fp16",
   "is_bf16",           "is_fp32",          "is_fp64",
   "is_int1",           "is_int8",          "is_int16",
   "is_int32",          "is_int64",         "is_uint8",
   "is_uint16",         "is_uint32",        "is_uint64",
   "is_fp8e4nv",        "is_fp8e5",         "is_fp8e4b15",
   "is_fp8e4b8",        "is_fp8e5b16",      "is_standard_floating",
   "is_void",           "is_const",         "is_numeric",
   "is_dtype",          "get_block_shapes", "get_int_min_value",
   "get_int_max_value", "with_element_ty",
};

static bool
type_question(const TlType *t, const char *name, bool *out)
{
   bool scalar = t->kind == TL_TYPE_SCALAR;
   TlDtype d = t->dtype;
   unsigned bits = scalar ? tl_dtype_info[d].bits : 0;
   bool flt = scalar && tl_dtype_is_float(d), sint = scalar && tl_dtype_is_signed(d);
   bool integer = scalar && tl_dtype_is_int(d);
   if (is(name, "is_floating"))
      *out = flt;
   else if (is(name, "is_standard_floating"))
      *out = flt && bits > 8;
   else if (is(name, "is_int"))
      *out = integer;
   else if (is(name, "is_numeric") || is(name, "is_dtype"))
      *out = scalar;
   else if (is(name, "is_int_signed"))
      *out = sint;
   else if (is(name, "is_int_unsigned"))
      *out = integer && !sint;
   else if (is(name, "is_bool"))
      *out = scalar && d == TL_I1;
   else if (is(name, "is_ptr"))
      *out = t->kind == TL_TYPE_PTR;
   else if (is(name, "is_const"))
      *out = t->kind == TL_TYPE_PTR && t->is_const;
   else if (is(name, "is_block"))
      *out = t->kind == TL_TYPE_TILE;
   else if (is(name, "is_fp8"))
      *out = flt && bits == 8;
   else if (is(name, "is_void") || is(name, "is_fp8e4b8") || is(name, "is_fp8e5b16"))
      *out = false;
   else {
      TlDtype asked; /* is_fp16, is_uint32, is_int1 .. */
      if (!tl_dtype_from_text(name + 3, strlen(name + 3), &asked))
         return false;
      *out = scalar && d == asked;
   }
   return true;
}

TlSv
tl_builtin_type_question(TlSema *s, const TlCall *call)
{
   const TlSv *self = &call->args[0];
   bool answer;
   if (self->kind == TL_SV_POISON)
      return *self;
   if (self->kind != TL_SV_TYPE || !type_question(self->type, call->row->name, &answer)) {
      tl_report(s->diags, E0343, call->range, tl_sv_text(s, self), call->row->name);
      tl_help(s->diags, "ask the type: x.dtype.%s()", call->row->name);
      return tl_sv_poison();
   }
   return tl_sv_bool(answer);
}

/* ---- methods of types that give no truth ---- */
static bool
call_on_type(TlSema *s, const TlCall *call, bool is_right, const char *needs)
{
   const TlSv *self = &call->args[0];
   if (self->kind == TL_SV_POISON)
      return false;
   if (is_right)
      return true;
   tl_report(s->diags, E0313, call->range, call->row->name, needs, tl_sv_text(s, self));
   if (self->kind != TL_SV_TYPE)
      tl_help(s->diags, "ask the type: x.type.%s(..)", call->row->name);
   return false;
}

TlSv
tl_builtin_block_shapes(TlSema *s, const TlCall *call)
{
   const TlSv *self = &call->args[0];
   bool is_tile = self->kind == TL_SV_TYPE && self->type->kind == TL_TYPE_TILE;
   if (!call_on_type(s, call, is_tile, "the type of a tile"))
      return tl_sv_poison();
   return shape_tuple(s, self->type->rank, self->type->shape);
}

TlSv
tl_builtin_int_limit(TlSema *s, const TlCall *call)
{
   const TlSv *self = &call->args[0];
   bool is_max = tl_builtin_row(call)->which != 0;
   bool is_int = self->kind == TL_SV_TYPE && self->type->kind == TL_TYPE_SCALAR &&
                 tl_dtype_is_int(self->type->dtype);
   if (!call_on_type(s, call, is_int, "an integer type"))
      return tl_sv_poison();
   bool is_signed = tl_dtype_is_signed(self->type->dtype);
   uint64_t all = UINT64_MAX >> (64 - tl_dtype_info[self->type->dtype].bits);
   if (!is_max)
      return tl_sv_int(is_signed ? -(int64_t)(all >> 1) - 1 : 0);
   TlSv max = tl_sv_int((int64_t)(is_signed ? all >> 1 : all));
   max.is_large = !is_signed && all == UINT64_MAX;
   return max;
}

TlSv
tl_builtin_with_element(TlSema *s, const TlCall *call)
{
   const TlSv *self = &call->args[0];
   const TlType *elem;
   if (!call_on_type(s, call, self->kind == TL_SV_TYPE, "a type") ||
       !tl_call_type(s, call, 1, &elem))
      return tl_sv_poison();
   const TlType *t = self->type;
   return tl_sv_type(t->kind == TL_TYPE_TILE ? tl_type_tile(s->types, elem, t->rank, t->shape, NULL)
                                             : elem);
}

/* tl.dtype("uint8") */
TlSv
tl_builtin_dtype(TlSema *s, const TlCall *call)
{
   TlText name;
   TlDtype d;
   if (!tl_call_str(s, call, 0, &name))
      return tl_sv_poison();
   if (!tl_dtype_from_text(name.data, name.len, &d))
      return tl_sv_refuse(s, E0302, tl_call_arg_range(call, 0), "name", call->row->name,
                          "the name of a type such as 'fp32'", tl_sv_describe(s, &call->args[0]));
   return tl_sv_type(tl_scalar(s, d));
}

static int64_t
bit_width(const TlType *t)
{
   return t->kind == TL_TYPE_PTR ? 64 : tl_dtype_info[tl_type_elem(t)->dtype].bits;
}

static bool
type_attr(TlSema *s, const TlSv *self, const char *name, TlSv *out)
{
   assert(self->kind == TL_SV_TYPE);
   const TlType *t = self->type, *elem = tl_type_elem(t);
   for (size_t i = 0; i < sizeof type_methods / sizeof type_methods[0]; i++)
      if (is(name, type_methods[i])) {
         *out = bound(s, name, self);
         return true;
      }
   if (is(name, "scalar")) {
      *out = tl_sv_type(elem);
   } else if (is(name, "element_ty") && t->kind != TL_TYPE_SCALAR) {
      *out = tl_sv_type(t->elem);
   } else if (is(name, "shape") && t->kind == TL_TYPE_TILE) {
      *out = shape_tuple(s, t->rank, t->shape);
   } else if (is(name, "numel") && t->kind == TL_TYPE_TILE) {
      *out = tl_sv_int((int64_t)tl_type_num_elems(t));
   } else if (is(name, "nbytes") && t->kind == TL_TYPE_TILE) {
      *out = tl_sv_int((int64_t)tl_type_num_elems(t) * (bit_width(t) / 8));
   } else if (is(name, "primitive_bitwidth")) {
      *out = tl_sv_int(bit_width(t));
   } else if (is(name, "itemsize")) {
      *out = tl_sv_int((bit_width(t) + 7) / 8);
   } else if (is(name, "int_bitwidth") && elem->kind == TL_TYPE_SCALAR &&
              tl_dtype_is_int(elem->dtype)) {
      *out = tl_sv_int(bit_width(t));
   } else if (is(name, "fp_mantissa_width") && elem->kind == TL_TYPE_SCALAR &&
              tl_dtype_is_float(elem->dtype)) {
      *out = tl_sv_int(tl_dtype_info[elem->dtype].mantissa);
   } else if (is(name, "exponent_bias") && elem->kind == TL_TYPE_SCALAR) {
      *out = tl_sv_int(tl_dtype_info[elem->dtype].bias);
   } else if (is(name, "address_space") && t->kind == TL_TYPE_PTR) {
      *out = tl_sv_int(1);
   } else if (is(name, "name")) {
      *out = tl_sv_str(s, t->kind == TL_TYPE_SCALAR ? tl_dtype_info[t->dtype].text
                                                    : tl_type_cstr(s->arena, t));
   } else if (is(name, "type") || is(name, "dtype")) {
      *out = *self;
   } else {
      return false;
   }
   return true;
}

/* ---- run-time values, numbers, block pointers ---- */
static bool
value_attr(TlSema *s, TlValue *v, const char *name, TlRange range, TlSv *out)
{
   const TlType *t = v->type;
   if (is(name, "dtype"))
      *out = tl_sv_type(tl_type_elem(t));
   else if (is(name, "type"))
      *out = tl_sv_type(t);
   else if (is(name, "shape"))
      *out = shape_tuple(s, t->rank, t->shape);
   else if (is(name, "numel"))
      *out = tl_sv_int((int64_t)tl_type_num_elems(t));
   else if (is(name, "T") && t->rank == 2)
      *out = tl_sv_value(tl_b1(&s->b, TL_OP_TRANS, v,
                               {TL_ATTR_ORDER, {.ints = tl_ints(s->arena, (int64_t[]){1, 0}, 2)}}));
   else if (is(name, "T")) {
      tl_report(s->diags, E0313, range, ".T", "two dimensions", tl_type_cstr(s->arena, t));
      tl_help(s->diags, "use tl.trans or tl.permute with the order of dimensions");
      *out = tl_sv_poison();
   } else
      return false;
   return true;
}

static TlSv
value_tuple(TlSema *s, TlValue *const *values, unsigned num)
{
   assert(num <= TL_MAX_RANK);
   TlSv items[TL_MAX_RANK];
   for (unsigned i = 0; i < num; i++)
      items[i] = tl_sv_value(values[i]);
   return tl_sv_tuple(s, items, num);
}

/* A tensor descriptor's methods are functions that take it first. */
static bool
descriptor_attr(TlSema *s, const TlSv *self, const char *name, TlSv *out)
{
   assert(self->kind == TL_SV_BLOCKPTR && self->block_ptr->is_descriptor);
   const TlBlockPtr *p = self->block_ptr;
   const TlBuiltin *method = tl_builtin_find(TL_NS_DESCRIPTOR, name);
   if (method) {
      TlSv *copy = tl_new(s->arena, TlSv);
      *copy = *self;
      *out = (TlSv){.kind = TL_SV_BUILTIN, .builtin = {method, copy}};
   } else if (is(name, "dtype")) {
      *out = tl_sv_type(p->base->type->elem);
   } else if (is(name, "block_shape")) {
      *out = shape_tuple(s, p->rank, p->block);
   } else if (is(name, "shape")) {
      *out = value_tuple(s, p->shape, p->rank);
   } else if (is(name, "strides")) {
      *out = value_tuple(s, p->strides, p->rank);
   } else if (is(name, "type")) {
      *out = tl_sv_type(tl_type_tile(s->types, p->base->type->elem, p->rank, p->block, NULL));
   } else {
      return false;
   }
   return true;
}

static bool
block_ptr_attr(TlSema *s, const TlBlockPtr *p, const char *name, TlSv *out)
{
   const TlType *elem = p->base->type->elem;
   if (is(name, "dtype") || is(name, "type")) {
      /* a pointer to a block: .element_ty is the block, whose .element_ty is the dtype */
      const TlType *block = tl_type_tile(s->types, elem, p->rank, p->block, NULL);
      TlType *ptr = tl_new(s->arena, TlType); /* never a type of IR */
      *ptr = (TlType){.kind = TL_TYPE_PTR, .is_const = p->base->type->is_const, .elem = block};
      *out = tl_sv_type(ptr);
      return true;
   }
   if (is(name, "shape")) {
      *out = shape_tuple(s, p->rank, p->block);
      return true;
   }
   return false;
}

/* Triton's type of a constant: the constant itself decides what it is equal to. */
static TlSv
constexpr_type(TlSema *s, const TlSv *value)
{
   TlSv type = tl_object_new(s, "constexpr_type");
   tl_object_set(s, &type, tl_intern_cstr(s->strings, "value"), *value);
   return type;
}

TlSv
tl_builtin_constexpr_type(TlSema *s, const TlCall *call)
{
   return constexpr_type(s, &call->args[0]);
}

/* A constant that was not stored to a plain variable, which makes it a number of the run. */
static bool
is_constexpr(const TlSv *v)
{
   return tl_sv_is_number(v) ? !v->is_strong : v->kind == TL_SV_STR || v->kind == TL_SV_TUPLE;
}

bool
tl_attr_of_value(TlSema *s, const TlSv *self, const char *name, TlRange range, TlSv *out)
{
   if (self->kind == TL_SV_POISON) {
      *out = *self;
      return true;
   }
   if (self->kind == TL_SV_VALUE && value_attr(s, self->value, name, range, out))
      return true;
   if (self->kind == TL_SV_BLOCKPTR && self->block_ptr->is_descriptor)
      return descriptor_attr(s, self, name, out);
   if (self->kind == TL_SV_BLOCKPTR && block_ptr_attr(s, self->block_ptr, name, out))
      return true;
   if (self->kind == TL_SV_TYPE)
      return type_attr(s, self, name, out);
   if (is(name, "type") && is_constexpr(self) && !tl_sv_is_runtime(self)) {
      *out = constexpr_type(s, self);
      return true;
   }
   if (tl_sv_is_number(self)) {
      if (is(name, "value"))
         *out = *self;
      else if (is(name, "dtype") || is(name, "type"))
         *out = tl_sv_type(tl_scalar(s, tl_sv_number_dtype(self)));
      else if (is(name, "shape"))
         *out = tl_sv_tuple(s, NULL, 0);
      else if (is(name, "numel"))
         *out = tl_sv_int(1);
      else
         goto method;
      return true;
   }
   if (is(name, "value") && !tl_sv_is_runtime(self)) { /* .value of a constexpr is what it holds */
      *out = *self;
      return true;
   }
method:
   if ((tl_sv_is_number(self) || tl_sv_is_runtime(self)) && tl_builtin_method(name)) {
      *out = bound(s, name, self);
      return true;
   }
   return false;
}

/* ---- constants of namespace tl ---- */
bool
tl_dtype_constant(TlSema *s, const char *name, TlSv *out)
{
   for (unsigned i = 0; i < TL_DTYPE_COUNT; i++)
      if (is(name, tl_dtype_info[i].triton_name)) {
         *out = tl_sv_type(tl_scalar(s, (TlDtype)i));
         return true;
      }
   if (is(name, "float8e4b8") || is(name, "float8e5b16")) { /* compared with, and nothing else */
      *out = tl_object_new(s, name);
      return true;
   }
   if (is(name, "pi32_t")) {
      *out = tl_sv_type(tl_type_ptr(s->types, tl_scalar(s, TL_I32), false));
      return true;
   }
   if (is(name, "CONSTEXPR_0")) { /* default of `descending` in Triton's own sort */
      *out = tl_sv_int(0);
      return true;
   }
   if (is(name, "PropagateNan")) {
      TlSvFields *f = tl_new(s->arena, TlSvFields);
      f->type_name = "PropagateNan";
      f->len = f->cap = 2;
      f->names = tl_new_array(s->arena, const char *, 2);
      f->values = tl_new_array(s->arena, TlSv, 2);
      f->names[0] = tl_intern_cstr(s->strings, "NONE");
      f->names[1] = tl_intern_cstr(s->strings, "ALL");
      f->values[0] = tl_sv_str(s, "none");
      f->values[1] = tl_sv_str(s, "all");
      *out = (TlSv){.kind = TL_SV_OBJECT, .fields = f};
      return true;
   }
   return false;
}

/* tl.pointer_type(element_ty, address_space=1, const=False) */
TlSv
tl_builtin_pointer_type(TlSema *s, const TlCall *call)
{
   const TlType *elem;
   bool is_const;
   if (!tl_call_type(s, call, 0, &elem) || !tl_call_bool(s, call, 2, &is_const))
      return tl_sv_poison();
   return tl_sv_type(tl_type_ptr(s->types, elem, is_const));
}

/* tl.core.get_int_dtype(bitwidth, signed) */
TlSv
tl_builtin_get_int_dtype(TlSema *s, const TlCall *call)
{
   int64_t bits;
   bool is_signed;
   if (!tl_call_int(s, call, 0, &bits) || !tl_call_bool(s, call, 1, &is_signed))
      return tl_sv_poison();
   if (bits != 1 && bits != 8 && bits != 16 && bits != 32 && bits != 64)
      return tl_sv_refuse(s, E0345, call->range, "bitwidth", call->row->name, (long long)bits,
                          "1, 8, 16, 32 or 64");
   return tl_sv_type(tl_scalar(s, tl_dtype_int((unsigned)bits, is_signed)));
}

/* Names that only stand for themselves: tl.tensor, tl.const, tl.dtype. */
TlSv
tl_builtin_not_called(TlSema *s, const TlCall *call)
{
   const char *name = call->row->name;
   tl_report(s->diags, E0337, call->range, name, " as a function: it names a type");
   if (strcmp(name, "tensor") == 0)
      tl_help(s->diags, "tiles are made by tl.full(shape, value, dtype), tl.zeros(shape, dtype), "
                        "tl.arange(0, n) and loads");
   else
      tl_help(s->diags, "a type is named, not made: tl.float32; x.dtype is that of a value");
   return tl_sv_poison();
}
