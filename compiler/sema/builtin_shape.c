/* Builtins that rearrange elements without computing: broadcast, reshape, permute, join, gather,
 * and where, which chooses between two tiles. */
#include "sema/builtin.h"
#include "sema/help.h"
#include "sema/impl.h"

#include <assert.h>
#include <string.h>

TlSv
tl_builtin_broadcast(TlSema *s, const TlCall *call)
{
   TlValue *a = tl_call_value(s, call, 0), *b = tl_call_value(s, call, 1);
   if (!a || !b || !tl_sema_broadcast(s, &a, &b, call->range))
      return tl_sv_poison();
   return tl_sv_tuple(s, (TlSv[]){tl_sv_value(a), tl_sv_value(b)}, 2);
}

static bool
rest_shape(TlSema *s, const TlCall *call, uint32_t *shape, unsigned *rank)
{
   const TlSv *items;
   tl_call_rest(call, &items, rank);
   return tl_call_shape(s, call, "shape", items, *rank, shape, tl_call_rest_range(call));
}

TlSv
tl_builtin_broadcast_to(TlSema *s, const TlCall *call)
{
   uint32_t shape[TL_MAX_RANK];
   unsigned rank;
   TlValue *x = tl_call_value(s, call, 0);
   if (!x || !rest_shape(s, call, shape, &rank))
      return tl_sv_poison();
   if (tl_type_is_tile(x->type) && x->type->rank != rank) {
      tl_report(s->diags, E0291, call->range, tl_type_cstr(s->arena, x->type),
                tl_shape_text(s, rank, shape));
      tl_help(s->diags, "'broadcast_to' keeps the number of dimensions: add some with x[:, None]");
      return tl_sv_poison();
   }
   return tl_sv_value(tl_sema_broadcast_to(s, x, rank, shape, call->range));
}

static const char *
axes_text(TlSema *s, const int64_t *axes, unsigned num)
{
   TlSb sb;
   tl_sb_init(&sb, s->arena);
   for (unsigned i = 0; i < num; i++)
      tl_sb_printf(&sb, "%s%lld", i ? ", " : "[", (long long)axes[i]);
   tl_sb_str(&sb, "]");
   return tl_sb_cstr(&sb);
}

TlSv
tl_builtin_expand_dims(TlSema *s, const TlCall *call)
{
   TlValue *x = tl_call_value(s, call, 0);
   const TlSv *items;
   unsigned num;
   int64_t axes[TL_MAX_RANK];
   tl_sv_items(&call->args[1], &items, &num);
   if (!x ||
       !tl_call_ints(s, call, "axis", items, num, TL_MAX_RANK, axes, tl_call_arg_range(call, 1)))
      return tl_sv_poison();
   int64_t rank = x->type->rank + (int64_t)num;
   unsigned wanted = 0;
   bool is_double = false;
   for (unsigned i = 0; i < num; i++) {
      int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
      if (axis < 0 || axis >= rank)
         return tl_sv_refuse(s, E0311, tl_call_arg_range(call, 1), call->row->name,
                             -(long long)rank, (long long)rank - 1, tl_type_cstr(s->arena, x->type),
                             (long long)axes[i]);
      axes[i] = axis;
      is_double |= wanted >> axis & 1;
      wanted |= 1u << axis;
   }
   if (is_double)
      return tl_sv_refuse(s, E0348, tl_call_arg_range(call, 1), axes_text(s, axes, num));
   for (unsigned axis = 0; x && axis < (unsigned)rank; axis++)
      if (wanted >> axis & 1)
         x = tl_sema_expand(s, x, axis, call->range);
   return tl_sv_value(x);
}

/* ---- reshape ---- */
/* The sizes of a call as they are written, "BLOCK" and "2" of (BLOCK, 2); false: they are not. */
static bool
written_sizes(TlSema *s, const TlCall *call, unsigned rank, const char **out)
{
   const char *all = tl_range_text(s, tl_call_rest_range(call));
   size_t len = strlen(all);
   unsigned num = 0;
   int depth = 0;
   if (len > 1 && (*all == '(' || *all == '[') && strcspn(all + 1, ")]") == len - 2)
      all = tl_arena_strndup(s->arena, all + 1, len - 2);
   for (const char *begin = all, *c = all;; c++) {
      depth += *c && strchr("([{", *c) ? 1 : *c && strchr(")]}", *c) ? -1 : 0;
      if (*c && (depth || *c != ','))
         continue;
      begin += strspn(begin, " ");
      if (begin < c && num < rank)
         out[num] = tl_arena_strndup(s->arena, begin, (size_t)(c - begin));
      num += begin < c;
      if (!*c)
         return num == rank && !strchr(all, '\n');
      begin = c + 1;
   }
}

/* BLOCK, BLOCK_M, x.shape[0]: what becomes another number, where one that is written out stays. */
static bool
is_named_size(const char *text)
{
   return text[strspn(text, "0123456789")] && !strpbrk(text, "+-*/%()");
}

/* The first size with a name, which takes the factor where others are written out; rank: none. */
static unsigned
named_size(const char *const *text, unsigned rank, const uint32_t *shape, bool is_more,
           uint32_t factor)
{
   unsigned named = rank, others = 0;
   for (unsigned d = rank; d-- > 0;) {
      bool is_named = is_named_size(text[d]) && (is_more || shape[d] % factor == 0);
      others += !is_named;
      named = is_named ? d : named;
   }
   return others ? named : rank;
}

/* "[64, 2], (BLOCK // 2, 2)" of (BLOCK, 2), whose size `by` takes the factor; the words of a size
 * with a name alone. */
static const char *
other_sizes(TlSema *s, const char *const *text, unsigned rank, const uint32_t *shape, unsigned by,
            bool is_more, uint32_t factor)
{
   uint32_t sizes[TL_MAX_RANK];
   memcpy(sizes, shape, rank * sizeof *sizes);
   sizes[by] = is_more ? shape[by] * factor : shape[by] / factor;
   const char *numbers = tl_shape_text(s, rank, sizes);
   if (!text)
      return numbers;
   TlSb written;
   tl_sb_init(&written, s->arena);
   tl_sb_printf(&written, "%s, (", numbers);
   for (unsigned d = 0; d < rank; d++) {
      tl_sb_printf(&written, "%s%.40s", d ? ", " : "", text[d]);
      if (d == by)
         tl_sb_printf(&written, " %s %u", is_more ? "*" : "//", factor);
   }
   tl_sb_char(&written, ')');
   return tl_sb_cstr(&written);
}

/* Of sizes whose product is another: how far it is off, and a shape that is not. */
static void
help_sizes(TlSema *s, const TlCall *call, unsigned long long from, unsigned long long to,
           unsigned rank, const uint32_t *shape)
{
   uint32_t sizes[TL_MAX_RANK + 1];
   const char *text[TL_MAX_RANK], *all = tl_shape_text(s, rank, shape), *more = "";
   bool is_more = from > to && to && from % to == 0;
   if (!is_more && (from >= to || to % from)) {
      tl_help(s->diags, "the product of the new sizes must be %llu", from);
      return;
   }
   uint32_t factor = (uint32_t)(is_more ? from / to : to / from);
   unsigned last = rank - 1;
   unsigned named =
      written_sizes(s, call, rank, text) ? named_size(text, rank, shape, is_more, factor) : rank;
   if (is_more && rank < TL_MAX_RANK) {
      memcpy(sizes, shape, rank * sizeof *sizes);
      sizes[rank] = factor;
      more = tl_arena_printf(s->arena, "%s, ", tl_shape_text(s, rank + 1, sizes));
   }
   for (unsigned d = 0; is_more && d < last; d++)
      more =
         tl_arena_printf(s->arena, "%s%s, ", more,
                         other_sizes(s, d == named ? text : NULL, rank, shape, d, is_more, factor));
   while (!is_more && last && shape[last] % factor)
      last--;
   last = !is_more && named < rank ? named : last;
   bool is_found = is_more || shape[last] % factor == 0;
   const char *times = is_more
                          ? tl_arena_printf(s->arena, "%u times as many as %s has", factor, all)
                          : tl_arena_printf(s->arena, "%s has %u times as many", all, factor);
   tl_help(s->diags, "the product of the new sizes must be %llu, and %s%s%s%s%s", from, times,
           is_found ? ": such as " : "", more, *more ? "or " : "",
           is_found
              ? other_sizes(s, last == named ? text : NULL, rank, shape, last, is_more, factor)
              : "");
}

static TlValue *
reshape(TlSema *s, const TlCall *call, TlValue *x, unsigned rank, const uint32_t *shape,
        bool reorder)
{
   assert(rank <= TL_MAX_RANK);
   unsigned long long from = tl_type_num_elems(x->type), to = 1;
   for (unsigned d = 0; d < rank; d++)
      to *= shape[d];
   if (from != to) {
      tl_report(s->diags, E0344, call->range, call->row->name, tl_type_cstr(s->arena, x->type),
                from, tl_shape_text(s, rank, shape), to);
      if (rank)
         help_sizes(s, call, from, to, rank, shape);
      else
         tl_help(s->diags, "of more elements tl.sum(x) or tl.max(x) makes one");
      return NULL;
   }
   const TlType *elem = tl_type_elem(x->type);
   const TlType *type = rank ? tl_type_tile(s->types, elem, rank, shape, NULL) : elem;
   if (type == x->type)
      return x;
   if (!tl_type_is_tile(x->type))
      return tl_t1(&s->b, TL_OP_SPLAT, type, x);
   return tl_t1(&s->b, TL_OP_RESHAPE, type, x, {TL_ATTR_REORDER, {.i = reorder}});
}

static TlSv
reshape_call(TlSema *s, const TlCall *call, bool reorder)
{
   uint32_t shape[TL_MAX_RANK];
   unsigned rank;
   TlValue *x = tl_call_value(s, call, 0);
   if (!x || !rest_shape(s, call, shape, &rank))
      return tl_sv_poison();
   return tl_sv_value(reshape(s, call, x, rank, shape, reorder));
}

TlSv
tl_builtin_reshape(TlSema *s, const TlCall *call)
{
   bool reorder;
   return tl_call_bool(s, call, 2, &reorder) ? reshape_call(s, call, reorder) : tl_sv_poison();
}

TlSv
tl_builtin_view(TlSema *s, const TlCall *call)
{
   return reshape_call(s, call, true);
}

TlSv
tl_builtin_ravel(TlSema *s, const TlCall *call)
{
   bool reorder;
   TlValue *x = tl_call_value(s, call, 0);
   if (!x || !tl_call_bool(s, call, 1, &reorder))
      return tl_sv_poison();
   uint32_t n = (uint32_t)tl_type_num_elems(x->type);
   return tl_sv_value(reshape(s, call, x, 1, &n, reorder));
}

TlSv
tl_builtin_item(TlSema *s, const TlCall *call)
{
   TlValue *x = tl_call_value(s, call, 0);
   if (!x)
      return tl_sv_poison();
   TlSv v = tl_sv_value(reshape(s, call, x, 0, NULL, false));
   if (tl_type_is_tile(x->type) && tl_type_num_elems(x->type) > 1)
      tl_help(s->diags, "it is for a tile of one element; one number of many is tl.sum(x) or "
                        "tl.max(x)");
   return v;
}

/* ---- permutations ---- */
static TlSv
permute(TlSema *s, TlValue *x, const int64_t *dims, unsigned num, TlRange range)
{
   int64_t order[TL_MAX_RANK];
   for (unsigned i = 0; i < num; i++)
      order[i] = dims[i] < 0 ? dims[i] + (int64_t)x->type->rank : dims[i];
   const TlAttrInit attrs[] = {{TL_ATTR_ORDER, {.ints = tl_ints(s->arena, order, num)}},
                               {TL_ATTR_COUNT, {.i = 0}}};
   return tl_sv_value(tl_sema_build(s, TL_OP_TRANS, &x, 1, NULL, attrs, range));
}

static TlSv
permute_call(TlSema *s, const TlCall *call, TlValue *x)
{
   const TlSv *items;
   unsigned num;
   int64_t dims[TL_MAX_RANK];
   tl_call_rest(call, &items, &num);
   if (!tl_call_ints(s, call, "dims", items, num, TL_MAX_RANK, dims, tl_call_rest_range(call)))
      return tl_sv_poison();
   return permute(s, x, dims, num, call->range);
}

TlSv
tl_builtin_permute(TlSema *s, const TlCall *call)
{
   TlValue *x = tl_call_tile(s, call, 0);
   return x ? permute_call(s, call, x) : tl_sv_poison();
}

static TlSv
swap_last(TlSema *s, TlValue *x, TlRange range)
{
   assert(tl_type_is_tile(x->type));
   unsigned rank = x->type->rank;
   int64_t dims[TL_MAX_RANK];
   if (rank < 2) {
      tl_report(s->diags, E0313, range, "trans", "at least two dimensions",
                tl_type_cstr(s->arena, x->type));
      tl_help(s->diags, "x[:, None] makes a column of a vector, x[None, :] a row");
      return tl_sv_poison();
   }
   for (unsigned d = 0; d < rank; d++)
      dims[d] = d;
   dims[rank - 2] = rank - 1;
   dims[rank - 1] = rank - 2;
   return permute(s, x, dims, rank, range);
}

TlSv
tl_builtin_trans(TlSema *s, const TlCall *call)
{
   TlValue *x = tl_call_tile(s, call, 0);
   if (!x)
      return tl_sv_poison();
   return call->num_rest ? permute_call(s, call, x) : swap_last(s, x, call->range);
}

/* ---- putting together and taking apart ---- */
static TlValue *
join(TlSema *s, const TlCall *call)
{
   TlValue *v[2] = {tl_call_value(s, call, 0), tl_call_value(s, call, 1)};
   if (!v[0] || !v[1] || !tl_sema_broadcast(s, &v[0], &v[1], call->range))
      return NULL;
   TlValue *both = tl_sema_build(s, TL_OP_JOIN, v, 2, NULL, NULL, call->range);
   const TlType *a = tl_type_elem(v[0]->type), *b = tl_type_elem(v[1]->type);
   if (!both && a != b && a->kind == TL_TYPE_SCALAR && b->kind == TL_TYPE_SCALAR)
      tl_help(s->diags, "convert one of them, as in %s.to(tl.%s)", tl_call_param(s, call, 1),
              tl_dtype_info[a->dtype].triton_name);
   return both;
}

TlSv
tl_builtin_join(TlSema *s, const TlCall *call)
{
   return tl_sv_value(join(s, call));
}

TlSv
tl_builtin_interleave(TlSema *s, const TlCall *call)
{
   TlValue *v = join(s, call);
   if (!v || v->type->rank == 1)
      return tl_sv_value(v);
   uint32_t shape[TL_MAX_RANK];
   unsigned rank = v->type->rank - 1u;
   memcpy(shape, v->type->shape, rank * sizeof shape[0]);
   shape[rank - 1] *= 2;
   return tl_sv_value(reshape(s, call, v, rank, shape, false));
}

/* Two rows, or rows that have halves, where split takes pairs of neighbours. */
static void
help_split(TlSema *s, const TlCall *call, const TlType *t)
{
   unsigned rank = t->rank, two = 0;
   uint32_t last = t->shape[rank - 1];
   const char *x = tl_range_text(s, tl_call_arg_range(call, 0));
   TlSb order, shape;
   if (strlen(x) > 30 || strpbrk(x, "=\n"))
      x = "x";
   while (two < rank && t->shape[two] != 2)
      two++;
   tl_sb_init(&order, s->arena);
   tl_sb_init(&shape, s->arena);
   for (unsigned d = 0; d < rank; d++)
      if (d != two)
         tl_sb_printf(&order, "%u, ", d);
   for (unsigned d = 0; d + (two == rank) < rank; d++) /* without the 2, which comes last */
      if (d != two)
         tl_sb_printf(&shape, "%u, ", t->shape[d]);
   if (two < rank && rank == 2)
      tl_help(s->diags,
              "its first dimension is 2: tl.split(tl.trans(%s)) gives the two rows, halves of what "
              "they were reshaped from; tl.reshape(x, (n // 2, 2)) has neighbours in pairs",
              x);
   else if (two < rank)
      tl_help(
         s->diags,
         "its dimension %u is 2: tl.split(tl.permute(%s, (%s%u))) gives its two parts, as halves "
         "of rows; neighbours in pairs, as of interleaved parts, gives "
         "tl.split(tl.reshape(%s, (%s2)))",
         two, x, tl_sb_cstr(&order), two, x, tl_sb_cstr(&shape));
   else if (last % 2)
      tl_help(s->diags, "the last dimension of %s is %u, and has no halves", x, last);
   else if (rank == 1)
      tl_help(s->diags,
              "its halves are tl.split(tl.trans(tl.reshape(%s, (2, %u)))); tl.reshape(%s, (%u, 2)) "
              "has neighbours in pairs, of which split takes every second element",
              x, last / 2, x, last / 2);
   else
      tl_help(s->diags,
              "the halves along it: a tl.reshape(%s, (%s2, %u)), with the dimension of 2 moved "
              "last by tl.permute; tl.reshape(%s, (%s%u, 2)) has neighbours in pairs, of which "
              "split takes every second element",
              x, tl_sb_cstr(&shape), last / 2, x, tl_sb_cstr(&shape), last / 2);
}

TlSv
tl_builtin_split(TlSema *s, const TlCall *call)
{
   TlValue *x = tl_call_tile(s, call, 0);
   if (x && x->type->shape[x->type->rank - 1] != 2) {
      tl_report(s->diags, E0313, tl_call_arg_range(call, 0), call->row->name,
                "a last dimension of size 2", tl_type_cstr(s->arena, x->type));
      help_split(s, call, x->type);
      return tl_sv_poison();
   }
   TlOp *op = x ? tl_sema_build_op(s, TL_OP_SPLIT, &x, 1, NULL, 2, NULL, 0, call->range) : NULL;
   if (!op)
      return tl_sv_poison();
   return tl_sv_tuple(s, (TlSv[]){tl_sv_value(tl_result(op, 0)), tl_sv_value(tl_result(op, 1))}, 2);
}

TlSv
tl_builtin_cat(TlSema *s, const TlCall *call)
{
   TlValue *v[2] = {tl_call_tile(s, call, 0), tl_call_tile(s, call, 1)};
   bool reorder;
   if (!v[0] || !v[1] || !tl_call_bool(s, call, 2, &reorder))
      return tl_sv_poison();
   if (!reorder) {
      tl_report(s->diags, E0302, call->range, "can_reorder", "cat",
                "True, as it may reorder elements", "False");
      tl_help(s->diags, "for a fixed order use tl.join, tl.permute and tl.reshape");
      return tl_sv_poison();
   }
   return tl_sv_value(tl_sema_build(s, TL_OP_CAT, v, 2, NULL, NULL, call->range));
}

static TlSv
gather(TlSema *s, TlValue *src, TlValue *index, unsigned axis, TlRange range)
{
   assert(axis < src->type->rank);
   const TlAttrInit attrs[] = {{TL_ATTR_AXIS, {.i = axis}}, {TL_ATTR_COUNT, {.i = 0}}};
   return tl_sv_value(
      tl_sema_build(s, TL_OP_GATHER, (TlValue *[]){src, index}, 2, NULL, attrs, range));
}

/* Below the error of a gather: an index that is no integer, or has other dimensions. */
static void
help_gather(TlSema *s, const TlCall *call, const TlType *src, const TlType *index)
{
   const char *x = tl_range_text(s, tl_call_arg_range(call, 0)),
              *i = tl_range_text(s, tl_call_arg_range(call, 1));
   if (tl_dtype_is_float(tl_type_elem(index)->dtype))
      tl_help(s->diags,
              "convert the indices: %.40s.to(tl.int32); it is called as gather(src, index, axis)",
              i);
   else if (src->rank == 1 && index->rank > 1)
      tl_help(s->diags,
              "take all as one dimension, then the shape again: "
              "tl.gather(%.40s, tl.ravel(%.40s), 0).reshape(%.40s.shape)",
              x, i, i);
   else if (src->rank == index->rank + 1)
      tl_help(s->diags,
              "one index for each row or column is a tile with a dimension of 1: "
              "%.40s[:, None] with axis=1, %.40s[None, :] with axis=0",
              i, i);
}

TlSv
tl_builtin_gather(TlSema *s, const TlCall *call)
{
   TlValue *src = tl_call_tile(s, call, 0), *index = tl_call_tile(s, call, 1);
   unsigned axis;
   if (!src || !index || !tl_call_axis(s, call, 2, src->type, src->type->rank, &axis))
      return tl_sv_poison();
   TlSv picked = gather(s, src, index, axis, call->range);
   if (picked.kind == TL_SV_POISON)
      help_gather(s, call, src->type, index->type);
   return picked;
}

/* The elements along one dimension in reverse order. */
TlSv
tl_builtin_flip(TlSema *s, const TlCall *call)
{
   TlValue *x = tl_call_tile(s, call, 0);
   if (!x)
      return tl_sv_poison();
   unsigned rank = x->type->rank, axis = rank - 1;
   if (tl_call_has(call, 1) && !tl_call_axis(s, call, 1, x->type, rank, &axis))
      return tl_sv_poison();
   uint32_t n = x->type->shape[axis];
   TlValue *index = tl_build_arange(s, 0, n, call->range);
   index = tl_b2(&s->b, TL_OP_SUB, tl_const_bits(&s->b, index->type, n - 1u), index);
   for (unsigned d = 0; d < rank; d++)
      if (d != axis)
         index = tl_sema_expand(s, index, d, call->range);
   index = tl_sema_broadcast_to(s, index, rank, x->type->shape, call->range);
   return gather(s, x, index, axis, call->range);
}

/* ---- where ---- */
TlSv
tl_builtin_where(TlSema *s, const TlCall *call)
{
   const TlSv *a = &call->args[1], *b = &call->args[2];
   TlValue *cond = tl_call_value(s, call, 0), *x, *y;
   if (!cond || !tl_call_is_value(s, call, 1) || !tl_call_is_value(s, call, 2))
      return tl_sv_poison();
   const TlType *elem = tl_type_elem(cond->type);
   if (elem->kind != TL_TYPE_SCALAR || elem->dtype != TL_I1) {
      tl_report(s->diags, W0250, tl_call_arg_range(call, 0), tl_type_cstr(s->arena, cond->type));
      if (tl_help_inverted(cond))
         tl_help(s->diags, "'~' turns all bits of a number, so that all but -1 are true; write the "
                           "comparison, as in x == 0");
      else
         tl_help(s->diags,
                 "the condition comes first: where(condition, x, y); write the comparison, "
                 "as in x != 0");
      cond = tl_sema_cast(s, cond, tl_scalar(s, TL_I1), call->range);
   }
   bool a_ptr = a->kind == TL_SV_VALUE && tl_value_is_ptr(a->value);
   bool b_ptr = b->kind == TL_SV_VALUE && tl_value_is_ptr(b->value);
   if (a_ptr && b_ptr) {
      x = a->value, y = b->value;
      if (!tl_sema_broadcast(s, &x, &y, call->range))
         return tl_sv_poison();
   } else {
      if (!(tl_sv_is_number(a) || (a->kind == TL_SV_VALUE && !a_ptr)) ||
          !(tl_sv_is_number(b) || (b->kind == TL_SV_VALUE && !b_ptr))) {
         const TlSv *pointer = a_ptr ? a : b_ptr ? b : NULL;
         tl_blame_pair(s, a, b);
         tl_report(s->diags, E0281, call->range, tl_sv_text(s, a), tl_sv_text(s, b));
         if (pointer)
            tl_help(s->diags, "load what the pointer points to: tl.load(pointer)");
         return tl_sv_poison();
      }
      if (!tl_sema_operands(s, a, b, false, call->range, &x, &y))
         return tl_sv_poison();
   }
   if (!cond || !tl_sema_broadcast(s, &cond, &x, call->range) ||
       !tl_sema_broadcast(s, &x, &y, call->range))
      return tl_sv_poison();
   return tl_sv_value(
      tl_sema_build(s, TL_OP_SELECT, (TlValue *[]){cond, x, y}, 3, NULL, NULL, call->range));
}
