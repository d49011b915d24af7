/* Atomic read-modify-write.  Float max and min go through the integer order of their bits: for
 * values with a clear sign bit signed order, else reversed unsigned order. */
#include "sema/builtin.h"

#include <assert.h>

typedef struct Atomic {
   TlValue *ptr, *value, *mask; /* one shape; mask may be NULL */
   int64_t sem, scope;
   TlRange range;
} Atomic;

static bool
order_args(TlSema *s, const TlCall *call, unsigned sem, Atomic *a)
{
   a->range = call->range;
   return tl_call_word(s, call, sem, TL_AK_SEM, "acquire release acq_rel relaxed", TL_SEM_ACQ_REL,
                       &a->sem) &&
          tl_call_word(s, call, sem + 1, TL_AK_SCOPE, "gpu cta sys", TL_SCOPE_GPU, &a->scope);
}

static bool
pointer_arg(TlSema *s, const TlCall *call, Atomic *a)
{
   TlRange range = tl_call_arg_range(call, 0);
   a->ptr = tl_call_pointer(s, call, 0);
   if (!a->ptr)
      return false;
   const TlType *elem = tl_type_elem(a->ptr->type);
   if (elem->is_const)
      return tl_refuse_const(s, call, a->ptr->type);
   if (elem->elem->kind != TL_TYPE_SCALAR)
      return tl_refuse(s->diags, E0338, range, call->row->name, tl_type_cstr(s->arena, elem->elem));
   return true;
}

/* A value argument cast to the pointee and in the pointer's shape. */
static TlValue *
pointee_arg(TlSema *s, const TlCall *call, unsigned i, const TlType *ptr)
{
   assert(tl_type_elem(ptr)->kind == TL_TYPE_PTR);
   TlRange range = tl_call_arg_range(call, i);
   const TlType *elem = tl_type_elem(ptr)->elem;
   const TlSv *arg = &call->args[i];
   TlValue *v = tl_sv_is_number(arg) && !arg->is_strong
                   ? tl_sema_value_as(s, arg, elem->dtype, range)
                   : tl_call_value(s, call, i);
   if (v)
      tl_warn_of_fraction(s, v, elem, range);
   v = v ? tl_sema_cast(s, v, elem, range) : NULL;
   if (!v)
      return NULL;
   if (ptr->rank || !tl_type_is_tile(v->type))
      return tl_sema_broadcast_to(s, v, ptr->rank, ptr->shape, range);
   tl_refuse_tile(s, call, i, v->type);
   return NULL;
}

static TlValue *
build_rmw(TlSema *s, const Atomic *a, int64_t rmw)
{
   assert(a->ptr->type->rank == a->value->type->rank);
   assert(!a->mask || a->mask->type->rank == a->ptr->type->rank);
   const TlAttrInit attrs[] = {{TL_ATTR_RMW, {.i = rmw}},
                               {TL_ATTR_SEM, {.i = a->sem}},
                               {TL_ATTR_SCOPE, {.i = a->scope}},
                               {TL_ATTR_COUNT, {.i = 0}}};
   TlValue *args[3] = {a->ptr, a->value, a->mask};
   return tl_sema_build(s, TL_OP_ATOMIC_RMW, args, a->mask ? 3 : 2, NULL, attrs, a->range);
}

/* ---- float max and min ---- */
static TlValue *
part(TlSema *s, const Atomic *a, int64_t rmw, TlDtype dtype, TlValue *which)
{
   assert(tl_dtype_info[dtype].bits == tl_dtype_info[tl_value_dtype(a->value)].bits);
   Atomic p = *a;
   const TlType *elem = tl_scalar(s, dtype);
   p.ptr = tl_sema_cast(s, a->ptr, tl_type_ptr(s->types, elem, false), a->range);
   p.value = tl_sema_bitcast(s, a->value, elem, a->range);
   p.mask = a->mask ? tl_b2(&s->b, TL_OP_AND, a->mask, which) : which;
   TlValue *r = build_rmw(s, &p, rmw);
   return r ? tl_sema_bitcast(s, r, tl_type_elem(a->value->type), a->range) : NULL;
}

static TlValue *
float_extremum(TlSema *s, const Atomic *a, bool is_max)
{
   assert(tl_dtype_is_float(tl_value_dtype(a->value)));
   unsigned bits = tl_dtype_info[tl_value_dtype(a->value)].bits;
   TlDtype sint = tl_dtype_int(bits, true), uint = tl_dtype_int(bits, false);
   TlValue *raw = tl_sema_bitcast(s, a->value, tl_scalar(s, sint), a->range);
   TlValue *zero = tl_const_bits(&s->b, raw->type, 0);
   TlValue *is_pos = tl_b2(&s->b, TL_OP_GE, raw, zero);
   TlValue *is_neg = tl_b2(&s->b, TL_OP_LT, raw, zero);
   TlValue *pos = part(s, a, is_max ? TL_RMW_MAX : TL_RMW_MIN, sint, is_pos);
   TlValue *neg = part(s, a, is_max ? TL_RMW_MIN : TL_RMW_MAX, uint, is_neg);
   return pos && neg ? tl_b3(&s->b, TL_OP_SELECT, is_pos, pos, neg) : NULL;
}

TlSv
tl_builtin_atomic(TlSema *s, const TlCall *call)
{
   int rmw = tl_builtin_row(call)->which;
   Atomic a = {0};
   if (!order_args(s, call, 3, &a) || !pointer_arg(s, call, &a))
      return tl_sv_poison();
   TlDtype t = tl_type_elem(a.ptr->type)->elem->dtype;
   unsigned bits = tl_dtype_info[t].bits;
   bool is_float = tl_dtype_is_float(t),
        is_bitwise = rmw == TL_RMW_AND || rmw == TL_RMW_OR || rmw == TL_RMW_XOR;
   bool ok = bits >= 32 || (rmw == TL_RMW_ADD && is_float && bits == 16);
   if (!ok || (is_bitwise && is_float)) {
      tl_report(s->diags, E0338, tl_call_arg_range(call, 0), tl_attr_word(TL_AK_RMW, rmw),
                tl_dtype_info[t].text);
      tl_blame(s, a.ptr, TL_WANT_INT);
      if (bits < 32)
         tl_help(s->diags,
                 "32-bit and 64-bit types are supported, fp16 and bf16 for add only: use a "
                 "buffer of %s",
                 tl_dtype_is_float(t) ? "fp32" : "int32");
      return tl_sv_poison();
   }
   const TlType *want = a.ptr->type;
   if (!tl_call_mask(s, call, 2, want, &a.mask) || !(a.value = pointee_arg(s, call, 1, want)))
      return tl_sv_poison();
   if (a.mask) {
      a.mask = tl_sema_broadcast_to(s, a.mask, want->rank, want->shape, tl_call_arg_range(call, 2));
      if (!a.mask)
         return tl_sv_poison();
   }
   if (is_float && (rmw == TL_RMW_MAX || rmw == TL_RMW_MIN))
      return tl_sv_value(float_extremum(s, &a, rmw == TL_RMW_MAX));
   return tl_sv_value(build_rmw(s, &a, rmw));
}

TlSv
tl_builtin_atomic_cas(TlSema *s, const TlCall *call)
{
   Atomic a = {0};
   if (!order_args(s, call, 3, &a) || !pointer_arg(s, call, &a))
      return tl_sv_poison();
   TlDtype t = tl_type_elem(a.ptr->type)->elem->dtype;
   if (tl_dtype_info[t].bits < 16) {
      tl_report(s->diags, E0338, tl_call_arg_range(call, 0), "cas", tl_dtype_info[t].text);
      tl_help(s->diags, "16-bit, 32-bit and 64-bit types are supported: use a buffer of int32");
      return tl_sv_poison();
   }
   TlValue *compare = pointee_arg(s, call, 1, a.ptr->type);
   a.value = compare ? pointee_arg(s, call, 2, a.ptr->type) : NULL;
   if (!a.value)
      return tl_sv_poison();
   const TlAttrInit attrs[] = {
      {TL_ATTR_SEM, {.i = a.sem}}, {TL_ATTR_SCOPE, {.i = a.scope}}, {TL_ATTR_COUNT, {.i = 0}}};
   return tl_sv_value(tl_sema_build(s, TL_OP_ATOMIC_CAS, (TlValue *[]){a.ptr, compare, a.value}, 3,
                                    NULL, attrs, call->range));
}
