/* Numbers of records and of tuning, in a program whose decimal point is a comma. */
#include "fixture.h"

#include "core/number.h"

static void
numbers_keep_their_point(void **state)
{
   (void)state;
   static const char *const names[] = {"C", "de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8",
                                       "fr_FR.utf8"};
   for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
      char text[80], *end;
      if (!setlocale(LC_ALL, names[i]))
         continue; /* not on this machine */
      char point = *localeconv()->decimal_point;
      assert_true(tl_rt_read_double("0.5", &end) == 0.5 && !*end);
      tl_rt_write_double(text, sizeof text, -1.25e-3);
      assert_string_equal(text, "-0.00125");
      assert_int_equal(*localeconv()->decimal_point, point);
   }
   setlocale(LC_ALL, "C");
}

int test_number(void);
int
test_number(void)
{
   const struct CMUnitTest tests[] = {cmocka_unit_test(numbers_keep_their_point)};
   return cmocka_run_group_tests(tests, NULL, NULL);
}
