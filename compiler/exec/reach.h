/* How far the accesses of a launch reach: the index of each as a sum of coordinates, such as rows a
 * stride apart and columns beside each other, with numbers for all that the launch gives. */
#ifndef TL_EXEC_REACH_H
#define TL_EXEC_REACH_H

#include "exec/cpu.h"
#include "ir/affine.h"

enum { TL_REACH_COORDS = 4 };

typedef struct TlCoord {
   int64_t step;    /* elements from one to the next */
   int64_t natural; /* how many there are: of programs, rounds and lanes, whatever masks say */
   int64_t num;     /* of those that masks let in */
   int64_t limit;   /* the mask's; -1: none */
   const char *limit_name, *step_name; /* of the argument that it is; NULL: of none alone */
   int64_t unit;             /* the mask compares so many times the index with the argument .. */
   const char *divided_name; /* .. that has this name, in place of limit_name; NULL: with none */
   int64_t lanes;            /* of a tile along it, 1: none; a round or program has them */
   int axis;                 /* of the grid, whose programs are along it; -1: none */
   bool has_rounds;          /* of a loop */
   const TlOp *loop;         /* that one */
   int dim;                  /* of the tile, whose lanes are along it; -1: none */
   bool wraps;               /* by '%', whose divisor is `natural` then */
} TlCoord;

typedef struct TlReach {
   const TlOp *op;
   unsigned arg; /* the buffer */
   unsigned num; /* coordinates, the longest step first */
   TlCoord coord[TL_REACH_COORDS];
   int64_t start; /* what is added to the index in any case */
   int64_t end;   /* behind the last element that is reached */
} TlReach;

/* A launch of f, which is TYPED, on arguments as tl_exec_cpu takes them. */
typedef struct TlLaunched {
   TlArena *arena;
   const TlFunc *func;
   const TlExecArg *args;
   unsigned num_args;
   uint32_t grid[3];
   TlAffine *affine; /* made when it is first needed */
} TlLaunched;

/* False: it is not known.  An access in a branch is taken to be done. */
bool tl_reach_of(TlLaunched *l, const TlOp *access, TlReach *out);
/* An integer that is the same in all programs; false: it is not known. */
bool tl_reach_number(const TlLaunched *l, const TlValue *v, int64_t *out);
/* Elements of the buffer. */
int64_t tl_reach_count(const TlLaunched *l, unsigned arg);
/* Elements of a row, where the array is known to have rows; else 0. */
int64_t tl_reach_row(const TlLaunched *l, unsigned arg);

#endif
