/* tilec: compile tile programs (Triton's kernel language) to PTX.  Plain C11, usable from C++.
 *
 *    TilecSessionOptions so = {.struct_size = sizeof so, .on_diag = print_it};
 *    TilecSession *s;
 *    tilec_session_new(&so, &s);
 *    TilecCompileOptions co = {.struct_size = sizeof co, .file = "elu.tile"};
 *    TilecProgram *p;
 *    if (tilec_compile(s, &co, &p) == TILEC_OK)
 *       puts(tilec_program_text(p, TILEC_STAGE_PTX, NULL));
 *
 * Rules that hold for every call
 * - No global state, no environment, no printing, no exit, no signal handlers.
 * - Threads: a session is used by one thread at a time; sessions are independent of each other.
 *   A program is immutable, belongs to no session once made, and may be used by many threads.
 * - Ownership: strings and structs passed in are copied; `const` results are borrowed from the
 *   object they were asked of and live exactly as long as it does.  Every _free takes NULL.
 * - Option structs start with struct_size = sizeof(the struct); a zero field means its default;
 *   fields are only ever appended.
 * - On failure *out is NULL and the status says why. */
#ifndef TILEC_TILEC_H
#define TILEC_TILEC_H

#include "tilec/arg.h"
#include "tilec/kernel_info.h"
#include "tilec/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TilecSession TilecSession;
typedef struct TilecProgram TilecProgram;
typedef struct TilecListing TilecListing;

TILEC_API const char *tilec_version(void); /* "0.1.0" */

/* What keeps compiled code for later needs to know.  The id names this very build of the compiler
 * and its LLVM: the same id, the same input, the same output.  Copied to `buffer` and ended with
 * NUL; returns its length, 0 when the program was linked without a build id. */
TILEC_API size_t tilec_build_id(char *buffer, size_t bytes);
#define TILEC_DIGEST_BYTES 32
/* BLAKE3 of `len` bytes. */
TILEC_API void tilec_digest(const void *data, size_t len, uint8_t digest[TILEC_DIGEST_BYTES]);

/* ---- Diagnostics ----------------------------------------------------------------------------- */

typedef enum TilecSeverity {
   TILEC_SEVERITY_ERROR = 0,
   TILEC_SEVERITY_WARNING,
   TILEC_SEVERITY_REMARK, /* what the optimiser did or refused */
   TILEC_SEVERITY_NOTE,   /* belongs to the last diagnostic that was not a note */
} TilecSeverity;

typedef struct TilecDiag {
   TilecSeverity severity;
   const char *code;  /* "E0312" */
   const char *file;  /* name as given or as found on the include path; NULL without a place */
   uint32_t line;     /* from 1; 0 without a place */
   uint32_t column;   /* in characters, from 1 */
   uint32_t end_line; /* the place ends before this character */
   uint32_t end_column;
   const char *text;     /* one sentence, no code, no place */
   const char *help;     /* NULL or one sentence */
   const char *rendered; /* the text form with source line and carets, ends with a newline */
} TilecDiag;

/* Called in order, on the thread of the call; `diag` is valid during the callback only.
 * The callback must not call into its session. */
typedef void TilecDiagFn(void *user, const TilecDiag *diag);

/* ---- Sessions -------------------------------------------------------------------------------- */

typedef struct TilecAllocator {
   void *(*alloc)(void *user, size_t bytes); /* 16-byte aligned, NULL on failure; NULL = malloc */
   void (*release)(void *user, void *block); /* block is never NULL; NULL member = free */
   void *user;
} TilecAllocator;

typedef struct TilecSessionOptions {
   size_t struct_size;
   TilecAllocator allocator;  /* for everything but LLVM's own memory; must be callable from the
                                 threads that use the session and its programs */
   size_t memory_limit_bytes; /* of tilec's own memory; 0 = 768 MiB.  Beyond: TILEC_NO_MEMORY */
   TilecDiagFn *on_diag;      /* NULL: diagnostics are counted only */
   void *user;                /* passed to on_diag */
   uint32_t max_errors;       /* 0 = 20 */
   bool color;                /* ANSI colours in TilecDiag.rendered */
} TilecSessionOptions;

/* options may be NULL. */
TILEC_CHECKED TilecStatus tilec_session_new(const TilecSessionOptions *options, TilecSession **out);
/* Programs made from it stay valid. */
TILEC_API void tilec_session_free(TilecSession *session);
/* One line about the session's last failed call that is not a source error (file not found, unknown
 * arch, limit …); "" after a success.  Borrowed until the next call on the session. */
TILEC_API const char *tilec_session_error(const TilecSession *session);

/* ---- Compiling ------------------------------------------------------------------------------- */

typedef enum TilecStage {
   TILEC_STAGE_DEFAULT = 0, /* PTX */
   TILEC_STAGE_TOKENS,
   TILEC_STAGE_AST,
   TILEC_STAGE_IR,      /* TYPED tile IR */
   TILEC_STAGE_LAID,    /* layouts placed */
   TILEC_STAGE_LOWERED, /* per-thread machine ops */
   TILEC_STAGE_LLVM,
   TILEC_STAGE_PTX,
   TILEC_STAGE_COUNT
} TilecStage;
#define TILEC_STAGE_BIT(stage) (1u << (stage))

typedef enum TilecOpt {
   TILEC_OPT_DEFAULT = 0, /* -O3 */
   TILEC_OPT_0,
   TILEC_OPT_1,
   TILEC_OPT_2,
   TILEC_OPT_3,
} TilecOpt;

typedef enum TilecFpMode {
   TILEC_FP_TRITON = 0, /* contraction, approximate exp2, division as Triton */
   TILEC_FP_STRICT,     /* IEEE operation by operation */
} TilecFpMode;

/* Whether boxes of tensors are copied to shared memory by tensor maps, where that is possible. */
typedef enum TilecTma {
   TILEC_TMA_DEFAULT = 0, /* on for kernels that a launch compiles, as it can compile one without if
                             there is no map for its arguments; off in images and C */
   TILEC_TMA_ON,
   TILEC_TMA_OFF,
} TilecTma;

/* `-D NAME=VALUE`.  value: an int, a float, True, False, None, a dtype name, or else a string. */
typedef struct TilecDefine {
   const char *name;
   const char *value;
} TilecDefine;

typedef struct TilecCompileOptions {
   size_t struct_size;
   const char *file;      /* path of the source, and its name in diagnostics; .tile, .py or .tir */
   const char *source;    /* NULL: read `file`; else the text (then `file` is only its name,
                             NULL = "<source>", read as .tile unless the name says otherwise) */
   size_t source_bytes;   /* of `source`; TILEC_STRLEN allowed */
   const char *kernel;    /* NULL: the file's only kernel */
   const char *signature; /* Triton's ahead-of-time notation, one item per parameter in order:
                             "*fp16:16, i32:16, i32:1, fp32, None, 64".  An empty item
                             ("i32,,64") and items missing at the end leave it to annotation,
                             define, default.  NULL: all of them. */
   const TilecDefine *defines; /* values of constexpr parameters */
   size_t num_defines;
   const char *const *include_dirs; /* roots for imports, in order, after the file's folder */
   size_t num_include_dirs;
   const char *arch;     /* "sm_90a"; NULL = "sm_90a".  Of a device that tilec has no target of its
                            own for ("sm_100a", "sm_103"): the newest plain one that it runs */
   uint32_t ptx_version; /* 87 for PTX 8.7: the newest that the driver that will load it takes,
                            0 = any.  A kernel gets the lowest version that has its
                            instructions; the metadata says which */
   uint32_t num_warps;   /* 0 = the kernel's own, else 4 */
   uint32_t num_stages;  /* 0 = the kernel's own, else 3 */
   TilecOpt opt;
   TilecFpMode fp_mode;
   bool debug_info; /* line directives in the PTX, locations in IR text */
   bool check;      /* device_assert and overflow checks are compiled in */
   bool plain_abi;  /* visible parameters only (no tensor maps) */
   bool warnings_are_errors;
   TilecStage stop_after;      /* make no more than this stage; later texts are then NULL */
   uint32_t keep_stages;       /* TILEC_STAGE_BIT(..) of texts wanted besides stop_after's */
   const char *remarks;        /* comma-separated groups ("layout,pipeline,all"); NULL = none */
   const volatile int *cancel; /* polled between passes; non-zero stops with TILEC_CANCELLED */
   uint32_t timeout_ms;        /* 0 = 60000; beyond: TILEC_CANCELLED */
   const TilecDefine *values;  /* what is known of launch arguments that are not constants, for
                                  heuristics and for pruning configurations: a value, or "*fp16" for
                                  a pointer to such elements */
   size_t num_values;
   const char *grid;          /* used instead of the kernel's own grid=; NULL = its own */
   const char *const *assume; /* "NAME=VALUE": what the file's host code is to take for granted
                                 where it hangs on the run: a name, or an expression as it is
                                 written there */
   size_t num_assume;
   TilecTma tma;
   const char
      *fp32_dot; /* "ieee": the input_precision of dots of fp32 that say none; NULL = "tf32" */
   bool print_threads;  /* device_print prints in every thread: an element of a tile smaller than
                          the block several times, a scalar once for each thread */
   bool short_programs; /* blocks run many programs also where that pays for short ones only
                           (TilecKernelInfo.short_when); a launch that compiles decides itself */
   bool few_programs;   /* code for launches of few programs (TilecKernelInfo.few_per_sm); a launch
                           that compiles decides itself */
   bool lints; /* on_diag also hears what `tilec run` warns of in the kernel's text; what goes wrong
                  between programs only is kept for a launch's on_warning, which knows the grid */
} TilecCompileOptions;

/* TILEC_BAD_SOURCE: at least one error reached on_diag.  TILEC_IO: a file, TILEC_BAD_TARGET: arch
 * or ptx_version, TILEC_BAD_ARGUMENT: options; see tilec_session_error.  TILEC_NO_MEMORY,
 * TILEC_LIMIT, TILEC_CANCELLED, TILEC_INTERNAL as they say. */
TILEC_CHECKED TilecStatus tilec_compile(TilecSession *session, const TilecCompileOptions *options,
                                        TilecProgram **out);
TILEC_API void tilec_program_free(TilecProgram *program);

/* NUL-terminated text of a stage, its length in *len (may be NULL).  NULL when that stage was
 * neither kept nor the last one made.  TILEC_STAGE_DEFAULT = the last one made. */
TILEC_API const char *tilec_program_text(const TilecProgram *program, TilecStage stage,
                                         size_t *len);
/* The launch record: as JSON (what belongs beside the PTX), and as a struct.  Filled from stage IR
 * on; before LOWERED, shared_bytes and hidden arguments are not known yet and read 0. */
TILEC_API const char *tilec_program_metadata(const TilecProgram *program, size_t *len);
TILEC_API const TilecImageInfo *tilec_program_info(const TilecProgram *program);

/* A file that an import of the program led to, or a variable of the environment that it asked for
 * ("$NAME"), in the order looked for; false when index is out of range.  Borrowed.  The same
 * source, options and imports give the same program. */
typedef struct TilecImport {
   const char *path;
   const char *text; /* NULL: it was looked for there and not found */
   size_t len;
} TilecImport;
TILEC_API bool tilec_program_import(const TilecProgram *program, uint32_t index, TilecImport *out);

/* ---- Reflection: what is in a file, before any specialisation -------------------------------- */

typedef struct TilecParamDecl {
   const char *name;
   const char *type; /* annotation in signature spelling ("*fp16", "i32:16"); NULL = none */
   const char *default_value; /* as written; NULL = none */
   bool is_constexpr;
   bool no_specialize; /* ==1, range and divisibility of its value make no new specialisation */
   bool value_matters; /* heuristics look at its value: each value is a specialisation of its own */
   bool no_align;      /* divisibility does not */
   bool is_bound;      /* the kernel compares something with it, or counts up to it */
   const char *const *strides; /* parameters by which the kernel may step through it, were it a
                                  pointer: added to it, alone or times an index */
   uint32_t num_strides;
} TilecParamDecl;

/* One configuration of a kernel under @autotune.  Compiling it means giving `values` as defines,
 * num_warps and num_stages as such. */
typedef struct TilecConfig {
   const char *text;          /* "BLOCK=128, num_warps=8, num_stages=3"; unique in its kernel */
   const TilecDefine *values; /* of constexpr parameters */
   uint32_t num_values;
   uint32_t num_warps; /* 0 = the compiler's choice */
   uint32_t num_stages;
   uint32_t num_ctas; /* blocks per cluster; 0 = 1 */
} TilecConfig;

/* What @autotune says. */
typedef struct TilecTuning {
   const TilecConfig *configs; /* at least one */
   uint32_t num_configs;
   const char *const *keys; /* parameters whose values ask for a choice of their own */
   uint32_t num_keys;
   const char *const *reset_to_zero; /* pointers cleared before each measured launch */
   uint32_t num_reset;
   const char *const *restore_value; /* pointers put back before each measured launch */
   uint32_t num_restore;
   uint32_t warmup_ms, rep_ms; /* 0 = not said */
   uint64_t source_hash;       /* of the file and the files that it imports */
} TilecTuning;

typedef struct TilecKernelDecl {
   const char *name;
   const char *file;   /* where it is defined */
   uint32_t line;      /* where it begins, decorators included, from 1 */
   const char *doc;    /* doc comment or docstring; NULL = none */
   const char *grid;   /* grid= as written; NULL = none */
   uint32_t num_warps; /* of the decorator; 0 = not given */
   uint32_t num_stages;
   const TilecParamDecl *params;
   uint32_t num_params;
   const TilecTuning *tuning;     /* NULL: not under @autotune */
   const TilecDefine *heuristics; /* with options->values: what @heuristics give for them, to be
                                     used as defines; an entry may be num_warps or num_stages */
   uint32_t num_heuristics;
} TilecKernelDecl;

/* Lists the kernels of options->file or ->source; only file, source, include_dirs, assume, defines,
 * arch, cancel and limits are looked at.  For options->kernel also num_warps, num_stages and
 * values: they and the defines take their place in its configurations, and with values these are
 * pruned as its prune_configs_by says, and its heuristics are evaluated.  Errors inside one
 * kernel's body do not matter here; a file that does not parse is TILEC_BAD_SOURCE. */
TILEC_CHECKED TilecStatus tilec_list_kernels(TilecSession *session,
                                             const TilecCompileOptions *options,
                                             TilecListing **out);
TILEC_API void tilec_listing_free(TilecListing *listing);
TILEC_API uint32_t tilec_listing_count(const TilecListing *listing);
/* NULL when index is out of range. */
TILEC_API const TilecKernelDecl *tilec_listing_kernel(const TilecListing *listing, uint32_t index);

/* The text that was listed, NUL-terminated. */
TILEC_API const char *tilec_listing_source(const TilecListing *listing, size_t *len);

/* ---- Running on this machine's CPU ----------------------------------------------------------- */

typedef enum TilecHostMode {
   TILEC_HOST_CPU = 0, /* whole tiles, exact types, every access checked */
   TILEC_HOST_SIM,     /* the lowered program, thread by thread */
} TilecHostMode;

/* Where and how a program broke a rule.  Self-contained: no pointers. */
typedef struct TilecFault {
   char file[256];         /* "" when unknown */
   uint32_t line, column;  /* from 1; 0 = unknown */
   uint32_t program_id[3]; /* of the failing program instance */
   uint32_t thread;        /* TILEC_HOST_SIM: thread in the block */
   char argument[64];      /* parameter whose memory was missed; "" = none or unknown */
   TilecDtype dtype;       /* element type of the access; NONE when it was not an access */
   int64_t element;        /* element index that was accessed, relative to the argument */
   int64_t valid_begin;    /* elements [valid_begin, valid_end) belong to the argument */
   int64_t valid_end;
   char message[512]; /* what happened, with the actual values; lines that do not fit are left
                         out: TilecHostLaunch.on_fault gets all of it */
} TilecFault;

/* Lines of device_print, whole lines without the newline, one thread at a time. */
typedef void TilecPrintFn(void *user, const char *line, size_t len);

typedef struct TilecHostLaunch {
   size_t struct_size;
   TilecHostMode mode;
   uint32_t kernel;      /* index into tilec_program_info()->kernels */
   uint32_t grid[3];     /* programs; a zero makes the launch a no-op */
   const TilecArg *args; /* the launch arguments (constexprs left out) in order: scalars already of
                            the parameter's type; pointers as TILEC_ARG_POINTER with a host
                            address and its bytes; TILEC_ARG_NONE for None */
   size_t num_args;
   uint32_t num_threads;       /* host threads; 0 = as many as the process may use */
   TilecPrintFn *on_print;     /* NULL: device_print is dropped */
   void *user;                 /* passed to on_print */
   const volatile int *cancel; /* polled between programs; non-zero stops with TILEC_CANCELLED */
   uint32_t timeout_ms;        /* 0 = none */
   TilecPrintFn *on_fault;     /* called at most once, before a failed run returns, with the message
                                  in all its lines: carets, notes, help; NULL: not wanted */
   uint32_t multiprocessors;   /* SIM: a kernel whose blocks run many programs (launch_grid of its
                                  record) gets so many blocks at most; 0 = one for each program */
   TilecMemoryFn *memory;      /* beside the arguments; NULL = there is none.  Memory of the
                                  arguments is known by its own addresses too */
   TilecPrintFn *on_warning;   /* not NULL: a program's first launch, and its first of more than one
                                  instance, is watched as `tilec run` does, and what is found
                                  (undefined values, races, overflows; of a program compiled with
                                  `lints` what its text shows of the grid) comes here: one warning
                                  a call, notes included */
   const uint64_t *written;    /* for each argument, how many bytes at its beginning something may
                                  have written: a watched launch hears on CPU where it uses others
                                  that it has not stored; NULL: all */
} TilecHostLaunch;

/* Runs one launch to its end on the calling thread plus num_threads - 1 more.
 * TILEC_FAULT: *fault (may be NULL) says where; memory written before the fault stays written.
 * TILEC_BAD_ARGUMENT: argument count, kind or type; the reason is in fault->message.
 * TILEC_UNSUPPORTED: this build lacks the mode, or the program the stage it needs (IR for CPU,
 * LOWERED for SIM).  Many threads may run one program at once. */
TILEC_CHECKED TilecStatus tilec_program_run_cpu(const TilecProgram *program,
                                                const TilecHostLaunch *launch, TilecFault *fault);

#ifdef __cplusplus
}
#endif
#endif
