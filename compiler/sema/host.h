/* Shared by the host_*.c files: Python that kernels' files use at compile time, a row of host.def
 * each. */
#ifndef TL_SEMA_HOST_H
#define TL_SEMA_HOST_H

#include "sema/impl.h"

#define HOST_FN(name) TlSv tl_host_##name(TlSema *s, const TlCall *c)

#define TL_HOST_PYTHON(name, signature, function)                  TlBuiltinFn tl_host_##function;
#define TL_HOST_MEMBER(name, signature, function)                  TlBuiltinFn tl_host_##function;
#define TL_HOST_METHOD(receiver, name, signature, function, flags) TlBuiltinFn tl_host_##function;
#include "sema/host.def"

enum { TL_ITEMS_OF_STEP = 8, TL_MOVES_OF_STEP = 64 }; /* of a list that is gone through, moved */

/* The call is not followed, for this reason: an error, and poison. */
TlSv tl_host_bad(TlSema *s, const TlCall *c, const char *why);
/* The call raises this exception of Python. */
TlSv tl_host_raises(TlSema *s, const TlCall *c, const char *exception, const char *why);
bool tl_known_int(const TlSv *v, int64_t *out); /* INT or BOOL of 64 bits */

/* A list of the items in order, stable. */
TlSv tl_host_sort(TlSema *s, const TlCall *c, const TlSv *items, size_t len, const TlSv *key,
                  const TlSv *reverse);
bool tl_host_dict_add(TlSema *s, const TlCall *c, const TlSv *dict, const TlSv *from);
/* A whole number as an integer, where it fits. */
TlSv tl_host_whole(TlSema *s, const TlCall *c, double v);

static inline bool
items_of(TlSema *s, const TlCall *c, const TlSv *v, TlSv **items, size_t *len)
{
   return tl_iterate(s, v, c->range, items, len);
}

#endif
