/* Methods of lists, tuples and dicts that are known at compile time. */
#include "sema/host.h"

#include <ctype.h>
#include <string.h>

HOST_FN(list_append)
{
   tl_list_push(s, c->args[0].tuple, c->args[1]);
   return tl_sv_none();
}

HOST_FN(list_extend)
{
   TlSv *items;
   size_t len;
   if (!items_of(s, c, &c->args[1], &items, &len))
      return tl_sv_poison();
   TlSv *copy = tl_new_array(s->arena, TlSv, len); /* the items may be the list's own */
   memcpy(copy, items, len * sizeof copy[0]);
   for (size_t i = 0; i < len; i++)
      tl_list_push(s, c->args[0].tuple, copy[i]);
   return tl_sv_none();
}

HOST_FN(list_pop)
{
   TlSvTuple *t = c->args[0].tuple;
   int64_t at;
   if (!tl_known_int(&c->args[1], &at))
      return tl_host_bad(s, c, "the index must be a known integer");
   at = at < 0 ? at + (int64_t)t->len : at;
   if (at < 0 || at >= (int64_t)t->len)
      return tl_host_raises(s, c, "IndexError", "the index is out of range");
   TlSv v = t->items[at];
   s->steps += (t->len - (size_t)at) / TL_MOVES_OF_STEP;
   memmove(t->items + at, t->items + at + 1, (t->len - (size_t)at - 1) * sizeof v);
   t->len--;
   return v;
}

HOST_FN(list_insert)
{
   TlSvTuple *t = c->args[0].tuple;
   int64_t at, len = (int64_t)t->len;
   if (!tl_known_int(&c->args[1], &at))
      return tl_host_bad(s, c, "the index must be a known integer");
   at = at < 0 ? at + len : at;
   at = at < 0 ? 0 : at > len ? len : at;
   tl_list_push(s, t, c->args[2]);
   s->steps += (uint64_t)(len - at) / TL_MOVES_OF_STEP;
   memmove(t->items + at + 1, t->items + at, (size_t)(len - at) * sizeof t->items[0]);
   t->items[at] = c->args[2];
   return tl_sv_none();
}

HOST_FN(list_remove)
{
   TlSvTuple *t = c->args[0].tuple;
   TlSv at = tl_host_seq_index(s, c);
   if (at.kind == TL_SV_INT) {
      size_t i = (size_t)at.i;
      memmove(t->items + i, t->items + i + 1, (t->len - i - 1) * sizeof t->items[0]);
      t->len--;
      return tl_sv_none();
   }
   return at;
}

HOST_FN(list_clear)
{
   (void)s;
   c->args[0].tuple->len = 0;
   return tl_sv_none();
}

HOST_FN(list_reverse)
{
   TlSvTuple *t = c->args[0].tuple;
   s->steps += t->len / TL_MOVES_OF_STEP;
   for (size_t i = 0; i < t->len / 2; i++) {
      TlSv v = t->items[i];
      t->items[i] = t->items[t->len - 1 - i];
      t->items[t->len - 1 - i] = v;
   }
   return tl_sv_none();
}

HOST_FN(list_sort)
{
   TlSvTuple *t = c->args[0].tuple;
   TlSv sorted = tl_host_sort(s, c, t->items, t->len, &c->args[1], &c->args[2]);
   if (sorted.kind != TL_SV_TUPLE)
      return sorted;
   memcpy(t->items, sorted.tuple->items, t->len * sizeof t->items[0]);
   return tl_sv_none();
}

/* ---- lists and tuples ---- */
HOST_FN(seq_index)
{
   const TlSvTuple *t = c->args[0].tuple;
   unsigned errors = s->diags->num_errors;
   s->steps += t->len / TL_ITEMS_OF_STEP;
   for (size_t i = 0; i < t->len && s->diags->num_errors == errors; i++)
      if (tl_const_equal_item(s, &t->items[i], &c->args[1]))
         return tl_sv_int((int64_t)i);
   return s->diags->num_errors != errors
             ? tl_sv_poison()
             : tl_host_raises(s, c, "ValueError", "the value is not in the sequence");
}

HOST_FN(seq_count)
{
   int64_t n = 0;
   unsigned errors = s->diags->num_errors;
   s->steps += c->args[0].tuple->len / TL_ITEMS_OF_STEP;
   for (size_t i = 0; i < c->args[0].tuple->len; i++)
      n += tl_const_equal_item(s, &c->args[0].tuple->items[i], &c->args[1]);
   return s->diags->num_errors == errors ? tl_sv_int(n) : tl_sv_poison();
}

HOST_FN(seq_copy)
{
   return tl_make_tuple(s, c->args[0].tuple->items, c->args[0].tuple->len,
                        c->args[0].tuple->is_list);
}

/* ---- dicts ---- */
/* false: not found, or after an error (poison in *out) */
static bool
look_up(TlSema *s, const TlCall *c, TlSv *out)
{
   bool found = false;
   unsigned errors = s->diags->num_errors;
   *out = tl_sv_none();
   if (tl_check_hashable(s, &c->args[1], c->range))
      *out = tl_dict_get(s, &c->args[0], &c->args[1], &found);
   if (!found && strcmp(c->args[0].fields->type_name, "dict") != 0)
      tl_host_bad(s, c, "not all keys are known");
   if (s->diags->num_errors != errors)
      *out = tl_sv_poison();
   return found && s->diags->num_errors == errors;
}

HOST_FN(dict_get)
{
   TlSv v;
   return look_up(s, c, &v) || v.kind == TL_SV_POISON ? v : c->args[2];
}

HOST_FN(dict_setdefault)
{
   TlSv v;
   if (look_up(s, c, &v) || v.kind == TL_SV_POISON)
      return v;
   tl_dict_set(s, &c->args[0], &c->args[1], c->args[2]);
   return c->args[2];
}

HOST_FN(dict_pop)
{
   TlSv v;
   if (look_up(s, c, &v)) {
      tl_dict_del(s, &c->args[0], &c->args[1]);
      return v;
   }
   return v.kind == TL_SV_POISON ? v
          : c->given[2]          ? c->args[2]
                                 : tl_host_raises(s, c, "KeyError", "the dict has no such key");
}

HOST_FN(dict_popitem)
{
   TlSvFields *d = c->args[0].fields;
   if (!d->len)
      return tl_host_raises(s, c, "KeyError", "the dict is empty");
   d->len--;
   tl_keys_removed(d);
   TlSv pair[2] = {d->keys[d->len], d->values[d->len]};
   return tl_make_tuple(s, pair, 2, false);
}

HOST_FN(dict_clear)
{
   (void)s;
   c->args[0].fields->len = 0;
   tl_keys_removed(c->args[0].fields);
   return tl_sv_none();
}

HOST_FN(dict_copy)
{
   TlSv out = tl_dict_new(s);
   tl_host_dict_add(s, c, &out, &c->args[0]);
   return out;
}

/* Adds a dict's items, or pairs; false after an error. */
bool
tl_host_dict_add(TlSema *s, const TlCall *c, const TlSv *dict, const TlSv *from)
{
   TlSv *items, *pair;
   size_t len, two;
   if (from->kind == TL_SV_DICT) {
      s->steps += from->fields->len / TL_ITEMS_OF_STEP;
      for (size_t i = 0; i < from->fields->len; i++)
         tl_dict_set(s, dict, &from->fields->keys[i], from->fields->values[i]);
      return true;
   }
   if (!items_of(s, c, from, &items, &len))
      return false;
   for (size_t i = 0; i < len; i++) {
      if (!items_of(s, c, &items[i], &pair, &two))
         return false;
      if (two != 2) {
         tl_host_raises(s, c, "ValueError", "the items must be pairs");
         return false;
      }
      if (!tl_check_hashable(s, &pair[0], c->range))
         return false;
      tl_dict_set(s, dict, &pair[0], pair[1]);
   }
   return true;
}

HOST_FN(dict_update)
{
   bool ok = tl_host_dict_add(s, c, &c->args[0], &c->args[1]);
   if (ok && c->args[2].kind == TL_SV_DICT)
      ok = tl_host_dict_add(s, c, &c->args[0], &c->args[2]);
   return ok ? tl_sv_none() : tl_sv_poison();
}

static const struct {
   TlSvKind receiver;
   TlBuiltin row;
} methods[] = {
#define TL_HOST_METHOD(receiver, name, signature, function, flags)                                 \
   {TL_SV_##receiver, {0, name, signature, tl_host_##function, TL_BUILTIN_HOST | (flags), ""}},
#include "sema/host.def"
};

bool
tl_host_method(TlSema *s, const TlSv *self, const char *name, TlSv *out)
{
   bool is_tuple = (self->kind == TL_SV_TUPLE || self->kind == TL_SV_SET) && !self->tuple->is_list;
   for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
      const TlBuiltin *row = &methods[i].row;
      if (methods[i].receiver != self->kind || strcmp(row->name, name) != 0 ||
          (is_tuple && (row->flags & TL_BUILTIN_MUTATES)))
         continue;
      TlSv *copy = tl_new(s->arena, TlSv);
      *copy = *self;
      *out = (TlSv){.kind = TL_SV_BUILTIN, .builtin = {row, copy}};
      return true;
   }
   return false;
}
