/* Registers that live at once: in a row, around loops, and through what is made again. */
#include "support/ir_fixture.h"

#include "ir/pressure.h"

int test_pressure(void);

static uint32_t
pressure_of(const char *body)
{
   IrFixture x;
   ir_open(&x);
   char text[2048];
   snprintf(text, sizeof text,
            "func @f(%%p: ptr<fp32>, %%n: i32) {state = lowered} {\n%s   return\n}\n", body);
   TlFunc *f = ir_must_read(&x, text);
   uint32_t most = tl_pressure(x.arena, f, tl_lowered_words(x.arena, f), NULL);
   ir_close(&x);
   return most;
}

#define LOAD(name, p) "   %" name " = ld_global %" p " {vec = 4} : regs<fp32, 8>\n"
#define POINTERS                                                                                   \
   "   %c = constant {value = 16} : i64\n"                                                         \
   "   %z = constant {value = 0} : i64\n"                                                          \
   "   %o = pick %z, %c {index = [0, 1]} : regs<i64, 2>\n"                                         \
   "   %s = splat %p : regs<ptr<fp32>, 2>\n"                                                       \
   "   %q = addptr %s, %o : regs<ptr<fp32>, 2>\n"

static void
words_of_rows_and_loops(void **state)
{
   (void)state;
   /* Addresses a constant apart take nothing, nor what only the next operation reads. */
   assert_int_equal(pressure_of(POINTERS LOAD("a", "q") "   st_global %q, %a {vec = 4}\n"), 8);
   assert_int_equal(pressure_of(POINTERS LOAD("a", "q")
                                   LOAD("b", "q") "   %d = add %a, %b : regs<fp32, 8>\n"
                                                  "   st_global %q, %d {vec = 4}\n"),
                    8);
   /* What was picked lives in what it was picked from. */
   assert_int_equal(
      pressure_of(POINTERS LOAD("a", "q") "   %h = pick %a {index = [0, 1, 2, 3, 0, 1, 2, 3]} : "
                                          "regs<fp32, 8>\n" LOAD(
                                             "b", "q") "   st_global %q, %b {vec = 4}\n"
                                                       "   st_global %q, %h {vec = 4}\n"),
      16);
   /* In a loop: %a is needed again in the next turn, the carried %x until the product, as the
    * sum is in a chain. */
   assert_int_equal(
      pressure_of(POINTERS LOAD("a", "q") LOAD(
         "i", "q") "   %c0 = constant {value = 0} : i32\n"
                   "   %c1 = constant {value = 1} : i32\n"
                   "   %r = for %k = %c0 to %n step %c1 iter(%x = %i) : regs<fp32, 8> {\n"
                   "      %y = add %x, %a : regs<fp32, 8>\n" LOAD(
                      "t", "q") "      %u = mul %y, %t : regs<fp32, 8>\n"
                                "      yield %u\n"
                                "   }\n"
                                "   st_global %q, %r {vec = 4}\n"),
      16);
}

int
test_pressure(void)
{
   const struct CMUnitTest tests[] = {cmocka_unit_test(words_of_rows_and_loops)};
   return cmocka_run_group_tests_name("ir pressure", tests, NULL, NULL);
}
