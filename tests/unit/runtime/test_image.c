/* The launch record as JSON: exact round trip, strictness, hostile input. */
#include "fixture.h"

static const TilecArgInfo args[] = {
   {.name = "x", .type = "*fp16", .is_const = true, .divisible = 16},
   {.name = "n", .type = "i32", .value = "1"},
   {.name = "odd \"name\"\n\\",
    .type = "constexpr",
    .value = "'\x01 caf\xc3\xa9'",
    .is_constexpr = true},
};
static const TilecHiddenArg hidden[] = {
   {.kind = TILEC_HIDDEN_TENSOR_MAP,
    .base = "x",
    .dtype = TILEC_FP16,
    .rank = 2,
    .dims = {"K", "M"},
    .strides = {NULL, "K * 2"},
    .box = {64, 128},
    .swizzle_bytes = 128},
   {.kind = TILEC_HIDDEN_EXPR, .dtype = TILEC_I32, .dims = {"cdiv(n, 2)"}, .fill_nan = true},
};
static const TilecKernelInfo kernels[] = {
   {.name = "a",
    .entry = "a_0",
    .file = "a.tile",
    .line = 7,
    .num_warps = 4,
    .num_stages = 3,
    .threads = 384,
    .shared_bytes = 200000,
    .cluster = {2, 1, 1},
    .programmatic = true,
    .grid = {"cdiv(n, 2)", "3"},
    .launch_grid = {"min(grid_x, num_sms)"},
    .when = "n % 2 == 0",
    .args = args,
    .num_args = 3,
    .hidden = hidden,
    .num_hidden = 2},
   {.name = "b",
    .entry = "b",
    .num_warps = 1,
    .threads = 32,
    .cluster = {1, 1, 1},
    .cooperative = true},
};

static void
same_text(const char *a, const char *b)
{
   if (!a || !b)
      assert_true(a == b);
   else
      assert_string_equal(a, b);
}

static void
round_trip_is_exact(void **state)
{
   (void)state;
   TilecImageInfo in = image_of(kernels, 2), *out = NULL;
   Json first = {.len = 0}, second = {.len = 0};
   char error[256];
   assert_int_equal(tilec_image_write_json(&in, json_put, &first), TILEC_OK);
   TilecStatus status = tilec_image_read_json(first.text, first.len, &out, error, sizeof error);
   if (status != TILEC_OK)
      fail_msg("%s\n%s", error, first.text);
   assert_int_equal(out->num_kernels, 2);
   const TilecKernelInfo *k = &out->kernels[0];
   assert_string_equal(k->entry, "a_0");
   assert_int_equal(k->threads, 384);
   assert_int_equal(k->shared_bytes, 200000);
   assert_int_equal(k->cluster[0], 2);
   assert_true(k->programmatic && !k->cooperative && out->kernels[1].cooperative);
   same_text(k->grid[1], "3");
   same_text(k->grid[2], NULL);
   same_text(out->kernels[1].grid[0], NULL);
   same_text(k->args[2].name, args[2].name);
   same_text(k->args[2].value, args[2].value);
   same_text(k->args[0].value, NULL);
   assert_int_equal(k->args[0].divisible, 16);
   assert_true(k->args[0].is_const && k->args[2].is_constexpr);
   same_text(k->hidden[0].strides[0], NULL);
   same_text(k->hidden[0].strides[1], "K * 2");
   assert_int_equal(k->hidden[0].box[1], 128);
   assert_int_equal(k->hidden[0].dtype, TILEC_FP16);
   assert_int_equal(k->hidden[1].kind, TILEC_HIDDEN_EXPR);
   assert_int_equal(tilec_image_write_json(out, json_put, &second), TILEC_OK);
   assert_string_equal(first.text, second.text);
   tilec_image_info_free(out);
}

/* Replaces the first `from` by `to` in the record of `kernels`; reads that. */
static TilecStatus
read_edited(const char *from, const char *to, char *error)
{
   TilecImageInfo in = image_of(kernels, 2), *out = NULL;
   Json j = {.len = 0};
   char text[20000];
   tilec_image_write_json(&in, json_put, &j);
   char *at = strstr(j.text, from);
   assert_non_null(at);
   snprintf(text, sizeof text, "%.*s%s%s", (int)(at - j.text), j.text, to, at + strlen(from));
   TilecStatus status = tilec_image_read_json(text, strlen(text), &out, error, 256);
   if (status == TILEC_OK)
      tilec_image_info_free(out);
   else
      assert_null(out);
   return status;
}

static void
mistakes_are_located(void **state)
{
   (void)state;
   static const struct {
      const char *from, *to, *says;
   } cases[] = {
      {"\"format\": 1", "\"format\": 2", "format 2"},
      {"\"format\": 1", "\"format\": -1", "whole number"},
      {"\"format\": 1", "\"format\": 4294967296", "whole number"},
      {"\"format\": 1", "\"format\": 01", "whole number"},
      {"\"format\": 1", "\"format\": 1.5", "whole number"},
      {"\"format\": 1,", "", "without 'format'"},
      {"\"format\": 1", "\"format\": 1, \"format\": 1", "twice"},
      {"\"arch\": \"sm_90a\"", "\"arch\": null", "string"},
      {"\"programmatic\": true", "\"programmatic\": 1", "true or false"},
      {"[2, 1, 1]", "[2, 1]", "numbers"},
      {"[2, 1, 1]", "[2, 1, 1, 1]", "numbers"},
      {"\"tensor_map\"", "\"tensor_mop\"", "unknown hidden argument 'tensor_mop'"},
      {"\"fp16\",", "\"fp15\",", "unknown type"},
      {"[\"cdiv(n, 2)\", \"3\"]", "[\"1\", \"2\", \"3\", \"4\"]", "more than 3"},
      {"\"entry\": \"b\",", "", "without 'entry'"},
      {"\\u0001", "\\u0000", "escape"},
      {"\\u0001", "\\q", "escape"},
      {"\\u0001", "\\ud800", "escape"},
      {"\"a.tile\"", "\"a.tile", "control character"},
   };
   for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
      char error[256] = "";
      TilecStatus status = read_edited(cases[i].from, cases[i].to, error);
      if (status != TILEC_BAD_IMAGE || !strstr(error, cases[i].says) || !strstr(error, "line "))
         fail_msg("%s -> %s: %s: %s", cases[i].from, cases[i].to, tilec_status_name(status), error);
   }
}

static void
unknown_fields_are_skipped(void **state)
{
   (void)state;
   char error[256] = "";
   assert_int_equal(read_edited("\"format\": 1",
                                "\"format\": 1, \"new\": {\"a\": [1, -2.5e3, \"x\", "
                                "true, null, {}, []]}, \"newer\": false",
                                error),
                    TILEC_OK);
   char deep[4000] = "\"format\": 1, \"new\": ";
   for (int i = 0; i < 1000; i++)
      strcat(deep, "[");
   assert_int_equal(read_edited("\"format\": 1", deep, error), TILEC_BAD_IMAGE);
   assert_non_null(strstr(error, "too deeply"));
}

/* Every truncation and many byte flips: an answer, no crash, no leak. */
static void
damage_is_survived(void **state)
{
   (void)state;
   TilecImageInfo in = image_of(kernels, 2), *out = NULL;
   Json j = {.len = 0};
   tilec_image_write_json(&in, json_put, &j);
   for (size_t n = 0; n + 2 < j.len; n++) {
      char *exact = malloc(n ? n : 1); /* so that a read beyond the end is seen */
      memcpy(exact, j.text, n);
      assert_int_equal(tilec_image_read_json(exact, n, &out, NULL, 0), TILEC_BAD_IMAGE);
      free(exact);
   }
   unsigned seed = 99;
   for (int trial = 0; trial < 20000; trial++) {
      seed = seed * 1664525 + 1013904223;
      size_t at = (seed >> 8) % j.len;
      char old = j.text[at];
      j.text[at] = "\"{}[],:0\\u\x01\xff"[(seed >> 4) % 12];
      if (tilec_image_read_json(j.text, j.len, &out, NULL, 0) == TILEC_OK)
         tilec_image_info_free(out);
      j.text[at] = old;
   }
}

static bool
refuse_put(void *user, const char *text, size_t len)
{
   (void)text;
   (void)len;
   return --*(int *)user > 0;
}

static void
writer_stops_when_told(void **state)
{
   (void)state;
   TilecImageInfo in = image_of(kernels, 2);
   int left = 10;
   assert_int_equal(tilec_image_write_json(&in, refuse_put, &left), TILEC_IO);
   assert_int_equal(left, 0);
}

int test_image(void);
int
test_image(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(round_trip_is_exact),        cmocka_unit_test(mistakes_are_located),
      cmocka_unit_test(unknown_fields_are_skipped), cmocka_unit_test(damage_is_survived),
      cmocka_unit_test(writer_stops_when_told),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}
