/* How many registers values take, and a loop's body needs at once, roughly.
 *
 * tl_peak_words is no tl_pressure (ir/pressure.h).  It looks at operations with an effect alone, as
 * ptxas moves the pure ones between two of them, and it counts every word that then lives: a
 * relative measure of a body before and after a change.  The limits of its callers are what ptxas
 * made of loops by this count, so they hold for no other. */
#ifndef TL_PASSES_LIVE_WORDS_H
#define TL_PASSES_LIVE_WORDS_H

#include "ir/ir.h"
#include "ir/target.h"

/* Registers of 32 bits that a value of the type, also a LAID tile, takes in each thread. */
unsigned tl_words_of(const TlType *t);
/* Words of what the block's dots give. */
unsigned tl_words_of_products(const TlBlock *block);
/* The same with operands that are in registers. */
unsigned tl_words_of_dots(const TlBlock *block);
/* Blocks of so many warps that the registers of a multiprocessor hold, when each thread has what
 * the block's dots give and take in registers, and some for addresses, masks and the like; no more
 * than a thread can have, as what is beyond is not held at once. */
unsigned tl_blocks_of_dots(const TlTarget *target, unsigned num_warps, const TlBlock *block);
/* Is a block of so many warps alone on its multiprocessor, when sums take so many words of each
 * thread and addresses, masks and operands some besides? */
bool tl_is_alone(const TlTarget *target, unsigned num_warps, unsigned words);
/* The same of a value, 0 where it is made again at its uses or only names memory: constants, views,
 * indices and pointers that are computed.  For tl_pressure; ptxas is given a quarter more. */
unsigned tl_kept_words(const TlValue *v);
const uint32_t *tl_kept_words_of_all(TlArena *arena, const TlFunc *f); /* by value id */
/* The most that live across one of the body's operations with an effect, what is defined outside
 * and used inside included.  Between two of them pure operations go element by element, in place,
 * and registers that only rearrange others cost nothing. */
unsigned tl_peak_words(TlArena *scratch, const TlBlock *body);

#endif
