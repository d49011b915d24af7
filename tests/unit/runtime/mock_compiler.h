/* A stand-in for the compiler behind tilec/tilec.h: "compiles" any file to one kernel whose record
 * follows the signature, and runs it on the host by a function of the test. */
#ifndef TL_TEST_MOCK_COMPILER_H
#define TL_TEST_MOCK_COMPILER_H

#include "tilec/tilec.h"

typedef struct MockCompiler {
   const TilecKernelDecl *decls; /* what the file holds */
   uint32_t num_decls;
   int compiles;        /* so far */
   _Atomic int alive;   /* programs, sessions and listings */
   char signature[512]; /* of the last compile */
   char arch[32];
   char defines[256]; /* "A=1;B=2;" */
   TilecStage stop_after;
   uint32_t num_warps;
   TilecTma tma;
   const TilecHiddenArg *map; /* of compiles with tma on; NULL = none */
   const char *short_when;    /* of compiles without short_programs and with tma on */
   bool is_const;             /* nothing is written through any pointer */
   uint32_t few_per_sm;       /* of every compile */
   bool short_programs, few_programs, lints;
   TilecStatus fail;           /* of the next compile; with BAD_SOURCE a diagnostic is made */
   const char *warning;        /* rendered; a diagnostic of every compile; NULL = none */
   const TilecImport *imports; /* of every program */
   uint32_t num_imports;
   _Atomic int hold;       /* compiles wait until it is 0 again */
   const char *build;      /* tilec_build_id; NULL = "mock 1" */
   const char *bad_define; /* compiles with this "NAME=VALUE" fail with BAD_SOURCE */
   /* What is listed when argument values are given; NULL = the same. */
   const TilecKernelDecl *(*describe)(const TilecCompileOptions *options);
   TilecStatus (*run)(const TilecHostLaunch *launch, TilecFault *fault);
} MockCompiler;

extern MockCompiler mock;

#endif
