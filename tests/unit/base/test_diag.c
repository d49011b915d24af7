/* Sources and diagnostics: positions, collection rules, text and JSON rendering. */
#include "fixture.h"
#include "base/diag.h"

#include <stdio.h>

typedef struct Cx {
   Fixture f;
   TlSources *sources;
   TlDiags diags;
} Cx;

static void
cx_open(Cx *c)
{
   fixture_open(&c->f);
   c->sources = tl_sources_new(c->f.arena);
   tl_diags_init(&c->diags, c->f.arena, c->sources);
}

static uint32_t
add(Cx *c, const char *text)
{
   return tl_sources_add(c->sources, "f.tile", text, strlen(text));
}

/* The range of the first occurrence of `part`. */
static TlRange
find(Cx *c, uint32_t file, const char *part)
{
   const char *text = tl_source(c->sources, file)->text, *p = strstr(text, part);
   assert_non_null(p);
   uint32_t begin = (uint32_t)(p - text);
   return tl_range(file, begin, begin + (uint32_t)strlen(part));
}

static const char *
rendered(Cx *c)
{
   TlSb sb;
   tl_sb_init(&sb, c->f.arena);
   for (TlDiag *d = c->diags.first; d; d = d->next)
      tl_diag_render(&c->diags, d, false, &sb);
   return tl_sb_cstr(&sb);
}

static void
positions(void **state)
{
   (void)state;
   Cx c;
   cx_open(&c);
   uint32_t file = add(&c, "ab\né€x\n\r\nlast");
   static const struct {
      const char *part;
      uint32_t line, column;
   } row[] = {{"ab", 1, 1}, {"b", 1, 2},    {"é", 2, 1}, {"€", 2, 2},
              {"x", 2, 3},  {"last", 4, 1}, {"st", 4, 3}};
   for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
      TlLineCol at = tl_source_line_col(c.sources, file, find(&c, file, row[i].part).begin);
      assert_int_equal(at.line, row[i].line);
      assert_int_equal(at.column, row[i].column);
   }
   TlLineCol end = tl_source_line_col(c.sources, file, 1000);
   assert_int_equal(end.line, 4);
   assert_int_equal(end.column, 5);
   assert_int_equal(tl_source_line_col(c.sources, 0, 3).line, 0);
   uint32_t len;
   assert_memory_equal(tl_source_line(c.sources, file, 2, &len), "é€x", 6);
   assert_int_equal(len, 6);
   tl_source_line(c.sources, file, 3, &len);
   assert_int_equal(len, 0);
   tl_source_line(c.sources, file, 5, &len);
   assert_int_equal(len, 0);
   assert_null(tl_source(c.sources, 0));
   fixture_close(&c.f);
}

static void
joined_ranges(void **state)
{
   (void)state;
   TlRange a = tl_range(1, 5, 9), b = tl_range(1, 2, 6), none = {0}, other = tl_range(2, 0, 1);
   TlRange j = tl_range_join(a, b);
   assert_true(j.begin == 2 && j.end == 9 && j.file == 1);
   assert_true(tl_range_join(none, a).begin == 5 && tl_range_join(a, none).end == 9);
   assert_true(tl_range_join(a, other).end == 9);
}

/* What diag_help.def says of E0114. */
#define USUAL_HELP \
   "      = help: take it out, or write its '(', '[' or '{' before the expression\n"

static void
carets_under_wide_and_tabbed_text(void **state)
{
   (void)state;
   Cx c;
   cx_open(&c);
   uint32_t file = add(&c, "\tx = \"é\" + bad\n世界 = wrong(1,\n  2)\n");
   tl_report(&c.diags, E0114, find(&c, file, "bad"), 'x');
   tl_report(&c.diags, E0114, find(&c, file, "wrong(1,\n  2)"), 'y');
   tl_report(&c.diags, E0114, find(&c, file, "世界"), 'z');
   assert_string_equal(rendered(&c),
                       "f.tile:1:12: error[E0114]: closing 'x' has no opening bracket\n"
                       "    1 | \tx = \"é\" + bad\n"
                       "      | \t          ^~~\n" USUAL_HELP
                       "f.tile:2:6: error[E0114]: closing 'y' has no opening bracket\n"
                       "    2 | 世界 = wrong(1,\n"
                       "      |        ^~~~~~~~\n" USUAL_HELP
                       "f.tile:2:1: error[E0114]: closing 'z' has no opening bracket\n"
                       "    2 | 世界 = wrong(1,\n"
                       "      | ^~~~\n" USUAL_HELP);
   fixture_close(&c.f);
}

static void
help_and_notes_follow_their_error(void **state)
{
   (void)state;
   Cx c;
   cx_open(&c);
   uint32_t file = add(&c, "a (b\n");
   tl_note(&c.diags, N0112, find(&c, file, "a"), "lost: no error before it");
   tl_help(&c.diags, "lost too");
   tl_report(&c.diags, E0114, find(&c, file, "b"), ')');
   tl_help(&c.diags, "try %d", 1);
   tl_note(&c.diags, N0112, find(&c, file, "("), "opened here");
   tl_report(&c.diags, E0114, (tl_range(0, 0, 0)), ']');
   assert_string_equal(rendered(&c),
                       "f.tile:1:4: error[E0114]: closing ')' has no opening bracket\n"
                       "    1 | a (b\n"
                       "      |    ^\n"
                       "      = help: try 1\n"
                       "f.tile:1:3: note: opened here\n"
                       "    1 | a (b\n"
                       "      |   ^\n"
                       "tilec: error[E0114]: closing ']' has no opening bracket\n" USUAL_HELP);
   fixture_close(&c.f);
}

static void
long_lines_are_cut_around_the_caret(void **state)
{
   (void)state;
   Cx c;
   cx_open(&c);
   char text[5001];
   memset(text, 'a', 5000);
   memcpy(text + 3000, "BAD", 3);
   text[5000] = '\0';
   uint32_t file = add(&c, text);
   tl_report(&c.diags, E0114, find(&c, file, "BAD"), 'x');
   const char *out = rendered(&c), *line = strstr(out, "1 | "), *bad = strstr(out, "BAD");
   const char *bar = strstr(out, "      | "), *caret = strchr(bar, '^');
   assert_true(strlen(out) < 1000);
   assert_int_equal(bad - line - 4, caret - bar - 8);
   fixture_close(&c.f);
}

/* Between characters: é is two bytes. */
static void
long_texts_are_cut(void **state)
{
   (void)state;
   for (int odd = 0; odd < 2; odd++) {
      Cx c;
      cx_open(&c);
      char text[20001];
      memset(text, 'x', sizeof text);
      for (int i = odd; i + 2 < 20000; i += 2)
         memcpy(text + i, "é", 2);
      text[20000] = '\0';
      tl_report(&c.diags, E0200, find(&c, add(&c, "abc"), "b"), text);
      const char *out = c.diags.first->text, *dots = strstr(out, "... (1");
      assert_non_null(dots);
      assert_non_null(strstr(dots, " more bytes)"));
      assert_true(dots - out > 4000 && strlen(out) < 4200);
      assert_int_equal((unsigned char)dots[-1], (unsigned char)"é"[1]);
      fixture_close(&c.f);
   }
}

static void
limits_and_duplicates(void **state)
{
   (void)state;
   Cx c;
   cx_open(&c);
   uint32_t file =
      add(&c, "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm\nn\no\np\nq\nr\ns\nt\nu\nv\nw\nx\ny\n");
   for (uint32_t i = 0; i < 25; i++)
      for (int twice = 0; twice < 2; twice++) {
         tl_report(&c.diags, E0114, (tl_range(file, 2 * i, 2 * i + 1)), 'x');
         tl_help(&c.diags, "h%u", i);
      }
   unsigned kept = 0;
   for (TlDiag *d = c.diags.first; d; d = d->next, kept++) {
      char want[8];
      snprintf(want, sizeof want, "h%u", kept);
      assert_string_equal(d->help, want);
   }
   assert_int_equal(kept, 20);
   assert_true(c.diags.num_errors >= 25);
   assert_string_equal(tl_diag_name(TL_DIAG_E0114), "E0114");
   fixture_close(&c.f);
}

/* x[i] + x[j]: what is said of a line is said once, and other errors of it are kept. */
static void
same_in_a_line(void **state)
{
   (void)state;
   Cx c;
   cx_open(&c);
   uint32_t file = add(&c, "a b c\nd");
   tl_report(&c.diags, E0114, (tl_range(file, 0, 1)), 'x');
   tl_report(&c.diags, E0114, (tl_range(file, 2, 3)), 'x');
   tl_help(&c.diags, "of the second");
   assert_int_equal(c.diags.num_errors, 1);
   assert_null(c.diags.first->next);
   assert_string_not_equal(c.diags.first->help, "of the second");
   tl_report(&c.diags, E0114, (tl_range(file, 4, 5)), 'y');
   tl_report(&c.diags, E0114, (tl_range(file, 6, 7)), 'x');
   assert_int_equal(c.diags.num_errors, 3);
   fixture_close(&c.f);
}

static void
json_lines(void **state)
{
   (void)state;
   Cx c;
   cx_open(&c);
   uint32_t file = add(&c, "x = \"\\\"\n");
   tl_report(&c.diags, E0129, find(&c, file, "x"), "a\"b\\c\n\x01");
   tl_note(&c.diags, N0112, find(&c, file, "="), "n");
   TlSb sb;
   tl_sb_init(&sb, c.f.arena);
   tl_diag_render_json(&c.diags, c.diags.first, &sb);
   assert_string_equal(tl_sb_cstr(&sb),
                       "{\"code\":\"E0129\",\"severity\":\"error\",\"message\":"
                       "\"f-string: a\\\"b\\\\c\\n\\u0001\",\"file\":\"f.tile\",\"line\":1,"
                       "\"column\":1,\"end_line\":1,\"end_column\":2,"
                       "\"help\":\"a brace that stands for itself is written twice: {{\","
                       "\"notes\":[{\"code\":\"N0112\","
                       "\"severity\":\"note\",\"message\":\"n\",\"file\":\"f.tile\",\"line\":1,"
                       "\"column\":3,\"end_line\":1,\"end_column\":4}]}\n");
   fixture_close(&c.f);
}

static void
codes_are_named(void **state)
{
   (void)state;
   for (unsigned i = 0; i < TL_DIAG_COUNT; i++) {
      const char *name = tl_diag_name((TlDiagCode)i);
      assert_true(strlen(name) == 5 && strchr("EWRN", name[0]));
   }
}

int test_diag(void);
int
test_diag(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(positions),
      cmocka_unit_test(joined_ranges),
      cmocka_unit_test(carets_under_wide_and_tabbed_text),
      cmocka_unit_test(help_and_notes_follow_their_error),
      cmocka_unit_test(long_lines_are_cut_around_the_caret),
      cmocka_unit_test(long_texts_are_cut),
      cmocka_unit_test(limits_and_duplicates),
      cmocka_unit_test(same_in_a_line),
      cmocka_unit_test(json_lines),
      cmocka_unit_test(codes_are_named),
   };
   return cmocka_run_group_tests_name("base/diag", tests, NULL, NULL);
}
