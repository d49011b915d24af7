/* What the text of a file tells of the arguments of a launch in it: arrays by who made them, sizes
 * by x.shape and x.numel(), numbers by how they are written. */
#ifndef TL_SEMA_LAUNCH_ARGS_H
#define TL_SEMA_LAUNCH_ARGS_H

#include "sema/sema.h"

typedef enum TlArgKind {
   TL_ARG_UNKNOWN,
   TL_ARG_ARRAY,
   TL_ARG_INT,
   TL_ARG_FLOAT,
   TL_ARG_TEXT,
   TL_ARG_NONE,
   TL_ARG_SIZES, /* a tuple of integers: x.shape, x.stride() */
   TL_ARG_COUNT
} TlArgKind;

typedef struct TlLaunchArg {
   const TlNode *node; /* its value; NULL: not given, or it is not known by what */
   TlArgKind kind;
   bool is_open; /* *args or **kwargs may give it */
} TlLaunchArg;

/* An argument whose place the call tells: by position in front of all starred ones, or by name. */
typedef struct TlPlaced {
   const char *keyword; /* NULL: by position */
   const TlNode *value; /* NULL: a starred one, or what follows it by position */
} TlPlaced;

TlPlaced tl_placed_argument(const TlAstCall *call, size_t i);
/* Is the argument the parameter's? */
bool tl_is_placed_at(const TlKernelInfo *k, const TlPlaced *a, size_t i, unsigned param);

/* One for each parameter, in order. */
void tl_launch_args(TlSema *s, const TlKernelInfo *k, const TlAstCall *call, TlLaunchArg *args);

/* "a whole number" */
const char *tl_arg_kind_text(TlArgKind kind);
/* As an entry of a signature; NULL: nothing is known. */
const char *tl_arg_kind_entry(TlArgKind kind);

/* What the elements of the array are that an expression at `at` is, as an entry of a signature,
 * "i32"; NULL: its text does not tell. */
const char *tl_array_dtype(TlSema *s, const TlNode *at, const TlNode *n);

/* Of an expression in the function around `at`, or in a lambda there. */
TlArgKind tl_expression_kind(TlSema *s, const TlNode *at, const TlNode *n);

/* A launch, as its text says what it gives. */
typedef struct TlLaunchText {
   TlSema *s;
   const TlKernelInfo *kernel;
   const TlAstCall *call;
   TlLaunchArg *args; /* one for each parameter */
   unsigned *steps;   /* gone so far to read numbers */
} TlLaunchText;

void tl_launch_text(TlSema *s, const TlKernelInfo *k, const TlAstCall *call, TlLaunchText *out);
/* The number that an expression of the launch is, where the text says it; never negative. */
bool tl_launch_number(const TlLaunchText *t, const TlNode *n, int64_t *out);
/* How many elements an array of one dimension has, where the text says it. */
bool tl_launch_length(const TlLaunchText *t, const TlNode *n, int64_t *out);
/* The size along an axis of a grid as it is written, and of a launch's; NULL: there is none. */
const TlNode *tl_grid_item(const TlNode *grid, unsigned axis);
const TlNode *tl_launch_grid_item(const TlLaunchText *t, unsigned axis);

/* The expression that the function around `at` gives the name, once and in one place; or NULL. */
const TlNode *tl_local_value(TlSema *s, const TlNode *at, const char *name);

#endif
