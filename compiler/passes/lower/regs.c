/* Building blocks on registers of one thread.  Invariant: a value of one register is a scalar, so
 * nothing here makes regs<T, 1>. */
#include "passes/lower/impl.h"

#include <assert.h>

unsigned
tl_regs_of(const TlType *t)
{
   return t->kind == TL_TYPE_REGS ? t->count : 1;
}

TlValue *
tl_regs_gather(TlLowerCx *cx, TlValue *const *parts, unsigned num_parts, const uint32_t *index,
               unsigned n)
{
   assert(num_parts > 0 && n > 0);
   unsigned total = 0;
   for (unsigned i = 0; i < num_parts; i++)
      total += tl_regs_of(parts[i]->type);
   bool identity = num_parts == 1 && total == n;
   for (unsigned i = 0; i < n; i++) {
      assert(index[i] < total);
      identity = identity && index[i] == i;
   }
   if (identity)
      return parts[0];
   const TlType *elem = tl_type_elem(parts[0]->type);
   int64_t *picked = tl_new_array(cx->scratch, int64_t, n);
   for (unsigned i = 0; i < n; i++)
      picked[i] = index[i];
   const TlType *type = tl_type_regs(cx->types, elem, n);
   const TlInts *ints = tl_ints(cx->arena, picked, n);
   return tl_build_n(&cx->b, TL_OP_PICK, parts, num_parts, type,
                     TL_ATTRS_({TL_ATTR_INDEX, {.ints = ints}}));
}

TlValue *
tl_regs_pick(TlLowerCx *cx, TlValue *v, const uint32_t *index, unsigned n)
{
   return tl_regs_gather(cx, &v, 1, index, n);
}

TlValue *
tl_regs_slice(TlLowerCx *cx, TlValue *v, unsigned first, unsigned n)
{
   uint32_t *index = tl_new_array(cx->scratch, uint32_t, n);
   for (unsigned i = 0; i < n; i++)
      index[i] = first + i;
   return tl_regs_pick(cx, v, index, n);
}

TlValue *
tl_regs_concat(TlLowerCx *cx, TlValue *const *parts, unsigned n)
{
   unsigned total = 0;
   for (unsigned i = 0; i < n; i++)
      total += tl_regs_of(parts[i]->type);
   uint32_t *index = tl_new_array(cx->scratch, uint32_t, total);
   for (unsigned i = 0; i < total; i++)
      index[i] = i;
   return tl_regs_gather(cx, parts, n, index, total);
}

TlValue *
tl_regs_reg(TlLowerCx *cx, TlValue *v, unsigned i)
{
   assert(i < tl_regs_of(v->type));
   uint32_t index = i;
   return tl_regs_pick(cx, v, &index, 1);
}

TlValue *
tl_regs_splat(TlLowerCx *cx, TlValue *scalar, unsigned n)
{
   assert(n > 0 && n <= TL_MAX_REGS_PER_THREAD);
   unsigned have = tl_regs_of(scalar->type);
   if (have == n)
      return scalar;
   assert(have == 1);
   return tl_t1(&cx->b, TL_OP_SPLAT, tl_type_regs(cx->types, scalar->type, n), scalar);
}

TlValue *
tl_bits_const(TlLowerCx *cx, const TlType *type, uint64_t bits)
{
   return tl_const_bits(&cx->b, type, bits);
}

TlValue *
tl_i32(TlLowerCx *cx, int64_t v)
{
   return tl_const_int(&cx->b, TL_I32, v);
}

TlValue *
tl_regs_i32(TlLowerCx *cx, const uint32_t *values, unsigned n)
{
   assert(n > 0);
   TlMap seen;
   TL_VEC(TlValue *) parts = {0};
   uint32_t *index = tl_new_array(cx->scratch, uint32_t, n);
   bool equal = true;
   for (unsigned i = 1; i < n; i++)
      equal = equal && values[i] == values[0];
   if (equal)
      return tl_bits_const(cx, tl_type_regs(cx->types, tl_type_scalar(cx->types, TL_I32), n),
                           values[0]);
   tl_map_init(&seen, cx->scratch);
   for (unsigned i = 0; i < n; i++) {
      void *key = (void *)(uintptr_t)values[i];
      uintptr_t at = (uintptr_t)tl_map_get(&seen, key);
      if (!at) {
         tl_vec_push(cx->scratch, &parts, tl_i32(cx, (int32_t)values[i]));
         at = parts.len;
         tl_map_put(&seen, key, (void *)at);
      }
      index[i] = (uint32_t)at - 1;
   }
   return tl_regs_gather(cx, parts.data, (unsigned)parts.len, index, n);
}

TlValue *
tl_op2(TlLowerCx *cx, TlOpcode opcode, TlValue *a, TlValue *b)
{
   unsigned na = tl_regs_of(a->type), nb = tl_regs_of(b->type), n = na > nb ? na : nb;
   assert(na == n || na == 1);
   assert(nb == n || nb == 1);
   return tl_b2(&cx->b, opcode, tl_regs_splat(cx, a, n), tl_regs_splat(cx, b, n));
}

TlValue *
tl_regs_cast(TlLowerCx *cx, TlOpcode opcode, TlValue *v, TlDtype to)
{
   assert(opcode == TL_OP_CAST || opcode == TL_OP_BITCAST);
   const TlType *elem = tl_type_scalar(cx->types, to);
   if (tl_type_elem(v->type) == elem)
      return v;
   return tl_t1(&cx->b, opcode, tl_type_regs(cx->types, elem, tl_regs_of(v->type)), v);
}

TlDtype
tl_memory_dtype(const TlType *elem)
{
   assert(elem->kind == TL_TYPE_SCALAR || elem->kind == TL_TYPE_PTR);
   if (elem->kind == TL_TYPE_PTR)
      return TL_I64;
   return elem->dtype == TL_I1 ? TL_I8 : elem->dtype;
}

TlValue *
tl_regs_to_memory(TlLowerCx *cx, TlValue *v)
{
   const TlType *elem = tl_type_elem(v->type);
   if (elem->kind == TL_TYPE_PTR)
      return tl_regs_cast(cx, TL_OP_BITCAST, v, TL_I64);
   return elem->dtype == TL_I1 ? tl_regs_cast(cx, TL_OP_CAST, v, TL_I8) : v;
}

TlValue *
tl_regs_from_memory(TlLowerCx *cx, TlValue *v, const TlType *elem)
{
   assert(tl_type_elem(v->type)->dtype == tl_memory_dtype(elem));
   if (elem->kind == TL_TYPE_PTR)
      return tl_t1(&cx->b, TL_OP_BITCAST, tl_type_regs(cx->types, elem, tl_regs_of(v->type)), v);
   return elem->dtype == TL_I1 ? tl_regs_cast(cx, TL_OP_CAST, v, TL_I1) : v;
}
