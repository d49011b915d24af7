/* Python's functions on values known at compile time: enumerate, zip, sorted, getattr .. */
#include "sema/builtin.h"
#include "sema/host.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

TlSv
tl_host_bad(TlSema *s, const TlCall *c, const char *why)
{
   tl_report(s->diags, E0259, c->range, c->row->name, why);
   return tl_sv_poison();
}

static bool
truth_of(const TlSv *v)
{
   return !tl_sv_is_runtime(v) && tl_const_truth(v);
}

HOST_FN(enumerate)
{
   TlSv *items;
   size_t len;
   int64_t start, last;
   if (!items_of(s, c, &c->args[0], &items, &len))
      return tl_sv_poison();
   if (!tl_sv_const_int(&c->args[1], &start))
      return tl_host_bad(s, c, "the start must be a known integer");
   if (__builtin_add_overflow(start, len, &last))
      return tl_host_bad(s, c, "the numbers do not fit in 64 bits");
   TlSv out = tl_make_tuple(s, items, len, true);
   for (size_t i = 0; i < len; i++) {
      TlSv pair[2] = {tl_sv_int(start + (int64_t)i), items[i]};
      out.tuple->items[i] = tl_make_tuple(s, pair, 2, false);
   }
   return out;
}

HOST_FN(zip)
{
   TlSv **columns = tl_new_array(s->arena, TlSv *, c->num_rest);
   size_t shortest = 0;
   for (unsigned i = 0; i < c->num_rest; i++) {
      size_t len;
      if (!items_of(s, c, &c->rest[i], &columns[i], &len))
         return tl_sv_poison();
      shortest = i == 0 || len < shortest ? len : shortest;
   }
   TlSv *rows = tl_new_array(s->arena, TlSv, shortest);
   TlSv *row = tl_new_array(s->arena, TlSv, c->num_rest);
   for (size_t r = 0; r < shortest; r++) {
      for (unsigned i = 0; i < c->num_rest; i++)
         row[i] = columns[i][r];
      rows[r] = tl_make_tuple(s, row, c->num_rest, false);
   }
   return tl_make_tuple(s, rows, shortest, true);
}

HOST_FN(reversed)
{
   TlSv *items;
   size_t len;
   if (!items_of(s, c, &c->args[0], &items, &len))
      return tl_sv_poison();
   TlSv out = tl_make_tuple(s, items, len, true);
   for (size_t i = 0; i < len; i++)
      out.tuple->items[i] = items[len - 1 - i];
   return out;
}

HOST_FN(sorted) /* stable insertion sort: lists of host code are short */
{
   TlSv *items;
   size_t len;
   if (!items_of(s, c, &c->args[0], &items, &len))
      return tl_sv_poison();
   TlSv out = tl_make_tuple(s, items, len, true), keys = tl_make_tuple(s, items, len, true);
   for (size_t i = 0; i < len && c->args[1].kind != TL_SV_NONE; i++) {
      keys.tuple->items[i] = tl_sema_call(s, &c->args[1], &items[i], 1, c->range);
      if (keys.tuple->items[i].kind == TL_SV_POISON)
         return tl_sv_poison();
   }
   bool down = truth_of(&c->args[2]), ok = true;
   for (size_t i = 1; i < len; i++)
      for (size_t k = i; k > 0; k--) {
         TlSv *key = keys.tuple->items, *val = out.tuple->items;
         int order = down ? tl_const_order(s, &key[k - 1], &key[k], c->range, &ok)
                          : tl_const_order(s, &key[k], &key[k - 1], c->range, &ok);
         if (!ok || !tl_step(s, c->range))
            return tl_sv_poison();
         if (order != -1)
            break;
         TlSv t = key[k];
         key[k] = key[k - 1], key[k - 1] = t;
         t = val[k];
         val[k] = val[k - 1], val[k - 1] = t;
      }
   return out;
}

HOST_FN(map)
{
   TlSv *items;
   size_t len;
   if (c->num_rest != 1)
      return tl_host_bad(s, c, "one iterable is supported");
   if (!items_of(s, c, &c->rest[0], &items, &len))
      return tl_sv_poison();
   TlSv out = tl_make_tuple(s, items, len, true);
   for (size_t i = 0; i < len; i++) {
      out.tuple->items[i] = tl_sema_call(s, &c->args[0], &items[i], 1, c->range);
      if (out.tuple->items[i].kind == TL_SV_POISON)
         return tl_sv_poison();
   }
   return out;
}

HOST_FN(filter)
{
   TlSv *items;
   size_t len, n = 0;
   if (!items_of(s, c, &c->args[1], &items, &len))
      return tl_sv_poison();
   TlSv out = tl_make_tuple(s, items, len, true);
   for (size_t i = 0; i < len; i++) {
      TlSv keep = c->args[0].kind == TL_SV_NONE
                     ? items[i]
                     : tl_sema_call(s, &c->args[0], &items[i], 1, c->range);
      if (keep.kind == TL_SV_POISON)
         return keep;
      if (truth_of(&keep))
         out.tuple->items[n++] = items[i];
   }
   out.tuple->len = n;
   return out;
}

static TlSv
any_all(TlSema *s, const TlCall *c, bool any)
{
   TlSv *items;
   size_t len;
   if (!items_of(s, c, &c->args[0], &items, &len))
      return tl_sv_poison();
   for (size_t i = 0; i < len; i++)
      if (truth_of(&items[i]) == any)
         return tl_sv_bool(any);
   return tl_sv_bool(!any);
}

HOST_FN(any)
{
   return any_all(s, c, true);
}

HOST_FN(all)
{
   return any_all(s, c, false);
}

HOST_FN(sum)
{
   TlSv *items, total = c->args[1];
   size_t len;
   if (!items_of(s, c, &c->args[0], &items, &len))
      return tl_sv_poison();
   for (size_t i = 0; i < len && total.kind != TL_SV_POISON; i++)
      total = tl_apply_binary(s, TL_AST_OP_ADD, &total, &items[i], c->range);
   return total;
}

static TlSv
sequence(TlSema *s, const TlCall *c, bool is_list)
{
   TlSv *items;
   size_t len;
   if (!items_of(s, c, &c->args[0], &items, &len))
      return tl_sv_poison();
   return tl_make_tuple(s, items, len, is_list);
}

HOST_FN(list)
{
   return sequence(s, c, true);
}

HOST_FN(tuple)
{
   return sequence(s, c, false);
}

HOST_FN(set)
{
   TlSv *items;
   size_t len;
   if (!items_of(s, c, &c->args[0], &items, &len))
      return tl_sv_poison();
   return tl_unique_items(s, items, len);
}

HOST_FN(dict)
{
   TlSv d = tl_dict_new(s);
   const TlSv *from[2] = {&c->args[0], &c->args[1]};
   for (unsigned k = 0; k < 2; k++)
      for (size_t i = 0; from[k]->kind == TL_SV_DICT && i < from[k]->fields->len; i++)
         tl_dict_set(s, &d, &from[k]->fields->keys[i], from[k]->fields->values[i]);
   for (size_t i = 0; c->args[0].kind == TL_SV_TUPLE && i < c->args[0].tuple->len; i++) {
      const TlSv *pair = &c->args[0].tuple->items[i];
      if (pair->kind != TL_SV_TUPLE || pair->tuple->len != 2)
         return tl_host_bad(s, c, "the items must be pairs");
      tl_dict_set(s, &d, &pair->tuple->items[0], pair->tuple->items[1]);
   }
   return d;
}

static TlSv
text_of(TlSema *s, const TlSv *v, bool as_str, TlRange range)
{
   TlSb sb;
   tl_sb_init(&sb, s->arena);
   if (!tl_sv_repr(s, v, as_str, range, &sb))
      return tl_sv_poison();
   return tl_make_str(s, tl_sb_cstr(&sb), sb.len);
}

HOST_FN(str)
{
   return text_of(s, &c->args[0], true, c->range);
}

HOST_FN(repr)
{
   return text_of(s, &c->args[0], false, c->range);
}

HOST_FN(hasattr)
{
   if (c->args[1].kind != TL_SV_STR)
      return tl_host_bad(s, c, "the name must be a string");
   return tl_sv_bool(tl_has_attribute(s, &c->args[0], c->args[1].s.data));
}

HOST_FN(getattr)
{
   if (c->args[1].kind != TL_SV_STR)
      return tl_host_bad(s, c, "the name must be a string");
   if (c->given[2] && !tl_has_attribute(s, &c->args[0], c->args[1].s.data))
      return c->args[2];
   TlText name = c->args[1].s;
   return tl_attribute(s, NULL, &c->args[0], tl_intern(s->strings, name.data, name.len), c->range);
}

HOST_FN(callable)
{
   (void)s;
   return tl_sv_bool(c->args[0].kind == TL_SV_FUNC || c->args[0].kind == TL_SV_BUILTIN);
}

enum { MAX_DIGITS = 300 };

HOST_FN(round)
{
   const TlSv *v = &c->args[0];
   int64_t digits = 0;
   if (!tl_sv_is_number(v))
      return tl_host_bad(s, c, "a number is needed");
   bool is_whole = c->args[1].kind == TL_SV_NONE;
   if (!is_whole && !tl_sv_const_int(&c->args[1], &digits))
      return tl_host_bad(s, c, "the number of digits must be a known integer");
   if (v->kind != TL_SV_FLOAT) {
      if (digits < 0)
         return tl_host_bad(s, c, "integers are rounded to whole numbers only");
      return v->kind == TL_SV_BOOL ? tl_sv_int(v->b) : *v;
   }
   if (is_whole)
      return tl_host_whole(s, c, nearbyint(v->f));
   if (digits < 0 || digits > MAX_DIGITS)
      return tl_host_bad(s, c, "a float is rounded to 0 to 300 digits");
   if (!isfinite(v->f))
      return *v;
   const char *text = tl_arena_printf(s->arena, "%.*f", (int)digits, v->f);
   return tl_sv_float(strtod(text, NULL)); /* rounds the exact value, as Python does */
}

HOST_FN(divmod)
{
   TlSv pair[2] = {
      tl_apply_binary(s, TL_AST_OP_FLOORDIV, &c->args[0], &c->args[1], c->range),
      tl_apply_binary(s, TL_AST_OP_MOD, &c->args[0], &c->args[1], c->range),
   };
   return tl_make_tuple(s, pair, 2, false);
}

HOST_FN(pow)
{
   return tl_apply_binary(s, TL_AST_OP_POW, &c->args[0], &c->args[1], c->range);
}

static const TlBuiltin rows[] = {
#define TL_HOST_PYTHON(name, signature, function)                                                  \
   {0, name, signature, tl_host_##function, TL_BUILTIN_HOST, ""},
#include "sema/host.def"
};

bool
tl_host_builtin(TlSema *s, const char *name, TlSv *out)
{
   for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
      if (strcmp(rows[i].name, name) == 0) {
         *out = (TlSv){.kind = TL_SV_BUILTIN, .builtin = {&rows[i], NULL}};
         return true;
      }
   if (strcmp(name, "Config") == 0) /* triton.Config, bare in a .tile file */
      return tl_host_module_attr(s, "triton", name, out);
   if (strcmp(name, "__name__") == 0) {
      *out = tl_make_str(s, "tilec", 5);
      return true;
   }
   /* exceptions and types of host code that appear in conditions */
   static const char *const opaque[] = {
#define TL_HOST_OPAQUE(name) name,
#include "sema/host.def"
   };
   for (size_t i = 0; i < sizeof opaque / sizeof opaque[0]; i++)
      if (strcmp(opaque[i], name) == 0) {
         *out = (TlSv){.kind = TL_SV_OPAQUE, .opaque = opaque[i]};
         return true;
      }
   return false;
}
