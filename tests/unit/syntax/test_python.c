/* The .py splitter: what is kept, what is skipped, where errors count. */
#include "fixture.h"

/* The top-level statements of a module, one word each: "function:name", kind otherwise; the reason
 * for a skipped one. */
static void
outline(Fixture *f, const TlNodeList *list, TlSb *out)
{
   (void)f;
   for (size_t i = 0; i < list->len; i++) {
      const TlNode *n = list->data[i];
      tl_sb_str(out, out->len ? " " : "");
      if (n->kind == TL_AST_FUNCTION)
         tl_sb_printf(out, "function:%s", tl_ast_Function(n)->name);
      else
         tl_sb_str(out, tl_ast_kind_text[n->kind]);
   }
}

static void
expect_outline(const char *text, const char *expected, const char *errors)
{
   Fixture f;
   fixture_open(&f);
   TlAstModule *m = parse_named(&f, "t.py", text, strlen(text));
   TlSb out;
   tl_sb_init(&out, f.arena);
   outline(&f, &m->body, &out);
   if (strcmp(tl_sb_cstr(&out), expected) != 0 || strcmp(error_list(&f), errors) != 0)
      fail_msg("for:\n%s\nexpected: %s [%s]\ngot:      %s [%s]", text, expected, errors,
               tl_sb_cstr(&out), error_list(&f));
   fixture_close(&f);
}

static void
host_code_is_never_an_error(void **state)
{
   (void)state;
   expect_outline("match x:\n    case 1 if:\n        y()\nz = 1\n", "skipped assign", "");
   expect_outline("match x:\n    y()\nz = 1\n", "skipped assign", "");
   expect_outline("async def f():\n    await g()\nz = 1\n", "skipped assign", "");
   expect_outline("type X = int\nz = 1\n", "skipped assign", "");
   expect_outline("def f[T](x: T): pass\nz = 1\n", "skipped assign", "");
   expect_outline("def f():\n    await 1\n    x = 2\n", "function:f", "");
   expect_outline("@(yield)\ndef f(): pass\nz = 1\n", "skipped assign", "");
   expect_outline("print 'x'\nz = 1\n", "skipped assign", "");
   expect_outline("x = 3j\ny = 08\nz = $\n", "skipped skipped skipped", "");
   expect_outline("x = (1,\ndef f(): pass\n", "skipped function:f", "");
   expect_outline("x = 'abc\nz = 1\n", "skipped assign", "");
   expect_outline("if x:\n  a\n b\nz = 1\n", "if skipped assign", "");
   expect_outline("else:\n  a\nz = 1\n", "skipped assign", "");
   expect_outline("x: *fp32 = 1\n", "skipped", "");
   expect_outline("@deco\n", "skipped", "");
   expect_outline("", "", "");
}

static void
host_code_is_kept(void **state)
{
   (void)state;
   expect_outline("import triton\nfrom . import x\nBLOCK = 64\n"
                  "if A:\n    B = 1\nelse:\n    B = 2\n"
                  "try:\n    import a\nexcept ImportError:\n    a = None\n"
                  "def host(x): return x\nclass C:\n    y = 1\nwith a as b:\n    c = 1\n"
                  "match x:\n    case 1:\n        @jit\n        def k(): pass\n    case _: y()\n",
                  "import import assign if try function:host class with match", "");
}

static void
kernel_errors_count(void **state)
{
   (void)state;
   expect_outline("@triton.jit\ndef k(x):\n    y = 1 +\n    return y\nz = )\n",
                  "function:k skipped", "3:12 E0131");
   expect_outline("@jit\ndef k(x:\n    y = 1\n", "", "2:6 E0112");
   expect_outline("@triton.jit(debug=True)\ndef k(x):\n    await 1\n", "function:k", "3:5 E0132");
   expect_outline("@numba.jit\ndef k(x):\n    await 1\n", "function:k", "");
   expect_outline("def k(x):\n    await 1\n", "function:k", "");
}

static void
nested_kernels_are_found(void **state)
{
   (void)state;
   expect_outline("match x:\n    case 1 +:\n        @jit\n        def k(): pass\n",
                  "skipped function:k", "");
   expect_outline("async def f():\n    if a:\n        @triton.jit\n        def k():\n"
                  "            pass\n    return k\n",
                  "skipped function:k", "");
   /* inside a host function that can be read, it stays where it is; its errors count */
   expect_outline("def make(n):\n    @triton.jit\n    def k():\n        x = )\n    return k\n",
                  "function:make", "4:13 E0114");
   Fixture f;
   fixture_open(&f);
   const char text[] = "try:\n    @triton.jit\n    def k(): pass\nexcept E:\n    k = None\n"
                       "def make(n):\n    async with n:\n        if 1:\n            @jit\n"
                       "            def h(): pass\n    return h\n";
   TlAstModule *m = parse_named(&f, "t.py", text, sizeof text - 1);
   const TlAstTry *t = tl_ast_Try(m->body.data[0]);
   assert_string_equal(tl_ast_Function(t->body.data[0])->name, "k");
   const TlAstFunction *make = tl_ast_Function(m->body.data[1]);
   assert_int_equal(make->body.len, 3);
   assert_int_equal(make->body.data[0]->kind, TL_AST_SKIPPED);
   assert_string_equal(tl_ast_Function(make->body.data[1])->name, "h");
   assert_int_equal(make->body.data[2]->kind, TL_AST_RETURN);
   fixture_close(&f);
}

static void
bad_decorator_of_a_kernel(void **state)
{
   (void)state;
   Fixture f;
   fixture_open(&f);
   const char text[] = "@a(yield)\n@triton.jit\n@b(1)\ndef k(x): pass\n";
   TlAstModule *m = parse_named(&f, "t.py", text, sizeof text - 1);
   const TlAstFunction *k = tl_ast_Function(m->body.data[0]);
   assert_int_equal(k->decorators.len, 3);
   assert_int_equal(k->decorators.data[0]->kind, TL_AST_SKIPPED);
   assert_string_equal(tl_ast_Skipped(k->decorators.data[0])->reason,
                       "'yield' is not part of the language");
   assert_int_equal(k->decorators.data[1]->kind, TL_AST_ATTRIBUTE);
   assert_int_equal(k->decorators.data[2]->kind, TL_AST_CALL);
   assert_int_equal(f.diags.num_errors, 0);
   assert_int_equal(f.diags.num_remarks, 1);
   assert_int_equal(f.diags.first->code, TL_DIAG_R0101);
   fixture_close(&f);
}

/* A host statement gives the same tree, split out or parsed as part of a .tile file. */
static void
split_equals_whole(void **state)
{
   (void)state;
   const char text[] =
      "import os, sys\n"
      "def autotune_configs(pre=None):\n"
      "    return [Config({'M': m, 'N': n}, num_warps=w, pre_hook=pre)\n"
      "            for m in [64, 128] for n in (32, 64) for w in [4, 8] if m * n <= 8192]\n"
      "@triton.autotune(configs=[c for c in autotune_configs() if keep(c)], key=['M', 'N'],\n"
      "                 prune_configs_by={'early': lambda cfgs, args, **kw: cfgs[:4]})\n"
      "@triton.heuristics({'EVEN': lambda args: args['K'] % args['BK'] == 0})\n"
      "@triton.jit\n"
      "def k(a, b, M: tl.constexpr, *, EVEN: tl.constexpr = True):\n"
      "    if EVEN:\n"
      "        x = tl.load(a)\n"
      "    elif M > 2:\n"
      "        x = tl.load(a, mask=M < 3, other=0.0)\n"
      "    else:\n"
      "        x = 0.\n"
      "    for i in tl.static_range(0, M, 2): x += i\n"
      "    tl.store(b + tl.arange(0, 4)[:, None], x)\n"
      "class Op(torch.autograd.Function):\n"
      "    @staticmethod\n"
      "    def forward(ctx, x):\n"
      "        grid = lambda META: (triton.cdiv(x.numel(), META['B']),)\n"
      "        k[grid](x, x, M=1)\n"
      "        try:\n"
      "            return x\n"
      "        except (A, B) as e:\n"
      "            raise RuntimeError(f'{e!r}') from e\n"
      "        finally:\n"
      "            pass\n"
      "match x, y:\n"
      "    case [1, ({'k': a, **r} as r2), *_] if a: z = a\n"
      "    case A.b(1 | -2.5, d=None) | \"s\":\n"
      "        @jit\n"
      "        def inner(): match = case = 1\n"
      "    case _:\n"
      "        match (z):\n"
      "            case x.y: pass\n"
      "match = case\n"
      "for i in range(3):\n"
      "    if i: continue\n"
      "    else: break\n"
      "else:\n"
      "    z = 1\n"
      "if __name__ == '__main__': main()\n";
   Fixture f;
   fixture_open(&f);
   TlAstModule *split = parse_named(&f, "t.py", text, sizeof text - 1);
   TlAstModule *whole = parse_named(&f, "t.tile", text, sizeof text - 1);
   assert_string_equal(error_list(&f), "");
   TlSb a, b;
   tl_sb_init(&a, f.arena);
   tl_sb_init(&b, f.arena);
   tl_ast_print(f.sources, &split->node, true, &a);
   tl_ast_print(f.sources, &whole->node, true, &b);
   assert_string_equal(tl_sb_cstr(&a), tl_sb_cstr(&b));
   fixture_close(&f);
}

int test_python(void);
int
test_python(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(host_code_is_never_an_error), cmocka_unit_test(host_code_is_kept),
      cmocka_unit_test(kernel_errors_count),         cmocka_unit_test(nested_kernels_are_found),
      cmocka_unit_test(bad_decorator_of_a_kernel),   cmocka_unit_test(split_equals_whole),
   };
   return cmocka_run_group_tests_name("syntax/python", tests, NULL, NULL);
}
