/* device_print and device_assert, once for each element; promises that checked code keeps. */
#include "ir/control.h"
#include "passes/lower/impl.h"

/* An `if` whose body is filled by the caller between begin and end; pred NULL = no `if`. */
static TlBuilder
begin_if(TlLowerCx *cx, TlValue *pred)
{
   TlBuilder saved = cx->b;
   if (!pred)
      return saved;
   TlOp *op = tl_build(&cx->b, TL_OP_IF, &pred, 1, NULL, 0, NULL, 0, 2);
   for (unsigned i = 0; i < 2; i++) {
      cx->b.block = op->regions[i]->block;
      cx->b.before = NULL;
      tl_build_yield(&cx->b, NULL, 0);
   }
   cx->b.block = op->regions[0]->block;
   cx->b.before = cx->b.block->last;
   return saved;
}

/* Of the threads that hold an element those print that there are for each, the others not. */
static void
keep_copies(TlOwner *o, uint64_t threads, uint64_t elements)
{
   for (; threads > elements && (o->free_lanes || o->free_warps); threads /= 2) {
      uint32_t *bits = o->free_lanes ? &o->free_lanes : &o->free_warps;
      *bits &= *bits - 1;
   }
}

/* Operand k with the index of each of its elements, once; after the last one the prefix alone. */
static void
print_operand(TlLowerCx *cx, TlOp *op, unsigned k)
{
   enum { MOST = TL_MAX_RANK + 1 };
   const TlType *t = k < op->num_args ? tl_arg(op, k)->type : NULL;
   bool is_tile = t && t->kind == TL_TYPE_TILE;
   TlLinear l = {0};
   TlOwner o = {.free_lanes = (1u << TL_LANE_BITS) - 1, .free_warps = (1u << cx->log2_warps) - 1};
   if (is_tile) {
      l = tl_layout_of(t);
      o = tl_owner_of(&l);
   }
   unsigned total = is_tile ? 1u << l.num[TL_HW_REG] : 1, num = 0;
   uint32_t *reg = tl_new_array(cx->scratch, uint32_t, total);
   unsigned n = tl_owner_regs(&o, total, reg);
   keep_copies(&o, (uint64_t)tl_attr_int(op, TL_ATTR_THREADS), t ? tl_type_num_elems(t) : 1);
   TlBuilder saved = begin_if(cx, tl_owner_pred(cx, &o));
   TlValue *args[MOST];
   int64_t *widths = tl_new_array(cx->scratch, int64_t, TL_MAX_RANK);
   for (unsigned d = 0; is_tile && d < t->rank; d++) {
      uint32_t mask = tl_axis_mask(&l, d);
      TlValue *at = tl_element_words(cx, &l, mask, mask ? (unsigned)__builtin_ctz(mask) : 0, 0);
      args[num] = tl_regs_pick(cx, tl_regs_splat(cx, at, total), reg, n);
      widths[num++] = tl_print_width(t->shape[d]);
   }
   const TlInts *ints = num ? tl_ints(cx->arena, widths, num) : NULL;
   if (t) {
      TlValue *v = tl_lower_use(cx, tl_arg(op, k));
      args[num++] = is_tile ? tl_regs_pick(cx, v, reg, n) : v;
   }
   const char *text = tl_attr_str(op, TL_ATTR_TEXT);
   if (op->num_args > 1)
      text = tl_arena_printf(cx->arena, "%s(operand %u) ", text ? text : "", k);
   TlAttrInit attrs[] = {{TL_ATTR_TEXT, {.s = text}},
                         {TL_ATTR_HEX, *tl_attr(op, TL_ATTR_HEX)},
                         {TL_ATTR_WIDTHS, {.ints = ints}}};
   tl_build(&cx->b, TL_OP_DEVICE_PRINT, args, num, NULL, 0, attrs, 3, 0);
   cx->b = saved;
}

void
tl_lower_device_print(TlLowerCx *cx, TlOp *op)
{
   if (!op->num_args)
      print_operand(cx, op, 0);
   for (unsigned k = 0; k < op->num_args; k++)
      print_operand(cx, op, k);
}

void
tl_lower_device_assert(TlLowerCx *cx, TlOp *op)
{
   tl_lower_same(cx, op); /* a copy fails like its original */
}

void
tl_lower_check_of_hint(TlLowerCx *cx, const TlOp *hint, TlValue *x)
{
   const TlType *t = tl_arg(hint, 0)->type, *elem = tl_type_elem(t);
   TlInts promised = tl_attr_ints(hint, TL_ATTR_VALUES);
   bool is_tile = t->kind == TL_TYPE_TILE;
   int64_t *shape = tl_new_array(cx->scratch, int64_t, TL_MAX_RANK);
   if (elem->kind == TL_TYPE_SCALAR && tl_dtype_is_float(elem->dtype))
      return;
   TlValue *index = tl_i32(cx, 0);
   if (is_tile) {
      TlLinear l = tl_layout_of(t);
      index = tl_regs_splat(cx, tl_element_words(cx, &l, (1u << tl_ll_bits(&l)) - 1, 0, 0),
                            tl_regs_of(x->type));
   }
   for (unsigned d = 0; is_tile && d < t->rank; d++)
      shape[d] = t->shape[d];
   for (unsigned d = 0; d < (is_tile ? t->rank : 1) && d < promised.len; d++) {
      TlAttrInit attrs[] = {
         {TL_ATTR_HINT, {.i = tl_attr_int(hint, TL_ATTR_HINT)}},
         {TL_ATTR_SIZE, {.i = promised.data[d]}},
         {TL_ATTR_AXIS, {.i = d}},
         {TL_ATTR_VALUES, {.ints = tl_ints(cx->arena, shape, is_tile ? t->rank : 0)}}};
      if (promised.data[d] > 1)
         tl_build(&cx->b, TL_OP_CHECK_HINT, (TlValue *[]){x, index}, 2, NULL, 0, attrs, 4, 0);
   }
}
