/* A parsed PTX program.  Private to exec/ptx*.c. */
#ifndef TL_EXEC_PTX_IMPL_H
#define TL_EXEC_PTX_IMPL_H

#include "exec/ptx.h"

enum {
   TL_PTX_MAX_REGS = 256,
   TL_PTX_MAX_OPERANDS = 5,
   TL_PTX_MAX_VECTOR = 8,
   TL_PTX_MAX_TYPES = 3,
   TL_PTX_SINK = UINT16_MAX, /* "_": written and forgotten */
};

typedef struct TlPtxType {
   const char *text;
   TlDtype dtype; /* of a lane */
   uint8_t lanes;
   bool is_pred, is_untyped, is_tf32;
} TlPtxType;

typedef enum TlPtxKind { TL_PTX_REG, TL_PTX_IMM, TL_PTX_VECTOR } TlPtxKind;
typedef enum TlPtxImm { TL_PTX_IMM_INT, TL_PTX_IMM_F32, TL_PTX_IMM_F64 } TlPtxImm;

typedef struct TlPtxOperand {
   TlPtxKind kind;
   TlPtxImm imm_kind;
   uint64_t imm;
   uint32_t reg[TL_PTX_MAX_VECTOR]; /* "p|q" has two */
   uint8_t num;
   bool is_not; /* "!p" */
} TlPtxOperand;

typedef struct TlPtxSpec TlPtxSpec;

typedef struct TlPtxInst {
   const TlPtxSpec *spec;
   const TlPtxType *type[TL_PTX_MAX_TYPES];
   unsigned num_types;
   uint64_t flags;
   uint32_t guard; /* register, or TL_PTX_SINK */
   bool guard_not;
   TlPtxOperand operand[TL_PTX_MAX_OPERANDS];
   unsigned num_operands;
} TlPtxInst;

struct TlPtx {
   const TlOp *op;
   const TlPtxInst *inst;
   unsigned num_insts, num_regs, num_out, num_in, pack;
   const uint32_t *operand; /* register of each operand of the call, outputs first */
};

/* ptx_inst.c */
const TlPtxType *tl_ptx_type(const char *text, size_t len);
/* NULL, or why the instruction is not modelled. */
const char *tl_ptx_decode(const char *name, size_t len, TlPtxInst *inst);
const char *tl_ptx_check(const TlPtxInst *inst);
void tl_ptx_step(const TlPtxInst *inst, uint64_t *reg);

#endif
