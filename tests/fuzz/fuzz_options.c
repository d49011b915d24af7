/* Texts of the options of a compilation: kernel, signature, defines, grid, values, assumptions,
 * target, remarks, one a line in this order; the last lines repeat defines, values, assumptions. */
#include "tilec/tilec.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LINES = 16, FIXED = 5, MAX_INPUT = 4096 };

static const char source[] =
   "import os\nfrom triton import autotune, Config, heuristics\n"
   "W = 4 if os.environ.get('W') else 2\nif HAS_X:\n    V = 1\n"
   "@autotune(configs=[Config({'B': 16}), Config({'B': 32}, num_warps=8)], key=['n'])\n"
   "@heuristics({'EVEN': lambda a: a['n'] % a['B'] == 0})\n"
   "@kernel(grid=(cdiv(n, B),))\n"
   "def k(x, y: *fp32, n: i32, s: fp32 = 1.0, B: constexpr = 16, EVEN: constexpr = False, "
   "MODE: constexpr = None):\n"
   "    i = program_id(0) * B + arange(0, B)\n    v = load(x + i, i < n)\n"
   "    if MODE == 'relu':\n        v = maximum(v, 0)\n"
   "    elif MODE is not None:\n        v = v.to(MODE)\n"
   "    store(y + i, v * s, i < n)\n"
   "@kernel\ndef other(d: \"tensordesc<fp16[16, 16]>\", z):\n    store(z, d.load([0, "
   "0]).to(fp32))\n";

static unsigned long messages;

static void
on_diag(void *user, const TilecDiag *d)
{
   (void)user;
   messages += strlen(d->rendered);
}

/* Splits at '=' in place. */
static TilecDefine
define(char *text)
{
   char *value = strchr(text, '=');
   if (value)
      *value++ = 0;
   return (TilecDefine){text, value ? value : ""};
}

static void
compile(char **line, size_t num)
{
   TilecSessionOptions so = {
      .struct_size = sizeof so, .on_diag = on_diag, .memory_limit_bytes = (size_t)64 << 20};
   TilecCompileOptions o = {.struct_size = sizeof o,
                            .file = "f.tile",
                            .source = source,
                            .source_bytes = sizeof source - 1,
                            .timeout_ms = 1000,
                            .stop_after = TILEC_STAGE_IR};
   const char **fixed[FIXED] = {&o.kernel, &o.signature, &o.grid, &o.arch, &o.remarks};
   for (size_t i = 0; i < FIXED; i++)
      *fixed[i] = i < num && line[i][0] ? line[i] : NULL;
   TilecDefine defines[LINES], values[LINES];
   const char *assume[LINES];
   o.defines = defines, o.values = values, o.assume = assume;
   for (size_t i = FIXED; i < num; i++) {
      if (i % 3 == 0)
         defines[o.num_defines++] = define(line[i]);
      else if (i % 3 == 1)
         values[o.num_values++] = define(line[i]);
      else
         assume[o.num_assume++] = line[i];
   }
   TilecSession *s;
   if (tilec_session_new(&so, &s) != TILEC_OK)
      return;
   TilecListing *listing;
   TilecProgram *p;
   if (tilec_list_kernels(s, &o, &listing) == TILEC_INTERNAL)
      abort();
   tilec_listing_free(listing);
   if (tilec_compile(s, &o, &p) == TILEC_INTERNAL)
      abort();
   tilec_program_free(p);
   tilec_session_free(s);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
   if (size >= MAX_INPUT)
      return 0;
   char *text = malloc(size + 1), *line[LINES], *at = text;
   if (!text)
      abort();
   memcpy(text, data, size);
   text[size] = 0;
   size_t num = 0;
   while (at && num < LINES) {
      line[num++] = at;
      at = strchr(at, '\n');
      if (at)
         *at++ = 0;
   }
   compile(line, num);
   free(text);
   return 0;
}
