/* Runs generated programs through the public API, and compares two executors' memory.
 *
 * All buffers of a program lie in one block, 256-byte aligned, each followed by guard bytes;
 * outputs are poisoned.  Whatever is not an output's element must keep its bytes. */
#ifndef TESTS_SUPPORT_RUN_PROGRAM_H
#define TESTS_SUPPORT_RUN_PROGRAM_H

#include "support/gen_program.h"
#include "tilec/tilec.h"

enum { RUN_WHY_BYTES = 2048, RUN_MAX_ARGS = GEN_MAX_SCALARS + GEN_MAX_BUFFERS };

typedef struct RunMemory {
   unsigned char *data;
   size_t bytes;
   size_t at[GEN_MAX_BUFFERS]; /* of each argument's first element */
} RunMemory;

/* Memory of a program before its launch; free data. */
RunMemory run_memory_new(const GenProgram *p);
RunMemory run_memory_copy(const RunMemory *m);

/* IR text to stage `stop`; why (RUN_WHY_BYTES) says what is wrong. */
TilecStatus run_compile(const char *text, TilecCompileOptions options, TilecProgram **out,
                        char *why);
/* How many multiprocessors its launches have, from 1 to 8: programs share blocks where they may,
 * and blocks share programs where there are more of them. */
unsigned run_multiprocessors(const GenProgram *p);

/* One launch on a host executor, in one thread. */
TilecStatus run_on_host(const TilecProgram *program, const GenProgram *p, TilecHostMode mode,
                        RunMemory *m, char *why);
/* The launch arguments; buffers become what `buffer` makes of them. */
typedef TilecArg RunBufferArg(void *user, TilecDtype dtype, size_t at, size_t bytes);
size_t run_args(const GenProgram *p, const RunMemory *m, RunBufferArg *buffer, void *user,
                TilecArg *args);

/* Whether `got` agrees with the CPU executor's `want` as the program's buffers say. */
bool run_agrees(const GenProgram *p, const RunMemory *want, const RunMemory *got, char *why);

#endif
