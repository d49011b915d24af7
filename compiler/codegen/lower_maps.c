/* Tensor maps that a kernel makes: PTX ISA, "tensormap.replace", "tensormap.cp_fenceproxy",
 * "fence.proxy.tensormap".
 *
 * They lie in global memory of the module.  A multiprocessor has as many places as warps that make
 * maps can be there at a time, and a word with a bit for each that is taken.  A warp takes one of
 * its own multiprocessor's, or where all are taken of the next one's: it is the bit that makes it
 * the warp's own, so launches at the same time and blocks that move share nothing. */
#include "codegen/cg.h"
#include "layout/hw_layouts.h"

#include <assert.h>
#include <stdio.h>

enum { MAP_BYTES = 128, MULTIPROCESSORS = 144 /* of a GPU of compute capability 9.0, at most */ };

static const char warp[] = "0xffffffff";

/* Global memory of the function, zero at first: its address. */
static LLVMValueRef
memory_of(TlCg *cg, const char *what, LLVMTypeRef elem, uint64_t num, unsigned align)
{
   const char *name = tl_arena_printf(cg->arena, "tilec_%s_%s", what, cg->func->name);
   LLVMValueRef g = LLVMGetNamedGlobal(cg->mod, name);
   if (!g) {
      LLVMTypeRef type = LLVMArrayType2(elem, num);
      g = LLVMAddGlobalInAddressSpace(cg->mod, type, name, 1);
      LLVMSetInitializer(g, LLVMConstNull(type));
      LLVMSetLinkage(g, LLVMInternalLinkage);
      LLVMSetAlignment(g, align);
   }
   return g;
}

static LLVMValueRef
words_of(TlCg *cg)
{
   return memory_of(cg, "map_words", cg->i32, MULTIPROCESSORS, 4);
}

static uint64_t
place_bytes(const TlOp *op)
{
   return (uint64_t)tl_attr_int(op, TL_ATTR_NUM) * MAP_BYTES;
}

static LLVMValueRef
places_of(TlCg *cg, const TlOp *op)
{
   uint64_t places = (uint64_t)MULTIPROCESSORS * (uint64_t)tl_attr_int(op, TL_ATTR_PLACES);
   LLVMValueRef g = memory_of(cg, "maps", cg->i8, places * place_bytes(op), MAP_BYTES);
   return LLVMBuildPtrToInt(cg->b, LLVMConstAddrSpaceCast(g, cg->p0), cg->i64, "");
}

static void
needs_maps(TlCg *cg, const TlOp *op)
{
   enum { SM = 90, PTX = 83 };
   if (cg->target->sm < SM)
      tl_cg_unsupported(cg, tl_arena_printf(cg->arena, "'%s'", tl_info(op)->text),
                        "tensor maps are made from sm_90a on");
   tl_cg_needs_ptx(cg, PTX);
}

/* The first lane sets a bit that is 0; another may have been faster.  It tries that of its four
 * warps without a look, which is free where a multiprocessor has one block.  The number of the
 * place goes to all lanes. */
void
tl_emit_map_place(TlCg *cg, const TlOp *op)
{
   unsigned places = (unsigned)tl_attr_int(op, TL_ATTR_PLACES);
   assert(places >= 1 && places <= 32);
   needs_maps(cg, op);
   const char *text =
      tl_arena_printf(cg->arena,
                      "{ .reg .pred p; .reg .b32 word, bits, bit, mask; .reg .b64 at;\n\t"
                      "mov.b32 $0, 0;\n\t"
                      "@!$1 bra PLACED_${:uid};\n\t"
                      "mov.u32 bits, %%laneid;\n\t"
                      "setp.ne.u32 p, bits, 0;\n\t"
                      "@p bra FOUND_${:uid};\n\t"
                      "mov.u32 word, %%smid;\n\t"
                      "rem.u32 word, word, %u;\n\t"
                      "mad.wide.u32 at, word, 4, $2;\n\t"
                      "mov.u32 bit, %%tid.x;\n\t"
                      "shr.u32 bit, bit, 7;\n\t"
                      "rem.u32 bit, bit, %u;\n\t"
                      "bra TRY_${:uid};\n\t"
                      "NEXT_${:uid}:\n\t"
                      "add.u32 word, word, 1;\n\t"
                      "rem.u32 word, word, %u;\n\t"
                      "mad.wide.u32 at, word, 4, $2;\n\t"
                      "LOOK_${:uid}:\n\t"
                      "ld.relaxed.gpu.global.b32 bits, [at];\n\t"
                      "not.b32 bits, bits;\n\t"
                      "and.b32 bits, bits, %u;\n\t"
                      "setp.eq.u32 p, bits, 0;\n\t"
                      "@p bra NEXT_${:uid};\n\t"
                      "brev.b32 bits, bits;\n\t"
                      "clz.b32 bit, bits;\n\t"
                      "TRY_${:uid}:\n\t"
                      "shl.b32 mask, 1, bit;\n\t"
                      "atom.acquire.gpu.global.or.b32 bits, [at], mask;\n\t"
                      "and.b32 bits, bits, mask;\n\t"
                      "setp.ne.u32 p, bits, 0;\n\t"
                      "@p bra LOOK_${:uid};\n\t"
                      "mad.lo.u32 $0, word, %u, bit;\n\t"
                      "FOUND_${:uid}:\n\t"
                      "shfl.sync.idx.b32 $0, $0, 0, 31, %s;\n\t"
                      "PLACED_${:uid}:\n\t}",
                      (unsigned)MULTIPROCESSORS, places, (unsigned)MULTIPROCESSORS,
                      places == 32 ? UINT32_MAX : (1u << places) - 1, places, warp);
   LLVMValueRef args[] = {tl_cg_use1(cg, tl_arg(op, 0)), words_of(cg)};
   LLVMValueRef n =
      tl_cg_asm(cg, text, "=&r,b,l,~{memory}", cg->i32, args, 2, TL_ASM_EFFECT | TL_ASM_CONVERGENT);
   LLVMValueRef by = LLVMConstInt(cg->i64, place_bytes(op), 0);
   by = LLVMBuildMul(cg->b, LLVMBuildZExt(cg->b, n, cg->i64, ""), by, "");
   tl_cg_def(cg, tl_result(op, 0)).v[0] = LLVMBuildAdd(cg->b, places_of(cg, op), by, "");
}

/* The bit becomes 0 behind all that the warp did with its maps. */
void
tl_emit_map_leave(TlCg *cg, const TlOp *op)
{
   uint64_t places = (uint64_t)tl_attr_int(op, TL_ATTR_PLACES);
   needs_maps(cg, op);
   LLVMValueRef at = LLVMBuildSub(cg->b, tl_cg_use1(cg, tl_arg(op, 0)), places_of(cg, op), "");
   at = LLVMBuildTrunc(cg->b, at, cg->i32, "");
   LLVMValueRef n = LLVMBuildUDiv(cg->b, at, tl_cg_i32(cg, (int64_t)place_bytes(op)), "");
   LLVMValueRef per = tl_cg_i32(cg, (int64_t)places);
   LLVMValueRef args[] = {tl_cg_use1(cg, tl_arg(op, 1)), LLVMBuildUDiv(cg->b, n, per, ""),
                          LLVMBuildURem(cg->b, n, per, ""), words_of(cg)};
   const char *text = tl_arena_printf(
      cg->arena,
      "{ .reg .pred p; .reg .b32 lane, mask; .reg .b64 at;\n\t"
      "@!$0 bra LEFT_${:uid};\n\t"
      "%s"
      "bar.warp.sync %s;\n\t"
      "mov.u32 lane, %%laneid;\n\t"
      "setp.ne.u32 p, lane, 0;\n\t"
      "@p bra LEFT_${:uid};\n\t"
      "mad.wide.u32 at, $1, 4, $3;\n\t"
      "shl.b32 mask, 1, $2;\n\t"
      "not.b32 mask, mask;\n\t"
      "red.release.gpu.global.and.b32 [at], mask;\n\t"
      "LEFT_${:uid}:\n\t}",
      tl_attr_int(op, TL_ATTR_WRITTEN) ? "cp.async.bulk.wait_group 0;\n\t" : "", warp);
   tl_cg_asm(cg, text, "b,r,r,l,~{memory}", cg->voidt, args, 4, TL_ASM_EFFECT | TL_ASM_CONVERGENT);
}

/* The numbers that `.elemtype` has for types: fp8 travels as bytes. */
static unsigned
element_type(TlDtype t)
{
   enum { U8, U16, U32, I32, U64, I64, F16, F32, F64 = 9, BF16 = 10 };
   const TlDtypeInfo *info = &tl_dtype_info[t];
   switch (info->kind) {
   case TL_KIND_FLOAT:
      if (t == TL_FP16 || t == TL_BF16)
         return t == TL_FP16 ? F16 : BF16;
      return t == TL_FP32 ? F32 : t == TL_FP64 ? F64 : U8;
   case TL_KIND_SINT:
      return info->bytes == 4 ? I32 : info->bytes == 8 ? I64 : info->bytes == 2 ? U16 : U8;
   default:
      return info->bytes == 4 ? U32 : info->bytes == 8 ? U64 : info->bytes == 2 ? U16 : U8;
   }
}

/* tensormap.replace of one field, by its first lane. */
static void
replace(TlSb *text, const char *field, unsigned bits, const char *format, ...)
{
   char value[64];
   va_list args;
   va_start(args, format);
   vsnprintf(value, sizeof value, format, args);
   va_end(args);
   tl_sb_printf(text, "tensormap.replace.tile.%s.shared::cta.b1024.b%u [$1], %s;\n\t", field, bits,
                value);
}

/* All fields but sizes, strides and the base are the same each time. */
static void
replace_constants(TlSb *text, const TlOp *op, const TlType *map)
{
   unsigned swizzle = (unsigned)tl_attr_int(op, TL_ATTR_SWIZZLE);
   replace(text, "rank", 32, "%u", map->rank - 1u);
   for (unsigned d = 0; d < map->rank; d++) {
      replace(text, "box_dim", 32, "%u, %u", d, map->shape[map->rank - 1 - d]);
      replace(text, "element_stride", 32, "%u, 1", d);
   }
   replace(text, "elemtype", 32, "%u", element_type(map->dtype));
   replace(text, "interleave_layout", 32, "0");
   replace(text, "swizzle_mode", 32, "%u", swizzle / 64 + (swizzle != 0));
   replace(text, "fill_mode", 32, "%u", tl_attr_int(op, TL_ATTR_FILL_NAN) ? 1u : 0u);
}

static LLVMValueRef
map_of(TlCg *cg, const TlOp *op)
{
   LLVMValueRef at =
      LLVMConstInt(cg->i64, (unsigned long long)tl_attr_int(op, TL_ATTR_POSITION) * MAP_BYTES, 0);
   return LLVMBuildAdd(cg->b, tl_cg_use1(cg, tl_arg(op, 0)), at, "");
}

static LLVMValueRef
as_integer(TlCg *cg, const TlValue *v, LLVMTypeRef type)
{
   bool is_signed = tl_dtype_is_signed(v->type->dtype);
   return LLVMBuildIntCast2(cg->b, tl_cg_use1(cg, v), type, is_signed, "");
}

/* Put together in shared memory and copied as a whole, with the fence that makes it seen. */
void
tl_emit_map_write(TlCg *cg, const TlOp *op)
{
   enum { PLACE, ADDRESS, PRED, BASE, SIZES, HEAD = 4 };
   const TlType *map = tl_result(op, 0)->type;
   unsigned rank = map->rank, n = HEAD;
   LLVMValueRef address = tl_cg_shared_ptr(cg, tl_cg_use1(cg, tl_arg(op, ADDRESS)), 0);
   LLVMValueRef to = map_of(cg, op),
                args[HEAD + 2 * TL_TMAP_RANK] = {
                   tl_cg_use1(cg, tl_arg(op, PRED)), LLVMBuildPtrToInt(cg->b, address, cg->i32, ""),
                   to, LLVMBuildPtrToInt(cg->b, tl_cg_use1(cg, tl_arg(op, BASE)), cg->i64, "")};
   const char *constraints = "b,r,l,l";
   TlSb text;
   tl_sb_init(&text, cg->arena);
   needs_maps(cg, op);
   tl_sb_printf(&text,
                "{ .reg .pred p; .reg .b32 lane, at;\n\t"
                "@!$0 bra MAPPED_${:uid};\n\t"
                "%s"
                "mov.u32 lane, %%laneid;\n\t"
                "shl.b32 at, lane, 2;\n\t"
                "add.u32 at, at, $1;\n\t"
                "bar.warp.sync %s;\n\t"
                "st.shared.b32 [at], 0;\n\t"
                "bar.warp.sync %s;\n\t"
                "setp.ne.u32 p, lane, 0;\n\t"
                "@p bra FILLED_${:uid};\n\t",
                tl_attr_int(op, TL_ATTR_WRITTEN) ? "cp.async.bulk.wait_group 0;\n\t" : "", warp,
                warp);
   replace(&text, "global_address", 64, "$3");
   replace_constants(&text, op, map);
   for (unsigned d = 0; d < rank; d++) {
      args[n] = as_integer(cg, tl_arg(op, SIZES + rank - 1 - d), cg->i32);
      replace(&text, "global_dim", 32, "%u, $%u", d, n++);
      constraints = tl_arena_printf(cg->arena, "%s,r", constraints);
   }
   LLVMValueRef bytes = LLVMConstInt(cg->i64, tl_dtype_info[map->dtype].bytes, 0);
   for (unsigned d = 0; d + 1 < rank; d++) {
      LLVMValueRef stride = as_integer(cg, tl_arg(op, SIZES + rank + rank - 2 - d), cg->i64);
      args[n] = LLVMBuildMul(cg->b, stride, bytes, "");
      replace(&text, "global_stride", 64, "%u, $%u", d, n++);
      constraints = tl_arena_printf(cg->arena, "%s,l", constraints);
   }
   tl_sb_printf(&text,
                "FILLED_${:uid}:\n\t"
                "bar.warp.sync %s;\n\t"
                "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync."
                "aligned [$2], [$1], %d;\n\t"
                "MAPPED_${:uid}:\n\t}",
                warp, MAP_BYTES);
   tl_cg_asm(cg, tl_sb_cstr(&text), tl_arena_printf(cg->arena, "%s,~{memory}", constraints),
             cg->voidt, args, n, TL_ASM_EFFECT | TL_ASM_CONVERGENT);
   tl_cg_def(cg, tl_result(op, 0)).v[0] = LLVMBuildIntToPtr(cg->b, to, cg->p0, "");
}

void
tl_emit_map_fence(TlCg *cg, const TlOp *op)
{
   LLVMValueRef args[] = {tl_cg_use1(cg, tl_arg(op, 0)), tl_cg_use1(cg, tl_arg(op, 1))};
   needs_maps(cg, op);
   tl_cg_asm(cg, "@$1 fence.proxy.tensormap::generic.acquire.gpu [$0], 128;", "l,b,~{memory}",
             cg->voidt, args, 2, TL_ASM_EFFECT);
}
