/* Python's own names in kernels: ranges, min and max (on known values as Python does, else tl's),
 * conversions of known numbers, and questions about values. */
#include "sema/builtin.h"
#include "sema/help.h"
#include "sema/text.h"
#include "sema/impl.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- tuples ---- */
TlSv
tl_builtin_tuple(TlSema *s, const TlCall *call)
{
   TlSv *items;
   size_t len;
   if (call->args[0].kind == TL_SV_POISON ||
       !tl_iterate(s, &call->args[0], call->range, &items, &len))
      return tl_sv_poison();
   return tl_make_tuple(s, items, len, false);
}

/* ---- ranges ---- */
static const TlType *
tile_type_of(const TlSv *v)
{
   bool is_tile = v->kind == TL_SV_VALUE && tl_type_is_tile(v->value->type);
   return is_tile ? v->value->type : NULL;
}

/* The argument as it is written, in brackets where it is no name or call. */
static const char *
operand_of(TlSema *s, const TlCall *call, unsigned i, const char *name)
{
   const char *text = tl_range_text(s, tl_call_arg_range(call, i));
   size_t word = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.");
   if (strlen(text) > 40 || strchr(text, '\n'))
      return name;
   return text[word] ? tl_arena_printf(s->arena, "(%s)", text) : text;
}

/* range(lo, hi) of tiles: rounds for the longest, and a mask for those that are through. */
static void
help_tile_bounds(TlSema *s, const TlCall *call, const TlSvRange *r, unsigned which)
{
   const TlType *start = tile_type_of(&r->start), *stop = tile_type_of(&r->stop);
   const char *axis = (start ? start : stop) && (start ? start : stop)->rank == 1 ? ", 0" : "";
   bool two = tl_call_has(call, 1);
   const char *hi = operand_of(s, call, two, "stop");
   const char *lo = two ? operand_of(s, call, 0, "start") : "0";
   if (which == 2)
      tl_help(s->diags, "a loop has one step for the whole tile: tl.max(x, 0) gives a number");
   else if (start && stop)
      tl_help(s->diags,
              "a loop has one beginning and one end for the whole tile: for j in range(0, "
              "tl.max(%s - %s%s)), and in it %s + j in place of j, with the mask %s + j < %s",
              hi, lo, axis, lo, lo, hi);
   else if (start)
      tl_help(s->diags,
              "a loop has one beginning for the whole tile: for j in range(0, %s - tl.min(%s%s)), "
              "and in it %s + j in place of j, with the mask %s + j < %s",
              hi, lo, axis, lo, lo, hi);
   else
      tl_help(s->diags,
              "a loop has one count for the whole tile: for j in range(%s, tl.max(%s%s)), and in "
              "it the mask j < %s for elements that are through before",
              lo, hi, axis, hi);
}

/* (arg1, arg2=None, step=None) as tl.range and tl.static_range take them. */
static TlSv
new_range(TlSema *s, const TlCall *call, TlSvRange **out)
{
   TlSvRange *r = tl_new(s->arena, TlSvRange);
   bool two = tl_call_has(call, 1); /* range(stop, step=..) has one */
   const unsigned from[3] = {0, two, 2};
   r->start = two ? call->args[0] : tl_sv_int(0);
   r->stop = call->args[from[1]];
   r->step = tl_call_has(call, 2) ? call->args[2] : tl_sv_int(1);
   *out = r;
   TlSv *parts[3] = {&r->start, &r->stop, &r->step};
   static const char *const names[3] = {"start", "stop", "step"};
   for (unsigned i = 0; i < 3; i++) {
      TlSv *v = parts[i];
      int64_t known;
      if (v->kind == TL_SV_BOOL && tl_sv_const_int(v, &known))
         *v = tl_sv_int(known);
      if (v->kind == TL_SV_POISON)
         return *v;
      bool ok = tl_sv_const_int(v, &known) ||
                (v->kind == TL_SV_VALUE && v->value->type->kind == TL_TYPE_SCALAR &&
                 tl_dtype_is_int(v->value->type->dtype));
      if (!ok) {
         tl_report(s->diags, E0302, tl_call_arg_range(call, from[i]), names[i], call->row->name,
                   "an integer", tl_sv_text(s, v));
         tl_blame_sv(s, v, TL_WANT_INT);
         const TlType *type = v->kind == TL_SV_VALUE ? v->value->type : NULL;
         bool has_cause = type && tl_help_quotient(s, v->value, tl_call_arg_range(call, from[i]));
         if (has_cause)
            return tl_sv_poison();
         if (v->kind == TL_SV_FLOAT || (type && tl_dtype_is_float(tl_type_elem(type)->dtype)))
            tl_help(s->diags, "'/' gives a fraction, '//' a whole number; .to(tl.int32) converts");
         else if (type && tl_type_is_tile(type))
            help_tile_bounds(s, call, r, i);
         else
            (void)tl_help_no_number(s, v);
         return tl_sv_poison();
      }
      if (i == 2 && tl_sv_const_int(v, &known) && known == 0)
         return tl_sv_refuse(s, E0247, tl_call_arg_range(call, 2));
   }
   return (TlSv){.kind = TL_SV_RANGE, .range = r};
}

TlSv
tl_builtin_range(TlSema *s, const TlCall *call)
{
   enum { STAGES = 3, UNROLL, FLAGS /* one for each LOOP_FLAG, in order */ };
   TlSvRange *r;
   TlSv out = new_range(s, call, &r);
   if (out.kind == TL_SV_POISON)
      return out;
   if ((tl_call_has(call, STAGES) && !tl_call_int(s, call, STAGES, &r->num_stages)) ||
       (tl_call_has(call, UNROLL) && !tl_call_int(s, call, UNROLL, &r->unroll)))
      return tl_sv_poison();
   for (unsigned i = 0; tl_attr_word(TL_AK_LOOP_FLAG, i); i++) {
      bool flag;
      if (!tl_call_bool(s, call, FLAGS + i, &flag))
         return tl_sv_poison();
      r->flags |= flag ? INT64_C(1) << i : 0;
   }
   return out;
}

TlSv
tl_builtin_static_range(TlSema *s, const TlCall *call)
{
   TlSvRange *r;
   TlSv out = new_range(s, call, &r);
   if (out.kind == TL_SV_POISON)
      return out;
   const TlSv *parts[3] = {&r->start, &r->stop, &r->step};
   for (unsigned i = 0; i < 3; i++)
      if (tl_sv_is_runtime(parts[i])) {
         unsigned from = i == 1 ? tl_call_has(call, 1) : i;
         tl_report(s->diags, E0301, tl_call_arg_range(call, from), "bounds", "static_range",
                   tl_sv_text(s, parts[i]));
         const TlValue *v = parts[i]->kind == TL_SV_VALUE ? parts[i]->value : NULL;
         bool is_parameter = v && v->name && !v->def && v->block && !v->block->region->parent;
         if (tl_help_loop_made(s, parts[i]))
            return tl_sv_poison();
         tl_help(s->diags, "%stl.range or range(..) take bounds that only the run knows",
                 is_parameter ? tl_arena_printf(s->arena,
                                                "a parameter annotated so is known, %.40s: "
                                                "tl.constexpr; ",
                                                v->name)
                              : "");
         return tl_sv_poison();
      }
   r->is_static = true;
   return out;
}

/* ---- min, max ---- */
static bool
less(const TlSv *a, const TlSv *b)
{
   if (a->kind != TL_SV_FLOAT && b->kind != TL_SV_FLOAT && !a->is_large && !b->is_large) {
      int64_t x = 0, y = 0;
      tl_sv_const_int(a, &x);
      tl_sv_const_int(b, &y);
      return x < y;
   }
   double v[2];
   for (unsigned i = 0; i < 2; i++) {
      const TlSv *n = i ? b : a;
      v[i] = n->kind == TL_SV_FLOAT  ? n->f
             : n->kind == TL_SV_BOOL ? n->b
             : n->is_large           ? (double)(uint64_t)n->i
                                     : (double)n->i;
   }
   return v[0] < v[1];
}

/* Of NaN and of -0.0 beside 0.0, Python's answer hangs on which comes first. */
static bool
without_order(const TlSv *v)
{
   return v->kind == TL_SV_FLOAT && (isnan(v->f) || (v->f == 0 && signbit(v->f)));
}

/* Bare min and max: of one tile (or with an axis) the reduction, else elementwise. */
TlSv
tl_builtin_py_extremum(TlSema *s, const TlCall *call)
{
   bool is_max = tl_builtin_row(call)->which == TL_OP_MAX;
   enum { REST, AXIS };
   const TlSv *items = call->rest;
   unsigned num = call->num_rest;
   if (num == 1 && items[0].kind == TL_SV_VALUE) {
      TlCall c = *call;
      TlSv args[5] = {items[0], call->args[1], call->args[2], call->args[3], call->args[4]};
      c.row = tl_builtin_find(TL_NS_TL, is_max ? "max" : "min");
      c.args = args;
      return c.row->fn(s, &c);
   }
   if (num == 1)
      tl_sv_items(&call->rest[0], &items, &num);
   if (num == 0)
      return tl_sv_refuse(s, E0313, call->range, call->row->name, "at least one value", "none");
   TlSv best = items[0];
   for (unsigned i = 1; i < num; i++) {
      if (tl_sv_is_number(&best) && tl_sv_is_number(&items[i])) {
         const TlSv *odd = without_order(&best) ? &best : &items[i];
         if (!tl_in_host(s) && without_order(odd)) {
            tl_report(s->diags, E0313, call->range, call->row->name,
                      "constants that are in an order", tl_sv_text(s, odd));
            tl_help(s->diags, "'a if a > b else b' says which is meant");
            return tl_sv_poison();
         }
         if (is_max ? less(&best, &items[i]) : less(&items[i], &best))
            best = items[i];
         continue;
      }
      TlSv args[3] = {best, items[i], tl_sv_none()};
      bool given[3] = {true, true, false};
      TlRange ranges[3] = {call->range, call->range, call->range};
      const TlBuiltin *pick = tl_builtin_find(TL_NS_TL, is_max ? "maximum" : "minimum");
      TlCall c = {.row = pick,
                  .range = call->range,
                  .args = args,
                  .given = given,
                  .arg_ranges = ranges,
                  .num_args = 3};
      best = c.row->fn(s, &c);
   }
   return best;
}

TlSv
tl_builtin_py_abs(TlSema *s, const TlCall *call)
{
   TlSv v = call->args[0];
   if (!tl_sv_is_number(&v) || v.is_strong)
      return tl_builtin_abs(s, call);
   if (v.kind == TL_SV_FLOAT)
      v.f = fabs(v.f);
   else if (v.kind == TL_SV_BOOL)
      v = tl_sv_int(v.b);
   else if (!v.is_large && v.i < 0) {
      v.is_large = v.i == INT64_MIN; /* 2^63 */
      v.i = (int64_t)(0 - (uint64_t)v.i);
   }
   return v;
}

/* ---- conversions of known values ---- */
static TlSv
not_at_run_time(TlSema *s, const TlCall *call, const char *dtype)
{
   const TlSv *v = &call->args[0];
   if (v->kind == TL_SV_POISON)
      return *v;
   tl_report(s->diags, E0346, call->range, call->row->name, tl_sv_text(s, v));
   if (v->kind == TL_SV_VALUE && dtype)
      tl_help(s->diags, "convert with .to(tl.%s)", dtype);
   return tl_sv_poison();
}

static bool
parse_float(const char *text, double *out)
{
   char *end;
   while (isspace((unsigned char)*text))
      text++;
   if (strpbrk(text, "xX"))
      return false; /* strtod's hexadecimal form is not Python's */
   *out = strtod(text, &end);
   while (isspace((unsigned char)*end))
      end++;
   return end != text && *end == 0;
}

TlSv
tl_builtin_py_float(TlSema *s, const TlCall *call)
{
   TlSv v = call->args[0];
   if (v.kind == TL_SV_STR) {
      double f;
      const char *text = tl_text_cstr(s, v.s);
      if (parse_float(text, &f))
         return tl_sv_float(f);
      return tl_sv_refuse(s, E0313, call->range, "float", "the text of a number",
                          tl_sv_text(s, &v));
   }
   if (!tl_sv_is_number(&v))
      return not_at_run_time(s, call, "float32");
   return tl_sv_float(v.kind == TL_SV_FLOAT  ? v.f
                      : v.kind == TL_SV_BOOL ? v.b
                      : v.is_large           ? (double)(uint64_t)v.i
                                             : (double)v.i);
}

TlSv
tl_builtin_py_int(TlSema *s, const TlCall *call)
{
   TlSv v = call->args[0];
   if (v.kind == TL_SV_STR) {
      const char *text = tl_text_cstr(s, v.s);
      char *end;
      errno = 0;
      long long i = strtoll(text, &end, 10);
      if (end != text && *end == 0 && errno == 0)
         return tl_sv_int(i);
      return tl_sv_refuse(s, E0313, call->range, "int", "the text of an integer of 64 bits",
                          tl_sv_text(s, &v));
   }
   if (v.kind == TL_SV_LONG)
      return v;
   if (!tl_sv_is_number(&v))
      return not_at_run_time(s, call, "int32");
   if (v.kind == TL_SV_FLOAT) {
      if (!(fabs(v.f) < 9.2e18))
         return tl_sv_refuse(s, E0313, call->range, "int", "a value that 64 bits hold",
                             tl_sv_text(s, &v));
      return tl_sv_int((int64_t)v.f);
   }
   TlSv r = tl_sv_int(v.kind == TL_SV_BOOL ? v.b : v.i);
   r.is_large = v.kind == TL_SV_INT && v.is_large;
   return r;
}

TlSv
tl_builtin_py_bool(TlSema *s, const TlCall *call)
{
   const TlSv *v = &call->args[0];
   switch (v->kind) {
   case TL_SV_NONE:
      return tl_sv_bool(false);
   case TL_SV_BOOL:
      return tl_sv_bool(v->b);
   case TL_SV_INT:
      return tl_sv_bool(v->i != 0);
   case TL_SV_LONG:
      return tl_sv_bool(true);
   case TL_SV_FLOAT:
      return tl_sv_bool(v->f != 0);
   case TL_SV_STR:
      return tl_sv_bool(v->s.len != 0);
   case TL_SV_TUPLE:
      return tl_sv_bool(v->tuple->len != 0);
   case TL_SV_DICT:
      return tl_sv_bool(v->fields->len != 0);
   default:
      return not_at_run_time(s, call, "int1");
   }
}

TlSv
tl_builtin_len(TlSema *s, const TlCall *call)
{
   const TlSv *v = &call->args[0];
   switch (v->kind) {
   case TL_SV_STR:
      return tl_sv_int((int64_t)tl_text_len(s, v->s));
   case TL_SV_TUPLE:
      return tl_sv_int((int64_t)v->tuple->len);
   case TL_SV_DICT:
      return tl_sv_int((int64_t)v->fields->len);
   default:
      break;
   }
   TlSv bad = not_at_run_time(s, call, NULL);
   tl_blame_sv(s, v, TL_WANT_OTHER);
   if (v->kind == TL_SV_VALUE && tl_type_is_tile(v->value->type))
      tl_help(s->diags, "the size of a tile is x.shape[0]");
   return bad;
}

/* ---- isinstance ---- */
static bool
is_instance(const TlSv *v, const TlSv *type)
{
   if (type->kind == TL_SV_TUPLE) {
      for (size_t i = 0; i < type->tuple->len; i++)
         if (is_instance(v, &type->tuple->items[i]))
            return true;
      return false;
   }
   if (type->kind != TL_SV_BUILTIN)
      return false;
   const char *name = type->builtin.row->name;
   if (strcmp(name, "pointer_type") == 0)
      return v->kind == TL_SV_TYPE && v->type->kind == TL_TYPE_PTR;
   if (strcmp(name, "block_type") == 0)
      return v->kind == TL_SV_TYPE && v->type->kind == TL_TYPE_TILE;
   if (strcmp(name, "constexpr_type") == 0)
      return v->kind == TL_SV_OBJECT && strcmp(v->fields->type_name, name) == 0;
   bool is_descriptor = v->kind == TL_SV_BLOCKPTR && v->block_ptr->is_descriptor;
   if (is_descriptor || strcmp(name, "tensor_descriptor") == 0)
      return is_descriptor && strcmp(name, "tensor_descriptor") == 0;
   static const struct {
      const char *name;
      uint32_t kinds;
   } rows[] = {
      {"tensor", 1u << TL_SV_VALUE | 1u << TL_SV_BLOCKPTR},
      {"constexpr", 1u << TL_SV_BOOL | 1u << TL_SV_INT | 1u << TL_SV_LONG | 1u << TL_SV_FLOAT |
                       1u << TL_SV_STR | 1u << TL_SV_NONE | 1u << TL_SV_TYPE},
      {"int", 1u << TL_SV_INT | 1u << TL_SV_LONG | 1u << TL_SV_BOOL},
      {"float", 1u << TL_SV_FLOAT},
      {"bool", 1u << TL_SV_BOOL},
      {"str", 1u << TL_SV_STR},
      {"tuple", 1u << TL_SV_TUPLE},
      {"list", 1u << TL_SV_TUPLE},
      {"dict", 1u << TL_SV_DICT},
      {"dtype", 1u << TL_SV_TYPE},
   };
   for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
      if (strcmp(rows[i].name, name) == 0) {
         bool is_sequence = strcmp(name, "tuple") == 0 || strcmp(name, "list") == 0;
         if (is_sequence && v->kind == TL_SV_TUPLE)
            return v->tuple->is_list == (name[0] == 'l');
         /* a constant kept in a plain variable counts as a tensor of the run */
         bool is_strong = tl_sv_is_number(v) && v->is_strong;
         if (is_strong && (strcmp(name, "tensor") == 0 || strcmp(name, "constexpr") == 0))
            return name[0] == 't';
         return rows[i].kinds >> v->kind & 1;
      }
   return false;
}

TlSv
tl_builtin_isinstance(TlSema *s, const TlCall *call)
{
   (void)s;
   if (call->args[0].kind == TL_SV_POISON)
      return call->args[0];
   return tl_sv_bool(is_instance(&call->args[0], &call->args[1]));
}

/* tl.condition(c) of `while tl.condition(c):` is the condition itself. */
TlSv
tl_builtin_condition(TlSema *s, const TlCall *call)
{
   (void)s;
   return call->args[0];
}
