/* Expressions: compile-time values with Python's meaning, strong constants with Triton's. */
#include "support/sema_run.h"

/* Every row must hold at compile time in a kernel. */
static void
python_values(void **state)
{
   (void)state;
   static const char *const holds[] = {
      "-7 // 2 == -4",
      "-7 % 2 == 1",
      "7 // -2 == -4",
      "7 % -2 == -1",
      "2 ** 10 == 1024",
      "2 ** -1 == 0.5",
      "7 / 2 == 3.5",
      "1 << 40 == 1099511627776",
      "-8 >> 1 == -4",
      "0xFF & 0x0F == 15",
      "5 ^ 1 == 4",
      "~5 == -6",
      "1 < 2 < 3",
      "not (1 < 2 > 3)",
      "True + True == 2",
      "(True & False) == False",
      "'a' + 'b' == 'ab'",
      "'ab' * 2 == 'abab'",
      "'b' in 'abc'",
      "2 in (1, 2)",
      "3 not in [1, 2]",
      "(1, 2) + (3,) == (1, 2, 3)",
      "[1, 2][-1] == 2",
      "(1, 2, 3)[1:] == (2, 3)",
      "(1, 2, 3)[::-1] == (3, 2, 1)",
      "'hello'[1:3] == 'el'",
      "len((1, 2)) == 2",
      "min(3, 1, 2) == 1",
      "max([3, 1, 2]) == 3",
      "sum([1, 2, 3]) == 6",
      "[i * i for i in range(4) if i % 2] == [1, 9]",
      "{'a': 1, 'b': 2}['b'] == 2",
      "{k: v for k, v in [('a', 1)]}['a'] == 1",
      "f'{3}-{2.5}-{True}' == '3-2.5-True'",
      "f'{255:x}:{3.14159:.2f}:{5:>3}' == 'ff:3.14:  5'",
      "'%d/%s' % (3, 'x') == '3/x'",
      "(1 if 2 > 1 else undefined_name) == 1",
      "(0 and undefined_name) == 0",
      "(1 or undefined_name) == 1",
      "None is None",
      "(x is None) == False",
      "(x is not None)",
      "1e400 == float('inf')",
      "(lambda a, b=2: a + b)(1) == 3",
      "[a for a in zip([1, 2], [3, 4])] == [(1, 3), (2, 4)]",
      "list(enumerate(['a'])) == [(0, 'a')]",
      "sorted([3, 1, 2], reverse=True) == [3, 2, 1]",
      "any([0, 1]) and not all([0, 1])",
      "isinstance(3, int)",
      "(10).type == tl.constexpr_type(10) and (10).type != tl.constexpr_type(11)",
      "(5, 6).type == tl.constexpr_type((5, 6)) and isinstance('a'.type, tl.constexpr_type)",
      "not isinstance(n.type, tl.constexpr_type)",
      "isinstance(x.dtype, tl.pointer_type) and x.dtype.is_ptr() and x.type.is_ptr()",
      "isinstance((x + arange(0, 4)).dtype, tl.pointer_type)",
      "isinstance((x + arange(0, 4)).type, tl.block_type)",
      "isinstance(x.dtype, tl.dtype) and not isinstance(x, tl.pointer_type)",
      "not isinstance(n.dtype, (tl.pointer_type, tl.block_type))",
      "'A_b'.lower() == 'a_b'",
      "'a,b'.split(',') == ['a', 'b']",
      "tl.float32 == tl.float32",
      "fp32 != fp16",
      "x.dtype.element_ty == tl.int32",
      "cdiv(10, 4) == 3",
      "next_power_of_2(65) == 128",
      "18446744073709551615 > 9223372036854775807",
      "(1 << 64) - 1 == 18446744073709551615",
      "(((1 << 64) - 1) >> 32) == 4294967295",
      "2 ** 64 > 18446744073709551615 and -2 ** 63 - 1 < -2 ** 63",
      "(1 << 100) % 1000003 == 253109",
      "-(2 ** 64) // 3 == -6148914691236517206",
      "2 ** 64 / 2 ** 60 == 16.0 and 2 ** 64 == 1.8446744073709552e19",
      "(2 ** 64 | 5) ^ 2 ** 64 == 5",
      "~(2 ** 64) + 2 ** 64 == -1",
      "str(-2 ** 100) == '-1267650600228229401496703205376'",
      "isinstance(2 ** 64, int) and bool(2 ** 64) and int(2 ** 64) == 1 << 64",
      "2 ** 64 in (1, 2 ** 64)",
      "str(1e-5) == '1e-05'",
      "str(1.0) == '1.0'",
      "hasattr(tl, 'load') and not hasattr(tl, 'no_such_name')",
      "hasattr(tl, 'slice') and hasattr(tl, 'TRITON_MAX_TENSOR_NUMEL')", /* Triton's, not ours */
      "not hasattr(tl, 'libdevice') and hasattr(triton, 'JITFunction')", /* not since Triton 3.0 */
      "(*[1, 2], 3) == (1, 2, 3)",
      "(n == None) == False",
      "divmod(-7, 2) == (-4, 1)",
      "int('7') == 7 if False else True",
      "list(enumerate('ab', 7)) == [(7, 'a'), (8, 'b')]",
      "abs(-2 ** 63) == 2 ** 63",
      "next_power_of_2(2 ** 62 + 1) == 2 ** 63",
      "(1, 2) == [1, 2] and (1, [2]) == (1, (2,)) and [1] != (2,)",
      "'abc'[1:9223372036854775807] == 'bc'",
      "'abc'[-9223372036854775808:2] == 'ab'",
      "'abc'[::9223372036854775807] == 'a'",
      "'abc'[1:2 ** 63] == 'bc' and 'abc'[::2 ** 63] == 'a' and 'abc'[2 ** 63:] == ''",
      "'' * 2 ** 63 == ''",
      "len(str([12345678] * 1000)) == 10000",
      "str('x' * 5000) + f'{1}' == 'x' * 5000 + '1'",
   };
   for (size_t i = 0; i < sizeof holds / sizeof holds[0]; i++) {
      char text[400];
      snprintf(text, sizeof text,
               "@kernel\ndef k(x: *i32, n: i32):\n   static_assert(%s, 'does not hold')\n",
               holds[i]);
      sema_expect_ir(TILE(text), IR("return"));
   }
}

static void
host_functions_ask_types(void **state)
{
   (void)state;
   SemaRun r = {.name = "k.py",
                .source = "import triton\nimport triton.language as tl\n"
                          "@triton.constexpr_function\n"
                          "def wide(d):\n    return tl.core.get_int_dtype(32, True) if d.is_bf16() "
                          "or d.is_floating() else d\n"
                          "@triton.jit\ndef k(x):\n"
                          "    tl.static_assert(wide(tl.bfloat16) == tl.int32)\n"
                          "    tl.static_assert(wide(tl.float32) == tl.int32)\n"
                          "    tl.static_assert(wide(tl.int8) == tl.int8)\n",
                .signature = "*fp32"};
   sema_expect_ir(r, IR("return"));
}

static void
compile_time_errors(void **state)
{
   (void)state;
   static const struct {
      const char *expr, *error;
   } row[] = {
      {"(1, 2)[2 ** 63]", "E0219"},
      {"'a' * 2 ** 63", "E0213"},
      {"str([[[[1] * 100] * 100] * 100] * 100)", "E0259"},
      {"2 ** 126", "E0210"},
      {"1 << 1000", "E0210"},
      {"9223372036854775807 * 4 * (1 << 64)", "E0210"},
      {"n + (1 << 64)", "E0210"},
      {"n < 2 ** 64", "E0210"},
      {"1 // 0", "E0211"},
      {"1 % 0", "E0211"},
      {"1 << -1", "E0212"},
      {"'a' + 1", "E0214"},
      {"(1, 2)[2]", "E0219"},
      {"(1, 2)[n]", "E0218"},
      {"{'a': 1}['b']", "E0221"},
      {"[i for i in 3]", "E0224"},
      {"-'a'", "E0215"},
      {"3(4)", "E0257"},
      {"1 < 'a'", "E0214"},
      {"'a' * 100000000", "E0213"},
      {"nam", "E0200"},
      {"tl.lod", "did you mean 'load'"},
      {"x.dtyp", "E0202"},
      {"list(enumerate([1], 'abc'))", "E0259"},

      {"list(enumerate([1, 2], 9223372036854775807))", "E0259"},

   };
   for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
      char text[200];
      snprintf(text, sizeof text, "@kernel\ndef k(x: *i32, n: i32):\n   v: constexpr = %s\n",
               row[i].expr);
      sema_expect_errors(TILE(text), 1, IR(row[i].error));
   }
}

#define SELF_CONTAINING                                                                            \
   "   a = [1]\n   a.append(a)\n   b = [1]\n   b.append(b)\n"
#define DEEP(step_a, step_b, times)                                                                \
   "   a = [1]\n   b = [1]\n   for i in range(" times "):\n      " step_a "\n      " step_b "\n"

/* One in how many runs away: each takes a second where instrumented. */
#ifdef TL_INSTRUMENTED
enum { ONE_IN = 3 };
#else
enum { ONE_IN = 1 };
#endif

/* Host code that would run or grow without end is stopped by the step limit. */
static void
limits(void **state)
{
   (void)state;
   static const char *const body[] = {
      "   l = [0]\n   while True:\n      l.append(1)\n   return l\n",
      "   l = [0]\n   while True:\n      l = l + l\n   return l\n",
      "   s = 'a'\n   while True:\n      s = s + s\n   return s\n",
      "   return [i for i in range(100000000)]\n",
      "   while True:\n      x = [0] * 60000\n   return x\n",
      "   return len({i for i in range(200000)})\n",
      "   d = {}\n   for i in range(10000000):\n      d[i] = i\n   return d\n",
      "   return f(n + 1)\n",
      "   return (lambda g: g(g))(lambda g: g(g))\n",
      SELF_CONTAINING "   return a == b\n",
      SELF_CONTAINING "   return a < b\n",
      SELF_CONTAINING "   return a in [b]\n",
      SELF_CONTAINING "   d = {'k': a}\n   return d == {'k': b}\n",
      DEEP("a = [a]", "b = [b]", "200000") "   return a == b\n",
      DEEP("a = (a,)", "b = (b,)", "200000") "   return a > b\n",
      DEEP("a = {1: a}", "b = {1: b}", "200000") "   return a == b\n",
      DEEP("a = [a, a]", "b = [b, b]", "60") "   return a == b\n",
      DEEP("a = [a, a]", "b = [b, b]", "60") "   return sorted([a, b])\n",
   };
   for (size_t i = 0; i < sizeof body / sizeof body[0]; i += ONE_IN) {
      char text[400];
      snprintf(text, sizeof text,
               "import triton\nimport triton.language as tl\ndef f(n):\n%s"
               "@triton.jit\ndef k(p):\n   x = f(3)\n",
               body[i]);
      SemaRun r = PY(text);
      r.signature = "*i32";
      sema_run(&r);
      assert_null(r.func);
      assert_true(r.mem.peak_bytes < (size_t)1 << 30);
      sema_run_free(&r);
   }
}

/* Kernels may not hold such lists either: plain variables are copied deeply. */
static void
nested_lists_in_kernels(void **state)
{
   (void)state;
   static const char *const body[] = {
      "   l = [1]\n   l.append(l)\n   m = l\n",
      "   t = (1, 2)\n   for i in tl.static_range(60):\n      t = (t, t)\n",
   };
   for (size_t i = 0; i < sizeof body / sizeof body[0]; i++) {
      char text[400];
      snprintf(text, sizeof text, "@kernel\ndef k(p: *i32):\n%s", body[i]);
      SemaRun r = TILE(text);
      sema_run(&r);
      assert_null(r.func);
      assert_true(r.mem.peak_bytes < (size_t)1 << 30);
      sema_run_free(&r);
   }
}

/* A module-level value that cannot be evaluated: nothing is built, and no value is made up. */
static void
unknown_globals(void **state)
{
   (void)state;
   static const char *const value[] = {
      "5[0]",
      "triton.cdiv(1.5, 2)",
      "round('a')",
      "round(float('nan'))",
      "round(1.5, 'a')",
      "round(15, -1)",
      "round(1e300)",
      "f()",
      "g()",
      "h()",
      "max('a', 2)",
   };
   for (size_t i = 0; i < sizeof value / sizeof value[0]; i++) {
      char text[600];
      snprintf(text, sizeof text,
               "import math\nimport triton\nimport triton.language as tl\n"
               "def f():\n   x = [8, 16]\n   x.no_such_method()\n   return x[0]\n"
               "def h():\n   try:\n      return 1 // 0\n   finally:\n      x = 2\n   return x\n"
               "def g():\n   return 5[0] + 1\n"
               "X = %s\n"
               "@triton.jit\ndef k(p):\n   tl.store(p, X)\n",
               value[i]);
      SemaRun r = PY(text);
      r.signature = "*i32";
      sema_expect_errors(r, 1, IR("E0207"));
   }
   SemaRun config = PY("import triton\nimport triton.language as tl\n"
                       "@triton.autotune(configs=[triton.Config({'B': 5[0]})], key=[])\n"
                       "@triton.jit\ndef k(p, B: tl.constexpr):\n   tl.store(p, B)\n");
   config.signature = "*i32";
   sema_expect_errors(config, 1, IR("E0272"));
   SemaRun gcd =
      PY("import math\nimport triton\nimport triton.language as tl\n"
         "X = math.gcd(-2 ** 63, 6) + math.ceil(7) + round(2.5) * 10 + round(7, 1) * 100\n"
         "Y = X if round(2.675, 2) == 2.67 else 0\n"
         "@triton.jit\ndef k(p):\n   tl.store(p, Y)\n");
   gcd.signature = "*i32";
   sema_expect_ir(gcd, IR("constant 729"));
}

/* x = 7 makes a run-time i32: C division; the value stays known. */
static void
strong_constants(void **state)
{
   (void)state;
   sema_expect_ir(TILE("@kernel\n"
                       "def k(p: *i32):\n"
                       "   a = -7\n"
                       "   store(p, a // 2)\n"
                       "   store(p + 1, a % 2)\n"
                       "   b: constexpr = -7\n"
                       "   store(p + 2, b // 2)\n"
                       "   store(p + 3, b % 2)\n"),
                  IR("constant -3", "store", "constant -1", "store", "constant -4", "store",
                     "constant 1", "store"));
   /* bf16 * strong 1.0 widens, bf16 * weak 1.0 does not */
   sema_expect_ir(TILE("@kernel\n"
                       "def k(p: *bf16, q: *fp32):\n"
                       "   v = load(p + arange(0, 16))\n"
                       "   x = 1.0\n"
                       "   store(q + arange(0, 16), v * x)\n"
                       "   store(p + arange(0, 16), v * 1.0)\n"),
                  IR("mul", "tile<fp32, 16>", "mul", "tile<bf16, 16>"));
   sema_expect_ir(TILE("@kernel\n"
                       "def k(p: *i32, BLOCK: constexpr = 16):\n"
                       "   N = BLOCK * 2\n"
                       "   store(p + arange(0, N), 1)\n"),
                  IR("tile<i32, 32>"));
}

static void
runtime_logic(void **state)
{
   (void)state;
   sema_expect_ir(TILE("@kernel\n"
                       "def k(p: *i32, a: i32, b: i32):\n"
                       "   if a > 0 and b > 0:\n"
                       "      store(p, 1)\n"
                       "   if not (a > 3) or b == 2:\n"
                       "      store(p, 2)\n"
                       "   if a < b < 10:\n"
                       "      store(p, 3)\n"),
                  IR("gt", "gt", "and", "if", "or", "if", "lt", "lt", "and", "if"));
   sema_expect_ir(TILE("@kernel\n"
                       "def k(p: *i32, a: i32, FLAG: constexpr = True):\n"
                       "   if FLAG and a > 0:\n"
                       "      store(p, 1)\n"
                       "   v = 5 if a > 3 else a\n"
                       "   store(p, v)\n"),
                  IR("gt", "if", "if", "yield", "yield", "store"));
}

static void
attributes(void **state)
{
   (void)state;
   sema_expect_ir(
      TILE("@kernel\n"
           "def k(p: *fp16, q: *fp32):\n"
           "   x = tl.load(p + tl.arange(0, 32)[:, None] * 32 + tl.arange(0, 32)[None, :])\n"
           "   tl.static_assert(x.shape[0] == 32 and x.dtype == tl.float16)\n"
           "   tl.static_assert(p.dtype.element_ty == tl.float16)\n"
           "   y = x.to(tl.float32).sum(axis=1)\n"
           "   tl.store(q + tl.arange(0, 32), y)\n"),
      IR("cast", "reduce", "store"));
}

int test_eval(void);
int
test_eval(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(python_values),
      cmocka_unit_test(compile_time_errors),
      cmocka_unit_test(limits),
      cmocka_unit_test(strong_constants),
      cmocka_unit_test(runtime_logic),
      cmocka_unit_test(attributes),
      cmocka_unit_test(nested_lists_in_kernels),
      cmocka_unit_test(unknown_globals),
      cmocka_unit_test(host_functions_ask_types),
   };
   return cmocka_run_group_tests_name("sema eval", tests, NULL, NULL);
}
