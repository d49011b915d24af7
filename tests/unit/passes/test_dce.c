/* DCE: what no effect needs goes, carried values and results of ifs one by one. */
#include "support/pass_fixture.h"

int test_dce(void);

static void
chains_and_loads_go(void **state)
{
   (void)state;
   check_passes("dce",
                "   %0 = load %p : i32\n"
                "   %1 = add %0, %n : i32\n"
                "   %2 = mul %1, %1 : i32\n"
                "   %3 = load %p {volatile} : i32\n"
                "   store %p, %n\n",
                "   %0 = load %p {volatile} : i32\n"
                "   store %p, %n\n");
}

static void
effects_stay(void **state)
{
   static const char *const text =
      "   %0 = atomic_rmw %p, %n {rmw = add, sem = acq_rel, scope = gpu} : i32\n"
      "   %1 = inline_asm %n {text = \"x\", constraints = \"=r,r\", pure = false} : i32\n"
      "   assume %c\n"
      "   debug_barrier\n"
      "   while {\n"
      "      condition %c\n"
      "   } do {\n"
      "      yield\n"
      "   }\n"
      "   if %c {\n"
      "      store %p, %n\n"
      "      yield\n"
      "   } else {\n"
      "      yield\n"
      "   }\n";
   (void)state;
   check_passes("dce", text, text);
}

static void
whole_loops_and_ifs_go(void **state)
{
   (void)state;
   check_passes("dce",
                "   %0 = constant 1 : i32\n"
                "   %1 = for %i = %n to %m step %0 iter(%a = %n) : i32 {\n"
                "      %2 = load %p : i32\n"
                "      %3 = add %a, %2 : i32\n"
                "      yield %3\n"
                "   }\n"
                "   if %c {\n"
                "      %4 = add %1, %n : i32\n"
                "      yield\n"
                "   } else {\n"
                "      yield\n"
                "   }\n",
                "");
}

static void
dead_slots_go(void **state)
{
   (void)state;
   check_passes("dce",
                "   %0 = constant 1 : i32\n"
                "   %1, %2, %3 = for %i = %n to %m step %0 iter(%a = %n, %b = %m, %d = %n) : "
                "i32, i32, i32 {\n"
                "      %4 = add %a, %i : i32\n"
                "      %5 = mul %b, %d : i32\n"
                "      %6 = add %d, %d : i32\n"
                "      yield %4, %5, %6\n"
                "   }\n"
                "   store %p, %2\n"
                "   %7, %8 = if %c : i32, i32 {\n"
                "      %9 = add %n, %m : i32\n"
                "      yield %9, %n\n"
                "   } else {\n"
                "      yield %n, %m\n"
                "   }\n"
                "   store %p, %8\n",
                "   %0 = constant 1 : i32\n"
                "   %1, %2 = for %i = %n to %m step %0 iter(%b = %m, %d = %n) : i32, i32 {\n"
                "      %3 = mul %b, %d : i32\n"
                "      %4 = add %d, %d : i32\n"
                "      yield %3, %4\n"
                "   }\n"
                "   store %p, %1\n"
                "   %5 = if %c : i32 {\n"
                "      yield %n\n"
                "   } else {\n"
                "      yield %m\n"
                "   }\n"
                "   store %p, %5\n");
}

int
test_dce(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(chains_and_loads_go),
      cmocka_unit_test(effects_stay),
      cmocka_unit_test(whole_loops_and_ifs_go),
      cmocka_unit_test(dead_slots_go),
   };
   return cmocka_run_group_tests_name("dce", tests, NULL, NULL);
}
