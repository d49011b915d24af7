/* Methods of strings, lists and dicts that are known at compile time. */
#include "sema/host.h"

#include <ctype.h>
#include <string.h>

/* Python counts and folds characters, here there are bytes: the same in ASCII only. */
static bool
is_ascii(TlSema *s, const TlCall *c, TlText t)
{
   for (size_t i = 0; i < t.len; i++)
      if ((unsigned char)t.data[i] >= 0x7f ||
          ((unsigned char)t.data[i] < 0x20 && !strchr("\t\n\r", t.data[i]))) {
         tl_host_bad(s, c, "the text is not plain ASCII");
         return false;
      }
   return true;
}

static bool
text_args(TlSema *s, const TlCall *c, unsigned num)
{
   for (unsigned i = 0; i < num; i++) {
      if (c->args[i].kind != TL_SV_STR) {
         tl_host_bad(s, c, "a string is needed");
         return false;
      }
      if (!is_ascii(s, c, c->args[i].s))
         return false;
   }
   return true;
}

static TlSv
each_char(TlSema *s, const TlCall *c, int (*map)(int))
{
   if (!text_args(s, c, 1))
      return tl_sv_poison();
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

static TlSv
strip(TlSema *s, const TlCall *c, bool left, bool right)
{
   bool has_chars = c->args[1].kind != TL_SV_NONE;
   if (!text_args(s, c, has_chars ? 2 : 1))
      return tl_sv_poison();
   TlText set = has_chars ? c->args[1].s : (TlText){" \t\n\r", 4};
   const char *p = c->args[0].s.data, *e = p + c->args[0].s.len;
   while (left && p < e && memchr(set.data, *p, set.len))
      p++;
   while (right && e > p && memchr(set.data, e[-1], set.len))
      e--;
   return tl_make_str(s, p, (size_t)(e - p));
}

HOST_FN(str_strip)
{
   return strip(s, c, true, true);
}

HOST_FN(str_lstrip)
{
   return strip(s, c, true, false);
}

HOST_FN(str_rstrip)
{
   return strip(s, c, false, true);
}

/* Comparisons of a long part at each place are many steps. */
static void
count_search(TlSema *s, size_t len, size_t part)
{
   enum { BYTES_OF_STEP = 4096 };
   s->steps += (len + 1) * (part + 1) / BYTES_OF_STEP;
}

const char *
tl_find_text(TlSema *s, const char *p, const char *end, TlText sub)
{
   const char *begin = p;
   while (p + sub.len <= end && memcmp(p, sub.data, sub.len) != 0)
      p++;
   bool found = p + sub.len <= end;
   count_search(s, (size_t)(p - begin), sub.len);
   return found ? p : NULL;
}

HOST_FN(str_find)
{
   if (!text_args(s, c, 2))
      return tl_sv_poison();
   const char *begin = c->args[0].s.data;
   const char *hit = tl_find_text(s, begin, begin + c->args[0].s.len, c->args[1].s);
   return tl_sv_int(hit ? hit - begin : -1);
}

HOST_FN(str_index)
{
   TlSv at = tl_host_str_find(s, c);
   return at.kind == TL_SV_INT && at.i < 0
             ? tl_host_raises(s, c, "ValueError", "the string has no such part")
             : at;
}

HOST_FN(str_rfind)
{
   if (!text_args(s, c, 2))
      return tl_sv_poison();
   TlText t = c->args[0].s, sub = c->args[1].s;
   int64_t at = (int64_t)t.len - (int64_t)sub.len;
   count_search(s, t.len, sub.len);
   while (at >= 0 && memcmp(t.data + at, sub.data, sub.len) != 0)
      at--;
   return tl_sv_int(at < 0 ? -1 : at);
}

/* `fill` between the first `head` bytes and the others, or behind all of them. */
static TlSv
fill_up(TlSema *s, const TlCall *c, char fill, size_t head)
{
   enum { MAX_WIDTH = 65536 };
   const TlSv *width = &c->args[1];
   TlText t = c->args[0].s;
   if (width->kind != TL_SV_INT || width->is_large || width->i > MAX_WIDTH)
      return tl_host_bad(s, c, "the width must be a known integer up to 65536");
   if (width->i <= (int64_t)t.len)
      return c->args[0];
   size_t len = (size_t)width->i;
   char *p = tl_arena_alloc(s->arena, len + 1);
   memset(p, fill, len);
   memcpy(p, t.data, head);
   memcpy(p + len - (t.len - head), t.data + head, t.len - head);
   return tl_make_str(s, p, len);
}

static TlSv
justify(TlSema *s, const TlCall *c, bool at_left)
{
   const TlSv *fill = &c->args[2];
   bool is_one = fill->kind == TL_SV_STR && fill->s.len == 1;
   if (!text_args(s, c, 1))
      return tl_sv_poison();
   if (!is_one || !is_ascii(s, c, fill->s))
      return is_one ? tl_sv_poison() : tl_host_bad(s, c, "it is filled with one character");
   return fill_up(s, c, *fill->s.data, at_left ? c->args[0].s.len : 0);
}

HOST_FN(str_ljust)
{
   return justify(s, c, true);
}

HOST_FN(str_rjust)
{
   return justify(s, c, false);
}

HOST_FN(str_zfill)
{
   if (!text_args(s, c, 1))
      return tl_sv_poison();
   TlText t = c->args[0].s;
   return fill_up(s, c, '0', t.len && (*t.data == '-' || *t.data == '+'));
}

HOST_FN(str_count)
{
   if (!text_args(s, c, 2))
      return tl_sv_poison();
   TlText sub = c->args[1].s;
   const char *p = c->args[0].s.data, *end = p + c->args[0].s.len;
   int64_t n = 0;
   if (!sub.len)
      return tl_sv_int((int64_t)c->args[0].s.len + 1);
   for (; (p = tl_find_text(s, p, end, sub)); p += sub.len)
      n++;
   return tl_sv_int(n);
}

static TlSv
all_chars(TlSema *s, const TlCall *c, int (*is)(int))
{
   if (!text_args(s, c, 1))
      return tl_sv_poison();
   TlText t = c->args[0].s;
   size_t i = 0;
   while (i < t.len && is((unsigned char)t.data[i]))
      i++;
   return tl_sv_bool(t.len && i == t.len);
}

HOST_FN(str_isdigit)
{
   return all_chars(s, c, isdigit);
}

HOST_FN(str_isalpha)
{
   return all_chars(s, c, isalpha);
}

HOST_FN(str_isalnum)
{
   return all_chars(s, c, isalnum);
}

static TlSv
without_affix(TlSema *s, const TlCall *c, bool at_start)
{
   if (!text_args(s, c, 2))
      return tl_sv_poison();
   TlText t = c->args[0].s, w = c->args[1].s;
   const char *part = at_start || t.len < w.len ? t.data : t.data + t.len - w.len;
   if (w.len > t.len || memcmp(part, w.data, w.len) != 0)
      return c->args[0];
   return tl_make_str(s, at_start ? t.data + w.len : t.data, t.len - w.len);
}

HOST_FN(str_removeprefix)
{
   return without_affix(s, c, true);
}

HOST_FN(str_removesuffix)
{
   return without_affix(s, c, false);
}

/* startswith, endswith: one string or a tuple of them */
static TlSv
has_affix(TlSema *s, const TlCall *c, bool at_start)
{
   TlText t = c->args[0].s;
   const TlSv *items = &c->args[1];
   size_t n = 1;
   if (items->kind == TL_SV_TUPLE && !items->tuple->is_list) {
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
   bool has_sep = c->args[1].kind != TL_SV_NONE;
   if (!text_args(s, c, has_sep ? 2 : 1))
      return tl_sv_poison();
   if (has_sep && !c->args[1].s.len)
      return tl_host_raises(s, c, "ValueError", "the separator is empty");
   if (has_sep) {
      TlText sep = c->args[1].s;
      count_search(s, t.len, sep.len);
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
         return tl_is_plain(&items[i]) ? tl_host_raises(s, c, "TypeError", "strings are needed")
                                       : tl_host_bad(s, c, "strings are needed");
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
   count_search(s, t.len, old.len);
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
   bool is_numbered = false;
   while (p < end) {
      if ((*p == '{' || *p == '}') && p + 1 < end && p[1] == *p) {
         tl_sb_char(&sb, *p);
         p += 2;
         continue;
      }
      const char *close = *p == '{' ? memchr(p, '}', (size_t)(end - p)) : NULL;
      if (!close && (*p == '{' || *p == '}'))
         return tl_host_bad(s, c, "a brace of the format stands alone");
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
      is_numbered |= digits;
      if (is_numbered && next)
         return tl_host_bad(s, c, "fields are numbered and not numbered");
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
   (void)s;
   TlSvTuple *t = c->args[0].tuple;
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
   for (size_t i = 0; i < t->len && s->diags->num_errors == errors; i++)
      if (tl_const_equal(s, &t->items[i], &c->args[1]))
         return tl_sv_int((int64_t)i);
   return s->diags->num_errors != errors
             ? tl_sv_poison()
             : tl_host_raises(s, c, "ValueError", "the value is not in the sequence");
}

HOST_FN(seq_count)
{
   int64_t n = 0;
   unsigned errors = s->diags->num_errors;
   for (size_t i = 0; i < c->args[0].tuple->len; i++)
      n += tl_const_equal(s, &c->args[0].tuple->items[i], &c->args[1]);
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
