/* What crashes is given up alone: tl_check (--wrap) fails on texts that say so. */
#include "lsp/impl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

int test_server(void);
TilecStatus __real_tl_check(TlCompilation *comp, const TilecCompileOptions *options,
                            const TlCompileExtra *extra);
TilecStatus __wrap_tl_check(TlCompilation *comp, const TilecCompileOptions *options,
                            const TlCompileExtra *extra);

#ifdef __SANITIZE_ADDRESS__
/* What a crash leaves behind is in no known state, so that nothing frees it. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *
__asan_default_options(void)
{
   return "detect_leaks=0";
}
#endif

TilecStatus
__wrap_tl_check(TlCompilation *comp, const TilecCompileOptions *options,
                const TlCompileExtra *extra)
{
   if (strstr(options->source, "crash"))
      abort();
   return __real_tl_check(comp, options, extra);
}

static void
say(FILE *out, const char *body)
{
   fprintf(out, "Content-Length: %zu\r\n\r\n%s", strlen(body), body);
}

/* All that the server says to these messages. */
static char *
session(const char *const *messages)
{
   char *text = NULL;
   size_t len;
   int ends[2]; /* not a file: the server looks whether more is waiting */
   assert_int_equal(pipe(ends), 0);
   FILE *to = fdopen(ends[1], "w"), *in = fdopen(ends[0], "r"), *out = open_memstream(&text, &len);
   assert_true(to && in && out);
   for (; *messages; messages++)
      say(to, *messages);
   fclose(to);
   const TlLspOptions options = {
      .in = in, .out = out, .compile = {.struct_size = sizeof options.compile}};
   tl_lsp_serve(&options);
   fclose(in);
   fclose(out);
   return text;
}

#define METHOD(name)     "{\"jsonrpc\":\"2.0\",\"method\":\"" name "\",\"params\":"
#define ASK(name)        "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"" name "\",\"params\":"
#define FILE_OF(uri)     "{\"textDocument\":{\"uri\":\"" uri "\",\"version\":2}"
#define OPEN(uri, text)                                                                            \
   METHOD("textDocument/didOpen")                                                                  \
   "{\"textDocument\":{\"uri\":\"" uri "\",\"version\":1,\"text\":\"" text "\"}}}"
#define CHANGE(uri, text)                                                                          \
   METHOD("textDocument/didChange") FILE_OF(uri) ",\"contentChanges\":[{\"text\":\"" text "\"}]}}"
#define OUTLINE(uri) ASK("textDocument/documentSymbol") FILE_OF(uri) "}}"
#define START        ASK("initialize") "{}}"

static void
others_are_as_they_were(void **state)
{
   (void)state;
   const char *const messages[] = {
      START,
      OPEN("a:a", "def first(): pass"),
      OPEN("a:b", "def second(): pass"),
      OUTLINE("a:b"),
      CHANGE("a:b", "def third(): pass"), /* not compiled yet when the other crashes */
      CHANGE("a:a", "crash"),
      OUTLINE("a:a"),
      OUTLINE("a:b"),
      CHANGE("a:a", "def fourth(): pass"),
      OUTLINE("a:a"),
      NULL,
   };
   char *said = session(messages);
   const char *bug = strstr(said, "a bug in tilec ended this request");
   assert_non_null(strstr(said, "\"second\""));
   assert_non_null(bug);
   assert_non_null(strstr(said, "a:a: a bug in tilec"));
   assert_null(strstr(said, "a:b: a bug in tilec"));
   assert_non_null(strstr(bug, "\"third\""));
   assert_non_null(strstr(bug, "\"fourth\""));
   free(said);
}

/* The crash may also come while diagnostics are made, which nobody asked for. */
static void
diagnostics_of_others_come(void **state)
{
   (void)state;
   const char *const messages[] = {START, OPEN("a:b", "@kernel\\ndef k(): wrong"),
                                   OPEN("a:a", "crash"), NULL};
   char *said = session(messages);
   assert_non_null(strstr(said, "a:a: a bug in tilec"));
   assert_non_null(strstr(said, "unknown name 'wrong'"));
   free(said);
}

/* Escapes of either case; what is none stays; other schemes name no file. */
static void
uris_name_files(void **state)
{
   (void)state;
   static const char *const rows[][2] = {{"file:///a%20b%2bc.tile", "/a b+c.tile"},
                                         {"file://host/x.py", "/x.py"},
                                         {"file:///100%25", "/100%"},
                                         {"file:///50%zz%2", "/50%zz%2"},
                                         {"untitled:a.tile", NULL},
                                         {"file:", NULL}};
   for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
      char *path = tl_path_of_uri(rows[i][0]);
      if (rows[i][1])
         assert_string_equal(path, rows[i][1]);
      else
         assert_null(path);
      free(path);
   }
   char *uri = tl_uri_of_path("/no/such folder/\xc3\xa4+.tile"), *back = tl_path_of_uri(uri);
   assert_string_equal(uri, "file:///no/such%20folder/%C3%A4%2B.tile");
   assert_string_equal(back, "/no/such folder/\xc3\xa4+.tile");
   free(uri);
   free(back);
}

int
test_server(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(uris_name_files),
      cmocka_unit_test(others_are_as_they_were),
      cmocka_unit_test(diagnostics_of_others_come),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}
