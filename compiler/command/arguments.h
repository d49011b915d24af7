/* The arguments of a kernel as the command line gives them (--arg NAME=VALUE), for the commands
 * that launch. */
#ifndef TL_COMMAND_ARGUMENTS_H
#define TL_COMMAND_ARGUMENTS_H

#include "command/command.h"
#include "command/value.h"
#include "tilec/runtime.h"

typedef struct TlCmdArg {
   const TlKernelParam *param;
   const char *declared; /* the note of where it is declared, rendered */
   bool is_given;
   TlCliValue value;
   const char *word;    /* of a constexpr, what is no value: a string or a type, as -D takes it */
   TilecBuffer *buffer; /* once uploaded */
} TlCmdArg;

typedef struct TlCmdArgs {
   TlCommand *c;
   const char *file, *kernel; /* for messages */
   TlCmdArg *list;            /* one for each parameter of the kernel */
   unsigned num;
   bool is_autotuned; /* the kernel has configurations */
} TlCmdArgs;

/* The parameters of the kernel that the options name (o->kernel is filled in when it is the only
 * one); an exit code, after a message unless it is 0. */
int tl_cmd_args_params(TlCmdArgs *a, TilecCompileOptions *o, const TlCompileExtra *extra);
/* Reads --arg; an exit code, likewise. */
int tl_cmd_args_values(TlCmdArgs *a);
/* Of an array that was not taken. */
int tl_cmd_array_code(const TlArray *array);
/* Has every parameter that is not constexpr a value or a default?  A message for each without. */
bool tl_cmd_args_complete(const TlCmdArgs *a);
/* What is given, as the compiler takes it: defines of constexpr parameters, values of others. */
void tl_cmd_args_defines(const TlCmdArgs *a, TilecCompileOptions *o);
/* "x, n": the names of the parameters, or of those that are of a kind. */
const char *tl_cmd_arg_names(TlCmdArgs *all, bool (*is_of)(const TlCmdArg *a));
TlCmdArg *tl_cmd_arg_find(TlCmdArgs *a, const char *name, size_t len);  /* NULL if unknown */
TlCmdArg *tl_cmd_arg_named(TlCmdArgs *a, const char *name, size_t len); /* after a message */
void tl_cmd_args_free(TlCmdArgs *a);

/* Its scalar type by annotation, else by value: "fp32", "i32". */
const char *tl_cmd_arg_scalar(const TlCmdArg *a);
/* As -D takes it. */
const char *tl_cmd_arg_text(TlArena *arena, const TlCmdArg *a);
/* The same, "*fp16" for an array: what heuristics may know of it. */
const char *tl_cmd_arg_value(TlArena *arena, const TlCmdArg *a);

/* The array of a parameter that is a tensor descriptor, of `type` "tensordesc<fp16[128,64]>", whose
 * base the caller gives; NULL after a message. */
TilecTensor *tl_cmd_arg_tensor(TlArena *arena, const TlCmdArg *a, const char *type);
bool tl_cmd_is_descriptor(const char *type); /* NULL: no */

typedef struct TlCmdGrid {
   uint32_t size[3]; /* 1 where none is given */
   unsigned num;     /* sizes that are given; 0: --grid is not, or an expression */
} TlCmdGrid;
/* --grid as numbers.  An expression becomes an option of the compilation, in place of the kernel's
 * own.  False after a message. */
bool tl_cmd_grid(TlCommand *c, TilecCompileOptions *o, TlCmdGrid *out);

TilecStatus tl_cmd_args_upload(TlCmdArgs *a, TilecRuntime *rt);
TilecStatus tl_cmd_args_download(TlCmdArgs *a);
/* Of all arrays that are given. */
double tl_cmd_array_bytes(const TlCmdArgs *a);
/* --bytes, --flops: an expression over the integer arguments; an exit code, after a message.  *out
 * stays as it is when the option is not given. */
int tl_cmd_expression(TlCommand *c, TlCmdArgs *args, TlOptionId id, double *out);

#endif
