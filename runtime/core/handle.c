/* See handle.h.  The runtime counts what lives: itself until it is closed, and each object until it
 * is freed.  Whoever takes the last of them away ends it. */
#include "core/core.h"

#include <assert.h>
#include <stdlib.h>

/* Freed handles whose memory is kept, which bounds what a program that goes on making and freeing
 * them costs; a slip comes soon after the free. */
enum { MAX_BURIED = 256 };

void
tl_handle_begin(TilecRuntime *rt, TlHandle *h)
{
   assert(atomic_load(&h->state) == 0);
   atomic_fetch_add(&rt->lives, 1);
   atomic_store(&h->state, TL_HANDLE_LIVE);
}

bool
tl_handle_end(TilecRuntime *rt, TlHandle *h, const char *what)
{
   if (atomic_exchange(&h->state, TL_HANDLE_FREED) == TL_HANDLE_LIVE)
      return true;
   (void)tl_rt_fail(rt, TILEC_BAD_ARGUMENT, "%s was freed before", what);
   return false;
}

static void
free_handle(TlHandle *h)
{
   free(h->attached);
   free(h);
}

void
tl_handle_bury(TilecRuntime *rt, TlHandle *h, void *attached)
{
   TlHandle *oldest = NULL;
   assert(atomic_load(&h->state) == TL_HANDLE_FREED);
   h->attached = attached;
   h->next = NULL;
   if (tl_core_is_forked(rt)) { /* the lock may be held by a thread that is not here any more */
      free_handle(h);
   } else {
      pthread_mutex_lock(&rt->lock);
      *(rt->last_buried ? &rt->last_buried->next : &rt->first_buried) = h;
      rt->last_buried = h;
      if (rt->num_buried++ == MAX_BURIED) {
         oldest = rt->first_buried;
         rt->first_buried = oldest->next;
         rt->num_buried--;
      }
      pthread_mutex_unlock(&rt->lock);
   }
   if (oldest)
      free_handle(oldest);
   tl_rt_drop(rt);
}

void
tl_handles_done(TilecRuntime *rt)
{
   for (TlHandle *h = rt->first_buried, *next; h; h = next) {
      next = h->next;
      free_handle(h);
   }
}

TilecStatus
tl_handle_refuse(const TilecRuntime *rt, const char *what)
{
   return tl_rt_fail(rt, TILEC_BAD_ARGUMENT, "%s was freed: it is to live until its last use",
                     what);
}

TilecStatus
tl_rt_check_kernel(const TilecKernel *k, const char *call)
{
   if (tl_handle_is_live(&k->module->handle))
      return TILEC_OK;
   return tl_rt_fail(
      k->module->rt, TILEC_BAD_ARGUMENT,
      "%s: the kernel's module was freed: it is to live until the last use of its kernels", call);
}
