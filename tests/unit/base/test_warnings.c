/* Groups of warnings and what the command line says of them. */
#include "base/diag.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

int test_warnings(void);

static void
every_warning_has_a_group(void **state)
{
   (void)state;
   for (unsigned c = 0; c < TL_DIAG_COUNT; c++) {
      bool is_warning = tl_diag_name(c)[0] == 'W';
      if (is_warning != (tl_diag_group(c) < TL_WARNING_COUNT))
         fail_msg("%s: a row of warnings.def is missing or too many", tl_diag_name(c));
   }
   for (unsigned g = 0; tl_warning_name(g); g++)
      assert_true(strlen(tl_warning_doc(g)) > 0);
}

static void
the_last_word_counts(void **state)
{
   (void)state;
   const char *name;
   TlWarnings w = {.initial = TL_WARNINGS_ALWAYS};
   assert_false(tl_warnings_has(&w, TL_WARNING_UNUSED));
   assert_true(tl_warnings_ask(&w, "all", &name));
   assert_true(tl_warnings_has(&w, TL_WARNING_UNUSED));
   assert_true(tl_warnings_ask(&w, "no-unused", &name));
   assert_false(tl_warnings_has(&w, TL_WARNING_UNUSED));
   assert_true(tl_warnings_ask(&w, "error=unused", &name));
   assert_true(tl_warnings_has(&w, TL_WARNING_UNUSED));
   assert_true(tl_warnings_is_error(&w, TL_WARNING_UNUSED, false));
   assert_true(tl_warnings_ask(&w, "no-error=unused", &name));
   assert_false(tl_warnings_is_error(&w, TL_WARNING_UNUSED, true));
   assert_true(tl_warnings_has(&w, TL_WARNING_UNUSED));
}

static void
no_effect_is_a_group_and_no_denial(void **state)
{
   (void)state;
   const char *name;
   TlWarnings w = {.initial = TL_WARNINGS_ALWAYS};
   assert_true(tl_warnings_ask(&w, "no-effect", &name));
   assert_true(tl_warnings_has(&w, TL_WARNING_NO_EFFECT));
   assert_true(tl_warnings_ask(&w, "no-no-effect", &name));
   assert_false(tl_warnings_has(&w, TL_WARNING_NO_EFFECT));
   assert_false(tl_warnings_ask(&w, "no-efect", &name));
   assert_string_equal(name, "efect");
}

static void
comments_are_found(void **state)
{
   (void)state;
   size_t n;
   static const char line[] = "x = 1  # tilec: ignore[unused, W0204]", bare[] = "# tilec: ignore";
   assert_memory_equal(tl_ignored_in(line, sizeof line - 1, &n), "unused, W0204", 13);
   assert_int_equal(n, 13);
   assert_non_null(tl_ignored_in(bare, sizeof bare - 1, &n));
   assert_int_equal(n, 0);
   assert_null(tl_ignored_in(line, 6, &n));
   assert_non_null(tl_ignored_in(line, 24, &n)); /* the bracket is not closed */
}

int
test_warnings(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_warning_has_a_group),
      cmocka_unit_test(the_last_word_counts),
      cmocka_unit_test(no_effect_is_a_group_and_no_denial),
      cmocka_unit_test(comments_are_found),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}
