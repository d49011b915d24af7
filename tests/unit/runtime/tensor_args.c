/* Tensors as arguments of kernels that take descriptors, on both host executors through the real
 * compiler: values, one variant a block, and what is refused.  And what kernels print there. */
#include "tilec/runtime.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 7, COLUMNS = 20, PITCH = 24 };

static const char source[] =
   "@kernel\n"
   "def twice(x, n, y, H: constexpr = 4, W: constexpr = 16):\n"
   "    at = [program_id(0) * x.block_shape[0], program_id(1) * x.block_shape[1]]\n"
   "    y.store(at, x.load(at) * 2 + n)\n";

typedef struct Fixture {
   TilecRuntime *rt;
   TilecModule *module;
   TilecKernel *kernel;
   _Alignas(16) float x[ROWS][PITCH], y[ROWS][PITCH];
} Fixture;

static void
open_kernel(Fixture *f, TilecExecutor on)
{
   TilecRuntimeOptions o = {.struct_size = sizeof o, .executor = on};
   TilecJitOptions j = {.struct_size = sizeof j};
   TilecSource s = {.struct_size = sizeof s,
                    .file = "twice.tile",
                    .source = source,
                    .source_bytes = TILEC_STRLEN};
   assert_int_equal(tilec_runtime_open(&o, &f->rt), TILEC_OK);
   assert_int_equal(tilec_jit_attach(f->rt, &j), TILEC_OK);
   assert_int_equal(tilec_module_from_source(f->rt, &s, &f->module), TILEC_OK);
   assert_int_equal(tilec_module_kernel(f->module, NULL, &f->kernel), TILEC_OK);
   for (int i = 0; i < ROWS; i++)
      for (int k = 0; k < PITCH; k++) {
         f->x[i][k] = (float)(i * 100 + k);
         f->y[i][k] = -1;
      }
}

static void
close_kernel(Fixture *f)
{
   tilec_module_free(f->module);
   tilec_runtime_close(f->rt);
}

static TilecTensor
tensor(float *at, uint32_t height, uint32_t width)
{
   return (TilecTensor){.base = tilec_ptr(TILEC_FP32, at, sizeof(float) * ROWS * PITCH),
                        .rank = 2,
                        .shape = {ROWS, COLUMNS},
                        .strides = {PITCH, 1},
                        .block = {height, width}};
}

static TilecStatus
launch(Fixture *f, const TilecTensor *x, const TilecTensor *y)
{
   TilecArg args[] = {tilec_tensor(x), TILEC_ARG(3), tilec_tensor(y)};
   TilecLaunch l = {.grid = {(ROWS + x->block[0] - 1) / x->block[0],
                             (COLUMNS + x->block[1] - 1) / x->block[1], 1}};
   TilecStatus status = tilec_launch(f->kernel, &l, args, 3);
   return status == TILEC_OK ? tilec_runtime_sync(f->rt) : status;
}

static void
check_values(const Fixture *f)
{
   for (int i = 0; i < ROWS; i++)
      for (int k = 0; k < PITCH; k++)
         assert_true(f->y[i][k] == (k < COLUMNS ? f->x[i][k] * 2 + 3 : -1));
}

static void
tensors_pass_on_host_executors(void **state)
{
   (void)state;
   static const TilecExecutor on[] = {TILEC_ON_CPU, TILEC_ON_SIM};
   for (unsigned e = 0; e < 2; e++) {
      Fixture f;
      open_kernel(&f, on[e]);
      TilecTensor x = tensor(&f.x[0][0], 4, 16), y = tensor(&f.y[0][0], 4, 16);
      assert_int_equal(launch(&f, &x, &y), TILEC_OK);
      check_values(&f);
      x.block[0] = y.block[0] = 2; /* another variant */
      memset(f.y, 0, sizeof f.y);
      for (int i = 0; i < ROWS; i++)
         for (int k = 0; k < PITCH; k++)
            f.y[i][k] = -1;
      assert_int_equal(launch(&f, &x, &y), TILEC_OK);
      check_values(&f);
      close_kernel(&f);
   }
}

/* 20 columns, then 16: the second kind of rows is a fact, as of an integer. */
static void
rows_by_sixteens_are_a_variant(void **state)
{
   (void)state;
   Fixture f;
   open_kernel(&f, TILEC_ON_SIM);
   TilecTensor x = tensor(&f.x[0][0], 4, 16), y = tensor(&f.y[0][0], 4, 16);
   assert_int_equal(launch(&f, &x, &y), TILEC_OK);
   assert_int_equal(tilec_kernel_variants(f.kernel), 1);
   x.shape[1] = y.shape[1] = 16;
   TilecArg args[] = {tilec_tensor(&x), TILEC_ARG(3), tilec_tensor(&y)};
   char why[2048];
   assert_int_equal(tilec_kernel_explain(f.kernel, args, 3, why, sizeof why), TILEC_OK);
   if (!strstr(why, "'x': a row's size was not divisible, now divisible by 16"))
      fail_msg("%s", why);
   f.y[1][16] = 8;
   assert_int_equal(launch(&f, &x, &y), TILEC_OK);
   assert_int_equal(tilec_kernel_variants(f.kernel), 2);
   assert_true(f.y[1][15] == f.x[1][15] * 2 + 3 && f.y[1][16] == 8);
   close_kernel(&f);
}

static void
must_say(Fixture *f, const char *words)
{
   char text[2048];
   tilec_runtime_error(f->rt, text, sizeof text);
   if (!strstr(text, words))
      fail_msg("'%s' is not in: %s", words, text);
}

static void
what_is_no_descriptor_is_refused(void **state)
{
   (void)state;
   Fixture f;
   open_kernel(&f, TILEC_ON_CPU);
   TilecTensor x = tensor(&f.x[0][0], 4, 16), y = tensor(&f.y[0][0], 4, 16), bad = x;
   bad.strides[1] = 2;
   assert_int_equal(launch(&f, &bad, &y), TILEC_BAD_ARGUMENT);
   must_say(&f, "parameter 'x': the last stride of a tensor must be 1; it is 2");
   bad = x;
   bad.strides[0] = PITCH - 1;
   assert_int_equal(launch(&f, &bad, &y), TILEC_BAD_ARGUMENT);
   must_say(&f, "parameter 'x': rows of the tensor are 92 bytes apart, which must be a multiple of "
                "16: pad them to 24 elements");
   bad = tensor(&f.x[0][1], 4, 16);
   assert_int_equal(launch(&f, &bad, &y), TILEC_BAD_ARGUMENT);
   must_say(&f, "'x' divisible by 16");
   bad = x;
   bad.block[1] = 24;
   assert_int_equal(launch(&f, &bad, &y), TILEC_BAD_ARGUMENT);
   must_say(&f, "sides are not powers of two");
   bad = x;
   bad.rank = 6;
   assert_int_equal(launch(&f, &bad, &y), TILEC_BAD_ARGUMENT);
   must_say(&f, "1 to 5 dimensions");
   close_kernel(&f);
}

/* What kernels print on the CPU executor goes where the runtime's other texts go. */
static void
hear(void *user, const char *text)
{
   char *said = user;
   strncat(said, text, 255 - strlen(said));
}

static void
prints_come_to_the_caller(void **state)
{
   static const char text[] = "@kernel\ndef k(n):\n    device_print(\"n is\", n)\n";
   char said[256] = "";
   TilecRuntimeOptions o = {.struct_size = sizeof o, .executor = TILEC_ON_CPU};
   TilecJitOptions j = {.struct_size = sizeof j, .on_text = hear, .user = said};
   TilecSource s = {
      .struct_size = sizeof s, .file = "print.tile", .source = text, .source_bytes = TILEC_STRLEN};
   TilecArg args[] = {TILEC_ARG(42)};
   TilecLaunch l = {.grid = {1, 1, 1}};
   Fixture f;
   (void)state;
   assert_int_equal(tilec_runtime_open(&o, &f.rt), TILEC_OK);
   assert_int_equal(tilec_jit_attach(f.rt, &j), TILEC_OK);
   assert_int_equal(tilec_module_from_source(f.rt, &s, &f.module), TILEC_OK);
   assert_int_equal(tilec_module_kernel(f.module, NULL, &f.kernel), TILEC_OK);
   assert_int_equal(tilec_launch(f.kernel, &l, args, 1), TILEC_OK);
   assert_int_equal(tilec_runtime_sync(f.rt), TILEC_OK);
   assert_non_null(strstr(said, "n is"));
   assert_non_null(strstr(said, "42\n"));
   close_kernel(&f);
}

int
main(void)
{
   const struct CMUnitTest tests[] = {cmocka_unit_test(tensors_pass_on_host_executors),
                                      cmocka_unit_test(rows_by_sixteens_are_a_variant),
                                      cmocka_unit_test(what_is_no_descriptor_is_refused),
                                      cmocka_unit_test(prints_come_to_the_caller)};
   return cmocka_run_group_tests(tests, NULL, NULL);
}
