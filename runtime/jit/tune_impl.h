/* What tune.c and tune_open.c share. */
#ifndef TL_RT_TUNE_IMPL_H
#define TL_RT_TUNE_IMPL_H

#include "core/dtype.h"
#include "jit/texts.h"
#include "jit/tune.h"

#include <pthread.h>
#include <stdatomic.h>

enum { TL_TUNE_MAX_ARGS = 256, TL_TUNE_BUCKETS = 64 };

/* An argument that choices depend on. */
typedef struct TlKeyArg {
   uint32_t arg; /* launch argument */
   const char *name;
   bool is_key;   /* of the decorator's key=: its value asks for a choice of its own */
   bool by_value; /* a scalar's value counts: a key, or heuristics look at it */
} TlKeyArg;

typedef struct TlKeyItem {
   uint64_t value;
   uint32_t dtype; /* of a pointer's elements; of a scalar: whether it is a float */
   uint32_t kind;  /* TilecArgKind; buffers count as pointers */
} TlKeyItem;

/* One configuration (with what heuristics gave) opened as a module; lives as long as the tuner. */
typedef struct TlChild {
   struct TlChild *next;
   char *name; /* the configuration's text, then the heuristics' values */
   TilecModule *module;
   TilecKernel *kernel;
} TlChild;

typedef struct TlTunedKernel {
   _Atomic(struct TlTunedKernel *) next;
   uint64_t hash;
   TilecKernel *kernel;
   bool is_provisional; /* made where measuring was not possible: tried again when it is */
   TlKeyItem key[];
} TlTunedKernel;

/* The configuration found best for one text of the decorator's keys. */
typedef struct TlWinner {
   struct TlWinner *next;
   char *key;
   TilecConfig config; /* of the listing */
} TlWinner;

struct TlTune {
   TilecRuntime *rt;
   TlTuneSettings settings;
   uint32_t policy;
   TilecSource source; /* strings are of `texts` */
   TlTexts texts;
   const char **defines;
   const TilecKernelDecl *decl;
   TlKeyArg *keys;
   uint32_t num_keys;
   uint32_t num_args;    /* launch arguments */
   bool has_heuristics;  /* that look at values */
   pthread_mutex_t lock; /* of what follows */
   TlChild *children;
   TlWinner *winners;
   TilecListing **listings; /* pruned ones, whose texts winners and results point into */
   size_t num_listings;
   _Atomic(TlTunedKernel *) buckets[TL_TUNE_BUCKETS]; /* read without the lock */
};

/* ---- tune_open.c ---- */
/* The value of a scalar argument as -D takes it. */
void tl_tune_value_text(const TilecArg *a, char *text, size_t bytes);
/* "fp16" of a launch argument that is a pointer. */
const char *tl_tune_pointee(const TlTune *t, uint32_t arg, TilecDtype given);
/* The kernel's configurations for these arguments; as written when nothing can be pruned.  The lock
 * is held. */
const TilecTuning *tl_tune_prune(TlTune *t, const TilecArg *args);
/* The module of a configuration for these arguments; config NULL: as written.  The lock is held. */
TilecStatus tl_tune_open(TlTune *t, const TilecConfig *config, const TilecArg *args, TlChild **out);
/* Opens and compiles all candidates on several threads; those that fail are dropped. */
void tl_tune_compile(const TlTune *t, TlTuneJob *job, const TilecConfig *configs);
/* A candidate's module becomes the configuration's.  The lock is held. */
TilecStatus tl_tune_adopt(TlTune *t, TlCandidate *c, TlChild **out);

#endif
