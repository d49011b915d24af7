/* Source text of a kernel to results on the CPU executor: for tests of builtins against oracles. */
#ifndef TL_TESTS_BUILTIN_RUN_H
#define TL_TESTS_BUILTIN_RUN_H

#include "exec/cpu.h"
#include "support/sema_run.h"

#include <math.h>

#define BUF(array)                                                                                 \
   {                                                                                               \
      .is_buffer = true, .is_writable = true, .data = (array), .bytes = sizeof(array)              \
   }
#define NUM(value)                                                                                 \
   {                                                                                               \
      .bits = (TlBits)(value)                                                                      \
   }

/* Compiles the only kernel of source and runs it; any error fails the test. */
static inline void
run_on_cpu(const char *source, TlExecArg *args, unsigned num, unsigned programs)
{
   SemaRun r = TILE(source);
   sema_run(&r);
   if (!r.func)
      fail_msg("unexpected errors:\n%s\nfor\n%s", r.errors, source);
   TlExecFault fault = {0};
   TlExecOptions options = {.threads = 1, .checked = true};
   TlExecStatus status =
      tl_exec_cpu(r.func, args, num, (uint32_t[3]){programs, 1, 1}, &options, &fault);
   if (status != TL_EXEC_OK) {
      r.diags.first = r.diags.last = NULL;
      tl_exec_report(&r.diags, &fault);
      TlSb err;
      tl_sb_init(&err, r.arena);
      for (const TlDiag *d = r.diags.first; d; d = d->next)
         tl_diag_render(&r.diags, d, false, &err);
      fail_msg("run failed: %s\nfor\n%s\n%s", tl_sb_cstr(&err), source, r.ir);
   }
   sema_run_free(&r);
}
#define RUN(source, programs, ...)                                                                 \
   do {                                                                                            \
      TlExecArg run_args_[] = {__VA_ARGS__};                                                       \
      run_on_cpu(source, run_args_, sizeof run_args_ / sizeof run_args_[0], programs);             \
   } while (0)

/* Distance in units of the last place of fp32 around the exact value. */
static inline double
ulp_error(float got, double want)
{
   if (isnan(want) || isnan(got))
      return isnan(want) && isnan(got) ? 0 : INFINITY;
   if ((double)got == want ||
       (isinf(got) && fabs(want) > 3.4028235e38 && !signbit(got) == !signbit(want)))
      return 0;
   if (isinf(got) || isinf(want))
      return INFINITY;
   int e;
   frexp(want, &e);
   double ulp = ldexp(1.0, (e < -125 ? -125 : e) - 24);
   return fabs((double)got - want) / ulp;
}

static inline uint64_t
next_random(uint64_t *state) /* splitmix64 */
{
   uint64_t z = *state += 0x9E3779B97F4A7C15u;
   z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
   z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
   return z ^ (z >> 31);
}
static inline double
random_unit(uint64_t *state)
{
   return (double)(next_random(state) >> 11) * 0x1p-53;
}

#endif
