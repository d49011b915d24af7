/* Misses: which specialisations are in the making, by whom, and who waits.  Of all threads that
 * need one, the first makes it, the others wait for it; what was only queued for a worker is taken
 * over by the first thread that needs it now. */
#include "jit/jit.h"

#include "core/lock.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORKER_STACK_BYTES = 16 << 20 };

/* ---- One flight ------------------------------------------------------------------------------ */

static TlFlight *
new_flight(TlJitSource *s, const TlArgKey *key, size_t n, uint64_t hash, bool for_launch)
{
   assert(tl_is_locked(&s->jit->lock) && n == s->num_params);
   TlFlight *f = calloc(1, sizeof *f + n * sizeof *key);
   if (!f)
      return NULL;
   f->jit = s->jit;
   f->source = s;
   f->refs = 2; /* the caller's, and that of the source's list */
   f->for_launch = for_launch;
   f->hash = hash;
   f->num_args = n;
   memcpy(f->key, key, n * sizeof *key);
   f->next = s->flights;
   s->flights = f;
   return f;
}

static TlFlight *
find_flight(TlJitSource *s, const TlArgKey *key, size_t n, uint64_t hash)
{
   assert(tl_is_locked(&s->jit->lock));
   for (TlFlight *f = s->flights; f; f = f->next)
      if (f->hash == hash && f->num_args == n && memcmp(f->key, key, n * sizeof *key) == 0)
         return f;
   return NULL;
}

static void
unref(TlFlight *f)
{
   assert(tl_is_locked(&f->jit->lock) && f->refs > 0);
   if (--f->refs > 0)
      return;
   assert(f->is_done); /* the source's list held a reference until then */
   if (f->next_form)
      unref(f->next_form);
   free(f);
}

/* Out of its source's list, with a result. */
static void
finish(TlFlight *f, TilecStatus status, const TlJitEntry *entry)
{
   assert(!f->is_done && !f->is_queued);
   assert(status != TILEC_OK || (entry && entry->variant));
   TlFlight **at = &f->source->flights;
   while (*at != f) {
      assert(*at); /* what is in the making is in the list */
      at = &(*at)->next;
   }
   *at = f->next;
   f->is_done = true;
   f->status = status;
   f->entry = entry;
   pthread_cond_broadcast(&f->jit->changed);
   unref(f);
}

static TilecStatus
publish(TlJitSource *s, TlJitEntry *e)
{
   assert(tl_is_locked(&s->jit->lock));
   assert(e->variant); /* readers take no lock: it must be complete */
   assert(s->num_entries <= s->entries_room);
   if (s->num_entries == s->entries_room) {
      uint32_t room = s->entries_room ? s->entries_room * 2 : 8;
      TlJitEntry **list = realloc(s->entries, room * sizeof *list);
      if (!list)
         return tl_core_no_memory(s->jit->rt);
      s->entries = list;
      s->entries_room = room;
   }
   _Atomic(TlJitEntry *) *bucket = &s->buckets[e->hash % TL_JIT_BUCKETS];
   atomic_store_explicit(&e->next, atomic_load_explicit(bucket, memory_order_relaxed),
                         memory_order_relaxed);
   s->entries[s->num_entries] = e;
   atomic_fetch_add(&s->num_entries, 1);
   atomic_store_explicit(bucket, e, memory_order_release);
   return TILEC_OK;
}

static void start_next(TlFlight *f, const TlJitEntry *e);

/* Makes it in this thread.  Called and left with the lock held. */
static void
fly(TlFlight *f)
{
   TlJit *jit = f->jit;
   assert(tl_is_locked(&jit->lock) && !f->is_done);
   f->is_queued = false;
   pthread_mutex_unlock(&jit->lock);
   TlJitEntry *e = calloc(1, sizeof *e + f->num_args * sizeof f->key[0]);
   TilecStatus status;
   if (e) {
      e->hash = f->hash;
      memcpy(e->key, f->key, f->num_args * sizeof f->key[0]);
      status = tl_jit_make(f->source, f->key, f->for_launch, e);
   } else {
      status = tl_core_no_memory(jit->rt);
   }
   if (status != TILEC_OK)
      tilec_runtime_error(jit->rt, f->detail, sizeof f->detail);
   pthread_mutex_lock(&jit->lock);
   /* a launch that may not compile and a thread that may can be at it side by side */
   const TlJitEntry *other =
      status == TILEC_OK ? tl_jit_look_up(f->source, e->hash, e->key, f->num_args) : NULL;
   if (status == TILEC_OK && !other)
      status = publish(f->source, e);
   if (status == TILEC_OK)
      start_next(f, other ? other : e);
   finish(f, status, other ? other : e);
   if (e && (status != TILEC_OK || other)) {
      pthread_mutex_unlock(&jit->lock);
      tl_jit_entry_free(e);
      pthread_mutex_lock(&jit->lock);
   }
}

static void
unqueue(TlFlight *f)
{
   TlJit *jit = f->jit;
   TlFlight *before = NULL, *q = jit->first_queued;
   assert(tl_is_locked(&jit->lock) && f->is_queued && jit->num_queued > 0);
   for (; q != f; q = q->next_queued) {
      assert(q);
      before = q;
   }
   *(before ? &before->next_queued : &jit->first_queued) = f->next_queued;
   if (jit->last_queued == f)
      jit->last_queued = before;
   jit->num_queued--;
   assert((jit->first_queued == NULL) == (jit->num_queued == 0));
   assert((jit->last_queued == NULL) == (jit->num_queued == 0));
}

/* ---- Workers --------------------------------------------------------------------------------- */

static void *
work(void *user)
{
   TlJit *jit = user;
   pthread_mutex_lock(&jit->lock);
   while (!jit->is_stopping) {
      TlFlight *f = jit->first_queued;
      if (f) {
         unqueue(f);
         fly(f);
      } else {
         assert(jit->num_idle < jit->num_workers);
         jit->num_idle++;
         pthread_cond_wait(&jit->changed, &jit->lock);
         jit->num_idle--;
      }
   }
   pthread_mutex_unlock(&jit->lock);
   return NULL;
}

/* Nobody waits for a core that is not there; false when no worker could be had at all. */
static bool
have_worker(TlJit *jit)
{
   assert(tl_is_locked(&jit->lock) && jit->num_workers <= jit->max_workers);
   if (jit->num_idle > jit->num_queued || jit->num_workers == jit->max_workers)
      return jit->num_workers > 0;
   pthread_attr_t attr;
   pthread_attr_init(&attr);
   pthread_attr_setstacksize(&attr, WORKER_STACK_BYTES);
   if (pthread_create(&jit->workers[jit->num_workers], &attr, work, jit) == 0)
      jit->num_workers++;
   pthread_attr_destroy(&attr);
   return jit->num_workers > 0;
}

TilecStatus
tl_flights_init(TlJit *jit, uint32_t max_workers)
{
   jit->max_workers = max_workers;
   jit->workers = calloc(max_workers, sizeof *jit->workers);
   pthread_mutex_init(&jit->lock, NULL);
   pthread_cond_init(&jit->changed, NULL);
   return jit->workers ? TILEC_OK : tl_core_no_memory(jit->rt);
}

/* In a forked child there are no workers, and the lock may be held by nobody that is left. */
void
tl_flights_done(TlJit *jit)
{
   if (!tl_core_is_forked(jit->rt)) {
      pthread_mutex_lock(&jit->lock);
      jit->is_stopping = true;
      pthread_cond_broadcast(&jit->changed);
      pthread_mutex_unlock(&jit->lock);
      for (uint32_t i = 0; i < jit->num_workers; i++)
         pthread_join(jit->workers[i], NULL);
      assert(jit->num_idle == 0);
      pthread_cond_destroy(&jit->changed);
      pthread_mutex_destroy(&jit->lock);
   }
   free(jit->workers);
}

/* ---- For callers ----------------------------------------------------------------------------- */

static void
queue(TlFlight *f)
{
   TlJit *jit = f->jit;
   assert(tl_is_locked(&jit->lock) && !f->is_done);
   f->is_queued = true;
   *(jit->last_queued ? &jit->last_queued->next_queued : &jit->first_queued) = f;
   jit->last_queued = f;
   jit->num_queued++;
   pthread_cond_broadcast(&jit->changed);
}

/* Left to a worker, with a reference for the caller; NULL: out of memory.  with_next: it, or
 * one that is under way, goes on to the forms that a launch may need besides. */
static TlFlight *
start(TlJitSource *s, const TlArgKey *key, size_t n, uint64_t hash, bool with_next)
{
   assert(tl_is_locked(&s->jit->lock));
   TlJitEntry *ready = tl_jit_look_up(s, hash, key, n);
   TlFlight *f = ready ? NULL : find_flight(s, key, n, hash);
   bool is_new = !f || f->for_launch;
   if (!is_new)
      f->refs++;
   else if (!(f = new_flight(s, key, n, hash, false)))
      return NULL;
   f->with_next = f->with_next || with_next;
   if (ready) {
      start_next(f, ready);
      finish(f, TILEC_OK, ready);
   } else if (is_new && have_worker(s->jit)) {
      queue(f);
   } else if (is_new) {
      fly(f);
   }
   return f;
}

/* Before `f` is done, so that who waits for it knows of the other.  Short of memory it is left to
 * the launch that needs it. */
static void
start_next(TlFlight *f, const TlJitEntry *e)
{
   TlArgKey key[TL_JIT_MAX_ARGS];
   TlForm form = tl_jit_form(f->key, f->num_args);
   TlForm next = tl_core_next_form(e->variant, form);
   assert(!f->is_done && !f->next_form && f->num_args <= TL_JIT_MAX_ARGS);
   if (!f->with_next || !f->num_args || next == form)
      return;
   memcpy(key, f->key, f->num_args * sizeof *key);
   uint64_t hash = tl_jit_key_in(next, key, f->num_args);
   f->next_form = start(f->source, key, f->num_args, hash, true);
}

TilecStatus
tl_flight_start(TlJitSource *s, const TlArgKey *key, size_t n, uint64_t hash, TlFlight **out)
{
   pthread_mutex_lock(&s->jit->lock);
   *out = start(s, key, n, hash, true);
   pthread_mutex_unlock(&s->jit->lock);
   return *out ? TILEC_OK : tl_core_no_memory(s->jit->rt);
}

static TilecStatus
result(TlFlight *f)
{
   if (f->status == TILEC_OK)
      return TILEC_OK;
   return tl_core_fail(f->jit->rt, f->status,
                       f->detail[0] ? f->detail : tilec_status_string(f->status));
}

static TilecStatus
join_one(TlFlight *f, bool wait)
{
   TlJit *jit = f->jit;
   pthread_mutex_lock(&jit->lock);
   if (wait && f->is_queued) {
      unqueue(f);
      fly(f);
   }
   while (wait && !f->is_done)
      pthread_cond_wait(&jit->changed, &jit->lock);
   bool is_done = f->is_done;
   assert(!is_done || !f->is_queued);
   pthread_mutex_unlock(&jit->lock);
   return is_done ? result(f) : TILEC_NOT_READY;
}

TilecStatus
tl_flight_join(TlFlight *f, bool wait)
{
   TilecStatus status = join_one(f, wait);
   while (status == TILEC_OK && f->next_form) {
      f = f->next_form;
      status = join_one(f, wait);
   }
   return status;
}

void
tl_flight_release(TlFlight *f)
{
   TlJit *jit = f->jit;
   pthread_mutex_lock(&jit->lock);
   unref(f);
   pthread_mutex_unlock(&jit->lock);
}

/* The first form and the one for few programs may be the same code: one that is under way is waited
 * for, whatever comes of it, before the other is begun. */
static void
await_same(TlJitSource *s, const TlArgKey *key, size_t n, uint64_t hash)
{
   TlJit *jit = s->jit;
   TlArgKey other[TL_JIT_MAX_ARGS];
   if (!n || tl_jit_form(key, n) > TL_FORM_FEW)
      return;
   uint64_t other_hash = tl_jit_other_key(key, n, other);
   pthread_mutex_lock(&jit->lock);
   bool is_there = tl_jit_look_up(s, hash, key, n) || find_flight(s, key, n, hash);
   TlFlight *f = is_there ? NULL : find_flight(s, other, n, other_hash);
   if (f)
      f->refs++;
   pthread_mutex_unlock(&jit->lock);
   if (f) {
      (void)join_one(f, true);
      tl_flight_release(f);
   }
}

TilecStatus
tl_flight_make(TlJitSource *s, const TlArgKey *key, size_t n, uint64_t hash, bool for_launch,
               const TlVariant **out)
{
   TlJit *jit = s->jit;
   await_same(s, key, n, hash);
   for (;;) {
      pthread_mutex_lock(&jit->lock);
      TlJitEntry *ready = tl_jit_look_up(s, hash, key, n);
      TlFlight *f = ready ? NULL : find_flight(s, key, n, hash);
      bool joined = f != NULL;
      if (f)
         f->refs++;
      else if (!ready && (f = new_flight(s, key, n, hash, for_launch)) != NULL)
         fly(f);
      pthread_mutex_unlock(&jit->lock);
      if (ready) {
         *out = ready->variant;
         return TILEC_OK;
      }
      if (!f)
         return tl_core_no_memory(jit->rt);
      TilecStatus status = join_one(f, true);
      if (status == TILEC_OK)
         *out = f->entry->variant;
      /* a launch that was not allowed to compile has failed for itself, not for us */
      bool again = status != TILEC_OK && joined && f->for_launch && !for_launch;
      tl_flight_release(f);
      if (!again)
         return status;
   }
}

static void
cancel_queued(TlJitSource *s)
{
   assert(tl_is_locked(&s->jit->lock));
   for (TlFlight *f = s->flights, *next; f; f = next) {
      next = f->next;
      if (f->is_queued) {
         unqueue(f);
         f->is_queued = false;
         snprintf(f->detail, sizeof f->detail, "the module was freed before it was compiled");
         finish(f, TILEC_CANCELLED, NULL);
      }
   }
}

void
tl_flights_end(TlJitSource *s)
{
   TlJit *jit = s->jit;
   if (tl_core_is_forked(jit->rt))
      return;
   pthread_mutex_lock(&jit->lock);
   cancel_queued(s);
   while (s->flights) {
      pthread_cond_wait(&jit->changed, &jit->lock);
      cancel_queued(s); /* one that ends may queue its next form */
   }
   pthread_mutex_unlock(&jit->lock);
}
