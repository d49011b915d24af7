/* Specialisation: which kernel, signatures, annotations, -D, what the IR's parameters say. */
#include "support/sema_run.h"

static void
kernel_choice(void **state)
{
   (void)state;
   const char *two = "@kernel\ndef one(p: *i32):\n   store(p, 1)\n"
                     "@kernel\ndef other(p: *i32):\n   store(p, helper(2))\n"
                     "def helper(x):\n   return x + 1\n";
   SemaRun r = TILE(two);
   sema_expect_errors(r, 1, IR("E0263", "one, other"));
   r.kernel = "other";
   sema_expect_ir(r, IR("func @other", "store"));
   r.kernel = "othr";
   sema_expect_errors(r, 1, IR("E0261", "did you mean 'other'?"));
   sema_expect_errors(TILE("X = 1\n"), 1, IR("E0262"));
   /* a helper is no candidate */
   sema_expect_ir(TILE("def f(x):\n   return x\n@kernel\ndef k(p: *i32):\n   store(p, f(1))\n"),
                  IR("func @k"));
}

static void
annotations(void **state)
{
   (void)state;
   SemaRun r = TILE("@kernel(num_warps=8, num_stages=2, grid=(cdiv(n, 64), 2))\n"
                    "def k(p: *fp16:16, q: *const fp32, n: i32:16, one: i32:1, s: fp32 = 1.5,\n"
                    "      B: constexpr = 64, D: constexpr = fp16):\n"
                    "   store(p + arange(0, B), (load(q) * s + n + one).to(D))\n");
   sema_run(&r);
   if (!r.func)
      fail_msg("%s", r.errors);
   assert_int_equal(r.func->num_warps, 8);
   assert_int_equal(r.func->num_stages, 2);
   assert_string_equal(r.func->grid, "(cdiv(n, 64), 2)");
   const TlParam *p = r.func->params;
   assert_int_equal(r.func->num_params, 7);
   assert_true(p[0].is_runtime && p[0].divisibility == 16);
   assert_true(p[1].type->kind == TL_TYPE_PTR && p[1].type->is_const);
   assert_true(p[2].divisibility == 16 && p[2].type->dtype == TL_I32);
   assert_true(p[4].is_runtime && p[4].type->dtype == TL_FP32);
   assert_false(p[3].is_runtime);
   assert_string_equal(p[3].constant, "1");
   assert_string_equal(p[5].constant, "64");
   assert_string_equal(p[6].constant, "fp16");
   sema_run_free(&r);
}

static void
signatures(void **state)
{
   (void)state;
   const char *source =
      "import triton\nimport triton.language as tl\n"
      "@triton.jit\n"
      "def k(p, q, n, eps, BLOCK: tl.constexpr, MODE: tl.constexpr, T: tl.constexpr):\n"
      "   if q is None and MODE == 'fast':\n"
      "      tl.store(p + tl.arange(0, BLOCK), (n * eps).to(T))\n";
   SemaRun r = PY(source);
   r.signature = "*fp16:16, None, i64, 1e-5, 64, 'fast', tl.float16";
   sema_run(&r);
   if (!r.func)
      fail_msg("%s", r.errors);
   assert_string_equal(r.func->params[1].constant, "None");
   assert_string_equal(r.func->params[3].constant, "1e-05");
   assert_string_equal(r.func->params[5].constant, "'fast'");
   assert_int_equal(r.func->body->block->num_args, 2);
   sema_run_free(&r);
   /* run-time entries only; constexprs by -D */
   r.signature = "*fp16, *fp16, i32, fp32";
   r.defines[0] = "BLOCK", r.defines[1] = "32", r.defines[2] = "MODE", r.defines[3] = "fast";
   r.defines[4] = "T", r.defines[5] = "fp16";
   sema_expect_ir(r, IR("%q: ptr<fp16>", "BLOCK = \"32\""));
   r.defines[4] = NULL;
   sema_expect_errors(r, 1, IR("E0272", "'T'", "-D T=VALUE"));
   r.defines[0] = "BLCK", r.defines[2] = NULL;
   sema_expect_errors(r, 1, IR("E0271", "did you mean 'BLOCK'?"));
   static const struct {
      const char *signature, *error;
   } row[] = {
      {"*fp16, None", "E0269"},
      {"*fp17, None, i64, 1e-5, 64, 'fast', tl.float16", "E0268"},
      {"*fp16:3, None, i64, 1e-5, 64, 'fast', tl.float16", "E0264"},
      {"*fp16, None, i64, 1e-5, i32, 'fast', tl.float16", "E0267"},
      {"*fp16, None, i64, 1e-5, *fp16, 'fast', tl.float16", "E0267"},
      {"tensordesc<fp16[48,64]>, None, i64, 1e-5, 64, 'fast', tl.float16", "E0265"},
   };
   for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
      SemaRun bad = PY(source);
      bad.signature = row[i].signature;
      sema_expect_errors(bad, 1, IR(row[i].error, "<signature>:1:"));
   }
   SemaRun left_out = PY(source); /* an empty entry leaves the parameter to the other sources */
   left_out.signature = "*fp16, None, i64, 1e-5, , 'fast', tl.float16";
   sema_expect_errors(left_out, 1, IR("E0272", "'BLOCK'"));
   SemaRun untyped = PY(source);
   sema_expect_errors(untyped, 4, IR("E0273", "'p', 'q', 'n', 'eps'", "E0272"));
}

static void
declared_types(void **state)
{
   (void)state;
   SemaRun r = TILE("@kernel\ndef k(p: *fp32, n: i32):\n   store(p, n)\n");
   r.signature = "*fp32:16, i32:16";
   sema_expect_ir(r, IR("div = 16", "div = 16"));
   r.signature = "*fp16, i32";
   sema_expect_errors(r, 1, IR("E0270", "ptr<fp32>", "ptr<fp16>"));
}

static void
same_result_twice(void **state)
{
   (void)state;
   SemaRun a =
      TILE("@kernel\ndef k(p: *fp32, n: i32):\n   for i in range(n):\n      store(p + i, i)\n");
   SemaRun b = a;
   sema_run(&a);
   sema_run(&b);
   assert_string_equal(a.ir, b.ir);
   sema_run_free(&a);
   sema_run_free(&b);
}

int test_spec(void);
int
test_spec(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(kernel_choice),     cmocka_unit_test(annotations),
      cmocka_unit_test(signatures),        cmocka_unit_test(declared_types),
      cmocka_unit_test(same_result_twice),
   };
   return cmocka_run_group_tests_name("sema spec", tests, NULL, NULL);
}
