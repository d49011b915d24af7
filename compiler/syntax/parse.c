/* Entry points: scan a file, run the grammar over its tokens, print tokens. */
#include "syntax/parse.h"
#include "syntax/build.h"
#include "base/vec.h"
#include "parser.h"

#include <string.h>

void
tl_report_lex_error(TlDiags *d, const TlLexError *e)
{
   tl_diag_emit(d, e->code, e->range, "%s", e->text);
   if (e->help)
      tl_help(d, "%s", e->help);
   if (e->note)
      tl_note(d, N0112, e->note_range, e->note);
}

void
tl_parser_exhausted(TlParser *ps)
{
   const TlToken *t = &ps->tokens[ps->pos ? ps->pos - 1 : 0];
   if (!ps->in_error)
      tl_report(ps->diags, E0109, tl_tok_range(ps, t), (unsigned)TL_PARSER_STACK);
   ps->in_error = true;
}

/* Continues the statement before it: nothing to resume at. */
static bool
is_clause(int kind)
{
   return kind == TL_TOK_ELIF || kind == TL_TOK_ELSE || kind == TL_TOK_EXCEPT ||
          kind == TL_TOK_FINALLY;
}

/* After an exhausted stack: goes to the next statement outside all blocks. */
static void
skip_statement(TlParser *ps)
{
   ps->in_error = false;
   for (; ps->pos < ps->num_tokens; ps->pos++) {
      const TlToken *t = &ps->tokens[ps->pos];
      if (t->kind == TL_TOK_END)
         return;
      if (!ps->block_depth && ps->pos && t->kind != TL_TOK_INDENT && !is_clause(t->kind) &&
          (t[-1].kind == TL_TOK_NEWLINE || t[-1].kind == TL_TOK_DEDENT))
         return;
      ps->block_depth += t->kind == TL_TOK_INDENT;
      ps->block_depth -= t->kind == TL_TOK_DEDENT && ps->block_depth;
   }
}

bool
tl_parser_run(TlParser *ps, int start)
{
   enum { EXHAUSTED = 2 };
   unsigned before = ps->diags->num_errors;
   ps->start = start;
   int rc = tl_yyparse(ps);
   while (rc == EXHAUSTED && start == TL_TOK_START_FILE) {
      skip_statement(ps);
      ps->start = start;
      rc = tl_yyparse(ps);
   }
   return rc == 0 && ps->diags->num_errors == before;
}

TlNode *
tl_parse_field(TlParser *ps, uint32_t begin, uint32_t end)
{
   TlRange r = tl_range(ps->file, begin, end);
   if (ps->fstring_depth >= TL_MAX_FSTRING_DEPTH) {
      tl_report(ps->diags, E0129, r, "strings are nested too deeply in its fields");
      return NULL;
   }
   TlTokens tokens;
   tl_lex_part(ps->cx, ps->file, begin, end, &tokens);
   if (tokens.data[0].kind == TL_TOK_END) {
      tl_report(ps->diags, E0129, r, "a field needs an expression between its braces");
      return NULL;
   }
   TlParser sub = {.cx = ps->cx,
                   .diags = ps->diags,
                   .file = ps->file,
                   .text = ps->text,
                   .tokens = tokens.data,
                   .num_tokens = tokens.len,
                   .fstring_depth = ps->fstring_depth + 1};
   return tl_parser_run(&sub, TL_TOK_START_EXPR) ? sub.result : NULL;
}

TlAstModule *
tl_parse_tile(TlParseCx *cx, uint32_t file)
{
   const TlSource *src = tl_source(cx->sources, file);
   TlTokens tokens;
   tl_lex(cx, file, &tokens);
   TlAstModule *module = tl_ast_new_Module(cx->arena, tl_range(file, 0, src->len));
   TlParser ps = {.cx = cx,
                  .diags = cx->diags,
                  .file = file,
                  .text = src->text,
                  .tokens = tokens.data,
                  .num_tokens = tokens.len,
                  .is_tile = true,
                  .module = &module->body};
   tl_parser_run(&ps, TL_TOK_START_FILE);
   tl_mk_done(&ps, &module->node);
   return module;
}

bool
tl_is_python_file(const char *name)
{
   return tl_ends_with(name, ".py");
}

TlAstModule *
tl_parse_file(TlParseCx *cx, uint32_t file)
{
   bool is_python = tl_is_python_file(tl_source(cx->sources, file)->name);
   return is_python ? tl_parse_python(cx, file) : tl_parse_tile(cx, file);
}

TlNode *
tl_parse_expression(TlParseCx *cx, uint32_t file)
{
   const TlSource *src = tl_source(cx->sources, file);
   TlTokens tokens;
   tl_lex_part(cx, file, 0, src->len, &tokens);
   TlParser ps = {.cx = cx,
                  .diags = cx->diags,
                  .file = file,
                  .text = src->text,
                  .tokens = tokens.data,
                  .num_tokens = tokens.len,
                  .is_tile = true};
   return tl_parser_run(&ps, TL_TOK_START_EXPR) ? ps.result : NULL;
}

void
tl_print_tokens(TlParseCx *cx, uint32_t file, TlSb *out)
{
   TlTokens tokens;
   tl_lex(cx, file, &tokens);
   const char *text = tl_source(cx->sources, file)->text;
   for (size_t i = 0; i < tokens.len; i++) {
      const TlToken *t = &tokens.data[i];
      TlLineCol at = tl_source_line_col(cx->sources, file, t->begin);
      if (t->error)
         tl_report_lex_error(cx->diags, t->error);
      const char *kind = tl_token_kind_text(t->kind);
      size_t len = t->end - t->begin;
      tl_sb_printf(out, "%u:%u %s", at.line, at.column, kind);
      if (len && (len != strlen(kind) || memcmp(kind, text + t->begin, len) != 0)) {
         tl_sb_char(out, ' ');
         for (uint32_t k = t->begin; k < t->end; k++)
            if (text[k] == '\n')
               tl_sb_str(out, "\\n");
            else if (text[k] != '\r')
               tl_sb_char(out, text[k]);
      }
      tl_sb_char(out, '\n');
   }
}

const char *
tl_keyword(unsigned i)
{
   bool is_one = i <= TL_TOK_YIELD - TL_TOK_FALSE;
   return is_one ? tl_token_kind_text(TL_TOK_FALSE + (int)i) : NULL;
}
