/* The golden runner itself: what each kind of check accepts and, above all, what it refuses. */
#define TILECHECK_NO_MAIN
#include "support/tilecheck.c"

#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

int test_tilecheck(void);

typedef struct Row {
   const char *checks, *output;
   bool matches;
} Row;

static const Row rows[] = {
   /* order and gaps */
   {"CHECK: a\nCHECK: b\n", "x a\ny\nb\n", true},
   {"CHECK: b\nCHECK: a\n", "a\nb\n", false},
   {"CHECK: a\nCHECK: a\n", "a\n", false},
   {"CHECK: a\nCHECK: b\n", "a b\n", true},
   {"CHECK: a{{.*}}b\n", "a\nb\n", false},
   /* blanks */
   {"CHECK: a   b\n", "a b\n", true},
   {"CHECK: a b\n", "a \t  b\n", true},
   {"CHECK: ab\n", "a b\n", false},
   /* special characters are literal outside braces */
   {"CHECK: a.b(c)*[d]\n", "a.b(c)*[d]\n", true},
   {"CHECK: a.b\n", "axb\n", false},
   /* NEXT, SAME, EMPTY */
   {"CHECK: a\nCHECK-NEXT: b\n", "a\nb\n", true},
   {"CHECK: a\nCHECK-NEXT: b\n", "a\nx\nb\n", false},
   {"CHECK: a\nCHECK-NEXT: b\n", "a b\n", false},
   {"CHECK: a\nCHECK-SAME: b\n", "a x b\n", true},
   {"CHECK: a\nCHECK-SAME: b\n", "a\nb\n", false},
   {"CHECK: a\nCHECK-EMPTY:\nCHECK-NEXT: b\n", "a\n\nb\n", true},
   {"CHECK: a\nCHECK-EMPTY:\n", "a\nx\n", false},
   {"CHECK-NEXT: a\n", "a\n", false},
   /* NOT: before, between, after */
   {"CHECK: a\nCHECK-NOT: x\nCHECK: b\n", "a\nb\nx\n", true},
   {"CHECK: a\nCHECK-NOT: x\nCHECK: b\n", "a\nx\nb\n", false},
   {"CHECK-NOT: x\nCHECK: b\n", "x\nb\n", false},
   {"CHECK: a\nCHECK-NOT: x\n", "a\nx\n", false},
   {"CHECK: a\nCHECK-NOT: x\n", "x\na\n", true},
   {"CHECK-NOT: x\n", "", true},
   /* LABEL splits the output first */
   {"CHECK-LABEL: f\nCHECK: a\nCHECK-LABEL: g\nCHECK: b\n", "f\na\ng\nb\n", true},
   {"CHECK-LABEL: f\nCHECK: a\nCHECK-LABEL: g\n", "f\ng\na\n", false},
   {"CHECK-LABEL: f\nCHECK-NOT: a\nCHECK-LABEL: g\nCHECK: a\n", "f\ng\na\n", true},
   {"CHECK-LABEL: f\nCHECK-NOT: a\nCHECK-LABEL: g\n", "f\na\ng\n", false},
   /* DAG, COUNT */
   {"CHECK-DAG: a\nCHECK-DAG: b\nCHECK: c\n", "b\na\nc\n", true},
   {"CHECK-DAG: a\nCHECK-DAG: b\nCHECK: c\n", "b\nc\na\n", false},
   {"CHECK-COUNT-3: a\n", "a a\na\n", true},
   {"CHECK-COUNT-3: a\n", "a a\n", false},
   /* expressions and variables */
   {"CHECK: {{[0-9]+}} bytes\n", "12 bytes\n", true},
   {"CHECK: {{[0-9]+}} bytes\n", "no bytes\n", false},
   {"CHECK: {{^}}a{{$}}\n", "ba\na\n", true},
   {"CHECK: {{^}}a{{$}}\n", "ba\nab\n", false},
   {"CHECK: r[[R:[0-9]+]] = 1\nCHECK: use r[[R]];\n", "r7 = 1\nuse r7;\n", true},
   {"CHECK: r[[R:[0-9]+]] = 1\nCHECK: use r[[R]];\n", "r7 = 1\nuse r8;\n", false},
   {"CHECK: [[X:[a-z]+]] [[X]]\n", "ab cd\nee ee\n", true},
   {"CHECK: [[X:[a-z]+]] {{(p|q)}} [[Y:[a-z]]] [[Y]]\n", "ab q z z\n", true},
   {"CHECK: [[X:[a-z]+]] {{(p|q)}} [[Y:[a-z]]] [[Y]]\n", "ab q z y\n", false},
   {"CHECK: [[X:.*]]\nCHECK: [[X]]\n", "a.b\naxb\n", false},
   {"CHECK: [[NOPE]]\n", "x\n", false},
   {"CHECK: {{(}}\n", "(\n", false},
   {"CHECK: {{a\n", "{{a\n", false},
   /* what counts as a check */
   {"nothing here\n", "x\n", false},
   {"MYCHECK: z\nCHECK: a\n", "a\n", true},
   {"// CHECK: a\n# CHECK-NEXT: b\n", "a\nb\n", true},
   {"CHECK:\n", "\n", false},
};

static void
checks_accept_and_refuse(void **state)
{
   (void)state;
   for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
      Text why = {0};
      bool got = tilecheck_match(rows[i].checks, "CHECK", false, rows[i].output, &why);
      if (got != rows[i].matches)
         print_error("checks:\n%soutput:\n%s%s", rows[i].checks, rows[i].output,
                     why.data ? why.data : "");
      assert_int_equal(got, rows[i].matches);
      assert_int_equal(!got, why.len > 0); /* a refusal says why, an acceptance says nothing */
      text_free(&why);
   }
}

static void
strict_whitespace_keeps_columns(void **state)
{
   (void)state;
   Text why = {0};
   assert_true(tilecheck_match("CHECK: |   ^~~\n", "CHECK", true, "  |   ^~~\n", &why));
   assert_false(tilecheck_match("CHECK: |   ^~~\n", "CHECK", true, "  |  ^~~\n", &why));
   text_free(&why);
}

static void
refusals_name_line_and_output(void **state)
{
   (void)state;
   Text why = {0};
   assert_false(tilecheck_match("\nCHECK: a\nCHECK: b\n", "CHECK", false, "a\nc\n", &why));
   assert_non_null(strstr(why.data, "line 3"));
   assert_non_null(strstr(why.data, "not found"));
   text_free(&why);
}

static void
write_file(const char *path, const char *text)
{
   FILE *f = fopen(path, "wb");
   assert_non_null(f);
   assert_int_equal(fputs(text, f) >= 0, 1);
   assert_int_equal(fclose(f), 0);
}

typedef struct Script {
   const char *text;
   bool passes;
} Script;

/* Files through the whole runner, in a folder with a blank and a quote in its name. */
static void
runner_runs_files(void **state)
{
   (void)state;
   static const Script scripts[] = {
      {"# RUN: echo one\n# CHECK: one\n", true},
      {"# RUN: echo one\n# CHECK: two\n", false},
      {"# RUN: echo one >&2\n# CHECK: one\n", true},
      {"# RUN: false\n", false},
      {"# RUN: not false\n", true},
      {"# RUN: not true\n", false},
      {"# RUN: sh -c 'exit 3'\n# EXIT: 3\n", true},
      {"# RUN: sh -c 'exit 3'\n# EXIT: 1\n", false},
      {"# RUN: not sh -c 'kill -11 $$'\n", false},
      {"# RUN: echo a \\\n# RUN:    b\n# CHECK: {{^}}a b\n", true},
      {"# RUN: echo x | FileCheck --check-prefix=ONE %s\n"
       "# RUN: echo y | FileCheck --check-prefix=TWO %s\n# ONE: x\n# TWO: y\n",
       true},
      {"# RUN: echo x | FileCheck --check-prefix=ONE %s\n"
       "# RUN: echo y | FileCheck --check-prefix=TWO %s\n# ONE: y\n# TWO: y\n",
       false},
      {"# RUN: cat %s\n# CHECK: {{^}}# RUN\n", true},
      {"# RUN: echo z > %t && cat %t\n# CHECK: {{^}}z\n", true},
      {"# RUN: %tilec word\n# CHECK: {{^}}word{{$}}\n", true},
      {"no run line\n", false},
   };
   char dir[] = "/tmp/tile check's.XXXXXX";
   assert_non_null(mkdtemp(dir));
   Options o = {.tilec = "/bin/echo", .tmp = dir};
   Text path = {0}, expected = {0}, why = {0};
   text_printf(&path, "%s/case.txt", dir);
   text_printf(&expected, "%s/case.txt.expected", dir);
   for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
      write_file(path.data, scripts[i].text);
      bool got = test_file(&o, path.data, &why);
      if (got != scripts[i].passes)
         print_error("%s%s", scripts[i].text, why.data ? why.data : "");
      assert_int_equal(got, scripts[i].passes);
   }
   write_file(path.data, "# RUN: echo %s\n");
   write_file(expected.data, "case.txt\n");
   assert_true(test_file(&o, path.data, &why));
   write_file(expected.data, "other\n");
   assert_false(test_file(&o, path.data, &why));
   assert_int_equal(setenv("TILEC_BLESS", "1", 1), 0);
   assert_true(test_file(&o, path.data, &why));
   assert_int_equal(unsetenv("TILEC_BLESS"), 0);
   assert_true(test_file(&o, path.data, &why));
   Text scratch = {0};
   text_printf(&scratch, "%s.tmp", path.data);
   unlink(scratch.data);
   unlink(path.data);
   unlink(expected.data);
   assert_int_equal(rmdir(dir), 0);
   text_free(&scratch);
   text_free(&path);
   text_free(&expected);
   text_free(&why);
}

int
test_tilecheck(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(checks_accept_and_refuse),
      cmocka_unit_test(strict_whitespace_keeps_columns),
      cmocka_unit_test(refusals_name_line_and_output),
      cmocka_unit_test(runner_runs_files),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}
