/* The tile IR: one data structure, three checked states.
 *
 * A TlFunc is one kernel.  Its body is a region of one block; structured operations (for, while,
 * if, reduce, ...) own regions of one block each.  A value is an operation's result or a block
 * argument, defined once; uses are linked so that replacing is cheap.  All memory comes from the
 * module's arena.
 *
 * TYPED    tiles have shape and dtype
 * LAID     every tile has a layout, shared memory is explicit
 * LOWERED  registers of one thread and machine operations */
#ifndef TL_IR_IR_H
#define TL_IR_IR_H

#include "base/diag.h"
#include "base/map.h"
#include "base/source.h"
#include "base/vec.h"
#include "ir/types.h"

typedef struct TlValue TlValue;
typedef struct TlOp TlOp;
typedef struct TlBlock TlBlock;
typedef struct TlRegion TlRegion;
typedef struct TlFunc TlFunc;
typedef struct TlModule TlModule;

/* ---- operations as data: from ops.def ---- */
typedef enum TlOpcode {
#define TL_OP(id, ...) TL_OP_##id,
#include "ir/ops.def"
   TL_OP_COUNT
} TlOpcode;

enum { TL_ANY = -1 };
/* What ops.def says of an operation beside its rules; its top tells the meanings. */
#define TL_TRAITS(X)                                                                               \
   X(TYPED) X(LAID) X(LOWERED) X(ELTWISE) X(PURE) X(READ) X(WRITE) X(SYNC) X(TERM) X(COMMUTES)     \
   X(CONTROL) X(ACCESS) X(ALONG_AXIS) X(OWN_LAYOUT) X(SAME_ELEMENTS) X(COSTLY) X(EXACT) X(HOST)    \
   X(HOST_INT) X(HOST_BITS) X(PARTIAL)
enum {
#define X(id) TL_TRAIT_BIT_##id,
   TL_TRAITS(X)
#undef X
      TL_TRAIT_BITS
};
enum {
   TL_TRAIT_READS_SHARED = 1 << TL_TRAIT_BITS,
   TL_TRAIT_WRITES_SHARED = 2 << TL_TRAIT_BITS,
   TL_TRAIT_PRED = 4 << TL_TRAIT_BITS, /* times the operand's number, 1 to 3 */
   TL_TRAIT_PRED_MASK = 3 * TL_TRAIT_PRED,
#define X(id) TL_TRAIT_##id = 1 << TL_TRAIT_BIT_##id,
   TL_TRAITS(X)
#undef X
};

typedef enum TlAttrKey {
#define TL_ATTR_KEY(id, ...) TL_ATTR_##id,
#include "ir/attrs.def"
   TL_ATTR_COUNT
} TlAttrKey;

typedef enum TlAttrKind {
#define TL_ATTR_KIND(kind) TL_AK_##kind,
#include "ir/attrs.def"
   TL_AK_COUNT
} TlAttrKind;

/* Words of the enumerated attributes, TL_RMW_ADD, TL_CACHE_CG, ...: each kind counts from 0. */
enum {
#define TL_ATTR_KIND(kind)           TL_BEFORE_##kind = -1,
#define TL_ATTR_WORD(kind, id, text) TL_##kind##_##id,
#include "ir/attrs.def"
};

typedef struct TlInts {
   const int64_t *data;
   size_t len;
} TlInts;

/* Values of the record attributes: TlExtent, TlDesc, TlReps. */
#define TL_ATTR_RECORD(kind, type)      typedef struct type {
#define TL_ATTR_FIELD(kind, field, ...) int64_t field;
#define TL_ATTR_END(type)               } type;
#include "ir/attrs.def"

typedef union TlAttr {
   int64_t i;          /* INT, BOOL, enumerations */
   uint64_t bits;      /* BITS */
   const char *s;      /* STR: interned or arena text; NULL = absent */
   const TlInts *ints; /* INTS, the fields of a record; NULL = absent */
   const TlLinear *layout;
} TlAttr;

enum { TL_MAX_OP_ATTRS = 8 };

typedef struct TlOpInfo {
   const char *text;
   int min_args, max_args; /* TL_ANY = no limit */
   int num_results;        /* TL_ANY = decided by the operation */
   uint32_t traits;
   const char *how; /* the LLVM intrinsic that the emit rule calls */
   uint8_t num_attrs;
   struct {
      TlAttrKey key;
      int64_t initial;
   } attr[TL_MAX_OP_ATTRS];
} TlOpInfo;
extern const TlOpInfo tl_op_info[TL_OP_COUNT];

typedef struct TlAttrInfo {
   const char *text;
   TlAttrKind kind;
   bool is_always_shown; /* in the text form, also at its default */
} TlAttrInfo;
extern const TlAttrInfo tl_attr_info[TL_ATTR_COUNT];
const char *tl_attr_word(TlAttrKind kind, int64_t value); /* NULL if out of range */
bool tl_attr_word_value(TlAttrKind kind, const char *word, size_t len, int64_t *value);

typedef struct TlAttrField {
   TlAttrKind kind;
   const char *text;
   bool is_always_shown;
   int64_t initial;
} TlAttrField;
const TlAttrField *tl_attr_fields(TlAttrKind kind, unsigned *num); /* *num 0: not a record */
bool tl_attr_is_ints(TlAttrKind kind);                             /* INTS or a record */
TlAttr tl_attr_default(TlAttrKey key, int64_t initial);

/* ---- values, operations, blocks ---- */
typedef struct TlUse {
   TlValue *value;
   TlOp *user;
   struct TlUse *next; /* next use of the same value */
   struct TlUse **link;
} TlUse;

struct TlValue {
   const TlType *type;
   TlOp *def;      /* NULL for a block argument */
   TlBlock *block; /* block argument: its block; else NULL */
   uint32_t index; /* result or argument number */
   uint32_t id;    /* unique in the function, stable; used by side tables */
   TlUse *uses;
   const char *name; /* source name for the text form, or NULL */
};

struct TlOp {
   TlOpcode opcode;
   uint32_t num_args, num_results, num_regions;
   TlUse *args;                   /* array; args[i].value */
   TlValue *results;              /* array */
   TlRegion **regions;            /* array */
   TlAttr attrs[TL_MAX_OP_ATTRS]; /* in the order of the op's TL_OP_ATTR rows: tl_attr_at */
   TlRange range;                 /* source text that asked for it */
   TlBlock *block;
   TlOp *prev, *next;
};

struct TlBlock {
   TlRegion *region;
   TlValue **args;
   uint32_t num_args, cap_args;
   TlOp *first, *last;
};

struct TlRegion {
   TlOp *parent; /* NULL for the function's body */
   TlFunc *func;
   TlBlock *block; /* exactly one */
};

typedef enum TlState { TL_STATE_TYPED, TL_STATE_LAID, TL_STATE_LOWERED } TlState;

/* A kernel parameter.  Specialised-away parameters (constexpr, == 1) keep their entry with
 * is_runtime false, so that the launcher knows the source's parameter list. */
typedef struct TlParam {
   const char *name;
   bool is_runtime;        /* has a block argument and a kernel argument */
   const TlType *type;     /* scalar or pointer, also of a folded parameter; NULL for a constexpr */
   uint32_t divisibility;  /* of the value, or of the address in bytes; 1 = nothing known */
   const char *constant;   /* text of the compile-time value when not run-time, else NULL */
   const char *descriptor; /* "tensordesc<fp16[128,64]>": the pointer of one; the parameters after
                              it are its sizes, then its strides but the last.  Else NULL */
} TlParam;

/* A load from an argument that was taken out as nothing used what it gave. */
typedef struct TlUnused {
   uint32_t arg; /* of the body */
   TlRange range;
   const char *name; /* of what it gave, or NULL */
   struct TlUnused *next;
} TlUnused;

struct TlFunc {
   TlModule *module;
   const char *name;
   TlState state;
   TlParam *params;
   uint32_t num_params;
   TlRegion *body; /* block args = run-time parameters in order */
   uint32_t num_warps, num_stages, num_ctas;
   uint32_t extra_warps; /* beyond num_warps: they run roles of their own */
   uint32_t blocks;      /* of a multiprocessor, that a pass made room for; 0: as many as may be */
   uint32_t cluster;     /* blocks that are launched together; 0: each by itself */
   const char *grid;     /* source text of the kernel's grid= expression, or NULL */
   const char *short_when; /* true of launches that would be faster with blocks that run many
                              programs, as an expression for them; NULL: none, or it has them */
   const char *target;     /* "sm_90a" from LAID on, else NULL */
   uint32_t shared_bytes;  /* dynamic shared memory, LOWERED */
   bool needs_warps;       /* the source computes with num_warps: it is no hint */
   bool strict_fp;         /* IEEE mode: no contraction, no approximate functions */
   TlRange range;
   TlUnused *unused; /* the first comes first, of those that one pass took out */
   uint32_t next_value_id;
   TlFunc *prev, *next; /* in the module's list */
};

enum { TL_MAX_WARPS = 32 }; /* of a block, on every target: 1,024 threads */

/* Warps of a block: those that tiles are spread over, and those with other roles. */
static inline uint32_t
tl_total_warps(const TlFunc *f)
{
   return f->num_warps + f->extra_warps;
}

struct TlModule {
   TlArena *arena;
   TlTypes *types;
   TlStrings *strings;
   TlDiags *diags;
   TlFunc *first_func, *last_func; /* a list; both NULL without a function */
};

TlModule *tl_module_new(TlArena *arena, TlTypes *types, TlStrings *strings, TlDiags *diags);
/* A function with an empty body block (no arguments yet); appended to the module. */
TlFunc *tl_func_new(TlModule *m, const char *name, TlRange range);
TlFunc *tl_func_clone(TlFunc *f);      /* deep copy, appended to the same module */
void tl_func_remove_last(TlModule *m); /* takes the function made last out of the module's list */
TlValue *tl_block_add_arg(TlBlock *block, const TlType *type, const char *name);
void tl_block_remove_arg(TlBlock *block, unsigned i); /* unused; later arguments move down */

static inline TlValue *
tl_arg(const TlOp *op, unsigned i)
{
   return op->args[i].value;
}
static inline TlValue *
tl_result(const TlOp *op, unsigned i)
{
   return &op->results[i];
}
static inline const TlOpInfo *
tl_info(const TlOp *op)
{
   return &tl_op_info[op->opcode];
}
/* As sources call it: an atomic by what it does, "atomic_add"; else the operation's own name. */
const char *tl_source_name(const TlOp *op);
static inline bool
tl_has_trait(const TlOp *op, uint32_t trait)
{
   return (tl_op_info[op->opcode].traits & trait) != 0;
}
/* The mask of a tile operation or the predicate of a machine operation: which operand; the value,
 * NULL when there is none. */
static inline unsigned
tl_pred_at(const TlOp *op)
{
   return (tl_info(op)->traits & TL_TRAIT_PRED_MASK) / TL_TRAIT_PRED;
}
static inline TlValue *
tl_pred(const TlOp *op)
{
   unsigned i = tl_pred_at(op);
   return i && i < op->num_args ? tl_arg(op, i) : NULL;
}
enum { TL_MIN_PART_BYTES = 4 }; /* of an access that is made in part */
/* Is its predicate a number of bytes of each access? */
static inline bool
tl_is_partial(const TlOp *op)
{
   const TlValue *pred = tl_has_trait(op, TL_TRAIT_PARTIAL) ? tl_pred(op) : NULL;
   return pred && tl_type_elem(pred->type)->dtype == TL_I32;
}
TlFunc *tl_op_func(const TlOp *op);
TlBlock *tl_value_block(const TlValue *v); /* of the definition or the argument */
static inline bool
tl_value_is(const TlValue *v, TlOpcode opcode)
{
   return v->def && v->def->opcode == opcode;
}

/* No effect and no dependence on memory, nested operations included: may be merged and moved.  An
 * inline_asm follows its `pure` attribute; a while is never pure, as it may not end. */
bool tl_op_is_pure(const TlOp *op);

bool tl_has_attr(const TlOp *op, TlAttrKey key);
/* Attribute access by key; asserts that the operation has the key. */
unsigned tl_attr_at(TlOpcode opcode, TlAttrKey key); /* its place in `attrs` */
TlAttr *tl_attr(TlOp *op, TlAttrKey key);
int64_t tl_attr_int(const TlOp *op, TlAttrKey key);
uint64_t tl_attr_bits(const TlOp *op, TlAttrKey key);
const char *tl_attr_str(const TlOp *op, TlAttrKey key);
TlInts tl_attr_ints(const TlOp *op, TlAttrKey key);                     /* len 0 when absent */
const TlInts *tl_ints(TlArena *arena, const int64_t *data, size_t len); /* copies */
bool tl_attr_extent(const TlOp *op, TlExtent *out);                     /* false when absent */
const TlInts *tl_extent_ints(TlArena *arena, TlExtent extent);
TlReps tl_attr_reps(const TlOp *op); /* of one each when absent */
TlReps tl_reps_of(TlInts ints);      /* likewise, of the attribute's integers */
const TlInts *tl_reps_ints(TlArena *arena, TlReps reps);
/* Of wgmma's operands: 0 is A, 1 is B.  What lies in registers has neither. */
bool tl_wgmma_is_shared(const TlOp *op, unsigned operand);
TlDesc tl_wgmma_desc(const TlOp *op, unsigned operand);
TlExtent tl_wgmma_extent(const TlOp *op, unsigned operand);
const TlInts *tl_desc_ints(TlArena *arena, TlDesc desc);
static inline TlRounding
tl_rounding_of(int64_t word) /* of the attribute `rounding` */
{
   return word == TL_ROUNDING_RTZ ? TL_ROUND_TOWARD_ZERO : TL_ROUND_NEAREST_EVEN;
}

/* What the assertion says that finds a result of the operation beyond its type; is it such, and of
 * what type? */
const char *tl_overflow_text(TlArena *arena, TlDtype dtype, TlOpcode opcode);
bool tl_is_overflow_text(const char *text, TlDtype *out);

/* ---- editing ---- */
void tl_set_arg(TlOp *op, unsigned i, TlValue *v);
void tl_append_arg(TlOp *op, TlValue *v);
void tl_remove_arg(TlOp *op, unsigned i); /* later operands move down */
void tl_replace_uses(TlValue *old, TlValue *with);
void tl_remove(TlOp *op);          /* unlinks; results must be unused; regions go too */
void tl_remove_poisoned(TlOp *op); /* the same; what used its results gets poison */
void tl_move_before(TlOp *op, TlOp *where);
void tl_move_to_end(TlOp *op, TlBlock *block);
bool tl_is_unused(const TlOp *op); /* no result has a use */
bool tl_value_dominates(const TlValue *v, const TlOp *at);
/* Copies op (with regions) at the builder's cursor; operands found in map are replaced by what they
 * map to; results are entered into map (keys: old TlValue *). */
typedef struct TlBuilder TlBuilder;
TlOp *tl_clone_op(TlBuilder *b, const TlOp *op, TlMap *map);

/* ---- building: ir/build.c ---- */
struct TlBuilder {
   TlModule *module;
   TlFunc *func;
   TlBlock *block; /* where new operations go */
   TlOp *before;   /* inserted before this one; NULL = at the end of block */
   TlRange range;  /* given to new operations */
   uint32_t site;  /* the call that is inlined, where range names none */
};

typedef struct TlAttrInit {
   TlAttrKey key;
   TlAttr value;
} TlAttrInit;

static inline TlBuilder
tl_builder_at_end(TlFunc *f, TlBlock *block)
{
   return (TlBuilder){.module = f->module, .func = f, .block = block};
}
static inline TlBuilder
tl_builder_before(TlOp *op)
{
   TlFunc *f = tl_op_func(op);
   return (TlBuilder){f->module, f, op->block, op, op->range, 0};
}

/* The general constructor.  result_types may be NULL when the op's infer rule decides (`given` ops
 * and ops with regions need them).  attrs override the defaults; keys the op lacks are a bug.
 * num_regions empty regions with an empty block each are made.  Arguments must satisfy the infer
 * rule (asserted): callers report user mistakes before. */
TlOp *tl_build(TlBuilder *b, TlOpcode opcode, TlValue *const *args, unsigned num_args,
               const TlType *const *result_types, unsigned num_results, const TlAttrInit *attrs,
               unsigned num_attrs, unsigned num_regions);

/* The parts of tl_build, for code that reads or copies operations: an operation at the cursor with
 * default attributes, empty regions, unset operands (tl_set_arg) and untyped results; linking. */
TlOp *tl_op_new(TlBuilder *b, TlOpcode opcode, unsigned num_args, unsigned num_results,
                unsigned num_regions);
TlRegion *tl_region_new(TlFunc *f, TlOp *parent);
void tl_op_link(TlOp *op, TlBlock *block, TlOp *before);

/* Short forms for one result, attributes at the end:
 *    tl_b1(b, TL_OP_EXPAND_DIMS, x, {TL_ATTR_AXIS, {.i = 1}}) */
#define TL_ATTRS_(...) (const TlAttrInit[]){__VA_ARGS__ __VA_OPT__(, ){TL_ATTR_COUNT, {.i = 0}}}
TlValue *tl_build_n(TlBuilder *b, TlOpcode opcode, TlValue *const *args, unsigned num_args,
                    const TlType *result, const TlAttrInit *attrs_until_count);
#define tl_b0(b, opcode, type, ...) tl_build_n(b, opcode, NULL, 0, type, TL_ATTRS_(__VA_ARGS__))
#define tl_b1(b, opcode, x, ...)                                                                   \
   tl_build_n(b, opcode, (TlValue *const[]){x}, 1, NULL, TL_ATTRS_(__VA_ARGS__))
#define tl_b2(b, opcode, x, y, ...)                                                                \
   tl_build_n(b, opcode, (TlValue *const[]){x, y}, 2, NULL, TL_ATTRS_(__VA_ARGS__))
#define tl_b3(b, opcode, x, y, z, ...)                                                             \
   tl_build_n(b, opcode, (TlValue *const[]){x, y, z}, 3, NULL, TL_ATTRS_(__VA_ARGS__))
/* The same with the result type given (for `given` ops: cast, bitcast, splat, broadcast, ...). */
#define tl_t1(b, opcode, type, x, ...)                                                             \
   tl_build_n(b, opcode, (TlValue *const[]){x}, 1, type, TL_ATTRS_(__VA_ARGS__))
#define tl_t2(b, opcode, type, x, y, ...)                                                          \
   tl_build_n(b, opcode, (TlValue *const[]){x, y}, 2, type, TL_ATTRS_(__VA_ARGS__))

/* A constant of scalar, tile or regs type from its element's bit pattern. */
TlValue *tl_const_bits(TlBuilder *b, const TlType *type, uint64_t bits);
TlValue *tl_const_int(TlBuilder *b, TlDtype dtype, int64_t v); /* scalar */
TlValue *tl_const_double(TlBuilder *b, const TlType *type, double v);
/* True when v is a constant (scalar or equal elements); *bits receives the pattern. */
bool tl_is_const(const TlValue *v, uint64_t *bits);
/* The same of numbers: *out receives the value. */
bool tl_is_number(const TlValue *v, double *out);
/* What a reduction combines two elements by: TL_OP_ADD, TL_OP_MUL, TL_OP_MAX or TL_OP_MIN;
 * TL_OP_COUNT: another. */
TlOpcode tl_combined_by(const TlOp *reduce);

/* ---- inference: ir/infer.c ----
 * Result types of an operation from operands and attributes.  false: the operands do not fit; *why
 * says so in the words of a diagnostic.  Used by sema (before building), build and verify. */
typedef struct TlInferCx {
   TlTypes *types;
   TlArena *arena;
   const char *why;
} TlInferCx;
/* results is written; for rules that only check results which the caller chooses (constant,
 * splat, broadcast, reshape, cast, bitcast, given, if, map, local_..) it holds the wanted types on
 * entry, NULL entries fail.  In LAID state a result whose layout no operand fixes (arange, cat,
 * join of scalars, histogram) comes without one: tl_infer_accepts compares leaving that open. */
bool tl_infer(TlInferCx *cx, TlOpcode opcode, const TlType *const *args, unsigned num_args,
              const TlAttr *attrs, const TlType **results, unsigned num_results);
bool tl_infer_accepts(TlTypes *types, const TlType *inferred, const TlType *actual);

/* ---- one scalar meaning per operation: ir/eval.c ----
 * Exact models; operands and result are bit patterns of the given dtypes.  Integer division by zero
 * gives 0 with *undefined set, as do shifts... (see eval.c).  opcode must be ELTWISE with eval. */
TlBits tl_eval(TlOpcode opcode, const TlAttr *attrs, TlDtype result, const TlDtype *arg_dtypes,
               const TlBits *args, bool *undefined);

/* ---- text: ir/print.c, ir/read.c: exact round trip in every state ---- */
void tl_print_func(const TlFunc *f, TlSources *sources, TlSb *out); /* sources NULL: no locations */
void tl_print_module(const TlModule *m, TlSources *sources, TlSb *out);
/* Reads IR text (file of sources) into the module; false after located errors. */
bool tl_read_module(TlModule *m, TlSources *sources, uint32_t file);

/* ---- verifier: ir/verify.c: structure, types (re-inferred), dominance, state legality ----
 * true if sound; otherwise every violation is appended to out, one a line. */
bool tl_verify(const TlFunc *f, TlSb *out);
/* Calls report for every violation; op is NULL when it concerns the function as a whole.  `why`
 * lives as long as the module. */
typedef void TlViolation(void *user, const TlOp *op, const char *why);
void tl_verify_each(const TlFunc *f, TlViolation *report, void *user);

#endif
