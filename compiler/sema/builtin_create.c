/* Builtins that make values: program ids, ranges of indices, constant tiles, conversions, and the
 * small integer helpers that work at compile time and at run time alike. */
#include "sema/help.h"
#include "sema/impl.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* program_id, num_programs */
TlSv
tl_builtin_program(TlSema *s, const TlCall *call)
{
   TlOpcode op = (TlOpcode)tl_builtin_row(call)->which;
   assert(op == TL_OP_PROGRAM_ID || op == TL_OP_NUM_PROGRAMS);
   int64_t axis;
   if (!tl_call_int(s, call, 0, &axis))
      return tl_sv_poison();
   if (axis < 0 || axis > 2) {
      tl_report(s->diags, E0314, tl_call_arg_range(call, 0), call->row->name, (long long)axis);
      tl_help(s->diags, "a grid has three axes; fold more into one: pid // n and pid %% n");
      return tl_sv_poison();
   }
   return tl_sv_value(tl_b0(&s->b, op, tl_scalar(s, TL_I32), {TL_ATTR_AXIS, {.i = axis}}));
}

TlValue *
tl_build_arange(TlSema *s, int64_t start, int64_t end, TlRange range)
{
   assert(start < end);
   const TlAttrInit attrs[] = {
      {TL_ATTR_START, {.i = start}}, {TL_ATTR_END, {.i = end}}, {TL_ATTR_COUNT, {.i = 0}}};
   return tl_sema_build(s, TL_OP_ARANGE, NULL, 0, NULL, attrs, range);
}

TlSv
tl_builtin_arange(TlSema *s, const TlCall *call)
{
   int64_t start, end;
   if (!tl_call_int(s, call, 0, &start) || !tl_call_int(s, call, 1, &end)) {
      const TlDiag *d = s->diags->last;
      const char *help = tl_help_arange(s, call);
      if (help && d && d->code == TL_DIAG_E0301 && !d->notes && d->range.file == call->range.file &&
          d->range.begin >= call->range.begin &&
          d->range.end <= call->range.end) /* else the caller is to blame */
         tl_help(s->diags, "%s", help);
      return tl_sv_poison();
   }
   if (start < INT32_MIN || end > INT32_MAX || start >= end) {
      tl_report(s->diags, E0315, call->range, (long long)start, (long long)end);
      if (start == 0 && end == 0)
         tl_help(s->diags, "the block size must be positive");
      return tl_sv_poison();
   }
   int64_t len = end - start;
   if (!(len & (len - 1)) && len > TL_MAX_TILE_ELEMS)
      return tl_sv_refuse(s, E0309, call->range, TL_MAX_TILE_ELEMS, (unsigned long long)len);
   if (len & (len - 1)) {
      int64_t power = 1;
      while (power < len)
         power *= 2;
      tl_report(s->diags, E0316, call->range, (long long)len, (long long)start, (long long)end);
      const char *help = start == 0 ? tl_help_length(s, call, power) : NULL;
      if (help && power <= TL_MAX_TILE_ELEMS)
         tl_help(s->diags, "%s", help);
      else if (power <= TL_MAX_TILE_ELEMS)
         tl_help(s->diags, "use tl.arange(%lld, %lld) and a mask: offsets < %lld", (long long)start,
                 (long long)(start + power), (long long)end);
      return tl_sv_poison();
   }
   return tl_sv_value(tl_build_arange(s, start, end, call->range));
}

/* 0xffffffff as int32: the bits of a number that is too large by its sign alone. */
static TlSv
as_pattern(const TlSv *v, TlDtype dtype)
{
   unsigned bits = tl_dtype_info[dtype].bits;
   bool is_pattern = v->kind == TL_SV_INT && !v->is_strong && tl_dtype_is_int(dtype) &&
                     tl_dtype_is_signed(dtype) && bits < 64 && v->i >= INT64_C(1) << (bits - 1) &&
                     v->i < INT64_C(1) << bits;
   return is_pattern ? tl_sv_int(v->i - (INT64_C(1) << bits)) : *v;
}

/* A tile of equal elements; an empty shape gives a scalar. */
static TlSv
filled(TlSema *s, const TlCall *call, const TlSv *shape_arg, const TlSv *value, TlDtype dtype)
{
   assert(dtype < TL_DTYPE_COUNT);
   uint32_t shape[TL_MAX_RANK];
   const TlSv *items;
   unsigned rank;
   if (shape_arg->kind == TL_SV_POISON)
      return *shape_arg;
   tl_sv_items(shape_arg, &items, &rank);
   if (!tl_call_shape(s, call, "shape", items, rank, shape, tl_call_arg_range(call, 0)))
      return tl_sv_poison();
   if (value->kind == TL_SV_VALUE && tl_type_num_elems(value->value->type) != 1)
      return tl_sv_refuse(s, E0313, tl_call_arg_range(call, 1), call->row->name, "a scalar value",
                          tl_type_cstr(s->arena, value->value->type));
   TlSv filling = as_pattern(value, dtype);
   bool is_pattern = value->kind == TL_SV_INT && filling.i != value->i;
   if (value == &call->args[1] && (is_pattern || tl_dtype_is_float(dtype)))
      tl_warn_wraps(s, call, 1, dtype);
   TlValue *v = tl_sema_value_as(s, &filling, dtype, tl_call_arg_range(call, 1));
   if (!v && filling.kind == TL_SV_INT && !filling.is_large && s->diags->last &&
       s->diags->last->code == TL_DIAG_E0282)
      tl_help(s->diags, "tl.%s holds it; bits are written as a hexadecimal number",
              tl_dtype_info[tl_dtype_holding(filling.i, tl_dtype_info[dtype].bits)].triton_name);
   if (v && tl_type_is_tile(v->type))
      v = tl_t1(&s->b, TL_OP_RESHAPE, v->type->elem, v);
   return v ? tl_sv_value(tl_sema_broadcast_to(s, v, rank, shape, call->range)) : tl_sv_poison();
}

TlSv
tl_builtin_full(TlSema *s, const TlCall *call)
{
   const TlType *dtype;
   if (!tl_call_dtype(s, call, 2, &dtype))
      return tl_sv_poison();
   return filled(s, call, &call->args[0], &call->args[1], dtype->dtype);
}

TlSv
tl_builtin_zeros(TlSema *s, const TlCall *call)
{
   const TlType *dtype;
   if (!tl_call_dtype(s, call, 1, &dtype))
      return tl_sv_poison();
   TlSv zero = tl_sv_int(0);
   return filled(s, call, &call->args[0], &zero, dtype->dtype);
}

TlSv
tl_builtin_zeros_like(TlSema *s, const TlCall *call)
{
   TlValue *x = tl_call_taken(s, call, 0, TL_TAKES_NUMBER | TL_TAKES_BOOL);
   if (!x && call->num_args && call->args[0].kind == TL_SV_TUPLE)
      tl_help(s->diags,
              "it takes the shape and type of a tile; of sizes it is tl.zeros(%.60s, "
              "dtype)",
              tl_range_text(s, tl_call_arg_range(call, 0)));
   if (!x)
      return tl_sv_poison();
   return tl_sv_value(tl_const_bits(&s->b, x->type, 0));
}

/* ---- conversions ---- */
static bool
is_narrowing(const TlType *from, const TlType *to)
{
   return from->kind == TL_TYPE_SCALAR && to->kind == TL_TYPE_SCALAR &&
          tl_dtype_is_float(from->dtype) && tl_dtype_is_float(to->dtype) &&
          tl_dtype_info[to->dtype].bits < tl_dtype_info[from->dtype].bits;
}

TlSv
tl_builtin_cast(TlSema *s, const TlCall *call)
{
   const TlSv *x = &call->args[0];
   const TlType *to;
   bool bitcast;
   int64_t rounding;
   if (!tl_call_type(s, call, 1, &to) || !tl_call_bool(s, call, 3, &bitcast) ||
       !tl_call_word(s, call, 2, TL_AK_ROUNDING, "rtne rtz", -1, &rounding))
      return tl_sv_poison();
   to = tl_type_elem(to); /* a tile's type stands for its element type */
   bool is_plain = !bitcast && to->kind == TL_TYPE_SCALAR;
   if (tl_sv_is_number(x) && is_plain)
      return tl_sv_cast_number(s, x, to->dtype, tl_rounding_of(rounding));
   TlValue *v = tl_call_value(s, call, 0);
   if (!v)
      return tl_sv_poison();
   if (bitcast)
      return tl_sv_value(tl_sema_bitcast(s, v, to, call->range));
   const TlType *from = tl_type_elem(v->type);
   if (rounding >= 0 && from != to && !is_narrowing(from, to))
      return tl_sv_refuse(s, E0293, call->range, tl_type_cstr(s->arena, from),
                          tl_type_cstr(s->arena, to));
   return tl_sv_value(
      tl_sema_cast_rounded(s, v, to, rounding < 0 ? TL_ROUNDING_RTNE : rounding, call->range));
}

TlSv
tl_builtin_to_tensor(TlSema *s, const TlCall *call)
{
   if (!tl_sv_is_number(&call->args[0]))
      return call->args[0].kind == TL_SV_POISON ? call->args[0]
                                                : tl_sv_value(tl_call_value(s, call, 0));
   TlSv v = call->args[0];
   v.dtype = tl_sv_number_dtype(&v);
   v.is_strong = true;
   return v;
}

/* tl.constexpr(x): the constant itself, weak. */
TlSv
tl_builtin_constexpr(TlSema *s, const TlCall *call)
{
   TlSv v = call->args[0];
   if (tl_sv_is_runtime(&v)) {
      tl_report(s->diags, W0217, call->range, "this is made a");
      tl_help(s->diags,
              "it stays what it is: for a constant, compute it from tl.constexpr parameters");
      return v;
   }
   v.is_strong = false;
   return v;
}

/* ---- integer helpers ---- */
static int64_t
floor_div(int64_t a, int64_t b)
{
   assert(b != 0);
   int64_t q = a / b;
   return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

static bool
is_weak_int(const TlSv *v, int64_t *out)
{
   return !v->is_strong && tl_sv_const_int(v, out);
}

TlSv
tl_builtin_cdiv(TlSema *s, const TlCall *call)
{
   const TlSv *x = &call->args[0], *d = &call->args[1];
   int64_t a, b;
   if (tl_sv_const_int(x, &a) && tl_sv_const_int(d, &b) && !(x->is_strong && d->is_strong)) {
      if (b == 0 || b == -1 || __builtin_add_overflow(a, b - 1, &a))
         return tl_sv_refuse(s, E0345, call->range, "div", "cdiv", (long long)b,
                             "a usable divisor");
      return tl_sv_int(floor_div(a, b));
   }
   if (!tl_call_is_value(s, call, 0) || !tl_call_is_value(s, call, 1))
      return tl_sv_poison();
   TlSv one = tl_sv_int(1), less;
   if (is_weak_int(d, &b))
      less = tl_sv_int(b - 1);
   else
      less = tl_sema_binary(s, TL_AST_OP_SUB, d, &one, call->range);
   TlSv sum = tl_sema_binary(s, TL_AST_OP_ADD, x, &less, call->range);
   return tl_sema_binary(s, TL_AST_OP_FLOORDIV, &sum, d, call->range);
}

TlSv
tl_builtin_next_power_of_2(TlSema *s, const TlCall *call)
{
   int64_t n;
   if (tl_sv_const_int(&call->args[0], &n)) {
      uint64_t p = 1;
      while (p < (uint64_t)n && n > 0)
         p *= 2;
      TlSv v = tl_sv_int(n > 0 ? (int64_t)p : 0);
      v.is_large = n > 0 && p > INT64_MAX;
      return v;
   }
   TlValue *x = tl_call_taken(s, call, 0, TL_TAKES_INT);
   if (!x)
      return tl_sv_poison();
   TlValue *one = tl_const_bits(&s->b, x->type, 1);
   TlValue *m = tl_b2(&s->b, TL_OP_SUB, x, one);
   for (unsigned shift = 1; shift < tl_dtype_info[tl_value_dtype(x)].bits; shift *= 2) {
      TlValue *by = tl_const_bits(&s->b, x->type, shift);
      m = tl_b2(&s->b, TL_OP_OR, m, tl_b2(&s->b, TL_OP_SHR, m, by));
   }
   return tl_sv_value(tl_b2(&s->b, TL_OP_ADD, m, one));
}
