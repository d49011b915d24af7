/* Ring attention, causal.  The sequence is cut into 2 * size chunks; rank r has chunks r and
 * 2 * size - 1 - r ("zig-zag"), so that every rank has the same work in every step.  Keys and
 * values travel around the ring: in step i rank r works on those of rank (r - i) mod size while it
 * hands them on and receives the next.
 *
 *    owner == rank   2 C rows x 2 C keys, causal      2 C^2 products
 *    owner <  rank   2 C rows x the first C keys      2 C^2
 *    owner >  rank   the last C rows x 2 C keys       2 C^2   (chunks of C tokens) */
#ifndef DISTRIBUTED_RING_H
#define DISTRIBUTED_RING_H

#include "ranks.h"

typedef struct Ring {
   Rank *r;
   unsigned heads, heads_kv, dim, group;
   size_t tokens, chunk, local; /* of all; of a chunk; of a rank: 2 * chunk */
   size_t q_elems, kv_elems;    /* of one rank's array */
   float scale;
   TilecDtype dtype;
   Array q, kv[2]; /* k, then v: one message; the rank's own and the traveller take turns */
   Array own_kv;   /* kept: kv[] is overwritten */
   Array acc, lse; /* of o, fp32, and of what rows have seen so far */
   Array part, part_lse;
   Array o;
   RankKernel causal, whole, merge, convert, fill, differences;
   TilecEvent **marks; /* of the time line: MARKS a step; NULL when there is none */
} Ring;

/* The rows and keys of a step. */
typedef struct RingStep {
   unsigned owner;
   bool is_causal;
   size_t first_row, rows, keys;
} RingStep;
RingStep ring_step(const Ring *a, unsigned step);

/* a->acc, a->lse and a->o from a->q and a->own_kv. */
void ring_forward(Rank *r, void *ring);
/* Starts to hand on the keys and values of this step, and to receive those of the next. */
void ring_hand_on(Ring *a, unsigned step);
void ring_measure(Ring *a);
#endif
