/* libFuzzer target of the front end.  The first byte chooses .tile, .py, an expression or tokens;
 * the rest is the text.  Checks that nothing crashes, that every range lies in the file, that no
 * tree is higher than its limit, and that printing it works.  Build and run:
 *    G=<build>/generated/tl_syntax
 *    clang-22 -g -O1 -std=gnu17 -fsanitize=fuzzer,address,undefined -Icompiler -I$G \
 *       tests/fuzz/fuzz_parse.c $(find compiler/syntax compiler/base $G -name '*.c') -lm
 *    ./a.out -dict=tests/fuzz/tile.dict -max_len=4096 tests/golden/parse */
#include "limited.h"
#include "syntax/parse.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check(void *user, TlNode *node)
{
   const uint32_t *len = user;
   if (node->range.begin > node->range.end || node->range.end > *len ||
       node->height > TL_AST_MAX_HEIGHT)
      abort();
   tl_ast_children(node, check, user);
}

static void
run(TlArena *arena, const uint8_t *data, size_t size)
{
   TlSources *sources = tl_sources_new(arena);
   TlDiags diags;
   tl_diags_init(&diags, arena, sources);
   TlParseCx cx = {arena, tl_strings_new(arena), sources, &diags};
   static const char *const names[] = {"f.tile", "f.py", "<expression>", "f.tile"};
   unsigned mode = data[0] % 4;
   uint32_t len = (uint32_t)(size - 1);
   uint32_t file = tl_sources_add(sources, names[mode], (const char *)data + 1, len);
   TlSb out;
   tl_sb_init(&out, arena);
   TlNode *root = NULL;
   if (mode == 3)
      tl_print_tokens(&cx, file, &out);
   else
      root = mode == 2 ? tl_parse_expression(&cx, file) : &tl_parse_file(&cx, file)->node;
   if (root) {
      check(&len, root);
      tl_ast_print(sources, root, true, &out);
   }
   for (const TlDiag *d = diags.first; d; d = d->next)
      tl_diag_render(&diags, d, false, &out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
   fuzz_limited((size_t)256 << 20, run, data, size);
   return 0;
}
