/* State of one code generation and what the emit rules share.  Private to codegen/. */
#ifndef TL_CODEGEN_CG_H
#define TL_CODEGEN_CG_H

#include "codegen/codegen.h"

#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>
#include <llvm-c/TargetMachine.h>

/* The LLVM values of one IR value: one for a scalar, else one a register. */
typedef struct TlRegs {
   LLVMValueRef *v;
   unsigned count;
} TlRegs;

/* x = quadrant pi/2 + r, modulo 4 quadrants, with the sine and the cosine of r (lower_math.c). */
typedef struct TlTurn {
   LLVMValueRef x;
   const TlBlock *block; /* what is emitted later for it may use the values */
   LLVMValueRef quadrant, r, sine, cosine;
   struct TlTurn *next;
} TlTurn;

typedef struct TlCg {
   TlArena *arena;
   TlSources *sources;
   TlDiags *diags;
   const TlCgOptions *options;
   const TlTarget *target;
   LLVMContextRef llvm;
   LLVMModuleRef mod;
   LLVMBuilderRef b;
   LLVMTargetMachineRef tm;
   LLVMDIBuilderRef di; /* NULL without line info */
   LLVMMetadataRef di_unit;
   LLVMMetadataRef di_sub; /* of the current function */
   TlMap di_scopes;        /* file -> its scope in the current function */
   LLVMTypeRef i1, i8, i16, i32, i64, f16, bf16, f32, f64, voidt, p0, p1, p3;
   LLVMValueRef smem; /* the block's dynamic shared memory */
   const TlFunc *func;
   LLVMValueRef fn;
   TlRegs *regs;            /* by value id */
   LLVMValueRef lane, warp; /* in the block; made on first use in the entry block */
   LLVMBasicBlockRef entry;
   LLVMValueRef entry_end; /* where entry-block values are placed before */
   unsigned role_first_warp, role_num_warps;
   const TlOp **maps; /* tensor maps: parameters after the visible ones, in this order */
   unsigned num_maps;
   bool makes_maps;     /* it has others that it makes itself */
   unsigned num_grid;   /* parameters in front of them: the grid of a persistent kernel, or none */
   TlTurn *turns;       /* of the arguments of sin and cos in the block being emitted */
   const TlOp *op;      /* being emitted: range of errors */
   TlMap holds;         /* operations that loads before them are not to come behind */
   uint32_t truths;     /* that the function's stores ask for */
   bool by_element;     /* values of loops few at a time: a second block fits then */
   uint32_t few_per_sm; /* of the function: TilecKernelInfo.few_per_sm */
   uint32_t ptx;        /* PTX ISA that what was emitted needs */
   bool failed;
   bool is_cut;           /* some block was (bound_blocks.c) */
   struct TlHostCg *host; /* code for this CPU (host.c); NULL for NVPTX */
} TlCg;

typedef void TlEmitRule(TlCg *cg, const TlOp *op);

/* guard.c: runs body with a fresh context; false after a located error.  What cg still owns at the
 * end is disposed of. */
typedef bool TlCgBody(TlCg *cg, void *user);
bool tl_cg_guarded(TlCg *cg, TlCgBody *body, void *user);
void tl_cg_new_module(TlCg *cg, const char *triple); /* needs cg->tm; sets the types too */

/* child.c: what LLVM makes of a large module, made by a process that the deadline ends.  False: the
 * module is small, or the child could not, and what is wrong shows without one. */
bool tl_cg_emit_in_child(TlCg *cg, LLVMCodeGenFileType type, TlSb *out);

/* work_around.c: what ptxas translates wrongly is said in other words. */
void tl_cg_work_around_ptxas(TlCg *cg);

/* take_halves.c: both 16-bit halves of a word at once. */
void tl_cg_take_halves(TlCg *cg);

/* order_stores.c: addresses of stores beside the stores. */
void tl_cg_order_stores(TlCg *cg);

/* order_values.c: few values at a time where registers are short. */
void tl_cg_order_values(TlCg *cg);

/* bound_registers.c: what the kernel says of its registers to ptxas. */
void tl_cg_bound_registers(TlCg *cg);
void tl_cg_attr(TlCg *cg, const char *key, const char *value); /* of the kernel, for LLVM */

/* bound_blocks.c: the finished function's long blocks become chains of short ones. */
void tl_cg_bound_blocks(TlCg *cg);

/* host.c: the rule that replaces the common one, or NULL; tid.x; a step of a loop. */
TlEmitRule *tl_host_rule(TlCg *cg, const TlOp *op);
LLVMValueRef tl_host_thread_id(TlCg *cg);
LLVMValueRef tl_host_intrinsic(TlCg *cg, const char *name, LLVMTypeRef type);
void tl_host_loop_step(TlCg *cg, const TlOp *op);

/* values */
TlRegs tl_cg_use(TlCg *cg, const TlValue *v);
TlRegs tl_cg_def(TlCg *cg, const TlValue *v); /* room for v's registers; the rule fills them */
static inline LLVMValueRef
tl_cg_use1(TlCg *cg, const TlValue *v)
{
   return tl_cg_use(cg, v).v[0];
}
/* lower_wgmma.c: registers of its own for v, a sum that goes in flight. */
TlRegs tl_cg_settle(TlCg *cg, const TlValue *v);
void tl_cg_block(TlCg *cg, const TlBlock *block); /* emits every op up to the terminator */

/* cg_type.c */
LLVMTypeRef tl_cg_dtype(TlCg *cg, TlDtype t);      /* fp8 kinds are i8 */
LLVMTypeRef tl_cg_elem(TlCg *cg, const TlType *t); /* element of a scalar, pointer or regs */
LLVMValueRef tl_cg_i32(TlCg *cg, int64_t v);
LLVMValueRef tl_cg_f32(TlCg *cg, double v);
LLVMValueRef tl_cg_bits(TlCg *cg, TlDtype t, uint64_t bits);
unsigned tl_cg_elem_bits(const TlType *elem); /* 64 for pointers, 8 for i1 (in memory) */
uint32_t tl_cg_regs_bits(const TlType *t);    /* of all registers of a value */
/* n elements of LLVM type `from` (equal widths, total a multiple of the piece) to integers of
 * piece_bits, low elements first, and back. */
unsigned tl_cg_pack(TlCg *cg, const LLVMValueRef *v, unsigned n, unsigned elem_bits,
                    unsigned piece_bits, LLVMValueRef *out);
void tl_cg_unpack(TlCg *cg, const LLVMValueRef *pieces, unsigned num_pieces, unsigned piece_bits,
                  LLVMTypeRef elem, unsigned elem_bits, LLVMValueRef *out);
LLVMValueRef tl_cg_to_int(TlCg *cg, LLVMValueRef v, unsigned bits);   /* bit pattern as iN */
LLVMValueRef tl_cg_from_int(TlCg *cg, LLVMValueRef v, LLVMTypeRef t); /* inverse */

/* calls */
LLVMValueRef tl_cg_call(TlCg *cg, const char *name, LLVMTypeRef ret, const LLVMValueRef *args,
                        unsigned n); /* a function or intrinsic with a fixed name */
LLVMValueRef tl_cg_overloaded(TlCg *cg, const char *intrinsic, LLVMTypeRef type,
                              const LLVMValueRef *args, unsigned n);
enum { TL_ASM_EFFECT = 1, TL_ASM_CONVERGENT = 2, TL_ASM_MAX_OPERANDS = 320 };
LLVMValueRef tl_cg_asm(TlCg *cg, const char *text, const char *constraints, LLVMTypeRef ret,
                       const LLVMValueRef *args, unsigned n, unsigned flags);
/* fadd, fmul .. may be contracted unless the function is strict. */
LLVMValueRef tl_cg_contract(TlCg *cg, LLVMValueRef v);
LLVMValueRef tl_cg_thread_id(TlCg *cg);
LLVMValueRef tl_cg_warp_from(TlCg *cg, int64_t first); /* warp in the block, minus first */
/* Reports E0501 once: `what` on this element type is not available for the target. */
void tl_cg_unsupported(TlCg *cg, const char *what, const char *why);
/* What is emitted needs this PTX ISA. */
void tl_cg_needs_ptx(TlCg *cg, uint32_t ptx);
void tl_cg_loc(TlCg *cg, TlRange range);
/* The parameters from `first` on are the function's tensor maps. */
void tl_cg_tensor_map_params(TlCg *cg, unsigned first);
/* Asks for them ahead of the copies that need them. */
void tl_cg_fetch_tensor_maps(TlCg *cg, LLVMValueRef pred);
/* A byte of the block's shared memory: the one place that makes such addresses. */
LLVMValueRef tl_cg_shared_ptr(TlCg *cg, LLVMValueRef address, int64_t offset);

/* lower_memory.c: what all accesses share.  The predicate of one access, or NULL where there is
 * none; is it known to hold?; the letter of a register of so many bits in the constraints of
 * inline PTX; "{$1, $2}", or "$1" alone. */
LLVMValueRef tl_cg_pred(TlRegs pred, unsigned access);
bool tl_cg_is_true(LLVMValueRef pred);
const char *tl_cg_reg_class(unsigned bits);
/* hold_loads.c.  Is there a store before which all the loads of a tile that it changes in place
 * should begin?; the operations that loads before them are not to come behind; what keeps them. */
bool tl_cg_holds_loads(const TlCg *cg);
void tl_cg_find_holds(TlCg *cg);
void tl_cg_hold(TlCg *cg);
uint32_t tl_cg_truths_of_stores(const TlCg *cg);
void tl_cg_register_list(TlSb *sb, unsigned first, unsigned count);

/* The accesses that an operation makes to the block's shared memory, and where the i-th goes. */
typedef struct TlSharedAccess {
   TlRegs address;
   TlInts offsets;
   unsigned count; /* accesses */
} TlSharedAccess;
TlSharedAccess tl_cg_shared_access(TlCg *cg, const TlOp *op);
LLVMValueRef tl_cg_shared_access_ptr(TlCg *cg, const TlSharedAccess *s, unsigned i);

/* Any numeric conversion: lower_cast.c. */
LLVMValueRef tl_cg_cast(TlCg *cg, LLVMValueRef v, TlDtype from, TlDtype to, int rounding);
/* Two elements by one instruction of the target, where it has one. */
bool tl_cg_casts_in_pairs(TlCg *cg, TlDtype from, TlDtype to, int rounding);
void tl_cg_cast_pair(TlCg *cg, const LLVMValueRef v[2], TlDtype from, TlDtype to,
                     LLVMValueRef out[2]);

#endif
