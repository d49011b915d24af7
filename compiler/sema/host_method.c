/* Methods of strings, lists and dicts that are known at compile time. */
#include "sema/host.h"

#include <ctype.h>
#include <string.h>

static TlSv
each_char(TlSema *s, const TlCall *c, int (*map)(int))
{
   TlSv v = tl_make_str(s, c->args[0].s.data, c->args[0].s.len);
   char *p = tl_arena_strndup(s->arena, v.s.data, v.s.len);
   for (size_t i = 0; i < v.s.len; i++)
      p[i] = (char)map((unsigned char)p[i]);
   v.s.data = p;
   return v;
}

HOST_FN(str_upper)
{
   return each_char(s, c, toupper);
}

HOST_FN(str_lower)
{
   return each_char(s, c, tolower);
}

HOST_FN(str_strip)
{
   const char *p = c->args[0].s.data, *e = p + c->args[0].s.len;
   while (p < e && isspace((unsigned char)*p))
      p++;
   while (e > p && isspace((unsigned char)e[-1]))
      e--;
   return tl_make_str(s, p, (size_t)(e - p));
}

/* startswith, endswith: one string or a tuple of them */
static TlSv
has_affix(TlSema *s, const TlCall *c, bool at_start)
{
   TlText t = c->args[0].s;
   const TlSv *items = &c->args[1];
   size_t n = 1;
   if (items->kind == TL_SV_TUPLE) {
      n = items->tuple->len;
      items = items->tuple->items;
   }
   for (size_t i = 0; i < n; i++) {
      if (items[i].kind != TL_SV_STR)
         return tl_host_bad(s, c, "a string is needed");
      TlText w = items[i].s;
      const char *part = at_start ? t.data : t.data + t.len - w.len;
      if (w.len <= t.len && memcmp(part, w.data, w.len) == 0)
         return tl_sv_bool(true);
   }
   return tl_sv_bool(false);
}

HOST_FN(str_startswith)
{
   return has_affix(s, c, true);
}

HOST_FN(str_endswith)
{
   return has_affix(s, c, false);
}

HOST_FN(str_split)
{
   TlText t = c->args[0].s;
   TL_VEC(TlSv) out = {0};
   const char *p = t.data, *end = t.data + t.len;
   if (c->args[1].kind == TL_SV_STR && c->args[1].s.len) {
      TlText sep = c->args[1].s;
      for (const char *q = p; q + sep.len <= end;) {
         if (memcmp(q, sep.data, sep.len) != 0) {
            q++;
            continue;
         }
         tl_vec_push(s->arena, &out, tl_make_str(s, p, (size_t)(q - p)));
         p = q += sep.len;
      }
      tl_vec_push(s->arena, &out, tl_make_str(s, p, (size_t)(end - p)));
   } else {
      while (p < end) {
         while (p < end && isspace((unsigned char)*p))
            p++;
         const char *q = p;
         while (q < end && !isspace((unsigned char)*q))
            q++;
         if (q > p)
            tl_vec_push(s->arena, &out, tl_make_str(s, p, (size_t)(q - p)));
         p = q;
      }
   }
   return tl_make_tuple(s, out.data, out.len, true);
}

HOST_FN(str_join)
{
   TlSv *items;
   size_t len;
   TlSb sb;
   tl_sb_init(&sb, s->arena);
   if (!items_of(s, c, &c->args[1], &items, &len))
      return tl_sv_poison();
   for (size_t i = 0; i < len; i++) {
      if (items[i].kind != TL_SV_STR)
         return tl_host_bad(s, c, "strings are needed");
      if (i)
         tl_sb_mem(&sb, c->args[0].s.data, c->args[0].s.len);
      tl_sb_mem(&sb, items[i].s.data, items[i].s.len);
   }
   return tl_make_str(s, tl_sb_cstr(&sb), sb.len);
}

HOST_FN(str_replace)
{
   TlText t = c->args[0].s, old, with;
   if (c->args[1].kind != TL_SV_STR || c->args[2].kind != TL_SV_STR || !c->args[1].s.len)
      return tl_host_bad(s, c, "two strings are needed");
   old = c->args[1].s;
   with = c->args[2].s;
   TlSb sb;
   tl_sb_init(&sb, s->arena);
   for (size_t i = 0; i < t.len;) {
      bool hit = i + old.len <= t.len && memcmp(t.data + i, old.data, old.len) == 0;
      tl_sb_mem(&sb, hit ? with.data : t.data + i, hit ? with.len : 1);
      i += hit ? old.len : 1;
   }
   return tl_make_str(s, tl_sb_cstr(&sb), sb.len);
}

/* "{} {1} {name:>4}".format(..) */
HOST_FN(str_format)
{
   const char *p = c->args[0].s.data, *end = p + c->args[0].s.len;
   TlSb sb;
   tl_sb_init(&sb, s->arena);
   unsigned next = 0;
   while (p < end) {
      if ((*p == '{' || *p == '}') && p + 1 < end && p[1] == *p) {
         tl_sb_char(&sb, *p);
         p += 2;
         continue;
      }
      const char *close = *p == '{' ? memchr(p, '}', (size_t)(end - p)) : NULL;
      if (!close) {
         tl_sb_char(&sb, *p++);
         continue;
      }
      const char *name = p + 1, *colon = memchr(name, ':', (size_t)(close - name));
      size_t len = (size_t)((colon ? colon : close) - name);
      TlSv key = tl_make_str(s, name, len), v = tl_sv_poison();
      bool found = false;
      bool digits = len > 0 && strspn(key.s.data, "0123456789") == len && len < 4;
      unsigned at = len == 0 ? next++ : 0;
      for (size_t i = 0; digits && i < len; i++)
         at = at * 10 + (unsigned)(name[i] - '0');
      if (len == 0 || digits) {
         found = at < c->num_rest;
         if (found)
            v = c->rest[at];
      } else if (c->args[2].kind == TL_SV_DICT) {
         v = tl_dict_get(s, &c->args[2], &key, &found);
      }
      if (!found)
         return tl_host_bad(s, c, "a field of the format has no value");
      TlText spec = {colon ? colon + 1 : "", colon ? (size_t)(close - colon - 1) : 0};
      if (spec.len ? !tl_format_number(s, &v, spec, c->range, &sb)
                   : !tl_sv_repr(s, &v, true, c->range, &sb))
         return tl_sv_poison();
      p = close + 1;
   }
   return tl_make_str(s, tl_sb_cstr(&sb), sb.len);
}

static void
list_push(TlSema *s, TlSvTuple *t, TlSv v)
{
   if (t->cap <= t->len) {
      size_t cap = t->len; /* what tl_vec_grow doubles */
      t->items = tl_vec_grow(s->arena, t->items, t->len, &cap, sizeof t->items[0]);
      t->cap = cap;
      s->steps += t->len / 8;
   }
   t->items[t->len++] = v;
}

HOST_FN(list_append)
{
   list_push(s, c->args[0].tuple, c->args[1]);
   return tl_sv_none();
}

HOST_FN(list_extend)
{
   TlSv *items;
   size_t len;
   if (!items_of(s, c, &c->args[1], &items, &len))
      return tl_sv_poison();
   for (size_t i = 0; i < len; i++)
      list_push(s, c->args[0].tuple, items[i]);
   return tl_sv_none();
}

HOST_FN(list_pop)
{
   TlSvTuple *t = c->args[0].tuple;
   int64_t at = c->args[1].kind == TL_SV_INT ? c->args[1].i : -1;
   at = at < 0 ? at + (int64_t)t->len : at;
   if (at < 0 || at >= (int64_t)t->len)
      return tl_host_bad(s, c, "the index is out of range");
   TlSv v = t->items[at];
   for (size_t i = (size_t)at + 1; i < t->len; i++)
      t->items[i - 1] = t->items[i];
   t->len--;
   return v;
}

HOST_FN(seq_index)
{
   const TlSvTuple *t = c->args[0].tuple;
   for (size_t i = 0; i < t->len; i++)
      if (tl_const_equal(s, &t->items[i], &c->args[1]))
         return tl_sv_int((int64_t)i);
   return tl_host_bad(s, c, "the value is not in the sequence");
}

HOST_FN(seq_count)
{
   (void)s;
   int64_t n = 0;
   for (size_t i = 0; i < c->args[0].tuple->len; i++)
      n += tl_const_equal(s, &c->args[0].tuple->items[i], &c->args[1]);
   return tl_sv_int(n);
}

HOST_FN(seq_copy)
{
   return tl_make_tuple(s, c->args[0].tuple->items, c->args[0].tuple->len,
                        c->args[0].tuple->is_list);
}

HOST_FN(dict_get)
{
   (void)s;
   bool found;
   TlSv v = tl_dict_get(s, &c->args[0], &c->args[1], &found);
   return found ? v : c->args[2];
}

HOST_FN(dict_items)
{
   const TlSvFields *d = c->args[0].fields;
   TlSv out = tl_make_tuple(s, d->values, d->len, true);
   for (size_t i = 0; i < d->len; i++) {
      TlSv pair[2] = {d->keys[i], d->values[i]};
      out.tuple->items[i] = tl_make_tuple(s, pair, 2, false);
   }
   return out;
}

HOST_FN(dict_keys)
{
   return tl_make_tuple(s, c->args[0].fields->keys, c->args[0].fields->len, true);
}

HOST_FN(dict_values)
{
   return tl_make_tuple(s, c->args[0].fields->values, c->args[0].fields->len, true);
}

HOST_FN(dict_update)
{
   for (unsigned k = 1; k < 3; k++)
      for (size_t i = 0; c->args[k].kind == TL_SV_DICT && i < c->args[k].fields->len; i++)
         tl_dict_set(s, &c->args[0], &c->args[k].fields->keys[i], c->args[k].fields->values[i]);
   return tl_sv_none();
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
   bool is_tuple = self->kind == TL_SV_TUPLE && !self->tuple->is_list;
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
