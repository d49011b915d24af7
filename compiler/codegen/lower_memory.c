/* Global and shared memory.  Unmasked plain accesses are LLVM vector loads and stores; masked ones
 * and those with cache hints are inline PTX, since LLVM has no predicated form.  PTX ISA 8.x,
 * sections "ld", "st", "createpolicy". */
#include "codegen/cg.h"
#include "ir/pressure.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

/* ---- shapes of one access ---- */
typedef struct Piece {
   unsigned bits;  /* register width: 16, 32 or 64; bytes use 16-bit registers */
   unsigned count; /* registers of one access: 1, 2 or 4 */
   bool is_byte;
} Piece;

/* How `bytes` (a power of two <= 16) of elements of elem_bits travel in PTX registers. */
static Piece
access_pieces(unsigned bytes, unsigned elem_bits)
{
   assert(bytes && (bytes & (bytes - 1)) == 0 && bytes <= 16);
   if (bytes == 1)
      return (Piece){16, 1, true};
   if (bytes == 2)
      return (Piece){16, 1, false};
   if (elem_bits == 64)
      return (Piece){64, bytes / 8, false};
   return (Piece){32, bytes / 4, false};
}

static void
set_align(LLVMValueRef access, unsigned bytes)
{
   assert(bytes && (bytes & (bytes - 1)) == 0);
   LLVMSetAlignment(access, bytes);
}

/* The LLVM type of an access of n elements: vectors of 16-byte accesses select v4.b32. */
static LLVMTypeRef
access_type(LLVMTypeRef elem, unsigned n)
{
   assert(n > 0);
   return n == 1 ? elem : LLVMVectorType(elem, n);
}

/* Memory form of an element: i1 is a byte. */
static LLVMTypeRef
memory_elem(TlCg *cg, LLVMTypeRef elem)
{
   return elem == cg->i1 ? cg->i8 : elem;
}

static void
split_vector(TlCg *cg, LLVMValueRef whole, LLVMTypeRef elem, unsigned n, LLVMValueRef *out)
{
   for (unsigned i = 0; i < n; i++) {
      out[i] = n == 1 ? whole : LLVMBuildExtractElement(cg->b, whole, tl_cg_i32(cg, i), "");
      if (elem == cg->i1)
         out[i] = LLVMBuildTrunc(cg->b, out[i], cg->i1, "");
   }
}

static LLVMValueRef
join_vector(TlCg *cg, const LLVMValueRef *v, LLVMTypeRef elem, unsigned n)
{
   LLVMTypeRef mem = memory_elem(cg, elem);
   LLVMValueRef whole = n == 1 ? NULL : LLVMGetPoison(LLVMVectorType(mem, n));
   for (unsigned i = 0; i < n; i++) {
      LLVMValueRef x = elem == cg->i1 ? LLVMBuildZExt(cg->b, v[i], mem, "") : v[i];
      if (n == 1)
         return x;
      whole = LLVMBuildInsertElement(cg->b, whole, x, tl_cg_i32(cg, i), "");
   }
   return whole;
}

LLVMValueRef
tl_cg_pred(TlRegs pred, unsigned access)
{
   assert(pred.count <= 1 || access < pred.count);
   return pred.count == 0 ? NULL : pred.v[pred.count == 1 ? 0 : access];
}

bool
tl_cg_is_true(LLVMValueRef pred)
{
   return !pred || (LLVMIsAConstantInt(pred) && LLVMConstIntGetZExtValue(pred) == 1);
}

/* ---- global loads and stores in inline PTX ---- */
typedef struct Hints {
   int64_t cache, evict;
   bool is_volatile;
} Hints;

/* A volatile load takes none. */
static Hints
hints_of(const TlOp *op, bool has_volatile)
{
   if (has_volatile && tl_attr_int(op, TL_ATTR_VOLATILE))
      return (Hints){TL_CACHE_NONE, TL_EVICT_NORMAL, true};
   return (Hints){tl_attr_int(op, TL_ATTR_CACHE), tl_attr_int(op, TL_ATTR_EVICT), false};
}

static bool
has_hints(Hints h)
{
   return h.cache != TL_CACHE_NONE || h.evict != TL_EVICT_NORMAL;
}

/* "ld.global.L1::evict_first.L2::cache_hint.v4.b32".  A cache operator excludes an L1 priority (PTX
 * ISA, "ld", "st"): what the kernel says of the cache wins, and the policy of L2 stays. */
static void
mnemonic(char *out, size_t size, const char *base, Hints h, Piece p)
{
   char vec[16] = "";
   if (p.count > 1)
      snprintf(vec, sizeof vec, ".v%u", p.count);
   const char *cop = h.cache == TL_CACHE_NONE ? "" : tl_attr_word(TL_AK_CACHE, h.cache);
   const char *l1 = *cop                        ? ""
                    : h.evict == TL_EVICT_FIRST ? ".L1::evict_first"
                    : h.evict == TL_EVICT_LAST  ? ".L1::evict_last"
                                                : "";
   snprintf(out, size, "%s%s%s%s%s%s%s.b%u", h.is_volatile ? "ld.volatile" : base, ".global",
            *cop ? "." : "", cop, l1, h.evict != TL_EVICT_NORMAL ? ".L2::cache_hint" : "", vec,
            p.is_byte ? 8 : p.bits);
}

static LLVMValueRef
cache_policy(TlCg *cg, int64_t evict)
{
   const char *text = evict == TL_EVICT_FIRST
                         ? "createpolicy.fractional.L2::evict_first.b64 $0, 1.0;"
                         : "createpolicy.fractional.L2::evict_last.b64 $0, 1.0;";
   return tl_cg_asm(cg, text, "=l", cg->i64, NULL, 0, 0);
}

const char *
tl_cg_reg_class(unsigned bits)
{
   assert(bits == 16 || bits == 32 || bits == 64);
   return bits == 64 ? "l" : bits == 32 ? "r" : "h";
}

void
tl_cg_register_list(TlSb *sb, unsigned first, unsigned count)
{
   if (count > 1)
      tl_sb_char(sb, '{');
   for (unsigned i = 0; i < count; i++)
      tl_sb_printf(sb, "%s$%u", i ? ", " : "", first + i);
   if (count > 1)
      tl_sb_char(sb, '}');
}

/* One access of inline PTX load: outputs tied to the values of masked-off elements. */
static void
asm_load(TlCg *cg, LLVMValueRef ptr, LLVMValueRef pred, const LLVMValueRef *other, Hints h, Piece p,
         LLVMValueRef *out)
{
   bool policy = h.evict != TL_EVICT_NORMAL, masked = !tl_cg_is_true(pred);
   char name[96];
   mnemonic(name, sizeof name, "ld", h, p);
   TlSb text, cons;
   tl_sb_init(&text, cg->arena);
   tl_sb_init(&cons, cg->arena);
   LLVMValueRef args[12];
   unsigned n = 0, operand = p.count;
   for (unsigned i = 0; i < p.count; i++)
      tl_sb_printf(&cons, "%s=%s", i ? "," : "", tl_cg_reg_class(p.bits));
   args[n++] = ptr;
   tl_sb_str(&cons, ",l");
   unsigned at_ptr = operand++, at_pred = 0, at_policy = 0;
   if (masked) {
      args[n++] = pred;
      tl_sb_str(&cons, ",b");
      at_pred = operand++;
   }
   if (policy) {
      args[n++] = cache_policy(cg, h.evict);
      tl_sb_str(&cons, ",l");
      at_policy = operand++;
   }
   if (masked)
      for (unsigned i = 0; i < p.count; i++) {
         args[n++] = other[i];
         tl_sb_printf(&cons, ",%u", i);
      }
   if (masked)
      tl_sb_printf(&text, "@$%u ", at_pred);
   tl_sb_printf(&text, "%s ", name);
   tl_cg_register_list(&text, 0, p.count);
   tl_sb_printf(&text, ", [$%u]", at_ptr);
   if (policy)
      tl_sb_printf(&text, ", $%u", at_policy);
   tl_sb_char(&text, ';');
   tl_sb_str(&cons, ",~{memory}");
   LLVMTypeRef piece = LLVMIntTypeInContext(cg->llvm, p.bits),
               parts[4] = {piece, piece, piece, piece};
   LLVMTypeRef ret = p.count == 1 ? piece : LLVMStructTypeInContext(cg->llvm, parts, p.count, 0);
   LLVMValueRef r =
      tl_cg_asm(cg, tl_sb_cstr(&text), tl_sb_cstr(&cons), ret, args, n, TL_ASM_EFFECT);
   for (unsigned i = 0; i < p.count; i++)
      out[i] = p.count == 1 ? r : LLVMBuildExtractValue(cg->b, r, i, "");
}

/* n elements to PTX registers of p and back; bytes sit in 16-bit registers. */
static void
to_pieces(TlCg *cg, const LLVMValueRef *v, unsigned n, unsigned elem_bits, Piece p,
          LLVMValueRef *out)
{
   if (p.is_byte)
      out[0] = LLVMBuildZExt(cg->b, tl_cg_to_int(cg, v[0], 8), cg->i16, "");
   else
      tl_cg_pack(cg, v, n, elem_bits, p.bits, out);
}

static void
from_pieces(TlCg *cg, const LLVMValueRef *pieces, Piece p, LLVMTypeRef elem, unsigned elem_bits,
            LLVMValueRef *out)
{
   if (p.is_byte)
      out[0] = tl_cg_from_int(cg, LLVMBuildTrunc(cg->b, pieces[0], cg->i8, ""), elem);
   else
      tl_cg_unpack(cg, pieces, p.count, p.bits, elem, elem_bits, out);
}

/* ---- vectors that are accessed in part ----
 * A whole one at once; behind a branch, which only threads take that hold the last elements of a
 * row, element by element, but for the last, which is not there:
 *
 *    setp.ge whole, part, 16;   @whole ld.global.v4.b32 {..}, [p];
 *    setp.gt.and cut, part, 0, !whole;   @!cut bra done;
 *    ld.global.b16 t0, [p];    setp.gt q1, part, 2;  @q1 ld.global.b16 t1, [p+2];   ..
 *    bfi.b32 r0, t0, r0, 0, 16;   @q1 bfi.b32 r0, t1, r0, 16, 16;   ..
 *    done: */
enum { MAX_PART_OPERANDS = 12 };

typedef struct Part {
   TlCg *cg;
   TlSb text, cons;
   LLVMValueRef args[MAX_PART_OPERANDS];
   unsigned num, ptr, part, policy; /* operands: how many, and their numbers */
   unsigned bytes, elem_bits;
   Piece p, elem;
   Hints h;
} Part;

static Part
part_new(TlCg *cg, unsigned bytes, unsigned elem_bits, Hints h)
{
   Part x = {.cg = cg, .bytes = bytes, .elem_bits = elem_bits, .h = h};
   x.p = access_pieces(bytes, elem_bits);
   x.elem = access_pieces(elem_bits / 8, elem_bits);
   tl_sb_init(&x.text, cg->arena);
   tl_sb_init(&x.cons, cg->arena);
   return x;
}

static unsigned
part_operand(Part *x, LLVMValueRef v, const char *constraint)
{
   tl_sb_printf(&x->cons, "%s%s", x->cons.len ? "," : "", constraint);
   if (v)
      x->args[x->num++] = v;
   return x->num - 1;
}

/* The instruction on one element or on all, "ld.global.b16", and its address. */
static void
part_access(Part *x, const char *base, Piece p, unsigned first, const char *reg, unsigned offset)
{
   char name[96];
   bool is_load = base[0] == 'l';
   mnemonic(name, sizeof name, base, x->h, p);
   tl_sb_printf(&x->text, "%s ", name);
   for (unsigned i = 0; i < 2; i++) {
      if (i)
         tl_sb_str(&x->text, ", ");
      if ((i == 0) != is_load)
         tl_sb_printf(&x->text, "[$%u+%u]", x->ptr, offset);
      else if (reg)
         tl_sb_str(&x->text, reg);
      else
         tl_cg_register_list(&x->text, first, p.count);
   }
   if (x->h.evict != TL_EVICT_NORMAL)
      tl_sb_printf(&x->text, ", $%u", x->policy);
   tl_sb_str(&x->text, "; ");
}

/* The whole vector, and the branch around its elements. */
static void
part_begin(Part *x, const char *base, unsigned first, unsigned count)
{
   tl_sb_printf(&x->text, "{ .reg .pred whole, cut, q<%u>; .reg .b32 t<%u>; ", count, count);
   tl_sb_printf(&x->text, "setp.ge.s32 whole, $%u, %u; @whole ", x->part, x->bytes);
   part_access(x, base, x->p, first, NULL, 0);
   tl_sb_printf(&x->text, "setp.gt.and.s32 cut, $%u, 0, !whole; @!cut bra L_${:uid}; ", x->part);
   for (unsigned i = 1; i + 1 < count; i++)
      tl_sb_printf(&x->text, "setp.gt.s32 q%u, $%u, %u; ", i, x->part, i * x->elem_bits / 8);
}

/* Of a cut vector the first element is there. */
static void
part_guard(Part *x, unsigned i)
{
   if (i)
      tl_sb_printf(&x->text, "@q%u ", i);
}

static LLVMValueRef
part_end(Part *x, LLVMTypeRef ret)
{
   tl_sb_str(&x->text, "L_${:uid}: }");
   part_operand(x, NULL, "~{memory}");
   assert(x->num <= MAX_PART_OPERANDS);
   return tl_cg_asm(x->cg, tl_sb_cstr(&x->text), tl_sb_cstr(&x->cons), ret, x->args, x->num,
                    TL_ASM_EFFECT);
}

static void
part_load(TlCg *cg, LLVMValueRef ptr, LLVMValueRef part, const LLVMValueRef *other, Part *x,
          LLVMValueRef *out)
{
   unsigned count = x->bytes * 8 / x->elem_bits, per = x->p.bits / x->elem_bits;
   char tied[12];
   for (unsigned i = 0; i < x->p.count; i++)
      tl_sb_printf(&x->cons, "%s=%s", i ? "," : "", tl_cg_reg_class(x->p.bits));
   x->ptr = x->p.count + part_operand(x, ptr, "l");
   x->part = x->p.count + part_operand(x, part, "r");
   if (x->h.evict != TL_EVICT_NORMAL)
      x->policy = x->p.count + part_operand(x, cache_policy(cg, x->h.evict), "l");
   for (unsigned i = 0; i < x->p.count; i++) {
      snprintf(tied, sizeof tied, "%u", i);
      part_operand(x, other[i], tied);
   }
   part_begin(x, "ld", 0, count);
   for (unsigned i = 0; i + 1 < count; i++) { /* all of them begun, then put where they belong */
      char reg[16];
      snprintf(reg, sizeof reg, "%c%u", per > 1 ? 't' : '$', i);
      part_guard(x, i);
      part_access(x, "ld", x->elem, 0, reg, i * x->elem_bits / 8);
   }
   for (unsigned i = 0; i + 1 < count && per > 1; i++) {
      part_guard(x, i);
      tl_sb_printf(&x->text, "bfi.b32 $%u, t%u, $%u, %u, %u; ", i / per, i, i / per,
                   i % per * x->elem_bits, x->elem_bits);
   }
   LLVMTypeRef piece = LLVMIntTypeInContext(cg->llvm, x->p.bits),
               parts[4] = {piece, piece, piece, piece};
   unsigned n = x->p.count;
   LLVMValueRef r = part_end(x, n == 1 ? piece : LLVMStructTypeInContext(cg->llvm, parts, n, 0));
   for (unsigned i = 0; i < n; i++)
      out[i] = n == 1 ? r : LLVMBuildExtractValue(cg->b, r, i, "");
}

static void
part_store(TlCg *cg, LLVMValueRef ptr, LLVMValueRef part, const LLVMValueRef *pieces, Part *x)
{
   unsigned count = x->bytes * 8 / x->elem_bits, per = x->p.bits / x->elem_bits;
   x->ptr = part_operand(x, ptr, "l");
   for (unsigned i = 0; i < x->p.count; i++)
      part_operand(x, pieces[i], tl_cg_reg_class(x->p.bits));
   x->part = part_operand(x, part, "r");
   if (x->h.evict != TL_EVICT_NORMAL)
      x->policy = part_operand(x, cache_policy(cg, x->h.evict), "l");
   part_begin(x, "st", 1, count);
   for (unsigned i = 0; i + 1 < count; i++) {
      char reg[16];
      bool is_inside = i % per != 0;
      snprintf(reg, sizeof reg, is_inside ? "t%u" : "$%u", is_inside ? i : 1 + i / per);
      if (is_inside)
         tl_sb_printf(&x->text, "shr.b32 t%u, $%u, %u; ", i, 1 + i / per, i % per * x->elem_bits);
      part_guard(x, i);
      part_access(x, "st", x->elem, 0, reg, i * x->elem_bits / 8);
   }
   part_end(x, cg->voidt);
}

/* The pieces of access a where it is masked off. */
static void
other_pieces(TlCg *cg, TlRegs other, unsigned a, unsigned vec, unsigned elem_bits, Piece p,
             LLVMValueRef *out)
{
   LLVMValueRef fill[16];
   for (unsigned i = 0; i < p.count; i++)
      out[i] = LLVMConstInt(LLVMIntTypeInContext(cg->llvm, p.bits), 0, 0);
   if (!other.count)
      return;
   for (unsigned i = 0; i < vec; i++)
      fill[i] = other.v[other.count == 1 ? 0 : a * vec + i];
   to_pieces(cg, fill, vec, elem_bits, p, out);
}

/* ld_global(ptrs, part?, other?) */
void
tl_emit_ld_global(TlCg *cg, const TlOp *op)
{
   const TlType *elem_type = tl_type_elem(tl_result(op, 0)->type);
   LLVMTypeRef elem = tl_cg_elem(cg, elem_type);
   unsigned elem_bits = tl_cg_elem_bits(elem_type), vec = (unsigned)tl_attr_int(op, TL_ATTR_VEC);
   TlRegs ptrs = tl_cg_use(cg, tl_arg(op, 0)), pred = {0}, other = {0};
   if (op->num_args > 1)
      pred = tl_cg_use(cg, tl_arg(op, 1));
   if (op->num_args > 2)
      other = tl_cg_use(cg, tl_arg(op, 2));
   Hints h = hints_of(op, true);
   bool is_partial = tl_is_partial(op);
   unsigned bytes = vec * elem_bits / 8;
   Piece p = access_pieces(bytes, elem_bits);
   TlRegs dst = tl_cg_def(cg, tl_result(op, 0));
   for (unsigned a = 0; a < ptrs.count; a++) {
      LLVMValueRef *out = &dst.v[a * vec], mask = tl_cg_pred(pred, a);
      if (!is_partial && tl_cg_is_true(mask) && !has_hints(h)) {
         LLVMTypeRef type = access_type(memory_elem(cg, elem), vec);
         LLVMValueRef v = LLVMBuildLoad2(cg->b, type, ptrs.v[a], "");
         set_align(v, bytes);
         LLVMSetVolatile(v, h.is_volatile);
         split_vector(cg, v, elem, vec, out);
         continue;
      }
      LLVMValueRef init[4], pieces[4];
      other_pieces(cg, tl_cg_is_true(mask) ? (TlRegs){0} : other, a, vec, elem_bits, p, init);
      if (is_partial) {
         Part part = part_new(cg, bytes, elem_bits, h);
         part_load(cg, ptrs.v[a], mask, init, &part, pieces);
      } else {
         asm_load(cg, ptrs.v[a], mask, init, h, p, pieces);
      }
      from_pieces(cg, pieces, p, elem, elem_bits, out);
   }
}

/* ---- masks of stores ----
 * A thread has seven registers for truths.  Masks that loads read and stores read again live from
 * one to the other, and where there are more than that ptxas orders the loads by them: eight loads
 * went one after another, each waited for before the next, to have their masks for eight stores.
 * It knows equal comparisons but not opposite ones, so stores are told where not to store, by
 * comparisons of their own. */
enum { MOST_TRUTHS = 6, MAX_TERMS = 3 };

static LLVMIntPredicate
opposite_of(LLVMIntPredicate p)
{
   switch (p) {
   case LLVMIntEQ:
      return LLVMIntNE;
   case LLVMIntNE:
      return LLVMIntEQ;
   case LLVMIntUGT:
      return LLVMIntULE;
   case LLVMIntULE:
      return LLVMIntUGT;
   case LLVMIntUGE:
      return LLVMIntULT;
   case LLVMIntULT:
      return LLVMIntUGE;
   case LLVMIntSGT:
      return LLVMIntSLE;
   case LLVMIntSLE:
      return LLVMIntSGT;
   case LLVMIntSGE:
      return LLVMIntSLT;
   case LLVMIntSLT:
      return LLVMIntSGE;
   }
   assert(false && "every predicate of integers has one");
   return p;
}

static bool
is_conjunction(LLVMValueRef v)
{
   return LLVMIsAInstruction(v) && LLVMGetInstructionOpcode(v) == LLVMAnd;
}

/* Comparisons of integers and conjunctions of them. */
static bool
has_opposite(LLVMValueRef v, unsigned depth)
{
   if (LLVMIsAICmpInst(v))
      return true;
   return depth < MAX_TERMS && is_conjunction(v) && has_opposite(LLVMGetOperand(v, 0), depth + 1) &&
          has_opposite(LLVMGetOperand(v, 1), depth + 1);
}

/* Is `mask` a term of `of`? */
static bool
is_term(const TlValue *mask, const TlValue *of, unsigned depth)
{
   if (mask == of)
      return true;
   return depth < MAX_TERMS && tl_value_is(of, TL_OP_AND) &&
          (is_term(mask, tl_arg(of->def, 0), depth + 1) ||
           is_term(mask, tl_arg(of->def, 1), depth + 1));
}

/* Do loops count as well? */
static const TlOp *
next_store(const TlCg *cg, const TlOp *op)
{
   return cg->by_element ? tl_walk_next(op, cg->func->body->block) : op->next;
}

/* Truths that the stores of the function's body ask for, those that several ask for once. */
uint32_t
tl_cg_truths_of_stores(const TlCg *cg)
{
   uint32_t n = 0;
   const TlValue *last = NULL;
   for (const TlOp *op = cg->func->body->block->first; op; op = next_store(cg, op)) {
      const TlValue *mask = op->opcode == TL_OP_ST_GLOBAL ? tl_pred(op) : NULL;
      if (mask && mask != last && !tl_is_partial(op) && mask->type->kind == TL_TYPE_REGS)
         n += tl_type_num_regs(mask->type);
      last = mask ? mask : last;
   }
   return n;
}

/* Has the store masks of loads that come to it without a branch or a barrier, where stores have
 * more than there are registers for?  What reads them before that keeps them alive in any case.  In
 * loops other loads are in flight, and the comparisons cost what they bring; unless all loads of
 * the loop are to be under way in few registers. */
static bool
shares_masks(const TlCg *cg, const TlOp *store)
{
   const TlValue *mask = tl_pred(store);
   bool is_shared = false, is_apart = false;
   bool is_outside = store->block == cg->func->body->block;
   if (!mask || tl_is_partial(store) || mask->type->kind != TL_TYPE_REGS ||
       (!is_outside && !cg->by_element) || cg->truths <= MOST_TRUTHS)
      return false;
   for (const TlOp *op = store->prev; op; op = op->prev) {
      const TlValue *of = op->opcode == TL_OP_LD_GLOBAL ? tl_pred(op) : NULL;
      if (of && (is_term(mask, of, 0) || is_term(of, mask, 0))) {
         if (is_apart)
            return false;
         is_shared = true;
      }
      is_apart |= op->num_regions > 0 || op->opcode == TL_OP_BAR_SYNC;
      if (is_apart && !is_shared)
         return false;
   }
   return is_shared;
}

static LLVMValueRef
make_opposite(TlCg *cg, LLVMValueRef v)
{
   LLVMValueRef a = LLVMGetOperand(v, 0), b = LLVMGetOperand(v, 1);
   if (!is_conjunction(v))
      return LLVMBuildICmp(cg->b, opposite_of(LLVMGetICmpPredicate(v)), a, b, "");
   a = make_opposite(cg, a);
   return LLVMBuildOr(cg->b, a, make_opposite(cg, b), "");
}

static void
asm_store(TlCg *cg, LLVMValueRef ptr, LLVMValueRef pred, LLVMValueRef unless,
          const LLVMValueRef *pieces, Hints h, Piece p)
{
   bool policy = h.evict != TL_EVICT_NORMAL, masked = !tl_cg_is_true(pred);
   char name[96];
   mnemonic(name, sizeof name, "st", h, p);
   TlSb text, cons;
   tl_sb_init(&text, cg->arena);
   tl_sb_init(&cons, cg->arena);
   LLVMValueRef args[8];
   unsigned n = 0;
   args[n++] = ptr;
   tl_sb_str(&cons, "l");
   for (unsigned i = 0; i < p.count; i++) {
      args[n++] = pieces[i];
      tl_sb_printf(&cons, ",%s", tl_cg_reg_class(p.bits));
   }
   if (masked) {
      tl_sb_printf(&text, "@%s$%u ", unless ? "!" : "", n);
      args[n++] = unless ? unless : pred;
      tl_sb_str(&cons, ",b");
   }
   tl_sb_printf(&text, "%s [$0], ", name);
   tl_cg_register_list(&text, 1, p.count);
   if (policy) {
      tl_sb_printf(&text, ", $%u", n);
      args[n++] = cache_policy(cg, h.evict);
      tl_sb_str(&cons, ",l");
   }
   tl_sb_char(&text, ';');
   tl_sb_str(&cons, ",~{memory}");
   tl_cg_asm(cg, tl_sb_cstr(&text), tl_sb_cstr(&cons), cg->voidt, args, n, TL_ASM_EFFECT);
}

/* The mask of all accesses, where many have the same one; NULL: there is none. */
static LLVMValueRef
common_mask(TlCg *cg, const TlRegs *pred, unsigned accesses)
{
   enum { MANY = 4 };
   LLVMValueRef mask = tl_cg_pred(*pred, 0);
   if (cg->host || accesses < MANY || tl_cg_is_true(mask))
      return NULL;
   for (unsigned a = 1; a < accesses; a++)
      if (tl_cg_pred(*pred, a) != mask)
         return NULL;
   return mask;
}

/* Stores one behind the other under the same predicate become branches in ptxas, one for each: 32
 * stores of a state in a loop, 31 of them.  Under one branch of our own there is one, or none, as
 * ptxas makes predicates of it where that is better.  Returns where the builder goes on behind. */
static LLVMBasicBlockRef
branch_around(TlCg *cg, LLVMValueRef mask)
{
   LLVMBasicBlockRef inside = LLVMAppendBasicBlockInContext(cg->llvm, cg->fn, "store");
   LLVMBasicBlockRef after = LLVMAppendBasicBlockInContext(cg->llvm, cg->fn, "stored");
   LLVMBuildCondBr(cg->b, mask, inside, after);
   LLVMPositionBuilderAtEnd(cg->b, inside);
   return after;
}

/* st_global(ptrs, values, part?) */
void
tl_emit_st_global(TlCg *cg, const TlOp *op)
{
   const TlType *elem_type = tl_type_elem(tl_arg(op, 1)->type);
   LLVMTypeRef elem = tl_cg_elem(cg, elem_type);
   unsigned elem_bits = tl_cg_elem_bits(elem_type), vec = (unsigned)tl_attr_int(op, TL_ATTR_VEC);
   TlRegs ptrs = tl_cg_use(cg, tl_arg(op, 0)), values = tl_cg_use(cg, tl_arg(op, 1)), pred = {0};
   if (op->num_args > 2)
      pred = tl_cg_use(cg, tl_arg(op, 2));
   Hints h = hints_of(op, false);
   bool is_partial = tl_is_partial(op), is_shared = shares_masks(cg, op);
   unsigned bytes = vec * elem_bits / 8;
   Piece p = access_pieces(bytes, elem_bits);
   LLVMValueRef common = is_partial ? NULL : common_mask(cg, &pred, ptrs.count);
   LLVMBasicBlockRef after = common ? branch_around(cg, common) : NULL;
   for (unsigned a = 0; a < ptrs.count; a++) {
      const LLVMValueRef *v = &values.v[a * vec];
      LLVMValueRef mask = common ? LLVMConstInt(cg->i1, 1, 0) : tl_cg_pred(pred, a);
      if (!is_partial && tl_cg_is_true(mask) && !has_hints(h)) {
         LLVMValueRef st = LLVMBuildStore(cg->b, join_vector(cg, v, elem, vec), ptrs.v[a]);
         set_align(st, bytes);
         continue;
      }
      LLVMValueRef pieces[4];
      to_pieces(cg, v, vec, elem_bits, p, pieces);
      if (is_partial) {
         Part part = part_new(cg, bytes, elem_bits, h);
         part_store(cg, ptrs.v[a], mask, pieces, &part);
      } else {
         LLVMValueRef unless = is_shared && has_opposite(mask, 0) ? make_opposite(cg, mask) : NULL;
         asm_store(cg, ptrs.v[a], mask, unless, pieces, h, p);
      }
   }
   if (after) {
      LLVMBuildBr(cg->b, after);
      LLVMPositionBuilderAtEnd(cg->b, after);
   }
}

/* ---- shared memory ---- */
LLVMValueRef
tl_cg_shared_ptr(TlCg *cg, LLVMValueRef address, int64_t offset)
{
   if (!cg->smem) {
      cg->smem = LLVMAddGlobalInAddressSpace(cg->mod, LLVMArrayType2(cg->i8, 0), "tilec_shared", 3);
      LLVMSetLinkage(cg->smem, LLVMExternalLinkage);
      LLVMSetAlignment(cg->smem, 1024);
   }
   LLVMValueRef p = LLVMBuildGEP2(cg->b, cg->i8, cg->smem, &address, 1, "");
   if (offset) {
      LLVMValueRef o = tl_cg_i32(cg, offset);
      p = LLVMBuildGEP2(cg->b, cg->i8, p, &o, 1, "");
   }
   return p;
}

TlSharedAccess
tl_cg_shared_access(TlCg *cg, const TlOp *op)
{
   TlSharedAccess s = {tl_cg_use(cg, tl_arg(op, 0)), tl_attr_ints(op, TL_ATTR_OFFSETS), 0};
   s.count = s.address.count > 1 ? s.address.count : s.offsets.len ? (unsigned)s.offsets.len : 1;
   return s;
}

LLVMValueRef
tl_cg_shared_access_ptr(TlCg *cg, const TlSharedAccess *s, unsigned i)
{
   assert(s->address.count == 1 || i < s->address.count);
   LLVMValueRef base = s->address.v[s->address.count == 1 ? 0 : i];
   return tl_cg_shared_ptr(cg, base, s->offsets.len ? s->offsets.data[i] : 0);
}

void
tl_emit_ld_shared(TlCg *cg, const TlOp *op)
{
   const TlType *elem_type = tl_type_elem(tl_result(op, 0)->type);
   LLVMTypeRef elem = tl_cg_elem(cg, elem_type);
   unsigned vec = (unsigned)tl_attr_int(op, TL_ATTR_VEC);
   TlSharedAccess s = tl_cg_shared_access(cg, op);
   TlRegs dst = tl_cg_def(cg, tl_result(op, 0));
   for (unsigned i = 0; i < s.count; i++) {
      LLVMTypeRef type = access_type(memory_elem(cg, elem), vec);
      LLVMValueRef v = LLVMBuildLoad2(cg->b, type, tl_cg_shared_access_ptr(cg, &s, i), "");
      set_align(v, vec * tl_cg_elem_bits(elem_type) / 8);
      split_vector(cg, v, elem, vec, &dst.v[i * vec]);
   }
}

void
tl_emit_st_shared(TlCg *cg, const TlOp *op)
{
   const TlType *elem_type = tl_type_elem(tl_arg(op, 1)->type);
   LLVMTypeRef elem = tl_cg_elem(cg, elem_type);
   unsigned elem_bits = tl_cg_elem_bits(elem_type), vec = (unsigned)tl_attr_int(op, TL_ATTR_VEC);
   unsigned bytes = vec * elem_bits / 8;
   TlSharedAccess s = tl_cg_shared_access(cg, op);
   TlRegs values = tl_cg_use(cg, tl_arg(op, 1)), pred = {0};
   if (op->num_args > 2)
      pred = tl_cg_use(cg, tl_arg(op, 2));
   for (unsigned i = 0; i < s.count; i++) {
      LLVMValueRef ptr = tl_cg_shared_access_ptr(cg, &s, i), mask = tl_cg_pred(pred, i);
      if (tl_cg_is_true(mask)) {
         LLVMValueRef st =
            LLVMBuildStore(cg->b, join_vector(cg, &values.v[i * vec], elem, vec), ptr);
         set_align(st, bytes);
         continue;
      }
      Piece p = access_pieces(bytes, elem_bits);
      LLVMValueRef args[8];
      to_pieces(cg, &values.v[i * vec], vec, elem_bits, p, args + 1);
      args[0] = ptr;
      args[1 + p.count] = mask;
      TlSb text, cons;
      tl_sb_init(&text, cg->arena);
      tl_sb_init(&cons, cg->arena);
      tl_sb_printf(&text, "@$%u st.shared", 1 + p.count);
      if (p.count > 1)
         tl_sb_printf(&text, ".v%u", p.count);
      tl_sb_printf(&text, ".b%u [$0], ", p.is_byte ? 8 : p.bits);
      tl_cg_register_list(&text, 1, p.count);
      tl_sb_char(&text, ';');
      tl_sb_str(&cons, "r");
      for (unsigned k = 0; k < p.count; k++)
         tl_sb_printf(&cons, ",%s", tl_cg_reg_class(p.bits));
      tl_sb_str(&cons, ",b,~{memory}");
      tl_cg_asm(cg, tl_sb_cstr(&text), tl_sb_cstr(&cons), cg->voidt, args, p.count + 2,
                TL_ASM_EFFECT);
   }
}

/* ldmatrix: PTX ISA "ldmatrix"; a lane gets 32 bits of each matrix. */
void
tl_emit_ldmatrix(TlCg *cg, const TlOp *op)
{
   unsigned num = (unsigned)tl_attr_int(op, TL_ATTR_NUM);
   assert(num == 1 || num == 2 || num == 4);
   bool trans = tl_attr_int(op, TL_ATTR_TRANS) != 0;
   const TlType *elem_type = tl_type_elem(tl_result(op, 0)->type);
   unsigned elem_bits = tl_cg_elem_bits(elem_type), per = 32 / elem_bits;
   char name[80];
   snprintf(name, sizeof name, "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x%u%s.b16.p3", num,
            trans ? ".trans" : "");
   TlSharedAccess s = tl_cg_shared_access(cg, op);
   TlRegs dst = tl_cg_def(cg, tl_result(op, 0));
   LLVMTypeRef parts[4] = {cg->i32, cg->i32, cg->i32, cg->i32};
   LLVMTypeRef ret = num == 1 ? cg->i32 : LLVMStructTypeInContext(cg->llvm, parts, num, 0);
   for (unsigned i = 0; i < s.count; i++) {
      LLVMValueRef ptr = tl_cg_shared_access_ptr(cg, &s, i);
      LLVMValueRef r = tl_cg_call(cg, name, ret, &ptr, 1), words[4];
      for (unsigned k = 0; k < num; k++)
         words[k] = num == 1 ? r : LLVMBuildExtractValue(cg->b, r, k, "");
      tl_cg_unpack(cg, words, num, 32, tl_cg_elem(cg, elem_type), elem_bits, &dst.v[i * num * per]);
   }
}

void
tl_emit_stmatrix(TlCg *cg, const TlOp *op)
{
   unsigned num = (unsigned)tl_attr_int(op, TL_ATTR_NUM);
   bool trans = tl_attr_int(op, TL_ATTR_TRANS) != 0;
   if (!(cg->target->features & TL_FEAT_STMATRIX)) {
      tl_cg_unsupported(cg, "stmatrix", "it exists from sm_90 on");
      return;
   }
   unsigned elem_bits = tl_cg_elem_bits(tl_type_elem(tl_arg(op, 1)->type)), per = 32 / elem_bits;
   char name[80];
   snprintf(name, sizeof name, "llvm.nvvm.stmatrix.sync.aligned.m8n8.x%u%s.b16.p3", num,
            trans ? ".trans" : "");
   TlSharedAccess s = tl_cg_shared_access(cg, op);
   TlRegs values = tl_cg_use(cg, tl_arg(op, 1));
   for (unsigned i = 0; i < s.count; i++) {
      LLVMValueRef args[5] = {tl_cg_shared_access_ptr(cg, &s, i)};
      tl_cg_pack(cg, &values.v[i * num * per], num * per, elem_bits, 32, args + 1);
      tl_cg_call(cg, name, cg->voidt, args, num + 1);
   }
}

/* ---- asynchronous copies ---- */
/* The bytes of each copy where its mask is true: what a part is chosen from, or it itself. */
static TlRegs
uncut_bytes(TlCg *cg, const TlOp *op)
{
   const TlValue *part = tl_pred(op);
   const TlOp *choice = part->def;
   TlInts index = {0};
   if (choice && choice->opcode == TL_OP_PICK && choice->num_args == 1) {
      index = tl_attr_ints(choice, TL_ATTR_INDEX);
      choice = tl_arg(choice, 0)->def;
   }
   uint64_t masked_off = 1;
   if (!choice || choice->opcode != TL_OP_SELECT || !tl_is_const(tl_arg(choice, 2), &masked_off) ||
       masked_off)
      return tl_cg_use(cg, part);
   TlRegs from = tl_cg_use(cg, tl_arg(choice, 1)), out = from;
   if (!index.len)
      return from;
   out.v = tl_new_array(cg->arena, LLVMValueRef, index.len);
   out.count = (unsigned)index.len;
   for (unsigned i = 0; i < out.count; i++)
      out.v[i] = from.v[from.count == 1 ? 0 : index.data[i]];
   return out;
}

/* How ptxas makes a copy of a number of bytes that it does not know takes six instructions, one of
 * all or nothing takes two.  So that is what threads do that have no cut vector:
 *
 *    setp.lt cut, bytes, 16;   @cut bra cut;
 *    setp.eq q, part, 0;  cp.async [to], [from], 16, q;   ..   bra done;
 *    cut:  cp.async [to], [from], 16, part;   ..               done:
 *
 * Masked off, bytes are what the others have, so that the branch is one for all. */
enum { MAX_CUT_COPIES = 64 }; /* of an asm statement */

typedef struct CutCopies {
   TlSb text, cons;
   LLVMValueRef args[TL_ASM_MAX_OPERANDS];
   unsigned num;
} CutCopies;

/* The operand's number, a new one where the value is new. */
static unsigned
cut_operand(CutCopies *c, LLVMValueRef v, char constraint)
{
   for (unsigned i = 0; i < c->num; i++)
      if (c->args[i] == v)
         return i;
   assert(c->num < TL_ASM_MAX_OPERANDS && "five values for each of MAX_CUT_COPIES");
   tl_sb_printf(&c->cons, "%s%c", c->num ? "," : "", constraint);
   c->args[c->num] = v;
   return c->num++;
}

static void
cut_test(CutCopies *c, TlRegs uncut, unsigned bytes)
{
   for (unsigned i = 0; i < uncut.count; i++) {
      unsigned before = c->num, at = cut_operand(c, uncut.v[i], 'r');
      if (!i)
         tl_sb_printf(&c->text, "setp.lt.u32 cut, $%u, %u; ", at, bytes);
      else if (at == before) /* another value */
         tl_sb_printf(&c->text, "setp.lt.or.u32 cut, $%u, %u, cut; ", at, bytes);
   }
}

static void
cut_copies(TlCg *cg, const TlOp *op)
{
   unsigned bytes = (unsigned)tl_attr_int(op, TL_ATTR_BYTES);
   const char *cache = bytes == 16 ? "cg" : "ca";
   TlSharedAccess s = tl_cg_shared_access(cg, op);
   TlRegs ptrs = tl_cg_use(cg, tl_arg(op, 1)), part = tl_cg_use(cg, tl_pred(op));
   CutCopies *c = tl_new(cg->arena, CutCopies);
   tl_sb_init(&c->text, cg->arena);
   tl_sb_init(&c->cons, cg->arena);
   tl_sb_str(&c->text, "{ .reg .pred cut, q; ");
   cut_test(c, uncut_bytes(cg, op), bytes);
   tl_sb_str(&c->text, "@cut bra CUT_${:uid}; ");
   LLVMValueRef *base = tl_new_array(cg->arena, LLVMValueRef, s.address.count);
   for (unsigned i = 0; i < s.address.count; i++)
      base[i] = tl_cg_shared_ptr(cg, s.address.v[i], 0);
   for (unsigned is_cut = 0; is_cut < 2; is_cut++) {
      for (unsigned i = 0; i < ptrs.count; i++) {
         unsigned to = cut_operand(c, base[s.address.count == 1 ? 0 : i], 'r'),
                  from = cut_operand(c, ptrs.v[i], 'l'),
                  n = cut_operand(c, tl_cg_pred(part, i), 'r');
         if (!is_cut)
            tl_sb_printf(&c->text, "setp.eq.u32 q, $%u, 0; ", n);
         tl_sb_printf(&c->text, "cp.async.%s.shared.global [$%u+%d], [$%u], %u, ", cache, to,
                      s.offsets.len ? (int)s.offsets.data[i] : 0, from, bytes);
         if (is_cut)
            tl_sb_printf(&c->text, "$%u; ", n);
         else
            tl_sb_str(&c->text, "q; ");
      }
      tl_sb_str(&c->text, is_cut ? "DONE_${:uid}: }" : "bra DONE_${:uid}; CUT_${:uid}: ");
   }
   tl_sb_str(&c->cons, ",~{memory}");
   tl_cg_asm(cg, tl_sb_cstr(&c->text), tl_sb_cstr(&c->cons), cg->voidt, c->args, c->num,
             TL_ASM_EFFECT);
}

/* The pointer to which a constant is added, and that in bytes; the pointer itself and 0. */
static LLVMValueRef
address_base(TlCg *cg, LLVMValueRef ptr, int64_t *bytes)
{
   *bytes = 0;
   if (!LLVMIsAGetElementPtrInst(ptr) || !LLVMIsAConstantInt(LLVMGetOperand(ptr, 1)))
      return ptr;
   uint64_t unit =
      LLVMABISizeOfType(LLVMGetModuleDataLayout(cg->mod), LLVMGetGEPSourceElementType(ptr));
   int64_t n = LLVMConstIntGetSExtValue(LLVMGetOperand(ptr, 1));
   if (n > INT32_MAX / (int64_t)unit || n < INT32_MIN / (int64_t)unit) /* no immediate */
      return ptr;
   *bytes = n * (int64_t)unit;
   return LLVMGetOperand(ptr, 0);
}

/* One copy as text, as LLVM has neither a copy that a predicate guards nor one whose source a
 * predicate leaves out (PTX ISA, "cp.async", ignore-src).  A mask as that predicate is one
 * instruction or none: ptxas makes a choice and a comparison of a number of bytes, which is for
 * vectors that are cut. */
static void
copy_text(TlCg *cg, const TlSharedAccess *s, unsigned access, LLVMValueRef from, LLVMValueRef mask,
          LLVMValueRef copies, unsigned bytes)
{
   bool is_ignored = LLVMTypeOf(mask) == cg->i1;
   int64_t offset;
   from = address_base(cg, from, &offset);
   LLVMValueRef args[4] = {
      tl_cg_shared_ptr(cg, s->address.v[s->address.count == 1 ? 0 : access], 0), from,
      is_ignored ? LLVMBuildNot(cg->b, mask, "") : mask, copies};
   const char *text =
      tl_arena_printf(cg->arena, "%scp.async.%s.shared.global [$0+%d], [$1+%" PRId64 "], %u, $2;",
                      copies ? "@$3 " : "", bytes == 16 ? "cg" : "ca",
                      s->offsets.len ? (int)s->offsets.data[access] : 0, offset, bytes);
   const char *cons =
      tl_arena_printf(cg->arena, "r,l,%s%s,~{memory}", is_ignored ? "b" : "r", copies ? ",b" : "");
   tl_cg_asm(cg, text, cons, cg->voidt, args, copies ? 4 : 3, TL_ASM_EFFECT);
}

/* cp_async(shared addresses, ptrs, part?, copies?): what is not copied is filled with zero. */
void
tl_emit_cp_async(TlCg *cg, const TlOp *op)
{
   unsigned bytes = (unsigned)tl_attr_int(op, TL_ATTR_BYTES);
   assert(bytes == 4 || bytes == 8 || bytes == 16);
   LLVMValueRef copies = op->num_args > 3 ? tl_cg_use1(cg, tl_arg(op, 3)) : NULL;
   if (tl_is_partial(op) && !copies && tl_type_num_regs(tl_arg(op, 1)->type) <= MAX_CUT_COPIES) {
      cut_copies(cg, op);
      return;
   }
   TlSharedAccess s = tl_cg_shared_access(cg, op);
   TlRegs ptrs = tl_cg_use(cg, tl_arg(op, 1)), pred = {0};
   if (op->num_args > 2)
      pred = tl_cg_use(cg, tl_arg(op, 2));
   char name[80];
   snprintf(name, sizeof name, "llvm.nvvm.cp.async.%s.shared.global.%u", bytes == 16 ? "cg" : "ca",
            bytes);
   for (unsigned i = 0; i < ptrs.count; i++) {
      LLVMValueRef mask = tl_cg_pred(pred, i);
      LLVMValueRef args[2] = {tl_cg_shared_access_ptr(cg, &s, i), ptrs.v[i]};
      if (copies || tl_is_partial(op) || !tl_cg_is_true(mask))
         copy_text(cg, &s, i, ptrs.v[i], mask, copies, bytes);
      else
         tl_cg_call(cg, name, cg->voidt, args, 2);
   }
}

void
tl_emit_cp_async_commit(TlCg *cg, const TlOp *op)
{
   (void)op;
   tl_cg_call(cg, "llvm.nvvm.cp.async.commit.group", cg->voidt, NULL, 0);
}

void
tl_emit_cp_async_wait(TlCg *cg, const TlOp *op)
{
   LLVMValueRef n = tl_cg_i32(cg, tl_attr_int(op, TL_ATTR_NUM));
   tl_cg_call(cg, "llvm.nvvm.cp.async.wait.group", cg->voidt, &n, 1);
}
