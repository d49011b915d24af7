/* The command line's parts: option table, values, .npy files. */
#include "command/options.h"
#include "command/value.h"
#include "unit/command/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- options ---- */
#define PARSE(f, cl, ...)                                                                          \
   do {                                                                                            \
      static const char *const argv[] = {"tilec", __VA_ARGS__};                                    \
      tl_command_line_parse((f)->arena, (int)(sizeof argv / sizeof argv[0]),                       \
                            (char **)(uintptr_t)argv, (cl));                                       \
   } while (0)

static void
option_forms(void **state)
{
   Fixture *f = *state;
   TlCommandLine cl;
   PARSE(f, &cl, "run", "f.tile", "--arg", "x=3", "--arg=y=4", "-DN=5", "-O2", "-Rlayout", "--time",
         "--", "-odd");
   assert_null(cl.error);
   assert_int_equal(cl.command, CMD_RUN);
   assert_int_equal(cl.operands.len, 2);
   assert_string_equal(cl.operands.data[1], "-odd");
   assert_string_equal(tl_option(&cl, TL_OPT_ARG), "y=4");
   assert_string_equal(tl_option(&cl, TL_OPT_DEFINE), "N=5");
   assert_string_equal(tl_option(&cl, TL_OPT_OPT), "2");
   assert_string_equal(tl_option(&cl, TL_OPT_REMARKS), "layout");
   assert_string_equal(tl_option(&cl, TL_OPT_TIME), "");
   assert_null(tl_option(&cl, TL_OPT_GRID));
   PARSE(f, &cl, "f.tile");
   assert_int_equal(cl.command, CMD_BUILD);
}

/* A name of another compiler's is no option of this one, stands once, and what is written instead
 * is the option of its row. */
static void
other_options(void **state)
{
   (void)state;
   const TlOtherOption *o, *p;
   for (unsigned i = 0; (o = tl_other_option_at(i)); i++) {
      for (unsigned k = 0; k < TL_OPT_COUNT; k++)
         assert_string_not_equal(o->name, tl_option_rows[k].name);
      for (unsigned k = 0; k < i && (p = tl_other_option_at(k)); k++)
         assert_string_not_equal(o->name, p->name);
      const TlOptionRow *row = &tl_option_rows[o->id];
      const char letter[] = {'-', row->letter, '\0'};
      if (!strstr(o->use, row->name) && !(row->letter && strstr(o->use, letter)))
         fail_msg("--%s: '%s' is not --%s", o->name, o->use, row->name);
   }
}

static void
option_errors(void **state)
{
   Fixture *f = *state;
   TlCommandLine cl;
   PARSE(f, &cl, "build", "--num-warp=4");
   assert_non_null(strstr(cl.error, "did you mean '--num-warps'"));
   PARSE(f, &cl, "build", "--arch");
   assert_non_null(strstr(cl.error, "a value must follow"));
   PARSE(f, &cl, "list", "f.tile", "--grid=1");
   assert_non_null(cl.error);
   PARSE(f, &cl, "build", "--strict-fp=yes");
   assert_non_null(cl.error);
}

/* ---- values ---- */
static void
scalars(void **state)
{
   Fixture *f = *state;
   TlCliValue v;
   const char *why = NULL;
   assert_true(tl_cli_value(f->arena, "-7", &v, &why));
   assert_int_equal(v.kind, TL_CLI_INT);
   assert_int_equal(v.i, -7);
   assert_true(tl_cli_value(f->arena, "18446744073709551615", &v, &why));
   assert_int_equal(v.kind, TL_CLI_INT);
   assert_true(v.is_u64 && v.i == -1);
   assert_true(tl_cli_value(f->arena, "0.5", &v, &why));
   assert_int_equal(v.kind, TL_CLI_FLOAT);
   assert_true(v.f == 0.5);
   assert_true(tl_cli_value(f->arena, "None", &v, &why));
   assert_int_equal(v.kind, TL_CLI_NONE);
   assert_true(tl_cli_value(f->arena, "True", &v, &why));
   assert_int_equal(v.kind, TL_CLI_BOOL);
   static const char *const bad[] = {"",
                                     "3x",
                                     "fp32",
                                     "zeros:fp32",
                                     "zeros:fp99[3]",
                                     "full:fp32[3]",
                                     "zeros:fp32[a]",
                                     "zeros:fp32[3",
                                     "randn:fp16[2]:x",
                                     "full:i32[2]:",
                                     "full:i8[2]:128",
                                     "full:u8[2]:-1",
                                     "full:i32[2]:2147483648",
                                     "zeros:fp64[99999999999,99999999999]",
                                     "@/no/such.npy"};
   for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
      why = NULL;
      assert_false(tl_cli_value(f->arena, bad[i], &v, &why));
      assert_non_null(why);
   }
}

static void
made_up_arrays(void **state)
{
   Fixture *f = *state;
   TlCliValue v, w;
   const char *why;
   assert_true(tl_cli_value(f->arena, "arange:i32[2,3]", &v, &why));
   assert_int_equal(v.array.rank, 2);
   assert_int_equal(((int32_t *)v.array.data)[5], 5);
   tl_array_free(&v.array);
   assert_true(tl_cli_value(f->arena, "full:fp32[3]:1.5", &v, &why));
   assert_true(((float *)v.array.data)[2] == 1.5f);
   tl_array_free(&v.array);
   assert_true(tl_cli_value(f->arena, "randn:fp32[1000]:7", &v, &why));
   assert_true(tl_cli_value(f->arena, "randn:fp32[1000]:7", &w, &why));
   assert_memory_equal(v.array.data, w.array.data, v.array.bytes);
   double sum = 0, squares = 0;
   for (int i = 0; i < 1000; i++) {
      double x = (double)((float *)v.array.data)[i];
      sum += x;
      squares += x * x;
   }
   assert_true(sum < 100 && sum > -100 && squares > 800 && squares < 1200);
   tl_array_free(&v.array);
   tl_array_free(&w.array);
   assert_true(tl_cli_value(f->arena, "zeros:fp16[0]", &v, &why));
   assert_int_equal(v.array.bytes, 0);
   tl_array_free(&v.array);
}

/* ---- .npy ---- */
static void
put_file(const char *path, const void *data, size_t n)
{
   FILE *file = fopen(path, "wb");
   assert_non_null(file);
   assert_int_equal(fwrite(data, 1, n, file), n);
   fclose(file);
}

static void
put_array(Fixture *f, const TlArray *a)
{
   TlSb text;
   tl_sb_init(&text, f->arena);
   tl_npy_head(a, &text);
   tl_sb_mem(&text, a->data, a->bytes);
   put_file(f->path, text.data, text.len);
}

static void
round_trip(void **state)
{
   Fixture *f = *state;
   static const TlDtype types[] = {TL_FP16, TL_FP32, TL_FP64, TL_I8,
                                   TL_U8,   TL_I64,  TL_BF16, TL_FP8E5};
   for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
      TlArray a = {.dtype = types[t], .rank = 2, .shape = {3, 5}}, b;
      const char *why = NULL;
      assert_true(tl_array_alloc(&a));
      for (uint64_t i = 0; i < a.bytes; i++)
         ((unsigned char *)a.data)[i] = (unsigned char)(i * 37);
      put_array(f, &a);
      if (!tl_npy_read(f->arena, f->path, types[t], &b, &why))
         fail_msg("%s", why);
      assert_int_equal(b.rank, 2);
      assert_int_equal(b.shape[1], 5);
      assert_memory_equal(a.data, b.data, a.bytes);
      tl_array_free(&a);
      tl_array_free(&b);
   }
}

/* Every truncation and every flipped byte of a small file: an error or a valid array, never a
 * crash. */
static void
hostile_files(void **state)
{
   Fixture *f = *state;
   TlArray a = {.dtype = TL_FP32, .rank = 1, .shape = {4}}, b;
   const char *why = NULL;
   assert_true(tl_array_alloc(&a));
   memset(a.data, 0, a.bytes);
   put_array(f, &a);
   unsigned char text[512];
   FILE *file = fopen(f->path, "rb");
   size_t n = fread(text, 1, sizeof text, file);
   fclose(file);
   for (size_t len = 0; len < n; len++) {
      put_file(f->path, text, len);
      assert_false(tl_npy_read(f->arena, f->path, TL_DTYPE_COUNT, &b, &why));
   }
   for (size_t i = 0; i < n; i++) {
      unsigned char saved = text[i];
      text[i] ^= 0x15;
      put_file(f->path, text, n);
      if (tl_npy_read(f->arena, f->path, TL_DTYPE_COUNT, &b, &why))
         tl_array_free(&b);
      text[i] = saved;
   }
   put_file(f->path, text, n);
   assert_false(tl_npy_read(f->arena, f->path, TL_FP16, &b, &why));
   assert_non_null(strstr(why, "holds fp32, but fp16 is expected"));
   tl_array_free(&a);
}

int test_cli(void);
int
test_cli(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(option_forms, setup, teardown),
      cmocka_unit_test_setup_teardown(option_errors, setup, teardown),
      cmocka_unit_test(other_options),
      cmocka_unit_test_setup_teardown(scalars, setup, teardown),
      cmocka_unit_test_setup_teardown(made_up_arrays, setup, teardown),
      cmocka_unit_test_setup_teardown(round_trip, setup, teardown),
      cmocka_unit_test_setup_teardown(hostile_files, setup, teardown),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}
