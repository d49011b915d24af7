/* Loads and stores through pointers.  Block pointers are in builtin_block_ptr.c; both end in the
 * same load and store operations. */
#include "ir/control.h"
#include "sema/builtin.h"
#include "sema/help.h"
#include "sema/impl.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum {
   LOAD_PTR,
   LOAD_MASK,
   LOAD_OTHER,
   LOAD_CHECK,
   LOAD_PADDING,
   LOAD_CACHE,
   LOAD_EVICT,
   LOAD_VOLATILE
};
enum { STORE_PTR, STORE_VALUE, STORE_MASK, STORE_CHECK, STORE_CACHE, STORE_EVICT };

static bool
refuse_block_args(TlSema *s, const TlCall *call, unsigned first, unsigned count)
{
   assert(first + count <= call->num_args);
   for (unsigned i = first; i < first + count; i++) {
      const TlSv *v = &call->args[i];
      bool empty = v->kind == TL_SV_NONE || (v->kind == TL_SV_STR && v->s.len == 0) ||
                   (v->kind == TL_SV_TUPLE && v->tuple->len == 0);
      if (!empty) {
         tl_report(s->diags, E0319, tl_call_arg_range(call, i), tl_call_param(s, call, i),
                   tl_sv_text(s, &call->args[0]));
         const char *option = tl_help_word(s, call, i);
         const char *slip = tl_slip_help(call->row, TL_SLIP_HAS_NO, "other");
         bool is_mask = v->kind == TL_SV_VALUE &&
                        tl_type_elem(v->value->type)->kind == TL_TYPE_SCALAR &&
                        tl_type_elem(v->value->type)->dtype == TL_I1;
         if (is_mask) { /* store(p, v, a, b) */
            tl_help(s->diags, "there is one mask: conditions are joined by '&', (a) & (b)");
            return false;
         }
         if (slip && call->row->fn == tl_builtin_store && tl_sv_is_number(v)) {
            tl_help(s->diags, "the place behind the mask is 'boundary_check'; %s", slip);
            return false; /* store(p, v, m, 0.0) */
         }
         if (!option || strcmp(option, "padding_option") == 0)
            tl_help(s->diags, "use 'mask' and 'other', or make the pointer with tl.make_block_ptr");
         return false;
      }
   }
   return true;
}

/* Pointers to int1 are read and written as int8. */
static TlValue *
byte_pointer(TlSema *s, TlValue *ptr, bool *is_bool)
{
   assert(tl_type_elem(ptr->type)->kind == TL_TYPE_PTR);
   const TlType *elem = tl_type_elem(ptr->type);
   *is_bool = elem->elem->kind == TL_TYPE_SCALAR && elem->elem->dtype == TL_I1;
   if (!*is_bool)
      return ptr;
   const TlType *to = tl_type_ptr(s->types, tl_scalar(s, TL_I8), elem->is_const);
   return tl_t1(&s->b, TL_OP_BITCAST, tl_type_with_elem(s->types, ptr->type, to), ptr);
}

static TlSv
finish_load(TlSema *s, TlValue *ptr, TlValue *mask, TlValue *other, const TlAttrInit *attrs,
            TlRange range)
{
   assert(!other || mask);
   bool is_bool;
   ptr = byte_pointer(s, ptr, &is_bool);
   if (other) {
      other = tl_sema_cast(s, other, tl_type_elem(ptr->type)->elem, range);
      if (!other)
         return tl_sv_poison();
   }
   TlValue *args[3] = {ptr, mask, other};
   TlValue *v = tl_sema_build(s, TL_OP_LOAD, args, other ? 3 : mask ? 2 : 1, NULL, attrs, range);
   if (v && is_bool)
      v = tl_sema_cast(s, v, tl_scalar(s, TL_I1), range);
   return tl_sv_value(v);
}

/* The pointer and another argument, of one shape. */
static bool
broadcast_with(TlSema *s, const TlCall *call, TlValue **ptr, TlValue **v, unsigned arg)
{
   const TlType *before = (*ptr)->type, *with = (*v)->type;
   if (tl_sema_broadcast(s, ptr, v, call->range)) {
      if (tl_type_is_tile(before) && !tl_type_same_shape(before, (*ptr)->type) &&
          with->rank > before->rank)
         tl_report(s->diags, W0233, tl_call_arg_range(call, arg), tl_call_param(s, call, arg),
                   tl_shape_text(s, with->rank, with->shape),
                   tl_shape_text(s, before->rank, before->shape),
                   tl_shape_text(s, (*ptr)->type->rank, (*ptr)->type->shape));
      return true;
   }
   const char *other = tl_help_other_axis(s, *v, before->rank, before->shape);
   if (other)
      tl_help(s->diags, "'%s' has the shape of the pointer: %s", tl_call_param(s, call, arg),
              other);
   else
      tl_help(s->diags,
              "'%s' is one number, or has the shape of the pointer: make it of the index that the "
              "pointer has, or add dimensions: m[:, None]",
              tl_call_param(s, call, arg));
   return false;
}

/* other=-float("inf") where integers are loaded */
static void
warn_infinite(TlSema *s, const TlSv *v, TlDtype to, TlRange range)
{
   if (v->kind != TL_SV_FLOAT || isfinite(v->f) || !tl_dtype_is_int(to) || to == TL_I1 ||
       s->impl->has_guessed_types)
      return;
   unsigned bits = tl_dtype_info[to].bits, is_signed = tl_dtype_is_signed(to);
   tl_report(s->diags, W0218, range,
             isnan(v->f) ? "nan"
             : v->f < 0  ? "-inf"
                         : "inf",
             tl_dtype_info[to].text, "some integer");
   if (isnan(v->f))
      tl_help(s->diags, "integers have no such value: 0, or what is left out by tl.where");
   else if (v->f < 0)
      tl_help(s->diags, "the least of %s is %s", tl_dtype_info[to].text,
              is_signed ? tl_arena_printf(s->arena, "-2 ** %u", bits - 1) : "0");
   else
      tl_help(s->diags, "the greatest of %s is 2 ** %u - 1", tl_dtype_info[to].text,
              bits - is_signed);
}

TlSv
tl_builtin_load(TlSema *s, const TlCall *call)
{
   int64_t cache, evict;
   bool is_volatile;
   if (!tl_call_word(s, call, LOAD_CACHE, TL_AK_CACHE, ".ca .cg .cv", TL_CACHE_NONE, &cache) ||
       !tl_call_word(s, call, LOAD_EVICT, TL_AK_EVICT, "evict_normal evict_first evict_last",
                     TL_EVICT_NORMAL, &evict) ||
       !tl_call_bool(s, call, LOAD_VOLATILE, &is_volatile))
      return tl_sv_poison();
   const TlAttrInit attrs[] = {{TL_ATTR_CACHE, {.i = cache}},
                               {TL_ATTR_EVICT, {.i = evict}},
                               {TL_ATTR_VOLATILE, {.i = is_volatile}},
                               {TL_ATTR_COUNT, {.i = 0}}};
   if (call->args[0].kind == TL_SV_BLOCKPTR)
      return tl_block_ptr_load(s, call, attrs);
   TlValue *ptr, *mask, *other = NULL;
   if (!(ptr = tl_call_pointer(s, call, 0)) || !refuse_block_args(s, call, LOAD_CHECK, 2) ||
       !tl_call_mask(s, call, LOAD_MASK, ptr->type, &mask))
      return tl_sv_poison();
   if (tl_call_has(call, LOAD_OTHER)) {
      TlRange range = tl_call_arg_range(call, LOAD_OTHER);
      if (!tl_call_has(call, LOAD_MASK)) {
         tl_report(s->diags, E0318, range);
         tl_help(s->diags, "say which elements are read: mask=offsets < n");
         return tl_sv_poison();
      }
      const TlType *elem = tl_type_elem(ptr->type)->elem;
      bool is_weak_number = tl_sv_is_number(&call->args[LOAD_OTHER]) &&
                            !call->args[LOAD_OTHER].is_strong && elem->kind == TL_TYPE_SCALAR;
      if (is_weak_number) {
         TlSv c = tl_sv_cast_number(s, &call->args[LOAD_OTHER], elem->dtype, TL_ROUND_NEAREST_EVEN);
         warn_infinite(s, &call->args[LOAD_OTHER], elem->dtype, range);
         other = tl_sema_value(s, &c, range);
      } else {
         other = tl_call_value(s, call, LOAD_OTHER);
      }
      if (!other)
         return tl_sv_poison();
      if (!tl_type_is_tile(ptr->type) && tl_type_is_tile(other->type)) {
         tl_refuse_tile(s, call, LOAD_OTHER, other->type);
         return tl_sv_poison();
      }
   }
   if ((mask && !broadcast_with(s, call, &ptr, &mask, LOAD_MASK)) ||
       (other && !broadcast_with(s, call, &ptr, &other, LOAD_OTHER)) ||
       (mask && !broadcast_with(s, call, &ptr, &mask, LOAD_MASK)))
      return tl_sv_poison();
   return finish_load(s, ptr, mask, other, attrs, call->range);
}

/* ---- fractions behind integer pointers ---- */
static bool has_fraction(const TlValue *v, unsigned *steps);

/* A parameter may be any number.  What a loop carries is what it was entered with. */
static bool
has_argument_fraction(const TlValue *v, unsigned *steps)
{
   const TlOp *loop = v->block && v->block->region ? v->block->region->parent : NULL;
   if (!loop)
      return !tl_type_is_tile(v->type);
   unsigned first = tl_is_loop(loop) ? tl_first_carried(loop) : v->index + 1;
   unsigned init = v->index >= first ? tl_first_init(loop) + v->index - first : loop->num_args;
   return init < loop->num_args && has_fraction(tl_arg(loop, init), steps);
}

/* What any of the ways through a loop or a branch gives. */
static bool
has_result_fraction(const TlValue *v, unsigned *steps)
{
   const TlOp *op = v->def;
   bool is_open = tl_is_loop(op);
   if (is_open && has_fraction(tl_init(op, v->index), steps))
      return true;
   for (unsigned r = is_open ? op->num_regions - 1 : 0; r < op->num_regions; r++) {
      const TlOp *yield = op->regions[r]->block->last;
      if (yield && yield->opcode == TL_OP_YIELD && v->index < yield->num_args &&
          has_fraction(tl_arg(yield, v->index), steps))
         return true;
   }
   return false;
}

/* x + 0.5, of a fraction: what follows cuts it off, to round it.  `half`: what is added. */
static bool
is_rounding(const TlValue *v, unsigned *steps, double *half)
{
   const TlOp *op = v->def;
   if (!op || (op->opcode != TL_OP_ADD && op->opcode != TL_OP_SUB))
      return false;
   for (unsigned i = 0; i < 2; i++)
      if (tl_is_number(tl_arg(op, i), half) && fabs(*half) == 0.5) {
         *half = op->opcode == TL_OP_SUB && i == 1 ? -*half : *half;
         return has_fraction(tl_arg(op, 1 - i), steps);
      }
   return false;
}

/* where(x < 0, x - 0.5, x + 0.5): what is negative is rounded by - 0.5. */
static bool
has_choice_fraction(const TlValue *v, unsigned *steps)
{
   double half;
   return !is_rounding(v, steps, &half) && has_fraction(v, steps);
}

/* May the value have a fraction?  What was rounded has none, nor what integers and whole numbers
 * are added and multiplied to; a bound or a choice keeps it so. */
static bool
has_fraction(const TlValue *v, unsigned *steps)
{
   enum { MAX_STEPS = 100 };
   double number;
   const TlOp *op = v->def;
   const TlType *elem = tl_type_elem(v->type);
   if (elem->kind != TL_TYPE_SCALAR || !tl_dtype_is_float(elem->dtype) || ++*steps > MAX_STEPS)
      return false;
   if (tl_is_number(v, &number))
      return isfinite(number) && number != floor(number);
   if (!op)
      return has_argument_fraction(v, steps);
   switch ((int)op->opcode) {
   case TL_OP_LOAD:
   case TL_OP_DIV:
   case TL_OP_DIV_RN:
   case TL_OP_EXP:
   case TL_OP_EXP2:
   case TL_OP_LOG:
   case TL_OP_LOG2:
   case TL_OP_SQRT:
   case TL_OP_SQRT_RN:
   case TL_OP_RSQRT:
   case TL_OP_SIN:
   case TL_OP_COS:
   case TL_OP_TANH:
   case TL_OP_ERF:
   case TL_OP_DOT:
      return true;
   case TL_OP_FOR:
   case TL_OP_WHILE:
   case TL_OP_IF:
      return has_result_fraction(v, steps);
   case TL_OP_SELECT:
      return has_choice_fraction(tl_arg(op, 1), steps) || has_choice_fraction(tl_arg(op, 2), steps);
   case TL_OP_ADD:
   case TL_OP_SUB:
      if (is_rounding(v, steps, &number) && number > 0)
         return false;
      /* fall through */
   case TL_OP_MUL:
   case TL_OP_FMA:
   case TL_OP_MIN:
   case TL_OP_MAX:
   case TL_OP_CLAMP:
   case TL_OP_NEG:
   case TL_OP_ABS:
   case TL_OP_CAST:
   case TL_OP_SPLAT:
   case TL_OP_BROADCAST:
   case TL_OP_EXPAND_DIMS:
   case TL_OP_RESHAPE:
   case TL_OP_TRANS:
   case TL_OP_REDUCE:
      for (unsigned i = 0; i < op->num_args; i++)
         if (has_fraction(tl_arg(op, i), steps))
            return true;
   }
   return false;
}

void
tl_warn_of_fraction(TlSema *s, const TlValue *v, const TlType *to, TlRange range)
{
   const TlType *from = tl_type_elem(v->type);
   double number;
   unsigned steps = 0;
   if (from->kind != TL_TYPE_SCALAR || to->kind != TL_TYPE_SCALAR || !tl_dtype_is_int(to->dtype) ||
       tl_is_number(v, &number) || !has_fraction(v, &steps))
      return;
   const char *text = tl_dtype_info[to->dtype].text;
   tl_report(s->diags, W0249, range, tl_dtype_info[from->dtype].text, text);
   tl_help(s->diags,
           "a pointer to %s keeps it: *%s; what is meant to be whole is rounded, or converted with "
           ".to(..)",
           tl_dtype_info[from->dtype].text, tl_dtype_info[from->dtype].text);
}

TlSv
tl_builtin_store(TlSema *s, const TlCall *call)
{
   int64_t cache, evict;
   if (!tl_call_word(s, call, STORE_CACHE, TL_AK_CACHE, ".wb .cg .cs .wt", TL_CACHE_NONE, &cache) ||
       !tl_call_word(s, call, STORE_EVICT, TL_AK_EVICT, "evict_normal evict_first evict_last",
                     TL_EVICT_NORMAL, &evict))
      return tl_sv_poison();
   const TlAttrInit attrs[] = {
      {TL_ATTR_CACHE, {.i = cache}}, {TL_ATTR_EVICT, {.i = evict}}, {TL_ATTR_COUNT, {.i = 0}}};
   if (call->args[0].kind == TL_SV_BLOCKPTR)
      return tl_block_ptr_store(s, call, attrs);
   TlValue *ptr, *mask;
   if (!(ptr = tl_call_pointer(s, call, 0)) || !refuse_block_args(s, call, STORE_CHECK, 1) ||
       !tl_call_mask(s, call, STORE_MASK, ptr->type, &mask))
      return tl_sv_poison();
   const TlType *elem = tl_type_elem(ptr->type);
   if (elem->is_const && !tl_refuse_const(s, call, ptr->type))
      return tl_sv_poison();
   TlRange range = tl_call_arg_range(call, STORE_VALUE);
   TlValue *v = tl_call_value(s, call, STORE_VALUE);
   if (!v)
      return tl_sv_poison();
   if (!tl_type_is_tile(ptr->type) && tl_type_is_tile(v->type)) {
      tl_refuse_tile(s, call, STORE_VALUE, v->type);
      return tl_sv_poison();
   }
   bool is_bool;
   ptr = byte_pointer(s, ptr, &is_bool);
   if (elem->elem->kind == TL_TYPE_SCALAR && !is_bool)
      tl_warn_wraps(s, call, STORE_VALUE, elem->elem->dtype);
   if (is_bool) /* any value to a boolean is 0 or 1 */
      v = tl_sema_cast(s, v, tl_scalar(s, TL_I1), range);
   bool has_value = v != NULL;
   if (v && !is_bool)
      tl_warn_of_fraction(s, v, elem->elem, range);
   v = v ? tl_sema_cast(s, v, tl_type_elem(ptr->type)->elem, range) : NULL;
   if (!v && has_value && elem->elem->kind == TL_TYPE_PTR &&
       elem->elem->elem->kind == TL_TYPE_SCALAR)
      tl_help(s->diags,
              "'%.40s' has the type **%s, of pointers to pointers: one to numbers is '*%s'",
              tl_range_text(s, tl_call_arg_range(call, STORE_PTR)),
              tl_type_cstr(s->arena, elem->elem->elem), tl_type_cstr(s->arena, elem->elem->elem));
   if (!v)
      return tl_sv_poison();
   const TlType *want = ptr->type;
   if (tl_type_is_tile(want)) {
      v = tl_sema_broadcast_to(s, v, want->rank, want->shape, range);
      if (v && mask)
         mask = tl_sema_broadcast_to(s, mask, want->rank, want->shape,
                                     tl_call_arg_range(call, STORE_MASK));
      if (!v || (tl_call_has(call, STORE_MASK) && !mask)) {
         tl_note(s->diags, N0200, tl_call_arg_range(call, STORE_PTR),
                 tl_arena_printf(s->arena, "the pointers have the shape %s",
                                 tl_shape_text(s, want->rank, want->shape)));
         return tl_sv_poison();
      }
   }
   TlValue *args[3] = {ptr, v, mask};
   return tl_sema_build_op(s, TL_OP_STORE, args, mask ? 3 : 2, NULL, 0, attrs, 0, call->range)
             ? tl_sv_none()
             : tl_sv_poison();
}
