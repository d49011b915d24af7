/* Methods of strings that are known at compile time.  Positions count characters.  What Unicode's
 * tables decide (cases, letters, digits) is worked out for ASCII alone. */
#include "base/utf8.h"
#include "sema/host.h"
#include "sema/text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 1 << 20 }; /* of a text that is made of others */

static TlSv
made(TlSema *s, const TlCall *c, TlSb *sb)
{
   return sb->len > MAX_BYTES ? tl_host_bad(s, c, "the text is too long")
                              : tl_make_str(s, tl_sb_cstr(sb), sb->len);
}

static bool
text_args(TlSema *s, const TlCall *c, unsigned num)
{
   for (unsigned i = 0; i < num; i++)
      if (c->args[i].kind != TL_SV_STR) {
         tl_host_bad(s, c, "a string is needed");
         return false;
      }
   return true;
}

static bool
ascii_arg(TlSema *s, const TlCall *c)
{
   bool is_ascii = text_args(s, c, 1);
   if (is_ascii && !tl_utf8_is_ascii(c->args[0].s.data, c->args[0].s.len)) {
      tl_host_bad(s, c, "the text is not plain ASCII");
      is_ascii = false;
   }
   return is_ascii;
}

/* ---- cases: not those of <ctype.h>, which hang on the program's locale ---- */
static bool
is_upper(char c)
{
   return c >= 'A' && c <= 'Z';
}

static bool
is_lower(char c)
{
   return c >= 'a' && c <= 'z';
}

static bool
is_letter(char c)
{
   return is_upper(c) || is_lower(c);
}

static bool
is_digit(char c)
{
   return c >= '0' && c <= '9';
}

static bool
is_letter_or_digit(char c)
{
   return is_letter(c) || is_digit(c);
}

typedef enum Case { UPPER, LOWER, SWAPPED, CAPITALIZED, TITLE } Case;

static TlSv
in_case(TlSema *s, const TlCall *c, Case how)
{
   if (!ascii_arg(s, c))
      return tl_sv_poison();
   TlText t = c->args[0].s;
   char *p = tl_arena_strndup(s->arena, t.data, t.len);
   for (size_t i = 0; i < t.len; i++) {
      bool is_first = how == CAPITALIZED ? i == 0 : i == 0 || !is_letter(t.data[i - 1]);
      bool to_upper = how == UPPER || (how == SWAPPED ? is_lower(p[i]) : how != LOWER && is_first);
      if (is_letter(p[i]))
         p[i] = (char)(to_upper ? p[i] & ~0x20 : p[i] | 0x20);
   }
   return tl_make_str(s, p, t.len);
}

HOST_FN(str_upper)
{
   return in_case(s, c, UPPER);
}

HOST_FN(str_lower)
{
   return in_case(s, c, LOWER);
}

HOST_FN(str_swapcase)
{
   return in_case(s, c, SWAPPED);
}

HOST_FN(str_capitalize)
{
   return in_case(s, c, CAPITALIZED);
}

HOST_FN(str_title)
{
   return in_case(s, c, TITLE);
}

/* ---- questions ---- */
static TlSv
all_chars(TlSema *s, const TlCall *c, bool (*is)(char))
{
   if (!ascii_arg(s, c))
      return tl_sv_poison();
   TlText t = c->args[0].s;
   size_t i = 0;
   while (i < t.len && is(t.data[i]))
      i++;
   return tl_sv_bool(t.len && i == t.len);
}

HOST_FN(str_isdigit)
{
   return all_chars(s, c, is_digit);
}

HOST_FN(str_isdecimal)
{
   return all_chars(s, c, is_digit);
}

HOST_FN(str_isalpha)
{
   return all_chars(s, c, is_letter);
}

HOST_FN(str_isalnum)
{
   return all_chars(s, c, is_letter_or_digit);
}

/* It has letters, and none of the other case. */
static TlSv
all_in_case(TlSema *s, const TlCall *c, bool (*is_wanted)(char), bool (*is_other)(char))
{
   if (!ascii_arg(s, c))
      return tl_sv_poison();
   bool any = false;
   for (size_t i = 0; i < c->args[0].s.len; i++) {
      if (is_other(c->args[0].s.data[i]))
         return tl_sv_bool(false);
      any |= is_wanted(c->args[0].s.data[i]);
   }
   return tl_sv_bool(any);
}

HOST_FN(str_isupper)
{
   return all_in_case(s, c, is_upper, is_lower);
}

HOST_FN(str_islower)
{
   return all_in_case(s, c, is_lower, is_upper);
}

HOST_FN(str_isidentifier)
{
   if (!ascii_arg(s, c))
      return tl_sv_poison();
   TlText t = c->args[0].s;
   bool is = t.len && !is_digit(t.data[0]);
   for (size_t i = 0; i < t.len; i++)
      is &= t.data[i] == '_' || is_letter_or_digit(t.data[i]);
   return tl_sv_bool(is);
}

HOST_FN(str_isascii)
{
   return text_args(s, c, 1) ? tl_sv_bool(tl_utf8_is_ascii(c->args[0].s.data, c->args[0].s.len))
                             : tl_sv_poison();
}

/* The blank at the beginning, in bytes; 0: there is none. */
static size_t
blank_at(const char *p, const char *end)
{
   uint32_t c;
   unsigned bytes = p < end ? tl_utf8_next(p, (size_t)(end - p), &c) : 0;
   return bytes && tl_is_space(c) ? bytes : 0;
}

HOST_FN(str_isspace)
{
   if (!text_args(s, c, 1))
      return tl_sv_poison();
   const char *p = c->args[0].s.data, *end = p + c->args[0].s.len;
   for (size_t n; (n = blank_at(p, end));)
      p += n;
   return tl_sv_bool(c->args[0].s.len && p == end);
}

/* ---- strip ---- */
static const char *
previous(const char *begin, const char *p)
{
   assert(p > begin);
   do
      p--;
   while (p > begin && ((unsigned char)*p & 0xc0) == 0x80);
   return p;
}

/* Characters in order, to be looked up. */
typedef struct Set {
   uint32_t *chars;
   size_t len;
} Set;

static int
by_value(const void *a, const void *b)
{
   uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
   return x < y ? -1 : x > y;
}

static Set
set_of(TlSema *s, TlText t)
{
   Set set = {.chars = tl_new_array(s->arena, uint32_t, t.len + 1)};
   for (size_t at = 0; at < t.len;)
      at += tl_utf8_next(t.data + at, t.len - at, &set.chars[set.len++]);
   qsort(set.chars, set.len, sizeof set.chars[0], by_value);
   s->steps += set.len / 64;
   return set;
}

/* The character p..end is of the set, or (NULL) a blank. */
static bool
is_of(const char *p, const char *end, const Set *set)
{
   uint32_t c;
   tl_utf8_next(p, (size_t)(end - p), &c);
   return set ? bsearch(&c, set->chars, set->len, sizeof c, by_value) != NULL : tl_is_space(c);
}

enum { AT_LEFT = 1, AT_RIGHT = 2 };

static TlText
stripped(TlText t, const Set *set, unsigned sides)
{
   const char *p = t.data, *e = p + t.len;
   uint32_t c;
   while ((sides & AT_LEFT) && p < e && is_of(p, p + tl_utf8_next(p, (size_t)(e - p), &c), set))
      p += tl_utf8_next(p, (size_t)(e - p), &c);
   while ((sides & AT_RIGHT) && e > p && is_of(previous(p, e), e, set))
      e = previous(p, e);
   return (TlText){p, (size_t)(e - p)};
}

static TlSv
strip(TlSema *s, const TlCall *c, unsigned sides)
{
   bool has_set = c->args[1].kind != TL_SV_NONE;
   if (!text_args(s, c, has_set ? 2 : 1))
      return tl_sv_poison();
   Set set = has_set ? set_of(s, c->args[1].s) : (Set){0};
   s->steps += c->args[0].s.len / 64;
   TlText t = stripped(c->args[0].s, has_set ? &set : NULL, sides);
   return tl_make_str(s, t.data, t.len);
}

HOST_FN(str_strip)
{
   return strip(s, c, AT_LEFT | AT_RIGHT);
}

HOST_FN(str_lstrip)
{
   return strip(s, c, AT_LEFT);
}

HOST_FN(str_rstrip)
{
   return strip(s, c, AT_RIGHT);
}

/* ---- search ---- */
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

static const char *
find_last(TlSema *s, const char *begin, const char *end, TlText sub)
{
   count_search(s, (size_t)(end - begin), sub.len);
   if (sub.len > (size_t)(end - begin))
      return NULL;
   for (const char *p = end - sub.len;; p--) {
      if (memcmp(p, sub.data, sub.len) == 0)
         return p;
      if (p == begin)
         return NULL;
   }
}

/* Characters `start` to `end` of a text, arguments 2 and 3. */
typedef struct Part {
   const char *begin, *end;
   int64_t at;   /* characters before it */
   bool is_none; /* it begins behind its end, where not even an empty text is found */
} Part;

static bool
part_of(TlSema *s, const TlCall *c, Part *part)
{
   TlText t = c->args[0].s;
   int64_t len = (int64_t)tl_text_len(s, t), bound[2] = {0, len};
   for (unsigned i = 0; i < 2; i++) {
      if (c->args[2 + i].kind == TL_SV_NONE)
         continue;
      if (!tl_known_int(&c->args[2 + i], &bound[i])) {
         tl_host_bad(s, c, "the bounds must be known integers");
         return false;
      }
      if (bound[i] < 0)
         bound[i] = bound[i] < -len ? 0 : bound[i] + len;
   }
   int64_t from = bound[0], to = bound[1] > len ? len : bound[1];
   *part = (Part){.at = from, .is_none = from > to};
   if (part->is_none)
      return true;
   part->begin = t.data + tl_text_offset(s, t, (size_t)from);
   part->end = t.data + tl_text_offset(s, t, (size_t)to);
   return true;
}

typedef enum Side { FIRST, LAST } Side;

static TlSv
find(TlSema *s, const TlCall *c, Side side)
{
   Part part;
   if (!text_args(s, c, 2) || !part_of(s, c, &part))
      return tl_sv_poison();
   if (part.is_none)
      return tl_sv_int(-1);
   TlText sub = c->args[1].s;
   const char *hit = side == FIRST ? tl_find_text(s, part.begin, part.end, sub)
                                   : find_last(s, part.begin, part.end, sub);
   if (!hit)
      return tl_sv_int(-1);
   TlText before = {part.begin, (size_t)(hit - part.begin)};
   return tl_sv_int(part.at + (int64_t)tl_text_len(s, before));
}

static TlSv
must_find(TlSema *s, const TlCall *c, Side side)
{
   TlSv at = find(s, c, side);
   return at.kind == TL_SV_INT && at.i < 0
             ? tl_host_raises(s, c, "ValueError", "the string has no such part")
             : at;
}

HOST_FN(str_find)
{
   return find(s, c, FIRST);
}

HOST_FN(str_rfind)
{
   return find(s, c, LAST);
}

HOST_FN(str_index)
{
   return must_find(s, c, FIRST);
}

HOST_FN(str_rindex)
{
   return must_find(s, c, LAST);
}

HOST_FN(str_count)
{
   Part part;
   if (!text_args(s, c, 2) || !part_of(s, c, &part))
      return tl_sv_poison();
   if (part.is_none)
      return tl_sv_int(0);
   TlText sub = c->args[1].s, whole = {part.begin, (size_t)(part.end - part.begin)};
   int64_t n = 0;
   if (!sub.len)
      return tl_sv_int((int64_t)tl_text_len(s, whole) + 1);
   for (const char *p = part.begin; (p = tl_find_text(s, p, part.end, sub)); p += sub.len)
      n++;
   return tl_sv_int(n);
}

/* startswith, endswith: one string or a tuple of them */
static TlSv
has_affix(TlSema *s, const TlCall *c, Side side)
{
   Part part;
   if (!text_args(s, c, 1) || !part_of(s, c, &part))
      return tl_sv_poison();
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
      if (part.is_none || w.len > (size_t)(part.end - part.begin))
         continue;
      if (memcmp(side == FIRST ? part.begin : part.end - w.len, w.data, w.len) == 0)
         return tl_sv_bool(true);
   }
   return tl_sv_bool(false);
}

HOST_FN(str_startswith)
{
   return has_affix(s, c, FIRST);
}

HOST_FN(str_endswith)
{
   return has_affix(s, c, LAST);
}

static TlSv
without_affix(TlSema *s, const TlCall *c, Side side)
{
   if (!text_args(s, c, 2))
      return tl_sv_poison();
   TlText t = c->args[0].s, w = c->args[1].s;
   const char *part = side == FIRST || t.len < w.len ? t.data : t.data + t.len - w.len;
   if (w.len > t.len || memcmp(part, w.data, w.len) != 0)
      return c->args[0];
   return tl_make_str(s, side == FIRST ? t.data + w.len : t.data, t.len - w.len);
}

HOST_FN(str_removeprefix)
{
   return without_affix(s, c, FIRST);
}

HOST_FN(str_removesuffix)
{
   return without_affix(s, c, LAST);
}

/* ---- padding ---- */
/* The first `head` bytes, `left` fills, the other bytes, fills up to the width. */
static TlSv
padded(TlSema *s, TlText t, size_t pad, size_t head, size_t left, TlText fill)
{
   TlSb sb;
   tl_sb_init(&sb, s->arena);
   tl_sb_mem(&sb, t.data, head);
   for (size_t i = 0; i < pad; i++) {
      if (i == left)
         tl_sb_mem(&sb, t.data + head, t.len - head);
      tl_sb_mem(&sb, fill.data, fill.len);
   }
   if (left >= pad)
      tl_sb_mem(&sb, t.data + head, t.len - head);
   return tl_make_str(s, tl_sb_cstr(&sb), sb.len);
}

/* How many characters are missing to the width, argument 1. */
static bool
missing_to_width(TlSema *s, const TlCall *c, size_t *width, size_t *pad)
{
   enum { MAX_WIDTH = 65536 };
   int64_t wanted;
   if (!tl_known_int(&c->args[1], &wanted) || wanted > MAX_WIDTH) {
      tl_host_bad(s, c, "the width must be a known integer up to 65536");
      return false;
   }
   int64_t len = (int64_t)tl_text_len(s, c->args[0].s);
   *width = wanted < 0 ? 0 : (size_t)wanted;
   *pad = wanted > len ? (size_t)(wanted - len) : 0;
   return true;
}

typedef enum Place { AT_BEGIN, AT_MIDDLE, AT_END } Place;

static TlSv
justify(TlSema *s, const TlCall *c, Place place)
{
   size_t width, pad;
   if (!text_args(s, c, 1) || !missing_to_width(s, c, &width, &pad))
      return tl_sv_poison();
   const TlSv *fill = &c->args[2];
   if (fill->kind != TL_SV_STR || tl_text_len(s, fill->s) != 1)
      return tl_host_raises(s, c, "TypeError", "it is filled with one character");
   size_t left = place == AT_BEGIN ? 0
                 : place == AT_END ? pad
                                   : pad / 2 + (pad & width & 1); /* as CPython rounds */
   return padded(s, c->args[0].s, pad, 0, left, fill->s);
}

HOST_FN(str_ljust)
{
   return justify(s, c, AT_BEGIN);
}

HOST_FN(str_center)
{
   return justify(s, c, AT_MIDDLE);
}

HOST_FN(str_rjust)
{
   return justify(s, c, AT_END);
}

HOST_FN(str_zfill)
{
   size_t width, pad;
   if (!text_args(s, c, 1) || !missing_to_width(s, c, &width, &pad))
      return tl_sv_poison();
   TlText t = c->args[0].s;
   return padded(s, t, pad, t.len && (*t.data == '-' || *t.data == '+'), pad, (TlText){"0", 1});
}

/* ---- pieces ---- */
typedef TL_VEC(TlSv) Pieces;

static void
push_piece(TlSema *s, Pieces *out, const char *p, const char *end)
{
   assert(p <= end);
   tl_vec_push(s->arena, out, tl_make_str(s, p, (size_t)(end - p)));
}

static void
reverse(Pieces *v)
{
   for (size_t i = 0; i < v->len / 2; i++) {
      TlSv t = v->data[i];
      v->data[i] = v->data[v->len - 1 - i];
      v->data[v->len - 1 - i] = t;
   }
}

static void
split_at(TlSema *s, TlText t, TlText sep, uint64_t left, Side side, Pieces *out)
{
   const char *begin = t.data, *end = t.data + t.len;
   for (; left > 0; left--) {
      const char *hit =
         side == FIRST ? tl_find_text(s, begin, end, sep) : find_last(s, begin, end, sep);
      if (!hit)
         break;
      if (side == FIRST) {
         push_piece(s, out, begin, hit);
         begin = hit + sep.len;
      } else {
         push_piece(s, out, hit + sep.len, end);
         end = hit;
      }
   }
   push_piece(s, out, begin, end);
}

static void
split_at_blanks(TlSema *s, TlText t, uint64_t left, Side side, Pieces *out)
{
   unsigned sides = side == FIRST ? AT_LEFT : AT_RIGHT;
   for (t = stripped(t, NULL, sides); t.len; t = stripped(t, NULL, sides)) {
      const char *begin = t.data, *end = begin + t.len, *p = side == FIRST ? begin : end;
      if (left-- == 0) {
         push_piece(s, out, begin, end);
         return;
      }
      uint32_t c;
      if (side == FIRST) {
         while (p < end && !blank_at(p, end))
            p += tl_utf8_next(p, (size_t)(end - p), &c);
         push_piece(s, out, begin, p);
         t = (TlText){p, (size_t)(end - p)};
      } else {
         while (p > begin && !blank_at(previous(begin, p), end))
            p = previous(begin, p);
         push_piece(s, out, p, end);
         t.len = (size_t)(p - begin);
      }
   }
}

static TlSv
split(TlSema *s, const TlCall *c, Side side)
{
   bool has_sep = c->args[1].kind != TL_SV_NONE;
   int64_t most;
   Pieces out = {0};
   if (!text_args(s, c, has_sep ? 2 : 1))
      return tl_sv_poison();
   if (!tl_known_int(&c->args[2], &most))
      return tl_host_bad(s, c, "how often it is split must be a known integer");
   uint64_t left = most < 0 ? UINT64_MAX : (uint64_t)most;
   if (has_sep && !c->args[1].s.len)
      return tl_host_raises(s, c, "ValueError", "the separator is empty");
   if (has_sep)
      split_at(s, c->args[0].s, c->args[1].s, left, side, &out);
   else
      split_at_blanks(s, c->args[0].s, left, side, &out);
   if (side == LAST)
      reverse(&out);
   return tl_make_tuple(s, out.data, out.len, true);
}

HOST_FN(str_split)
{
   return split(s, c, FIRST);
}

HOST_FN(str_rsplit)
{
   return split(s, c, LAST);
}

HOST_FN(str_splitlines)
{
   bool keep;
   Pieces out = {0};
   if (!text_args(s, c, 1) || !tl_host_truth(s, &c->args[1], c->range, &keep))
      return tl_sv_poison();
   const char *p = c->args[0].s.data, *end = p + c->args[0].s.len, *line = p;
   while (p < end) {
      uint32_t ch;
      const char *at = p;
      p += tl_utf8_next(p, (size_t)(end - p), &ch);
      bool is_end = (ch >= 0x0a && ch <= 0x0d) || (ch >= 0x1c && ch <= 0x1e) || ch == 0x85 ||
                    ch == 0x2028 || ch == 0x2029;
      if (!is_end)
         continue;
      if (ch == '\r' && p < end && *p == '\n')
         p++;
      push_piece(s, &out, line, keep ? p : at);
      line = p;
   }
   if (line < end)
      push_piece(s, &out, line, end);
   return tl_make_tuple(s, out.data, out.len, true);
}

static TlSv
partition(TlSema *s, const TlCall *c, Side side)
{
   if (!text_args(s, c, 2))
      return tl_sv_poison();
   TlText t = c->args[0].s, sep = c->args[1].s;
   const char *begin = t.data, *end = t.data + t.len;
   if (!sep.len)
      return tl_host_raises(s, c, "ValueError", "the separator is empty");
   const char *hit =
      side == FIRST ? tl_find_text(s, begin, end, sep) : find_last(s, begin, end, sep);
   Pieces out = {0};
   if (hit) {
      push_piece(s, &out, begin, hit);
      push_piece(s, &out, hit, hit + sep.len);
      push_piece(s, &out, hit + sep.len, end);
   } else {
      const char *from = side == FIRST ? end : begin;
      push_piece(s, &out, begin, side == FIRST ? end : begin);
      push_piece(s, &out, from, from);
      push_piece(s, &out, from, end);
   }
   return tl_make_tuple(s, out.data, out.len, false);
}

HOST_FN(str_partition)
{
   return partition(s, c, FIRST);
}

HOST_FN(str_rpartition)
{
   return partition(s, c, LAST);
}

HOST_FN(str_join)
{
   TlSv *items;
   size_t len;
   TlSb sb;
   tl_sb_init(&sb, s->arena);
   if (!items_of(s, c, &c->args[1], &items, &len))
      return tl_sv_poison();
   for (size_t i = 0; i < len && sb.len <= MAX_BYTES; i++) {
      if (items[i].kind != TL_SV_STR)
         return tl_is_plain(&items[i]) ? tl_host_raises(s, c, "TypeError", "strings are needed")
                                       : tl_host_bad(s, c, "strings are needed");
      if (i)
         tl_sb_mem(&sb, c->args[0].s.data, c->args[0].s.len);
      tl_sb_mem(&sb, items[i].s.data, items[i].s.len);
   }
   return made(s, c, &sb);
}

HOST_FN(str_replace)
{
   int64_t most;
   TlSb sb;
   if (!text_args(s, c, 3))
      return tl_sv_poison();
   if (!tl_known_int(&c->args[3], &most))
      return tl_host_bad(s, c, "how often it is replaced must be a known integer");
   TlText t = c->args[0].s, old = c->args[1].s, with = c->args[2].s;
   uint64_t left = most < 0 ? UINT64_MAX : (uint64_t)most;
   tl_sb_init(&sb, s->arena);
   const char *p = t.data, *end = t.data + t.len;
   for (; left > 0 && sb.len <= MAX_BYTES; left--) {
      const char *hit = tl_find_text(s, p, end, old);
      if (!hit)
         break;
      tl_sb_mem(&sb, p, (size_t)(hit - p));
      tl_sb_mem(&sb, with.data, with.len);
      p = hit + old.len;
      uint32_t ch;
      unsigned bytes = !old.len && p < end ? tl_utf8_next(p, (size_t)(end - p), &ch) : 0;
      tl_sb_mem(&sb, p, bytes);
      if (!old.len && p == end)
         break;
      p += bytes;
   }
   tl_sb_mem(&sb, p, (size_t)(end - p));
   return made(s, c, &sb);
}

/* ---- "{} {1} {name!r:>4}".format(..) ---- */
typedef struct Fields {
   const TlCall *call;
   unsigned next; /* of those without a number */
   bool is_numbered;
} Fields;

/* The value of a field by its number or name. */
static bool
field_value(TlSema *s, Fields *f, TlText name, TlSv *v)
{
   const TlCall *c = f->call;
   bool found = false;
   bool is_number = name.len > 0 && name.len < 4;
   for (size_t i = 0; i < name.len; i++)
      is_number &= is_digit(name.data[i]);
   unsigned at = name.len == 0 ? f->next++ : 0;
   for (size_t i = 0; is_number && i < name.len; i++)
      at = at * 10 + (unsigned)(name.data[i] - '0');
   f->is_numbered |= is_number;
   if (f->is_numbered && f->next) {
      tl_host_bad(s, c, "fields are numbered and not numbered");
      return false;
   }
   if (name.len == 0 || is_number) {
      found = at < c->num_rest;
      if (found)
         *v = c->rest[at];
   } else if (c->args[2].kind == TL_SV_DICT) {
      TlSv key = tl_make_str(s, name.data, name.len);
      *v = tl_dict_get(s, &c->args[2], &key, &found);
   }
   if (!found)
      tl_host_bad(s, c, "a field of the format has no value");
   return found;
}

/* One field, without its braces. */
static bool
put_field(TlSema *s, Fields *f, const char *p, const char *end, TlSb *sb)
{
   const char *colon = memchr(p, ':', (size_t)(end - p)), *stop = colon ? colon : end;
   const char *mark = memchr(p, '!', (size_t)(stop - p));
   TlSv v;
   if (memchr(p, '{', (size_t)(end - p))) {
      tl_host_bad(s, f->call, "a field in a field");
      return false;
   }
   if (!field_value(s, f, (TlText){p, (size_t)((mark ? mark : stop) - p)}, &v))
      return false;
   if (tl_sv_is_runtime(&v)) {
      tl_report(s->diags, E0301, f->call->range, "{..}", "format", tl_sv_describe(s, &v));
      tl_help(s->diags, "print values of the run beside the text: tl.device_print(\"x\", x)");
      return false;
   }
   if (mark) {
      TlSb text;
      tl_sb_init(&text, s->arena);
      if (stop - mark != 2 || !strchr("rsa", mark[1])) {
         tl_host_bad(s, f->call, "a conversion is !r, !s or !a");
         return false;
      }
      if (!tl_sv_repr(s, &v, mark[1] == 's', f->call->range, &text))
         return false;
      v = tl_make_str(s, tl_sb_cstr(&text), text.len);
      if (mark[1] == 'a')
         v = tl_text_ascii(s, v.s);
   }
   TlText spec = {colon ? colon + 1 : "", colon ? (size_t)(end - colon - 1) : 0};
   return tl_format_value(s, &v, spec, f->call->range, sb);
}

HOST_FN(str_format)
{
   const char *p = c->args[0].s.data, *end = p + c->args[0].s.len;
   Fields fields = {.call = c};
   TlSb sb;
   tl_sb_init(&sb, s->arena);
   while (p < end && sb.len <= MAX_BYTES) {
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
      if (!put_field(s, &fields, p + 1, close, &sb))
         return tl_sv_poison();
      p = close + 1;
   }
   return made(s, c, &sb);
}

/* ---- functions of texts ---- */
static TlSv
repr_of(TlSema *s, const TlCall *c, bool as_str)
{
   TlSb sb;
   tl_sb_init(&sb, s->arena);
   if (!tl_sv_repr(s, &c->args[0], as_str, c->range, &sb))
      return tl_sv_poison();
   return tl_make_str(s, tl_sb_cstr(&sb), sb.len);
}

HOST_FN(str)
{
   return repr_of(s, c, true);
}

HOST_FN(repr)
{
   return repr_of(s, c, false);
}

HOST_FN(ascii)
{
   TlSv v = repr_of(s, c, false);
   return v.kind == TL_SV_STR ? tl_text_ascii(s, v.s) : v;
}

HOST_FN(format)
{
   TlSb sb;
   tl_sb_init(&sb, s->arena);
   if (c->args[1].kind != TL_SV_STR)
      return tl_host_bad(s, c, "the specification must be a string");
   if (!tl_format_value(s, &c->args[0], c->args[1].s, c->range, &sb))
      return tl_sv_poison();
   return tl_make_str(s, tl_sb_cstr(&sb), sb.len);
}

HOST_FN(chr)
{
   int64_t i;
   char bytes[4];
   if (!tl_known_int(&c->args[0], &i))
      return tl_host_bad(s, c, "a known integer is needed");
   if (i < 0 || i > 0x10ffff)
      return tl_host_raises(s, c, "ValueError", "Unicode has no such character");
   if (i >= 0xd800 && i < 0xe000)
      return tl_host_bad(s, c, "a half of a pair is no character");
   return tl_make_str(s, bytes, tl_utf8_write((uint32_t)i, bytes));
}

HOST_FN(ord)
{
   TlText t = c->args[0].s;
   uint32_t ch;
   if (c->args[0].kind != TL_SV_STR)
      return tl_host_bad(s, c, "a string of one character is needed");
   if (tl_text_len(s, t) != 1)
      return tl_host_raises(s, c, "TypeError", "a string of one character is needed");
   return tl_utf8_read(t.data, t.len, &ch) ? tl_sv_int(ch)
                                           : tl_host_bad(s, c, "the byte is no character");
}

static TlSv
in_base(TlSema *s, const TlCall *c, const char *spec)
{
   TlSb sb;
   tl_sb_init(&sb, s->arena);
   if (c->args[0].kind != TL_SV_INT && c->args[0].kind != TL_SV_BOOL)
      return tl_host_bad(s, c, "a known integer is needed");
   if (!tl_format_value(s, &c->args[0], (TlText){spec, 2}, c->range, &sb))
      return tl_sv_poison();
   return tl_make_str(s, tl_sb_cstr(&sb), sb.len);
}

HOST_FN(hex)
{
   return in_base(s, c, "#x");
}

HOST_FN(oct)
{
   return in_base(s, c, "#o");
}

HOST_FN(bin)
{
   return in_base(s, c, "#b");
}
