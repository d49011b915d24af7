/* Shapes and conversions of run-time values: broadcasting, casts, bitcasts, subscripts, and
 * building operations whose operand rules are checked first.
 * Invariant: NULL or false only after a report. */
#include "ir/control.h"
#include "sema/arith.h"
#include "sema/help.h"
#include "sema/impl.h"

#include <assert.h>
#include <string.h>

/* ---- checked building ---- */
/* Operations of the IR have names of their own: 'trans' of permute. */
static const char *
as_called(TlSema *s, const char *op, const char *why)
{
   const char *quote = s->impl->called ? strchr(why, '\'') : NULL;
   size_t len = strlen(op);
   if (!quote || strncmp(quote + 1, op, len) != 0 || quote[len + 1] != '\'')
      return why;
   return tl_arena_printf(s->arena, "%.*s'%s%s", (int)(quote - why), why, s->impl->called,
                          quote + len + 1);
}

TlOp *
tl_sema_build_op(TlSema *s, TlOpcode opcode, TlValue *const *args, unsigned num_args,
                 const TlType *const *results, unsigned num_results,
                 const TlAttrInit *attrs_until_count, unsigned num_regions, TlRange range)
{
   const TlOpInfo *info = &tl_op_info[opcode];
   TlAttr attrs[TL_MAX_OP_ATTRS] = {0};
   unsigned num_inits = 0;
   while (attrs_until_count && attrs_until_count[num_inits].key != TL_ATTR_COUNT)
      num_inits++;
   for (unsigned i = 0; i < info->num_attrs; i++) {
      attrs[i].i = info->attr[i].initial;
      for (unsigned k = 0; k < num_inits; k++)
         if (attrs_until_count[k].key == info->attr[i].key)
            attrs[i] = attrs_until_count[k].value;
   }
   const TlType **types = tl_new_array(s->arena, const TlType *, num_args);
   const TlType **inferred = tl_new_array(s->arena, const TlType *, num_results);
   for (unsigned i = 0; i < num_args; i++)
      types[i] = args[i]->type;
   for (unsigned i = 0; results && i < num_results; i++)
      inferred[i] = results[i];
   TlInferCx cx = {s->types, s->arena, NULL};
   if (!tl_infer(&cx, opcode, types, num_args, attrs, inferred, num_results)) {
      tl_report(s->diags, E0300, range, as_called(s, info->text, cx.why));
      return NULL;
   }
   return tl_build(&s->b, opcode, args, num_args, inferred, num_results, attrs_until_count,
                   num_inits, num_regions);
}

TlValue *
tl_sema_build(TlSema *s, TlOpcode opcode, TlValue *const *args, unsigned num_args,
              const TlType *result, const TlAttrInit *attrs_until_count, TlRange range)
{
   TlOp *op = tl_sema_build_op(s, opcode, args, num_args, result ? &result : NULL, 1,
                               attrs_until_count, 0, range);
   return op ? tl_result(op, 0) : NULL;
}

/* ---- broadcasting ---- */
const char *
tl_shape_text(TlSema *s, unsigned rank, const uint32_t *shape)
{
   TlSb sb;
   tl_sb_init(&sb, s->arena);
   tl_sb_char(&sb, '[');
   for (unsigned d = 0; d < rank; d++)
      tl_sb_printf(&sb, d ? ", %u" : "%u", shape[d]);
   tl_sb_char(&sb, ']');
   return tl_sb_cstr(&sb);
}

static TlValue *
splat(TlSema *s, TlValue *v, unsigned rank, const uint32_t *shape)
{
   assert(!tl_type_is_tile(v->type) && rank >= 1);
   const TlType *type = tl_type_tile(s->types, v->type, rank, shape, NULL);
   uint64_t bits;
   if (v->type->kind == TL_TYPE_SCALAR && tl_is_const(v, &bits))
      return tl_const_bits(&s->b, type, bits);
   return tl_t1(&s->b, TL_OP_SPLAT, type, v);
}

TlValue *
tl_sema_expand(TlSema *s, TlValue *v, unsigned axis, TlRange range)
{
   assert(axis <= v->type->rank);
   if (!tl_type_is_tile(v->type))
      return splat(s, v, 1, &(uint32_t){1});
   if (v->type->rank == TL_MAX_RANK) {
      tl_report(s->diags, E0298, range, TL_MAX_RANK, v->type->rank + 1u);
      return NULL;
   }
   return tl_b1(&s->b, TL_OP_EXPAND_DIMS, v, {TL_ATTR_AXIS, {.i = axis}});
}

static TlValue *
pad_rank(TlSema *s, TlValue *v, unsigned rank, TlRange range)
{
   assert(rank <= TL_MAX_RANK);
   while (v && v->type->rank < rank)
      v = tl_sema_expand(s, v, 0, range);
   return v;
}

static TlValue *
stretch(TlSema *s, TlValue *v, unsigned rank, const uint32_t *shape, TlRange range)
{
   if (!tl_type_is_tile(v->type))
      return rank ? splat(s, v, rank, shape) : v;
   v = pad_rank(s, v, rank, range);
   if (!v || memcmp(v->type->shape, shape, rank * sizeof shape[0]) == 0)
      return v;
   const TlType *type = tl_type_tile(s->types, v->type->elem, rank, shape, NULL);
   uint64_t bits;
   if (type->elem->kind == TL_TYPE_SCALAR && tl_is_const(v, &bits))
      return tl_const_bits(&s->b, type, bits);
   return tl_t1(&s->b, TL_OP_BROADCAST, type, v);
}

/* Of a value that lacks dimensions beside a tile of such a shape. */
static void
help_dimension(TlSema *s, const TlValue *v, unsigned rank, const uint32_t *shape)
{
   const char *text = v->def ? tl_range_text(s, v->def->range) : "";
   const char *name = v->name ? v->name : "x";
   const TlType *e = tl_type_elem(v->type);
   bool is_mask = e->kind == TL_TYPE_SCALAR && e->dtype == TL_I1;
   if (!v->name && is_mask && *text && strlen(text) < 40 && !strchr(text, '\n'))
      name = tl_arena_printf(s->arena, "(%s)", text);
   if (v->type->rank == 1 && rank == 2 && (v->type->shape[0] == shape[0] || shape[0] == 1))
      tl_help(s->diags, "add dimensions where they belong: %.60s[:, None], one value for each row",
              name);
   else
      tl_help(s->diags, "add dimensions where they belong: x[:, None] or x[None, :]");
}

/* Of two lines, one of which has an element for each group of the other's; NULL: they are none. */
static const char *
help_groups(TlSema *s, const TlValue *a, const TlValue *b)
{
   const TlType *x = tl_type_elem(a->type), *y = tl_type_elem(b->type);
   bool are_floats = x->kind == TL_TYPE_SCALAR && y->kind == TL_TYPE_SCALAR &&
                     tl_dtype_is_float(x->dtype) && tl_dtype_is_float(y->dtype);
   if (a->type->rank != 1 || b->type->rank != 1 || !are_floats) /* integers are rows and columns */
      return NULL;
   bool is_a = a->type->shape[0] > b->type->shape[0];
   const TlValue *all = is_a ? a : b, *few = is_a ? b : a;
   uint32_t num = all->type->shape[0], groups = few->type->shape[0];
   if (groups < 2 || num % groups || !all->name || !few->name)
      return NULL;
   return tl_arena_printf(
      s->arena,
      "one value of '%.40s' for each group of %u: load it by the index divided by that, pointer + "
      "i // %u; each with each: %.40s[:, None] and %.40s[None, :]",
      few->name, num / groups, num / groups, all->name, few->name);
}

/* A mask of other elements than those that are accessed. */
static const char *
help_other_mask(TlSema *s, const TlValue *v, unsigned rank, const uint32_t *shape)
{
   const TlType *e = tl_type_elem(v->type);
   if (rank != 1 || v->type->rank != 1 || e->kind != TL_TYPE_SCALAR || e->dtype != TL_I1)
      return NULL;
   return tl_arena_printf(s->arena,
                          "this mask has one answer for each of %u elements, and %u are accessed: "
                          "compare the offsets that are in these addresses, or leave it out where "
                          "all of them are inside",
                          v->type->shape[0], shape[0]);
}

bool
tl_sema_broadcast(TlSema *s, TlValue **a, TlValue **b, TlRange range)
{
   const TlType *x = (*a)->type, *y = (*b)->type;
   if (!tl_type_is_tile(x) && !tl_type_is_tile(y))
      return true;
   unsigned rank = x->rank > y->rank ? x->rank : y->rank; /* a scalar's rank is 0 */
   uint32_t shape[TL_MAX_RANK] = {0};
   uint64_t elems = 1;
   for (unsigned d = 0; d < rank; d++) {
      unsigned x_pad = rank - x->rank, y_pad = rank - y->rank;
      uint32_t m = d < x_pad ? 1 : x->shape[d - x_pad], n = d < y_pad ? 1 : y->shape[d - y_pad];
      if (m != n && m != 1 && n != 1) {
         tl_report(s->diags, E0290, range, d, m, tl_type_cstr(s->arena, x), n,
                   tl_type_cstr(s->arena, y));
         const char *turned = tl_help_transposed(s, x, y->rank, y->shape, "");
         const char *factors = tl_help_factors(s, *a, y->rank, y->shape);
         factors = factors ? factors : tl_help_factors(s, *b, x->rank, x->shape);
         factors = factors ? factors : tl_help_axis(s, *a, y);
         factors = factors ? factors : tl_help_axis(s, *b, x);
         factors = factors ? factors : tl_help_extremum(s, *a);
         factors = factors ? factors : tl_help_extremum(s, *b);
         factors = factors || turned ? factors : tl_help_other_axis(s, *b, x->rank, x->shape);
         factors = factors || turned ? factors : tl_help_other_axis(s, *a, y->rank, y->shape);
         factors = factors || turned ? factors : help_groups(s, *a, *b);
         if (factors)
            tl_help(s->diags, "%s", factors);
         else if (turned)
            tl_help(s->diags, "%s, or both are indexed by the same rows and columns", turned);
         else if (x->rank != y->rank || (x->rank == 1 && y->rank == 1))
            help_dimension(s, x->rank < y->rank ? *a : *b, x->rank < y->rank ? y->rank : x->rank,
                           x->rank < y->rank ? y->shape : x->shape);
         return false;
      }
      shape[d] = m > n ? m : n;
      elems *= shape[d];
   }
   if (elems > TL_MAX_TILE_ELEMS)
      return tl_refuse(s->diags, E0309, range, TL_MAX_TILE_ELEMS, (unsigned long long)elems);
   *a = stretch(s, *a, rank, shape, range);
   *b = *a ? stretch(s, *b, rank, shape, range) : NULL;
   return *b != NULL;
}

TlValue *
tl_sema_broadcast_to(TlSema *s, TlValue *v, unsigned rank, const uint32_t *shape, TlRange range)
{
   assert(rank <= TL_MAX_RANK);
   const TlType *t = v->type;
   bool ok = t->rank <= rank;
   for (unsigned d = 0; ok && d < t->rank; d++)
      ok = t->shape[d] == shape[rank - t->rank + d] || t->shape[d] == 1;
   if (!ok) {
      tl_report(s->diags, E0291, range, tl_type_cstr(s->arena, t), tl_shape_text(s, rank, shape));
      const char *turned = tl_help_transposed(s, t, rank, shape, tl_range_text(s, range));
      const char *elements =
         t->rank > rank ? tl_help_extremum(s, v) : tl_help_other_axis(s, v, rank, shape);
      uint64_t elems = 1;
      for (unsigned d = 0; d < rank; d++)
         elems *= shape[d];
      elements = turned || elements ? elements : help_other_mask(s, v, rank, shape);
      if (turned || elements)
         tl_help(s->diags, "%s", turned ? turned : elements);
      else if (t->rank > rank && rank && elems != tl_type_num_elems(t))
         tl_help(s->diags,
                 "the other side needs as many dimensions: addresses of rows and columns "
                 "are rows[:, None] * stride + columns[None, :]; one number for each row is "
                 "tl.sum(x, axis=1)");
      else if (t->rank < rank)
         help_dimension(s, v, rank, shape);
      else if (elems == tl_type_num_elems(t))
         tl_help(s->diags, "only a dimension of size 1 grows; another shape of as many elements is "
                           "tl.reshape(x, shape)");
      else
         tl_help(
            s->diags,
            "only a dimension of size 1 grows: make both from ranges of one length, so that they "
            "have one shape");
      return NULL;
   }
   return stretch(s, v, rank, shape, range);
}

/* ---- conversions ---- */
static TlValue *
report_cast(TlSema *s, const TlValue *v, const TlType *elem, TlRange range)
{
   tl_report(s->diags, E0292, range, tl_type_cstr(s->arena, v->type), tl_type_cstr(s->arena, elem));
   if (tl_type_is_ptr_like(v->type))
      tl_help(s->diags, "what it points to is tl.load(pointer), its address as a number "
                        "pointer.to(tl.int64)");
   else if (elem->kind == TL_TYPE_PTR)
      tl_help(s->diags, "this is the type of a pointer p; what lies behind it has "
                        "p.dtype.element_ty: x.to(p.dtype.element_ty)");
   return NULL;
}

static TlValue *
plain_cast(TlSema *s, TlValue *v, const TlType *elem, int64_t rounding)
{
   assert(elem->kind == TL_TYPE_SCALAR);
   const TlType *type = tl_type_with_elem(s->types, v->type, elem);
   uint64_t bits;
   if (tl_is_const(v, &bits)) {
      TlRounding mode = tl_rounding_of(rounding);
      return tl_const_bits(&s->b, type,
                           tl_cast_bits(tl_type_elem(v->type)->dtype, elem->dtype, bits, mode));
   }
   return tl_t1(&s->b, TL_OP_CAST, type, v, {TL_ATTR_ROUNDING, {.i = rounding}});
}

/* Pointers convert to and from 64-bit integers and between each other; to i1 as "is not null". */
static TlValue *
pointer_cast(TlSema *s, TlValue *v, const TlType *elem, TlRange range)
{
   assert(tl_type_elem(v->type)->kind == TL_TYPE_PTR || elem->kind == TL_TYPE_PTR);
   const TlType *from = tl_type_elem(v->type), *i64 = tl_type_scalar(s->types, TL_I64);
   const TlType *type = tl_type_with_elem(s->types, v->type, elem);
   if (from->kind == TL_TYPE_PTR && elem->kind == TL_TYPE_PTR)
      return tl_t1(&s->b, TL_OP_BITCAST, type, v);
   if (elem->kind == TL_TYPE_PTR) {
      uint64_t bits;
      bool is_narrow = tl_dtype_info[from->dtype].bits != 64;
      if (!tl_dtype_is_int(from->dtype) || (is_narrow && !tl_is_const(v, &bits))) {
         report_cast(s, v, elem, range);
         tl_blame(s, v, TL_WANT_ADDRESS);
         if (tl_dtype_is_int(from->dtype))
            tl_help(s->diags, "an address has 64 bits: .to(tl.int64) first");
         return NULL;
      }
      if (is_narrow)
         v = plain_cast(s, v, i64, TL_ROUNDING_RTNE);
      return tl_t1(&s->b, TL_OP_BITCAST, type, v);
   }
   if (elem->dtype == TL_I64 || elem->dtype == TL_U64)
      return tl_t1(&s->b, TL_OP_BITCAST, type, v);
   if (elem->dtype != TL_I1) {
      report_cast(s, v, elem, range);
      if (tl_dtype_is_int(elem->dtype))
         tl_help(s->diags, "a pointer has 64 bits: .to(tl.int64)");
      return NULL;
   }
   const TlType *wide = tl_type_with_elem(s->types, v->type, i64);
   return plain_cast(s, tl_t1(&s->b, TL_OP_BITCAST, wide, v), elem, TL_ROUNDING_RTNE);
}

TlValue *
tl_sema_cast_rounded(TlSema *s, TlValue *v, const TlType *elem, int64_t rounding, TlRange range)
{
   const TlType *from = tl_type_elem(v->type);
   elem = tl_type_elem(elem);
   if (from == elem)
      return v;
   if (from->kind == TL_TYPE_PTR || elem->kind == TL_TYPE_PTR)
      return pointer_cast(s, v, elem, range);
   if (from->kind != TL_TYPE_SCALAR || elem->kind != TL_TYPE_SCALAR)
      return report_cast(s, v, elem, range);
   return plain_cast(s, v, elem, rounding);
}

TlValue *
tl_sema_cast(TlSema *s, TlValue *v, const TlType *elem, TlRange range)
{
   return tl_sema_cast_rounded(s, v, elem, TL_ROUNDING_RTNE, range);
}

static unsigned
width_of(const TlType *elem)
{
   assert(elem->kind == TL_TYPE_PTR || elem->kind == TL_TYPE_SCALAR);
   return elem->kind == TL_TYPE_PTR ? 64 : tl_dtype_info[elem->dtype].bits;
}

/* The type of the wanted kind that has the bits of `from`. */
static void
help_same_width(TlSema *s, const TlType *from, const TlType *wanted)
{
   static const TlDtype floats[] = {TL_FP16, TL_FP32, TL_FP64};
   unsigned bits = width_of(from);
   if (from->kind != TL_TYPE_SCALAR || from->dtype == TL_I1 || wanted->kind != TL_TYPE_SCALAR ||
       tl_dtype_is_int(from->dtype) == tl_dtype_is_int(wanted->dtype))
      return;
   const char *name = NULL;
   if (tl_dtype_is_int(wanted->dtype))
      name = tl_dtype_info[tl_dtype_int(bits, tl_dtype_is_signed(wanted->dtype))].triton_name;
   for (size_t i = 0; !name && i < sizeof floats / sizeof floats[0]; i++)
      if (tl_dtype_info[floats[i]].bits == bits)
         name = tl_dtype_info[floats[i]].triton_name;
   if (name)
      tl_help(s->diags,
              "tl.%s has the %u bits of %s: x.to(tl.%s, bitcast=True); without bitcast=True the "
              "value is converted",
              name, bits, tl_dtype_info[from->dtype].text, name);
}

TlValue *
tl_sema_bitcast(TlSema *s, TlValue *v, const TlType *elem, TlRange range)
{
   const TlType *from = tl_type_elem(v->type);
   elem = tl_type_elem(elem);
   if (from == elem)
      return v;
   if (width_of(from) != width_of(elem)) {
      tl_report(s->diags, E0294, range, tl_type_cstr(s->arena, from), width_of(from),
                tl_type_cstr(s->arena, elem), width_of(elem));
      if (width_of(elem) == 64)
         tl_blame(s, v, TL_WANT_ADDRESS);
      else
         help_same_width(s, from, elem);
      return NULL;
   }
   const TlType *type = tl_type_with_elem(s->types, v->type, elem);
   uint64_t bits;
   if (from->kind == TL_TYPE_SCALAR && elem->kind == TL_TYPE_SCALAR && tl_is_const(v, &bits))
      return tl_const_bits(&s->b, type, bits);
   return tl_t1(&s->b, TL_OP_BITCAST, type, v);
}

/* ---- x[...] ---- */
static bool
is_bare_slice(const TlSv *index)
{
   return index->kind == TL_SV_SLICE && index->slice[0].kind == TL_SV_NONE &&
          index->slice[1].kind == TL_SV_NONE && index->slice[2].kind == TL_SV_NONE;
}

/* tl.max(x, 1)[0] is the values in torch, where the call gives their indices as well. */
static const char *
values_alone(const char *call)
{
   static const struct {
      const char *name, *gives;
   } rows[] = {
      {"tl.max(", "the maxima alone, and with return_indices=True both in a tuple"},
      {"tl.min(", "the minima alone, and with return_indices=True both in a tuple"},
      {"tl.sort(", "the sorted values alone, without their indices"},
      {"tl.topk(", "the greatest values alone, without their indices"},
      {"tl.load(", "what lies behind the pointer alone"},
   };
   for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
      if (tl_starts_with(call, rows[i].name) || tl_starts_with(call, rows[i].name + 3))
         return i + 1 < sizeof rows / sizeof rows[0] ? rows[i].gives : NULL;
   return NULL;
}

/* The texts between the brackets that a subscript ends with, one for each index; *name: what stands
 * before them.  False: they are not as plain as that. */
static bool
index_texts(TlSema *s, const char *text, unsigned num, const char **name, const char **index)
{
   const char *open = strchr(text, '['), *from = open ? open + 1 : text;
   unsigned found = 0, deep = 0;
   if (!open || strlen(text) > 60 || strpbrk(text, "\n\"'") || strchr(from, '['))
      return false;
   *name = tl_arena_strndup(s->arena, text, (size_t)(open - text));
   for (const char *p = from; *p; p++) {
      deep += *p == '(';
      deep -= *p == ')' && deep;
      if (deep || (*p != ',' && *p != ']'))
         continue;
      if (found == num)
         return false;
      while (from < p && *from == ' ')
         from++;
      index[found++] = tl_arena_strndup(s->arena, from, (size_t)(p - from));
      from = p + 1;
   }
   return found == num;
}

/* The index as it counts from the first element: 15 of x[-1], of a name or what is computed its own
 * text, as another round or another size has another number.  NULL: nothing is there. */
static const char *
place_along(TlSema *s, const TlType *type, unsigned dim, const TlSv *index, const char *text)
{
   int64_t at;
   if (!tl_sv_const_int(index, &at))
      return text;
   bool is_behind = at < 0, is_number = !text[strspn(text, "-+ 0123456789")];
   at = is_behind ? at + type->shape[dim] : at;
   if (at < 0 || at >= type->shape[dim])
      return NULL;
   if (is_number)
      return tl_arena_printf(s->arena, "%lld", (long long)at);
   return is_behind ? tl_arena_printf(s->arena, "%u + (%s)", type->shape[dim], text) : text;
}

/* Where one number picks along the dimension: tl.arange(0, 16)[:, None] == i */
static const char *
picks_along(TlSema *s, const TlType *type, unsigned dim, const char *text)
{
   TlSb place;
   tl_sb_init(&place, s->arena);
   for (unsigned d = 0; type->rank > 1 && d < type->rank; d++)
      tl_sb_printf(&place, "%s%s", d ? ", " : "[", d == dim ? ":" : "None");
   return tl_arena_printf(s->arena, "tl.arange(0, %u)%s%s == %s", type->shape[dim],
                          tl_sb_cstr(&place), type->rank > 1 ? "]" : "", text);
}

/* A reduction that gives what t[3], t[i, :] or t[i, j] mean, which keep what has no index; NULL:
 * some index is none.  *picks: how many dimensions have a number. */
static const char *
picked_by_sum(TlSema *s, const TlValue *v, const TlSv *indices, unsigned num, const char *text,
              unsigned *picks)
{
   const char *name = "x", *own[TL_MAX_RANK], *all = NULL;
   unsigned axis = 0;
   int64_t at;
   *picks = 0;
   if (num > v->type->rank || num > TL_MAX_RANK)
      return NULL;
   if (!index_texts(s, text, num, &name, own)) {
      name = "x";
      for (unsigned i = 0; i < num; i++)
         own[i] = tl_sv_const_int(&indices[i], &at)
                     ? tl_arena_printf(s->arena, "%lld", (long long)at)
                  : num == 1 ? "i"
                             : tl_arena_printf(s->arena, "i%u", i);
   }
   for (unsigned i = 0; i < num; i++) {
      bool is_number = indices[i].kind == TL_SV_INT ||
                       (indices[i].kind == TL_SV_VALUE && !tl_type_is_tile(indices[i].value->type));
      if (is_bare_slice(&indices[i]))
         continue;
      const char *place = is_number ? place_along(s, v->type, i, &indices[i], own[i]) : NULL;
      const char *here = place ? picks_along(s, v->type, i, place) : NULL;
      if (!here)
         return NULL;
      all = all ? tl_arena_printf(s->arena, *picks == 1 ? "(%s) & (%s)" : "%s & (%s)", all, here)
                : here;
      axis = i;
      ++*picks;
   }
   bool is_whole = *picks == v->type->rank;
   if (!all || (*picks > 1 && !is_whole))
      return NULL;
   return tl_arena_printf(s->arena, "tl.sum(tl.where(%s, %s, %s)%s)", all, name,
                          tl_dtype_is_int(tl_value_dtype(v)) ? "0" : "0.0",
                          *picks > 1 ? "" : tl_arena_printf(s->arena, ", %u", axis));
}

/* The parameter behind whose first elements the tile lies; "pointer" where it is not as plain. */
static const char *
loaded_from(const TlValue *v)
{
   static const char any[] = "pointer";
   const TlOp *add = tl_arg(v->def, 0)->def;
   const TlOp *range = add && add->num_args == 2 ? tl_arg(add, 1)->def : NULL;
   if (!range || range->opcode != TL_OP_ARANGE || tl_attr_int(range, TL_ATTR_START))
      return any;
   const TlValue *from = tl_arg(add, 0);
   while (from->def && from->def->opcode == TL_OP_SPLAT)
      from = tl_arg(from->def, 0);
   return !from->def && from->name ? from->name : any;
}

/* Of a tile by numbers, of the text or of the run, or by tiles of indices. */
static void
help_tile_index(TlSema *s, const TlValue *v, const TlSv *indices, unsigned num, unsigned bad,
                const char *text)
{
   static const char gather[] = "use tl.gather(x, index, axis) for run-time";
   const TlSv *index = &indices[bad];
   unsigned picks;
   const char *name = "x", *own[TL_MAX_RANK], *at = "i";
   if (num == 1 && index_texts(s, text, num, &name, own))
      at = place_along(s, v->type, 0, index, own[0]);
   const char *picked = picked_by_sum(s, v, indices, num, text, &picks);
   if (!picked && index->kind == TL_SV_INT)
      tl_help(s->diags,
              "an element is picked by a reduction: tl.sum(tl.where(tl.arange(0, n) == i, "
              "x, 0), axis), for i from 0 to n - 1");
   else if (!picked)
      tl_help(s->diags, "%s indices", gather);
   if (!picked)
      return;
   const TlOp *outer =
      index->kind != TL_SV_VALUE || index->value->def ? NULL : index->value->block->region->parent;
   bool is_round = outer && outer->opcode == TL_OP_FOR && index->value == tl_for_index(outer);
   while (v->def && v->def->opcode == TL_OP_CAST)
      v = tl_arg(v->def, 0);
   bool is_loaded = v->def && v->def->opcode == TL_OP_LOAD && v->type->rank == 1;
   const char *from =
      is_loaded ? tl_arena_printf(s->arena, ", or read from where the tile was: tl.load(%s + %s)",
                                  loaded_from(v), at)
                : "";
   const char *what = picks == v->type->rank ? "element" : bad == 0 ? "row" : "column";
   if (is_round && num == 1)
      tl_help(s->diags,
              "a loop over the elements of a tile is a reduction, such as tl.max(%s, 0); one of "
              "them is %s; %s tiles of indices",
              name, picked, gather);
   else if (index->kind == TL_SV_INT && v->type->rank == 1)
      tl_help(s->diags, "pick the element of %s with %s%s", text, picked, from);
   else
      tl_help(s->diags, "one %s of it is %s%s%s", what, picked, from,
              index->kind == TL_SV_INT
                 ? ""
                 : tl_arena_printf(s->arena, "; %s tiles of indices", gather));
}

/* v[1:]: of a tile that was loaded the part is loaded as well, from where its elements lie. */
static void
help_part(TlSema *s, const TlValue *v)
{
   while (v->def && v->def->opcode == TL_OP_CAST)
      v = tl_arg(v->def, 0);
   const char *text = v->def && v->def->opcode == TL_OP_LOAD ? tl_range_text(s, v->def->range) : "";
   const char *open = strstr(text, "load("), *end = open ? tl_argument_end(open + 5) : NULL;
   const char *pointers = end && end - open - 5 <= 60 && !memchr(open, '\n', (size_t)(end - open))
                             ? tl_arena_strndup(s->arena, open + 5, (size_t)(end - open - 5))
                             : NULL;
   pointers = pointers ? pointers + strspn(pointers, " ") : NULL;
   if (v->type->rank == 1 && pointers)
      tl_help(
         s->diags,
         "load the part that is needed, with an index and a mask of its own: tl.load(%s + 1, ..), "
         "tl.load(%s - 1, ..); a half has tl.arange(0, n // 2) as its index, and every second "
         "element comes by tl.reshape and tl.split",
         pointers, pointers);
   else
      tl_help(s->diags,
              "load the part that is needed, with an index and a mask of its own: a half has "
              "tl.arange(0, n // 2); every second element comes by tl.reshape and tl.split");
}

static void
report_index(TlSema *s, const TlValue *v, const TlSv *indices, unsigned num, unsigned bad,
             TlRange range)
{
   const TlSv *index = &indices[bad];
   if (index->kind == TL_SV_SLICE) {
      const TlSv *step = &index->slice[2];
      int64_t by;
      tl_report(s->diags, E0296, range, tl_type_cstr(s->arena, v->type));
      if (tl_sv_const_int(step, &by) && by < 0)
         tl_help(s->diags, "tl.flip(x, axis) turns the order round");
      else
         help_part(s, v);
      return;
   }
   tl_report(s->diags, E0295, range,
             tl_type_is_ptr_like(v->type) ? "a pointer"
             : tl_type_is_tile(v->type)   ? "a tile"
                                          : "a number",
             tl_sv_text(s, index), tl_type_cstr(s->arena, v->type));
   /* Constants pick the items of tuples and of what a descriptor has; the run's values do not. */
   tl_blame(s, v, tl_sv_is_runtime(index) ? TL_WANT_POINTER : TL_WANT_OTHER);
   const char *text = tl_range_text(s, range), *open = strchr(text, '[');
   bool is_load = !tl_type_is_tile(v->type) && v->def && v->def->opcode == TL_OP_LOAD;
   const char *mask =
      index->kind == TL_SV_VALUE && tl_type_is_tile(index->value->type) ? ", mask" : "";
   if (tl_type_is_ptr_like(v->type) && open && num == 1)
      tl_help(s->diags,
              "memory is read with tl.load(%.*s + %.*s%s), written with tl.store(%.*s + %.*s, "
              "value%s)%s",
              (int)(open - text), text, (int)strlen(open) - 2, open + 1, mask, (int)(open - text),
              text, (int)strlen(open) - 2, open + 1, mask,
              *mask ? ", mask such as i < n, for an index that may go beyond the array" : "");
   else if (tl_type_is_ptr_like(v->type))
      tl_help(s->diags, "memory is read with tl.load(pointer + offset); of rows and columns the "
                        "offset is row * stride + column");
   else if (is_load)
      tl_help(s->diags, "one element was loaded; offsets are added to the pointer before: "
                        "tl.load(x + i)");
   else if (!tl_type_is_tile(v->type))
      tl_help(s->diags,
              "one value has no items: tl.load(x + i) reads element i behind a pointer x");
   else if (index->kind == TL_SV_INT && values_alone(text))
      tl_help(s->diags, "it gives %s: leave the [..] out", values_alone(text));
   else if (index->kind == TL_SV_INT || tl_sv_is_runtime(index))
      help_tile_index(s, v, indices, num, bad, text);
}

/* The sum of all dimensions, or of the only one, taken apart as if it had kept one: s[:, None]. */
static void
check_number_items(TlSema *s, const TlValue *v, const TlSv *indices, unsigned num, TlRange range)
{
   bool is_sliced = false;
   for (unsigned i = 0; i < num; i++)
      is_sliced |= is_bare_slice(&indices[i]);
   if (!is_sliced || tl_type_is_tile(v->type))
      return;
   tl_blame(s, v, TL_WANT_OTHER); /* a parameter without a type is a tile then, of who calls */
   if (!v->def || v->def->opcode != TL_OP_REDUCE)
      return;
   const TlType *of = tl_arg(v->def, 0)->type;
   const TlOp *flat = tl_arg(v->def, 0)->def;
   bool is_whole = flat && flat->opcode == TL_OP_RESHAPE && tl_arg(flat, 0)->type->rank > 1;
   tl_report(s->diags, W0228, range, tl_range_text(s, v->def->range));
   if (is_whole)
      tl_help(s->diags,
              "without an axis it is the number of all of %s: axis=1 gives one for each "
              "row, axis=0 one for each column",
              tl_type_cstr(s->arena, tl_arg(flat, 0)->type));
   else
      tl_help(s->diags,
              "of %s it is one number: keep_dims=True keeps its dimension, as one of "
              "size 1",
              tl_type_cstr(s->arena, of));
}

TlSv
tl_sema_subscript(TlSema *s, TlValue *v, const TlSv *indices, unsigned num, TlRange range)
{
   for (unsigned i = 0; i < num; i++) {
      if (indices[i].kind == TL_SV_POISON)
         return tl_sv_poison();
      if (indices[i].kind != TL_SV_NONE && !is_bare_slice(&indices[i])) {
         report_index(s, v, indices, num, i, range);
         return tl_sv_poison();
      }
   }
   check_number_items(s, v, indices, num, range);
   /* As in Triton ':' is whatever dimension is there, if any: only a None behind the last dimension
    * of a tile is a mistake.  A scalar becomes a tile of one element at its first None. */
   for (unsigned i = 0; v && i < num; i++) {
      if (indices[i].kind != TL_SV_NONE)
         continue;
      unsigned rank = v->type->rank;
      if (tl_type_is_tile(v->type) && i > rank)
         return tl_sv_refuse(s, E0297, range, i + 1, tl_type_cstr(s->arena, v->type), rank);
      v = tl_sema_expand(s, v, i < rank ? i : rank, range);
   }
   return tl_sv_value(v);
}
