/* Reads a .py file: statements are cut out of the token sequence before parsing, so that host code
 * in syntax we do not know costs nothing but itself.  Works inside out: the block of a compound
 * host statement is split first, then its headers are parsed with TL_TOK_BODY in place of the
 * block.  So each token is parsed once.  Invariant: only statements of compiled functions report to
 * the caller's diagnostics, blocks that no Python reads, and CUDA's launches; of a host statement
 * that fails, a Skipped node with the reason is left, and the compiled functions found inside it
 * follow it in the same list. */
#include "syntax/build.h"
#include "base/vec.h"
#include "parser.h"

#include <assert.h>
#include <string.h>

typedef struct Split {
   TlParseCx *cx;
   uint32_t file;
   const char *text;
   const TlToken *t; /* all tokens; INDENT, DEDENT and brackets know their partner */
   size_t num_tokens;
   TlNodeList kernels; /* every compiled function, in the order found */
} Split;

static TlNodeList *split_block(Split *sp, size_t begin, size_t end);

static size_t
line_end(const Split *sp, size_t i)
{
   while (sp->t[i].kind != TL_TOK_NEWLINE && sp->t[i].kind != TL_TOK_END)
      i++;
   return i;
}

static size_t
after_line(const Split *sp, size_t i)
{
   size_t end = line_end(sp, i);
   return sp->t[end].kind == TL_TOK_END ? end : end + 1;
}

static bool
is_word(const Split *sp, size_t i, const char *word)
{
   size_t len = sp->t[i].end - sp->t[i].begin;
   return sp->t[i].kind == TL_TOK_NAME && strlen(word) == len &&
          memcmp(sp->text + sp->t[i].begin, word, len) == 0;
}

/* `import a.b as name`, `from a import (b, name)`: does it bind the name whose token is at `of`? */
static bool
imports(const Split *sp, size_t import, size_t end, size_t of)
{
   uint32_t len = sp->t[of].end - sp->t[of].begin;
   for (size_t i = import + 1; i < end; i++) {
      const TlToken *t = &sp->t[i];
      bool is_bound = t[1].kind != TL_TOK_AS && t[-1].kind != TL_TOK_DOT;
      if (is_bound && t->kind == TL_TOK_NAME && t->end - t->begin == len &&
          memcmp(sp->text + t->begin, sp->text + sp->t[of].begin, len) == 0)
         return true;
   }
   return false;
}

/* The file imports the name of another package than Triton or one that hands Triton on
 * (`from vllm.triton_utils import triton`). */
static bool
is_of_other_package(const Split *sp, size_t name)
{
   bool is_other = false;
   for (size_t i = 0, begin = 0; i < sp->num_tokens; i++) {
      if (sp->t[i].kind == TL_TOK_NEWLINE) {
         begin = i + 1;
      } else if (sp->t[i].kind == TL_TOK_IMPORT) {
         size_t end = line_end(sp, i);
         if (!imports(sp, i, end, name))
            continue;
         for (size_t k = begin; k < end; k++)
            for (uint32_t c = sp->t[k].begin; c + 6 <= sp->t[k].end; c++)
               if (memcmp(sp->text + c, "triton", 6) == 0)
                  return false;
         is_other = true;
      }
   }
   return is_other;
}

/* `@jit`, `@triton.jit(...)`, `@kernel`: does the decorator whose '@' is at i say so? */
static bool
is_named_as_ours(const Split *sp, size_t i)
{
   size_t last = i + 1;
   while (sp->t[last].kind == TL_TOK_NAME && sp->t[last + 1].kind == TL_TOK_DOT)
      last += 2;
   int next = sp->t[last].kind == TL_TOK_NAME ? sp->t[last + 1].kind : TL_TOK_END;
   return (next == TL_TOK_NEWLINE || next == TL_TOK_LPAREN) &&
          (is_word(sp, last, "jit") || is_word(sp, last, "kernel"));
}

/* It makes compiled code: other compilers' decorators of the same name do not. */
static bool
is_compile_decorator(const Split *sp, size_t i)
{
   static const char *const foreign[] = {"numba", "nb", "cuda", "jax", "torch", "cupyx", "ti"};
   size_t root = i + 1;
   if (!is_named_as_ours(sp, i))
      return false;
   for (size_t k = 0; k < sizeof foreign / sizeof foreign[0]; k++)
      if (is_word(sp, root, foreign[k]))
         return false;
   return sp->t[root + 1].kind != TL_TOK_DOT || is_word(sp, root, "triton") ||
          !is_of_other_package(sp, root);
}

static void
copy(Split *sp, TlTokens *out, size_t begin, size_t end)
{
   assert(begin <= end);
   uint32_t shift = (uint32_t)out->len - (uint32_t)begin;
   for (size_t i = begin; i < end; i++) {
      TlToken t = sp->t[i];
      if (t.match || t.kind == TL_TOK_RPAREN || t.kind == TL_TOK_RBRACKET ||
          t.kind == TL_TOK_RBRACE)
         t.match += shift;
      tl_vec_push(sp->cx->arena, out, t);
   }
}

static TlParser
parser_for(Split *sp, TlTokens *tokens, TlDiags *diags, TlNodeList *into)
{
   uint32_t end = tokens->len ? tokens->data[tokens->len - 1].end : 0;
   tl_vec_push(sp->cx->arena, tokens, (TlToken){.begin = end, .end = end, .kind = TL_TOK_END});
   return (TlParser){.cx = sp->cx,
                     .diags = diags,
                     .file = sp->file,
                     .text = sp->text,
                     .tokens = tokens->data,
                     .num_tokens = tokens->len,
                     .module = into};
}

static TlDiags
scratch_diags(Split *sp)
{
   TlDiags d;
   tl_diags_init(&d, sp->cx->arena, sp->cx->sources);
   d.max_errors = 1;
   return d;
}

static const char *
reason_of(const TlDiags *d)
{
   return d->first ? d->first->text : "it could not be parsed";
}

/* Of blocks: Python would not read the file either, whatever else it knows more than we do. */
static bool
is_of_blocks(TlDiagCode code)
{
   return code == TL_DIAG_E0117 || code == TL_DIAG_E0118;
}

/* The expression of the decorator whose '@' is at i. */
static TlNode *
parse_decorator(Split *sp, size_t i)
{
   assert(sp->t[i].kind == TL_TOK_AT);
   TlTokens tokens = {0};
   size_t end = line_end(sp, i);
   copy(sp, &tokens, i + 1, end);
   TlDiags scratch = scratch_diags(sp);
   TlParser ps = parser_for(sp, &tokens, &scratch, NULL);
   if (tl_parser_run(&ps, TL_TOK_START_EXPR))
      return ps.result;
   TlRange r = tl_range(sp->file, sp->t[i].begin, sp->t[end].begin);
   if (scratch.first && scratch.first->code != TL_DIAG_E0132) /* nor would Python read it */
      tl_diags_repeat(sp->cx->diags, scratch.first);
   else
      tl_report(sp->cx->diags, R0101, r, reason_of(&scratch));
   return tl_mk_skipped(&ps, r, reason_of(&scratch));
}

/* A compiled function: decorators begin..def, then the definition up to `end`. */
static void
parse_kernel(Split *sp, size_t begin, size_t def, size_t end, TlNodeList *out)
{
   TlTokens tokens = {0};
   TlNodeList made = {0};
   copy(sp, &tokens, def, end);
   TlParser ps = parser_for(sp, &tokens, sp->cx->diags, &made);
   tl_parser_run(&ps, TL_TOK_START_FILE);
   TlNodeList decorators = {0};
   for (size_t i = begin; i < def; i = after_line(sp, i))
      tl_vec_push(sp->cx->arena, &decorators, parse_decorator(sp, i));
   for (size_t i = 0; i < made.len; i++) {
      TlNode *n = made.data[i];
      if (n->kind == TL_AST_FUNCTION) {
         TlRange r = tl_range(sp->file, sp->t[begin].begin, n->range.end);
         n = tl_mk_decorated(&ps, r, &decorators, n);
         tl_vec_push(sp->cx->arena, &sp->kernels, n);
      }
      tl_vec_push(sp->cx->arena, out, n);
   }
}

static bool
opens_clauses(int kind)
{
   return kind == TL_TOK_IF || kind == TL_TOK_FOR || kind == TL_TOK_WHILE || kind == TL_TOK_TRY;
}

static bool
is_clause(int kind)
{
   return kind == TL_TOK_ELIF || kind == TL_TOK_ELSE || kind == TL_TOK_EXCEPT ||
          kind == TL_TOK_FINALLY;
}

/* Copies one header and its block (as a BODY token, or the line's rest); returns what follows. */
static size_t
take_clause(Split *sp, TlTokens *tokens, size_t i)
{
   size_t nl = line_end(sp, i);
   if (sp->t[nl].kind == TL_TOK_END) {
      copy(sp, tokens, i, nl);
      return nl;
   }
   if (sp->t[nl + 1].kind != TL_TOK_INDENT) {
      copy(sp, tokens, i, nl + 1);
      return nl + 1;
   }
   size_t dedent = sp->t[nl + 1].match;
   copy(sp, tokens, i, nl);
   TlToken body = {.begin = sp->t[nl + 1].begin, .end = sp->t[dedent].end, .kind = TL_TOK_BODY};
   body.body = split_block(sp, nl + 2, dedent);
   tl_vec_push(sp->cx->arena, tokens, body);
   return dedent + 1;
}

/* `match` and its block, whose lines are headers with blocks of their own; returns what follows. */
static size_t
take_match(Split *sp, TlTokens *tokens, size_t i)
{
   size_t open = line_end(sp, i) + 1, dedent = sp->t[open].match;
   copy(sp, tokens, i, open + 1);
   for (i = open + 1; i < dedent;)
      i = take_clause(sp, tokens, i);
   copy(sp, tokens, dedent, dedent + 1);
   return dedent + 1;
}

/* kernel<<<grid, block>>>(..) in a statement that could not be parsed. */
static void
refuse_cuda_launch(Split *sp, const TlTokens *tokens)
{
   for (size_t i = 0; i + 1 < tokens->len; i++) {
      const TlToken *t = &tokens->data[i];
      if (t[0].kind == TL_TOK_SHL && t[1].kind == TL_TOK_LT && t[0].end == t[1].begin) {
         TlRange r = tl_range(sp->file, t[0].begin, t[1].end);
         tl_report(sp->cx->diags, E0131, r, "an expression", "'<<<'");
         tl_help(sp->cx->diags, "%s", tl_launch_help);
         return;
      }
   }
}

/* Decorators that only look like ours, of a function that is host code, are taken out of the way of
 * those who look for ours. */
static void
hide_other_compilers(Split *sp, TlParser *ps, size_t begin, size_t head, const TlNodeList *made)
{
   size_t k = 0;
   if (made->len != 1 || made->data[0]->kind != TL_AST_FUNCTION)
      return;
   TlNodeList *decorators = &tl_ast_Function(made->data[0])->decorators;
   for (size_t i = begin; i < head && k < decorators->len; i = after_line(sp, i), k++)
      if (is_named_as_ours(sp, i))
         decorators->data[k] =
            tl_mk_skipped(ps, decorators->data[k]->range, "the decorator of another compiler");
}

/* A host statement: decorators begin..head, then headers and blocks.  Returns what follows.
 * Behind a decorator of kernels nothing but a function makes sense. */
static size_t
parse_host(Split *sp, size_t begin, size_t head, bool is_kernel, TlNodeList *out)
{
   TlTokens tokens = {0};
   TlNodeList made = {0};
   size_t kernels = sp->kernels.len;
   copy(sp, &tokens, begin, head);
   TlParser whole = {.text = sp->text, .tokens = sp->t, .num_tokens = sp->num_tokens};
   size_t i =
      tl_is_match(&whole, head) ? take_match(sp, &tokens, head) : take_clause(sp, &tokens, head);
   if (opens_clauses(sp->t[head].kind))
      while (is_clause(sp->t[i].kind))
         i = take_clause(sp, &tokens, i);
   TlDiags scratch = scratch_diags(sp);
   TlParser ps = parser_for(sp, &tokens, &scratch, &made);
   if (tl_parser_run(&ps, TL_TOK_START_FILE)) {
      hide_other_compilers(sp, &ps, begin, head, &made);
      tl_mk_concat(&ps, out, &made);
      return i;
   }
   refuse_cuda_launch(sp, &tokens);
   bool is_python = !scratch.first || (!is_kernel && !is_of_blocks(scratch.first->code));
   if (!is_python) /* nor would Python read the file */
      tl_diags_repeat(sp->cx->diags, scratch.first);
   TlRange r = tl_range(sp->file, sp->t[begin].begin, sp->t[i - 1].end);
   tl_mk_append(&ps, out, tl_mk_skipped(&ps, r, reason_of(&scratch)));
   for (size_t k = kernels; k < sp->kernels.len; k++)
      tl_mk_append(&ps, out, sp->kernels.data[k]);
   return i;
}

static size_t
split_statement(Split *sp, size_t begin, size_t end, TlNodeList *out)
{
   size_t head = begin;
   bool is_kernel = false;
   while (head < end && sp->t[head].kind == TL_TOK_AT) {
      is_kernel |= is_compile_decorator(sp, head);
      head = after_line(sp, head);
   }
   if (head >= end) /* decorators of nothing */
      return parse_host(sp, begin, begin, false, out);
   if (!is_kernel || sp->t[head].kind != TL_TOK_DEF)
      return parse_host(sp, begin, head, is_kernel && sp->t[head].kind == TL_TOK_NAME, out);
   size_t next = after_line(sp, head);
   if (sp->t[next].kind == TL_TOK_INDENT)
      next = sp->t[next].match + (size_t)1;
   parse_kernel(sp, begin, head, next, out);
   return next;
}

static TlNodeList *
split_block(Split *sp, size_t begin, size_t end)
{
   assert(begin <= end);
   TlNodeList *out = tl_new(sp->cx->arena, TlNodeList);
   for (size_t i = begin; i < end;)
      i = split_statement(sp, i, end, out);
   return out;
}

TlAstModule *
tl_parse_python(TlParseCx *cx, uint32_t file)
{
   const TlSource *src = tl_source(cx->sources, file);
   TlTokens tokens;
   tl_lex(cx, file, &tokens);
   Split sp = {
      .cx = cx, .file = file, .text = src->text, .t = tokens.data, .num_tokens = tokens.len};
   TlAstModule *module = tl_ast_new_Module(cx->arena, tl_range(file, 0, src->len));
   module->body = *split_block(&sp, 0, tokens.len - 1);
   TlParser ps = {.cx = cx, .diags = cx->diags, .file = file};
   tl_mk_done(&ps, &module->node);
   return module;
}
