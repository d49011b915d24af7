/* Bump arenas: all compiler memory lives in one.  An arena is freed as a whole; nothing in it is
 * freed alone.  A failed allocation never returns: it jumps to TlMem.oom, which the public entry
 * point sets, so no caller checks for NULL.  Never allocate from inside a foreign callback frame.
 *
 * Lifetimes used by the compiler: `session` (strings, types, layouts, diagnostics), `unit` (AST and
 * IR of one compilation), `scratch` (reset after each pass).  Pointers go from shorter-lived to
 * longer-lived arenas only.  An arena and its TlMem belong to one thread. */
#ifndef TL_BASE_ARENA_H
#define TL_BASE_ARENA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct TlMem {
   void *(*alloc)(void *user, size_t bytes); /* NULL on failure */
   void (*release)(void *user, void *block);
   void *user;
   size_t limit_bytes; /* blocks in use may not exceed this; 0 = no limit */
   size_t used_bytes;  /* blocks in use now */
   size_t peak_bytes;
   long fail_at;       /* tests: this block request fails (0 = the next); negative = never */
   jmp_buf *oom;       /* where a failed allocation goes; must be set before the first one */
   double deadline_ms; /* of tl_now_ms: after it an allocation fails too; 0 = none */
   const volatile int *cancel; /* not 0: likewise; NULL = never */
   bool is_late;               /* why the last one failed */
} TlMem;

/* Fails as an allocation does when the deadline has passed: for loops that allocate nothing. */
void tl_mem_check(TlMem *mem);

typedef struct TlArena TlArena;
typedef struct TlArenaMark {
   void *block;
   size_t used;
} TlArenaMark;

/* Fills `mem` with malloc/free, no limit. */
void tl_mem_init(TlMem *mem);

TlArena *tl_arena_new(TlMem *mem);
void tl_arena_free(TlArena *arena); /* NULL is fine */
TlMem *tl_arena_mem(TlArena *arena);

/* Zeroed memory aligned to 16 bytes.  bytes = 0 gives a valid pointer. */
void *tl_arena_alloc(TlArena *arena, size_t bytes);
/* count * size, checked for overflow (treated as out of memory). */
void *tl_arena_array(TlArena *arena, size_t count, size_t size);
char *tl_arena_strndup(TlArena *arena, const char *s, size_t len);
char *tl_arena_strdup(TlArena *arena, const char *s);
char *tl_arena_printf(TlArena *arena, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
char *tl_arena_vprintf(TlArena *arena, const char *fmt, va_list ap)
   __attribute__((format(printf, 2, 0)));

/* Everything allocated after the mark is given back by the reset. */
TlArenaMark tl_arena_mark(TlArena *arena);
void tl_arena_reset(TlArena *arena, TlArenaMark mark);

#define tl_new(arena, T) ((T *)tl_arena_alloc((arena), sizeof(T)))
#define tl_new_array(arena, T, n) ((T *)tl_arena_array((arena), (size_t)(n), sizeof(T)))

#endif
