/* Writes a .safetensors file with a random decoder of any size:
 *
 *    make_model FILE [--layers N] [--dim N] [--vocab N] [--hidden N] [--heads N] [--kv-heads N]
 *               [--head-dim N] [--dtype fp16|bf16] [--seed N]
 *
 * The default is the small model that the example makes for itself. */
#include "random_model.h"
#include "support.h"

#include <stdlib.h>
#include <string.h>

static _Noreturn void
usage(void)
{
   fputs("usage: make_model FILE [--layers N] [--dim N] [--vocab N] [--hidden N] [--heads N]\n"
         "                  [--kv-heads N] [--head-dim N] [--dtype fp16|bf16] [--seed N]\n",
         stderr);
   exit(2);
}

typedef struct Option {
   const char *name;
   int32_t *value;
} Option;

static void
set_option(const Option *options, size_t count, const char *name, const char *value)
{
   char *end;
   long number = strtol(value, &end, 10);
   for (size_t i = 0; i < count; i++)
      if (strcmp(options[i].name, name) == 0 && !*end && number > 0 && number < 1 << 24) {
         *options[i].value = (int32_t)number;
         return;
      }
   usage();
}

int
main(int argc, char **argv)
{
   ModelShape s = small_model();
   int32_t heads = s.heads, kv_heads = s.kv_heads, head_dim = s.head_dim, seed = 20260101;
   const Option options[] = {{"--layers", &s.layers},       {"--dim", &s.extent[DIM]},
                             {"--vocab", &s.extent[VOCAB]}, {"--hidden", &s.extent[HIDDEN]},
                             {"--heads", &heads},           {"--kv-heads", &kv_heads},
                             {"--head-dim", &head_dim},     {"--seed", &seed}};
   if (argc < 2 || argc % 2 || argv[1][0] == '-')
      usage();
   for (int i = 2; i < argc; i += 2)
      if (strcmp(argv[i], "--dtype") == 0)
         s.dtype = ex_dtype_named(argv[i + 1]);
      else
         set_option(options, sizeof options / sizeof options[0], argv[i], argv[i + 1]);
   if (s.dtype != TILEC_FP16 && s.dtype != TILEC_BF16)
      usage();
   set_heads(&s, heads, kv_heads, head_dim);
   FILE *out = fopen(argv[1], "wb");
   bool is_written = out && write_random_model(out, &s, (uint64_t)seed);
   is_written = out && fclose(out) == 0 && is_written;
   if (!is_written)
      fprintf(stderr, "make_model: cannot write '%s'\n", argv[1]);
   return !is_written;
}
