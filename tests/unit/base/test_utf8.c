/* Characters in UTF-8: what is written is read again, and what is counted can be reached. */
#include "fixture.h"
#include "base/utf8.h"

#include <stdio.h>

static void
every_character_is_read_as_it_was_written(void **state)
{
   (void)state;
   for (uint32_t c = 0; c <= 0x10ffff; c++) {
      char bytes[4];
      uint32_t back = 0;
      unsigned n = tl_utf8_write(c, bytes);
      bool is_half = c >= 0xd800 && c < 0xe000;
      if (n == 0 || n > 4 || tl_utf8_read(bytes, n, &back) != (is_half ? 0 : n))
         fail_msg("U+%04X takes %u bytes", (unsigned)c, n);
      if (!is_half && back != c)
         fail_msg("U+%04X is read as U+%04X", (unsigned)c, (unsigned)back);
   }
}

/* Random bytes, few of them valid: each offset is where the count says, and the end is reached. */
static void
offsets_agree_with_counts(void **state)
{
   (void)state;
   static const char *const parts[] = {"a",    "\xc3\xa9", "\xe6\x97\xa5", "\xf0\x9f\x98\x80",
                                       "\x80", "\xe6\x97", "\xff",         "\xf0\x9f"};
   uint64_t seed = 88172645463325252ULL;
   for (int step = 0; step < 20000; step++) {
      char text[64];
      size_t len = 0, at = 0;
      for (int k = 0; k < 12; k++) {
         seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
         const char *part = parts[seed % 8];
         memcpy(text + len, part, strlen(part));
         len += strlen(part);
      }
      size_t count = tl_utf8_count(text, len);
      for (size_t i = 0; i < count; i++) {
         uint32_t c;
         if (tl_utf8_offset(text, len, i) != at)
            fail_msg("step %d: character %zu", step, i);
         at += tl_utf8_next(text + at, len - at, &c);
      }
      assert_int_equal(at, len);
      assert_int_equal(tl_utf8_offset(text, len, count), len);
      assert_int_equal(tl_utf8_offset(text, len, count + 9), len);
   }
}

static void
ascii_is_told_from_the_rest(void **state)
{
   (void)state;
   assert_true(tl_utf8_is_ascii("", 0));
   assert_true(tl_utf8_is_ascii("a\0\x7f", 3));
   assert_false(tl_utf8_is_ascii("ab\xc3\xa9", 4));
   assert_true(tl_utf8_is_valid("", 0));
   assert_true(tl_utf8_is_valid("ab\xc3\xa9", 4));
   assert_false(tl_utf8_is_valid("ab\xc3", 3));
   assert_false(tl_utf8_is_valid("\xff"
                                 "ab",
                                 3));
}

int test_utf8(void);
int
test_utf8(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_character_is_read_as_it_was_written),
      cmocka_unit_test(offsets_agree_with_counts),
      cmocka_unit_test(ascii_is_told_from_the_rest),
   };
   return cmocka_run_group_tests_name("base/utf8", tests, NULL, NULL);
}
