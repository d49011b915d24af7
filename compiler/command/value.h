/* VALUE of --arg: a scalar, None, a .npy file or a made-up array. */
#ifndef TL_COMMAND_VALUE_H
#define TL_COMMAND_VALUE_H

#include "command/npy.h"

typedef enum TlCliKind {
   TL_CLI_NONE,
   TL_CLI_INT,
   TL_CLI_FLOAT,
   TL_CLI_BOOL,
   TL_CLI_ARRAY
} TlCliKind;

typedef struct TlCliValue {
   TlCliKind kind;
   int64_t i;     /* INT, BOOL */
   bool is_u64;   /* INT: `i` holds the bits of a value of 2^63 and more */
   double f;      /* FLOAT */
   bool is_empty; /* ARRAY: made by "empty:" */
   bool is_zeros; /* ARRAY: made by "zeros:" */
   TlArray array; /* ARRAY; freed by the caller.  Its fault: what kept it from being one */
} TlCliValue;

/* Reads `text`.  A .npy file without a named dtype keeps its own; `randn` is the same everywhere
 * for a seed (SplitMix64 and Box-Muller).  false: *why is one sentence. */
bool tl_cli_value(TlArena *arena, const char *text, TlCliValue *out, const char **why);

#endif
