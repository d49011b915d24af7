/* A folder of compiled kernels, shared by any number of processes: one file per entry, found by a
 * 32-byte key.  Knows nothing of what an entry means: it is a list of byte strings.
 *
 * - An entry appears whole or not at all: written to a new file of another name in the same folder,
 *   then renamed.  Its last 32 bytes are the BLAKE3 of all before them, and it holds its own key:
 *   anything torn, cut, flipped or misplaced is a miss, and the next put replaces it.  That is why
 *   nothing is ever synchronised to the disk: what a power cut damages is found out when read.
 * - A folder is used only when it belongs to this user, nobody else may write to it, and it is no
 *   link; never by a process that runs with another's rights (setuid).
 * - No call fails its caller: what goes wrong is a miss, and a sentence in `why`.
 * - Nothing is kept open between calls, so forks and removed folders do no harm. */
#ifndef TL_JIT_CACHE_H
#define TL_JIT_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
   TL_CACHE_KEY_BYTES = 32,
   TL_CACHE_PARTS = 5, /* byte strings of an entry */
   TL_CACHE_WHY = 512, /* room for the reason of a failure */
   TL_CACHE_PATH = 4096,
};
#define TL_CACHE_DEFAULT_BYTES ((uint64_t)1 << 30)

typedef struct TlCache {
   const char *dir;           /* entries are kept here */
   const char *const *layers; /* more folders, only read */
   size_t num_layers;
   uint64_t max_bytes; /* of `dir` */
} TlCache;

typedef struct TlCachePart {
   const void *data;
   size_t len;
} TlCachePart;

typedef struct TlCacheEntry {
   unsigned char *block; /* of malloc; the parts point into it */
   TlCachePart part[TL_CACHE_PARTS];
} TlCacheEntry;

/* True on a hit.  Free the entry with tl_cache_entry_free. */
bool tl_cache_get(TlCache *cache, const uint8_t key[TL_CACHE_KEY_BYTES], TlCacheEntry *out);
void tl_cache_entry_free(TlCacheEntry *entry);
/* Writes or replaces an entry; makes room when the folder is full. */
bool tl_cache_put(TlCache *cache, const uint8_t key[TL_CACHE_KEY_BYTES],
                  const TlCachePart part[TL_CACHE_PARTS], char *why);

/* Keeps others from making the same entry: waits for up to timeout_ms while one does.  The entry
 * may be there afterwards.  Negative when it cannot be had, which changes nothing but the work done
 * twice. */
int tl_cache_lock(TlCache *cache, const uint8_t key[TL_CACHE_KEY_BYTES], uint32_t timeout_ms);
void tl_cache_unlock(int lock);

/* A name for a temporary file in the folder; a later clean-up removes what is left of them. */
bool tl_cache_temp_path(TlCache *cache, const char *suffix, char path[TL_CACHE_PATH]);

/* Entries least recently used are removed until the folder is below its limit, and temporary files
 * older than `temp_seconds`. */
bool tl_cache_prune(TlCache *cache, uint32_t temp_seconds, char *why);

typedef struct TlCacheStats {
   uint64_t entries, bytes;
   uint64_t damaged;       /* of the entries, when asked to verify */
   uint64_t temporary;     /* files of writers, alive or not */
   uint64_t removed;       /* when asked to */
   int64_t oldest, newest; /* last use, seconds since 1970; 0 = no entry */
} TlCacheStats;
typedef enum TlCacheVisit {
   TL_CACHE_COUNT,
   TL_CACHE_VERIFY, /* read every entry; remove the damaged ones */
   TL_CACHE_CLEAR,  /* remove everything that is the cache's */
} TlCacheVisit;
/* false: the folder is not usable, see `why`.  A folder that does not exist is an empty one. */
bool tl_cache_visit(const char *dir, TlCacheVisit how, TlCacheStats *out, char *why);

#endif
