/* See launch_args.h.  Nothing is evaluated: a name is what all its assignments in the function
 * agree on, and what is not plain has no kind. */
#include "sema/launch_args.h"
#include "sema/generic.h"
#include "sema/impl.h"

#include <string.h>

/* What it takes more to see through, nothing is known of: x = x + 1 said many times. */
enum { MAX_DEEP = 16, MAX_STEPS = 20000 };

typedef struct Reader {
   TlSema *s;
   const TlAstFunction *around; /* the function that launches; NULL: the file itself */
   bool is_nested;              /* that is in another, of which names may be */
   unsigned depth;
   unsigned *steps; /* nodes looked at for this launch */
} Reader;

static TlArgKind kind_of(const Reader *r, const TlNode *n);

/* ---- bindings of a name in a function ---- */
typedef struct Bindings {
   const Reader *reader;
   const char *name;
   TlArgKind kind;
   const TlNode *value; /* of the only one */
   unsigned num;
   bool is_open; /* one of them says nothing */
   bool is_def;  /* it is a function's or class's as well */
} Bindings;

static void
bind(Bindings *b, TlArgKind kind, const TlNode *value)
{
   b->is_open |= kind == TL_ARG_UNKNOWN || (b->num && b->kind != kind);
   b->kind = kind;
   b->value = value;
   b->num++;
}

static bool
is_shape(const TlNode *n)
{
   const char *name = n->kind == TL_AST_ATTRIBUTE ? tl_ast_Attribute(n)->name : "";
   const TlAstCall *call = n->kind == TL_AST_CALL ? tl_ast_Call(n) : NULL;
   if (call && call->func->kind == TL_AST_ATTRIBUTE && !call->args.len)
      return tl_word_is_listed("size stride", tl_ast_Attribute(call->func)->name);
   return strcmp(name, "shape") == 0;
}

/* a, b = x.shape; a, b = 1, 2; (a, *rest) = .. */
static void
bind_target(Bindings *b, const TlNode *target, const TlNode *value)
{
   const TlNodeList *items = target->kind == TL_AST_TUPLE  ? &tl_ast_Tuple(target)->items
                             : target->kind == TL_AST_LIST ? &tl_ast_List(target)->items
                                                           : NULL;
   const TlNodeList *values =
      value && value->kind == TL_AST_TUPLE ? &tl_ast_Tuple(value)->items : NULL;
   if (target->kind == TL_AST_NAME && tl_ast_Name(target)->id == b->name)
      bind(b, value ? kind_of(b->reader, value) : TL_ARG_UNKNOWN, value);
   if (target->kind == TL_AST_STARRED)
      bind_target(b, tl_ast_Starred(target)->value, NULL);
   for (size_t i = 0; items && i < items->len; i++) {
      const TlNode *item = items->data[i];
      bool is_it = item->kind == TL_AST_NAME && tl_ast_Name(item)->id == b->name;
      if (is_it && value && is_shape(value))
         bind(b, TL_ARG_INT, NULL);
      else
         bind_target(b, item, values && values->len == items->len ? values->data[i] : NULL);
   }
}

static void
find_bindings(void *user, TlNode *n)
{
   Bindings *b = user;
   if (++*b->reader->steps > MAX_STEPS) {
      b->is_open = true;
      return;
   }
   switch (n->kind) {
   case TL_AST_FUNCTION:
      b->is_def |= tl_ast_Function(n)->name == b->name;
      return;
   case TL_AST_CLASS:
      b->is_def |= tl_ast_Class(n)->name == b->name;
      return;
   case TL_AST_LAMBDA:
   case TL_AST_COMPREHENSION: /* names of their own */
      return;
   case TL_AST_ASSIGN:
      for (size_t i = 0; i < tl_ast_Assign(n)->targets.len; i++)
         bind_target(b, tl_ast_Assign(n)->targets.data[i], tl_ast_Assign(n)->value);
      break;
   case TL_AST_ANN_ASSIGN:
      bind_target(b, tl_ast_AnnAssign(n)->target, tl_ast_AnnAssign(n)->value);
      break;
   case TL_AST_AUG_ASSIGN:
      bind_target(b, tl_ast_AugAssign(n)->target, NULL);
      break;
   case TL_AST_WALRUS:
      bind_target(b, tl_ast_Walrus(n)->target, NULL);
      break;
   case TL_AST_FOR:
      bind_target(b, tl_ast_For(n)->target, NULL);
      break;
   case TL_AST_WITH_ITEM:
      if (tl_ast_WithItem(n)->target)
         bind_target(b, tl_ast_WithItem(n)->target, NULL);
      break;
   case TL_AST_GLOBAL:
   case TL_AST_IMPORT:
   case TL_AST_MATCH:
      b->is_open |= strstr(tl_range_text(b->reader->s, n->range), b->name) != NULL;
      break;
   default:
      break;
   }
   tl_ast_children(n, find_bindings, b);
}

/* x.stride(0), x.data_ptr(): nothing but an array has it. */
typedef struct Evidence {
   const char *name;
   unsigned *steps;
   bool is_array;
} Evidence;

static void
find_evidence(void *user, TlNode *n)
{
   Evidence *e = user;
   if (++*e->steps > MAX_STEPS)
      return;
   const TlAstAttribute *a = n->kind == TL_AST_ATTRIBUTE ? tl_ast_Attribute(n) : NULL;
   if (a && a->value->kind == TL_AST_NAME && tl_ast_Name(a->value)->id == e->name)
      e->is_array |= tl_word_is_listed(
         "stride numel data_ptr element_size is_contiguous is_cuda contiguous", a->name);
   tl_ast_children(n, find_evidence, e);
}

static TlArgKind
annotated_kind(const TlNode *annotation)
{
   const char *name = !annotation                            ? ""
                      : annotation->kind == TL_AST_NAME      ? tl_ast_Name(annotation)->id
                      : annotation->kind == TL_AST_ATTRIBUTE ? tl_ast_Attribute(annotation)->name
                                                             : "";
   return strcmp(name, "Tensor") == 0                             ? TL_ARG_ARRAY
          : strcmp(name, "int") == 0 || strcmp(name, "bool") == 0 ? TL_ARG_INT
          : strcmp(name, "float") == 0                            ? TL_ARG_FLOAT
                                                                  : TL_ARG_UNKNOWN;
}

static TlArgKind
parameter_kind(const Reader *r, const TlAstParam *p)
{
   if (p->kind != TL_AST_OP_PLAIN || p->default_value) /* None may stand for none */
      return TL_ARG_UNKNOWN;
   TlArgKind kind = annotated_kind(p->annotation);
   Evidence e = {.name = p->name, .steps = r->steps};
   for (size_t i = 0; kind == TL_ARG_UNKNOWN && i < r->around->body.len; i++)
      if (r->around->body.data[i])
         find_evidence(&e, r->around->body.data[i]);
   return e.is_array ? TL_ARG_ARRAY : kind;
}

static Bindings
bindings_of(const Reader *r, const char *name)
{
   Bindings b = {.reader = r, .name = name};
   for (size_t i = 0; r->around && i < r->around->params.len; i++) {
      const TlAstParam *p = tl_ast_Param(r->around->params.data[i]);
      if (p->name == name)
         bind(&b, parameter_kind(r, p), NULL);
   }
   const TlNodeList *body = r->around ? &r->around->body : &r->s->impl->main->ast->body;
   for (size_t i = 0; i < body->len; i++)
      if (body->data[i])
         find_bindings(&b, body->data[i]);
   return b;
}

/* ---- kinds of expressions ---- */
static TlArgKind
module_kind(const Reader *r, const TlNode *n)
{
   TlSv v = tl_quiet_value(r->s, tl_module_frame(r->s, r->s->impl->main), n, NULL);
   return v.kind == TL_SV_INT || v.kind == TL_SV_BOOL ? TL_ARG_INT
          : v.kind == TL_SV_FLOAT                     ? TL_ARG_FLOAT
                                                      : TL_ARG_UNKNOWN;
}

static TlArgKind
name_kind(const Reader *r, const TlNode *n)
{
   Reader inner = *r;
   if (inner.depth++ > MAX_DEEP)
      return TL_ARG_UNKNOWN;
   Bindings b = bindings_of(&inner, tl_ast_Name(n)->id);
   b.is_open |= b.is_def;
   if (!b.num)
      return b.is_open || r->is_nested ? TL_ARG_UNKNOWN : module_kind(r, n);
   return b.is_open ? TL_ARG_UNKNOWN : b.kind;
}

/* What a row of launch_calls.def is about. */
#define BARE "()"
#define NO_ARGUMENTS ".()"
#define ARGUMENTS ".(..)"
#define OF_ARRAY "[].()"

/* torch.zeros(..), x.numel(), len(x), triton.cdiv(n, BLOCK) */
static TlArgKind
call_kind(const Reader *r, const TlAstCall *call)
{
   static const struct {
      const char *of, *names;
      TlArgKind gives;
   } rows[] = {
#define TL_LAUNCH_CALL(of, names, gives) {of, names, TL_ARG_##gives},
#include "sema/launch_calls.def"
   };
   const TlNode *of =
      call->func->kind == TL_AST_ATTRIBUTE ? tl_ast_Attribute(call->func)->value : NULL;
   const char *name = of                                ? tl_ast_Attribute(call->func)->name
                      : call->func->kind == TL_AST_NAME ? tl_ast_Name(call->func)->id
                                                        : "";
   const char *module = of && of->kind == TL_AST_NAME ? tl_ast_Name(of)->id : "";
   const char *method = call->args.len ? ARGUMENTS : NO_ARGUMENTS;
   for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
      bool is_array = strcmp(rows[i].of, OF_ARRAY) == 0;
      bool is_of =
         !of ? strcmp(rows[i].of, BARE) == 0
             : is_array || strcmp(rows[i].of, module) == 0 || strcmp(rows[i].of, method) == 0;
      if (is_of && tl_word_is_listed(rows[i].names, name) &&
          (!is_array || kind_of(r, of) == TL_ARG_ARRAY))
         return rows[i].gives;
   }
   return TL_ARG_UNKNOWN;
}

static TlArgKind
binary_kind(const Reader *r, const TlAstBinary *n)
{
   TlArgKind a = kind_of(r, n->left), b = kind_of(r, n->right);
   bool is_number =
      (a == TL_ARG_INT || a == TL_ARG_FLOAT) && (b == TL_ARG_INT || b == TL_ARG_FLOAT);
   if (!is_number || n->op == TL_AST_OP_POW)
      return TL_ARG_UNKNOWN;
   return a == TL_ARG_FLOAT || b == TL_ARG_FLOAT || n->op == TL_AST_OP_DIV ? TL_ARG_FLOAT
                                                                           : TL_ARG_INT;
}

static TlArgKind
kind_of(const Reader *r, const TlNode *n)
{
   Reader inner = *r;
   if (inner.depth++ > MAX_DEEP)
      return TL_ARG_UNKNOWN;
   switch (n->kind) {
   case TL_AST_INT:
      return TL_ARG_INT;
   case TL_AST_FLOAT:
      return TL_ARG_FLOAT;
   case TL_AST_STR:
      return TL_ARG_TEXT;
   case TL_AST_CONST:
      return tl_ast_Const(n)->which == TL_AST_OP_NONE    ? TL_ARG_NONE
             : tl_ast_Const(n)->which == TL_AST_OP_TRUE  ? TL_ARG_INT
             : tl_ast_Const(n)->which == TL_AST_OP_FALSE ? TL_ARG_INT
                                                         : TL_ARG_UNKNOWN;
   case TL_AST_NAME:
      return name_kind(&inner, n);
   case TL_AST_UNARY:
      return tl_ast_Unary(n)->op == TL_AST_OP_NEG ? kind_of(&inner, tl_ast_Unary(n)->operand)
                                                  : TL_ARG_UNKNOWN;
   case TL_AST_BINARY:
      return binary_kind(&inner, tl_ast_Binary(n));
   case TL_AST_CALL:
      return call_kind(&inner, tl_ast_Call(n));
   case TL_AST_ATTRIBUTE:
      return is_shape(n)                                      ? TL_ARG_SIZES
             : strcmp(tl_ast_Attribute(n)->name, "ndim") == 0 ? TL_ARG_INT
                                                              : TL_ARG_UNKNOWN;
   case TL_AST_SUBSCRIPT: {
      const TlAstSubscript *x = tl_ast_Subscript(n);
      bool is_item = x->indices.len == 1 && x->indices.data[0]->kind != TL_AST_SLICE;
      return is_item && is_shape(x->value) ? TL_ARG_INT : TL_ARG_UNKNOWN;
   }
   default:
      return TL_ARG_UNKNOWN;
   }
}

/* ---- launches ---- */
typedef struct Around {
   TlRange at;
   const TlAstFunction *function;
   bool is_nested;
} Around;

static void
find_around(void *user, TlNode *n)
{
   Around *a = user;
   if (n->range.file != a->at.file || n->range.begin > a->at.begin || n->range.end < a->at.end)
      return;
   if (n->kind == TL_AST_FUNCTION) {
      a->is_nested = a->function != NULL;
      a->function = tl_ast_Function(n);
   }
   tl_ast_children(n, find_around, a);
}

static Reader
reader_at(TlSema *s, const TlNode *at)
{
   Around a = {.at = at->range};
   const TlNodeList *body = &s->impl->main->ast->body;
   for (size_t i = 0; i < body->len; i++)
      if (body->data[i])
         find_around(&a, body->data[i]);
   return (Reader){
      .s = s, .around = a.function, .is_nested = a.is_nested, .steps = tl_new(s->arena, unsigned)};
}

TlArgKind
tl_expression_kind(TlSema *s, const TlNode *at, const TlNode *n)
{
   Reader r = reader_at(s, at);
   return kind_of(&r, n);
}

const TlNode *
tl_local_value(TlSema *s, const TlNode *at, const char *name)
{
   Reader r = reader_at(s, at);
   Bindings b = bindings_of(&r, name);
   return b.num == 1 && !b.is_def ? b.value : NULL;
}

static bool
is_starred(const TlNode *a)
{
   return a->kind == TL_AST_STARRED || (a->kind == TL_AST_KEYWORD && !tl_ast_Keyword(a)->name);
}

TlPlaced
tl_placed_argument(const TlAstCall *call, size_t i)
{
   const TlNode *a = call->args.data[i];
   if (a->kind == TL_AST_KEYWORD && !is_starred(a))
      return (TlPlaced){tl_ast_Keyword(a)->name, tl_ast_Keyword(a)->value};
   for (size_t k = 0; k <= i; k++)
      if (is_starred(call->args.data[k]))
         return (TlPlaced){0};
   return (TlPlaced){NULL, a};
}

bool
tl_is_placed_at(const TlKernelInfo *k, const TlPlaced *a, size_t i, unsigned param)
{
   return a->value && (a->keyword ? strcmp(k->params[param].name, a->keyword) == 0 : param == i);
}

void
tl_launch_args(TlSema *s, const TlKernelInfo *k, const TlAstCall *call, TlLaunchArg *args)
{
   Reader r = reader_at(s, &call->node);
   bool is_open = false;
   memset(args, 0, k->num_params * sizeof *args);
   for (size_t i = 0; i < call->args.len; i++) {
      TlPlaced a = tl_placed_argument(call, i);
      is_open |= is_starred(call->args.data[i]);
      for (unsigned p = 0; p < k->num_params; p++)
         if (tl_is_placed_at(k, &a, i, p))
            args[p] = (TlLaunchArg){.node = a.value, .kind = kind_of(&r, a.value)};
   }
   for (unsigned p = 0; p < k->num_params; p++)
      args[p].is_open = is_open && !args[p].node;
}

const char *
tl_arg_kind_text(TlArgKind kind)
{
   static const char *const text[TL_ARG_COUNT] = {
      "a value", "an array", "a whole number", "a fraction", "a text", "None", "a tuple of sizes"};
   return text[kind];
}

const char *
tl_arg_kind_entry(TlArgKind kind)
{
   static const char *const entry[TL_ARG_COUNT] = {NULL,  "*fp32", "i32",   "fp32",
                                                   "'x'", "None",  "(8, 8)"};
   return entry[kind];
}
