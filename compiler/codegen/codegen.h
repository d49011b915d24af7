/* LOWERED IR to PTX.  The only folder that sees LLVM; this header does not. */
#ifndef TL_CODEGEN_CODEGEN_H
#define TL_CODEGEN_CODEGEN_H

#include "ir/ir.h"
#include "ir/target.h"

typedef struct TlCgOptions {
   const TlTarget *target;
   unsigned opt_level; /* 0..3: LLVM's code generation level */
   bool line_info;     /* .file and .loc directives */
   bool want_llvm;     /* also the LLVM IR as text */
   bool verify;        /* run LLVM's verifier on what was built */
   bool few_programs;  /* as TilecCompileOptions.few_programs */
} TlCgOptions;

typedef struct TlCgResult {
   const char *ptx; /* arena text */
   size_t ptx_len;
   uint32_t ptx_version;       /* 80 = PTX ISA 8.0: the lowest that the functions need */
   const char *llvm;           /* arena text or NULL */
   const uint32_t *few_per_sm; /* of each function: TilecKernelInfo.few_per_sm */
} TlCgResult;

/* Every function must be LOWERED; all become entries of one module.  false: a located error (E05xx)
 * was reported, LLVM's own failures among them. */
bool tl_codegen(TlArena *arena, TlFunc *const *funcs, unsigned num_funcs, TlSources *sources,
                TlDiags *diags, const TlCgOptions *options, TlCgResult *out);

/* "22.1.8" */
const char *tl_codegen_llvm_version(void);

#endif
