/* Locks as assertions see them. */
#ifndef TL_RT_LOCK_H
#define TL_RT_LOCK_H

#include <pthread.h>
#include <stdbool.h>

/* Somebody holds it.  A caller that forgot to take it is caught whenever nobody else has. */
static inline bool
tl_is_locked(pthread_mutex_t *lock)
{
   if (pthread_mutex_trylock(lock) != 0)
      return true;
   pthread_mutex_unlock(lock);
   return false;
}

#endif
