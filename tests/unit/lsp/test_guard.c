/* Work that crashes ends, its caller goes on. */
#include "lsp/guard.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

int test_guard(void);

static void
count(void *user)
{
   ++*(int *)user;
}

static void
abort_there(void *user)
{
   (void)user;
   abort();
}

static void
raise_there(void *user)
{
   raise(*(int *)user);
}

static void
work_is_done(void **state)
{
   (void)state;
   int n = 0;
   assert_true(tl_guarded(count, &n));
   assert_int_equal(n, 1);
}

static void
crashes_end_the_work_alone(void **state)
{
   (void)state;
   int n = 0, numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
   for (unsigned i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
      assert_false(tl_guarded(raise_there, &numbers[i]));
   for (unsigned i = 0; i < 3; i++)
      assert_false(tl_guarded(abort_there, NULL));
   assert_true(tl_guarded(count, &n));
   assert_int_equal(n, 1);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* they find it first */
static void
sink(volatile char *p, void *user)
{
   volatile char here[4096];
   here[0] = p ? *p : 0;
   if (user != (void *)1)
      sink(here, user);
   here[1] = here[0];
}

static void
fill_stack(void *user)
{
   sink(NULL, user);
}

static void
full_stack_ends_the_work_alone(void **state)
{
   (void)state;
   assert_false(tl_guarded(fill_stack, NULL));
   assert_false(tl_guarded(fill_stack, NULL));
}
#endif

int
test_guard(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(work_is_done),
      cmocka_unit_test(crashes_end_the_work_alone),
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
      cmocka_unit_test(full_stack_ends_the_work_alone),
#endif
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}
