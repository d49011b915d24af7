/* Every row of tilec/compile_options.def in turn: another value makes another key exactly where the
 * row says so, and what the JIT copies arrives. */
#include "fixture.h"

#include "jit/options.h"
#include "mock_compiler.h"

typedef enum Result { CODE, IMAGE, SHOWN, NEITHER } Result;

static const struct {
   const char *field;
   Result result;
} rows[] = {
#define TILEC_FIELD(field, result, source) {#field, result},
#define TILEC_FIELDS(field, count, result, source) {#field, result},
#include "tilec/compile_options.def"
};
enum { NUM_ROWS = sizeof rows / sizeof rows[0] };

static const int stopped = 1;
static const TilecDefine one_define[] = {{"BLOCK", "64"}};
static const char *const one_string[] = {"BLOCK=64"};

static void
flip_text(const char **text)
{
   *text = "other";
}

static void
flip_flag(bool *flag)
{
   *flag = !*flag;
}

static void
flip_number(void *number) /* an enumeration is one as well */
{
   uint32_t n;
   memcpy(&n, number, sizeof n);
   n++;
   memcpy(number, &n, sizeof n);
}

static void
flip_pointer(const volatile int **pointer)
{
   *pointer = &stopped;
}

static void
flip_bytes(const char **text, size_t *len)
{
   *text = "other";
   *len = TILEC_STRLEN;
}

static void
flip_strings(const char *const **list, size_t *count)
{
   *list = one_string;
   *count = 1;
}

static void
flip_defines(const TilecDefine **list, size_t *count)
{
   *list = one_define;
   *count = 1;
}

#define FLIP(at)                                                                                   \
   _Generic((at),                                                                                  \
      const char **: flip_text,                                                                    \
      bool *: flip_flag,                                                                           \
      const volatile int **: flip_pointer,                                                         \
      default: flip_number)(at)
#define FLIP_LIST(at, count)                                                                       \
   _Generic((at),                                                                                  \
      const char **: flip_bytes,                                                                   \
      const char *const **: flip_strings,                                                          \
      const TilecDefine **: flip_defines)(at, count)

static void
flip_option(TilecCompileOptions *o, unsigned row)
{
   unsigned i = 0;
#define TILEC_FIELD(field, result, source)                                                         \
   if (i++ == row)                                                                                 \
      FLIP(&o->field);
#define TILEC_FIELDS(field, count, result, source)                                                 \
   if (i++ == row)                                                                                 \
      FLIP_LIST(&o->field, &o->count);
#include "tilec/compile_options.def"
}

/* False: TilecSource has no such field. */
static bool
flip_source(TilecSource *s, unsigned row)
{
   unsigned i = 0;
#define HAS_SOURCE(...) __VA_ARGS__
#define HAS_SPLIT(...) __VA_ARGS__
#define HAS_OWN(...) return false;
#define TILEC_FIELD(field, result, source)                                                         \
   if (i++ == row) {                                                                               \
      HAS_##source(FLIP(&s->field); return true;)                                                  \
   }
#define TILEC_FIELDS(field, count, result, source)                                                 \
   if (i++ == row) {                                                                               \
      HAS_##source(FLIP_LIST(&s->field, &s->count); return true;)                                  \
   }
#include "tilec/compile_options.def"
   return false;
}

static void
each_option_has_its_part_in_the_cache_key(void **state)
{
   (void)state;
   uint8_t before[TL_CACHE_KEY_BYTES], after[TL_CACHE_KEY_BYTES];
   TilecCompileOptions o = {.struct_size = sizeof o, .source = "x", .source_bytes = 1};
   o.kernel = "k";
   assert_true(tl_stored_key(&o, before));
   for (unsigned i = 0; i < NUM_ROWS; i++) {
      TilecCompileOptions other = o;
      flip_option(&other, i);
      assert_true(tl_stored_key(&other, after));
      bool is_part = rows[i].result == CODE || rows[i].result == IMAGE;
      bool differs = memcmp(before, after, sizeof before) != 0;
      if (differs != is_part)
         fail_msg("'%s' %s the key", rows[i].field, differs ? "changes" : "does not change");
   }
}

static void
each_option_has_its_part_in_the_tuner_key(void **state)
{
   (void)state;
   TilecSource s = {.struct_size = sizeof s, .file = "x.tile"};
   uint64_t before = tl_source_hash(&s, 1);
   unsigned num_code = 0;
   for (unsigned i = 0; i < NUM_ROWS; i++) {
      TilecSource other = s;
      if (!flip_source(&other, i))
         continue;
      bool differs = tl_source_hash(&other, 1) != before;
      if (differs != (rows[i].result == CODE))
         fail_msg("'%s' %s the key", rows[i].field, differs ? "changes" : "does not change");
      num_code += differs;
   }
   assert_true(num_code >= 8);
}

static bool
are_same(const TilecSource *a, const TilecSource *b)
{
   bool same = true;
#define SAME_SOURCE(...) __VA_ARGS__
#define SAME_SPLIT(...)
#define SAME_OWN(...)
#define TILEC_FIELD(field, result, source) SAME_##source(same &= a->field == b->field;)
#define TILEC_FIELDS(field, count, result, source)                                                 \
   SAME_##source(same &= a->field == b->field && a->count == b->count;)
#include "tilec/compile_options.def"
   return same;
}

/* A source to options and back is the same, and its texts are copies. */
static void
the_jit_takes_over_what_a_source_says(void **state)
{
   (void)state;
   TilecSource empty = {.struct_size = sizeof empty};
   for (unsigned i = 0; i < NUM_ROWS; i++) {
      TilecSource s = empty;
      if (!flip_source(&s, i) || strcmp(rows[i].field, "defines") == 0)
         continue;
      TilecCompileOptions o = tl_options_of_source(&s);
      TilecSource back = tl_source_of_options(&o);
      if (are_same(&s, &empty) || !are_same(&s, &back))
         fail_msg("'%s' does not arrive", rows[i].field);
      TlTexts texts = {0};
      assert_true(tl_source_keep_texts(&back, &texts));
      bool is_text = strcmp(rows[i].field, "include_dirs") != 0 &&
                     strcmp(rows[i].field, "assume") != 0 &&
                     (s.file || s.source || s.kernel || s.arch || s.grid || s.fp32_dot);
      assert_int_equal(texts.num, is_text);
      if (is_text)
         assert_string_equal(texts.list[0], "other");
      tl_texts_free(&texts);
   }
}

int
test_options(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_option_has_its_part_in_the_cache_key),
      cmocka_unit_test(each_option_has_its_part_in_the_tuner_key),
      cmocka_unit_test(the_jit_takes_over_what_a_source_says),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}
