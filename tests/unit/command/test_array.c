/* Arrays as text, and what --expect says of them. */
#include "command/array.h"
#include "unit/command/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

int test_array(void);

/* Elements 0, 1, .. in rows of `columns`. */
static TlArray
counted(TlDtype dtype, uint64_t rows, uint64_t columns)
{
   TlArray a = {.dtype = dtype, .rank = 2, .shape = {rows, columns}};
   assert_true(tl_array_alloc(&a));
   for (uint64_t i = 0; i < a.elems; i++) {
      TlBits v = tl_dtype_is_float(dtype)
                    ? tl_double_to_bits(dtype, (double)i, TL_ROUND_NEAREST_EVEN)
                    : tl_int_to_bits(dtype, (int64_t)i);
      tl_store_elem(dtype, (char *)a.data + i * tl_dtype_info[dtype].bytes, v);
   }
   return a;
}

static const char *
text_of(Fixture *f, const TlArray *a)
{
   TlSb sb;
   tl_sb_init(&sb, f->arena);
   tl_array_print(a, &sb);
   return tl_sb_cstr(&sb);
}

static void
prints_as_numpy_does(void **state)
{
   TlArray a = counted(TL_I32, 2, 6), b = counted(TL_U8, 0, 3), c = counted(TL_I1, 1, 2);
   assert_string_equal(text_of(*state, &a), "[[ 0  1  2  3  4  5]\n [ 6  7  8  9 10 11]]\n");
   assert_string_equal(text_of(*state, &b), "[]\n");
   assert_string_equal(text_of(*state, &c), "[[False  True]]\n");
   tl_array_free(&a);
   tl_array_free(&b);
   tl_array_free(&c);
}

static void
long_arrays_are_shortened(void **state)
{
   TlArray a = counted(TL_FP32, 8, 64);
   assert_string_equal(text_of(*state, &a), "[[  0.   1.   2. ...  61.  62.  63.]\n"
                                            " [ 64.  65.  66. ... 125. 126. 127.]\n"
                                            " [128. 129. 130. ... 189. 190. 191.]\n"
                                            " ...\n"
                                            " [320. 321. 322. ... 381. 382. 383.]\n"
                                            " [384. 385. 386. ... 445. 446. 447.]\n"
                                            " [448. 449. 450. ... 509. 510. 511.]]\n");
   tl_array_free(&a);
}

static void
long_lines_are_broken(void **state)
{
   TlArray a = counted(TL_I64, 1, 30);
   const char *text = text_of(*state, &a), *end = strchr(text, '\n');
   assert_true(end && end - text <= 75);
   assert_memory_equal(end + 1, "  ", 2); /* two brackets are open */
   assert_true(end[3] != ' ');
   tl_array_free(&a);
}

static TlArrayDiff
compare(Fixture *f, const TlArray *got, const TlArray *want, double tolerance)
{
   TlArrayDiff d;
   tl_array_compare(f->arena, got, want, tolerance, &d);
   return d;
}

static void
the_worst_element_is_named(void **state)
{
   TlArray got = counted(TL_FP32, 4, 4), want = counted(TL_FP64, 4, 4);
   assert_int_equal(compare(*state, &got, &want, 0).wrong, 0);
   ((float *)got.data)[3] += 0.5f;
   ((float *)got.data)[9] += 9.0f;
   TlArrayDiff d = compare(*state, &got, &want, 0.4);
   assert_int_equal(d.wrong, 1); /* 0.5 of 3 is a sixth */
   assert_int_equal(d.worst, 9);
   assert_string_equal(d.index, "[2, 1]");
   assert_string_equal(d.got, "18.");
   assert_string_equal(d.want, "9.");
   assert_true(d.error == 1);
   tl_array_free(&got);
   tl_array_free(&want);
}

static void
nan_and_infinity(void **state)
{
   TlArray got = counted(TL_FP32, 1, 3), want = counted(TL_FP32, 1, 3);
   float *x = got.data, *y = want.data;
   x[0] = y[0] = NAN;
   x[1] = y[1] = -INFINITY;
   assert_int_equal(compare(*state, &got, &want, 0).wrong, 0);
   x[1] = INFINITY;
   x[2] = NAN;
   TlArrayDiff d = compare(*state, &got, &want, 1e30);
   assert_int_equal(d.wrong, 2);
   assert_string_equal(d.index, "[0, 1]");
   tl_array_free(&got);
   tl_array_free(&want);
}

static void
large_integers_must_be_equal(void **state)
{
   TlArray got = counted(TL_I64, 1, 1), want = counted(TL_I64, 1, 1);
   *(int64_t *)got.data = INT64_MAX;
   *(int64_t *)want.data = INT64_MAX - 1; /* the same double */
   assert_int_equal(compare(*state, &got, &want, tl_array_tolerance(TL_I64)).wrong, 1);
   assert_true(tl_array_hash(&got) != tl_array_hash(&want));
   tl_array_free(&got);
   tl_array_free(&want);
}

int
test_array(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(prints_as_numpy_does),  cmocka_unit_test(long_arrays_are_shortened),
      cmocka_unit_test(long_lines_are_broken), cmocka_unit_test(the_worst_element_is_named),
      cmocka_unit_test(nan_and_infinity),      cmocka_unit_test(large_integers_must_be_equal),
   };
   return cmocka_run_group_tests(tests, setup, teardown);
}
