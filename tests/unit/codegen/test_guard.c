/* LLVM's own failures: what would end the process becomes a located error, and the next compilation
 * works. */
#include "codegen/cg.h"

#include <llvm-c/Target.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* What LLVM held when it gave up is lost with it; the leak checker need not tell. */
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#else
#define __lsan_disable() (void)0
#define __lsan_enable()  (void)0
#endif

static const char kernel[] = "func @k(%x: ptr<fp32>) {num_warps = 1, state = lowered} {\n"
                             "%v = ld_global %x : fp32\nst_global %x, %v\nreturn\n}\n";

/* LLVM's exp of fp64, which this target cannot select: report_fatal_error. */
static bool
emit_unselectable(TlCg *cg, void *user)
{
   (void)user;
   LLVMTargetRef target;
   char *error = NULL;
   assert_false(LLVMGetTargetFromTriple("nvptx64-nvidia-cuda", &target, &error));
   cg->tm =
      LLVMCreateTargetMachine(target, "nvptx64-nvidia-cuda", "sm_90a", "+ptx80",
                              LLVMCodeGenLevelDefault, LLVMRelocDefault, LLVMCodeModelDefault);
   tl_cg_new_module(cg, "nvptx64-nvidia-cuda");
   LLVMTypeRef type = LLVMFunctionType(cg->f64, &cg->f64, 1, false);
   LLVMValueRef f = LLVMAddFunction(cg->mod, "f", type), x = LLVMGetParam(f, 0);
   LLVMPositionBuilderAtEnd(cg->b, LLVMAppendBasicBlockInContext(cg->llvm, f, ""));
   LLVMBuildRet(cg->b, tl_cg_overloaded(cg, "llvm.exp", cg->f64, &x, 1));
   LLVMMemoryBufferRef buffer;
   LLVMTargetMachineEmitToMemoryBuffer(cg->tm, cg->mod, LLVMAssemblyFile, &error, &buffer);
   fail_msg("LLVM selects this now");
   return true;
}

static void
fatal_errors_come_back(void **state)
{
   (void)state;
   TlMem mem;
   jmp_buf oom;
   tl_mem_init(&mem);
   mem.oom = &oom;
   if (setjmp(oom))
      fail_msg("out of memory");
   TlArena *arena = tl_arena_new(&mem);
   TlSources *sources = tl_sources_new(arena);
   TlDiags diags;
   tl_diags_init(&diags, arena, sources);
   TlModule *module = tl_module_new(arena, tl_types_new(arena), tl_strings_new(arena), &diags);
   uint32_t file = tl_sources_add(sources, "k.tir", kernel, strlen(kernel));
   assert_true(tl_read_module(module, sources, file));
   TlFunc *func = module->first_func;
   TlCgOptions options = {.target = tl_target_find("sm_90a"), .opt_level = 3};
   TlCgResult result;
   /* makes LLVM's targets known */
   assert_true(tl_codegen(arena, &func, 1, sources, &diags, &options, &result));
   for (unsigned times = 0; times < 2; times++) {
      tl_diags_init(&diags, arena, sources);
      TlCg *cg = tl_new(arena, TlCg);
      *cg = (TlCg){.arena = arena,
                   .sources = sources,
                   .diags = &diags,
                   .options = &options,
                   .target = options.target,
                   .func = func};
      __lsan_disable();
      bool ok = tl_cg_guarded(cg, emit_unselectable, NULL);
      __lsan_enable();
      assert_false(ok);
      assert_int_equal(diags.num_errors, 1);
      const TlDiag *d = diags.first;
      assert_int_equal(d->code, TL_DIAG_E0503);
      assert_int_equal(d->range.file, file);
      assert_non_null(strstr(d->text, "Cannot select"));
      assert_ptr_equal(mem.oom, &oom); /* running out of memory still leads here */
      assert_true(tl_codegen(arena, &func, 1, sources, &diags, &options, &result));
      assert_non_null(strstr(result.ptx, ".entry k"));
   }
   tl_arena_free(arena);
}

int test_guard(void);
int
test_guard(void)
{
   const struct CMUnitTest tests[] = {cmocka_unit_test(fatal_errors_come_back)};
   return cmocka_run_group_tests(tests, NULL, NULL);
}
