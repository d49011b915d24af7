/* Maps, interned strings, the text builder, edit distance. */
#include "fixture.h"
#include "base/map.h"
#include "base/str.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

static void
map_against_a_plain_array(void **state)
{
   (void)state;
   enum { KEYS = 997 };
   static int cell[KEYS];
   void *model[KEYS] = {NULL};
   bool has[KEYS] = {false};
   Fixture f;
   fixture_open(&f);
   TlMap map;
   tl_map_init(&map, f.arena);
   assert_null(tl_map_get(&map, NULL));
   assert_false(tl_map_has(&map, NULL));
   uint64_t seed = 88172645463325252ULL;
   size_t count = 0;
   for (int step = 0; step < 20000; step++) {
      seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
      size_t k = seed % KEYS; /* key 0 is a key like any other */
      const void *key = (const void *)(uintptr_t)(k * 4096);
      if (seed >> 60 < 6) {
         void *value = seed >> 63 ? NULL : &cell[seed >> 20 & 255];
         count += !has[k];
         tl_map_put(&map, key, value);
         model[k] = value;
         has[k] = true;
      }
      if (tl_map_get(&map, key) != model[k] || tl_map_has(&map, key) != has[k])
         fail_msg("step %d, key %zu", step, k);
   }
   assert_int_equal(map.len, count);
   fixture_close(&f);
}

static void
hash_depends_on_every_byte(void **state)
{
   (void)state;
   unsigned char bytes[64] = {0};
   uint64_t base = tl_hash(bytes, sizeof bytes, 0);
   for (size_t i = 0; i < sizeof bytes * 8; i++) {
      bytes[i / 8] ^= (unsigned char)(1u << i % 8);
      assert_true(tl_hash(bytes, sizeof bytes, 0) != base);
      bytes[i / 8] ^= (unsigned char)(1u << i % 8);
   }
   assert_true(tl_hash(bytes, sizeof bytes, 0) == base);
   assert_true(tl_hash(bytes, sizeof bytes, 1) != base);
   assert_true(tl_hash(bytes, 63, 0) != base);
}

static void
equal_text_has_one_address(void **state)
{
   (void)state;
   Fixture f;
   fixture_open(&f);
   TlStrings *t = tl_strings_new(f.arena);
   enum { N = 3000 };
   const char *first[N];
   char buf[16];
   for (int i = 0; i < N; i++) {
      snprintf(buf, sizeof buf, "n%d", i);
      first[i] = tl_intern_cstr(t, buf);
      assert_string_equal(first[i], buf);
   }
   for (int i = 0; i < N; i++) {
      int len = snprintf(buf, sizeof buf, "n%dxyz", i) - 3;
      assert_ptr_equal(tl_intern(t, buf, (size_t)len), first[i]);
      assert_ptr_not_equal(tl_intern_cstr(t, buf), first[i]);
   }
   assert_ptr_equal(tl_intern(t, "", 0), tl_intern_cstr(t, ""));
   assert_ptr_not_equal(tl_intern(t, "a\0b", 3), tl_intern(t, "a\0c", 3));
   fixture_close(&f);
}

static void
builder_grows(void **state)
{
   (void)state;
   Fixture f;
   fixture_open(&f);
   TlSb sb;
   tl_sb_init(&sb, f.arena);
   assert_string_equal(tl_sb_cstr(&sb), "");
   for (int i = 0; i < 1000; i++) {
      tl_sb_char(&sb, 'a');
      tl_sb_str(&sb, "bc");
      tl_sb_mem(&sb, "defg", 2);
      tl_sb_printf(&sb, "%d%s", i % 10, "!");
      assert_int_equal(sb.data[sb.len], 0);
   }
   assert_int_equal(sb.len, 7000);
   for (size_t i = 0; i < 1000; i++) {
      char want[8];
      snprintf(want, sizeof want, "abcde%zu!", i % 10);
      assert_memory_equal(sb.data + i * 7, want, 7);
   }
   char *big = tl_arena_alloc(f.arena, 100001);
   memset(big, 'x', 100000);
   tl_sb_printf(&sb, "%s", big);
   assert_int_equal(sb.len, 107000);
   fixture_close(&f);
}

/* The definition, by recursion. */
static unsigned
slow_distance(const char *a, const char *b)
{
   if (!*a || !*b)
      return (unsigned)(strlen(a) + strlen(b));
   unsigned ways[4] = {slow_distance(a + 1, b) + 1, slow_distance(a, b + 1) + 1,
                       slow_distance(a + 1, b + 1) + (*a != *b), UINT_MAX};
   if (a[1] && b[1] && a[0] == b[1] && a[1] == b[0])
      ways[3] = slow_distance(a + 2, b + 2) + 1;
   unsigned best = ways[0];
   for (unsigned i = 1; i < 4; i++)
      best = ways[i] < best ? ways[i] : best;
   return best;
}

static void
edit_distance_by_definition(void **state)
{
   (void)state;
   uint64_t seed = 0x9E3779B97F4A7C15ULL;
   for (int trial = 0; trial < 3000; trial++) {
      char s[2][8] = {{0}};
      for (int k = 0; k < 2; k++) {
         seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
         size_t len = seed >> 40 & 7;
         len = len > 6 ? 6 : len;
         for (size_t i = 0; i < len; i++)
            s[k][i] = (char)('a' + (seed >> (i * 3) & 3));
      }
      unsigned want = slow_distance(s[0], s[1]);
      for (unsigned limit = 0; limit <= 6; limit++) {
         unsigned got = tl_edit_distance(s[0], s[1], limit);
         if (got != (want <= limit ? want : limit + 1))
            fail_msg("'%s' '%s' limit %u: %u, want %u", s[0], s[1], limit, got, want);
      }
   }
   assert_int_equal(tl_edit_distance("program_id", "progam_id", 3), 1);
   assert_int_equal(tl_edit_distance("hlep", "help", 3), 1);
}

int test_str(void);
int
test_str(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(map_against_a_plain_array),   cmocka_unit_test(hash_depends_on_every_byte),
      cmocka_unit_test(equal_text_has_one_address),  cmocka_unit_test(builder_grows),
      cmocka_unit_test(edit_distance_by_definition),
   };
   return cmocka_run_group_tests_name("base/str", tests, NULL, NULL);
}
