/* What the files of runtime/core share.  A runtime is either on CUDA (cu is filled) or on a host
 * executor (jit runs the programs).  Locks: `lock` guards the error slots, `lost_text`, `late`
 * and the list of buffers; launches take no lock on their way. */
#ifndef TL_RT_CORE_H
#define TL_RT_CORE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "core/cuda_load.h"
#include "core/dtype.h"
#include "core/handle.h"
#include "core/jit_table.h"
#include "core/rule.h"
#include "tilec/runtime.h"

enum {
   TL_RT_MAX_ARGS = 256,   /* launch arguments of one kernel */
   TL_RT_MAX_HIDDEN = 19,  /* hidden ones: 16 tensor maps, the grid */
   TL_RT_ERROR_SLOTS = 16, /* threads whose last error is kept */
   TL_RT_RECENT = 64,      /* launches remembered for the report of a fault */
   TL_RT_RECENT_ARGS = 12, /* argument values remembered of each */
   TL_RT_NAME_BYTES = 96,  /* of a kernel with its place, cut */
};

/* How the type of a descriptor's pointer begins; its sizes and strides follow as arguments. */
#define TL_RT_DESCRIPTOR "tensordesc<"

typedef struct TlErrorSlot {
   pthread_t thread;             /* whose last failure this is */
   uint64_t stamp;               /* of its last use; 0 = free */
   char text[TL_RT_ERROR_BYTES]; /* the detail */
} TlErrorSlot;

/* An event of the driver: its maker's, and that of the waits for it, which may be late. */
typedef struct TlEvent {
   TlCuEvent cu;
   atomic_uint refs;
} TlEvent;
typedef struct TlWait TlWait; /* wait.c */

/* One launch, for the report of a fault that shows up later. */
typedef struct TlRecent {
   atomic_flag busy;              /* taken while read or written */
   uint64_t serial;               /* 0 = empty */
   char kernel[TL_RT_NAME_BYTES]; /* its name and place */
   uint32_t grid[3];
   uint32_t num_args;                /* all of them; the first TL_RT_RECENT_ARGS are kept */
   uint64_t args[TL_RT_RECENT_ARGS]; /* as passed, 8 bytes each */
} TlRecent;

struct TilecRuntime {
   TilecExecutor executor;
   pid_t pid;                            /* creator */
   atomic_bool is_closed;                /* by tilec_runtime_close, while objects of it live */
   atomic_uint lives;                    /* of those, and 1 until it is closed */
   TlHandle *first_buried, *last_buried; /* freed, oldest first; guarded by `lock` */
   uint32_t num_buried;
   atomic_bool *alive;    /* on a page that the kernel wipes in a forked child; NULL when
                            that cannot be had: then pids are compared */
   bool synchronous;      /* wait after each launch */
   bool check;            /* look at pointers before each launch */
   bool reads_host;       /* the GPU may read any host memory; known with `check` */
   bool is_shared;        /* with other processes, by MPS */
   uint32_t timeout_ms;   /* of waits; 0 = none */
   bool owns_primary;     /* the primary context was retained */
   uint32_t num_threads;  /* of host executors */
   TilecMemoryFn *memory; /* host executors, of the user; NULL = none */
   void *memory_user;
   TilecBuffer *buffers; /* host executors: that live; guarded by `lock` */
   TlCuda cu;            /* CUDA only */
   TlCuDevice device;
   TlCuContext context;
   TilecDeviceInfo info;      /* all but free_bytes */
   const TilecJitVtable *jit; /* NULL until tilec_jit_attach */
   void *jit_state;           /* first argument of its functions */
   pthread_mutex_t lock;
   uint64_t stamp;     /* of error slots */
   TlErrorSlot *slots; /* TL_RT_ERROR_SLOTS */
   atomic_int loss;    /* a TilecLoss */
   char lost_text[TL_RT_ERROR_BYTES];
   _Atomic uint64_t launches; /* so far */
   _Atomic uint64_t synced;   /* value of `launches` at the last clean synchronisation */
   TlRecent recent[TL_RT_RECENT];
   TlWait *late; /* waits that outlasted their call */
};

struct TilecBuffer {
   TlHandle handle; /* first */
   TilecRuntime *rt;
   TilecBuffer *next, *before; /* of rt->buffers */
   void *address;              /* device or host */
   uint64_t bytes;
   bool owned;
   bool is_read_only;
   _Atomic uint64_t written; /* bytes at its beginning that something may have written */
   struct DLManagedTensorVersioned *dlpack; /* whose memory it is; NULL = not of DLPack */
   TilecBufferLayout layout;                /* dtype NONE = not known */
};

/* One launch argument as the launcher needs it. */
typedef struct TlLaunchParam {
   const TilecArgInfo *info;
   TilecDtype dtype; /* scalar: its type; pointer: the element's (NONE = any) */
   bool is_pointer;
   bool is_passed;                    /* false: folded into the code */
   bool is_none;                      /* folded: None */
   uint32_t rank;                     /* of a tensor descriptor, whose pointer this is; else 0 */
   uint32_t block[TILEC_TENSOR_RANK]; /* of a tensor descriptor */
   bool is_plain;                     /* passed, and the only claim is that low_bits are 0 */
   uint64_t low_bits;
   bool has_int; /* folded: an integer, in `value` */
   int64_t value;
   double fvalue; /* folded: a float */
} TlLaunchParam;

/* What the driver made of one set of values; read and written without locks (see tensor_map.c). */
enum { TL_RT_MAP_KEY = 1 + TILEC_TENSOR_MAP_RANK + TILEC_TENSOR_MAP_RANK - 1, TL_RT_MAP_SLOTS = 4 };
typedef struct TlTensorMapSlot {
   _Atomic uint64_t turn;               /* odd while written; 0 = empty */
   _Atomic uint64_t key[TL_RT_MAP_KEY]; /* base, dims, strides */
   _Atomic TlCuResult code;             /* INVALID_VALUE: there is no such map */
   _Atomic uint64_t map[16];
} TlTensorMapSlot;

/* One hidden argument, its expressions parsed. */
typedef struct TlHidden {
   TlRule *base, *dims[TILEC_TENSOR_MAP_RANK], *strides[TILEC_TENSOR_MAP_RANK];
   TlTensorMapSlot *maps; /* TL_RT_MAP_SLOTS of a tensor map */
} TlHidden;

/* One entry, ready to launch. */
struct TlVariant {
   const TilecKernelInfo *info;
   TlCuFunction fn;       /* NULL on host executors */
   void *program;         /* host executors: jit's handle */
   TlLaunchParam *params; /* launch arguments in order */
   uint32_t num_params;
   int *slot_of;       /* info->args index → launch argument index, -1 = constexpr */
   int64_t *constants; /* info->args index → value of a constexpr that is an integer */
   bool has_rules;     /* some rule below, or a hidden argument, reads the arguments */
   TlRule *when;       /* NULL = always */
   TlRule *grid[3];    /* [0] NULL = none */
   TlRule *launch_grid[3];
   TlRule *short_when;          /* NULL = never */
   TlHidden *hidden;            /* info->num_hidden */
   char name[TL_RT_NAME_BYTES]; /* "elu (elu.tile:3)": copied whole at each launch */
   TilecStatus failed;          /* why tl_variant_init gives up */
};

struct TilecKernel {
   TilecModule *module;
   const char *name;
   TlVariant *variants; /* image modules: in the record's order */
   uint32_t num_variants;
};

struct TilecModule {
   TlHandle handle; /* first */
   TilecRuntime *rt;
   TlCuModule cu;
   TilecImageInfo *owned; /* record read from JSON; NULL when borrowed */
   TilecKernel *kernels;
   uint32_t num_kernels;
   char *log;           /* of the driver's compiler; NULL = nothing */
   void *source;        /* source modules: jit's handle */
   TilecModule *next;   /* source modules: of the file's next kernel */
   bool has_choice;     /* its kernel is one of several, jit's pick() says which */
   bool is_candidate;   /* it is one of those, compared in its first form */
   uint32_t likely_few; /* TilecKernelInfo.few_per_sm that its variants are likely to have */
};

/* error.c.  tl_rt_fail stores the detail for the calling thread and returns `status`. */
TilecStatus tl_rt_fail(const TilecRuntime *rt, TilecStatus status, const char *format, ...)
   __attribute__((format(printf, 3, 4)));
/* The same for a driver call; notes that the device is lost.  After a success nothing is stored. */
TilecStatus tl_rt_check(TilecRuntime *rt, TlCuResult code, const char *doing);
/* TILEC_TIMED_OUT, with the launches that may be to blame. */
TilecStatus tl_rt_fail_late(TilecRuntime *rt, const char *doing);
/* TILEC_BAD_ARGUMENT: "tilec_buffer_new: out is NULL", where there is a runtime to say it. */
TilecStatus tl_rt_null(const TilecRuntime *rt, const char *what);
TilecStatus tl_rt_no_memory(TilecRuntime *rt, const char *what);
/* Remembers a launch that is about to happen; its number. */
uint64_t tl_rt_note_launch(TilecRuntime *rt, const TlVariant *v, const uint32_t grid[3],
                           const uint64_t *args);
/* It did not happen, or is known to be clean. */
void tl_rt_acquit_launch(TilecRuntime *rt, uint64_t serial);

/* runtime.c.  Every public call is bracketed: enter refuses forked and lost runtimes and makes the
 * context current; leave restores.  `pushed` lives in the caller's frame. */
TilecStatus tl_rt_enter(TilecRuntime *rt, bool *pushed);
void tl_rt_leave(TilecRuntime *rt, bool pushed);
/* The same to give something back: where there is nobody to give it to, that is no failure, and the
 * detail of the caller's last one stays. */
bool tl_rt_enter_to_free(TilecRuntime *rt, bool *pushed);

/* TILEC_FORKED, or TILEC_BAD_ARGUMENT where it was closed: for calls that need no device. */
TilecStatus tl_rt_check_open(const TilecRuntime *rt);
/* handle.c: an object of the runtime, or the runtime's user, goes; the last one ends it. */
void tl_rt_drop(TilecRuntime *rt);
void tl_handles_done(TilecRuntime *rt);
/* TILEC_BAD_ARGUMENT where its module was freed. */
TilecStatus tl_rt_check_kernel(const TilecKernel *k, const char *call);

/* launch.c: the variant of an image module that such arguments fit, else NULL with the reason for
 * each in `why` (TL_RT_ERROR_BYTES). */
const TlVariant *tl_rt_fitting(const TilecKernel *k, const TilecArg *args, size_t num_args,
                               char *why);
/* Whether these arguments are too many or missing altogether. */
TilecStatus tl_rt_check_count(const TilecKernel *k, const TilecArg *args, size_t num_args);

/* wait.c: waits for as long as the runtime's options say, and checks the result.  The context is
 * current. */
TilecStatus tl_rt_wait_context(TilecRuntime *rt, const char *doing);
TilecStatus tl_rt_wait_event(TilecRuntime *rt, TlEvent *event, const char *doing);
/* Until end_ms, a time that tl_rt_end_of_waits gave: one limit for several waits. */
TilecStatus tl_rt_wait_stream(TilecRuntime *rt, TlCuStream stream, double end_ms,
                              const char *doing);
double tl_rt_end_of_waits(const TilecRuntime *rt);
/* Waits until all late waits have ended, without a limit. */
void tl_rt_end_waits(TilecRuntime *rt);
/* Leaves them to themselves for good: the runtime is abandoned. */
void tl_rt_give_waits_up(TilecRuntime *rt);
/* flags: cuEventCreate's. */
TilecStatus tl_rt_event_new(TilecRuntime *rt, unsigned flags, TlEvent **out);
/* The last one to have it tells the driver; cu NULL: there is nobody to tell. */
TlCuResult tl_rt_event_drop(const TlCuda *cu, TlEvent *event);

/* tensor_map.c: CUtensorMapDataType by element type; fp8 travels as bytes. */
int tl_rt_map_dtype(TilecDtype dtype);
/* The map of hidden argument `index` for these values, remembered or newly encoded.  Where there is
 * none *refused says so, with TILEC_OK; refused NULL: that is an error. */
TilecStatus tl_rt_tensor_map(TilecRuntime *rt, const TlVariant *v, uint32_t index,
                             const int64_t *names, bool *refused, TlCuTensorMap *out);
/* The values that such a map is made of: base, dims, strides of dims 1 and up (TL_RT_MAP_KEY). */
TilecStatus tl_rt_map_values(TilecRuntime *rt, const TlVariant *v, uint32_t index,
                             const int64_t *names, uint64_t *key);
/* Evaluates one expression of the record; the detail names it when it fails. */
TilecStatus tl_rt_eval(TilecRuntime *rt, const TlVariant *v, const TlRule *rule, const char *text,
                       const int64_t *names, int64_t *out);

/* memory.c: the buffer lives from here on, known by its address on host executors. */
void tl_buffer_begin(TilecBuffer *b);
/* Something may have written all bytes before `end`, from now on. */
void tl_buffer_note_written(TilecBuffer *b, uint64_t end);

/* dlpack.c: gives a tensor back to its producer; NULL is fine. */
void tl_dlpack_release(struct DLManagedTensorVersioned *managed);

/* launch.c: the kernel that such a launch uses, where there are several; else *k stays. */
TilecStatus tl_rt_chosen(TilecKernel **k, const TilecLaunch *launch, const TilecArg *args,
                         size_t num_args);

/* variant.c */
TilecStatus tl_variant_init(TilecRuntime *rt, TlVariant *v, const TilecKernelInfo *info);
void tl_variant_done(TlVariant *v);

/* args.c: how an argument sits in 8 bytes, whatever its type. */
typedef union TlSlot {
   uint64_t u;
   int64_t i;
   float f32;
   double f64;
} TlSlot;
/* Converts `arg` to what `param` wants.  On failure `text` (TL_RT_TEXT bytes) has the reason. */
enum { TL_RT_TEXT = 512 };
bool tl_arg_convert(const TlLaunchParam *param, const TilecArg *arg, TlSlot *out, char *text);
/* Adds to the reason why parameter i does not take its argument which other one's it was given, and
 * its own to that, where that is certain. */
void tl_args_note_order(const TlVariant *v, const TilecArg *args, uint32_t i, char *text);
/* The arguments with tensors as pointer, sizes and strides, in `flat` (TL_RT_MAX_ARGS): which of
 * v's parameters stand for which is checked.  Their number; 0 with the reason in `text`. */
uint32_t tl_args_flatten(const TlVariant *v, const TilecArg *args, size_t num_args, TilecArg *flat,
                         char *text);
/* Whether the facts that the code was compiled for hold. */
bool tl_arg_fits(const TlLaunchParam *param, TlSlot slot, bool is_none, char *text);

/* check.c: whether the pointers of a launch hold what they are said to. */
TilecStatus tl_rt_check_launch(TilecRuntime *rt, const TlVariant *v, const TilecArg *args,
                               const TlSlot *slots, const int64_t *names);

#endif
