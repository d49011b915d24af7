/* Atomics on global and shared memory, in inline PTX: PTX ISA 8.x, sections "atom", "red" and
 * "Memory Consistency Model".  A masked-off lane changes nothing and gives 0. */
#include "codegen/cg.h"

#include <assert.h>
#include <stdio.h>

static const char *const sem_text[] = {
   [TL_SEM_ACQ_REL] = "acq_rel",
   [TL_SEM_ACQUIRE] = "acquire",
   [TL_SEM_RELEASE] = "release",
   [TL_SEM_RELAXED] = "relaxed",
};

static const char *
atom_type(TlDtype t, int64_t rmw)
{
   unsigned bits = tl_dtype_info[t].bits;
   bool bitwise = rmw == TL_RMW_AND || rmw == TL_RMW_OR || rmw == TL_RMW_XOR || rmw == TL_RMW_XCHG;
   if (bitwise)
      return bits == 64 ? "b64" : "b32";
   switch (t) {
   case TL_FP16:
      return "noftz.f16";
   case TL_BF16:
      return "noftz.bf16";
   case TL_FP32:
      return "f32";
   case TL_FP64:
      return "f64";
   default:
      if (rmw == TL_RMW_ADD && bits == 64)
         return "u64"; /* there is no add.s64; the bits agree */
      return tl_dtype_is_signed(t) ? (bits == 64 ? "s64" : "s32") : (bits == 64 ? "u64" : "u32");
   }
}

/* Of several atomics fences around them all make the order. */
static bool
is_fenced(const TlOp *op)
{
   return op->opcode == TL_OP_ATOM_RMW && tl_type_num_regs(tl_arg(op, 1)->type) > 1;
}

/* Whoever does not look at what was there before cannot tell what an acquire would have been after;
 * without it ptxas makes the atomic a RED, which nobody waits for.  Exchanges have no RED, and give
 * locks back: programs that take them by a relaxed compare-and-swap, as those of Triton's tests,
 * read what the holder before wrote only because its acquire empties the cache of the SM. */
static bool
acquires_nothing(const TlOp *op)
{
   return op->opcode == TL_OP_ATOM_RMW && tl_is_unused(op) &&
          tl_attr_int(op, TL_ATTR_RMW) != TL_RMW_XCHG;
}

/* The order that each atomic of an operation has by itself. */
static int64_t
sem_of_each(const TlOp *op)
{
   int64_t sem = is_fenced(op) ? TL_SEM_RELAXED : tl_attr_int(op, TL_ATTR_SEM);
   if (!acquires_nothing(op))
      return sem;
   return sem == TL_SEM_ACQ_REL ? TL_SEM_RELEASE : sem == TL_SEM_ACQUIRE ? TL_SEM_RELAXED : sem;
}

/* Of several atomics one fence before them releases, and one after them acquires, instead of a
 * fence in each (PTX ISA, "Memory Consistency Model": release and acquire patterns). */
static void
fence_around(TlCg *cg, const TlOp *op, int64_t other_order)
{
   int64_t sem = tl_attr_int(op, TL_ATTR_SEM);
   bool is_idle = other_order == TL_SEM_ACQUIRE && acquires_nothing(op);
   if (!is_fenced(op) || (sem != TL_SEM_ACQ_REL && sem != other_order) || is_idle)
      return;
   char text[40];
   snprintf(text, sizeof text, "fence.acq_rel.%s;",
            tl_attr_word(TL_AK_SCOPE, tl_attr_int(op, TL_ATTR_SCOPE)));
   tl_cg_asm(cg, text, "~{memory}", cg->voidt, NULL, 0, TL_ASM_EFFECT);
}

/* One predicated atom on integer registers of `bits`; masked-off lanes give 0. */
static LLVMValueRef
atom(TlCg *cg, const TlOp *op, const char *operation, const char *type, unsigned bits,
     LLVMValueRef ptr, LLVMValueRef value, LLVMValueRef compare, LLVMValueRef pred)
{
   char text[160], cons[40];
   bool masked = !tl_cg_is_true(pred);
   const char *c = tl_cg_reg_class(bits);
   LLVMTypeRef t = LLVMIntTypeInContext(cg->llvm, bits);
   LLVMValueRef args[6] = {ptr};
   unsigned n = 1;
   if (compare)
      args[n++] = compare;
   args[n++] = value;
   int len =
      snprintf(cons, sizeof cons, "=%s,l,%s%s%s", c, c, compare ? "," : "", compare ? c : "");
   char guard[16] = "";
   if (masked) {
      snprintf(guard, sizeof guard, "@$%u ", n + 1);
      args[n++] = pred;
      args[n++] = LLVMConstInt(t, 0, 0);
      len += snprintf(cons + len, sizeof cons - (size_t)len, ",b,0");
   }
   snprintf(cons + len, sizeof cons - (size_t)len, ",~{memory}");
   snprintf(text, sizeof text, "%satom.%s.%s.global.%s.%s $0, [$1], $2%s;", guard,
            sem_text[sem_of_each(op)], tl_attr_word(TL_AK_SCOPE, tl_attr_int(op, TL_ATTR_SCOPE)),
            operation, type, compare ? ", $3" : "");
   return tl_cg_asm(cg, text, cons, t, args, n, TL_ASM_EFFECT);
}

/* max and min of floats by their integer order: a value >= 0 as signed max/min, a negative one as
 * the opposite unsigned; exactly one of the two runs. */
static LLVMValueRef
atom_float_minmax(TlCg *cg, const TlOp *op, bool is_max, unsigned bits, LLVMValueRef ptr,
                  LLVMValueRef value, LLVMValueRef pred)
{
   LLVMTypeRef t = LLVMIntTypeInContext(cg->llvm, bits);
   LLVMValueRef positive = LLVMBuildICmp(cg->b, LLVMIntSGE, value, LLVMConstNull(t), "");
   LLVMValueRef negative = LLVMBuildNot(cg->b, positive, "");
   if (!tl_cg_is_true(pred)) {
      positive = LLVMBuildAnd(cg->b, positive, pred, "");
      negative = LLVMBuildAnd(cg->b, negative, pred, "");
   }
   LLVMValueRef a = atom(cg, op, is_max ? "max" : "min", bits == 64 ? "s64" : "s32", bits, ptr,
                         value, NULL, positive);
   LLVMValueRef b = atom(cg, op, is_max ? "min" : "max", bits == 64 ? "u64" : "u32", bits, ptr,
                         value, NULL, negative);
   return LLVMBuildSelect(cg->b, positive, a, b, "");
}

static bool
is_extremum(int64_t rmw)
{
   return rmw == TL_RMW_MAX || rmw == TL_RMW_MIN;
}

static LLVMValueRef
combine_16(TlCg *cg, int64_t rmw, LLVMValueRef a, LLVMValueRef b, TlDtype t)
{
   assert(rmw == TL_RMW_ADD || is_extremum(rmw));
   LLVMValueRef x = tl_cg_cast(cg, tl_cg_from_int(cg, a, tl_cg_dtype(cg, t)), t, TL_FP32, 0);
   LLVMValueRef y = tl_cg_cast(cg, tl_cg_from_int(cg, b, tl_cg_dtype(cg, t)), t, TL_FP32, 0);
   const char *extremum = rmw == TL_RMW_MAX ? "llvm.maxnum" : "llvm.minnum";
   LLVMValueRef both = rmw == TL_RMW_ADD
                          ? LLVMBuildFAdd(cg->b, x, y, "")
                          : tl_cg_overloaded(cg, extremum, cg->f32, (LLVMValueRef[]){x, y}, 2);
   return tl_cg_to_int(cg, tl_cg_cast(cg, both, TL_FP32, t, TL_ROUNDING_RTNE), 16);
}

/* A 16-bit float operation by compare-and-swap of the 16 bits, until no other thread was in
 * between: atom.cas.b16 exists from sm_70 on, atom.add.bf16 from sm_90 on, and max and min only as
 * vectors. */
static LLVMValueRef
atom_by_cas(TlCg *cg, const TlOp *op, TlDtype t, LLVMValueRef ptr, LLVMValueRef value,
            LLVMValueRef pred)
{
   int64_t rmw = tl_attr_int(op, TL_ATTR_RMW);
   LLVMBasicBlockRef before = LLVMGetInsertBlock(cg->b);
   LLVMBasicBlockRef start = LLVMAppendBasicBlockInContext(cg->llvm, cg->fn, "add");
   LLVMBasicBlockRef again = LLVMAppendBasicBlockInContext(cg->llvm, cg->fn, "add.again");
   LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(cg->llvm, cg->fn, "add.done");
   LLVMValueRef zero = LLVMConstNull(cg->i16);
   if (tl_cg_is_true(pred))
      LLVMBuildBr(cg->b, start);
   else
      LLVMBuildCondBr(cg->b, pred, start, done);
   LLVMPositionBuilderAtEnd(cg->b, start);
   LLVMValueRef first = tl_cg_asm(cg, "ld.relaxed.gpu.global.b16 $0, [$1];", "=h,l,~{memory}",
                                  cg->i16, &ptr, 1, TL_ASM_EFFECT);
   LLVMBuildBr(cg->b, again);
   LLVMPositionBuilderAtEnd(cg->b, again);
   LLVMValueRef expected = LLVMBuildPhi(cg->b, cg->i16, "");
   LLVMValueRef both = combine_16(cg, rmw, expected, value, t);
   LLVMValueRef seen = atom(cg, op, "cas", "b16", 16, ptr, both, expected, NULL);
   LLVMValueRef won = LLVMBuildICmp(cg->b, LLVMIntEQ, seen, expected, "");
   LLVMBasicBlockRef end = LLVMGetInsertBlock(cg->b);
   LLVMBuildCondBr(cg->b, won, done, again);
   LLVMAddIncoming(expected, (LLVMValueRef[]){first, seen}, (LLVMBasicBlockRef[]){start, end}, 2);
   LLVMPositionBuilderAtEnd(cg->b, done);
   LLVMValueRef old = LLVMBuildPhi(cg->b, cg->i16, "");
   LLVMAddIncoming(old, &seen, &end, 1);
   if (!tl_cg_is_true(pred))
      LLVMAddIncoming(old, &zero, &before, 1);
   return old;
}

/* A 16-bit float to add whose neighbour in the aligned 32 bits is a float too.  ptxas makes a loop
 * of compare-and-swap of an atom on 16 bits, but there is an instruction for two of them: it adds
 * -0.0 to the neighbour, which changes no number. */
static LLVMValueRef
add_in_pair(TlCg *cg, const TlOp *op, TlDtype t, LLVMValueRef ptr, LLVMValueRef value,
            LLVMValueRef pred)
{
   enum { NEGATIVE_ZERO = 0x8000 };
   LLVMValueRef at = LLVMBuildPtrToInt(cg->b, ptr, cg->i64, "");
   LLVMValueRef word = LLVMBuildAnd(cg->b, at, LLVMConstInt(cg->i64, ~3ull, 0), "");
   LLVMValueRef second = LLVMBuildTrunc(cg->b, at, cg->i32, ""), shift;
   second = LLVMBuildAnd(cg->b, second, tl_cg_i32(cg, 2), "");
   shift = LLVMBuildShl(cg->b, second, tl_cg_i32(cg, 3), "");
   LLVMValueRef low = LLVMBuildZExt(cg->b, value, cg->i32, "");
   LLVMValueRef high = LLVMBuildShl(cg->b, low, tl_cg_i32(cg, 16), "");
   low = LLVMBuildOr(cg->b, low, LLVMConstInt(cg->i32, (uint64_t)NEGATIVE_ZERO << 16, 0), "");
   high = LLVMBuildOr(cg->b, high, tl_cg_i32(cg, NEGATIVE_ZERO), "");
   LLVMValueRef is_first = LLVMBuildICmp(cg->b, LLVMIntEQ, second, tl_cg_i32(cg, 0), "");
   LLVMValueRef both = LLVMBuildSelect(cg->b, is_first, low, high, "");
   LLVMValueRef old = atom(cg, op, "add", t == TL_FP16 ? "noftz.f16x2" : "noftz.bf16x2", 32,
                           LLVMBuildIntToPtr(cg->b, word, LLVMTypeOf(ptr), ""), both, NULL, pred);
   return LLVMBuildTrunc(cg->b, LLVMBuildLShr(cg->b, old, shift, ""), cg->i16, "");
}

/* A sum or extremum to vec neighbours, each an atomic by itself, without a result. */
static void
red_vector(TlCg *cg, const TlOp *op, unsigned vec, LLVMValueRef ptr, const LLVMValueRef *values,
           LLVMValueRef pred)
{
   enum { MOST = 8 };
   TlDtype t = tl_type_elem(tl_arg(op, 1)->type)->dtype;
   unsigned bits = tl_dtype_info[t].bits, n = 0;
   bool masked = !tl_cg_is_true(pred);
   TlSb text, cons;
   LLVMValueRef args[MOST + 2];
   assert(vec > 1 && vec <= MOST && (bits == 16 || t == TL_FP32));
   tl_sb_init(&text, cg->arena);
   tl_sb_init(&cons, cg->arena);
   if (masked)
      tl_sb_printf(&text, "@$%u ", vec + 1);
   tl_sb_printf(&text, "red.%s.%s.global.%s.%sv%u.%s [$0], ", sem_text[sem_of_each(op)],
                tl_attr_word(TL_AK_SCOPE, tl_attr_int(op, TL_ATTR_SCOPE)),
                tl_attr_word(TL_AK_RMW, tl_attr_int(op, TL_ATTR_RMW)), bits == 16 ? "noftz." : "",
                vec,
                t == TL_FP32   ? "f32"
                : t == TL_FP16 ? "f16"
                               : "bf16");
   tl_cg_register_list(&text, 1, vec);
   tl_sb_char(&text, ';');
   args[n++] = ptr;
   tl_sb_char(&cons, 'l');
   for (unsigned i = 0; i < vec; i++) {
      args[n++] = tl_cg_to_int(cg, values[i], bits);
      tl_sb_printf(&cons, ",%s", tl_cg_reg_class(bits));
   }
   if (masked)
      args[n++] = pred;
   tl_sb_printf(&cons, "%s,~{memory}", masked ? ",b" : "");
   tl_cg_needs_ptx(cg, TL_PTX_RED_VEC);
   tl_cg_asm(cg, tl_sb_cstr(&text), tl_sb_cstr(&cons), cg->voidt, args, n, TL_ASM_EFFECT);
}

void
tl_emit_atom_rmw(TlCg *cg, const TlOp *op)
{
   TlDtype t = tl_type_elem(tl_arg(op, 1)->type)->dtype;
   int64_t rmw = tl_attr_int(op, TL_ATTR_RMW);
   unsigned bits = tl_dtype_info[t].bits;
   bool is_float = tl_dtype_is_float(t);
   bool by_cas = t == TL_BF16 && !(cg->target->features & TL_FEAT_ATOM_BF16);
   TlRegs ptrs = tl_cg_use(cg, tl_arg(op, 0)), values = tl_cg_use(cg, tl_arg(op, 1)), pred = {0};
   if (op->num_args > 2)
      pred = tl_cg_use(cg, tl_arg(op, 2));
   const char *word = rmw == TL_RMW_XCHG ? "exch" : tl_attr_word(TL_AK_RMW, rmw);
   unsigned vec = (unsigned)tl_attr_int(op, TL_ATTR_VEC);
   TlRegs dst = tl_cg_def(cg, tl_result(op, 0));
   LLVMTypeRef elem = tl_cg_dtype(cg, t);
   fence_around(cg, op, TL_SEM_RELEASE);
   for (unsigned i = 0; i < dst.count; i++) {
      if (vec > 1) {
         if (i % vec == 0)
            red_vector(cg, op, vec, ptrs.v[i / vec], &values.v[i], tl_cg_pred(pred, i / vec));
         dst.v[i] = LLVMGetPoison(elem);
         continue;
      }
      LLVMValueRef v = tl_cg_to_int(cg, values.v[i], bits), mask = tl_cg_pred(pred, i);
      LLVMValueRef old;
      if (bits == 16 && (is_extremum(rmw) || by_cas))
         old = atom_by_cas(cg, op, t, ptrs.v[i], v, mask);
      else if (tl_attr_int(op, TL_ATTR_PAIRED))
         old = add_in_pair(cg, op, t, ptrs.v[i], v, mask);
      else if (is_float && is_extremum(rmw))
         old = atom_float_minmax(cg, op, rmw == TL_RMW_MAX, bits, ptrs.v[i], v, mask);
      else
         old = atom(cg, op, word, atom_type(t, rmw), bits, ptrs.v[i], v, NULL, mask);
      dst.v[i] = tl_cg_from_int(cg, old, elem);
   }
   fence_around(cg, op, TL_SEM_ACQUIRE);
}

void
tl_emit_atom_cas(TlCg *cg, const TlOp *op)
{
   TlDtype t = tl_type_elem(tl_arg(op, 1)->type)->dtype;
   unsigned bits = tl_dtype_info[t].bits;
   TlRegs ptrs = tl_cg_use(cg, tl_arg(op, 0)), compare = tl_cg_use(cg, tl_arg(op, 1)),
          values = tl_cg_use(cg, tl_arg(op, 2)), pred = {0};
   if (op->num_args > 3)
      pred = tl_cg_use(cg, tl_arg(op, 3));
   TlRegs dst = tl_cg_def(cg, tl_result(op, 0));
   const char *type = bits == 64 ? "b64" : bits == 32 ? "b32" : "b16";
   for (unsigned i = 0; i < dst.count; i++) {
      LLVMValueRef old =
         atom(cg, op, "cas", type, bits, ptrs.v[i], tl_cg_to_int(cg, values.v[i], bits),
              tl_cg_to_int(cg, compare.v[i], bits), tl_cg_pred(pred, i));
      dst.v[i] = tl_cg_from_int(cg, old, tl_cg_dtype(cg, t));
   }
}

/* atom_shared(addresses, values, pred?): a reduction, no result. */
void
tl_emit_atom_shared(TlCg *cg, const TlOp *op)
{
   TlDtype t = tl_type_elem(tl_arg(op, 1)->type)->dtype;
   int64_t rmw = tl_attr_int(op, TL_ATTR_RMW);
   unsigned bits = tl_dtype_info[t].bits;
   TlSharedAccess s = tl_cg_shared_access(cg, op);
   TlRegs values = tl_cg_use(cg, tl_arg(op, 1)), pred = {0};
   if (op->num_args > 2)
      pred = tl_cg_use(cg, tl_arg(op, 2));
   for (unsigned i = 0; i < values.count; i++) {
      LLVMValueRef mask = tl_cg_pred(pred, i);
      bool masked = !tl_cg_is_true(mask);
      LLVMValueRef args[] = {tl_cg_shared_access_ptr(cg, &s, i),
                             tl_cg_to_int(cg, values.v[i], bits), mask};
      char text[80], cons[32];
      snprintf(text, sizeof text, "%sred.shared.%s.%s [$0], $1;", masked ? "@$2 " : "",
               tl_attr_word(TL_AK_RMW, rmw), atom_type(t, rmw));
      snprintf(cons, sizeof cons, "r,%s%s,~{memory}", tl_cg_reg_class(bits), masked ? ",b" : "");
      tl_cg_asm(cg, text, cons, cg->voidt, args, masked ? 3 : 2, TL_ASM_EFFECT);
   }
}
