/* IR text (.tir) in any state: read, verified, compiled, run. */
#include "execute.h"
#include "mutate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const words[] = {
#define TL_OP(id, name, ...) #name,
#include "ir/ops.def"
#define TL_DTYPE(id, text, ...) text,
#include "ir/dtypes.def"
#define TL_ATTR_KEY(id, text, ...) text,
#define TL_ATTR_WORD(kind, id, text) text,
#include "ir/attrs.def"
   "tile",      "ptr",        "regs", "func", "state", "typed", "laid", "lowered",
   "num_warps", "num_stages", "iter", "true", "false", "l0",    "l1"};

/* E: an operand, O: the name of an operation, T: a type, L: a line, H: the head of a block. */
static const FuzzRule rules[] = {{'E', "%$w"},
                                 {'E', "%$n"},
                                 {'E', "$n"},
                                 {'E', "%$w : $T"},
                                 {'E', "$w = $n"},
                                 {'D', "i32"},
                                 {'D', "fp32"},
                                 {'D', "i1"},
                                 {'D', "fp16"},
                                 {'D', "i64"},
                                 {'D', "i8"},
                                 {'D', "bf16"},
                                 {'D', "fp8e5"},
                                 {'D', "fp64"},
                                 {'D', "u32"},
                                 {'D', "ptr<$D>"},
                                 {'D', "$w"},
                                 {'S', "$n"},
                                 {'S', "16"},
                                 {'S', "64"},
                                 {'S', "32x16"},
                                 {'S', "16x16"},
                                 {'S', "$nx$n"},
                                 {'S', "2x4x8"},
                                 {'T', "$D"},
                                 {'T', "tile<$D, $S>"},
                                 {'T', "tile<$D, $S, #l0>"},
                                 {'T', "regs<$D, $n>"},
                                 {'L', "%$w = $w $E, $E : $T"},
                                 {'L', "%$w = $w $E : $T"},
                                 {'L', "%$w = constant $n : $T"},
                                 {'L', "%$w = $w $E, $E, $E : $T"},
                                 {'L', "%$w = $w $E {$w = $n} : $T"},
                                 {'L', "%$w = $w $E, $E {$w = $w, axis = $n} : $T"},
                                 {'L', "%$w = load $E, $E, $E : $T"},
                                 {'L', "store $E, $E"},
                                 {'L', "store $E, $E, $E"},
                                 {'L', "yield $E"},
                                 {'L', "yield"},
                                 {'L', "return"},
                                 {'L', "%$w = arange {end = $n} : tile<i32, $S>"},
                                 {'L', "%$w = splat $E : $T"},
                                 {'L', "%$w = addptr $E, $E : $T"},
                                 {'L', "%$w = cast $E : $T"},
                                 {'L', "%$w = dot $E, $E, $E : $T"},
                                 {'L', "bar_sync"},
                                 {'L', "$w $E, $E, $E {vec = $n}"},
                                 {'H', "for %$w = $E to $E step $E {"},
                                 {'H', "if $E {"},
                                 {'H', "} else {"},
                                 {'H', "%$w = for %$w = $E to $E step $E iter(%$w = $E) : $T {"},
                                 {'H', "%$w = reduce $E {axis = $n} : $T (%$w: $D, %$w: $D) {"}};

const FuzzGrammar fuzz_grammar = {rules, sizeof rules / sizeof *rules, words,
                                  sizeof words / sizeof *words, '{'};

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
   fuzz_execute((const char *)data, size, "tir", fuzz_choices((const char *)data, size));
   return 0;
}
