/* No overlong forms, no halves of pairs, nothing beyond U+10FFFF. */
#include "base/utf8.h"

#include <assert.h>
#include <stdbool.h>

unsigned
tl_utf8_read(const char *s, size_t n, uint32_t *c)
{
   static const struct {
      unsigned char mask, lead;
      uint32_t least;
   } form[] = {{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
   const unsigned char *byte = (const unsigned char *)s;
   unsigned extra = 0;
   assert(n > 0);
   *c = byte[0];
   while (extra < 4 && (byte[0] & form[extra].mask) != form[extra].lead)
      extra++;
   if (extra == 4 || n <= extra)
      return 0;
   uint32_t value = byte[0] & (unsigned char)~form[extra].mask;
   for (unsigned i = 1; i <= extra; i++) {
      if ((byte[i] & 0xc0) != 0x80)
         return 0;
      value = value << 6 | (byte[i] & 0x3f);
   }
   bool is_half = value >= 0xd800 && value < 0xe000;
   if (value < form[extra].least || value > 0x10ffff || is_half)
      return 0;
   *c = value;
   return extra + 1;
}

unsigned
tl_utf8_write(uint32_t c, char out[4])
{
   assert(c <= 0x10ffff);
   unsigned extra = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
   static const unsigned char lead[] = {0x00, 0xc0, 0xe0, 0xf0};
   for (unsigned i = extra; i > 0; i--, c >>= 6)
      out[i] = (char)(0x80 | (c & 0x3f));
   out[0] = (char)(lead[extra] | c);
   return extra + 1;
}

unsigned
tl_utf8_next(const char *s, size_t n, uint32_t *c)
{
   unsigned len = tl_utf8_read(s, n, c);
   return len ? len : 1;
}

bool
tl_utf8_is_valid(const char *s, size_t n)
{
   unsigned len = 1;
   uint32_t c;
   for (size_t at = 0; at < n && len; at += len)
      len = (unsigned char)s[at] < 0x80 ? 1 : tl_utf8_read(s + at, n - at, &c);
   return len != 0;
}

size_t
tl_utf8_count(const char *s, size_t n)
{
   size_t count = 0;
   uint32_t c;
   for (size_t at = 0; at < n; count++)
      at += (unsigned char)s[at] < 0x80 ? 1 : tl_utf8_next(s + at, n - at, &c);
   return count;
}

bool
tl_utf8_is_ascii(const char *s, size_t n)
{
   unsigned char any = 0;
   for (size_t i = 0; i < n; i++)
      any |= (unsigned char)s[i];
   return any < 0x80;
}

size_t
tl_utf8_offset(const char *s, size_t n, size_t count)
{
   size_t at = 0;
   uint32_t c;
   for (; at < n && count > 0; count--)
      at += (unsigned char)s[at] < 0x80 ? 1 : tl_utf8_next(s + at, n - at, &c);
   return at;
}
