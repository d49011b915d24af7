/* How many registers a loop's body needs at once, roughly. */
#ifndef TL_PASSES_LIVE_WORDS_H
#define TL_PASSES_LIVE_WORDS_H

#include "ir/ir.h"

/* Registers of 32 bits that a value, also a LAID tile, takes in each thread. */
unsigned tl_words_of(const TlValue *v);
/* The most that live across one of the body's operations with an effect, what is defined outside
 * and used inside included.  Between two of them pure operations go element by element, in place,
 * and registers that only rearrange others cost nothing. */
unsigned tl_peak_words(TlArena *scratch, const TlBlock *body);

#endif
