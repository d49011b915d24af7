/* tilec runtime: load compiled kernels, hold buffers, launch.  Plain C11, usable from C++.
 * Needs nothing but the NVIDIA driver's libcuda.so.1, which it opens at run time.
 *
 *    TilecRuntime *rt;  TilecModule *m;  TilecKernel *add;
 *    tilec_runtime_open(NULL, &rt);
 *    tilec_module_load(rt, ptx, TILEC_STRLEN, json, TILEC_STRLEN, &m);
 *    tilec_module_kernel(m, "add", &add);
 *    TILEC_LAUNCH(add, stream, n / 1024, 1, 1, x, y, out, n);
 *
 * Rules that hold for every call
 * - No global state, no environment, no printing, no exit, no signal handlers.
 * - Threads: every object may be used from many threads at once, except that freeing one must not
 *   race with its use.  Calls leave the thread's current CUDA context as they found it.
 * - Ownership: the runtime owns nothing of the caller's; modules, buffers, events and streams are
 *   freed by the caller.  A kernel belongs to its module.  Every _free takes NULL.  A runtime that
 *   is closed first ends with the last module, buffer or event of it, whose other calls are
 *   TILEC_BAD_ARGUMENT until then.
 * - Option structs start with struct_size = sizeof(the struct); a zero field means its default;
 *   fields are only ever appended.  One that is larger than this library knows, or too small, is
 *   TILEC_BAD_ARGUMENT (of TilecRuntimeOptions without a detail: it says where that goes).
 * - NULL for a handle is TILEC_BAD_ARGUMENT, without a detail where no runtime is known.  So is a
 *   module, kernel, buffer or event that was freed, and freeing it again only leaves a detail: as
 *   long as its runtime lives and no 256 others of it were freed since.  That is a help to find the
 *   slip; a program must not count on it, and other handles are as memory after free().
 * - Failures: a status, and one line of detail from tilec_runtime_error().  Any call may also
 *   return TILEC_DEVICE_LOST (an earlier kernel faulted; the detail names the first cause) and
 *   TILEC_FORKED.
 * - Streams are CUstream handles (cudaStream_t is the same); NULL = the default stream.  On the
 *   host executors streams are ignored and every launch is finished when it returns. */
#ifndef TILEC_RUNTIME_H
#define TILEC_RUNTIME_H

#ifdef __has_include
#if !__has_include("tilec/arg.h")
#error "headers of the source tree are in two folders: -Icompiler/include -Iruntime/include"
#endif
#endif

#include "tilec/arg.h"
#include "tilec/kernel_info.h"
#include "tilec/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TilecRuntime TilecRuntime;
typedef struct TilecModule TilecModule;
typedef struct TilecKernel TilecKernel;
typedef struct TilecEvent TilecEvent;
typedef void *TilecStream;

/* ---- Opening --------------------------------------------------------------------------------- */

typedef enum TilecExecutor {
   TILEC_ON_CUDA = 0, /* the GPU */
   TILEC_ON_CPU,      /* whole tiles on this CPU, every access checked; needs tilec_jit_attach */
   TILEC_ON_SIM,      /* the GPU program thread by thread on this CPU; needs tilec_jit_attach */
} TilecExecutor;

typedef struct TilecRuntimeOptions {
   size_t struct_size;
   TilecExecutor executor;
   int32_t device;   /* ordinal; 0 = first.  Ignored with `context` */
   void *context;    /* an existing CUcontext, not taken over; NULL = the device's primary one */
   bool use_current; /* take the calling thread's current CUcontext; TILEC_BAD_CONTEXT if none */
   const char *driver_path; /* NULL = "libcuda.so.1" */
   bool synchronous;        /* wait after every launch, so that a fault names its kernel */
   uint32_t num_threads;    /* host executors; 0 = as many as the process may use */
   char *error;             /* receives the detail when opening fails; may be NULL */
   size_t error_bytes;
   bool check; /* look at the arguments of every launch on a GPU first: TILEC_BAD_ARGUMENT, naming
                  parameter and value, for NULL, for memory of another device or of the host that
                  the GPU cannot read, for an address that is not a multiple of its element's
                  size, for fewer bytes than `bytes` says or than a tensor map reaches.  Costs
                  driver calls */
   uint32_t timeout_ms;   /* no wait for the GPU lasts longer: tilec_runtime_sync, _stream_sync and
                           _event_sync, uploads, downloads, launches with `synchronous`.  Beyond it
                           they are TILEC_TIMED_OUT, and the detail names the launches that may
                           still run.  The GPU goes on: wait again, or tilec_runtime_abandon.  Other
                           calls may wait for the GPU for as long as the driver makes them, and
                           tilec_runtime_close does, until what timed out has ended.  0 = no
                           limit */
   TilecMemoryFn *memory; /* host executors: memory that is neither an argument's nor of a buffer
                             of this runtime; NULL = there is none */
   void *memory_user;     /* passed to it */
} TilecRuntimeOptions;

/* options may be NULL.  TILEC_NO_DRIVER, TILEC_DRIVER_TOO_OLD (below CUDA 12.0), TILEC_NO_DEVICE,
 * TILEC_BAD_CONTEXT, TILEC_OUT_OF_DEVICE_MEMORY. */
TILEC_CHECKED TilecStatus tilec_runtime_open(const TilecRuntimeOptions *options,
                                             TilecRuntime **out);
/* Modules, buffers and events of it may be freed later, and keep device and memory until then; all
 * else must be freed before. */
TILEC_API void tilec_runtime_close(TilecRuntime *rt);

/* Why every call of the runtime answers TILEC_DEVICE_LOST. */
typedef enum TilecLoss {
   TILEC_NOT_LOST = 0,
   TILEC_LOST_TO_KERNEL,   /* out of bounds, misaligned, a trap, a failed assertion */
   TILEC_LOST_TO_HARDWARE, /* ECC, NVLink, another device: no launch is to blame */
   TILEC_LOST_TO_WATCHDOG, /* a kernel took too long on a GPU with a display */
   TILEC_LOST_TO_MPS,      /* the MPS server ended this process's use of the GPU */
   TILEC_LOST_TO_UNKNOWN,  /* the driver does not say */
   TILEC_ABANDONED,        /* tilec_runtime_abandon */
} TilecLoss;
TILEC_API TilecLoss tilec_runtime_loss(const TilecRuntime *rt);
/* Gives the GPU up because of a kernel that does not end.  From here on calls on this runtime are
 * TILEC_DEVICE_LOST, and its _free calls and tilec_runtime_close wait for nothing: context, device
 * memory and kernel are left to the process, whose end ends the kernel.  Waits that are under way
 * in other threads end at their limit.  Other runtimes on the same context know nothing of it, and
 * wait on.  A runtime that is lost already keeps its cause.  TILEC_UNSUPPORTED on host
 * executors. */
TILEC_API TilecStatus tilec_runtime_abandon(TilecRuntime *rt);

/* Copies the detail of the calling thread's last failed call on `rt` ("" if none) and ends it with
 * NUL; returns its full length, which may be >= bytes.  NULL for `rt`: of the last one that was
 * given NULL for a handle, or of a tilec_runtime_open, so that no runtime is known. */
TILEC_API size_t tilec_runtime_error(const TilecRuntime *rt, char *buffer, size_t bytes);

typedef struct TilecDeviceInfo {
   char name[128];       /* "NVIDIA H200"; the executor's name on host executors */
   char arch[16];        /* best target of this device: "sm_90a"; "host" */
   int32_t ordinal;      /* of this device */
   int32_t device_count; /* devices that the driver shows */
   uint32_t sm_major, sm_minor;
   uint32_t num_sms;
   uint32_t warp_size;
   uint32_t max_threads;      /* per block */
   uint32_t max_shared_bytes; /* per block, after opting in */
   uint32_t clock_khz;        /* peak SM clock */
   uint32_t l2_bytes;
   uint64_t memory_bytes;    /* total */
   uint64_t free_bytes;      /* now */
   int32_t driver_version;   /* 12040 = CUDA 12.4 */
   uint32_t max_ptx_version; /* newest PTX that this driver takes: 84 = PTX 8.4 */
} TilecDeviceInfo;

TILEC_CHECKED TilecStatus tilec_runtime_device(TilecRuntime *rt, TilecDeviceInfo *out);
TILEC_API TilecExecutor tilec_runtime_executor(const TilecRuntime *rt);
/* The CUcontext in use; NULL on host executors. */
TILEC_API void *tilec_runtime_context(const TilecRuntime *rt);
/* Waits for all work of the context.  Reports faults of earlier launches. */
TILEC_CHECKED TilecStatus tilec_runtime_sync(TilecRuntime *rt);

/* ---- Buffers --------------------------------------------------------------------------------- */

/* `bytes` of device memory (host memory on host executors), 256-byte aligned, contents undefined;
 * 0 is allowed and has a NULL address. */
TILEC_CHECKED TilecStatus tilec_buffer_new(TilecRuntime *rt, uint64_t bytes, TilecBuffer **out);
/* Describes memory of the caller: a device address, or a host one on host executors.  Not freed. */
TILEC_CHECKED TilecStatus tilec_buffer_wrap(TilecRuntime *rt, void *address, uint64_t bytes,
                                            TilecBuffer **out);
TILEC_API void tilec_buffer_free(TilecBuffer *buffer);

/* An array of another library: dlpack.h's struct of version 1 (that header is not needed here).
 * Success takes it over: tilec_buffer_free calls its deleter, so no launch that uses the buffer may
 * be in flight then.  Any failure leaves it to the caller.  The buffer begins at the first element
 * and ends after the last.  Work that the producer has under way is the caller's to order before
 * the launch's stream.  TILEC_BAD_ARGUMENT: on another device than the runtime (memory of
 * cudaMallocHost is taken anywhere), negative strides; TILEC_UNSUPPORTED: version, element type.
 * When it is read-only, launches of kernels that write through the parameter, uploads, fills and
 * copies into it are TILEC_BAD_ARGUMENT. */
struct DLManagedTensorVersioned;
TILEC_CHECKED TilecStatus tilec_buffer_from_dlpack(TilecRuntime *rt,
                                                   struct DLManagedTensorVersioned *tensor,
                                                   TilecBuffer **out);
typedef struct TilecBufferLayout {
   TilecDtype dtype; /* stands for the argument's where a launch names none */
   uint32_t rank;
   const int64_t *shape;   /* elements */
   const int64_t *strides; /* elements; filled in when the producer left them out */
   bool is_read_only;
} TilecBufferLayout;
/* Borrowed from the buffer; NULL when it was made without a layout. */
TILEC_API const TilecBufferLayout *tilec_buffer_layout(const TilecBuffer *buffer);

TILEC_API void *tilec_buffer_address(const TilecBuffer *buffer);
TILEC_API uint64_t tilec_buffer_bytes(const TilecBuffer *buffer);

/* Copies, ordered on `stream`, finished when the call returns.  offset + bytes must lie inside.
 * After TILEC_TIMED_OUT the copy may have been made, still be made, or never: keep the host memory
 * until a wait for the stream or the runtime is TILEC_OK, or the device is lost; of a runtime that
 * is abandoned, until the process ends. */
TILEC_CHECKED TilecStatus tilec_buffer_upload(TilecBuffer *buffer, uint64_t offset,
                                              const void *source, uint64_t bytes,
                                              TilecStream stream);
TILEC_CHECKED TilecStatus tilec_buffer_download(TilecBuffer *buffer, uint64_t offset, void *target,
                                                uint64_t bytes, TilecStream stream);
/* Copies between buffers of one runtime that do not overlap; ordered on `stream`, may finish
 * later. */
TILEC_CHECKED TilecStatus tilec_buffer_copy(TilecBuffer *to, uint64_t to_offset,
                                            const TilecBuffer *from, uint64_t from_offset,
                                            uint64_t bytes, TilecStream stream);
/* Sets bytes [offset, offset + bytes) to `value`; ordered on `stream`, may finish later. */
TILEC_CHECKED TilecStatus tilec_buffer_fill(TilecBuffer *buffer, uint64_t offset, uint8_t value,
                                            uint64_t bytes, TilecStream stream);

/* ---- Kernels --------------------------------------------------------------------------------- */

/* Loads PTX (or a cubin) with its launch record (K.json).  Both are copied.  TILEC_BAD_IMAGE:
 * record or PTX damaged, the driver's log is in the detail; TILEC_BAD_TARGET: made for another
 * device; TILEC_DRIVER_TOO_OLD: PTX newer than the driver; TILEC_UNSUPPORTED: on host executors. */
TILEC_CHECKED TilecStatus tilec_module_load(TilecRuntime *rt, const void *image, size_t image_bytes,
                                            const char *json, size_t json_bytes, TilecModule **out);
/* What the driver's compiler said while loading (registers, spills, warnings such as C7510); "" if
 * nothing.  Borrowed from the module. */
TILEC_API const char *tilec_module_log(const TilecModule *module);
/* Waits for nothing: no launch of its kernels may be in flight. */
TILEC_API void tilec_module_free(TilecModule *module);
/* name NULL: the module's only kernel.  Variants of one name are one kernel.  Borrowed from the
 * module; on TILEC_NOT_FOUND the detail lists what there is. */
TILEC_CHECKED TilecStatus tilec_module_kernel(TilecModule *module, const char *name,
                                              TilecKernel **out);

/* A kernel as source, compiled when the types and facts of its arguments are first seen.
 * Needs tilec_jit_attach.  Strings are copied; the file is read once, when it is opened. */
typedef struct TilecSource {
   size_t struct_size;
   const char *file;           /* path, and name in diagnostics */
   const char *source;         /* NULL: read `file` */
   size_t source_bytes;        /* TILEC_STRLEN allowed */
   const char *kernel;         /* the module's only kernel; NULL: all kernels of the file */
   const char *const *defines; /* "BLOCK=1024" …: values of constexpr parameters */
   size_t num_defines;
   const char *const *include_dirs;
   size_t num_include_dirs;
   uint32_t num_warps; /* 0 = the kernel's own */
   uint32_t num_stages;
   bool debug_info;
   bool check;                /* device_assert and overflow checks are compiled in */
   const char *arch;          /* NULL = the device's */
   uint32_t opt;              /* a TilecOpt */
   uint32_t fp_mode;          /* a TilecFpMode */
   const char *grid;          /* used instead of the kernel's own grid=; NULL = its own */
   uint32_t tune;             /* a TilecTunePolicy */
   const char *const *assume; /* "NAME=VALUE": see TilecCompileOptions */
   size_t num_assume;
   uint32_t tma; /* a TilecTma; a launch for whose arguments there are no tensor maps takes a
                    variant without them */
   const char *fp32_dot; /* as in TilecCompileOptions */
   bool print_threads;   /* likewise */
} TilecSource;

/* Parses and lists the file, compiles nothing yet.  TILEC_UNSUPPORTED without an attached compiler,
 * TILEC_BAD_SOURCE, TILEC_NOT_FOUND, TILEC_IO.  Free with tilec_module_free. */
TILEC_CHECKED TilecStatus tilec_module_from_source(TilecRuntime *rt, const TilecSource *source,
                                                   TilecModule **out);

/* Number of variants (specialisations compiled so far for a source kernel) and the record of one;
 * NULL when out of range.  Borrowed from the kernel. */
TILEC_API uint32_t tilec_kernel_variants(const TilecKernel *kernel);
TILEC_API const TilecKernelInfo *tilec_kernel_info(const TilecKernel *kernel, uint32_t variant);

typedef struct TilecKernelUse {
   uint32_t registers;   /* per thread */
   uint32_t spill_bytes; /* local memory per thread */
   uint32_t static_shared_bytes;
   uint32_t blocks_per_sm; /* resident at once */
} TilecKernelUse;
/* What the driver's compiler made of one variant.  TILEC_UNSUPPORTED on host executors. */
TILEC_CHECKED TilecStatus tilec_kernel_use(TilecKernel *kernel, uint32_t variant,
                                           TilecKernelUse *out);

/* ---- Launching ------------------------------------------------------------------------------- */

#define TILEC_OWN_GRID UINT32_MAX /* as grid[0]: the kernel's own grid= expressions */

typedef struct TilecLaunch {
   TilecStream stream;
   uint32_t grid[3]; /* programs; grid[0] = TILEC_OWN_GRID: the kernel's own.  A zero
                        in one dimension makes the launch a no-op; zeros in the second and the
                        third, as {4} has, are an error.  Limits: 2^31-1, 65535, 65535 */
} TilecLaunch;

/* Launches with one TilecArg per parameter that is not constexpr, in order.  Scalars are converted
 * to the parameter's type when the value fits (any int to any int, float to float, int to float;
 * floats round);
 * else TILEC_BAD_ARGUMENT, whose detail names parameter, both types and the value.  Also
 * TILEC_BAD_ARGUMENT: wrong count, pointer to another element type, facts no variant was compiled
 * for.  TILEC_LIMIT: grid, a size that an image's tensor map does not reach.  TILEC_NOT_FOUND: the
 * variant is not there and may not be made now: the stream captures a graph, or
 * TilecJitOptions.never_compile; the detail names its signature.
 * Returns before the kernel runs (see TilecRuntimeOptions.synchronous).  With a variant that is
 * there, a launch takes no lock, allocates nothing and works in stream capture.
 * Host executors: finished on return, TILEC_FAULT with the place in the detail. */
TILEC_CHECKED TilecStatus tilec_launch(TilecKernel *kernel, const TilecLaunch *launch,
                                       const TilecArg *args, size_t num_args);
/* Compiles (source kernels) and loads what a launch with such arguments would need, without
 * launching: values matter only for their facts.  A kernel with tensor maps is compiled without
 * them as well, for launches whose sizes make none; one for which it is other code, for launches
 * of few programs as well (TilecKernelInfo.few_per_sm). */
TILEC_CHECKED TilecStatus tilec_kernel_prepare(TilecKernel *kernel, const TilecArg *args,
                                               size_t num_args);

/* ---- Specialisation: compiling ahead, and what a launch would use ----------------------------
 * A source kernel is compiled once for every set of facts: the type of each argument (an integer
 * that comes as 64 bits for a parameter without a written type counts as i32 when its value fits),
 * whether an integer is 1, whether it is divisible by 16, or else by 8, or by 4, whether an
 * address is by 16, which are None.  Where nothing may be compiled, a variant that counts on
 * neither 8 nor 4 serves such integers too.
 * do_not_specialize=["n"] and do_not_specialize_on_alignment=["x"] in the decorator switch a
 * parameter's facts off. */

typedef struct TilecPending TilecPending;
/* Starts what tilec_kernel_prepare does on a worker thread; a compilation that is under way for
 * the same facts is joined.  *out is freed before the kernel's module. */
TILEC_CHECKED TilecStatus tilec_kernel_prepare_async(TilecKernel *kernel, const TilecArg *args,
                                                     size_t num_args, TilecPending **out);
/* The status that tilec_kernel_prepare would have returned; its detail becomes the caller's. */
TILEC_CHECKED TilecStatus tilec_pending_wait(TilecPending *pending);
/* The same without waiting: TILEC_NOT_READY while it is under way. */
TILEC_CHECKED TilecStatus tilec_pending_query(TilecPending *pending);
/* Waits for nothing; what was started goes on. */
TILEC_API void tilec_pending_free(TilecPending *pending);

/* Says in words which variant such arguments would use, or why a new one would be made ("'n': was
 * divisible by 16, now not divisible").  Compiles nothing.  The text is cut to `bytes`. */
TILEC_CHECKED TilecStatus tilec_kernel_explain(TilecKernel *kernel, const TilecArg *args,
                                               size_t num_args, char *buffer, size_t bytes);

/* TILEC_LAUNCH(kernel, stream, gx, gy, gz, args...): up to 32 arguments, each as TILEC_ARG takes
 * it. */
#define TILEC_LAUNCH(kernel, stream_, gx, gy, gz, ...)                                             \
   tilec_launch_values((kernel), (stream_), (gx), (gy), (gz), TILEC_COUNT(__VA_ARGS__),            \
                       TILEC_ARGS(__VA_ARGS__))

/* ---- Streams and events ---------------------------------------------------------------------- */

TILEC_CHECKED TilecStatus tilec_stream_new(TilecRuntime *rt, TilecStream *out);
TILEC_API void tilec_stream_free(TilecRuntime *rt, TilecStream stream);
/* Reports faults of earlier launches. */
TILEC_CHECKED TilecStatus tilec_stream_sync(TilecRuntime *rt, TilecStream stream);

TILEC_CHECKED TilecStatus tilec_event_new(TilecRuntime *rt, TilecEvent **out);
TILEC_API void tilec_event_free(TilecEvent *event);
TILEC_CHECKED TilecStatus tilec_event_record(TilecEvent *event, TilecStream stream);
/* What `stream` is given from now on waits for the event's last record; the caller does not wait.
 * The stream may be another runtime's.  While streams capture a graph this is how they are joined
 * in it. */
TILEC_CHECKED TilecStatus tilec_stream_wait(TilecStream stream, TilecEvent *event);
TILEC_CHECKED TilecStatus tilec_event_sync(TilecEvent *event);
/* TILEC_OK once everything before the record is done, else TILEC_NOT_READY. */
TILEC_CHECKED TilecStatus tilec_event_query(TilecEvent *event);
/* Milliseconds from `start` to `stop`, both recorded and done. */
TILEC_CHECKED TilecStatus tilec_event_elapsed(TilecEvent *start, TilecEvent *stop, double *ms);

/* ---- The compiler behind the runtime (library tilec_jit) ------------------------------------- */

typedef struct TilecJitOptions {
   size_t struct_size;
   /* diagnostics; NULL: only in the detail.  Several threads may call it at once: those that
      compile */
   void (*on_text)(void *user, const char *rendered);
   void *user;
   size_t memory_limit_bytes; /* of one compilation; 0 = the compiler's default */
   bool never_compile;    /* a launch compiles nothing (but loads from the disk cache): a missing
                             variant is TILEC_NOT_FOUND.  tilec_kernel_prepare still compiles. */
   uint32_t num_workers;  /* threads of tilec_kernel_prepare_async; 0 = one per core */
   const char *cache_dir; /* disk cache, made with mode 0700 when missing; NULL = none.  What goes
                             wrong with it never fails a call: the kernel is compiled and not kept,
                             and one note goes to on_text and the detail. */
   uint64_t cache_bytes;  /* its size limit; 0 = 1 GiB */
   const char *const *cache_layers; /* more directories, only read, looked at after cache_dir */
   size_t num_cache_layers;
   const char *ptxas; /* path of an assembler: entries of the disk cache also hold a cubin */
   uint32_t tune;     /* a TilecTunePolicy, for sources that name none */
   const char *tune_database; /* file that keeps the tuner's choices, made when missing; NULL:
                                 none.  What goes wrong with it never fails a call */
   bool warn; /* on the host executors on_text also hears what `tilec run` warns of: in a kernel's
                 text, and in the first launches of a variant, which are watched */
} TilecJitOptions;

/* Gives `rt` the compiler and the host executors.  Once per runtime, before its first use from a
 * second thread; options may be NULL. */
TILEC_CHECKED TilecStatus tilec_jit_attach(TilecRuntime *rt, const TilecJitOptions *options);

/* ---- Tuning (library tilec_jit) --------------------------------------------------------------
 * A kernel under @autotune has several configurations.  For each combination of the values of its
 * key= arguments and of the argument types one is chosen: what a database holds, else what is
 * measured now, else the first.  Defines and num_warps of TilecSource win over configurations. */

typedef enum TilecTunePolicy {
   TILEC_TUNE_DEFAULT = 0, /* TilecSource: as TilecJitOptions says; there: TILEC_TUNE_AUTO */
   TILEC_TUNE_AUTO,   /* measured at the first launch; never by a launch on a host executor, or on a
                         stream that captures a graph, or where launches may not compile */
   TILEC_TUNE_STORED, /* launches never measure */
   TILEC_TUNE_OFF,    /* the first configuration, whatever is stored */
} TilecTunePolicy;

struct TilecConfig; /* tilec/tilec.h */

typedef struct TilecTuneCandidate {
   const char *config;     /* "BLOCK=128, num_warps=8, num_stages=3" */
   TilecStatus status;     /* TILEC_OK: measured to the end */
   const char *reason;     /* why it was dropped: one line; "" when it was not */
   double median_ms;       /* of the launches measured; 0 when none was */
   double low_ms, high_ms; /* 20 % and 80 % of them took at most this */
   const double *samples;  /* ascending, milliseconds */
   uint32_t num_samples;
   uint32_t threads;      /* per block */
   uint32_t shared_bytes; /* dynamic */
   uint32_t registers;    /* per thread; 0 on host executors */
   uint32_t spill_bytes;
   bool is_tied; /* measured, and as fast as the lowest median within the noise (or 0.5 %) */
} TilecTuneCandidate;

typedef struct TilecTuneProgress {
   uint32_t compiled; /* candidates compiled (or dropped) so far */
   uint32_t measured; /* rounds measured so far */
   uint32_t rounds;   /* of how many; 0 = not known yet */
   uint32_t candidates;
} TilecTuneProgress;

typedef struct TilecTuneOptions {
   size_t struct_size;
   const struct TilecConfig *configs; /* measure these instead of the kernel's own; nothing is
                                         stored and launches do not use the result */
   uint32_t num_configs;
   bool force;           /* measure even if a choice is stored */
   bool keep_all;        /* measure every candidate to the end; else slow ones are dropped early */
   bool on_host;         /* allow a host executor, timed by the clock */
   bool warm_cache;      /* leave the L2 cache as the launch before left it; else it is emptied
                            before each measured launch */
   uint32_t warmup_ms;   /* 0 = as the decorator says, else 25 */
   uint32_t rep_ms;      /* of measuring each candidate; 0 = as the decorator says, else 100 */
   uint32_t num_threads; /* that compile; 0 = one per core */
   uint32_t reference;   /* 1 + number of the configuration whose results are right: candidates that
                            disagree are dropped; 0 = none */
   double tolerance;     /* of that: relative L2 error of each written array of floats; 0 = 1e-2 for
                            types of 16 bits and fewer, 1e-3 for fp32, 1e-9 for fp64.  Integers
                            must be equal */
   /* Called after one launch of each candidate on the arguments as they were: false drops it. */
   bool (*check)(void *user, const char *config, const TilecArg *args, size_t num_args);
   void (*on_progress)(void *user, const TilecTuneProgress *progress); /* one thread at a time */
   void *user;
} TilecTuneOptions;

typedef struct TilecTuneResult TilecTuneResult;
typedef struct TilecTuneInfo {
   const TilecTuneCandidate *candidates; /* in the order of the configurations; with from_store the
                                            winner alone, not measured */
   uint32_t num_candidates;
   uint32_t winner; /* index of the chosen one */
   bool from_store;
   bool is_stored;   /* the database holds it now */
   const char *note; /* "", or one line: why it was not stored, which argument was not saved */
   const char *key;  /* "n=1000; x=*fp16": what the choice is for */
} TilecTuneInfo;

/* Chooses a configuration for such arguments by measuring real launches of all of them, and makes
 * later launches use it.  Candidates that fail to compile, to launch, or give wrong results are
 * dropped with a reason; TILEC_NOT_FOUND when none is left.  Of equal times (0.5 %, or two
 * standard errors of the difference) the one with fewer resources.  Memory that the kernel writes
 * is put back afterwards (sizes of bare pointers must be given for that); before each measured
 * launch reset_to_zero arrays are cleared and restore_value arrays put back.  Blocks until the
 * stream is idle; TILEC_BAD_CONTEXT while it captures.  TILEC_TIMED_OUT: a candidate did not end
 * within the runtime's timeout_ms; where it does not in as long again, the runtime is abandoned.
 * A kernel with one configuration is measured all the same.  options and out may be NULL. */
TILEC_CHECKED TilecStatus tilec_kernel_tune(TilecKernel *kernel, const TilecLaunch *launch,
                                            const TilecArg *args, size_t num_args,
                                            const TilecTuneOptions *options, TilecTuneResult **out);
TILEC_API const TilecTuneInfo *tilec_tune_info(const TilecTuneResult *result);
TILEC_API void tilec_tune_free(TilecTuneResult *result);

/* The choices of a database as JSON text, and back: existing entries are replaced.  TILEC_IO: no
 * database there, or it cannot be written; TILEC_BAD_IMAGE: the text is not such JSON; `error` (may
 * be NULL) says why.  Any process may use the database at the same time. */
TILEC_CHECKED TilecStatus tilec_tune_export(const char *database,
                                            bool (*put)(void *user, const char *text, size_t len),
                                            void *user, char *error, size_t error_bytes);
TILEC_CHECKED TilecStatus tilec_tune_import(const char *database, const char *json, size_t len,
                                            uint32_t *count, char *error, size_t error_bytes);

/* ---- Machinery of TILEC_LAUNCH --------------------------------------------------------------- */

#define TILEC_COUNT(...)                                                                           \
   TILEC_COUNT_(__VA_ARGS__, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16,   \
                15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define TILEC_COUNT_(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17,   \
                     a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, n, \
                     ...)                                                                          \
   n
#define TILEC_JOIN_(a, b) a##b
#define TILEC_JOIN(a, b)  TILEC_JOIN_(a, b)
#define TILEC_MAP(...)    TILEC_JOIN(TILEC_MAP_, TILEC_COUNT(__VA_ARGS__))(__VA_ARGS__)
#define TILEC_MAP_1(a)       TILEC_ARG(a)
#define TILEC_MAP_2(a, ...)  TILEC_ARG(a), TILEC_MAP_1(__VA_ARGS__)
#define TILEC_MAP_3(a, ...)  TILEC_ARG(a), TILEC_MAP_2(__VA_ARGS__)
#define TILEC_MAP_4(a, ...)  TILEC_ARG(a), TILEC_MAP_3(__VA_ARGS__)
#define TILEC_MAP_5(a, ...)  TILEC_ARG(a), TILEC_MAP_4(__VA_ARGS__)
#define TILEC_MAP_6(a, ...)  TILEC_ARG(a), TILEC_MAP_5(__VA_ARGS__)
#define TILEC_MAP_7(a, ...)  TILEC_ARG(a), TILEC_MAP_6(__VA_ARGS__)
#define TILEC_MAP_8(a, ...)  TILEC_ARG(a), TILEC_MAP_7(__VA_ARGS__)
#define TILEC_MAP_9(a, ...)  TILEC_ARG(a), TILEC_MAP_8(__VA_ARGS__)
#define TILEC_MAP_10(a, ...) TILEC_ARG(a), TILEC_MAP_9(__VA_ARGS__)
#define TILEC_MAP_11(a, ...) TILEC_ARG(a), TILEC_MAP_10(__VA_ARGS__)
#define TILEC_MAP_12(a, ...) TILEC_ARG(a), TILEC_MAP_11(__VA_ARGS__)
#define TILEC_MAP_13(a, ...) TILEC_ARG(a), TILEC_MAP_12(__VA_ARGS__)
#define TILEC_MAP_14(a, ...) TILEC_ARG(a), TILEC_MAP_13(__VA_ARGS__)
#define TILEC_MAP_15(a, ...) TILEC_ARG(a), TILEC_MAP_14(__VA_ARGS__)
#define TILEC_MAP_16(a, ...) TILEC_ARG(a), TILEC_MAP_15(__VA_ARGS__)
#define TILEC_MAP_17(a, ...) TILEC_ARG(a), TILEC_MAP_16(__VA_ARGS__)
#define TILEC_MAP_18(a, ...) TILEC_ARG(a), TILEC_MAP_17(__VA_ARGS__)
#define TILEC_MAP_19(a, ...) TILEC_ARG(a), TILEC_MAP_18(__VA_ARGS__)
#define TILEC_MAP_20(a, ...) TILEC_ARG(a), TILEC_MAP_19(__VA_ARGS__)
#define TILEC_MAP_21(a, ...) TILEC_ARG(a), TILEC_MAP_20(__VA_ARGS__)
#define TILEC_MAP_22(a, ...) TILEC_ARG(a), TILEC_MAP_21(__VA_ARGS__)
#define TILEC_MAP_23(a, ...) TILEC_ARG(a), TILEC_MAP_22(__VA_ARGS__)
#define TILEC_MAP_24(a, ...) TILEC_ARG(a), TILEC_MAP_23(__VA_ARGS__)
#define TILEC_MAP_25(a, ...) TILEC_ARG(a), TILEC_MAP_24(__VA_ARGS__)
#define TILEC_MAP_26(a, ...) TILEC_ARG(a), TILEC_MAP_25(__VA_ARGS__)
#define TILEC_MAP_27(a, ...) TILEC_ARG(a), TILEC_MAP_26(__VA_ARGS__)
#define TILEC_MAP_28(a, ...) TILEC_ARG(a), TILEC_MAP_27(__VA_ARGS__)
#define TILEC_MAP_29(a, ...) TILEC_ARG(a), TILEC_MAP_28(__VA_ARGS__)
#define TILEC_MAP_30(a, ...) TILEC_ARG(a), TILEC_MAP_29(__VA_ARGS__)
#define TILEC_MAP_31(a, ...) TILEC_ARG(a), TILEC_MAP_30(__VA_ARGS__)
#define TILEC_MAP_32(a, ...) TILEC_ARG(a), TILEC_MAP_31(__VA_ARGS__)

/* The same call in C++, where a braced list stands for the compound literal. */
#ifdef __cplusplus
}
struct TilecArgList {
   TilecArg v[32];
};
#define TILEC_ARGS(...) (TilecArgList{{TILEC_MAP(__VA_ARGS__)}}).v
extern "C" {
#else
#define TILEC_ARGS(...) ((const TilecArg[]){TILEC_MAP(__VA_ARGS__)})
#endif

TILEC_KEEP static inline TilecStatus
tilec_launch_values(TilecKernel *kernel, TilecStream stream, uint32_t gx, uint32_t gy, uint32_t gz,
                    size_t num_args, const TilecArg *args)
{
   TilecLaunch launch = {stream, {gx, gy, gz}};
   return tilec_launch(kernel, &launch, args, num_args);
}

#ifdef __cplusplus
}
#endif
#endif
