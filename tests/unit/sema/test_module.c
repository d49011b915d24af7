/* Files: module-level names, host code, imports of siblings and packages, decorators. */
#include "support/sema_run.h"

#include <stdio.h>

#define HEAD "import triton\nimport triton.language as tl\n"

static void
globals(void **state)
{
   (void)state;
   SemaRun r =
      PY(HEAD "import torch, os\n"
              "import math\n"
              "from itertools import product\n"
              "LOG2E: tl.constexpr = math.log2(math.e)\n"
              "BLOCK = tl.constexpr(int(os.environ.get('BLOCK', '32')))\n"
              "DTYPE = tl.float16\n"
              "SIZES = [2 ** i for i in range(4)]\n"
              "A, B = 3, 4\n"
              "A += 1\n"
              "PAIRS = list(product([1, 2], [3, 4]))\n"
              "device = torch.cuda.current_device()\n"
              "for i in range(10):\n"
              "   print(device)\n"
              "if __name__ == '__main__':\n"
              "   BLOCK = 1\n"
              "exp = tl.exp if hasattr(tl, 'exp') else None\n"
              "if tuple(int(v) for v in triton.__version__.split('.')[:2]) >= (3, 2):\n"
              "   NEW = 1\n"
              "else:\n"
              "   NEW = 0\n"
              "try:\n"
              "   from triton.language.extra.libdevice import rsqrt\n"
              "except ImportError:\n"
              "   rsqrt = None\n"
              "try:\n"
              "   from no_such_module import fast\n"
              "except ImportError:\n"
              "   fast = tl.sqrt\n"
              "def host(n):\n"
              "   total = 0\n"
              "   while n > 0:\n"
              "      total += n\n"
              "      n -= 1\n"
              "      if total > 100:\n"
              "         break\n"
              "   return total\n"
              "SUM = host(4)\n"
              "@triton.jit\n"
              "def k(p, n: tl.int32):\n"
              "   tl.static_assert(BLOCK == 32 and DTYPE == tl.float16 and SIZES[3] == 8)\n"
              "   tl.static_assert(A + B == 8 and NEW == 1 and PAIRS[3] == (2, 4) and SUM == 10)\n"
              "   tl.static_assert(LOG2E > 1.44 and LOG2E < 1.45)\n"
              "   v = tl.load(p + tl.arange(0, BLOCK))\n"
              "   tl.store(p + tl.arange(0, BLOCK), exp(rsqrt(fast(v))))\n");
   r.signature = "*fp32:16, i32";
   sema_expect_ir(r, IR("sqrt", "rsqrt", "exp", "store"));
}

static void
host_values(void **state)
{
   (void)state;
   SemaRun r = PY(HEAD "import torch\n"
                       "LIMIT = torch.cuda.get_device_properties(0).total_memory\n"
                       "@triton.jit\n"
                       "def k(p, n):\n"
                       "   tl.store(p, n % LIMIT)\n");
   r.signature = "*i32, i32";
   sema_expect_errors(r, 1, IR("E0207", "k.py:7:20"));
   r = PY(HEAD "import torch\n@triton.jit\ndef k(p):\n   x = torch.zeros((16,), tl.float32)\n");
   r.signature = "*i32";
   sema_expect_errors(r, 1, IR("torch.zeros", "did you mean 'tl.zeros(shape, dtype)'?"));
   r = PY(HEAD
          "@triton.jit\ndef k(p, n):\n   if n is None:\n      torch.foo(p)\n   tl.store(p, n)\n");
   r.signature = "*i32, i32";
   sema_expect_ir(r, IR("store"));
}

static void
imports(void **state)
{
   (void)state;
   static const SemaFile files[] = {
      {"/src/pkg/ops/util.py", HEAD "from .math import inc\nfrom ..shared import *\n"
                                    "@triton.jit\ndef bump(x, n: tl.constexpr = WIDTH):\n"
                                    "   return inc(x) + n\n"},
      {"/src/pkg/ops/math.py",
       HEAD "from . import util\n@triton.jit\ndef inc(x):\n   return x + 1\n"},
      {"/src/pkg/shared.py", HEAD "WIDTH = tl.constexpr(8)\n_hidden = 1\n"},
      {"/src/pkg/__init__.py", "from .ops.util import bump as renamed\n"},
      {"/src/pkg/ops/__init__.py", ""},
      {"/inc/torch/__init__.py", "raise ImportError('host code, which is not read')\n"},
      {"/inc/torch/_inductor/runtime/triton_helpers.py",
       HEAD "import torch\n@triton.jit\ndef maximum(a, b):\n   return tl.maximum(a, b)\n"},
      {"/inc/deepspeed/__init__.py", "raise ImportError('host code, which is not read')\n"},
      {"/inc/deepspeed/ops/triton_ops/_triton.py",
       "try:\n   import triton\n   import triton.language as tl\n   HAS = True\n"
       "except Exception:\n   triton = tl = None\n   HAS = False\n"},
      {"/inc/helpers.tile", "def neg(x):\n   return -x\n"},
      {NULL, NULL},
   };
   SemaRun r = {.name = "/src/pkg/ops/main.py",
                .files = files,
                .include_dir = "/inc",
                .signature = "*i32, i32",
                .source = HEAD "import pkg.ops.math as m\n"
                               "import pkg.ops.util\n"
                               "from pkg import renamed\n"
                               "from .util import bump\n"
                               "from helpers import neg\n"
                               "@triton.jit\n"
                               "def k(p, n):\n"
                               "   tl.store(p, bump(n))\n"
                               "   tl.store(p, neg(m.inc(n)))\n"
                               "   tl.store(p, renamed(n))\n"
                               "   tl.store(p, pkg.ops.util.bump(n, 3))\n"};
   sema_expect_ir(
      r, IR("constant 8", "store", "sub", "store", "constant 8", "store", "constant 3", "store"));
   r.source = HEAD "import torch._inductor.runtime.triton_helpers as h\n"
                   "from torch._inductor.runtime import triton_helpers\n"
                   "from torch._inductor.runtime.triton_helpers import maximum\n"
                   "@triton.jit\n"
                   "def k(p, n):\n"
                   "   tl.store(p, h.maximum(n, 3) + triton_helpers.maximum(n, 4))\n"
                   "   tl.store(p, maximum(n, 5))\n";
   sema_expect_ir(r, IR("constant 3", "constant 4", "store", "constant 5", "store"));
   r.source = "from deepspeed.ops.triton_ops._triton import HAS, tl, triton\n"
              "if HAS:\n"
              "   @triton.jit\n"
              "   def k(p, n):\n"
              "      tl.store(p, tl.program_id(0))\n";
   sema_expect_ir(r, IR("program_id", "store"));
   r.source =
      HEAD "from .util import missing\n@triton.jit\ndef k(p, n):\n   tl.store(p, missing(n))\n";
   sema_expect_errors(r, 1, IR("E0201", "has no name 'missing'", "it is needed here"));
   r.source = HEAD "from .nowhere import f\n@triton.jit\ndef k(p, n):\n   tl.store(p, f(n))\n";
   sema_expect_errors(r, 1, IR("no file provides the module '.nowhere'"));
}

static void
decorators(void **state)
{
   (void)state;
   SemaRun r =
      PY(HEAD "def configs():\n"
              "   out = []\n"
              "   for b in [64, 128]:\n"
              "      out.append(triton.Config({'BLOCK': b}, num_warps=8, num_stages=2))\n"
              "   return out\n"
              "@libentry()\n"
              "@triton.autotune(configs=configs(), key=['n'])\n"
              "@triton.heuristics({'EVEN': lambda args: args['BLOCK'] % 2 == 0,\n"
              "                    'HAS_Q': lambda args: args['q'] is not None,\n"
              "                    'num_stages': lambda args: 4 if args['BLOCK'] > 32 else 2})\n"
              "@triton.jit(do_not_specialize=['n'])\n"
              "def k(p, q, n, BLOCK: tl.constexpr, EVEN: tl.constexpr, HAS_Q: tl.constexpr):\n"
              "   if EVEN and not HAS_Q:\n"
              "      tl.store(p + tl.arange(0, BLOCK), n)\n");
   r.signature = "*i32, i32";
   sema_expect_errors(r, 1, IR("E0269")); /* q is a run-time parameter: it takes an entry */
   r.signature = "*i32, None, i32";
   sema_expect_ir(r, IR("HAS_Q = \"False\"", "store"));
   r.signature = NULL;
   r = (SemaRun){.name = r.name, .source = r.source, .signature = "*i32, *i32, i32"};
   sema_run(&r);
   assert_non_null(r.func);
   assert_int_equal(r.func->num_warps, 8);
   assert_int_equal(r.func->num_stages, 4);
   assert_string_equal(r.func->params[3].constant, "64");
   assert_string_equal(r.func->params[4].constant, "True");
   assert_string_equal(r.func->params[5].constant, "True");
   sema_run_free(&r);
   r.signature = "*i32, None, i32, 32, True, False";
   sema_expect_ir(r, IR("tile<i32, 32>", "store"));
}

/* A decorator is what its name is bound to, not what the name reminds of. */
static void
caches_of_other_modules(void **state)
{
   (void)state;
   static const SemaFile files[] = {
      {"/src/twice.py", "def cache(f):\n   return lambda *a: 2 * f(*a)\n"},
      {"/src/again.py", "from functools import lru_cache as cache\n"},
      {NULL, NULL},
   };
   static const char *const body = "@cache\ndef size():\n   return 64\n"
                                   "B = tl.constexpr(size())\n@triton.jit\ndef k(p):\n"
                                   "   tl.store(p + tl.arange(0, B), 1.0)\n";
   SemaRun r = {.name = "/src/main.py", .files = files, .signature = "*fp32"};
   char source[400];
   r.source = source;
   snprintf(source, sizeof source, HEAD "from twice import cache\n%s", body);
   sema_expect_ir(r, IR("end = 128"));
   snprintf(source, sizeof source, HEAD "from again import cache\n%s", body);
   sema_expect_ir(r, IR("end = 64"));
   snprintf(source, sizeof source, HEAD "from functools import cache\n%s", body);
   sema_expect_ir(r, IR("end = 64"));
   snprintf(source, sizeof source, HEAD "from nowhere import cache\n%s", body);
   sema_expect_errors(r, 1, IR("a kernel cannot use B = tl.constexpr(size())"));
   snprintf(source, sizeof source, HEAD "import nowhere as n\ncache = n.lru_cache\n%s", body);
   sema_expect_errors(r, 1, IR("a kernel cannot use B = tl.constexpr(size())"));
}

int test_module(void);
int
test_module(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(globals),
      cmocka_unit_test(host_values),
      cmocka_unit_test(imports),
      cmocka_unit_test(decorators),
      cmocka_unit_test(caches_of_other_modules),
   };
   return cmocka_run_group_tests_name("sema module", tests, NULL, NULL);
}
