/* The example's reader of .safetensors files: what it reads, what it refuses and with which words,
 * and that no bytes whatever make it read outside of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "transformer/random_model.h"
#include "transformer/safetensors.h"

int test_safetensors(void);

enum { LENGTH_BYTES = 8 };

typedef struct Bytes {
   unsigned char *at; /* of exactly this size, so that an address sanitizer sees its end */
   size_t size;
} Bytes;

static Bytes
file_of(const char *header, size_t data_bytes)
{
   size_t length = strlen(header);
   Bytes b = {.size = LENGTH_BYTES + length + data_bytes};
   b.at = malloc(b.size);
   assert_non_null(b.at);
   for (int i = 0; i < LENGTH_BYTES; i++)
      b.at[i] = (unsigned char)(length >> 8 * i);
   memcpy(b.at + LENGTH_BYTES, header, length);
   for (size_t i = 0; i < data_bytes; i++)
      b.at[LENGTH_BYTES + length + i] = (unsigned char)i;
   return b;
}

static void
names_types_shapes_and_bytes(void **state)
{
   (void)state;
   Bytes b = file_of("{ \"__metadata__\" : {\"b\":\"\\u00e9\\\"\", \"a\":\"\"},\n"
                     "\"two\":{\"data_offsets\":[4,10],\"dtype\":\"F16\",\"shape\":[3,1]},"
                     "\"one\":{\"dtype\":\"I32\",\"shape\":[],\"data_offsets\":[0,4]}}  ",
                     10);
   StFile f;
   char error[256] = "";
   assert_true(st_parse(&f, b.at, b.size, error, sizeof error));
   assert_int_equal(f.num_tensors, 2);
   assert_string_equal(st_metadata(&f, "b"), "\xc3\xa9\"");
   assert_string_equal(st_metadata(&f, "a"), "");
   assert_null(st_metadata(&f, "c"));
   const StTensor *two = st_tensor(&f, "two");
   assert_int_equal(two->dtype, TILEC_FP16);
   assert_int_equal(two->rank, 2);
   assert_int_equal(two->shape[0], 3);
   assert_int_equal(two->data[0], 4);
   assert_int_equal(st_tensor(&f, "one")->rank, 0);
   assert_null(st_tensor(&f, "three"));
   st_close(&f);
   free(b.at);
}

#define T(shape, begin, end)                                                                       \
   "{\"dtype\":\"F16\",\"shape\":" shape ",\"data_offsets\":[" #begin "," #end "]}"
static const struct {
   const char *header;
   size_t data_bytes;
   const char *says;
} refused[] = {
   {"", 0, "the header ends where '{'"},
   {" {}", 0, "byte 8: expected '{', with which a header begins, found 0x20"},
   {"{}x", 0, "byte 10: expected the end of the header, found 0x78"},
   {"{", 0, "the header ends where a string was expected"},
   {"{\"a", 0, "the header ends where '\"'"},
   {"{\"a\"}", 0, "expected ':'"},
   {"{\"a\":1}", 0, "expected '{'"},
   {"{\"a\":{}}", 0, "'a' lacks dtype"},
   {"{\"a\":{\"dtype\":\"F17\"}}", 0, "there is no type 'F17'"},
   {"{\"a\":{\"colour\":\"F16\"}}", 0, "'colour' is no field of a tensor"},
   {"{\"a\":{\"dtype\":\"F16\",\"dtype\":\"F16\"}}", 0, "'dtype' is there twice"},
   {"{\"a\":" T("[1.5]", 0, 2) "}", 2, "expected ']', found 0x2e"},
   {"{\"a\":" T("[-1]", 0, 2) "}", 2, "expected a whole number"},
   {"{\"a\":" T("[01]", 0, 2) "}", 2, "without leading zeros"},
   {"{\"a\":" T("[99999999999999999999]", 0, 2) "}", 2, "below 2^64"},
   {"{\"a\":" T("[1,1,1,1,1,1,1,1,1]", 0, 2) "}", 2, "the list is too long"},
   {"{\"a\":" T("[4294967296,4294967296]", 0, 2) "}", 2, "more than 2^64 bytes"},
   {"{\"a\":" T("[2]", 0, 2) "}", 2, "asks for 4 bytes"},
   {"{\"a\":" T("[1]", 2, 0) "}", 2, "its offsets are 2 and 0"},
   {"{\"a\":" T("[1]", 2, 4) "}", 4, "the next free one is 0"},
   {"{\"a\":" T("[1]", 0, 2) ",\"b\":" T("[1]", 0, 2) "}", 2, "the next free one is 2"},
   {"{\"a\":" T("[2]", 0, 4) "}", 2, "has bytes 0 to 4"},
   {"{\"a\":" T("[1]", 0, 2) "}", 3, "the last 1 bytes belong to no tensor"},
   {"{\"a\":" T("[1]", 0, 2) ",\"a\":" T("[1]", 2, 4) "}", 4, "the name 'a' is there twice"},
   {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, "'__metadata__' is there twice"},
   {"{\"__metadata__\":{\"k\":\"\",\"k\":\"\"}}", 0, "the name 'k' is there twice"},
   {"{\"__metadata__\":{\"k\":1}}", 0, "expected a string"},
   {"{\"a\x01\":{}}", 0, "a character in UTF-8, found 0x01"},
   {"{\"\xc0\x80\":{}}", 0, "a character in UTF-8"},
   {"{\"\xed\xa0\x80\":{}}", 0, "a character in UTF-8"},
   {"{\"\\x\":{}}", 0, "after a backslash"},
   {"{\"\\ u0041\":{}}", 0, "after a backslash"},
   {"{\"\\u0000\":{}}", 0, "other than NUL"},
   {"{\"\\udc00\":{}}", 0, "stands for a character"},
   {"{\"\\ud800x\":{}}", 0, "the second half of a surrogate pair"},
   {"{\"\\u00g0\":{}}", 0, "a hexadecimal digit"},
};

static void
says_what_is_wrong(void **state)
{
   (void)state;
   for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
      Bytes b = file_of(refused[i].header, refused[i].data_bytes);
      StFile f;
      char error[256] = "";
      assert_false(st_parse(&f, b.at, b.size, error, sizeof error));
      if (!strstr(error, refused[i].says))
         fail_msg("%s\n   says: %s\n   not:  %s", refused[i].header, error, refused[i].says);
      free(b.at);
   }
}

static void
length_beyond_the_file(void **state)
{
   (void)state;
   const unsigned char bytes[] = {255, 255, 255, 255, 255, 255, 255, 255, '{', '}'};
   StFile f;
   char error[256] = "";
   for (size_t size = 0; size <= sizeof bytes; size++)
      assert_false(st_parse(&f, bytes, size, error, sizeof error));
   assert_non_null(strstr(error, "the header has 18446744073709551615 bytes; the file has 10"));
   assert_false(st_open(&f, "/nowhere/a.safetensors", error, sizeof error));
   assert_string_equal(error, "cannot be read");
}

/* ---- any bytes ---- */
static uint32_t
next_random(uint64_t *seed)
{
   *seed = *seed * 6364136223846793005u + 1442695040888963407u;
   return (uint32_t)(*seed >> 33);
}

/* Changes some bytes, or puts in a piece of another header. */
static void
spoil(Bytes *b, uint64_t *seed)
{
   static const char *const pieces[] = {
      "\"",       "\\u", "[",   "]", "{", "}", ",", ":", "9999999999", "{\"a\":", "\\ud83d\\ude00",
      "\xf0\x9f", "-1",  "null"};
   for (uint32_t n = next_random(seed) % 4 + 1; n; n--) {
      const char *piece = pieces[next_random(seed) % (sizeof pieces / sizeof pieces[0])];
      size_t at = next_random(seed) % b->size;
      if (next_random(seed) % 2)
         b->at[at] = (unsigned char)next_random(seed);
      else
         memcpy(b->at + at, piece, strlen(piece) < b->size - at ? strlen(piece) : b->size - at);
   }
   if (next_random(seed) % 8 == 0)
      b->size = next_random(seed) % (b->size + 1);
}

static void
no_bytes_lead_outside(void **state)
{
   (void)state;
   enum { TRIALS = 20000 };
   int read = 0;
   for (uint64_t trial = 0; trial < TRIALS; trial++) {
      uint64_t seed = trial;
      Bytes b = file_of("{\"__metadata__\":{\"heads\":\"8\"},\"a\":" T("[2,2]", 0, 8) ",\"b\":" T(
                           "[1]", 8, 10) "}",
                        10);
      spoil(&b, &seed);
      Bytes exact = {malloc(b.size ? b.size : 1), b.size};
      memcpy(exact.at, b.at, b.size);
      StFile f;
      char error[256] = "";
      bool is_read = st_parse(&f, exact.at, exact.size, error, sizeof error);
      assert_int_equal(is_read, !*error);
      for (size_t i = 0; is_read && i < f.num_tensors; i++) {
         const StTensor *t = &f.tensors[i];
         assert_true(t->data >= exact.at && t->data + (t->end - t->begin) <= exact.at + exact.size);
         assert_ptr_equal(st_tensor(&f, t->name), t);
      }
      read += is_read;
      if (is_read)
         st_close(&f);
      free(exact.at);
      free(b.at);
   }
   assert_in_range(read, 1, TRIALS / 2); /* some changes leave a file that can be read */
}

/* ---- models ---- */
static Bytes
small_file(void)
{
   ModelShape s = small_model();
   char *text = NULL;
   size_t size = 0;
   s.extent[VOCAB] = 40;
   FILE *out = open_memstream(&text, &size);
   assert_true(out && write_random_model(out, &s, 1));
   assert_int_equal(fclose(out), 0);
   return (Bytes){(unsigned char *)text, size};
}

/* Puts `to` where the header says `from`. */
static void
replace(Bytes b, const char *from, const char *to)
{
   assert_int_equal(strlen(from), strlen(to));
   for (size_t i = LENGTH_BYTES; i + strlen(from) <= b.size; i++)
      if (memcmp(b.at + i, from, strlen(from)) == 0) {
         memcpy(b.at + i, to, strlen(to));
         return;
      }
   fail_msg("the header has no %s", from);
}

static void
models_are_found_or_refused(void **state)
{
   (void)state;
   static const struct {
      const char *from, *to, *says; /* NULL: it is a model */
   } changes[] = {
      {"model.norm", "model.norm", NULL},
      {"lm_head", "lm_hand", NULL}, /* the embedding stands for it */
      {"model.norm.weight", "model.nerm.weight", "there is no tensor 'model.norm.weight'"},
      {"0.input_layernorm", "0.input_layernrom",
       "there is no tensor 'model.layers.0.input_layernorm.weight'"},
      {"1.input_layernorm", "1.input_layernrom",
       "there is no tensor 'model.layers.1.input_layernorm.weight'"},
      {"2.input_layernorm", "2.input_layernrom",
       "there is no tensor 'model.layers.2.input_layernorm.weight'"},
      {"model.layers.2.mlp.up", "model.layers.9.mlp.up",
       "there is no tensor 'model.layers.2.mlp.up_proj.weight'"},
      {"layers.2.mlp.up_proj", "layers.999999999.mlp", "there is no tensor 'model.layers.2.mlp.up"},
      {"1.mlp.up_proj", "1.mlp.up_prjo", "there is no tensor 'model.layers.1.mlp.up_proj.weight'"},
      {"num_attention_heads", "num_attention_haeds", "lacks 'num_attention_heads'"},
      {"_heads\":\"8\"", "_heads\":\"x\"", "is 'x', not a number from 1 to 65536"},
      {"_heads\":\"8\"", "_heads\":\"7\"", "7 heads for 512 rows of q_proj"},
      {"_value_heads\":\"2\"", "_value_heads\":\"3\"", "3 heads and 128 rows of keys"},
      {"\"shape\":[192,512]", "\"shape\":[512,192]", "o_proj.weight' has to be [192, 512]"},
      {"layers.0.input_layernorm.weight\":{\"dtype\":\"F16\"",
       "layers.0.input_layernorm.weight\":{\"dtype\":\"I16\"", "has another type"},
   };
   for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
      Bytes b = small_file();
      StFile f;
      Model m;
      char error[256] = "";
      replace(b, changes[i].from, changes[i].to);
      assert_true(st_parse(&f, b.at, b.size, error, sizeof error));
      bool is_model = model_open(&m, &f, error, sizeof error);
      assert_int_equal(is_model, !changes[i].says);
      if (changes[i].says && !strstr(error, changes[i].says))
         fail_msg("says: %s\n   not:  %s", error, changes[i].says);
      if (is_model) {
         assert_int_equal(m.shape.layers, 3);
         model_close(&m);
      }
      st_close(&f);
      free(b.at);
   }
}

int
test_safetensors(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_types_shapes_and_bytes), cmocka_unit_test(says_what_is_wrong),
      cmocka_unit_test(length_beyond_the_file),       cmocka_unit_test(no_bytes_lead_outside),
      cmocka_unit_test(models_are_found_or_refused),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}
