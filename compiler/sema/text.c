/* Strings as Python has them: sequences of characters, here in UTF-8.  What hangs on tables of
 * Unicode that Python's versions do not share (cases, classes of characters) is known of ASCII and
 * of blocks that have not changed since Unicode 13, and not known of the rest. */
#include "sema/text.h"
#include "base/utf8.h"
#include "sema/impl.h"

#include <assert.h>
#include <string.h>

enum { BYTES_OF_STEP = 4096 }; /* of a text that is looked through */

size_t
tl_text_len(TlSema *s, TlText t)
{
   s->steps += t.len / BYTES_OF_STEP;
   return tl_utf8_count(t.data, t.len);
}

size_t
tl_text_offset(TlSema *s, TlText t, size_t at)
{
   s->steps += t.len / BYTES_OF_STEP;
   return tl_utf8_offset(t.data, t.len, at);
}

TlSv
tl_text_item(TlSema *s, TlText t, size_t at)
{
   size_t from = tl_text_offset(s, t, at);
   uint32_t c;
   assert(from < t.len);
   return tl_make_str(s, t.data + from, tl_utf8_next(t.data + from, t.len - from, &c));
}

void
tl_text_items(TlSema *s, TlText t, TlSv **items, size_t *len)
{
   size_t n = 0;
   uint32_t c;
   *len = tl_text_len(s, t);
   *items = tl_new_array(s->arena, TlSv, *len);
   for (size_t at = 0, bytes; at < t.len; at += bytes) {
      bytes = tl_utf8_next(t.data + at, t.len - at, &c);
      (*items)[n++] = tl_make_str(s, t.data + at, bytes);
   }
   assert(n == *len);
}

/* Where each character begins, and the end. */
static size_t *
offsets_of(TlSema *s, TlText t, size_t len)
{
   size_t *offsets = tl_new_array(s->arena, size_t, len + 1), n = 0;
   uint32_t c;
   for (size_t at = 0; at < t.len; at += tl_utf8_next(t.data + at, t.len - at, &c))
      offsets[n++] = at;
   assert(n == len);
   offsets[n] = t.len;
   return offsets;
}

TlSv
tl_text_slice(TlSema *s, TlText t, const TlSlice *slice)
{
   if (slice->len == 0)
      return tl_make_str(s, "", 0);
   if (slice->step == 1) {
      size_t from = tl_text_offset(s, t, (size_t)slice->from);
      TlText rest = {t.data + from, t.len - from};
      return tl_make_str(s, rest.data, tl_text_offset(s, rest, slice->len));
   }
   size_t *offsets = offsets_of(s, t, tl_text_len(s, t));
   TlSb sb;
   tl_sb_init(&sb, s->arena);
   int64_t at = slice->from;
   for (size_t i = 0; i < slice->len; i++) {
      tl_sb_mem(&sb, t.data + offsets[at], offsets[at + 1] - offsets[at]);
      if (i + 1 < slice->len)
         at += slice->step;
   }
   return tl_make_str(s, tl_sb_cstr(&sb), sb.len);
}

bool
tl_is_space(uint32_t c)
{
   return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 ||
          c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 ||
          c == 0x202f || c == 0x205f || c == 0x3000;
}

/* ---- which characters repr() shows ---- */
TlAnswer
tl_is_printable(uint32_t c)
{
   static const struct {
      uint32_t first, last;
      TlAnswer answer;
   } blocks[] = {
      {0x0, 0x1f, TL_NO},         {0x20, 0x7e, TL_YES},        {0x7f, 0xa0, TL_NO},
      {0xa1, 0xac, TL_YES},       {0xad, 0xad, TL_NO},         {0xae, 0x377, TL_YES},
      {0x3a3, 0x52f, TL_YES},     {0x5d0, 0x5ea, TL_YES},      {0x620, 0x6dc, TL_YES},
      {0x904, 0x939, TL_YES},     {0xe01, 0xe3a, TL_YES},      {0x10d0, 0x1248, TL_YES},
      {0x1680, 0x1680, TL_NO},    {0x1e00, 0x1f15, TL_YES},    {0x2000, 0x200f, TL_NO},
      {0x2010, 0x2027, TL_YES},   {0x2028, 0x202f, TL_NO},     {0x2030, 0x205e, TL_YES},
      {0x205f, 0x2064, TL_NO},    {0x2066, 0x206f, TL_NO},     {0x2074, 0x208e, TL_YES},
      {0x20a0, 0x20bf, TL_YES},   {0x2100, 0x218b, TL_YES},    {0x2190, 0x2426, TL_YES},
      {0x2460, 0x2b73, TL_YES},   {0x3000, 0x3000, TL_NO},     {0x3001, 0x303f, TL_YES},
      {0x3041, 0x3096, TL_YES},   {0x3099, 0x30ff, TL_YES},    {0x3131, 0x318e, TL_YES},
      {0x3400, 0x4db5, TL_YES},   {0x4e00, 0x9fef, TL_YES},    {0xa000, 0xa48c, TL_YES},
      {0xac00, 0xd7a3, TL_YES},   {0xe000, 0xf8ff, TL_NO},     {0xfeff, 0xfeff, TL_NO},
      {0xff01, 0xffbe, TL_YES},   {0xfff9, 0xfffb, TL_NO},     {0x1d400, 0x1d454, TL_YES},
      {0x1f300, 0x1f64f, TL_YES}, {0x1f680, 0x1f6c5, TL_YES},  {0x20000, 0x2a6d6, TL_YES},
      {0xf0000, 0xffffd, TL_NO},  {0x100000, 0x10fffd, TL_NO},
   };
   for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++)
      if (c >= blocks[i].first && c <= blocks[i].last)
         return blocks[i].answer;
   return TL_UNKNOWN;
}

void
tl_put_escape(TlSb *out, uint32_t c)
{
   if (c < 0x100)
      tl_sb_printf(out, "\\x%02x", (unsigned)c);
   else if (c < 0x10000)
      tl_sb_printf(out, "\\u%04x", (unsigned)c);
   else
      tl_sb_printf(out, "\\U%08x", (unsigned)c);
}

TlSv
tl_text_ascii(TlSema *s, TlText t)
{
   TlSb sb;
   uint32_t c;
   tl_sb_init(&sb, s->arena);
   for (size_t at = 0, bytes; at < t.len; at += bytes) {
      bytes = tl_utf8_next(t.data + at, t.len - at, &c);
      if (c < 0x80)
         tl_sb_char(&sb, (char)c);
      else
         tl_put_escape(&sb, c);
   }
   return tl_make_str(s, tl_sb_cstr(&sb), sb.len);
}
