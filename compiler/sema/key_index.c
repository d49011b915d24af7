/* Keys of a dict by their hashes, so that a table of thousands of entries is no walk for each.
 * Only integers, bools and texts have hashes here, which are equal where the keys are; a dict with
 * another key, or with two keys of one hash, is looked through item by item. */
#include "sema/impl.h"

#include <assert.h>

struct TlKeyIndex {
   TlMap at; /* hash -> index + 1 */
   size_t len;
   bool is_mixed; /* not all keys have a hash of their own */
};

static bool
hash_of(const TlSv *key, uint64_t *hash)
{
   if (key->kind == TL_SV_STR)
      *hash = tl_hash(key->s.data, key->s.len, 1);
   else if (key->kind == TL_SV_INT || key->kind == TL_SV_BOOL) /* 1 and True are one key */
      *hash = tl_hash(&(int64_t){key->kind == TL_SV_BOOL ? key->b : key->i}, sizeof(int64_t), 2);
   else
      return false;
   return true;
}

static const void *
slot(uint64_t hash)
{
   return (const void *)(uintptr_t)hash;
}

/* Takes in the keys that came since; whether all have a hash. */
static bool
is_complete(TlSema *s, TlSvFields *d)
{
   if (!d->index) {
      d->index = tl_new(s->arena, TlKeyIndex);
      tl_map_init(&d->index->at, s->arena);
   }
   TlKeyIndex *x = d->index;
   assert(x->len <= d->len); /* who removes keys calls tl_keys_removed */
   for (; !x->is_mixed && x->len < d->len; x->len++) {
      uint64_t hash;
      x->is_mixed = !hash_of(&d->keys[x->len], &hash) || tl_map_has(&x->at, slot(hash));
      if (!x->is_mixed)
         tl_map_put(&x->at, slot(hash), (void *)(uintptr_t)(x->len + 1));
   }
   return !x->is_mixed;
}

size_t
tl_key_find(TlSema *s, TlSvFields *d, const TlSv *key)
{
   enum { FEW = 16 };
   uint64_t hash;
   if (d->len > FEW && hash_of(key, &hash) && is_complete(s, d)) {
      size_t at = (uintptr_t)tl_map_get(&d->index->at, slot(hash));
      if (!at || tl_const_equal(s, &d->keys[at - 1], key))
         return at ? at - 1 : d->len;
   }
   size_t at = 0;
   s->steps += d->len / 32;
   while (at < d->len && !tl_const_equal(s, &d->keys[at], key))
      at++;
   return at;
}

void
tl_keys_removed(TlSvFields *d)
{
   d->index = NULL;
}
