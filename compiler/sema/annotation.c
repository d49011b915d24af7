/* What the annotation of a parameter says of it: a type, facts about its value, or nothing; and how
 * a type that is none was meant. */
#include "sema/generic.h"
#include "sema/spec.h"

#include <stdlib.h>
#include <string.h>

void
tl_set_constant(TlSpecArg *a, TlSv v)
{
   *a = (TlSpecArg){.is_given = true, .is_constant = true, .constant = v, .divisibility = 1};
}

/* tl.const: a pointer that is not stored through. */
bool
tl_is_const_annotation(TlSema *s, const TlNode *a)
{
   const char *text = a->kind == TL_AST_STR ? tl_ast_Str(a)->value.data : tl_node_text(s, a);
   const char *dot = strrchr(text, '.');
   return strcmp(dot ? dot + 1 : text, "const") == 0;
}

/* What the word of an annotation was meant to be; NULL: it is like none. */
static const char *
nearest_type(const char *word)
{
   TlNearest near = {.name = word};
   for (unsigned d = 0; d < TL_DTYPE_COUNT; d++)
      tl_nearest_try(&near, tl_dtype_info[d].text);
   tl_nearest_try(&near, "constexpr");
   return near.best;
}

static const char type_help[] =
   "a number is fp32, i32 or another type of elements, an array a pointer to them, *fp32; the rest "
   "is constexpr";

/* i128, uint256, fp128: the widest type of that kind; NULL: no name of a type of so many bits. */
static const char *
widest_type(const char *word)
{
   size_t len = strcspn(word, "0123456789");
   bool is_float =
      tl_is_word("fp", word, len) || tl_is_word("f", word, len) || tl_is_word("float", word, len);
   bool is_signed = tl_is_word("i", word, len) || tl_is_word("int", word, len);
   bool is_unsigned = tl_is_word("u", word, len) || tl_is_word("uint", word, len);
   char *end;
   unsigned long bits = strtoul(word + len, &end, 10);
   if (*end || bits <= 64)
      return NULL;
   return is_float ? "fp64" : is_signed ? "i64" : is_unsigned ? "u64" : NULL;
}

const char tl_entry_separators[] = "entries are separated by ','; a value stands alone in the "
                                   "parameter's place, 128, or is given by its name, -D BLOCK=128";

/* *float, i4, `unsigned *`, torch.float32 */
void
tl_help_type(TlSema *s, const char *text)
{
   size_t len = strcspn(text, " *");
   bool is_pointer = *text == '*', is_behind = len && strchr(text, '*');
   const char *word = is_behind ? tl_arena_strndup(s->arena, text, len) : text + is_pointer;
   const char *dot = strrchr(word, '.'), *star = is_pointer ? "*" : "", *wide;
   word = dot ? dot + 1 : word;                         /* the module of another package */
   word = tl_starts_with(word, "c_") ? word + 2 : word; /* ctypes */
   if (tl_ends_with(word, "_t"))                        /* half_t */
      word = tl_arena_strndup(s->arena, word, strlen(word) - 2);
   if (strcmp(word, "void_p") == 0) {
      tl_help(s->diags, "a pointer is a '*' and the type of its elements: *fp32, *i8 for bytes");
      return;
   }
   const char *near = tl_other_type(word, strlen(word));
   const TlType *own = near ? NULL : tl_parse_type_text(s, word, strlen(word));
   near = own && own->kind == TL_TYPE_SCALAR ? tl_dtype_info[own->dtype].text : near;
   if (tl_starts_with(text, "constexpr[")) {
      tl_help(s->diags, "write constexpr alone: its value has the type");
      return;
   }
   if (tl_starts_with(word, "tensordesc") || tl_starts_with(word, "tensor_desc") ||
       tl_starts_with(word, "TensorDesc")) {
      tl_help(s->diags, "a tensor descriptor names elements and block, in quotes: "
                        "\"tensordesc<fp16[128, 64]>\"");
      return;
   }
   if (strchr(text, '[')) {
      tl_help(s->diags,
              "an array is a pointer to its elements, *fp32, and its sizes are parameters "
              "of their own");
      return;
   }
   if (is_behind) {
      tl_help(s->diags, "the '*' of a pointer type comes first: *%s", near ? near : word);
      return;
   }
   size_t first = strcspn(text, " "), next = first + strspn(text + first, " ");
   if (near)
      tl_help(s->diags, "write %s%s for it", star, near);
   else if (text[next] && tl_parse_type_text(s, text, strcspn(text, " :"))) /* *fp32:16 i32 */
      tl_help(s->diags, "'%.*s' is a type, what follows is the next entry: %s", (int)first, text,
              tl_entry_separators);
   else if ((wide = widest_type(word)))
      tl_help(s->diags, "no type has more than 64 bits: %s%s is the widest of its kind", star,
              wide);
   else if (is_pointer && strcmp(word, "void") == 0)
      tl_help(s->diags, "a pointer has the type of its elements: *i8 for bytes");
   else if ((near = nearest_type(word)))
      tl_help(s->diags, "did you mean '%s%s'?", star, near);
   else
      tl_help(s->diags, "%s", type_help);
}

bool
tl_annotation_type(TlSema *s, TlSourceModule *source, const TlNode *a, TlSpecArg *out)
{
   *out = (TlSpecArg){.divisibility = 1};
   if (a->kind == TL_AST_FACT_TYPE) {
      const TlAstFactType *f = tl_ast_FactType(a);
      TlFrame *frame = tl_module_frame(s, source);
      TlSv fact = tl_eval_expr(s, frame, f->fact);
      bool ok =
         fact.kind == TL_SV_INT && fact.i >= 1 && fact.i <= 1 << 20 && !(fact.i & (fact.i - 1));
      if (!ok) {
         if (fact.kind != TL_SV_POISON)
            tl_report(s->diags, E0264, f->fact->range, tl_node_text(s, f->fact));
         return false;
      }
      if (!tl_annotation_type(s, source, f->type, out))
         return false;
      const TlType *type = out->type;
      if (fact.i == 1 && type && type->kind == TL_TYPE_SCALAR)
         tl_set_constant(out, tl_sv_int(1));
      else
         out->divisibility = (uint32_t)fact.i;
      out->type = type;
      return true;
   }
   const char *text = tl_node_text(s, a);
   if (a->kind == TL_AST_STR) /* x: "*fp32" */
      text = tl_ast_Str(a)->value.data;
   if (tl_is_descriptor_text(text))
      return tl_read_descriptor(s, text, a->range, out);
   const TlType *t = tl_parse_type_text(s, text, strlen(text));
   if (!t) {
      if (strcmp(text, "int") == 0)
         t = tl_type_scalar(s->types, TL_I32);
      else if (strcmp(text, "float") == 0)
         t = tl_type_scalar(s->types, TL_FP32);
      else if (strcmp(text, "bool") == 0)
         t = tl_type_scalar(s->types, TL_I1);
   }
   if (!t && (a->kind == TL_AST_CALL || (source->is_tile && a->kind == TL_AST_PTR_TYPE))) {
      TlSv v = tl_eval_expr(s, tl_module_frame(s, source), a);
      if (v.kind == TL_SV_TYPE) {
         t = v.type;
      } else if (v.kind == TL_SV_POISON) {
         if (source->is_tile && s->diags->last && s->diags->last->code == TL_DIAG_E0200)
            tl_help_type(s, text);
         return false;
      }
   }
   size_t len = text ? strlen(text) : 0;
   bool has_star = len && (*text == '*' || text[len - 1] == '*'); /* no class of the host */
   if (!t && (source->is_tile || has_star)) {
      tl_report(s->diags, E0268, a->range, text);
      tl_help_type(s, text);
      return false;
   }
   out->type = t; /* tl.tensor, torch.Tensor and the like say nothing */
   out->is_given = t != NULL;
   return true;
}

static void
print_entry_type(const TlType *t, TlSb *out)
{
   for (; t->kind == TL_TYPE_PTR; t = t->elem)
      tl_sb_str(out, t->is_const ? "*const " : "*");
   tl_sb_str(out, tl_dtype_info[t->dtype].text);
}

/* The annotation as an entry of a signature, NULL when it says nothing.  Its mistakes are reported
 * once the kernel is compiled. */
const char *
tl_annotation_entry(TlSema *s, TlSourceModule *source, const TlNode *a)
{
   if (!a || tl_is_constexpr_annotation(a))
      return NULL;
   TlDiags *saved = s->diags, quiet;
   tl_diags_init(&quiet, s->arena, s->sources);
   quiet.site = s->b.site;
   s->diags = &quiet;
   TlSpecArg arg;
   bool says = tl_annotation_type(s, source, a, &arg) && arg.is_given;
   s->diags = saved;
   if (!says)
      return NULL;
   TlSb sb;
   if (arg.descriptor)
      return arg.descriptor;
   tl_sb_init(&sb, s->arena);
   print_entry_type(arg.type, &sb);
   if (arg.is_constant || arg.divisibility > 1)
      tl_sb_printf(&sb, ":%u", arg.divisibility);
   return tl_sb_cstr(&sb);
}
