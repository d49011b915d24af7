/* Many processes and threads on one disk cache that is too small for them, some of them killed at
 * random: no read may give anything but what was written under its key, and nothing may get stuck.
 *
 *    cache_stress [--processes=16] [--threads=4] [--kernels=100] [--seconds=5] [--cap-kib=8192]
 *                 [--kills=0] [--seed=1]
 *
 * With --kills=N, N processes are started one after the other beside the rest, and killed (SIGKILL)
 * after 1 to 40 ms.  An entry's contents follow from its key, so every reader can check all of it.
 * ctest runs 5 seconds and 50 kills; the long forms: --seconds=20, and --kills=500. */
#define _GNU_SOURCE
#include "jit/cache.h"
#include "tilec/tilec.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct {
   long processes, threads, kernels, seconds, cap_kib, kills, seed;
} options = {16, 4, 100, 5, 8192, 0, 1};

/* Shared by all processes. */
typedef struct Counts {
   _Atomic long hits, misses, puts, wrong, failed, unlocked;
} Counts;
static Counts *counts;
static char dir[64];

static uint64_t
next(uint64_t *rng)
{
   *rng ^= *rng << 13;
   *rng ^= *rng >> 7;
   *rng ^= *rng << 17;
   return *rng;
}

static void
key_of(long kernel, uint8_t key[TL_CACHE_KEY_BYTES])
{
   tilec_digest(&kernel, sizeof kernel, key);
}

/* 20 to 220 KiB that only this kernel has. */
static size_t
contents(long kernel, unsigned char *out)
{
   uint64_t rng = 0x9e3779b97f4a7c15u * (uint64_t)(kernel + 1);
   size_t len = 20480 + next(&rng) % 204800;
   for (size_t i = 0; i < len; i += 8) {
      uint64_t v = next(&rng);
      memcpy(out + i, &v, 8);
   }
   return len;
}
enum { MAX_CONTENTS = 20480 + 204800 + 8 };

static bool
read_is_right(long kernel, const TlCacheEntry *e, unsigned char *want)
{
   size_t len = contents(kernel, want);
   return e->part[0].len == len && memcmp(e->part[0].data, want, len) == 0 &&
          e->part[1].len == sizeof kernel && memcmp(e->part[1].data, &kernel, sizeof kernel) == 0;
}

static void
use_one(TlCache *c, long kernel, unsigned char *room)
{
   uint8_t key[TL_CACHE_KEY_BYTES];
   char why[TL_CACHE_WHY];
   TlCacheEntry e;
   key_of(kernel, key);
   int lock = -1;
   for (int round = 0; round < 2; round++) {
      if (tl_cache_get(c, key, &e)) {
         if (!read_is_right(kernel, &e, room))
            counts->wrong++;
         tl_cache_entry_free(&e);
         counts->hits++;
         tl_cache_unlock(lock);
         return;
      }
      if (round == 0 && (lock = tl_cache_lock(c, key, 30000)) < 0)
         counts->unlocked++;
   }
   counts->misses++;
   TlCachePart parts[TL_CACHE_PARTS] = {{room, contents(kernel, room)}, {&kernel, sizeof kernel}};
   if (tl_cache_put(c, key, parts, why)) {
      counts->puts++;
   } else {
      counts->failed++;
      fprintf(stderr, "%s\n", why);
   }
   tl_cache_unlock(lock);
}

typedef struct Work {
   TlCache *cache;
   uint64_t rng;
   double until;
} Work;

static double
now(void)
{
   struct timespec t;
   clock_gettime(CLOCK_MONOTONIC, &t);
   return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *
work(void *user)
{
   Work *w = user;
   unsigned char *room = malloc(MAX_CONTENTS);
   while (room && now() < w->until)
      use_one(w->cache, (long)(next(&w->rng) % (uint64_t)options.kernels), room);
   free(room);
   return NULL;
}

static pid_t
start_process(uint64_t seed, double until)
{
   pid_t child = fork();
   if (child != 0)
      return child;
   TlCache cache = {.dir = dir, .max_bytes = (uint64_t)options.cap_kib << 10};
   pthread_t threads[64];
   Work w[64];
   for (long i = 0; i < options.threads; i++) {
      w[i] = (Work){&cache, 0x9e3779b97f4a7c15u * (seed * 64 + (uint64_t)i + 1), until};
      pthread_create(&threads[i], NULL, work, &w[i]);
   }
   for (long i = 0; i < options.threads; i++)
      pthread_join(threads[i], NULL);
   _exit(0);
}

static void
kill_some(double until)
{
   uint64_t rng = 0x2545f4914f6cdd1du * (uint64_t)options.seed;
   for (long i = 0; i < options.kills; i++) {
      pid_t child = start_process(1000 + (uint64_t)i, until + 3600);
      struct timespec pause = {.tv_nsec = (long)(1000000 + next(&rng) % 39000000)};
      nanosleep(&pause, NULL);
      kill(child, SIGKILL);
      waitpid(child, NULL, 0);
   }
}

static bool
read_options(int argc, char **argv)
{
   static const struct {
      const char *name;
      long *to;
   } known[] = {{"--processes=", &options.processes},
                {"--threads=", &options.threads},
                {"--kernels=", &options.kernels},
                {"--seconds=", &options.seconds},
                {"--cap-kib=", &options.cap_kib},
                {"--kills=", &options.kills},
                {"--seed=", &options.seed}};
   for (int i = 1; i < argc; i++) {
      bool found = false;
      for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
         size_t len = strlen(known[k].name);
         if (strncmp(argv[i], known[k].name, len) == 0) {
            *known[k].to = strtol(argv[i] + len, NULL, 10);
            found = true;
         }
      }
      if (!found)
         return false;
   }
   return options.processes <= 64 && options.threads <= 64 && options.kernels > 0;
}

int
main(int argc, char **argv)
{
   if (!read_options(argc, argv)) {
      fprintf(stderr, "see the head of cache_stress.c\n");
      return 2;
   }
   snprintf(dir, sizeof dir, "/tmp/tilec-stress-XXXXXX");
   counts = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
   if (counts == MAP_FAILED || !mkdtemp(dir))
      return 3;
   pid_t children[64];
   double begin = now(), until = begin + (double)options.seconds;
   for (long i = 0; i < options.processes; i++)
      children[i] = start_process((uint64_t)(options.seed * 100 + i), until);
   kill_some(until);
   bool ok = true;
   for (long i = 0; i < options.processes; i++) {
      int status;
      waitpid(children[i], &status, 0);
      ok &= WIFEXITED(status) && WEXITSTATUS(status) == 0;
   }
   TlCacheStats left, pruned;
   char why[TL_CACHE_WHY] = "";
   TlCache cache = {.dir = dir, .max_bytes = (uint64_t)options.cap_kib << 10};
   ok &= tl_cache_visit(dir, TL_CACHE_VERIFY, &left, why);
   ok &= tl_cache_prune(&cache, 0, why) && tl_cache_visit(dir, TL_CACHE_VERIFY, &pruned, why);
   printf("seed %ld: %ld hits, %ld misses, %ld puts, %ld killed in %.1f s; wrong %ld, failed %ld, "
          "locks not had %ld\n"
          "left: %llu entries of %.1f MiB, %llu damaged, %llu temporary; after pruning %.1f MiB, "
          "%llu temporary\n",
          options.seed, counts->hits, counts->misses, counts->puts, options.kills, now() - begin,
          counts->wrong, counts->failed, counts->unlocked, (unsigned long long)left.entries,
          (double)left.bytes / 1048576, (unsigned long long)left.damaged,
          (unsigned long long)left.temporary, (double)pruned.bytes / 1048576,
          (unsigned long long)pruned.temporary);
   ok &= counts->wrong == 0 && counts->failed == 0 && counts->unlocked == 0 && counts->hits > 0 &&
         counts->puts > 0;
   /* between two looks at the size 1/32 of the limit is written on average: 1/2 is e^-16 */
   ok &= left.damaged == 0 && pruned.temporary == 0 && pruned.bytes <= cache.max_bytes &&
         left.bytes <= cache.max_bytes / 2 * 3;
   ok &= tl_cache_visit(dir, TL_CACHE_CLEAR, &left, why) && rmdir(dir) == 0;
   if (!ok)
      fprintf(stderr, "FAILED %s (%s)\n", why, dir);
   return ok ? 0 : 1;
}
