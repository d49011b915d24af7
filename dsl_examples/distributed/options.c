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
#define ROW(name, kind, member, help) {name, kind, offsetof(Options, member), help},
   ROW("--on", EXECUTOR, executor, "cpu, sim or cuda") ROW("--threads", NUMBER, threads,
                                                           "ranks as threads of this process")
      ROW("--meet", TEXT, meet,
          "folder where processes find each other; needs --rank and --ranks") ROW("--rank", NUMBER,
                                                                                  rank,
                                                                                  "this process's")
         ROW("--ranks", NUMBER, ranks, "how many processes") ROW(
            "--timeout", SECONDS, timeout_s,
            "no wait for another rank lasts longer, in seconds") ROW("--nccl", TEXT, nccl,
                                                                     "path of libnccl.so.2")
            ROW("--source", TEXT, source_dir, "where the .tile files are") ROW(
               "--cache", TEXT, cache_dir, "folder of compiled kernels; all ranks may share one")
               ROW("--time", NUMBER, repeats, "measure, the median of so many") ROW(
                  "--graph", FLAG, graph,
                  "what is measured is one CUDA graph") ROW("--time-line", FLAG, time_line,
                                                            "print when kernels and transfers ran")
                  ROW("--bandwidth", FLAG, bandwidth, "measure the transfers alone as well") ROW(
                     "--no-check", FLAG, no_check,
                     "do not compare with one process") ROW("--dtype", DTYPE, dtype,
                                                            "fp16, bf16 or fp32")
                     ROW("--backward", FLAG, backward, "ring attention: the gradients as well") ROW(
                        "--tokens", NUMBER, tokens,
                        "ring attention: of the whole sequence; pair: rows of x")
                        ROW("--heads", NUMBER, heads, "ring attention: of q") ROW(
                           "--group", NUMBER, group, "ring attention: heads of q to one of k and v")
                           ROW("--dim", NUMBER, dim, "ring attention: of a head") ROW(
                              "--block-m",
                              NUMBER, block_m, "rows of a tile")
                              ROW("--block-n", NUMBER, block_n, "keys or columns of a tile") ROW(
                                 "--block-k",
                                 NUMBER, block_k, "pair: of the sums of a tile")
                                 ROW("--sum", DTYPE, sum,
                                     "pair: of the result and what ranks add; fp32 without NCCL")
                                    ROW("--wide", NUMBER, wide,
                                        "pair: columns of x and of the result")
                                       ROW("--hidden", NUMBER, hidden,
                                           "pair: columns of the product between")
                                          ROW(
                                             "--chunks", NUMBER, chunks,
                                             "pair: parts that are sent while the next is computed")
                                             ROW("--fault", FAULT, fault,
                                                 "die@RANK:STEP or hang@RANK:STEP, to see what the "
                                                 "others say")
#undef ROW
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
   return strcmp(o->fault, "die") == 0 || strcmp(o->fault, "hang") == 0;
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
