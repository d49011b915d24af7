/* --emit=c: compiled kernels as a C source and header that need the driver alone.
 *    emit_c.c        which C parameters a kernel has, which specialisation a launch takes
 *    emit_c_rule.c   grid expressions as C
 *    emit_c_map.c    tensor maps
 *    emit_c_text.c   the two files; what is the same in all of them is aot_launch.c.in */
#ifndef TL_COMMAND_EMIT_C_H
#define TL_COMMAND_EMIT_C_H

#include "command/ptxas.h"
#include "compile/compilation.h"

/* The kernels for one architecture. */
typedef struct TlAotImage {
   TlCompilation *comp; /* compiled to PTX */
   TlCubin cubin;       /* data NULL: PTX only */
} TlAotImage;

typedef struct TlAot {
   TlArena *arena;
   const char *name;   /* C identifier: prefix of everything public */
   const char *header; /* file name of the header, as the source includes it */
   TlAotImage *images;
   size_t num_images;
   bool checked; /* null pointers are refused */
} TlAot;

/* False after located errors in the first image's diagnostics. */
bool tl_emit_c(const TlAot *aot, TlSb *source, TlSb *header);

/* ---- shared by the three files ---- */
typedef enum TlCKind { TL_C_NONE, TL_C_POINTER, TL_C_INT, TL_C_FLOAT, TL_C_BITS } TlCKind;

typedef struct TlCParam {
   const char *name; /* in the kernel */
   const char *c_name;
   const char *c_type; /* "const float *", "int32_t " */
   TlCKind kind;       /* TL_C_NONE: every entry has the same constant; no parameter */
   bool may_be_null;   /* None in one of the entries */
} TlCParam;

typedef struct TlCKernel {
   const char *prefix;    /* "elu": elu_launch */
   const char *name;      /* in the source */
   uint32_t first, count; /* its entries in the image */
   TlCParam *params;      /* one for each of the kernel's, in order */
   uint32_t num_params;
   bool has_grid; /* every entry has a grid of its own */
   TlRange range;
} TlCKernel;

/* What an expression may call; each is written out only when it is used. */
enum {
   TL_C_USES_ADD = 1 << 0,
   TL_C_USES_SUB = 1 << 1,
   TL_C_USES_MUL = 1 << 2,
   TL_C_USES_FLOORDIV = 1 << 3,
   TL_C_USES_MOD = 1 << 4,
   TL_C_USES_CDIV = 1 << 5,
   TL_C_USES_SHL = 1 << 6,
   TL_C_USES_SHR = 1 << 7,
   TL_C_USES_MIN = 1 << 8,
   TL_C_USES_MAX = 1 << 9,
   TL_C_USES_POW2 = 1 << 10,
};

/* `text` over the parameters of entry `info` as a C expression of type int64_t that sets the int
 * `bad` on overflow or division by zero.  NULL with *why when it cannot be. */
const char *tl_c_rule(const TlAot *aot, const TlCKernel *k, const TilecKernelInfo *info,
                      const char *text, unsigned *uses, const char **why);
/* The functions of a set of uses. */
void tl_c_rule_functions(const TlAot *aot, unsigned uses, TlSb *out);
/* C text in which the words aot_.. and AOT_.. get the output's name. */
void tl_c_template(const TlAot *aot, const char *text, size_t len, TlSb *out);

/* Tensor maps: the entry as an image has it that passes some, NULL when none does; whether two
 * entries have the same; their common function; code that makes those of `info` in `maps`, false
 * after a located error. */
const TilecKernelInfo *tl_c_mapped(const TlAot *aot, uint32_t entry);
bool tl_c_same_maps(const TilecKernelInfo *a, const TilecKernelInfo *b);
void tl_c_map_support(const TlAot *aot, TlSb *out);
bool tl_c_maps(const TlAot *aot, const TlCKernel *k, const TilecKernelInfo *info, unsigned *uses,
               TlSb *out);

/* A kernel's parameters, from all of its entries; false after a located error. */
bool tl_c_params(const TlAot *aot, TlCKernel *k);
/* What must hold for an entry to be taken, as C; "" when nothing must. */
const char *tl_c_condition(const TlAot *aot, const TlCKernel *k, const TilecKernelInfo *info);
/* The same in words. */
const char *tl_c_facts(const TlAot *aot, const TlCKernel *k, const TilecKernelInfo *info);
/* Both files, once the kernels are known. */
bool tl_c_write(const TlAot *aot, const TlCKernel *kernels, size_t n, TlSb *source, TlSb *header);

/* The words of a text as a C string literal. */
void tl_c_string(TlSb *out, const char *text);
/* The letters of a text that C allows in names; others become '_'. */
const char *tl_c_name(TlArena *arena, const char *text);

#endif
