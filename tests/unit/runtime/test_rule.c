/* Expressions of the launch record. */
#include "fixture.h"

#include "core/rule.h"

static int
find(void *user, const char *name, size_t len)
{
   (void)user;
   if (len == 1 && name[0] >= 'a' && name[0] <= 'd')
      return name[0] - 'a';
   return len == 2 && memcmp(name, "iffy", 2) == 0 ? 3 : -1;
}

static const int64_t slots[4] = {7, -3, 0, 100}; /* a b c d */

static void
values_follow_python(void **state)
{
   (void)state;
   static const struct {
      const char *text;
      int64_t want;
   } cases[] = {
      {"1 + 2 * 3", 7},
      {"(1 + 2) * 3", 9},
      {"10 - 4 - 3", 3},
      {"a // 2", 3},
      {"b // 2", -2},
      {"b % 5", 2},
      {"7 % -5", -3},
      {"-7 // -2", 3},
      {"cdiv(a, 2)", 4},
      {"cdiv(b, 2)", -1},
      {"triton.cdiv(d, 64)", 2},
      {"tl.next_power_of_2(d)", 128},
      {"min(a, b, 2)", -3},
      {"max(a, 9, b)", 9},
      {"1 << 4 | 1", 17},
      {"6 & 3 ^ 1", 3},
      {"~a", -8},
      {"- - a", 7},
      {"a if c else d", 100},
      {"a if b else d", 7},
      {"1 if c else 2 if a else 3", 2},
      {"(1 if c else 2) + (3 if a else 4)", 5},
      {"d // c if c else -1", -1},
      {"1 if (a if c else 0) else 5", 5},
      {"(a and b) if (c or a) else d", -3},
      {"a and b", -3},
      {"c and 1 // c", 0},
      {"c or d", 100},
      {"a or 1 // c", 7},
      {"not c and not not a", 1},
      {"a > 6 and b < 0", 1},
      {"a == 7", 1},
      {"a != 7", 0},
      {"a >= 8 or d <= 100", 1},
      {"True + True", 2},
      {"None", 0},
      {"int(a)", 7},
      {" a\t+\n1 ", 8},
      {"9223372036854775807", INT64_MAX},
      {"b >> 1", -2},
   };
   for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
      char error[128];
      const char *why;
      int64_t got = 0;
      TlRule *rule = tl_rule_parse(cases[i].text, find, NULL, error, sizeof error);
      if (!rule)
         fail_msg("%s: %s", cases[i].text, error);
      if (!tl_rule_eval(rule, slots, &got, &why) || got != cases[i].want)
         fail_msg("%s = %lld, want %lld (%s)", cases[i].text, (long long)got,
                  (long long)cases[i].want, why ? why : "");
      tl_rule_free(rule);
   }
}

static void
mistakes_are_refused(void **state)
{
   (void)state;
   static const char *const bad[] = {
      "",
      "1 +",
      "(1",
      "1)",
      "nope",
      "nope(1)",
      "cdiv(1)",
      "cdiv(1, 2, 3)",
      "1 / 2",
      "1.5",
      "2 ** 3",
      "a if b",
      "a if b else",
      "1 < 2 < 3",
      "a b",
      "'x'",
      "9223372036854775808",
      "a = 1",
      "0x10",
      "min()",
      ",",
      "a not",
      "if",
      "else",
   };
   for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
      char error[128] = "";
      TlRule *rule = tl_rule_parse(bad[i], find, NULL, error, sizeof error);
      if (rule)
         fail_msg("'%s' was accepted", bad[i]);
      assert_true(error[0] != 0);
   }
}

static void
depth_is_limited(void **state)
{
   (void)state;
   static const char *const units[] = {"(", "-", "min(", "1 if 1 else ", "1+(", "not "};
   for (size_t u = 0; u < sizeof units / sizeof units[0]; u++) {
      size_t n = strlen(units[u]), count = 100000;
      char *text = malloc(n * count + 1), error[128];
      for (size_t i = 0; i < count; i++)
         memcpy(text + i * n, units[u], n + 1);
      assert_null(tl_rule_parse(text, find, NULL, error, sizeof error));
      free(text);
   }
}

static void
arithmetic_is_checked(void **state)
{
   (void)state;
   static const char *const bad[] = {"1 // c",
                                     "1 % c",
                                     "cdiv(1, c)",
                                     "9223372036854775807 + 1",
                                     "-9223372036854775807 - 2",
                                     "4611686018427387904 * 2",
                                     "1 << 63",
                                     "1 >> -1",
                                     "next_power_of_2(9223372036854775807)",
                                     "(-9223372036854775807 - 1) // -1"};
   for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
      const char *why = NULL;
      int64_t got;
      TlRule *rule = tl_rule_parse(bad[i], find, NULL, NULL, 0);
      assert_non_null(rule);
      if (tl_rule_eval(rule, slots, &got, &why) || !why)
         fail_msg("'%s' was evaluated", bad[i]);
      tl_rule_free(rule);
   }
}

/* Random text over the alphabet of rules: no crash, no hang, and what parses evaluates. */
static void
random_text_is_safe(void **state)
{
   (void)state;
   static const char *const words[] = {"a",    "b",    "1", "0",  "+",    "-",      "*",
                                       "//",   "%",    "(", ")",  " if ", " else ", " and ",
                                       " or ", "not ", "<", "<<", "min(", ",",      "~"};
   unsigned seed = 12345;
   int parsed = 0;
   for (int trial = 0; trial < 50000; trial++) {
      char text[256] = "";
      for (unsigned n = (seed >> 16) % 12; n; n--) {
         seed = seed * 1664525 + 1013904223;
         strcat(text, words[(seed >> 16) % (sizeof words / sizeof words[0])]);
      }
      seed = seed * 1664525 + 1013904223;
      TlRule *rule = tl_rule_parse(text, find, NULL, NULL, 0);
      int64_t out;
      const char *why;
      if (rule) {
         (void)tl_rule_eval(rule, slots, &out, &why);
         parsed++;
      }
      tl_rule_free(rule);
   }
   assert_true(parsed > 500);
}

int test_rule(void);
int
test_rule(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_follow_python), cmocka_unit_test(mistakes_are_refused),
      cmocka_unit_test(depth_is_limited),     cmocka_unit_test(arithmetic_is_checked),
      cmocka_unit_test(random_text_is_safe),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}
