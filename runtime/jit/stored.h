/* A compiled kernel as an entry of the disk cache: what its key is made of, and what it holds. */
#ifndef TL_JIT_STORED_H
#define TL_JIT_STORED_H

#include "jit/cache.h"
#include "tilec/tilec.h"

/* Bytes that grow; `failed` once memory ran out. */
typedef struct TlBytes {
   unsigned char *data;
   size_t len, room;
   bool failed;
} TlBytes;
void tl_bytes_add(TlBytes *b, const void *data, size_t len);
void tl_bytes_number(TlBytes *b, uint64_t v);
/* With its length in front, which may be given as TILEC_STRLEN; NULL differs from "". */
void tl_bytes_text(TlBytes *b, const char *text, size_t len);

/* The key of what these options compile: everything that the result depends on but the imported
 * files, which the entry names and tl_stored_get looks at.  options->source and ->kernel are set.
 * False when this build cannot be told from another one, or memory ran out. */
bool tl_stored_key(const TilecCompileOptions *options, uint8_t key[TL_CACHE_KEY_BYTES]);

/* Diagnostics of a compilation that succeeded. */
void tl_stored_diag(TlBytes *b, const TilecDiag *diag);

typedef struct TlStored {
   TlCacheEntry entry;     /* owns what the others point to */
   const char *ptx, *json; /* not NUL-terminated */
   size_t ptx_len, json_len;
   const void *cubin; /* NULL = none */
   size_t cubin_len;
   bool lacks_cubin; /* no assembler has seen its PTX */
   void *made;       /* by tl_stored_assemble */
} TlStored;

/* False: not there, or made from imports that have changed since. */
bool tl_stored_get(TlCache *cache, const uint8_t key[TL_CACHE_KEY_BYTES], TlStored *out);
void tl_stored_free(TlStored *stored);
/* Gives the kept diagnostics to `fn`; only severity and rendered text are set. */
void tl_stored_replay(const TlStored *stored, TilecDiagFn *fn, void *user);

typedef struct TlStoredParts {
   const char *ptx, *json;
   size_t ptx_len, json_len;
   const void *cubin;
   size_t cubin_len;
   bool is_refused; /* an assembler has found errors in the PTX */
   const TlBytes *diags;
   const TilecImport *imports;
   size_t num_imports;
} TlStoredParts;
/* False with a sentence in `why` (TL_CACHE_WHY bytes). */
bool tl_stored_put(TlCache *cache, const uint8_t key[TL_CACHE_KEY_BYTES],
                   const TlStoredParts *parts, char *why);

typedef enum TlAssembled { TL_ASSEMBLED, TL_REFUSED, TL_UNDECIDED } TlAssembled;
/* ptxas.c: assembles PTX for info->arch.  *cubin is of malloc; NULL with a sentence in `why`. */
TlAssembled tl_ptxas(TlCache *cache, const char *ptxas, const TilecImageInfo *info, const char *ptx,
                     size_t ptx_len, void **cubin, size_t *cubin_len, char *why);
/* An entry of a time without an assembler gets its cubin, here and on disk.  What goes wrong costs
 * nothing but a sentence in `why` (TL_CACHE_WHY bytes; else ""). */
void tl_stored_assemble(TlCache *cache, const uint8_t key[TL_CACHE_KEY_BYTES], const char *ptxas,
                        const TilecImageInfo *info, TlStored *stored, char *why);

#endif
