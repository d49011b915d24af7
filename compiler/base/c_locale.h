/* Numbers are read and written in the C locale: the program around the compiler may have set one
 * whose decimal point is a comma. */
#ifndef TL_BASE_C_LOCALE_H
#define TL_BASE_C_LOCALE_H

#include <locale.h>

typedef struct TlCLocale {
   locale_t c, before; /* of this thread */
} TlCLocale;

static inline TlCLocale
tl_c_locale_begin(void)
{
   TlCLocale l = {.c = newlocale(LC_ALL_MASK, "C", (locale_t)0)};
   l.before = l.c ? uselocale(l.c) : (locale_t)0;
   return l;
}

static inline void
tl_c_locale_end(TlCLocale *l)
{
   if (!l->c)
      return;
   uselocale(l->before);
   freelocale(l->c);
   l->c = (locale_t)0;
}

#endif
