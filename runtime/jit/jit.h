/* What the files of runtime/jit share.  One TlJit per runtime; a source is one kernel of one file.
 *
 * Locks: `lock` of the TlJit guards flights, the queue of the workers and the entries' list; it is
 * never held while something is compiled, loaded or read.  Buckets are read without it: singly
 * linked lists whose entries, once published, never change and live until the source is closed. */
#ifndef TL_JIT_JIT_H
#define TL_JIT_JIT_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/dtype.h"
#include "core/jit_table.h"
#include "jit/cache.h"
#include "jit/texts.h"
#include "jit/tune.h"
#include "tilec/tilec.h"

enum {
   TL_JIT_MAX_ARGS = 256,
   TL_JIT_BUCKETS = 256, /* power of two */
   TL_JIT_DETAIL = 4096, /* of an error, kept for whoever waits */
};

/* What a specialisation depends on, one per launch argument. */
enum {
   TL_FACT_ONE = 1,
   TL_FACT_MULTIPLE = 4 | 8 | 16, /* the number that divides it; 0: none of these */
   TL_FACT_FORM = 32,             /* times a TlForm, on the first argument: of the whole */
};
typedef struct TlArgKey {
   uint8_t kind;   /* TilecArgKind; buffers count as pointers */
   uint8_t dtype;  /* the parameter's type when annotated, else the argument's */
   uint8_t facts;  /* TL_FACT_ bits */
   uint8_t rank;   /* of a tensor */
   uint32_t block; /* of a tensor: 5 bits for each side, its logarithm */
} TlArgKey;

typedef struct TlJitParam {
   const TilecParamDecl *decl;
   uint32_t index;   /* among all parameters */
   char base[64];    /* annotated type without facts; "" = none */
   TilecDtype dtype; /* of base: the scalar's or the elements' */
   bool is_pointer;
   bool is_annotated;
   const char *says; /* annotated fact, ":16" or ":1"; "" = none */
} TlJitParam;

typedef struct TlJitEntry {
   _Atomic(struct TlJitEntry *) next; /* in the bucket; set before publication */
   uint64_t hash;
   TilecProgram *program; /* owns the record that the module uses; NULL: from the cache */
   TilecImageInfo *info;  /* the record when it comes from the cache */
   TilecModule *module;
   const TlVariant *variant;
   TlArgKey key[]; /* of num_args */
} TlJitEntry;

/* One specialisation in the making.  Guarded by the TlJit's lock. */
typedef struct TlFlight {
   struct TlJit *jit;
   struct TlJitSource *source;
   struct TlFlight *next; /* of the source's, in the making */
   struct TlFlight *next_queued;
   unsigned refs;
   bool is_queued; /* no thread has begun */
   bool is_done;
   bool for_launch;            /* does no more than a launch may */
   bool with_next;             /* starts `next_form` at its end, where a launch may need it */
   struct TlFlight *next_form; /* NULL: none, or not yet */
   TilecStatus status;         /* once done */
   char detail[TL_JIT_DETAIL]; /* of a failure */
   const TlJitEntry *entry;    /* of a success */
   uint64_t hash;
   size_t num_args;
   TlArgKey key[];
} TlFlight;

typedef struct TlJit {
   TilecRuntime *rt;
   void (*on_text)(void *user, const char *rendered);
   void *user;
   size_t memory_limit_bytes;
   bool never_compile;
   bool warns;          /* of what `tilec run` does, on the host executors */
   uint32_t tune;       /* a TilecTunePolicy */
   char *tune_database; /* NULL = none */
   TlCache cache;
   bool has_cache;
   atomic_bool has_noted; /* one note about the cache is enough */
   char *ptxas;           /* NULL = none */
   char **strings;        /* copies that the fields above point to, NULL-terminated */
   pthread_mutex_t lock;
   pthread_cond_t changed; /* a flight is done, was queued, or the end has come */
   TlFlight *first_queued, *last_queued;
   pthread_t *workers;
   uint32_t num_workers, max_workers, num_idle, num_queued;
   bool is_stopping;
} TlJit;

typedef struct TlJitSource {
   TlJit *jit;
   TilecSource options; /* strings are of `texts` or the listing */
   TlTexts texts;
   TilecDefine *defines; /* options.defines split at '=' */
   TilecListing *listing;
   const TilecKernelDecl *decl;
   TilecListing *file_listing; /* before the kernel was known; NULL: `listing` */
   bool is_whole;              /* no kernel was named: the module has all of the file's */
   TlTune *tune;               /* NULL: a configuration that the tuner opened */
   TlJitParam *params;
   uint32_t num_params;
   TlFlight *flights;    /* in the making */
   TlJitEntry **entries; /* in the order made, for reflection */
   _Atomic uint32_t num_entries;
   uint32_t entries_room;
   _Atomic(TlJitEntry *) buckets[TL_JIT_BUCKETS];
} TlJitSource;

/* jit.c */
/* TILEC_BAD_ARGUMENT: how many arguments are taken, how many given, names of those taken, and which
 * of those given is the first that goes to another's place (args NULL: not known). */
TilecStatus tl_jit_miscounted(TilecRuntime *rt, const TilecKernelDecl *decl, const TilecArg *args,
                              size_t num_given);
TilecStatus tl_jit_keys(const TlJitSource *s, const TilecArg *args, size_t num_args, TlForm form,
                        TlArgKey *key, uint64_t *hash);
/* The key of another form, and its hash; num_args is at least 1. */
uint64_t tl_jit_key_in(TlForm form, TlArgKey *key, size_t num_args);
/* The key of the form that is as right as a key's, and its hash: the first one, of that the one for
 * few programs. */
uint64_t tl_jit_other_key(const TlArgKey *key, size_t num_args, TlArgKey *other);
static inline TlForm
tl_jit_form(const TlArgKey *key, size_t num_args)
{
   return num_args ? (TlForm)(key[0].facts / TL_FACT_FORM) : TL_FORM_FIRST;
}
TlJitEntry *tl_jit_look_up(TlJitSource *s, uint64_t hash, const TlArgKey *key, size_t n);

/* The key of the same arguments where multiples of 8 and 4 are not told apart, whose variant serves
 * them as well, and its hash; false: it is the same. */
bool tl_jit_coarse_key(const TlJitSource *s, const TlArgKey *facts, TlArgKey *key, uint64_t *hash);

/* compile.c */
/* Reads and lists the file; s->listing. */
TilecStatus tl_jit_list(TlJitSource *s);
/* Fills `e` from the disk cache or by compiling; for_launch: only as far as a launch may. */
TilecStatus tl_jit_make(TlJitSource *s, const TlArgKey *key, bool for_launch, TlJitEntry *e);
void tl_jit_entry_free(TlJitEntry *e);
/* The signature of these facts, of malloc; NULL: out of memory. */
char *tl_jit_signature(const TlJitSource *s, const TlArgKey *key);
TilecStatus tl_jit_missing(TlJitSource *s, const TlArgKey *key, const char *why);

/* flight.c */
TilecStatus tl_flights_init(TlJit *jit, uint32_t max_workers);
void tl_flights_done(TlJit *jit);
/* Left to a worker, or joined when it is in the making, and the variant without tensor maps after
 * it; the caller holds a reference. */
TilecStatus tl_flight_start(TlJitSource *s, const TlArgKey *key, size_t n, uint64_t hash,
                            TlFlight **out);
TilecStatus tl_flight_join(TlFlight *f, bool wait);
void tl_flight_release(TlFlight *f);
/* Makes it in this thread, or waits for the one that does. */
TilecStatus tl_flight_make(TlJitSource *s, const TlArgKey *key, size_t n, uint64_t hash,
                           bool for_launch, const TlVariant **out);
/* Nothing is in the making for `s` afterwards. */
void tl_flights_end(TlJitSource *s);

/* explain.c */
TilecStatus tl_jit_explain(void *source, const TilecArg *args, size_t num_args, char *text,
                           size_t bytes);

#endif
