/* Printing with an index: what stands where in the text, and under which names. */
#ifndef TL_IR_PRINT_H
#define TL_IR_PRINT_H

#include "ir/ir.h"

typedef struct TlPrintedOp {
   const TlOp *op;
   size_t at; /* offset of its line in the text */
} TlPrintedOp;

typedef struct TlPrintIndex {
   TL_VEC(TlPrintedOp) ops; /* as they stand in the text: each before those in its regions */
   const char **names;      /* by value id, without '%'; NULL: the value does not occur */
   TlMap layouts;           /* const TlLinear * -> "#l0" */
} TlPrintIndex;

/* As tl_print_func without locations; the index lives in the arena of `out`. */
void tl_print_func_index(const TlFunc *f, TlSb *out, TlPrintIndex *index);

#endif
