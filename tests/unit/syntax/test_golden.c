/* Golden files: tests/golden/lex/NAME against NAME.tokens, tests/golden/parse/NAME against NAME.ast
 * (tree with ranges, then diagnostics).  TILEC_BLESS=1 rewrites the expectations. */
#include "fixture.h"

#include <dirent.h>

static char *
read_file(const char *path, size_t *len)
{
   FILE *file = fopen(path, "rb");
   if (!file)
      return NULL;
   size_t cap = 1 << 20;
   char *text = calloc(1, cap);
   assert_non_null(text);
   *len = fread(text, 1, cap - 1, file);
   fclose(file);
   return text;
}

static void
output_of(Fixture *f, const char *name, const char *text, size_t len, bool is_tree, TlSb *out)
{
   uint32_t file = tl_sources_add(f->sources, name, text, len);
   if (is_tree)
      tl_ast_print(f->sources, &tl_parse_file(&f->cx, file)->node, true, out);
   else
      tl_print_tokens(&f->cx, file, out);
   tl_sb_str(out, all_rendered(f));
}

static void
compare(const char *dir, const char *name, const char *suffix)
{
   char path[512];
   size_t len = 0, want_len = 0;
   snprintf(path, sizeof path, "%s/%s", dir, name);
   char *text = read_file(path, &len);
   assert_non_null(text);
   Fixture f;
   fixture_open(&f);
   TlSb out;
   tl_sb_init(&out, f.arena);
   output_of(&f, name, text, len, strcmp(suffix, ".ast") == 0, &out);
   snprintf(path, sizeof path, "%s/%s%s", dir, name, suffix);
   if (getenv("TILEC_BLESS")) {
      FILE *file = fopen(path, "wb");
      assert_non_null(file);
      fwrite(tl_sb_cstr(&out), 1, out.len, file);
      assert_int_equal(fclose(file), 0);
   }
   char *want = read_file(path, &want_len);
   if (!want)
      fail_msg("%s is missing; TILEC_BLESS=1 writes it", path);
   if (want && strcmp(want, tl_sb_cstr(&out)) != 0)
      fail_msg("%s differs; got:\n%s", path, tl_sb_cstr(&out));
   free(want);
   free(text);
   fixture_close(&f);
}

static void
compare_all(const char *dir, const char *suffix)
{
   DIR *d = opendir(dir);
   assert_non_null(d);
   unsigned count = 0;
   for (struct dirent *e; (e = readdir(d));) {
      if (tl_ends_with(e->d_name, ".tile") || tl_is_python_file(e->d_name)) {
         compare(dir, e->d_name, suffix);
         count++;
      }
   }
   closedir(d);
   assert_true(count > 0);
}

static void
tokens(void **state)
{
   (void)state;
   compare_all(TL_SOURCE_DIR "/tests/golden/lex", ".tokens");
}

static void
trees(void **state)
{
   (void)state;
   compare_all(TL_SOURCE_DIR "/tests/golden/parse", ".ast");
}

int test_golden(void);
int
test_golden(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(tokens),
      cmocka_unit_test(trees),
   };
   return cmocka_run_group_tests_name("syntax/golden", tests, NULL, NULL);
}
