/* AST to TYPED tile IR: one specialisation of one kernel at a time.
 *
 * One evaluator walks the AST.  Every expression gives a TlSv, which is either known at compile
 * time (numbers, strings, None, dtypes, tuples, functions, modules) or a run-time SSA value.
 * Operators and builtins on compile-time values are folded with Python's meaning; as soon as one
 * operand is a run-time value the operation is built in IR with Triton's meaning (Triton 3.6).
 * Functions are inlined at the call.  An `if` on a compile-time condition never looks at the side
 * not taken.  A mistake is reported once and yields TL_SV_POISON, which silences everything it
 * touches.
 *
 * Files: module.c names of a file, imports    eval.c expressions    stmt.c statements, control flow
 *        call.c functions, binding, inlining  host*.c host Python, by host.def
 *        spec.c signatures, parameters        arith.c operators and promotion on run-time values
 *        kernels.c which there are            annotation.c what annotations say
 *        builtins.def the table of tl.* names, builtin_*.c what they build */
#ifndef TL_SEMA_SEMA_H
#define TL_SEMA_SEMA_H

#include "ir/ir.h"
#include "syntax/ast.h"
#include "syntax/parse.h"

typedef struct TlSema TlSema;
typedef struct TlSv TlSv;
typedef struct TlSourceModule TlSourceModule;

/* ---- values ---- */
enum { TL_SOME_ENUM = UINT16_MAX };

typedef enum TlSvKind {
   TL_SV_POISON, /* an error was reported already */
   TL_SV_NONE,
   TL_SV_BOOL,
   TL_SV_INT,
   TL_SV_LONG, /* an integer beyond 64 bits: for compile-time arithmetic alone */
   TL_SV_FLOAT,
   TL_SV_STR,
   TL_SV_TYPE,  /* a dtype or pointer type: tl.float32, pointer_type(..), x.dtype */
   TL_SV_TUPLE, /* tuples and lists */
   TL_SV_SET,   /* set and frozenset of host code: `tuple`, is_list where it may be changed */
   TL_SV_ITER,  /* what zip(), map(), iter(), a generator, d.items() give */
   TL_SV_DICT,
   TL_SV_SLICE, /* lower:upper:step of a subscript */
   TL_SV_ELLIPSIS,
   TL_SV_RANGE,    /* range(), tl.range(), tl.static_range() before the loop takes it */
   TL_SV_FUNC,     /* a function of a source file, or a lambda, with its environment */
   TL_SV_BUILTIN,  /* a row of builtins.def, possibly bound to a receiver (method) */
   TL_SV_MODULE,   /* a namespace: tl, tl.math, libdevice, triton, an imported file */
   TL_SV_OBJECT,   /* named fields: Config(...), namedtuple and aggregate instances, heuristics */
   TL_SV_OPAQUE,   /* a host value that is not understood (a torch call, ..): its use is an error */
   TL_SV_VALUE,    /* run-time: an SSA scalar, pointer or tile */
   TL_SV_BLOCKPTR, /* make_block_ptr: run-time parts, compile-time block shape */
} TlSvKind;

/* Where a value was lost: host code after which it is not known what it holds. */
typedef struct TlLost {
   const char *why;
   TlRange place;
   bool is_undecided;   /* it hangs on a condition that only the program's run decides: `why` */
   const char *name;    /* undecided: the name that is bound under it, or NULL */
   bool is_argument;    /* of a launch that is not known yet: some value, not None */
   bool is_device_name; /* of the GPU: it is some GPU of the target's capability */
   const char *module;  /* of an import that finds no `name` in it, or (name is NULL) no file */
   const TlSourceModule *source; /* the file that an import finds no `name` in, or NULL */
} TlLost;

/* The history of a list, set, dict or object, which may be changed in place. */
typedef struct TlChange {
   uint64_t region;    /* of the run-time code that made it: only there it may be changed */
   uint64_t born;      /* stamp of its making */
   uint64_t version;   /* counts changes */
   const TlLost *lost; /* host code may have changed it unseen, or NULL */
   bool is_refused;    /* a change was: what is in it is not what the program says */
} TlChange;

typedef struct TlSvTuple {
   TlSv *items;
   size_t len;
   bool is_list;
   const char *const *names; /* namedtuple field names, or NULL */
   TlChange change;
   size_t cap; /* of items, where a list has room to grow; may be less than len */
} TlSvTuple;

/* Items of an iterator, worked out when it was made.  They stand as long as nothing has changed
 * that they were made of; Python works them out when they are taken. */
typedef struct TlSvIter {
   const char *type; /* "zip", "generator", .. */
   TlSv *items;
   size_t len, at;        /* those before `at` were taken */
   bool is_view;          /* d.items() and the like: taking leaves them, and they have a length */
   bool is_unsure;        /* it is not known how many were taken */
   const TlSvTuple *list; /* iter(list): its items, as they are when they are taken */
   struct TlSvIterOf {
      const uint64_t *count;
      uint64_t at_making;
   } *of; /* counts that have not moved while the items stand */
   unsigned num_of;
} TlSvIter;

typedef struct TlSvFields { /* OBJECT, DICT (keys are TlSv there) */
   const char *type_name;   /* "Config", a class's name */
   bool is_member;          /* of an enumeration: equal to itself alone, never changed */
   size_t len, cap;
   const char **names;       /* OBJECT: field names */
   TlSv *keys;               /* DICT: keys */
   struct TlKeyIndex *index; /* DICT: key_index.c, or NULL */
   TlSv *values;
   TlChange change; /* DICT: its version counts changes of the keys, `writes` those of values */
   uint64_t writes;
} TlSvFields;

typedef struct TlBlockPtr {
   TlValue *base; /* scalar pointer */
   unsigned rank;
   TlValue *shape[TL_MAX_RANK];   /* i64 scalars */
   TlValue *strides[TL_MAX_RANK]; /* i64 scalars */
   TlValue *offsets[TL_MAX_RANK]; /* i32 scalars */
   uint32_t block[TL_MAX_RANK];
   uint8_t order[TL_MAX_RANK];
   bool is_descriptor; /* made by make_tensor_descriptor: offsets are zero, every
                          access gives its own and is checked in all dims */
   bool pads_nan;      /* descriptor: what lies outside reads as NaN, else zero */
   TlValue *rows;      /* gather, scatter: the index along dim 0 of each of its elements, or NULL */
} TlBlockPtr;

typedef struct TlSvRange TlSvRange;

typedef struct TlSvFunc TlSvFunc;     /* call.c */
typedef struct TlSvModule TlSvModule; /* module.c */
typedef struct TlBuiltin TlBuiltin;   /* a row of builtins.def */
typedef struct TlGuess TlGuess;       /* generic.h */

struct TlSv {
   TlSvKind kind;
   /* BOOL, INT, FLOAT: the constant was stored to a variable without `: constexpr`, so it counts
    * as a run-time scalar of `dtype` in promotion (Triton: `x = 1.0` makes an fp32 tensor),
    * although its value stays known and may still be used as a shape. */
   bool is_strong;
   TlDtype dtype;
   bool is_large; /* INT: the value is `(uint64_t)i`, above 2^63-1 */
   /* INT, FLOAT, STR: of an IntEnum or the like, whose members are values here, the number of the
    * enumeration; else 0.  Python shows a member otherwise, and each is one object.  TL_SOME_ENUM:
    * of IntFlag, whose combinations are members too, or of one enumeration too many. */
   uint16_t member_of;
   union {
      bool b;
      int64_t i;
      struct {
         uint64_t low;
         int64_t high;
      } wide; /* LONG: high * 2^64 + low */
      double f;
      TlText s; /* NONE: of the kernel's parameter that is given it, else empty */
      const TlType *type;
      TlSvTuple *tuple;
      TlSvIter *iter;
      TlSvFields *fields;
      TlSv *slice; /* three: lower, upper, step */
      TlSvRange *range;
      TlSvFunc *func;
      struct {
         const TlBuiltin *row;
         TlSv *self; /* receiver of a method, or NULL */
      } builtin;
      TlSvModule *module;
      TlValue *value;
      TlBlockPtr *block_ptr;
      const TlLost *opaque; /* why it is not understood, and where that is */
   };
};

struct TlSvRange {
   TlSv start, stop, step;
   bool is_static;                    /* tl.static_range: unrolled, compile-time index */
   int64_t num_stages, unroll, flags; /* as the attributes of `for` */
};

static inline TlSv
tl_sv_poison(void)
{
   return (TlSv){.kind = TL_SV_POISON};
}
/* Reports; the value that stands for a mistake. */
#define tl_sv_refuse(s, code, range, ...)                                                          \
   (tl_report((s)->diags, code, range, ##__VA_ARGS__), tl_sv_poison())
static inline TlSv
tl_sv_none(void)
{
   return (TlSv){.kind = TL_SV_NONE};
}
static inline TlSv
tl_sv_int(int64_t i)
{
   return (TlSv){.kind = TL_SV_INT, .i = i};
}
static inline TlSv
tl_sv_bool(bool b)
{
   return (TlSv){.kind = TL_SV_BOOL, .b = b};
}
static inline TlSv
tl_sv_float(double f)
{
   return (TlSv){.kind = TL_SV_FLOAT, .f = f};
}
static inline TlSv
tl_sv_type(const TlType *type)
{
   return (TlSv){.kind = TL_SV_TYPE, .type = type};
}
static inline TlSv
tl_sv_value(TlValue *value)
{
   return value ? (TlSv){.kind = TL_SV_VALUE, .value = value} : tl_sv_poison();
}
static inline bool
tl_sv_is_number(const TlSv *v) /* a compile-time number */
{
   return v->kind == TL_SV_BOOL || v->kind == TL_SV_INT || v->kind == TL_SV_FLOAT;
}
static inline bool
tl_sv_is_runtime(const TlSv *v)
{
   return v->kind == TL_SV_VALUE || v->kind == TL_SV_BLOCKPTR;
}

/* ---- the evaluator's state, as far as builtins need it ---- */
struct TlSema {
   TlArena *arena; /* this compilation */
   TlStrings *strings;
   TlSources *sources;
   TlDiags *diags;
   TlModule *ir; /* where the kernel goes */
   TlTypes *types;
   TlBuilder b;             /* cursor; b.range is kept at the statement or call being lowered */
   bool debug;              /* device_assert and overflow checks on */
   bool keeps_asserts;      /* device_assert on, where it is of a condition alone */
   bool cuts_tf32;          /* "tf32" drops bits of fp32 operands instead of rounding them */
   int64_t fp32_dot;        /* a TL_PRECISION_..: of dots of fp32 that say none */
   bool print_threads;      /* device_print prints in every thread */
   unsigned depth;          /* calls and nesting, limited */
   uint64_t steps;          /* compile-time evaluation steps, limited to 1 Mi */
   struct TlSemaImpl *impl; /* private to module.c, eval.c, stmt.c, call.c, host*.c, spec.c */
};

/* A call with its arguments bound to the row's parameters: args[i] belongs to parameter i of the
 * signature text; given[i] is false where the default was taken.  arg_ranges are for errors. */
typedef struct TlCall {
   const TlBuiltin *row;
   TlRange range; /* whole call */
   TlSv *args;
   bool *given;
   TlRange *arg_ranges;
   unsigned num_args;
   TlSv *rest; /* values of a `*name` parameter, and where each stands */
   TlRange *rest_ranges;
   unsigned num_rest;
   bool is_method; /* written as x.name(..) */
} TlCall;

typedef TlSv TlBuiltinFn(TlSema *s, const TlCall *call);

/* builtins.def: TL_BUILTIN(namespaces, name, signature, function, flags, doc).  The signature is
 * the Python parameter list; calls are bound to it by call.c.  Flags: METHOD (also x.name(..) on
 * run-time values and constants), HOST (may be called at compile time on constants only), MUTATES
 * (a method that changes its receiver). */
struct TlBuiltin {
   uint32_t namespaces; /* TL_NS_* bits: where the name is visible */
   const char *name;
   const char *signature; /* "pointer, mask=None, other=None" */
   TlBuiltinFn *fn;
   uint32_t flags;
   const char *doc;
};
enum {
   TL_NS_TL = 1 << 0,         /* tl.x, triton.language.x, and bare x in a .tile file */
   TL_NS_MATH = 1 << 1,       /* tl.math.x */
   TL_NS_LIBDEVICE = 1 << 2,  /* libdevice.x */
   TL_NS_TRITON = 1 << 3,     /* triton.x: cdiv, next_power_of_2 */
   TL_NS_PYTHON = 1 << 4,     /* builtins of Python: min, max, range, len, float, print .. */
   TL_NS_CUDA = 1 << 5,       /* tl.extra.cuda.x */
   TL_NS_STANDARD = 1 << 6,   /* triton.language.standard, .core: what some kernels import */
   TL_NS_DESCRIPTOR = 1 << 7, /* methods of tensor descriptors */
};
enum { TL_BUILTIN_METHOD = 1 << 0, TL_BUILTIN_HOST = 1 << 1, TL_BUILTIN_MUTATES = 1 << 2 };

/* Looks a name up in a namespace; NULL if unknown.  (builtins.c) */
const TlBuiltin *tl_builtin_find(uint32_t namespaces, const char *name);
const TlBuiltin *tl_builtin_method(const char *name);
/* What to write for a name of numpy's, torch's or CUDA's (other_names.def), or NULL.  (scope.c) */
const char *tl_name_instead(const char *name);
const TlBuiltin *tl_builtin_at(unsigned i); /* NULL past the end: did-you-mean, docs, tests */
/* How a call of a builtin went wrong (slips.def). */
typedef enum TlSlip { TL_SLIP_LACKS, TL_SLIP_HAS_NO, TL_SLIP_MORE, TL_SLIP_WRONG } TlSlip;
/* What to write instead, or NULL.  (call_builtin.c) */
const char *tl_slip_help(const TlBuiltin *row, TlSlip slip, const char *param);
/* How it is called: cast(input, dtype, ..), as a method x.cast(dtype, ..); those that are methods
 * only are so always.  (call_builtin.c) */
const char *tl_builtin_signature(TlArena *arena, const TlBuiltin *row, bool is_method);
/* Where the parameter ends whose text begins at p: a comma outside of quotes and brackets, or the
 * end of the signature.  (call_builtin.c) */
const char *tl_parameter_end(const char *p);
/* The same of an argument in a call's text, whose closing bracket ends it as well. */
const char *tl_argument_end(const char *p);
/* Attributes and constants that are not calls: tl.float32, tl.constexpr, x.dtype, x.shape, x.T,
 * dtype predicates (.is_floating(), .primitive_bitwidth ..).  (builtin_attr.c) */
bool tl_attr_of_value(TlSema *s, const TlSv *self, const char *name, TlRange range, TlSv *out);
bool tl_dtype_constant(TlSema *s, const char *name, TlSv *out); /* "float32" in namespace tl */

/* ---- offered by the evaluator (eval.c, call.c) ---- */
/* Calls a function value (source function, lambda or builtin) with positional arguments. */
TlSv tl_sema_call(TlSema *s, const TlSv *fn, const TlSv *args, unsigned num_args, TlRange range);
/* Calls fn on scalar block arguments inside the region that the builder's cursor is in: for combine
 * functions of reduce, scan and map.  Returns the results flattened; false after an error. */
bool tl_sema_call_scalars(TlSema *s, const TlSv *fn, TlValue *const *args, unsigned num_args,
                          TlValue **results, unsigned max_results, unsigned *num_results,
                          TlRange range);
/* A function of the embedded stdlib by module and name ("reduce", "softmax"); poison if missing. */
TlSv tl_sema_stdlib(TlSema *s, const char *module, const char *name);
/* The way out where a number or tile was wanted and v is neither; false: nothing is known. */
bool tl_help_no_number(TlSema *s, const TlSv *v);
/* Of the parameter `name`, which is given None where `what` is wanted: "an array". */
void tl_help_given_none(TlSema *s, const char *name, const char *what);
void tl_help_no_items(TlSema *s, const TlSv *self, TlRange range);
/* name(a, b): the builtin with the parameters that have no default */
const char *tl_call_form(TlSema *s, const TlBuiltin *row);
const char *tl_sv_describe(TlSema *s, const TlSv *v); /* "tile<fp16, 64x32>", "constexpr int 3" */
const char *tl_sv_operand(TlSema *s, const TlSv *v);  /* and "None ('bias')" of a parameter */

/* The error just reported would not be one if v were such a value (generic.h). */
typedef enum TlWant {
   TL_WANT_POINTER,
   TL_WANT_INT,
   TL_WANT_FLOAT,
   TL_WANT_BOOL,
   TL_WANT_ADDRESS, /* a number that becomes a pointer */
   TL_WANT_ONE,     /* the stride of neighbours, which a launch folds */
   TL_WANT_OTHER,   /* a descriptor, whose block nothing tells, or a tuple */
} TlWant;
void tl_blame(TlSema *s, const TlValue *v, TlWant want);
void tl_blame_sv(TlSema *s, const TlSv *v, TlWant want);
/* An argument of a block goes, and another value takes its place. */
void tl_blame_instead(TlSema *s, const TlValue *old, const TlValue *now);

/* Two that are to be of one type: an integer where the other is a pointer or a float. */
bool tl_is_tried(const TlSema *s); /* types of parameters may be guesses */
void tl_blame_pair(TlSema *s, const TlSv *a, const TlSv *b);

/* ---- run-time arithmetic with Triton's promotion (arith.c) ---- */
/* Makes an SSA value of a compile-time number (strong dtype, else by value: i32, then i64, u64;
 * fp32; i1 for bool) or passes a run-time value through; NULL after an error. */
TlValue *tl_sema_value(TlSema *s, const TlSv *v, TlRange range);
/* The same as a scalar or tile constant of exactly this dtype (range-checked). */
TlValue *tl_sema_value_as(TlSema *s, const TlSv *v, TlDtype dtype, TlRange range);
/* Both operands broadcast to one shape (scalars splat; ranks left-padded with 1). */
bool tl_sema_broadcast(TlSema *s, TlValue **a, TlValue **b, TlRange range);
TlValue *tl_sema_broadcast_to(TlSema *s, TlValue *v, unsigned rank, const uint32_t *shape,
                              TlRange range);
/* Numeric conversion; identity when the dtype fits already. */
TlValue *tl_sema_cast(TlSema *s, TlValue *v, const TlType *elem, TlRange range);
/* a op b where at least one is run-time: promotion, broadcasting, pointer arithmetic. */
TlSv tl_sema_binary(TlSema *s, TlAstOp op, const TlSv *a, const TlSv *b, TlRange range);
TlSv tl_sema_unary(TlSema *s, TlAstOp op, const TlSv *a, TlRange range);
TlSv tl_sema_compare(TlSema *s, TlAstOp op, const TlSv *a, const TlSv *b, TlRange range);
/* The common dtype of two operands by Triton's promotion; div_or_mod selects the `/ %` column.
 * false (with a report) when there is none. */
bool tl_sema_promote(TlSema *s, const TlSv *a, const TlSv *b, bool div_or_mod, TlRange range,
                     TlDtype *out);
/* A run-time truth value: scalar i1 from a scalar (value != 0); NULL with a report for tiles. */
TlValue *tl_sema_condition(TlSema *s, const TlSv *v, TlRange range);
/* x[...] on run-time values: None and ':' only. */
TlSv tl_sema_subscript(TlSema *s, TlValue *v, const TlSv *indices, unsigned num, TlRange range);

/* ---- the whole: kernels.c, spec.c ---- */
typedef struct TlSpecArg { /* one entry of a signature, in parameter order */
   bool is_given;
   bool is_constant;
   TlSv constant;             /* when is_constant */
   const TlType *type;        /* else: scalar or pointer */
   uint32_t divisibility;     /* 1 = nothing known */
   const char *descriptor;    /* "tensordesc<fp16[128,64]>": `type` is its pointer; else NULL */
   uint8_t rank;              /* of a descriptor */
   uint32_t row_divisibility; /* of a descriptor: of the size of its last dimension */
   uint32_t block[TL_TMAP_RANK];
} TlSpecArg;

typedef struct TlSpecialization {
   const char *kernel;    /* name, or NULL: the only kernel */
   const char *signature; /* ahead-of-time notation, or NULL: annotations and defaults decide */
   TL_VEC(const char *) define_names; /* -D NAME=VALUE */
   TL_VEC(const char *) define_values;
   TL_VEC(const char *) value_names;    /* what is known of launch arguments, for heuristics and */
   TL_VEC(const char *) values;         /* pruning: a value, or "*fp16" for a pointer to such */
   const char *grid;                    /* instead of the kernel's own, or NULL */
   int num_warps, num_stages, num_ctas; /* 0 = the kernel's own */
   bool debug, strict_fp;
   bool keeps_asserts;      /* device_assert is compiled in without debug */
   bool cuts_tf32;          /* the target's fastest product takes fp32 operands as they are */
   const char *fp32_dot;    /* the input_precision of dots that say none; NULL = "tf32" */
   bool print_threads;      /* device_print prints in every thread, not once for each element */
   bool may_return;         /* it may be a helper of other files: returning a value is no error */
   struct TlGuess *guesses; /* of each parameter that nothing else gives a type; or NULL */
} TlSpecialization;

typedef struct TlSemaOptions {
   const char *const *include_dirs; /* -I roots */
   size_t num_include_dirs;
   /* Reads a file for an import: arena text or NULL when absent.  NULL = no imports. */
   const char *(*read_file)(void *user, TlArena *arena, const char *path, size_t *len);
   void *user;
   /* A variable of the environment, NULL when it is not set. */
   const char *(*environment)(void *user, const char *name);
   unsigned capability;       /* of the target, 90 for sm_90; 0 = 90 */
   const char *const *assume; /* "NAME=VALUE": what the program is to take for granted */
   size_t num_assume;
} TlSemaOptions;

/* Loads the names of a parsed file, and what it imports on demand. */
TlSema *tl_sema_new(TlArena *arena, TlStrings *strings, TlSources *sources, TlDiags *diags,
                    TlModule *ir, const TlSemaOptions *options);
bool tl_sema_load(TlSema *s, TlAstModule *ast);

/* From now on the values that names of the main file take in evaluation are kept, for editors. */
void tl_sema_watch(TlSema *s);
/* The last value of the name at the offset, or NULL. */
const TlSv *tl_sema_seen(TlSema *s, uint32_t offset);
/* What an expression of the file means outside of functions: a name, tl.load, module.function. */
TlSv tl_sema_meaning(TlSema *s, const TlNode *n);
/* Where a function is defined; a file (its node is NULL); false for other values. */
bool tl_sv_definition(const TlSv *v, const TlNode **node, uint32_t *file);
/* Namespaces of builtins.def that a module stands for; 0: it is another value. */
uint32_t tl_sv_namespaces(const TlSv *v);
/* The functions of a file one by one; NULL past the last, or for other values. */
const TlNode *tl_sv_member(const TlSv *module, size_t i);
/* Its constants likewise: *value and where each is bound. */
const char *tl_sv_constant(const TlSv *module, size_t i, const TlSv **value, TlRange *range);
/* Where the file that `from m import name` names binds it; false: no file does. */
bool tl_import_place(TlSema *s, const TlAstImport *import, const TlAstAlias *a, TlRange *range);
/* What is known of a module of Python one by one; the signature of a value is NULL.  False past the
 * last, or for other values. */
bool tl_sv_python_member(const TlSv *module, size_t i, const char **name, const char **signature);

typedef struct TlKernelParam {
   const char *name;
   TlRange range; /* all of it */
   bool is_constexpr;
   const char *annotation;       /* text as written, or NULL */
   const char *type;             /* what it says as a signature entry; NULL: nothing */
   const char *default_text;     /* text as written, or NULL */
   bool value_matters;           /* the kernel's heuristics look at its value */
   bool no_specialize, no_align; /* named in do_not_specialize, do_not_specialize_on_alignment */
} TlKernelParam;
typedef struct TlKernelInfo {
   const char *name;
   TlRange range;      /* all of it */
   TlRange name_range; /* in its def */
   TlKernelParam *params;
   unsigned num_params;
   const char *decorators; /* text of the decorator lines, or NULL */
   const char *grid;       /* grid= as written, or NULL */
   bool is_helper;         /* called by another kernel of the file and never launched by itself */
   bool is_launched;       /* no helper of other files: by @kernel, a launch, what it asks */
   bool is_inner;          /* of a function: what it refers to is known when that runs */
   bool is_qualified;      /* of a class or function, whose name is in front of its own */
} TlKernelInfo;
/* Kernels of the file in order (for `list`, reflection and -k). */
unsigned tl_sema_kernels(TlSema *s, const TlKernelInfo **out);
/* What a kernel's text says of a parameter, which may be a pointer or not. */
typedef struct TlParamStrides {
   const char **names; /* parameters by which it may be stepped through: added to it, alone or times
                        * an index */
   unsigned num;
   bool is_bound; /* something is compared with it, or counted up to it */
} TlParamStrides;
/* By parameter.  (strides.c) */
const TlParamStrides *tl_sema_strides(TlSema *s, const TlKernelInfo *kernel);
/* A remark on each function that is written as a kernel and is not among them. */
void tl_sema_report_unlisted(TlSema *s);

/* What input_precision= of a dot may say, and the TL_PRECISION_.. of such a word; false: none. */
#define TL_DOT_PRECISIONS "tf32 tf32x3 ieee bf16x3 bf16x6"
bool tl_dot_precision(const char *word, int64_t *out);

/* Compiles one specialisation to TYPED IR, appended to the module; NULL after located errors. */
TlFunc *tl_sema_compile(TlSema *s, const TlSpecialization *spec);

/* ---- tuning.c ---- */
typedef struct TlConfig { /* one configuration, complete */
   const char *text;      /* "BLOCK=128, num_warps=8, num_stages=3": unique in its kernel */
   const char **names, **values;
   unsigned num;
   int num_warps, num_stages, num_ctas; /* 0 = the compiler's */
} TlConfig;
typedef struct TlTuning {
   TlConfig *configs;
   unsigned num_configs;
   const char **keys, **reset_to_zero, **restore_value;
   unsigned num_keys, num_reset, num_restore;
   uint32_t warmup_ms, rep_ms; /* 0 = not said */
} TlTuning;
/* The configurations of a kernel under @autotune, without what spec defines; pruned when spec has
 * values.  false when the kernel has none. */
bool tl_sema_tuning(TlSema *s, const TlSpecialization *spec, TlTuning *out);
typedef struct TlHeuristics {
   TL_VEC(const char *) names;
   TL_VEC(const char *) values;
} TlHeuristics;
/* What a kernel's @heuristics give for spec's values and defines, as defines would say it; what
 * cannot be evaluated is left out. */
void tl_sema_heuristics(TlSema *s, const TlSpecialization *spec, TlHeuristics *out);
/* Of the main file and all that it imports. */
uint64_t tl_sema_source_hash(TlSema *s);

/* Text of stdlib/<name>.tile, embedded at build; NULL if there is no such module. */
const char *tl_stdlib_text(const char *name, size_t *len);

#endif
