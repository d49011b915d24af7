/* docs/ahead-of-time.md describes every field of the launch record, and no other: the names that
 * tilec_image_write_json writes are compared with the tables under the record's headings. */
#include "base/source.h"
#include "tilec/kernel_info.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { LEVELS = 4, NAMES = 8192 };

/* Names of one kind of record, each as " name ". */
typedef struct Names {
   char text[NAMES];
} Names;

static void
add_name(Names *n, const char *name, size_t len)
{
   size_t used = strlen(n->text);
   assert_true(used + len + 3 < NAMES);
   snprintf(n->text + used, NAMES - used, " %.*s ", (int)len, name);
}

static bool
append(void *user, const char *text, size_t len)
{
   strncat(user, text, len);
   return true;
}

/* The kind of record that a key stands in, by the list that holds it. */
static void
fields_written(Names names[LEVELS])
{
   static char json[16384];
   static const TilecArgInfo arg = {.name = "n", .type = "i32"};
   static const TilecHiddenArg hidden = {
      .kind = TILEC_HIDDEN_EXPR, .dtype = TILEC_I32, .dims = {"n"}};
   const TilecKernelInfo kernel = {
      .name = "k", .entry = "k", .args = &arg, .num_args = 1, .hidden = &hidden, .num_hidden = 1};
   const TilecImageInfo image = {
      .format = TILEC_IMAGE_FORMAT, .arch = "sm_90a", .kernels = &kernel, .num_kernels = 1};
   json[0] = 0;
   assert_int_equal(tilec_image_write_json(&image, append, json), TILEC_OK);
   int level = 0;
   for (const char *p = json; *p;) {
      const char *end = *p == '"' ? strchr(p + 1, '"') : NULL;
      if (*p == ']' && p[-1] == '}')
         level = level >= 2 ? 1 : 0;
      if (!end) {
         p++;
         continue;
      }
      if (end[1] == ':') {
         add_name(&names[level], p + 1, (size_t)(end - p - 1));
         if (strncmp(p, "\"kernels\"", 9) == 0)
            level = 1;
         else if (strncmp(p, "\"args\"", 6) == 0)
            level = 2;
         else if (strncmp(p, "\"hidden\"", 8) == 0)
            level = 3;
      }
      p = end + 1;
   }
}

static void
fields_documented(Names names[LEVELS])
{
   static const char *const headings[LEVELS] = {"### Image\n", "### Kernel\n", "### Argument\n",
                                                "### Hidden argument\n"};
   char line[2048];
   int level = -1;
   FILE *f = fopen(TL_SOURCE_DIR "/docs/ahead-of-time.md", "r");
   assert_non_null(f);
   while (fgets(line, sizeof line, f)) {
      if (line[0] == '#')
         level = -1;
      for (int i = 0; i < LEVELS; i++)
         if (strcmp(line, headings[i]) == 0)
            level = i;
      if (level >= 0 && strncmp(line, "| `", 3) == 0)
         add_name(&names[level], line + 3, strcspn(line + 3, "`"));
   }
   fclose(f);
}

static void
every_field_is_documented(void **state)
{
   static Names written[LEVELS], documented[LEVELS];
   (void)state;
   fields_written(written);
   fields_documented(documented);
   for (int i = 0; i < LEVELS; i++) {
      assert_true(strlen(written[i].text) > 40);
      assert_string_equal(documented[i].text, written[i].text);
   }
}

int test_record_docs(void);

int
test_record_docs(void)
{
   const struct CMUnitTest tests[] = {cmocka_unit_test(every_field_is_documented)};
   return cmocka_run_group_tests(tests, NULL, NULL);
}
