/* Time and memory that run out: an error that names the place, and a session that goes on. */
#include "tilec/tilec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

static const char endless[] = "@kernel\n"
                              "def k(x: *fp32):\n"
                              "    s = load(x)\n"
                              "    for a in static_range(4000):\n"
                              "        for b in static_range(200):\n"
                              "            s += a * s\n"
                              "    store(x, s)\n";
static const char small[] = "@kernel\n"
                            "def k(x: *fp32):\n"
                            "    store(x, 1.0)\n";

static char codes[256];
static uint32_t line;

static void
on_diag(void *user, const TilecDiag *d)
{
   (void)user;
   size_t n = strlen(codes);
   snprintf(codes + n, sizeof codes - n, "%s ", d->code);
   line = d->line;
}

static TilecStatus
compile(TilecSession *s, const char *source, uint32_t timeout_ms)
{
   TilecCompileOptions o = {.struct_size = sizeof o,
                            .file = "k.tile",
                            .source = source,
                            .source_bytes = TILEC_STRLEN,
                            .timeout_ms = timeout_ms};
   TilecProgram *p = NULL;
   codes[0] = 0;
   TilecStatus status = tilec_compile(s, &o, &p);
   tilec_program_free(p);
   return status;
}

static void
time_runs_out(void **state)
{
   (void)state;
   TilecSessionOptions so = {.struct_size = sizeof so, .on_diag = on_diag};
   TilecSession *s;
   assert_int_equal(tilec_session_new(&so, &s), TILEC_OK);
   assert_int_equal(compile(s, endless, 20), TILEC_CANCELLED);
   assert_string_equal(codes, "E0266 ");
   assert_true(line >= 2 && line <= 7);
   assert_int_equal(compile(s, small, 0), TILEC_OK);
   tilec_session_free(s);
}

static void
memory_runs_out(void **state)
{
   (void)state;
   TilecSessionOptions so = {
      .struct_size = sizeof so, .on_diag = on_diag, .memory_limit_bytes = 4 << 20};
   TilecSession *s;
   assert_int_equal(tilec_session_new(&so, &s), TILEC_OK);
   assert_int_equal(compile(s, endless, 0), TILEC_NO_MEMORY);
   assert_string_equal(codes, "E0232 ");
   assert_true(line >= 2 && line <= 7);
   assert_int_equal(compile(s, small, 0), TILEC_OK);
   tilec_session_free(s);
}

int
test_limits(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(time_runs_out),
      cmocka_unit_test(memory_runs_out),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}
