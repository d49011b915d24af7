/* Why an access of a launch leaves its array, or leaves a part of it out: what the index reaches by
 * the sizes, strides and the grid that were given, beside what is there. */
#ifndef TL_EXEC_CAUSES_H
#define TL_EXEC_CAUSES_H

#include "exec/reach.h"

/* The grid that the kernel's own expression gives for the arguments; false: it is given. */
typedef bool TlGridFn(void *user, const TlExecArg *args, unsigned num, uint32_t grid[3]);

/* The likeliest cause of BOUNDS, RACE, UNWRITTEN or UNREAD, as the help of its report; NULL: none
 * is known. */
const char *tl_exec_cause(TlLaunched *l, const TlExecFault *f, TlGridFn *grid, void *user);
/* An array of rows that an access takes for one of other rows.  False: there is none. */
typedef struct TlOtherRows {
   const TlOp *op;
   const char *array; /* "'x', which is [20, 100]," */
   int64_t step;      /* from row to row */
   const char *help;
} TlOtherRows;
bool tl_exec_other_rows(TlLaunched *l, TlGridFn *grid, void *user, TlOtherRows *out);
/* A store whose programs end less than a block before what its mask lets in: the grid was rounded
 * down.  False: there is none. */
typedef struct TlShortGrid {
   const TlOp *op;
   TlCoord coord;
   const char *limit; /* "'n' = 1000" */
   const char *help;  /* how many programs there are to be: "cdiv(n, 256)" */
} TlShortGrid;
bool tl_exec_short_grid(TlLaunched *l, TlShortGrid *out);
/* A store whose blocks along two axes of the grid are each as many as the other axis has programs.
 * False: there is none. */
typedef struct TlTurnedGrid {
   const TlOp *op;
   TlCoord a, b;
} TlTurnedGrid;
bool tl_exec_turned_grid(TlLaunched *l, TlTurnedGrid *out);
/* A load or store of a tile with fewer lanes than its mask lets in, and nothing else goes to the
 * array, which has more.  False: there is none. */
typedef struct TlShortBlock {
   const TlOp *op;
   const char *lanes, *limit; /* "'BLOCK' = 256" */
   const char *help;
} TlShortBlock;
bool tl_exec_short_block(TlLaunched *l, TlShortBlock *out);

#endif
