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
   bool has_backward;
   TilecEvent **marks; /* of the time line; NULL when there is none */

   Array q, o, lse;
   Array own_kv;         /* k, then v: one message */
   Array kv[2];          /* of other ranks: what is worked on, and what comes next */
   Array acc;            /* o so far, fp32 */
   Array part, part_lse; /* o and lse of one step */
   ExKernel causal, whole, merge, convert;

   Array dout, delta, dq; /* dq fp32 */
   Array dkv[2];          /* dk, then dv, fp32: sums so far */
   Array part_dkv;        /* of one step */
   ExKernel make_delta, causal_kv, whole_kv, causal_q, whole_q, add_rows;

   ExKernel fill, differences;
} Ring;

/* The rows and keys of a step. */
typedef struct RingStep {
   bool is_causal;
   size_t first_row, rows, keys;
} RingStep;
RingStep ring_step(const Ring *a, unsigned step);

/* o and lse from q, k and v. */
void ring_forward(Rank *r, void *ring);
/* dq, and dk and dv in dkv[size % 2] (alone: dkv[0]), from those and dout. */
void ring_backward(Rank *r, void *ring);
const Array *ring_dkv(const Ring *a);

/* An array to the next rank, the previous one's into another. */
CommPart ring_part(const Ring *a, const Array *send, const Array *recv);
/* The keys and values of this step, those of the next. */
CommPart ring_kv_part(const Ring *a, unsigned step);
/* Starts that transfer alone. */
void ring_hand_on(Ring *a, unsigned step);

/* The defines of its tiles. */
const char *ring_backward_blocks(const Ring *a);
/* Compares with one process. */
bool ring_is_right(Ring *a);
/* The rows of each plane, which are `pitch` apart, become those of the whole sequence from `first`
 * on. */
typedef struct RingRows {
   unsigned planes;
   size_t rows, pitch, first;
} RingRows;
void ring_fill(Ring *a, TilecArg x, RingRows rows, int seed);
/* The first token of each of the rank's two chunks. */
size_t ring_first_token(const Ring *a, unsigned half);
enum { SEED_Q = 1, SEED_K, SEED_V, SEED_DOUT };

void ring_measure(Ring *a);
#endif
