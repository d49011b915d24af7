/* Types, constants and register packing. */
#include "codegen/cg.h"

#include <assert.h>

LLVMTypeRef
tl_cg_dtype(TlCg *cg, TlDtype t)
{
   assert(t < TL_DTYPE_COUNT);
   const TlDtypeInfo *info = &tl_dtype_info[t];
   if (info->kind == TL_KIND_FLOAT && info->bits >= 16)
      return t == TL_FP16 ? cg->f16 : t == TL_BF16 ? cg->bf16 : t == TL_FP32 ? cg->f32 : cg->f64;
   switch (info->bits) {
   case 1:
      return cg->i1;
   case 8:
      return cg->i8;
   case 16:
      return cg->i16;
   case 32:
      return cg->i32;
   default:
      return cg->i64;
   }
}

LLVMTypeRef
tl_cg_elem(TlCg *cg, const TlType *t)
{
   const TlType *e = tl_type_elem(t);
   if (e->kind == TL_TYPE_TMAP)
      return cg->p0;
   return e->kind == TL_TYPE_PTR ? cg->p1 : tl_cg_dtype(cg, e->dtype);
}

unsigned
tl_cg_elem_bits(const TlType *elem)
{
   if (elem->kind == TL_TYPE_PTR || elem->kind == TL_TYPE_TMAP)
      return 64;
   assert(elem->kind == TL_TYPE_SCALAR);
   return elem->dtype == TL_I1 ? 8 : tl_dtype_info[elem->dtype].bits;
}

LLVMValueRef
tl_cg_i32(TlCg *cg, int64_t v)
{
   return LLVMConstInt(cg->i32, (unsigned long long)v, 1);
}

LLVMValueRef
tl_cg_f32(TlCg *cg, double v)
{
   return LLVMConstReal(cg->f32, v);
}

LLVMValueRef
tl_cg_bits(TlCg *cg, TlDtype t, uint64_t bits)
{
   LLVMTypeRef type = tl_cg_dtype(cg, t);
   if (!tl_dtype_is_float(t) || tl_dtype_info[t].bits == 8)
      return LLVMConstInt(type, bits, 0);
   LLVMTypeRef int_type = LLVMIntTypeInContext(cg->llvm, tl_dtype_info[t].bits);
   return LLVMConstBitCast(LLVMConstInt(int_type, bits, 0), type);
}

LLVMValueRef
tl_cg_to_int(TlCg *cg, LLVMValueRef v, unsigned bits)
{
   LLVMTypeRef t = LLVMTypeOf(v), it = LLVMIntTypeInContext(cg->llvm, bits);
   switch (LLVMGetTypeKind(t)) {
   case LLVMPointerTypeKind:
      return LLVMBuildPtrToInt(cg->b, v, it, "");
   case LLVMIntegerTypeKind:
      return LLVMGetIntTypeWidth(t) == bits ? v : LLVMBuildZExt(cg->b, v, it, "");
   default:
      return LLVMBuildBitCast(cg->b, v, it, "");
   }
}

LLVMValueRef
tl_cg_from_int(TlCg *cg, LLVMValueRef v, LLVMTypeRef t)
{
   switch (LLVMGetTypeKind(t)) {
   case LLVMPointerTypeKind:
      return LLVMBuildIntToPtr(cg->b, v, t, "");
   case LLVMIntegerTypeKind:
      return LLVMTypeOf(v) == t ? v : LLVMBuildTrunc(cg->b, v, t, "");
   default:
      return LLVMBuildBitCast(cg->b, v, t, "");
   }
}

/* The 16-bit value of which lo and hi are the halves: what conversions to 8 bits give for two
 * elements at once; NULL: none. */
static LLVMValueRef
pair_of(LLVMValueRef lo, LLVMValueRef hi)
{
   if (!LLVMIsATruncInst(lo) || !LLVMIsATruncInst(hi))
      return NULL;
   LLVMValueRef pair = LLVMGetOperand(lo, 0), shifted = LLVMGetOperand(hi, 0);
   bool is_pair = LLVMGetIntTypeWidth(LLVMTypeOf(pair)) == 16 && LLVMIsAInstruction(shifted) &&
                  LLVMGetInstructionOpcode(shifted) == LLVMLShr &&
                  LLVMGetOperand(shifted, 0) == pair;
   LLVMValueRef by = is_pair ? LLVMGetOperand(shifted, 1) : NULL;
   return by && LLVMIsAConstantInt(by) && LLVMConstIntGetZExtValue(by) == 8 ? pair : NULL;
}

/* A word of four bytes that are the halves of two 16-bit values, without taking these apart. */
static LLVMValueRef
word_of_pairs(TlCg *cg, const LLVMValueRef *v)
{
   LLVMValueRef pair[] = {pair_of(v[0], v[1]), pair_of(v[2], v[3])};
   if (!pair[0] || !pair[1])
      return NULL;
   LLVMValueRef x = LLVMGetPoison(LLVMVectorType(LLVMTypeOf(pair[0]), 2));
   for (unsigned i = 0; i < 2; i++)
      x = LLVMBuildInsertElement(cg->b, x, pair[i], tl_cg_i32(cg, i), "");
   return LLVMBuildBitCast(cg->b, x, cg->i32, "");
}

/* The word that was taken apart into v[0], v[1], ..; NULL: there is none. */
static LLVMValueRef
word_of_parts(const LLVMValueRef *v, unsigned per, LLVMTypeRef word)
{
   LLVMValueRef vec = NULL;
   for (unsigned k = 0; k < per; k++) {
      if (!LLVMIsAExtractElementInst(v[k]))
         return NULL;
      LLVMValueRef of = LLVMGetOperand(v[k], 0), at = LLVMGetOperand(v[k], 1);
      if ((k && of != vec) || !LLVMIsAConstantInt(at) || LLVMConstIntGetZExtValue(at) != k)
         return NULL;
      vec = of;
   }
   bool is_word = LLVMGetVectorSize(LLVMTypeOf(vec)) == per && LLVMIsABitCastInst(vec) &&
                  LLVMTypeOf(LLVMGetOperand(vec, 0)) == word;
   return is_word ? LLVMGetOperand(vec, 0) : NULL;
}

unsigned
tl_cg_pack(TlCg *cg, const LLVMValueRef *v, unsigned n, unsigned elem_bits, unsigned piece_bits,
           LLVMValueRef *out)
{
   assert(elem_bits <= piece_bits ? piece_bits % elem_bits == 0 : elem_bits % piece_bits == 0);
   if (elem_bits == piece_bits) {
      for (unsigned i = 0; i < n; i++)
         out[i] = tl_cg_to_int(cg, v[i], piece_bits);
      return n;
   }
   LLVMTypeRef elem = LLVMIntTypeInContext(cg->llvm, elem_bits);
   LLVMTypeRef piece = LLVMIntTypeInContext(cg->llvm, piece_bits);
   if (elem_bits > piece_bits) { /* split each element */
      unsigned per = elem_bits / piece_bits;
      for (unsigned i = 0; i < n; i++) {
         LLVMValueRef whole = tl_cg_to_int(cg, v[i], elem_bits);
         for (unsigned k = 0; k < per; k++) {
            LLVMValueRef part = whole;
            if (k)
               part = LLVMBuildLShr(cg->b, whole, LLVMConstInt(elem, k * piece_bits, 0), "");
            out[i * per + k] = LLVMBuildTrunc(cg->b, part, piece, "");
         }
      }
      return n * per;
   }
   unsigned per = piece_bits / elem_bits;
   assert(n % per == 0);
   LLVMTypeRef vec_elem = LLVMTypeOf(v[0]);
   bool as_int = LLVMGetTypeKind(vec_elem) == LLVMIntegerTypeKind;
   if (as_int)
      vec_elem = elem;
   LLVMTypeRef vec = LLVMVectorType(vec_elem, per);
   for (unsigned i = 0; i < n / per; i++) {
      out[i] = word_of_parts(&v[i * per], per, piece);
      if (!out[i] && elem_bits == 8 && per == 4)
         out[i] = word_of_pairs(cg, &v[i * per]);
      if (out[i])
         continue;
      LLVMValueRef x = LLVMGetPoison(vec);
      for (unsigned k = 0; k < per; k++) {
         LLVMValueRef e = v[i * per + k];
         if (as_int)
            e = tl_cg_to_int(cg, e, elem_bits);
         x = LLVMBuildInsertElement(cg->b, x, e, tl_cg_i32(cg, k), "");
      }
      out[i] = LLVMBuildBitCast(cg->b, x, piece, "");
   }
   return n / per;
}

void
tl_cg_unpack(TlCg *cg, const LLVMValueRef *pieces, unsigned num_pieces, unsigned piece_bits,
             LLVMTypeRef elem, unsigned elem_bits, LLVMValueRef *out)
{
   assert(num_pieces > 0);
   if (elem_bits == piece_bits) {
      for (unsigned i = 0; i < num_pieces; i++)
         out[i] = tl_cg_from_int(cg, pieces[i], elem);
      return;
   }
   LLVMTypeRef elem_int = LLVMIntTypeInContext(cg->llvm, elem_bits);
   if (elem_bits > piece_bits) {
      unsigned per = elem_bits / piece_bits;
      for (unsigned i = 0; i < num_pieces / per; i++) {
         LLVMValueRef whole = LLVMConstInt(elem_int, 0, 0);
         for (unsigned k = 0; k < per; k++) {
            LLVMValueRef part = LLVMBuildZExt(cg->b, pieces[i * per + k], elem_int, "");
            if (k)
               part = LLVMBuildShl(cg->b, part, LLVMConstInt(elem_int, k * piece_bits, 0), "");
            whole = k ? LLVMBuildOr(cg->b, whole, part, "") : part;
         }
         out[i] = tl_cg_from_int(cg, whole, elem);
      }
      return;
   }
   unsigned per = piece_bits / elem_bits;
   bool as_int = LLVMGetTypeKind(elem) == LLVMIntegerTypeKind;
   LLVMTypeRef vec = LLVMVectorType(as_int ? elem_int : elem, per);
   for (unsigned i = 0; i < num_pieces; i++) {
      LLVMValueRef x = LLVMBuildBitCast(cg->b, pieces[i], vec, "");
      for (unsigned k = 0; k < per; k++) {
         LLVMValueRef e = LLVMBuildExtractElement(cg->b, x, tl_cg_i32(cg, k), "");
         out[i * per + k] = as_int ? tl_cg_from_int(cg, e, elem) : e;
      }
   }
}
