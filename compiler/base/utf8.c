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
