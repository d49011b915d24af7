/* CSE: equal pure operations become one, along dominance only. */
#include "support/pass_fixture.h"

int test_cse(void);

static void
equal_operations_merge(void **state)
{
   (void)state;
   check_passes("cse",
                "   %0 = add %n, %m : i32\n"
                "   %1 = add %m, %n : i32\n"
                "   %2 = sub %n, %m : i32\n"
                "   %3 = sub %m, %n : i32\n"
                "   device_print %0, %1, %2, %3\n",
                "   %0 = add %n, %m : i32\n"
                "   %1 = sub %n, %m : i32\n"
                "   %2 = sub %m, %n : i32\n"
                "   device_print %0, %0, %1, %2\n");
}

static void
attributes_and_types_tell_apart(void **state)
{
   static const char *const text = "   %0 = max %x, %x : fp32\n"
                                   "   %1 = max %x, %x {nan = all} : fp32\n"
                                   "   %2 = cast %n : i64\n"
                                   "   %3 = cast %n : u64\n"
                                   "   %4 = constant 0 : i32\n"
                                   "   %5 = constant 0 : u32\n"
                                   "   %6 = constant 0.0 : fp32\n"
                                   "   %7 = constant -0.0 : fp32\n"
                                   "   device_print %0, %1, %2, %3, %4, %5, %6, %7\n";
   (void)state;
   check_passes("cse", text, text);
}

static void
loads_and_special_registers_stay(void **state)
{
   static const char *const text =
      "   %0 = load %p : i32\n"
      "   %1 = load %p : i32\n"
      "   %2 = sreg {sreg = clock64} : i64\n"
      "   %3 = sreg {sreg = clock64} : i64\n"
      "   %4 = inline_asm %n {text = \"x\", constraints = \"=r,r\", pure = false} : i32\n"
      "   %5 = inline_asm %n {text = \"x\", constraints = \"=r,r\", pure = false} : i32\n"
      "   device_print %0, %1, %2, %3, %4, %5\n";
   (void)state;
   check_passes("cse", text, text);
}

static void
regions_scope(void **state)
{
   (void)state;
   check_passes("cse",
                "   %0 = mul %n, %n : i32\n"
                "   if %c {\n"
                "      %1 = mul %n, %n : i32\n"
                "      %2 = add %n, %m : i32\n"
                "      device_print %1, %2\n"
                "      yield\n"
                "   } else {\n"
                "      %3 = sub %n, %m : i32\n"
                "      device_print %3\n"
                "      yield\n"
                "   }\n"
                "   %4 = add %n, %m : i32\n"
                "   device_print %0, %4\n",
                "   %0 = mul %n, %n : i32\n"
                "   if %c {\n"
                "      %1 = add %n, %m : i32\n"
                "      device_print %0, %1\n"
                "      yield\n"
                "   } else {\n"
                "      %2 = sub %n, %m : i32\n"
                "      device_print %2\n"
                "      yield\n"
                "   }\n"
                "   %3 = add %n, %m : i32\n"
                "   device_print %0, %3\n");
}

int
test_cse(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(equal_operations_merge),
      cmocka_unit_test(attributes_and_types_tell_apart),
      cmocka_unit_test(loads_and_special_registers_stay),
      cmocka_unit_test(regions_scope),
   };
   return cmocka_run_group_tests_name("cse", tests, NULL, NULL);
}
