/* Arenas: alignment, zeroing, marks, limits, failure of every block. */
#include "fixture.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

static void
blocks_are_zero_aligned_and_disjoint(void **state)
{
   (void)state;
   Fixture f;
   fixture_open(&f);
   static const size_t sizes[] = {0, 1, 15, 16, 17, 1000, 20000, 3000000, 5, 0, 64};
   enum { N = sizeof sizes / sizeof sizes[0] };
   unsigned char *p[N];
   for (size_t i = 0; i < N; i++) {
      p[i] = tl_arena_alloc(f.arena, sizes[i]);
      assert_int_equal((uintptr_t)p[i] % 16, 0);
      for (size_t k = 0; k < sizes[i]; k++)
         assert_int_equal(p[i][k], 0);
      memset(p[i], (int)i + 1, sizes[i]);
   }
   for (size_t i = 0; i < N; i++)
      for (size_t k = 0; k < sizes[i]; k++)
         assert_int_equal(p[i][k], i + 1);
   assert_true(f.mem.peak_bytes >= 3021000 && f.mem.used_bytes == f.mem.peak_bytes);
   fixture_close(&f);
}

static void
reset_gives_back_and_zeroes_again(void **state)
{
   (void)state;
   Fixture f;
   fixture_open(&f);
   char *kept = tl_arena_strdup(f.arena, "kept");
   TlArenaMark mark = tl_arena_mark(f.arena);
   size_t used = f.mem.used_bytes;
   for (int round = 0; round < 3; round++) {
      for (int i = 0; i < 200; i++) {
         char *p = tl_arena_alloc(f.arena, 5000);
         assert_int_equal(p[0] | p[4999], 0);
         memset(p, 0xAA, 5000);
      }
      assert_true(f.mem.used_bytes > used + 900000);
      tl_arena_reset(f.arena, mark);
      assert_int_equal(f.mem.used_bytes, used);
      assert_string_equal(kept, "kept");
   }
   fixture_close(&f);
}

static void
reset_to_the_empty_mark(void **state)
{
   (void)state;
   Fixture f;
   fixture_open(&f);
   TlArenaMark empty = tl_arena_mark(f.arena);
   size_t used = f.mem.used_bytes;
   tl_arena_alloc(f.arena, 100);
   tl_arena_reset(f.arena, empty);
   assert_int_equal(f.mem.used_bytes, used);
   fixture_close(&f);
}

/* Some work that takes several blocks; returns true when it ran to its end. */
static bool
work(TlMem *mem, TlArena *volatile *arena)
{
   jmp_buf oom;
   mem->oom = &oom;
   if (setjmp(oom))
      return false;
   *arena = tl_arena_new(mem);
   TL_VEC(int) v = {0};
   for (int i = 0; i < 20000; i++)
      tl_vec_push(*arena, &v, i);
   for (int i = 0; i < 20000; i++)
      assert_int_equal(v.data[i], i);
   return true;
}

static void
every_failing_block_unwinds(void **state)
{
   (void)state;
   long n = 0;
   for (;; n++) {
      TlMem mem;
      TlArena *volatile arena = NULL;
      tl_mem_init(&mem);
      mem.fail_at = n;
      bool done = work(&mem, &arena);
      tl_arena_free(arena);
      assert_int_equal(mem.used_bytes, 0);
      if (done)
         break;
      assert_true(n < 100);
   }
   assert_true(n > 3); /* the loop did fail something */
}

static void
limit_is_exact(void **state)
{
   (void)state;
   TlMem mem;
   TlArena *volatile arena = NULL;
   tl_mem_init(&mem);
   assert_true(work(&mem, &arena));
   size_t peak = mem.peak_bytes;
   tl_arena_free(arena);
   for (int less = 0; less <= 1; less++) {
      tl_mem_init(&mem);
      mem.limit_bytes = peak - (size_t)less;
      arena = NULL;
      assert_int_equal(work(&mem, &arena), !less);
      assert_true(mem.peak_bytes <= mem.limit_bytes);
      tl_arena_free(arena);
   }
}

static void
overflowing_sizes_are_out_of_memory(void **state)
{
   (void)state;
   static const size_t row[][2] = {
      {SIZE_MAX, 2}, {SIZE_MAX / 2, 3}, {SIZE_MAX, 1}, {SIZE_MAX / 16 + 1, 16}};
   for (volatile size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
      Fixture f;
      fixture_open(&f);
      if (!setjmp(f.oom)) {
         tl_arena_array(f.arena, row[i][0], row[i][1]);
         fail_msg("row %zu was given memory", i);
      }
      fixture_close(&f);
   }
}

static void *
no_memory(void *user, size_t bytes)
{
   (void)bytes;
   ++*(int *)user;
   return NULL;
}

static void
failing_allocator_unwinds(void **state)
{
   (void)state;
   int calls = 0;
   TlMem mem;
   jmp_buf oom;
   tl_mem_init(&mem);
   mem.alloc = no_memory;
   mem.user = &calls;
   mem.oom = &oom;
   if (!setjmp(oom)) {
      tl_arena_new(&mem);
      fail();
   }
   assert_int_equal(calls, 1);
   assert_int_equal(mem.used_bytes, 0);
}

static void
formatted_text(void **state)
{
   (void)state;
   Fixture f;
   fixture_open(&f);
   assert_string_equal(tl_arena_printf(f.arena, "%s-%d", "a", 7), "a-7");
   assert_string_equal(tl_arena_printf(f.arena, "%s", ""), "");
   char *wide = tl_arena_printf(f.arena, "%*d", 40000, 1);
   assert_int_equal(strlen(wide), 40000);
   assert_string_equal(tl_arena_strndup(f.arena, "abcdef", 3), "abc");
   fixture_close(&f);
}

int test_arena(void);
int
test_arena(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(blocks_are_zero_aligned_and_disjoint),
      cmocka_unit_test(reset_gives_back_and_zeroes_again),
      cmocka_unit_test(reset_to_the_empty_mark),
      cmocka_unit_test(every_failing_block_unwinds),
      cmocka_unit_test(limit_is_exact),
      cmocka_unit_test(overflowing_sizes_are_out_of_memory),
      cmocka_unit_test(failing_allocator_unwinds),
      cmocka_unit_test(formatted_text),
   };
   return cmocka_run_group_tests_name("base/arena", tests, NULL, NULL);
}
