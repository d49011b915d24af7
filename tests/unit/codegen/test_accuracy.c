/* What code generation makes of the fp32 functions, and of the fp8 conversions that no instruction
 * does: run on this CPU, with exact models of the approximate instructions and with models that err
 * by the most that the PTX ISA allows.  docs/accuracy.md has the bounds; the GPU's own errors are
 * measured by tests/gpu/accuracy.c over all arguments. */
#include "codegen/host.h"
#include "support/accuracy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a function of two numbers, compiled ---- */
typedef struct Thread {
   TlHostThread host;
   uint64_t out;
} Thread;

typedef struct Compiled {
   TlMem mem;
   jmp_buf oom;
   TlArena *arena;
   TlHostCode *code;
} Compiled;

/* Models have no state: the most an approximate instruction may err, relative, with its sign. */
static double ex2_error, sqrt_error, rsqrt_error, div_error, rcp_error;

static float
flush(float x)
{
   return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x;
}
static float
ex2(float x)
{
   return (float)(exp2((double)x) * (1 + ex2_error));
}
static float
ex2_ftz(float x)
{
   return flush((float)(exp2((double)flush(x)) * (1 + ex2_error)));
}
static float
sqrt_ftz(float x)
{
   return flush((float)(sqrt((double)flush(x)) * (1 + sqrt_error)));
}
static float
rsqrt_ftz(float x)
{
   return flush((float)(1 / sqrt((double)flush(x)) * (1 + rsqrt_error)));
}
static float
rcp_ftz(float x)
{
   return flush((float)(1 / (double)flush(x) * (1 + rcp_error)));
}
static float
div_full(float x, float y) /* fails for divisors above 2^126, as the ISA says */
{
   return fabsf(y) > 0x1p126f && isfinite(y) ? 0 : (float)((double)x / (double)y * (1 + div_error));
}

#define F(name, bits, fn) {name, bits, (void (*)(void))(fn)}
static const TlHostIntrinsic intrinsics[] = {
   F("llvm.fma", 32, fmaf),
   F("llvm.fma", 64, fma),
   F("llvm.rint", 32, rintf),
   F("llvm.nvvm.ex2.approx.f32", 32, ex2),
   F("llvm.nvvm.ex2.approx.ftz.f32", 32, ex2_ftz),
   F("llvm.nvvm.sqrt.approx.ftz.f", 32, sqrt_ftz),
   F("llvm.nvvm.rsqrt.approx.ftz.f", 32, rsqrt_ftz),
   F("llvm.nvvm.rcp.approx.ftz.f", 32, rcp_ftz),
   F("llvm.nvvm.div.full", 32, div_full),
   {NULL, 0, NULL},
};
#undef F

static void
take_result(TlHostThread *t, const TlHostSite *site, unsigned char *frame)
{
   Thread *thread = (Thread *)t;
   const TlType *type = tl_arg(site->op, 0)->type;
   thread->out = tl_load_elem(type->dtype, frame + site->arg_at[0]);
}

static void
compile(Compiled *c, const char *body, const char *from, bool strict)
{
   static const TlHostModels models = {.op = {[TL_OP_DEVICE_PRINT] = take_result},
                                       .intrinsics = intrinsics};
   tl_mem_init(&c->mem);
   c->mem.oom = &c->oom;
   if (setjmp(c->oom))
      fail_msg("out of memory");
   c->arena = tl_arena_new(&c->mem);
   TlSources *sources = tl_sources_new(c->arena);
   TlDiags diags;
   tl_diags_init(&diags, c->arena, sources);
   TlModule *m = tl_module_new(c->arena, tl_types_new(c->arena), tl_strings_new(c->arena), &diags);
   const char *text = tl_arena_printf(c->arena,
                                      "func @k(%%x: %s, %%y: %s) {num_warps = 1, state = lowered%s}"
                                      " {\n%%r = %s\ndevice_print %%r {text = \"r\"}\nreturn\n}\n",
                                      from, from, strict ? ", strict_fp = true" : "", body);
   uint32_t file = tl_sources_add(sources, "k.tir", text, strlen(text));
   bool ok = tl_read_module(m, sources, file);
   c->code = ok ? tl_host_compile(c->arena, m->first_func, sources, &diags, &models) : NULL;
   if (!c->code)
      fail_msg("%s: %s", text, diags.first ? diags.first->text : "no code");
}

static void
release(Compiled *c)
{
   tl_host_free(c->code);
   tl_arena_free(c->arena);
}

static uint64_t
call(const Compiled *c, uint64_t x, uint64_t y)
{
   Thread t = {0};
   uint64_t args[] = {x, y};
   c->code->entry(&t.host, args);
   return t.out;
}

/* ---- errors ---- */
#define EDGE 0x1.fffff8p127 /* within 4 ulp of the largest number */

typedef double Oracle(double x, double y);
#define ONE(name, expr)                                                                            \
   static double o_##name(double x, double y)                                                      \
   {                                                                                               \
      (void)y;                                                                                     \
      return expr;                                                                                 \
   }
ONE(exp, exp(x))
ONE(exp2, exp2(x))
ONE(log, log(x))
ONE(log2, log2(x))
ONE(sin, sin(x))
ONE(cos, cos(x))
ONE(erf, erf(x))
ONE(tanh, tanh(x))
ONE(sqrt, sqrt(x))
ONE(rsqrt, 1 / sqrt(x))
ONE(div, x / y)
#undef ONE

static const struct {
   const char *name, *ir; /* of the table, of the IR */
   Oracle *oracle;
   double limit; /* largest argument that the table speaks of; 0 = all */
   bool flushes; /* triton mode: denormal arguments and results */
} functions[] = {
   {"exp(x)", "exp %x : fp32", o_exp, 0, true},
   {"exp(x), abs(x) <= 1", "exp %x : fp32", o_exp, 1, true},
   {"exp2(x)", "exp2 %x : fp32", o_exp2, 0, true},
   {"log(x)", "log %x : fp32", o_log, 0, false},
   {"log2(x)", "log2 %x : fp32", o_log2, 0, false},
   {"sin(x)", "sin %x : fp32", o_sin, 0, false},
   {"cos(x)", "cos %x : fp32", o_cos, 0, false},
   {"erf(x)", "erf %x : fp32", o_erf, 0, false},
   {"libdevice.tanh(x)", "tanh %x : fp32", o_tanh, 0, false},
   {"sqrt(x)", "sqrt %x : fp32", o_sqrt, 0, true},
   {"sqrt_rn(x)", "sqrt_rn %x : fp32", o_sqrt, 0, false},
   {"rsqrt(x)", "rsqrt %x : fp32", o_rsqrt, 0, true},
   {"x / y", "div %x, %y : fp32", o_div, 0, true},
   {"div_rn(x, y)", "div_rn %x, %y : fp32", o_div, 0, false},
};
enum { NUM = sizeof functions / sizeof functions[0], MODES = 2 };
static const char *const kind[MODES] = {"fp32 triton", "fp32 strict"};

/* Every sign and exponent with a few fractions each: the first, the last and random ones; then
 * arguments where functions end or turn. */
enum { FRACTIONS = 40, NUM_ARGS = 512 * FRACTIONS };

static uint32_t
argument(unsigned i, uint64_t *seed)
{
   static const float turn[] = {
      88.722839f,  88.722832f,  -87.33654f, -103.97208f, -103.9721f,  128,
      -126,        -149,        -150,       0.70710677f, 0.70710683f, 1.4142135f,
      0.99999994f, 1,           1.0000001f, 0.6f,        0.59999996f, 4,
      3.9999998f,  0.78539819f, 1.5707964f, 3.1415927f,  6.2831855f,  16367173.0f * 0x1p72f};
   *seed = *seed * 6364136223846793005u + 1442695040888963407u;
   unsigned which = i % FRACTIONS;
   uint32_t fraction = which == 0 ? 0 : which == 1 ? 0x7FFFFF : (uint32_t)(*seed >> 41);
   if (which == 2) {
      uint32_t bits;
      memcpy(&bits, &turn[i / FRACTIONS % (sizeof turn / sizeof turn[0])], 4);
      return bits;
   }
   return (uint32_t)(i / FRACTIONS) << 23 | fraction;
}

static double
measure(const Compiled *c, unsigned f, bool triton, float at[3])
{
   double worst = 0;
   uint64_t seed = 7 + f;
   for (unsigned i = 0; i < NUM_ARGS; i++) {
      uint32_t x = argument(i, &seed), y = argument((i * 7919 + 11) % NUM_ARGS, &seed);
      float a = as_float(x), b = as_float(y);
      if (functions[f].limit != 0 && !(fabsf(a) <= (float)functions[f].limit))
         continue;
      bool flushes = triton && functions[f].flushes;
      if (flushes && ((a != 0 && fabsf(a) < 0x1p-126f) || (b != 0 && fabsf(b) < 0x1p-126f)))
         continue;
      if (flushes && functions[f].oracle == o_div && !(fabsf(b) < 0x1p126f))
         continue;
      float got = as_float(call(c, x, y));
      double e = ulp32(got, functions[f].oracle((double)a, (double)b), flushes, EDGE);
      if (e > worst) {
         worst = e;
         at[0] = a, at[1] = b, at[2] = got;
      }
   }
   return worst;
}

static void
fp32_functions_keep_their_published_bounds(void **state)
{
   (void)state;
   static char text[ACCURACY_BYTES];
   assert_true(read_bounds(TL_SOURCE_DIR "/docs/accuracy.md", text));
   unsigned failures = 0;
   for (unsigned f = 0; f < NUM; f++)
      for (unsigned mode = 0; mode < MODES; mode++) {
         Compiled c;
         compile(&c, functions[f].ir, "fp32", mode == 1);
         double worst = 0, bound = published(text, functions[f].name, kind[mode]);
         float at[3] = {0}, now[3] = {0};
         for (int sign = -1; sign <= 1; sign++) {
            ex2_error = sign * 0x1.6a09e6p-23; /* 2^-22.5 */
            sqrt_error = sign * 0x1p-23;
            rsqrt_error = sign * 0x1.125p-23; /* 2^-22.9 */
            div_error = sign * 0x1p-23;       /* 2 ulp of the larger kind */
            rcp_error = sign * 0x1p-23;       /* 1 ulp */
            double e = measure(&c, f, mode == 0, now);
            if (e > worst) {
               worst = e;
               memcpy(at, now, sizeof at);
            }
         }
         release(&c);
         if (!(worst <= bound)) {
            print_error("%-20s %s: %.3f ulp, docs/accuracy.md says %g; %a, %a gave %a\n",
                        functions[f].name, kind[mode], worst, bound, (double)at[0], (double)at[1],
                        (double)at[2]);
            failures++;
         }
      }
   assert_int_equal(failures, 0);
}

/* Next to a multiple k of pi/2 the fewest right bits of x are left; the reduction in fp32 ends at
 * 105615, which is k = 67237. */
static void
sin_and_cos_keep_their_bounds_next_to_their_zeros(void **state)
{
   (void)state;
   static char text[ACCURACY_BYTES];
   assert_true(read_bounds(TL_SOURCE_DIR "/docs/accuracy.md", text));
   static const char *const name[] = {"sin(x)", "cos(x)"};
   for (unsigned f = 0; f < 2; f++) {
      Compiled c;
      compile(&c, f ? "cos %x : fp32" : "sin %x : fp32", "fp32", true);
      double bound = published(text, name[f], kind[1]);
      for (int k = -67300; k <= 67300; k++)
         for (uint32_t step = 0; step < 3; step++) {
            float near = (float)(k * 1.57079632679489661923);
            uint32_t x;
            memcpy(&x, &near, 4);
            x += k == 0 ? step : step - 1;
            double a = (double)as_float(x), want = f ? cos(a) : sin(a);
            double e = ulp32(as_float(call(&c, x, 0)), want, false, EDGE);
            if (!(e <= bound))
               fail_msg("%s of %a: %.3f ulp, docs/accuracy.md says %g", name[f], a, e, bound);
         }
      if (f == 0)
         assert_true(call(&c, 0x80000000, 0) == 0x80000000); /* sin(-0) = -0 */
      release(&c);
   }
}

/* ---- fp8 ---- */
static void
fp8_bit_arithmetic_equals_the_exact_model(void **state)
{
   (void)state;
   static const TlDtype kinds[] = {TL_FP8E4NV, TL_FP8E5, TL_FP8E4B15};
   for (unsigned k = 0; k < 3; k++) {
      const char *name = tl_dtype_info[kinds[k]].text;
      char body[80];
      Compiled c;
      snprintf(body, sizeof body, "cast %%x : fp32");
      compile(&c, body, name, false);
      for (uint32_t x = 0; x < 256; x++) {
         uint64_t want = tl_cast_bits(kinds[k], TL_FP32, x, TL_ROUND_NEAREST_EVEN);
         float got = as_float(call(&c, x, 0)), exact = as_float(want);
         assert_true(isnan(exact) ? isnan(got) : memcmp(&got, &exact, 4) == 0);
      }
      release(&c);
      for (unsigned rtz = 0; rtz < 2; rtz++) {
         snprintf(body, sizeof body, "cast %%x%s : %s", rtz ? " {rounding = rtz}" : "", name);
         compile(&c, body, "fp32", false);
         TlRounding rounding = rtz ? TL_ROUND_TOWARD_ZERO : TL_ROUND_NEAREST_EVEN;
         uint64_t seed = 99;
         for (uint32_t i = 0; i < 65536 + NUM_ARGS; i++) { /* all fp16 values, then fp32 */
            uint64_t x = i < 65536 ? tl_cast_bits(TL_FP16, TL_FP32, i, TL_ROUND_NEAREST_EVEN)
                                   : argument(i - 65536, &seed);
            uint64_t want = tl_cast_bits(TL_FP32, kinds[k], x, rounding), got = call(&c, x, 0);
            if (got != want)
               fail_msg("%s%s of %a gave 0x%llx, not 0x%llx", name, rtz ? " rtz" : "",
                        (double)as_float(x), (unsigned long long)got, (unsigned long long)want);
         }
         release(&c);
      }
   }
}

int test_accuracy(void);
int
test_accuracy(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(fp32_functions_keep_their_published_bounds),
      cmocka_unit_test(sin_and_cos_keep_their_bounds_next_to_their_zeros),
      cmocka_unit_test(fp8_bit_arithmetic_equals_the_exact_model),
   };
   return cmocka_run_group_tests_name("accuracy", tests, NULL, NULL);
}
