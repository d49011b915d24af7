/* What the grammar's actions call: TL_MAKE for a node that is its parts, a function for one that is
 * also checked.  `r` is the range of the rule's text.  Lists and nodes live in the parse context's
 * arena.  Internal to syntax/. */
#ifndef TL_SYNTAX_BUILD_H
#define TL_SYNTAX_BUILD_H

#include "syntax/token.h"

typedef struct TlParser {
   TlParseCx *cx;
   TlDiags *diags; /* where errors go: cx->diags, or a scratch set for host code */
   uint32_t file;
   const char *text; /* of the file */
   const TlToken *tokens;
   size_t num_tokens;  /* the last one is END */
   size_t pos;         /* the next token to hand out */
   int start;          /* TL_TOK_START_... to hand out first; 0 once done */
   bool is_tile;       /* pointer and fact types are allowed */
   bool in_error;      /* an error was reported in this logical line: stay quiet until its end */
   size_t quiet_until; /* the end of a block of another language, whose header was reported */
   TlRange too_high;   /* where the height limit was reported last: once for each statement */
   unsigned fstring_depth;
   unsigned block_depth;                   /* INDENTs handed out without their DEDENT */
   bool is_match_line;                     /* the line being handed out begins with `match` */
   bool is_match_block[TL_MAX_BLOCKS + 2]; /* by depth: its lines begin with `case` */
   TlNodeList *module;                     /* statements of the file, as they are completed */
   TlNode *result;                         /* START_EXPR: the expression */
} TlParser;

typedef TlNodeList *TlListP; /* NULL: what may hold the list was left out */

/* TL_MAKE(ps, range, Return, .value = value): a finished node with these fields, others zero. */
#define TL_MAKE(ps, r, Name, ...)                                                                  \
   tl_mk_done(ps, tl_ast_make_##Name((ps)->cx->arena, (TlAst##Name){.node.range = r, __VA_ARGS__}))

/* Parses the tokens with one of the two start kinds; false if an error was reported. */
bool tl_parser_run(TlParser *ps, int start);
/* Turns decoded text of an f-string field into an expression; NULL after an error. */
TlNode *tl_parse_field(TlParser *ps, uint32_t begin, uint32_t end);

/* Reports a syntax error at the token before ps->pos; expected[k] is set for each token kind k that
 * the grammar could have taken. */
void tl_syntax_error(TlParser *ps, const bool *expected);
extern const char tl_launch_help[]; /* for kernel<<<..>>> */
void tl_parser_exhausted(TlParser *ps);
void tl_report_lex_error(TlDiags *d, const TlLexError *e);

/* ---- lists and names ---- */
static inline TlNodeList
tl_list(TlListP list)
{
   return list ? *list : (TlNodeList){0};
}
const char *tl_mk_word(const TlParser *ps, const TlToken *t); /* NULL for no token */
TlListP tl_mk_list(TlParser *ps);
TlListP tl_mk_list1(TlParser *ps, TlNode *first);
TlListP tl_mk_append(TlParser *ps, TlListP list, TlNode *item); /* a NULL item is left out */
TlListP tl_mk_concat(TlParser *ps, TlListP list, TlListP more);
void tl_mk_top(TlParser *ps, TlListP stmts);

/* ---- expressions ---- */
TlNode *tl_mk_name(TlParser *ps, const TlToken *t);
TlNode *tl_mk_int(TlParser *ps, const TlToken *t);
TlNode *tl_mk_float(TlParser *ps, const TlToken *t);
TlNode *tl_mk_strings(TlParser *ps, TlRange r, TlListP parts);
TlNode *tl_mk_string_part(TlParser *ps, const TlToken *t);
TlNode *tl_mk_unary(TlParser *ps, TlRange r, TlAstOp op, TlNode *operand);
TlNode *tl_mk_binary(TlParser *ps, TlRange r, TlAstOp op, TlNode *left, TlNode *right);
TlNode *tl_mk_boolop(TlParser *ps, TlRange r, TlAstOp op, TlNode *left, TlNode *right);
TlNode *tl_mk_compare(TlParser *ps, TlRange r, TlNode *left, TlAstOp op, TlNode *right);
TlNode *tl_mk_compare_more(TlParser *ps, TlRange r, TlNode *chain, TlAstOp op, TlNode *right);
TlNode *tl_mk_call(TlParser *ps, TlRange r, TlNode *func, TlListP args);
TlNode *tl_mk_tuple(TlParser *ps, TlRange r, TlListP items);
TlNode *tl_mk_paren(TlParser *ps, TlRange r, TlNode *inner);
TlNode *tl_mk_dict(TlParser *ps, TlRange r, TlListP items); /* Keyword-like pairs */
TlListP tl_mk_pair(TlParser *ps, TlListP pairs, TlNode *key, TlNode *value);
TlNode *tl_mk_lambda(TlParser *ps, TlRange r, TlListP params, TlNode *body);
TlNode *tl_mk_comprehension(TlParser *ps, TlRange r, TlAstOp kind, TlNode *key, TlNode *value,
                            TlListP clauses);
TlNode *tl_mk_comp_for(TlParser *ps, TlRange r, TlNode *target, TlNode *iter, TlListP conditions);
TlNode *tl_mk_ptr_type(TlParser *ps, TlRange r, bool is_const, TlNode *pointee);
TlNode *tl_mk_ptr_ptr_type(TlParser *ps, TlRange r, bool is_const, TlNode *pointee);
TlNode *tl_mk_fact_type(TlParser *ps, TlRange r, TlNode *type, TlNode *fact);

/* ---- statements ---- */
TlNode *tl_mk_expr_stmt(TlParser *ps, TlRange r, TlNode *value);
TlNode *tl_mk_assign(TlParser *ps, TlRange r, TlListP targets, TlNode *value);
TlNode *tl_mk_aug_assign(TlParser *ps, TlRange r, TlAstOp op, TlNode *target, TlNode *value);
TlNode *tl_mk_ann_assign(TlParser *ps, TlRange r, TlNode *target, TlNode *annotation,
                         TlNode *value);
TlNode *tl_mk_for(TlParser *ps, TlRange r, TlNode *target, TlNode *iter, TlListP body,
                  TlListP orelse);
TlNode *tl_mk_if(TlParser *ps, TlRange r, TlNode *test, TlListP body, TlListP orelse);
TlNode *tl_mk_plain(TlParser *ps, TlRange r, TlAstKind kind); /* pass, break, continue */
TlNode *tl_mk_del(TlParser *ps, TlRange r, TlNode *targets);
TlNode *tl_mk_with_item(TlParser *ps, TlRange r, TlNode *value, TlNode *target);
TlNode *tl_mk_try(TlParser *ps, TlRange r, TlListP body, TlListP handlers, TlListP orelse,
                  TlListP finally_body);
TlNode *tl_mk_import_from(TlParser *ps, TlRange r, unsigned level, TlNode *module, TlListP names);
TlNode *tl_mk_alias(TlParser *ps, TlRange r, TlNode *name, const TlToken *as_name);
TlNode *tl_mk_dotted(TlParser *ps, TlRange r, TlNode *left, const TlToken *name);
TlNode *tl_mk_function(TlParser *ps, TlRange r, const TlToken *name, TlListP params,
                       TlNode *returns, TlListP body);
TlNode *tl_mk_param(TlParser *ps, TlRange r, TlAstOp kind, const TlToken *name, TlNode *annotation,
                    TlNode *default_value);
TlNode *tl_mk_decorated(TlParser *ps, TlRange r, TlListP decorators, TlNode *definition);

/* mangle.c; bases may be NULL */
TlNode *tl_mk_class(TlParser *ps, TlRange r, const TlToken *name, TlListP bases, TlListP body);

/* ---- match (build_match.c); NULL names are no tokens ---- */
TlNode *tl_mk_match(TlParser *ps, TlRange r, TlNode *subject, TlListP cases);
TlNode *tl_mk_case(TlParser *ps, TlRange r, TlNode *pattern, TlNode *guard, TlListP body);
TlNode *tl_mk_pat_capture(TlParser *ps, TlRange r, TlNode *pattern, const TlToken *name);
TlNode *tl_mk_pat_star(TlParser *ps, TlRange r, const TlToken *name);
TlNode *tl_mk_pat_or(TlParser *ps, TlRange r, TlListP alternatives);
TlNode *tl_mk_pat_string(TlParser *ps, TlRange r, TlListP parts);
TlNode *tl_mk_pat_sequence(TlParser *ps, TlRange r, TlListP items);
TlNode *tl_mk_pat_mapping(TlParser *ps, TlRange r, TlListP pairs, const TlToken *rest);
TlNode *tl_mk_pat_class(TlParser *ps, TlRange r, TlNode *cls, TlListP items);

/* ---- used by the constructors and the splitter ---- */
/* The name at tokens[i] begins a match statement. */
bool tl_is_match(const TlParser *ps, size_t i);
TlNode *tl_mk_skipped(TlParser *ps, TlRange r, const char *reason);
/* Sets the node's height; beyond the limit the error is reported and a stand-in comes back. */
TlNode *tl_mk_done(TlParser *ps, TlNode *node);
/* Decodes a string literal (not an f-string) or a number; errors go to ps->diags. */
TlText tl_decode_string(TlParser *ps, const TlToken *t, bool *is_bytes);
TlNode *tl_decode_fstring(TlParser *ps, const TlToken *t);
uint64_t tl_decode_int(TlParser *ps, const TlToken *t);
double tl_decode_float(const TlParser *ps, const TlToken *t);

static inline TlRange
tl_tok_range(const TlParser *ps, const TlToken *t)
{
   return tl_range(ps->file, t->begin, t->end);
}

#endif
