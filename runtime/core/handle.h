/* What a module, a buffer and an event begin with, so that one that was freed is known as such:
 * freeing it gives back what it held, and keeps the few bytes of the handle for a while.  A call
 * that is given it is refused in place of reading memory that is another's by then.  Launches pay
 * for it with one load and a branch. */
#ifndef TL_RT_HANDLE_H
#define TL_RT_HANDLE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "tilec/runtime.h"

enum {
   TL_HANDLE_LIVE = 0x6c697665, /* 0 before tl_handle_begin */
   TL_HANDLE_FREED = 0x66726565,
};

typedef struct TlHandle {
   atomic_uint state;
   struct TlHandle *next; /* of those that were freed: the next younger one */
   void *attached;        /* freed with it */
} TlHandle;

/* The object is complete, and the runtime lives until it is freed. */
void tl_handle_begin(TilecRuntime *rt, TlHandle *h);
/* Nobody may use it from here on.  False: it was freed before, which the thread's detail says. */
bool tl_handle_end(TilecRuntime *rt, TlHandle *h, const char *what);
/* What it held is given back: its memory, and `attached`, are kept until enough others are freed;
 * of a runtime that only waits for it, until now. */
void tl_handle_bury(TilecRuntime *rt, TlHandle *h, void *attached);
/* TILEC_BAD_ARGUMENT: "tilec_launch: the kernel's module was freed". */
TilecStatus tl_handle_refuse(const TilecRuntime *rt, const char *what);

static inline bool
tl_handle_is_live(const TlHandle *h)
{
   return atomic_load_explicit(&h->state, memory_order_relaxed) == TL_HANDLE_LIVE;
}

#endif
