/* What tiles ask of registers before they have layouts. */
#ifndef TL_PASSES_CHOOSE_WARPS_H
#define TL_PASSES_CHOOSE_WARPS_H

#include "passes/pass.h"

/* The 32-bit registers of all threads together that each value of a TYPED function takes, by id; in
 * cx->scratch.  *needs_warps: what it computes depends on the number of warps, which must stay. */
uint32_t *tl_tile_words(TlPassCx *cx, const TlFunc *f, bool *needs_warps);

/* The warps whose registers hold so many of them at once beside `spare` of each thread: those
 * given, twice as many, .., as far as a thread can name all that it would get; *have_room: they do
 * hold them. */
uint32_t tl_warps_for_words(const TlTarget *target, uint32_t warps, unsigned spare, uint64_t words,
                            bool *have_room);

#endif
