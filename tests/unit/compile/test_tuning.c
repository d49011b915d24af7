/* What @autotune says, through the public listing: configurations as written, less what defines
 * say, and pruned with what is known of the launch. */
#include "tilec/tilec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

static const char source[] =
   "SIZES = [32, 64, 128]\n"
   "def few(configs, named, **kw):\n"
   "    assert named['x'].itemsize == 2\n"
   "    return [c for c in configs if c.kwargs['BLOCK'] <= named['n'] and c.num_warps > 1]\n"
   "def cost(n, BLOCK, num_warps, **kw):\n"
   "    return abs(BLOCK - n) * 10 + num_warps\n"
   "def broken(configs, named):\n"
   "    return torch.prune(configs)\n"
   "@autotune(configs=[Config({'BLOCK': b, 'ACT': \"a'b\"}, num_warps=w) for b in SIZES\n"
   "                   for w in (1, 2, 4)] + [Config({'BLOCK': 16})], key=['n'],\n"
   "          prune_configs_by={'early_config_prune': few, 'perf_model': cost, 'top_k': 2},\n"
   "          reset_to_zero=['y'], restore_value=['x'], warmup=3, rep=7)\n"
   "@kernel(num_warps=8, num_stages=5, grid=(cdiv(n, BLOCK),))\n"
   "def scale(x: *fp16, y: *fp16, n: i32, BLOCK: constexpr, ACT: constexpr):\n"
   "    store(y, load(x))\n"
   "@autotune(configs=[Config({'B': 1}), Config({'B': 2})], key=[],\n"
   "          prune_configs_by={'early_config_prune': broken}, post_hook=after)\n"
   "@kernel\n"
   "def other(x: *fp16, B: constexpr):\n"
   "    store(x, 1.0)\n"
   "@heuristics({'ODD': lambda args: args['n'] % 2 == 1, 'num_warps': lambda args: 8})\n"
   "@heuristics({'BIG': lambda args: args['ODD'] and args['B'] > 10, 'LOST': lambda a: "
   "a['none']})\n"
   "@kernel\n"
   "def chosen(x, n, B: constexpr, ODD: constexpr, BIG: constexpr, LOST: constexpr):\n"
   "    store(x, 1.0)\n"
   "@kernel\n"
   "def plain(x: *fp16):\n"
   "    store(x, 1.0)\n";

static char remarks[2048];

static void
on_diag(void *user, const TilecDiag *d)
{
   (void)user;
   size_t n = strlen(remarks);
   snprintf(remarks + n, sizeof remarks - n, "%s: %s\n", d->code, d->text);
}

static TilecListing *listing;

static const TilecTuning *
tuning_of(const char *kernel, const TilecCompileOptions *more)
{
   TilecSessionOptions so = {.struct_size = sizeof so, .on_diag = on_diag};
   TilecSession *s;
   TilecCompileOptions o = *more;
   o.struct_size = sizeof o;
   o.source = source;
   o.source_bytes = TILEC_STRLEN;
   o.file = "t.tile";
   o.kernel = kernel;
   remarks[0] = 0;
   tilec_listing_free(listing);
   assert_int_equal(tilec_session_new(&so, &s), TILEC_OK);
   assert_int_equal(tilec_list_kernels(s, &o, &listing), TILEC_OK);
   tilec_session_free(s);
   for (uint32_t i = 0; i < tilec_listing_count(listing); i++)
      if (strcmp(tilec_listing_kernel(listing, i)->name, kernel) == 0)
         return tilec_listing_kernel(listing, i)->tuning;
   fail();
   return NULL;
}

static void
configurations_are_listed(void **state)
{
   (void)state;
   const TilecTuning *t = tuning_of("scale", &(TilecCompileOptions){0});
   assert_non_null(t);
   assert_int_equal(t->num_configs, 10);
   assert_string_equal(t->configs[4].text, "BLOCK=64, ACT='a\\'b', num_warps=2, num_stages=5");
   assert_int_equal(t->configs[4].num_values, 2);
   assert_string_equal(t->configs[4].values[0].name, "BLOCK");
   assert_string_equal(t->configs[4].values[0].value, "64");
   assert_int_equal(t->configs[4].num_warps, 2);
   assert_int_equal(t->configs[9].num_warps, 8); /* not said: the kernel's own */
   assert_int_equal(t->num_keys, 1);
   assert_string_equal(t->keys[0], "n");
   assert_string_equal(t->reset_to_zero[0], "y");
   assert_string_equal(t->restore_value[0], "x");
   assert_int_equal(t->warmup_ms, 3);
   assert_int_equal(t->rep_ms, 7);
   assert_null(tuning_of("plain", &(TilecCompileOptions){0}));
}

static void
defines_win(void **state)
{
   (void)state;
   const TilecDefine block = {"BLOCK", "256"};
   const TilecTuning *t =
      tuning_of("scale", &(TilecCompileOptions){.defines = &block, .num_defines = 1});
   assert_int_equal(t->num_configs, 4); /* warps 1, 2, 4; and the last one, 8 and no ACT */
   assert_string_equal(t->configs[0].text, "ACT='a\\'b', num_warps=1, num_stages=5");
   t = tuning_of("scale", &(TilecCompileOptions){
                             .defines = &block, .num_defines = 1, .num_warps = 2, .num_stages = 3});
   assert_int_equal(t->num_configs, 2);
   assert_string_equal(t->configs[0].text, "ACT='a\\'b', num_warps=2, num_stages=3");
}

static void
pruned_with_values(void **state)
{
   (void)state;
   static const char hook[] =
      "R0204: 'post_hook' is host code that runs around launches; it has no effect\n";
   const TilecDefine values[] = {{"x", "*fp16"}, {"y", "*fp16"}, {"n", "70"}};
   const TilecTuning *t =
      tuning_of("scale", &(TilecCompileOptions){.values = values, .num_values = 3});
   assert_int_equal(t->num_configs, 2); /* cheapest two: |64 - 70| with 2 and 4 warps */
   assert_string_equal(t->configs[0].text, "BLOCK=64, ACT='a\\'b', num_warps=2, num_stages=5");
   assert_string_equal(t->configs[1].text, "BLOCK=64, ACT='a\\'b', num_warps=4, num_stages=5");
   assert_string_equal(remarks, hook); /* nothing of this kernel */
   t = tuning_of("other", &(TilecCompileOptions){.values = values, .num_values = 3});
   assert_int_equal(t->num_configs, 2); /* a function that cannot be evaluated prunes nothing */
   assert_non_null(strstr(remarks, "R0203: 'early_config_prune' of the tuner cannot be evaluated"));
   assert_non_null(strstr(remarks, hook));
}

static void
heuristics_are_evaluated(void **state)
{
   (void)state;
   const TilecDefine values[] = {{"x", "*fp16"}, {"n", "71"}}, b = {"B", "16"};
   TilecCompileOptions o = {.values = values, .num_values = 2, .defines = &b, .num_defines = 1};
   assert_null(tuning_of("chosen", &o));
   const TilecKernelDecl *d = NULL;
   for (uint32_t i = 0; i < tilec_listing_count(listing); i++)
      if (strcmp(tilec_listing_kernel(listing, i)->name, "chosen") == 0)
         d = tilec_listing_kernel(listing, i);
   assert_non_null(d);
   assert_true(d->params[1].value_matters && !d->params[0].value_matters);
   assert_true(!d->params[3].value_matters); /* a constexpr: part of the source's options */
   assert_int_equal(d->num_heuristics, 3);   /* outer ones first, as in Triton: BIG sees ODD */
   assert_string_equal(d->heuristics[2].name, "BIG");
   assert_string_equal(d->heuristics[2].value, "True");
   assert_string_equal(d->heuristics[0].name, "ODD");
   assert_string_equal(d->heuristics[0].value, "True");
   assert_string_equal(d->heuristics[1].name, "num_warps");
}

static void
hash_is_of_the_source(void **state)
{
   (void)state;
   uint64_t a = tuning_of("scale", &(TilecCompileOptions){0})->source_hash;
   uint64_t b = tuning_of("other", &(TilecCompileOptions){0})->source_hash;
   assert_true(a == b && a);
   tilec_listing_free(listing);
   listing = NULL;
}

int test_tuning(void);

int
test_tuning(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(configurations_are_listed), cmocka_unit_test(defines_win),
      cmocka_unit_test(pruned_with_values),        cmocka_unit_test(heuristics_are_evaluated),
      cmocka_unit_test(hash_is_of_the_source),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}
