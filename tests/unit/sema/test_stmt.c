/* Statements: assignments, run-time and compile-time if, loops, early returns. */
#include "support/sema_run.h"

static void
vector_add(void **state)
{
   (void)state;
   sema_expect_ir(
      TILE("@kernel(num_warps=8, grid=(cdiv(n, BLOCK),))\n"
           "def add(x: *fp32, y: *fp32, out: *fp32, n: i32:16, BLOCK: constexpr = 1024):\n"
           "   \"\"\"adds\"\"\"\n"
           "   offs = program_id(0) * BLOCK + arange(0, BLOCK)\n"
           "   mask = offs < n\n"
           "   store(out + offs, load(x + offs, mask) + load(y + offs, mask), mask)\n"),
      IR("add", "program_id", "arange", "lt", "load", "load", "add", "store", "return"));
}

static void
unpacking(void **state)
{
   (void)state;
   sema_expect_ir(TILE("@kernel\n"
                       "def k(p: *i32, a: i32, b: i32):\n"
                       "   a, b = b, a\n"
                       "   (c, d), *e = (a, b), 3, 4\n"
                       "   x = y = c + 1\n"
                       "   x += d\n"
                       "   store(p, x + y + e[1])\n"),
                  IR("add %b", "store"));
   sema_expect_errors(TILE("@kernel\ndef k(a: i32):\n   x, y = a, a, a\n   z = x + 1\n"), 1,
                      IR("E0229", "2 targets", "3 items"));
   SemaRun triton = {.name = "k.py",
                     .signature = "*i32, i32",
                     .source = "import triton\nimport triton.language as tl\n@triton.jit\n"
                               "def k(p, a):\n   x, y = a + 1, a + 2, a + 3\n"
                               "   tl.store(p, x * y)\n"};
   sema_expect_ir(triton, IR("constant 1", "constant 2", "mul", "store"));
}

/* A promise stated for nothing is of the value it is made of, whatever the call names. */
static void
promise(void **state)
{
   (void)state;
#define SECOND "@jit\ndef second(a, b):\n   return multiple_of(b, 8)\n"
   sema_expect_ir(TILE("@kernel\ndef k(p: *i32, x: i32):\n   multiple_of(x, 8)\n   store(p, x)\n"),
                  IR("hint %x", "store %p, %x_"));
   sema_expect_ir(TILE(SECOND "@kernel\ndef k(p: *i32, x: i32, y: i32):\n   second(x, y)\n"
                              "   store(p, x)\n"),
                  IR("hint %y", "store %p, %x"));
   sema_expect_ir(TILE("@kernel\ndef k(p: *i32, x: i32):\n   multiple_of(x, (x := 8))\n"
                       "   store(p, x)\n"),
                  IR("constant 8", "store %p, %1"));
}

/* What only the run decides is no constant: neither False nor 'no case fits'. */
static void
known_at_run_time_only(void **state)
{
   (void)state;
   static const struct {
      const char *condition, *error;
   } rows[] = {
      {"n > 0 is True", NULL}, /* a chain: `0 is True` is known */
      {"(n > 0) is True", "E0214"},
      {"n is not 1", "E0214"},
      {"(n, 2) == (1, 2)", "E0259"},
      {"1 in (n, 2)", "E0259"},
      {"{'a': n} != {'a': 1}", "E0259"},
      {"{1: n}[n]", "E0301"},
      {"n is None", NULL},
      {"(n, 2) == (n, 2)", NULL},
      {"n in (None, 'a')", "E0214"},
   };
   for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
      char text[128];
      snprintf(text, sizeof text,
               "@kernel\ndef k(p: *i32, n: i32):\n   if %s:\n      store(p, 1)\n",
               rows[i].condition);
      if (rows[i].error)
         sema_expect_errors(TILE(text), 1, IR(rows[i].error));
      else
         sema_expect_ir(TILE(text), IR("func @k"));
   }
   sema_expect_errors(TILE("@kernel\ndef k(p: *i32, n: i32):\n   match n > 0:\n"
                           "      case True:\n         store(p, 1)\n"),
                      1, IR("E0246", "run time"));
   sema_expect_ir(TILE("@kernel\ndef k(p: *i32, n: i32):\n   match n, p:\n"
                       "      case (None, _) | (_, None):\n         store(p, 1)\n"
                       "      case _:\n         store(p, 2)\n"),
                  IR("constant 2", "store"));
}

static void
compile_time_if_signature(void **state)
{
   (void)state;
   SemaRun r = TILE("@kernel\n"
                    "def k(p, q, MODE: constexpr):\n"
                    "   if q is not None:\n"
                    "      store(q, undefined(1, 2))\n"
                    "   if MODE == 'a':\n"
                    "      v = 1\n"
                    "   elif MODE == 'b':\n"
                    "      v = 2\n"
                    "   else:\n"
                    "      raise ValueError('no such mode')\n"
                    "   store(p, v)\n");
   r.signature = "*i32, None, 'b'";
   sema_expect_ir(r, IR("constant 2", "store"));
   r.signature = "*i32, None, 'c'";
   sema_expect_errors(r, 1, IR("E0237", "no such mode"));
}

static void
runtime_if(void **state)
{
   (void)state;
   sema_expect_ir(TILE("@kernel\n"
                       "def k(p: *i32, n: i32):\n"
                       "   x = 1\n"
                       "   y = n\n"
                       "   if n > 3:\n"
                       "      x = n * 2\n"
                       "   elif n > 1:\n"
                       "      y = 7\n"
                       "   store(p, x)\n"
                       "   store(p + 1, y)\n"),
                  IR("if", "if", "yield", "yield", "store", "store"));
   /* one side only: unusable after, but only when used */
   sema_expect_ir(
      TILE("@kernel\ndef k(p: *i32, n: i32):\n   if n > 3:\n      t = 1\n      store(p, t)\n"),
      IR("if", "store"));
   sema_expect_errors(TILE("@kernel\n"
                           "def k(p: *i32, n: i32):\n"
                           "   if n > 3:\n"
                           "      t = 1\n"
                           "   store(p, t)\n"),
                      1, IR("k.tile:5:13", "E0203", "'t'", "k.tile:4:7", "k.tile:3:4"));
   sema_expect_errors(TILE("@kernel\n"
                           "def k(p: *i32, n: i32):\n"
                           "   if n > 3:\n"
                           "      t = 1\n"
                           "   else:\n"
                           "      t = 1.5\n"
                           "   store(p, t)\n"),
                      1, IR("k.tile:7:13", "E0204", "i32", "fp32"));
   sema_expect_errors(TILE("@kernel\n"
                           "def k(p: *i32, n: i32):\n"
                           "   if arange(0, 16) < n:\n"
                           "      t = 1\n"
                           "   store(p, t)\n"),
                      1, IR("E0289", "tile<i1, 16>"));
}

static void
loops(void **state)
{
   (void)state;
   sema_expect_ir(TILE("@kernel\n"
                       "def k(p: *fp32, n: i32, BLOCK: constexpr = 64):\n"
                       "   acc = zeros((BLOCK,), fp32)\n"
                       "   q = p\n"
                       "   last = 0\n"
                       "   for i in range(0, n, 2):\n"
                       "      t = load(q + arange(0, BLOCK))\n"
                       "      acc += t\n"
                       "      q += BLOCK\n"
                       "      last = i\n"
                       "   store(p + arange(0, BLOCK), acc + last)\n"),
                  IR("for", "load", "yield", "store"));
   /* a known start value that the live part of the body leaves alone stays known */
   sema_expect_ir(TILE("@kernel\n"
                       "def k(p: *fp32, n: i32, FLAG: constexpr = False):\n"
                       "   size = 32\n"
                       "   for i in range(n):\n"
                       "      store(p + arange(0, size), 1.0)\n"
                       "      if FLAG:\n"
                       "         size = n\n"),
                  IR("for", "tile<i32, 32>"));
   sema_expect_errors(TILE("@kernel\n"
                           "def k(p: *fp32, n: i32):\n"
                           "   acc = 0\n"
                           "   for i in range(n):\n"
                           "      acc += 1.5\n"
                           "   store(p, acc)\n"),
                      1, IR("k.tile:5:7", "E0245", "'acc'", "i32", "fp32", "k.tile:3:4"));
   sema_expect_errors(TILE("@kernel\n"
                           "def k(p: *fp32, n: i32):\n"
                           "   for i in range(n):\n"
                           "      t = 1.5\n"
                           "   store(p, t)\n"),
                      1, IR("E0205", "'t'"));
   sema_expect_errors(TILE("@kernel\ndef k(n: i32, x: fp32):\n   for i in range(x):\n      pass\n"),
                      1, IR("E0302"));
   sema_expect_ir(TILE("@kernel\n"
                       "def k(p: *i32, n: i32):\n"
                       "   for i in range(n - 1, -1, -1):\n"
                       "      for j in range(i):\n"
                       "         store(p + i, j)\n"),
                  IR("constant -1", "for", "for", "store"));
   sema_expect_ir(TILE("@kernel\n"
                       "def k(p: *i64, n: i64):\n"
                       "   for i in tl.range(0, n, num_stages=4, loop_unroll_factor=2):\n"
                       "      store(p, i)\n"),
                  IR(": i64", "step", "num_stages = 4", "unroll = 2"));
}

static void
static_loops(void **state)
{
   (void)state;
   sema_expect_ir(TILE("@kernel\n"
                       "def k(p: *i32, n: i32):\n"
                       "   sizes = [16, 32]\n"
                       "   for i in static_range(2):\n"
                       "      store(p + arange(0, sizes[i]), i)\n"
                       "   for s in (64, 128):\n"
                       "      if s == 128:\n"
                       "         break\n"
                       "      store(p + arange(0, s), 0)\n"),
                  IR("tile<i32, 16>", "tile<i32, 32>", "tile<i32, 64>", "return"));
   sema_expect_errors(
      TILE("@kernel\ndef k(p: *i32):\n   for i in static_range(5000):\n      store(p, i)\n"), 1,
      IR("E0244", "4096"));
}

static void
whiles(void **state)
{
   (void)state;
   sema_expect_ir(TILE("@kernel\n"
                       "def k(p: *i32, n: i32):\n"
                       "   i = 0\n"
                       "   while i < n:\n"
                       "      store(p + i, i)\n"
                       "      i += 1\n"
                       "   store(p, i)\n"),
                  IR("while", "lt", "condition", "store", "yield", "store"));
   sema_expect_errors(TILE("@kernel\ndef k(p: *i32):\n   while True:\n      store(p, 1)\n"), 1,
                      IR("E0250"));
   sema_expect_ir(TILE("@kernel\ndef k(p: *i32):\n   while False:\n      undefined()\n"),
                  IR("return"));
}

static void
early_return(void **state)
{
   (void)state;
   sema_expect_ir(TILE("@kernel\n"
                       "def k(p: *i32, n: i32):\n"
                       "   x = 1\n"
                       "   if n < 0:\n"
                       "      return\n"
                       "   x += n\n"
                       "   if n > 100:\n"
                       "      if n > 200:\n"
                       "         return\n"
                       "      x += 1\n"
                       "   store(p, x)\n"),
                  IR("if", "if", "return"));
   sema_expect_ir(TILE("def pick(a, b):\n"
                       "   if a > b:\n"
                       "      return a\n"
                       "   b += 1\n"
                       "   return b\n"
                       "@kernel\n"
                       "def k(p: *i32, n: i32):\n"
                       "   store(p, pick(n, 3) + 1)\n"),
                  IR("if", "yield", "yield", "store"));
   sema_expect_errors(TILE("def pick(a):\n"
                           "   if a > 1:\n"
                           "      return a\n"
                           "   return 1.5\n"
                           "@kernel\n"
                           "def k(p: *i32, n: i32):\n"
                           "   store(p, pick(n))\n"),
                      1, IR("E0241", "i32", "fp32"));
   sema_expect_errors(TILE("@kernel\n"
                           "def k(p: *i32, n: i32):\n"
                           "   for i in range(n):\n"
                           "      for j in static_range(2):\n"
                           "         if i > j:\n"
                           "            return\n"
                           "      store(p, i)\n"),
                      1, IR("E0234", "k.tile:6:13"));
   sema_expect_ir(TILE("@kernel\n"
                       "def k(p: *i32, n: i32):\n"
                       "   for i in range(n):\n"
                       "      if i > 2:\n"
                       "         return\n"
                       "      store(p, i)\n"
                       "   store(p, 7)\n"),
                  IR("while", "condition", "if", "store", "if", "store"));
}

static void
continues(void **state)
{
   (void)state;
   sema_expect_ir(TILE("@kernel\n"
                       "def k(p: *i32, n: i32):\n"
                       "   acc = 0\n"
                       "   for i in range(n):\n"
                       "      if i % 2 == 0:\n"
                       "         continue\n"
                       "      acc += i\n"
                       "   store(p, acc)\n"),
                  IR("for", "if", "yield", "add", "yield", "yield", "store"));
   sema_expect_ir(TILE("@kernel\n"
                       "def k(p: *i32, n: i32):\n"
                       "   for i in range(n):\n"
                       "      if i > 2:\n"
                       "         break\n"
                       "      store(p, i)\n"),
                  IR("while", "lt", "and", "condition", "if", "store", "yield"));
   sema_expect_errors(TILE("@kernel\n"
                           "def k(p: *i32, n: i32):\n"
                           "   while True:\n"
                           "      if False:\n"
                           "         break\n"
                           "      store(p, n)\n"),
                      1, IR("E0250", "k.tile:3:10"));
   sema_expect_errors(TILE("@kernel\n"
                           "def k(p: *i32, n: i32):\n"
                           "   break\n"
                           "   store(p, 1)\n"),
                      1, IR("E0278", "k.tile:3:4"));
   sema_expect_errors(TILE("@kernel\n"
                           "def k(p: *i32, n: i32):\n"
                           "   if n > 2:\n"
                           "      continue\n"
                           "   store(p, 1)\n"),
                      1, IR("E0278", "k.tile:4:7"));
}

/* Objects and lists next to run-time control flow. */
static void
mutation(void **state)
{
   (void)state;
   const char *acc = "class Acc:\n   def __init__(self, v):\n      self.v = v\n";
   char text[600];
   snprintf(text, sizeof text,
            "%s@kernel\ndef k(p: *i32, n: i32):\n   a = Acc(n)\n   for i in range(n):\n"
            "      a.v = a.v + i\n      if i > 3:\n         a.v = a.v * 2\n   store(p, a.v)\n",
            acc);
   sema_expect_ir(TILE(text), IR("for", "add", "if", "mul", "yield", "yield", "yield", "store"));
   sema_expect_ir(
      TILE("@kernel\ndef k(p: *i32, n: i32):\n   l = []\n"
           "   for i in static_range(3):\n      l.append(n + i)\n"
           "   for j in range(n):\n      m = [j]\n      m.append(n)\n      store(p, m[1])\n"
           "   store(p, l[2])\n"),
      IR("add", "for", "store", "store"));
   sema_expect_errors(TILE("@kernel\ndef k(p: *i32, n: i32):\n   l = []\n"
                           "   for j in range(n):\n      l.append(j)\n   store(p, l[0])\n"),
                      1, IR("E0275", "k.tile:5:7"));
   sema_expect_ir(TILE("@kernel\ndef k(p: *i32, n: i32):\n   go = n > 1\n   i = 0\n"
                       "   while go:\n      i += 1\n      store(p, i)\n"),
                  IR("while", "condition"));
}

static void
slips(void **state)
{
   (void)state;
   sema_expect_errors(TILE("@kernel\ndef k(p: *i32):\n   v = arange(0, 16)\n   v[0] = 1\n"), 1,
                      IR("E0230", "tl.where"));
   sema_expect_errors(TILE("@kernel\ndef k(p: *i32):\n   p[0] = 1\n"), 1, IR("E0230", "tl.store"));
   sema_expect_errors(TILE("@kernel\ndef k(p: *i32, n: i32):\n   v = zeros((n,), fp32)\n"), 1,
                      IR("E0301", "got i32"));
   sema_expect_errors(TILE("@kernel\ndef k(p: *i32):\n   return 3\n"), 1, IR("E0235"));
   sema_expect_errors(TILE("@kernel\ndef k(p: *i32):\n   store(p, blok)\n   store(p, bloc)\n"), 2,
                      IR("E0200"));
   sema_expect_errors(TILE("@kernel\ndef k(p: *i32):\n   x = und1\n   y = x + 1\n   store(p, y)\n"),
                      1, IR("und1"));
   sema_expect_errors(
      TILE("@kernel\ndef k(p: *i32):\n   try:\n      store(p, 1)\n   finally:\n      pass\n"), 1,
      IR("E0239"));
   sema_expect_errors(
      TILE("@kernel\ndef k(p: *i32, n: i32):\n   with n as m:\n      store(p, m)\n"), 1,
      IR("E0239", "'with'"));
}

int test_stmt(void);
int
test_stmt(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(vector_add),
      cmocka_unit_test(unpacking),
      cmocka_unit_test(promise),
      cmocka_unit_test(known_at_run_time_only),
      cmocka_unit_test(compile_time_if_signature),
      cmocka_unit_test(runtime_if),
      cmocka_unit_test(loops),
      cmocka_unit_test(static_loops),
      cmocka_unit_test(whiles),
      cmocka_unit_test(early_return),
      cmocka_unit_test(continues),
      cmocka_unit_test(mutation),
      cmocka_unit_test(slips),
   };
   return cmocka_run_group_tests_name("sema stmt", tests, NULL, NULL);
}
