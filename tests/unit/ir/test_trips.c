/* Loops whose bounds show how often they run at most, or what divides that. */
#include "support/ir_fixture.h"

#include "ir/trips.h"
#include "ir/walk.h"

int test_trips(void);

/* Of the loop in a function of i32 `n` and `m`, where these operations come before it: how often it
 * runs at most, and whether a multiple of two times. */
static uint64_t
trips(const char *before, const char *lower, const char *upper, const char *step, bool *is_even)
{
   IrFixture x;
   ir_open(&x);
   char text[2048];
   snprintf(text, sizeof text,
            "func @f(%%n: i32, %%m: i32) {state = typed} {\n"
            "   %%c0 = constant {value = 0} : i32\n"
            "   %%c63 = constant {value = 63} : i32\n"
            "   %%c64 = constant {value = 64} : i32\n"
            "   %%c128 = constant {value = 128} : i32\n"
            "   %%down = constant {value = -64} : i32\n"
            "   %%far = constant {value = 2147483000} : i32\n"
            "   %%below = constant {value = -2147483000} : i32\n"
            "   %%pid = program_id {axis = 0} : i32\n"
            "   %%row = mul %%pid, %%c64 : i32\n"
            "%s"
            "   for %%i = %s to %s step %s {\n      yield\n   }\n"
            "   return\n}\n",
            before, lower, upper, step);
   TlFunc *f = ir_must_read(&x, text);
   const TlOp *op = f->body->block->first;
   while (op->opcode != TL_OP_FOR)
      op = op->next;
   TlAnalysis *facts = tl_analysis_new(x.arena, f);
   uint64_t most = tl_most_trips(facts, op);
   *is_even = tl_trips_are_multiple(facts, op, 2);
   ir_close(&x);
   return most;
}

static bool
runs_once(const char *before, const char *lower, const char *upper, const char *step)
{
   bool is_even;
   return trips(before, lower, upper, step, &is_even) <= 1;
}

#define WHOLE(x, c) "   %q = div %" x ", %" c " : i32\n   %whole = mul %q, %" c " : i32\n"

static void
what_whole_blocks_leave(void **state)
{
   (void)state;
   assert_true(runs_once(WHOLE("n", "c64"), "%whole", "%n", "%c64"));
   assert_true(runs_once(WHOLE("n", "c64"), "%whole", "%n", "%c128"));
   assert_false(runs_once(WHOLE("n", "c128"), "%whole", "%n", "%c64"));
   assert_false(runs_once(WHOLE("n", "c64"), "%whole", "%m", "%c64"));
   assert_true(runs_once(WHOLE("n", "c64"), "%n", "%whole", "%c64")); /* of negative n */
   assert_false(runs_once(WHOLE("n", "c128"), "%n", "%whole", "%c64"));
   assert_false(runs_once(WHOLE("n", "c64"), "%whole", "%n", "%down"));
   assert_false(runs_once(WHOLE("n", "c64"), "%whole", "%n", "%m"));
   /* the quotient of one, the product of another */
   assert_false(
      runs_once("   %q = div %n, %c128 : i32\n   %w = mul %q, %c64 : i32\n", "%w", "%n", "%c64"));
   assert_true(
      runs_once("   %r = rem %n, %c64 : i32\n   %w = sub %n, %r : i32\n", "%w", "%n", "%c64"));
   assert_false(
      runs_once("   %r = rem %m, %c64 : i32\n   %w = sub %n, %r : i32\n", "%w", "%n", "%c64"));
}

static void
what_ends_soon(void **state)
{
   (void)state;
   assert_true(runs_once("   %e = add %n, %c64 : i32\n", "%n", "%e", "%c64"));
   assert_false(runs_once("   %e = add %n, %c128 : i32\n", "%n", "%e", "%c64"));
   assert_true(
      runs_once("   %e = add %n, %c63 : i32\n   %l = min %e, %m : i32\n", "%n", "%l", "%c64"));
   assert_true(runs_once("   %b = max %n, %m : i32\n", "%b", "%n", "%c64"));
   assert_true(runs_once("", "%c0", "%c64", "%c64"));
   assert_false(runs_once("", "%c0", "%c128", "%c64"));
   assert_false(runs_once("", "%n", "%m", "%c64"));
   /* row is a multiple of 64: a block of 128 begins in front of it or 64 before */
   assert_true(runs_once(WHOLE("row", "c128") "   %e = add %row, %c64 : i32\n"
                                              "   %l = min %e, %n : i32\n",
                         "%whole", "%l", "%c128"));
   assert_false(
      runs_once(WHOLE("row", "c128") "   %e = add %row, %c128 : i32\n", "%whole", "%e", "%c128"));
   assert_true(runs_once("   %h = hint %row {hint = divisible, values = [64]} : i32\n"
                         "   %e = add %row, %c64 : i32\n",
                         "%h", "%e", "%c64"));
}

/* Blocks rounded down and up: rows that see 64 keys, 128 at a time. */
static void
what_is_rounded_twice(void **state)
{
   (void)state;
   bool is_even;
   const char *blocks = WHOLE("row", "c128") "   %c127 = constant {value = 127} : i32\n"
                                             "   %a = add %row, %c64 : i32\n"
                                             "   %b = add %a, %c127 : i32\n"
                                             "   %p = div %b, %c128 : i32\n"
                                             "   %e = mul %p, %c128 : i32\n";
   assert_int_equal(2, trips(blocks, "%whole", "%e", "%c128", &is_even));
}

/* Nothing known stays nothing known, by whatever constant it is moved. */
static void
what_is_unknown(void **state)
{
   (void)state;
   assert_false(runs_once("   %e = add %n, %below : i32\n", "%m", "%e", "%c64"));
   assert_false(runs_once("   %e = add %n, %far : i32\n", "%e", "%m", "%c64"));
   assert_false(runs_once("   %a = constant {value = -1073741823} : i32\n"
                          "   %e = add %n, %a : i32\n   %f = add %e, %a : i32\n",
                          "%m", "%f", "%c64"));
}

/* Counts, and rows of blocks: (row + 1) * 128 is 128 above row * 128. */
static void
what_is_counted(void **state)
{
   (void)state;
   bool is_even;
   const char *rows = "   %next = add %n, %one : i32\n   %e = mul %next, %c128 : i32\n"
                      "   %b = mul %n, %c128 : i32\n";
   char before[256];
   snprintf(before, sizeof before, "   %%one = constant {value = 1} : i32\n%s", rows);
   assert_int_equal(2, trips(before, "%b", "%e", "%c64", &is_even));
   assert_true(is_even);
   assert_int_equal(1, trips(before, "%b", "%e", "%c128", &is_even));
   assert_false(is_even);
   assert_int_equal(3, trips("   %e = add %n, %c63 : i32\n   %f = add %e, %c128 : i32\n", "%n",
                             "%f", "%c64", &is_even));
   assert_false(is_even);
   assert_int_equal(2, trips("", "%c0", "%c128", "%c64", &is_even));
   assert_true(is_even);
   assert_true(trips("", "%c0", "%row", "%c64", &is_even) == UINT64_MAX);
   assert_false(is_even);
   assert_true(trips("   %w = mul %row, %c64 : i32\n", "%c0", "%w", "%c64", &is_even) ==
               UINT64_MAX);
   assert_true(is_even);
   assert_true(trips("", "%c0", "%n", "%m", &is_even) == UINT64_MAX);
   assert_false(is_even);
   assert_int_equal(0, trips("", "%c128", "%c0", "%c64", &is_even));
}

int
test_trips(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_whole_blocks_leave), cmocka_unit_test(what_ends_soon),
      cmocka_unit_test(what_is_rounded_twice), cmocka_unit_test(what_is_unknown),
      cmocka_unit_test(what_is_counted)};
   return cmocka_run_group_tests_name("ir trips", tests, NULL, NULL);
}
