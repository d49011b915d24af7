/* Inline assembly of the user, assumptions, printing and assertions. */
#include "codegen/cg.h"
#include "ir/inline_asm.h"

#include <stdio.h>
#include <string.h>

void
tl_emit_assume(TlCg *cg, const TlOp *op)
{
   LLVMValueRef x = tl_cg_use1(cg, tl_arg(op, 0));
   tl_cg_call(cg, "llvm.assume", cg->voidt, &x, 1);
}

/* ---- inline_asm ----
 * `pack` elements a call; elements below 32 bits travel packed in 32-bit words. */
/* Past the last register it is repeated. */
static unsigned
gather_operand(TlCg *cg, const TlValue *v, unsigned first, unsigned pack, LLVMValueRef *out)
{
   TlRegs x = tl_cg_use(cg, v);
   unsigned bits = tl_cg_elem_bits(tl_type_elem(v->type)), last = x.count - 1;
   unsigned words = tl_asm_words(v->type, pack), room = bits >= 32 ? pack : words * 32 / bits;
   LLVMValueRef *group = bits >= 32 ? out : tl_new_array(cg->arena, LLVMValueRef, room);
   for (unsigned i = 0; i < room; i++)
      group[i] =
         i < pack ? x.v[first + i < last ? first + i : last] : LLVMConstNull(LLVMTypeOf(x.v[0]));
   if (bits >= 32)
      return pack;
   return tl_cg_pack(cg, group, room, bits, 32, out);
}

static void
scatter_result(TlCg *cg, const TlValue *v, TlRegs dst, unsigned first, unsigned pack,
               const LLVMValueRef *words)
{
   LLVMTypeRef elem = tl_cg_elem(cg, v->type);
   unsigned bits = tl_cg_elem_bits(tl_type_elem(v->type));
   unsigned n = tl_asm_words(v->type, pack), room = bits >= 32 ? pack : n * 32 / bits;
   LLVMValueRef *all = tl_new_array(cg->arena, LLVMValueRef, room);
   for (unsigned i = 0; bits >= 32 && i < n; i++)
      all[i] = tl_cg_from_int(cg, words[i], elem);
   if (bits < 32)
      tl_cg_unpack(cg, words, n, 32, elem, bits, all);
   for (unsigned i = 0; i < pack && first + i < dst.count; i++)
      dst.v[first + i] = all[i];
}

static void
asm_call(TlCg *cg, const TlOp *op, unsigned first, unsigned pack, TlRegs *dst)
{
   LLVMValueRef args[TL_ASM_MAX_WORDS], words[TL_ASM_MAX_WORDS];
   LLVMTypeRef parts[TL_ASM_MAX_WORDS];
   unsigned n = 0, num_parts = 0;
   for (unsigned k = 0; k < op->num_args; k++)
      n += gather_operand(cg, tl_arg(op, k), first, pack, args + n);
   for (unsigned k = 0; k < op->num_results; k++) {
      unsigned bits = tl_cg_elem_bits(tl_type_elem(tl_result(op, k)->type));
      LLVMTypeRef word = bits >= 32 ? LLVMIntTypeInContext(cg->llvm, bits) : cg->i32;
      if (bits >= 32 && tl_type_elem(tl_result(op, k)->type)->kind == TL_TYPE_SCALAR)
         word = tl_cg_elem(cg, tl_result(op, k)->type);
      for (unsigned i = 0; i < tl_asm_words(tl_result(op, k)->type, pack); i++)
         parts[num_parts++] = word;
   }
   LLVMTypeRef ret = num_parts == 0   ? cg->voidt
                     : num_parts == 1 ? parts[0]
                                      : LLVMStructTypeInContext(cg->llvm, parts, num_parts, 0);
   bool pure = tl_attr_int(op, TL_ATTR_PURE) != 0;
   LLVMValueRef r =
      tl_cg_asm(cg, tl_attr_str(op, TL_ATTR_TEXT), tl_attr_str(op, TL_ATTR_CONSTRAINTS), ret, args,
                n, pure ? 0 : TL_ASM_EFFECT);
   for (unsigned i = 0; i < num_parts; i++)
      words[i] = num_parts == 1 ? r : LLVMBuildExtractValue(cg->b, r, i, "");
   for (unsigned k = 0, w = 0; k < op->num_results; k++) {
      unsigned bits = tl_cg_elem_bits(tl_type_elem(tl_result(op, k)->type));
      unsigned num = tl_asm_words(tl_result(op, k)->type, pack);
      for (unsigned i = 0; bits >= 32 && i < num; i++)
         words[w + i] = tl_cg_to_int(cg, words[w + i], bits);
      scatter_result(cg, tl_result(op, k), dst[k], first, pack, words + w);
      w += num;
   }
}

void
tl_emit_inline_asm(TlCg *cg, const TlOp *op)
{
   unsigned pack = (unsigned)tl_attr_int(op, TL_ATTR_PACK), count = 1;
   TlRegs *dst = tl_new_array(cg->arena, TlRegs, op->num_results + 1);
   for (unsigned k = 0; k < op->num_results; k++) {
      dst[k] = tl_cg_def(cg, tl_result(op, k));
      count = dst[k].count > count ? dst[k].count : count;
   }
   for (unsigned k = 0; k < op->num_args; k++)
      if (tl_type_num_regs(tl_arg(op, k)->type) > count)
         count = tl_type_num_regs(tl_arg(op, k)->type);
   for (unsigned first = 0; first < count; first += pack)
      asm_call(cg, op, first, pack, dst);
}

/* ---- printing: CUDA's vprintf(format, argument buffer) ---- */
static LLVMValueRef
global_string(TlCg *cg, const char *s)
{
   LLVMValueRef init = LLVMConstStringInContext2(cg->llvm, s, strlen(s), 0);
   LLVMValueRef g = LLVMAddGlobalInAddressSpace(cg->mod, LLVMTypeOf(init), "text", 1);
   LLVMSetInitializer(g, init);
   LLVMSetGlobalConstant(g, 1);
   LLVMSetLinkage(g, LLVMInternalLinkage);
   return LLVMBuildAddrSpaceCast(cg->b, g, cg->p0, "");
}

/* printf's default promotions; *format receives the conversion. */
static LLVMValueRef
print_value(TlCg *cg, LLVMValueRef v, const TlType *elem, bool hex, const char **format)
{
   if (elem->kind == TL_TYPE_PTR) {
      *format = "0x%016llx";
      return LLVMBuildPtrToInt(cg->b, v, cg->i64, "");
   }
   TlDtype t = elem->dtype;
   unsigned bytes = tl_dtype_info[t].bytes;
   if (hex) {
      *format = tl_arena_printf(cg->arena, "0x%%0%u%s", bytes * 2, bytes == 8 ? "llx" : "x");
      v = tl_cg_to_int(cg, v, tl_cg_elem_bits(elem));
      return bytes < 4 ? LLVMBuildZExt(cg->b, v, cg->i32, "") : v;
   }
   if (tl_dtype_is_float(t)) {
      *format = "%f";
      return tl_cg_cast(cg, v, t, TL_FP64, TL_ROUNDING_RTNE);
   }
   bool is_signed = tl_dtype_is_signed(t), wide = bytes == 8;
   *format = wide ? (is_signed ? "%lld" : "%llu") : (is_signed ? "%d" : "%u");
   if (t == TL_I1)
      return LLVMBuildZExt(cg->b, v, cg->i32, "");
   return wide ? v : tl_cg_cast(cg, v, t, is_signed ? TL_I32 : TL_U32, TL_ROUNDING_RTNE);
}

enum { MOST_PRINTED = 32 };

static void
call_vprintf(TlCg *cg, const char *format, LLVMValueRef *values, unsigned n)
{
   LLVMTypeRef types[MOST_PRINTED];
   for (unsigned i = 0; i < n; i++)
      types[i] = LLVMTypeOf(values[i]);
   LLVMTypeRef buffer_type = LLVMStructTypeInContext(cg->llvm, types, n, 0);
   LLVMBasicBlockRef here = LLVMGetInsertBlock(cg->b);
   LLVMPositionBuilderBefore(cg->b, cg->entry_end);
   LLVMValueRef buffer = LLVMBuildAlloca(cg->b, buffer_type, "");
   LLVMPositionBuilderAtEnd(cg->b, here);
   for (unsigned i = 0; i < n; i++)
      LLVMBuildStore(cg->b, values[i], LLVMBuildStructGEP2(cg->b, buffer_type, buffer, i, ""));
   LLVMValueRef args[] = {global_string(cg, format), buffer};
   tl_cg_call(cg, "vprintf", cg->i32, args, 2);
}

/* One line for register r of operand k, as Triton prints it: "pid (x, y, z) idx (i, j) prefix:
 * (operand n) value"; k is the number of operands when there is no value. */
static void
print_register(TlCg *cg, const TlOp *op, unsigned k, unsigned r)
{
   LLVMValueRef values[MOST_PRINTED];
   TlInts widths = tl_attr_ints(op, TL_ATTR_WIDTHS);
   unsigned n = 0, num = op->num_args - (unsigned)widths.len;
   TlSb format;
   tl_sb_init(&format, cg->arena);
   static const char *const pid[] = {"llvm.nvvm.read.ptx.sreg.ctaid.x",
                                     "llvm.nvvm.read.ptx.sreg.ctaid.y",
                                     "llvm.nvvm.read.ptx.sreg.ctaid.z"};
   for (unsigned i = 0; i < 3; i++)
      values[n++] = tl_cg_call(cg, pid[i], cg->i32, NULL, 0);
   tl_sb_str(&format, num ? "pid (%u, %u, %u) idx (" : "pid (%u, %u, %u)");
   for (unsigned d = 0; d < widths.len; d++) {
      TlRegs x = tl_cg_use(cg, tl_arg(op, d));
      values[n++] = x.v[x.count == 1 ? 0 : r];
      tl_sb_printf(&format, "%s%%%uu", d ? ", " : "", (unsigned)widths.data[d]);
   }
   if (num)
      tl_sb_char(&format, ')');
   for (const char *p = tl_attr_str(op, TL_ATTR_TEXT); p && *p; p++)
      tl_sb_str(&format, *p == '%' ? "%%" : (const char[]){*p, 0});
   if (num > 1)
      tl_sb_printf(&format, "(operand %u) ", k - (unsigned)widths.len);
   if (num) {
      const char *conversion;
      values[n++] =
         print_value(cg, tl_cg_use(cg, tl_arg(op, k)).v[r], tl_type_elem(tl_arg(op, k)->type),
                     tl_attr_int(op, TL_ATTR_HEX) != 0, &conversion);
      tl_sb_str(&format, conversion);
   }
   tl_sb_char(&format, '\n');
   call_vprintf(cg, tl_sb_cstr(&format), values, n);
}

void
tl_emit_device_print(TlCg *cg, const TlOp *op)
{
   unsigned first = (unsigned)tl_attr_ints(op, TL_ATTR_WIDTHS).len;
   if (first == op->num_args)
      print_register(cg, op, first, 0);
   for (unsigned k = first; k < op->num_args; k++)
      for (unsigned r = 0; r < tl_type_num_regs(tl_arg(op, k)->type); r++)
         print_register(cg, op, k, r);
}

/* A GPU makes what it can of a promise, and checks nothing. */
void
tl_emit_check_hint(TlCg *cg, const TlOp *op)
{
   (void)cg;
   (void)op;
}

/* device_assert(condition, mask?): CUDA's __assertfail prints file, line, block and thread, and
 * stops the grid. */
void
tl_emit_device_assert(TlCg *cg, const TlOp *op)
{
   TlRegs cond = tl_cg_use(cg, tl_arg(op, 0)), mask = {0};
   if (op->num_args > 1)
      mask = tl_cg_use(cg, tl_arg(op, 1));
   LLVMValueRef ok = LLVMConstInt(cg->i1, 1, 0);
   for (unsigned r = 0; r < cond.count; r++) {
      LLVMValueRef c = cond.v[r];
      if (mask.count)
         c = LLVMBuildOr(cg->b, c, LLVMBuildNot(cg->b, mask.v[mask.count == 1 ? 0 : r], ""), "");
      ok = LLVMBuildAnd(cg->b, ok, c, "");
   }
   LLVMBasicBlockRef fail = LLVMAppendBasicBlockInContext(cg->llvm, cg->fn, "assert.fail");
   LLVMBasicBlockRef next = LLVMAppendBasicBlockInContext(cg->llvm, cg->fn, "assert.ok");
   LLVMBuildCondBr(cg->b, ok, next, fail);
   LLVMPositionBuilderAtEnd(cg->b, fail);
   const TlSource *src = tl_source(cg->sources, op->range.file);
   TlLineCol at =
      src ? tl_source_line_col(cg->sources, op->range.file, op->range.begin) : (TlLineCol){0, 0};
   const char *text = tl_attr_str(op, TL_ATTR_TEXT);
   LLVMValueRef args[] = {global_string(cg, text ? text : "assertion failed"),
                          global_string(cg, src ? src->name : "<unknown>"), tl_cg_i32(cg, at.line),
                          global_string(cg, cg->func->name), LLVMConstInt(cg->i64, 1, 0)};
   tl_cg_call(cg, "__assertfail", cg->voidt, args, 5);
   LLVMBuildBr(cg->b, next);
   LLVMPositionBuilderAtEnd(cg->b, next);
}
