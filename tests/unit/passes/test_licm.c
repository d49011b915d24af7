/* LICM: pure invariant operations leave loops; loads and perhaps-undefined divisions stay. */
#include "support/pass_fixture.h"

int test_licm(void);

static void
invariants_leave_the_nest(void **state)
{
   (void)state;
   check_passes("licm",
                "   %0 = constant 1 : i32\n"
                "   for %i = %n to %m step %0 {\n"
                "      for %j = %n to %m step %0 {\n"
                "         %1 = mul %n, %m : i32\n"
                "         %2 = add %1, %i : i32\n"
                "         %3 = add %2, %j : i32\n"
                "         store %p, %3\n"
                "         yield\n"
                "      }\n"
                "      yield\n"
                "   }\n",
                "   %0 = constant 1 : i32\n"
                "   %1 = mul %n, %m : i32\n"
                "   for %i = %n to %m step %0 {\n"
                "      %2 = add %1, %i : i32\n"
                "      for %j = %n to %m step %0 {\n"
                "         %3 = add %2, %j : i32\n"
                "         store %p, %3\n"
                "         yield\n"
                "      }\n"
                "      yield\n"
                "   }\n");
}

static void
loads_divisions_and_flagged_loops_stay(void **state)
{
   (void)state;
   check_passes("licm",
                "   %0 = constant 3 : i32\n"
                "   for %i = %n to %m step %0 {\n"
                "      %1 = load %p : i32\n"
                "      %2 = div %n, %m : i32\n"
                "      %3 = div %n, %0 : i32\n"
                "      device_print %1, %2, %3\n"
                "      yield\n"
                "   }\n"
                "   for %j = %n to %m step %0 {flags = 8} {\n"
                "      %4 = add %n, %m : i32\n"
                "      store %p, %4\n"
                "      yield\n"
                "   }\n",
                "   %0 = constant 3 : i32\n"
                "   %1 = div %n, %0 : i32\n"
                "   for %i = %n to %m step %0 {\n"
                "      %2 = load %p : i32\n"
                "      %3 = div %n, %m : i32\n"
                "      device_print %2, %3, %1\n"
                "      yield\n"
                "   }\n"
                "   for %j = %n to %m step %0 {flags = 8} {\n"
                "      %4 = add %n, %m : i32\n"
                "      store %p, %4\n"
                "      yield\n"
                "   }\n");
}

static void
operations_with_regions_leave_too(void **state)
{
   (void)state;
   check_passes("licm",
                "   %0 = constant 3 : i32\n"
                "   %t = splat %n : tile<i32, 8>\n"
                "   for %i = %n to %m step %0 {\n"
                "      %1 = reduce %t {axis = 0} : i32 (%a: i32, %b: i32) {\n"
                "         %2 = add %a, %b : i32\n"
                "         yield %2\n"
                "      }\n"
                "      store %p, %1\n"
                "      yield\n"
                "   }\n",
                "   %0 = constant 3 : i32\n"
                "   %t = splat %n : tile<i32, 8>\n"
                "   %1 = reduce %t {axis = 0} : i32 (%a: i32, %b: i32) {\n"
                "      %2 = add %a, %b : i32\n"
                "      yield %2\n"
                "   }\n"
                "   for %i = %n to %m step %0 {\n"
                "      store %p, %1\n"
                "      yield\n"
                "   }\n");
}

int
test_licm(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(invariants_leave_the_nest),
      cmocka_unit_test(loads_divisions_and_flagged_loops_stay),
      cmocka_unit_test(operations_with_regions_leave_too),
   };
   return cmocka_run_group_tests_name("licm", tests, NULL, NULL);
}
