/* JSON as text, and UTF-8. */
#include "base/json.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

int test_json(void);

typedef struct Text {
   TlMem mem;
   jmp_buf oom;
   TlSb sb;
} Text;

static TlSb *
begin(Text *t)
{
   tl_mem_init(&t->mem);
   t->mem.oom = &t->oom;
   tl_sb_init(&t->sb, tl_arena_new(&t->mem));
   return &t->sb;
}

static void
is_then_gone(Text *t, const char *expected)
{
   assert_string_equal(tl_sb_cstr(&t->sb), expected);
   tl_arena_free(t->sb.arena);
}

static void
string_is(const char *text, size_t len, const char *expected)
{
   Text t;
   tl_json_mem(begin(&t), NULL, text, len);
   is_then_gone(&t, expected);
}

#define IS(text, expected) string_is(text, sizeof(text) - 1, "\"" expected "\"")

static void
strings_are_escaped(void **state)
{
   (void)state;
   IS("tile<fp16>", "tile<fp16>");
   IS("a\"b\\c\n\t\0\x7f", "a\\\"b\\\\c\\n\\u0009\\u0000\\u007f");
}

static void
what_is_no_utf8_is_replaced(void **state)
{
   (void)state;
   IS("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
   IS("a\xff\xfe", "a\\ufffd\\ufffd");
   IS("\xc3", "\\ufffd");                                  /* cut off */
   IS("\xc0\xaf", "\\ufffd\\ufffd");                       /* longer than needed */
   IS("\xed\xa0\x80", "\\ufffd\\ufffd\\ufffd");            /* half of a pair */
   IS("\xf4\x90\x80\x80", "\\ufffd\\ufffd\\ufffd\\ufffd"); /* beyond the last character */
}

static void
commas_come_by_themselves(void **state)
{
   (void)state;
   Text t;
   TlSb *sb = begin(&t);
   tl_json_open(sb, '{');
   tl_json_int(sb, "a", -1);
   tl_json_open_field(sb, "b", '[');
   tl_json_bool(sb, NULL, true);
   tl_json_str(sb, NULL, "[,");
   tl_json_open(sb, '{');
   tl_json_close(sb, '}');
   tl_json_close(sb, ']');
   tl_json_str(sb, "c", NULL);
   tl_json_double(sb, "d", 0.1, 6);
   tl_json_double(sb, "e", HUGE_VAL, 6);
   tl_json_close(sb, '}');
   is_then_gone(&t, "{\"a\":-1,\"b\":[true,\"[,\",{}],\"c\":null,\"d\":0.1,\"e\":null}");
}

int
test_json(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(strings_are_escaped),
      cmocka_unit_test(what_is_no_utf8_is_replaced),
      cmocka_unit_test(commas_come_by_themselves),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}
