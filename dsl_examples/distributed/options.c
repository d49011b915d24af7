/* The options of the distributed programs; see ranks.h. */
#include "options.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum Kind { FLAG, NUMBER, SECONDS, TEXT, EXECUTOR, DTYPE, FAULT } Kind;

static const struct Row {
   const char *name;
   Kind kind;
   size_t at;
   const char *help;
} rows[] = {
#define AT(member) offsetof(Options, member)
   {"--on", EXECUTOR, AT(executor), "cpu, sim or cuda"},
   {"--threads", NUMBER, AT(threads), "ranks as threads of this process"},
   {"--meet", TEXT, AT(meet), "folder where processes find each other; needs --rank and --ranks"},
   {"--rank", NUMBER, AT(rank), "this process's"},
   {"--ranks", NUMBER, AT(ranks), "how many processes"},
   {"--timeout", SECONDS, AT(timeout_s), "no wait for another rank lasts longer, in seconds"},
   {"--driver", TEXT, AT(driver), "path of libcuda.so.1"},
   {"--nccl", TEXT, AT(nccl), "path of libnccl.so.2"},
   {"--source", TEXT, AT(source_dir), "where the .tile files are"},
   {"--cache", TEXT, AT(cache_dir), "folder of compiled kernels; all ranks may share one"},
   {"--time", NUMBER, AT(repeats), "measure, the median of so many"},
   {"--graph", FLAG, AT(graph), "what is measured is one CUDA graph"},
   {"--time-line", FLAG, AT(time_line), "print when kernels and transfers ran"},
   {"--bandwidth", FLAG, AT(bandwidth), "measure the transfers alone as well"},
   {"--no-check", FLAG, AT(no_check), "do not compare with one process"},
   {"--dtype", DTYPE, AT(dtype), "fp16, bf16 or fp32"},
   {"--backward", FLAG, AT(backward), "ring attention: the gradients as well"},
   {"--tokens", NUMBER, AT(tokens), "ring attention: of the whole sequence; pair: rows of x"},
   {"--heads", NUMBER, AT(heads), "ring attention: of q"},
   {"--group", NUMBER, AT(group), "ring attention: heads of q to one of k and v"},
   {"--dim", NUMBER, AT(dim), "ring attention: of a head"},
   {"--block-m", NUMBER, AT(block_m), "rows of a tile"},
   {"--block-n", NUMBER, AT(block_n), "keys or columns of a tile"},
   {"--block-k", NUMBER, AT(block_k), "pair: of the sums of a tile"},
   {"--sum", DTYPE, AT(sum), "pair: of the result and what ranks add; fp32 without NCCL"},
   {"--wide", NUMBER, AT(wide), "pair: columns of x and of the result"},
   {"--hidden", NUMBER, AT(hidden), "pair: columns of the product between"},
   {"--chunks", NUMBER, AT(chunks), "pair: parts that are sent while the next is computed"},
   {"--fault", FAULT, AT(fault), "die, hang or fail, @RANK:STEP, to see what the others say"},
#undef AT
};

int
options_usage(const Options *o)
{
   fprintf(stderr, "usage: %s [OPTIONS]; by mpirun, or by itself\n", o->program);
   for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
      fprintf(stderr, "  %-12s %s\n", rows[i].name, rows[i].help);
   return 2;
}

static bool
read_number(const char *text, unsigned *out)
{
   char *end;
   unsigned long v = strtoul(text, &end, 10);
   *out = (unsigned)v;
   return *text >= '0' && *text <= '9' && *end == 0 && v <= INT32_MAX;
}

static bool
read_choice(const char *text, const char *const *names, const int *values, int *out)
{
   for (size_t i = 0; names[i]; i++)
      if (strcmp(text, names[i]) == 0) {
         *out = values[i];
         return true;
      }
   return false;
}

static bool
read_fault(const char *text, Options *o)
{
   unsigned rank;
   if (sscanf(text, "%7[a-z]@%u:%u", o->fault, &rank, &o->fault_step) != 3)
      return false;
   o->fault_rank = (int)rank;
   return strcmp(o->fault, "die") == 0 || strcmp(o->fault, "hang") == 0 ||
          strcmp(o->fault, "fail") == 0;
}

static bool
read_value(Kind kind, const char *text, void *to, Options *o)
{
   static const char *const executors[] = {"cuda", "cpu", "sim", NULL};
   static const int executor_values[] = {TILEC_ON_CUDA, TILEC_ON_CPU, TILEC_ON_SIM};
   static const char *const dtypes[] = {"fp16", "bf16", "fp32", NULL};
   static const int dtype_values[] = {TILEC_FP16, TILEC_BF16, TILEC_FP32};
   char *end;
   int choice = 0;
   bool ok = true;
   switch (kind) {
   case FLAG:
      *(bool *)to = true;
      break;
   case NUMBER:
      return read_number(text, to);
   case SECONDS:
      *(double *)to = strtod(text, &end);
      return *end == 0 && *(double *)to > 0;
   case TEXT:
      *(const char **)to = text;
      break;
   case EXECUTOR:
      ok = read_choice(text, executors, executor_values, &choice);
      *(TilecExecutor *)to = (TilecExecutor)choice;
      break;
   case DTYPE:
      ok = read_choice(text, dtypes, dtype_values, &choice);
      *(TilecDtype *)to = (TilecDtype)choice;
      break;
   case FAULT:
      return read_fault(text, o);
   }
   return ok;
}

static const struct Row *
row_named(const char *name)
{
   for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
      if (strcmp(rows[i].name, name) == 0)
         return &rows[i];
   return NULL;
}

bool
options_read(Options *o, int argc, char **argv)
{
   o->fault_rank = -1;
   for (int i = 1; i < argc; i++) {
      const struct Row *row = row_named(argv[i]);
      if (!row) {
         fprintf(stderr, "%s: unknown option '%s'\n", o->program, argv[i]);
         return false;
      }
      const char *value = row->kind == FLAG ? "" : argv[++i];
      if (!value || !read_value(row->kind, value, (char *)o + row->at, o)) {
         fprintf(stderr, "%s: %s: wrong value '%s'\n", o->program, row->name, value ? value : "");
         return false;
      }
   }
   return true;
}
