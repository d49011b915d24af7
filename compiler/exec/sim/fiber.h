/* Stackful coroutines of one thread: x86-64 System V.  A fiber runs until it switches away; the
 * function it was started with must never return.  The sanitizers learn of every switch. */
#ifndef TL_EXEC_SIM_FIBER_H
#define TL_EXEC_SIM_FIBER_H

#include <stdbool.h>
#include <stddef.h>

typedef struct TlFiber {
   void *sp;         /* saved stack pointer while it does not run */
   void *low;        /* lowest byte of its stack (a thread's own: learnt at the first switch) */
   size_t bytes;     /* of its stack */
   void *fake_stack; /* AddressSanitizer's, while it does not run */
   void *tsan;       /* ThreadSanitizer's fiber, or NULL */
} TlFiber;

/* Whether this machine is one that the switch is written for. */
bool tl_fiber_is_supported(void);
/* A stack with an unreachable page below it; NULL when the system gives none. */
void *tl_fiber_stack_new(size_t bytes);
void tl_fiber_stack_free(void *low, size_t bytes);

/* fiber->low and bytes are set; the first switch to it calls fn(arg). */
void tl_fiber_start(TlFiber *fiber, void (*fn)(void *), void *arg);
/* Saves the running fiber in `from` and goes on with `to`.  is_last: `from` never runs again
 * before it is started anew. */
void tl_fiber_switch(TlFiber *from, TlFiber *to, bool is_last);
/* To be called first thing in fn: completes the switch that came from `from`. */
void tl_fiber_entered(TlFiber *from);
/* Resources that a fiber holds with the sanitizers. */
void tl_fiber_free(TlFiber *fiber);

#endif
