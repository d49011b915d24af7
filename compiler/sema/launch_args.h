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
} TlLaunchArg;

/* One for each parameter, in order. */
void tl_launch_args(TlSema *s, const TlKernelInfo *k, const TlAstCall *call, TlLaunchArg *args);

/* "a whole number" */
const char *tl_arg_kind_text(TlArgKind kind);
/* As an entry of a signature; NULL: nothing is known. */
const char *tl_arg_kind_entry(TlArgKind kind);

/* Of an expression in the function around `at`, or in a lambda there. */
TlArgKind tl_expression_kind(TlSema *s, const TlNode *at, const TlNode *n);

/* The expression that the function around `at` gives the name, once and in one place; or NULL. */
const TlNode *tl_local_value(TlSema *s, const TlNode *at, const char *name);

#endif
