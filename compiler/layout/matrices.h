/* Tiles in shared memory as ldmatrix and stmatrix move them. */
#ifndef TL_LAYOUT_MATRICES_H
#define TL_LAYOUT_MATRICES_H

#include "layout/linear.h"

/* ldmatrix gives lane l of matrix row l / 4 the bytes 4 (l % 4) and the next three (PTX ISA,
 * "ldmatrix"): the register bits of a 32-bit word, l0 and l1 run along the 16-byte row and l2..l4
 * name the row; with .trans, for units of 16 bits, the word's high bit and l2..l4 change places.
 * Such a unit is one element, or two bytes.  Lane i of an access names row i % 8 of matrix i / 8.
 */
typedef struct TlMatrices {
   unsigned num; /* 1, 2, 4 */
   bool trans;
   unsigned word_bits;
   unsigned word[2];         /* register bits within a 32-bit word */
   unsigned select[2];       /* register bits that number the matrices */
   uint32_t thread_cols[10]; /* byte offsets of the row that a thread names: by bit of its lane,
                                then of its warp */
} TlMatrices;

/* col: byte offset columns of l (tl_cost_offset_columns); fixed: register bits that an access must
 * not run over.  False where the elements make no matrices. */
bool tl_find_matrices(const TlLinear *l, const uint32_t *col, uint32_t fixed, unsigned elem_bytes,
                      TlMatrices *m);
uint32_t tl_matrices_word(const TlMatrices *m); /* mask of the register bits within a word */

#endif
