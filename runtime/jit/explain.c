/* tilec_kernel_explain: the facts of the arguments against the specialisations that are there. */
#include "jit/jit.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Out {
   char *text;
   size_t len, room;
} Out;

static void say(Out *o, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void
say(Out *o, const char *format, ...)
{
   va_list ap;
   va_start(ap, format);
   int n = vsnprintf(o->text + o->len, o->room - o->len, format, ap);
   va_end(ap);
   o->len = o->len + (size_t)n < o->room ? o->len + (size_t)n : o->room - 1;
}

static const char *
kind_text(TlArgKey k)
{
   return k.kind == TILEC_ARG_NONE      ? "None"
          : k.kind == TILEC_ARG_POINTER ? "*"
          : k.kind == TILEC_ARG_TENSOR  ? "a tensor descriptor of "
                                        : "";
}

/* How many facts differ: the nearest variant is the one to explain against.  Its form is no fact: a
 * launch knows that by its grid. */
static unsigned
distance(const TlArgKey *a, const TlArgKey *b, size_t n)
{
   unsigned d = 0;
   for (size_t i = 0; i < n; i++) {
      TlArgKey x = a[i], y = b[i];
      x.facts %= TL_FACT_FORM;
      y.facts %= TL_FACT_FORM;
      d += memcmp(&x, &y, sizeof x) != 0;
   }
   return d;
}

/* "divisible by 8" */
static const char *
multiple_text(TlArgKey k, char text[24])
{
   unsigned n = k.facts & TL_FACT_MULTIPLE;
   snprintf(text, 24, n ? "divisible by %u" : "not divisible", n);
   return text;
}

static void
say_difference(Out *o, const TlJitParam *p, TlArgKey was, TlArgKey now)
{
   const char *name = p->decl->name;
   if (was.kind != now.kind || was.dtype != now.dtype)
      say(o, "\n   '%s': type was %s%s, now %s%s", name, kind_text(was),
          was.kind == TILEC_ARG_NONE ? "" : tl_dtype_name(was.dtype), kind_text(now),
          now.kind == TILEC_ARG_NONE ? "" : tl_dtype_name(now.dtype));
   else if (was.rank != now.rank || was.block != now.block)
      say(o, "\n   '%s': the descriptor's block was another one", name);
   char before[24], after[24];
   if ((was.facts ^ now.facts) & TL_FACT_ONE) /* a value of 1 is described by that alone */
      say(o, "\n   '%s': == 1 was %s, now %s", name, was.facts & TL_FACT_ONE ? "true" : "false",
          now.facts & TL_FACT_ONE ? "true" : "false");
   else if ((was.facts ^ now.facts) & TL_FACT_MULTIPLE)
      say(o, "\n   '%s': %swas %s, now %s", name,
          now.kind == TILEC_ARG_TENSOR ? "a row's size " : "", multiple_text(was, before),
          multiple_text(now, after));
}

TilecStatus
tl_jit_explain(void *source, const TilecArg *args, size_t num_args, char *text, size_t bytes)
{
   TlJitSource *s = source;
   TlArgKey key[TL_JIT_MAX_ARGS];
   uint64_t hash;
   TilecStatus status = tl_jit_keys(s, args, num_args, TL_FORM_FIRST, key, &hash);
   char *sign = status == TILEC_OK ? tl_jit_signature(s, key) : NULL;
   if (!sign)
      return status == TILEC_OK ? tl_core_no_memory(s->jit->rt) : status;
   Out o = {text, 0, bytes};
   TlJitEntry *nearest = NULL;
   uint32_t index = 0, best = UINT32_MAX;
   pthread_mutex_lock(&s->jit->lock);
   for (uint32_t i = 0; i < s->num_entries; i++) {
      unsigned d = distance(s->entries[i]->key, key, num_args);
      if (d < best) {
         best = d;
         index = i;
         nearest = s->entries[i];
      }
   }
   pthread_mutex_unlock(&s->jit->lock);
   if (nearest && !best) {
      say(&o, "kernel '%s': variant %u (%s) would be used", s->decl->name, index, sign);
   } else if (!nearest) {
      say(&o, "kernel '%s': a variant (%s) would be made: it is the first", s->decl->name, sign);
   } else {
      say(&o, "kernel '%s': a new variant (%s) would be made; against variant %u:", s->decl->name,
          sign, index);
      for (size_t i = 0; i < num_args; i++)
         say_difference(&o, &s->params[i], nearest->key[i], key[i]);
   }
   free(sign);
   return TILEC_OK;
}
