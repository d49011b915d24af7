/* Tokens, layout and literals. */
#include "fixture.h"

#include <math.h>

/* The tokens of a text as "kind text" joined by '|', positions left out. */
static void
expect_tokens(const char *text, const char *expected)
{
   Fixture f;
   fixture_open(&f);
   TlSb out, flat;
   tl_sb_init(&out, f.arena);
   tl_sb_init(&flat, f.arena);
   tl_print_tokens(&f.cx, tl_sources_add(f.sources, "t.tile", text, strlen(text)), &out);
   for (const char *p = tl_sb_cstr(&out); *p;) {
      const char *word = strchr(p, ' ') + 1;
      size_t len = strcspn(word, "\n");
      tl_sb_printf(&flat, "%s%.*s", flat.len ? "|" : "", (int)len, word);
      p = word + len + 1;
   }
   assert_string_equal(tl_sb_cstr(&flat), expected);
   fixture_close(&f);
}

static void
words_and_operators(void **state)
{
   (void)state;
   expect_tokens("a = b\n", "name a|=|name b|newline|end");
   expect_tokens("a **= b // c >> 2 -> ... :=\n",
                 "name a|**=|name b|//|name c|>>|int 2|->|...|:=|newline|end");
   expect_tokens("nothing not iff if\n", "name nothing|not|name iff|if|newline|end");
   expect_tokens("größe_1 = α\n", "name größe_1|=|name α|newline|end");
   expect_tokens("x # comment\n# only\n\n   \ny", "name x|newline|name y|newline|end");
   expect_tokens("", "end");
   expect_tokens("\n\n# c\n", "end");
   expect_tokens("\xEF\xBB\xBFx\n", "name x|newline|end");
   expect_tokens("1if x else.5\n", "int 1|if|name x|else|float .5|newline|end");
}

static void
blocks_by_indentation(void **state)
{
   (void)state;
   expect_tokens("if a:\n  b\n  c\nd\n", "if|name a|:|newline|indent|name b|newline|name c|newline|"
                                         "dedent|name d|newline|end");
   expect_tokens("if a:\n  if b:\n    c", "if|name a|:|newline|indent|if|name b|:|newline|indent|"
                                          "name c|newline|dedent|dedent|end");
   expect_tokens("if a:\r\n\tb\r\nc\r\n", "if|name a|:|newline|indent|name b|newline|dedent|name c|"
                                          "newline|end");
   expect_tokens("if a:\n  b\n# out\n  c\n", "if|name a|:|newline|indent|name b|newline|name c|"
                                             "newline|dedent|end");
}

static void
lines_joined(void **state)
{
   (void)state;
   expect_tokens("a = (b,\nc)\n", "name a|=|(|name b|,|name c|)|newline|end");
   expect_tokens("a = [\n# c\n\n  b\n]\nc\n", "name a|=|[|name b|]|newline|name c|newline|end");
   expect_tokens("a = b + \\\n   c\n", "name a|=|name b|+|name c|newline|end");
   /* words that go on with an expression, at the statement's own column */
   expect_errors("t.tile", "x = (a\nif b\nelse c)\n", "");
   expect_errors("t.tile", "x = [a\nfor a in b\nif a]\n", "");
   expect_errors("t.tile", "x = {a\nif b else c: d}\n", "");
   expect_errors("t.tile", "x = {a\nif b else c:\nd}\n", "");
   expect_errors("t.tile", "x = (a\n@ b)\ndef f(): pass\n", "");
   expect_errors("t.tile", "x = (a\nand not b\nor c\nin d\nis e)\n", "");
   expect_errors("t.tile", "f(lambda:\nx, a\nif b else lambda:\n1)\n", "");
   expect_errors("t.tile", "f(a,\nreturn_value,\nifx,\ndefine=1)\n", "");
}

static void
unclosed_bracket_ends_at_statement(void **state)
{
   (void)state;
   static const char *const next[] = {
      "def g(): pass",
      "class G: pass",
      "return 1",
      "while x:\n  y",
      "with x:\n  y",
      "import x",
      "from x import y",
      "assert x",
      "pass",
      "try:\n  x\nfinally:\n  y",
      "if x:\n  y",
      "for x in y:\n  z",
      "break",
      "if x: return 1",
      "raise x",
      "global x",
      "@jit\ndef g(): pass",
      "@a.b(\n  1)\n@c\nclass G: pass",
   };
   for (size_t i = 0; i < sizeof next / sizeof next[0]; i++) {
      char text[200];
      snprintf(text, sizeof text, "a = 1\nx = foo(a, [1,\n%s\nz = )\n", next[i]);
      const char *last = strchr(text, 'z');
      unsigned line = 1;
      for (const char *p = text; p < strrchr(text, 'z'); p++)
         line += *p == '\n';
      char errors[80];
      snprintf(errors, sizeof errors, "2:12 E0112, %u:5 E0114", line);
      assert_non_null(last);
      expect_errors("t.tile", text, errors);
   }
   /* further in than the statement: still inside */
   expect_errors("t.tile", "def f():\n  x = (1,\n  return x\ny = )\n", "2:7 E0112, 4:5 E0114");
   expect_errors("t.tile", "x = (1,\n   y\n", "1:5 E0112");
}

static void
layout_errors(void **state)
{
   (void)state;
   expect_errors("t.tile", "if a:\n    b\n  c\nd = )\n", "3:3 E0115, 4:5 E0114");
   expect_errors("t.tile", "if a:\n    b\n  c\n  d\ne = )\n", "3:3 E0115, 5:5 E0114");
   expect_errors("t.tile", "a\n  b\n  c\nd = )\n", "2:3 E0117, 4:5 E0114");
   expect_errors("t.tile", "if a:\nb\nc = )\n", "1:1 E0118, 3:5 E0114");
   expect_errors("t.tile", "def f():\n", "1:1 E0118");
   expect_errors("t.tile", "if a:\n\tb\n        c\n", "3:9 E0116");
   expect_errors("t.tile", "if a:\n        b\n\tc\n", "3:2 E0116");
   expect_errors("t.tile", "if a:\n\tb\n\tif c:\n\t\td\n", "");
   expect_errors("t.tile", "a \\ b\nc = )\n", "1:3 E0119, 2:5 E0114");
   expect_errors("t.tile", "a = (b]\nc = )\n", "1:7 E0113, 2:5 E0114");
   expect_errors("t.tile", "a = foo([b)\nc = )\n", "1:11 E0113, 2:5 E0114");
   expect_errors("t.tile", "a = b)\n", "1:6 E0114");
   expect_errors("t.tile", "a = b ? c\nd = !e\n", "1:7 E0110, 2:5 E0110");
   expect_errors("t.tile", "a = “b”\n", "1:5 E0110");
}

#define TEXT(s) s, sizeof s - 1

static void
hostile_bytes(void **state)
{
   (void)state;
   static const struct {
      const char *text;
      size_t len;
      const char *errors;
   } row[] = {
      {TEXT("x = \xFF\ny = )\n"), "1:5 E0101, 2:5 E0114"},
      {TEXT("# \xC3\nx = )\n"), "1:3 E0101, 2:5 E0114"},
      {TEXT("x = '\xED\xA0\x80'\n"), "1:6 E0101"},     /* a surrogate */
      {TEXT("x = '\xC0\x80'\n"), "1:6 E0101"},         /* an overlong NUL */
      {TEXT("x = '\xF4\x90\x80\x80'\n"), "1:6 E0101"}, /* above U+10FFFF */
      {TEXT("x = 'é€😀'\n"), ""},
      {TEXT("x = 1\0\ny = )\n"), "1:6 E0102, 2:5 E0114"},
      {TEXT("x = '\0'\n"), "1:6 E0102"},
      {TEXT("\\"), "1:1 E0119"},
      {TEXT("'"), "1:1 E0111"},
      {TEXT("\"\"\""), "1:1 E0111"},
      {TEXT("f'{"), "1:1 E0111"},
      {TEXT("\x01\n"), "1:1 E0110"},
      {TEXT("x\f = 1\n\f\ny = 2\n"), ""},
   };
   for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
      Fixture f;
      fixture_open(&f);
      parse_named(&f, "t.tile", row[i].text, row[i].len);
      if (strcmp(error_list(&f), row[i].errors) != 0)
         fail_msg("row %zu: expected %s, got %s", i, row[i].errors, error_list(&f));
      fixture_close(&f);
   }
}

/* The value of an expression that is one literal. */
static const TlNode *
literal(Fixture *f, const char *text)
{
   const TlNode *n =
      tl_parse_expression(&f->cx, tl_sources_add(f->sources, "<text>", text, strlen(text)));
   if (!n)
      fail_msg("%s: %s", text, all_rendered(f));
   return n;
}

static void
integers(void **state)
{
   (void)state;
   static const struct {
      const char *text;
      uint64_t value;
   } row[] = {{"0", 0},
              {"00_0", 0},
              {"1_000", 1000},
              {"0x_fF", 255},
              {"0XFFFFFFFFFFFFFFFF", UINT64_MAX},
              {"18446744073709551615", UINT64_MAX},
              {"9223372036854775807", INT64_MAX},
              {"9223372036854775808", (uint64_t)INT64_MAX + 1},
              {"0o17", 15},
              {"0b1010_1010", 170}};
   Fixture f;
   fixture_open(&f);
   for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
      const TlAstInt *n = tl_ast_Int(literal(&f, row[i].text));
      assert_true(n->value == row[i].value);
      assert_int_equal(n->is_large, row[i].value > INT64_MAX);
   }
   fixture_close(&f);
   static const char *const bad[] = {"0x",   "0b2",  "0o8", "1__0", "1_",
                                     "0xfg", "12ab", "1e",  "0_x1"};
   for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
      expect_errors("t.tile", bad[i], "1:1 E0120");
   expect_errors("t.tile", "x = 18446744073709551616", "1:5 E0122");
   expect_errors("t.tile", "x = 0x10000000000000000", "1:5 E0122");
   expect_errors("t.tile", "x = 012 + 3j + 1.5J", "1:5 E0123, 1:11 E0121, 1:16 E0121");
}

static void
floats(void **state)
{
   (void)state;
   static const struct {
      const char *text;
      double value;
   } row[] = {{"1.5", 1.5},    {".5", 0.5},          {"5.", 5.0},
              {"1e3", 1000.0}, {"1_0.5e-1", 1.05},   {"1E+2", 100.0},
              {"0.1", 0.1},    {"1e400", INFINITY},  {"3.4028234663852886e38", 0x1.fffffep127},
              {"09.5", 9.5},   {"5e-324", 0x1p-1074}};
   Fixture f;
   fixture_open(&f);
   for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
      assert_true(tl_ast_Float(literal(&f, row[i].text))->value == row[i].value);
   fixture_close(&f);
}

static void
strings(void **state)
{
   (void)state;
   static const struct {
      const char *text, *value;
      size_t len;
   } row[] = {{"'abc'", "abc", 3},
              {"\"a'b\"", "a'b", 3},
              {"''", "", 0},
              {"'''a\n'b''c'''", "a\n'b''c", 7},
              {"'a\\n\\t\\\\\\'\\x41\\101\\0'", "a\n\t\\'AA\0", 8},
              {"'\\u20ac\\U0001F600'", "€😀", 7},
              {"r'\\n\\x'", "\\n\\x", 4},
              {"R'a\\'b'", "a\\'b", 4},
              {"b'\\xff'", "\xff", 1},
              {"Rb'\\x'", "\\x", 2},
              {"u'ü'", "ü", 2},
              {"'\\d'", "\\d", 2},
              {"'a\\\nb'", "ab", 2},
              {"'''a\r\nb'''", "a\nb", 3},
              {"'a' \"b\" '''c'''", "abc", 3}};
   Fixture f;
   fixture_open(&f);
   for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
      TlText v = tl_ast_Str(literal(&f, row[i].text))->value;
      assert_int_equal(v.len, row[i].len);
      assert_memory_equal(v.data, row[i].value, v.len + 1);
   }
   fixture_close(&f);
   expect_errors("t.tile", "x = 'abc\ny = )\n", "1:5 E0111, 2:5 E0114");
   expect_errors("t.tile", "x = '''abc\ny = )\n", "1:5 E0111");
   expect_errors("t.tile", "x = '\\x4'\n", "1:6 E0124");
   expect_errors("t.tile", "x = '\\u12'\n", "1:6 E0124");
   expect_errors("t.tile", "x = '\\N{DASH}'\n", "1:6 E0125");
   expect_errors("t.tile", "x = '\\ud800' '\\U00110000'\n", "1:6 E0126, 1:15 E0126");
   expect_errors("t.tile", "x = b'é'\n", "1:7 E0127");
   expect_errors("t.tile", "x = b'a' 'b'\n", "1:10 E0128");
}

static void
format_strings(void **state)
{
   (void)state;
   static const struct {
      const char *text, *tree;
   } row[] = {
      {"f'a{x}b'", "fstring (parts: str value=\"a\", parts: name id=x, parts: str value=\"b\")"},
      {"f'{{{x!r}}}'", "fstring (parts: str value=\"{\", parts: format conversion=r spec=\"\" "
                       "(value: name id=x), parts: str value=\"}\")"},
      {"f'{x:>{w}.2f}'", "fstring (parts: format conversion= spec=\">{w}.2f\" (value: name id=x))"},
      {"f'{x=}'", "fstring (parts: str value=\"x=\", parts: format conversion=r spec=\"\" "
                  "(value: name id=x))"},
      {"f'{a[\"k\"]}' 'z'", "fstring (parts: subscript (value: name id=a, indices: str "
                            "value=\"k\"), parts: str value=\"z\")"},
      {"f'{a['k']}'", "fstring (parts: subscript (value: name id=a, indices: str value=\"k\"))"},
      {"f'{a != b}'", "fstring (parts: compare ops='!=' (left: name id=a, rights: name id=b))"},
      {"f'{f'{x}'}'", "fstring (parts: fstring (parts: name id=x))"},
      {"rf'\\d{x}'", "fstring (parts: str value=\"\\\\d\", parts: name id=x)"},
   };
   Fixture f;
   fixture_open(&f);
   for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
      assert_string_equal(one_line(&f, tree_text(&f, literal(&f, row[i].text))), row[i].tree);
   fixture_close(&f);
   expect_errors("t.tile", "x = f'{'\ny = )\n", "1:7 E0129, 2:5 E0114");
   expect_errors("t.tile", "x = f'}'\n", "1:7 E0129");
   expect_errors("t.tile", "x = f'{}'\n", "1:8 E0129");
   expect_errors("t.tile", "x = f'{a b}'\n", "1:10 E0131");
   expect_errors("t.tile", "x = f'{a!q}'\n", "1:9 E0129");
}

int test_lex(void);
int
test_lex(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(words_and_operators),
      cmocka_unit_test(blocks_by_indentation),
      cmocka_unit_test(lines_joined),
      cmocka_unit_test(unclosed_bracket_ends_at_statement),
      cmocka_unit_test(layout_errors),
      cmocka_unit_test(hostile_bytes),
      cmocka_unit_test(integers),
      cmocka_unit_test(floats),
      cmocka_unit_test(strings),
      cmocka_unit_test(format_strings),
   };
   return cmocka_run_group_tests_name("syntax/lex", tests, NULL, NULL);
}
