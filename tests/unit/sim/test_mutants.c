/* Lowered examples with one line made wrong: a barrier or a wait taken out, a wait that leaves
 * one copy group more in flight, a shared offset moved.  The simulator must report every missing
 * barrier and wait as such, with both places in the example's source, at one of the sizes: which
 * loop iteration meets which stage depends on it, and a few waits are needed at no size (the
 * copies left in flight go elsewhere). Other mistakes must be reported or give another result,
 * but where they change what is zero. */
#include "tilec/arg.h"
#include "tilec/tilec.h"

#include "ir/dtype.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the headers above first. */
#include <cmocka.h>
#include <math.h>

enum { MAX_ARGS = 16 };

/* Buffers are fp16 of n elements (the last `outputs` of them are written), then come ints. */
typedef struct Example {
   const char *file, *kernel, *signature;
   TilecDefine defines[4];
   size_t num_defines;
   unsigned buffers, inputs;
   size_t n;
   int64_t ints[MAX_ARGS];
   unsigned num_ints;
   int64_t sizes[3];  /* in turn instead of the last int; 0 = no more */
   bool has_scale;
   uint32_t grid[3];
   uint32_t stages, warps;
} Example;

static const Example examples[] = {
   {"softmax.tile", "softmax", "*fp16:16, *fp16:16, i32, i32", {{"BLOCK", "512"}}, 1, 2, 1, 500 * 2,
    {2, 500}, 2, {500}, false, {2, 1, 1}, 0, 4},
   {"matmul.tile", "matmul",
    "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, i32:16, i32:1, i32:16, i32:1, i32:16, "
    "i32:1",
    {{"BLOCK_M", "64"}, {"BLOCK_N", "64"}, {"BLOCK_K", "32"}}, 3, 3, 2, 64 * 128,
    {64, 64, 128, 128, 1, 64, 1, 64, 1}, 9, {1}, false, {1, 1, 1}, 3, 4},
   {"attention.tile", "attn_fwd",
    "*fp16:16, *fp16:16, *fp16:16, *fp16:16, *fp32:16, i32, i32:16, fp32",
    {{"BLOCK_M", "64"}, {"BLOCK_N", "32"}, {"CAUSAL", "True"}}, 3, 5, 3, 144 * 64, {1, 144}, 2, {144, 112}, true,
    {3, 1, 1}, 2, 4},
};

typedef struct Outcome {
   TilecStatus status;
   TilecFault fault;
   char message[2048]; /* of the fault, in full */
   uint16_t *data[MAX_ARGS];
} Outcome;

static TilecProgram *
compile(const Example *e, const char *source, TilecSession **session)
{
   char path[512];
   snprintf(path, sizeof path, "%s/dsl_examples/%s", TL_SOURCE_DIR, e->file);
   TilecSessionOptions so = {.struct_size = sizeof so};
   assert_int_equal(tilec_session_new(&so, session), TILEC_OK);
   TilecCompileOptions o = {.struct_size = sizeof o,
                            .file = path,
                            .kernel = e->kernel,
                            .signature = e->signature,
                            .defines = e->defines,
                            .num_defines = e->num_defines,
                            .num_stages = e->stages,
                            .num_warps = e->warps,
                            .stop_after = TILEC_STAGE_LOWERED};
   if (source) {
      o = (TilecCompileOptions){.struct_size = sizeof o,
                                .file = "mutant.tir",
                                .source = source,
                                .source_bytes = strlen(source),
                                .stop_after = TILEC_STAGE_LOWERED};
   }
   TilecProgram *p = NULL;
   if (tilec_compile(*session, &o, &p) != TILEC_OK)
      return NULL;
   return p;
}

static void
keep_message(void *user, const char *text, size_t len)
{
   Outcome *out = user;
   snprintf(out->message, sizeof out->message, "%.*s", (int)len, text);
}

static Outcome
run(const Example *e, const TilecProgram *p, int64_t size)
{
   Outcome out = {0};
   TilecArg args[MAX_ARGS];
   size_t n = 0;
   uint32_t rng = 5;
   for (unsigned i = 0; i < e->buffers; i++) {
      out.data[i] = aligned_alloc(64, (e->n * 2 + 63) / 64 * 64);
      memset(out.data[i], 0, e->n * 2);
      for (size_t k = 0; i < e->inputs && k < e->n; k++) {
         rng = rng * 1664525u + 1013904223u;
         out.data[i][k] = (uint16_t)tl_double_to_bits(TL_FP16, (double)(rng >> 8) / (1 << 24) - 0.5,
                                                      TL_ROUND_NEAREST_EVEN);
      }
      /* lse of attention is fp32; it is given twice the elements it needs */
      args[n++] = tilec_ptr(TILEC_DTYPE_NONE, out.data[i], e->n * 2);
   }
   for (unsigned i = 0; i < e->num_ints; i++)
      args[n++] = tilec_int(TILEC_I32, i + 1 == e->num_ints ? size : e->ints[i]);
   if (e->has_scale)
      args[n++] = tilec_fp32(0.125f);
   TilecHostLaunch l = {.struct_size = sizeof l,
                        .mode = TILEC_HOST_SIM,
                        .grid = {e->grid[0], e->grid[1], e->grid[2]},
                        .args = args,
                        .num_args = n,
                        .on_fault = keep_message,
                        .user = &out,
                        .timeout_ms = 20000};
   out.status = tilec_program_run_cpu(p, &l, &out.fault);
   return out;
}

static bool
same_result(const Example *e, const Outcome *a, const Outcome *b)
{
   for (unsigned i = e->inputs; i < e->buffers; i++)
      if (memcmp(a->data[i], b->data[i], e->n * 2))
         return false;
   return true;
}

static void
release(Outcome *o)
{
   for (unsigned i = 0; i < MAX_ARGS; i++)
      free(o->data[i]);
}

/* The text without the line that begins at `line`, or with `from` in it replaced by `to`. */
static char *
mutate(const char *text, const char *line, const char *from, const char *to)
{
   const char *end = strchr(line, '\n') + 1;
   char *out = calloc(1, strlen(text) + 64), *w = out;
   memcpy(w, text, (size_t)(line - text));
   w += line - text;
   if (from) {
      const char *at = strstr(line, from);
      w += sprintf(w, "%.*s%s", (int)(at - line), line, to);
      end = at + strlen(from);
   }
   strcpy(w, end);
   return out;
}

typedef struct Tally {
   unsigned mutants, faults, wrong, missed;
} Tally;

enum { MAX_SIZES = 3 };

/* Does the message have `what`?  A barrier may make other threads' waits count as well: without it
 * bytes are touched that their copier has not waited for. */
static bool
names(const char *message, const char *what)
{
   return strstr(message, what) ||
          (strcmp(what, "barrier") == 0 && strstr(message, "waited for"));
}

/* what: some size must give a fault whose message says so; NULL: a fault or another result. */
static void
try_mutant(const Example *e, const Outcome good[MAX_SIZES], char *text, const char *line,
           const char *what, Tally *tally)
{
   TilecSession *s;
   TilecProgram *p = compile(e, text, &s);
   int len = (int)strcspn(line, "\n");
   if (!p)
      fail_msg("%s: the mutant of '%.*s' does not compile: %s", e->file, len, line,
               tilec_session_error(s));
   bool faults = false, says_so = false, differs = false;
   char last[2048] = "";
   for (unsigned i = 0; i < MAX_SIZES && e->sizes[i]; i++) {
      Outcome o = run(e, p, e->sizes[i]);
      if (o.status == TILEC_FAULT) {
         faults = true;
         strcpy(last, o.message);
         says_so |= what && names(o.message, what) && strstr(o.fault.file, e->file) &&
                    o.fault.line && strstr(o.message, "note:");
      } else {
         differs |= o.status != TILEC_OK || !same_result(e, &good[i], &o);
      }
      release(&o);
   }
   tally->mutants++;
   tally->faults += faults;
   tally->wrong += !faults && differs;
   tally->missed += !faults && !differs;
   if (what && !says_so && (faults || differs))
      fail_msg("%s without '%.*s': faults %d, differs %d: %s", e->file, len, line, faults, differs, last);
   tilec_program_free(p);
   tilec_session_free(s);
   free(text);
}

static void
lines_with(const Example *e, const char *text, const Outcome good[MAX_SIZES], const char *word,
           const char *from, const char *to, const char *what, Tally *tally)
{
   for (const char *line = text; *line; line += strcspn(line, "\n") + 1) { /* ends with one */
      size_t n = strcspn(line, "\n");
      const char *at = strstr(line, word), *x = from ? strstr(line, from) : line;
      if (at && at < line + n && x && x < line + n)
         try_mutant(e, good, mutate(text, line, from, to), line, what, tally);
   }
}

static void
each_fault_is_found(void **state)
{
   (void)state;
   Tally sync = {0}, other = {0};
   for (unsigned i = 0; i < sizeof examples / sizeof examples[0]; i++) {
      const Example *e = &examples[i];
      TilecSession *s;
      TilecProgram *p = compile(e, NULL, &s);
      assert_non_null(p);
      const char *text = tilec_program_text(p, TILEC_STAGE_LOWERED, NULL);
      Outcome good[MAX_SIZES] = {0};
      for (unsigned k = 0; k < MAX_SIZES && e->sizes[k]; k++) {
         good[k] = run(e, p, e->sizes[k]);
         if (good[k].status != TILEC_OK)
            fail_msg("%s: %s", e->file, good[k].fault.message);
      }
      Tally none = {0};
      try_mutant(e, good, strdup(text), text, NULL, &none);
      assert_int_equal(none.missed, 1); /* the text as it is behaves as the program */
      lines_with(e, text, good, "   bar_sync", NULL, NULL, "barrier", &sync);
      lines_with(e, text, good, "cp_async_wait", NULL, NULL, "waited for", &sync);
      lines_with(e, text, good, "cp_async_wait", "{num = 1}", "{num = 2}", "waited for", &sync);
      lines_with(e, text, good, "cp_async_commit", NULL, NULL, "waited for", &sync);
      lines_with(e, text, good, "st_shared", "offsets = [0", "offsets = [32", NULL, &other);
      lines_with(e, text, good, "ldmatrix", "offsets = [0", "offsets = [32", NULL, &other);
      lines_with(e, text, good, "ldmatrix", "trans = true", "trans = false", NULL, &other);
      lines_with(e, text, good, " shfl ", "shfl = bfly", "shfl = up", NULL, &other);
      for (unsigned k = 0; k < MAX_SIZES; k++)
         release(&good[k]);
      tilec_program_free(p);
      tilec_session_free(s);
   }
   print_message("synchronisation: %u mutants, %u faults, %u not needed; others: %u mutants, "
                 "%u faults, %u wrong results, %u unnoticed\n", sync.mutants, sync.faults,
                 sync.missed, other.mutants, other.faults, other.wrong, other.missed);
   assert_true(sync.mutants >= 20 && sync.missed * 8 <= sync.mutants);
   assert_true(other.mutants >= 20 && other.missed * 20 <= other.mutants);
}

int test_mutants(void);
int
test_mutants(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_fault_is_found),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}
