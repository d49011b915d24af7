/* The seam between the core runtime and the compiler.  Core knows the compiler and the host
 * executors only through one TilecJitVtable, which tilec_jit_attach installs; the table's functions
 * come back to core through the tl_core_ functions below.  Nothing here needs the compiler to
 * build. */
#ifndef TL_RT_JIT_TABLE_H
#define TL_RT_JIT_TABLE_H

#include "tilec/runtime.h"

enum { TL_RT_ERROR_BYTES = 4096 }; /* of a failure's detail */

typedef struct TlVariant TlVariant;

/* TilecSource.tune of a module that the tuner opened itself: it has one configuration. */
#define TL_TUNE_CHILD 0x7475u

/* What is compiled of one source for the same arguments; a launch goes on to a later one when it
 * has seen the sizes. */
typedef enum TlForm {
   TL_FORM_FIRST,   /* as the source's options are */
   TL_FORM_FEW,     /* few_programs: of no more programs than the first one's few_per_sm says */
   TL_FORM_SHORT,   /* short_programs: where the first one's short_when holds */
   TL_FORM_NO_MAPS, /* no tensor maps of the compiler's: where there is no such map */
} TlForm;

typedef struct TilecJitVtable {
   size_t struct_size;
   /* The runtime closes. */
   void (*detach)(void *jit);
   /* Reads and lists a file; *out is passed to the functions below.  *name is the chosen kernel,
    * the first without a choice. */
   TilecStatus (*open)(void *jit, const TilecSource *source, void **out, const char **name);
   /* Where no kernel was named: names kernel `index` of the file in *out, and its text as it was
    * read; false when there is none. */
   bool (*next)(void *source, uint32_t index, TilecSource *out);
   void (*close)(void *source);
   /* The specialisation for such arguments if it is in memory; *out NULL if not.  No lock, no
    * allocation. */
   TilecStatus (*find)(void *source, const TilecArg *args, size_t num_args, TlForm form,
                       const TlVariant **out);
   /* One in memory that serves them as well, if not as fast. */
   TilecStatus (*find_coarse)(void *source, const TilecArg *args, size_t num_args, TlForm form,
                              const TlVariant **out);
   /* As find, loaded from the disk cache or compiled when it is not there.  for_launch: only as
    * far as a launch may; the first form where it may not compile the one for few programs or
    * short ones. */
   TilecStatus (*make)(void *source, const TilecArg *args, size_t num_args, TlForm form,
                       bool for_launch, const TlVariant **out);
   /* Starts make() on a worker; *flight is waited for and released below. */
   TilecStatus (*start)(void *source, const TilecArg *args, size_t num_args, void **flight);
   /* wait = false: TILEC_NOT_READY while it is under way. */
   TilecStatus (*join)(void *flight, bool wait);
   void (*release)(void *flight);
   /* Fails with TILEC_NOT_FOUND and a detail that names the signature and `why` it is missing. */
   TilecStatus (*missing)(void *source, const TilecArg *args, size_t num_args, TlForm form,
                          const char *why);
   TilecStatus (*explain)(void *source, const TilecArg *args, size_t num_args, char *text,
                          size_t bytes);
   /* Specialisations so far, in the order they were made. */
   uint32_t (*count)(void *source);
   const TlVariant *(*get)(void *source, uint32_t index);
   /* Whether launches are passed on to one of several kernels, which pick() names: @autotune.  It
    * may measure when a launch is about to happen; launch NULL: none is. */
   bool (*has_choice)(void *source);
   TilecStatus (*pick)(void *source, const TilecLaunch *launch, const TilecArg *args,
                       size_t num_args, TilecKernel **out);
   /* A TlTune, or NULL. */
   void *(*tuner)(void *source);
   /* Host executors: runs `program` (as given to tl_core_load_host) to its end.  args are converted
    * to the parameters' types; pointers carry their bytes, and `written` how many of these, from
    * the first on, something may have written. */
   TilecStatus (*run)(void *jit, void *program, const uint32_t grid[3], const TilecArg *args,
                      const uint64_t *written, size_t num_args);
} TilecJitVtable;

/* Installs the table; once.  TILEC_BAD_ARGUMENT if one is installed already. */
TilecStatus tl_core_attach(TilecRuntime *rt, const TilecJitVtable *table, void *jit);
/* Loads PTX with a record that outlives the module; makes the kernels' variants. */
TilecStatus tl_core_load(TilecRuntime *rt, const void *image, size_t image_bytes,
                         const TilecImageInfo *info, TilecModule **out);
/* The same for a host executor: nothing is loaded, `program` is handed to run(). */
TilecStatus tl_core_load_host(TilecRuntime *rt, const TilecImageInfo *info, void *program,
                              TilecModule **out);
/* The only variant of the only kernel of a module made by the calls above. */
const TlVariant *tl_core_variant(const TilecModule *module);
const TilecKernelInfo *tl_core_variant_info(const TlVariant *variant);
/* The form that a launch may go on to from the variant, which is of `form`; `form`: none. */
TlForm tl_core_next_form(const TlVariant *variant, TlForm form);
/* tilec_kernel_prepare of the first form only. */
TilecStatus tl_core_prepare_one(TilecKernel *kernel, const TilecArg *args, size_t num_args);
/* As tilec_kernel_use. */
TilecStatus tl_core_variant_use(TilecRuntime *rt, const TlVariant *variant, TilecKernelUse *out);
const TlVariant *tl_core_kernel_variant(const TilecKernel *kernel, uint32_t index);
void *tl_core_source(const TilecKernel *kernel); /* of open(); NULL: an image */
void *tl_core_tuner(const TilecKernel *kernel);  /* NULL: an image, or of a tuner itself */
TilecRuntime *tl_core_runtime(const TilecKernel *kernel);
/* TILEC_BAD_ARGUMENT where its module was freed. */
TilecStatus tl_core_check_kernel(const TilecKernel *kernel, const char *call);
bool tl_core_is_freed(const TilecBuffer *buffer);
/* NULL: there is no buffer any more. */
void *tl_core_address(const TilecBuffer *buffer);
/* Also when the driver cannot say. */
bool tl_core_is_capturing(TilecRuntime *rt, TilecStream stream);
/* TILEC_FORKED or TILEC_DEVICE_LOST where the runtime is of no use any more. */
TilecStatus tl_core_usable(TilecRuntime *rt);
/* Stores the calling thread's error detail. */
TilecStatus tl_core_fail(TilecRuntime *rt, TilecStatus status, const char *text);
/* TILEC_BAD_ARGUMENT: the struct_size of what `what` names, of a call's, is not its type's. */
TilecStatus tl_core_bad_size(TilecRuntime *rt, const char *what, size_t size, const char *type,
                             size_t wanted);
/* TILEC_NO_MEMORY with that detail. */
TilecStatus tl_core_no_memory(TilecRuntime *rt);
/* Whether this process is a fork of the one that opened the runtime. */
bool tl_core_is_forked(const TilecRuntime *rt);
uint32_t tl_core_threads(const TilecRuntime *rt);
/* Host executors: a TilecMemoryFn over the runtime's buffers, then over what its user knows. */
bool tl_core_memory(TilecRuntime *rt, uint64_t address, TilecMemory *out);
/* What the device is, without a driver call. */
const TilecDeviceInfo *tl_core_device(const TilecRuntime *rt);

#endif
