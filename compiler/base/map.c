/* Open addressing with linear probing; grows at 3/4 full. */
#include "base/map.h"

#include <assert.h>

static uint64_t
mix(uint64_t h)
{
   h ^= h >> 33;
   h *= 0xff51afd7ed558ccdULL; /* MurmurHash3 finaliser constants */
   h ^= h >> 33;
   h *= 0xc4ceb9fe1a85ec53ULL;
   return h ^ h >> 33;
}

uint64_t
tl_hash(const void *data, size_t bytes, uint64_t seed)
{
   const unsigned char *p = data;
   uint64_t h = 0xcbf29ce484222325ULL ^ seed; /* FNV-1a offset basis */
   for (size_t i = 0; i < bytes; i++)
      h = (h ^ p[i]) * 0x100000001b3ULL;
   return mix(h);
}

void
tl_map_init(TlMap *map, TlArena *arena)
{
   assert(arena);
   *map = (TlMap){.arena = arena};
}

static TlMapSlot *
find(TlMapSlot *slots, size_t cap, uintptr_t key)
{
   for (size_t i = mix(key) & (cap - 1);; i = (i + 1) & (cap - 1))
      if (!slots[i].used || slots[i].key == key)
         return &slots[i];
}

static void
grow(TlMap *map)
{
   size_t cap = map->cap ? map->cap * 2 : 16;
   assert((cap & (cap - 1)) == 0);
   TlMapSlot *slots = tl_new_array(map->arena, TlMapSlot, cap);
   for (size_t i = 0; i < map->cap; i++)
      if (map->slots[i].used)
         *find(slots, cap, map->slots[i].key) = map->slots[i];
   map->slots = slots;
   map->cap = cap;
}

void
tl_map_put(TlMap *map, const void *key, void *value)
{
   assert(map->arena && "tl_map_init comes first");
   if (map->len * 4 >= map->cap * 3)
      grow(map);
   TlMapSlot *s = find(map->slots, map->cap, (uintptr_t)key);
   if (!s->used)
      map->len++;
   *s = (TlMapSlot){(uintptr_t)key, value, true};
}

void *
tl_map_get(const TlMap *map, const void *key)
{
   if (!map->cap)
      return NULL;
   TlMapSlot *s = find(map->slots, map->cap, (uintptr_t)key);
   return s->used ? s->value : NULL;
}

bool
tl_map_has(const TlMap *map, const void *key)
{
   return map->cap && find(map->slots, map->cap, (uintptr_t)key)->used;
}
