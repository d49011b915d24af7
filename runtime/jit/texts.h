/* Copies of strings that live as long as the object that keeps them. */
#ifndef TL_RT_TEXTS_H
#define TL_RT_TEXTS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct TlTexts {
   char **list;
   size_t num;
} TlTexts;

/* A copy; len may be TILEC_STRLEN.  NULL stays NULL; *ok is set to false without memory. */
const char *tl_texts_keep(TlTexts *t, const char *text, size_t len, bool *ok);
void tl_texts_free(TlTexts *t);

#endif
