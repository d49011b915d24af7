/* Programs: compiled by the C API under limits, then run on the CPU executor and the simulator. */
#define _GNU_SOURCE
#include "execute.h"
#include "mutate.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size,
                                 uint8_t *out, size_t max, unsigned seed);

static const char *const words[] = {
#define TL_BUILTIN(namespaces, name, ...) name,
#define TL_BUILTIN_AS(namespaces, name, ...) name,
#define TL_BUILTIN_OP(namespaces, name, ...) name,
#define TL_BUILTIN_STD(namespaces, name, ...) name,
#define TL_BUILTIN_MATH(namespaces, name, ...) name,
#define TL_BUILTIN_NO(namespaces, name, ...) name,
#include "sema/builtins.def"
#define TL_DTYPE(id, text, kind, bits, mantissa, exponent, bias, triton_name) text, triton_name,
#include "ir/dtypes.def"
   "tl",     "triton",     "True",  "False",      "None",    "constexpr", "self", "shape",
   "dtype",  "element_ty", "mask",  "other",      "axis",    "keep_dims", "dim",  "list",
   "dict",   "tuple",      "str",   "isinstance", "hasattr", "getattr",   "zip",  "enumerate",
   "sorted", "reversed",   "print", "int",        "float",   "bool"};

/* E: an expression, S: a shape, D: a dtype, L: a line, H: the head of a block. */
static const FuzzRule rules[] = {
   {'E', "$w"},
   {'E', "$n"},
   {'E', "$E + $E"},
   {'E', "$E * $E"},
   {'E', "$E - $E"},
   {'E', "$E // $E"},
   {'E', "$E % $E"},
   {'E', "$E / $E"},
   {'E', "$E << $E"},
   {'E', "$E >> $E"},
   {'E', "$E & $E"},
   {'E', "$E ** $n"},
   {'E', "$E < $E"},
   {'E', "$E == $E"},
   {'E', "-$E"},
   {'E', "~$E"},
   {'E', "not $E"},
   {'E', "$E and $E"},
   {'E', "($E)"},
   {'E', "($E, $E)"},
   {'E', "[$E, $E]"},
   {'E', "$E if $E else $E"},
   {'E', "$w($E)"},
   {'E', "$w($E, $E)"},
   {'E', "$w.$w"},
   {'E', "$w.$w($E)"},
   {'E', "$w[$E]"},
   {'E', "$w[:, None]"},
   {'E', "$w[None, :]"},
   {'E', "$w[$n:$n]"},
   {'E', "tl.arange(0, $P)"},
   {'E', "tl.load($E, mask=$E, other=$E)"},
   {'E', "tl.load($w + $E)"},
   {'E', "tl.zeros($S, $D)"},
   {'E', "tl.full($S, $E, $D)"},
   {'E', "tl.dot($E, $E)"},
   {'E', "tl.dot($E, $E, acc=$E)"},
   {'E', "tl.sum($E, axis=$n)"},
   {'E', "tl.max($E, axis=0, return_indices=True)"},
   {'E', "tl.cumsum($E, 0)"},
   {'E', "tl.sort($E)"},
   {'E', "tl.reshape($E, $S)"},
   {'E', "tl.trans($E)"},
   {'E', "tl.permute($E, $S)"},
   {'E', "tl.join($E, $E)"},
   {'E', "tl.split($E)"},
   {'E', "tl.where($E, $E, $E)"},
   {'E', "$E.to($D)"},
   {'E', "$E.to($D, bitcast=True)"},
   {'E', "tl.atomic_add($E, $E, mask=$E)"},
   {'E', "tl.atomic_cas($E, $E, $E)"},
   {'E', "tl.histogram($E, $P)"},
   {'E', "tl.gather($E, $E, 0)"},
   {'E', "tl.make_block_ptr($w, $S, $S, $S, $S, (1, 0))"},
   {'E', "tl.make_tensor_descriptor($w, $S, $S, $S)"},
   {'E', "tl.associative_scan($E, 0, $w)"},
   {'E', "tl.reduce($E, 0, $w)"},
   {'E', "lambda $w: $E"},
   {'E', "[$E for $w in $E]"},
   {'E', "{$E: $E}"},
   {'E', "f\"{$w}\""},
   {'E', "'$w'"},
   {'E', "*$w"},
   {'E', "$w=$E"},
   {'E', "tl.inline_asm_elementwise('add.u32 $$0, $$1, $$2;', '=r,r,r', [$E, $E], $D, True, 1)"},
   {'E', "tl.rand($n, $E)"},
   {'E', "tl.program_id($n)"},
   {'E', "tl.cdiv($E, $E)"},
   {'P', "16"},
   {'P', "1"},
   {'P', "2"},
   {'P', "4"},
   {'P', "8"},
   {'P', "32"},
   {'P', "64"},
   {'P', "128"},
   {'P', "256"},
   {'P', "$n"},
   {'P', "$w"},
   {'S', "[$P]"},
   {'S', "[$P, $P]"},
   {'S', "($P, $P, $P)"},
   {'S', "[$P, $P, $P, $P]"},
   {'S', "$w.shape"},
   {'S', "()"},
   {'D', "tl.float32"},
   {'D', "tl.float16"},
   {'D', "tl.int32"},
   {'D', "tl.int1"},
   {'D', "tl.int64"},
   {'D', "tl.bfloat16"},
   {'D', "tl.float8e5"},
   {'D', "tl.float8e4nv"},
   {'D', "tl.int8"},
   {'D', "tl.uint8"},
   {'D', "tl.float64"},
   {'D', "$w.dtype"},
   {'D', "$w"},
   {'L', "$w = $E"},
   {'L', "$w += $E"},
   {'L', "$w, $w = $E"},
   {'L', "tl.store($w + $E, $E)"},
   {'L', "tl.store($E, $E, mask=$E)"},
   {'L', "$E"},
   {'L', "return $E"},
   {'L', "break"},
   {'L', "continue"},
   {'L', "assert $E"},
   {'L', "tl.static_assert($E, '$w')"},
   {'L', "tl.device_assert($E)"},
   {'L', "tl.device_print('$w', $E)"},
   {'L', "tl.static_print($E)"},
   {'L', "tl.debug_barrier()"},
   {'L', "$w: tl.constexpr = $E"},
   {'L', "$w[$E] = $E"},
   {'L', "del $w"},
   {'L', "global $w"},
   {'L', "raise ValueError($E)"},
   {'L', "import $w"},
   {'L', "from $w import $w"},
   {'L', "@triton.jit"},
   {'L', "pass"},
   {'L', "$w.append($E)"},
   {'L', "$w = tl.advance($w, $S)"},
   {'L', "$w.store($S, $E)"},
   {'L', "tl.multiple_of($w, $n)"},
   {'H', "if $E:"},
   {'H', "for $w in range($E):"},
   {'H', "for $w in range(0, $E, $E):"},
   {'H', "while $E:"},
   {'H', "else:"},
   {'H', "elif $E:"},
   {'H', "for $w in tl.static_range($n):"},
   {'H', "def $w($w, $w=$E):"},
   {'H', "with $E as $w:"},
   {'H', "try:"},
   {'H', "except $w:"},
   {'H', "class $w:"},
   {'H', "match $E:"},
   {'H', "case $E:"},
   {'H', "for $w in tl.range(0, $E, num_stages=$n, warp_specialize=True):"}};

static const FuzzGrammar grammar = {rules, sizeof rules / sizeof *rules, words,
                                    sizeof words / sizeof *words, ':'};

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
   FuzzChoices c = fuzz_choices((const char *)data, size);
   /* A program of Triton's names itself by its import. */
   bool python = memmem(data, size, "import triton", 13) || c.digit[FUZZ_SUFFIX];
   fuzz_execute((const char *)data, size, python ? "py" : "tile", c);
   return 0;
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
   return fuzz_mutate(&grammar, data, size, max, seed);
}

size_t
LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size,
                          uint8_t *out, size_t max, unsigned seed)
{
   return fuzz_cross(a, a_size, b, b_size, out, max, seed);
}
