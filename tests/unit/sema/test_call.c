/* Calls: binding, inlining, functions as values, recursion, methods, classes. */
#include "support/sema_run.h"

static void
binding(void **state)
{
   (void)state;
   sema_expect_ir(TILE("STEP: constexpr = 3\n"
                       "def f(a, b=STEP * 2, *rest, c: constexpr = 16, **more):\n"
                       "   static_assert(len(rest) == 0 and c == 32)\n"
                       "   return a + b + more['extra']\n"
                       "@kernel\n"
                       "def k(p: *i32, n: i32):\n"
                       "   args = (n,)\n"
                       "   store(p, f(*args, c=32, extra=n))\n"),
                  IR("constant 6", "add", "add", "store"));
   static const struct {
      const char *call, *error, *help;
   } row[] = {
      {"f(n)", "E0251", "'b'"},
      {"f(n, 1, 2)", "E0252", "at most 2"},
      {"f(n, bb=1)", "E0253", "did you mean 'b'?"},
      {"f(n, 1, a=2)", "E0254", "'a' twice"},
      {"load(p, msk=True)", "E0253", "did you mean 'mask'?"},
      {"load()", "E0251", "'pointer'"},
   };
   for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
      char text[300];
      snprintf(text, sizeof text,
               "def f(a, b):\n   return a + b\n@kernel\ndef k(p: *i32, n: i32):\n   store(p, %s)\n",
               row[i].call);
      sema_expect_errors(TILE(text), 1, IR(row[i].error, row[i].help, "k.tile:5:"));
   }
}

static void
inlining(void **state)
{
   (void)state;
   sema_expect_ir(TILE("def twice(f: constexpr, x):\n"
                       "   return f(f(x))\n"
                       "def add_one(x):\n"
                       "   return x + 1\n"
                       "@kernel\n"
                       "def k(p: *i32, n: i32):\n"
                       "   store(p, twice(add_one, n))\n"
                       "   g = lambda v: v * n\n"
                       "   def h(v):\n"
                       "      return g(v) - 1\n"
                       "   store(p, h(5))\n"),
                  IR("add", "add", "store", "mul", "sub", "store"));
   /* compile-time recursion ends; run-time recursion is refused with the cycle */
   sema_expect_ir(TILE("def fact(n: constexpr):\n"
                       "   if n <= 1:\n"
                       "      return 1\n"
                       "   else:\n"
                       "      return n * fact(n - 1)\n"
                       "@kernel\n"
                       "def k(p: *i32):\n"
                       "   store(p + arange(0, fact(4) // 3), 1)\n"),
                  IR("tile<i32, 8>"));
   sema_expect_errors(TILE("def a(n):\n   return b(n)\n"
                           "def b(n):\n   return a(n)\n"
                           "@kernel\ndef k(p: *i32, n: i32):\n   store(p, a(n))\n"),
                      1, IR("E0255", "<-"));
   sema_expect_errors(TILE("def f(x):\n   return x + bad\n"
                           "@kernel\ndef k(p: *i32, n: i32):\n   store(p, f(n))\n"),
                      1,
                      IR("k.tile:2:15", "unknown name 'bad'", "k.tile:5:13", "in the call of 'f'"));
}

static void
combine_functions(void **state)
{
   (void)state;
   sema_expect_ir(
      TILE("def pair(a, i, b, j):\n"
           "   less = a < b\n"
           "   return where(less, b, a), where(less, j, i)\n"
           "@kernel\n"
           "def k(p: *fp32, q: *i32):\n"
           "   i = arange(0, 64)\n"
           "   v, at = tl.reduce((load(p + i), i), 0, pair)\n"
           "   store(p, v)\n"
           "   store(q, at)\n"
           "   store(p + i, tl.reduce(load(p + i), 0, lambda a, b: a + b))\n"),
      IR("reduce", "lt", "select", "select", "yield", "store", "store", "reduce", "add"));
}

static void
classes(void **state)
{
   (void)state;
   sema_expect_ir(TILE("class Pair(NamedTuple):\n"
                       "   a: tl.tensor\n"
                       "   b: tl.tensor\n"
                       "def swap(p):\n"
                       "   return Pair(p.b, p.a)\n"
                       "@kernel\n"
                       "def k(p: *i32, n: i32):\n"
                       "   q = swap(Pair(n, n + 1))\n"
                       "   for i in range(n):\n"
                       "      q = swap(q)\n"
                       "   store(p, q.a - q[1])\n"),
                  IR("for", "yield", "sub", "store"));
   sema_expect_ir(TILE("@aggregate\n"
                       "class Acc:\n"
                       "   def __init__(self, value, step: constexpr):\n"
                       "      self.value = value\n"
                       "      self.step = step\n"
                       "   def next(self):\n"
                       "      return Acc(self.value + self.step, self.step)\n"
                       "@kernel\n"
                       "def k(p: *i32, n: i32):\n"
                       "   a = Acc(n, 4).next().next()\n"
                       "   store(p + arange(0, a.step * 4), a.value)\n"),
                  IR("add", "add", "tile<i32, 16>"));
}

static void
argument_one(void **state)
{
   (void)state;
   SemaRun r = PY("import triton\nimport triton.language as tl\n"
                  "@triton.jit\n"
                  "def k(p, n):\n"
                  "   tl.store(p, n.to(tl.int64))\n");
   r.signature = "*i64:16, i32:1";
   sema_expect_ir(r, IR("constant 1 : i64", "store"));
}

int test_call(void);
int
test_call(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(binding),           cmocka_unit_test(inlining),
      cmocka_unit_test(combine_functions), cmocka_unit_test(classes),
      cmocka_unit_test(argument_one),
   };
   return cmocka_run_group_tests_name("sema call", tests, NULL, NULL);
}
