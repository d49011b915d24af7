/* Changes of a text that its grammar knows: words for words, numbers for numbers, one argument for
 * another, whole lines and blocks.  What comes out is far more often a program than what changed
 * bytes give. */
#ifndef TESTS_FUZZ_MUTATE_H
#define TESTS_FUZZ_MUTATE_H

#include <stddef.h>
#include <stdint.h>

/* A rule of the grammar: what `$` and the letter stand for.  Several rules of one letter are
 * alternatives, the first of them ends a derivation. */
typedef struct FuzzRule {
   char letter;
   const char *text; /* `$E` is derived further, `$$` is a dollar, `$w` a word, `$n` a number */
} FuzzRule;

typedef struct FuzzGrammar {
   const FuzzRule *rules; /* L: a line; H: the head of a block; E: what stands between commas */
   size_t num_rules;
   const char *const *words; /* that may stand where a word stands */
   size_t num_words;
   char indent; /* a block is what is indented (':'), or stands in braces ('{') */
} FuzzGrammar;

/* Of a target that hooks.c is part of. */
extern const FuzzGrammar fuzz_grammar;

/* For LLVMFuzzerCustomMutator: the new length, at most `max`. */
size_t fuzz_mutate(const FuzzGrammar *g, uint8_t *data, size_t size, size_t max, unsigned seed);
/* For LLVMFuzzerCustomCrossOver: lines of `b` in the place of lines of `a`. */
size_t fuzz_cross(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size, uint8_t *out,
                  size_t max, unsigned seed);

/* libFuzzer's own, or the stand-in of replay.c. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);

#endif
