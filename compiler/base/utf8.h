/* Characters in UTF-8 (RFC 3629). */
#ifndef TL_BASE_UTF8_H
#define TL_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The character at s, of which n > 0 bytes are left: how many of them it takes.  0: none is there,
 * and *c is the byte. */
unsigned tl_utf8_read(const char *s, size_t n, uint32_t *c);

/* Writes a character of U+0000 to U+10FFFF to out: how many bytes it takes. */
unsigned tl_utf8_write(uint32_t c, char out[4]);

/* The same as tl_utf8_read, but a byte that belongs to no character counts as one, as Python has
 * it of arguments and variables of the environment. */
unsigned tl_utf8_next(const char *s, size_t n, uint32_t *c);

bool tl_utf8_is_valid(const char *s, size_t n);
size_t tl_utf8_count(const char *s, size_t n); /* characters */
bool tl_utf8_is_ascii(const char *s, size_t n);
/* Bytes before the character of this number; n where there are fewer. */
size_t tl_utf8_offset(const char *s, size_t n, size_t count);

#endif
