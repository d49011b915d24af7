/* Syntax errors: where, which, with what help; recovery; limits; out of memory. */
#include "fixture.h"

static void
one_slip_one_error(void **state)
{
   (void)state;
   static const struct {
      const char *text, *error, *part; /* `part` occurs in the rendered text */
   } row[] = {
      {"if x\n  y = 1\n", "1:5 E0130", "':' before its block"},
      {"for i in range(3)\n  y\n", "1:18 E0130", "'for' needs ':'"},
      {"def f()\n  y\n", "1:8 E0130", "'def' needs ':'"},
      {"if x = 3:\n  y\n", "1:6 E0131", "'==' compares, '=' assigns"},
      {"while x = f():\n  y\n", "1:9 E0131", "'==' compares"},
      {"x = f(a b)\n", "1:9 E0131", "is a ',' missing after 'a'?"},
      {"x = [1 2]\n", "1:8 E0131", "is a ',' missing after '1'?"},
      {"x = f(a,\n", "1:6 E0112", "'(' is never closed"},
      {"if a:\n  b\nelse if c:\n  d\n", "3:6 E0131", "write 'elif'"},
      {"i++\n", "1:4 E0131", "write '+= 1'"},
      {"i--\n", "1:4 E0131", "write '-= 1'"},
      {"x = a && b\n", "1:8 E0131", "write 'and'"},
      {"x = a || b\n", "1:8 E0131", "write 'or'"},
      {"x = !a\n", "1:5 E0110", "write 'not'"},
      {"x = a <> b\n", "1:8 E0131", "write '!='"},
      {"x = a ? b : c\n", "1:7 E0110", "'a if test else b'"},
      {"x := 3\n", "1:3 E0131", "to assign in a statement write '='"},
      {"// c\n", "1:1 E0131", "comments start with '#'"},
      {"x = 1 /* c */\n", "1:8 E0131", "comments start with '#'"},
      {"if x {\n}\n", "1:6 E0131", "a block is made by ':' and indentation"},
      {"def f() { }\n", "1:9 E0131", "a block is made by ':' and indentation"},
      {"print x\n", "1:7 E0131", "write print(...)"},
      {"int x = 3\n", "1:5 E0131", "'x: i32 = 0'"},
      {"for (i = 0; i < n; i += 1):\n  x\n", "1:8 E0131", "write 'for i in range(start, end):'"},
      {"elseif x:\n  y\n", "1:8 E0131", "write 'elif'"},
      {"in = 3\n", "1:1 E0131", "'in' is a keyword"},
      {"x.class\n", "1:3 E0131", "'class' is a keyword and cannot be a name"},
      {"match x\n", "1:7 E0131", "write 'match value:'"},
      {"case 1:\n  x\n", "1:6 E0131", "stands in the block of a 'match value:'"},
      {"switch x:\n  y\n", "1:8 E0131", "write 'match' with a 'case'"},
      {"else:\n  x\n", "1:1 E0131", "indented like the statement that it continues"},
      {"def f():\n  await 3\n", "2:3 E0132", "'await' is not part of the language"},
      {"async def f():\n  x\n", "1:1 E0132", "'async'"},
      {"x = await f()\n", "1:5 E0132", "'await'"},
      {"f() = 3\n", "1:1 E0133", "cannot assign to a call"},
      {"a == b = 3\n", "1:1 E0133", "'==' compares"},
      {"(a, b) += 1\n", "1:1 E0133", "cannot update a tuple"},
      {"for 3 in x: pass\n", "1:5 E0133", "cannot assign to a literal"},
      {"None = 1\n", "1:1 E0133", "cannot assign to None"},
      {"del f()\n", "1:5 E0133", "cannot delete a call"},
      {"f(a=1, b)\n", "1:8 E0134", "must not follow a keyword argument"},
      {"f(**a, b)\n", "1:8 E0134", "'**' unpacking"},
      {"f(a=1, a=2)\n", "1:8 E0138", "'a' is given twice"},
      {"def f(a=1, b): pass\n", "1:12 E0135", "parameter 'b' needs a default"},
      {"def f(a, a): pass\n", "1:10 E0136", "parameter 'a' is already"},
      {"def f(*, a, *b): pass\n", "1:13 E0136", ""},
      {"def f(**k, a): pass\n", "1:12 E0139", ""},
      {"try:\n  x\ny = 1\n", "1:1 E0140", "'except' or 'finally'"},
      {"x = (*a)\n", "1:6 E0141", ""},
      {"x = 1 +\n", "1:8 E0131", "expected an expression; found the end of the line"},
      {"x = a b\n", "1:7 E0131", "found name 'b'"},
      {"import\n", "1:7 E0131", "expected a name"},
      {"x = 'a' 3\n", "1:9 E0131", "found number '3'"},
   };
   for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
      Fixture f;
      fixture_open(&f);
      parse_named(&f, "t.tile", row[i].text, strlen(row[i].text));
      const char *out = all_rendered(&f);
      if (strcmp(error_list(&f), row[i].error) != 0 || !strstr(out, row[i].part))
         fail_msg("for:\n%s\nexpected: %s ... %s\ngot: %s\n%s", row[i].text, row[i].error,
                  row[i].part, error_list(&f), out);
      fixture_close(&f);
   }
}

static void
several_errors_each_on_its_line(void **state)
{
   (void)state;
   const char text[] = "def f(x):\n"
                       "    if x = 3:\n"   /* 2 */
                       "        y = 1 +\n" /* 3 */
                       "    else if x:\n"  /* 4 */
                       "        z = 2\n"
                       "    a = b c\n" /* 6 */
                       "    return x\n"
                       "def g(x\n" /* 8 */
                       "def h():\n"
                       "    while x\n"       /* 10 */
                       "        y = (1, 2\n" /* 11 */
                       "        return 3\n"
                       "    s = 'abc\n" /* 13 */
                       "    ok = 1\n"
                       "class A:\n" /* 15 */
                       "x = ]\n";   /* 16 */
   Fixture f;
   fixture_open(&f);
   TlAstModule *m = parse_named(&f, "t.tile", text, sizeof text - 1);
   assert_string_equal(error_list(&f),
                       "2:10 E0131, 3:16 E0131, 4:10 E0131, 6:11 E0131, 8:6 E0112, "
                       "10:12 E0130, 11:13 E0112, 13:9 E0111, 15:1 E0118, 16:5 E0114");
   assert_string_equal(one_line(&f, tree_text(&f, &m->node)),
                       "module (body: function name=f (params: param kind='plain' name=x, body: "
                       "return (value: name id=x)), body: function name=h (body: assign "
                       "(targets: name id=ok, value: int value=1)), body: class name=A (body: "
                       "pass))");
   fixture_close(&f);
}

/* `head` once, `unit` n times, `mid`, `tail` n times. */
static char *
repeated(Fixture *f, const char *head, const char *unit, const char *mid, const char *tail,
         size_t n)
{
   TlSb sb;
   tl_sb_init(&sb, f->arena);
   tl_sb_str(&sb, head);
   for (size_t i = 0; i < n; i++)
      tl_sb_str(&sb, unit);
   tl_sb_str(&sb, mid);
   for (size_t i = 0; i < n; i++)
      tl_sb_str(&sb, tail);
   return sb.data;
}

static const char *
nested_blocks(Fixture *f, unsigned n)
{
   TlSb sb;
   tl_sb_init(&sb, f->arena);
   for (unsigned i = 0; i < n; i++)
      tl_sb_printf(&sb, "%*sif x:\n", (int)i, "");
   tl_sb_printf(&sb, "%*spass\nz = )\n", (int)n, "");
   return sb.data;
}

static void
limits_at_their_edges(void **state)
{
   (void)state;
   Fixture f;
   fixture_open(&f);
   for (int past = -1; past <= 1; past++) {
      size_t n = (size_t)(256 + past);
      expect_errors("t.tile", repeated(&f, "x = ", "[", "", "]", n), past > 0 ? "1:261 E0106" : "");
      expect_errors("t.tile", repeated(&f, "x = ", "f(a=", "1", ")", n),
                    past > 0 ? "1:1030 E0106" : "");
      expect_errors("t.tile", nested_blocks(&f, (unsigned)n),
                    past > 0 ? "258:258 E0107, 259:5 E0114"
                    : past   ? "257:5 E0114"
                             : "258:5 E0114");
      n = (size_t)(1024 + past);
      expect_errors("t.tile", repeated(&f, "", "a", " = 1", "", n), past > 0 ? "1:1 E0105" : "");
      n = (size_t)(65536 - 2 + past);
      expect_errors("t.tile", repeated(&f, "x = '", "a", "'", "", n), past > 0 ? "1:5 E0104" : "");
      n = (size_t)(800 - 3 + past); /* module, statement, sum of n + 1 names */
      expect_errors("t.tile", repeated(&f, "x = a", " + a", "", "", n),
                    past > 0 ? "1:1 E0108" : "");
   }
   fixture_close(&f);
}

static void
deep_nesting_is_one_error(void **state)
{
   (void)state;
   static const struct {
      const char *head, *unit, *mid, *tail, *errors;
   } row[] = {
      {"x = ", "(", "1", ")", "1:261 E0106"},    {"x = ", "(", "1", "", "1:261 E0106"},
      {"x = ", "{1:[(", "1", "", "1:433 E0106"}, {"x = ", "not ", "1", "", "1:16369 E0109"},
      {"x = ", "-", "1", "", "1:4096 E0109"},    {"x = ", "lambda: ", "1", "", NULL},
      {"x = ", "a ** ", "1", "", NULL},          {"x = ", "a if b else ", "1", "", NULL},
      {"x = a", ".b", "", "", "1:5 E0108"},      {"x = a", "[0]", "", "", "1:5 E0108"},
      {"x = a", "()", "", "", "1:5 E0108"},      {"x = a", " < a", "", "", ""},
      {"if a: b", "\nelif a: b", "", "", NULL},  {"x = f'", "{f'", "", "'}", NULL},
   };
   for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
      Fixture f;
      fixture_open(&f);
      char *text = repeated(&f, row[i].head, row[i].unit, row[i].mid, row[i].tail, 10000);
      parse_named(&f, "t.tile", text, strlen(text));
      if (row[i].errors && strcmp(error_list(&f), row[i].errors) != 0)
         fail_msg("row %zu: expected %s, got %s", i, row[i].errors, error_list(&f));
      if (!row[i].errors && f.diags.num_errors != 1)
         fail_msg("row %zu: %s", i, error_list(&f));
      fixture_close(&f);
   }
}

/* Random bytes and random joins of real fragments: no crash, and every range lies in the file. */
static void
ranges_stay_inside(void *user, TlNode *child)
{
   const uint32_t *len = user;
   assert_true(child->range.begin <= child->range.end && child->range.end <= *len);
   tl_ast_children(child, ranges_stay_inside, user);
}

static void
random_texts(void **state)
{
   (void)state;
   static const char *const piece[] = {
      "def ",
      "f",
      "(",
      ")",
      "[",
      "]",
      "{",
      "}",
      ":",
      "\n",
      "\n  ",
      "\n    ",
      "\t",
      "if ",
      "else ",
      "elif ",
      "for ",
      "in ",
      "=",
      "==",
      "+",
      "*",
      "**",
      ",",
      ".",
      "@",
      "jit\n",
      "'",
      "\"\"\"",
      "f'",
      "0",
      "1.5",
      "lambda ",
      "try:",
      "except ",
      "finally",
      "class ",
      "return ",
      "\\\n",
      "#",
      "with ",
      "as ",
      "import ",
      "from ",
      "not ",
      "->",
      ":=",
      "const ",
      "async ",
      "\r\n",
      "\xC3",
      "é",
      ";",
      "match x:\n  case 1:\n    y\n",
      "@triton.jit\ndef k(x):\n  y = 1\n",
      "global ",
      "pass\n",
   };
   uint64_t seed = 0x2545F4914F6CDD1DULL;
   for (int trial = 0; trial < 3000; trial++) {
      uint64_t start = seed;
      Fixture f;
      fixture_open(&f);
      TlSb sb;
      tl_sb_init(&sb, f.arena);
      unsigned pieces = (unsigned)trial % 60 + 1;
      for (unsigned i = 0; i < pieces; i++) {
         seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
         tl_sb_str(&sb, piece[seed % (sizeof piece / sizeof piece[0])]);
      }
      uint32_t len = (uint32_t)sb.len;
      TlAstModule *m = parse_named(&f, trial % 2 ? "t.py" : "t.tile", sb.data, sb.len);
      if (m->node.range.end != len)
         fail_msg("seed %llu", (unsigned long long)start);
      tl_ast_children(&m->node, ranges_stay_inside, &len);
      fixture_close(&f);
   }
}

/* Every block request fails in turn; nothing leaks, and the unwinding is clean. */
static void
out_of_memory(void **state)
{
   (void)state;
   const char text[] =
      "@k(a=[1 for x in y])\ndef f(a, b: i32 = 1):\n  x = f'{a}' 'b' + (1, 2)[0]\n";
   volatile bool done = false;
   for (volatile long n = 0; !done; n++) {
      TlMem mem;
      jmp_buf oom;
      tl_mem_init(&mem);
      mem.oom = &oom;
      TlArena *volatile arena = NULL;
      mem.fail_at = n;
      if (!setjmp(oom)) {
         arena = tl_arena_new(&mem);
         TlSources *sources = tl_sources_new(arena);
         TlDiags diags;
         tl_diags_init(&diags, arena, sources);
         TlParseCx cx = {arena, tl_strings_new(arena), sources, &diags};
         tl_parse_file(&cx, tl_sources_add(sources, "t.py", text, sizeof text - 1));
         done = true;
      }
      tl_arena_free(arena);
      assert_int_equal(mem.used_bytes, 0);
      assert_true(n < 1000);
   }
}

int test_errors(void);
int
test_errors(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_slip_one_error),    cmocka_unit_test(several_errors_each_on_its_line),
      cmocka_unit_test(limits_at_their_edges), cmocka_unit_test(deep_nesting_is_one_error),
      cmocka_unit_test(random_texts),          cmocka_unit_test(out_of_memory),
   };
   return cmocka_run_group_tests_name("syntax/errors", tests, NULL, NULL);
}
