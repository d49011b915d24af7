/* Private to the evaluator: module.c scope.c eval.c consteval.c stmt*.c call*.c host*.c spec*.c
 * describe.c.
 *
 * A TlSourceModule is one source file with its module-level names, bound lazily: an assignment or
 * import is evaluated when somebody asks for the name, and a host expression that is not understood
 * becomes an OPAQUE value, which is an error only when a kernel needs it.  A TlFrame holds the
 * variables of one activation (or of a lambda, comprehension, class body).  A TlActivation says
 * which function is being evaluated and whether it is host Python (every value known, nothing is
 * built) or compiled code. */
#ifndef TL_SEMA_IMPL_H
#define TL_SEMA_IMPL_H

#include "sema/sema.h"

enum {
   TL_MAX_CALLS = 64,        /* depth of inlining */
   TL_MAX_EVAL_DEPTH = 1000, /* nesting of expressions and statements over all calls */
   TL_MAX_UNROLL = 4096,     /* iterations of a compile-time loop of compiled code */
   TL_MAX_STEPS = 1 << 20,
};

typedef struct TlFrame TlFrame;
typedef struct TlActivation TlActivation;

/* ---- files and modules ---- */
typedef enum TlGlobalState {
   TL_GLOBAL_READY,
   TL_GLOBAL_LAZY, /* an import that nobody asked for yet */
   TL_GLOBAL_FORCING,
   TL_GLOBAL_DELETED,
} TlGlobalState;

typedef struct TlStar { /* `from m import *` */
   const TlAstImport *import;
   uint64_t seq;
} TlStar;

typedef struct TlGlobal {
   const char *name;
   TlRange range; /* where it is bound */
   TlGlobalState state;
   TlSv value;                /* READY */
   const TlNode *expr;        /* the right side of the assignment that bound it, or NULL */
   const TlAstImport *import; /* the import that bound it, or NULL */
   const TlAstAlias *alias;   /* of the import */
   uint64_t seq;              /* stamp of the binding */
} TlGlobal;

struct TlSourceModule {
   uint32_t file;
   const char *path; /* as given or found */
   bool is_tile;     /* every def is compiled code, builtins are visible bare */
   bool is_stdlib;
   const TlAstModule *ast;
   TlMap globals; /* interned name -> TlGlobal */
   TL_VEC(TlGlobal *) order;
   TL_VEC(TlStar) stars;         /* in order */
   TlFrame *frame;               /* of the module's statements */
   TL_VEC(TlSvFunc *) functions; /* in order of definition */
};

typedef enum TlModuleKind {
   TL_MOD_SOURCE,  /* a file */
   TL_MOD_BUILTIN, /* a namespace of builtins.def */
   TL_MOD_HOST,    /* torch, os, ..: only what host.def names has a value */
} TlModuleKind;

struct TlSvModule {
   TlModuleKind kind;
   TlSourceModule *source; /* SOURCE */
   uint32_t ns;            /* BUILTIN: TL_NS_* */
   const char *name;       /* dotted */
   TlRange import;         /* HOST: of the import that found no file; of file 0: none */
};

static inline bool
tl_is_host_module_value(const TlSv *v)
{
   return v->kind == TL_SV_MODULE && v->module->kind == TL_MOD_HOST;
}
/* A value of host code that is not understood, or a module of such. */
static inline bool
tl_is_foreign(const TlSv *v)
{
   return v->kind == TL_SV_OPAQUE || tl_is_host_module_value(v);
}

/* ---- functions ---- */
typedef enum TlMethodKind {
   TL_METHOD_PLAIN,
   TL_METHOD_STATIC,
   TL_METHOD_CLASS,
   TL_METHOD_PROPERTY,
   TL_METHOD_CACHED_PROPERTY,
   TL_METHOD_UNKNOWN, /* by a decorator that is not known */
} TlMethodKind;

typedef struct TlField { /* that instances of a class are made of */
   const char *name;
   TlSv value; /* default, or what is called to make it */
   bool has_default;
   bool is_made;      /* by default_factory */
   bool by_name;      /* the argument is given by its name only */
   bool is_argument;  /* of the constructor */
   bool is_attribute; /* else for __post_init__ alone */
   bool is_compared;
} TlField;

typedef enum TlEnumKind {
   TL_ENUM_NONE,
   TL_ENUM_OBJECTS, /* Enum */
   TL_ENUM_FLAGS,   /* Flag: objects, and their combinations, which are not followed */
   TL_ENUM_VALUES,  /* IntEnum and the like: a member is its value */
} TlEnumKind;

typedef struct TlClassInfo {
   TL_VEC(const TlSvFunc *) order; /* its bases, in the order they are asked */
   bool is_cut;                    /* what follows those is not known */
   uint16_t enum_number;           /* of an enumeration: from 1 on, or TL_SOME_ENUM */
   const char *fault;              /* why Python refuses the class, or NULL, .. */
   const char *exception;          /* .. and what it raises */
   TL_VEC(TlField) fields;         /* declared, and those a dataclass inherits */
   bool is_own_data;               /* it is a dataclass itself */
   bool is_tuple;                  /* a NamedTuple */
   bool is_unsure;                 /* a dataclass whose fields or options are not all known */
   bool has_init, has_eq;          /* that @dataclass makes */
   bool is_frozen;                 /* or one of its bases */
   TL_VEC(TlSv) members;           /* of an enumeration, each once */
   bool lacks_members;             /* some are not known */
} TlClassInfo;

typedef struct TlMemo TlMemo;
struct TlSvFunc {
   const char *name;
   const char *qualname; /* of a kernel that is no name of its file, else NULL */
   const TlNode *node;   /* Function, Lambda or Class */
   TlSourceModule *source;
   TlFrame *closure; /* enclosing variables, or NULL at module level */
   bool is_compiled; /* jit or in a .tile file; else host Python */
   bool is_entry;    /* may be launched: has a jit decorator, or any def of a .tile file */
   TlSv *self;       /* bound receiver, or NULL */
   TlMethodKind method;
   bool is_abstract;     /* a method that a class which is instantiated must define anew */
   TlFrame *class_frame; /* Class: its attributes and methods */
   TlEnumKind enum_kind; /* Class, once its body began */
   TlClassInfo *info;    /* Class: NULL while its body runs */
   TlSv *defaults;       /* of each parameter, at the definition; NULL: at the call */
   TlMap *decorated;     /* argument nodes of its decorators and their values at the definition */
   TlMemo *memo;         /* lru_cache: its results so far; or NULL */
};

/* ---- variables ---- */
typedef enum TlVarState {
   TL_VAR_BOUND,
   TL_VAR_ONE_SIDED,  /* set on one side of a run-time if only */
   TL_VAR_CONFLICT,   /* both sides of a run-time if set it, to values of different types */
   TL_VAR_LOOP_LOCAL, /* first set inside a run-time loop that has ended */
   TL_VAR_DELETED,
} TlVarState;

typedef struct TlVar {
   const char *name;
   TlSv value;
   TlRange range; /* of the last assignment */
   TlRange other; /* second place, for the states that need two */
   TlVarState state;
   uint64_t seq;         /* stamp of the last assignment */
   const char *types[2]; /* CONFLICT: both types */
   const char *way_out;  /* CONFLICT: the help */
   TlValue **loop;       /* LOOP_LOCAL: start, stop and step of the loop whose index it was */
} TlVar;

typedef struct TlVars {
   TlVar *data;
   size_t len, cap;
} TlVars;

struct TlFrame {
   TlFrame *parent;        /* where names not found here are looked up, or NULL: the source */
   TlSourceModule *source; /* NULL: builtins only */
   TlActivation *act;
   TlVars vars;
   uint64_t born;       /* stamp */
   uint64_t rebinds;    /* of its names, after the first binding */
   bool is_class;       /* a class body: not visible from the functions in it */
   bool is_module;      /* the names are the source's globals */
   bool is_comp;        /* of a comprehension: `:=` binds outside of it */
   const TlMap *locals; /* host function: names that its body binds, see TlScope; or NULL */
};

/* How a host function's body binds a name, in TlFrame.locals. */
typedef enum TlScope { TL_SCOPE_LOCAL = 1, TL_SCOPE_GLOBAL, TL_SCOPE_NONLOCAL } TlScope;

struct TlActivation {
   TlActivation *caller;
   const TlSvFunc *func; /* NULL for module level */
   TlRange call_range;
   bool is_host;
   bool may_return;         /* a kernel that may be a helper as well */
   unsigned errors;         /* host: reported when it began; more of them end it */
   struct TlYields *yields; /* of a generator, or NULL */
   unsigned loops;          /* run-time loops around the current statement */
   unsigned static_loops;   /* unrolled loops around it */
   const char *leave;       /* the variable that a `break` of the run-time loop sets, or NULL */
   const char *returned;    /* the variable that a `return` inside of such sets, or NULL */
   const char *result;      /* the variable that holds what it gives */
   TlSv like;               /* a value of its type; NONE: not known yet */
   TlSv ret;                /* value of the return that ended it */
   TlRange ret_range;
};

/* What follows a statement in its function (or loop body): lists of statements, inner first.  A
 * run-time `if` one side of which returns runs the rest inside the other side. */
typedef struct TlCont {
   const TlNodeList *stmts;
   size_t next;
   const struct TlCont *up;
} TlCont;

typedef enum TlFlow { TL_FLOW_NEXT, TL_FLOW_RETURN, TL_FLOW_BREAK, TL_FLOW_CONTINUE } TlFlow;

typedef struct TlArgs { /* evaluated arguments of a call */
   TlSv *pos;
   TlRange *pos_range;
   unsigned num_pos;
   const char **kw_name;
   TlSv *kw;
   TlRange *kw_range;
   unsigned num_kw;
} TlArgs;

/* The exception of Python that an error stands for.  An error without one is a step that is not
 * followed here: no `except` may catch it. */
typedef struct TlRaised {
   const TlDiag *error;
   const char *name;    /* "KeyError" */
   const TlSvFunc *cls; /* of the program's own exceptions, else NULL */
} TlRaised;

/* Who hears of types that do not fit, while the operations are there: trials of kernels without
 * types (generic.c). */
typedef struct TlBlame {
   void (*hear)(void *user, const TlValue *v, TlWant want); /* NULL: nobody */
   void (*replace)(void *user, const TlValue *old, const TlValue *now);
   void *user;
   const TlValue *asked; /* whose type was asked for last */
} TlBlame;

typedef struct TlUndo { /* a global and what it was */
   TlGlobal *global;
   TlGlobal before;
} TlUndo;
typedef TL_VEC(TlUndo) TlJournal;

typedef struct TlLate {
   const TlDiag *diag;
   TlRange kernel;
} TlLate;

typedef struct TlDraw { /* rand(seed, offset) and its like */
   const TlFunc *func;
   TlRange range;
   const char *name;
   TlSv seed, offset;
   const TlBlock *block; /* that it is called in */
} TlDraw;

typedef struct TlSorted { /* sort(x), topk(x, k) */
   const TlFunc *func;
   TlRange range;
   const TlValue *tile;
   bool is_part; /* the first k only */
   bool falls;   /* the greatest come first */
} TlSorted;

typedef struct TlLoopMade { /* what a run-time loop makes of a variable with a known start value */
   const TlValue *value;    /* an argument of its body, or a result */
   const char *name;
   TlRange before, loop; /* where it was set before, and the loop */
} TlLoopMade;

typedef struct TlSemaImpl {
   TlSemaOptions options;
   TlDiags *diags; /* of the whole compilation */
   TlSourceModule *main;
   TL_VEC(TlSourceModule *) loaded;
   TlMap stdlib;      /* interned module name -> TlSourceModule */
   TlMap signatures;  /* const TlBuiltin * -> TlSignature */
   TlMap joined;      /* operators of bits -> whether they join an answer and a number */
   TlActivation *act; /* innermost */
   unsigned num_calls;
   const TlNode *endless; /* the function whose calls were nested too deep last */
   uint64_t seq;          /* assignment stamp */
   uint64_t region;       /* side of a run-time if or body of a run-time loop being evaluated */
   uint64_t num_regions;
   unsigned run_time_raises; /* `raise` under a condition of the run, of those that were reported */
   TlKernelInfo *kernels;
   TlMap entries;            /* name to the last TlSvFunc that may be a kernel */
   TlMap functions;          /* name to the last TlSvFunc of a def */
   TlMap scopes;             /* function node -> TlMap of its names' TlScope */
   const TlDiag *lost_error; /* the last report of a value that is not known, and that value */
   const TlLost *lost;
   TlRaised raised, handled; /* by the last error; by the handler that is running */
   uint64_t changes;         /* of objects and of variables that were bound before, in host code */
   uint64_t pure_since;  /* what was made before this stamp must not be changed; 0 = all may be */
   TlMap *reads;         /* counts of changes that code read of since then, or NULL */
   uint64_t max_steps;   /* of the statement being evaluated */
   uint64_t looked_at;   /* steps when the deadline was last looked at */
   uint64_t load_steps;  /* of files' statements so far */
   TlJournal *journal;   /* of globals that are bound, or NULL */
   bool environ_changed; /* by the program */
   unsigned tries;       /* bodies of `try` around the statement */
   TL_VEC(TlChange *) changed; /* while keep_changed, in order */
   unsigned keep_changed;
   uint64_t foreign_calls;            /* in host code: of what no file provides */
   uint64_t handlers_run;             /* of `except`, in host code */
   TL_VEC(const TlKernelInfo *) idle; /* kernels that were checked and have no effect */
   TL_VEC(TlLate) late; /* warnings of kernels' typed code, told where nothing else is wrong */
   bool has_guessed_types, has_guessed_numbers; /* the kernel whose typed code is looked at */
   bool compares_guesses; /* what is found is told only if it is found with other sizes as well */
   const char *short_signature; /* what to ask where its signature has fewer entries than there are
                                 * parameters; or NULL */
   unsigned num_kernels;
   uint16_t num_enums;                  /* enumerations whose members were made */
   int num_warps, num_stages, num_ctas; /* of the kernel being compiled */
   TlBlame blame;
   const char *called;           /* the builtin at work: its name in messages of the IR; or NULL */
   TL_VEC(TlLoopMade) loop_made; /* in all loops so far */
   TL_VEC(TlDraw) draws;         /* calls of random numbers, of all functions typed so far */
   TL_VEC(TlSorted) sorted;      /* the same of orders */
   /* generic_uses.c: names to calls `name[..](..)` and `name(..)`; NULL: not looked for */
   TlMap *launches, *plain_calls;
   TlMap *seen; /* offset of a name in the main file -> its last value; NULL: not kept */
} TlSemaImpl;

/* ---- module.c ---- */
TlSourceModule *tl_load_source(TlSema *s, TlAstModule *ast, const char *path, bool is_stdlib);
/* The file whose names `from m import *` gives, or NULL. */
const TlSourceModule *tl_star_source(TlSema *s, const TlSourceModule *source, const TlStar *star);
TlGlobal *tl_global_find(TlSema *s, TlSourceModule *source,
                         const char *name); /* NULL if unknown; not forced */
TlSv tl_global_value(TlSema *s, TlSourceModule *source, TlGlobal *g);
/* What an import of the main file gives for one of its names. */
TlSv tl_import_value(TlSema *s, const TlAstImport *import, const TlAstAlias *a);
/* tl's name of the type that the text names, "fp32", "float32", "half"; or NULL. */
const char *tl_type_named(const char *text);
const char *tl_nearest_module(const char *dotted);   /* of the language's, or NULL */
TlSv tl_module_value(TlSema *s, const char *dotted); /* of `import dotted` without files */
TlSv tl_imported_module(TlSema *s,
                        const char *dotted); /* with those that the main file may import */
/* Attribute of a module; false if it has none of that name (nothing reported). */
bool tl_module_attr(TlSema *s, const TlSvModule *m, const char *name, TlSv *out);
/* An import statement that binds at once into a frame (inside a function). */
bool tl_import_into(TlSema *s, TlFrame *f, const TlAstImport *import);
bool tl_is_gluon_decorator(const TlNode *decorator);
bool tl_is_jit_decorator(const TlNode *decorator);
bool tl_has_jit_decorator(const TlNodeList *decorators);
/* f = triton.jit(f), anywhere in the file: decorate.c. */
void tl_take_called_decorators(TlSema *s, const TlAstModule *module);
const char *tl_dotted_text(TlSema *s, const TlNode *node); /* "triton.jit", or NULL */
TlSvFunc *tl_func_value(TlSema *s, TlSourceModule *source, TlFrame *closure, const TlNode *node);
/* Runs fn with diagnostics put aside; *error receives the first error or NULL. */
TlSv tl_quietly(TlSema *s, TlSv (*fn)(TlSema *, void *), void *user, const TlDiag **error);
/* The value of an expression, in the same way. */
TlSv tl_quiet_value(TlSema *s, TlFrame *f, const TlNode *n, const TlDiag **error);
/* A global of the file: bound anew. */
void tl_global_set(TlSema *s, TlSourceModule *source, const char *name, TlSv value, TlRange range);
TlSv tl_sv_lost(TlSema *s, const char *why, TlRange place); /* OPAQUE */
/* The same of what is made of `from`; where that hangs on an undecided condition, so does this. */
TlSv tl_sv_lost_of(TlSema *s, const TlSv *from, const char *why, TlRange place);
/* What is lost by an error, in place of the value of `name` (or NULL). */
TlSv tl_sv_lost_by(TlSema *s, const TlDiag *error, const char *name);
const char *tl_import_name(TlSema *s, const TlAstImport *import, const TlAstAlias *a);

/* ---- inner_kernels.c ---- */
typedef TL_VEC(TlSvFunc *) TlInnerKernels;
/* Of a file that has run, in order of the text. */
void tl_find_inner_kernels(TlSema *s, TlSourceModule *source, TlInnerKernels *out);
/* Why a function of the file that is written as a kernel is none, or NULL. */
const char *tl_why_unlisted(TlSema *s, const char *name);

/* ---- module_run.c ---- */
void tl_run_module(TlSema *s, TlSourceModule *source);
/* All that may be changed and is reachable from the names in n: lost. */
void tl_lose_reachable(TlSema *s, TlFrame *f, const TlNode *n, const TlLost *lost);
void tl_lose_values(TlSema *s, const TlSv *values, size_t len, const TlLost *lost);
/* What the program states (TlSemaOptions.assume) of the expression of this text. */
bool tl_assumed(TlSema *s, const char *text, TlSv *out);
TlFrame *tl_module_frame(TlSema *s, TlSourceModule *source);
const char *tl_node_text(TlSema *s, const TlNode *node); /* source text of a node */
void tl_report_no_kernel(TlSema *s);                     /* launch_check.c */
/* Is there a value in the configurations for a name that is no parameter, while `param` has none?
 * It is reported. */
bool tl_misnamed_value(TlSema *s, const TlNode *autotune, const TlSvFunc *fn, const char *param);
/* Are its @autotune and @heuristics right?  Else it is reported. */
bool tl_check_tuning(TlSema *s, const TlSvFunc *fn);
const char *tl_range_text(TlSema *s, TlRange r);
const char *tl_parameter_names(TlSema *s, const TlNodeList *params); /* "a, b" */

/* ---- host_scope.c ---- */
/* Names that the statements bind, to TlScope. */
void tl_bound_names(TlSema *s, const TlNodeList *stmts, TlMap *names);
const TlMap *tl_scopes_of(TlSema *s, const TlNode *function);
bool tl_is_generator(TlSema *s, const TlNode *function);

/* ---- watch.c ---- */
void tl_see(TlSema *s, TlRange range, const TlSv *v); /* for tl_sema_seen */

/* ---- scope.c ---- */
bool tl_is_compared_statement(TlSema *s, TlRange name); /* w == x, a line of its own */
void tl_frame_del(TlSema *s, TlFrame *f, const char *name, TlRange range);
TlFrame *tl_frame_new(TlSema *s, TlFrame *parent, TlSourceModule *source, TlActivation *act);
TlVar *tl_frame_var(TlFrame *f, const char *name); /* in this frame only; NULL if never set */
void tl_frame_set(TlSema *s, TlFrame *f, const char *name, TlSv value, TlRange range);
bool tl_counts_down(const TlValue *step);
TlValue *tl_last_index(TlSema *s, TlValue *const bound[3]);
void tl_report_field(TlSema *s, TlFrame *f, const TlSv *self, const TlNode *target);
/* The first letter of the line that the range begins in, and at *begin that of the range. */
const char *tl_line_of(TlSema *s, TlRange range, const char **begin);
bool tl_refuse_range(TlSema *s, TlRange range);                         /* E0223, false */
TlSv tl_lookup(TlSema *s, TlFrame *f, const char *name, TlRange range); /* reports unknown names */
bool tl_lookup_quiet(TlSema *s, TlFrame *f, const char *name, TlSv *out);
TlVars tl_vars_copy(TlSema *s, const TlVars *vars);
const char *tl_suggest(TlSema *s, TlFrame *f, const char *name); /* NULL if nothing is close */
/* The word that a parameter takes for `given`, itself included: ieee for fp32.  NULL: it takes none
 * such.  (builtin_args.c) */
const char *tl_word_of(const char *param, const char *given);
/* What to write for a name of numpy, torch or CUDA, or of libdevice; NULL for all others. */
const char *tl_other_name(TlSema *s, const char *name);
/* What to write for a function of another library's module, jax.lax.fori_loop: `chain` is what
 * stands behind the module's name, which is_known says to be one.  NULL: nothing is known. */
const char *tl_name_of_library(TlSema *s, const char *chain, bool is_known);
/* Nearest name of the namespaces (and dtypes for TL), NULL if nothing is close. */
const char *tl_suggest_builtin(TlSema *s, uint32_t namespaces, const char *name);

/* ---- eval.c ---- */
TlSv tl_eval_expr(TlSema *s, TlFrame *f, const TlNode *n);
TlSv tl_attribute(TlSema *s, TlFrame *f, const TlSv *self, const char *name, TlRange range);
/* Of a name that a file of the user's lacks: the near one and where it is bound, or what it has. */
void tl_help_own_module(TlSema *s, const TlSourceModule *source, const char *name);
typedef enum TlHas {
   TL_HAS_NOT, /* an AttributeError of a property is one, as in Python */
   TL_HAS_IT,
   TL_HAS_UNKNOWN, /* nothing was reported */
   TL_HAS_FAILED,  /* an error was */
} TlHas;
/* The attribute if there is one; a property runs once. */
TlHas tl_try_attribute(TlSema *s, const TlSv *self, const char *name, TlRange range, TlSv *out);
/* Binary operator on any two values; is_host: Python's meaning on known values. */
TlSv tl_apply_binary(TlSema *s, TlAstOp op, const TlSv *a, const TlSv *b, TlRange range);
TlSv tl_apply_compare(TlSema *s, TlAstOp op, const TlSv *a, const TlSv *b, TlRange range);
TlSv tl_subscript(TlSema *s, const TlSv *self, const TlSv *indices, unsigned n, bool is_tuple,
                  TlRange range);
/* Items of an iterable known at compile time (tuple, list, dict keys, string, range). */
bool tl_iterate(TlSema *s, const TlSv *v, TlRange range, TlSv **items, size_t *len);
bool tl_assign(TlSema *s, TlFrame *f, const TlNode *target, TlSv value);
/* A target whose parts are evaluated: x, x.name, x[key]. */
typedef struct TlPlace {
   const TlNode *node;
   TlSv self, key;
} TlPlace;
bool tl_place_of(TlSema *s, TlFrame *f, const TlNode *target, TlPlace *out);
TlSv tl_place_value(TlSema *s, TlFrame *f, const TlPlace *p);
bool tl_place_set(TlSema *s, TlFrame *f, const TlPlace *p, TlSv value);
/* Truth of a condition: *known is false when it is a run-time value; false after an error. */
bool tl_truth(TlSema *s, const TlSv *v, TlRange range, bool *known, bool *truth);
TlSv tl_eval_test(TlSema *s, TlFrame *f, const TlNode *test); /* what is a condition; or poison */
TlSv tl_make_tuple(TlSema *s, const TlSv *items, size_t len, bool is_list);
bool tl_make_change(TlSema *s, const TlSv *v, TlRange range); /* counts it; false after an error */
TlChange *tl_change_of(const TlSv *v);                        /* NULL: it cannot be changed */
TlSv tl_make_str(TlSema *s, const char *text, size_t len);
TlSv tl_eval_source(TlSema *s, TlFrame *f, const char *name, const char *text); /* one expression */
bool tl_step(TlSema *s, TlRange range); /* counts; false (with a report) past the limit */
bool tl_is_host(const TlFrame *f);
bool tl_in_host(const TlSema *s);      /* the innermost function is host code */
TlSv tl_strengthen(TlSema *s, TlSv v); /* what a plain assignment does to a constant */
TlSv tl_weaken(TlSema *s, TlSv v);     /* what `: constexpr` does */

/* ---- consteval.c ---- */
bool tl_is_known(const TlSv *v); /* no run-time part anywhere */
bool tl_const_equal(TlSema *s, const TlSv *a, const TlSv *b);
/* Of items of a sequence: one object is equal to itself, whatever its == says. */
bool tl_const_equal_item(TlSema *s, const TlSv *a, const TlSv *b);
bool tl_const_same(TlSema *s, const TlSv *a, const TlSv *b); /* equal, also in strength and dtype */
const char *tl_long_text(TlSema *s, const TlSv *v);          /* decimal, of a LONG */
TlSv tl_const_binary(TlSema *s, TlAstOp op, const TlSv *a, const TlSv *b, TlRange range);
TlSv tl_const_unary(TlSema *s, TlAstOp op, const TlSv *a, TlRange range);
TlSv tl_const_compare(TlSema *s, TlAstOp op, const TlSv *a, const TlSv *b, TlRange range);
bool tl_const_truth(const TlSv *v); /* of a known value, as Python's bool() */
int tl_const_order(TlSema *s, const TlSv *a, const TlSv *b, TlRange range, bool *ok); /* <0 0 >0 */
double tl_known_double(const TlSv *v);                                           /* of a number */
const char *tl_find_text(TlSema *s, const char *p, const char *end, TlText sub); /* or NULL */
/* The place of the key in a dict; its length: there is none. */
typedef struct TlKeyIndex TlKeyIndex;
size_t tl_key_find(TlSema *s, TlSvFields *d, const TlSv *key);
void tl_keys_removed(TlSvFields *d); /* after keys were taken out */
TlSv tl_dict_get(TlSema *s, const TlSv *dict, const TlSv *key, bool *found);
void tl_dict_set(TlSema *s, const TlSv *dict, const TlSv *key, TlSv value);
void tl_dict_del(TlSema *s, const TlSv *dict, const TlSv *key);
TlSv tl_dict_new(TlSema *s);
bool tl_object_get(const TlSv *object, const char *name, TlSv *out);
void tl_object_set(TlSema *s, const TlSv *object, const char *name, TlSv value);
TlSv tl_object_new(TlSema *s, const char *type_name);
/* packaging.version.Version: compared by its key. */
#define TL_VERSION_TYPE "Version"
#define TL_VERSION_KEY "_key"

/* ---- describe.c ---- */
/* Python's repr() or str(); false after an error: deeper or longer than is worked out. */
bool tl_sv_repr(TlSema *s, const TlSv *v, bool as_str, TlRange range, TlSb *out);
const char *tl_sv_constant_text(TlSema *s, const TlSv *v);
void tl_report_opaque(TlSema *s, const TlSv *v, TlRange range);

/* ---- stmt.c, stmt_if.c, stmt_loop.c, stmt_match.c ---- */
/* A context manager after whose block the program goes on where that has raised. */
bool tl_may_end_errors(TlSema *s, TlFrame *f, const TlNode *manager);
TlFlow tl_stmt_block(TlSema *s, TlFrame *f, const TlNodeList *stmts, size_t first,
                     const TlCont *up);
TlFlow tl_stmt_rest(TlSema *s, TlFrame *f, const TlCont *rest);
TlFlow tl_stmt_if(TlSema *s, TlFrame *f, const TlAstIf *n, const TlCont *rest);
TlFlow tl_stmt_for(TlSema *s, TlFrame *f, const TlAstFor *n, const TlCont *rest);
TlFlow tl_stmt_while(TlSema *s, TlFrame *f, const TlAstWhile *n, const TlCont *rest);
TlFlow tl_stmt_match(TlSema *s, TlFrame *f, const TlAstMatch *n, const TlCont *rest);
/* The body of the case that fits, its names bound; NULL: none does.  False after an error. */
bool tl_match_case(TlSema *s, TlFrame *f, const TlAstMatch *n, const TlNodeList **body);
bool tl_has_walrus(const TlNode *n); /* does it bind a variable by `:=`? */
TlSv tl_eval_runtime_conditional(TlSema *s, TlFrame *f, const TlAstConditional *n,
                                 const TlSv *test);
void tl_assigned_names(const TlNodeList *stmts, TlMap *names);
/* After an error: nothing is known of what the statements would have assigned. */
void tl_poison_assigned(TlSema *s, TlFrame *f, const TlNodeList *stmts, TlRange range);
/* Enters a region of run-time code; returns the one to go back to. */
uint64_t tl_enter_run_time(TlSema *s);
/* A list, dict or object may be changed here; else reports (compiled code only). */
bool tl_may_change(TlSema *s, TlFrame *f, const TlSv *v, TlRange range);
/* Gives op result values of these types (it was built without). */
void tl_set_results(TlSema *s, TlOp *op, const TlType *const *types, unsigned num);
TlBuilder tl_block_builder(TlSema *s, TlBlock *block); /* at its end, of the call followed now */
void tl_yield(TlSema *s, TlBlock *block, TlValue *const *values, unsigned num);
typedef struct TlFlat {
   TlValue **data;
   size_t len, cap;
} TlFlat;
/* Flattens run-time parts of v in order; constants that may become run-time are built (types by
 * tl_sema_value).  false: some part cannot be a run-time value. */
bool tl_flatten(TlSema *s, const TlSv *v, TlRange range, TlFlat *out);
bool tl_has_runtime_form(const TlSv *v); /* flattening gives at least one value */
/* The same structure over new values, which are taken from *next on. */
TlSv tl_unflatten(TlSema *s, const TlSv *like, TlValue *const **next);

/* ---- call.c, call_builtin.c ---- */
TlSv tl_invoke(TlSema *s, TlFrame *f, const TlSv *fn, const TlArgs *args, TlRange range);
TlSv tl_invoke_func(TlSema *s, TlFrame *f, const TlSvFunc *fn, const TlArgs *args, TlRange range);
/* Where an error was reported of an argument, what load and store access is an address all the
 * same: a typing without types learns it. */
void tl_blame_access(TlSema *s, const TlSv *fn, const TlArgs *args);
TlSv tl_invoke_builtin(TlSema *s, TlFrame *f, const TlSv *fn, const TlArgs *args, TlRange range);
TlSv tl_eval_call(TlSema *s, TlFrame *f, const TlAstCall *call);
bool tl_eval_args(TlSema *s, TlFrame *f, const TlNodeList *nodes, TlArgs *out);
TlSv tl_invoke_named(TlSema *s, uint32_t ns, const char *name, const TlSv *args, unsigned n,
                     TlRange range);

/* ---- host_except.c ---- */
typedef struct TlQuiet {
   TlDiags *saved, diags;
} TlQuiet;
/* Between the two, what is reported goes to q; the end gives the first error or NULL. */
void tl_quiet_begin(TlSema *s, TlQuiet *q);
const TlDiag *tl_quiet_end(TlSema *s, TlQuiet *q);
/* The error just reported is this exception of Python, by all its rules. */
void tl_raise_as(TlSema *s, const char *name);
bool tl_is_exception(const char *name);
/* The error that a quiet part ended with is this exception: it is over.  Else it is reported. */
bool tl_forget_raised(TlSema *s, const TlDiag *error, const char *exception);
void tl_host_raise(TlSema *s, TlFrame *f, const TlAstRaise *n);
TlFlow tl_host_try(TlSema *s, TlFrame *f, const TlAstTry *n);

/* ---- host_iter.c ---- */
typedef struct TlYields {
   TL_VEC(TlSv) items;
} TlYields;
typedef struct TlPure {
   uint64_t since;
   unsigned errors;
   TlMap reads, *outer;
} TlPure;
TlSv tl_make_iter(TlSema *s, const char *type, TlSv *items, size_t len);
void tl_iter_hangs_on(TlSema *s, TlSvIter *it, const uint64_t *count);
void tl_iter_reads(TlSema *s, TlSvIter *it, const TlSv *from);
bool tl_iter_items(TlSema *s, TlSvIter *it, TlRange range, TlSv **items, size_t *len);
/* false at the end, or after an error. */
bool tl_iter_next(TlSema *s, TlSvIter *it, TlRange range, TlSv *out);
void tl_iter_unsure(const TlSv *v); /* not all of it was taken */
bool tl_iterate_any_order(TlSema *s, const TlSv *v, TlRange range, TlSv **items, size_t *len);
/* Over what is iterated for each step, so that the step may change it. */
typedef struct TlCursor {
   TlSv iter;
   TlRange range;
   size_t at;
} TlCursor;
bool tl_cursor_begin(TlSema *s, TlCursor *c, const TlSv *v, TlRange range);
bool tl_cursor_next(TlSema *s, TlCursor *c, TlSv *out); /* false at the end or after an error */
/* Between the two runs code whose time Python chooses later: it may change only what it made. */
void tl_pure_begin(TlSema *s, TlPure *p);
TlSv tl_pure_end(TlSema *s, TlPure *p, TlSv iter);
bool tl_is_pure_for(TlSema *s, uint64_t born, TlRange range);
void tl_pure_read(TlSema *s, uint64_t born, const uint64_t *count);
void tl_pure_read_value(TlSema *s, const TlSv *v);

/* ---- host_cache.c: functions that keep their results ---- */
enum { TL_KEEP_USUAL = 128 }; /* results, of lru_cache; the longest unused is dropped for another */
#define TL_KEEP_ALL UINT32_MAX
TlSv tl_cached_function(TlSema *s, const TlSv *fn, unsigned most);
TlSv tl_invoke_cached(TlSema *s, TlFrame *f, const TlSvFunc *fn, const TlArgs *args, TlRange range);

/* ---- host_set.c ---- */
TlSv tl_make_set(TlSema *s, const TlSv *items, size_t len, bool is_mutable);
bool tl_set_has(TlSema *s, const TlSvTuple *t, const TlSv *v);
bool tl_set_add(TlSema *s, TlSvTuple *t, const TlSv *v);
bool tl_set_within(TlSema *s, const TlSvTuple *a, const TlSvTuple *b);
bool tl_set_binary(TlSema *s, TlAstOp op, const TlSv *a, const TlSv *b, TlSv *out);

/* ---- host*.c ---- */
/* Of a kind whose every operation is known here, so that an error is Python's. */
bool tl_is_plain(const TlSv *v);
const TlSvFunc *tl_class_of(const TlSv *v); /* of an object; NULL if it is none, or not known */
bool tl_is_plain_object(TlSema *s, const TlSv *v);
/* For certain, Python's value has no attribute of this name. */
bool tl_lacks_attribute(TlSema *s, const TlSv *v, const char *name);
bool tl_has_method(TlSema *s, const TlSv *v, const char *name);
bool tl_report_lost(TlSema *s, const TlSv *v, TlRange range); /* true: reported */
void tl_list_push(TlSema *s, TlSvTuple *t, TlSv v);
/* A function found in the class of self: bound to it, or a property's value. */
bool tl_bind_method(TlSema *s, const TlSv *self, TlRange range, TlSv *out);
/* The same of an attribute asked of the class itself. */
bool tl_bind_class_method(TlSema *s, const TlSv *cls, TlSv *out);
bool tl_host_del(TlSema *s, TlFrame *f, const TlNode *target);
bool tl_host_set_slice(TlSema *s, const TlSv *list, const TlSv *slice, const TlSv *value,
                       TlRange range);
/* x += v where it changes x itself; false: it is x = x + v. */
bool tl_host_in_place(TlSema *s, TlFrame *f, TlAstOp op, const TlSv *self, const TlSv *value,
                      TlRange range);
bool tl_check_hashable(TlSema *s, const TlSv *v, TlRange range);
bool tl_host_truth(TlSema *s, const TlSv *v, TlRange range, bool *truth);
bool tl_host_is(TlSema *s, const TlSv *a, const TlSv *b, TlRange range, bool *same);
void tl_define_class(TlSema *s, TlSvFunc *cls);
/* False after an error: the class refuses this assignment, or may do with it what it likes. */
bool tl_class_lets_assign(TlSema *s, const TlSv *self, const char *name, TlRange range);
/* The values of a host function's defaults and of its decorators' arguments, at its definition. */
TlSv tl_define_function(TlSema *s, TlFrame *f, TlSvFunc *fn);
/* What decorators make of a host function or class. */
TlSv tl_apply_decorators(TlSema *s, TlSvFunc *fn, const TlNodeList *d, const TlSv *values);
/* The values of decorators, which Python works out before defaults and the body of a class; NULL
 * after an error. */
TlSv *tl_eval_decorators(TlSema *s, TlFrame *f, const TlSvFunc *fn, const TlNodeList *d);
/* The value of an argument of a decorator, as it was where fn was defined. */
TlSv tl_decorator_value(TlSema *s, const TlSvFunc *fn, const TlNode *n, const TlDiag **error);
bool tl_host_builtin(TlSema *s, const char *name, TlSv *out); /* Python: enumerate, zip .. */
bool tl_host_environment(TlSema *s, const TlSv *name, TlRange range, TlSv *out);
bool tl_device_has_name(TlSema *s, TlText part, bool *known);
bool tl_host_platform(const char *call,
                      bool *out); /* false: it is no question about the platform */
bool tl_host_module_has(const char *dotted, bool *has); /* false: not known */
/* A function of Python of which nothing is known where an argument is not known. */
bool tl_host_needs_known(const TlBuiltin *row);
bool tl_host_module_attr(TlSema *s, const char *module, const char *name, TlSv *out);
bool tl_host_method(TlSema *s, const TlSv *self, const char *name, TlSv *out);
/* A module of host code that holds functions for kernels, too. */
bool tl_host_may_have_source(const char *name);
bool tl_is_torch_dtype(const TlSv *v);
bool tl_is_host_module(const char *name); /* known by name to be host code: torch, numpy .. */
bool tl_is_constexpr_annotation(const TlNode *annotation);
TlSv tl_instantiate(TlSema *s, TlFrame *f, const TlSvFunc *cls, const TlArgs *args, TlRange range);
bool tl_class_attr(TlSema *s, const TlSvFunc *cls, const char *name, TlSv *out);
/* A field of a class is changed, which is not followed: its value is not known from here on.  Of
 * what is no class nothing happens. */
void tl_class_lose(TlSema *s, const TlSv *cls, const char *name, TlRange range);
bool tl_has_base(TlSema *s, const TlAstClass *c, const char *name); /* written so */

/* ---- host_enum.c ---- */
TlEnumKind tl_enum_kind(TlSema *s, TlFrame *f, const TlAstClass *c);
bool tl_is_enum(TlSema *s, const TlSv *v);
bool tl_is_member(const TlSv *v); /* an object; members of IntEnum are numbers */
/* NAME = auto(): its number; all other statements are left alone. */
void tl_number_member(TlSema *s, TlFrame *f, const TlNode *n);
void tl_make_members(TlSema *s, TlSvFunc *cls); /* of what its body has bound */
TlSv tl_member_of_value(TlSema *s, const TlSvFunc *cls, const TlArgs *args, TlRange range);
TlSv tl_member_of_name(TlSema *s, const TlSvFunc *cls, const TlSv *name, TlRange range);
bool tl_members(TlSema *s, const TlSvFunc *cls, TlRange range, TlSv **items, size_t *len);

/* ---- host_fields.c ---- */
void tl_describe_class(TlSema *s, TlSvFunc *cls); /* sets its info */
const TlClassInfo *tl_class_info(TlSema *s, const TlSvFunc *cls);

/* Launch defaults and meta-parameters that the decorators give. */
typedef struct TlMeta {
   int num_warps, num_stages, num_ctas; /* 0 = not said */
   const char *grid;                    /* text, or NULL */
   TlSv config;                         /* DICT of the first autotune configuration, or NONE */
   int config_warps, config_stages;     /* that it names; 0 = none */
   TL_VEC(const TlNode *) heuristics;   /* arguments of @heuristics */
   const TlNode *autotune;              /* the decorator, or NULL */
} TlMeta;
/* Reports options that a decorator does not have. */
void tl_check_decorators(TlSema *s, const TlSvFunc *fn);
/* `autotune` of another package, which takes what it likes. */
bool tl_is_of_other_package(TlSema *s, const TlSvFunc *fn, const TlNode *decorator);
/* Does an opening parenthesis stand before it?  (lint.c) */
bool tl_is_parenthesized(TlSema *s, const TlNode *n);
/* b & 0xF - 8: what binds tighter than it reads.  (lint_operators.c) */
void tl_lint_masked_bits(TlSema *s, const TlAstBinary *b);
/* An operator of bits is evaluated, of these operands; and a comparison beside one. */
void tl_note_joined(TlSema *s, const TlAstBinary *n, const TlSv *a, const TlSv *b);
void tl_lint_joined(TlSema *s, const TlAstCompare *c);
bool tl_has_parentheses(TlSema *s, const TlNode *n);
/* Is it a call of one of the functions, with or without a module before it?  (lint.c) */
bool tl_is_call_of(const TlNode *n, const char *names);
/* What a statement's value is called, when computing it does nothing; NULL else.  (lint.c) */
const char *tl_idle_value(const TlNode *value);
/* A statement that computes a value (`what`) and drops it.  (lint.c) */
void tl_report_idle(TlSema *s, const TlNode *value, const char *what);
void tl_read_decorators(TlSema *s, const TlSvFunc *fn, TlMeta *out);
const char *tl_decorator_name(const TlNode *decorator); /* last component: "autotune" */
/* Its argument by keyword or position (-1: keyword only); NULL when it is not given. */
const TlNode *tl_decorator_argument(const TlNode *decorator, const char *keyword, int position);

/* ---- help.c ---- */
void tl_report_warps(TlSema *s, TlRange range, int64_t warps); /* that no block has (E0404) */

/* ---- grid.c ---- */
/* The grid in the launch record's language, "(cdiv(n, BLOCK),)"; NULL after a located error. */
const char *tl_grid_text(TlSema *s, const TlSvFunc *fn, const TlNode *node);
const char *tl_grid_from_text(TlSema *s, const TlSvFunc *fn, const char *text);

/* ---- tuning.c ---- */
/* Marks the parameters whose launch values the kernel's heuristics may look at. */
void tl_heuristic_reads(TlSema *s, const TlSvFunc *fn, bool *read);
/* What is known of the launch's arguments, by name: given values and defines. */
TlSv tl_known_values(TlSema *s, const TlSpecialization *spec);
/* What heuristics see besides: the defaults of constexprs that nothing else gives a value. */
void tl_add_defaults(TlSema *s, const TlSvFunc *fn, TlSv *known);
TlSv tl_pointer_argument(TlSema *s, const TlType *elem); /* present, its dtype known */
/* Sets no_specialize and no_align of the parameters that the jit decorator names. */
void tl_read_no_specialize(TlSema *s, const TlSvFunc *fn, TlKernelInfo *k);

/* ---- spec*.c ---- */
/* descriptor.c: tensor descriptors in signatures and annotations. */
bool tl_is_descriptor_text(const char *text);
/* False after an error. */
bool tl_read_descriptor(TlSema *s, const char *text, TlRange range, TlSpecArg *out);
unsigned tl_descriptor_params(const TlSpecArg *a); /* that an argument is in the kernel */
/* Writes that many parameters from `out` on. */
TlSv tl_add_descriptor(TlSema *s, TlFunc *f, const TlAstFunction *ast, const char *name,
                       const TlSpecArg *a, TlParam *out);
/* A type in ahead-of-time notation ("*const fp16", "i32"); NULL if it is none. */
const TlType *tl_parse_type_text(TlSema *s, const char *text, size_t len);
/* A number, True, False, None, a dtype, else a string. */
TlSv tl_read_value(TlSema *s, const char *text, TlRange range);
/* A function of the main file, the last of that name; NULL if there is none. */
const TlSvFunc *tl_function_of(TlSema *s, const char *name);
/* By name, or the only one (NULL); NULL after an error. */
const TlSvFunc *tl_choose_kernel(TlSema *s, const char *name);
bool tl_returns_value(const TlNode *function); /* by some `return value` of its own */

#endif
