/* libFuzzer's hooks of a target whose inputs have a grammar. */
#include "mutate.h"

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size,
                                 uint8_t *out, size_t max, unsigned seed);

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
   return fuzz_mutate(&fuzz_grammar, data, size, max, seed);
}

size_t
LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size,
                          uint8_t *out, size_t max, unsigned seed)
{
   return fuzz_cross(a, a_size, b, b_size, out, max, seed);
}
