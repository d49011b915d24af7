/* Intervals of small integers against all pairs of their members. */
#include "ir/interval.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum { LEAST = -5, MOST = 6 };

/* False where there is no result. */
static bool
result_of(TlOpcode op, int x, int y, int *out)
{
   bool divides = op == TL_OP_DIV || op == TL_OP_REM, shifts = op == TL_OP_SHL || op == TL_OP_SHR;
   if ((op == TL_OP_REM && y == 0) || (shifts && y < 0))
      return false;
   *out = divides && !y     ? 0
          : op == TL_OP_ADD ? x + y
          : op == TL_OP_SUB ? x - y
          : op == TL_OP_MUL ? x * y
          : op == TL_OP_DIV ? x / y
          : op == TL_OP_REM ? x % y
          : op == TL_OP_SHL ? x * (1 << y)
          : op == TL_OP_SHR ? x >> y
          : op == TL_OP_AND ? (x & y)
          : op == TL_OP_OR  ? (x | y)
          : op == TL_OP_XOR ? (x ^ y)
          : op == TL_OP_MIN ? (x < y ? x : y)
                            : (x > y ? x : y);
   return true;
}

static void
check(TlOpcode op, TlInterval x, TlInterval y, unsigned *known)
{
   TlInterval r;
   int v;
   if (!tl_interval_of(op, x, y, &r))
      return;
   ++*known;
   for (int i = (int)x.lo; i <= x.hi; i++)
      for (int j = (int)y.lo; j <= y.hi; j++)
         if (result_of(op, i, j, &v) && (v < r.lo || v > r.hi))
            fail_msg("%s of %d and %d is %d, not in [%d, %d]", tl_op_info[op].text, i, j, v,
                     (int)r.lo, (int)r.hi);
}

static void
results_lie_within(void **state)
{
   static const TlOpcode ops[] = {TL_OP_ADD, TL_OP_SUB, TL_OP_MUL, TL_OP_DIV, TL_OP_REM, TL_OP_SHL,
                                  TL_OP_SHR, TL_OP_AND, TL_OP_OR,  TL_OP_XOR, TL_OP_MIN, TL_OP_MAX};
   (void)state;
   for (size_t o = 0; o < sizeof ops / sizeof ops[0]; o++) {
      unsigned known = 0;
      for (int a = LEAST; a <= MOST; a++)
         for (int b = a; b <= MOST; b++)
            for (int c = LEAST; c <= MOST; c++)
               for (int d = c; d <= MOST; d++)
                  check(ops[o], (TlInterval){a, b}, (TlInterval){c, d}, &known);
      assert_true(known > 100);
   }
}

/* The largest operands do not overflow, and what is known is no more than it must be. */
static void
results_are_tight(void **state)
{
   (void)state;
   const TlInterval all = {INT64_MIN, INT64_MAX}, seven = {7, 7}, most = {63, 63};
   TlInterval r;
   assert_true(tl_interval_of(TL_OP_MUL, all, all, &r));
   assert_true(r.lo == (TlWide)INT64_MIN * INT64_MAX && r.hi == (TlWide)INT64_MIN * INT64_MIN);
   assert_true(tl_interval_of(TL_OP_SHL, all, most, &r));
   assert_true(r.lo == (TlWide)INT64_MIN * ((TlWide)1 << 63));
   assert_true(tl_interval_of(TL_OP_REM, all, seven, &r) && r.lo == -6 && r.hi == 6);
   assert_true(tl_interval_of(TL_OP_DIV, all, seven, &r) && r.hi == INT64_MAX / 7);
   assert_true(tl_interval_of(TL_OP_AND, all, seven, &r) && r.lo == 0 && r.hi == 7);
   assert_true(tl_interval_of(TL_OP_OR, seven, (TlInterval){0, 1}, &r) && r.lo == 7 && r.hi == 7);
   assert_true(tl_interval_of(TL_OP_DIV, seven, (TlInterval){0, 1}, &r) && r.lo == 0 && r.hi == 7);
   assert_true(tl_interval_of(TL_OP_DIV, seven, all, &r) && r.lo == -7 && r.hi == 7);
   assert_false(tl_interval_of(TL_OP_SHR, seven, (TlInterval){0, 1}, &r));
   assert_false(tl_interval_of(TL_OP_LT, seven, seven, &r));
}

int test_interval(void);
int
test_interval(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(results_lie_within),
      cmocka_unit_test(results_are_tight),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}
