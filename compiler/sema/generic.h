/* Checking a kernel whose parameters have no types.
 *
 * A parameter that nothing gives a type or value is taken for an int32; where the kernel needs a
 * pointer, a whole number or a fraction there, and the value comes from the parameter, it becomes
 * one and the kernel is typed anew.  A constexpr without a value takes those that launches in the
 * file give it, or one that its uses allow.  An error counts only when every such typing that was
 * tried has it: then it is the kernel's and not the guess's. */
#ifndef TL_SEMA_GENERIC_H
#define TL_SEMA_GENERIC_H

#include "sema/sema.h"

/* What a constexpr's uses say of it (generic_uses.c). */
typedef enum TlConstUse {
   TL_CONST_NUMBER,
   TL_CONST_FLAG,
   TL_CONST_WORD,   /* compared with words */
   TL_CONST_CHOICE, /* compared with numbers */
   TL_CONST_DTYPE,
   TL_CONST_FRACTION, /* a function of floats takes it */
   TL_CONST_FUNCTION, /* it is called: nothing can stand for it */
   TL_CONST_ITEMS,    /* it has a length and items: neither */
} TlConstUse;

typedef struct TlConstHint {
   TlConstUse use;
   bool is_size;                /* a tile has as many elements */
   bool is_counted;             /* its uses reckon with it, so that it is a number */
   TL_VEC(const char *) values; /* of launches, then those that it is compared with: entries */
   unsigned num_launched;       /* how many of them launches give */
} TlConstHint;

/* Parameter by parameter; `hints` has one for each.  What launches give counts when it is asked
 * for: not where one of them is wrong. */
void tl_const_hints(TlSema *s, const TlKernelInfo *k, TlConstHint *hints, bool with_launches);
/* Calls `kernel[grid](..)` of one kernel, in order of the text. */
typedef TL_VEC(const TlAstCall *) TlCalls;
/* In the main file; or NULL.  Plain: `k(..)`, outside of compiled functions. */
const TlCalls *tl_launches_of(TlSema *s, const char *kernel);
const TlCalls *tl_plain_calls_of(TlSema *s, const char *kernel);
/* A grid as it is written at `at`: what a name stands for, what a lambda gives. */
const TlNode *tl_grid_node(TlSema *s, const TlNode *at, const TlNode *grid);
/* Does a launch in the file, or all, start one program: k[(1,)](..)? */
bool tl_is_launched_once(TlSema *s, const char *kernel);
/* Reports launches of the kernel in its file that give what it does not take, or not all it needs,
 * and decorators with such options.  False: nothing that the kernel says has a meaning then. */
bool tl_check_launches(TlSema *s, const TlKernelInfo *k);

/* By a decorator of another package: what is launched or called then is not the kernel. */
bool tl_is_wrapped(const TlSvFunc *fn);

/* Reports decorators of triton that are spelled wrong, and a file that has no kernel. */
void tl_check_around(TlSema *s, bool has_kernels);

/* What stands for a parameter that nothing gives a type or value. */
struct TlGuess {
   const char *entry;    /* as in a signature: "*fp32", "i32", "64" */
   bool is_used;         /* out: the parameter needed it */
   const TlValue *value; /* out: the function's argument; NULL for a constant */
};

typedef struct TlWritten {
   TlRange range;
   const TlNode *statement; /* the innermost around it; NULL: it is in another file */
   const TlNode *call;      /* which is the place itself */
   bool is_in_branch;       /* of an `if`, also of one of compile time */
} TlWritten;
/* In the text of the main file. */
TlWritten tl_written_at(TlSema *s, TlRange range);

typedef struct TlChecked {
   TlFunc *func;     /* without errors, nothing guessed: the kernel can go on to be compiled */
   bool is_unproved; /* errors that not every typing has: only parsed, its names resolved */
} TlChecked;

/* Types one kernel and reports what is wrong with it, whatever its parameters are. */
TlChecked tl_sema_check(TlSema *s, const TlSpecialization *spec, const TlKernelInfo *k);

#endif
