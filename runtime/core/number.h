/* Numbers as text in the C locale: the program may have set one whose decimal point is a comma. */
#ifndef TL_RT_NUMBER_H
#define TL_RT_NUMBER_H

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

/* As strtod. */
static inline double
tl_rt_read_double(const char *text, char **end)
{
   locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0), before = uselocale(c ? c : (locale_t)0);
   double v = strtod(text, end);
   uselocale(before);
   if (c)
      freelocale(c);
   return v;
}

/* A text that reads back as the value. */
static inline void
tl_rt_write_double(char *text, size_t bytes, double v)
{
   locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0), before = uselocale(c ? c : (locale_t)0);
   snprintf(text, bytes, "%.17g", v);
   uselocale(before);
   if (c)
      freelocale(c);
}

#endif
