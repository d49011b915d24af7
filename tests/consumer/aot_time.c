/* What a launch through the generated C costs beyond a bare cuLaunchKernel of the same function:
 * both loops in turns in one run.  The source is included, so that the handle can be had.
 * Exit code 77 without a GPU.  With the tests' stand-in driver the difference is the code's own
 * time. */
#include "elu.c"

#include "driver.h"

#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 15, LAUNCHES = 4000 };

static double
now_us(void)
{
   struct timespec t;
   clock_gettime(CLOCK_MONOTONIC, &t);
   return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int
ascending(const void *a, const void *b)
{
   double x, y;
   memcpy(&x, a, sizeof x);
   memcpy(&y, b, sizeof y);
   return (x > y) - (x < y);
}

static int
bare(void *function, uint64_t x)
{
   int32_t n = 16;
   float alpha = 1.0f;
   void *params[] = {&x, &x, &n, &alpha, NULL};
   return elu_cu.launch(function, 1, 1, 1, elu_entries_sm_90a[0].threads, 1, 1, 0, NULL, params,
                        NULL);
}

int
main(void)
{
   Driver cu;
   int device = 0, bad = 0;
   void *context;
   uint64_t x;
   elu_slot *slot;
   double ours[ROUNDS], theirs[ROUNDS];
   if (!open_driver(&cu) || cu.cuDeviceGet(&device, 0) != 0) {
      printf("no GPU\n");
      return 77;
   }
   if (cu.cuDevicePrimaryCtxRetain(&context, device) || cu.cuCtxPushCurrent_v2(context) ||
       cu.cuMemAlloc_v2(&x, 4096) || elu_ready(&slot) != ELU_OK) {
      printf("FAILED: %s\n", elu_error());
      return 1;
   }
   float *p = (float *)(uintptr_t)x;
   for (int r = -2; r < ROUNDS; r++) { /* the first two warm up */
      double begin = now_us();
      for (int i = 0; i < LAUNCHES; i++)
         bad |= bare(slot->functions[0], x);
      double middle = now_us();
      bad |= cu.cuCtxSynchronize();
      double again = now_us();
      for (int i = 0; i < LAUNCHES; i++)
         bad |= elu_launch_auto(NULL, p, p, 16, 1.0f);
      double end = now_us();
      bad |= cu.cuCtxSynchronize();
      if (r >= 0) {
         theirs[r] = (middle - begin) / (double)LAUNCHES;
         ours[r] = (end - again) / (double)LAUNCHES;
      }
   }
   qsort(ours, ROUNDS, sizeof ours[0], ascending);
   qsort(theirs, ROUNDS, sizeof theirs[0], ascending);
   printf("elu_launch_auto %.3f us, cuLaunchKernel %.3f us, difference %.3f us (medians of %d "
          "rounds of %d launches)\n",
          ours[ROUNDS / 2], theirs[ROUNDS / 2], ours[ROUNDS / 2] - theirs[ROUNDS / 2], ROUNDS,
          LAUNCHES);
   bad |= elu_unload() | cu.cuMemFree_v2(x);
   return bad != 0;
}
