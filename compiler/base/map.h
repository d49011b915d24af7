/* Hash map from a pointer-sized key to a pointer, in an arena; open addressing.  Keys are interned
 * strings, object addresses or small integers (key 0 is a normal key).  No removal: store NULL. */
#ifndef TL_BASE_MAP_H
#define TL_BASE_MAP_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct TlMapSlot {
   uintptr_t key;
   void *value;
   bool used;
} TlMapSlot;

typedef struct TlMap {
   TlArena *arena;
   TlMapSlot *slots;
   size_t len, cap; /* cap is 0 or a power of two */
} TlMap;

void tl_map_init(TlMap *map, TlArena *arena);
void tl_map_put(TlMap *map, const void *key, void *value);
void *tl_map_get(const TlMap *map, const void *key); /* NULL when absent */
bool tl_map_has(const TlMap *map, const void *key);

/* Mixes `bytes` of data into a 64-bit hash (FNV-1a followed by a finaliser). */
uint64_t tl_hash(const void *data, size_t bytes, uint64_t seed);

#endif
