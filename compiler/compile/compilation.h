/* One compilation: source text to the stages asked for.  The public API (session.c) and the command
 * share it.  It owns all its memory; failed or unwound, it is still freed with
 * tl_compilation_free. */
#ifndef TL_COMPILE_COMPILATION_H
#define TL_COMPILE_COMPILATION_H

#include "base/diag.h"
#include "base/map.h"
#include "codegen/codegen.h"
#include "passes/pass.h"
#include "sema/sema.h"
#include "tilec/tilec.h"

/* One kernel under one signature: an entry of the module to make. */
typedef struct TlEntrySpec {
   const char *kernel;    /* NULL: the file's only kernel */
   const char *signature; /* NULL: annotations, defines and defaults decide */
} TlEntrySpec;

typedef struct TlEntry {
   TlFunc *func;        /* in the last state reached; its name is the symbol */
   TlFunc *typed;       /* kept for the CPU executor and the record; NULL: read in a later state */
   const char *kernel;  /* name in the source */
   uint32_t few_per_sm; /* TilecKernelInfo.few_per_sm of the code made */
} TlEntry;

/* What the command can ask for beyond the public options. */
typedef struct TlCompileExtra {
   const TlEntrySpec *entries; /* instead of the options' kernel and signature; NULL: those */
   size_t num_entries;
   const char *passes;      /* run exactly these on an IR file, then print */
   const char *print_after; /* pass name or "all" */
   bool verify_each;        /* IR verifier after every pass, LLVM's verifier */
   void (*print)(void *user, const char *pass, const char *text);
   void *print_user;
   /* Each function in each state that it reaches; it changes afterwards. */
   void (*reached)(void *user, const TlFunc *f);
   void *reached_user;
   bool has_block_each;       /* the launcher knows no grid but the program's own */
   bool keeps_asserts;        /* device_assert is compiled in, for whoever runs it to tell of */
   bool lints;                /* keeps what tl_check would warn of in the first entry: `lints` */
   bool watch;                /* tl_check: keeps names and values for queries, stops at types */
   TlWarnings warnings;       /* zero: what every command shows */
   uint32_t max_errors;       /* 0 = 20 */
   size_t memory_limit_bytes; /* 0 = 4 GiB */
} TlCompileExtra;

typedef struct TlCompilation {
   TlMem mem;
   jmp_buf oom;
   TlArena *arena; /* everything but pass scratch */
   TlArena *scratch;
   TlStrings *strings;
   TlSources *sources;
   TlDiags diags;
   TlTypes *types;
   TlModule *module;
   TlAstModule *ast;            /* of the main source; NULL for .tir files */
   TlSema *sema;                /* likewise */
   struct TlNames *names;       /* likewise, by tl_check, and where lints are kept */
   bool keeps_asserts;          /* TlCompileExtra: launches of a tilec_program only tell of them */
   const TlDiag *lints;         /* not among the diagnostics; in order */
   uint32_t file;               /* the main source */
   TL_VEC(TlEntry) entries;     /* at least one from TYPED on */
   TlMap symbols;               /* names that they may not have any more */
   TlFunc *func;                /* of the first entry, in the last state reached */
   TL_VEC(TilecImport) imports; /* files that imports led to, found or not */
   TlPassCx passes;             /* with their times */
   const TlTarget *target;
   uint32_t ptx_version; /* of the PTX made, 0 before */
   const char *text[TILEC_STAGE_COUNT];
   size_t text_len[TILEC_STAGE_COUNT];
   TilecStage last; /* last stage made */
   TilecImageInfo info;
   const char *json; /* metadata, NULL until made */
   size_t json_len;
   char error[512]; /* detail of a failure that is not a diagnostic */
} TlCompilation;

/* Zeroes and sets up; TILEC_NO_MEMORY. */
TilecStatus tl_compilation_init(TlCompilation *comp, const TilecAllocator *allocator,
                                const TlCompileExtra *extra);
void tl_compilation_free(TlCompilation *comp);
/* The sequence of compile.c; diagnostics stay in comp->diags. */
TilecStatus tl_compile(TlCompilation *comp, const TilecCompileOptions *options,
                       const TlCompileExtra *extra);
/* The same sequence for what is wrong with all kernels of a file (or those that `extra` names),
 * typed or not; those whose parameters all have types and values go on to LOWERED, unless options
 * stop before. */
TilecStatus tl_check(TlCompilation *comp, const TilecCompileOptions *options,
                     const TlCompileExtra *extra);
/* Parses and loads names only: comp->sema can list its kernels. */
TilecStatus tl_load_names(TlCompilation *comp, const TilecCompileOptions *options);

/* The message about an architecture that is none. */
const char *tl_unknown_arch(TlArena *arena, const char *arch);

/* What the options ask of one kernel; lives in its arena. */
TlSpecialization tl_specialization_for(TlCompilation *comp, const TilecCompileOptions *options);

/* Reads a whole file into the arena.  false: *why says so (arena text). */
bool tl_read_file(TlArena *arena, const char *path, const char **text, size_t *len,
                  const char **why);

/* foreign.c: is the source no program but another language's, an array, a binary?  Reported. */
bool tl_is_foreign(TlCompilation *comp, const char *name, const char *text, size_t len);

/* undecorated.c: is the name that of a function that lacks a kernel's decorator?  Reported. */
bool tl_report_undecorated(TlCompilation *comp, const char *name);

/* metadata.c: fills comp->info and comp->json from comp->func. */
bool tl_describe(TlCompilation *comp, const TilecCompileOptions *options);

/* One tensor map of f as the hidden parameter that it is.  The operation counts dimensions from the
 * outermost one, the record from the innermost. */
TilecHiddenArg tl_tensor_map_recipe(TlArena *arena, const TlFunc *f, const TlOp *map);

struct TlExecStats;
struct TlSimStats;
typedef enum TlHostChecks {
   TL_HOST_PLAIN,
   TL_HOST_WATCHED, /* undefined values and races, as warnings */
   TL_HOST_CHECKED, /* broken promises and wrapped indices as well; undefined values are errors */
} TlHostChecks;
/* What the command asks for beyond a launch of the library's; all may be 0. */
struct TlExecArg;

typedef struct TlHostExtra {
   TlHostChecks checks;  /* what else is looked for */
   const bool *empty;    /* by launch argument: nothing is in it that means anything */
   const bool *fresh;    /* likewise: it was made for the run */
   const bool *asked;    /* likewise: that nothing touches it is told */
   const unsigned *rank; /* likewise, of an array of which that nothing reads a row is told, */
   const uint64_t *const *dims; /* and its sizes; NULL: that is not */
   const unsigned *shape_rank;  /* likewise, of any array that is known, for words alone */
   const uint64_t *const *shape;
   bool spares_asserts; /* compiled with keeps_asserts: one that fails is told of */
   bool tells_rows;     /* that it is accessed by other rows is told */
   /* The grid for other arguments, by the kernel's own expression; NULL, false: it is given. */
   bool (*grid_for)(void *user, const struct TlExecArg *args, unsigned num, uint32_t grid[3]);
   void *grid_user;
   struct TlExecStats *counts; /* of the CPU executor, added to */
   struct TlSimStats *stats;   /* of the simulator, added to */
   bool as_json, in_color;     /* what on_fault is given; TilecFault has plain text */
   bool tells;                 /* on_warning hears of the launch: see tilec.h */
} TlHostExtra;
/* host_run.c: runs the TYPED copy on the CPU executor or the LOWERED function on the simulator; as
 * tilec_program_run_cpu. */
TilecStatus tl_run_host(const TlCompilation *comp, const TilecHostLaunch *launch,
                        const TlHostExtra *extra, TilecFault *fault);

#endif
