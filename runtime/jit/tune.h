/* The tuner of one source kernel: which configuration a launch uses.  Every configuration is a
 * module of its own, opened from the same source with the configuration's values as defines, so the
 * rest of the runtime knows nothing of tuning: a launch is passed on to the chosen module's
 * kernel. */
#ifndef TL_RT_TUNE_H
#define TL_RT_TUNE_H

#include "core/jit_table.h"
#include "tilec/tilec.h"

typedef struct TlTune TlTune;

typedef struct TlTuneSettings {
   uint32_t policy;      /* TilecTunePolicy, for sources that name none */
   bool may_compile;     /* false: launches never compile, hence never measure */
   const char *database; /* NULL = none; lives as long as the tuner */
   /* The specialisation in memory for such arguments, as TilecJitVtable.find. */
   TilecStatus (*find)(void *source, const TilecArg *args, size_t num_args, TlForm form,
                       const TlVariant **out);
   void (*on_note)(void *user, const char *line); /* may be NULL */
   void *user;
} TlTuneSettings;

/* source is copied; decl must outlive the tuner.  NULL: no memory. */
TlTune *tl_tune_new(TilecRuntime *rt, const TlTuneSettings *settings, const TilecSource *source,
                    const TilecKernelDecl *decl);
void tl_tune_free(TlTune *t);
/* Whether launches have a choice to make: @autotune, or heuristics that look at values. */
bool tl_tune_is_active(const TlTune *t);
/* The kernel that such a launch uses; measures when it must and may.  launch NULL: none is about to
 * happen.  Lock-free once the choice is made. */
TilecStatus tl_tune_pick(TlTune *t, const TilecLaunch *launch, const TilecArg *args,
                         size_t num_args, TilecKernel **out);
/* Specialisations of all configurations, one after the other. */
uint32_t tl_tune_count(TlTune *t);
const TlVariant *tl_tune_get(TlTune *t, uint32_t index);

/* ---- tune_measure.c ---- */
typedef struct TlCandidate {
   const char *config;
   char *name;          /* of the module: see TlChild */
   TilecModule *module; /* opened by the tuner; NULL when that failed */
   TilecKernel *kernel;
   TilecStatus status;
   char reason[256];
   double *samples; /* milliseconds */
   uint32_t num_samples, room;
   double median, low, high;
   bool is_left_out; /* of the next round: too slow to win */
   bool is_tied;     /* no slower than the lowest median, within the noise */
   uint32_t threads, shared_bytes, registers, spill_bytes;
   uint64_t resources; /* fewer is better between equal times */
   const TilecKernelInfo *info;
} TlCandidate;

/* What is measured: one launch of each candidate. */
typedef struct TlTuneJob {
   TilecRuntime *rt;
   const TilecKernelDecl *decl;
   const TilecTuning *tuning; /* may be NULL */
   const TilecTuneOptions *options;
   TilecLaunch launch;
   const TilecArg *args;
   size_t num_args;
   TlCandidate *candidates; /* compiled ones have status TILEC_OK */
   uint32_t num_candidates;
   char *note;        /* 256 bytes */
   uint32_t compiled; /* for the progress */
} TlTuneJob;

/* Runs and times; fills samples, status and reason.  Fails only when nothing can be measured at
 * all (no memory to save the arguments, a lost device). */
TilecStatus tl_tune_measure(TlTuneJob *job);
/* Index of the best candidate, or num_candidates when none was measured. */
uint32_t tl_tune_best(TlTuneJob *job);
void tl_tune_drop(TlCandidate *c, TilecStatus status, const char *format, ...)
   __attribute__((format(printf, 3, 4)));
/* The first line of the runtime's last error. */
void tl_tune_drop_failed(TilecRuntime *rt, TlCandidate *c, TilecStatus status);

#endif
