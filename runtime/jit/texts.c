/* See texts.h. */
#include "jit/texts.h"

#include "tilec/status.h"

#include <stdlib.h>
#include <string.h>

const char *
tl_texts_keep(TlTexts *t, const char *text, size_t len, bool *ok)
{
   if (!text)
      return NULL;
   if (len == TILEC_STRLEN)
      len = strlen(text);
   char *copy = malloc(len + 1), **list = realloc(t->list, (t->num + 1) * sizeof *list);
   if (list)
      t->list = list;
   if (!copy || !list) {
      free(copy);
      *ok = false;
      return NULL;
   }
   memcpy(copy, text, len);
   copy[len] = 0;
   return t->list[t->num++] = copy;
}

void
tl_texts_free(TlTexts *t)
{
   for (size_t i = 0; i < t->num; i++)
      free(t->list[i]);
   free(t->list);
   *t = (TlTexts){0};
}
