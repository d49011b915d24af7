/* Small floats: every pattern to its number and back, and what the formats say of themselves. */
#include "fixture.h"

#include <math.h>

#include "core/dtype.h"

static void
every_pattern_comes_back(void **state)
{
   static const struct {
      TilecDtype dtype;
      unsigned bits;
      double least, largest;
      unsigned infinities, nans;
   } formats[] = {
      {TILEC_FP16, 16, 0x1p-24, 65504, 2, 2 * 1023},
      {TILEC_BF16, 16, 0x1p-133, 0x1.fep127, 2, 2 * 127},
      {TILEC_FP8E5, 8, 0x1p-16, 57344, 2, 2 * 3},
      {TILEC_FP8E4NV, 8, 0x1p-9, 448, 0, 2},
      {TILEC_FP8E4B15, 8, 0x1p-17, 1.875, 0, 0},
   };
   (void)state;
   for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
      TilecDtype t = formats[i].dtype;
      unsigned infinities = 0, nans = 0, sign = 1u << (formats[i].bits - 1);
      double before = -1, largest = 0;
      assert_true(tl_dtype_is_small_float(t));
      for (unsigned bits = 0; bits < 2 * sign; bits++) {
         double v = tl_dtype_widen(t, (uint16_t)bits);
         infinities += isinf(v) != 0;
         nans += isnan(v) != 0;
         assert_true(isnan(v) || (signbit(v) != 0) == (bits >= sign));
         if (isnan(v))
            assert_true(isnan(tl_dtype_widen(t, tl_dtype_narrow(t, v))));
         else if (!isinf(v) || formats[i].infinities)
            assert_int_equal(tl_dtype_narrow(t, v), bits);
         if (bits < sign && isfinite(v)) {
            assert_true(v > before); /* patterns of positive numbers are in order */
            largest = before = v;
         }
      }
      assert_true(tl_dtype_widen(t, 1) == formats[i].least);
      assert_true(largest == formats[i].largest);
      assert_int_equal(infinities, formats[i].infinities);
      assert_int_equal(nans, formats[i].nans);
   }
   assert_false(tl_dtype_is_small_float(TILEC_FP32));
   assert_false(tl_dtype_is_small_float((TilecDtype)1000));
}

int test_dtype(void);
int
test_dtype(void)
{
   const struct CMUnitTest tests[] = {cmocka_unit_test(every_pattern_comes_back)};
   return cmocka_run_group_tests(tests, NULL, NULL);
}
