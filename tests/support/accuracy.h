/* Errors of functions, and the bounds of docs/accuracy.md that they are held to. */
#ifndef TL_TESTS_ACCURACY_H
#define TL_TESTS_ACCURACY_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the low 32 bits. */
static inline float
as_float(uint64_t bits)
{
   uint32_t low = (uint32_t)bits;
   float f;
   memcpy(&f, &low, 4);
   return f;
}

/* In ulp of fp32; `flushes`: a denormal result, and the result of a denormal argument, may be
 * flushed.  Where one of the two is infinite the other must be beyond `edge`. */
static inline double
ulp32(float got, double want, bool flushes, double edge)
{
   if (isnan(got) || isnan(want))
      return isnan(got) && isnan(want) ? 0 : (double)INFINITY;
   if (flushes && fabs(want) < 0x1.0001p-126)
      return fabs((double)got) <= 0x1.0002p-126 ? 0 : (double)INFINITY;
   if ((double)got == want || (isinf(got) && got == (float)want))
      return 0;
   int e = want == 0 || isinf(want) ? 0 : ilogb(want);
   if (isinf(got) || isinf(want))
      return fabs(isinf(got) ? want : (double)got) > edge ? 1 : (double)INFINITY;
   return fabs((double)got - want) / ldexp(1, (e < -126 ? -126 : e) - 23);
}

enum { ACCURACY_BYTES = 1 << 16 };

/* The page as text; false when it cannot be read or is longer. */
static inline bool
read_bounds(const char *path, char text[ACCURACY_BYTES])
{
   FILE *file = fopen(path, "rb");
   size_t len = file ? fread(text, 1, ACCURACY_BYTES, file) : 0;
   if (file)
      fclose(file);
   bool ok = len > 0 && len < ACCURACY_BYTES;
   text[ok ? len : 0] = 0;
   return ok;
}

/* Bound of the row "| `name` | kind | bound |"; -1, which nothing keeps, where there is none. */
static inline double
published(const char *text, const char *name, const char *kind)
{
   char row[96];
   snprintf(row, sizeof row, "| `%s` | %s | ", name, kind);
   const char *at = strstr(text, row);
   return at ? strtod(at + strlen(row), NULL) : -1;
}

#endif
