/* The abstract syntax tree.  Nodes live in the arena given to the parser; every node keeps the byte
 * range of its text.  A node is used through its kind:
 *    if (node->kind == TL_AST_CALL) { const TlAstCall *call = tl_ast_Call(node); ... } */
#ifndef TL_SYNTAX_AST_H
#define TL_SYNTAX_AST_H

#include "base/source.h"
#include "base/str.h"

typedef enum TlAstKind {
#define TL_NODE_BEGIN(ID, Name, text) TL_AST_##ID,
#define TL_NODE_END(ID, Name)
#include "syntax/ast.def"
   TL_AST_COUNT
} TlAstKind;

/* Operators and small choices.  Columns: id, text as written or printed. */
#define TL_AST_OPS(X)                                                                              \
   X(ADD, "+") X(SUB, "-") X(MUL, "*") X(DIV, "/") X(FLOORDIV, "//") X(MOD, "%") X(POW, "**")      \
   X(SHL, "<<") X(SHR, ">>") X(BITAND, "&") X(BITOR, "|") X(BITXOR, "^") X(MATMUL, "@")            \
   X(NEG, "-") X(POS, "+") X(INVERT, "~") X(NOT, "not") X(AND, "and") X(OR, "or")                  \
   X(EQ, "==") X(NE, "!=") X(LT, "<") X(LE, "<=") X(GT, ">") X(GE, ">=")                           \
   X(IS, "is") X(IS_NOT, "is not") X(IN, "in") X(NOT_IN, "not in")                                 \
   X(TRUE, "True") X(FALSE, "False") X(NONE, "None") X(ELLIPSIS, "...")                            \
   X(LIST_COMP, "list") X(SET_COMP, "set") X(DICT_COMP, "dict") X(GENERATOR, "generator")          \
   X(PLAIN, "plain") X(STAR, "*") X(STAR_STAR, "**") X(KW_MARK, "*,") X(POS_MARK, "/,")
typedef enum TlAstOp {
#define X(id, text) TL_AST_OP_##id,
   TL_AST_OPS(X)
#undef X
      TL_AST_OP_COUNT
} TlAstOp;
extern const char *const tl_ast_op_text[TL_AST_OP_COUNT];

/* No tree that the parser makes is higher, so recursion over a tree needs no check of its own:
 * 256 blocks and 256 brackets, two levels each, fit. */
enum { TL_AST_MAX_HEIGHT = 800 };

typedef struct TlNode {
   TlAstKind kind;
   TlRange range;
   uint32_t height; /* levels of nodes from here down, this one included */
} TlNode;

typedef struct TlNodeList {
   TlNode **data;
   size_t len, cap;
} TlNodeList;

typedef struct TlOpList {
   TlAstOp *data;
   size_t len, cap;
} TlOpList;

typedef struct TlText { /* bytes of a string literal; NUL after data[len], may hold NULs */
   const char *data;
   size_t len;
} TlText;

#define TL_NODE_BEGIN(ID, Name, text)                                                              \
   typedef struct TlAst##Name {                                                                    \
      TlNode node;
#define TL_NODE_END(ID, Name)                                                                      \
   }                                                                                               \
   TlAst##Name;
#define TL_F_NODE(f) TlNode *f;
#define TL_F_LIST(f) TlNodeList f;
#define TL_F_NAME(f) const char *f;
#define TL_F_BOOL(f) bool f;
#define TL_F_OP(f) TlAstOp f;
#define TL_F_OPS(f) TlOpList f;
#define TL_F_INT(f) uint64_t f;
#define TL_F_REAL(f) double f;
#define TL_F_STR(f) TlText f;
#include "syntax/ast.def"

/* Checked casts: tl_ast_Call(node) etc.  The node must be of that kind (asserted). */
#include <assert.h>
#define TL_NODE_BEGIN(ID, Name, text)                                                              \
   static inline TlAst##Name *tl_ast_##Name(const TlNode *n)                                       \
   {                                                                                               \
      assert(n->kind == TL_AST_##ID);                                                              \
      return (TlAst##Name *)(uintptr_t)n;                                                          \
   }                                                                                               \
   /* A node of this kind: zeroed, to be filled by the caller; or with fields. */                  \
   static inline TlAst##Name *tl_ast_new_##Name(TlArena *arena, TlRange range)                     \
   {                                                                                               \
      TlAst##Name *n = tl_new(arena, TlAst##Name);                                                 \
      n->node = (TlNode){TL_AST_##ID, range, 1};                                                   \
      return n;                                                                                    \
   }                                                                                               \
   static inline TlNode *tl_ast_make_##Name(TlArena *arena, TlAst##Name fields)                    \
   {                                                                                               \
      TlAst##Name *n = tl_ast_new_##Name(arena, fields.node.range);                                \
      fields.node = n->node;                                                                       \
      *n = fields;                                                                                 \
      return &n->node;                                                                             \
   }
#define TL_NODE_END(ID, Name)
#include "syntax/ast.def"

extern const char *const tl_ast_kind_text[TL_AST_COUNT];

/* Indented text form for golden tests: one node a line, fields named, no addresses.  With ranges:
 * "@line:col-line:col" after each node. */
void tl_ast_print(TlSources *sources, const TlNode *node, bool with_ranges, TlSb *out);

/* Where a function, class, parameter, keyword, attribute or import names what it is about; of other
 * nodes their range. */
TlRange tl_ast_name_range(const TlSources *sources, const TlNode *node);

/* The part of a pattern of 'match' that takes any value, or NULL. */
const TlNode *tl_ast_takes_everything(const TlNode *pattern);

/* Calls visit for every child, in source order (NULL children are skipped).  Not recursive. */
void tl_ast_children(const TlNode *node, void (*visit)(void *user, TlNode *child), void *user);

#endif
