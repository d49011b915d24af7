/* How the text of an inline_asm operation and its operands come together: `pack` elements a call,
 * those below 32 bits packed in 32-bit words, and a constraint for each word, outputs first. */
#ifndef TL_IR_INLINE_ASM_H
#define TL_IR_INLINE_ASM_H

#include "ir/ir.h"

enum {
   TL_ASM_MAX_PACK = 16,
   TL_ASM_MAX_WORDS = 64, /* of the outputs of a call, and of its inputs */
};

unsigned tl_asm_elem_bits(const TlType *t); /* a bool has 8 */
/* Words of a call for an operand of this type, tile or not. */
unsigned tl_asm_words(const TlType *t, unsigned pack);

/* NULL, or why they are no constraints for so many words: "=r,=&r,r,0,~{memory}" has two outputs,
 * two inputs, of which the second is in the first output's register, and a clobber. */
const char *tl_asm_refuses(TlArena *arena, const char *constraints, unsigned num_out,
                           unsigned num_in);

/* NULL, or which operand the PTX names ("$3", "${3:..}"; "$$" is a $) that is not there. */
const char *tl_asm_missing(TlArena *arena, const char *text, unsigned num_operands);

typedef struct TlAsmWord {
   const char *constraint;
   const char *literal; /* what stands for it in the text, or NULL */
} TlAsmWord;

/* The first `max` constraints, clobbers too; how many there are of them. */
unsigned tl_asm_split(TlArena *arena, const char *constraints, TlAsmWord *words, unsigned max);

/* The text with the literal of word 4 for "$4" or "${4}"; operands behind it count one less. */
const char *tl_asm_with_literals(TlArena *arena, const char *text, const TlAsmWord *words,
                                 unsigned num);

#endif
