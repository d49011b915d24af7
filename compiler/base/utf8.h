/* Characters in UTF-8 (RFC 3629). */
#ifndef TL_BASE_UTF8_H
#define TL_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* The character at s, of which n > 0 bytes are left: how many of them it takes.  0: none is there,
 * and *c is the byte. */
unsigned tl_utf8_read(const char *s, size_t n, uint32_t *c);

#endif
